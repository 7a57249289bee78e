/*
 * days - on which days values were measured.
 *
 * What differs between two days (heat, neighbours, what a host was moved to) all values of a day
 * have in common, so that many values of few days say little of their mean. Days are recognised by
 * the nights between them: gaps of six hours and more that are three times as long as the usual
 * one. Values at equal distances have none; those that span two days and more are cut into
 * stretches of about 24 hours. What was measured within one day is of one.
 */
#ifndef ASSAY_PROTOCOLS_STATS_DAYS_H
#define ASSAY_PROTOCOLS_STATS_DAYS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"

/* Fewer units than this say too little of what they differ by: of days as of processes. */
#define DAYS_LEAST 5

/* How many days values at equal distances, the last so long after the first, are of: >= 1. */
int64_t days_in(int64_t span_ns);

/*
 * The day of each of `count` values by their times (UTC in ns; in any order), from 0, in `ret`, and
 * how many days there are in `ret_days`: 1 where a time is not known (0). NO_MEMORY.
 */
enum status days_find(const int64_t *times_ns, size_t count, size_t *ret, size_t *ret_days,
                      struct error *err);

/*
 * Values of trials into those that are independent: their means over days, `days` being of each,
 * where these are several; else (or with `days` NULL) as they are. Leaves out those that are NAN.
 * `values` has room for twice `count`. Returns how many there are then.
 */
size_t days_join(const size_t *days, double *values, size_t count);

#endif
