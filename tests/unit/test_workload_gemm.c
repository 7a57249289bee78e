/*
 * GEMMs: costs, wrong declarations, both implementations on a real device against the reference,
 * and that damage and a cheating library are found. The library is a stand-in that computes on the
 * host, since our side of it is tested here.
 */
#include "gemm_fixture.h"
#include "stand_in_library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/data/element.h"
#include "workloads/gemm/products.h"
#include "workloads/ops/gemm_internal.h"

static struct device *device;

static void test_errors(void **state)
{
    static const struct gemm_mistake rows[] = {
        {"fp4", "", "shapes: [{m: 1, n: 1, k: 1}]", "mine.yaml:5: gemm does not run in fp4"},
        {"fp32", "", "shapes: [{m: 0, n: 1, k: 1}]", "mine.yaml:7: "},
        {"fp32", "", "shapes: [{m: 1, n: 1, k: 16777217}]", "mine.yaml:7: "},
        {"fp32", "", "shapes: [{m: 16777216, n: 16777216, k: 1}]",
         "mine.yaml:7: `m` times `n` is more than"},
        {"fp32", "batches: [1, 100000]\n", "shapes: [{m: 1000, n: 1, k: 1}]",
         "mine.yaml:6: a batch multiplies the rows of A"},
        {"fp32", "", "shapes: []", "mine.yaml:"},
        {"fp32", "", "distribution: normal", "mine.yaml:"},
        {"fp32", "", "shapes: [{m: 1, n: 1}]", "mine.yaml:"},
        {"fp32", "", "shapes: [{m: 1, n: 1, k: 1}]\n  distribution: zeros", "mine.yaml:8"},
    };

    (void)state;
    gemm_mistakes_check("gemm", rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_cost(void **state)
{
    struct workload workload;
    struct workload_case work = {.workload = &workload, .precision = PRECISION_BF16, .batch = 3};
    struct workload_cost cost;
    char *yaml = fixture_declaration("gemm", "bf16, int8", "batches: [3]\n",
                                     "shapes: [{m: 5, n: 7, k: 11}, {m: 2, n: 2, k: 2}]");

    (void)state;
    assert_int_equal(workload_parse("mine.yaml", yaml, strlen(yaml), &workload, NULL), STATUS_OK);
    assert_int_equal(workload.kind->cost(&work, &cost, NULL), STATUS_OK);
    assert_int_equal(cost.flops, 2 * 15 * 7 * 11 + 2 * 6 * 2 * 2);
    assert_int_equal(cost.items, 2);
    assert_string_equal(cost.headline, "flops");
    assert_int_equal(cost.device_memory_bytes,
                     2 * (15 * 11 + 7 * 11 + 15 * 7 + 6 * 2 + 2 * 2 + 6 * 2));
    work.precision = PRECISION_INT8; /* i8 operands, i32 result */
    assert_int_equal(workload.kind->cost(&work, &cost, NULL), STATUS_OK);
    assert_int_equal(cost.device_memory_bytes,
                     15 * 11 + 7 * 11 + 6 * 2 + 2 * 2 + 4 * (15 * 7 + 6 * 2));
    workload_finish(&workload);
    free(yaml);
}

/* ---- on a device ---- */

/* The plan of a section in the implementation; emulated where that is allowed. */
static struct gemm_plan plan_of(const char *section, enum precision precision,
                                enum implementation implementation, bool emulate)
{
    return (struct gemm_plan){.kind = "gemm",
                              .section = section,
                              .precision = precision,
                              .implementation = implementation,
                              .emulate = emulate};
}

static void start(struct gemm_running *running, const char *section, enum precision precision,
                  enum implementation implementation, bool emulate)
{
    const struct gemm_plan plan = plan_of(section, precision, implementation, emulate);

    gemm_start(running, device, &plan);
}

static const char odd_shapes[] = "shapes: [{m: 37, n: 53, k: 700}, {m: 1, n: 1, k: 1},"
                                 " {m: 257, n: 129, k: 3}, {m: 3, n: 1, k: 513}]";

/* Every type of our text, every group size, and the results that it can store. */
static void test_portable(void **state)
{
    static const enum precision precisions[] = {
        PRECISION_FP64, PRECISION_FP32,     PRECISION_BF16,     PRECISION_FP16,
        PRECISION_INT8, PRECISION_FP8_E4M3, PRECISION_FP8_E5M2,
    };
    static const char *const more[] = {"", "\n  weights: plain", "\n  result: sum",
                                       "\n  distribution: uniform"};
    uint32_t lanes[8];
    size_t count;

    (void)state;
    if (!device)
        skip();
    count = device_lane_candidates(device, lanes, 8);
    for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++) {
        for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
            struct gemm_running running;
            char *section;

            if (precisions[p] == PRECISION_FP64 && !gemm_has_f64(device))
                continue;
            if (precisions[p] == PRECISION_FP8_E5M2 && i > 0) /* only in how a value is read */
                continue;
            section = text_format("%s%s", odd_shapes, more[i]);
            start(&running, section, precisions[p], IMPLEMENTATION_PORTABLE, true);
            gemm_verify_ok(&running, 8);
            for (size_t l = 0; l < count && i == 0; l++) {
                struct gemms *gemms = ((struct gemm_instance *)running.instance)->gemms;
                const uint32_t across = lanes[l] < 16 ? lanes[l] : 16;

                gemms->tile = lanes[l] == 1
                                  ? (struct ops_tile){1, 6, 1, 24, 32, 16}
                                  : (struct ops_tile){lanes[l],   4, 4, 4 * (lanes[l] / across),
                                                      4 * across, 16};
                for (size_t v = 0; v < gemms->variant_count; v++)
                    device_module_unload(device, gemms->variants[v].module);
                gemms->variant_count = 0;
                gemms->sealed = false;
                gemm_verify_ok(&running, 8);
            }
            gemm_stop(&running);
            free(section);
        }
    }
}

static void assert_refused(enum precision precision, enum implementation implementation,
                           const char *message)
{
    const struct gemm_plan plan = plan_of(odd_shapes, precision, implementation, false);

    gemm_refused(device, &plan, message);
}

static void test_refusals(void **state)
{
    (void)state;
    if (!device)
        skip();
    assert_refused(PRECISION_BF16, IMPLEMENTATION_PORTABLE, "--emulate");
    assert_refused(PRECISION_FP16, IMPLEMENTATION_PORTABLE, "--emulate");
    assert_refused(PRECISION_INT8, IMPLEMENTATION_PORTABLE, "computed in i32");
    assert_refused(PRECISION_TF32, IMPLEMENTATION_PORTABLE, "--implementation vendor");
    assert_refused(PRECISION_FP8_E4M3, IMPLEMENTATION_PORTABLE, "e4m3 stored, computed in f32");
    assert_refused(PRECISION_FP8_E5M2, IMPLEMENTATION_PORTABLE, "--emulate");
    if (!device_has_operation(device, OPERATION_GEMM))
        assert_refused(PRECISION_FP32, IMPLEMENTATION_VENDOR, "no vendor GEMM");
}

/* One element changed by more than its bound is found and named, and so is one never written. */
static void test_damage(void **state)
{
    struct gemm_running running;
    struct gemm_instance *instance;
    float value;

    (void)state;
    if (!device)
        skip();
    start(&running, odd_shapes, PRECISION_FP32, IMPLEMENTATION_PORTABLE, false);
    instance = (struct gemm_instance *)running.instance;
    assert_int_equal(products_iterate(running.instance, NULL), STATUS_OK);
    assert_int_equal(device_download(instance->products.items[0].arrays[GEMM_C].buffer,
                                     (20 * 53 + 7) * sizeof(value), &value, 4, NULL),
                     STATUS_OK);
    value += 0.01f; /* the bound is 12 * 2^-24 of sqrt(700) * sqrt(sum (a b)^2): 0.0005 */
    assert_int_equal(device_upload(instance->products.items[0].arrays[GEMM_C].buffer,
                                   (20 * 53 + 7) * sizeof(value), &value, 4, NULL),
                     STATUS_OK);
    gemm_verify_fails(&running, 8, "output c[0][20, 7]: got");
    gemm_stop(&running);

    start(&running, odd_shapes, PRECISION_FP32, IMPLEMENTATION_PORTABLE, false);
    instance = (struct gemm_instance *)running.instance;
    running.instance->unchecked = 1; /* as if it had run */
    gemm_verify_fails(&running, 8, "never written?");
    gemm_stop(&running);
}

/* The data does not depend on order, and is neither zero nor constant. */
static void test_data(void **state)
{
    struct gemm_data data = {.seed = 5, .type = DTYPE_I8};
    double sum = 0.0, squares = 0.0;

    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        const double x = gemm_exact(&data, GEMM_A, i);

        assert_true(x == gemm_exact(&data, GEMM_A, i) && x != 0.0);
        assert_true(x != gemm_exact(&data, GEMM_B, i));
        assert_true(fabs(gemm_stored(&data, x) - x) <= 0.5 * gemm_scale(&data) + 1e-12 ||
                    fabs(x) > GEMM_NORMAL_RANGE);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / 20000) < 0.05);
    assert_true(fabs(squares / 20000 - 1.0) < 0.05);
}

/* ---- a library ---- */

static int add_library(void **state)
{
    (void)state;
    if (device)
        stand_in_add(device);
    return 0;
}

static int remove_library(void **state)
{
    (void)state;
    if (device)
        stand_in_remove(device);
    return 0;
}

static const char *fact(const json_t *facts, const char *name)
{
    return json_string_value(json_object_get(json_object_get(facts, "gemm"), name));
}

static void test_vendor(void **state)
{
    (void)state;
    if (!device)
        skip();
    for (int p = 0; p < PRECISION_COUNT; p++) {
        struct gemm_running running;
        size_t run;
        json_t *facts;

        if (p == PRECISION_FP4)
            continue;
        start(&running, odd_shapes, (enum precision)p, IMPLEMENTATION_VENDOR, false);
        assert_int_equal(stand_in.created, 4);
        run = stand_in.run;
        gemm_verify_ok(&running, 8);
        assert_int_equal(stand_in.created, 4); /* prepared once, at creation */
        assert_int_equal(stand_in.run, run + 4);
        facts = running.workload.kind->facts(running.instance);
        assert_string_equal(fact(facts, "library"), "stand-in");
        assert_string_equal(fact(facts, "version"), "1.2");
        assert_string_equal(fact(facts, "support"), "native");
        assert_string_equal(fact(facts, "implementation"), "vendor");
        assert_int_equal(json_array_size(json_object_get(facts, "gemms")), 4);
        assert_null(json_object_get(facts, "gemm_tile"));
        json_decref(facts);
        gemm_stop(&running);
    }
}

static void test_vendor_lies(void **state)
{
    struct gemm_running running;

    (void)state;
    if (!device)
        skip();
    stand_in.cheat = NEGATES;
    start(&running, "shapes: [{m: 9, n: 10, k: 64}]", PRECISION_FP8_E4M3, IMPLEMENTATION_VENDOR,
          false);
    gemm_verify_fails(&running, 2, "output c[8, 5]: got");
    gemm_stop(&running);
}

/*
 * Long sums, whose rounding could hide much: cheaper arithmetic than requested is found, and wrong
 * results are.
 */
static void test_vendor_cheats(void **state)
{
    static const char long_sums[] = "shapes: [{m: 8, n: 64, k: 2048}]";
    static const char longer[] = "shapes: [{m: 4, n: 16, k: 32768}]";
    static const struct {
        const char *shapes;
        enum precision precision;
        enum stand_in_cheat cheat;
        enum dtype to;
    } rows[] = {
        {long_sums, PRECISION_FP32, NARROW, DTYPE_F16}, /* as many bits as tf32 */
        {long_sums, PRECISION_FP32, NARROW, DTYPE_BF16},
        {long_sums, PRECISION_FP64, NARROW, DTYPE_F32},
        {long_sums, PRECISION_TF32, NARROW, DTYPE_BF16},
        {long_sums, PRECISION_BF16, NARROW, DTYPE_E4M3},
        {long_sums, PRECISION_FP16, NARROW, DTYPE_E4M3},
        {long_sums, PRECISION_FP16, NARROW_SUMS, DTYPE_F16},
        {long_sums, PRECISION_FP8_E4M3, SKIPS, 0},
        {long_sums, PRECISION_FP8_E4M3, SWAPS, 0},
        {longer, PRECISION_FP8_E4M3, ZEROS, 0},
        {long_sums, PRECISION_FP8_E5M2, SWAPS, 0},
        {longer, PRECISION_BF16, SKIPS, 0},
        {longer, PRECISION_INT8, SKIPS, 0},
    };

    (void)state;
    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct gemm_running running;

        start(&running, rows[i].shapes, rows[i].precision, IMPLEMENTATION_VENDOR, false);
        gemm_verify_ok(&running, 2);
        stand_in.cheat = rows[i].cheat;
        stand_in.to = rows[i].to;
        print_message("  %s, cheat %d\n", precision_name(rows[i].precision), (int)rows[i].cheat);
        gemm_verify_fails(&running, 2, "times its bound");
        stand_in.cheat = HONEST;
        gemm_stop(&running);
    }
}

/* Where rounding errors may be as large as C, nothing is certified. */
static void test_vendor_too_long(void **state)
{
    struct gemm_running running;

    (void)state;
    if (!device)
        skip();
    start(&running, "shapes: [{m: 1, n: 1, k: 1048576}]", PRECISION_FP8_E4M3, IMPLEMENTATION_VENDOR,
          false);
    gemm_verify_fails(&running, 0, "zeros would pass");
    gemm_stop(&running);
}

static void test_vendor_emulated(void **state)
{
    struct gemm_running running;
    json_t *facts;

    (void)state;
    if (!device)
        skip();
    stand_in.support = SUPPORT_EMULATED;
    assert_refused(PRECISION_BF16, IMPLEMENTATION_VENDOR, "stand-in emulates bf16 on");
    start(&running, odd_shapes, PRECISION_BF16, IMPLEMENTATION_VENDOR, true);
    facts = running.workload.kind->facts(running.instance);
    assert_string_equal(fact(facts, "support"), "emulated");
    json_decref(facts);
    gemm_stop(&running);
}

static void test_vendor_fnuz(void **state)
{
    struct gemm_running running;

    (void)state;
    if (!device)
        skip();
    stand_in.only_fnuz = true;
    start(&running, odd_shapes, PRECISION_FP8_E4M3, IMPLEMENTATION_VENDOR, false);
    assert_int_equal(((struct products *)running.instance)->operand_type, DTYPE_E4M3_FNUZ);
    gemm_verify_ok(&running, 8);
    gemm_stop(&running);
}

/* Nothing new is prepared while time is measured. */
static void test_sealed(void **state)
{
    struct gemm_running running;
    struct gemm_instance *instance;
    struct error err = ERROR_INIT;

    (void)state;
    if (!device)
        skip();
    start(&running, odd_shapes, PRECISION_FP32, IMPLEMENTATION_VENDOR, false);
    instance = (struct gemm_instance *)running.instance;
    instance->products.items[0].m--;
    assert_int_equal(products_iterate(running.instance, &err), STATUS_INTERNAL);
    assert_non_null(strstr(err.message, "while measuring"));
    gemm_stop(&running);
}

int main(void)
{
#define LIBRARY(test) cmocka_unit_test_setup_teardown(test, add_library, remove_library)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_portable),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_damage),
        LIBRARY(test_vendor),
        LIBRARY(test_vendor_lies),
        LIBRARY(test_vendor_cheats),
        LIBRARY(test_vendor_too_long),
        LIBRARY(test_vendor_emulated),
        LIBRARY(test_vendor_fnuz),
        LIBRARY(test_sealed),
    };
    int failed;

    device = model_fixture_open();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    model_fixture_close(device);
    return failed;
}
