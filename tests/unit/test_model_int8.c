/*
 * int8 inference: quantisation and its kernels against plain arithmetic, the whole model against
 * the fp64 reference, and damage that verification must report.
 */
#include "model_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "tests/support/unit.h"
#include "workloads/batched_inference/batched_inference.h"
#include "workloads/models/gpt2_int8.h"
#include "workloads/storage.h"

#define HEAD "workload: narrow\nversion: 1\nkind: batched_inference\ndescription: test\n"
#define USUAL                                                                                      \
    HEAD "precisions: [fp32, bf16, fp16, int8]\nbatches: [3]\n"                                    \
         "model: {layers: 2, heads: 2, width: 32, vocabulary: 256}\nsequence_length: 20\n"
#define ODD                                                                                        \
    HEAD "precisions: [int8]\nbatches: [2]\n"                                                      \
         "model: {layers: 3, heads: 3, width: 57, vocabulary: 31}\nsequence_length: 33\n"

static struct device *device;

static const struct gpt2_shape shape = {2, 2, 30, 9, 41, 77};

static float *random_weights(void)
{
    float *weights = calloc(gpt2_array_length(&shape), sizeof(*weights));

    gpt2_initialise(&shape, 4, weights);
    return weights;
}

static struct gpt2_int8_site site_of(const struct gpt2_shape *of, enum gpt2_tensor_id id,
                                     uint64_t layer)
{
    return gpt2_int8_site_at(of, id == GPT2_WTE ? gpt2_int8_sites(of) - 1
                                                : 4 * layer + (uint64_t)(id - GPT2_ATTN_W));
}

/* Each channel by itself, from the definition; one channel is all zero, one has a single weight. */
TEST(weights)
{
    float *weights = random_weights();
    float *scales = calloc(gpt2_int8_scale_count(&shape), sizeof(*scales));
    int8_t *quantised = calloc(gpt2_int8_length(&shape), 1);
    double noise[9];
    const uint64_t fc = gpt2_offset(&shape, GPT2_FC_W, 1); /* (30, 77) */
    uint64_t compared = 0;

    for (uint64_t i = 0; i < 30; i++) {
        weights[fc + i * 77 + 5] = 0.0f;
        weights[fc + i * 77 + 6] = i == 3 ? -2.0f : 0.0f;
    }
    assert_int_equal(gpt2_int8_sites(&shape), 9);
    gpt2_int8_quantise(&shape, weights, quantised, scales, noise);
    for (size_t t = 0; t < gpt2_tensor_count(&shape); t++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(&shape, t);
        const bool head = tensor.id == GPT2_WTE;
        struct gpt2_int8_site site;

        if (tensor.id == GPT2_WPE || tensor.id >= GPT2_LN1_G)
            continue;
        site = site_of(&shape, tensor.id, tensor.layer);
        for (uint64_t o = 0; o < (head ? tensor.rows : tensor.columns); o++) {
            const uint64_t inputs = head ? tensor.columns : tensor.rows;
            const float scale = scales[site.scales + o];
            float largest = 0.0f;

            for (uint64_t i = 0; i < inputs; i++) {
                const float w =
                    weights[tensor.offset + (head ? o * inputs + i : i * tensor.columns + o)];
                const int8_t q = quantised[site.weights + o * inputs + i];

                largest = fmaxf(largest, fabsf(w));
                assert_true(fabs((double)q - rint((double)w / (double)scale)) <= 1.0);
                assert_true(fabs((double)q * (double)scale - (double)w) <= 0.50001 * (double)scale);
                compared++;
            }
            assert_true(largest == 0.0f ? scale == 1.0f : scale == largest / 127.0f);
        }
    }
    /* Rows of zeros are between the head's 41 and the layers. */
    assert_int_equal(gpt2_int8_head_rows(&shape), 44);
    assert_true(site_of(&shape, GPT2_ATTN_W, 0).weights >= 44 * 30);
    for (size_t i = 41 * 30; i < 44 * 30; i++)
        assert_int_equal(quantised[i], 0);
    assert_int_equal(compared, 41 * 30 + 2 * (30 * 90 + 30 * 30 + 2 * 30 * 77));
    assert_int_equal(quantised[site_of(&shape, GPT2_FC_W, 1).weights + 6 * 30 + 3], -127);
    for (size_t i = 0; i < 9; i++)
        assert_true(noise[i] > 1e-3 && noise[i] < 0.2);
    free(weights);
    free(scales);
    free(quantised);
}

static int compare_floats(const void *a, const void *b)
{
    const float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);

    return (x > y) - (x < y);
}

TEST(percentile)
{
    enum { COUNT = 10007 };
    static float values[COUNT], sorted[COUNT];
    static const double percentiles[] = {50.001, 90.0, 99.0, 99.99, 100.0};

    for (int i = 0; i < COUNT; i++)
        values[i] =
            (float)(random_unit(random_at(1, 2, (uint64_t)i)) - 0.5) * (i % 3 == 0 ? 1e-3f : 7.0f);
    values[17] = -900.0f;
    memcpy(sorted, values, sizeof(values));
    qsort(sorted, COUNT, sizeof(*sorted), compare_floats);
    for (size_t p = 0; p < sizeof(percentiles) / sizeof(percentiles[0]); p++) {
        const uint64_t rank = (uint64_t)ceil(percentiles[p] / 100.0 * COUNT);

        assert_true(gpt2_int8_percentile(values, COUNT, percentiles[p]) == fabsf(sorted[rank - 1]));
    }
    assert_true(gpt2_int8_percentile(values, COUNT, 100.0) == 900.0f);
    assert_true(gpt2_int8_percentile(values, 1, 99.0) == fabsf(values[0]));
}

/* ---- kernels ---- */

static struct ops *make_ops(enum dtype storage)
{
    const struct workload_case work = {
        .precision = PRECISION_INT8, .implementation = IMPLEMENTATION_PORTABLE, .emulate = true};
    struct ops *ops = NULL;

    ASSERT_OK(ops_create(device, &work, storage, 1, &ops, err));
    return ops;
}

static struct buffer *put(const void *data, uint64_t bytes)
{
    struct buffer *buffer = NULL;

    ASSERT_OK(device_buffer_alloc(device, bytes, BUFFER_READ_WRITE, &buffer, err));
    ASSERT_OK(device_upload(buffer, 0, data, bytes, err));
    return buffer;
}

TEST(quantise_kernel)
{
    static const float values[] = {0.0f,  0.25f,  -0.25f, 0.75f,  1.25f,  -1.75f,   63.4f,
                                   63.5f, -63.5f, 63.49f, 1e30f,  -1e30f, INFINITY, -INFINITY,
                                   31.2f, -31.3f, 0.249f, 0.251f, 5.0f};
    static const int8_t wanted[] = {0,   0,    0,   2,    2,  -4,  127, 127, -127, 127,
                                    127, -127, 127, -127, 62, -63, 0,   1,   10};
    const uint64_t count = sizeof(values) / sizeof(values[0]);
    int8_t got[19];
    struct ops *ops;
    struct buffer *x, *y;

    if (!device)
        skip();
    ops = make_ops(DTYPE_F32);
    x = put(values, sizeof(values));
    y = put(got, sizeof(got));
    ASSERT_OK(op_int8_quantise(ops, (struct operand){x, 0}, y, count, 0.5f, err));
    ASSERT_OK(device_download(y, 0, got, sizeof(got), err));
    for (size_t i = 0; i < count; i++)
        if (got[i] != wanted[i])
            fail_msg("%g / 0.5 is %d, expected %d", (double)values[i], got[i], wanted[i]);
    device_buffer_free(x);
    device_buffer_free(y);
    ops_destroy(ops);
}

#define ROWS 7
#define WIDTH 53

TEST(dequantise_kernels)
{
    static int32_t sums[ROWS * WIDTH], other[ROWS * WIDTH];
    static float scales[WIDTH], bias[WIDTH], d[ROWS * WIDTH], got[ROWS * WIDTH];
    static int8_t quantised[ROWS * WIDTH];
    struct op_int8_sums op = {.rows = ROWS, .width = WIDTH, .scale = 0.01f};
    struct buffer *residual, *y;
    struct ops *ops;

    if (!device)
        skip();
    for (int i = 0; i < ROWS * WIDTH; i++) {
        sums[i] = (int32_t)(random_at(5, 0, (uint64_t)i) % 2000001) - 1000000;
        d[i] = (float)(random_unit(random_at(5, 1, (uint64_t)i)) - 0.5);
    }
    for (int i = 0; i < WIDTH; i++) {
        scales[i] = (float)(1e-4 * (0.1 + random_unit(random_at(5, 2, (uint64_t)i))));
        bias[i] = (float)(random_unit(random_at(5, 3, (uint64_t)i)) - 0.5);
    }
    ops = make_ops(DTYPE_F32);
    op.sums = put(sums, sizeof(sums));
    op.scales.buffer = put(scales, sizeof(scales));
    op.bias.buffer = put(bias, sizeof(bias));
    residual = put(d, sizeof(d));
    y = put(other, sizeof(other));
    ASSERT_OK(op_int8_dequantise(ops, &op, (struct operand){residual, 0},
                                 (struct operand){residual, 0}, err));
    ASSERT_OK(device_download(residual, 0, got, sizeof(got), err));
    for (int i = 0; i < ROWS * WIDTH; i++)
        assert_true(fabs((double)got[i] - ((double)sums[i] * 0.01f * (double)scales[i % WIDTH] +
                                           (double)bias[i % WIDTH] + (double)d[i])) < 1e-6);
    ASSERT_OK(op_int8_gelu(ops, &op, y, 0.02f, err));
    ASSERT_OK(device_download(y, 0, quantised, sizeof(quantised), err));
    for (int i = 0; i < ROWS * WIDTH; i++) {
        const double v =
            (double)sums[i] * 0.01f * (double)scales[i % WIDTH] + (double)bias[i % WIDTH];
        const double gelu =
            0.5 * v * (1.0 + tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v)));

        /* Half a step, where it is not clipped. */
        assert_true(fabs(quantised[i] - fmin(gelu / 0.02f, 127.0)) < 0.5001);
    }
    op.width = WIDTH - 3; /* rows as far apart as before, the padding stays */
    ASSERT_OK(op_int8_logits(ops, &op, WIDTH, err));
    ASSERT_OK(device_download(op.sums, 0, got, sizeof(got), err));
    for (int i = 0; i < ROWS * WIDTH; i++)
        if (i % WIDTH < WIDTH - 3)
            assert_true(fabs((double)got[i] - (double)sums[i] * 0.01f * (double)scales[i % WIDTH]) <
                        1e-6);
        else
            assert_memory_equal(&got[i], &sums[i], sizeof(*got));
    device_buffer_free(op.sums);
    device_buffer_free(op.scales.buffer);
    device_buffer_free(op.bias.buffer);
    device_buffer_free(residual);
    device_buffer_free(y);
    ops_destroy(ops);
}

/* ---- the workload ---- */

struct checks {
    int count, failed;
    double logits; /* the larger error */
    char first_failed[64];
};

static void note_check(void *context, const struct workload_check *check)
{
    struct checks *checks = context;

    checks->count++;
    assert_true(check->compared > 0);
    if (strcmp(check->output, "logits.last") == 0 || strcmp(check->output, "logits.sampled") == 0)
        checks->logits = fmax(checks->logits, check->error);
    if (!check->passed && checks->failed++ == 0)
        strncpy(checks->first_failed, check->output, sizeof(checks->first_failed) - 1);
}

TEST(against_reference)
{
    static const struct {
        const char *yaml;
        enum precision precision;
        int checks;
    } cases[] = {
        {USUAL, PRECISION_BF16, 5},
        {USUAL, PRECISION_FP16, 5},
        {USUAL, PRECISION_INT8, 6},
        {USUAL "int8: {storage: fp32, percentile: 100}\n", PRECISION_INT8, 6},
        {USUAL "int8: {storage: fp16, calibration_sequences: 2}\n", PRECISION_INT8, 6},
        {ODD, PRECISION_INT8, 6},
    };

    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct model_running running;
        struct checks checks = {0};
        json_t *facts, *top1;

        model_running_start(&running, device, cases[i].yaml, cases[i].precision);
        for (int n = 0; n < 20; n++)
            ASSERT_OK(running.workload.kind->iterate(running.base, err));
        ASSERT_OK(workload_verify(running.base, note_check, &checks, err));
        assert_int_equal(checks.count, cases[i].checks);
        assert_int_equal(checks.failed, 0);
        assert_true(checks.logits > 1e-5 && checks.logits < 0.05);
        facts = running.workload.kind->facts(running.base);
        top1 = json_object_get(facts, "top1");
        assert_true(json_integer_value(json_object_get(top1, "positions")) >= 16);
        assert_true(json_real_value(json_object_get(top1, "agreement")) > 0.5);
        if (cases[i].precision == PRECISION_INT8)
            assert_int_equal(
                json_array_size(json_object_get(json_object_get(facts, "int8"), "gemms")),
                gpt2_int8_sites(&running.gpt2->model->plan.shape));
        json_decref(facts);
        model_running_stop(&running);
    }
}

static void expect_failure(struct model_running *running, const char *wanted)
{
    struct checks checks = {0};
    struct error failure = ERROR_INIT;

    ASSERT_OK(running->workload.kind->iterate(running->base, err));
    if (workload_verify(running->base, note_check, &checks, &failure) != STATUS_CHECK_FAILED)
        fail_msg("not caught: %s", wanted);
    if (strcmp(checks.first_failed, wanted) != 0)
        fail_msg("caught by %s, not by %s", checks.first_failed, wanted);
}

TEST(damage)
{
    static const int8_t zeros[32];
    struct model_running running;
    const struct gpt2_device *model;
    uint64_t at;
    float scale;

    if (!device)
        skip();
    /* A channel of one weight is missing. */
    model_running_start(&running, device, USUAL, PRECISION_INT8);
    model = running.gpt2->model;
    at = site_of(&model->plan.shape, GPT2_FC_W, 1).weights + 5 * 32;
    ASSERT_OK(device_upload(model->buffers[GPT2_WEIGHTS8], at, zeros, sizeof(zeros), err));
    expect_failure(&running, "weights.int8");
    model_running_stop(&running);
    /* A channel's scale is one percent off. */
    model_running_start(&running, device, USUAL, PRECISION_INT8);
    model = running.gpt2->model;
    at = site_of(&model->plan.shape, GPT2_ATTN_W, 0).scales + 7;
    ASSERT_OK(device_download(model->buffers[GPT2_WEIGHT_SCALES], 4 * at, &scale, 4, err));
    scale *= 1.01f;
    ASSERT_OK(device_upload(model->buffers[GPT2_WEIGHT_SCALES], 4 * at, &scale, 4, err));
    expect_failure(&running, "weights.int8");
    model_running_stop(&running);
    /* Inputs clipped at a quarter of what calibration found. */
    model_running_start(&running, device, USUAL, PRECISION_INT8);
    for (uint64_t i = 0; i < gpt2_int8_sites(&shape); i++)
        ((struct inference_instance *)running.base)->input_scales[i] *= 0.25f;
    expect_failure(&running, "logits.last");
    model_running_stop(&running);
}

TEST(memory)
{
    struct model_running running;
    struct workload_cost cost, wide;
    struct gpt2_device_plan unfused;
    uint64_t bytes = 0, sizes[GPT2_BUFFERS];

    if (!device)
        skip();
    model_running_start(&running, device, USUAL, PRECISION_INT8);
    for (size_t i = 0; i < GPT2_BUFFERS; i++)
        if (running.gpt2->model->buffers[i])
            bytes += running.gpt2->model->buffers[i]->bytes;
    ASSERT_OK(running.workload.kind->cost(&running.base->work, &cost, err));
    /* A plan is made without a device, so it has room for probabilities that one may not keep. */
    unfused = running.gpt2->model->plan;
    assert_int_equal(gpt2_device_bytes(&unfused, sizes), bytes);
    unfused.fused = false;
    assert_int_equal(cost.device_memory_bytes, gpt2_device_bytes(&unfused, sizes));
    running.base->work.precision = PRECISION_FP32;
    ASSERT_OK(running.workload.kind->cost(&running.base->work, &wide, err));
    assert_true(cost.device_memory_bytes < wide.device_memory_bytes);
    assert_int_equal(cost.flops, wide.flops);
    model_running_stop(&running);
}

TEST(declarations)
{
    static const struct {
        const char *yaml, *message;
    } wrong[] = {
        {HEAD "precisions: [fp8_e4m3]\nmodel: {layers: 1, heads: 1, width: 8, vocabulary: 9}\n"
              "sequence_length: 4\n",
         "does not run in fp8_e4m3"},
        {USUAL "int8: {percentile: 50}\n", "above 50"},
        {USUAL "int8: {percentile: 100.5}\n", "above 50"},
        {USUAL "int8: {calibration_sequences: 0}\n", "calibration_sequences"},
        {USUAL "int8: {storage: int8}\n", "storage"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        model_fixture_refuse(wrong[i].yaml, wrong[i].message);
}

int main(void)
{
    return model_fixture_run(&device);
}
