/*
 * gpt2_spot - what the spot checks of both kinds have in common: NaN where a pass is going to
 * write, how much of the reference is cheap, statistics of layer norms.
 */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_SPOT_H
#define ASSAY_WORKLOADS_MODELS_GPT2_SPOT_H

#include "harness/core/random.h"
#include "workloads/check/compare.h"
#include "workloads/models/gpt2_device.h"

/*
 * Multiply-adds of the reference in one spot check: some 50 ms of two cores, whatever the model.
 */
#define GPT2_SPOT_WORK ((uint64_t)1 << 27)
#define GPT2_SPOT_PREFIX 32 /* positions at most */

/*
 * Positions of a sequence whose logits the reference of a spot check makes: the model is causal, so
 * the first ones depend on nothing behind them. At most GPT2_SPOT_PREFIX, as many as GPT2_SPOT_WORK
 * allows, but 2 at least; never more than `length`.
 */
uint64_t gpt2_spot_prefix(const struct gpt2_shape *shape, uint64_t length);

/* storage_poison of elements of a buffer of the model. */
enum status gpt2_poison(const struct gpt2_device *model, enum gpt2_buffer buffer, uint64_t offset,
                        uint64_t count, struct error *err);

/*
 * session_poison of a pass over a batch of the plan's size, or of the step that is set, in all
 * passes until gpt2_spot_end, which CLEANUP calls of a pointer to the model. It does not write to
 * gradients of parameters and mean losses: the caller knows which parts a step writes. Blocks. The
 * random numbers must last as long.
 */
enum status gpt2_spot_begin(struct gpt2_device *model, struct random *random, struct error *err);
void gpt2_spot_end(struct gpt2_device **model);

/*
 * "norm.statistics": mean and reciprocal deviation of drawn rows of the layer norms whose inputs
 * are still there (all when training, else the last), against those of the very rows in fp64. As
 * errors of single numbers in f32 they show a missing epsilon, which is lost in the roundings
 * of the outputs. Nothing in a quantised model, which does not keep them.
 */
enum status gpt2_check_norms(const struct gpt2_device *model, struct random *random,
                             struct check_sink *sink, struct error *err);

#endif
