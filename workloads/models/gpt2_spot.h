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

/* Of a pass over a batch of the plan's size, or of the step that is set: for session_poison. */
struct session_spot gpt2_spot_of(const struct gpt2_device *model, struct random *random);

/*
 * "norm.statistics": mean and reciprocal deviation of drawn rows of the layer norms whose inputs
 * are still there (all when training, else the last), against those of the very rows in fp64. As
 * errors of single numbers in f32 they show a missing epsilon, which is lost in the roundings
 * of the outputs. Nothing in a quantised model, which does not keep them.
 */
enum status gpt2_check_norms(const struct gpt2_device *model, struct random *random,
                             struct check_sink *sink, struct error *err);

#endif
