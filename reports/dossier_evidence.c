/* Sections 5, 8 and 10 of a dossier: deviations, decisions, signatures; asked of the store. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/dossier_internal.h"
#include "reports/escape.h"
#include "reports/remarks.h"
#include "results/ledger.h"

/* Rows of a SELECT with one number as its parameter; a statement that fails is an error. */
typedef void row_fn(struct text *out, sqlite3_stmt *row);

static enum status each_row(struct text *out, struct store *store, const char *sql,
                            int64_t parameter, row_fn *append, size_t *ret_count, struct error *err)
{
    sqlite3 *db = store_connection(store);
    sqlite3_stmt *select = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &select, NULL);

    if (rc == SQLITE_OK)
        sqlite3_bind_int64(select, 1, parameter);
    while (rc == SQLITE_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        append(out, select);
        ++*ret_count;
        rc = SQLITE_OK;
    }
    sqlite3_finalize(select);
    if (rc == SQLITE_DONE)
        return STATUS_OK;
    return error_set(err, STATUS_CORRUPT, "%s: %s; `assay verify` tells more", store_path(store),
                     sqlite3_errmsg(db));
}

static const char *column(sqlite3_stmt *row, int i)
{
    return (const char *)sqlite3_column_text(row, i);
}

static void append_cells(struct text *out, sqlite3_stmt *row)
{
    text_append(out, "<tr>");
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        text_append(out, "<td class=\"wrap\">");
        if (strcmp(sqlite3_column_name(row, i), "utc_ns") == 0) {
            const struct view_count at = {true, sqlite3_column_int64(row, i)};

            html_time(out, &at, " UTC");
        } else {
            html_known(out, column(row, i));
        }
        text_append(out, "</td>");
    }
    text_append(out, "</tr>\n");
}

/* ---- 5. deviations ---- */

/* What is to be told, of which result; the texts are owned. */
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

static void append_deviation(struct text *out, const struct deviation *deviation)
{
    text_append(out, "<code>");
    escape_html(out, deviation->where);
    text_append(out, "</code>: ");
    escape_html_words(out, deviation->text);
}

/* Those that differ only in result and figures stand behind the first of them, none left out. */
static void append_kind(struct text *out, const struct deviations *list, size_t first)
{
    size_t more = 0;

    text_append(out, "<li>");
    append_deviation(out, &list->items[first]);
    for (size_t i = first + 1; i < list->count; i++)
        more += remarks_alike(list->items[first].text, list->items[i].text);
    if (more > 0) {
        text_append_format(out, "\n<details><summary>and %zu more like it</summary><ul>\n", more);
        for (size_t i = first + 1; i < list->count; i++) {
            if (!remarks_alike(list->items[first].text, list->items[i].text))
                continue;
            text_append(out, "<li>");
            append_deviation(out, &list->items[i]);
            text_append(out, "</li>\n");
        }
        text_append(out, "</ul></details>");
    }
    text_append(out, "</li>\n");
}

static void append_deviations(struct text *out, const struct deviations *list)
{
    for (size_t i = 0; i < list->count; i++) {
        bool told = false;

        for (size_t k = 0; k < i && !told; k++)
            told = remarks_alike(list->items[k].text, list->items[i].text);
        if (!told)
            append_kind(out, list, i);
    }
}

static void add_trial_deviations(struct deviations *list, const struct view_cell *cell)
{
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
    if (cell->planned.known && (int64_t)cell->ok_count < cell->planned.value)
        add_deviation(list, cell,
                      text_format("%zu of %lld planned trials ended well", cell->ok_count,
                                  (long long)cell->planned.value));
    for (size_t i = 0; i < cell->estimate.warning_count; i++)
        add_deviation(list, cell, strdup(cell->estimate.warnings[i]));
    if (!cell->evidence)
        add_deviation(list, cell,
                      strdup("its protocol declares itself a first look, so this result is no "
                             "evidence and compares with none"));
}

static void append_finding(struct text *out, sqlite3_stmt *row)
{
    text_append(out, "<li>the machine: <b>");
    escape_html(out, column(row, 0));
    text_append(out, "</b> (");
    escape_html(out, column(row, 1));
    text_append(out, "), ");
    escape_html(out, column(row, 2));
    text_append(out, ": ");
    escape_html(out, column(row, 3));
    text_append(out, "</li>\n");
}

static void append_amendment(struct text *out, sqlite3_stmt *row)
{
    const struct view_count at = {true, sqlite3_column_int64(row, 1)};

    text_append(out, "<li><code>");
    escape_html(out, column(row, 0));
    text_append(out, "</code>: amended ");
    html_time(out, &at, " UTC");
    text_append(out, " by ");
    html_known(out, column(row, 2));
    text_append(out, ": ");
    html_known(out, column(row, 3));
    text_append(out, "</li>\n");
}

static void append_withheld(struct text *out, sqlite3_stmt *row)
{
    text_append(out, "<li>");
    escape_html(out, column(row, 0));
    text_append(out, " values of <code>");
    escape_html(out, column(row, 1));
    text_append(out, "</code> in this database were withheld by whoever gave it</li>\n");
}

static void append_interruption(struct text *out, sqlite3_stmt *row)
{
    const struct view_count at = {true, sqlite3_column_int64(row, 1)};

    text_append(out, "<li>the campaign was ");
    escape_html(out, column(row, 0));
    text_append_char(out, ' ');
    html_time(out, &at, " UTC");
    text_append(out, "</li>\n");
}

enum status dossier_deviations(struct text *out, struct store *store, const struct view *view,
                               struct error *err)
{
    struct deviations deviations = {0};
    size_t rows = 0;
    struct text list;
    enum status status = STATUS_OK;

    text_append(out, "<h2 id=\"deviations\">5. Deviations</h2>\n");
    for (size_t i = 0; i < view->cell_count; i++)
        add_trial_deviations(&deviations, &view->cells[i]);
    text_init(&list);
    for (size_t i = 0; i < view->campaign_count && status == STATUS_OK; i++) {
        const int64_t campaign = view->campaigns[i].id;

        status = each_row(&list, store,
                          "SELECT \"check\", severity, observed, spoils FROM findings"
                          " WHERE campaign = ?1 AND severity <> 'note' ORDER BY severity DESC, 1",
                          campaign, append_finding, &rows, err);
        if (status == STATUS_OK)
            status = each_row(&list, store,
                              "SELECT event, utc_ns FROM campaign_event WHERE campaign = ?1 AND"
                              " event NOT IN ('started', 'finished') ORDER BY id",
                              campaign, append_interruption, &rows, err);
        if (status == STATUS_OK)
            status = each_row(&list, store,
                              "SELECT substr(g.uid, 1, 8) || '/' || c.ordinal, a.utc_ns, a.author,"
                              " a.reason FROM amendment a JOIN cell c ON c.id = a.cell"
                              " JOIN campaign g ON g.id = c.campaign WHERE g.id = ?1 ORDER BY a.id",
                              campaign, append_amendment, &rows, err);
    }
    if (status == STATUS_OK)
        status = each_row(&list, store,
                          "SELECT count(*), table_name || '.' || column_name FROM withheld"
                          " WHERE ?1 = ?1 GROUP BY 2 ORDER BY 2",
                          0, append_withheld, &rows, err);
    if (rows + deviations.count > 0)
        text_append(out, "<ul>\n");
    append_deviations(out, &deviations);
    text_append_bytes(out, list.data, list.length);
    text_append(out, rows + deviations.count > 0
                         ? "</ul>\n"
                         : "<p>None: every planned trial ended well, no file changed "
                           "while it was measured, and the machine was found fit.</p>\n");
    for (size_t i = 0; i < deviations.count; i++)
        free(deviations.items[i].text);
    free(deviations.items);
    out->failed = out->failed || deviations.failed || list.failed;
    text_finish(&list);
    return status;
}

/* ---- 8. decisions ---- */

static void append_number(struct text *out, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_number(value))
        text_append_format(out, "%.4g", json_number_value(value));
    else
        text_append(out, "<span class=\"soft\">not told</span>");
}

/* columns: 0 utc_ns, 1 kind, 2 a, 3 b, 4 verdict, 5 body */
static void append_comparison(struct text *out, sqlite3_stmt *row)
{
    const struct view_count at = {true, sqlite3_column_int64(row, 0)};
    json_t *body = column(row, 5) ? json_loads(column(row, 5), 0, NULL) : NULL;
    const json_t *numbers = json_object_get(body, "comparison");
    const json_t *ratio = json_object_get(numbers, "ratio");

    text_append(out, "<tr><td class=\"when\">");
    html_time(out, &at, " UTC");
    text_append(out, "</td><td>");
    html_known(out, column(row, 1));
    text_append(out, "</td><td><code>");
    html_known(out, json_string_value(json_object_get(body, "a")));
    text_append(out, "</code></td><td><code>");
    html_known(out, json_string_value(json_object_get(body, "b")));
    text_append(out, "</code></td><td><b>");
    html_known(out, column(row, 4));
    text_append(out, "</b></td><td class=\"num\">");
    append_number(out, ratio, "value");
    text_append(out, " [");
    append_number(out, ratio, "lo");
    text_append(out, ", ");
    append_number(out, ratio, "hi");
    text_append(out, "]</td><td class=\"num\">");
    append_number(out, numbers, "margin");
    text_append(out, "</td></tr>\n");
    json_decref(body);
}

enum status dossier_decisions(struct text *out, struct store *store, const struct view *view,
                              struct error *err)
{
    struct text table;
    size_t rows = 0;
    enum status status = STATUS_OK;

    text_append(
        out,
        "<h2 id=\"decisions\">8. Decision rule</h2>\n"
        "<p>Two results compare only where workload, protocol, precision, batch, scenario, arm and "
        "data are the same and known. Then: <b>faster</b> or <b>slower</b> when the 95 % interval "
        "of the ratio of times leaves out 1; <b>equivalent</b> when the 90 % interval lies within "
        "the margin (two one-sided tests at 5 %), which wins where both hold; else "
        "<b>inconclusive</b>, with what would settle it. The risk of calling two equal things "
        "different is 5 %; that of calling things equivalent which differ by the margin is at most "
        "5 %. Both are measured on series whose truth is known (README, calibration).</p>\n");
    text_init(&table);
    for (size_t i = 0; i < view->cell_count && status == STATUS_OK; i++)
        status = each_row(&table, store,
                          "SELECT created_utc_ns, kind, a, b, verdict, body FROM comparison"
                          " WHERE b = ?1 ORDER BY id",
                          view->cells[i].id, append_comparison, &rows, err);
    if (rows > 0) {
        text_append(out, "<div class=\"scroll\"><table class=\"tight\"><caption>Every comparison "
                         "that was made with these results as its second part; the ratio is of "
                         "times, b to a</caption><thead><tr>"
                         "<th scope=\"col\">When</th><th scope=\"col\">Kind</th>"
                         "<th scope=\"col\">a</th><th scope=\"col\">b</th>"
                         "<th scope=\"col\">Verdict</th><th scope=\"col\" class=\"num\">Ratio"
                         "</th><th scope=\"col\" class=\"num\">Margin</th></tr></thead><tbody>\n");
        text_append_bytes(out, table.data, table.length);
        text_append(out, "</tbody></table></div>\n");
    } else {
        text_append(out, "<p>No comparison with these results was made in this database, so no "
                         "decision is stated here.</p>\n");
    }
    text_finish(&table);
    return status;
}

/* ---- 10. signatures ---- */

static enum status append_head_now(struct text *out, struct store *store, struct error *err)
{
    char hex[DIGEST_HEX_SIZE];
    struct digest root;
    int64_t size = 0;
    enum status status = ledger_root(store, -1, &size, &root, err);

    if (status == STATUS_OK)
        text_append_format(out,
                           "<p>When this page was written the ledger had %lld rows and the head "
                           "<code class=\"wrap\">%lld:%s</code>.</p>\n",
                           (long long)size, (long long)size, digest_hex(&root, hex));
    return status;
}

static enum status append_table(struct text *out, struct store *store, const char *head,
                                const char *sql, int64_t parameter, size_t *ret_rows,
                                struct error *err)
{
    struct text rows;
    enum status status;

    text_init(&rows);
    status = each_row(&rows, store, sql, parameter, append_cells, ret_rows, err);
    if (*ret_rows > 0) {
        text_append(out, "<div class=\"scroll\"><table class=\"tight\"><thead><tr>");
        text_append(out, head);
        text_append(out, "</tr></thead><tbody>\n");
        text_append_bytes(out, rows.data, rows.length);
        text_append(out, "</tbody></table></div>\n");
    }
    text_finish(&rows);
    return status;
}

enum status dossier_signatures(struct text *out, struct store *store, const struct view *view,
                               struct error *err)
{
    size_t heads = 0, origins = 0;
    enum status status = STATUS_OK;

    text_append(out, "<h2 id=\"signatures\">10. Signatures</h2>\n");
    for (size_t i = 0; i < view->campaign_count && status == STATUS_OK; i++) {
        size_t mine = 0;

        status = append_table(
            out, store,
            "<th scope=\"col\">When</th><th scope=\"col\">For</th><th scope=\"col\">Rows</th>"
            "<th scope=\"col\">Head</th><th scope=\"col\">Signed by</th>"
            "<th scope=\"col\">Time stamps</th>",
            "SELECT c.utc_ns AS utc_ns, c.kind, c.size, lower(hex(c.root)),"
            " coalesce((SELECT group_concat(s.name || ' (' || s.role || ')', ', ') FROM signature s"
            " WHERE s.checkpoint = c.id), 'nobody'),"
            " (SELECT count(*) FROM timestamp_token t WHERE t.checkpoint = c.id)"
            " FROM checkpoint c WHERE c.campaign = ?1 ORDER BY c.id",
            view->campaigns[i].id, &mine, err);
        heads += mine;
        mine = 0;
        if (status == STATUS_OK)
            status = append_table(
                out, store,
                "<th scope=\"col\">Taken in</th><th scope=\"col\">From the bundle</th>"
                "<th scope=\"col\">SHA-256</th><th scope=\"col\">Ledger</th>"
                "<th scope=\"col\">Rows</th><th scope=\"col\">Head</th>"
                "<th scope=\"col\">Signed note</th>",
                "SELECT imported_utc_ns AS utc_ns, file, lower(hex(sha256)), origin, size,"
                " lower(hex(root)), note FROM bundle WHERE campaign = ?1",
                view->campaigns[i].id, &mine, err);
        origins += mine;
    }
    if (heads + origins == 0)
        text_append(out, "<p class=\"bad\">This campaign has no checkpoint: nobody can vouch for "
                         "when its plan was made.</p>\n");
    return status == STATUS_OK ? append_head_now(out, store, err) : status;
}
