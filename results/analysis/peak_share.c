#include "results/analysis/peak_share.h"
#include "harness/core/member.h"
#include "harness/core/shape.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "results/store/store.h"

static const struct type peak_share_shape = TYPE_OF({
    SHOWN("line", INTEGER, .help = "of the peaks"),
    SHOWN("metric", TEXT),
    SHOWN("value", FINITE),
    SHOWN("peak", FINITE, .help = "as declared, in that unit"),
    SHOWN("unit", TEXT),
    SHOWN("share", REAL),
});
const struct type peak_shares_type = {LIST_OF(peak_share_shape)};

static bool is_of(const json_t *row, const char *item, const json_t *record)
{
    const char *precision = member_text(row, "precision");

    return !strcasecmp(member_text(row, "item"), item) &&
           (!precision[0] ||
            !strcmp(precision, member_text(json_object_get(record, "identity"), "precision")));
}

json_t *peak_shares(const json_t *record, const json_t *sheet, const char *item)
{
    const json_t *metrics = store_cell_metrics(record);
    json_t *list = json_array();

    if (!item)
        item = member_text(json_object_get(record, "device"), "name");
    EACH(row, json_object_get(sheet, "rows")) {
        const json_t *metric = json_object_get(metrics, member_text(row, "metric"));
        const double value = member_real(metric, "value");
        const double peak = member_real(row, "peak");

        if (!is_of(row, item, record) || !json_is_number(json_object_get(metric, "value")) ||
            !(peak > 0) || strcmp(member_text(metric, "unit"), member_text(row, "base")) != 0)
            continue;
        json_array_append_new(
            list, json_pack("{s:O, s:s, s:f, s:f, s:s, s:o}", "line", json_object_get(row, "line"),
                            "metric", member_text(row, "metric"), "value", value, "peak", peak,
                            "unit", member_text(row, "base"), "share", real_or_null(value / peak)));
    }
    return list;
}
