/*
 * protobuf - fields of a message of Protocol Buffers (protobuf.dev, "Encoding"): a field is its
 * number and kind, then a variable-length integer, four or eight bytes, or a length and as many
 * bytes. For this folder; bytes that are read are untrusted.
 */
#ifndef ASSAY_WORKLOADS_ONNX_PROTOBUF_H
#define ASSAY_WORKLOADS_ONNX_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/text.h"

/* A part of a file. */
struct onnx_bytes {
    const uint8_t *at;
    size_t length;
};

enum { PROTOBUF_VARINT, PROTOBUF_FIXED64, PROTOBUF_BYTES, PROTOBUF_FIXED32 = 5 };

struct protobuf_field {
    int number, kind;
    uint64_t value;          /* PROTOBUF_VARINT */
    struct onnx_bytes bytes; /* of the others */
    struct onnx_bytes whole; /* with its number and length */
};

/* False: there is none of at most 64 bits at the beginning. Else `from` goes on behind it. */
bool protobuf_take_varint(struct onnx_bytes *from, uint64_t *ret);
/* False at the end, and, with `broken` set, where what follows is no field. */
bool protobuf_next(struct onnx_bytes *rest, struct protobuf_field *ret, bool *broken);

/* Appends a field of PROTOBUF_VARINT; and the beginning of one of PROTOBUF_BYTES. */
void protobuf_put_number(struct text *out, int number, uint64_t value);
void protobuf_put_head(struct text *out, int number, uint64_t length);

#endif
