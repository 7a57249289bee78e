#include "workloads/training_step/training_step.h"
#include "harness/core/cleanup.h"

#include <math.h>
#include <stdlib.h>

#define STEPS_MAX 1000000000

struct optimizer_section {
    struct adamw adamw;
    int64_t warmup_steps;
};

struct verify_section {
    int64_t sequences, loss_steps, fp32_steps;
    double loss_margin;
};

struct loss_scaling_section {
    double initial;
    int64_t growth_interval;
};

struct training_declaration {
    struct workload_declaration common;
    struct gpt2_declaration gpt2;
    struct optimizer_section optimizer;
    struct loss_scaling_section loss_scaling;
    struct verify_section verify;
};

static const struct declaration_field optimizer_fields[] = {
    ADAMW_DECLARATION_FIELDS(struct optimizer_section, adamw),
    FIELD_INT("warmup_steps", FIELD_OPTIONAL, struct optimizer_section, warmup_steps),
    FIELD_END,
};

static const struct declaration_field verify_fields[] = {
    FIELD_INT("sequences", FIELD_OPTIONAL, struct verify_section, sequences),
    FIELD_INT("loss_steps", FIELD_OPTIONAL, struct verify_section, loss_steps),
    FIELD_INT("fp32_steps", FIELD_OPTIONAL, struct verify_section, fp32_steps),
    FIELD_FLOAT("loss_margin", FIELD_OPTIONAL, struct verify_section, loss_margin),
    FIELD_END,
};

static const struct declaration_field loss_scaling_fields[] = {
    FIELD_FLOAT("initial", FIELD_OPTIONAL, struct loss_scaling_section, initial),
    FIELD_INT("growth_interval", FIELD_OPTIONAL, struct loss_scaling_section, growth_interval),
    FIELD_END,
};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct training_declaration),
    GPT2_DECLARATION_FIELDS(struct training_declaration),
    FIELD_GROUP("optimizer", FIELD_OPTIONAL, struct training_declaration, optimizer,
                optimizer_fields),
    FIELD_GROUP("loss_scaling", FIELD_OPTIONAL, struct training_declaration, loss_scaling,
                loss_scaling_fields),
    FIELD_GROUP("verify", FIELD_OPTIONAL, struct training_declaration, verify, verify_fields),
    FIELD_END,
};

static const struct declaration_schema schema = {ENTRY_GROUP(struct training_declaration, fields)};

static enum status check_reals(const struct declaration *declaration,
                               struct training_declaration *data, struct error *err)
{
    const struct real_check margin = {
        "loss_margin", &data->verify.loss_margin,
        0.01,          0.0,
        0.99,          "the part of its first value by which the loss must fall, 0 to 0.99"};
    const struct real_check scale = {
        "initial",  &data->loss_scaling.initial,
        65536.0,    1.0,
        16777216.0, "a power of two from 1 to 16777216, such as 65536"};

    TRY(adamw_declaration_check(declaration, "optimizer", &data->optimizer.adamw, err));
    TRY(real_checks(declaration, "verify", &margin, 1, err));
    return real_checks(declaration, "loss_scaling", &scale, 1, err);
}

static enum status check_counts(const struct declaration *declaration,
                                struct training_declaration *data, struct error *err)
{
    int exponent;

    if (!declaration_has(declaration, "verify.sequences"))
        data->verify.sequences = 1;
    if (!declaration_has(declaration, "verify.loss_steps"))
        data->verify.loss_steps = 50;
    if (!declaration_has(declaration, "verify.fp32_steps"))
        data->verify.fp32_steps = 16;
    if (!declaration_has(declaration, "loss_scaling.growth_interval"))
        data->loss_scaling.growth_interval = 2000;
    if (data->verify.fp32_steps < 0 || data->verify.fp32_steps > LOSS_HEAD)
        return declaration_error(declaration, "verify.fp32_steps", err,
                                 "`verify.fp32_steps` is %lld; write 0 (none) to %d",
                                 (long long)data->verify.fp32_steps, LOSS_HEAD);
    if (frexp(data->loss_scaling.initial, &exponent) != 0.5)
        return declaration_error(declaration, "loss_scaling.initial", err,
                                 "`loss_scaling.initial` is %g; write a power of two, so that "
                                 "scaling rounds nothing",
                                 data->loss_scaling.initial);
    if (data->optimizer.warmup_steps < 0 || data->optimizer.warmup_steps > STEPS_MAX)
        return declaration_error(declaration, "optimizer.warmup_steps", err,
                                 "`warmup_steps` is %lld; write 0 (none) to %d",
                                 (long long)data->optimizer.warmup_steps, STEPS_MAX);
    TRY(workload_declaration_check_count(declaration, "verify.sequences", data->verify.sequences,
                                         STEPS_MAX, "sequences", err));
    TRY(workload_declaration_check_count(declaration, "verify.loss_steps", data->verify.loss_steps,
                                         STEPS_MAX, "steps", err));
    return workload_declaration_check_count(declaration, "loss_scaling.growth_interval",
                                            data->loss_scaling.growth_interval, STEPS_MAX, "steps",
                                            err);
}

static const enum precision precisions[] = {PRECISION_FP32, PRECISION_TF32, PRECISION_BF16,
                                            PRECISION_FP16};

static enum status check(const struct declaration *declaration, struct workload *workload,
                         struct error *err)
{
    struct training_declaration *data = declaration->data;
    AUTO_FREE struct training_parameters *parameters = calloc(1, sizeof(*parameters));

    if (!parameters)
        return error_no_memory(err);
    TRY(workload_declaration_check_precisions(declaration, &data->common, precisions,
                                              sizeof(precisions) / sizeof(precisions[0]), err));
    TRY(check_reals(declaration, data, err));
    TRY(check_counts(declaration, data, err));
    TRY(gpt2_declaration_check(declaration, &data->gpt2, &parameters->task, err));
    parameters->adamw = data->optimizer.adamw;
    parameters->warmup_steps = (uint64_t)data->optimizer.warmup_steps;
    parameters->verify_sequences = (uint64_t)data->verify.sequences;
    parameters->loss_steps = (uint64_t)data->verify.loss_steps;
    parameters->loss_margin = data->verify.loss_margin;
    parameters->fp32_steps = (uint64_t)data->verify.fp32_steps;
    parameters->scale = data->loss_scaling.initial;
    parameters->scale_interval = (uint32_t)data->loss_scaling.growth_interval;
    workload->parameters = parameters;
    parameters = NULL;
    return STATUS_OK;
}

const struct workload_form training_form = {&schema, check};
