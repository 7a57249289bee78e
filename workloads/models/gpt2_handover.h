/* gpt2_handover - what another program takes to run or train the model: weights and tokens. */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_HANDOVER_H
#define ASSAY_WORKLOADS_MODELS_GPT2_HANDOVER_H

#include "workloads/models/declaration.h"
#include "workloads/models/gpt2_device.h"

#define GPT2_HANDOVER_POOL 16 /* batches */

/*
 * The pool's tokens, and the targets unless NULL: (GPT2_HANDOVER_POOL, sequences, length). `secret`
 * draws other ones.
 */
enum status gpt2_handover_tokens(const struct gpt2_task *task, const struct gpt2_device_plan *plan,
                                 uint64_t seed, const uint64_t *secret, int32_t *tokens,
                                 int32_t *targets, struct error *err);
/* A file of `tokens`, with `targets` of a plan that trains, and without `secret` the weights.
 * UNSUPPORTED: the plan is quantised. */
enum status gpt2_handover_write(const struct gpt2_task *task, const struct gpt2_device_plan *plan,
                                uint64_t seed, const uint64_t *secret, const char *path,
                                struct error *err);
/* Its name and shape as a tensor of a file; `prefix` before the name. */
struct tensor gpt2_handover_tensor(const struct gpt2_tensor *tensor, const char *prefix);

#endif
