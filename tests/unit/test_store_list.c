/* Filters of `assay results` over many results: the same rows, whichever way they are found. */
#include "tests/support/store_fixture.h"

#include <string.h>

#include <jansson.h>

#include "tests/support/unit.h"

#define CAMPAIGNS 600 /* two cells each: more than the store sorts by a filter's index */
#define RUN 7         /* of them have a trial, and so a device */

static void fill(struct store *store)
{
    struct error err = ERROR_INIT;
    int64_t campaign, trial, cells[FIXTURE_CELLS];

    assert_ok(store_batch_begin(store, &err), err);
    for (unsigned i = 0; i < CAMPAIGNS; i++) {
        assert_ok(fixture_add_campaign(store, i, &campaign, cells, &err), err);
        if (i < RUN)
            assert_ok(fixture_run_trial(store, campaign, 1, "ok", 10, &trial, &err), err);
    }
    assert_ok(store_batch_end(store, true, &err), err);
}

static json_t *list(struct store *store, const struct store_filter *filter)
{
    struct error err = ERROR_INIT;
    json_t *rows = NULL;

    assert_ok(store_list_results(store, filter, &rows, &err), err);
    return rows;
}

static bool holds(const json_t *row, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(row, key));

    return !text || (value && strstr(value, text));
}

/* The rows that match the filter, by checking every row. */
static json_t *picked(const json_t *all, const struct store_filter *filter)
{
    json_t *kept = json_array(), *row;
    size_t i;

    json_array_foreach(all, i, row)
    {
        if (holds(row, "workload", filter->workload) && holds(row, "protocol", filter->protocol) &&
            holds(row, "precision", filter->precision) &&
            (holds(row, "device_spec", filter->device) || holds(row, "device", filter->device)) &&
            (!filter->limit || json_array_size(kept) < (size_t)filter->limit))
            json_array_append(kept, row);
    }
    return kept;
}

TEST_WITH(filters_agree_with_checking_every_row, fixture_open, fixture_remove)
{
    static const struct {
        struct store_filter filter;
        size_t rows;
    } cases[] = {
        {{.protocol = "quick"}, 2 * CAMPAIGNS},
        {{.protocol = "nope"}, 0},
        {{.workload = "triad"}, CAMPAIGNS},
        {{.workload = "triad", .limit = 5}, 5},
        {{.workload = "nope"}, 0},
        {{.device = "Null "}, RUN},
        {{.device = "null:0"}, 2 * CAMPAIGNS},
        {{.device = "Elsewhere"}, 0},
        {{.workload = "triad", .device = "Null "}, RUN},
        {{.workload = "softmax", .device = "Null "}, 0},
        {{.workload = "triad", .precision = "fp32", .protocol = "quick"}, CAMPAIGNS},
        {{.workload = "triad", .precision = "int4", .protocol = "quick"}, 0},
    };
    struct fixture *fixture = *state;
    json_t *all, *got, *expected;

    fill(fixture->store);
    all = list(fixture->store, &(struct store_filter){0});
    assert_int_equal(json_array_size(all), 2 * CAMPAIGNS);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        got = list(fixture->store, &cases[i].filter);
        expected = picked(all, &cases[i].filter);
        assert_int_equal(json_array_size(got), cases[i].rows);
        assert_true(json_equal(got, expected));
        json_decref(got);
        json_decref(expected);
    }
    json_decref(all);
}

/* The text of a device filter is matched literally, in any case. */
TEST_WITH(a_device_is_found_in_any_case, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    json_t *rows;

    fill(fixture->store);
    rows = list(fixture->store, &(struct store_filter){.device = "nULL "});
    assert_int_equal(json_array_size(rows), RUN);
    json_decref(rows);
    rows = list(fixture->store, &(struct store_filter){.device = "%"});
    assert_int_equal(json_array_size(rows), 0);
    json_decref(rows);
}
