/*
 * history - whether results that were measured one after the other changed, and where.
 *
 * The descriptions of trend.h compete by penalised likelihood with autoregressive errors (steps by
 * PELT: Killick, Fearnhead, Eckley, JASA 107 (2012); placed by generalised least squares: Tsay,
 * Journal of Forecasting 7 (1988)). What is not constant must be so by the normal scores of the
 * values as well, since single odd results look like short levels; or two levels of five results
 * and more that follow each other overlap nowhere. A trial's own analysis asks for
 * one false change in a hundred windows; a history is one series that people read, so the penalties
 * are multiplied by HISTORY_CAUTION: at most 5 % of constant histories of 16 to 200 results show
 * any change, independent or with phi = 0.3 (tests/calibration measures it).
 */
#ifndef ASSAY_PROTOCOLS_HISTORY_H
#define ASSAY_PROTOCOLS_HISTORY_H

#include "protocols/trend.h"

/* With fewer results changes are not looked for: two results are compared instead. */
#define HISTORY_LEAST 16
#define HISTORY_CAUTION 0.65
/* With fewer than HISTORY_FEW results the correlation is badly known. */
#define HISTORY_FEW 32
#define HISTORY_CAUTION_FEW 0.75

/*
 * Describes `count` >= HISTORY_LEAST values (logs of results) in the order of their times; `ret` is
 * of kind TREND_CONSTANT where nothing changed. NO_MEMORY. Finish with trend_finish.
 */
enum status history_describe(const double *values, size_t count, struct trend *ret,
                             struct error *err);

#endif
