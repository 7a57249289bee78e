/* int8: calibration before the model is made, and the checks of what quantisation did. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "workloads/batched_inference/batched_inference.h"

#define FIRST_CALIBRATION_SEQUENCE ((uint64_t)1 << 40) /* far from those that are measured */
#define STEP_TOLERANCE 0.5001 /* to nearest: half a step, and the quotient's rounding */
#define GEMM_TOLERANCE 2.5e-7 /* four roundings of f32: the sum, two scales, their product */

static const struct gpt2_shape *shape_of(const struct inference_instance *instance)
{
    return &instance->parameters->task.shape;
}

static enum status allocate(struct inference_instance *instance, struct error *err)
{
    const uint64_t sites = gpt2_int8_sites(shape_of(instance));

    instance->inputs = calloc(sites, sizeof(*instance->inputs));
    instance->input_scales = calloc(sites, sizeof(*instance->input_scales));
    instance->weight_noise = calloc(sites, sizeof(*instance->weight_noise));
    return instance->inputs && instance->input_scales && instance->weight_noise
               ? STATUS_OK
               : error_no_memory(err);
}

static enum status find_weight_noise(struct inference_instance *instance, struct error *err)
{
    const struct gpt2_shape *shape = shape_of(instance);
    AUTO_FREE float *weights = malloc(gpt2_array_length(shape) * sizeof(*weights));
    AUTO_FREE float *scales = malloc(gpt2_int8_scale_count(shape) * sizeof(*scales));
    AUTO_FREE int8_t *quantised = malloc(gpt2_int8_length(shape));

    if (!(weights && scales && quantised))
        return error_no_memory(err);
    gpt2_initialise(shape, instance->gpt2.base.work.seed, weights);
    gpt2_int8_quantise(shape, weights, quantised, scales, instance->weight_noise);
    return STATUS_OK;
}

enum status inference_calibrate(struct inference_instance *instance, struct error *err)
{
    const struct inference_parameters *parameters = instance->parameters;
    const struct workload_case *work = &instance->gpt2.base.work;
    CLEANUP(token_source_drop) struct token_source *source = NULL;
    json_auto_t *choices = ops_choices(instance->gpt2.ops);
    struct gpt2_calibration calibration = {
        .shape = shape_of(instance),
        .length = parameters->task.length,
        .first = FIRST_CALIBRATION_SEQUENCE,
        .sequences = parameters->calibration_sequences,
        .percentile = parameters->percentile,
    };

    TRY(allocate(instance, err));
    TRY(gpt2_task_open_source(&parameters->task, work->seed, &source, err));
    calibration.source = source;
    TRY(gpt2_int8_calibrate(&calibration, instance->gpt2.base.device, work, choices,
                            instance->inputs, err));
    for (uint64_t i = 0; i < gpt2_int8_sites(shape_of(instance)); i++)
        instance->input_scales[i] = instance->inputs[i].scale;
    return find_weight_noise(instance, err);
}

double inference_int8_tolerance(const struct inference_instance *instance)
{
    double squares = 0.0;

    for (uint64_t i = 0; i < gpt2_int8_sites(shape_of(instance)); i++) {
        const struct gpt2_int8_input *input = &instance->inputs[i];
        const double noise = input->rms > 0.0 ? (double)input->scale / input->rms : 0.0;

        squares += noise * noise / 12.0 + instance->weight_noise[i] * instance->weight_noise[i];
    }
    return sqrt(squares);
}

/* ---- checks ---- */

/* The worst of a channel in steps of its scale; a scale that is not the largest over 127 is off. */
static double channel_error(const float *weights, uint64_t count, uint64_t stride,
                            const int8_t *quantised, float scale)
{
    float largest = 0.0f;
    double worst = 0.0;

    for (uint64_t i = 0; i < count; i++) {
        const double w = weights[i * stride];

        largest = fmaxf(largest, fabsf(weights[i * stride]));
        worst = fmax(worst, fabs((double)quantised[i] - w / (double)scale));
    }
    if (!(fabs((double)scale * 127.0 - (double)largest) <= 1e-6 * (double)largest) &&
        largest > 0.0f)
        return DBL_MAX; /* also a NaN */
    return worst;
}

static void compare_weights(const struct gpt2_shape *shape, const float *weights,
                            const int8_t *quantised, const float *scales,
                            struct workload_check *check)
{
    for (uint64_t i = 0; i < gpt2_int8_sites(shape); i++) {
        const struct gpt2_int8_site site = gpt2_int8_site_at(shape, i);
        double worst = 0.0;

#pragma omp parallel for schedule(static) reduction(max : worst)
        for (uint64_t o = 0; o < site.outputs; o++)
            worst = fmax(worst, channel_error(weights + site.from + o * site.output_stride,
                                              site.inputs, site.input_stride,
                                              quantised + site.weights + o * site.inputs,
                                              scales[site.scales + o]));
        check->error = fmax(check->error, worst);
        check->compared += site.outputs * site.inputs;
    }
}

enum status inference_check_weights(struct inference_instance *instance, struct check_sink *sink,
                                    struct error *err)
{
    const struct gpt2_shape *shape = shape_of(instance);
    const struct gpt2_device *model = instance->gpt2.model;
    const uint64_t count = gpt2_int8_length(shape), scale_count = gpt2_int8_scale_count(shape);
    struct workload_check check = {
        .output = "weights.int8",
        .tolerance = STEP_TOLERANCE,
        .metric = "max_steps",
        .reason = "each weight is within half a step of its channel's scale, which is the "
                  "largest weight over 127",
    };
    AUTO_FREE int8_t *quantised = NULL;
    AUTO_FREE float *scales = NULL;

    if (!model->plan.quantised)
        return STATUS_OK;
    TRY(inference_take_weights(instance, err));
    quantised = malloc(count);
    scales = malloc(scale_count * sizeof(*scales));
    TRY(quantised && scales
            ? device_download(model->buffers[GPT2_WEIGHTS8], 0, quantised, count, err)
            : error_no_memory(err));
    TRY(device_download(model->buffers[GPT2_WEIGHT_SCALES], 0, scales,
                        scale_count * sizeof(*scales), err));
    compare_weights(shape, instance->weights, quantised, scales, &check);
    check_sink_report(sink, check, "a quantised weight or a scale is wrong");
    return STATUS_OK;
}

enum status inference_check_head(struct inference_instance *instance, uint64_t row,
                                 const float *logits, struct workload_check *check,
                                 struct error *err)
{
    const struct gpt2_shape *shape = shape_of(instance);
    const struct gpt2_device *model = instance->gpt2.model;
    const uint64_t d = shape->width, vocabulary = shape->vocabulary;
    const double scale = (double)instance->input_scales[gpt2_int8_sites(shape) - 1];
    AUTO_FREE int8_t *input = malloc(d);
    AUTO_FREE int8_t *weights = malloc(vocabulary * d);
    AUTO_FREE float *scales = malloc(vocabulary * sizeof(*scales));

    TRY(input && weights && scales
            ? device_download(model->buffers[GPT2_INPUT8], row * d, input, d, err)
            : error_no_memory(err));
    TRY(device_download(model->buffers[GPT2_WEIGHTS8], 0, weights, vocabulary * d, err));
    TRY(device_download(model->buffers[GPT2_WEIGHT_SCALES], 0, scales, vocabulary * sizeof(*scales),
                        err));
    for (uint64_t v = 0; v < vocabulary; v++) {
        int64_t sum = 0;
        double wanted, error;

        for (uint64_t i = 0; i < d; i++)
            sum += (int64_t)input[i] * weights[v * d + i];
        wanted = (double)sum * scale * (double)scales[v];
        error = wanted == (double)logits[v] ? 0.0 : fabs((double)logits[v] - wanted) / fabs(wanted);
        check->error = error <= check->error ? check->error : fmin(error, DBL_MAX); /* NaN too */
    }
    check->output = "logits.gemm";
    check->metric = "max_relative";
    check->tolerance = GEMM_TOLERANCE;
    check->reason = "sums of integers are exact: what is left are four roundings of fp32";
    check->compared += vocabulary;
    return STATUS_OK;
}

/* ---- facts ---- */

json_t *inference_int8_json(const struct inference_instance *instance)
{
    static const char *const names[] = {"qkv", "attention_projection", "fc", "fc_projection"};
    const struct inference_parameters *parameters = instance->parameters;
    const uint64_t sites = gpt2_int8_sites(shape_of(instance));
    json_t *inputs = json_array();

    for (uint64_t i = 0; i < sites; i++) {
        const struct gpt2_int8_input *input = &instance->inputs[i];
        json_t *entry =
            json_pack("{s:s, s:o, s:o, s:o, s:o}", "gemm", i + 1 == sites ? "head" : names[i % 4],
                      "scale", real_or_null((double)input->scale), "rms", real_or_null(input->rms),
                      "largest", real_or_null((double)input->largest), "clipped_part",
                      real_or_null((double)input->clipped / (double)input->values));

        if (i + 1 < sites)
            json_object_set_new(entry, "layer", json_integer((json_int_t)(i / 4)));
        json_array_append_new(inputs, entry);
    }
    return json_pack("{s:s, s:s, s:{s:s, s:f, s:I, s:s}, s:o}", "weights",
                     "symmetric, one scale an output channel: its largest absolute value over 127",
                     "inputs", "symmetric, one static scale a GEMM", "calibration", "method",
                     parameters->percentile < 100.0 ? "percentile" : "max", "percentile",
                     parameters->percentile, "sequences",
                     (json_int_t)parameters->calibration_sequences, "precision", "fp32", "gemms",
                     inputs);
}
