/*
 * Of the algorithms that a library lists for a GEMM, the fastest is taken, by measurement and once;
 * what fails is skipped; a given choice is kept. Times are those given to the stand-in
 * (ASSAY_SHIM_ALGORITHMS), so that a busy machine does not affect this test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu_shim/journey.h"
#include "tests/support/unit.h"
#include "workloads/ops/gemm.h"
#include "tests/support/operations.h"

#define SIDE 16
#define ONE 0x3f80 /* in bf16 */

static struct device *device;
static struct buffer *ones, *result;

static void list(const char *times)
{
    setenv("ASSAY_SHIM_ALGORITHMS", times, 1);
}

static struct gemms *create(enum precision precision, const json_t *choices)
{
    const struct workload_case work = {.precision = precision,
                                       .implementation = IMPLEMENTATION_VENDOR,
                                       .batch = 1,
                                       .choices = choices};
    struct gemms *gemms = NULL;
    struct error err = ERROR_INIT;

    if (gemms_create(device, &work, &gemms, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return gemms;
}

/* C = A B (+ C), of ones, in the operands' type, to f32. */
static enum status multiply(struct gemms *gemms, enum precision precision, bool add,
                            struct error *err)
{
    const enum dtype type = precision_dtype(precision);
    const struct op_gemm gemm = {
        .m = SIDE,
        .n = SIDE,
        .k = SIDE,
        .a = {.at = {ones, 0}, .type = type, .stride = SIDE},
        .b = {.at = {ones, 0}, .type = type, .stride = SIDE, .transpose = true},
        .c = {.at = {result, 0}, .type = DTYPE_F32, .stride = SIDE},
        .d = {.buffer = add ? result : NULL},
    };

    return gemms_run(gemms, &gemm, err);
}

/* {"gemm": ...} of a GEMM autotuned by measurement among algorithms of these times. */
static json_t *autotune(const char *times, enum precision precision, json_t **ret_facts)
{
    struct gemms *gemms;
    struct error err = ERROR_INIT;
    json_t *choices;

    list(times);
    gemms = create(precision, NULL);
    if (multiply(gemms, precision, false, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    choices = json_pack("{s:o}", "gemm", gemms_choices(gemms));
    if (ret_facts != NULL)
        *ret_facts = gemms_facts(gemms);
    gemms_destroy(gemms);
    assert_non_null(choices);
    return choices;
}

/* The library's own name of the algorithm at an index. */
static const char *name_of(uint32_t index)
{
    static struct operation_info info;
    const struct gemm_shape shape = {
        .precision = PRECISION_BF16,
        .m = SIDE,
        .n = SIDE,
        .k = SIDE,
        .a = {.type = DTYPE_BF16, .stride = SIDE},
        .b = {.type = DTYPE_BF16, .stride = SIDE, .transpose = true},
        .c = {.type = DTYPE_F32, .stride = SIDE},
    };
    struct operation *gemm = NULL;

    assert_int_equal(create_gemm(device, &shape, &gemm, NULL), STATUS_OK);
    assert_int_equal(operation_select(gemm, index, NULL), STATUS_OK);
    assert_int_equal(operation_describe(gemm, &info, NULL), STATUS_OK);
    operation_destroy(gemm);
    return info.algorithm;
}

TEST(the_fastest_is_taken)
{
    json_t *facts = NULL;
    /* The last is faster by less than the threshold. */
    json_t *choices = autotune("30000000,9000000,20000000,8990000", PRECISION_BF16, &facts);
    const json_t *listed = json_array_get(json_object_get(facts, "gemms"), 0);

    assert_string_equal(journey_algorithm(choices, "gemm"), name_of(1));
    assert_int_equal(json_integer_value(json_object_get(journey_choice(choices, "gemm"), "tried")),
                     4);
    assert_int_equal(json_integer_value(json_object_get(listed, "tried")), 4);
    assert_int_equal(json_integer_value(json_object_get(listed, "algorithms")), 4);
    assert_string_equal(json_string_value(json_object_get(listed, "algorithm")), name_of(1));
    assert_true(json_integer_value(json_object_get(listed, "workspace_bytes")) > 0);
    assert_int_equal(json_array_size(json_object_get(facts, "candidates")), 4);
    assert_true(journey_names_stack(choices, NULL));
    json_decref(choices);
    json_decref(facts);
}

TEST(what_fails_is_skipped)
{
    json_t *facts = NULL;
    json_t *choices = autotune("fail,20000000,5000000", PRECISION_BF16, &facts);
    const json_t *first = json_array_get(json_object_get(facts, "candidates"), 0);
    json_t *refusals = workload_refusals(facts);
    const char *words = json_string_value(json_array_get(refusals, 0));

    assert_string_equal(journey_algorithm(choices, "gemm"), name_of(2));
    assert_non_null(strstr(json_string_value(json_object_get(first, "refused")), GEMM));
    assert_int_equal(json_array_size(refusals), 1);
    assert_non_null(strstr(words, "vendor, gemm bf16 16x16x16"));
    assert_non_null(strstr(words, name_of(0)));
    assert_non_null(strstr(words, GEMM));
    json_decref(refusals);
    json_decref(choices);
    json_decref(facts);
}

TEST(none_that_runs)
{
    struct gemms *gemms;
    struct error err = ERROR_INIT;

    list("fail,fail");
    gemms = create(PRECISION_BF16, NULL);
    assert_int_equal(multiply(gemms, PRECISION_BF16, false, &err), STATUS_DEVICE);
    assert_non_null(strstr(err.message, "none of the library's 2 algorithms runs"));
    assert_non_null(strstr(err.message, GEMM));
    gemms_destroy(gemms);
}

/* As a trial does: it uses what was chosen, though another is faster now, and measures nothing. */
TEST(a_choice_is_kept)
{
    json_t *choices = autotune("30000000,9000000", PRECISION_BF16, NULL), *again;
    struct gemms *gemms;
    struct error err = ERROR_INIT;
    int before;

    list("1000,9000000");
    gemms = create(PRECISION_BF16, choices);
    before = journey_calls(GEMM);
    assert_int_equal(multiply(gemms, PRECISION_BF16, false, &err), STATUS_OK);
    assert_int_equal(journey_calls(GEMM) - before, 1);
    again = json_pack("{s:o}", "gemm", gemms_choices(gemms));
    assert_true(json_equal(choices, again));
    gemms_destroy(gemms);
    json_decref(again);
    json_decref(choices);
}

TEST(what_is_not_offered_any_more)
{
    json_t *choices = autotune("30000000,9000000,2000", PRECISION_BF16, NULL);
    struct gemms *gemms;
    struct error err = ERROR_INIT;

    list("30000000,9000000");
    gemms = create(PRECISION_BF16, choices);
    assert_int_equal(multiply(gemms, PRECISION_BF16, false, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, "does not offer the algorithm"));
    assert_non_null(strstr(err.message, journey_algorithm(choices, "gemm")));
    assert_true(journey_names_stack(choices, err.message));
    assert_non_null(strstr(err.message, "bf16 16x16x16"));
    gemms_destroy(gemms);
    json_object_set_new(journey_choice(choices, "gemm"), "algorithm", json_integer(3));
    gemms = create(PRECISION_BF16, choices);
    assert_int_equal(multiply(gemms, PRECISION_BF16, false, &err), STATUS_INVALID);
    gemms_destroy(gemms);
    json_decref(choices);
}

/* Choices of another precision, as a reference next to the measured model has them. */
TEST(a_gemm_without_a_choice)
{
    json_t *choices = autotune("30000000,9000000", PRECISION_BF16, NULL);
    struct gemms *gemms = create(PRECISION_FP16, choices);
    struct error err = ERROR_INIT;
    const int before = journey_calls(GEMM);

    assert_int_equal(multiply(gemms, PRECISION_FP16, false, &err), STATUS_OK);
    assert_int_equal(journey_calls(GEMM) - before, 1);
    gemms_destroy(gemms);
    json_decref(choices);
}

/* Measuring launches a GEMM many times, but the result is accumulated only once. */
TEST(a_sum_is_taken_once)
{
    float values[SIDE * SIDE];
    struct gemms *gemms;
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < SIDE * SIDE; i++)
        values[i] = 100.0f;
    assert_int_equal(device_upload(result, 0, values, sizeof(values), NULL), STATUS_OK);
    list("30000000,9000000");
    gemms = create(PRECISION_BF16, NULL);
    assert_int_equal(multiply(gemms, PRECISION_BF16, true, &err), STATUS_OK);
    assert_int_equal(device_download(result, 0, values, sizeof(values), NULL), STATUS_OK);
    for (size_t i = 0; i < SIDE * SIDE; i++)
        assert_true(values[i] == 100.0f + SIDE);
    gemms_destroy(gemms);
}

/* The wrapper's own checks. */
TEST(select)
{
    const struct gemm_shape shape = {
        .precision = PRECISION_BF16,
        .m = SIDE,
        .n = SIDE,
        .k = SIDE,
        .a = {.type = DTYPE_BF16, .stride = SIDE},
        .b = {.type = DTYPE_BF16, .stride = SIDE, .transpose = true},
        .c = {.type = DTYPE_F32, .stride = SIDE},
    };
    struct operation *gemm = NULL;
    struct error err = ERROR_INIT;

    list("1,1,1");
    assert_int_equal(create_gemm(device, &shape, &gemm, NULL), STATUS_OK);
    assert_int_equal(operation_select(gemm, 3, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "there is no number 3"));
    operation_destroy(gemm);
}

/* fp4 is requested with its block scales; a library without them says so. */
TEST(fp4)
{
    const struct gemm_shape shape = {
        .precision = PRECISION_FP4,
        .m = 128,
        .n = 128,
        .k = 128,
        .a = {.type = DTYPE_E2M1, .stride = 128},
        .b = {.type = DTYPE_E2M1, .stride = 128, .transpose = true},
        .c = {.type = DTYPE_F32, .stride = 128},
    };
    struct operation *gemm = NULL;
    struct operation_info info;
    struct buffer *buffer = NULL;
    struct gemm_operands all = {0};
    struct error err = ERROR_INIT;

    operation_support(device, OPERATION_GEMM, PRECISION_FP4, &info);
    assert_int_equal(info.support, SUPPORT_ABSENT);
    assert_non_null(strstr(info.method, "INVALID_VALUE"));
    setenv("ASSAY_SHIM_FP4", "1", 1);
    operation_support(device, OPERATION_GEMM, PRECISION_FP4, &info);
    assert_int_equal(info.support, SUPPORT_NATIVE);
    assert_non_null(strstr(info.method, "a scale each"));
    assert_int_equal(create_gemm(device, &shape, &gemm, &err), STATUS_OK);
    assert_int_equal(device_buffer_alloc(device, 65536, BUFFER_READ_WRITE, &buffer, NULL),
                     STATUS_OK);
    all.a.buffer = all.b.buffer = all.c.buffer = buffer;
    assert_int_equal(run_gemm(gemm, &all, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, "needs a scale"));
    unsetenv("ASSAY_SHIM_FP4");
    operation_destroy(gemm);
    device_buffer_free(buffer);
}

/* The stand-in for AMD has the FNUZ kinds alone, as gfx942; NVIDIA's libraries know none. */
TEST(fp8_kinds)
{
    struct operation_info info;

    operation_support(device, OPERATION_GEMM, PRECISION_FP8_E4M3, &info);
    assert_int_equal(info.support, SUPPORT_NATIVE);
    if (strcmp(BACKEND, "hip") == 0)
        assert_non_null(strstr(info.method, "(e4m3_fnuz alone)"));
    else
        assert_null(strstr(info.method, "fnuz"));
}

/* More than we request: the rest is not returned. */
TEST(a_long_list)
{
    json_t *choices = autotune("9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,1,1,1,1", PRECISION_BF16, NULL);

    assert_int_equal(json_integer_value(json_object_get(journey_choice(choices, "gemm"), "tried")),
                     16);
    assert_string_equal(journey_algorithm(choices, "gemm"), name_of(0));
    json_decref(choices);
}

static int open_device(void **state)
{
    struct error err = ERROR_INIT;
    uint16_t bits[SIDE * SIDE];

    (void)state;
    device = journey_open_device(BACKEND);
    if (device == NULL)
        return -1;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        bits[i] = ONE;
    if (device_buffer_alloc(device, sizeof(bits), BUFFER_READ_WRITE, &ones, &err) != STATUS_OK ||
        device_buffer_alloc(device, SIDE * SIDE * 4, BUFFER_READ_WRITE, &result, &err) !=
            STATUS_OK ||
        device_upload(ones, 0, bits, sizeof(bits), &err) != STATUS_OK) {
        printf("FAIL: %s\n", err.message);
        return -1;
    }
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    device_buffer_free(ones);
    device_buffer_free(result);
    device_close(device);
    return 0;
}

int main(void)
{
    const int opened = journey_open(LIBRARIES, SHIM_PATH);

    if (opened != 0)
        return opened;
    return unit_run(open_device, close_device);
}
