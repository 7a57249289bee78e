/*
 * history - whether results that were measured one after the other changed, and where.
 *
 * The descriptions of trend.h compete by penalised likelihood with autoregressive errors (steps by
 * PELT: Killick, Fearnhead, Eckley, JASA 107 (2012); placed by generalised least squares: Tsay,
 * Journal of Forecasting 7 (1988)). What is not constant must be so by the normal scores of the
 * values as well, since single odd results look like short levels; or two levels of five results
 * and more that follow each other overlap nowhere. A trial's own analysis asks for
 * one false change in a hundred windows; of a history people ask again after each result, and each
 * look could find a false change. So the penalties grow with the number of results, as the error is
 * spent over looks (alpha spending: Lan and DeMets, Biometrika 70 (1983); here over all looks by
 * simulation, since the looks' penalties have no known joint distribution). They are
 * HISTORY_CAUTION_EARLY up to HISTORY_EARLY results, HISTORY_CAUTION from HISTORY_LATE on, and a
 * line between the two, for a change between levels that both have HISTORY_SETTLED results or more;
 * anything else (a level that has only begun, a line, an approach) must be as clear as
 * HISTORY_CAUTION_CLEAR asks. At most 5 % of constant histories show a change at any look, the
 * first at 16, the last at 200, independent or with phi = 0.3 (tests/calibration measures it).
 *
 * That rests on results that are no more alike than phi = 0.3. Those of one sitting are: the same
 * heat, layout of memory and neighbours. A sitting is therefore one value.
 */
#ifndef ASSAY_PROTOCOLS_HISTORY_H
#define ASSAY_PROTOCOLS_HISTORY_H

#include <stdint.h>

#include "protocols/trend.h"

/* With fewer sittings changes are not looked for: two results are compared instead. */
#define HISTORY_LEAST 16
#define HISTORY_EARLY 20
#define HISTORY_CAUTION_EARLY 0.65
#define HISTORY_LATE 32
#define HISTORY_CAUTION 0.92
#define HISTORY_CAUTION_CLEAR 1.25
/* With fewer than HISTORY_LATE results the first of these. */
#define HISTORY_SETTLED_EARLY 8
#define HISTORY_SETTLED 12

/* A result is of the sitting of the one before if it was measured so soon after it, or sooner. */
#define HISTORY_SITTING_NS (INT64_C(3600) * 1000000000)

/*
 * The sittings of `count` values (logs of results) in the order of their times, UTC in ns: of each,
 * in `ret_values` the mean, and in `ret_first` its first result. Both have room for `count`.
 * Returns how many there are.
 */
size_t history_sittings(const double *values, const int64_t *times_ns, size_t count,
                        double *ret_values, size_t *ret_first);

/*
 * Describes `count` >= HISTORY_LEAST values (logs of sittings) in the order of their times; `ret`
 * is of kind TREND_CONSTANT where nothing changed. NO_MEMORY. Finish with trend_finish.
 */
enum status history_describe(const double *values, size_t count, struct trend *ret,
                             struct error *err);

#endif
