#include "workloads/training_step/training_step.h"
#include "harness/core/cleanup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS_MAX 1000000000

struct optimizer_section {
    double learning_rate, beta1, beta2, epsilon, weight_decay;
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

#define OPTIMIZER_FIELD(name) FIELD_FLOAT(#name, FIELD_OPTIONAL, struct optimizer_section, name)

static const struct declaration_field optimizer_fields[] = {
    OPTIMIZER_FIELD(learning_rate),
    OPTIMIZER_FIELD(beta1),
    OPTIMIZER_FIELD(beta2),
    OPTIMIZER_FIELD(epsilon),
    OPTIMIZER_FIELD(weight_decay),
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

/* Writes the default where the declaration is silent, and checks the range [low, high]. */
struct real_check {
    const char *path;
    double *value, fallback, low, high;
    const char *advice;
};

static enum status check_reals(const struct declaration *declaration,
                               struct training_declaration *data, struct error *err)
{
    const struct real_check checks[] = {
        {"optimizer.learning_rate", &data->optimizer.learning_rate, 1e-3, 0.0, 10.0,
         "a rate from 0 to 10, such as 0.001"},
        {"optimizer.beta1", &data->optimizer.beta1, 0.9, 0.0, 0.9999, "0 to 0.9999, such as 0.9"},
        {"optimizer.beta2", &data->optimizer.beta2, 0.95, 0.0, 0.99999,
         "0 to 0.99999, such as 0.95"},
        {"optimizer.epsilon", &data->optimizer.epsilon, 1e-8, 1e-30, 1.0,
         "a small number above 0, such as 1e-8"},
        {"optimizer.weight_decay", &data->optimizer.weight_decay, 0.1, 0.0, 1.0,
         "0 to 1, such as 0.1"},
        {"verify.loss_margin", &data->verify.loss_margin, 0.01, 0.0, 0.99,
         "the part of its first value by which the loss must fall, 0 to 0.99"},
        {"loss_scaling.initial", &data->loss_scaling.initial, 65536.0, 1.0, 16777216.0,
         "a power of two from 1 to 16777216, such as 65536"},
    };

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (!declaration_has(declaration, checks[i].path))
            *checks[i].value = checks[i].fallback;
        if (!(*checks[i].value >= checks[i].low && *checks[i].value <= checks[i].high))
            return declaration_error(declaration, checks[i].path, err, "`%s` is %g; write %s",
                                     checks[i].path, *checks[i].value, checks[i].advice);
    }
    return STATUS_OK;
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
    TRY(gpt2_declaration_check_precisions(declaration, &data->common, precisions,
                                          sizeof(precisions) / sizeof(precisions[0]), err));
    TRY(check_reals(declaration, data, err));
    TRY(check_counts(declaration, data, err));
    TRY(gpt2_declaration_check(declaration, &data->gpt2, &parameters->task, err));
    parameters->adamw =
        (struct adamw){data->optimizer.learning_rate, data->optimizer.beta1, data->optimizer.beta2,
                       data->optimizer.epsilon, data->optimizer.weight_decay};
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
