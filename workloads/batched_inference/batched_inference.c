#include "workloads/batched_inference/batched_inference.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "workloads/kinds.h"

static const char *const stage_names[INFERENCE_STAGES] = {"upload", "forward"};
static const struct gpt2_stages stages = {stage_names, INFERENCE_STAGES, INFERENCE_FORWARD};

struct inference_declaration {
    struct workload_declaration common;
    struct gpt2_declaration gpt2;
    struct inference_sections sections;
};

static const struct declaration_name storage_strings[] = {
    {"fp32", DTYPE_F32},
    {"bf16", DTYPE_BF16},
    {"fp16", DTYPE_F16},
};

const struct declaration_field inference_verify_fields[] = {
    FIELD_INT("sequences", FIELD_OPTIONAL, struct inference_verify_section, sequences),
    FIELD_END,
};

const struct declaration_field inference_int8_fields[] = {
    FIELD_ENUM("storage", FIELD_OPTIONAL, struct inference_int8_section, storage, storage_strings,
               sizeof(storage_strings) / sizeof(storage_strings[0])),
    FIELD_INT("calibration_sequences", FIELD_OPTIONAL, struct inference_int8_section,
              calibration_sequences),
    FIELD_FLOAT("percentile", FIELD_OPTIONAL, struct inference_int8_section, percentile),
    FIELD_END,
};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct inference_declaration),
    GPT2_DECLARATION_FIELDS(struct inference_declaration),
    INFERENCE_FIELDS(struct inference_declaration),
    FIELD_END,
};

static const struct declaration_schema schema = {ENTRY_GROUP(struct inference_declaration, fields)};

enum status inference_check(const struct declaration *declaration,
                            const struct workload_declaration *common,
                            struct gpt2_declaration *gpt2, struct inference_sections *sections,
                            struct inference_parameters *ret, struct error *err)
{
    static const enum precision precisions[] = {PRECISION_FP32, PRECISION_TF32, PRECISION_BF16,
                                                PRECISION_FP16, PRECISION_INT8};

    if (!declaration_has(declaration, "verify.sequences"))
        sections->verify.sequences = 1;
    TRY(workload_declaration_check_count(declaration, "verify.sequences",
                                         sections->verify.sequences, 1 << 20, "sequences", err));
    TRY(workload_declaration_check_precisions(declaration, common, precisions,
                                              sizeof(precisions) / sizeof(precisions[0]), err));
    if (!declaration_has(declaration, "int8.storage"))
        sections->int8.storage = DTYPE_BF16;
    if (!declaration_has(declaration, "int8.calibration_sequences"))
        sections->int8.calibration_sequences = 8;
    if (!declaration_has(declaration, "int8.percentile"))
        sections->int8.percentile = 99.99;
    if (!(sections->int8.percentile > 50.0 && sections->int8.percentile <= 100.0))
        return declaration_error(declaration, "int8.percentile", err,
                                 "`int8.percentile` is %g; write a number above 50 up to 100 (the "
                                 "largest), such as 99.99",
                                 sections->int8.percentile);
    TRY(workload_declaration_check_count(declaration, "int8.calibration_sequences",
                                         sections->int8.calibration_sequences, 1 << 20, "sequences",
                                         err));
    ret->verify_sequences = (uint64_t)sections->verify.sequences;
    ret->int8_storage = sections->int8.storage;
    ret->calibration_sequences = (uint64_t)sections->int8.calibration_sequences;
    ret->percentile = sections->int8.percentile;
    return gpt2_declaration_check(declaration, gpt2, &ret->task, err);
}

static enum status check(const struct declaration *declaration, struct workload *workload,
                         struct error *err)
{
    struct inference_declaration *data = declaration->data;
    AUTO_FREE struct inference_parameters *parameters = calloc(1, sizeof(*parameters));

    if (!parameters)
        return error_no_memory(err);
    TRY(inference_check(declaration, &data->common, &data->gpt2, &data->sections, parameters, err));
    workload->parameters = parameters;
    parameters = NULL;
    return STATUS_OK;
}

static const struct workload_form form = {&schema, check};

struct gpt2_device_plan inference_plan(const struct workload_case *work)
{
    const struct inference_parameters *parameters = work->workload->parameters;
    const bool int8 = work->precision == PRECISION_INT8;

    return (struct gpt2_device_plan){
        .shape = parameters->task.shape,
        .sequences = (uint64_t)work->batch,
        .length = parameters->task.length,
        .training = false,
        .storage = int8 ? parameters->int8_storage : precision_dtype(work->precision),
        .quantised = int8,
    };
}

static enum status cost(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err)
{
    const struct gpt2_device_plan plan = inference_plan(work);

    TRY(gpt2_cost(work, &plan, 1, ret, err));
    ret->flops_formula = "sum of 2*m*n*k over the forward pass's GEMMs; causal scores "
                         "and values count T(T+1)/2 pairs a head; logits of every position";
    return STATUS_OK;
}

static void describe(const struct workload *workload, struct text *ret)
{
    const struct inference_parameters *parameters = workload->parameters;

    gpt2_task_describe(&parameters->task, ret);
    text_append_format(ret,
                       "task: prefill, logits of every position; a sample is one batch's latency\n"
                       "verified: logits of %d positions in at most %llu sequences of a batch\n",
                       INFERENCE_POSITIONS, (unsigned long long)parameters->verify_sequences);
    gpt2_recipes_describe(workload, inference_plan, ret);
    for (size_t i = 0; i < workload->precision_count; i++)
        if (workload->precisions[i] == PRECISION_INT8)
            text_append_format(ret,
                               "int8 calibration: percentile %g of the absolute inputs of each "
                               "product, in fp32, the largest of %llu sequences\n",
                               parameters->percentile,
                               (unsigned long long)parameters->calibration_sequences);
}

void inference_finish(struct inference_instance *instance)
{
    token_source_destroy(instance->source);
    free(instance->weights);
    free(instance->inputs);
    free(instance->input_scales);
    free(instance->weight_noise);
    free(instance->pool);
}

static void finish(struct workload_instance *base)
{
    struct inference_instance *instance = (struct inference_instance *)base;

    gpt2_instance_finish(&instance->gpt2);
    inference_finish(instance);
}

int32_t *inference_batch(const struct inference_instance *instance, uint64_t index)
{
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;

    return instance->pool + index * OP_TOKENS_LENGTH(plan->sequences * plan->length);
}

static enum status fill_pool(struct inference_instance *instance, struct error *err)
{
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;

    TRY(gpt2_task_open_source(&instance->parameters->task, instance->gpt2.base.work.seed,
                              &instance->source, err));
    instance->pool = calloc(INFERENCE_POOL * OP_TOKENS_LENGTH(plan->sequences * plan->length),
                            sizeof(*instance->pool));
    if (!instance->pool)
        return error_no_memory(err);
    for (uint64_t i = 0; i < INFERENCE_POOL; i++)
        TRY(gpt2_make_batch(instance->source, i * plan->sequences, plan->sequences, plan->length,
                            inference_batch(instance, i), &instance->unique[i], err));
    return STATUS_OK;
}

enum status inference_make(struct inference_instance *instance, struct gpt2_device_plan *plan,
                           struct error *err)
{
    struct gpt2_instance *gpt2 = &instance->gpt2;
    const struct workload_case *work = &gpt2->base.work;

    plan->bare = work->framework != NULL;
    if (!plan->bare)
        TRY(ops_create(gpt2->base.device, work, plan->storage, plan->shape.width, &gpt2->ops, err));
    if (plan->quantised)
        TRY(inference_calibrate(instance, err));
    if (!plan->bare)
        TRY(gpt2_device_fuse(plan, gpt2->ops, err));
    plan->input_scales = instance->input_scales;
    return gpt2_device_create(plan, gpt2->ops, gpt2->base.device, work->seed, &gpt2->model, err);
}

static enum status init(struct workload_instance *base, struct error *err)
{
    struct inference_instance *instance = (struct inference_instance *)base;
    struct gpt2_device_plan plan = inference_plan(&base->work);

    gpt2_instance_init(&instance->gpt2, &stages);
    instance->parameters = base->work.workload->parameters;
    TRY(inference_make(instance, &plan, err));
    if (plan.bare)
        TRY(inference_take_framework(instance, err));
    TRY(fill_pool(instance, err));
    return gpt2_instance_add_events(&instance->gpt2, err);
}

enum status inference_run(struct inference_instance *instance, const int32_t *indices,
                          uint64_t unique, struct error *err)
{
    struct gpt2_instance *gpt2 = &instance->gpt2;
    const int64_t start_ns = clock_monotonic_ns();

    TRY(gpt2_device_set_batch(gpt2->model, indices, gpt2->model->plan.sequences, unique, err));
    gpt2->host_ns[INFERENCE_UPLOAD] = clock_monotonic_ns() - start_ns;
    TRY(gpt2_instance_mark(gpt2, INFERENCE_UPLOAD, err));
    TRY(gpt2->model->plan.bare ? framework_run(gpt2->base.work.framework, 0, err)
                               : gpt2_device_forward(gpt2->model, 0, err));
    return gpt2_instance_mark(gpt2, INFERENCE_FORWARD, err);
}

static enum status inference_iterate(struct workload_instance *base, struct error *err)
{
    struct inference_instance *instance = (struct inference_instance *)base;

    instance->current = instance->iterations % INFERENCE_POOL;
    TRY(inference_run(instance, inference_batch(instance, instance->current),
                      instance->unique[instance->current], err));
    instance->iterations++;
    base->unchecked++;
    return STATUS_OK;
}

/* The shape is fixed: a batch that is not full takes as long as a full one. */
static enum status serve(struct workload_instance *base, const struct workload_step *step,
                         struct error *err)
{
    (void)step;
    return check_iterate(base, err);
}

json_t *inference_facts(struct workload_instance *base)
{
    const struct inference_instance *instance = (struct inference_instance *)base;
    json_t *ret = gpt2_instance_facts(base);

    if (!ret)
        return NULL;
    if (base->work.framework)
        json_object_set_new(ret, "framework", workload_framework_json(&base->work));
    else
        json_object_set_new(ret, "recipe",
                            gpt2_recipe_json(base->work.precision, &instance->gpt2.model->plan));
    if (instance->inputs)
        json_object_set_new(ret, "int8", inference_int8_json(instance));
    json_object_set_new(ret, "data", gpt2_source_json(instance->source));
    if (instance->top1_positions > 0)
        json_object_set_new(
            ret, "top1",
            json_pack("{s:I, s:I, s:f}", "positions", (json_int_t)instance->top1_positions,
                      "agreed", (json_int_t)instance->top1_agreed, "agreement",
                      (double)instance->top1_agreed / (double)instance->top1_positions));
    return ret;
}

static json_t *facts(struct workload_instance *base)
{
    json_t *ret = inference_facts(base);

    if (ret)
        json_object_set_new(ret, "batches_in_pool", json_integer(INFERENCE_POOL));
    return ret;
}

static struct buffer *result(struct workload_instance *base)
{
    return ((struct inference_instance *)base)->gpt2.model->buffers[GPT2_LOGITS];
}

const struct workload_kind workload_batched_inference = {
    .name = "batched_inference",
    .summary = "prefill of GPT-2 over a batch of sequences",
    .form = &form,
    .unload = gpt2_task_unload,
    .cost = cost,
    .describe = describe,
    .instance_size = sizeof(struct inference_instance),
    .init = init,
    .iterate = inference_iterate,
    .result = result,
    .serve = serve,
    .runs_frameworks = true,
    .stages = gpt2_instance_stages,
    .checks = &inference_checks,
    .artifacts = gpt2_instance_artifacts,
    .choices = gpt2_instance_choices,
    .facts = facts,
    .handover = &inference_handover,
    .finish = finish,
};
