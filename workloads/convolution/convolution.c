#include "workloads/convolution/convolution.h"

#include <stdio.h>
#include <stdlib.h>

#include "workloads/gemm/check.h"
#include "workloads/kinds.h"
#include "workloads/storage.h"

static void free_layers(struct convolution_instance *instance)
{
    for (size_t i = 0; i < instance->layer_count && instance->layers; i++)
        gemm_arrays_free(instance->layers[i].arrays);
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

static enum status prepare_vendor(struct convolution_instance *instance, size_t index,
                                  struct error *err)
{
    const struct convolution_layer *layer = &instance->layers[index];
    const struct operation_desc desc = {.kind = OPERATION_CONVOLUTION, .convolution = layer->shape};
    const struct operand weights = {layer->arrays[GEMM_B].buffer, 0};

    TRY(gemm_advise(instance->base.device, layer->shape.precision,
                    operations_add(instance->operations, &desc, err), err));
    return operation_set_weights(instance->operations->items[index].operation, &weights, err);
}

static enum status run_all(struct convolution_instance *instance, struct error *err)
{
    if (instance->base.work.framework)
        return framework_run(instance->base.work.framework, 0, err);
    for (size_t i = 0; i < instance->layer_count; i++) {
        const struct convolution_layer *layer = &instance->layers[i];
        const union operands operands = {
            .convolution = {.input = {layer->arrays[GEMM_A].buffer, 0},
                            .output = {layer->arrays[GEMM_C].buffer, 0}}};

        TRY(instance->operations ? operations_run(instance->operations, i, &operands, err)
                                 : convolution_portable_run(instance->portable, layer, err));
    }
    return STATUS_OK;
}

static void shape_layers(struct convolution_instance *instance)
{
    const struct gemm_names names = {{"input", "weights", "output"}, instance->layer_count};

    for (size_t i = 0; i < instance->layer_count; i++) {
        struct convolution_layer *layer = &instance->layers[i];
        const struct convolution_shape shape = convolution_shape_of(
            &instance->parameters->shapes[i], instance->base.work.precision, instance->operand_type,
            instance->result_type, instance->base.work.batch);

        layer->shape = shape;
        layer->out_height = convolution_out_height(&shape);
        layer->out_width = convolution_out_width(&shape);
        layer->arrays[GEMM_A].tensor =
            gemm_tensor(&names, GEMM_A, i, shape.type, 4,
                        (const uint64_t[]){shape.batch, shape.height, shape.width, shape.channels});
        layer->arrays[GEMM_B].tensor =
            gemm_tensor(&names, GEMM_B, i, shape.type, 4,
                        (const uint64_t[]){shape.filters, shape.kernel_height, shape.kernel_width,
                                           shape.channels / shape.groups});
        layer->arrays[GEMM_C].tensor = gemm_tensor(
            &names, GEMM_C, i, shape.result_type, 4,
            (const uint64_t[]){shape.batch, layer->out_height, layer->out_width, shape.filters});
        snprintf(layer->output_exact, sizeof(layer->output_exact), "%s.unrounded",
                 layer->arrays[GEMM_C].tensor.name);
    }
}

enum status convolution_lay_out(struct workload_instance *base, struct error *err)
{
    struct convolution_instance *instance = (struct convolution_instance *)base;
    const struct workload_case *work = &base->work;
    const struct convolution_parameters *parameters = work->workload->parameters;

    instance->layers = calloc(parameters->shape_count, sizeof(*instance->layers));
    if (!instance->layers)
        return error_no_memory(err);
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
    json_auto_t *candidates = json_array();

    return candidates ? operations_create(instance->base.device, &instance->base.work,
                                          "convolution", candidates, &instance->operations, err)
                      : error_no_memory(err);
}

/* Each runs once here, so that no compiler and no library's search runs in a timed window. */
static enum status prepare(struct convolution_instance *instance, struct error *err)
{
    const struct gemm_outputs outputs = convolution_handover.outputs_of(&instance->base);
    const bool own = !instance->base.work.framework;

    shape_layers(instance);
    if (own && instance->base.work.implementation == IMPLEMENTATION_PORTABLE)
        TRY(convolution_portable_create(instance->base.device, &instance->base.work,
                                        instance->operand_type, instance->result_type,
                                        &instance->portable, err));
    else if (own)
        TRY(create_operations(instance, err));
    TRY(gemm_allocate(&outputs, err));
    if (!own)
        TRY(gemm_take_framework(&outputs, err));
    for (size_t i = 0; i < instance->layer_count && instance->operations; i++)
        TRY(prepare_vendor(instance, i, err));
    TRY(run_all(instance, err));
    TRY(device_synchronize(instance->base.device, err));
    for (size_t i = 0; i < instance->layer_count; i++)
        TRY(storage_poison_all(instance->layers[i].arrays[GEMM_C].buffer, instance->result_type,
                               err));
    return STATUS_OK;
}

/* Where a library keeps no i32, its sums of int8 come as f32, and the facts say so. */
static enum status prepare_any(struct convolution_instance *instance, struct error *err)
{
    struct error refusal = ERROR_INIT;
    enum status status = prepare(instance, &refusal);

    if (status == STATUS_UNSUPPORTED && !instance->base.work.framework &&
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

    if (!work->framework && work->implementation == IMPLEMENTATION_VENDOR &&
        !device_has_operation(base->device, OPERATION_CONVOLUTION))
        return error_set(
            err, STATUS_UNSUPPORTED,
            "%s has no vendor convolution, so no vendor implementation: `assay devices -v` lists "
            "which libraries were tried",
            base->device->info.name);
    TRY(convolution_lay_out(base, err));
    return prepare_any(instance, err);
}

enum status convolution_iterate(struct workload_instance *base, struct error *err)
{
    struct convolution_instance *instance = (struct convolution_instance *)base;

    TRY(run_all(instance, err));
    instance->unchecked++;
    return STATUS_OK;
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
    if (base->work.framework)
        return json_pack("{s:o}", "framework", workload_framework_json(&base->work));
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
    .runs_frameworks = true,
    .verify = convolution_verify,
    .spot_check = convolution_spot_check,
    .tolerance = gemm_tolerance,
    .artifacts = artifacts,
    .choices = choices,
    .facts = facts,
    .handover = &convolution_handover.hooks,
    .finish = finish,
};
