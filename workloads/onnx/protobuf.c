#include "workloads/onnx/protobuf.h"

bool protobuf_take_varint(struct onnx_bytes *from, uint64_t *ret)
{
    uint64_t value = 0;

    for (int shift = 0; shift < 64 && from->length > 0; shift += 7) {
        const uint8_t byte = *from->at++;

        from->length--;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = value;
            return true;
        }
    }
    return false;
}

bool protobuf_next(struct onnx_bytes *rest, struct protobuf_field *ret, bool *broken)
{
    const uint8_t *begin = rest->at;
    uint64_t key = 0, length = 0;
    bool whole;

    if (rest->length == 0)
        return false;
    *ret = (struct protobuf_field){0};
    whole = protobuf_take_varint(rest, &key) && key >> 3 > 0 && key >> 3 < 1 << 29;
    ret->number = whole ? (int)(key >> 3) : 0;
    ret->kind = (int)(key & 7);
    switch (whole ? ret->kind : -1) {
    case PROTOBUF_VARINT:
        whole = protobuf_take_varint(rest, &ret->value);
        break;
    case PROTOBUF_BYTES:
        whole = protobuf_take_varint(rest, &length);
        break;
    case PROTOBUF_FIXED32:
        length = 4;
        break;
    case PROTOBUF_FIXED64:
        length = 8;
        break;
    default:
        whole = false;
    }
    if (!whole || length > rest->length) {
        *broken = true;
        return false;
    }
    ret->bytes = (struct onnx_bytes){rest->at, (size_t)length};
    rest->at += length;
    rest->length -= (size_t)length;
    ret->whole = (struct onnx_bytes){begin, (size_t)(rest->at - begin)};
    return true;
}

static void put_varint(struct text *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        text_append_char(out, (char)(0x80 | (value & 0x7f)));
    text_append_char(out, (char)value);
}

void protobuf_put_number(struct text *out, int number, uint64_t value)
{
    put_varint(out, (uint64_t)number << 3 | PROTOBUF_VARINT);
    put_varint(out, value);
}

void protobuf_put_head(struct text *out, int number, uint64_t length)
{
    put_varint(out, (uint64_t)number << 3 | PROTOBUF_BYTES);
    put_varint(out, length);
}
