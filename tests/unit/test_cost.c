#include "protocols/cost.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "tests/support/unit.h"

/* Known answers: annuity of 1 at 5 % over 10 years is 7.721735 (tables of engineering economy). */
TEST(recovery_factor)
{
    assert_float_equal(cost_recovery_factor(0.05, 10), 1 / 7.721734929, 1e-9);
    assert_float_equal(cost_recovery_factor(0, 4), 0.25, 1e-15);
    assert_float_equal(cost_recovery_factor(1e-12, 4), 0.25, 1e-9);
    assert_float_equal(cost_recovery_factor(0.08, 1), 1.08, 1e-12);
}

TEST(hourly)
{
    const struct cost_range watts = {500, 400, 600}, unknown = {NAN, NAN, NAN};
    const struct cost_assumptions assumptions = {0, 1.2, 0.5};
    struct price price = {.kind = PRICE_DEVICE,
                          .unit = PRICE_EACH,
                          .amount = {8760, 4380, 17520},
                          .years = 4,
                          .residual = 0.5,
                          .devices = 2};
    struct cost_range hourly = cost_hourly(&price, &watts, &assumptions);

    assert_float_equal(hourly.value, 0.0625, 1e-12);
    assert_float_equal(hourly.lo, 0.03125, 1e-12);
    assert_float_equal(hourly.hi, 0.125, 1e-12);
    price.residual = 1; /* worth as much as it cost: only interest is paid, here none */
    assert_float_equal(cost_hourly(&price, &watts, &assumptions).value, 0, 1e-12);
    price.unit = PRICE_MONTH;
    assert_float_equal(cost_hourly(&price, &watts, &assumptions).value, 6, 1e-12);
    price.unit = PRICE_HOUR;
    assert_float_equal(cost_hourly(&price, &watts, &assumptions).value, 4380, 1e-9);
    price.unit = PRICE_KWH;
    price.amount = (struct cost_range){0.25, 0.2, 0.3};
    hourly = cost_hourly(&price, &watts, &assumptions);
    assert_float_equal(hourly.value, 0.25 * 1.2 * 0.5 * 0.5, 1e-12);
    assert_float_equal(hourly.hi, 0.3 * 1.2 * 0.6 * 0.5, 1e-12);
    assert_true(isnan(cost_hourly(&price, &unknown, &assumptions).value));
}

TEST(of_work)
{
    const struct cost_range hourly = {3.6, 3.6, 3.6}, wide = {3.6, 1.8, 7.2}, rate = {100, 50, 200};
    const struct cost_range exact = {100, 100, 100}, unbounded = {100, NAN, NAN};
    const struct cost_assumptions assumptions = {0, 1, 0.5};
    double measured;
    struct cost_range cost = cost_of_work(&hourly, &rate, 1000, &assumptions, &measured);

    assert_float_equal(cost.value, 0.02, 1e-15);
    assert_float_equal(cost.lo, 0.01, 1e-15);
    assert_float_equal(cost.hi, 0.04, 1e-15);
    assert_float_equal(measured, 1, 1e-15);
    cost_of_work(&wide, &rate, 1000, &assumptions, &measured);
    assert_float_equal(measured, 0.5, 1e-12);
    cost_of_work(&hourly, &exact, 1000, &assumptions, &measured);
    assert_true(isnan(measured));
    cost = cost_of_work(&hourly, &unbounded, 1000, &assumptions, &measured);
    assert_float_equal(cost.value, 0.02, 1e-15);
    assert_true(isnan(cost.lo) && isnan(cost.hi) && isnan(measured));
}

TEST(names)
{
    for (int i = 0; i < PRICE_KIND_COUNT; i++)
        assert_int_equal(price_kind_find(price_kind_name((enum price_kind)i)), i);
    assert_int_equal(price_unit_find("kWh"), PRICE_KWH);
    assert_int_equal(price_kind_find("gpu"), PRICE_KIND_COUNT);
    assert_int_equal(price_unit_find(""), PRICE_UNIT_COUNT);
}
