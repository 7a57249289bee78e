#include "workloads/models/gpt2_int8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/models/gpt2_instance.h"

#define LAYER_SITES 4 /* from GPT2_ATTN_W to GPT2_FC_PROJ_W */
#define HEAD_MULTIPLE 4

uint64_t gpt2_int8_sites(const struct gpt2_shape *shape)
{
    return LAYER_SITES * shape->layers + 1;
}

uint64_t gpt2_int8_left_out(const struct gpt2_shape *shape)
{
    return gpt2_decay_length(shape) - gpt2_offset(shape, GPT2_ATTN_W, 0);
}

uint64_t gpt2_int8_head_rows(const struct gpt2_shape *shape)
{
    return (shape->vocabulary + HEAD_MULTIPLE - 1) / HEAD_MULTIPLE * HEAD_MULTIPLE;
}

/* Where the matrices of the layers begin: after the head's weight, aligned as a tensor is. */
static uint64_t layers_offset(const struct gpt2_shape *shape)
{
    const struct gpt2_shape padded = {.width = shape->width,
                                      .vocabulary = gpt2_int8_head_rows(shape)};

    return gpt2_offset(&padded, GPT2_WPE, 0);
}

struct gpt2_int8_site gpt2_int8_site_at(const struct gpt2_shape *shape, uint64_t index)
{
    const uint64_t layer = index / LAYER_SITES, d = shape->width, m = shape->mlp_width;
    const uint64_t before[LAYER_SITES] = {0, 3 * d, 4 * d, 4 * d + m};
    const struct gpt2_tensor tensor = gpt2_tensor_at(shape, GPT2_ATTN_W + index);

    if (layer == shape->layers)
        return (struct gpt2_int8_site){.inputs = d,
                                       .outputs = shape->vocabulary,
                                       .output_stride = d,
                                       .input_stride = 1,
                                       .head = true};
    return (struct gpt2_int8_site){
        .inputs = tensor.rows,
        .outputs = tensor.columns,
        .from = tensor.offset,
        .output_stride = 1,
        .input_stride = tensor.columns,
        .weights = layers_offset(shape) + tensor.offset - gpt2_offset(shape, GPT2_ATTN_W, 0),
        .scales = shape->vocabulary + layer * (5 * d + m) + before[index % LAYER_SITES],
    };
}

uint64_t gpt2_int8_length(const struct gpt2_shape *shape)
{
    return layers_offset(shape) + gpt2_int8_left_out(shape);
}

uint64_t gpt2_int8_scale_count(const struct gpt2_shape *shape)
{
    return shape->vocabulary + shape->layers * (5 * shape->width + shape->mlp_width);
}

/* One output channel: `count` weights, `stride` apart. Adds to the squares of weights and steps. */
static float quantise_channel(const float *weights, uint64_t count, uint64_t stride, int8_t *ret,
                              double *squares, double *steps)
{
    float largest = 0.0f, scale;

    for (uint64_t i = 0; i < count; i++) {
        const float w = weights[i * stride];

        largest = fmaxf(largest, fabsf(w));
        *squares += (double)w * (double)w;
    }
    if (largest == 0.0f) { /* exact, whatever the scale */
        memset(ret, 0, count);
        return 1.0f;
    }
    scale = largest / 127.0f;
    *steps += (double)count * (double)scale * (double)scale;
    for (uint64_t i = 0; i < count; i++)
        ret[i] = (int8_t)lrintf(fmaxf(-127.0f, fminf(127.0f, weights[i * stride] / scale)));
    return scale;
}

void gpt2_int8_quantise(const struct gpt2_shape *shape, const float *weights, int8_t *ret,
                        float *scales, double *ret_noise)
{
    memset(ret, 0, gpt2_int8_length(shape));
    for (uint64_t i = 0; i < gpt2_int8_sites(shape); i++) {
        const struct gpt2_int8_site site = gpt2_int8_site_at(shape, i);
        double squares = 0.0, steps = 0.0;

#pragma omp parallel for schedule(static) reduction(+ : squares, steps)
        for (uint64_t o = 0; o < site.outputs; o++)
            scales[site.scales + o] = quantise_channel(
                weights + site.from + o * site.output_stride, site.inputs, site.input_stride,
                ret + site.weights + o * site.inputs, &squares, &steps);
        if (ret_noise)
            ret_noise[i] = squares > 0.0 ? sqrt(steps / 12.0 / squares) : 0.0;
    }
}

/* ---- calibration ---- */

static uint32_t magnitude_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits & 0x7fffffffu;
}

/* Bits of positive floats are in the order of the floats: count by the upper half, then the lower.
 */
float gpt2_int8_percentile(const float *values, uint64_t count, double percentile)
{
    static const uint32_t halves = 65536;
    uint64_t *counts = calloc(halves, sizeof(*counts));
    uint64_t rank = (uint64_t)ceil(percentile / 100.0 * (double)count), before = 0;
    uint32_t upper = 0, lower = 0, bits;
    float ret = NAN; /* out of memory: no scale comes of it */

    if (!counts)
        return ret;
    rank = rank < 1 ? 1 : rank;
    for (uint64_t i = 0; i < count; i++)
        counts[magnitude_bits(values[i]) >> 16]++;
    while (before + counts[upper] < rank)
        before += counts[upper++];
    memset(counts, 0, halves * sizeof(*counts));
    for (uint64_t i = 0; i < count; i++)
        if (magnitude_bits(values[i]) >> 16 == upper)
            counts[magnitude_bits(values[i]) & 0xffffu]++;
    while (before + counts[lower] < rank)
        before += counts[lower++];
    free(counts);
    bits = upper << 16 | lower;
    memcpy(&ret, &bits, sizeof(ret));
    return ret;
}

struct observer {
    struct gpt2_int8_input *inputs; /* one a site */
    uint64_t sites, calls;          /* sites come in their order */
    double percentile;
    float *values;
};

static enum status observe(void *context, struct operand x, uint64_t count, struct error *err)
{
    struct observer *observer = context;
    struct gpt2_int8_input *input = &observer->inputs[observer->calls++ % observer->sites];
    float *values = observer->values;
    double squares = 0.0;
    float found;

    TRY(device_download(x.buffer, x.offset * sizeof(*values), values, count * sizeof(*values),
                        err));
    found = gpt2_int8_percentile(values, count, observer->percentile);
    if (!isfinite(found))
        return error_set(err, STATUS_CHECK_FAILED,
                         "calibration: an input of a GEMM is not finite in fp32");
    input->scale = fmaxf(input->scale, found / 127.0f);
    for (uint64_t i = 0; i < count; i++) {
        squares += (double)values[i] * (double)values[i];
        input->largest = fmaxf(input->largest, fabsf(values[i]));
        input->clipped += fabsf(values[i]) > found;
    }
    input->rms += squares; /* a sum until the end */
    input->values += count;
    return STATUS_OK;
}

static enum status run(const struct gpt2_calibration *calibration, struct gpt2_device *model,
                       int32_t *indices, struct error *err)
{
    for (uint64_t s = 0; s < calibration->sequences; s++) {
        uint64_t unique = 0;

        TRY(gpt2_make_batch(calibration->source, calibration->first + s, 1, calibration->length,
                            indices, &unique, err));
        TRY(gpt2_device_set_batch(model, indices, 1, unique, err));
        TRY(gpt2_device_forward(model, 0, err));
    }
    return STATUS_OK;
}

static enum status calibrate(const struct gpt2_calibration *calibration, struct ops *ops,
                             struct device *device, uint64_t seed, struct observer *observer,
                             struct error *err)
{
    const struct gpt2_device_plan plan = {.shape = *calibration->shape,
                                          .sequences = 1,
                                          .length = calibration->length,
                                          .storage = DTYPE_F32};
    const uint64_t widest =
        plan.shape.mlp_width > plan.shape.width ? plan.shape.mlp_width : plan.shape.width;
    AUTO_FREE int32_t *indices = calloc(OP_TOKENS_LENGTH(plan.length), sizeof(*indices));
    AUTO_FREE float *values = malloc(plan.length * widest * sizeof(*values));
    CLEANUP(gpt2_device_drop) struct gpt2_device *model = NULL;

    if (!(indices && values))
        return error_no_memory(err);
    observer->values = values;
    TRY(gpt2_device_create(&plan, ops, device, seed, &model, err));
    model->session.observe = observe;
    model->session.observer = observer;
    return run(calibration, model, indices, err);
}

enum status gpt2_int8_calibrate(const struct gpt2_calibration *calibration, struct device *device,
                                const struct workload_case *work, const json_t *choices,
                                struct gpt2_int8_input *ret, struct error *err)
{
    struct workload_case fp32 = *work;
    struct observer observer = {.inputs = ret,
                                .sites = gpt2_int8_sites(calibration->shape),
                                .percentile = calibration->percentile};
    CLEANUP(ops_drop) struct ops *ops = NULL;

    memset(ret, 0, gpt2_int8_sites(calibration->shape) * sizeof(*ret));
    fp32.precision = PRECISION_FP32;
    fp32.choices = choices;
    TRY(ops_create(device, &fp32, DTYPE_F32, calibration->shape->width, &ops, err));
    TRY(calibrate(calibration, ops, device, work->seed, &observer, err));
    for (uint64_t i = 0; i < gpt2_int8_sites(calibration->shape); i++) {
        ret[i].rms = sqrt(ret[i].rms / (double)ret[i].values);
        if (ret[i].scale == 0.0f)
            ret[i].scale = 1.0f;
    }
    return STATUS_OK;
}
