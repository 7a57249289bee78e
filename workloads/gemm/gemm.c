#include "workloads/gemm/gemm.h"

#include <stdio.h>
#include <stdlib.h>

#include "workloads/gemm/check.h"
#include "workloads/kinds.h"
#include "workloads/data/element.h"
#include "workloads/storage.h"

static void free_layers(struct gemm_instance *instance)
{
    for (size_t i = 0; i < instance->layer_count && instance->layers; i++)
        gemm_arrays_free(instance->layers[i].arrays);
}

static void finish(struct workload_instance *base)
{
    struct gemm_instance *instance = (struct gemm_instance *)base;

    gemms_destroy(instance->gemms);
    free_layers(instance);
    free(instance->layers);
}

static enum status run_layer(struct gemm_instance *instance, const struct gemm_layer *layer,
                             struct error *err)
{
    const bool transposed = instance->parameters->weights == GEMM_TRANSPOSED;
    const struct op_gemm gemm = {
        .m = layer->m,
        .n = layer->n,
        .k = layer->k,
        .a = {.at = {layer->arrays[GEMM_A].buffer, 0},
              .type = instance->operand_type,
              .stride = layer->k},
        .b = {.at = {layer->arrays[GEMM_B].buffer, 0},
              .type = instance->operand_type,
              .stride = transposed ? layer->k : layer->n,
              .transpose = transposed},
        .c = {.at = {layer->arrays[GEMM_C].buffer, 0},
              .type = instance->result_type,
              .stride = layer->n},
    };

    return gemms_run(instance->gemms, &gemm, err);
}

static enum status run_all(struct gemm_instance *instance, struct error *err)
{
    if (instance->base.work.framework)
        return framework_run(instance->base.work.framework, 0, err);
    for (size_t i = 0; i < instance->layer_count; i++)
        TRY(run_layer(instance, &instance->layers[i], err));
    return STATUS_OK;
}

static void shape_layers(struct gemm_instance *instance)
{
    const bool plain = instance->parameters->weights == GEMM_PLAIN;
    const struct gemm_names names = {{"a", "b", "c"}, instance->layer_count};

    for (size_t i = 0; i < instance->layer_count; i++) {
        struct gemm_layer *layer = &instance->layers[i];
        const struct gemm_size *size = &instance->parameters->shapes[i];
        const uint64_t m = (uint64_t)size->m * (uint64_t)instance->base.work.batch;
        const uint64_t n = (uint64_t)size->n, k = (uint64_t)size->k;
        const enum dtype type = instance->operand_type;

        layer->m = m;
        layer->n = n;
        layer->k = k;
        layer->arrays[GEMM_A].tensor =
            gemm_tensor(&names, GEMM_A, i, type, 2, (const uint64_t[]){m, k});
        layer->arrays[GEMM_B].tensor = gemm_tensor(
            &names, GEMM_B, i, type, 2, (const uint64_t[]){plain ? k : n, plain ? n : k});
        layer->arrays[GEMM_C].tensor =
            gemm_tensor(&names, GEMM_C, i, instance->result_type, 2, (const uint64_t[]){m, n});
        snprintf(layer->output_exact, sizeof(layer->output_exact), "%s.unrounded",
                 layer->arrays[GEMM_C].tensor.name);
    }
}

/* Everything that a GEMM needs is prepared here: each runs once, and then none may be new. */
static enum status prepare(struct gemm_instance *instance, struct error *err)
{
    const struct gemm_outputs outputs = gemm_handover.outputs_of(&instance->base);

    shape_layers(instance);
    TRY(gemm_allocate(&outputs, err));
    if (instance->base.work.framework)
        TRY(gemm_take_framework(&outputs, err));
    TRY(run_all(instance, err));
    TRY(device_synchronize(instance->base.device, err));
    for (size_t i = 0; i < instance->layer_count; i++)
        TRY(storage_poison_all(instance->layers[i].arrays[GEMM_C].buffer, instance->result_type,
                               err));
    return STATUS_OK;
}

/* AMD's fp8 before CDNA 4 is another type of the same precision: where OCP's is refused, it is
 * next. */
static enum dtype other_type(enum dtype type)
{
    return type == DTYPE_E4M3   ? DTYPE_E4M3_FNUZ
           : type == DTYPE_E5M2 ? DTYPE_E5M2_FNUZ
                                : DTYPE_COUNT;
}

static enum status prepare_any(struct gemm_instance *instance, struct error *err)
{
    const enum dtype other = other_type(instance->operand_type);
    struct error refusal = ERROR_INIT;
    enum status status = prepare(instance, &refusal);

    if (status == STATUS_UNSUPPORTED && other != DTYPE_COUNT &&
        instance->base.work.implementation == IMPLEMENTATION_VENDOR) {
        const enum dtype first = instance->operand_type;

        free_layers(instance);
        instance->operand_type = other;
        status = prepare(instance, NULL);
        if (status != STATUS_OK)
            instance->operand_type = first;
    }
    if (status != STATUS_OK && err)
        *err = refusal;
    return status;
}

enum status gemm_lay_out(struct workload_instance *base, struct error *err)
{
    struct gemm_instance *instance = (struct gemm_instance *)base;
    const struct workload_case *work = &base->work;
    const struct gemm_parameters *parameters = work->workload->parameters;

    instance->parameters = parameters;
    instance->operand_type = precision_dtype(work->precision);
    instance->result_type = gemm_result_type(parameters, work->precision);
    instance->layers = calloc(parameters->shape_count, sizeof(*instance->layers));
    if (!instance->layers)
        return error_no_memory(err);
    instance->layer_count = parameters->shape_count;
    shape_layers(instance);
    return STATUS_OK;
}

static enum status init(struct workload_instance *base, struct error *err)
{
    const struct workload_case *work = &base->work;
    struct gemm_instance *instance = (struct gemm_instance *)base;

    TRY(gemm_lay_out(base, err));
    if (work->framework)
        return prepare(instance, err);
    TRY(gemms_create(base->device, work, &instance->gemms, err));
    TRY(prepare_any(instance, err));
    gemms_seal(instance->gemms);
    return STATUS_OK;
}

enum status gemm_iterate(struct workload_instance *base, struct error *err)
{
    struct gemm_instance *instance = (struct gemm_instance *)base;

    TRY(run_all(instance, err));
    instance->unchecked++;
    return STATUS_OK;
}

static size_t artifacts(struct workload_instance *base, struct module_artifact *ret,
                        size_t capacity)
{
    struct gemms *gemms = ((struct gemm_instance *)base)->gemms;

    return gemms ? gemms_artifacts(gemms, ret, capacity) : 0;
}

static json_t *choices(struct workload_instance *base)
{
    const struct gemms *gemms = ((struct gemm_instance *)base)->gemms;

    return json_pack("{s:o*}", "gemm", gemms ? gemms_choices(gemms) : NULL);
}

static json_t *facts(struct workload_instance *base)
{
    if (base->work.framework)
        return json_pack("{s:o}", "framework", workload_framework_json(&base->work));
    return gemms_facts(((struct gemm_instance *)base)->gemms);
}

const struct workload_kind workload_gemm = {
    .name = "gemm",
    .summary = "GEMMs of a linear layer's kind, in the vendor's library or our own text",
    .load = gemm_load,
    .cost = gemm_cost,
    .describe = gemm_describe,
    .instance_size = sizeof(struct gemm_instance),
    .init = init,
    .iterate = gemm_iterate,
    .runs_frameworks = true,
    .verify = gemm_verify,
    .spot_check = gemm_spot_check,
    .tolerance = gemm_tolerance,
    .artifacts = artifacts,
    .choices = choices,
    .facts = facts,
    .handover = &gemm_handover.hooks,
    .finish = finish,
};
