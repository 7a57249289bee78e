/* One result: its number, its figures, and their context. */
#include "reports/html_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "reports/citation.h"
#include "reports/remarks.h"

static void say_heading(struct doc *doc, const struct view_cell *cell)
{
    AUTO_FREE char *id = phrase_result_id(cell);

    doc_say(doc, "eyebrow", "Result {link #%s %s}", id ? id : "", cell->result);
    doc_add(doc, "%s {soft %s", cell->workload ? cell->workload : "workload not recorded",
            cell->precision);
    if (cell->batch.known)
        doc_add(doc, ", batch %lld", (long long)cell->batch.value);
    doc_heading(doc, 3, NULL, "%s, %s}", cell->variant, cell->device_spec);
    if (cell->workload_description)
        doc_say(doc, "soft", "%s", cell->workload_description);
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
        html_phrase(out, "%s", view_no_value_reason(cell));
        text_append(out, "</p></div>\n");
        return;
    }
    text_append_format(out, "<p class=\"big%s\">%s%s<span class=\"unit\">",
                       figure.marked ? " marked" : "", figure.marked ? "(" : "", figure.number);
    html_phrase(out, "%s%s", figure.unit, figure.of);
    text_append_format(out, "</span>%s</p><p class=\"spread\">", figure.marked ? ")" : "");
    if (figure.ends[0])
        html_phrase(out, "%s \u00b7 %s \u00b7 %g %% interval%s", figure.spread, figure.ends,
                    cell->estimate->confidence * 100,
                    cell->estimate->trial_count > 1 ? ", between trials" : ", within one trial");
    else
        html_phrase(out, cell->imported.present
                             ? "as its file says"
                             : "without a confidence interval; see the findings");
    if (figure.grade[0])
        html_phrase(out, " \u00b7 grade %s (%s)", figure.grade, metric_grade_label(value->grade));
    text_append(out, "</p></div>\n");
}

static void say_amendments(struct doc *doc, const struct view_cell *cell)
{
    EACH(amendment, cell->amendments) {
        AUTO_FREE char *words = view_amendment_words(amendment);

        doc_note(doc, "note", "This result was %s", words);
    }
}

static void say_verdict(struct doc *doc, const struct view_cell *cell)
{
    AUTO_FREE char *imported = cell->imported.present ? view_imported_words(cell) : NULL;
    const char *limit = view_no_evidence_words(cell);
    CLEANUP(text_finish) struct text cache = TEXT_INIT;

    if (cell->imported.present) {
        doc_note(doc, "note stop", "%s", imported ? imported : "Imported: not measured by assay.");
        return;
    }
    text_append_format(doc->out, "<p class=\"verdict\"><b class=\"%s\">",
                       !cell->estimate        ? "soft"
                       : view_is_steady(cell) ? "good"
                                              : "care");
    html_phrase(doc->out, "%s", view_verdict_label(cell));
    text_append(doc->out, "</b> ");
    doc_add(doc, "{soft \u00b7 %zu of ", cell->ok_count);
    if (cell->trials_planned.known)
        doc_add(doc, "%lld", (long long)cell->trials_planned.value);
    else
        doc_add(doc, "?");
    doc_add(doc, " planned trials completed%s%s}", limit ? " \u00b7 " : "", limit ? limit : "");
    doc_html_phrases(doc->out, doc->block.data);
    text_clear(&doc->block);
    text_append(doc->out, "</p>\n");
    if (cell->device.simulated)
        doc_note(doc, "note stop",
                 "{bold Simulated device.} This tests the tool and says nothing of any hardware.");
    if (view_cache_words(cell, &cache) == VIEW_CACHE_HOLDS)
        doc_note(doc, "note", "%s", cache.data);
    else if (cache.length > 0)
        doc_say(doc, "soft", "%s", cache.data);
    doc->out->failed |= cache.failed;
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

static void say_metric(struct doc *doc, const struct view_cell *cell, enum metric_id id)
{
    const struct metric_value *value = view_metric(cell, id);
    const char *label = metrics[id].label, *note = note_of(cell, id);
    char count[NUMBER_SIZE];
    struct view_figure figure;

    if (view_figure_of(id, value, &figure))
        doc_say(doc, NULL, "%s\t%s{soft %s%s%s}", label, figure.value,
                figure.ends[0] ? figure.ends : "no interval", *note ? "; " : "", note);
    else if (value->needed)
        doc_say(doc, NULL, "%s\tnot reported{soft needs %s samples}", label,
                number_format_count((int64_t)value->needed, count));
    else
        doc_say(doc, NULL, "%s\tnot reported", label);
}

static void say_figures(struct doc *doc, const struct view_cell *cell)
{
    const struct estimate *estimate = cell->estimate;
    const double within = estimate ? estimate->variance.iteration : NAN,
                 between = estimate ? estimate->variance.process : NAN;
    char value[NUMBER_SIZE], percent[NUMBER_SIZE];

    if (!estimate || cell->imported.present)
        return;
    doc_open(doc, DOC_FACTS, "figures");
    for (int i = 0; i < METRIC_COUNT; ++i)
        if (view_metric(cell, (enum metric_id)i))
            say_metric(doc, cell, (enum metric_id)i);
    if (isfinite(within) || isfinite(between))
        doc_say(doc, NULL, "sd within a trial\t%s{soft between trials%s%s}",
                isfinite(within) ? number_format_percent(sqrt(fmax(within, 0)), value) : "unknown",
                isfinite(between) ? " " : "",
                isfinite(between) ? number_format_percent(sqrt(fmax(between, 0)), percent)
                                  : ": needs several");
    if (isfinite(estimate->ess))
        doc_say(doc, NULL, "effective samples\t%s{soft independent samples that tell as much}",
                number_format_count((int64_t)estimate->ess, value));
    doc_close(doc);
}

static void say_warning(void *context, enum finding_severity severity, const char *warning)
{
    struct doc *doc = context;
    char look[32];

    snprintf(look, sizeof(look), "wrap %s", finding_severity_name(severity));
    doc_say(doc, look, "%s", warning);
}

static void say_warnings(struct doc *doc, const struct view_cell *cell)
{
    if (!remarks_has_any(cell))
        return;
    doc_heading(doc, 4, NULL, "Findings");
    doc_open(doc, DOC_LIST, "remarks");
    remarks_of_cell(cell, say_warning, doc);
    doc_close(doc);
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

static void say_counted(void *context, const char *label, const char *words)
{
    doc_say(context, NULL, "%s\t%s", label, words);
}

static void say_client(struct doc *doc, const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        if (view_client_each(&cell->trials[i], NULL, NULL) == 0)
            continue;
        doc_add(doc, "Client in trial %lld, without what is 0", (long long)cell->trials[i].number);
        doc_open(doc, DOC_FOLD, "extra");
        doc_open(doc, DOC_FACTS, "facts");
        view_client_each(&cell->trials[i], say_counted, doc);
        doc_close(doc);
        doc_close(doc);
    }
}

static void say_citation(struct doc *doc, const struct view_cell *cell,
                         const struct view_campaign *campaign)
{
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    citation_append(&line, campaign, cell);
    doc_say(doc, "cite", "{soft Cite as ({code assay show %s%s%s} resolves it)}{code %s}",
            cell->result, cell->database ? " --db " : "", cell->database ? cell->database : "",
            line.data);
    doc->out->failed |= line.failed;
}

void html_cell_summary(struct text *out, const struct view_cell *cell, bool is_open)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    CLEANUP(text_finish) struct text words = TEXT_INIT;
    struct view_figure figure;

    text_append_format(out, "<details class=\"fold\"%s><summary>", is_open ? " open=\"\"" : "");
    phrase_title(&words, cell);
    if (view_figure_of(id, view_headline(cell, &id), &figure))
        doc_phrase(&words, figure.marked ? " {bold (%s%s)}" : " {bold %s%s}", figure.value,
                   figure.of);
    else
        doc_phrase(&words, " {care %s}", view_no_value_label(cell));
    doc_phrase(&words, " {soft %s %s, %s, %s}", figure.spread, view_verdict_label(cell),
               cell->device_spec, cell->result);
    doc_html_phrases(out, words.data);
    text_append(out, "</summary>\n");
    out->failed = out->failed || words.failed;
}

enum status html_cell(struct doc *doc, struct store *store, const struct view_cell *cell,
                      const struct view_campaign *campaign, const struct html_appendix *appendix,
                      size_t marks, struct error *err)
{
    struct text *out = doc->out;

    text_append(out, "<article class=\"result\" id=\"");
    html_result_id(out, cell);
    text_append(out, "\">\n");
    say_heading(doc, cell);
    text_append(out, "<div class=\"columns\"><div>\n");
    append_headline(out, cell);
    say_verdict(doc, cell);
    say_amendments(doc, cell);
    say_figures(doc, cell);
    say_warnings(doc, cell);
    if (cell->imported.present) {
        html_reading_table(doc, "What the file contains, and what it lacks",
                           &cell->device.readings);
    } else {
        TRY(html_charts(doc, store, cell, marks, err));
        html_checks(doc, cell);
        text_append(out, "<div class=\"full\">\n");
        html_attempts(doc, cell);
        say_client(doc, cell);
        append_facts(out, cell);
        text_append(out, "</div>\n");
    }
    say_citation(doc, cell, campaign);
    text_append(out, "</div>\n");
    html_context(doc, cell, campaign, appendix);
    text_append(out, "</div></article>\n");
    return text_ok(out) ? STATUS_OK : error_no_memory(err);
}
