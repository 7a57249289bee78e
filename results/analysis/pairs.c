#include "results/analysis/pairs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "protocols/stats/days.h"
#include "results/analysis/analysis.h"

/* Result of a trial, by its place in the order. */
struct arm {
    bool is_b, present;
    double time_ns;            /* mean or median; NAN: none */
    const char *reason;        /* why there is none; borrowed */
    struct served_share share; /* of a server; 0 requests: not known */
};

/* Estimate of a cell; NULL for a cell without a good trial. */
static enum status estimate_of(struct store *store, int64_t cell, struct estimate **ret,
                               struct error *err)
{
    enum status status = analysis_estimate(store, cell, INT64_MAX, ret, err);

    if (status != STATUS_NOT_FOUND)
        return status;
    *ret = NULL;
    if (err)
        *err = (struct error)ERROR_INIT;
    return STATUS_OK;
}

double pairs_trial_time(const struct estimate *estimate, size_t index)
{
    const struct estimate_trial *trial = &estimate->trials[index];

    if (trial->verdict == ESTIMATE_DRIFT || trial->verdict == ESTIMATE_NON_STATIONARY)
        return NAN;
    if (estimate->compare_by == ESTIMATE_MEDIAN)
        return trial->median_ns;
    return trial->mean_ns.has_value ? trial->mean_ns.value : NAN;
}

/* What a good trial gave: its time, or NAN and the reason; and its requests. */
static void read_trial(const struct estimate *estimate, int64_t sequence, struct arm *arm)
{
    for (size_t i = 0; estimate && i < estimate->trial_count; i++) {
        const struct estimate_trial *trial = &estimate->trials[i];

        if (trial->sequence != sequence)
            continue;
        arm->time_ns = pairs_trial_time(estimate, i);
        if (isnan(arm->time_ns))
            arm->reason = estimate_verdict_label(trial->verdict);
        arm->share = (struct served_share){(double)trial->requests, (double)trial->missed,
                                           (double)trial->undecided};
        return;
    }
}

static int64_t ordinal_at(const json_t *order, size_t i)
{
    return member_integer(json_array_get(order, i), "ordinal");
}

/* Place of a trial among those of both cells, in the order of running; -1: not there. */
static int64_t place_of(const json_t *order, const size_t places[2], int64_t sequence)
{
    int64_t place = 0;

    if (sequence < 1 || (size_t)sequence > json_array_size(order))
        return -1;
    for (size_t i = 0; (int64_t)i < sequence - 1; i++)
        place += ordinal_at(order, i) - 1 == (int64_t)places[0] ||
                 ordinal_at(order, i) - 1 == (int64_t)places[1];
    return place;
}

/* Fills the arms that this cell's trials are. The record outlives the arms' reasons. */
static void fill_arms(const json_t *record, const struct estimate *estimate, const json_t *order,
                      const size_t places[2], bool is_b, struct arm *arms)
{
    EACH(trial, json_object_get(record, "trials")) {
        int64_t place = place_of(order, places, member_integer(trial, "sequence"));
        struct arm *arm;

        if (place < 0)
            continue;
        arm = &arms[place];
        arm->present = true;
        arm->is_b = is_b;
        arm->reason = member_string(trial, "status");
        arm->time_ns = NAN;
        if (arm->reason && !strcmp(arm->reason, "ok"))
            read_trial(estimate, member_integer(trial, "sequence"), arm);
    }
}

/* "b check failed" */
static void append_reason(struct text *out, const struct arm *arm)
{
    text_append(out, arm->is_b ? "b " : "a ");
    for (const char *c = arm->reason ? arm->reason : "no mean"; *c; c++)
        text_append_char(out, *c == '_' ? ' ' : *c);
}

static enum status join(const struct arm *arms, size_t count, struct pairs *pairs,
                        struct error *err)
{
    struct text dropped = TEXT_INIT;

    pairs->planned = count / 2;
    pairs->a = calloc(pairs->planned + 1, sizeof(double));
    pairs->b = calloc(pairs->planned + 1, sizeof(double));
    pairs->b_first = calloc(pairs->planned + 1, sizeof(*pairs->b_first));
    pairs->served = calloc(pairs->planned + 1, sizeof(*pairs->served));
    for (size_t k = 0; pairs->a && pairs->b && pairs->b_first && k < pairs->planned; k++) {
        const struct arm *first = &arms[2 * k], *second = &arms[2 * k + 1];
        const struct arm *bad = !first->present || isnan(first->time_ns) ? first : second;

        if (pairs->served && first->share.requests > 0 && second->share.requests > 0)
            pairs->served[pairs->served_count++] =
                first->is_b ? (struct served_pair){second->share, first->share}
                            : (struct served_pair){first->share, second->share};
        if (bad->present && !isnan(bad->time_ns)) {
            pairs->b_first[pairs->count] = first->is_b;
            pairs->a[pairs->count] = first->is_b ? second->time_ns : first->time_ns;
            pairs->b[pairs->count++] = first->is_b ? first->time_ns : second->time_ns;
            continue;
        }
        text_append_format(&dropped, "%spair %zu: ", dropped.length ? "; " : "", k + 1);
        if (bad->present)
            append_reason(&dropped, bad);
        else
            text_append(&dropped, "not run");
    }
    pairs->dropped = text_steal(&dropped);
    return pairs->a && pairs->b && pairs->b_first && pairs->served && pairs->dropped
               ? STATUS_OK
               : error_no_memory(err);
}

/* In a plan of arms every cell has what its arm sets, be it nothing. */
static bool has_arms(const json_t *campaign)
{
    const json_t *cells = member_in(campaign, "plan", "cells");
    bool all = true;

    for (size_t i = 0; i < json_array_size(cells); i++)
        all &= json_is_object(json_object_get(json_array_get(cells, i), "spec"));
    return all;
}

/* `ret_arms`: cells of a block. */
static enum status check_paired(const json_t *campaign, size_t *ret, size_t *ret_arms,
                                struct error *err)
{
    const json_t *named = member_in(campaign, "plan", "arms");
    const int64_t arms = json_is_integer(named) ? json_integer_value(named) : 2;
    const json_t *order = json_object_get(campaign, "order");
    const char *id = member_string(campaign, "id");
    const size_t cells = member_size(campaign, "cells");
    const size_t count = json_array_size(order);
    bool paired = arms >= 2 && cells > 0 && cells % (size_t)arms == 0 && count % cells == 0 &&
                  (cells == 2 || has_arms(campaign));

    for (size_t i = 0; paired && i < count; i++)
        for (size_t k = i - i % (size_t)arms; paired && k < i; k++)
            paired = ordinal_at(order, i) != ordinal_at(order, k) &&
                     (ordinal_at(order, i) - 1) / arms == (ordinal_at(order, k) - 1) / arms;
    *ret_arms = (size_t)arms;
    *ret = paired ? cells / (size_t)arms * (size_t)(arms - 1) : 0;
    if (paired)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "campaign %s is not paired: `assay ab` makes paired ones, `assay compare` "
                     "takes two results of any campaigns",
                     id ? id : "?");
}

enum status pairs_count(struct store *store, int64_t campaign, size_t *ret, struct error *err)
{
    json_auto_t *record = NULL;
    size_t arms;

    TRY(store_campaign_json(store, campaign, &record, err));
    return check_paired(record, ret, &arms, err);
}

/* Fills the arms of one of both cells, whose reasons are borrowed from `ret_record`. */
static enum status load_arm(struct store *store, const json_t *campaign, bool is_b,
                            struct pairs *pairs, struct arm *arms, json_t **ret_record,
                            struct error *err)
{
    const json_t *cell = json_array_get(json_object_get(campaign, "cells"), pairs->places[is_b]);
    struct estimate *estimate = NULL;

    pairs->cells[is_b] = member_integer(cell, "cell");
    TRY(store_cell_json(store, pairs->cells[is_b], ret_record, err));
    TRY(estimate_of(store, pairs->cells[is_b], &estimate, err));
    if (estimate && !is_b)
        pairs->centre = estimate->compare_by;
    pairs->step_ns[is_b] = estimate ? estimate->step_ns : 0;
    fill_arms(*ret_record, estimate, json_object_get(campaign, "order"), pairs->places, is_b, arms);
    estimate_destroy(estimate);
    return STATUS_OK;
}

enum status pairs_of_campaign(struct store *store, int64_t campaign, size_t index,
                              struct pairs *ret, struct error *err)
{
    CLEANUP(pairs_finish) struct pairs pairs = {0};
    json_auto_t *record = NULL, *a = NULL, *b = NULL;
    AUTO_FREE struct arm *arms = NULL;
    size_t count, comparisons = 0, arms_each = 2;

    TRY(store_campaign_json(store, campaign, &record, err));
    TRY(check_paired(record, &comparisons, &arms_each, err));
    if (index >= comparisons)
        return error_set(err, STATUS_INVALID, "the campaign has %zu comparisons", comparisons);
    count = 2 * member_size(record, "order") / member_size(record, "cells");
    pairs.places[0] = index / (arms_each - 1) * arms_each;
    pairs.places[1] = pairs.places[0] + 1 + index % (arms_each - 1);
    arms = calloc(count + 1, sizeof(*arms));
    if (!arms)
        return error_no_memory(err);
    TRY(load_arm(store, record, false, &pairs, arms, &a, err));
    TRY(load_arm(store, record, true, &pairs, arms, &b, err));
    TRY(join(arms, count, &pairs, err));
    *ret = pairs;
    pairs = (struct pairs){0};
    return STATUS_OK;
}

void pairs_finish(struct pairs *pairs)
{
    if (!pairs)
        return;
    free(pairs->a);
    free(pairs->b);
    free(pairs->b_first);
    free(pairs->served);
    free(pairs->dropped);
    memset(pairs, 0, sizeof(*pairs));
}

/* What the trials gave, or their days where these are several; `ret`: room for twice as many. */
static size_t times_of(const struct estimate *estimate, double *ret)
{
    const bool by_day = estimate->days > 0;
    size_t count;

    for (size_t i = 0; i < estimate->trial_count; i++) {
        ret[i] = pairs_trial_time(estimate, i);
        ret[i] = by_day ? log(ret[i]) : ret[i];
    }
    count = days_join(by_day ? estimate->trial_days : NULL, ret, estimate->trial_count);
    for (size_t i = 0; by_day && i < count; i++)
        ret[i] = exp(ret[i]);
    return count;
}

enum status pairs_trial_centres(struct store *store, int64_t cell, double **ret, size_t *ret_count,
                                enum estimate_centre *ret_centre, double *ret_step_ns,
                                struct error *err)
{
    struct estimate *estimate;
    double *times;
    size_t count = 0;

    TRY(analysis_estimate(store, cell, INT64_MAX, &estimate, err));
    times = calloc(2 * estimate->trial_count + 1, sizeof(*times));
    if (times)
        count = times_of(estimate, times);
    *ret_centre = estimate->compare_by;
    if (ret_step_ns)
        *ret_step_ns = estimate->step_ns;
    estimate_destroy(estimate);
    if (!times)
        return error_no_memory(err);
    if (count == 0) {
        free(times);
        return error_set(err, STATUS_NOT_FOUND, "no trial of this result reached steady state");
    }
    *ret = times;
    *ret_count = count;
    return STATUS_OK;
}
