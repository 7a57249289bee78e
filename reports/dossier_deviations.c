/*
 * Deviations, a section of a dossier: what did not go as planned, what was wrong with the machine,
 * what in the samples contradicts the figures, what was added later.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "reports/dossier_internal.h"
#include "reports/remarks.h"

/* Items to report, and of which result; the texts are owned. */
struct deviation {
    const char *where;
    char *text;
};

struct deviations {
    struct deviation *items;
    size_t count;
    bool failed;
};

/* Takes `text`; NULL: out of memory. */
static void add_deviation(struct deviations *list, const struct view_cell *cell, char *text)
{
    if (!text || !ARRAY_ROOM(list->items, list->count, 1)) {
        free(text);
        list->failed = true;
        return;
    }
    list->items[list->count++] = (struct deviation){cell->result, text};
}

static void say_deviations(struct doc *doc, const struct view *view, const struct deviations *list)
{
    for (size_t i = 0; i < list->count; i++) {
        phrase_result(&doc->block, view, list->items[i].where);
        doc_say(doc, NULL, ": %s", list->items[i].text);
    }
}

static void finish_deviations(struct text *out, struct deviations *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].text);
    free(list->items);
    out->failed = out->failed || list->failed;
}

struct deviations_of {
    struct deviations *list;
    const struct view_cell *cell;
};

static void add_choice(void *context, enum finding_severity severity, const char *text)
{
    const struct deviations_of *of = context;

    (void)severity;
    add_deviation(of->list, of->cell, strdup(text));
}

static void add_trial_deviations(struct deviations *list, const struct view_cell *cell)
{
    struct deviations_of of = {list, cell};

    remarks_of_choice(cell, add_choice, &of);
    for (size_t i = 0; i < cell->trial_count; i++) {
        const struct view_trial *trial = &cell->trials[i];

        if (!trial->ok)
            add_deviation(list, cell,
                          text_format("trial %lld ended as %s%s%s", (long long)trial->number,
                                      trial->status ? trial->status : "without an end",
                                      trial->message ? ": " : "",
                                      trial->message ? trial->message : ""));
        if (trial->changed_count > 0)
            add_deviation(list, cell,
                          text_format("%zu files changed, came or went while trial %lld measured",
                                      trial->changed_count, (long long)trial->number));
    }
    if (cell->trials_planned.known && (int64_t)cell->ok_count < cell->trials_planned.value)
        add_deviation(list, cell,
                      text_format("%zu of %lld planned trials completed", cell->ok_count,
                                  (long long)cell->trials_planned.value));
    if (cell->imported.present)
        add_deviation(list, cell,
                      strdup("another program measured it, without a plan of ours, so it is no "
                             "evidence and compares with none"));
    else if (!cell->evidence)
        add_deviation(list, cell, strdup(view_no_evidence_words(cell)));
}

static void append_finding(struct doc *doc, const struct dossier_row *row)
{
    doc_say(doc, NULL, "{bold %s} (%s), %s: %s", dossier_column(row, 0), dossier_column(row, 1),
            dossier_column(row, 2), dossier_column(row, 3));
}

static void append_withheld(struct doc *doc, const struct dossier_row *row)
{
    const long long count = dossier_integer(row, 0);

    doc_say(doc, NULL, "%lld value%s of {code %s} in this database %s withheld by whoever gave it",
            count, count == 1 ? "" : "s", dossier_column(row, 1), count == 1 ? "was" : "were");
}

static void append_interruption(struct doc *doc, const struct dossier_row *row)
{
    doc_add(doc, "the campaign was %s ", dossier_column(row, 0));
    dossier_time(&doc->block, row, 1);
    doc_end(doc, NULL);
}

/* A part of the section: its heading and a list. Returns the length of the page where that begins.
 */
static size_t open_part(struct doc *doc, const char *heading)
{
    size_t begin;

    doc_heading(doc, 3, NULL, "%s", heading);
    begin = doc->out->length;
    doc_open(doc, DOC_LIST, NULL);
    return begin;
}

/* Ends it; `none` stands in the place of a list without `count`. */
static void close_part(struct doc *doc, size_t begin, size_t count, const char *none)
{
    doc_close(doc);
    if (count > 0)
        return;
    doc_undo(doc, begin);
    doc_say(doc, NULL, "%s", none);
}

/* Rows of a SELECT over each campaign of the view. */
static enum status each_campaign(struct doc *doc, struct store *store, const struct view *view,
                                 const char *sql, dossier_row_fn *append, size_t *rows,
                                 struct error *err)
{
    for (size_t i = 0; i < view->campaign_count; i++)
        TRY(dossier_each_row(doc, store, view, sql, view->campaigns[i].id, append, rows, err));
    return STATUS_OK;
}

static enum status say_plan_part(struct doc *doc, struct store *store, const struct view *view,
                                 struct error *err)
{
    const size_t begin = open_part(doc, "From the plan");
    struct deviations deviations = {0};
    size_t count;

    for (size_t i = 0; i < view->cell_count; i++)
        add_trial_deviations(&deviations, &view->cells[i]);
    say_deviations(doc, view, &deviations);
    count = deviations.count;
    finish_deviations(doc->out, &deviations);
    TRY(each_campaign(doc, store, view,
                      "SELECT event, utc_ns FROM campaign_event WHERE campaign = ?1 AND"
                      " event NOT IN ('started', 'finished') ORDER BY id",
                      append_interruption, &count, err));
    TRY(dossier_each_row(doc, store, view,
                         "SELECT count(*), r.type || '.' || p.key FROM record r,"
                         " json_tree(r.body) t JOIN json_tree(r.body) p ON p.id = t.parent"
                         " WHERE typeof(r.salt) = 'text' AND t.key = 'withheld' GROUP BY 2"
                         " UNION ALL SELECT count(*), 'content' FROM content WHERE body IS"
                         " NULL AND ?1 = ?1 HAVING count(*) > 0 ORDER BY 2",
                         0, append_withheld, &count, err));
    close_part(doc, begin, count,
               "None: every planned trial completed, no file changed while it was measured, and "
               "nothing was withheld.");
    return STATUS_OK;
}

static enum status say_machine_part(struct doc *doc, struct store *store, const struct view *view,
                                    struct error *err)
{
    const size_t begin = open_part(doc, "The machine, as found before the first trial");
    size_t looked = 0, count = 0;

    for (size_t i = 0; i < view->campaign_count; i++)
        looked += json_array_size(json_object_get(view->campaigns[i].root, "doctor"));
    TRY(each_campaign(doc, store, view,
                      "SELECT \"check\", severity, observed, effect FROM findings"
                      " WHERE campaign = ?1 AND severity <> 'info'"
                      " ORDER BY severity DESC, 1",
                      append_finding, &count, err));
    close_part(doc, begin, count,
               looked ? "None: every check passed."
                      : "No check of the machine (`assay doctor`) is on record.");
    return STATUS_OK;
}

/* The findings of all results, and which results have them. */
struct seen {
    const struct view_cell **cells;
    const struct finding **findings, **group;
    size_t count;
};

static bool gather(const struct view *view, struct seen *ret)
{
    size_t total = 0;

    for (size_t i = 0; i < view->cell_count; i++)
        total += view->cells[i].estimate ? view->cells[i].estimate->findings.count : 0;
    *ret = (struct seen){calloc(total + 1, sizeof(*ret->cells)),
                         calloc(total + 1, sizeof(*ret->findings)),
                         calloc(total + 1, sizeof(*ret->group)), 0};
    for (size_t i = 0; ret->cells && ret->findings && i < view->cell_count; i++) {
        const struct estimate *estimate = view->cells[i].estimate;

        for (size_t k = 0; estimate && k < estimate->findings.count; k++) {
            ret->cells[ret->count] = &view->cells[i];
            ret->findings[ret->count++] = &estimate->findings.items[k];
        }
    }
    return ret->cells && ret->findings && ret->group;
}

/* Findings of the kind of `first`, of one cell or (NULL) of all; how many. */
static size_t select_kind(const struct seen *seen, size_t first, const struct view_cell *cell)
{
    size_t count = 0;

    for (size_t i = first; i < seen->count; i++)
        if (finding_same_kind(seen->findings[i], seen->findings[first]) &&
            (!cell || seen->cells[i] == cell))
            seen->group[count++] = seen->findings[i];
    return count;
}

/* What holds for all of them, and each result's own words below it. */
static void say_kind(struct doc *doc, const struct view *view, const struct seen *seen,
                     size_t first)
{
    const enum finding_severity severity = finding_kinds[seen->findings[first]->code].severity;
    const struct view_cell *last = NULL;
    CLEANUP(text_finish) struct text words = TEXT_INIT;
    size_t count = select_kind(seen, first, NULL);

    finding_render_words(seen->group, count, &words);
    text_append(&words, "; ");
    finding_render_remedy(seen->group, count, &words);
    doc_add(doc, "{bold %s}: %s", finding_severity_name(severity), words.data);
    doc_open(doc, DOC_ITEM, NULL);
    doc_add(doc, "by result");
    doc_open(doc, DOC_FOLD, NULL);
    doc_open(doc, DOC_LIST, NULL);
    for (size_t i = first; i < seen->count; i++) {
        const struct view_cell *cell = seen->cells[i];

        if (cell == last || !finding_same_kind(seen->findings[i], seen->findings[first]))
            continue;
        last = cell;
        text_clear(&words);
        count = select_kind(seen, first, cell);
        finding_render(seen->group, count, cell->estimate->trial_count, &words);
        phrase_result(&doc->block, view, cell->result);
        doc_say(doc, NULL, ": %s", words.data);
    }
    doc_close(doc);
    doc_close(doc);
    doc_close(doc);
    doc->out->failed = doc->out->failed || words.failed;
}

static void say_samples_part(struct doc *doc, const struct view *view)
{
    const size_t begin = open_part(doc, "Findings of samples and telemetry");
    struct seen seen;

    doc->out->failed |= !gather(view, &seen);
    for (size_t i = 0; !doc->out->failed && i < seen.count; i++) {
        bool first = true;

        for (size_t k = 0; k < i && first; k++)
            first = !finding_same_kind(seen.findings[k], seen.findings[i]);
        if (first)
            say_kind(doc, view, &seen, i);
    }
    close_part(doc, begin, seen.count, "None.");
    free(seen.cells);
    free(seen.findings);
    free(seen.group);
}

enum status dossier_deviations(struct doc *doc, struct store *store, const struct view *view,
                               struct error *err)
{
    size_t begin, count = 0;

    dossier_section(doc, DOSSIER_DEVIATIONS);
    TRY(say_plan_part(doc, store, view, err));
    TRY(say_machine_part(doc, store, view, err));
    say_samples_part(doc, view);
    begin = open_part(doc, "Amendments, added later");
    for (size_t i = 0; i < view->cell_count; i++)
        EACH(amendment, view->cells[i].amendments) {
            AUTO_FREE char *words = view_amendment_words(amendment);

            phrase_result(&doc->block, view, view->cells[i].result);
            doc_say(doc, NULL, ": %s", words);
            count++;
        }
    close_part(doc, begin, count, "None.");
    return STATUS_OK;
}
