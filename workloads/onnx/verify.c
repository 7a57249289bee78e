/*
 * Outputs against the reference: every element, by the RMS of all and of any 64 neighbours. The
 * reference in fp64 takes drawn inputs, too, so a spot check shows that an iteration computed; with
 * declared outputs it shows that an iteration wrote, since the inputs stay.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/fingerprint.h"
#include "harness/core/cleanup.h"
#include "workloads/check/compare.h"
#include "workloads/onnx/onnx.h"

enum status onnx_iterate(struct workload_instance *base, struct error *err)
{
    const enum status status = framework_run(base->work.framework, 0, err);

    ((struct onnx_instance *)base)->iterations += status == STATUS_OK;
    return status;
}

enum status onnx_fill(struct onnx_instance *instance, const uint64_t *secret, struct error *err)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < instance->parameters->input_count && status == STATUS_OK; i++) {
        const struct onnx_declared *input = &instance->parameters->inputs[i];
        void *values = NULL;

        if (secret && input->has_file)
            continue;
        status = onnx_input(instance, i, secret, &values, err);
        if (status == STATUS_OK)
            status = device_upload(instance->inputs[i], 0, values,
                                   input->elements * (dtype_bits(input->type) / 8), err);
        free(values);
    }
    return status;
}

/* NaN into every output, then one iteration. */
static enum status run_anew(struct onnx_instance *instance, struct error *err)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < instance->parameters->output_count && status == STATUS_OK; i++) {
        const uint64_t count = instance->parameters->outputs[i].elements;
        float *nothing = malloc(count * sizeof(*nothing));

        for (uint64_t j = 0; nothing && j < count; j++)
            nothing[j] = NAN;
        status = nothing
                     ? device_upload(instance->outputs[i], 0, nothing, count * sizeof(float), err)
                     : error_no_memory(err);
        free(nothing);
    }
    if (status == STATUS_OK)
        status = onnx_iterate(&instance->base, err);
    return status == STATUS_OK ? device_synchronize(instance->base.device, err) : status;
}

/* ---- what is expected ---- */

static enum status as_array(const struct onnx_instance *instance, size_t number,
                            const uint64_t *secret, struct onnx_array *ret, struct error *err)
{
    const struct onnx_declared *input = &instance->parameters->inputs[number];
    struct onnx_array array = {.name = input->name,
                               .rank = input->rank,
                               .elements = input->elements,
                               .whole = input->type != DTYPE_F32};
    void *values = NULL;

    TRY(onnx_input(instance, number, secret, &values, err));
    memcpy(array.shape, input->shape, sizeof(input->shape));
    array.data = malloc(input->elements * sizeof(double));
    for (uint64_t i = 0; array.data && i < input->elements; i++)
        array.data[i] = input->type == DTYPE_F32   ? (double)((float *)values)[i]
                        : input->type == DTYPE_I32 ? (double)((int32_t *)values)[i]
                                                   : (double)((int64_t *)values)[i];
    free(values);
    *ret = array;
    return array.data ? STATUS_OK : error_no_memory(err);
}

static enum status compute(struct onnx_instance *instance, const uint64_t *secret,
                           struct onnx_array *outputs, struct error *err)
{
    const struct onnx_parameters *parameters = instance->parameters;
    struct onnx_array inputs[ONNX_ARRAYS_MAX] = {0};
    enum status status = STATUS_OK;

    for (size_t i = 0; i < parameters->input_count && status == STATUS_OK; i++)
        status = as_array(instance, i, secret, &inputs[i], err);
    for (size_t i = 0; i < parameters->output_count; i++) {
        const struct onnx_declared *output = &parameters->outputs[i];

        outputs[i] = (struct onnx_array){
            .name = output->name, .rank = output->rank, .elements = output->elements};
        memcpy(outputs[i].shape, output->shape, sizeof(output->shape));
    }
    if (status == STATUS_OK)
        status = onnx_reference_run(instance->reference, inputs, parameters->input_count, outputs,
                                    parameters->output_count, err);
    for (size_t i = 0; i < parameters->input_count; i++)
        free(inputs[i].data);
    return status;
}

/* Those of the declaration's reference. */
static enum status read_expected(struct onnx_instance *instance, struct error *err)
{
    const struct onnx_parameters *parameters = instance->parameters;
    struct tensors file = {0};
    enum status status = onnx_file_tensors(&parameters->reference, "the reference", &file, err);

    for (size_t i = 0; i < parameters->output_count && status == STATUS_OK; i++) {
        const struct onnx_declared *output = &parameters->outputs[i];
        const struct tensor *tensor = NULL;

        status = tensors_find(&file, output->name, DTYPE_F64, DTYPE_F32, output->rank,
                              output->shape, &tensor, err);
        for (uint64_t j = 0; j < output->elements && status == STATUS_OK; j++)
            instance->expected[i][j] = tensor->type == DTYPE_F64
                                           ? ((const double *)tensor->data)[j]
                                           : (double)((const float *)tensor->data)[j];
    }
    tensors_close(&file);
    return status == STATUS_OK ? status : error_prefix(err, "the declared reference");
}

static enum status take_expected(struct onnx_instance *instance, struct error *err)
{
    const struct onnx_parameters *parameters = instance->parameters;
    struct onnx_array outputs[ONNX_ARRAYS_MAX];
    enum status status = STATUS_OK;

    if (instance->expected[0])
        return STATUS_OK;
    if (instance->reference)
        status = compute(instance, NULL, outputs, err);
    for (size_t i = 0; i < parameters->output_count && status == STATUS_OK; i++) {
        const uint64_t bytes = parameters->outputs[i].elements * sizeof(double);

        instance->expected[i] = malloc(bytes);
        if (!instance->expected[i])
            status = error_no_memory(err);
        else if (instance->reference)
            memcpy(instance->expected[i], outputs[i].data, bytes);
    }
    return status == STATUS_OK && !instance->reference ? read_expected(instance, err) : status;
}

/* ---- comparing ---- */

static enum status compare_output(struct onnx_instance *instance, size_t number,
                                  const double *expected, struct check_sink *sink,
                                  struct error *err)
{
    const struct onnx_declared *output = &instance->parameters->outputs[number];
    const double tolerance = onnx_tolerance(&instance->base.work, output->name, "normalised_rms");
    AUTO_FREE float *got = malloc(output->elements * sizeof(*got));
    char name[TENSOR_NAME_MAX + sizeof(".blocks")];
    struct comparison comparison = {0};
    struct block_finding blocks = {0};
    struct workload_check live = {
        .output = name,
        .metric = "count",
        .reason = "an iteration writes every element, and each is a finite number",
        .compared = output->elements,
    };

    TRY(got ? device_download(instance->outputs[number], 0, got, output->elements * sizeof(*got),
                              err)
            : error_no_memory(err));
    for (uint64_t i = 0; i < output->elements; i++)
        live.error += !isfinite(got[i]);
    comparison_add(&comparison, got, expected, output->elements);
    block_finding_add(&blocks, output->name, got, expected, output->elements);
    snprintf(name, sizeof(name), "%s.live", output->name);
    check_sink_report(sink, live, "elements that are not finite numbers");
    check_sink_compare(sink, output->name, &comparison, tolerance,
                       output->tolerance > 0.0
                           ? "as declared"
                           : "fp32: 2048 roundings of 2^-24 that add up; narrower: 256 "
                             "independent ones of the type");
    snprintf(name, sizeof(name), "%s.blocks", output->name);
    check_sink_blocks(sink, name, &blocks, tolerance);
    return STATUS_OK;
}

static enum status compare(struct onnx_instance *instance, double *const *expected,
                           struct check_sink *sink, struct error *err)
{
    for (size_t i = 0; i < instance->parameters->output_count; i++)
        TRY(compare_output(instance, i, expected[i], sink, err));
    return sink->status;
}

enum status onnx_verify(struct workload_instance *base, workload_check_fn *report, void *context,
                        struct error *err)
{
    struct onnx_instance *instance = (struct onnx_instance *)base;
    struct check_sink sink = {.report = report, .context = context, .err = err};

    TRY(take_expected(instance, err));
    if (instance->iterations == 0)
        TRY(run_anew(instance, err));
    return compare(instance, instance->expected, &sink, err);
}

enum status onnx_spot_check(struct workload_instance *base, uint64_t secret,
                            workload_check_fn *report, void *context, struct error *err)
{
    struct onnx_instance *instance = (struct onnx_instance *)base;
    struct check_sink sink = {.report = report, .context = context, .err = err};
    struct onnx_array outputs[ONNX_ARRAYS_MAX];
    double *expected[ONNX_ARRAYS_MAX];

    TRY(instance->reference ? onnx_fill(instance, &secret, err) : STATUS_OK);
    TRY(run_anew(instance, err));
    TRY(instance->reference ? compute(instance, &secret, outputs, err)
                            : take_expected(instance, err));
    for (size_t i = 0; i < instance->parameters->output_count; i++)
        expected[i] = instance->reference ? outputs[i].data : instance->expected[i];
    TRY(compare(instance, expected, &sink, err));
    if (instance->reference)
        TRY(onnx_fill(instance, NULL, err));
    TRY(onnx_iterate(base, err));
    return device_synchronize(base->device, err);
}

enum status onnx_recheck(struct workload_instance *base, const char *expected,
                         struct workload_recheck *ret, struct error *err)
{
    struct onnx_instance *instance = (struct onnx_instance *)base;
    struct fingerprint fingerprint;
    enum status status = instance->iterations == 0 ? run_anew(instance, err) : STATUS_OK;

    fingerprint_init(&fingerprint);
    for (size_t i = 0; i < instance->parameters->output_count && status == STATUS_OK; i++) {
        const uint64_t count = instance->parameters->outputs[i].elements;

        ret->compared += count;
        status = fingerprint_add_buffer(&fingerprint, instance->outputs[i], 0,
                                        count * sizeof(float), err);
    }
    if (status != STATUS_OK)
        return status;
    ret->text = fingerprint_text(&fingerprint);
    ret->same = ret->text && expected && !strcmp(ret->text, expected);
    return ret->text ? STATUS_OK : error_no_memory(err);
}
