#include "reports/html_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"
#include "reports/escape.h"
#include "reports/html_pictures.h"

void html_result_id(struct text *out, const struct view_cell *cell)
{
    text_append(out, "r-");
    escape_html_id(out, cell->result);
}

void html_cell_title(struct text *out, const struct view_cell *cell)
{
    html_known(out, cell->workload);
    text_append_char(out, ' ');
    escape_html(out, cell->precision ? cell->precision : "");
    if (cell->batch.known)
        text_append_format(out, ", batch %lld", (long long)cell->batch.value);
    escape_html(out, cell->variant);
}

static bool same_title(const struct view_cell *a, const struct view_cell *b)
{
    return a->workload && b->workload && !strcmp(a->workload, b->workload) && a->precision &&
           b->precision && !strcmp(a->precision, b->precision) &&
           a->batch.known == b->batch.known && a->batch.value == b->batch.value &&
           !strcmp(a->variant, b->variant);
}

void html_result(struct text *out, const struct view *view, const char *result)
{
    const struct view_cell *cell = NULL;
    size_t alike = 0;

    for (size_t i = 0; result && i < view->cell_count; i++)
        if (!strcmp(view->cells[i].result, result))
            cell = &view->cells[i];
    for (size_t i = 0; cell && i < view->cell_count; i++)
        alike += same_title(&view->cells[i], cell);
    if (cell) {
        text_append(out, "<a href=\"#");
        html_result_id(out, cell);
        text_append(out, "\">");
        html_cell_title(out, cell);
        text_append(out, "</a>");
    }
    if (!cell || alike > 1) {
        text_append(out, cell ? " <code>" : "<code>");
        html_known(out, result);
        text_append(out, "</code>");
    }
}

void html_known(struct text *out, const char *string)
{
    if (string && *string)
        escape_html(out, string);
    else
        text_append(out, "<span class=\"none\">not recorded</span>");
}

void html_digest(struct text *out, const char *digest)
{
    if (!digest || !*digest) {
        html_known(out, NULL);
        return;
    }
    text_append(out, "<code title=\"sha256:");
    escape_html(out, digest);
    text_append(out, "\">");
    escape_html_short(out, digest, 13);
    text_append(out, "</code>");
}

void html_time(struct text *out, const struct view_count *utc_ns, const char *suffix)
{
    char iso[CLOCK_ISO_SIZE];

    if (!utc_ns->known || utc_ns->value < 0) {
        html_known(out, NULL);
        return;
    }
    clock_format_iso(utc_ns->value, iso);
    text_append(out, "<time datetime=\"");
    escape_html(out, iso);
    text_append_format(out, "\">%.10s %.8s%s</time>", iso, strlen(iso) > 11 ? iso + 11 : "",
                       suffix);
}

/* Hertz and bytes are stored exactly and read in prefixes. */
static bool append_with_unit(struct text *out, double value, const char *unit)
{
    char number[NUMBER_SIZE];
    struct number_unit scaled;

    if (!unit)
        return false;
    if (strcmp(unit, "bytes") == 0) {
        text_append(out, number_format_bytes(value, number));
    } else if (strcmp(unit, "hz") == 0) {
        scaled = number_unit_rate(value, "Hz");
        text_append(out, number_format_unit(value, &scaled, number));
    } else if (strcmp(unit, "ns") == 0) {
        scaled = number_unit_duration(value);
        text_append(out, number_format_unit(value, &scaled, number));
    } else {
        return false;
    }
    return true;
}

void html_reading_value(struct text *out, const struct reading *reading)
{
    char number[NUMBER_SIZE];

    if (!reading || (reading->status != READING_MEASURED && reading->status != READING_DECLARED))
        return;
    if (reading->type == READING_TEXT) {
        escape_html(out, reading->text ? reading->text : "");
        return;
    }
    if (append_with_unit(
            out, reading->type == READING_INTEGER ? (double)reading->integer : reading->real,
            reading->unit))
        return;
    if (reading->type == READING_INTEGER)
        text_append_format(out, "%lld", (long long)reading->integer);
    else
        text_append(out, number_format(reading->real, number));
    if (reading->unit) {
        text_append_char(out, ' ');
        escape_html(out, reading->unit);
    }
}

void html_reading(struct text *out, const struct reading *reading)
{
    if (!reading) {
        html_known(out, NULL);
    } else if (reading->status == READING_MEASURED || reading->status == READING_DECLARED) {
        if (reading->type == READING_TEXT && (!reading->text || !*reading->text))
            text_append(out, "<span class=\"none\">empty</span>");
        html_reading_value(out, reading);
        if (reading->status == READING_DECLARED)
            text_append(out, " <span class=\"soft\">(declared)</span>");
    } else {
        text_append_format(out, "<span class=\"none\">%s: ",
                           reading->status == READING_NOT_APPLICABLE
                               ? "not applicable"
                               : reading_status_name(reading->status));
        escape_html(out, reading->reason && *reading->reason ? reading->reason : "no reason given");
        text_append(out, "</span>");
    }
}

void html_reading_table(struct text *out, const char *caption, const struct reading_list *readings)
{
    text_append(out, "<div class=\"scroll\"><table class=\"tight fixed\"><caption>");
    escape_html(out, caption);
    text_append(
        out,
        "</caption><colgroup><col class=\"w25\"><col><col class=\"w30\"></colgroup><thead><tr><th "
        "scope=\"col\">Reading</th><th scope=\"col\">Value</th>"
        "<th scope=\"col\">Source</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < readings->count; ++i) {
        const struct reading *reading = &readings->items[i];

        text_append(out, "<tr><th scope=\"row\" class=\"wrap\">");
        escape_html_name(out, reading->name);
        text_append(out, "</th><td class=\"wrap\">");
        html_reading(out, reading);
        text_append(out, "</td><td class=\"soft wrap\">");
        if (reading->source && *reading->source)
            escape_html_name(out, reading->source);
        else
            html_known(out, NULL);
        text_append(out, "</td></tr>\n");
    }
    text_append(out, "</tbody></table></div>\n");
}

void html_fact_begin(struct text *out, const char *label)
{
    text_append(out, "<div><dt>");
    escape_html(out, label);
    text_append(out, "</dt><dd>");
}

void html_fact_end(struct text *out)
{
    text_append(out, "</dd></div>\n");
}

void html_tool(struct text *out, const char *label, const struct view_campaign *campaign)
{
    html_fact_begin(out, label);
    text_append(out, "assay ");
    html_known(out, campaign->tool_version);
    text_append_char(out, ' ');
    html_digest(out, campaign->tool_digest);
    html_fact_end(out);
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

static bool same_string(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool html_reading_equal(const struct reading *a, const struct reading *b)
{
    if (!a || !b || a->status != b->status)
        return false;
    if (a->status != READING_MEASURED && a->status != READING_DECLARED)
        return same_string(a->reason, b->reason);
    if (a->type != b->type || !same_string(a->unit, b->unit))
        return false;
    switch (a->type) {
    case READING_TEXT:
        return same_string(a->text, b->text);
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
