/* gpt2_precision - what a precision means for the transformer. */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_PRECISION_H
#define ASSAY_WORKLOADS_MODELS_GPT2_PRECISION_H

#include <jansson.h>

#include "workloads/models/gpt2_device.h"

/* stack_tolerance_of the model; `tokens` are those of the loss. */
struct stack_tolerance gpt2_tolerance_of(enum precision precision, enum dtype storage,
                                         const struct gpt2_shape *shape, uint64_t tokens);

/* {"parameters": "bf16", ...}: what the model keeps in what; new object. */
json_t *gpt2_recipe_json(enum precision precision, const struct gpt2_device_plan *plan);
/* The same for people, a line for each precision of a workload whose cases have those plans. */
void gpt2_recipes_describe(const struct workload *workload,
                           struct gpt2_device_plan (*plan_of)(const struct workload_case *work),
                           struct text *ret);

#endif
