/* Outcomes of a result's checks, and every attempt at its trials. */
#include "reports/html_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/escape.h"

/* Outcomes of the trials' checks of one output, phase and metric. */
struct check_row {
    const struct view_check *first;
    double worst;           /* NAN: see worst_text */
    const char *worst_text; /* an error that is no number, when there was one */
    size_t made, passed;
};

#define CHECK_ROWS_MAX 256

static bool same_check(const struct view_check *a, const struct view_check *b)
{
    return strcmp(a->output, b->output) == 0 && strcmp(a->phase, b->phase) == 0 &&
           strcmp(a->metric, b->metric) == 0;
}

/* Rows in the order in which they were first made; `ret_more` counts checks beyond the last row. */
static size_t merge_checks(const struct view_cell *cell, struct check_row *rows, size_t *ret_more)
{
    size_t count = 0;

    *ret_more = 0;
    for (size_t t = 0; t < cell->trial_count; ++t) {
        for (size_t c = 0; c < cell->trials[t].check_count; ++c) {
            const struct view_check *check = &cell->trials[t].checks[c];
            size_t at = 0;

            while (at < count && !same_check(rows[at].first, check))
                ++at;
            if (at == CHECK_ROWS_MAX) {
                ++*ret_more;
                continue;
            }
            if (at == count)
                rows[count++] = (struct check_row){.first = check, .worst = check->error};
            rows[at].worst = fmax(rows[at].worst, check->error);
            if (!rows[at].worst_text)
                rows[at].worst_text = check->error_text;
            ++rows[at].made;
            rows[at].passed += check->passed;
        }
    }
    return count;
}

static bool same_reason(const struct check_row *a, const struct check_row *b)
{
    return a->first->reason && b->first->reason && strcmp(a->first->reason, b->first->reason) == 0;
}

/* `span` rows share the reason that is printed here; 0: an earlier row has printed it. */
static void append_check(struct text *out, const struct check_row *row, size_t span)
{
    const struct view_check *check = row->first;
    const char *tone = row->passed < row->made ? "bad" : "good";
    char number[NUMBER_SIZE];

    text_append_format(out, "<tr><th scope=\"row\"%s>",
                       strlen(check->output) > 40 ? " class=\"wrap\"" : "");
    escape_html(out, check->output);
    text_append(out, "</th><td>");
    escape_html(out, strcmp(check->phase, "verify_before") == 0  ? "before"
                     : strcmp(check->phase, "spot_check") == 0   ? "within"
                     : strcmp(check->phase, "verify_after") == 0 ? "after"
                                                                 : check->phase);
    text_append(out, "</td><td>");
    escape_html(out, check->metric);
    text_append_format(out, "</td><td class=\"num%s\">", row->passed < row->made ? " bad" : "");
    if (row->worst_text)
        escape_html(out, row->worst_text);
    else
        text_append(out, isnan(row->worst) ? "not recorded"
                                           : number_format_scientific(row->worst, number));
    text_append(out, "</td><td class=\"num\">");
    text_append(out, isnan(check->tolerance) ? "not recorded"
                                             : number_format_scientific(check->tolerance, number));
    text_append_format(out, "</td><td class=\"num %s\">%zu/%zu</td>", tone, row->passed, row->made);
    if (span) {
        text_append_format(out, "<td class=\"soft\" rowspan=\"%zu\">", span);
        html_known(out, check->reason);
        text_append(out, "</td>");
    }
    text_append(out, "</tr>\n");
}

/* All checks in a sentence: how many passed, and how close the worst came to its tolerance. */
static void append_check_summary(struct text *out, const struct check_row *rows, size_t count)
{
    size_t made = 0, passed = 0;
    double nearest = -1;
    char number[NUMBER_SIZE];

    for (size_t i = 0; i < count; ++i) {
        double share = rows[i].worst / rows[i].first->tolerance;

        made += rows[i].made;
        passed += rows[i].passed;
        if (isfinite(share) && share > nearest)
            nearest = share;
    }
    text_append_format(out, "<p><b class=\"%s\">%zu of %zu comparisons passed.</b>",
                       passed < made ? "bad" : "good", passed, made);
    if (nearest >= 0)
        text_append_format(out, " The largest error came to %s of its tolerance.",
                           number_format_percent(nearest, number));
    text_append(out, "</p>\n");
}

/* More rows than this are folded away, unless a check failed. */
#define CHECK_ROWS_SHOWN 8

static bool all_passed(const struct check_row *rows, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (rows[i].passed < rows[i].made)
            return false;
    return true;
}

void html_checks(struct text *out, const struct view_cell *cell)
{
    struct check_row *rows = calloc(CHECK_ROWS_MAX, sizeof(*rows));
    size_t more, count;
    bool folded;

    if (!rows) {
        out->failed = true;
        return;
    }
    count = merge_checks(cell, rows, &more);
    text_append(out, cell->kind && !strcmp(cell->kind, "endpoint")
                         ? "<h4>Answers, without a reference</h4>\n"
                         : "<h4>Outputs against the reference</h4>\n");
    if (count == 0) {
        text_append(out, "<p class=\"none\">no check recorded</p>\n");
        free(rows);
        return;
    }
    append_check_summary(out, rows, count);
    folded = count > CHECK_ROWS_SHOWN && all_passed(rows, count);
    if (folded)
        text_append_format(out, "<details><summary>All %zu</summary>", count);
    text_append(
        out, "<div class=\"scroll\"><table class=\"tight spans\"><caption>Largest error over all "
             "trials, "
             "compared with the fp64 reference before the warmup and after the window</caption>"
             "<thead><tr><th scope=\"col\">Output</th><th scope=\"col\">When</th>"
             "<th scope=\"col\">Metric</th><th scope=\"col\" class=\"num\">Error</th>"
             "<th scope=\"col\" class=\"num\">Tolerance</th><th scope=\"col\" class=\"num\">Passed"
             "</th><th scope=\"col\">Reason for the tolerance</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < count; ++i) {
        size_t span = 0;

        if (i == 0 || !same_reason(&rows[i], &rows[i - 1]))
            for (span = 1; i + span < count && same_reason(&rows[i], &rows[i + span]);)
                ++span;
        append_check(out, &rows[i], span);
    }
    text_append(out, folded ? "</tbody></table></div></details>\n" : "</tbody></table></div>\n");
    if (more)
        text_append_format(out, "<p class=\"soft\">%zu further checks are in the database.</p>\n",
                           more);
    free(rows);
}

static void append_duration(struct text *out, const struct view_trial *trial, const char *phase)
{
    char number[NUMBER_SIZE];

    for (size_t i = 0; i < trial->phase_count; ++i) {
        if (strcmp(trial->phases[i].name, phase) == 0) {
            double ns = (double)trial->phases[i].end_ns - (double)trial->phases[i].begin_ns;
            struct number_unit unit = number_unit_duration(ns);

            doc_phrase(out, "%s %s", number_format_digits(ns / unit.factor, 3, number), unit.name);
            return;
        }
    }
    doc_phrase(out, "{soft \u2013}");
}

/* "completed, steady", and what is to be said of it. */
static void append_outcome(struct text *out, const struct view_cell *cell,
                           const struct view_trial *trial)
{
    doc_phrase(out,
               trial->ok                                         ? "{good %s}"
               : !trial->status && cell->run == VIEW_RUN_RUNNING ? "{soft %s}"
                                                                 : "{bad %s}",
               view_trial_label(cell, trial));
    if (trial->estimate)
        doc_phrase(out, ", {soft %s}", estimate_verdict_label(trial->estimate->verdict));
    if (trial->ok && !trial->estimate && cell->estimate)
        doc_phrase(out, " {soft (a later attempt counts)}");
    if (trial->message && *trial->message)
        doc_phrase(out, "\n{soft %s}", trial->message);
    if (trial->signal.known && trial->signal.value > 0)
        doc_phrase(out, " {soft (signal %lld)}", (long long)trial->signal.value);
}

static void say_attempt(struct doc *doc, const struct view_cell *cell,
                        const struct view_trial *trial)
{
    const struct view_count *samples = &trial->samples, *memory = &trial->max_rss_bytes;
    char number[NUMBER_SIZE];

    doc_add(doc, "%lld", (long long)trial->number);
    if (trial->attempt.known && trial->attempt.value > 1)
        doc_add(doc, "\u00a0{soft (attempt\u00a0%lld)}", (long long)trial->attempt.value);
    doc_add(doc, "\t");
    phrase_time(&doc->block, &trial->started_utc_ns);
    doc_add(doc, "\t%s\t", samples->known ? number_format_count(samples->value, number) : "\u2013");
    append_duration(&doc->block, trial, "warmup");
    doc_add(doc, "\t");
    append_duration(&doc->block, trial, "window");
    doc_add(doc, "\t%s\t",
            memory->known ? number_format_bytes((double)memory->value, number) : "\u2013");
    append_outcome(&doc->block, cell, trial);
    doc_end(doc, NULL);
}

void html_attempts(struct doc *doc, const struct view_cell *cell)
{
    static const struct doc_column columns[] = {
        {"Trial", DOC_NAME},    {"Started", DOC_WHOLE}, {"Samples", DOC_NUMBER},
        {"Warmup", DOC_NUMBER}, {"Window", DOC_NUMBER}, {"Peak memory", DOC_NUMBER},
        {"Outcome", DOC_BREAK}};

    doc_heading(doc, 4, NULL, "All attempts");
    doc_add(doc, "%zu attempts, none left out; each a fresh process", cell->trial_count);
    doc_table(doc, "tight", columns, sizeof(columns) / sizeof(*columns));
    for (size_t i = 0; i < cell->trial_count; ++i)
        say_attempt(doc, cell, &cell->trials[i]);
    doc_close(doc);
}
