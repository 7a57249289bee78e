#include "protocols/stats/pelt.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "harness/core/vector.h"

/* Prefix sums of w and its squares, and 1 / n: a segment's squares cost no loop and no division. */
struct sums {
    double *sum, *squares, *inverse;
    double *stepped; /* stepped[k] = 1 / ((steps - k) stride - skip): what ascending starts need */
    size_t steps, stride;
};

/*
 * Starts that may still be the last one, ascending, with what the loops below need of each in
 * adjacent arrays: they run over all of them for every value, and so vectorize.
 */
struct starts {
    size_t *place;
    double *sum, *squares; /* prefix sums after what a new segment skips */
    double *best;          /* cost up to the start */
    double *cost;          /* with a segment from there to the current value */
    size_t count;
    bool are_stepped; /* from the second on each is a stride after the one before it */
};

static void make_sums(const double *w, size_t count, size_t skip, struct sums *sums)
{
    double mean = 0;
    size_t i;

    for (i = 0; i < count; i++)
        mean += w[i] / (double)count;
    sums->sum[0] = sums->squares[0] = sums->inverse[0] = 0;
    for (i = 0; i < count; i++) {
        double d = w[i] - mean;

        sums->sum[i + 1] = sums->sum[i] + d;
        sums->squares[i + 1] = sums->squares[i] + d * d;
        sums->inverse[i + 1] = 1.0 / (double)(i + 1);
    }
    for (i = 0; i < sums->steps; i++) {
        const size_t length = (sums->steps - i) * sums->stride;

        sums->stepped[i] = length > skip ? sums->inverse[length - skip] : 0;
    }
}

static void add_start(struct starts *starts, size_t place, size_t skip, double best, size_t count,
                      const struct sums *sums)
{
    /* A start followed by fewer values than it skips is never used. */
    size_t from = place + skip <= count ? place + skip : count;

    if (starts->count > 1 && place != starts->place[starts->count - 1] + sums->stride)
        starts->are_stepped = false;
    starts->place[starts->count] = place;
    starts->sum[starts->count] = sums->sum[from];
    starts->squares[starts->count] = sums->squares[from];
    starts->best[starts->count] = best;
    starts->count++;
}

/* The least of the numbers; INFINITY when there are none. Four chains, since none waits then. */
static inline double least_of(const double *x, size_t count)
{
    double least[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
    size_t i, j;

    for (i = 0; i + 4 <= count; i += 4)
        for (j = 0; j < 4; j++)
            least[j] = x[i + j] < least[j] ? x[i + j] : least[j];
    for (; i < count; i++)
        least[0] = x[i] < least[0] ? x[i] : least[0];
    for (j = 1; j < 4; j++)
        least[0] = least[j] < least[0] ? least[j] : least[0];
    return least[0];
}

/* Of the starts from..to; inverse[i] belongs to the start from + i. */
static inline void add_costs(const struct starts *starts, size_t from, size_t to,
                             const double *inverse, double sum_t, double squares_t, double weight)
{
    for (size_t i = from; i < to; i++) {
        const double sum = sum_t - starts->sum[i];

        starts->cost[i] = starts->best[i] +
                          weight * (squares_t - starts->squares[i] - sum * sum * inverse[i - from]);
    }
}

/*
 * Costs of the first `usable` starts, the last segment being what lies between them and t. Returns
 * the least.
 */
static inline double find_costs(const struct starts *starts, size_t usable, const struct sums *sums,
                                size_t t, size_t skip, double weight)
{
    const bool are_stepped = starts->are_stepped && usable > 1 && t % sums->stride == 0;
    const size_t single = are_stepped ? 1 : usable;

    for (size_t i = 0; i < single; i++)
        starts->cost[i] = sums->inverse[t - starts->place[i] - skip];
    add_costs(starts, 0, single, starts->cost, sums->sum[t], sums->squares[t], weight);
    if (are_stepped)
        add_costs(starts, 1, usable,
                  sums->stepped + sums->steps - (t - starts->place[1]) / sums->stride, sums->sum[t],
                  sums->squares[t], weight);
    return least_of(starts->cost, usable);
}

/* Drops usable starts that are worse by more than what a later split could win back. */
static inline void prune(struct starts *starts, size_t usable, double slack, double best)
{
    size_t worse = 0, kept = 0, i;

    for (i = 0; i < usable; i++)
        worse += !(starts->cost[i] - slack <= best);
    if (worse == 0)
        return;
    for (i = 0; i < starts->count; i++) {
        if (i < usable && !(starts->cost[i] - slack <= best))
            continue;
        starts->place[kept] = starts->place[i];
        starts->sum[kept] = starts->sum[i];
        starts->squares[kept] = starts->squares[i];
        starts->best[kept] = starts->best[i];
        kept++;
    }
    starts->count = kept;
    starts->are_stepped = false;
}

/* Follows the best last starts back from the end; ascending order. */
static size_t read_back(const size_t *last, size_t count, size_t *ret_changes)
{
    size_t changes = 0, t, i;

    for (t = last[count]; t > 0; t = last[t])
        ret_changes[changes++] = t;
    for (i = 0; i < changes / 2; i++) {
        size_t swap = ret_changes[i];

        ret_changes[i] = ret_changes[changes - 1 - i];
        ret_changes[changes - 1 - i] = swap;
    }
    return changes;
}

VECTOR_CLONES
enum status pelt_find(const double *w, size_t count, size_t skip, double sigma2, double penalty,
                      size_t least, size_t stride, size_t *ret_changes, size_t *ret_change_count,
                      struct error *err)
{
    const size_t room = count + 1;
    double *memory = malloc(8 * room * sizeof(*memory));
    size_t *places = calloc(2 * room, sizeof(*places)), *last, t;
    double constant = penalty + (double)skip, slack = (double)skip, weight = 1 / sigma2;
    struct starts starts;
    struct sums sums;

    if (!memory || !places) {
        free(memory);
        free(places);
        return error_no_memory(err);
    }
    sums = (struct sums){memory,         memory + room, memory + 2 * room, memory + 7 * room,
                         count / stride, stride};
    starts = (struct starts){places + room,
                             memory + 3 * room,
                             memory + 4 * room,
                             memory + 5 * room,
                             memory + 6 * room,
                             0,
                             true};
    last = places;
    make_sums(w, count, skip, &sums);

    add_start(&starts, 0, skip, -constant, count, &sums);
    for (t = stride < count ? stride : count; t <= count;
         t = t < count && t + stride > count ? count : t + stride) {
        /* Starts are in ascending order, so those too close to t are at the end. */
        size_t usable = starts.count, i = 0;
        double lowest, best;

        while (usable > 0 && t - starts.place[usable - 1] < least)
            usable--;
        lowest = find_costs(&starts, usable, &sums, t, skip, weight);
        best = lowest + constant;
        if (isfinite(best)) {
            while (!(starts.cost[i] + constant <= best))
                i++;
            last[t] = starts.place[i];
        }
        prune(&starts, usable, slack, best);
        if (isfinite(best))
            add_start(&starts, t, skip, best, count, &sums);
    }
    *ret_change_count = read_back(last, count, ret_changes);
    free(memory);
    free(places);
    return STATUS_OK;
}
