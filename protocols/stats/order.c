#include "protocols/stats/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"

#define RADIX_FROM 20000 /* values from which sorting by digits is the faster one */
#define DIGIT 11         /* bits */

static void swap(double *a, double *b)
{
    double t = *a;

    *a = *b;
    *b = t;
}

double order_select(double *x, size_t count, size_t rank)
{
    size_t lo = 0, hi = count - 1;

    while (lo < hi) {
        size_t i = lo, j = hi, middle = lo + (hi - lo) / 2;
        double pivot;

        if (x[middle] < x[lo])
            swap(&x[middle], &x[lo]);
        if (x[hi] < x[lo])
            swap(&x[hi], &x[lo]);
        if (x[hi] < x[middle])
            swap(&x[hi], &x[middle]);
        pivot = x[middle];
        while (i <= j) {
            while (x[i] < pivot)
                i++;
            while (pivot < x[j])
                j--;
            if (i <= j) {
                swap(&x[i], &x[j]);
                i++;
                if (j == 0)
                    break;
                j--;
            }
        }
        if (rank <= j)
            hi = j;
        else if (rank >= i)
            lo = i;
        else
            break;
    }
    return x[rank];
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Times in the order of their events mostly are sorted already, which qsort does not look for. */
static bool ascends(const int64_t *x, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (x[i] < x[i - 1])
            return false;
    return true;
}

void order_sort(int64_t *x, size_t count)
{
    if (!ascends(x, count))
        qsort(x, count, sizeof(*x), compare);
}

static int compare_real(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Bits that are in the order of the values: of negative ones all are turned, of others the sign. */
static uint64_t key_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

/* One pass by `DIGIT` bits from `shift` on, which keeps the order of equal ones; false: all have
 * the same, and nothing was moved. */
static bool radix_pass(const double *from, double *to, size_t count, int shift)
{
    size_t places[1 << DIGIT] = {0}, sum = 0;
    const uint64_t mask = (1 << DIGIT) - 1;

    for (size_t i = 0; i < count; i++)
        places[key_of(from[i]) >> shift & mask]++;
    if (places[key_of(from[0]) >> shift & mask] == count)
        return false;
    for (size_t k = 0; k <= mask; k++) {
        size_t here = places[k];

        places[k] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        to[places[key_of(from[i]) >> shift & mask]++] = from[i];
    return true;
}

void order_sort_real(double *x, size_t count)
{
    double *scratch = count >= RADIX_FROM ? malloc(count * sizeof(*scratch)) : NULL, *from = x;
    double *to = scratch;

    if (!scratch) { /* few, or no memory to spare */
        if (count > 1)
            qsort(x, count, sizeof(*x), compare_real);
        return;
    }
    for (int shift = 0; shift < 64; shift += DIGIT)
        if (radix_pass(from, to, count, shift)) {
            double *moved = to;

            to = from;
            from = moved;
        }
    if (from != x)
        memcpy(x, from, count * sizeof(*x));
    free(scratch);
}

size_t order_quantile_index(size_t count, double q)
{
    /* A hair below, so that 0.9 * 10 is rank 9 although 0.9 is not exact. */
    double rank = ceil((double)count * q * (1 - 1e-14)) - 1;

    if (!(rank > 0))
        return 0;
    return rank < (double)count ? (size_t)rank : count - 1;
}

double order_quantile(const int64_t *sorted, size_t count, double q)
{
    const double rank = ((double)count + 1.0 / 3) * q + 1.0 / 3; /* from 1 */
    const double below = fmin(fmax(floor(rank), 1), (double)count);
    const size_t lo = (size_t)below - 1, hi = lo + 1 < count ? lo + 1 : lo;

    return (double)sorted[lo] +
           fmin(fmax(rank - below, 0), 1) * ((double)sorted[hi] - (double)sorted[lo]);
}

uint64_t order_needed(double q)
{
    double tail = q < 0.5 ? 1 - q : q;

    return (uint64_t)ceil(log(0.05) / log(tail));
}

/* The largest real k with P(Bin(n, p) <= k) <= tail; below 0 when even k = 0 is too likely. */
static double binomial_rank(double n, double p, double tail)
{
    double lo = 0, hi = n * p;
    int i;

    if (binomial_cdf(0, n, p) > tail)
        return -1;
    for (i = 0; i < 60 && hi - lo > 1e-9 * n; i++) {
        double middle = 0.5 * (lo + hi);

        if (binomial_cdf(middle, n, p) <= tail)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

/* Ranks from both ends; below 0 where none reaches. */
static void ranks_beyond(double effective, double q, double confidence, double *ret_below,
                         double *ret_above)
{
    const double tail = 0.5 * (1 - confidence);

    *ret_below = binomial_rank(effective, q, tail);
    *ret_above = binomial_rank(effective, 1 - q, tail);
}

bool order_interval(size_t count, double effective, double q, double confidence, size_t *ret_lo,
                    size_t *ret_hi)
{
    double below, above;

    ranks_beyond(effective, q, confidence, &below, &above);
    if (below < 0 || above < 0)
        return false;
    order_ranks(count, effective, q, confidence, ret_lo, ret_hi);
    return *ret_lo <= *ret_hi;
}

void order_ranks(size_t count, double effective, double q, double confidence, size_t *ret_lo,
                 size_t *ret_hi)
{
    const double stretch = (double)count / effective;
    double below, above;

    ranks_beyond(effective, q, confidence, &below, &above);
    *ret_lo = below < 0 ? 0 : (size_t)(below * stretch + 1e-6);
    *ret_hi = count - 1 - (above < 0 ? 0 : (size_t)(above * stretch + 1e-6));
}

void order_normal_scores(const double *x, size_t count, double *ret)
{
    for (size_t i = 0; i < count; i++) {
        double rank = 0.5;

        for (size_t j = 0; j < count; j++)
            rank += x[j] < x[i] ? 1 : x[j] == x[i] ? 0.5 : 0;
        ret[i] = normal_quantile(rank / ((double)count + 1));
    }
}
