#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/cell_document.h"
#include "reports/remarks.h"
#include "reports/terminal.h"
#include "reports/view.h"
#include "reports/view_json.h"
#include "tests/support/json_shapes.h"
#include "tests/support/unit.h"

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
    "\"estimate\":{\"verdict\":\"after_warmup\",\"headline\":\"item_rate\",\"trials\":["
    "{\"sequence\":1,\"number\":1,\"verdict\":\"after_warmup\",\"steady_from\":20},"
    "{\"sequence\":4,\"number\":2,\"verdict\":\"drift\",\"steady_from\":null}],"
    "\"metrics\":{\"iteration_time\":{\"unit\":\"ns\",\"value\":5.0,\"lo\":4.0,\"hi\":6.0,"
    "\"grade\":\"C\"},\"item_rate\":{\"unit\":\"tokens/s\",\"value\":100.0,\"lo\":null,"
    "\"hi\":null,\"grade\":\"D\"},\"p99\":{\"unit\":\"ns\",\"value\":null,\"needed\":299},"
    "\"p50\":{\"unit\":\"ns\",\"value\":5.0,\"lo\":4.0,\"hi\":6.0},\"unknown\":{\"value\":1}},"
    "\"findings\":[{\"code\":\"drift\",\"trial_number\":1,\"numbers\":{\"change\":0.11}},"
    "{\"code\":\"drift\",\"trial_number\":2,\"numbers\":{\"change\":0.095}},"
    "{\"code\":\"one_trial\",\"numbers\":{\"needed\":5}},{\"code\":\"of a newer assay\"},"
    "{\"code\":\"percentile_not_reported\",\"subject\":\"p99\",\"numbers\":{\"ess\":299}}]}}";

static json_t *parse(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);

    assert_non_null(json);
    return json;
}

TEST(a_whole_record_is_read)
{
    struct view_cell cell;
    const struct metric_value *headline;
    const struct reading *reading;
    struct view_figure figure;
    enum metric_id id;
    struct text words;

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
    assert_null(cell.trials[0].estimate);
    assert_true(cell.trials[1].estimate && cell.trials[1].estimate->has_steady);
    assert_int_equal(cell.trials[1].estimate->steady_from, 20);
    assert_true(cell.trials[2].estimate && !cell.trials[2].estimate->has_steady);
    assert_true(isnan(cell.trials[2].checks[0].error));
    assert_string_equal(cell.trials[2].checks[0].error_text, "nan");

    assert_int_equal(cell.trials[2].component_count, 4);
    assert_int_equal(cell.trials[2].changed_count, 1);
    assert_int_equal(cell.trials[2].components[0].change, VIEW_SAME);
    assert_int_equal(cell.trials[2].components[1].change, VIEW_CHANGED);
    assert_string_equal(cell.trials[2].components[1].sha256_end, "99");
    assert_int_equal(cell.trials[2].components[2].change, VIEW_GONE);
    assert_int_equal(cell.trials[2].components[3].change, VIEW_APPEARED);

    headline = view_headline(&cell, &id);
    assert_non_null(headline);
    assert_int_equal(id, METRIC_ITEM_RATE);
    assert_string_equal(headline->unit, "tokens/s");
    assert_float_equal(headline->value, 100, 1e-9);
    assert_false(headline->has_interval);
    assert_true(view_figure_of(id, headline, &figure));
    assert_string_equal(figure.value, "100.0 tokens/s");
    assert_true(figure.marked && figure.ends[0] == '\0');
    assert_true(view_is_steady(&cell));
    assert_string_equal(view_verdict_label(&cell), "after warmup");
    assert_non_null(view_metric(&cell, METRIC_P50));
    assert_null(view_metric(&cell, METRIC_P95));
    assert_false(view_metric(&cell, METRIC_P99)->has_value);
    assert_int_equal(view_metric(&cell, METRIC_P99)->needed, 299);
    assert_int_equal(cell.estimate->findings.count, 4);
    text_init(&words);
    assert_int_equal(view_cache_words(&cell, &words), VIEW_CACHE_HOLDS);
    assert_non_null(strstr(words.data, ", the last-level cache holds 1.95 KiB: it fits in the"));
    text_finish(&words);
    view_cell_finish(&cell);
}

/* The size of a cache that a hypervisor reports is not this machine's share of it. */
TEST(a_virtual_machines_cache_may_hold)
{
    static const struct {
        const char *type, *virtualised;
        long long working_set;
        enum view_cache expected;
    } cases[] = {{"cpu", "yes", 1000, VIEW_CACHE_MAY_HOLD},
                 {"cpu", "yes", 3000, VIEW_CACHE_EXCEEDED},
                 {"cpu", "no", 1000, VIEW_CACHE_HOLDS},
                 {"gpu", "yes", 1000, VIEW_CACHE_HOLDS}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct view_cell cell;
        struct text words;
        json_t *json = json_pack(
            "{s:{s:s}, s:{s:I}, s:[{s:i, s:s, s:{s:I}, s:{s:{s:{s:s, s:s, s:s}}}}]}", "device",
            "type", cases[i].type, "cost", "working_set_bytes", (json_int_t)cases[i].working_set,
            "trials", "id", 1, "status", "ok", "facts", "last_level_cache_bytes", (json_int_t)2000,
            "environment", "host", "host.virtualised", "status", "measured", "value",
            cases[i].virtualised, "source", "/proc/cpuinfo");

        assert_non_null(json);
        assert_int_equal(view_cell_from_json(json, VIEW_FULL, &cell, NULL), STATUS_OK);
        text_init(&words);
        assert_int_equal(view_cache_words(&cell, &words), cases[i].expected);
        text_finish(&words);
        view_cell_finish(&cell);
    }
}

TEST(a_summary_leaves_the_long_parts_out)
{
    struct view_cell cell;

    assert_int_equal(view_cell_from_json(parse(whole), VIEW_SUMMARY, &cell, NULL), STATUS_OK);
    assert_int_equal(cell.trials[2].component_count, 0);
    assert_int_equal(cell.trials[2].check_count, 0);
    assert_int_equal(cell.ok_count, 2);
    view_cell_finish(&cell);
}

/* A value is shown whatever the verdict, which decides whether it is a headline. */
TEST(verdicts_mark_the_value)
{
    static const struct {
        const char *verdict, *label;
        bool steady;
    } cases[] = {{"steady", "steady", true},
                 {"after_warmup", "after warmup", true},
                 {"after_slowdown", "after slowdown", true},
                 {"drift", "drift", false},
                 {"bimodal", "bimodal", false},
                 {"insufficient", "insufficient", false},
                 {"non_stationary", "non-stationary", false},
                 {"something", "unknown verdict", false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        json_t *root = parse(whole);
        struct view_cell cell;
        enum metric_id id;

        json_object_set_new(json_object_get(root, "estimate"), "verdict",
                            json_string(cases[i].verdict));
        assert_int_equal(view_cell_from_json(root, VIEW_FULL, &cell, NULL), STATUS_OK);
        assert_non_null(view_headline(&cell, &id));
        assert_null(view_no_value_reason(&cell));
        assert_int_equal(view_is_steady(&cell), cases[i].steady);
        assert_string_equal(view_verdict_label(&cell), cases[i].label);
        view_cell_finish(&cell);
    }
}

static void render(void *context, json_t *root)
{
    struct view_campaign campaign = {0};
    struct view_cell cells[1];
    struct view view = {&campaign, 1, cells, 1};
    struct text out;
    struct doc doc;

    (void)context;
    if (view_cell_from_json(root, VIEW_FULL, &cells[0], NULL) != STATUS_OK)
        return;
    text_init(&out);
    report_terminal_table(&out, &view, 80, false);
    doc = doc_new(&out, &doc_lines);
    cell_document(&doc, &cells[0], &campaign, true);
    doc_finish(&doc);
    assert_true(text_ok(&out));
    text_finish(&out);
    view_cell_finish(&cells[0]);
}

TEST(no_shape_of_json_breaks_it)
{
    json_t *root = parse(whole);

    assert_true(json_shapes_try(root, render, NULL) > 1000);
    json_decref(root);
    for (size_t s = 0; s < json_shape_count(); ++s)
        render(NULL, json_shape(s));
}

TEST(alike_remarks_are_said_once)
{
    json_t *other = parse(whole), *third_root = parse(whole);
    struct view_cell cell, second, third;
    struct remarks remarks;
    size_t refs[8];

    assert_int_equal(view_cell_from_json(parse(whole), VIEW_FULL, &cell, NULL), STATUS_OK);
    remarks_init(&remarks);
    remarks_add_cell(&remarks, 0, &cell);
    remarks_render(&remarks);
    assert_false(remarks.failed);
    /* Warnings of one kind are one remark; "info" is shown only on the cell's page. */
    assert_int_equal(remarks.count, 4);
    assert_string_equal(remarks.items[0].text,
                        "trials 1, 2: drift of +9.5 to +11 % over the window; check temperature "
                        "and clocks; warm up longer or measure longer");
    assert_non_null(strstr(remarks.items[1].text, "one trial: "));
    assert_non_null(strstr(remarks.items[2].text, "simulated"));
    assert_string_equal(remarks.items[3].text, "9f2c41aa/3: trial 1: crashed: signal 11");
    assert_int_equal(remarks_of(&remarks, 0, refs, 8), 4);
    assert_int_equal(refs[3], 4);
    assert_int_equal(remarks_of(&remarks, 1, refs, 8), 0);

    /* Another cell with findings of the kind shares the remark, which then has both's range. */
    json_object_set_new(
        json_object_get(
            json_array_get(json_object_get(json_object_get(other, "estimate"), "findings"), 0),
            "numbers"),
        "change", json_real(0.99));
    json_object_set_new(other, "id", json_string("9f2c41aa/4"));
    assert_int_equal(view_cell_from_json(other, VIEW_FULL, &second, NULL), STATUS_OK);
    remarks_add_cell(&remarks, 2, &second);
    remarks_render(&remarks);
    assert_int_equal(remarks.count, 5);
    assert_string_equal(remarks.items[0].text,
                        "trials 1, 2 of each: drift of +9.5 to +99 % over the window; check "
                        "temperature and clocks; warm up longer or measure longer");
    assert_string_equal(remarks.items[4].text, "9f2c41aa/4: trial 1: crashed: signal 11");
    assert_int_equal(remarks_of(&remarks, 2, refs, 8), 4);
    assert_int_equal(refs[0], 1);
    assert_int_equal(refs[3], 5);

    /* Where one cell has it in another trial, each cell's trials are said. */
    json_array_remove(json_object_get(json_object_get(third_root, "estimate"), "findings"), 0);
    json_object_set_new(third_root, "id", json_string("9f2c41aa/5"));
    assert_int_equal(view_cell_from_json(third_root, VIEW_FULL, &third, NULL), STATUS_OK);
    remarks_add_cell(&remarks, 3, &third);
    remarks_render(&remarks);
    assert_string_equal(remarks.items[0].text,
                        "9f2c41aa/3: trials 1, 2; 9f2c41aa/4: trials 1, 2; 9f2c41aa/5: trial 2: "
                        "drift of +9.5 to +99 % over the window; check temperature and clocks; "
                        "warm up longer or measure longer");
    remarks_finish(&remarks);
    view_cell_finish(&cell);
    view_cell_finish(&second);
    view_cell_finish(&third);
}

static void join(void *context, enum finding_severity severity, const char *text)
{
    struct text *out = context;

    text_append_format(out, "%s: %s\n", finding_severity_name(severity), text);
}

/* What failed while sizes were chosen, for all trials or in one that chose for itself. */
TEST(choices_that_failed_are_remarks)
{
    json_t *root = parse(whole), *choices = parse("{\"refused\":[\"rows, lanes 64: a\","
                                                  "\"rows, lanes 128: a\",\"gemm: b\",7]}");
    json_t *trial = json_array_get(json_object_get(root, "trials"), 2);
    struct view_cell cell;
    struct remarks remarks;
    struct text said;

    json_object_set(root, "choices", choices);
    json_object_set_new(trial, "facts", parse("{\"refused\":[\"vendor: c\"]}"));
    json_object_set_new(json_object_get(root, "estimate"), "findings", json_array());
    assert_int_equal(view_cell_from_json(json_deep_copy(root), VIEW_SUMMARY, &cell, NULL),
                     STATUS_OK);
    assert_true(remarks_has_any(&cell));
    text_init(&said);
    remarks_of_cell(&cell, join, &said);
    assert_non_null(strstr(said.data, "info: "));
    assert_non_null(strstr(said.data, "failed: rows, lanes 64: a"));
    assert_non_null(strstr(said.data, "failed: gemm: b"));
    assert_non_null(strstr(said.data, "failed: vendor: c"));
    text_finish(&said);
    view_cell_finish(&cell);

    json_object_clear(choices);
    json_object_set_new(choices, "failed", json_string("it crashed"));
    json_object_del(trial, "facts");
    assert_int_equal(view_cell_from_json(json_deep_copy(root), VIEW_SUMMARY, &cell, NULL),
                     STATUS_OK);
    remarks_init(&remarks);
    remarks_add_cell(&remarks, 0, &cell);
    remarks_render(&remarks);
    assert_non_null(strstr(remarks.items[1].text, "each trial tuned for itself"));
    assert_non_null(strstr(remarks.items[1].text, "it crashed"));
    remarks_finish(&remarks);
    view_cell_finish(&cell);

    json_object_del(root, "choices");
    assert_int_equal(view_cell_from_json(root, VIEW_SUMMARY, &cell, NULL), STATUS_OK);
    assert_false(remarks_has_any(&cell));
    view_cell_finish(&cell);
    json_decref(choices);
}

/* What a device lacks is reported once for all its cells, an interrupted campaign with how to
 * resume. */
TEST(what_has_no_number_says_why)
{
    struct remarks remarks;
    struct view_cell cells[3] = {
        {.result = "9f2c41aa/1"},
        {.result = "9f2c41aa/2"},
        {.result = "9f2c41aa/3", .ok_count = 2, .run = VIEW_RUN_STOPPED, .database = "'a b.db'"}};
    struct view_trial trial = {
        .number = 1, .status = (char *)"unsupported", .message = (char *)"no bf16 here"};

    cells[0].trials = cells[1].trials = &trial;
    cells[0].trial_count = cells[1].trial_count = 1;
    remarks_init(&remarks);
    for (size_t i = 0; i < 3; i++)
        remarks_add_cell(&remarks, i, &cells[i]);
    remarks_render(&remarks);
    assert_int_equal(remarks.count, 2);
    assert_string_equal(remarks.items[0].text, "unsupported: no bf16 here");
    assert_int_equal(remarks.items[0].cell_count, 2);
    assert_non_null(strstr(remarks.items[1].text, "assay run --resume 9f2c41aa --db 'a b.db'"));
    assert_int_equal(remarks.items[1].cells[0], 2);
    remarks_finish(&remarks);
}

/* What was withheld from a bundle is named as such, and a damaged time breaks nothing. */
TEST(amendments_are_shown)
{
    static const char *const cases[][2] = {
        {"{\"created\": \"2026-11-20T16:02:03.004Z\", \"author\": \"me\", \"reason\": \"why\"}",
         "amended 2026-11-20 16:02 UTC by me: why"},
        {"{\"created\": \"2026-11-20T16:02:03.004Z\", \"author\": null, \"reason\": null}",
         "amended 2026-11-20 16:02 UTC by (withheld): (withheld)"},
        {"{\"created\": \"2026\", \"author\": \"me\", \"reason\": \"why\"}", "amended by me: why"},
        {"[]", "amended by (withheld): (withheld)"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *json = json_loads(cases[i][0], 0, NULL);
        json_t *amendments = json_pack("[O]", json);
        struct view_cell cell = {.result = "9f2c41aa/1", .amendments = amendments};
        struct remarks remarks;
        char *words = view_amendment_words(json);

        assert_string_equal(words, cases[i][1]);
        remarks_init(&remarks);
        remarks_add_cell(&remarks, 0, &cell);
        remarks_render(&remarks);
        assert_int_equal(remarks.count, 1);
        assert_non_null(strstr(remarks.items[0].text, words));
        remarks_finish(&remarks);
        json_decref(amendments);
        json_decref(json);
        free(words);
    }
}

/* A value without an interval has no more digits than an uncertain one. */
TEST(a_percentile_without_an_interval_has_two_digits)
{
    struct metric_value percentile = {.has_value = true, .value = 35517384};
    struct view_figure figure;

    assert_true(view_figure_of(METRIC_P99, &percentile, &figure));
    assert_string_equal(figure.value, "36 ms");
    percentile.has_interval = true;
    percentile.lo = 35517000;
    percentile.hi = 35518000;
    view_figure_of(METRIC_P99, &percentile, &figure);
    assert_string_equal(figure.value, "35.52 ms");
}
