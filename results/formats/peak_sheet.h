/*
 * peak_sheet - what suppliers declare that a device can do, as a buyer copies it: CSV (sheet.h)
 * with the columns
 *
 *   item, metric, amount, unit, source, retrieved                  which must be there, and
 *   precision, note                                                which may
 *
 * metric: op_rate or byte_rate; unit: TFLOP/s, TOP/s or GB/s, or with another prefix; precision:
 * empty where the peak is of all.
 */
#ifndef ASSAY_RESULTS_FORMATS_PEAK_SHEET_H
#define ASSAY_RESULTS_FORMATS_PEAK_SHEET_H

#include <jansson.h>

#include "harness/core/status.h"

/*
 * Reads a sheet: {"sha256", "rows": [{"line", "item", ... as above, "peak": in the unit without its
 * prefix, "base": that unit}]}, a new object in `ret`. INVALID with "FILE:LINE: ..."; NOT_FOUND,
 * IO.
 */
enum status peak_sheet_read(const char *path, json_t **ret, struct error *err);

#endif
