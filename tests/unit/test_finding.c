/* The tables of findings and metrics, and what is rendered from them. */
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/finding.h"
#include "protocols/metric.h"
#include "tests/support/unit.h"

static const char *const kinds[] = {"n", "%", "+%", "start", "half", "ns", "g", "J", "MHz"};

static bool is_kind(const char *at, size_t length)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strlen(kinds[i]) == length && !strncmp(kinds[i], at, length))
            return true;
    return false;
}

static bool has_number(const struct finding_kind *kind, const char *name, size_t length)
{
    for (size_t i = 0; i < FINDING_NUMBERS_MAX && kind->numbers[i]; i++)
        if (strlen(kind->numbers[i]) == length && !strncmp(kind->numbers[i], name, length))
            return true;
    return false;
}

/* Each placeholder names a number of its row in a kind that is known, or the subject. */
static void check_words(const struct finding_kind *kind, const char *words)
{
    for (const char *open = strchr(words, '{'); open; open = strchr(open + 1, '{')) {
        const char *close = strchr(open, '}'), *colon = strchr(open, ':');

        assert_non_null(close);
        if (!strncmp(open, "{subject}", 9) || !strncmp(open, "{subject|", 9) ||
            !strncmp(open, "{detail}", 8))
            continue;
        assert_true(colon && colon < close);
        if (!has_number(kind, open + 1, (size_t)(colon - open - 1)) ||
            !is_kind(colon + 1, (size_t)(close - colon - 1)))
            fail_msg("%s: %s", kind->code, open);
    }
}

TEST(rows_are_well_formed)
{
    for (int i = 0; i < FINDING_COUNT; i++) {
        check_words(&finding_kinds[i], finding_kinds[i].words);
        check_words(&finding_kinds[i], finding_kinds[i].remedy);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(finding_kinds[i].code, finding_kinds[k].code);
    }
    for (int i = 0; i < METRIC_COUNT; i++)
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(metrics[i].id, metrics[k].id);
            assert_string_not_equal(metrics[i].exported, metrics[k].exported);
        }
}

static char *rendered(const struct finding_list *list, size_t count, size_t trial_count)
{
    const struct finding *items[8];
    struct text text;

    for (size_t i = 0; i < count; i++)
        items[i] = &list->items[i];
    text_init(&text);
    finding_render(items, count, trial_count, &text);
    return text_steal(&text);
}

static void expect(const struct finding_list *list, size_t count, size_t trial_count,
                   const char *expected)
{
    char *text = rendered(list, count, trial_count);

    assert_string_equal(text, expected);
    free(text);
}

TEST(findings_of_several_trials_are_one_sentence)
{
    struct finding_list list = {0};

    finding_add(&list, FINDING_CONTENTION, 2, NULL, (double[]){0.4});
    finding_add(&list, FINDING_CONTENTION, 3, NULL, (double[]){1.6});
    finding_add(&list, FINDING_CONTENTION, 5, NULL, (double[]){1});
    expect(&list, 1, 8,
           "trial 2 of 8: contention: other processes used 0.40 cores during the window; stop "
           "them; `assay doctor` on that machine names them");
    expect(&list, 3, 8,
           "trials 2, 3, 5 of 8: contention: other processes used 0.40 to 1.6 cores during the "
           "window; stop them; `assay doctor` on that machine names them");
    expect(&list, 3, 3,
           "all 3 trials: contention: other processes used 0.40 to 1.6 cores during the window; "
           "stop them; `assay doctor` on that machine names them");
    finding_list_finish(&list);
}

TEST(figures_are_written_by_their_kind)
{
    struct finding_list list = {0};

    finding_add(&list, FINDING_LATE_WARMUP, 1, NULL, (double[]){41, 135});
    expect(&list, 1, 1,
           "trial 1: steady state begins at sample 41 only, after a start 136 times slower; the "
           "samples before it are kept and not in the estimate; declare a longer warmup");
    finding_list_finish(&list);
    finding_add(&list, FINDING_BIMODAL, 1, NULL, (double[]){3.961e6, 999, 0.07, 4});
    expect(&list, 1, 1,
           "trial 1: bimodal: 3.96 ms and 999 ns (7.0 % of the time), 4 changes; the mean is of "
           "the mixture; look for a clock, another process or a memory placement that switches");
    finding_list_finish(&list);
    finding_add(&list, FINDING_IMPRECISE, 0, NULL, (double[]){0.68, 74, 0.05});
    expect(&list, 1, 3, "95 % interval ±68 %; about 74 trials for ±5.0 %");
    finding_list_finish(&list);
    /* Names of devices and libraries are escaped for a terminal. */
    finding_add(&list, FINDING_DEVICE_SHARED, 1, "\033[31mevil", NULL);
    expect(&list, 1, 1,
           "trial 1: other processes used the device: \\x1B[31mevil; end them and run again");
    finding_list_finish(&list);
    /* What to do can depend on the subject, and be the rule without one. */
    finding_add(&list, FINDING_REQUESTS_REFUSED, 0, NULL, (double[]){3, 0.25});
    expect(&list, 1, 1,
           "3 requests were refused (25 %); lower the rate, or raise batching.queue, which was "
           "full");
    finding_list_finish(&list);
    finding_add(&list, FINDING_REQUESTS_REFUSED, 0, "its own limit", (double[]){3, 0.25});
    expect(&list, 1, 1, "3 requests were refused (25 %); lower the rate, or raise its own limit");
    finding_list_finish(&list);
    finding_add(&list, FINDING_LOAD_LATE, 0, NULL, (double[]){2e6, 0.18});
    expect(&list, 1, 1,
           "the load was late: 18 % of the requests were sent later than the protocol admits, or "
           "never; one in a thousand 2.00 ms or more after its time; give the generator a "
           "processor of its own, on an idle machine");
    finding_list_finish(&list);
}

static void count_group(void *context, const struct finding *const *items, size_t count)
{
    size_t *counts = context;

    counts[items[0]->code == FINDING_DRIFT]++;
    counts[2] += count;
}

TEST(groups_and_codec)
{
    struct finding_list list = {0}, again;
    size_t counts[3] = {0};
    json_t *json, *people;

    finding_add(&list, FINDING_DRIFT, 1, NULL, (double[]){0.1});
    finding_add(&list, FINDING_FILE_CHANGED, 0, "/a", (double[]){2});
    finding_add(&list, FINDING_FILE_CHANGED, 0, "/b", (double[]){2});
    finding_add(&list, FINDING_DRIFT, 2, NULL, (double[]){NAN});
    assert_true(finding_each_group(&list, count_group, counts));
    assert_int_equal(counts[1], 1);
    assert_int_equal(counts[0], 2); /* files are not one kind: their subjects differ */
    assert_int_equal(counts[2], 4);
    json = type_to_json(&findings_type, &list);
    assert_null(type_read(&findings_type, json, &again));
    people = type_to_json(&findings_type, &again);
    assert_true(json_equal(json, people));
    json_decref(people);
    people = findings_for_people(&list, "9f2c41aa/1");
    assert_int_equal(json_array_size(people), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(people, 0), "severity")),
                        "warning");
    assert_int_equal(json_array_size(json_object_get(json_array_get(people, 0), "trials")), 2);
    json_decref(people);
    json_decref(json);
    finding_list_finish(&again);
    finding_list_finish(&list);
}

TEST(codes_are_named_once)
{
    struct finding_list list = {0};
    json_t *json, *codes;

    codes = findings_codes(NULL);
    assert_int_equal(json_array_size(codes), 0);
    json_decref(codes);
    finding_add(&list, FINDING_FILE_CHANGED, 0, "/a", (double[]){2});
    finding_add(&list, FINDING_FOREIGN_WORKER, 2, NULL, NULL);
    finding_add(&list, FINDING_FILE_CHANGED, 0, "/b", (double[]){2});
    finding_add(&list, FINDING_FOREIGN_WORKER, 3, NULL, NULL);
    json = type_to_json(&findings_type, &list);
    json_array_append_new(json, json_pack("{s:s}", "code", "of_a_newer_program"));
    codes = findings_codes(json);
    assert_int_equal(json_array_size(codes), 2);
    assert_string_equal(json_string_value(json_array_get(codes, 0)), "file_changed");
    assert_string_equal(json_string_value(json_array_get(codes, 1)), "foreign_worker");
    json_decref(codes);
    json_decref(json);
    finding_list_finish(&list);
    assert_int_equal(finding_kind_find("foreign_worker")->severity, FINDING_CRITICAL);
    assert_null(finding_kind_find("of_a_newer_program"));
    assert_null(finding_kind_find(NULL));
}

TEST(units_and_grades)
{
    struct metric_value value = {.has_value = true, .has_interval = true, .value = 100};
    char unit[METRIC_UNIT_SIZE];

    metric_unit(METRIC_ITEM_RATE, "token", false, unit);
    assert_string_equal(unit, "tokens/s");
    metric_unit(METRIC_ITEM_RATE, "launch", false, unit);
    assert_string_equal(unit, "launches/s");
    metric_unit(METRIC_OP_RATE, "token", true, unit);
    assert_string_equal(unit, "OP/s");
    metric_unit(METRIC_ENERGY_OP, NULL, false, unit);
    assert_string_equal(unit, "J/FLOP");
    metric_unit(METRIC_ENERGY_ITEM, NULL, false, unit);
    assert_string_equal(unit, "J/item");

    value.lo = 99.5;
    value.hi = 100.9;
    assert_int_equal(metric_grade(&value, true, false, 5, 0), METRIC_GRADE_A);
    assert_int_equal(metric_grade(&value, true, false, 4, 0), METRIC_GRADE_C);
    assert_int_equal(metric_grade(&value, true, false, 1, 0), METRIC_GRADE_D);
    assert_int_equal(metric_grade(&value, false, true, 8, 0), METRIC_GRADE_C);
    assert_int_equal(metric_grade(&value, false, false, 8, 0), METRIC_GRADE_D);
    value.hi = 104.9;
    assert_int_equal(metric_grade(&value, true, false, 5, 0), METRIC_GRADE_B);
    value.hi = 119;
    assert_int_equal(metric_grade(&value, true, false, 5, 0), METRIC_GRADE_C);
    value.hi = 121;
    assert_int_equal(metric_grade(&value, true, false, 5, 0), METRIC_GRADE_D);
    value.has_interval = false;
    assert_int_equal(metric_grade(&value, true, false, 5, 0), METRIC_GRADE_D);
    value.has_value = false;
    assert_int_equal(metric_grade(&value, true, false, 5, 0), METRIC_GRADE_NONE);
}

TEST(requests_that_take_days_are_no_remedy)
{
    static const struct {
        double needed, rate;
        const char *remedy;
    } cases[] = {
        {4320000, 50, "about 4320000 requests in all trials would tell"},
        {12960000, 50,
         "about 12960000 requests in all trials would tell, which come in 72 hours at this rate, "
         "beyond reason: a lower rate, or another share to demand, takes fewer"},
        {12960000, NAN, "about 12960000 requests in all trials would tell"}, /* not on record */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct finding_list list = {0};
        struct text text;

        finding_add(&list, FINDING_LIMITS_OPEN, 0, "the share is too near",
                    (double[]){0.98, 0.99, cases[i].needed, cases[i].rate});
        text_init(&text);
        finding_render_remedy((const struct finding *[]){&list.items[0]}, 1, &text);
        assert_string_equal(text.data, cases[i].remedy);
        text_finish(&text);
        finding_list_finish(&list);
    }
}

/* A remedy that nobody can follow is none: what so many trials would give is said in its place. */
TEST(too_many_trials_are_no_remedy)
{
    static const struct {
        double trials;
        const char *remedy;
    } cases[] = {
        {40, "95 % interval ±4.0 %; about 40 trials for ±1.0 %"},
        {200, "95 % interval ±4.0 %; about 200 trials for ±1.0 %"},
        {12156,
         "95 % interval ±4.0 %; about 12156 trials for ±1.0 %, which is beyond reason: 200 would "
         "give about ±7.8 %"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct finding_list list = {0};
        char *text;

        finding_add(&list, FINDING_IMPRECISE, 0, NULL, (double[]){0.04, cases[i].trials, 0.01});
        text = rendered(&list, 1, 0);
        assert_string_equal(text, cases[i].remedy);
        free(text);
        finding_list_finish(&list);
    }
}
