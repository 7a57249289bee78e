#include "harness/core/precision.h"

#include <stddef.h>

#include "tests/support/unit.h"

TEST(round_trip)
{
    enum precision precision;

    for (int i = 0; i < PRECISION_COUNT; ++i) {
        assert_true(precision_from_name(precision_name((enum precision)i), &precision));
        assert_int_equal(precision, i);
        assert_true(precision_dtype((enum precision)i) < DTYPE_COUNT);
    }
    precision = PRECISION_TF32;
    assert_false(precision_from_name("FP32", &precision));
    assert_false(precision_from_name("", &precision));
    assert_false(precision_from_name(NULL, &precision));
    assert_int_equal(precision, PRECISION_TF32);
}

TEST(tables)
{
    assert_int_equal(dtype_bits(DTYPE_F32), 32);
    assert_int_equal(dtype_bits(DTYPE_E2M1), 4);
    assert_string_equal(dtype_name(DTYPE_BF16), "bf16");
    assert_int_equal(precision_dtype(PRECISION_TF32), DTYPE_F32);
    assert_int_equal(precision_dtype(PRECISION_FP8_E5M2), DTYPE_E5M2);
    assert_string_equal(precision_name(PRECISION_COUNT), "unknown");
    assert_string_equal(dtype_name(DTYPE_COUNT), "unknown");
    assert_int_equal(dtype_bits(DTYPE_COUNT), 0);
    assert_int_equal(precision_dtype(PRECISION_COUNT), DTYPE_COUNT);
}
