/*
 * Of the algorithms that a library lists for a convolution, the fastest is taken, by measurement
 * and once, as with GEMMs (test_algorithms.c); with the times given to the stand-in.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu_shim/journey.h"
#include "tests/support/unit.h"
#include "tests/unit/gemm_fixture.h"

#define ONE_SHAPE "{height: 5, width: 6, channels: 4, filters: 8, kernel: 3, padding: 1}"

/* Among algorithms of these times. */
static struct gemm_plan plan(const char *times, const json_t *choices)
{
    setenv("ASSAY_SHIM_ALGORITHMS", times, 1);
    return (struct gemm_plan){.kind = "convolution",
                              .section = "shapes: [" ONE_SHAPE "]",
                              .precision = PRECISION_BF16,
                              .implementation = IMPLEMENTATION_VENDOR,
                              .choices = choices};
}

static enum status start(struct gemm_running *running, const char *times, const json_t *choices,
                         struct error *err)
{
    const struct gemm_plan planned = plan(times, choices);

    return gemm_try_start(running, journey_device, &planned, err);
}

static void start_ok(struct gemm_running *running, const char *times, const json_t *choices)
{
    const struct gemm_plan planned = plan(times, choices);

    gemm_start(running, journey_device, &planned);
}

/* The choices of a convolution autotuned by measurement among algorithms of these times. */
static json_t *autotune(const char *times, json_t **ret_facts)
{
    struct gemm_running running;
    json_t *choices;

    start_ok(&running, times, NULL);
    gemm_verify_ok(&running, 2);
    choices = running.workload.kind->choices(running.instance);
    if (ret_facts != NULL)
        *ret_facts = running.workload.kind->facts(running.instance);
    gemm_stop(&running);
    assert_non_null(choices);
    return choices;
}

TEST(the_fastest_is_taken)
{
    json_t *facts = NULL;
    /* The last is faster by less than the threshold. */
    json_t *choices = autotune("30000000,9000000,20000000,8990000", &facts);
    const json_t *listed = json_array_get(json_object_get(facts, "gemms"), 0);

    assert_string_equal(journey_algorithm(choices, "convolution"), "GEMM, CUDNN_TENSOR_OP_MATH");
    assert_string_equal(json_object_iter_key(json_object_iter(json_object_get(
                            json_object_get(choices, "convolution"), "algorithms"))),
                        "bf16 to bf16, 1x5x6x4, 8 of 3x3, stride 1x1, padding 1x1, dilation 1x1, "
                        "groups 1");
    assert_int_equal(
        json_integer_value(json_object_get(journey_choice(choices, "convolution"), "tried")), 4);
    assert_int_equal(json_integer_value(json_object_get(listed, "tried")), 4);
    assert_int_equal(json_integer_value(json_object_get(listed, "algorithms")), 4);
    assert_string_equal(json_string_value(json_object_get(listed, "algorithm")),
                        journey_algorithm(choices, "convolution"));
    assert_int_equal(json_integer_value(json_object_get(listed, "workspace_bytes")), 65536);
    assert_int_equal(json_array_size(json_object_get(facts, "candidates")), 4);
    assert_true(journey_names_stack(choices, NULL));
    json_decref(choices);
    json_decref(facts);
}

TEST(what_fails_is_skipped)
{
    json_t *facts = NULL;
    json_t *choices = autotune("fail,20000000,5000000", &facts);
    const json_t *first = json_array_get(json_object_get(facts, "candidates"), 0);

    assert_string_equal(journey_algorithm(choices, "convolution"),
                        "IMPLICIT_GEMM, CUDNN_TENSOR_OP_MATH");
    assert_non_null(
        strstr(json_string_value(json_object_get(first, "refused")), "cudnnConvolutionForward"));
    json_decref(choices);
    json_decref(facts);
}

TEST(none_that_runs)
{
    struct gemm_running running;
    struct error err = ERROR_INIT;

    assert_int_equal(start(&running, "fail,fail", NULL, &err), STATUS_DEVICE);
    assert_non_null(strstr(err.message, "none of the library's 2 algorithms runs"));
    assert_non_null(strstr(err.message, "cudnnConvolutionForward"));
    gemm_stop(&running);
}

/* As a trial does: it uses what was chosen, though another is faster now, and measures nothing. */
TEST(a_choice_is_kept)
{
    json_t *choices = autotune("30000000,9000000", NULL), *again;
    struct gemm_running running;
    int before;

    before = journey_calls("cudnnConvolutionForward");
    start_ok(&running, "1000,9000000", choices);
    assert_int_equal(journey_calls("cudnnConvolutionForward") - before, 1);
    gemm_verify_ok(&running, 2);
    again = running.workload.kind->choices(running.instance);
    assert_true(json_equal(choices, again));
    gemm_stop(&running);
    json_decref(again);
    json_decref(choices);
}

TEST(what_is_not_offered_any_more)
{
    json_t *choices = autotune("30000000,9000000,2000", NULL);
    struct gemm_running running;
    struct error err = ERROR_INIT;

    assert_int_equal(start(&running, "30000000,9000000", choices, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, "does not offer the algorithm"));
    assert_non_null(strstr(err.message, journey_algorithm(choices, "convolution")));
    assert_true(journey_names_stack(choices, err.message));
    gemm_stop(&running);
    json_object_set_new(journey_choice(choices, "convolution"), "algorithm", json_integer(3));
    assert_int_equal(start(&running, "30000000,9000000", choices, NULL), STATUS_INVALID);
    gemm_stop(&running);
    json_decref(choices);
}

/* Two layers of one shape are measured once and run by one algorithm; another shape has its own. */
TEST(equal_layers_have_one_choice)
{
    struct gemm_plan planned = plan("30000000,9000000,2000", NULL);
    struct gemm_running running;
    json_t *facts, *choices, *gemms;

    planned.section = "shapes: [" ONE_SHAPE ", " ONE_SHAPE
                      ", {height: 5, width: 6, channels: 4, filters: 8, kernel: 1}]";
    gemm_start(&running, journey_device, &planned);
    gemm_verify_ok(&running, 6);
    facts = running.workload.kind->facts(running.instance);
    choices = running.workload.kind->choices(running.instance);
    gemms = json_object_get(facts, "gemms");
    assert_int_equal(json_array_size(json_object_get(facts, "candidates")), 6);
    assert_int_equal(
        json_object_size(json_object_get(json_object_get(choices, "convolution"), "algorithms")),
        2);
    for (size_t i = 0; i < 3; i++) {
        const json_t *gemm = json_array_get(gemms, i);

        assert_string_equal(json_string_value(json_object_get(gemm, "algorithm")),
                            "IMPLICIT_GEMM, CUDNN_TENSOR_OP_MATH");
        assert_int_equal(json_integer_value(json_object_get(gemm, "tried")), 3);
        assert_int_equal(json_integer_value(json_object_get(gemm, "workspace_bytes")), 0);
    }
    json_decref(facts);
    json_decref(choices);
    gemm_stop(&running);
}

/* The choice never uses other arithmetic than requested, however fast. */
TEST(arithmetic_is_not_mixed)
{
    struct gemm_running running;
    struct error err = ERROR_INIT;
    json_t *facts;
    const json_t *gemm;

    setenv("ASSAY_SHIM_NO_TENSOR", "1", 1);
    start_ok(&running, "1000,9000000,80000", NULL);
    facts = running.workload.kind->facts(running.instance);
    gemm = json_array_get(json_object_get(facts, "gemms"), 0);
    assert_string_equal(json_string_value(json_object_get(gemm, "algorithm")),
                        "IMPLICIT_GEMM, CUDNN_DEFAULT_MATH");
    assert_string_equal(json_string_value(json_object_get(gemm, "support")), "unknown");
    assert_int_equal(json_integer_value(json_object_get(gemm, "algorithms")), 2);
    json_decref(facts);
    gemm_stop(&running);
    /* Where there is only FMA, it is emulation, which was not requested. */
    assert_int_equal(start(&running, "1000", NULL, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, "emulates bf16"));
    gemm_stop(&running);
    unsetenv("ASSAY_SHIM_NO_TENSOR");
}

int main(void)
{
    const int opened = journey_open(LIBRARIES, SHIM_PATH);

    if (opened != 0)
        return opened;
    return unit_run(journey_setup, journey_teardown);
}
