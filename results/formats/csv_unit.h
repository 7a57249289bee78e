/* csv_unit - the unit of samples, which is declared and never guessed: without one they are
 * numbers. */
#ifndef ASSAY_RESULTS_FORMATS_CSV_UNIT_H
#define ASSAY_RESULTS_FORMATS_CSV_UNIT_H

#include "harness/core/status.h"

/*
 * Nanoseconds of the unit "ns", "us", "ms" or "s"; INVALID for another. NULL: none is declared, and
 * the result is CSV_BARE_NS.
 */
enum status csv_unit_find(const char *unit, const char *origin, double *ret_ns, struct error *err);

#endif
