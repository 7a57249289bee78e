/*
 * order - order statistics: percentiles and their intervals without any assumption on the shape.
 */
#ifndef ASSAY_PROTOCOLS_STATS_ORDER_H
#define ASSAY_PROTOCOLS_STATS_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The standard deviation of a normal distribution over its median absolute deviation. */
#define MAD_TO_SD 1.4826

/* The value of rank `rank` (0 the least); reorders `x`. Hoare's FIND (CACM 4, 1961), median of 3.
 */
double order_select(double *x, size_t count, size_t rank);

void order_sort(int64_t *x, size_t count);
void order_sort_real(double *x, size_t count);

/* 0-based index of the q-quantile in a sorted series: ceil(n q) - 1 (type 1 of Hyndman, Fan 1996).
 */
size_t order_quantile_index(size_t count, double q);

/*
 * The q-quantile of a sorted series, between the samples about rank (n + 1/3) q + 1/3: unbiased in
 * the median whatever the distribution, nearly (type 8 of Hyndman and Fan, The American
 * Statistician 50 (1996)). count > 0.
 */
double order_quantile(const int64_t *sorted, size_t count, double q);

/*
 * Independent samples below which the q-quantile is refused: the least n with q^n <= 0.05, so that
 * with 95 % some sample exceeds it (5 for the median, 299 for p99). Quantiles below one half count
 * as their mirror images.
 */
uint64_t order_needed(double q);

/*
 * Ranks (0-based) of a two-sided interval for the q-quantile from `count` samples that are
 * equivalent to `effective` <= count independent ones: the exact binomial interval (David and
 * Nagaraja, "Order Statistics", 7.1) for `effective` samples, continued between the integers by the
 * incomplete beta function, its ranks stretched by count / effective. False when no rank reaches
 * far enough.
 */
bool order_interval(size_t count, double effective, double q, double confidence, size_t *ret_lo,
                    size_t *ret_hi);

/*
 * The same ranks, of a side that none reaches far enough on the first or the last: of several
 * series together, one whose ends do not bound the quantile alone may still be one of many.
 */
void order_ranks(size_t count, double effective, double q, double confidence, size_t *ret_lo,
                 size_t *ret_hi);

/*
 * The normal scores (van der Waerden) of `count` values, the same order without the tails: the
 * normal quantile of rank / (count + 1); equal values share their mean rank.
 */
void order_normal_scores(const double *x, size_t count, double *ret);

#endif
