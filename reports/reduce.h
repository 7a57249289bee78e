/*
 * reduce - a long series made short enough to draw, without hiding what is extreme.
 *
 * All pure and linear in the number of samples, so that a page of fifty cells with a million
 * samples each is a matter of seconds. Selection is Hoare's FIND with median-of-three pivots
 * (Hoare, "Algorithm 65: FIND", CACM 4(7), 1961); it permutes the scratch copy it is given.
 */
#ifndef ASSAY_REPORTS_REDUCE_H
#define ASSAY_REPORTS_REDUCE_H

#include <stddef.h>
#include <stdint.h>

/* Smallest, largest and middle value of samples first..first+count-1. */
struct reduce_bucket {
    size_t first, count;
    int64_t min, max, median;
};

/*
 * Splits `count` samples into at most `buckets` runs whose sizes differ by at most one. `scratch`
 * has room for the largest run (count / buckets + 1). Returns the number of buckets filled.
 */
size_t reduce_envelope(const int64_t *samples, size_t count, size_t buckets,
                       struct reduce_bucket *ret, int64_t *scratch);

/* The k-th smallest (k from 0) of values[0..count-1], count > k; permutes `values`. */
int64_t reduce_select(int64_t *values, size_t count, size_t k);

/* Value at rank ceil(q * count), q in (0, 1], count >= 1; permutes `values`. */
int64_t reduce_quantile(int64_t *values, size_t count, double q);

#define REDUCE_BINS_MAX 64

/* Counts of values / divisor over [lo, hi] in equal bins; what lies outside is counted apart. */
struct reduce_histogram {
    double lo, hi;
    size_t bins;
    uint64_t counts[REDUCE_BINS_MAX];
    uint64_t below, above, total;
    double least, greatest; /* of all values, also those outside */
};

/* Starts an empty histogram; bins <= REDUCE_BINS_MAX. */
void reduce_histogram_init(struct reduce_histogram *histogram, double lo, double hi, size_t bins);
void reduce_histogram_add(struct reduce_histogram *histogram, const int64_t *samples, size_t count,
                          double divisor);

#endif
