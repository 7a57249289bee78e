#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/remarks.h"
#include "reports/terminal.h"
#include "reports/view.h"
#include "reports/view_json.h"
#include "tests/support/json_shapes.h"

static const char whole[] =
    "{\"id\":\"9f2c41aa/"
    "3\",\"cell\":3,\"ordinal\":3,\"backend\":\"opencl\",\"device_spec\":\"opencl:0\","
    "\"trials_planned\":2,\"workload\":{\"version\":4,\"description\":\"d\"},"
    "\"protocol\":{\"version\":2,\"evidence\":true},\"campaign\":{\"id\":1},"
    "\"identity\":{\"workload\":\"triad\",\"precision\":\"fp32\",\"batch\":8,\"protocol\":"
    "\"standard\"},"
    "\"cost\":{\"headline\":\"items\",\"item_name\":\"token\",\"working_set_bytes\":1000},"
    "\"device\":{\"name\":\"dev\",\"simulated\":true,\"readings\":{\"device.uuid\":"
    "{\"status\":\"unavailable\",\"reason\":\"no extension\"}}},"
    "\"trials\":["
    "{\"id\":11,\"sequence\":1,\"attempt\":1,\"status\":\"crashed\",\"message\":\"signal 11\"},"
    "{\"id\":12,\"sequence\":1,\"attempt\":2,\"status\":\"ok\",\"facts\":{\"last_level_cache_"
    "bytes\":2000}},"
    "{\"id\":13,\"sequence\":4,\"attempt\":1,\"status\":\"ok\",\"window_first\":7,\"checks\":"
    "[{\"phase\":\"verify_after\",\"output\":\"a\",\"metric\":\"m\",\"error\":\"nan\","
    "\"tolerance\":0.1,"
    "\"passed\":false}],\"components\":["
    "{\"at\":\"window_start\",\"path\":\"/a\",\"sha256\":\"01\",\"size\":5},"
    "{\"at\":\"window_start\",\"path\":\"/b\",\"sha256\":\"02\",\"size\":5},"
    "{\"at\":\"window_start\",\"path\":\"/c\",\"sha256\":\"03\",\"size\":5},"
    "{\"at\":\"window_end\",\"path\":\"/a\",\"sha256\":\"01\",\"size\":5},"
    "{\"at\":\"window_end\",\"path\":\"/b\",\"sha256\":\"99\",\"size\":5},"
    "{\"at\":\"window_end\",\"path\":\"/d\",\"sha256\":\"04\",\"size\":5}]}],"
    "\"estimate\":{\"verdict\":\"warmup\",\"trial_ids\":[12,13],\"steady_from\":[20,null],"
    "\"trial_verdicts\":[\"warmup\",\"flat\"],\"iteration_ns\":{\"value\":5.0,\"lo\":4.0,\"hi\":6."
    "0},"
    "\"items_per_s\":{\"value\":100.0,\"lo\":null,\"hi\":null},"
    "\"percentiles\":{\"p99\":{\"refused\":\"x\",\"needed_n\":299},\"p50\":{\"value\":5.0,\"lo\":4."
    "0,\"hi\":6.0}},"
    "\"warnings\":[\"trial 0: drifts by 11 %\",\"trial 1: drifts by 9.5 %\",\"other\",\"p99 is "
    "refused\"]}}";

static json_t *parse(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);

    assert_non_null(json);
    return json;
}

static void a_whole_record_is_read(void **state)
{
    struct view_cell cell;
    char buffer[VIEW_UNIT_SIZE];
    const char *base;
    const struct view_interval *headline;
    const struct reading *reading;
    struct view_count cache;

    (void)state;
    assert_int_equal(view_cell_from_json(parse(whole), VIEW_FULL, &cell, NULL), STATUS_OK);
    assert_string_equal(cell.result, "9f2c41aa/3");
    assert_string_equal(cell.workload, "triad");
    assert_int_equal(cell.workload_version.value, 4);
    assert_true(cell.evidence);
    assert_true(cell.device.simulated);
    reading = reading_find(&cell.device.readings, "device.uuid");
    assert_non_null(reading);
    assert_int_equal(reading->status, READING_UNAVAILABLE);

    assert_int_equal(cell.trial_count, 3);
    assert_int_equal(cell.ok_count, 2);
    assert_int_equal(cell.trials[0].number, 1);
    assert_int_equal(cell.trials[1].number, 1);
    assert_int_equal(cell.trials[2].number, 2);
    assert_false(cell.trials[0].counted);
    assert_true(cell.trials[1].counted && cell.trials[1].has_steady);
    assert_int_equal(cell.trials[1].steady_from, 20);
    assert_true(cell.trials[2].counted && !cell.trials[2].has_steady);
    assert_true(isnan(cell.trials[2].checks[0].error));
    assert_string_equal(cell.trials[2].checks[0].error_text, "nan");

    assert_int_equal(cell.trials[2].component_count, 4);
    assert_int_equal(cell.trials[2].changed_count, 1);
    assert_int_equal(cell.trials[2].components[0].change, VIEW_SAME);
    assert_int_equal(cell.trials[2].components[1].change, VIEW_CHANGED);
    assert_string_equal(cell.trials[2].components[1].digest_end, "99");
    assert_int_equal(cell.trials[2].components[2].change, VIEW_GONE);
    assert_int_equal(cell.trials[2].components[3].change, VIEW_APPEARED);

    headline = view_headline(&cell, buffer, &base);
    assert_non_null(headline);
    assert_string_equal(base, "tokens/s");
    assert_float_equal(headline->value, 100, 1e-9);
    assert_false(headline->has_interval);
    assert_string_equal(view_operations_rate(&cell), "FLOP/s");
    cell.precision = "int8"; /* no floating-point operations, so no FLOPs */
    cell.headline = "flops";
    cell.estimate.flops_per_s = *headline;
    assert_ptr_equal(view_headline(&cell, buffer, &base), &cell.estimate.flops_per_s);
    assert_string_equal(base, "OP/s");
    assert_string_equal(view_operation(&cell), "OP");
    assert_int_equal(cell.estimate.percentile_count, 2);
    assert_string_equal(cell.estimate.percentiles[0].label, "p50");
    assert_false(cell.estimate.percentiles[1].ns.has_value);
    assert_int_equal(cell.estimate.percentiles[1].needed.value, 299);
    /* The estimate's first two trials, 0 and 1, are the cell's 1 (at its second attempt) and 2. */
    assert_string_equal(cell.estimate.warnings[0], "trial 1: drifts by 11 %");
    assert_string_equal(cell.estimate.warnings[1], "trial 2: drifts by 9.5 %");
    assert_string_equal(cell.estimate.warnings[2], "other");
    assert_int_equal(view_fits_in_cache(&cell, &cache), 1);
    assert_int_equal(cache.value, 2000);
    view_cell_finish(&cell);
}

static void a_summary_leaves_the_long_parts_out(void **state)
{
    struct view_cell cell;

    (void)state;
    assert_int_equal(view_cell_from_json(parse(whole), VIEW_SUMMARY, &cell, NULL), STATUS_OK);
    assert_int_equal(cell.trials[2].component_count, 0);
    assert_int_equal(cell.trials[2].check_count, 0);
    assert_int_equal(cell.ok_count, 2);
    view_cell_finish(&cell);
}

static void verdicts_decide_the_headline(void **state)
{
    static const struct {
        const char *verdict;
        bool headline;
    } cases[] = {{"flat", true},
                 {"warmup", true},
                 {"slowdown", true},
                 {"drift", false},
                 {"two_state", false},
                 {"insufficient", false},
                 {"no_steady_state", false},
                 {"something", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        json_t *root = parse(whole);
        struct view_cell cell;
        char buffer[VIEW_UNIT_SIZE];
        const char *base;

        json_object_set_new(json_object_get(root, "estimate"), "verdict",
                            json_string(cases[i].verdict));
        assert_int_equal(view_cell_from_json(root, VIEW_FULL, &cell, NULL), STATUS_OK);
        assert_int_equal(view_headline(&cell, buffer, &base) != NULL, cases[i].headline);
        assert_int_equal(view_no_headline_reason(&cell) == NULL, cases[i].headline);
        view_cell_finish(&cell);
    }
}

static void render(void *context, json_t *root)
{
    struct view_campaign campaign = {0};
    struct view_cell cells[1];
    struct view view = {&campaign, 1, cells, 1};
    struct text out;

    (void)context;
    if (view_cell_from_json(root, VIEW_FULL, &cells[0], NULL) != STATUS_OK)
        return;
    text_init(&out);
    report_terminal_table(&out, &view, 80, false);
    report_terminal_cell(&out, &campaign, &cells[0], 80, true);
    assert_true(text_ok(&out));
    text_finish(&out);
    view_cell_finish(&cells[0]);
}

static void no_shape_of_json_breaks_it(void **state)
{
    json_t *root = parse(whole);

    (void)state;
    assert_true(json_shapes_try(root, render, NULL) > 1000);
    json_decref(root);
    for (size_t s = 0; s < json_shape_count(); ++s)
        render(NULL, json_shape(s));
}

static void alike_remarks_are_said_once(void **state)
{
    json_t *other = parse(whole);
    struct view_cell cell, second;
    struct remarks remarks;
    size_t refs[8];

    (void)state;
    assert_int_equal(view_cell_from_json(parse(whole), VIEW_FULL, &cell, NULL), STATUS_OK);
    remarks_init(&remarks);
    remarks_add_cell(&remarks, 0, &cell);
    remarks_add_cell(&remarks, 1, &cell);
    assert_false(remarks.failed);
    assert_int_equal(remarks.count, 4);
    assert_string_equal(remarks.items[0].text, "trial 1: drifts by 11 % (and 1 more like it)");
    assert_string_equal(remarks.items[1].text, "other");
    assert_non_null(strstr(remarks.items[2].text, "simulated"));
    assert_string_equal(remarks.items[3].text, "9f2c41aa/3: trial 1: crashed: signal 11");
    assert_int_equal(remarks_of(&remarks, 1, refs, 8), 4);
    assert_int_equal(refs[3], 4);
    assert_int_equal(remarks_of(&remarks, 2, refs, 8), 0);

    /* Another cell whose warning differs in its figures shares the remark; failures never do. */
    json_array_set_new(json_object_get(json_object_get(other, "estimate"), "warnings"), 0,
                       json_string("trial 0: drifts by 99 %"));
    json_object_set_new(other, "id", json_string("9f2c41aa/4"));
    assert_int_equal(view_cell_from_json(other, VIEW_FULL, &second, NULL), STATUS_OK);
    remarks_add_cell(&remarks, 2, &second);
    assert_int_equal(remarks.count, 5);
    assert_string_equal(remarks.items[0].text,
                        "trial 1: drifts by 11 % (and 1 more like it; similarly for the others "
                        "marked so)");
    assert_string_equal(remarks.items[4].text, "9f2c41aa/4: trial 1: crashed: signal 11");
    assert_int_equal(remarks_of(&remarks, 2, refs, 8), 4);
    assert_int_equal(refs[0], 1);
    assert_int_equal(refs[3], 5);
    remarks_finish(&remarks);
    view_cell_finish(&cell);
    view_cell_finish(&second);
}

/* What failed while sizes were chosen, for all trials or in one that chose for itself. */
static void choices_that_failed_are_remarks(void **state)
{
    json_t *root = parse(whole), *choices = parse("{\"refused\":[\"rows, lanes 64: a\","
                                                  "\"rows, lanes 128: a\",\"gemm: b\",7]}");
    json_t *trial = json_array_get(json_object_get(root, "trials"), 2);
    struct view_cell cell;
    struct remarks remarks;

    (void)state;
    json_object_set(root, "choices", choices);
    json_object_set_new(trial, "facts", parse("{\"refused\":[\"vendor: c\"]}"));
    json_object_set_new(json_object_get(root, "estimate"), "warnings", json_array());
    assert_int_equal(view_cell_from_json(json_deep_copy(root), VIEW_SUMMARY, &cell, NULL),
                     STATUS_OK);
    assert_true(remarks_has_any(&cell));
    remarks_init(&remarks);
    remarks_add_cell(&remarks, 0, &cell);
    assert_true(remarks.count >= 3);
    assert_non_null(
        strstr(remarks.items[1].text, "failed: rows, lanes 64: a (and 1 more like it)"));
    assert_non_null(strstr(remarks.items[2].text, "failed: gemm: b"));
    assert_non_null(strstr(remarks.items[3].text, "failed: vendor: c"));
    remarks_finish(&remarks);
    view_cell_finish(&cell);

    json_object_clear(choices);
    json_object_set_new(choices, "failed", json_string("it crashed"));
    json_object_del(trial, "facts");
    assert_int_equal(view_cell_from_json(json_deep_copy(root), VIEW_SUMMARY, &cell, NULL),
                     STATUS_OK);
    remarks_init(&remarks);
    remarks_add_cell(&remarks, 0, &cell);
    assert_non_null(strstr(remarks.items[1].text, "each chose for itself"));
    assert_non_null(strstr(remarks.items[1].text, "it crashed"));
    remarks_finish(&remarks);
    view_cell_finish(&cell);

    json_object_del(root, "choices");
    assert_int_equal(view_cell_from_json(root, VIEW_SUMMARY, &cell, NULL), STATUS_OK);
    assert_false(remarks_has_any(&cell));
    view_cell_finish(&cell);
    json_decref(choices);
}

/* What a device lacks is told once for all its cells, a campaign cut short with what goes on. */
static void what_has_no_number_says_why(void **state)
{
    struct remarks remarks;
    struct view_cell cells[3] = {{.result = "9f2c41aa/1"},
                                 {.result = "9f2c41aa/2"},
                                 {.result = "9f2c41aa/3", .ok_count = 2}};
    struct view_trial trial = {
        .number = 1, .status = (char *)"unsupported", .message = (char *)"no bf16 here"};

    (void)state;
    cells[0].trials = cells[1].trials = &trial;
    cells[0].trial_count = cells[1].trial_count = 1;
    remarks_init(&remarks);
    for (size_t i = 0; i < 3; i++)
        remarks_add_cell(&remarks, i, &cells[i]);
    assert_int_equal(remarks.count, 2);
    assert_string_equal(remarks.items[0].text, "unsupported: no bf16 here");
    assert_int_equal(remarks.items[0].cell_count, 2);
    assert_non_null(strstr(remarks.items[1].text, "assay run --resume 9f2c41aa"));
    assert_int_equal(remarks.items[1].cells[0], 2);
    remarks_finish(&remarks);
}

/* A stored warning keeps its bytes; people read units. */
static void warnings_are_read_in_units(void **state)
{
    json_t *json =
        json_pack("{s:[s, s, s]}", "warnings",
                  "trial 1: jumps between two levels, 3.961e+06 ns and 999 ns (7 % of the time)",
                  "within +-5 %", "v1.2.3 of 20000 nsec, 12 ns");
    struct view_estimate estimate = {0};

    (void)state;
    assert_true(view_estimate_read(json, &estimate));
    assert_int_equal(estimate.warning_count, 3);
    assert_string_equal(estimate.warnings[0], "trial 1: jumps between two levels, 3.961 ms and "
                                              "999 ns (7 % of the time)");
    assert_string_equal(estimate.warnings[1], "within ±5 %");
    assert_string_equal(estimate.warnings[2], "v1.2.3 of 20000 nsec, 12 ns");
    view_estimate_finish(&estimate);
    json_decref(json);
}

/* What was withheld from a bundle is said to be, and a damaged time breaks nothing. */
static void amendments_are_told(void **state)
{
    static const char *const cases[][2] = {
        {"{\"created\": \"2026-11-20T16:02:03.004Z\", \"author\": \"me\", \"reason\": \"why\"}",
         "amended 2026-11-20 16:02 UTC by me: why"},
        {"{\"created\": \"2026-11-20T16:02:03.004Z\", \"author\": null, \"reason\": null}",
         "amended 2026-11-20 16:02 UTC by (withheld): (withheld)"},
        {"{\"created\": \"2026\", \"author\": \"me\", \"reason\": \"why\"}", "amended by me: why"},
        {"[]", "amended by (withheld): (withheld)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *json = json_loads(cases[i][0], 0, NULL);
        struct view_cell cell = {.result = "9f2c41aa/1", .amendments = json_pack("[O]", json)};
        struct remarks remarks;
        char *words = view_amendment_words(json);

        assert_string_equal(words, cases[i][1]);
        remarks_init(&remarks);
        remarks_add_cell(&remarks, 0, &cell);
        assert_int_equal(remarks.count, 1);
        assert_non_null(strstr(remarks.items[0].text, words));
        remarks_finish(&remarks);
        json_decref(cell.amendments);
        json_decref(json);
        free(words);
    }
}

/* What nobody knows the sureness of shows no more digits than what is known to be unsure. */
static void a_percentile_without_an_interval_has_two_digits(void **state)
{
    struct view_percentile percentile = {.ns = {.has_value = true, .value = 35517384}};

    (void)state;
    assert_int_equal(view_percentile_digits(&percentile), 2);
    percentile.ns.has_interval = true;
    percentile.ns.lo = 35517000;
    percentile.ns.hi = 35518000;
    assert_int_equal(view_percentile_digits(&percentile), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_record_is_read),
        cmocka_unit_test(a_summary_leaves_the_long_parts_out),
        cmocka_unit_test(verdicts_decide_the_headline),
        cmocka_unit_test(no_shape_of_json_breaks_it),
        cmocka_unit_test(alike_remarks_are_said_once),
        cmocka_unit_test(choices_that_failed_are_remarks),
        cmocka_unit_test(what_has_no_number_says_why),
        cmocka_unit_test(warnings_are_read_in_units),
        cmocka_unit_test(amendments_are_told),
        cmocka_unit_test(a_percentile_without_an_interval_has_two_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
