#include "reports/html_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "reports/escape.h"
#include "reports/html_pictures.h"

void html_result_id(struct text *out, const struct view_cell *cell)
{
    text_append(out, "r-");
    escape_html_id(out, cell->result);
}

static bool same_title(const struct view_cell *a, const struct view_cell *b)
{
    return a->workload && b->workload && !strcmp(a->workload, b->workload) && a->precision &&
           b->precision && !strcmp(a->precision, b->precision) &&
           a->batch.known == b->batch.known && a->batch.value == b->batch.value &&
           !strcmp(a->variant, b->variant);
}

void phrase_title(struct text *out, const struct view_cell *cell)
{
    doc_phrase(out, "%s %s", cell->workload, cell->precision ? cell->precision : "");
    if (cell->batch.known)
        doc_phrase(out, ", batch %lld", (long long)cell->batch.value);
    doc_phrase(out, "%s", cell->variant);
}

char *phrase_result_id(const struct view_cell *cell)
{
    struct text id = TEXT_INIT;

    html_result_id(&id, cell);
    return text_steal(&id);
}

void phrase_result(struct text *out, const struct view *view, const char *result)
{
    const struct view_cell *cell = view_find(view, result);
    AUTO_FREE char *id = NULL;
    size_t alike = 0;

    for (size_t i = 0; cell && i < view->cell_count; i++)
        alike += same_title(&view->cells[i], cell);
    if (cell) {
        id = phrase_result_id(cell);
        doc_phrase(out, "{link #%s ", id ? id : "");
        phrase_title(out, cell);
        doc_phrase(out, alike > 1 ? "} " : "}");
        out->failed = out->failed || !id;
    }
    if (!cell || alike > 1)
        doc_phrase(out, "{code %s}", result);
}

void phrase_time(struct text *out, const struct view_count *utc_ns)
{
    char iso[CLOCK_ISO_SIZE] = "";

    if (utc_ns->known && utc_ns->value >= 0)
        clock_format_iso(utc_ns->value, iso);
    if (strlen(iso) > 11)
        doc_phrase(out, "%.10s %.8s UTC", iso, iso + 11);
    else
        doc_phrase(out, "{none not recorded}");
}

/* Hertz, bytes and ns are stored exactly and read in prefixes. */
static void append_number(struct text *out, double value, const struct reading *reading)
{
    const char *unit = reading->unit ? reading->unit : "";
    char number[NUMBER_SIZE];
    struct number_unit scaled =
        strcmp(unit, "hz") == 0 ? number_unit_rate(value, "Hz") : number_unit_duration(value);

    if (strcmp(unit, "bytes") == 0)
        doc_phrase(out, "%s", number_format_bytes(value, number));
    else if (strcmp(unit, "hz") == 0 || strcmp(unit, "ns") == 0)
        doc_phrase(out, "%s", number_format_unit(value, &scaled, number));
    else if (reading->type == READING_INTEGER)
        doc_phrase(out, "%lld%s%s", (long long)reading->integer, *unit ? " " : "", unit);
    else
        doc_phrase(out, "%s%s%s", number_format(reading->real, number), *unit ? " " : "", unit);
}

void phrase_reading_value(struct text *out, const struct reading *reading)
{
    if (!reading || (reading->status != READING_MEASURED && reading->status != READING_DECLARED))
        return;
    if (reading->type == READING_TEXT)
        doc_phrase(out, "%s", reading->text ? reading->text : "");
    else
        append_number(out,
                      reading->type == READING_INTEGER ? (double)reading->integer : reading->real,
                      reading);
}

void phrase_reading(struct text *out, const struct reading *reading)
{
    if (!reading) {
        doc_phrase(out, "{none not recorded}");
    } else if (reading->status == READING_MEASURED || reading->status == READING_DECLARED) {
        if (reading->type == READING_TEXT && (!reading->text || !*reading->text))
            doc_phrase(out, "{none empty}");
        phrase_reading_value(out, reading);
        if (reading->status == READING_DECLARED)
            doc_phrase(out, " {soft (declared)}");
    } else {
        doc_phrase(out, "{none %s: %s}",
                   reading->status == READING_NOT_APPLICABLE ? "not applicable"
                                                             : reading_status_name(reading->status),
                   reading->reason && *reading->reason ? reading->reason : "no reason given");
    }
}

void html_reading_table(struct doc *doc, const char *caption, const struct reading_list *readings)
{
    static const struct doc_column columns[] = {
        {"Reading", DOC_NAME | DOC_BREAK, 25}, {"Value", DOC_BREAK}, {"Source", DOC_BREAK, 30}};

    doc_add(doc, "%s", caption);
    doc_table(doc, "tight fixed", columns, 3);
    for (size_t i = 0; i < readings->count; ++i) {
        const struct reading *reading = &readings->items[i];

        doc_add(doc, "%s\t", reading->name);
        phrase_reading(&doc->block, reading);
        if (reading->source && *reading->source)
            doc_say(doc, NULL, "\t{soft %s %s}", reading_method(reading->source), reading->source);
        else
            doc_say(doc, NULL, "\t{none not recorded}");
    }
    doc_close(doc);
}

void phrase_tool(struct text *out, const struct view_campaign *campaign)
{
    doc_phrase(out, "assay %s {digest %s}", campaign->tool_version, campaign->tool_digest);
}

void html_json_details(struct text *out, const char *class_name, const char *summary,
                       const json_t *json)
{
    char *dump =
        json ? json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15)) : NULL;

    if (!dump)
        return;
    text_append_format(out, "<details class=\"%s\"><summary>", class_name);
    escape_html(out, summary);
    text_append(out, "</summary><pre>");
    /* Line breaks are written by us; everything between them is data. */
    for (char *line = dump, *end; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        escape_html_bytes(out, line, end ? (size_t)(end - line) : strlen(line));
        text_append(out, end ? "\n" : "");
    }
    text_append(out, "</pre></details>\n");
    free(dump);
}

bool html_reading_equal(const struct reading *a, const struct reading *b)
{
    if (!a || !b || a->status != b->status)
        return false;
    if (a->status != READING_MEASURED && a->status != READING_DECLARED)
        return text_same(a->reason, b->reason);
    if (a->type != b->type || !text_same(a->unit, b->unit))
        return false;
    switch (a->type) {
    case READING_TEXT:
        return text_same(a->text, b->text);
    case READING_INTEGER:
        return a->integer == b->integer;
    default:
        return a->real == b->real;
    }
}

void html_figure_heading(const struct view_cell *cell, const char *what,
                         char ret[HTML_HEADING_SIZE])
{
    snprintf(ret, HTML_HEADING_SIZE, "%.120s \u00b7 %.79s", what ? what : "", cell->result);
}

void html_figure_id(struct text *out, const struct view_cell *cell, const char *what, size_t n)
{
    html_result_id(out, cell);
    text_append_format(out, "-%s%zu", what, n);
}

struct plot_row html_row_of(const struct view_cell *cell, enum metric_id id, const char *label,
                            char value[HTML_ROW_SIZE])
{
    const struct metric_value *figure = view_metric(cell, id);
    struct view_figure words;
    const bool known = view_figure_of(id, figure, &words);

    snprintf(value, HTML_ROW_SIZE, "%s%s%s%s%s", words.marked ? "(" : "",
             known ? words.value : "not measured", words.marked ? ")" : "",
             *words.spread ? " " : "", words.spread);
    return (struct plot_row){.label = label,
                             .value = value,
                             .at = known ? figure->value : NAN,
                             .lo = known && figure->has_interval ? figure->lo : NAN,
                             .hi = known && figure->has_interval ? figure->hi : NAN,
                             .hollow = words.marked};
}
