#include "protocols/stats/pelt.h"

#include <math.h>
#include <stdlib.h>

struct prefix {
    double sum, squares;
};

/* Squares about the mean of w[from, to). */
static double squares_about_mean(const struct prefix *prefix, size_t from, size_t to)
{
    double n = (double)(to - from), sum = prefix[to].sum - prefix[from].sum;

    return fmax(prefix[to].squares - prefix[from].squares - sum * sum / n, 0);
}

enum status pelt_find(const double *w, size_t count, size_t skip, double sigma2, double penalty,
                      size_t least, size_t *ret_changes, size_t *ret_change_count,
                      struct error *err)
{
    struct prefix *prefix = calloc(count + 1, sizeof(*prefix));
    double *best = malloc((count + 1) * sizeof(*best));
    size_t *last = calloc(count + 1, sizeof(*last));
    size_t *candidate = malloc((count + 1) * sizeof(*candidate));
    enum status status = STATUS_OK;
    size_t candidates = 1, changes = 0, i, kept, t;
    double mean = 0, constant = penalty + (double)skip;

    if (!prefix || !best || !last || !candidate) {
        status = error_set(err, STATUS_NO_MEMORY, "no memory for the change points of %zu values",
                           count);
        goto out;
    }
    for (i = 0; i < count; i++)
        mean += w[i] / (double)count;
    for (i = 0; i < count; i++) {
        double d = w[i] - mean;

        prefix[i + 1].sum = prefix[i].sum + d;
        prefix[i + 1].squares = prefix[i].squares + d * d;
    }
    best[0] = -constant;
    candidate[0] = 0;
    for (t = 1; t <= count; t++) {
        best[t] = INFINITY;
        for (i = 0; i < candidates; i++) {
            size_t s = candidate[i];
            double cost;

            if (t - s < least)
                continue;
            cost = best[s] + constant + squares_about_mean(prefix, s + skip, t) / sigma2;
            if (cost < best[t]) {
                best[t] = cost;
                last[t] = s;
            }
        }
        /* A start that is worse by more than what a later split could win back never wins. */
        for (i = kept = 0; i < candidates; i++) {
            size_t s = candidate[i];

            if (t - s < least ||
                best[s] + squares_about_mean(prefix, s + skip, t) / sigma2 - (double)skip <=
                    best[t])
                candidate[kept++] = s;
        }
        candidates = kept;
        if (t >= least && isfinite(best[t]))
            candidate[candidates++] = t;
    }
    for (t = last[count]; t > 0; t = last[t])
        ret_changes[changes++] = t;
    for (i = 0; i < changes / 2; i++) {
        size_t swap = ret_changes[i];

        ret_changes[i] = ret_changes[changes - 1 - i];
        ret_changes[changes - 1 - i] = swap;
    }
    *ret_change_count = changes;
out:
    free(prefix);
    free(best);
    free(last);
    free(candidate);
    return status;
}
