/* csv_unit - the unit of samples, which is declared and never guessed. */
#ifndef ASSAY_RESULTS_FORMATS_CSV_UNIT_H
#define ASSAY_RESULTS_FORMATS_CSV_UNIT_H

#include "harness/core/status.h"

/*
 * Nanoseconds of the unit "ns", "us", "ms" or "s". INVALID for another, and for NULL: "ORIGIN:
 * NO_UNIT: --unit ns, us, ms or s".
 */
enum status csv_unit_find(const char *unit, const char *no_unit, const char *origin, double *ret_ns,
                          struct error *err);

#endif
