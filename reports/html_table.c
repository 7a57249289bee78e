/* The table of results: rows grouped by device, remarks below it. */
#include "reports/html_internal.h"

#include <stdlib.h>
#include <string.h>

#include "reports/escape.h"
#include "reports/remarks.h"

bool html_headline(const struct view_cell *cell, char value[NUMBER_SIZE], char unit[NUMBER_SIZE],
                   char spread[NUMBER_SIZE])
{
    char base_buffer[VIEW_UNIT_SIZE];
    const char *base;
    const struct view_interval *headline = view_headline(cell, base_buffer, &base);
    struct number_unit scaled;

    if (!headline)
        return false;
    scaled = base ? number_unit_rate(headline->value, base) : number_unit_duration(headline->value);
    number_format_rounded(headline->value / scaled.factor, view_digits(headline), value);
    memcpy(unit, scaled.name, NUMBER_SIZE);
    spread[0] = '\0';
    if (headline->has_interval)
        number_format_half_width(headline->value, headline->lo, headline->hi, spread);
    return true;
}

static void append_group(struct text *out, const struct view *view, const struct view_cell *cell)
{
    text_append(out, "<tr class=\"group\"><th colspan=\"8\" scope=\"rowgroup\">");
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

static void append_row(struct text *out, const struct view_cell *cell,
                       const struct remarks *remarks, size_t index)
{
    char value[NUMBER_SIZE], unit[NUMBER_SIZE], spread[NUMBER_SIZE], time[NUMBER_SIZE];
    const struct view_interval *iteration = &cell->estimate.iteration_ns;
    long long planned = cell->planned.known ? cell->planned.value : 0;

    text_append(out, "<tr><th scope=\"row\" class=\"wrap\"><a href=\"#");
    html_result_id(out, cell);
    text_append(out, "\">");
    if (cell->workload && text_columns(cell->workload) <= 64)
        escape_html_name(out, cell->workload);
    else
        escape_html_short(out, cell->workload ? cell->workload : "workload not recorded", 64);
    text_append_format(out, "</a>%s</th><td>", view_implementation_words(cell));
    html_known(out, cell->precision);
    text_append(out, "</td><td class=\"num\">");
    if (cell->batch.known)
        text_append_format(out, "%lld", (long long)cell->batch.value);
    else
        html_known(out, NULL);
    if (html_headline(cell, value, unit, spread)) {
        text_append_format(out, "</td><td class=\"value\">%s ", value);
        escape_html(out, unit);
        text_append_format(out, "</td><td class=\"spread\">%s",
                           *spread                  ? spread
                           : cell->imported.present ? "as told"
                                                    : "no interval");
    } else {
        text_append_format(out, "</td><td class=\"value care\">%s</td><td class=\"spread\">",
                           view_is_unsupported(cell) ? "unsupported" : "no result");
        escape_html(out, view_no_headline_reason(cell));
    }
    append_refs(out, remarks, index);
    text_append(out, "</td><td class=\"num\">");
    if (iteration->has_value && cell->estimate.steady) {
        struct number_unit scaled = number_unit_duration(iteration->value);

        text_append(out, number_format_unit_digits(iteration->value, &scaled,
                                                   view_digits(iteration), time));
    } else {
        text_append(out, "<span class=\"soft\">\u2013</span>");
    }
    text_append_format(out, "</td><td class=\"%s\">",
                       !cell->estimate.present ? "soft"
                       : cell->estimate.steady ? "good"
                                               : "care");
    if (!cell->estimate.present && !cell->imported.present && cell->ok_count == 0)
        text_append(out, "\u2013");
    else
        escape_html(out, view_verdict_words(cell));
    if (cell->imported.present)
        text_append(out, "</td><td class=\"num soft\">\u2013</td></tr>\n");
    else
        text_append_format(out, "</td><td class=\"num%s\">%zu/%lld</td></tr>\n",
                           view_is_unsupported(cell)             ? " soft"
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
        double own = view->cells[i].estimate.confidence;

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

void html_results(struct text *out, const struct view *view)
{
    bool *done = calloc(view->cell_count ? view->cell_count : 1, sizeof(*done));
    struct remarks remarks;

    if (!done) {
        out->failed = true;
        return;
    }
    remarks_init(&remarks);
    for (size_t i = 0; i < view->cell_count; ++i)
        remarks_add_cell(&remarks, i, &view->cells[i]);
    text_append(
        out,
        "<div class=\"scroll\"><table class=\"results\"><caption>One row per result. An interval "
        "is relative to its result; ± is its larger side. Results of different workloads, "
        "precisions or protocols are not to be compared, and none are averaged.</caption>"
        "<thead><tr>"
        "<th scope=\"col\">Workload</th><th scope=\"col\">Precision</th>"
        "<th scope=\"col\" class=\"num\">Batch</th><th scope=\"col\" class=\"num\">Result</th>"
        "<th scope=\"col\">");
    append_interval_heading(out, view);
    text_append(out,
                "</th><th scope=\"col\" class=\"num\">Per iteration</th>"
                "<th scope=\"col\">Steady state</th><th scope=\"col\" class=\"num\">Trials</th>"
                "</tr></thead><tbody>\n");
    for (size_t i = 0; i < view->cell_count; ++i) {
        if (done[i])
            continue;
        append_group(out, view, &view->cells[i]);
        for (size_t j = i; j < view->cell_count; ++j) {
            if (done[j] || !same_group(&view->cells[i], &view->cells[j]))
                continue;
            done[j] = true;
            append_row(out, &view->cells[j], &remarks, j);
        }
    }
    text_append(out, "</tbody></table></div>\n");
    if (remarks.count) {
        text_append(out, "<ol class=\"remarks\">\n");
        for (size_t i = 0; i < remarks.count; ++i) {
            text_append_format(out, "<li id=\"remark-%zu\">", i + 1);
            escape_html_words(out, remarks.items[i].text);
            text_append(out, "</li>\n");
        }
        text_append(out, "</ol>\n");
    }
    out->failed = out->failed || remarks.failed;
    remarks_finish(&remarks);
    free(done);
}
