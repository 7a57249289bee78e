/*
 * price_sheet - what things cost, as a buyer writes it down: CSV with the columns
 *
 *   item, kind, currency, amount, unit                             which must be there, and
 *   vendor, region, amount_lo, amount_hi, term_months, residual, covers_devices, valid_from,
 *   valid_to, source, retrieved, quote_id, confidential            which may
 *
 * in any order. kind: device, host, network, cloud, energy, colocation, staff, licence; unit: each,
 * hour, kWh, month. Amounts are decimal numbers with a point and no separators. results/README.md
 * says what each is.
 */
#ifndef ASSAY_RESULTS_FORMATS_PRICE_SHEET_H
#define ASSAY_RESULTS_FORMATS_PRICE_SHEET_H

#include <jansson.h>

#include "harness/core/status.h"

/*
 * Reads a sheet: {"currency", "sha256", "rows": [{"line", "item", "kind", ..., as above; null where
 * a field is empty}]}, a new object in `ret`. INVALID with "FILE:LINE: ...": a number that is none,
 * is negative or out of order, an unknown kind, unit, column or date, two currencies, capital
 * without a term, energy in another unit than kWh; NOT_FOUND, IO: the file.
 */
enum status price_sheet_read(const char *path, json_t **ret, struct error *err);

/* The same of a text that was read from `origin`. */
enum status price_sheet_parse(const char *origin, const char *text, size_t length, json_t **ret,
                              struct error *err);

#endif
