#include "protocols/history.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "protocols/stats/order.h"

/* What is seen in the values need not be seen as clearly in their ranks. */
#define CAUTION_BY_RANK 0.7
/* So many results are a level, whatever its ranks look like: odd ones alone do not make it. */
#define LEVEL_LEAST 5

/* Whether `sign` times each value from `from` on is below that of each value from `at` to `to`. */
static bool are_below(const double *values, size_t from, size_t at, size_t to, double sign)
{
    double most = -INFINITY, least = INFINITY;

    for (size_t i = from; i < at; i++)
        most = fmax(most, sign * values[i]);
    for (size_t i = at; i < to; i++)
        least = fmin(least, sign * values[i]);
    return most < least;
}

/*
 * Whether two levels of LEVEL_LEAST results and more, one after the other, overlap nowhere. Ranks
 * do not know how far apart: within either of two levels of nine the scores spread over half of
 * their range, by whatever order chance gave the results, and may hide the change between the two.
 */
static bool has_levels_apart(const struct trend *trend, const double *values, size_t count)
{
    size_t from = 0;

    for (size_t i = 0; i < trend->change_count; i++) {
        const size_t at = trend->change[i];
        const size_t to = i + 1 < trend->change_count ? trend->change[i + 1] : count;

        if (at - from >= LEVEL_LEAST && to - at >= LEVEL_LEAST &&
            (are_below(values, from, at, to, 1) || are_below(values, from, at, to, -1)))
            return true;
        from = at;
    }
    return false;
}

static enum status describe(const double *values, size_t count, double caution, struct trend *ret,
                            struct error *err)
{
    struct trend by_rank = {0};
    AUTO_FREE double *scores = calloc(count + 1, sizeof(*scores));
    enum status status;

    if (!scores)
        return error_no_memory(err);
    TRY(trend_describe(values, count, 0, caution, TREND_STEPS, ret, err));
    if (ret->kind == TREND_CONSTANT || has_levels_apart(ret, values, count))
        return STATUS_OK;
    order_normal_scores(values, count, scores);
    status =
        trend_describe(scores, count, 0, caution * CAUTION_BY_RANK, TREND_STEPS, &by_rank, err);
    if (status != STATUS_OK || by_rank.kind == TREND_CONSTANT)
        trend_finish(ret);
    if (status == STATUS_OK && by_rank.kind == TREND_CONSTANT)
        *ret = by_rank;
    else
        trend_finish(&by_rank);
    return status;
}

/* Whether it is a change between levels that have all been there for some results. */
static bool is_settled(const struct trend *trend, size_t count)
{
    const size_t least = count < HISTORY_LATE ? HISTORY_SETTLED_EARLY : HISTORY_SETTLED;
    size_t from = 0;

    if (trend->kind == TREND_RAMP)
        return trend->from + 1 >= least && count - trend->to >= least;
    if (trend->kind != TREND_STEPS)
        return false;
    for (size_t i = 0; i < trend->change_count; from = trend->change[i++])
        if (trend->change[i] - from < least)
            return false;
    return count - from >= least;
}

enum status history_describe(const double *values, size_t count, struct trend *ret,
                             struct error *err)
{
    const double late = (double)count <= HISTORY_EARLY ? 0
                        : (double)count >= HISTORY_LATE
                            ? 1
                            : ((double)count - HISTORY_EARLY) / (HISTORY_LATE - HISTORY_EARLY);
    const double caution = HISTORY_CAUTION_EARLY + late * (HISTORY_CAUTION - HISTORY_CAUTION_EARLY);

    TRY(describe(values, count, caution, ret, err));
    if (ret->kind == TREND_CONSTANT || is_settled(ret, count))
        return STATUS_OK;
    trend_finish(ret);
    return describe(values, count, HISTORY_CAUTION_CLEAR, ret, err);
}

size_t history_sittings(const double *values, const int64_t *times_ns, size_t count,
                        double *ret_values, size_t *ret_first)
{
    size_t sittings = 0;

    for (size_t i = 0; i < count; i++) {
        if (i == 0 || times_ns[i] - times_ns[i - 1] > HISTORY_SITTING_NS) {
            ret_first[sittings] = i;
            ret_values[sittings++] = 0;
        }
        ret_values[sittings - 1] += values[i];
    }
    for (size_t i = 0; i < sittings; i++)
        ret_values[i] /= (double)((i + 1 < sittings ? ret_first[i + 1] : count) - ret_first[i]);
    return sittings;
}
