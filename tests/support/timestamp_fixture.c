#include "tests/support/timestamp_fixture.h"

#include <string.h>

/* Inserts tag and length before the `length` bytes at `at`; returns the whole length. */
static size_t wrap(uint8_t *at, uint8_t tag, size_t length)
{
    size_t head = length < 128 ? 2 : 3;

    memmove(at + head, at, length);
    at[0] = tag;
    at[1] = length < 128 ? (uint8_t)length : 0x81;
    if (head == 3)
        at[2] = (uint8_t)length;
    return head + length;
}

static size_t put(uint8_t *at, const void *bytes, size_t length)
{
    memcpy(at, bytes, length);
    return length;
}

/* SEQUENCE { version, policy, messageImprint { { sha256 }, imprint }, serial, time } */
static size_t put_info(uint8_t *at, const struct digest *imprint)
{
    static const uint8_t head[] = {0x02, 1, 1, 0x06, 3, 0x2a, 0x03, 0x04};
    static const uint8_t algorithm[] = {0x30, 13,   0x06, 9,    0x60, 0x86, 0x48, 0x01,
                                        0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00};
    static const uint8_t serial[] = {0x02, 1, 7};
    static const uint8_t time[] = "\x18\x0f"
                                  "20261120190000Z";
    size_t length = put(at, head, sizeof(head));
    uint8_t *start = at + length;
    size_t inner = put(start, algorithm, sizeof(algorithm));

    start[inner] = 0x04;
    start[inner + 1] = DIGEST_SIZE;
    inner += 2 + put(start + inner + 2, imprint->bytes, DIGEST_SIZE);
    length += wrap(start, 0x30, inner);
    length += put(at + length, serial, sizeof(serial));
    length += put(at + length, time, sizeof(time) - 1);
    return wrap(at, 0x30, length);
}

size_t timestamp_fixture(const struct digest *imprint, uint8_t *ret)
{
    static const uint8_t signed_data[] = {0x06, 9,    0x2a, 0x86, 0x48, 0x86,
                                          0xf7, 0x0d, 0x01, 0x07, 0x02};
    static const uint8_t tst_info[] = {0x06, 11,   0x2a, 0x86, 0x48, 0x86, 0xf7,
                                       0x0d, 0x01, 0x09, 0x10, 0x01, 0x04};
    static const uint8_t version[] = {0x02, 1, 3, 0x31, 0}, signers[] = {0x31, 0};
    uint8_t part[256];
    size_t length = put_info(part, imprint);

    length = wrap(part, 0x04, length);
    length = wrap(part, 0xa0, length);
    memmove(part + sizeof(tst_info), part, length);
    length += put(part, tst_info, sizeof(tst_info));
    length = wrap(part, 0x30, length);
    length += put(part + length, signers, sizeof(signers));
    memmove(part + sizeof(version), part, length);
    length += put(part, version, sizeof(version));
    length = wrap(part, 0x30, length);
    length = wrap(part, 0xa0, length);
    memmove(part + sizeof(signed_data), part, length);
    length += put(part, signed_data, sizeof(signed_data));
    length = wrap(part, 0x30, length);
    return put(ret, part, length);
}
