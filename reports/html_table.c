/* The table of results: rows grouped by device, remarks below it. */
#include "reports/html_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "reports/escape.h"
#include "reports/remarks.h"
#include "reports/serving_table.h"

static void append_group(struct text *out, const struct view *view, const struct view_cell *cell)
{
    text_append(out, "<tr class=\"group\"><th colspan=\"10\" scope=\"rowgroup\">");
    escape_html_short(out, cell->device.name ? cell->device.name : "device not recorded", 120);
    text_append(out, " <span class=\"soft\">");
    escape_html(out, cell->device_spec);
    if (cell->device.simulated)
        text_append(out, ", simulated");
    if (cell->imported.present)
        text_append(out, ", imported");
    if (view->campaign_count > 1) {
        text_append(out, ", campaign ");
        escape_html_short(out, view->campaigns[cell->campaign].uid, 9);
    }
    text_append(out, "</span></th></tr>\n");
}

static void append_refs(struct text *out, const struct remarks *remarks, size_t cell)
{
    size_t refs[16], count = remarks_of(remarks, cell, refs, 16);

    if (count == 0)
        return;
    text_append(out, "<sup class=\"ref\">");
    for (size_t i = 0; i < count; ++i)
        text_append_format(out, "%s<a href=\"#remark-%zu\">%zu</a>", i ? "," : "", refs[i],
                           refs[i]);
    text_append(out, "</sup>");
}

static void append_metric(struct text *out, const struct view_cell *cell, enum metric_id id)
{
    struct view_figure figure;

    text_append_format(
        out, "</td><td class=\"num %s\">%s", id == METRIC_REFERENCE_RATIO ? "ratio" : "time",
        view_figure_of(id, view_metric(cell, id), &figure) ? figure.value
                                                           : "<span class=\"soft\">\u2013</span>");
}

static void append_row(struct text *out, const struct view_cell *cell,
                       const struct remarks *remarks, size_t index, bool has_ratio)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    const struct metric_value *value = view_headline(cell, &id);
    struct view_figure figure;
    long long planned = cell->trials_planned.known ? cell->trials_planned.value : 0;

    text_append(out, "<tr><th scope=\"row\" class=\"wrap\"><a href=\"#");
    html_result_id(out, cell);
    text_append(out, "\">");
    if (cell->workload && text_columns(cell->workload) <= 64)
        escape_html_name(out, cell->workload);
    else
        escape_html_short(out, cell->workload ? cell->workload : "workload not recorded", 64);
    text_append(out, "</a>");
    escape_html(out, cell->variant);
    text_append(out, "</th><td>");
    html_known(out, cell->precision);
    text_append(out, "</td><td class=\"num batch\">");
    if (cell->batch.known)
        text_append_format(out, "%lld", (long long)cell->batch.value);
    else
        html_known(out, NULL);
    if (view_figure_of(id, value, &figure)) {
        text_append_format(out, "</td><td class=\"value%s\">%s%s%s", figure.marked ? " marked" : "",
                           figure.marked ? "(" : "", figure.number, *figure.unit ? " " : "");
        escape_html(out, figure.unit);
        text_append_format(out, "%s%s</td><td class=\"spread\">%s", figure.of,
                           figure.marked ? ")" : "",
                           *figure.spread           ? figure.spread
                           : cell->imported.present ? "as its file says"
                                                    : "no interval");
    } else {
        text_append_format(out, "</td><td class=\"value care\">%s</td><td class=\"spread\">",
                           view_no_value_label(cell));
        escape_html(out, view_no_value_reason(cell));
    }
    append_refs(out, remarks, index);
    if (has_ratio)
        append_metric(out, cell, METRIC_REFERENCE_RATIO);
    append_metric(out, cell, METRIC_ITERATION_TIME);
    text_append_format(out, "</td><td class=\"num grade\">%s</td><td class=\"%s\">", figure.grade,
                       !cell->estimate        ? "soft"
                       : view_is_steady(cell) ? "good"
                                              : "care");
    escape_html(out, view_verdict_label(cell));
    if (cell->imported.present)
        text_append(out, "</td><td class=\"num soft\">\u2013</td></tr>\n");
    else
        text_append_format(out, "</td><td class=\"num%s\">%zu/%lld</td></tr>\n",
                           view_is_unsupported(cell)             ? " soft"
                           : cell->run == VIEW_RUN_RUNNING       ? " soft"
                           : (long long)cell->ok_count < planned ? " bad"
                                                                 : "",
                           cell->ok_count, planned);
}

/* True when the cells share a group of the table. */
static bool same_group(const struct view_cell *a, const struct view_cell *b)
{
    const char *an = a->device.name ? a->device.name : "",
               *bn = b->device.name ? b->device.name : "";
    const char *as = a->device_spec ? a->device_spec : "",
               *bs = b->device_spec ? b->device_spec : "";

    return a->campaign == b->campaign && strcmp(an, bn) == 0 && strcmp(as, bs) == 0;
}

/* "95 % interval" where all estimates say so, else "Interval". */
static void append_interval_heading(struct text *out, const struct view *view)
{
    double confidence = 0;

    for (size_t i = 0; i < view->cell_count; ++i) {
        const struct estimate *estimate = view->cells[i].estimate;
        double own = estimate && estimate->confidence > 0 ? estimate->confidence : 0;

        if (own > 0 && confidence > 0 && own != confidence)
            confidence = -1;
        else if (own > 0 && confidence == 0)
            confidence = own;
    }
    if (confidence > 0)
        text_append_format(out, "%.4g %% interval", 100 * confidence);
    else
        text_append(out, "Interval");
}

void html_results(struct doc *doc, const struct view *view)
{
    struct text *out = doc->out;
    AUTO_FREE bool *done = calloc(view->cell_count ? view->cell_count : 1, sizeof(*done));
    const bool has_ratio = view_any_metric(view, METRIC_REFERENCE_RATIO);
    CLEANUP(remarks_finish) struct remarks remarks = {0};

    if (!done) {
        out->failed = true;
        return;
    }
    remarks_init(&remarks);
    for (size_t i = 0; i < view->cell_count; ++i)
        remarks_add_cell(&remarks, i, &view->cells[i]);
    remarks_render(&remarks);
    text_append(
        out,
        "<div class=\"scroll\"><table class=\"results\"><caption>One row per result. An interval "
        "is relative to its result; ± is its larger side. Grades: A within 1 %, B within 5 %, C "
        "within "
        "20 %, D an indication only, in parentheses. Results of different workloads, "
        "precisions or protocols are not to be compared, and none are averaged.</caption>"
        "<thead><tr>"
        "<th scope=\"col\">Workload</th><th scope=\"col\">Precision</th>"
        "<th scope=\"col\" class=\"num\">Batch</th><th scope=\"col\" class=\"num\">Result</th>"
        "<th scope=\"col\">");
    append_interval_heading(out, view);
    text_append(out,
                has_ratio ? "</th><th scope=\"col\" class=\"num\">/ reference loop</th>" : "</th>");
    text_append(out, "<th scope=\"col\" class=\"num\">Per iteration</th>"
                     "<th scope=\"col\" class=\"num\">Grade</th>"
                     "<th scope=\"col\">Verdict</th><th scope=\"col\" class=\"num\">Trials</th>"
                     "</tr></thead><tbody>\n");
    for (size_t i = 0; i < view->cell_count; ++i) {
        if (done[i])
            continue;
        append_group(out, view, &view->cells[i]);
        for (size_t j = i; j < view->cell_count; ++j) {
            if (done[j] || !same_group(&view->cells[i], &view->cells[j]))
                continue;
            done[j] = true;
            append_row(out, &view->cells[j], &remarks, j, has_ratio);
        }
    }
    text_append(out, "</tbody></table></div>\n");
    serving_table(doc, view, false);
    if (remarks.count) {
        text_append(out, "<ol class=\"remarks\">\n");
        for (size_t i = 0; i < remarks.count; ++i) {
            text_append_format(out, "<li id=\"remark-%zu\">", i + 1);
            html_phrase(out, "%s", remarks.items[i].text);
            text_append(out, "</li>\n");
        }
        text_append(out, "</ol>\n");
    }
    out->failed = out->failed || remarks.failed;
}
