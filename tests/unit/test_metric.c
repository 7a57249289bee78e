#include "protocols/metric.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/unit.h"

/* METRIC_COUNT stands for "no metric" where a figure has none: nothing is looked up for it. */
TEST(no_metric_has_no_member)
{
    struct metric_value values[METRIC_COUNT] = {0};
    json_t *object;

    values[METRIC_POWER] = (struct metric_value){true, .has_value = true, .value = 7, .unit = "W"};
    object = metrics_to_json(values);
    assert_non_null(metric_member(object, METRIC_POWER));
    assert_null(metric_member(object, METRIC_ITEM_RATE));
    assert_null(metric_member(object, METRIC_COUNT));
    assert_null(metric_member(object, metric_find("cost_per_hour")));
    assert_null(metric_member(NULL, METRIC_POWER));
    json_decref(object);
}

TEST(each_metric_is_found_by_its_id)
{
    for (int i = 0; i < METRIC_COUNT; i++)
        assert_int_equal(metric_find(metrics[i].id), i);
    assert_int_equal(metric_find("error"), METRIC_COUNT);
    assert_int_equal(metric_find(NULL), METRIC_COUNT);
}
