/* Numbers of every storage type: patterns, ties, limits, and agreement with workloads/storage.h. */
#include <math.h>
#include <stddef.h>

#include "tests/support/unit.h"
#include "workloads/data/element.h"
#include "workloads/storage.h"

static const enum dtype narrow[] = {DTYPE_BF16, DTYPE_F16,       DTYPE_E4M3,
                                    DTYPE_E5M2, DTYPE_E4M3_FNUZ, DTYPE_E5M2_FNUZ};

/* Every pattern decodes to a number that encodes to it again; between two, the nearer one wins. */
TEST(patterns)
{
    for (size_t t = 0; t < sizeof(narrow) / sizeof(narrow[0]); t++) {
        const unsigned half = 1u << (dtype_bits(narrow[t]) - 1);
        uint16_t cell = 0, back = 0;
        unsigned finite = 0;

        for (unsigned bits = 0; bits < 2 * half; bits++) {
            double value, next;

            if (dtype_bits(narrow[t]) == 8)
                *(uint8_t *)&cell = (uint8_t)bits;
            else
                cell = (uint16_t)bits;
            value = element_decode(narrow[t], &cell, 0);
            if (!isfinite(value))
                continue;
            finite++;
            back = 0;
            element_encode(narrow[t], value, &back, 0);
            assert_int_equal(back, bits);
            cell = (uint16_t)(bits + 1);
            next = element_decode(narrow[t], &cell, 0);
            if (bits % half == half - 1 || !isfinite(next))
                continue;
            back = 0;
            element_encode(narrow[t], value + 0.5 * (next - value), &back, 0); /* a tie: to even */
            assert_int_equal(back, bits + (bits & 1));
            back = 0;
            element_encode(narrow[t], value + 0.50001 * (next - value), &back, 0);
            assert_int_equal(back, bits + 1);
        }
        assert_true(finite > half);
    }
}

/* The numbers of the specifications: largest, smallest, and the special ones. */
TEST(limits)
{
    static const struct {
        enum dtype type;
        uint16_t largest;
        double value, smallest;
        uint16_t nan;
    } rows[] = {
        {DTYPE_E4M3, 0x7e, 448.0, 0x1p-9, 0x7f},
        {DTYPE_E5M2, 0x7b, 57344.0, 0x1p-16, 0x7d},
        {DTYPE_E4M3_FNUZ, 0x7f, 240.0, 0x1p-10, 0x80},
        {DTYPE_E5M2_FNUZ, 0x7f, 57344.0, 0x1p-17, 0x80},
        {DTYPE_F16, 0x7bff, 65504.0, 0x1p-24, 0x7c01},
        {DTYPE_BF16, 0x7f7f, 0x1.fep127, 0x1p-133, 0x7f81},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint16_t one = 1;
        uint16_t cell = 0;

        assert_true(element_decode(rows[i].type, &rows[i].largest, 0) == rows[i].value);
        assert_true(element_decode(rows[i].type, &one, 0) == rows[i].smallest);
        assert_true(element_underflow(rows[i].type) == rows[i].smallest / 2.0);
        element_encode(rows[i].type, 1e300, &cell, 0);
        assert_int_equal(cell, rows[i].largest);
        cell = 0;
        element_encode(rows[i].type, NAN, &cell, 0);
        assert_int_equal(cell, rows[i].nan);
        assert_true(isnan(element_decode(rows[i].type, &rows[i].nan, 0)));
    }
}

/*
 * Every pattern of the four kinds of fp8 against the formulas of their specifications: OCP's table
 * 1 and the FNUZ kinds of Noune et al. ("8-bit Numerical Formats for Deep Neural Networks", 2022),
 * (-1)^s 2^(e - bias) (1 + m / 2^M), below the smallest exponent 2^(1 - bias) (m / 2^M).
 */
TEST(fp8_formula)
{
    static const struct {
        enum dtype type;
        int mantissa_bits, bias;
        bool fnuz;
    } rows[] = {
        {DTYPE_E4M3, 3, 7, false},
        {DTYPE_E5M2, 2, 15, false},
        {DTYPE_E4M3_FNUZ, 3, 8, true},
        {DTYPE_E5M2_FNUZ, 2, 16, true},
    };

    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        for (unsigned code = 0; code < 256; code++) {
            const uint8_t cell = (uint8_t)code;
            const unsigned e = (code & 0x7f) >> rows[r].mantissa_bits;
            const unsigned m = code & ((1u << rows[r].mantissa_bits) - 1);
            const double part = m / (double)(1 << rows[r].mantissa_bits);
            const double sign = code & 0x80 ? -1.0 : 1.0;
            const double got = element_decode(rows[r].type, &cell, 0);
            double expected = sign * (e == 0 ? part * pow(2.0, 1 - rows[r].bias)
                                             : (1.0 + part) * pow(2.0, (int)e - rows[r].bias));
            uint8_t back = 0;

            if (rows[r].fnuz && code == 0x80)
                expected = NAN;
            else if (rows[r].type == DTYPE_E4M3 && (code & 0x7f) == 0x7f)
                expected = NAN;
            else if (rows[r].type == DTYPE_E5M2 && e == 31)
                expected = m == 0 ? sign * INFINITY : NAN;
            assert_true(isnan(expected) ? isnan(got)
                                        : got == expected && signbit(got) == signbit(expected));
            element_encode(rows[r].type, expected, &back, 0);
            if (!isnan(expected) && !isinf(expected))
                assert_int_equal(back, code);
            else if (isnan(expected))
                assert_true(isnan(element_decode(rows[r].type, &back, 0)));
        }
        if (rows[r].fnuz) { /* no negative zero: it would be the NaN */
            uint8_t back = 0xff;

            element_encode(rows[r].type, -0.0, &back, 0);
            assert_int_equal(back, 0);
            back = 0xff;
            element_encode(rows[r].type, -1e-30, &back, 0);
            assert_int_equal(back, 0);
        }
    }
}

/* Two implementations of bf16 and f16 in one room agree. */
TEST(storage_agrees)
{
    for (int i = 0; i < 200000; i++) {
        const float value = (float)ldexp((double)(i * 7919 % 65537) - 32768.0, i % 60 - 45);
        uint16_t mine = 0, other = 0;

        if (fabsf(value) < 65504.0f) {
            element_encode(DTYPE_F16, (double)value, &mine, 0);
            storage_encode(DTYPE_F16, &value, 1, &other);
            assert_int_equal(mine & 0x7fff, other & 0x7fff);
        }
        element_encode(DTYPE_BF16, (double)value, &mine, 0);
        storage_encode(DTYPE_BF16, &value, 1, &other);
        assert_int_equal(mine & 0x7fff, other & 0x7fff);
    }
}
