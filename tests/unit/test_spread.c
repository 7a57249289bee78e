/* The ends, the middle and the histogram of samples. */
#include <math.h>

#include "protocols/spread.h"
#include "tests/support/unit.h"

TEST(of_values)
{
    double values[] = {3, 1, 2, 5};
    struct spread spread;

    spread_of(values, 4, &spread);
    assert_float_equal(spread.least, 1, 0);
    assert_float_equal(spread.most, 5, 0);
    assert_float_equal(spread.median, 2.5, 1e-12);
    assert_float_equal(spread.sd, sqrt(35.0 / 12), 1e-12); /* mean 2.75 */
    assert_int_equal(spread.bins[0], 1);
    assert_int_equal(spread.bins[SPREAD_BINS / 4], 1);
    assert_int_equal(spread.bins[SPREAD_BINS / 2], 1);
    assert_int_equal(spread.bins[SPREAD_BINS - 1], 1);
    spread_scale(&spread, 2);
    assert_float_equal(spread.median, 5, 1e-12);
    assert_float_equal(spread.most, 10, 1e-12);
}

TEST(of_one_and_of_like_values)
{
    double one[] = {7}, alike[] = {4, 4, 4};
    struct spread spread;

    spread_of(one, 1, &spread);
    assert_true(isnan(spread.sd));
    assert_int_equal(spread.bins[0], 1);
    spread_of(alike, 3, &spread);
    assert_float_equal(spread.sd, 0, 0);
    assert_float_equal(spread.median, 4, 0);
    assert_int_equal(spread.bins[0], 3);
}
