/*
 * stored_comparison - two stored results judged and compared, and the object that is stored of it.
 *
 * They are any two results, compared by the centres of their trials, or the two arms of a paired
 * campaign, compared pair by pair: the difference of a pair is the log of the ratio of the two
 * trials' steady means, or medians where the protocol says `compare_by: median`.
 *
 * Two results of servers at a rate compare by attainment, or by capacity where that is asked for
 * (protocols/serving/change.h), paired or not.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_STORED_COMPARISON_H
#define ASSAY_RESULTS_ANALYSIS_STORED_COMPARISON_H

#include <stdbool.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "protocols/compare.h"
#include "protocols/serving/change.h"
#include "results/analysis/pairs.h"
#include "results/store/store.h"

struct stored_comparison {
    char a[80], b[80]; /* result ids */
    int64_t cells[2];
    json_t *judgement;          /* comparability_judge's object */
    json_t *conditions;         /* codes of findings on either result that could turn the verdict
                                   (protocols/condition.h); NULL: none */
    json_t *found[2];           /* the same, of each result */
    json_t *under;              /* of a gate: conditions under which it may decide; NULL: none */
    bool paired;                /* the two arms of a campaign, pair by pair */
    bool allows_foreign_worker; /* of a gate: it may pass on what such a worker measured */
    bool has_numbers;
    struct comparison numbers;   /* when has_numbers */
    enum compare_figure figure;  /* what was compared; the numbers are of COMPARE_TIME alone */
    struct served_change change; /* when has_numbers, of the other figures */
    /* Of paired servers `numbers` are of the mean latency of the requests that ended well. */
    bool has_latency;
    int64_t servers[2]; /* of a capacity: rows of the first cells of both servers; else 0 */
    struct error why;   /* why there are no numbers */
    struct pairs pairs; /* when paired */
    char *note;         /* pairs that do not count and why, settings without effect; heap;
                           NULL: neither */
    json_t *family_of;  /* what it was judged together with: {a, b, size, margin} of two
                           campaigns, {campaign, size, margin} of arms, with `by` where a figure
                           was asked for; NULL: nothing */
};

/*
 * `a` and `b` name results; `b` NULL: `a` is a paired campaign of one comparison. NOT_FOUND for an
 * unknown id. Finish with stored_comparison_finish.
 */
enum status stored_comparison_make(struct store *store, const char *a, const char *b,
                                   const struct compare_options *options,
                                   struct stored_comparison *ret, struct error *err);

/*
 * Comparison `index` (from 0) of a paired campaign (its row), by itself; what the arms set on
 * purpose is in its plan. INVALID when it is not a paired one, or has no such comparison; CORRUPT
 * for a plan of another shape. Finish with stored_comparison_finish.
 */
enum status stored_comparison_of_pairs(struct store *store, int64_t campaign, size_t index,
                                       const struct compare_options *options,
                                       struct stored_comparison *ret, struct error *err);

/* Frees what the comparison holds; NULL is allowed. */
void stored_comparison_finish(struct stored_comparison *comparison);

/*
 * The capacity over all rates of the server that the result `cell` (a row) is of, as
 * capacity_result_type has it; NULL where it is of none, or its rates show none. New object.
 */
enum status stored_comparison_capacity(struct store *store, int64_t cell, json_t **ret,
                                       struct error *err);

/* Name of what was found, of whatever figure; NULL: there are no numbers. Static. */
const char *stored_comparison_verdict(const struct stored_comparison *comparison);

/*
 * New object, as it is stored: a, b, comparability, separating_runs, attribution, comparison,
 * verdict, and conditions, reason, note and family_of where there are such. Of attainment and
 * capacity, which `by` names, `comparison` is null and `served` has the change; `latency` is as
 * `comparison`, of the mean latency in pairs. NULL: out of memory.
 */
json_t *stored_comparison_json(const struct stored_comparison *comparison);

#endif
