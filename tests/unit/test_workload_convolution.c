/*
 * Convolutions: costs, wrong declarations, both implementations on a real device against the
 * reference, and that damage and a cheating library are found. The library is a stand-in that
 * computes on the host, directly by the sum that backend.h states.
 */
#include "gemm_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "workloads/convolution/convolution.h"
#include "workloads/data/element.h"

static struct device *device;

#define SMALL "height: 9, width: 7, channels: 4, filters: 6, kernel: 3"

static void test_errors(void **state)
{
    static const struct gemm_mistake rows[] = {
        {"fp8_e4m3", "", "shapes: [{" SMALL "}]", "mine.yaml:5: convolution does not run in fp8"},
        {"fp4", "", "shapes: [{" SMALL "}]", "mine.yaml:5: convolution does not run in fp4"},
        {"fp32", "", "shapes: [{" SMALL ", stride: 256}]", "mine.yaml:7: "},
        {"fp32", "", "shapes: [{" SMALL ", padding: -1}]", "mine.yaml:7: "},
        {"fp32", "", "shapes: [{" SMALL ", groups: -2}]", "mine.yaml:7: "},
        {"fp32", "", "shapes: [{" SMALL ", groups: 3}]", "3 groups do not divide 4 channels"},
        {"fp32", "", "shapes: [{" SMALL ", dilation: 4}]", "reaches over more than the padded"},
        {"fp32", "", "shapes: [{height: 65536, width: 65536, channels: 1, filters: 1, kernel: 1}]",
         "mine.yaml:7: one image, its output or the weights are more than"},
        {"fp32", "batches: [1, 1000]\n",
         "shapes: [{height: 2048, width: 2048, channels: 1, filters: 1, kernel: 1}]",
         "mine.yaml:6: 1000 images have more than"},
        {"fp32", "", "shapes: [{height: 0, width: 1, channels: 1, filters: 1, kernel: 1}]",
         "mine.yaml:7: "},
        {"fp32", "", "shapes: [{height: 1, width: 1, channels: 1, filters: 1}]", "mine.yaml:"},
        {"fp32", "", "shapes: []", "mine.yaml:"},
        {"fp32", "", "shapes: [{" SMALL "}]\n  layout: nchw", "mine.yaml:8"},
    };

    (void)state;
    gemm_mistakes_check("convolution", rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_cost(void **state)
{
    struct workload workload;
    struct workload_case work = {.workload = &workload, .precision = PRECISION_BF16, .batch = 3};
    struct workload_cost cost;
    struct text text;
    char *yaml = fixture_declaration("convolution", "bf16, int8", "batches: [3]\n",
                                     "shapes: [{" SMALL ", stride: 2, padding: 1, groups: 2}]");

    (void)state;
    assert_int_equal(workload_parse("mine.yaml", yaml, strlen(yaml), &workload, NULL), STATUS_OK);
    assert_int_equal(workload.kind->cost(&work, &cost, NULL), STATUS_OK);
    /* Output 5 x 4, each of 6 filters sums 3 * 3 * 2 terms. */
    assert_int_equal(cost.flops, 2 * 3 * 5 * 4 * 6 * 18);
    assert_int_equal(cost.items, 1);
    assert_int_equal(cost.device_memory_bytes, 2 * (3 * 9 * 7 * 4 + 6 * 18 + 3 * 5 * 4 * 6));
    work.precision = PRECISION_INT8; /* i8 operands, i32 result */
    assert_int_equal(workload.kind->cost(&work, &cost, NULL), STATUS_OK);
    assert_int_equal(cost.device_memory_bytes, 3 * 9 * 7 * 4 + 6 * 18 + 4 * 3 * 5 * 4 * 6);
    text_init(&text);
    workload.kind->describe(&workload, &text);
    assert_non_null(strstr(text.data, "9 x 7 x 4 to 5 x 4 x 6"));
    assert_non_null(strstr(text.data, "nhwc"));
    text_finish(&text);
    workload_finish(&workload);
    free(yaml);
}

/* ---- on a device ---- */

/* The plan of a section in the implementation; emulated where that is allowed. */
static struct gemm_plan plan_of(const char *section, enum precision precision, int64_t batch,
                                enum implementation implementation, bool emulate)
{
    return (struct gemm_plan){.kind = "convolution",
                              .section = section,
                              .precision = precision,
                              .batch = batch,
                              .implementation = implementation,
                              .emulate = emulate};
}

static void start(struct gemm_running *running, const char *section, enum precision precision,
                  int64_t batch, enum implementation implementation, bool emulate)
{
    const struct gemm_plan plan = plan_of(section, precision, batch, implementation, emulate);

    gemm_start(running, device, &plan);
}

/* Primes, single elements, kernels as large as the image, padding of more than a kernel, groups. */
static const char odd_shapes[] =
    "shapes: [{height: 1, width: 1, channels: 1, filters: 1, kernel: 1},"
    " {height: 13, width: 11, channels: 3, filters: 17, kernel: 7, stride: 2, padding: 3},"
    " {height: 7, width: 19, channels: 37, filters: 5, kernel: 3, padding: 1},"
    " {height: 5, width: 5, channels: 2, filters: 3, kernel: 5},"
    " {height: 3, width: 2, channels: 5, filters: 4, kernel: 3, padding: 4, stride: 3},"
    " {height: 17, width: 9, channels: 6, filters: 10, kernel: 3, dilation: 3, padding: 2},"
    " {height: 8, width: 10, channels: 12, filters: 18, kernel: 3, padding: 1, groups: 6},"
    " {height: 6, width: 7, channels: 35, filters: 35, kernel: 5, stride: 2, padding: 2, "
    "groups: 35},"
    " {height: 9, width: 8, channels: 300, filters: 70, kernel: 1, stride: 2}]";
#define ODD_SHAPES 9

static void test_portable(void **state)
{
    static const enum precision precisions[] = {PRECISION_FP64, PRECISION_FP32, PRECISION_BF16,
                                                PRECISION_FP16, PRECISION_INT8};
    static const char *const more[] = {"", "\n  result: sum", "\n  distribution: uniform"};
    uint32_t lanes[8];
    size_t count;

    (void)state;
    if (!device)
        skip();
    count = device_lane_candidates(device, lanes, 8);
    for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++)
        for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
            struct gemm_running running;
            json_t *facts, *first;
            char *section;

            if (precisions[p] == PRECISION_FP64 && !gemm_has_f64(device))
                continue;
            section = text_format("%s%s", odd_shapes, more[i]);
            start(&running, section, precisions[p], i == 0 ? 2 : 1, IMPLEMENTATION_PORTABLE, true);
            gemm_verify_ok(&running, 2 * ODD_SHAPES);
            assert_int_equal(products_iterate(running.instance, NULL), STATUS_OK);
            gemm_verify_ok(&running, 2 * ODD_SHAPES);
            facts = running.workload.kind->facts(running.instance);
            first = json_array_get(json_object_get(facts, "gemms"), 0);
            assert_string_equal(json_string_value(json_object_get(first, "layout")), "nhwc");
            assert_non_null(json_object_get(facts, "gemm_tile"));
            json_decref(facts);
            gemm_stop(&running);
            free(section);
        }
    /* Every group size, as a choice that was made before. */
    for (size_t l = 0; l < count; l++) {
        struct gemm_plan plan =
            plan_of(odd_shapes, PRECISION_FP32, 3, IMPLEMENTATION_PORTABLE, false);
        struct gemm_running running;
        json_t *choices = json_pack("{s:{s:I, s:I}}", "gemm", "lanes", (json_int_t)lanes[l],
                                    "register_rows", (json_int_t)(lanes[l] == 1 ? 6 : 4));

        plan.choices = choices;
        gemm_start(&running, device, &plan);
        gemm_verify_ok(&running, 2 * ODD_SHAPES);
        gemm_stop(&running);
        json_decref(choices);
    }
}

static void assert_refused(enum precision precision, enum implementation implementation,
                           const char *message)
{
    const struct gemm_plan plan = plan_of(odd_shapes, precision, 1, implementation, false);

    gemm_refused(device, &plan, message);
}

static void test_refusals(void **state)
{
    (void)state;
    if (!device)
        skip();
    assert_refused(PRECISION_BF16, IMPLEMENTATION_PORTABLE, "--emulate");
    assert_refused(PRECISION_INT8, IMPLEMENTATION_PORTABLE, "computed in i32");
    assert_refused(PRECISION_TF32, IMPLEMENTATION_PORTABLE, "--implementation vendor");
    if (!device_has_operation(device, OPERATION_CONVOLUTION))
        assert_refused(PRECISION_FP32, IMPLEMENTATION_VENDOR, "no vendor convolution");
}

/* One element changed by more than its bound is found and named, and so is one never written. */
static void test_damage(void **state)
{
    const uint64_t at = (20 * 5 + 3) * sizeof(float);
    struct gemm_running running;
    struct convolution_instance *instance;
    float value;

    (void)state;
    if (!device)
        skip();
    start(&running, odd_shapes, PRECISION_FP32, 1, IMPLEMENTATION_PORTABLE, false);
    instance = (struct convolution_instance *)running.instance;
    assert_int_equal(products_iterate(running.instance, NULL), STATUS_OK);
    assert_int_equal(
        device_download(instance->products.items[2].arrays[GEMM_C].buffer, at, &value, 4, NULL),
        STATUS_OK);
    value += 0.5f; /* the bound is 333 * 2^-24 of sums of some 250 */
    assert_int_equal(
        device_upload(instance->products.items[2].arrays[GEMM_C].buffer, at, &value, 4, NULL),
        STATUS_OK);
    gemm_verify_fails(&running, 2 * ODD_SHAPES, "output output[2][20, 3]: got");
    gemm_stop(&running);

    start(&running, odd_shapes, PRECISION_FP32, 1, IMPLEMENTATION_PORTABLE, false);
    running.instance->unchecked = 1; /* as if it had run */
    gemm_verify_fails(&running, 2 * ODD_SHAPES, "never written?");
    gemm_stop(&running);
}

/* ---- a library ---- */

struct stand_in {
    struct operation base;
    struct buffer *weights;
};

static struct {
    enum support support;
    bool lies, no_i32;
    size_t created, run, weights;
} library;

static void library_destroy(struct operation *convolution)
{
    library.created--;
    free(convolution);
}

static enum status library_weights(struct operation *convolution, const struct operand *weights,
                                   struct error *err)
{
    (void)err;
    library.weights++;
    ((struct stand_in *)convolution)->weights = weights->buffer;
    return STATUS_OK;
}

static void compute(const struct convolution_shape *s, const void *in, const void *w, void *out)
{
    const int64_t oh = (int64_t)convolution_out_height(s), ow = (int64_t)convolution_out_width(s);
    const uint64_t channels = s->channels / s->groups, filters = s->filters / s->groups;
    uint64_t at = 0;

    for (uint64_t b = 0; b < s->batch; b++)
        for (int64_t y = 0; y < oh; y++)
            for (int64_t x = 0; x < ow; x++)
                for (uint64_t f = 0; f < s->filters; f++, at++) {
                    double sum = 0.0;

                    for (uint64_t t = 0; t < s->kernel_height * s->kernel_width * channels; t++) {
                        const uint64_t c = t % channels, tap = t / channels;
                        const int64_t iy = y * (int64_t)s->stride_y - (int64_t)s->pad_y +
                                           (int64_t)(tap / s->kernel_width * s->dilation_y);
                        const int64_t ix = x * (int64_t)s->stride_x - (int64_t)s->pad_x +
                                           (int64_t)(tap % s->kernel_width * s->dilation_x);

                        if (iy < 0 || ix < 0 || iy >= (int64_t)s->height || ix >= (int64_t)s->width)
                            continue;
                        sum +=
                            element_decode(
                                s->type, in,
                                ((b * s->height + (uint64_t)iy) * s->width + (uint64_t)ix) *
                                        s->channels +
                                    f / filters * channels + c) *
                            element_decode(s->type, w,
                                           f * s->kernel_height * s->kernel_width * channels + t);
                    }
                    element_encode(s->result_type, library.lies && f == 1 ? sum + 1.0 : sum, out,
                                   at);
                }
}

static enum status library_run(struct operation *convolution, const union operands *operands,
                               struct error *err)
{
    const struct operand *output = &operands->convolution.output;
    struct buffer *buffers[] = {operands->convolution.input.buffer,
                                ((struct stand_in *)convolution)->weights, output->buffer};
    void *bytes[3];

    library.run++;
    for (size_t i = 0; i < 3; i++) {
        bytes[i] = malloc(buffers[i]->bytes);
        assert_non_null(bytes[i]);
        device_download(buffers[i], 0, bytes[i], buffers[i]->bytes, err);
    }
    compute(&convolution->desc.convolution, bytes[0], bytes[1], bytes[2]);
    device_upload(output->buffer, 0, bytes[2], output->buffer->bytes, err);
    for (size_t i = 0; i < 3; i++)
        free(bytes[i]);
    return STATUS_OK;
}

static enum status library_describe(const struct operation *convolution, struct operation_info *ret,
                                    struct error *err)
{
    (void)convolution;
    (void)err;
    *ret = (struct operation_info){.library = "stand-in",
                                   .version = "1.2",
                                   .algorithm = "host",
                                   .workspace_bytes = 64,
                                   .support = library.support,
                                   .method = "asked itself",
                                   .weights = "turned round",
                                   .weights_bytes = 7};
    return STATUS_OK;
}

static enum status library_create(struct device *base, const struct operation_desc *desc,
                                  struct operation **ret, struct error *err)
{
    static const struct operation_ops ops = {.size = sizeof(struct stand_in),
                                             .destroy = library_destroy,
                                             .run = library_run,
                                             .describe = library_describe,
                                             .set_weights = library_weights};

    if (library.no_i32 && desc->convolution.result_type == DTYPE_I32)
        return error_set(err, STATUS_UNSUPPORTED, "stand-in: no i32");
    library.created++;
    return operation_make(&ops, base, desc, ret, err);
}

static int add_library(void **state)
{
    static const struct operation_implementation operations[] = {
        {OPERATION_CONVOLUTION, NULL, library_create},
        {0},
    };

    (void)state;
    if (!device)
        return 0;
    memset(&library, 0, sizeof(library));
    library.support = SUPPORT_NATIVE;
    gemm_library_add(device)->operations = operations;
    return 0;
}

static int remove_library(void **state)
{
    (void)state;
    if (device) {
        gemm_library_remove(device);
        assert_int_equal(library.created, 0); /* all are released */
    }
    return 0;
}

static void test_vendor(void **state)
{
    static const enum precision precisions[] = {PRECISION_FP64, PRECISION_FP32, PRECISION_TF32,
                                                PRECISION_BF16, PRECISION_FP16, PRECISION_INT8};

    (void)state;
    if (!device)
        skip();
    for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++) {
        struct gemm_running running;
        json_t *facts, *first;

        library.run = library.weights = 0;
        start(&running, odd_shapes, precisions[p], 2, IMPLEMENTATION_VENDOR, false);
        assert_int_equal(library.created, ODD_SHAPES);
        assert_int_equal(library.weights, ODD_SHAPES);
        gemm_verify_ok(&running, 2 * ODD_SHAPES);
        assert_int_equal(library.run, 2 * ODD_SHAPES);
        assert_int_equal(library.weights, ODD_SHAPES); /* once, at creation */
        facts = running.workload.kind->facts(running.instance);
        first = json_array_get(json_object_get(facts, "gemms"), 0);
        assert_string_equal(json_string_value(json_object_get(first, "weights")), "turned round");
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(facts, "gemm"), "library")),
            "stand-in");
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
    library.lies = true;
    start(&running, "shapes: [{" SMALL "}]", PRECISION_FP32, 1, IMPLEMENTATION_VENDOR, false);
    gemm_verify_fails(&running, 2, "convolution in fp32: output output[");
    gemm_stop(&running);
}

static void test_vendor_choices(void **state)
{
    struct gemm_running running;

    (void)state;
    if (!device)
        skip();
    library.support = SUPPORT_EMULATED;
    assert_refused(PRECISION_BF16, IMPLEMENTATION_VENDOR, "stand-in emulates bf16 on");
    library.support = SUPPORT_NATIVE;
    library.no_i32 = true; /* sums come as f32 then */
    start(&running, odd_shapes, PRECISION_INT8, 1, IMPLEMENTATION_VENDOR, false);
    assert_int_equal(((struct products *)running.instance)->result_type, DTYPE_F32);
    gemm_verify_ok(&running, 2 * ODD_SHAPES);
    gemm_stop(&running);
}

int main(void)
{
#define LIBRARY(test) cmocka_unit_test_setup_teardown(test, add_library, remove_library)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),   cmocka_unit_test(test_cost),
        cmocka_unit_test(test_portable), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_damage),   LIBRARY(test_vendor),
        LIBRARY(test_vendor_lies),       LIBRARY(test_vendor_choices),
    };
    int failed;

    device = model_fixture_open();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    model_fixture_close(device);
    return failed;
}
