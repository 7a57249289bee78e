#include "protocols/fleet.h"

#include <math.h>
#include <stddef.h>

#include "harness/core/random.h"
#include "protocols/stats/distribution.h"
#include "tests/support/unit.h"

/* Summed term by term, the simple way. */
static double out_too_many(int n, int spares, double availability)
{
    const int all = n + spares;
    double term = pow(availability, all), below = 0;

    for (int k = 0; k <= spares; k++) {
        below += term;
        term *= (double)(all - k) / (k + 1) * (1 - availability) / availability;
    }
    return 1 - below;
}

TEST(spares)
{
    static const double availabilities[] = {0.9, 0.99, 0.999}, risks[] = {0.047, 0.011, 1.3e-4};

    for (int n = 1; n <= 200; n += n < 10 ? 1 : 37)
        for (int a = 0; a < 3; a++)
            for (int r = 0; r < 3; r++) {
                int expected = 0;

                while (out_too_many(n, expected, availabilities[a]) > risks[r])
                    expected++;
                assert_int_equal(fleet_spares((uint64_t)n, availabilities[a], risks[r]), expected);
            }
    assert_int_equal(fleet_spares(10, 1, 0.01), 0);
    assert_true(fleet_spares(0, 0.9, 0.01) == UINT64_MAX);
    assert_true(fleet_spares(10, 0, 0.01) == UINT64_MAX);
}

TEST(units)
{
    const double same[] = {10, 10, 10}, spread[] = {9, 10, 11}, wild[] = {1, 100};
    const double five[] = {19.1, 20.3, 20.9, 18.7, 21.2};
    const double allowance = student_quantile(0.95, 2) * 1;

    assert_int_equal(fleet_units(same, 3, 100, 0.95), 10);
    assert_int_equal(fleet_units(same, 3, 100.001, 0.95), 11);
    for (int n = 1; n < 30; n++) {
        const double carried = n * (10 - allowance * sqrt(1.0 / n + 1.0 / 3));

        if (carried > 0)
            assert_int_equal(fleet_units(spread, 3, carried * (1 - 1e-12), 0.95), n);
    }
    assert_int_equal(fleet_units(wild, 2, 1, 0.95), 0); /* nothing is known of such units */
    /* By another program, with quantiles of a table: t(0.95; 2), t(0.95; 4) and t(0.99; 4). */
    assert_int_equal(fleet_units(spread, 3, 100, 0.95), 13);
    assert_int_equal(fleet_units(spread, 3, 1000, 0.95), 121);
    assert_int_equal(fleet_units(five, 5, 500, 0.95), 27);
    assert_int_equal(fleet_units(five, 5, 500, 0.99), 28);
    assert_int_equal(fleet_units(same, 1, 1, 0.95), 0);
    assert_int_equal(fleet_units(same, 3, NAN, 0.95), 0);
}

static double normal(uint64_t seed, uint64_t *at)
{
    return normal_quantile((random_at(seed, 1, (*at)++) >> 11) * 0x1p-53 + 0x1p-54);
}

/* The promise: in 95 % of fleets that are planned so, the units carry the demand together. */
TEST(promise)
{
    uint64_t at = 0;
    int kept = 0, planned = 0;

    for (int i = 0; i < 10000; i++) {
        double rates[5], sum = 0;
        uint64_t n;

        for (int k = 0; k < 5; k++)
            rates[k] = 10 + 0.5 * normal(20261123, &at);
        n = fleet_units(rates, 5, 195, 0.95);
        if (n == 0)
            continue;
        planned++;
        for (uint64_t k = 0; k < n; k++)
            sum += 10 + 0.5 * normal(20261123, &at);
        kept += sum >= 195;
    }
    assert_int_equal(planned, 10000);
    assert_true(kept >= 9500 - 65); /* three standard deviations of the count */
}
