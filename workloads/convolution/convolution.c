#include "workloads/convolution/convolution.h"

#include <stdio.h>
#include <stdlib.h>

#include "workloads/gemm/check.h"
#include "workloads/kinds.h"
#include "workloads/storage.h"

static void free_layers(struct convolution_instance *instance)
{
    for (size_t i = 0; i < instance->layer_count && instance->layers; i++) {
        struct convolution_layer *layer = &instance->layers[i];

        device_buffer_free(layer->input);
        device_buffer_free(layer->weights);
        device_buffer_free(layer->output);
        layer->input = layer->weights = layer->output = NULL;
    }
    operations_destroy(instance->operations);
    instance->operations = NULL;
}

static void finish(struct workload_instance *base)
{
    struct convolution_instance *instance = (struct convolution_instance *)base;

    free_layers(instance);
    convolution_portable_destroy(instance->portable);
    free(instance->layers);
}

struct gemm_data convolution_data_of(const struct convolution_instance *instance, size_t layer)
{
    return (struct gemm_data){.seed = instance->base.work.seed,
                              .shape = layer,
                              .distribution = instance->parameters->distribution,
                              .type = instance->operand_type};
}

static enum status allocate(struct convolution_instance *instance, size_t index, struct error *err)
{
    struct convolution_layer *layer = &instance->layers[index];
    const struct convolution_shape *shape = &layer->shape;
    const struct gemm_data data = convolution_data_of(instance, index);
    const uint64_t input = shape->batch * shape->height * shape->width * shape->channels;
    const uint64_t weights = shape->filters * shape->kernel_height * shape->kernel_width *
                             (shape->channels / shape->groups);
    const uint64_t output = shape->batch * layer->out_height * layer->out_width * shape->filters;
    const uint64_t in = dtype_bits(shape->type) / 8, out = dtype_bits(shape->result_type) / 8;
    struct device *device = instance->base.device;
    enum status status;

    status = device_buffer_alloc(device, input * in, BUFFER_READ_ONLY, &layer->input, err);
    if (status == STATUS_OK)
        status = device_buffer_alloc(device, weights * in, BUFFER_READ_ONLY, &layer->weights, err);
    if (status == STATUS_OK)
        status = device_buffer_alloc(device, output * out, BUFFER_READ_WRITE, &layer->output, err);
    if (status == STATUS_OK)
        status = gemm_upload(&data, GEMM_A, 0, input, layer->input, err);
    if (status == STATUS_OK)
        status = gemm_upload(&data, GEMM_B, 0, weights, layer->weights, err);
    return status;
}

static enum status prepare_vendor(struct convolution_instance *instance, size_t index,
                                  struct error *err)
{
    const struct convolution_layer *layer = &instance->layers[index];
    const struct operation_desc desc = {.kind = OPERATION_CONVOLUTION, .convolution = layer->shape};
    const struct operand weights = {layer->weights, 0};
    enum status status = gemm_advise(instance->base.device, layer->shape.precision,
                                     operations_add(instance->operations, &desc, err), err);

    return status == STATUS_OK
               ? operation_set_weights(instance->operations->items[index].operation, &weights, err)
               : status;
}

static enum status run_all(struct convolution_instance *instance, struct error *err)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < instance->layer_count && status == STATUS_OK; i++) {
        const struct convolution_layer *layer = &instance->layers[i];
        const union operands operands = {
            .convolution = {.input = {layer->input, 0}, .output = {layer->output, 0}}};

        status = instance->operations ? operations_run(instance->operations, i, &operands, err)
                                      : convolution_portable_run(instance->portable, layer, err);
    }
    return status;
}

static void shape_layers(struct convolution_instance *instance)
{
    for (size_t i = 0; i < instance->layer_count; i++) {
        struct convolution_layer *layer = &instance->layers[i];

        layer->shape = convolution_shape_of(&instance->parameters->shapes[i],
                                            instance->base.work.precision, instance->operand_type,
                                            instance->result_type, instance->base.work.batch);
        layer->out_height = convolution_out_height(&layer->shape);
        layer->out_width = convolution_out_width(&layer->shape);
        if (instance->layer_count == 1)
            snprintf(layer->name, sizeof(layer->name), "output");
        else
            snprintf(layer->name, sizeof(layer->name), "output[%zu]", i);
        snprintf(layer->name_exact, sizeof(layer->name_exact), "%s.unrounded", layer->name);
    }
}

enum status convolution_lay_out(struct convolution_instance *instance, struct error *err)
{
    const struct workload_case *work = &instance->base.work;
    const struct convolution_parameters *parameters = work->workload->parameters;

    instance->layers = calloc(parameters->shape_count, sizeof(*instance->layers));
    if (!instance->layers)
        return error_set(err, STATUS_NO_MEMORY, "convolution: out of memory");
    instance->parameters = parameters;
    instance->layer_count = parameters->shape_count;
    instance->operand_type = precision_dtype(work->precision);
    instance->result_type =
        parameters->result == GEMM_RESULT_SUM || work->precision == PRECISION_INT8
            ? gemm_sum_type(work->precision)
            : instance->operand_type;
    shape_layers(instance);
    return STATUS_OK;
}

static enum status create_operations(struct convolution_instance *instance, struct error *err)
{
    json_t *candidates = json_array();
    enum status status =
        candidates ? operations_create(instance->base.device, &instance->base.work, "convolution",
                                       candidates, &instance->operations, err)
                   : error_set(err, STATUS_NO_MEMORY, "convolution: out of memory");

    json_decref(candidates);
    return status;
}

/* Each runs once here, so that no compiler and no library's search runs in a timed window. */
static enum status prepare(struct convolution_instance *instance, struct error *err)
{
    enum status status = STATUS_OK;

    shape_layers(instance);
    if (instance->base.work.implementation == IMPLEMENTATION_PORTABLE)
        status = convolution_portable_create(instance->base.device, &instance->base.work,
                                             instance->operand_type, instance->result_type,
                                             &instance->portable, err);
    else
        status = create_operations(instance, err);
    for (size_t i = 0; i < instance->layer_count && status == STATUS_OK; i++) {
        status = allocate(instance, i, err);
        if (status == STATUS_OK && instance->operations)
            status = prepare_vendor(instance, i, err);
    }
    if (status == STATUS_OK)
        status = run_all(instance, err);
    if (status == STATUS_OK)
        status = device_synchronize(instance->base.device, err);
    for (size_t i = 0; i < instance->layer_count && status == STATUS_OK; i++)
        status = storage_poison(
            instance->layers[i].output, instance->result_type, 0,
            instance->layers[i].output->bytes * 8 / dtype_bits(instance->result_type), err);
    return status;
}

/* Where a library keeps no i32, its sums of int8 come as f32, and the facts say so. */
static enum status prepare_any(struct convolution_instance *instance, struct error *err)
{
    struct error refusal = ERROR_INIT;
    enum status status = prepare(instance, &refusal);

    if (status == STATUS_UNSUPPORTED &&
        instance->base.work.implementation == IMPLEMENTATION_VENDOR &&
        instance->result_type == DTYPE_I32) {
        free_layers(instance);
        instance->result_type = DTYPE_F32;
        status = prepare(instance, NULL);
    }
    if (status != STATUS_OK && err)
        *err = refusal;
    return status;
}

static enum status init(struct workload_instance *base, struct error *err)
{
    const struct workload_case *work = &base->work;
    struct convolution_instance *instance = (struct convolution_instance *)base;
    enum status status;

    if (work->implementation == IMPLEMENTATION_VENDOR &&
        !device_has_operation(base->device, OPERATION_CONVOLUTION))
        return error_set(
            err, STATUS_UNSUPPORTED,
            "%s has no vendor convolution, so no vendor implementation: `assay devices -v` lists "
            "which libraries were tried",
            base->device->info.name);
    status = convolution_lay_out(instance, err);
    return status == STATUS_OK ? prepare_any(instance, err) : status;
}

enum status convolution_iterate(struct workload_instance *base, struct error *err)
{
    struct convolution_instance *instance = (struct convolution_instance *)base;
    const enum status status = run_all(instance, err);

    if (status == STATUS_OK)
        instance->unchecked++;
    return status;
}

static size_t artifacts(struct workload_instance *base, struct module_artifact *ret,
                        size_t capacity)
{
    struct convolution_instance *instance = (struct convolution_instance *)base;

    return instance->portable ? convolution_portable_artifacts(instance->portable, ret, capacity)
                              : 0;
}

static json_t *choices(struct workload_instance *base)
{
    const struct convolution_instance *instance = (struct convolution_instance *)base;

    return json_pack("{s:o*, s:o*}", "gemm",
                     instance->portable ? convolution_portable_choices(instance->portable) : NULL,
                     "convolution",
                     instance->operations ? operations_choices(instance->operations) : NULL);
}

static json_t *facts(struct workload_instance *base)
{
    return convolution_facts((const struct convolution_instance *)base);
}

const struct workload_kind workload_convolution = {
    .name = "convolution",
    .summary = "2-D convolutions, channels last, in the vendor's library or our own text",
    .load = convolution_load,
    .cost = convolution_cost,
    .describe = convolution_describe,
    .instance_size = sizeof(struct convolution_instance),
    .init = init,
    .iterate = convolution_iterate,
    .verify = convolution_verify,
    .spot_check = convolution_spot_check,
    .tolerance = gemm_tolerance,
    .artifacts = artifacts,
    .choices = choices,
    .facts = facts,
    .handover = &convolution_handover,
    .finish = finish,
};
