/*
 * quantity - a figure as people write it in a declaration, with its unit: "950 GFLOP/s", "20 ms",
 * "99.5 %".
 */
#ifndef ASSAY_PROTOCOLS_QUANTITY_H
#define ASSAY_PROTOCOLS_QUANTITY_H

#include "harness/core/status.h"
#include "protocols/metric.h"

/*
 * Reads `text` as a positive figure of the metric, in its base unit (ns, B/s, J/token ...). `unit`:
 * the resolved one (metric_unit); NULL where the workload is not known yet: then the number and
 * that a unit is written are checked, and `ret` is of no use where the metric's unit depends on the
 * workload. An SI prefix may stand before the unit, with or without a blank after it. INVALID says
 * what to write.
 */
enum status quantity_read(const char *text, enum metric_id metric, const char *unit, double *ret,
                          struct error *err);

#endif
