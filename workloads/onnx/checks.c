/*
 * Outputs against the reference: every element, by the RMS of all and of any 64 neighbours. The
 * reference in fp64 takes drawn inputs, too, so a spot check shows that an iteration computed; with
 * declared outputs it shows that an iteration wrote, since the inputs stay.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/data/element.h"
#include "workloads/onnx/onnx.h"
#include "workloads/storage.h"

enum status onnx_iterate(struct workload_instance *base, struct error *err)
{
    TRY(framework_run(base->work.framework, 0, err));
    base->unchecked++;
    return STATUS_OK;
}

enum status onnx_fill(struct onnx_instance *instance, const uint64_t *secret, struct error *err)
{
    for (size_t i = 0; i < instance->parameters->input_count; i++) {
        const struct onnx_declared *input = &instance->parameters->inputs[i];
        AUTO_FREE void *values = NULL;

        if (secret && input->has_file)
            continue;
        TRY(onnx_input(instance, i, secret, &values, err));
        TRY(device_upload(instance->inputs[i], 0, values,
                          input->elements * (dtype_bits(input->type) / 8), err));
    }
    return STATUS_OK;
}

enum status onnx_poison(const struct onnx_instance *instance, struct error *err)
{
    for (size_t i = 0; i < instance->parameters->output_count; i++)
        TRY(storage_poison_all(instance->outputs[i], DTYPE_F32, err));
    return STATUS_OK;
}

/* ---- what is expected ---- */

static enum status as_array(const struct onnx_instance *instance, size_t number,
                            const uint64_t *secret, struct onnx_array *ret, struct error *err)
{
    const struct onnx_declared *input = &instance->parameters->inputs[number];
    struct onnx_array array = onnx_declared_array(input);
    AUTO_FREE void *values = NULL;

    TRY(onnx_input(instance, number, secret, &values, err));
    array.data = malloc(input->elements * sizeof(double));
    for (uint64_t i = 0; array.data && i < input->elements; i++)
        array.data[i] = element_decode(input->type, values, i);
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
    for (size_t i = 0; i < parameters->output_count; i++)
        outputs[i] = onnx_declared_array(&parameters->outputs[i]);
    if (status == STATUS_OK)
        status = onnx_reference_run(instance->reference, inputs, parameters->input_count, outputs,
                                    parameters->output_count, err);
    for (size_t i = 0; i < parameters->input_count; i++)
        free(inputs[i].data);
    return status;
}

/* Output `number` of the declaration's reference. */
static enum status read_expected(const struct onnx_declared *output, const struct tensors *file,
                                 double *ret, struct error *err)
{
    const struct tensor *tensor = NULL;

    TRY(tensors_find(file, output->name, DTYPE_F64, DTYPE_F32, output->rank, output->shape, &tensor,
                     err));
    for (uint64_t i = 0; i < output->elements; i++)
        ret[i] = element_decode(tensor->type, tensor->data, i);
    return STATUS_OK;
}

static enum status take_expected(struct onnx_instance *instance, struct error *err)
{
    const struct onnx_parameters *parameters = instance->parameters;
    CLEANUP(tensors_close) struct tensors file = {0};
    struct onnx_array outputs[ONNX_ARRAYS_MAX];

    if (instance->taken)
        return STATUS_OK;
    TRY(instance->reference
            ? compute(instance, NULL, outputs, err)
            : onnx_file_tensors(&parameters->reference, "the reference", &file, err));
    for (size_t i = 0; i < parameters->output_count; i++) {
        const uint64_t bytes = parameters->outputs[i].elements * sizeof(double);

        if (!instance->expected[i])
            instance->expected[i] = malloc(bytes);
        if (!instance->expected[i])
            return error_no_memory(err);
        if (instance->reference)
            memcpy(instance->expected[i], outputs[i].data, bytes);
        else if (read_expected(&parameters->outputs[i], &file, instance->expected[i], err) !=
                 STATUS_OK)
            return error_prefix(err, "the declared reference");
    }
    instance->taken = true;
    return STATUS_OK;
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
    };

    TRY(got ? device_download(instance->outputs[number], 0, got, output->elements * sizeof(*got),
                              err)
            : error_no_memory(err));
    check_count_live(got, output->elements, &live);
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

static enum status verify(struct workload_instance *base, struct check_sink *sink,
                          struct error *err)
{
    struct onnx_instance *instance = (struct onnx_instance *)base;

    TRY(take_expected(instance, err));
    TRY(check_settle(base, err));
    for (size_t i = 0; i < instance->parameters->output_count; i++)
        TRY(compare_output(instance, i, instance->expected[i], sink, err));
    return STATUS_OK;
}

static enum status spot_check(struct workload_instance *base, uint64_t secret,
                              struct check_sink *sink, struct error *err)
{
    struct onnx_instance *instance = (struct onnx_instance *)base;
    const bool drawn = instance->reference != NULL;
    struct onnx_array outputs[ONNX_ARRAYS_MAX];

    if (drawn)
        TRY(onnx_fill(instance, &secret, err));
    TRY(onnx_poison(instance, err));
    TRY(check_iterate_timed(base, instance->outputs[0], 0, err));
    TRY(drawn ? compute(instance, &secret, outputs, err) : take_expected(instance, err));
    for (size_t i = 0; i < instance->parameters->output_count; i++)
        TRY(compare_output(instance, i, drawn ? outputs[i].data : instance->expected[i], sink,
                           err));
    if (drawn)
        TRY(onnx_fill(instance, NULL, err));
    return check_iterate(base, err);
}

static enum status recheck(struct workload_instance *base, struct recheck *recheck,
                           struct error *err)
{
    const struct onnx_instance *instance = (const struct onnx_instance *)base;

    TRY(check_settle(base, err));
    for (size_t i = 0; i < instance->parameters->output_count; i++) {
        const uint64_t count = instance->parameters->outputs[i].elements;
        const struct check_output output = {.buffer = instance->outputs[i],
                                            .type = DTYPE_F32,
                                            .rows = 1,
                                            .columns = count,
                                            .stride = count};

        TRY(recheck_add(recheck, &output, err));
    }
    return STATUS_OK;
}

const struct workload_checks onnx_checks = {
    .verify = verify,
    .spot_check = spot_check,
    .tolerance = onnx_tolerance,
    .recheck = recheck,
};
