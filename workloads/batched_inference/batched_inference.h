/*
 * batched_inference - prefill: one forward pass of GPT-2 over a batch of whole sequences, giving
 * the logits of every position. An iteration takes the next batch of a small pool made beforehand,
 * uploads it and runs the model, so its time is the latency of a batch. Private to this folder.
 */
#ifndef ASSAY_WORKLOADS_BATCHED_INFERENCE_BATCHED_INFERENCE_H
#define ASSAY_WORKLOADS_BATCHED_INFERENCE_BATCHED_INFERENCE_H

#include "workloads/models/declaration.h"
#include "workloads/models/gpt2_instance.h"
#include "workloads/models/gpt2_precision.h"

#define INFERENCE_POOL 16      /* batches */
#define INFERENCE_POSITIONS 16 /* of a checked sequence: the last, and others drawn by the seed */

enum { INFERENCE_UPLOAD, INFERENCE_FORWARD, INFERENCE_STAGES };

struct inference_parameters {
    struct gpt2_task task;
    uint64_t verify_sequences;
};

struct inference_instance {
    struct gpt2_instance gpt2;
    const struct inference_parameters *parameters;
    int32_t *pool; /* INFERENCE_POOL batches of OP_TOKENS_LENGTH(rows) */
    uint64_t unique[INFERENCE_POOL];
    uint64_t iterations;
    uint64_t current; /* batch that is on the device */
    json_t *source;   /* facts of the data */
    /* Of the latest check: positions, and those where the device's first choice is the reference's
     */
    uint64_t top1_positions, top1_agreed;
};

/* Batch `index` of the pool, in the form of op_tokens. */
int32_t *inference_batch(const struct inference_instance *instance, uint64_t index);

/* One iteration, and the checks (verify.c). */
enum status inference_iterate(struct workload_instance *base, struct error *err);
enum status inference_verify(struct workload_instance *base, workload_check_fn *report,
                             void *context, struct error *err);

#endif
