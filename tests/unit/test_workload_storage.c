/* The host's bf16 and f16 against numbers computed by hand, and every 16-bit pattern. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/storage.h"

static uint16_t encode(enum dtype type, float value)
{
    uint16_t ret;

    storage_encode(type, &value, 1, &ret);
    return ret;
}

static float decode(enum dtype type, uint16_t half)
{
    float ret;

    storage_decode(type, &half, 1, &ret);
    return ret;
}

TEST(every_pattern)
{
    static const enum dtype types[] = {DTYPE_BF16, DTYPE_F16};

    for (size_t t = 0; t < 2; t++)
        for (uint32_t bits = 0; bits < 65536; bits++) {
            const float value = decode(types[t], (uint16_t)bits);

            if (isnan(value))
                assert_true(isnan(decode(types[t], encode(types[t], value))));
            else
                assert_int_equal(encode(types[t], value), bits);
        }
}

TEST(rounding)
{
    static const struct {
        enum dtype type;
        float value;
        uint16_t bits;
    } known[] = {
        {DTYPE_BF16, 1.0f, 0x3f80},
        {DTYPE_BF16, 1.00390625f, 0x3f80}, /* halfway to 0x3f81: to even */
        {DTYPE_BF16, 1.01171875f, 0x3f82}, /* halfway from 0x3f81: to even */
        {DTYPE_BF16, -3.4e38f, 0xff80},    /* beyond the largest: infinity */
        {DTYPE_F16, 1.0f, 0x3c00},
        {DTYPE_F16, 1.00048828125f, 0x3c00},
        {DTYPE_F16, 1.00146484375f, 0x3c02},
        {DTYPE_F16, 65504.0f, 0x7bff},
        {DTYPE_F16, 65519.9f, 0x7bff},
        {DTYPE_F16, 65520.0f, 0x7c00},
        {DTYPE_F16, -1e9f, 0xfc00},
        {DTYPE_F16, 0x1p-24f, 0x0001},
        {DTYPE_F16, 0x1p-25f, 0x0000}, /* halfway to the smallest: to even */
        {DTYPE_F16, 0x1.8p-24f, 0x0002},
        {DTYPE_F16, 0x1.ffep-15f, 0x0400}, /* rounds up into the normal range */
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (encode(known[i].type, known[i].value) != known[i].bits)
            fail_msg("%s of %.9g is %#x, expected %#x", dtype_name(known[i].type),
                     (double)known[i].value, encode(known[i].type, known[i].value), known[i].bits);
}

/* The unit roundoff is exact: no number has a larger error, and some have this one. */
TEST(unit_roundoff)
{
    static const enum dtype types[] = {DTYPE_BF16, DTYPE_F16};

    for (size_t t = 0; t < 2; t++) {
        const double roundoff = storage_unit_roundoff(types[t]);
        double worst = 0.0;

        for (int i = 0; i < 100000; i++) {
            const float value = 1.0f + (float)i / 100000.0f;
            const double off =
                fabs((double)decode(types[t], encode(types[t], value)) - (double)value);

            worst = fmax(worst, off);
        }
        assert_true(worst <= roundoff && worst > 0.95 * roundoff);
    }
}
