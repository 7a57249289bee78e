/* adamw_update - a step of AdamW against the formula, in windows of the optimizer's arrays. */
#ifndef ASSAY_WORKLOADS_MODELS_ADAMW_UPDATE_H
#define ASSAY_WORKLOADS_MODELS_ADAMW_UPDATE_H

#include "workloads/check/compare.h"
#include "workloads/models/adamw.h"

#define ADAMW_UPDATE_TOLERANCE 4e-6 /* the largest */

struct adamw_window {
    uint64_t offset, count;
    bool decay;
};
/* On a device; one and the same element of each belong together. */
struct adamw_arrays {
    struct buffer *weights, *moment1, *moment2; /* f32 */
    struct buffer *gradients;                   /* in `storage` */
    struct buffer *copy;                        /* of the weights, in `storage`; NULL: none */
    enum dtype storage;
};
/* Filled by the caller up to `arrays`. */
struct adamw_update {
    const struct adamw_window *windows; /* the caller's */
    size_t count;
    /* The step that the formula counts, and what takes a loss scale out of its gradients, else 1.
     */
    struct adamw adamw;
    uint64_t step;
    double inverse;
    struct adamw_arrays arrays;
    uint64_t room; /* elements of all windows */
    float *before; /* ADAMW_ARRAYS one after another, `room` each */
};
enum { ADAMW_WEIGHT, ADAMW_GRADIENT, ADAMW_MOMENT1, ADAMW_MOMENT2, ADAMW_ARRAYS };
/* Before the step: fetches weights and moments. adamw_update_finish follows, also on failure. */
enum status adamw_update_begin(struct adamw_update *update, struct error *err);
/* Fetches the gradients that the step takes, before it or after it. */
enum status adamw_update_gradients(struct adamw_update *update, struct error *err);
/* Of those that were fetched: the first of all windows', one window after the other. */
const float *adamw_update_gradient(const struct adamw_update *update);
/*
 * After the step: "adamw.parameters", "adamw.m" and "adamw.v", the arrays against the formula;
 * "adamw.still", windows that the formula moves and that are as before; "adamw.copy", the narrow
 * parameters against the master weights. `scaled`: bias corrections are carried on in fp32.
 */
enum status adamw_update_check(const struct adamw_update *update, bool scaled,
                               struct check_sink *sink, struct error *err);
/* The same of arrays that the caller has, without the copy. */
void adamw_update_compare(const struct adamw_update *update, const float *after, bool scaled,
                          struct check_sink *sink);
void adamw_update_finish(struct adamw_update *update);

#endif
