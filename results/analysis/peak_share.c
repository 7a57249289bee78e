#include "results/analysis/peak_share.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const char *word(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static bool is_of(const json_t *row, const char *item, const json_t *record)
{
    const char *precision = word(row, "precision");

    return !strcasecmp(word(row, "item"), item) &&
           (!precision[0] ||
            !strcmp(precision, word(json_object_get(record, "identity"), "precision")));
}

json_t *peak_shares(const json_t *record, const json_t *sheet, const char *item)
{
    const json_t *estimate = json_object_get(record, "estimate");
    const json_t *from = json_is_object(estimate)
                             ? estimate
                             : json_object_get(json_object_get(record, "imported"), "claim");
    json_t *list = json_array(), *row;
    size_t i;

    if (!item)
        item = word(json_object_get(record, "device"), "name");
    json_array_foreach(json_object_get(sheet, "rows"), i, row)
    {
        const json_t *metric =
            json_object_get(json_object_get(from, "metrics"), word(row, "metric"));
        const double value = json_number_value(json_object_get(metric, "value"));
        const double peak = json_number_value(json_object_get(row, "peak"));

        if (!is_of(row, item, record) || !json_is_number(json_object_get(metric, "value")) ||
            !(peak > 0) || strcmp(word(metric, "unit"), word(row, "base")) != 0)
            continue;
        json_array_append_new(list, json_pack("{s:O, s:s, s:f, s:f, s:s, s:f}", "line",
                                              json_object_get(row, "line"), "metric",
                                              word(row, "metric"), "value", value, "peak", peak,
                                              "unit", word(row, "base"), "share", value / peak));
    }
    return list;
}
