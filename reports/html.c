#include "reports/html.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/embed.h"
#include "harness/core/file.h"
#include "reports/dossier_internal.h"
#include "reports/escape.h"
#include "reports/html_decision.h"
#include "reports/html_internal.h"
#include "reports/html_pictures.h"
#include "reports/results_document.h"

extern const struct embed_file report_style[];

/* Marks that all charts of a page share, and how many one chart gets of them. */
#define MARKS_TOTAL 140000
#define MARKS_MIN 120
#define MARKS_MAX 2000

/* With more results each is folded below its line. */
#define UNFOLDED_MAX 3

/* Printed pages name their document and page number (ISO/IEC 17025, 7.8.2.1). */
static void append_sheet_names(struct text *out, const char *title, const char *id)
{
    static const char look[] = "font-size: 7.5pt; color: #4a4f55;";

    text_append_format(out, "@media print { @page { @bottom-left { content: \"assay: %s ", title);
    for (size_t i = 0; id && i < 8 && id[i] && strchr("0123456789abcdef", id[i]); ++i)
        text_append_char(out, id[i]);
    text_append_format(out,
                       "\"; %s } @bottom-right { content: \"sheet \" counter(page) \" of \" "
                       "counter(pages); %s } } }\n",
                       look, look);
}

void html_page_begin(struct text *out, const char *class_name, const char *title, const char *id)
{
    text_append(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'; img-src data:\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<meta name=\"generator\" content=\"assay\">\n<title>");
    escape_html(out, title);
    text_append_char(out, ' ');
    escape_html_short(out, id ? id : "", 9);
    text_append(out, "</title>\n<style>\n");
    text_append_bytes(out, report_style[0].text, report_style[0].length);
    append_sheet_names(out, title, id);
    text_append_format(out, "</style>\n</head>\n<body class=\"%s\">\n<div class=\"page\">\n",
                       class_name);
}

static void count_trials(const struct view *view, size_t campaign, size_t *ret_cells,
                         size_t *ret_ok, size_t *ret_unsupported, long long *ret_planned)
{
    *ret_cells = *ret_ok = *ret_unsupported = 0;
    *ret_planned = 0;
    for (size_t i = 0; i < view->cell_count; ++i) {
        const struct view_cell *cell = &view->cells[i];

        if (cell->campaign != campaign)
            continue;
        ++*ret_cells;
        *ret_ok += cell->ok_count;
        *ret_unsupported += view_is_unsupported(cell) ? cell->trial_count : 0;
        *ret_planned += cell->trials_planned.known && cell->trials_planned.value > 0
                            ? cell->trials_planned.value
                            : 0;
    }
}

/* The protocols of a campaign's cells, each once. */
static void append_protocols(struct text *out, const struct view *view, size_t campaign)
{
    const char *last = NULL;

    for (size_t i = 0; i < view->cell_count; ++i) {
        const struct view_cell *cell = &view->cells[i];

        if (cell->campaign != campaign ||
            (last && cell->protocol_digest && strcmp(last, cell->protocol_digest) == 0))
            continue;
        doc_phrase(out, "%s%s", last ? "; " : "", cell->protocol);
        if (cell->protocol_version.known)
            doc_phrase(out, " v%lld", (long long)cell->protocol_version.value);
        doc_phrase(out, " {digest %s}", cell->protocol_digest);
        last = cell->protocol_digest;
    }
}

static void say_campaign(struct doc *doc, const struct view *view, size_t index)
{
    const struct view_campaign *campaign = &view->campaigns[index];
    const bool imported = view_is_import(view, index);
    size_t cells, ok, unsupported;
    long long planned;

    count_trials(view, index, &cells, &ok, &unsupported, &planned);
    doc_open(doc, DOC_FACTS, "facts");
    doc_say(doc, NULL, "Campaign\t{code %s}", campaign->uid);
    doc_add(doc, imported ? "Imported\t" : "Planned\t");
    phrase_time(&doc->block, &campaign->created_utc_ns);
    doc_end(doc, NULL);
    doc_add(doc, "Outcome\t%s",
            campaign->run == VIEW_RUN_RUNNING   ? "running"
            : campaign->run == VIEW_RUN_STOPPED ? "incomplete"
                                                : campaign->state);
    if (imported)
        doc_add(doc, "; measured by another program");
    else
        doc_add(doc, ", %zu of %lld trials completed", ok, planned);
    if (unsupported > 0)
        doc_add(doc, ", %zu asked for what their device does not support", unsupported);
    doc_end(doc, NULL);
    doc_say(doc, NULL, "Results on this page\t%zu", cells);
    doc_add(doc, "Protocol\t");
    append_protocols(&doc->block, view, index);
    doc_end(doc, NULL);
    doc_say(doc, NULL, "Plan\t{digest %s}", campaign->plan_digest);
    doc_add(doc, imported ? "Imported by\t" : "Measured by\t");
    phrase_tool(&doc->block, campaign);
    doc_end(doc, NULL);
    doc_close(doc);
    doc_say(doc, "command wrap mono", "%s", campaign->command);
}

/* Of a start, the store keeps what identifies the process: boot, process, start time. */
static void append_detail(struct text *out, const struct view_event *event)
{
    const char *process = event->detail ? strchr(event->detail, ' ') : NULL;
    size_t length = process ? strspn(process + 1, "0123456789") : 0;

    if (event->event && (!strcmp(event->event, "started") || !strcmp(event->event, "resumed")) &&
        length > 0 && process - event->detail == 36 && process[length + 1] == ' ')
        doc_phrase(out, "by process %lld", strtoll(process + 1, NULL, 10));
    else
        doc_phrase(out, "%s", event->detail ? event->detail : "");
}

static void say_events(struct doc *doc, const struct view *view)
{
    static const struct doc_column columns[] = {{"When", 0}, {"Event", 0}, {"Detail", DOC_BREAK}};

    doc_heading(doc, 2, "events", "Campaign events");
    doc_table(doc, "tight", columns, sizeof(columns) / sizeof(*columns));
    for (size_t c = 0; c < view->campaign_count; ++c) {
        for (size_t i = 0; i < view->campaigns[c].event_count; ++i) {
            const struct view_event *event = &view->campaigns[c].events[i];

            phrase_time(&doc->block, &event->utc_ns);
            doc_add(doc, "\t%s\t", event->event);
            append_detail(&doc->block, event);
            doc_end(doc, NULL);
        }
    }
    doc_close(doc);
}

static void say_reading_guide(struct doc *doc)
{
    doc_heading(doc, 2, "words", "How to read this page");
    doc_say(doc, NULL,
            "A {bold sample} is one timed iteration, or a fixed block of iterations where one is "
            "too short for the clock. A {bold trial} is a fresh process that checks its outputs, "
            "warms up and measures. A {bold result} is what the trials of one workload, precision, "
            "batch and device say together. All samples are kept, warmup included; none are "
            "trimmed.");
    doc_say(doc, NULL,
            "A rate is work divided by time over the steady part of the trials. Its interval comes "
            "from the differences between trials where there are several, and honours that "
            "neighbouring samples depend on each other where there is one. Grades: {bold A} "
            "half-width within 1 %%, {bold B} within 5 %% (both from five steady trials or more), "
            "{bold C} within 20 %%, {bold D} wider, or not steady: an indication, in parentheses. "
            "A percentile is not reported where the effective sample size is too small for it.");
    doc_say(doc, NULL,
            "With the database, every figure can be checked and recomputed without a device: "
            "`assay verify FILE`; `assay reproduce ID` measures a result again, and `assay report "
            "--dossier` has signatures and heads of the log.");
    doc_say(doc, NULL,
            "The figures relate only to the device, software and time recorded with them.");
}

/* What is kept of the cells while each is loaded once. */
struct gathered {
    struct store *store;
    size_t marks;
    bool unfolded; /* results are few: each is shown as a whole */
    struct html_appendix appendix;
    struct html_error *errors; /* the largest of each cell; heap */
    struct text articles;
};

static void gathered_finish(struct gathered *gathered)
{
    html_appendix_finish(&gathered->appendix);
    free(gathered->errors);
    text_finish(&gathered->articles);
}

static enum status gather_cell(void *context, const struct view *view, const struct view_cell *cell,
                               struct error *err)
{
    struct gathered *gathered = context;
    CLEANUP(doc_finish) struct doc doc = doc_new(&gathered->articles, &doc_html);

    html_appendix_collect(&gathered->appendix, cell);
    if (gathered->appendix.failed)
        return error_no_memory(err);
    gathered->errors[cell - view->cells] = html_worst_error(cell);
    html_cell_summary(&gathered->articles, cell, gathered->unfolded);
    TRY(html_cell(&doc, gathered->store, cell, &view->campaigns[cell->campaign],
                  &gathered->appendix, gathered->marks, err));
    text_append(&gathered->articles, "</details>\n");
    return STATUS_OK;
}

static void count_only(struct doc *doc, const struct dossier_row *row)
{
    (void)doc;
    (void)row;
}

/* How many marks each chart gets. */
static enum status share_marks(struct store *store, const int64_t *cells, size_t count, size_t *ret,
                               struct error *err)
{
    size_t trials = 1, marks;

    for (size_t i = 0; i < count; ++i)
        TRY(dossier_each_row(NULL, store, NULL, "SELECT 1 FROM trial WHERE cell = ?1", cells[i],
                             count_only, &trials, err));
    marks = MARKS_TOTAL / trials;
    *ret = marks < MARKS_MIN ? MARKS_MIN : marks > MARKS_MAX ? MARKS_MAX : marks;
    return STATUS_OK;
}

static enum status gather(struct store *store, const int64_t *cells, size_t count,
                          struct gathered *gathered, struct view *ret, struct error *err)
{
    gathered->store = store;
    gathered->unfolded = count <= UNFOLDED_MAX;
    gathered->errors = calloc(count + 1, sizeof(*gathered->errors));
    if (!gathered->errors)
        return error_no_memory(err);
    TRY(share_marks(store, cells, count, &gathered->marks, err));
    return view_load_each(store, cells, count, gather_cell, gathered, ret, err);
}

/* Results of decisions, comparisons, contracts and costs; nothing where nothing was compared. */
static enum status say_comparisons(struct doc *doc, struct store *store, const struct view *view,
                                   const json_t *decisions, struct error *err)
{
    size_t rows = 0, before;
    bool accepted;

    if (json_array_size(decisions) > 0) {
        doc_heading(doc, 2, "decision", "Decision");
        html_decisions(doc, decisions, true);
    }
    before = doc->out->length;
    doc_heading(doc, 2, "comparisons", "Comparisons");
    TRY(dossier_comparisons(doc, store, view, &rows, err));
    if (rows == 0)
        doc_undo(doc, before);
    TRY(dossier_acceptances(doc, store, view, "Acceptance", &accepted, err));
    return dossier_costs(doc, store, view, 2, err);
}

/* Links to the headings of level 2 of a page's body. */
static void append_contents(struct text *out, const struct text *body)
{
    static const char heading[] = "<h2 id=\"";

    text_append(out, "<nav class=\"contents\" aria-label=\"Contents\">\n");
    for (const char *at = body->data; (at = strstr(at, heading)) != NULL;) {
        const size_t id = strcspn(at += strlen(heading), "\"");

        text_append_format(out, "<a href=\"#%.*s\">%.*s</a>\n", (int)id, at,
                           (int)strcspn(at + id + 2, "<"), at + id + 2);
    }
    text_append(out, "</nav>\n");
}

static enum status append_main(struct doc *doc, struct store *store, struct view *view,
                               const struct gathered *gathered, const struct html_pairs *pairs,
                               const json_t *decisions, struct error *err)
{
    struct text *out = doc->out;

    doc_heading(doc, 2, "results", "Results");
    results_document(doc, view, false);
    if (json_array_size(decisions) > 0 && pairs->count > 0) {
        text_append(out, "<div class=\"first\"><div class=\"words\">\n");
        html_pairs_words(doc, view, pairs);
        text_append(out, "</div>\n");
        html_pairs_picture(doc, view, pairs);
        text_append(out, "</div>\n");
    }
    html_pairs_stack(doc, pairs);
    html_pictures(out, view, gathered->errors);
    TRY(html_history(doc, store, view, err));
    TRY(say_comparisons(doc, store, view, decisions, err));
    /* What the figures can be traced to: plan, program, protocol and command of each campaign. */
    doc_heading(doc, 2, "provenance", "Provenance");
    for (size_t i = 0; i < view->campaign_count; ++i)
        say_campaign(doc, view, i);
    doc_heading(doc, 2, "each", "Each result");
    text_append_bytes(out, gathered->articles.data, gathered->articles.length);
    text_append(out, "<p class=\"paper soft\">On paper a result is its figures, findings and "
                     "distribution. Every trial over time, readings, files and kernels are on the "
                     "page itself, and in the database.</p>\n<div class=\"full\">\n");
    html_appendix_write(out, &gathered->appendix);
    html_doctor(doc, view);
    text_append(out, "</div>\n");
    say_events(doc, view);
    say_reading_guide(doc);
    return text_ok(out) ? STATUS_OK : error_no_memory(err);
}

static enum status append_page(struct text *out, struct store *store, struct view *view,
                               const struct gathered *gathered, struct error *err)
{
    CLEANUP(html_pairs_finish) struct html_pairs pairs = {0};
    CLEANUP(text_finish) struct text body = TEXT_INIT, contents = TEXT_INIT;
    CLEANUP(doc_finish) struct doc first = doc_new(out, &doc_html);
    CLEANUP(doc_finish) struct doc doc = doc_new(&body, &doc_html);
    json_auto_t *decisions = NULL, *costs = NULL;

    TRY(html_pairs_load(store, view, &pairs, err));
    TRY(dossier_newest(store, view, &judgement_decide, &decisions, err));
    TRY(dossier_newest(store, view, &judgement_cost, &costs, err));
    TRY(append_main(&doc, store, view, gathered, &pairs, decisions, err));
    append_contents(&contents, &body);
    html_page_begin(out, "report", "Benchmark report", view->campaigns[0].uid);
    html_first(&first, view, &pairs, json_array_get(decisions, 0), costs, &contents);
    text_append(out, "<main>\n");
    text_append_bytes(out, body.data, body.length);
    text_append(
        out, "</main>\n<footer class=\"colophon\"><p>Written by assay from its database; the page "
             "holds no scripts and loads nothing. Missing values are shown as such and "
             "never as 0.</p></footer>\n</div>\n</body>\n</html>\n");
    return text_ok(out) ? STATUS_OK : error_no_memory(err);
}

enum status report_html_text(struct store *store, const int64_t *cells, size_t count,
                             struct text *ret, struct error *err)
{
    CLEANUP(gathered_finish) struct gathered gathered = {.articles = TEXT_INIT};
    CLEANUP(view_finish) struct view view = {0};

    if (count == 0)
        return error_set(err, STATUS_INVALID, "a report needs at least one result");
    TRY(gather(store, cells, count, &gathered, &view, err));
    return append_page(ret, store, &view, &gathered, err);
}

enum status report_html_file(struct store *store, const int64_t *cells, size_t count,
                             const char *path, struct error *err)
{
    CLEANUP(text_finish) struct text page = TEXT_INIT;

    TRY(report_html_text(store, cells, count, &page, err));
    return file_write_atomic(path, page.data, page.length, 0644, err);
}
