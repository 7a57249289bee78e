/*
 * change - did attainment or capacity of a server change between a baseline a and a candidate b?
 *
 * Each of both comes with an interval of its own. The interval of the change is made of them as
 * Newcombe does for shares (method 10 of "Interval estimation for the difference between
 * independent proportions", Statistics in Medicine 17 (1998)) and Zou and Donner for anything else
 * ("Construction of confidence limits about effect measures", Statistics in Medicine 27 (2008)):
 *     lo = change - sqrt((b - b.lo)^2 + (a.hi - a)^2), hi = change + sqrt((b.hi - b)^2 + (a -
 *     a.lo)^2)
 * of attainment on b - a, of capacity on log b - log a. Both are taken for independent. Where one
 * has no value (a capacity of "at least"), the ends themselves are subtracted, b.lo - a.hi and b.hi
 * - a.lo, which is never narrower.
 *
 * Arms that were measured in pairs had the same arrivals, and attainment is compared pair by pair:
 * Student's t on the differences b - a. Where few of the requests differ it has too little to go
 * by, and none where no pair does; so each end is at least as far as so few say. With up and down
 * the means of the parts of the differences above and below 0, in n requests of all pairs, the
 * change up
 * - down has the variance of n / D independent requests, D at least 1; the intervals of up and down
 * are the exact ones of shares of so many (protocols/serving/exceedance.h), put together as above.
 * Where no pair differs, D is the larger one of both arms' misses: K pairs without a miss show no
 * more than so many requests do.
 */
#ifndef ASSAY_PROTOCOLS_SERVING_CHANGE_H
#define ASSAY_PROTOCOLS_SERVING_CHANGE_H

#include <stddef.h>

#include "protocols/compare.h"

/* One figure with its interval; NaN: not known. */
struct served_figure {
    double value, lo, hi;
};

/* Of the requests of a trial after its warmup. */
struct served_share {
    double requests, missed, undecided; /* missed for certain; nobody can tell */
};

struct served_pair {
    struct served_share a, b;
};

struct served_change {
    struct served_figure a, b;
    /* Attainment: b - a. Capacity: b / a. An end that is not known is NaN. */
    struct served_figure change;
    /*
     * How much lower than a is still allowed: of attainment in shares of all requests, of capacity
     * relative to a.
     */
    double margin, confidence;
    double p_worse; /* one-sided, of b being lower by no more than the margin; NaN: unknown */
    double p_worse_family; /* adjusted by Holm; NaN: judged alone */
    size_t pairs;          /* that the change rests on; 0: on the intervals of a and b */
};

/*
 * The change of `figure` (COMPARE_ATTAINMENT or COMPARE_CAPACITY); both intervals are at the
 * confidence of the options, whose margin counts.
 */
struct served_change served_change_make(enum compare_figure figure, const struct served_figure *a,
                                        const struct served_figure *b,
                                        const struct compare_options *options);

/*
 * The change of attainment over `count` >= 2 pairs, with its p by Student's t on `count` - 1.
 * `dispersion` is the larger one of both arms' (slo_result). Undecided requests count against
 * either end.
 */
struct served_change served_change_paired(const struct served_figure *a,
                                          const struct served_figure *b,
                                          const struct served_pair *pairs, size_t count,
                                          double dispersion, const struct compare_options *options);

/* 1: b is no lower than the margin allows; -1: it is surely lower; 0: neither is shown. */
int served_change_verdict(enum compare_figure figure, const struct served_change *change);
/* "not_worse", "worse", "inconclusive". */
const char *served_change_verdict_name(int verdict);

/* Sets p_worse_family of several that are judged together; unknown p count as 1. NO_MEMORY. */
enum status served_change_family(struct served_change *const *list, size_t count,
                                 struct error *err);

/* As JSON, with struct capacity_result (analysis.h). */
extern const struct type served_change_type, capacity_result_type;

#endif
