#include "results/ledger_json.h"

#include <string.h>

#include "harness/core/canonical.h"

static int digits_of(uint64_t value)
{
    static const uint64_t powers[] = {
        0,
        UINT64_C(10),
        UINT64_C(100),
        UINT64_C(1000),
        UINT64_C(10000),
        UINT64_C(100000),
        UINT64_C(1000000),
        UINT64_C(10000000),
        UINT64_C(100000000),
        UINT64_C(1000000000),
        UINT64_C(10000000000),
        UINT64_C(100000000000),
        UINT64_C(1000000000000),
        UINT64_C(10000000000000),
        UINT64_C(100000000000000),
        UINT64_C(1000000000000000),
        UINT64_C(10000000000000000),
        UINT64_C(100000000000000000),
        UINT64_C(1000000000000000000),
        UINT64_C(10000000000000000000),
    };
    const int bits = 64 - __builtin_clzll(value | 1);
    const int least = bits * 1233 >> 12; /* 1233 / 4096 is a little more than log10(2) */

    return least + (value >= powers[least]);
}

char *ledger_json_put_integer(char *at, int64_t value)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233"
        "34353637383940414243444546474849505152535455565758596061626364656667"
        "6869707172737475767778798081828384858687888990919293949596979899";
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    char *end;

    if (value < 0)
        *at++ = '-';
    at = end = at + digits_of(rest);
    for (; rest > 9; rest /= 100)
        memcpy(at -= 2, pairs + 2 * (rest % 100), 2);
    if (rest > 0 || at == end)
        at[-1] = (char)('0' + rest);
    return end;
}

static void append_integer(struct text *out, int64_t value)
{
    char *at = text_reserve(out, LEDGER_JSON_INTEGER_MAX);

    if (at)
        text_extend_to(out, ledger_json_put_integer(at, value));
}

static void append_bytes_value(struct text *out, const void *bytes, int length)
{
    const struct digest digest = digest_bytes(bytes ? bytes : "", bytes ? (size_t)length : 0);
    char hex[DIGEST_HEX_SIZE];

    text_append(out, "{\"bytes\":");
    append_integer(out, length);
    text_append(out, ",\"sha256\":\"");
    text_append_bytes(out, digest_hex(&digest, hex), 2 * DIGEST_SIZE);
    text_append(out, "\"}");
}

static void append_real(struct text *out, double real)
{
    static const char digits[] = "0123456789abcdef";
    char member[] = "{\"ieee754\":\"0123456789abcdef\"}", *at = member + sizeof(member) - 3;
    uint64_t bits;

    memcpy(&bits, &real, sizeof(bits));
    for (int i = 0; i < 16; i++, bits >>= 4)
        *--at = digits[bits & 15];
    text_append_bytes(out, member, sizeof(member) - 1);
}

void ledger_json_append(struct text *out, const struct ledger_leaf_value *value)
{
    switch (value->type) {
    case SQLITE_INTEGER:
        append_integer(out, value->integer);
        return;
    case SQLITE_FLOAT:
        append_real(out, value->real);
        return;
    }
    if (!value->bytes && value->length > 0)
        out->failed = true;
    else if (value->type == SQLITE_TEXT)
        canonical_append_string(out, value->bytes ? value->bytes : "", (size_t)value->length);
    else
        append_bytes_value(out, value->bytes, value->length);
}
