/*
 * training_step - one step of training GPT-2: forward, backward, AdamW. Private to this folder.
 *
 * Each iteration trains on a fresh batch, so parameters evolve through warmup and window as in real
 * training. The learning rate rises linearly over `warmup_steps` steps and then stays.
 */
#ifndef ASSAY_WORKLOADS_TRAINING_STEP_TRAINING_STEP_H
#define ASSAY_WORKLOADS_TRAINING_STEP_TRAINING_STEP_H

#include "harness/core/random.h"
#include "workloads/check/frame.h"
#include "workloads/models/declaration.h"
#include "workloads/models/gpt2_instance.h"
#include "workloads/models/gpt2_precision.h"

struct training_parameters {
    struct gpt2_task task;
    struct adamw adamw;
    uint64_t warmup_steps;
    uint64_t verify_sequences; /* at most this many of a batch are checked */
    uint64_t loss_steps;       /* the loss must have fallen after this many */
    double loss_margin;        /* by this part of its first value */
    uint64_t fp32_steps;       /* of which the losses in fp32 are known; at most LOSS_HEAD */
    double scale;              /* the loss scale that fp16 begins with */
    uint32_t scale_interval;   /* good steps before it doubles */
};

enum { STAGE_DATA, STAGE_UPLOAD, STAGE_FORWARD, STAGE_BACKWARD, STAGE_OPTIMIZER, STAGES };

#define LOSS_HEAD 64             /* first steps, whose losses are never overwritten */
#define LOSS_AVERAGED 8          /* losses at either end that are averaged */
#define TRAINING_BACKOFFS_MAX 24 /* from the largest loss scale to 1 */

/* What a step was trained on. */
struct training_batch {
    uint64_t first_sequence, sequences; /* of the source */
};

struct training_instance {
    struct gpt2_instance gpt2;
    const struct training_parameters *parameters;
    struct token_source *source;
    int32_t *indices; /* the batch, OP_TOKENS_LENGTH(rows) */
    uint64_t unique;
    /* The batch after it, made while the device is busy with this one. */
    struct training_ahead {
        int32_t *indices;
        uint64_t first_sequence, unique;
        int64_t made_ns; /* time it took; -1: there is none */
    } ahead;
    uint64_t sequences;                       /* of a batch */
    uint64_t next_sequence;                   /* of the source */
    uint64_t steps;                           /* done, skipped ones counted */
    struct training_batch history[LOSS_HEAD]; /* of the first steps */
    /* The same model in fp32: what its first steps were trained on, and their losses. */
    struct training_batch fp32_history[LOSS_HEAD];
    float fp32_losses[LOSS_HEAD];
    uint64_t fp32_steps;
    char *fp32_missing; /* why there are none; heap */
};

/* declare.c */
extern const struct workload_form training_form;

/* Where the loss of step `step` (from 0) lies in the ring. */
uint64_t training_loss_slot(uint64_t step);
/* The rate of step `step`, from 1. */
struct adamw training_adamw(const struct training_parameters *parameters, uint64_t step);
/* Makes the batch after the current one, unless it is there. */
enum status training_look_ahead(struct training_instance *instance, struct error *err);
/* Makes the next batch of `sequences` and uploads it. */
enum status training_next_batch(struct training_instance *instance, struct error *err);
/* Notes that the step was done, on what. */
void training_count_step(struct training_instance *instance, uint64_t first_sequence,
                         uint64_t sequences);
struct gpt2_device_plan training_plan(const struct workload_case *work);

/* fp32.c */
/*
 * Trains the same model in fp32, with the same data and rates, for the declared number of steps and
 * keeps the losses; then frees it. What keeps it from running (not enough memory even for it alone)
 * is noted, not an error. Before the instance's own model is made.
 */
enum status training_run_fp32(struct training_instance *instance, struct error *err);
/* How many of the first steps were trained on the same data in both. */
uint64_t training_fp32_comparable(const struct training_instance *instance);

/* checks.c */
extern const struct workload_checks training_checks;
#define TRAINING_GRADIENTS "grad."
/* Passes that have run, over what, at which weights, which lie as gpt2.h says. */
struct training_passes {
    struct trained_passes of;
    const int32_t *tokens, *targets;
    uint64_t sequences;
    const float *weights;
};
/* "loss", "grad.TENSOR" and "grad.blocks" against the reference's. */
enum status training_check_passes(const struct workload_case *work,
                                  const struct training_passes *passes, struct check_sink *sink,
                                  struct error *err);

/* handover.c */
extern const struct workload_handover training_handover;

/* ends.c: the two ends of the backward pass */
/*
 * "grad.logits": each row of them adds up to 0, and has the size of a softmax's. "grad.embedding":
 * gradients of the embeddings of all tokens of a batch (`indices`, in the form of op_tokens) and of
 * drawn positions, in drawn columns, against sums in fp64 of what the device added up: the logits'
 * gradients times the head's inputs, and the residual stream's gradients. All of them are still on
 * the device after a backward pass. No rounding on the way there counts, so the bounds are narrow.
 * `inverse` takes the loss scale out of the gradients.
 */
enum status training_check_ends(struct training_instance *instance, const int32_t *indices,
                                double inverse, struct random *random, struct check_sink *sink,
                                struct error *err);

/* loss.c */
/* Losses against those in fp32, over the first `steps`; up to the first skipped one. */
struct training_difference {
    uint64_t steps, at;        /* how many were compared; where the largest difference is */
    double relative, absolute; /* the largest, of fp32's loss and in nats */
    double moved;              /* largest less smallest of fp32's losses, of the smallest */
};
enum status training_fp32_difference(struct training_instance *instance,
                                     struct training_difference *ret, struct error *err);
/*
 * Downloads losses. `ret_first` and `ret_last` are means over LOSS_AVERAGED steps at the two ends
 * (fewer when there are fewer).
 */
enum status training_loss_ends(struct training_instance *instance, double *ret_first,
                               double *ret_last, struct error *err);
/* The losses of the first steps, at most LOSS_HEAD, and how many; those never overwritten. */
enum status training_loss_head(struct training_instance *instance, float ret[LOSS_HEAD],
                               size_t *ret_count, struct error *err);
/*
 * {"steps", "first_nats", "last_nats", "curve": [[step, loss] ...], "fp32": {"steps", "curve",
 * "largest_difference_nats"}}; new object, NULL on failure.
 */
json_t *training_loss_json(struct training_instance *instance);

#endif
