/* A comparison of servers has no ratio of times unless both arms have latencies. */
#include "results/analysis/calibration.h"

#include <stddef.h>
#include <stdint.h>

#include "tests/support/unit.h"

static json_t *row_of(const struct stored_comparison *comparison, size_t *ret_without)
{
    struct calibration calibration = {0};
    const struct compare_options options = {.margin = 0.01};
    struct error err = ERROR_INIT;
    json_t *json, *row;

    assert_int_equal(
        calibration_add(&calibration, "server", "9f2c41aa", comparison, &options, &err), STATUS_OK);
    json = type_to_json(&calibration_type, &calibration);
    row = json_incref(json_array_get(json_object_get(json, "rows"), 0));
    *ret_without = calibration.without_numbers;
    json_decref(json);
    type_finish(&calibration_type, &calibration);
    return row;
}

TEST(no_latencies)
{
    const struct stored_comparison served = {.figure = COMPARE_ATTAINMENT, .has_numbers = true};
    size_t without;
    json_t *row = row_of(&served, &without);

    assert_null(json_object_get(row, "ratio"));
    assert_string_equal(json_string_value(json_object_get(row, "reason")),
                        "no pair has latencies of both arms");
    assert_int_equal(without, 1);
    json_decref(row);
}

TEST(latencies)
{
    struct stored_comparison served = {.figure = COMPARE_ATTAINMENT, .has_latency = true};
    size_t without;
    json_t *row;

    served.numbers.ratio.value = 1.01;
    row = row_of(&served, &without);
    assert_true(json_real_value(json_object_get(row, "ratio")) == 1.01);
    assert_null(json_object_get(row, "reason"));
    assert_string_equal(json_string_value(json_object_get(row, "verdict")), "faster");
    assert_int_equal(without, 0);
    json_decref(row);
}
