/*
 * training_step - one step of training GPT-2: forward, backward, AdamW. Private to this folder.
 *
 * Each iteration trains on a fresh batch, so parameters evolve through warmup and window as in real
 * training. The learning rate rises linearly over `warmup_steps` steps and then stays.
 */
#ifndef ASSAY_WORKLOADS_TRAINING_STEP_TRAINING_STEP_H
#define ASSAY_WORKLOADS_TRAINING_STEP_TRAINING_STEP_H

#include "workloads/models/declaration.h"
#include "workloads/models/gpt2_device.h"

struct training_parameters {
    struct gpt2_task task;
    struct adamw adamw;
    uint64_t warmup_steps;
    uint64_t verify_sequences; /* at most this many of a batch are checked */
    uint64_t loss_steps;       /* the loss must have fallen after this many */
    double loss_margin;        /* by this part of its first value */
};

enum { STAGE_DATA, STAGE_UPLOAD, STAGE_FORWARD, STAGE_BACKWARD, STAGE_OPTIMIZER, STAGES };

#define LOSS_HEAD 64    /* first steps, whose losses are never overwritten */
#define LOSS_AVERAGED 8 /* losses at either end that are averaged */

struct training_instance {
    struct workload_instance base;
    const struct training_parameters *parameters;
    struct ops *ops;
    struct gpt2_device *model;
    struct token_source *source;
    int32_t *indices; /* the batch, OP_TOKENS_LENGTH(rows) */
    uint64_t unique;
    uint64_t sequences;     /* of a batch */
    uint64_t next_sequence; /* of the source */
    uint64_t steps;         /* AdamW steps done */
    int64_t host_ns[STAGES];
    struct event *events[4]; /* before forward, and after each device stage; NULL: host times */
};

/* declare.c */
enum status training_load(struct workload *workload, const char *origin, const char *yaml,
                          size_t length, struct error *err);
void training_unload(struct workload *workload);

/* Where the loss of step `step` (from 0) lies in the ring. */
uint64_t training_loss_slot(uint64_t step);
/* The rate of step `step`, from 1. */
struct adamw training_adamw(const struct training_parameters *parameters, uint64_t step);
/* Makes the next batch of `sequences` and uploads it. */
enum status training_next_batch(struct training_instance *instance, struct error *err);

/* verify.c */
enum status training_verify(struct workload_instance *instance, workload_check_fn *report,
                            void *context, struct error *err);

/* loss.c */
/*
 * Downloads losses. `ret_first` and `ret_last` are means over LOSS_AVERAGED steps at the two ends
 * (fewer when there are fewer).
 */
enum status training_loss_ends(struct training_instance *instance, double *ret_first,
                               double *ret_last, struct error *err);
/* {"steps", "first_nats", "last_nats", "curve": [[step, loss] ...]}; new object, NULL on failure.
 */
json_t *training_loss_json(struct training_instance *instance);

#endif
