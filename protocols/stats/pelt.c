#include "protocols/stats/pelt.h"

#include <math.h>
#include <stdlib.h>

/* Prefix sums of w and its squares, and 1 / n: a segment's squares cost no loop and no division. */
struct sums {
    double *sum, *squares, *inverse;
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
};

static void make_sums(const double *w, size_t count, struct sums *sums)
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
}

static void add_start(struct starts *starts, size_t place, size_t skip, double best, size_t count,
                      const struct sums *sums)
{
    /* A start followed by fewer values than it skips is never used. */
    size_t from = place + skip <= count ? place + skip : count;

    starts->place[starts->count] = place;
    starts->sum[starts->count] = sums->sum[from];
    starts->squares[starts->count] = sums->squares[from];
    starts->best[starts->count] = best;
    starts->count++;
}

/* The least of the numbers; INFINITY when there are none. Four chains, since none waits then. */
static double least_of(const double *x, size_t count)
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

/*
 * Costs of the first `usable` starts, the last segment being what lies between them and t. Returns
 * the least.
 */
static double find_costs(const struct starts *starts, size_t usable, const struct sums *sums,
                         size_t t, size_t skip, double weight)
{
    const double sum_t = sums->sum[t], squares_t = sums->squares[t];
    double *restrict cost = starts->cost;
    size_t i;

    for (i = 0; i < usable; i++)
        cost[i] = sums->inverse[t - starts->place[i] - skip];
    for (i = 0; i < usable; i++) {
        double sum = sum_t - starts->sum[i];

        cost[i] = starts->best[i] + weight * (squares_t - starts->squares[i] - sum * sum * cost[i]);
    }
    return least_of(cost, usable);
}

/* Drops usable starts that are worse by more than what a later split could win back. */
static void prune(struct starts *starts, size_t usable, double slack, double best)
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

enum status pelt_find(const double *w, size_t count, size_t skip, double sigma2, double penalty,
                      size_t least, size_t stride, size_t *ret_changes, size_t *ret_change_count,
                      struct error *err)
{
    const size_t room = count + 1;
    double *memory = malloc(7 * room * sizeof(*memory));
    size_t *places = calloc(2 * room, sizeof(*places)), *last, t;
    double constant = penalty + (double)skip, slack = (double)skip, weight = 1 / sigma2;
    struct starts starts;
    struct sums sums;

    if (!memory || !places) {
        free(memory);
        free(places);
        return error_set(err, STATUS_NO_MEMORY, "no memory for the change points of %zu values",
                         count);
    }
    sums = (struct sums){memory, memory + room, memory + 2 * room};
    starts = (struct starts){places + room,     memory + 3 * room, memory + 4 * room,
                             memory + 5 * room, memory + 6 * room, 0};
    last = places;
    make_sums(w, count, &sums);

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
