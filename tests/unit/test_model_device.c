/*
 * The model on a device against the fp64 reference: every logit, the loss, every gradient tensor
 * and an AdamW step, on usual and odd shapes, and for each group size that the device suggests.
 */
#include "model_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "tests/support/unit.h"
#include "workloads/models/gpt2_device.h"
#include "workloads/models/gpt2_graph.h"
#include "workloads/ops/internal.h"
#include "workloads/ops/gemm_internal.h"

#define TOLERANCE 1e-5 /* of the normalised RMS error; fp32 has 6e-8 */

static struct device *device;
static struct ops *ops;

static double normalised_rms(const float *got, const double *expected, uint64_t count)
{
    double error = 0.0, norm = 0.0;

    for (uint64_t i = 0; i < count; i++) {
        double d = (double)got[i] - expected[i];

        error += d * d;
        norm += expected[i] * expected[i];
    }
    return sqrt(error / (norm > 0.0 ? norm : 1.0));
}

static float *fetch(struct gpt2_device *model, enum gpt2_buffer buffer)
{
    uint64_t bytes = model->buffers[buffer]->bytes;
    float *ret = malloc(bytes);

    assert_non_null(ret);
    ASSERT_OK(device_download(model->buffers[buffer], 0, ret, bytes, err));
    return ret;
}

/* The first `rows`, without the padding between them. */
static float *fetch_logits(struct gpt2_device *model, uint64_t rows)
{
    const uint64_t v = model->plan.shape.vocabulary;
    const uint64_t stride = gpt2_logits_stride(&model->plan);
    float *ret = fetch(model, GPT2_LOGITS);

    for (uint64_t r = 1; r < rows; r++)
        memmove(ret + r * v, ret + r * stride, v * sizeof(*ret));
    return ret;
}

/* So that reading the padding between the rows of the logits has an effect. */
static void fill_logits_with_nan(struct gpt2_device *model)
{
    const uint64_t bytes = model->buffers[GPT2_LOGITS]->bytes;
    void *nans = malloc(bytes);

    assert_non_null(nans);
    memset(nans, 0xff, bytes);
    ASSERT_OK(device_upload(model->buffers[GPT2_LOGITS], 0, nans, bytes, err));
    free(nans);
}

static int32_t *random_batch(const struct gpt2_shape *shape, uint64_t rows, uint64_t *unique)
{
    int32_t *indices = calloc(OP_TOKENS_LENGTH(rows), sizeof(*indices));
    struct random random;

    random_init(&random, 11, rows);
    for (uint64_t i = 0; i < 2 * rows; i++)
        indices[i] = (int32_t)random_next_below(&random, shape->vocabulary);
    ASSERT_OK(op_tokens_index(indices, rows, unique, err));
    return indices;
}

static void check_gradients(struct gpt2_device *model, const struct stack_reference *ref)
{
    float *gradients = fetch(model, GPT2_GRADIENTS);

    for (size_t i = 0; i < gpt2_tensor_count(&model->plan.shape); i++) {
        struct gpt2_tensor tensor = gpt2_tensor_at(&model->plan.shape, i);
        double error = normalised_rms(gradients + tensor.offset, ref->gradients[i], tensor.count);

        if (!(error < TOLERANCE))
            fail_msg("%s: normalised RMS error %g", tensor.name, error);
    }
    free(gradients);
}

static void check_update(struct gpt2_device *model, const float *before)
{
    const struct adamw adamw = {1e-2, 0.9, 0.95, 1e-8, 0.1};
    const struct gpt2_shape *shape = &model->plan.shape;
    float *gradients = fetch(model, GPT2_GRADIENTS), *after;

    ASSERT_OK(trained_update(&model->trained, &adamw, 1, err));
    after = fetch(model, GPT2_PARAMETERS);
    for (size_t i = 0; i < gpt2_tensor_count(shape); i++) {
        struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);

        for (uint64_t j = tensor.offset; j < tensor.offset + tensor.count; j++) {
            double m = 0.0, v = 0.0;
            double wanted = adamw_reference(&adamw, 1, tensor.decay ? adamw.decay : 0.0, before[j],
                                            gradients[j], &m, &v);

            /* The first step moves by the rate or not at all; where the gradient is of the size of
             * epsilon, by less. */
            if (!(fabs(after[j] - wanted) < 1e-6 * (1.0 + fabs(wanted))))
                fail_msg("%s[%llu]: %.9g, expected %.9g", tensor.name,
                         (unsigned long long)(j - tensor.offset), after[j], wanted);
        }
    }
    free(gradients);
    free(after);
}

/* Trains on `used` of at most `sequences` sequences. */
static void check_shape(const struct gpt2_shape *shape, uint64_t sequences, uint64_t used,
                        uint64_t length)
{
    const struct gpt2_device_plan plan = {.shape = *shape,
                                          .sequences = sequences,
                                          .length = length,
                                          .training = true,
                                          .storage = DTYPE_F32};
    const uint64_t rows = used * length, v = shape->vocabulary;
    struct gpt2_device *model = NULL;
    struct stack_reference *ref = NULL;
    uint64_t unique = 0;
    int32_t *batch = random_batch(shape, rows, &unique);
    float *parameters, *logits, *losses;

    ASSERT_OK(gpt2_device_create(&plan, ops, device, 5, &model, err));
    ASSERT_OK(gpt2_reference_create(shape, used, length, true, &ref, err));
    /* Larger weights than at the start, so that attention and norms do real work. */
    parameters = fetch(model, GPT2_PARAMETERS);
    for (uint64_t i = 0; i < gpt2_array_length(shape); i++)
        parameters[i] *= parameters[i] == 1.0f ? 0.9f : 8.0f;
    ASSERT_OK(device_upload(model->buffers[GPT2_PARAMETERS], 0, parameters,
                            gpt2_array_length(shape) * sizeof(float), err));
    ASSERT_OK(gpt2_device_set_batch(model, batch, used, unique, err));
    fill_logits_with_nan(model);
    ASSERT_OK(gpt2_device_forward(model, 3, err));
    logits = fetch_logits(model, rows);
    losses = fetch(model, GPT2_LOSSES);
    ASSERT_OK(stack_reference_forward(ref, parameters, batch, batch + rows, err));
    assert_true(normalised_rms(logits, ref->out, rows * v) < TOLERANCE);
    assert_true(fabs(losses[3] - ref->loss) < 1e-5 * ref->loss);
    ASSERT_OK(gpt2_device_backward(model, err));
    ASSERT_OK(stack_reference_backward(ref, err));
    check_gradients(model, ref);
    check_update(model, parameters);
    stack_reference_destroy(ref);
    gpt2_device_destroy(model);
    free(batch);
    free(parameters);
    free(logits);
    free(losses);
}

static const struct gpt2_shape usual = {2, 2, 64, 32, 256, 256};

static void check_shapes(void)
{
    const struct gpt2_shape one_head = {1, 1, 40, 9, 257, 52};
    const struct gpt2_shape odd = {3, 3, 57, 70, 31, 101};
    const struct gpt2_shape smallest = {1, 1, 1, 1, 2, 1};

    check_shape(&usual, 2, 2, 32);
    check_shape(&usual, 3, 1, 7); /* part of the room, shorter than the context */
    check_shape(&usual, 4, 4, 1); /* a single position */
    check_shape(&one_head, 2, 2, 9);
    check_shape(&odd, 2, 2, 67); /* more than a tile of positions */
    check_shape(&smallest, 1, 1, 1);
}

TEST(shapes)
{
    if (!device)
        skip();
    check_shapes();
}

/* The text for several lanes differs; a device that chose one lane must still run it. */
TEST(lanes)
{
    uint32_t lanes[8];
    size_t count;

    if (!device)
        skip();
    count = device_lane_candidates(device, lanes, 8);
    for (size_t i = 0; i < count; i++) {
        uint32_t across = lanes[i] < 16 ? lanes[i] : 16;
        struct ops_tile tile = {lanes[i], 4, 4, 4 * (lanes[i] / across), 4 * across, 16};

        if (lanes[i] == 1)
            tile = (struct ops_tile){1, 6, 1, 24, 32, 16};
        for (size_t m = 0; m < OPS_CACHE; m++) {
            device_module_unload(device, ops->modules[m]);
            ops->modules[m] = NULL;
            ops->lanes[m] = lanes[i];
            ASSERT_OK(ops_compile(ops, (enum ops_module)m, lanes[i], &ops->modules[m], err));
        }
        for (size_t v = 0; v < ops->gemms->variant_count; v++)
            device_module_unload(device, ops->gemms->variants[v].module);
        ops->gemms->variant_count = 0; /* compiled again at its first use */
        ops->gemms->tile = tile;
        check_shapes();
    }
}

/* Same seed, same device: the same bytes. */
TEST(determinism)
{
    const struct gpt2_device_plan plan = {
        .shape = usual, .sequences = 2, .length = 32, .training = true, .storage = DTYPE_F32};
    const struct adamw adamw = {1e-3, 0.9, 0.95, 1e-8, 0.1};
    float *parameters[2] = {NULL, NULL};
    uint64_t unique = 0;
    int32_t *batch = random_batch(&usual, 64, &unique);

    if (!device)
        skip();
    for (int run = 0; run < 2; run++) {
        struct gpt2_device *model = NULL;

        ASSERT_OK(gpt2_device_create(&plan, ops, device, 5, &model, err));
        ASSERT_OK(gpt2_device_set_batch(model, batch, 2, unique, err));
        for (uint64_t step = 1; step <= 5; step++) {
            ASSERT_OK(gpt2_device_forward(model, step, err));
            ASSERT_OK(gpt2_device_backward(model, err));
            ASSERT_OK(trained_update(&model->trained, &adamw, step, err));
        }
        parameters[run] = fetch(model, GPT2_PARAMETERS);
        gpt2_device_destroy(model);
    }
    assert_memory_equal(parameters[0], parameters[1], gpt2_array_length(&usual) * sizeof(float));
    free(parameters[0]);
    free(parameters[1]);
    free(batch);
}

/* Inference uses one layer's room for all layers: the logits are the same. */
static void check_inference(const struct gpt2_shape *shape)
{
    const struct gpt2_device_plan plan = {
        .shape = *shape, .sequences = 3, .length = 32, .storage = DTYPE_F32};
    struct gpt2_device *model = NULL;
    struct stack_reference *ref = NULL;
    uint64_t unique = 0;
    int32_t *batch = random_batch(shape, 96, &unique);
    float *parameters, *logits;

    ASSERT_OK(gpt2_device_create(&plan, ops, device, 5, &model, err));
    assert_null(model->buffers[GPT2_GRADIENTS]);
    ASSERT_OK(gpt2_device_set_batch(model, batch, 3, unique, err));
    ASSERT_OK(gpt2_device_forward(model, 0, err));
    parameters = fetch(model, GPT2_PARAMETERS);
    logits = fetch_logits(model, 96);
    ASSERT_OK(gpt2_reference_create(shape, 3, 32, false, &ref, err));
    ASSERT_OK(stack_reference_forward(ref, parameters, batch, NULL, err));
    assert_true(normalised_rms(logits, ref->out, 96 * shape->vocabulary) < TOLERANCE);
    stack_reference_destroy(ref);
    gpt2_device_destroy(model);
    free(batch);
    free(parameters);
    free(logits);
}

TEST(inference)
{
    const struct gpt2_shape odd = {2, 2, 64, 32, 257, 256};

    if (!device)
        skip();
    check_inference(&usual);
    check_inference(&odd);
}

TEST(too_large)
{
    const struct gpt2_device_plan plan = {.shape = {48, 25, 1600, 1024, 50257, 6400},
                                          .sequences = 4096,
                                          .length = 1024,
                                          .training = true,
                                          .storage = DTYPE_F32};
    struct gpt2_device *model = NULL;
    struct error err = ERROR_INIT;

    if (!device)
        skip();
    assert_int_equal(gpt2_device_create(&plan, ops, device, 5, &model, &err), STATUS_DEVICE_MEMORY);
    assert_null(model);
    assert_non_null(strstr(err.message, "the model needs"));
}

/* The same choice again gives the same kernels; an unknown choice is refused. */
TEST(choices)
{
    static const char *const others[] = {
        "{}",
        "{\"gemm\": {\"lanes\": 1, \"register_rows\": 7}, \"rows\": {\"lanes\": 1}}",
        "{\"gemm\": {\"lanes\": 0, \"register_rows\": 8}, \"rows\": {\"lanes\": 1}}",
        "{\"gemm\": {\"lanes\": 33, \"register_rows\": 4}, \"rows\": {\"lanes\": 1}}",
        "{\"gemm\": {\"lanes\": 1, \"register_rows\": 8}, \"rows\": {\"lanes\": 1.5}}",
    };
    struct workload_case work = {.precision = PRECISION_FP32,
                                 .implementation = IMPLEMENTATION_PORTABLE};
    struct error err = ERROR_INIT;
    struct ops *again = NULL;
    json_t *choices, *given;

    if (!device)
        skip();
    work.choices = choices = ops_choices(ops);
    assert_int_equal(ops_create(device, &work, DTYPE_F32, 1, &again, &err), STATUS_OK);
    given = ops_choices(again);
    assert_true(json_equal(choices, given));
    ops_destroy(again);
    json_decref(given);
    json_decref(choices);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        work.choices = given = json_loads(others[i], 0, NULL);
        assert_int_equal(ops_create(device, &work, DTYPE_F32, 1, &again, &err), STATUS_INVALID);
        json_decref(given);
    }
}

static int open_device(void **state)
{
    const struct workload_case work = {.precision = PRECISION_FP32,
                                       .implementation = IMPLEMENTATION_PORTABLE};
    struct error err = ERROR_INIT;

    (void)state;
    device = model_fixture_open();
    if (device && ops_create(device, &work, DTYPE_F32, 1, &ops, &err) != STATUS_OK) {
        print_error("%s\n", err.message);
        return -1;
    }
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    ops_destroy(ops);
    model_fixture_close(device);
    return 0;
}

int main(void)
{
    return unit_run(open_device, close_device);
}
