/*
 * Deviations, a section of a dossier: what did not go as planned, what was wrong with the machine,
 * what in the samples contradicts the figures, what was added later.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "reports/dossier_internal.h"
#include "reports/escape.h"
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
    struct deviation *grown = realloc(list->items, (list->count + 1) * sizeof(*grown));

    list->items = grown ? grown : list->items;
    if (!grown || !text) {
        free(text);
        list->failed = true;
        return;
    }
    grown[list->count++] = (struct deviation){cell->result, text};
}

static void append_deviation(struct text *out, const struct view *view,
                             const struct deviation *deviation)
{
    html_result(out, view, deviation->where);
    text_append(out, ": ");
    escape_html_words(out, deviation->text);
}

static void append_deviations(struct text *out, const struct view *view,
                              const struct deviations *list)
{
    for (size_t i = 0; i < list->count; i++) {
        text_append(out, "<li>");
        append_deviation(out, view, &list->items[i]);
        text_append(out, "</li>\n");
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

static void append_finding(struct text *out, const struct dossier_row *row)
{
    text_append(out, "<li><b>");
    escape_html(out, dossier_column(row, 0));
    text_append(out, "</b> (");
    escape_html(out, dossier_column(row, 1));
    text_append(out, "), ");
    escape_html(out, dossier_column(row, 2));
    text_append(out, ": ");
    escape_html(out, dossier_column(row, 3));
    text_append(out, "</li>\n");
}

static void append_amendment(struct text *out, const struct dossier_row *row)
{
    const struct view_count at = {true, dossier_integer(row, 1)};

    text_append(out, "<li>");
    html_result(out, row->view, dossier_column(row, 0));
    text_append(out, ": amended ");
    html_time(out, &at, " UTC");
    text_append(out, " by ");
    html_known(out, dossier_column(row, 2));
    text_append(out, ": ");
    html_known(out, dossier_column(row, 3));
    text_append(out, "</li>\n");
}

static void append_withheld(struct text *out, const struct dossier_row *row)
{
    const int64_t count = dossier_integer(row, 0);

    text_append_format(out, "<li>%lld value%s of <code>", (long long)count, count == 1 ? "" : "s");
    escape_html(out, dossier_column(row, 1));
    text_append_format(out, "</code> in this database %s withheld by whoever gave it</li>\n",
                       count == 1 ? "was" : "were");
}

static void append_interruption(struct text *out, const struct dossier_row *row)
{
    const struct view_count at = {true, dossier_integer(row, 1)};

    text_append(out, "<li>the campaign was ");
    escape_html(out, dossier_column(row, 0));
    text_append_char(out, ' ');
    html_time(out, &at, " UTC");
    text_append(out, "</li>\n");
}

/* A part of the section under its own heading; `none` is printed where the list is empty. */
static void append_part(struct text *out, const char *heading, const struct text *items,
                        const char *none)
{
    text_append_format(out, "<h3 class=\"attempt\">%s</h3>\n", heading);
    if (items->length == 0) {
        text_append_format(out, "<p>%s</p>\n", none);
        return;
    }
    text_append(out, "<ul>\n");
    text_append_bytes(out, items->data, items->length);
    text_append(out, "</ul>\n");
}

/* Rows of a SELECT over each campaign of the view. */
static enum status each_campaign(struct text *out, struct store *store, const struct view *view,
                                 const char *sql, dossier_row_fn *append, struct error *err)
{
    size_t rows = 0;

    for (size_t i = 0; i < view->campaign_count; i++)
        TRY(dossier_each_row(out, store, view, sql, view->campaigns[i].id, append, &rows, err));
    return STATUS_OK;
}

static enum status append_plan_part(struct text *out, struct store *store, const struct view *view,
                                    struct error *err)
{
    struct deviations deviations = {0};
    struct text items;
    size_t rows = 0;
    enum status status;

    text_init(&items);
    for (size_t i = 0; i < view->cell_count; i++)
        add_trial_deviations(&deviations, &view->cells[i]);
    append_deviations(&items, view, &deviations);
    status = each_campaign(&items, store, view,
                           "SELECT event, utc_ns FROM campaign_event WHERE campaign = ?1 AND"
                           " event NOT IN ('started', 'finished') ORDER BY id",
                           append_interruption, err);
    if (status == STATUS_OK)
        status = dossier_each_row(&items, store, view,
                                  "SELECT count(*), r.type || '.' || p.key FROM record r,"
                                  " json_tree(r.body) t JOIN json_tree(r.body) p ON p.id = t.parent"
                                  " WHERE typeof(r.salt) = 'text' AND t.key = 'withheld' GROUP BY 2"
                                  " UNION ALL SELECT count(*), 'content' FROM content WHERE body IS"
                                  " NULL AND ?1 = ?1 HAVING count(*) > 0 ORDER BY 2",
                                  0, append_withheld, &rows, err);
    append_part(out, "From the plan", &items,
                "None: every planned trial completed, no file changed while it was measured, and "
                "nothing was withheld.");
    out->failed = out->failed || items.failed;
    finish_deviations(out, &deviations);
    text_finish(&items);
    return status;
}

static enum status append_machine_part(struct text *out, struct store *store,
                                       const struct view *view, struct error *err)
{
    struct text items;
    size_t looked = 0;
    enum status status;

    text_init(&items);
    for (size_t i = 0; i < view->campaign_count; i++)
        looked += json_array_size(json_object_get(view->campaigns[i].root, "doctor"));
    status = each_campaign(&items, store, view,
                           "SELECT \"check\", severity, observed, effect FROM findings"
                           " WHERE campaign = ?1 AND severity <> 'info'"
                           " ORDER BY severity DESC, 1",
                           append_finding, err);
    append_part(out, "The machine, as found before the first trial", &items,
                looked ? "None: every check passed."
                       : "No check of the machine (<code>assay doctor</code>) is on record.");
    out->failed = out->failed || items.failed;
    text_finish(&items);
    return status;
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
static void append_kind(struct text *out, const struct view *view, const struct seen *seen,
                        size_t first)
{
    const struct view_cell *last = NULL;
    struct text words;
    size_t count = select_kind(seen, first, NULL);

    text_init(&words);
    finding_render_words(seen->group, count, &words);
    text_append(&words, "; ");
    finding_render_remedy(seen->group, count, &words);
    text_append_format(out, "<li><b>%s</b>: ",
                       finding_severity_name(finding_kinds[seen->findings[first]->code].severity));
    escape_html_words(out, words.data);
    text_append(out, "\n<details><summary>by result</summary><ul>\n");
    for (size_t i = first; i < seen->count; i++) {
        const struct view_cell *cell = seen->cells[i];

        if (cell == last || !finding_same_kind(seen->findings[i], seen->findings[first]))
            continue;
        last = cell;
        text_clear(&words);
        count = select_kind(seen, first, cell);
        finding_render(seen->group, count, cell->estimate->trial_count, &words);
        text_append(out, "<li>");
        html_result(out, view, cell->result);
        text_append(out, ": ");
        escape_html_words(out, words.data);
        text_append(out, "</li>\n");
    }
    text_append(out, "</ul></details></li>\n");
    text_finish(&words);
}

static void append_samples_part(struct text *out, const struct view *view)
{
    struct text items;
    struct seen seen;

    text_init(&items);
    items.failed = !gather(view, &seen);
    for (size_t i = 0; !items.failed && i < seen.count; i++) {
        bool first = true;

        for (size_t k = 0; k < i && first; k++)
            first = !finding_same_kind(seen.findings[k], seen.findings[i]);
        if (first)
            append_kind(&items, view, &seen, i);
    }
    append_part(out, "Findings of samples and telemetry", &items, "None.");
    out->failed = out->failed || items.failed;
    free(seen.cells);
    free(seen.findings);
    free(seen.group);
    text_finish(&items);
}

enum status dossier_deviations(struct text *out, struct store *store, const struct view *view,
                               struct error *err)
{
    struct text amendments;
    enum status status;

    dossier_section(out, DOSSIER_DEVIATIONS);
    status = append_plan_part(out, store, view, err);
    if (status == STATUS_OK)
        status = append_machine_part(out, store, view, err);
    append_samples_part(out, view);
    text_init(&amendments);
    if (status == STATUS_OK)
        status =
            each_campaign(&amendments, store, view,
                          "SELECT substr(g.uid, 1, 8) || '/' || c.ordinal, a.utc_ns, a.author,"
                          " a.reason FROM amendment a JOIN cell c ON c.id = a.cell"
                          " JOIN campaign g ON g.id = c.campaign WHERE g.id = ?1 ORDER BY a.id",
                          append_amendment, err);
    append_part(out, "Amendments, added later", &amendments, "None.");
    out->failed = out->failed || amendments.failed;
    text_finish(&amendments);
    return status;
}
