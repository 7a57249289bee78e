/* Outcomes of a result's checks, and every attempt at its trials. */
#include "reports/cell_document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"

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

/* `is_again`: its reason is that of the row before. */
static void say_check(struct doc *doc, const struct check_row *row, bool is_again)
{
    static const char *const phases[][2] = {
        {"verify_before", "before"}, {"spot_check", "within"}, {"verify_after", "after"}};
    const struct view_check *check = row->first;
    const char *phase = check->phase;
    const bool failed = row->passed < row->made;
    char error[NUMBER_SIZE], tolerance[NUMBER_SIZE];

    for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); ++i)
        if (!strcmp(check->phase, phases[i][0]))
            phase = phases[i][1];
    doc_add(doc, "%s\t%s\t%s\t", check->output, phase, check->metric);
    doc_add(doc, failed ? "{bad %s}" : "%s",
            row->worst_text     ? row->worst_text
            : isnan(row->worst) ? "not recorded"
                                : number_format_scientific(row->worst, error));
    doc_add(doc, "\t%s\t",
            isnan(check->tolerance) ? "not recorded"
                                    : number_format_scientific(check->tolerance, tolerance));
    doc_add(doc, failed ? "{bad %zu/%zu}\t" : "{good %zu/%zu}\t", row->passed, row->made);
    doc_say(doc, NULL, "{soft %s}", is_again ? "as above" : check->reason);
}

/* All checks in a sentence: how many passed, and how close the worst came to its tolerance. */
static void say_check_summary(struct doc *doc, const struct check_row *rows, size_t count)
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
    doc_add(doc,
            passed < made ? "{bold {bad %zu of %zu comparisons passed.}}"
                          : "{bold {good %zu of %zu comparisons passed.}}",
            passed, made);
    if (nearest >= 0)
        doc_add(doc, " The largest error came to %s of its tolerance.",
                number_format_percent(nearest, number));
    doc_end(doc, NULL);
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

/* What is checked of a cell, as its heading says; `ret_compares`: with a reference. */
static const char *title_of_checks(const struct view_cell *cell, bool *ret_compares)
{
    const char *kind = cell->kind ? cell->kind : "";

    *ret_compares = strcmp(kind, "endpoint") != 0 && strcmp(kind, "program") != 0;
    if (*ret_compares)
        return "Outputs against the reference";
    return !strcmp(kind, "program") ? "Runs, without a reference" : "Answers, without a reference";
}

static void say_check_table(struct doc *doc, const struct check_row *rows, size_t count,
                            bool compares)
{
    static const struct doc_column columns[] = {{"Output", DOC_NAME | DOC_BREAK},
                                                {"When", 0},
                                                {"Metric", 0},
                                                {"Error", DOC_NUMBER},
                                                {"Tolerance", DOC_NUMBER},
                                                {"Passed", DOC_NUMBER},
                                                {"Reason for the tolerance", 0}};

    doc_add(doc, compares ? "Largest error over all trials, compared with the fp64 reference "
                            "before the warmup and after the window"
                          : "Largest error over all trials");
    doc_table(doc, "tight spans", columns, sizeof(columns) / sizeof(*columns));
    for (size_t i = 0; i < count; ++i)
        say_check(doc, &rows[i], i > 0 && same_reason(&rows[i], &rows[i - 1]));
    doc_close(doc);
}

void cell_checks(struct doc *doc, const struct view_cell *cell)
{
    AUTO_FREE struct check_row *rows = calloc(CHECK_ROWS_MAX, sizeof(*rows));
    size_t more = 0, count = rows ? merge_checks(cell, rows, &more) : 0;
    const bool is_folded = count > CHECK_ROWS_SHOWN && all_passed(rows, count);
    bool compares;

    doc->out->failed |= !rows;
    doc_heading(doc, 4, NULL, "%s", title_of_checks(cell, &compares));
    if (count == 0) {
        doc_say(doc, "none", "no check recorded");
        return;
    }
    say_check_summary(doc, rows, count);
    if (is_folded) {
        doc_add(doc, "All %zu", count);
        doc_open(doc, DOC_FOLD, NULL);
    }
    say_check_table(doc, rows, count, compares);
    if (is_folded)
        doc_close(doc);
    if (more)
        doc_say(doc, "soft", "%zu further checks are in the database.", more);
}

static void append_duration(struct text *out, const struct view_trial *trial, const char *phase)
{
    char number[NUMBER_SIZE];

    for (size_t i = 0; i < trial->phase_count; ++i) {
        if (strcmp(trial->phases[i].name, phase) == 0) {
            double ns =
                (double)trial->phases[i].end_ns.value - (double)trial->phases[i].begin_ns.value;
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

void cell_attempts(struct doc *doc, const struct view_cell *cell)
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
