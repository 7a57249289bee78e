/*
 * Of the engines that cuDNN lists for attention, each pass takes the fastest of those with the same
 * arithmetic, by measurement and once (test_algorithms.c); and a check of fewer sequences runs the
 * operation that is timed. Times are those given to the stand-in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu_shim/journey.h"
#include "tests/support/unit.h"
#include "workloads/workload.h"

#define TRAINING                                                                                   \
    "workload: mine\nversion: 1\nkind: training_step\ndescription: d\nprecisions: [bf16]\n"        \
    "batches: [2]\nmodel: {layers: 1, heads: 2, width: 16, context: 9, vocabulary: 16, "           \
    "mlp_ratio: 1}\nsequence_length: 9\ndata: {source: markov, successors: 4}\n"                   \
    "verify: {sequences: 1, fp32_steps: 1}\n"
#define FORWARD "bf16 2x2x9x8 forward, training"
#define BACKWARD "bf16 2x2x9x8 backward"

struct running {
    struct workload workload;
    struct workload_instance *instance;
};

static void count_check(void *context, const struct workload_check *check)
{
    if (!check->passed)
        print_error("%s: %g > %g\n", check->output, check->error, check->tolerance);
    assert_true(check->passed);
    ++*(size_t *)context;
}

/* Creates and verifies, as a worker does before it measures. */
static enum status start(struct running *running, const char *times, const json_t *choices,
                         struct error *err)
{
    struct workload_case work = {.workload = &running->workload,
                                 .precision = PRECISION_BF16,
                                 .batch = 2,
                                 .scenario = SCENARIO_OFFLINE,
                                 .implementation = IMPLEMENTATION_VENDOR,
                                 .seed = 99,
                                 .choices = choices};
    size_t checks = 0;
    enum status status;

    setenv("ASSAY_SHIM_ALGORITHMS", times, 1);
    running->instance = NULL;
    assert_int_equal(
        workload_parse("mine.yaml", TRAINING, strlen(TRAINING), &running->workload, NULL),
        STATUS_OK);
    status = workload_instance_create(&work, journey_device, &running->instance, err);
    if (status == STATUS_OK)
        status = workload_verify(running->instance, count_check, &checks, err);
    if (status == STATUS_OK)
        assert_true(checks > 5);
    return status;
}

static void stop(struct running *running)
{
    workload_instance_destroy(running->instance);
    workload_finish(&running->workload);
}

/* Choices and facts of a model autotuned by measurement among engines of these times. */
static json_t *autotune(const char *times, json_t **ret_attention)
{
    struct running running;
    struct error err = ERROR_INIT;
    json_t *choices, *facts;

    if (start(&running, times, NULL, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    choices = running.workload.kind->choices(running.instance);
    facts = running.workload.kind->facts(running.instance);
    stop(&running);
    *ret_attention = json_incref(json_object_get(facts, "attention"));
    json_decref(facts);
    assert_non_null(choices);
    assert_true(json_is_true(json_object_get(*ret_attention, "fused")));
    return choices;
}

static json_t *choice_of(const json_t *choices, const char *pass)
{
    json_t *all = json_object_get(json_object_get(choices, "attention"), "algorithms");

    assert_int_equal(json_object_size(all), 2);
    assert_non_null(json_object_get(all, pass));
    return json_object_get(all, pass);
}

static void expect_choice(const json_t *choices, const char *pass, const char *algorithm,
                          int64_t tried)
{
    const json_t *choice = choice_of(choices, pass);

    assert_string_equal(json_string_value(json_object_get(choice, "algorithm")), algorithm);
    assert_int_equal(json_integer_value(json_object_get(choice, "tried")), tried);
}

TEST(the_fastest_is_taken)
{
    json_t *attention, *stacks;
    /* The stand-in's engine 0 cannot be planned. The last is faster by less than the threshold. */
    json_t *choices = autotune("30000000,9000000,20000000,8990000", &attention);

    expect_choice(choices, FORWARD, "engine 2, knobs 24=7", 5);
    expect_choice(choices, BACKWARD, "engine 2, knobs 24=7", 5);
    assert_string_equal(json_string_value(json_object_get(attention, "algorithm")),
                        "engine 2, knobs 24=7");
    assert_int_equal(json_integer_value(json_object_get(attention, "algorithms")), 10);
    assert_int_equal(json_integer_value(json_object_get(attention, "tried")), 10);
    stacks = workload_choices_stacks(choices);
    assert_int_equal(json_array_size(stacks), 2);
    assert_non_null(strstr(json_string_value(json_array_get(stacks, 1)), "cuDNN"));
    json_decref(stacks);
    json_decref(choices);
    json_decref(attention);
}

/* As a trial does: it uses what was chosen, though another is faster now, and measures nothing. */
TEST(a_choice_is_kept)
{
    json_t *attention, *again;
    json_t *choices = autotune("30000000,9000000,20000000", &attention);
    struct running running;
    struct error err = ERROR_INIT;
    int before;

    json_decref(attention);
    before = journey_calls("cudnnBackendExecute");
    if (start(&running, "1000,9000000,20000000", choices, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    again = running.workload.kind->choices(running.instance);
    assert_true(json_equal(choices, again));
    assert_in_range(journey_calls("cudnnBackendExecute") - before, 2, 20);
    stop(&running);
    json_decref(again);
    json_decref(choices);
}

TEST(what_is_not_offered_any_more)
{
    json_t *attention;
    json_t *choices = autotune("30000000,9000000,2000", &attention);
    struct running running;
    struct error err = ERROR_INIT;

    json_decref(attention);
    /* GEMMs of the stand-in have the same list, so theirs is made one that it offers. */
    json_object_del(json_object_get(choices, "gemm"), "algorithms");
    assert_int_equal(start(&running, "30000000,9000000", choices, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, "does not offer the algorithm \"engine 3, knobs 24=7\""));
    assert_non_null(strstr(err.message, FORWARD));
    stop(&running);
    json_decref(choices);
}

TEST(arithmetic_is_not_mixed)
{
    json_t *attention, *choices;

    setenv("ASSAY_SHIM_CONVERTING", "3", 1);
    choices = autotune("30000000,9000000,2000", &attention);
    unsetenv("ASSAY_SHIM_CONVERTING");
    expect_choice(choices, FORWARD, "engine 2, knobs 24=7", 3);
    json_decref(choices);
    json_decref(attention);
}

/* What fails when it runs is skipped. */
TEST(what_fails_is_skipped)
{
    json_t *attention, *choices = autotune("30000000,20000000,fail", &attention);

    expect_choice(choices, BACKWARD, "engine 2, knobs 24=7", 4);
    json_decref(choices);
    json_decref(attention);
}

/* Engine 0 is not supported, and the other fails: the failure is reported. */
TEST(a_failure_is_reported_before_unsupported)
{
    struct running running;
    struct error err = ERROR_INIT;

    journey_fail("cudnnBackendExecute", 1, 5000);
    assert_int_equal(start(&running, "9000000", NULL, &err), STATUS_DEVICE);
    journey_fail(NULL, 0, 0);
    stop(&running);
    assert_non_null(strstr(err.message, "none of the library's 2 algorithms runs"));
    assert_non_null(strstr(err.message, "cudnnBackendExecute"));
}

/*
 * The library does the batch of two and refuses the one sequence that the check takes: the check
 * runs the batch's operation.
 */
TEST(a_check_uses_what_is_timed)
{
    json_t *attention, *choices;

    setenv("ASSAY_SHIM_REFUSED_BATCH", "1", 1);
    choices = autotune("1000", &attention);
    unsetenv("ASSAY_SHIM_REFUSED_BATCH");
    json_decref(choices);
    json_decref(attention);
}

int main(void)
{
    const int opened = journey_open(LIBRARIES, SHIM_PATH);

    if (opened != 0)
        return opened;
    return unit_run(journey_setup, journey_teardown);
}
