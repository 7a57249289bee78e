/*
 * gpt2_precision - what a precision means for the transformer: what is stored in what, and how far
 * from the fp64 reference at the unrounded weights it may be.
 */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_PRECISION_H
#define ASSAY_WORKLOADS_MODELS_GPT2_PRECISION_H

#include <jansson.h>

#include "workloads/models/gpt2_device.h"

/*
 * Bounds of the normalised RMS error against the reference at the weights before any rounding, the
 * loss's relative to it. Each array on the way rounds once, and a uniform rounding has an RMS of
 * 0.4 of the unit roundoff u. These roundings are independent, so an output that n of them lead to
 * is off by about 0.4 u sqrt(n): the bounds are 4 times that for logits, 5 times for gradients,
 * whose path is twice as long, and fp32's own on top. The loss is a mean over tokens: what differs
 * from token to token shrinks with the root of their number, and half a u is left for what does
 * not.
 */
struct gpt2_tolerance {
    double logits, loss, gradient; /* of each tensor */
    const char *reason, *loss_reason;
};
struct gpt2_tolerance gpt2_tolerance_of(enum precision precision, enum dtype storage,
                                        const struct gpt2_shape *shape, uint64_t tokens);

/* {"parameters": "bf16", ...}: what the model keeps in what; new object. */
json_t *gpt2_recipe_json(enum precision precision, const struct gpt2_device_plan *plan);
/* The same in a sentence for people, appended. */
void gpt2_recipe_describe(enum precision precision, const struct gpt2_device_plan *plan,
                          struct text *ret);

#endif
