/* peak_share - what share of a declared peak a result came to. */
#ifndef ASSAY_RESULTS_ANALYSIS_PEAK_SHARE_H
#define ASSAY_RESULTS_ANALYSIS_PEAK_SHARE_H

#include <jansson.h>

#include "harness/core/type.h"

/*
 * `record`: that of store_cell_json; `sheet`: declared peaks (results/formats/peak_sheet.h), or
 * NULL; `item`: what the device is in it, NULL: the one of the device's name. New array, an entry
 * for each row of this item and precision whose metric the result has, as peak_shares_type
 * describes it.
 */
json_t *peak_shares(const json_t *record, const json_t *sheet, const char *item);
extern const struct type peak_shares_type;

#endif
