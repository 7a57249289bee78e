/*
 * trained - a stack that is trained on a device: its graph in a session, over parameters, moments
 * and gradients that lie in one array each, the step of AdamW, and the checks of a step that does
 * both passes and the update.
 */
#ifndef ASSAY_WORKLOADS_MODELS_TRAINED_H
#define ASSAY_WORKLOADS_MODELS_TRAINED_H

#include "workloads/models/adamw_update.h"
#include "workloads/models/stack_reference.h"
#include "workloads/session/session.h"

/* Filled by the kind, which owns all of it. */
struct trained {
    const struct stack_graph *graph;   /* with gradients */
    const struct stack_layout *layout; /* of the arrays, aligned */
    struct session *session;
    struct adamw_arrays arrays;
    struct buffer *losses;             /* f32, mean losses by slot */
    struct buffer *scaling, *partials; /* of the loss scale (op_scaling_step); NULL: none */
    uint32_t scale_interval;
};

/*
 * The places of a parameter, at element `offset` of `buffer`, and of all values of its gradient, at
 * its place in `gradients`; both in the session's storage.
 */
void trained_place(struct session *session, const struct stack_parameter *parameter,
                   struct buffer *buffer, uint64_t offset, struct buffer *gradients);

/*
 * One step of AdamW, counted from 1; matrices alone decay. With a loss scale, a step whose
 * gradients are not finite is skipped, and the bias corrections count those that were not.
 */
enum status trained_update(const struct trained *trained, const struct adamw *adamw, uint64_t step,
                           struct error *err);
/* Whether all gradients are finite, by the check that an update makes; only with a loss scale. */
enum status trained_gradients_finite(const struct trained *trained, bool *ret, struct error *err);
/* The loss scale and what became of the steps; only with a loss scale. Blocks. */
enum status trained_scaling(const struct trained *trained, struct op_scaling_state *ret,
                            struct error *err);

/* ---- the passes ---- */

/* What has run, here or elsewhere. */
struct trained_passes {
    const struct trained *of;
    const float *loss, *gradients; /* in the reference's layout; where `of` is NULL */
    uint64_t slot;                 /* of the loss, of `of` */
    double inverse;                /* takes the loss scale out of the gradients */
    /* Gradients are checked each by itself, named after this and the parameter. NULL: the worst of
     * them, "gradients". */
    const char *lead;
};
/*
 * "loss", the gradients that the reference has, and their worst block, "LEADblocks" or
 * "gradients.blocks", against the reference, which has run both passes.
 */
enum status trained_check_passes(const struct trained_passes *passes,
                                 const struct stack_reference *reference,
                                 const struct stack_tolerance *tolerance, struct check_sink *sink,
                                 struct error *err);
/*
 * "loss.prefix": the mean of the losses from row `row` on against that of the reference, which has
 * run forward over as many positions as it has rows.
 */
enum status trained_check_prefix(const struct trained *trained,
                                 const struct stack_reference *reference, uint64_t row,
                                 const struct stack_tolerance *tolerance, struct check_sink *sink,
                                 struct error *err);

/* ---- the update ---- */

#define TRAINED_PIECES 16
/*
 * Windows of the parameters, each of up to 65536 elements: a small one whole, of another so many
 * pieces from its first element to its last. Room for TRAINED_PIECES a parameter; returns how many.
 */
size_t trained_spread_windows(const struct trained *trained, struct adamw_window *ret);
/*
 * A drawn window of up to 256 elements of each parameter whose gradient is not zero by itself: of
 * embeddings in the row of one of `rows` tokens, or of one of `length` positions, and of a bias
 * that goes right into attention of what it adds to values, since softmax is blind to the keys'.
 */
void trained_draw_windows(const struct trained *trained, const int32_t *tokens, uint64_t rows,
                          uint64_t length, struct random *random, struct adamw_window *ret);
/* Before step `step`, from 1: its windows, fetched. adamw_update_finish follows, on failure, too.
 */
enum status trained_begin_update(const struct trained *trained, const struct adamw *adamw,
                                 uint64_t step, const struct adamw_window *windows, size_t count,
                                 struct adamw_update *ret, struct error *err);

/* ---- a step over NaN ---- */

/* NaN into the loss of that slot and the gradients of the windows: what session_poison leaves out.
 */
enum status trained_poison(const struct trained *trained, const struct adamw_update *update,
                           uint64_t slot, struct error *err);
/*
 * `output`: windows whose gradients (adamw_update_gradients) are not finite, or, of the first
 * `some`, all zero. `taken`: the step was not skipped for another reason than its loss scale.
 */
void trained_report_live(const struct adamw_update *update, size_t some, bool taken,
                         const char *output, struct check_sink *sink);

#endif
