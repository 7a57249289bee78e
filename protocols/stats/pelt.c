#include "protocols/stats/pelt.h"

#include <math.h>
#include <stdlib.h>

/* Prefix sums of w and its squares, and 1 / n: a segment's squares cost no loop and no division. */
struct sums {
    double *sum, *squares, *inverse;
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

/* Squares about the mean of w[from, to). */
static inline double squares_about_mean(const struct sums *sums, size_t from, size_t to)
{
    double sum = sums->sum[to] - sums->sum[from];

    return sums->squares[to] - sums->squares[from] - sum * sum * sums->inverse[to - from];
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
                      size_t least, size_t *ret_changes, size_t *ret_change_count,
                      struct error *err)
{
    double *memory = malloc(5 * (count + 1) * sizeof(*memory)), *best, *cost;
    size_t *places = calloc(2 * (count + 1), sizeof(*places)), *last, *candidate;
    double constant = penalty + (double)skip, slack = (double)skip, weight = 1 / sigma2;
    size_t candidates = 1, i, t;
    struct sums sums;

    if (!memory || !places) {
        free(memory);
        free(places);
        return error_set(err, STATUS_NO_MEMORY, "no memory for the change points of %zu values",
                         count);
    }
    sums = (struct sums){memory, memory + count + 1, memory + 2 * (count + 1)};
    best = memory + 3 * (count + 1);
    cost = memory + 4 * (count + 1);
    last = places;
    candidate = places + count + 1;
    make_sums(w, count, &sums);

    best[0] = -constant;
    candidate[0] = 0;
    for (t = 1; t <= count; t++) {
        /* Starts are in ascending order, so those too close to t stand at the end. */
        size_t usable = candidates, kept = 0;

        while (usable > 0 && t - candidate[usable - 1] < least)
            usable--;
        best[t] = INFINITY;
        for (i = 0; i < usable; i++) {
            size_t s = candidate[i];

            cost[i] = best[s] + weight * squares_about_mean(&sums, s + skip, t);
            if (cost[i] + constant < best[t]) {
                best[t] = cost[i] + constant;
                last[t] = s;
            }
        }
        /* A start that is worse by more than what a later split could win back never wins. */
        for (i = 0; i < candidates; i++) {
            if (i >= usable || cost[i] - slack <= best[t])
                candidate[kept++] = candidate[i];
        }
        candidates = kept;
        if (isfinite(best[t]))
            candidate[candidates++] = t;
    }
    *ret_change_count = read_back(last, count, ret_changes);
    free(memory);
    free(places);
    return STATUS_OK;
}
