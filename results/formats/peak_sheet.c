#include "results/formats/peak_sheet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/member.h"
#include "protocols/metric.h"
#include "protocols/quantity.h"
#include "results/formats/sheet.h"

static const struct sheet_column columns[] = {
    {"item", SHEET_TEXT, true},     {"metric", SHEET_TEXT, true}, {"precision", SHEET_TEXT, false},
    {"amount", SHEET_NUMBER, true}, {"unit", SHEET_TEXT, true},   {"source", SHEET_TEXT, true},
    {"retrieved", SHEET_DAY, true}, {"note", SHEET_TEXT, false},
};

/* Arithmetic is of integers where the unit says so: "TOP/s". */
static const char *base_of(enum metric_id metric, const char *unit)
{
    if (metric != METRIC_OP_RATE)
        return metrics[metric].unit;
    return strstr(unit, "FLOP/s") ? "FLOP/s" : "OP/s";
}

static enum status check_row(void *context, const char *origin, json_t *row, uint64_t line,
                             struct error *err)
{
    const enum metric_id metric = metric_find(member_text(row, "metric"));
    const char *unit = member_text(row, "unit");
    char written[256];
    double peak;

    (void)context;
    if (metric != METRIC_OP_RATE && metric != METRIC_BYTE_RATE)
        return sheet_refuse(origin, line, "metric", member_text(row, "metric"),
                            "write op_rate or byte_rate", err);
    snprintf(written, sizeof(written), "%.17g %s", member_real(row, "amount"), unit);
    if (quantity_read(written, metric, base_of(metric, unit), &peak, err) != STATUS_OK)
        return error_set_at(err, STATUS_INVALID, origin, line,
                            "%s: write a positive amount, and as unit %s", metrics[metric].id,
                            metric == METRIC_OP_RATE ? "TFLOP/s or TOP/s" : "GB/s");
    json_object_set_new(row, "peak", json_real(peak));
    json_object_set_new(row, "base", json_string(base_of(metric, unit)));
    return STATUS_OK;
}

enum status peak_sheet_read(const char *path, json_t **ret, struct error *err)
{
    static const struct sheet_form form = {
        columns, sizeof(columns) / sizeof(columns[0]),
        "item, metric, amount, unit, source and retrieved must be there", "decide", check_row};
    AUTO_FREE char *text = NULL;
    size_t length;

    TRY(file_read(path, SHEET_BYTES_MAX, &text, &length, err));
    return sheet_parse(&form, NULL, path, text, length, ret, err);
}
