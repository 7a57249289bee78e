/*
 * Of the algorithms that a library lists for a product, the fastest is taken, by measurement and
 * once; what fails is skipped; a choice handed over is kept to. Times are those that the stand-in
 * is told (ASSAY_SHIM_ALGORITHMS), so that no busy machine decides this test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/gpu_shim/journey.h"
#include "workloads/ops/product.h"

#define SIDE 16
#define ONE 0x3f80 /* in bf16 */

static struct device *device;
static struct buffer *ones, *result;

static void list(const char *times)
{
    setenv("ASSAY_SHIM_ALGORITHMS", times, 1);
}

static struct products *create(enum precision precision, const json_t *choices)
{
    const struct workload_case work = {
        .precision = precision, .arm = ARM_VENDOR, .batch = 1, .choices = choices};
    struct products *products = NULL;
    struct error err = ERROR_INIT;

    if (products_create(device, &work, &products, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return products;
}

/* C = A B (+ C), of ones, in the operands' type, to f32. */
static enum status multiply(struct products *products, enum precision precision, bool add,
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

    return products_run(products, &gemm, err);
}

/* {"gemm": ...} of a product settled by measurement among algorithms of these times. */
static json_t *settle(const char *times, enum precision precision, json_t **ret_facts)
{
    struct products *products;
    struct error err = ERROR_INIT;
    json_t *choices;

    list(times);
    products = create(precision, NULL);
    if (multiply(products, precision, false, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    choices = json_pack("{s:o}", "gemm", products_choices(products));
    if (ret_facts != NULL)
        *ret_facts = products_facts(products);
    products_destroy(products);
    assert_non_null(choices);
    return choices;
}

/* The library's own name of the algorithm at an index. */
static const char *name_of(uint32_t index)
{
    static struct product_info info;
    const struct product_shape shape = {
        .precision = PRECISION_BF16,
        .m = SIDE,
        .n = SIDE,
        .k = SIDE,
        .a = {.type = DTYPE_BF16, .stride = SIDE},
        .b = {.type = DTYPE_BF16, .stride = SIDE, .transpose = true},
        .c = {.type = DTYPE_F32, .stride = SIDE},
    };
    struct product *product = NULL;

    assert_int_equal(device_product_create(device, &shape, &product, NULL), STATUS_OK);
    assert_int_equal(device_product_select(product, index, NULL), STATUS_OK);
    assert_int_equal(device_product_describe(product, &info, NULL), STATUS_OK);
    device_product_destroy(product);
    return info.algorithm;
}

static void test_the_fastest_is_taken(void **state)
{
    json_t *facts = NULL;
    /* The last is faster by less than what counts. */
    json_t *choices = settle("30000000,9000000,20000000,8990000", PRECISION_BF16, &facts);
    const json_t *listed = json_array_get(json_object_get(facts, "products"), 0);

    (void)state;
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

static void test_what_fails_is_skipped(void **state)
{
    json_t *facts = NULL;
    json_t *choices = settle("fail,20000000,5000000", PRECISION_BF16, &facts);
    const json_t *first = json_array_get(json_object_get(facts, "candidates"), 0);
    json_t *refusals = workload_refusals(facts);
    const char *words = json_string_value(json_array_get(refusals, 0));

    (void)state;
    assert_string_equal(journey_algorithm(choices, "gemm"), name_of(2));
    assert_non_null(strstr(json_string_value(json_object_get(first, "refused")), MATMUL));
    assert_int_equal(json_array_size(refusals), 1);
    assert_non_null(strstr(words, "vendor, product bf16 16x16x16"));
    assert_non_null(strstr(words, name_of(0)));
    assert_non_null(strstr(words, MATMUL));
    json_decref(refusals);
    json_decref(choices);
    json_decref(facts);
}

static void test_none_that_runs(void **state)
{
    struct products *products;
    struct error err = ERROR_INIT;

    (void)state;
    list("fail,fail");
    products = create(PRECISION_BF16, NULL);
    assert_int_equal(multiply(products, PRECISION_BF16, false, &err), STATUS_DEVICE);
    assert_non_null(strstr(err.message, "none of the library's 2 algorithms runs"));
    assert_non_null(strstr(err.message, MATMUL));
    products_destroy(products);
}

/* As a trial does: it takes what was chosen, though another is faster now, and measures nothing. */
static void test_a_choice_is_kept_to(void **state)
{
    json_t *choices = settle("30000000,9000000", PRECISION_BF16, NULL), *again;
    struct products *products;
    struct error err = ERROR_INIT;
    int before;

    (void)state;
    list("1000,9000000");
    products = create(PRECISION_BF16, choices);
    before = journey_calls(MATMUL);
    assert_int_equal(multiply(products, PRECISION_BF16, false, &err), STATUS_OK);
    assert_int_equal(journey_calls(MATMUL) - before, 1);
    again = json_pack("{s:o}", "gemm", products_choices(products));
    assert_true(json_equal(choices, again));
    products_destroy(products);
    json_decref(again);
    json_decref(choices);
}

static void test_what_is_not_offered_any_more(void **state)
{
    json_t *choices = settle("30000000,9000000,2000", PRECISION_BF16, NULL);
    struct products *products;
    struct error err = ERROR_INIT;

    (void)state;
    list("30000000,9000000");
    products = create(PRECISION_BF16, choices);
    assert_int_equal(multiply(products, PRECISION_BF16, false, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, "does not offer the algorithm"));
    assert_non_null(strstr(err.message, journey_algorithm(choices, "gemm")));
    assert_true(journey_names_stack(choices, err.message));
    assert_non_null(strstr(err.message, "bf16 16x16x16"));
    products_destroy(products);
    json_object_set_new(journey_choice(choices, "gemm"), "algorithm", json_integer(3));
    products = create(PRECISION_BF16, choices);
    assert_int_equal(multiply(products, PRECISION_BF16, false, &err), STATUS_INVALID);
    products_destroy(products);
    json_decref(choices);
}

/* Choices of another precision, as a reference beside the measured model has them. */
static void test_a_product_without_a_choice(void **state)
{
    json_t *choices = settle("30000000,9000000", PRECISION_BF16, NULL);
    struct products *products = create(PRECISION_FP16, choices);
    struct error err = ERROR_INIT;
    const int before = journey_calls(MATMUL);

    (void)state;
    assert_int_equal(multiply(products, PRECISION_FP16, false, &err), STATUS_OK);
    assert_int_equal(journey_calls(MATMUL) - before, 1);
    products_destroy(products);
    json_decref(choices);
}

/* Measuring launches a product many times; what it adds to is added to once. */
static void test_a_sum_is_taken_once(void **state)
{
    float values[SIDE * SIDE];
    struct products *products;
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        values[i] = 100.0f;
    assert_int_equal(device_upload(result, 0, values, sizeof(values), NULL), STATUS_OK);
    list("30000000,9000000");
    products = create(PRECISION_BF16, NULL);
    assert_int_equal(multiply(products, PRECISION_BF16, true, &err), STATUS_OK);
    assert_int_equal(device_download(result, 0, values, sizeof(values), NULL), STATUS_OK);
    for (size_t i = 0; i < SIDE * SIDE; i++)
        assert_true(values[i] == 100.0f + SIDE);
    products_destroy(products);
}

/* The wrapper's own checks. */
static void test_select(void **state)
{
    const struct product_shape shape = {
        .precision = PRECISION_BF16,
        .m = SIDE,
        .n = SIDE,
        .k = SIDE,
        .a = {.type = DTYPE_BF16, .stride = SIDE},
        .b = {.type = DTYPE_BF16, .stride = SIDE, .transpose = true},
        .c = {.type = DTYPE_F32, .stride = SIDE},
    };
    struct product *product = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    list("1,1,1");
    assert_int_equal(device_product_create(device, &shape, &product, NULL), STATUS_OK);
    assert_int_equal(device_product_select(product, 3, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "there is no number 3"));
    device_product_destroy(product);
}

/* fp4 is asked for with its block scales; a library that knows none of them says so. */
static void test_fp4(void **state)
{
    const struct product_shape shape = {
        .precision = PRECISION_FP4,
        .m = 128,
        .n = 128,
        .k = 128,
        .a = {.type = DTYPE_E2M1, .stride = 128},
        .b = {.type = DTYPE_E2M1, .stride = 128, .transpose = true},
        .c = {.type = DTYPE_F32, .stride = 128},
    };
    struct product *product = NULL;
    struct product_info info;
    struct buffer *buffer = NULL;
    struct product_operands all = {0};
    struct error err = ERROR_INIT;

    (void)state;
    device_product_support(device, PRECISION_FP4, &info);
    assert_int_equal(info.support, SUPPORT_ABSENT);
    assert_non_null(strstr(info.method, "INVALID_VALUE"));
    setenv("ASSAY_SHIM_FP4", "1", 1);
    device_product_support(device, PRECISION_FP4, &info);
    assert_int_equal(info.support, SUPPORT_NATIVE);
    assert_non_null(strstr(info.method, "a scale each"));
    assert_int_equal(device_product_create(device, &shape, &product, &err), STATUS_OK);
    assert_int_equal(device_buffer_alloc(device, 65536, BUFFER_READ_WRITE, &buffer, NULL),
                     STATUS_OK);
    all.a.buffer = all.b.buffer = all.c.buffer = buffer;
    assert_int_equal(device_product_run(product, &all, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, "needs a scale"));
    unsetenv("ASSAY_SHIM_FP4");
    device_product_destroy(product);
    device_buffer_free(buffer);
}

/* The stand-in for AMD has the FNUZ kinds alone, as gfx942; NVIDIA's libraries know none. */
static void test_fp8_kinds(void **state)
{
    struct product_info info;

    (void)state;
    device_product_support(device, PRECISION_FP8_E4M3, &info);
    assert_int_equal(info.support, SUPPORT_NATIVE);
    if (strcmp(BACKEND, "hip") == 0)
        assert_non_null(strstr(info.method, "(e4m3_fnuz alone)"));
    else
        assert_null(strstr(info.method, "fnuz"));
}

/* More than we ask for: the rest is never seen. */
static void test_a_long_list(void **state)
{
    json_t *choices = settle("9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,1,1,1,1", PRECISION_BF16, NULL);

    (void)state;
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_fastest_is_taken),
        cmocka_unit_test(test_what_fails_is_skipped),
        cmocka_unit_test(test_none_that_runs),
        cmocka_unit_test(test_a_choice_is_kept_to),
        cmocka_unit_test(test_what_is_not_offered_any_more),
        cmocka_unit_test(test_a_product_without_a_choice),
        cmocka_unit_test(test_a_sum_is_taken_once),
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_a_long_list),
        cmocka_unit_test(test_fp4),
        cmocka_unit_test(test_fp8_kinds),
    };
    const int opened = journey_open(LIBRARIES, SHIM_PATH);

    if (opened != 0)
        return opened;
    return cmocka_run_group_tests(tests, open_device, close_device);
}
