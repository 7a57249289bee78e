/* What the sections of a dossier are made of: their headings, and rows of the store. */
#include "reports/dossier_internal.h"

#include "harness/core/cleanup.h"

static const struct section {
    const char *id, *title, *clauses;
} sections[DOSSIER_SECTIONS] = {
    [DOSSIER_REPORT] = {"report", "Report and request", "7.8.2.1 a to e, h to j"},
    [DOSSIER_METHOD] = {"method", "Method", "7.8.2.1 f, k"},
    [DOSSIER_ITEMS] = {"items", "Items tested", "7.8.2.1 g, p"},
    [DOSSIER_CONDITIONS] = {"conditions", "Conditions", "7.8.3.1 a"},
    [DOSSIER_RESULTS] = {"results", "Results", "7.8.2.1 m, 7.8.3.1 c"},
    [DOSSIER_DEVIATIONS] = {"deviations", "Deviations and amendments", "7.8.2.1 n, 7.8.8"},
    [DOSSIER_ATTEMPTS] = {"attempts", "All attempts", "7.5.1"},
    [DOSSIER_CONFORMITY] = {"acceptance", "Conformity", "7.8.3.1 b, 7.8.6"},
    [DOSSIER_DECISIONS] = {"decisions", "Comparisons and decisions", "7.8.3.1 d, 7.8.7"},
    [DOSSIER_LIMITS] = {"limits", "Limits", "7.8.2.1 l"},
    [DOSSIER_SIGNATURES] = {"signatures", "Signatures", "7.8.2.1 o"},
    [DOSSIER_CHECK] = {"check", "How to check this yourself", ""},
};

void dossier_section(struct doc *doc, enum dossier_section section)
{
    const struct section *entry = &sections[section];

    doc_add(doc, "%d. %s", section + 1, entry->title);
    if (*entry->clauses)
        doc_add(doc, " {clause ISO/IEC 17025, %s}", entry->clauses);
    doc_end_heading(doc, 2, entry->id);
}

void dossier_see(struct text *out, enum dossier_section section)
{
    doc_phrase(out, "{link #%s section %d}", sections[section].id, section + 1);
}

enum status dossier_each_row(struct doc *doc, struct store *store, const struct view *view,
                             const char *sql, int64_t parameter, dossier_row_fn *append,
                             size_t *ret_count, struct error *err)
{
    sqlite3 *db = store_connection(store);
    sqlite3_stmt *select = NULL;
    struct dossier_row row = {.view = view};
    int rc = sqlite3_prepare_v2(db, sql, -1, &select, NULL);

    if (rc == SQLITE_OK)
        sqlite3_bind_int64(select, 1, parameter);
    while (rc == SQLITE_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        row.stmt = select;
        append(doc, &row);
        ++*ret_count;
        rc = SQLITE_OK;
    }
    sqlite3_finalize(select);
    if (rc == SQLITE_DONE)
        return STATUS_OK;
    return error_set(err, STATUS_CORRUPT, "%s: %s; `assay verify %s` has the details",
                     store_path(store), sqlite3_errmsg(db),
                     store_path_word(store) ? store_path_word(store) : "BUNDLE");
}

const char *dossier_column(const struct dossier_row *row, int i)
{
    return (const char *)sqlite3_column_text(row->stmt, i);
}

int64_t dossier_integer(const struct dossier_row *row, int i)
{
    return sqlite3_column_int64(row->stmt, i);
}

void dossier_time(struct text *out, const struct dossier_row *row, int i)
{
    phrase_time(out, &(struct view_count){true, dossier_integer(row, i)});
}

json_t *dossier_json(const struct dossier_row *row, int i)
{
    const char *column = dossier_column(row, i);

    return column ? json_loads(column, 0, NULL) : NULL;
}

char *dossier_cells(const struct view *view)
{
    struct text ids = TEXT_INIT;

    for (size_t i = 0; i < view->cell_count; i++)
        text_append_format(&ids, "%s%lld", i ? "," : "", (long long)view->cells[i].id);
    return text_steal(&ids);
}

static void append_body(struct doc *doc, const struct dossier_row *row)
{
    text_append_format(doc->out, "%s%s", doc->out->length > 1 ? "," : "", dossier_column(row, 0));
}

enum status dossier_newest(struct store *store, const struct view *view,
                           const struct judgement *judgement, json_t **ret, struct error *err)
{
    AUTO_FREE char *ids = dossier_cells(view), *sql = NULL;
    CLEANUP(text_finish) struct text bodies = TEXT_INIT;
    CLEANUP(doc_finish) struct doc doc = doc_new(&bodies, &doc_lines);
    size_t rows = 0;

    if (ids)
        sql = text_format(
            "SELECT '{\"utc_ns\":' || k.created_utc_ns || ',' || substr(k.body, 2), max(k.id) FROM "
            "comparison k WHERE k.kind = '%s' AND EXISTS (SELECT 1 FROM json_tree(k.body) t JOIN "
            "cell c JOIN campaign g ON g.id = c.campaign WHERE t.key IN ('a', 'result') AND c.id "
            "IN (%s) AND t.atom = substr(g.uid, 1, 8) || '/' || c.ordinal) GROUP BY "
            "json_extract(k.body, '%s') ORDER BY max(k.id) DESC",
            judgement->name, ids, judgement->subject);
    if (!sql)
        return error_no_memory(err);
    text_append_char(&bodies, '[');
    TRY(dossier_each_row(&doc, store, view, sql, 0, append_body, &rows, err));
    text_append_char(&bodies, ']');
    *ret = text_ok(&bodies) ? json_loads(bodies.data, 0, NULL) : NULL;
    return *ret ? STATUS_OK : error_no_memory(err);
}
