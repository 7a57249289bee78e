/* One result: its number, its figures, and their context. */
#include "reports/html_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/citation.h"
#include "reports/escape.h"
#include "reports/remarks.h"

static void append_heading(struct text *out, const struct view_cell *cell)
{
    text_append(out, "<p class=\"eyebrow\">Result <a href=\"#");
    html_result_id(out, cell);
    text_append(out, "\">");
    escape_html(out, cell->result);
    text_append(out, "</a></p><h3>");
    escape_html_short(out, cell->workload ? cell->workload : "workload not recorded", 120);
    text_append(out, " <span class=\"soft\">");
    html_known(out, cell->precision);
    if (cell->batch.known)
        text_append_format(out, ", batch %lld", (long long)cell->batch.value);
    escape_html(out, cell->variant);
    text_append(out, ", ");
    html_known(out, cell->device_spec);
    text_append(out, "</span></h3>\n");
    if (cell->workload_description) {
        text_append(out, "<p class=\"soft\">");
        escape_html(out, cell->workload_description);
        text_append(out, "</p>\n");
    }
}

static void append_headline(struct text *out, const struct view_cell *cell)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    const struct metric_value *value = view_headline(cell, &id);
    struct view_figure figure;

    text_append(out, "<div class=\"lead\">");
    if (!view_figure_of(id, value, &figure)) {
        text_append_format(out, "<p class=\"big none\">%s</p><p class=\"spread\">",
                           view_is_unsupported(cell) ? "Unsupported" : "No result");
        escape_html(out, view_no_value_reason(cell));
        text_append(out, "</p></div>\n");
        return;
    }
    text_append_format(out, "<p class=\"big%s\">%s%s<span class=\"unit\">",
                       figure.marked ? " marked" : "", figure.marked ? "(" : "", figure.number);
    escape_html(out, figure.unit);
    text_append_format(out, "%s</span>%s</p><p class=\"spread\">", figure.of,
                       figure.marked ? ")" : "");
    if (figure.ends[0]) {
        text_append_format(out, "%s \u00b7 ", figure.spread);
        escape_html(out, figure.ends);
        text_append_format(out, " \u00b7 %g %% interval%s", cell->estimate->confidence * 100,
                           cell->estimate->trial_count > 1 ? ", between trials"
                                                           : ", within one trial");
    } else {
        text_append(out, cell->imported.present
                             ? "as its file says"
                             : "without a confidence interval; see the findings");
    }
    if (figure.grade[0])
        text_append_format(out, " \u00b7 grade %s (%s)", figure.grade,
                           metric_grade_label(value->grade));
    text_append(out, "</p></div>\n");
}

static void append_amendments(struct text *out, const struct view_cell *cell)
{
    size_t i;
    json_t *amendment;

    json_array_foreach(cell->amendments, i, amendment)
    {
        char *words = view_amendment_words(amendment);

        text_append(out, "<div class=\"note\"><p>This result was ");
        escape_html(out, words);
        text_append(out, "</p></div>\n");
        free(words);
    }
}

static void append_verdict(struct text *out, const struct view_cell *cell)
{
    struct view_count cache;
    const enum view_cache fits = view_fits_in_cache(cell, &cache);
    char a[NUMBER_SIZE], b[NUMBER_SIZE];

    if (cell->imported.present) {
        char *words = view_imported_words(cell);

        text_append(out, "<div class=\"note stop\"><p>");
        escape_html_words(out, words ? words : "Imported: not measured by assay.");
        text_append(out, "</p></div>\n");
        free(words);
        return;
    }
    text_append(out, "<p class=\"verdict\">");
    text_append_format(out, "<b class=\"%s\">",
                       !cell->estimate        ? "soft"
                       : view_is_steady(cell) ? "good"
                                              : "care");
    escape_html(out, view_verdict_label(cell));
    text_append_format(out, "</b> \u00b7 <span class=\"soft\">%zu of ", cell->ok_count);
    if (cell->trials_planned.known)
        text_append_format(out, "%lld", (long long)cell->trials_planned.value);
    else
        text_append_char(out, '?');
    text_append(out, " planned trials completed");
    if (view_no_evidence_words(cell))
        text_append_format(out, " \u00b7 %s", view_no_evidence_words(cell));
    text_append(out, "</span></p>\n");
    if (cell->device.simulated)
        text_append(
            out,
            "<div class=\"note stop\"><p><b>Simulated device.</b> This tests the tool and says "
            "nothing of any hardware.</p></div>\n");
    if (fits == VIEW_CACHE_UNKNOWN || !cell->working_set_bytes.known)
        return;
    number_format_bytes((double)cell->working_set_bytes.value, a);
    if (cache.known)
        number_format_bytes((double)cache.value, b);
    text_append_format(
        out, "%sOne iteration touches %s%s%s: %s",
        fits == VIEW_CACHE_HOLDS ? "<div class=\"note\"><p><b>Fits in cache.</b> "
                                 : "<p class=\"soft\">",
        a,
        !cache.known                  ? ""
        : fits == VIEW_CACHE_MAY_HOLD ? ", the hypervisor reports a cache of "
                                      : ", the last-level cache holds ",
        cache.known ? b : "",
        fits == VIEW_CACHE_HOLDS ? "this is the speed of the cache, not of memory.</p></div>\n"
        : fits == VIEW_CACHE_MAY_HOLD
            ? "it may fit in the cache, whose share of this machine is unknown.</p>\n"
            : "it does not fit in the cache.</p>\n");
}

static void append_figure(struct text *out, const char *label, const char *value, const char *small)
{
    text_append(out, "<div><dt>");
    escape_html(out, label);
    text_append(out, "</dt><dd>");
    escape_html(out, value);
    if (small && *small) {
        text_append(out, "<small>");
        escape_html(out, small);
        text_append(out, "</small>");
    }
    text_append(out, "</dd></div>\n");
}

/* Where a metric comes from, below its value. */
static const char *note_of(const struct view_cell *cell, enum metric_id id)
{
    const char *note = id == METRIC_BYTE_RATE ? cell->bytes_formula
                       : id == METRIC_OP_RATE ? cell->flops_formula
                       : id == METRIC_POWER   ? cell->estimate->energy_source
                                              : NULL;

    return note ? note : "";
}

static void append_metric(struct text *out, const struct view_cell *cell, enum metric_id id)
{
    const struct metric_value *value = view_metric(cell, id);
    char small[2 * NUMBER_SIZE + 200], count[NUMBER_SIZE];
    struct view_figure figure;

    if (!view_figure_of(id, value, &figure)) {
        snprintf(small, sizeof(small), value->needed ? "needs %.30s samples" : "%.0s",
                 number_format_count((int64_t)value->needed, count));
        append_figure(out, metrics[id].label, "not reported", small);
        return;
    }
    snprintf(small, sizeof(small), "%s%s%.180s", figure.ends[0] ? figure.ends : "no interval",
             *note_of(cell, id) ? "; " : "", note_of(cell, id));
    append_figure(out, metrics[id].label, figure.value, small);
}

static void append_figures(struct text *out, const struct view_cell *cell)
{
    const struct estimate *estimate = cell->estimate;
    char value[NUMBER_SIZE], small[3 * NUMBER_SIZE] = "", percent[NUMBER_SIZE];

    if (!estimate || cell->imported.present)
        return;
    text_append(out, "<dl class=\"figures\">\n");
    for (int i = 0; i < METRIC_COUNT; ++i)
        if (view_metric(cell, (enum metric_id)i))
            append_metric(out, cell, (enum metric_id)i);
    if (isfinite(estimate->variance.iteration) || isfinite(estimate->variance.process)) {
        number_format_percent(sqrt(fmax(estimate->variance.iteration, 0)), value);
        if (isfinite(estimate->variance.process))
            snprintf(small, sizeof(small), "between trials %s",
                     number_format_percent(sqrt(fmax(estimate->variance.process, 0)), percent));
        else
            snprintf(small, sizeof(small), "between trials: needs several");
        append_figure(out, "sd within a trial",
                      isfinite(estimate->variance.iteration) ? value : "unknown", small);
    }
    if (isfinite(estimate->ess))
        append_figure(out, "effective samples", number_format_count((int64_t)estimate->ess, value),
                      "independent samples that tell as much");
    text_append(out, "</dl>\n");
}

static void append_warning(void *context, enum finding_severity severity, const char *warning)
{
    struct text *out = context;

    text_append_format(out, "<li class=\"wrap %s\">", finding_severity_name(severity));
    escape_html_words(out, warning);
    text_append(out, "</li>\n");
}

static void append_warnings(struct text *out, const struct view_cell *cell)
{
    if (!remarks_has_any(cell))
        return;
    text_append(out, "<h4>Findings</h4><ul class=\"remarks\">\n");
    remarks_of_cell(cell, append_warning, out);
    text_append(out, "</ul>\n");
}

/* What the worker reported of its choices and losses. */
static void append_facts(struct text *out, const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i)
        if (cell->trials[i].estimate && json_object_size(cell->trials[i].facts)) {
            char summary[64];

            snprintf(summary, sizeof(summary), "Choices made while running (trial %lld)",
                     (long long)cell->trials[i].number);
            html_json_details(out, "extra", summary, cell->trials[i].facts);
            return;
        }
}

static void append_counted(void *context, const char *label, const char *words)
{
    html_fact_begin(context, label);
    escape_html(context, words);
    html_fact_end(context);
}

static void append_client(struct text *out, const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        if (view_client_each(&cell->trials[i], NULL, NULL) == 0)
            continue;
        text_append_format(out,
                           "<details class=\"extra\"><summary>Client in trial %lld, without what "
                           "is 0</summary><dl class=\"facts\">\n",
                           (long long)cell->trials[i].number);
        view_client_each(&cell->trials[i], append_counted, out);
        text_append(out, "</dl></details>\n");
    }
}

static void append_citation(struct text *out, const struct view_cell *cell,
                            const struct view_campaign *campaign)
{
    struct text line;

    text_init(&line);
    citation_append(&line, campaign, cell);
    text_append(out, "<p class=\"cite\"><span class=\"soft\">Cite as (<code>assay show ");
    escape_html(out, cell->result);
    text_append(out, cell->database ? " --db " : "");
    escape_html(out, cell->database);
    text_append(out, "</code> resolves it)</span><code>");
    escape_html(out, line.data);
    text_append(out, "</code></p>\n");
    out->failed = out->failed || line.failed;
    text_finish(&line);
}

enum status html_cell(struct text *out, struct store *store, const struct view_cell *cell,
                      const struct view_campaign *campaign, const struct html_appendix *appendix,
                      size_t marks, struct error *err)
{
    text_append(out, "<article class=\"result\" id=\"");
    html_result_id(out, cell);
    text_append(out, "\">\n");
    append_heading(out, cell);
    text_append(out, "<div class=\"columns\"><div>\n");
    append_headline(out, cell);
    append_verdict(out, cell);
    append_amendments(out, cell);
    append_figures(out, cell);
    append_warnings(out, cell);
    if (cell->imported.present) {
        html_reading_table(out, "What the file contains, and what it lacks",
                           &cell->device.readings);
    } else {
        TRY(html_charts(out, store, cell, marks, err));
        html_checks(out, cell);
        text_append(out, "<div class=\"full\">\n");
        html_attempts(out, cell);
        append_client(out, cell);
        append_facts(out, cell);
        text_append(out, "</div>\n");
    }
    append_citation(out, cell, campaign);
    text_append(out, "</div>\n");
    html_context(out, cell, campaign, appendix);
    text_append(out, "</div></article>\n");
    return text_ok(out) ? STATUS_OK : error_no_memory(err);
}
