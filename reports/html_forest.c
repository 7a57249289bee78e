/* Names of results, and the picture of all of them with their intervals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/escape.h"
#include "reports/html_pictures.h"
#include "reports/plot.h"

#define ROWS_MAX 30      /* of one picture, so that it fits a sheet of paper */
#define DECADES_FROM 20. /* largest over smallest from which an axis is logarithmic */

char *html_cell_words(const struct view_cell *cell, bool with_device)
{
    struct text words = TEXT_INIT;

    escape_terminal_short(&words, cell->workload ? cell->workload : "workload not recorded", 64);
    if (cell->precision)
        text_append_format(&words, " %.40s", cell->precision);
    if (cell->batch.known && cell->batch.value != 1)
        text_append_format(&words, " batch %lld", (long long)cell->batch.value);
    text_append(&words, cell->variant);
    if (with_device)
        text_append_format(&words, ", %.40s", cell->device_spec ? cell->device_spec : "?");
    return text_steal(&words);
}

/* Those that one axis shows: of one metric, in one base unit. */
struct group {
    enum metric_id id;
    const char *unit;
    double lo, hi; /* of the values */
};

static bool is_of(const struct group *group, const struct view_cell *cell)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    const struct metric_value *value = view_headline(cell, &id);

    return value && id == group->id && strcmp(value->unit, group->unit) == 0;
}

/* Draws up to ROWS_MAX results of the group from cell `*next` on. */
static void append_figure(struct text *out, const struct view *view, const struct group *group,
                          bool with_device, size_t figure, size_t *next)
{
    struct plot_row rows[ROWS_MAX];
    char *labels[ROWS_MAX], values[ROWS_MAX][HTML_ROW_SIZE];
    const struct metric_value largest = {.value = group->hi, .unit = ""};
    struct metric_value scaled = largest;
    struct number_unit unit;
    struct plot_rows plot = {.rows = rows, .reference = NAN, .band_lo = NAN, .band_hi = NAN};
    struct text description = TEXT_INIT;
    char id[32];
    size_t i;

    text_append(&description, "One row per result, a mark with its interval:");
    snprintf(scaled.unit, sizeof(scaled.unit), "%s", group->unit);
    unit = view_metric_unit(group->id, &scaled);
    for (i = *next; i < view->cell_count && plot.count < ROWS_MAX; ++i) {
        const struct view_cell *cell = &view->cells[i];

        if (!is_of(group, cell))
            continue;
        labels[plot.count] = html_cell_words(cell, with_device);
        rows[plot.count] = html_row_of(
            cell, group->id, labels[plot.count] ? labels[plot.count] : "", values[plot.count]);
        text_append_format(&description, "%s %s %s", plot.count ? ";" : "", rows[plot.count].label,
                           values[plot.count]);
        out->failed = out->failed || !labels[plot.count];
        ++plot.count;
    }
    *next = i;
    plot.heading = "Results with their intervals";
    plot.description = text_ok(&description) ? description.data : "";
    plot.axis = plot_axis_new(NULL, unit, group->lo > 0 && group->hi > DECADES_FROM * group->lo);
    snprintf(id, sizeof(id), "forest-%zu", figure);
    if (plot.count > 0) {
        text_append(out, "<figure>");
        plot_rows(out, id, &plot);
        text_append(out, "</figure>\n");
    }
    for (i = 0; i < plot.count; ++i)
        free(labels[i]);
    out->failed = out->failed || description.failed;
    text_finish(&description);
}

/* The groups in the order of their first results; returns how many. */
static size_t groups_of(const struct view *view, struct group *ret)
{
    size_t count = 0;

    for (size_t i = 0; i < view->cell_count; ++i) {
        enum metric_id id = METRIC_ITERATION_TIME;
        const struct metric_value *value = view_headline(&view->cells[i], &id);
        size_t g = 0;

        if (!value)
            continue;
        while (g < count && !is_of(&ret[g], &view->cells[i]))
            ++g;
        if (g == count)
            ret[count++] = (struct group){id, value->unit, value->value, value->value};
        ret[g].lo = fmin(ret[g].lo, value->value);
        ret[g].hi = fmax(ret[g].hi, value->value);
    }
    return count;
}

void html_forest(struct text *out, const struct view *view)
{
    struct group *groups = calloc(view->cell_count + 1, sizeof(*groups));
    size_t count = groups ? groups_of(view, groups) : 0, figures = 0;
    bool with_device = false;

    out->failed = out->failed || !groups;
    for (size_t i = 1; i < view->cell_count; ++i) {
        const char *a = view->cells[0].device_spec, *b = view->cells[i].device_spec;

        with_device = with_device || strcmp(a ? a : "", b ? b : "") != 0;
    }
    if (count > 0)
        text_append(out, "<div class=\"picture\"><div class=\"charts\">\n");
    for (size_t g = 0; g < count; ++g)
        for (size_t next = 0; next < view->cell_count;)
            append_figure(out, view, &groups[g], with_device, figures++, &next);
    if (count > 0)
        text_append_format(out,
                           "</div>\n<p class=\"soft\"><small>A mark per result, a bar for its "
                           "interval; a hollow mark only indicates a level.%s <a "
                           "href=\"#results\">The ids to cite</a> follow.</small></p></div>\n",
                           view->cell_count > 1
                               ? " Results of different workloads share an axis to "
                                 "save room, not to be ranked."
                               : "");
    free(groups);
}
