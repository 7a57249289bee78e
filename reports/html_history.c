/* Results over time: those of the same work, device and protocol that the database has, too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/member.h"
#include "reports/history_document.h"
#include "reports/html_pictures.h"
#include "reports/plot.h"
#include "results/analysis/history.h"

#define RESULTS_LEAST 3
#define CHANGES_MAX 32
#define LINES_MAX ((size_t)100)

/* Whether a series is long enough, and has a result of the page. */
static bool is_shown(void *context, const json_t *rows)
{
    const struct view *view = context;

    if (json_array_size(rows) < RESULTS_LEAST)
        return false;
    EACH(row, rows)
        if (view_find(view, member_text(row, "id")))
            return true;
    return false;
}

/* The results in their order, and an upright line where a change lies. */
static void append_plot(struct text *out, const json_t *series, size_t n)
{
    const json_t *results = json_object_get(series, "results"), *newest;
    const size_t count = json_array_size(results);
    struct plot_point *points = calloc(count, sizeof(*points)), marks[2 * CHANGES_MAX];
    struct plot_curve curves[CHANGES_MAX + 1];
    double lo = INFINITY, hi = -INFINITY;
    struct number_unit unit;
    struct plot_xy plot = {.heading = "Results in the order of their times",
                           .description = "Each result with its interval; upright lines are "
                                          "changes.",
                           .curves = curves,
                           .count = 1};
    size_t changes = 0, i;
    char id[32];

    if (!points) {
        out->failed = true;
        return;
    }
    for (i = 0; i < count; i++) {
        const json_t *result = json_array_get(results, i);

        points[i] = plot_point_at((double)i + 1, member_number(result, "value"));
        points[i].y_lo = member_number(result, "lo");
        points[i].y_hi = member_number(result, "hi");
        points[i].title = member_text(result, "id");
        lo = fmin(lo, points[i].y);
        hi = fmax(hi, points[i].y);
    }
    newest = json_array_get(results, count - 1);
    unit = view_series_unit(series, member_number(newest, "value"));
    plot.x = plot_axis_new("result", (struct number_unit){1, ""}, false);
    plot.y = plot_axis_new(unit.name, unit, false);
    curves[0] = (struct plot_curve){.slot = 0, .dots = true, .points = points, .count = count};
    EACH(change, json_object_get(series, "changes")) {
        for (size_t k = 0; k < count && changes < CHANGES_MAX; k++)
            if (json_equal(json_object_get(change, "after"),
                           json_object_get(json_array_get(results, k), "id"))) {
                marks[2 * changes] = plot_point_at((double)k + 0.5, lo);
                marks[2 * changes + 1] = plot_point_at((double)k + 0.5, hi);
                curves[plot.count++] = (struct plot_curve){
                    .slot = PLOT_ACCENT, .line = true, .points = &marks[2 * changes++], .count = 2};
            }
    }
    snprintf(id, sizeof(id), "history-%zu", n);
    text_append(out, "<div class=\"charts\"><figure>");
    plot_xy(out, id, &plot);
    text_append(out, "</figure></div>\n");
    free(points);
}

enum status html_history(struct doc *doc, struct store *store, struct view *view, struct error *err)
{
    const struct history_query query = {
        .filter = {.hide_archived = true}, .wants = is_shown, .context = view};
    json_auto_t *all = NULL;

    TRY(history_make(store, &query, &all, err));
    if (json_array_size(all) == 0)
        return STATUS_OK;
    doc_heading(doc, 2, "history", "History");
    doc_open(doc, DOC_GROUP, "series");
    EACH(series, all) {
        const size_t count = json_array_size(json_object_get(series, "results"));

        doc_open(doc, DOC_GROUP, "picture");
        doc_heading(doc, 3, NULL, "%.64s %s {soft %.60s}", member_text(series, "workload"),
                    member_text(series, "precision"), member_text(series, "device"));
        append_plot(doc->out, series, series_at + 1);
        history_changes(doc, series, NULL);
        doc_add(doc, "The last %zu results, with what differs from the one before",
                count < LINES_MAX ? count : LINES_MAX);
        doc_open(doc, DOC_FOLD, NULL);
        history_results(doc, series, LINES_MAX);
        doc_close(doc);
        doc_close(doc);
    }
    doc_close(doc);
    return STATUS_OK;
}
