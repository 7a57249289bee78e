#include "reports/reduce.h"

#include <math.h>
#include <string.h>

static void swap(int64_t *a, int64_t *b)
{
    int64_t kept = *a;

    *a = *b;
    *b = kept;
}

int64_t reduce_select(int64_t *values, size_t count, size_t k)
{
    size_t lo = 0, hi = count - 1;

    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2, i = lo, j = hi;
        int64_t pivot;

        if (values[middle] < values[lo])
            swap(&values[middle], &values[lo]);
        if (values[hi] < values[lo])
            swap(&values[hi], &values[lo]);
        if (values[hi] < values[middle])
            swap(&values[hi], &values[middle]);
        pivot = values[middle];
        for (;;) {
            while (values[i] < pivot)
                ++i;
            while (pivot < values[j])
                --j;
            if (i >= j)
                break;
            swap(&values[i++], &values[j--]);
        }
        /* Here everything left of i is <= pivot and everything right of j is >= pivot. */
        if (i == j) {
            if (k == i)
                return values[k];
            if (k < i)
                hi = i - 1;
            else
                lo = i + 1;
        } else if (k <= j) {
            hi = j;
        } else {
            lo = i;
        }
    }
    return values[k];
}

int64_t reduce_quantile(int64_t *values, size_t count, double q)
{
    double rank = ceil(q * (double)count);
    size_t k = rank < 1 ? 0 : (size_t)rank - 1;

    return reduce_select(values, count, k < count ? k : count - 1);
}

size_t reduce_envelope(const int64_t *samples, size_t count, size_t buckets,
                       struct reduce_bucket *ret, int64_t *scratch)
{
    size_t first = 0;

    if (buckets > count)
        buckets = count;
    for (size_t b = 0; b < buckets; ++b) {
        size_t size = count / buckets + (b < count % buckets);
        struct reduce_bucket *bucket = &ret[b];

        *bucket = (struct reduce_bucket){
            .first = first, .count = size, .min = samples[first], .max = samples[first]};
        for (size_t i = first; i < first + size; ++i) {
            if (samples[i] < bucket->min)
                bucket->min = samples[i];
            if (samples[i] > bucket->max)
                bucket->max = samples[i];
        }
        memcpy(scratch, samples + first, size * sizeof(*scratch));
        bucket->median = reduce_select(scratch, size, (size - 1) / 2);
        first += size;
    }
    return buckets;
}

void reduce_histogram_init(struct reduce_histogram *histogram, double lo, double hi, size_t bins)
{
    memset(histogram, 0, sizeof(*histogram));
    histogram->lo = lo;
    histogram->hi = hi;
    histogram->bins = bins < 1 ? 1 : bins > REDUCE_BINS_MAX ? REDUCE_BINS_MAX : bins;
}

void reduce_histogram_add(struct reduce_histogram *histogram, const int64_t *samples, size_t count,
                          double divisor)
{
    double per_bin = (double)histogram->bins / (histogram->hi - histogram->lo);

    for (size_t i = 0; i < count; ++i) {
        double value = (double)samples[i] / divisor;

        if (histogram->total == 0 || value < histogram->least)
            histogram->least = value;
        if (histogram->total == 0 || value > histogram->greatest)
            histogram->greatest = value;
        ++histogram->total;
        if (value < histogram->lo) {
            ++histogram->below;
        } else if (value > histogram->hi) {
            ++histogram->above;
        } else {
            double bin = (value - histogram->lo) * per_bin;
            size_t at = bin > 0 ? (size_t)bin : 0;

            ++histogram->counts[at < histogram->bins ? at : histogram->bins - 1];
        }
    }
}
