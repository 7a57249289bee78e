/* Sections 8 and 10 of a dossier: decisions, signatures; asked of the store. */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/dossier_internal.h"
#include "reports/escape.h"
#include "reports/number.h"
#include "results/key.h"
#include "results/ledger.h"

enum status dossier_each_row(struct text *out, struct store *store, const char *sql,
                             int64_t parameter, dossier_row_fn *append, size_t *ret_count,
                             struct error *err)
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

const char *dossier_column(sqlite3_stmt *row, int i)
{
    return (const char *)sqlite3_column_text(row, i);
}

/* ---- 8. decisions ---- */

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* "0.860 [0.651, 1.14]" */
static void append_ratio(struct text *out, const json_t *ratio)
{
    const double value = number_of(ratio, "value"), lo = number_of(ratio, "lo"),
                 hi = number_of(ratio, "hi");
    const int digits = isnan(lo) || isnan(hi) ? 4 : 1 + number_digits(value, lo, hi);
    char text[NUMBER_SIZE];

    if (isnan(value)) {
        text_append(out, "<span class=\"soft\">not told</span>");
        return;
    }
    text_append(out, number_format_digits(value, digits, text));
    if (isnan(lo) || isnan(hi)) {
        text_append(out, " <span class=\"soft\">without an interval</span>");
        return;
    }
    text_append_format(out, " [%s, ", number_format_digits(lo, digits, text));
    text_append_format(out, "%s]", number_format_digits(hi, digits, text));
}

static void append_margin(struct text *out, const json_t *object)
{
    const double margin = number_of(object, "margin");

    if (isnan(margin))
        text_append(out, "<span class=\"soft\">not told</span>");
    else
        text_append_format(out, "%.4g %%", 100 * margin);
}

/* columns: 0 utc_ns, 1 kind, 2 a, 3 b, 4 verdict, 5 body */
static void append_comparison(struct text *out, sqlite3_stmt *row)
{
    const struct view_count at = {true, sqlite3_column_int64(row, 0)};
    json_t *body = dossier_column(row, 5) ? json_loads(dossier_column(row, 5), 0, NULL) : NULL;
    const json_t *numbers = json_object_get(body, "comparison");
    const json_t *reproduce = json_object_get(body, "reproduce");
    const json_t *ratio = json_object_get(reproduce ? reproduce : numbers, "ratio");

    text_append(out, "<tr><td class=\"when\">");
    html_time(out, &at, " UTC");
    text_append(out, "</td><td>");
    html_known(out, dossier_column(row, 1));
    text_append(out, "</td><td><code>");
    html_known(out, json_string_value(json_object_get(body, "a")));
    text_append(out, "</code></td><td><code>");
    html_known(out, json_string_value(json_object_get(body, "b")));
    text_append(out, "</code></td><td><b>");
    html_known(out, dossier_column(row, 4));
    text_append(out, "</b></td><td class=\"num\">");
    append_ratio(out, ratio);
    text_append(out, "</td><td class=\"num\">");
    append_margin(out, reproduce                 ? reproduce
                       : json_is_object(numbers) ? numbers
                                                 : json_object_get(body, "gate"));
    text_append(out, "</td></tr>\n");
    json_decref(body);
}

/* Whichever part a result took: one that it lost as `a` is no less told. */
static enum status append_comparisons(struct text *out, struct store *store,
                                      const struct view *view, size_t *ret_rows, struct error *err)
{
    struct text ids;
    char *sql = NULL;
    enum status status;

    text_init(&ids);
    for (size_t i = 0; i < view->cell_count; i++)
        text_append_format(&ids, "%s%lld", i ? "," : "", (long long)view->cells[i].id);
    if (text_ok(&ids))
        sql = text_format("SELECT created_utc_ns, kind, a, b, verdict, body FROM comparison"
                          " WHERE a IN (%s) OR b IN (%s) ORDER BY id",
                          ids.data, ids.data);
    status = sql ? dossier_each_row(out, store, sql, 0, append_comparison, ret_rows, err)
                 : error_set(err, STATUS_NO_MEMORY, "dossier: out of memory");
    free(sql);
    text_finish(&ids);
    return status;
}

enum status dossier_comparisons(struct text *out, struct store *store, const struct view *view,
                                size_t *ret_rows, struct error *err)
{
    struct text table;
    enum status status;

    text_init(&table);
    *ret_rows = 0;
    status = append_comparisons(&table, store, view, ret_rows, err);
    if (status == STATUS_OK && *ret_rows > 0) {
        text_append(out, "<div class=\"scroll\"><table class=\"tight\"><caption>Every comparison "
                         "in this database that one of these results takes part in; the ratio is "
                         "of times, b to a</caption><thead><tr>"
                         "<th scope=\"col\">When</th><th scope=\"col\">Kind</th>"
                         "<th scope=\"col\">a</th><th scope=\"col\">b</th>"
                         "<th scope=\"col\">Verdict</th><th scope=\"col\" class=\"num\">Ratio"
                         "</th><th scope=\"col\" class=\"num\">Margin</th></tr></thead><tbody>\n");
        text_append_bytes(out, table.data, table.length);
        text_append(out, "</tbody></table></div>\n");
    }
    text_finish(&table);
    return status;
}

enum status dossier_decisions(struct text *out, struct store *store, const struct view *view,
                              struct error *err)
{
    size_t rows = 0;
    enum status status;

    text_append(
        out,
        "<h2 id=\"decisions\">8. Decision rule</h2>\n"
        "<p>Two results compare only where workload, protocol, precision, batch, scenario, arm and "
        "data are the same and known. Then: <b>faster</b> or <b>slower</b> when the 95 % interval "
        "of the ratio of times leaves out 1; <b>equivalent</b> when the 90 % interval lies within "
        "the margin (two one-sided tests at 5 %), which wins where both hold; else "
        "<b>inconclusive</b>, with what would settle it. The risk of calling two equal things "
        "different is 5 %; that of calling things equivalent which differ by the margin is at most "
        "5 %. Both are measured on series whose truth is known (README, calibration). A gate "
        "<b>passes</b> what is equivalent or faster, calls <b>worse</b> what is slower by more than "
        "the margin, and decides nothing else. A reproduction is <b>reproduced</b> when equivalent "
        "and <b>not reproduced</b> when faster or slower, by an interval widened by the spread between "
        "campaigns where three or more of the same result were stored before it.</p>\n");
    status = dossier_comparisons(out, store, view, &rows, err);
    if (rows == 0)
        text_append(out, "<p>No comparison with these results was made in this database, so no "
                         "decision is stated here.</p>\n");
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

/* Its own heads, and later ones of the whole file, which a witness may have signed. */
#define COVERS                                                                                     \
    "(c.campaign = ?1 OR (c.campaign IS NULL AND c.size >="                                        \
    " (SELECT max(e.size) FROM checkpoint e WHERE e.campaign = ?1)))"

/* columns: 0 utc_ns, 1 kind, 2 size, 3 root, 4 time stamps */
static void append_checkpoint(struct text *out, sqlite3_stmt *row)
{
    const struct view_count at = {true, sqlite3_column_int64(row, 0)};

    text_append(out, "<tr><td class=\"when\">");
    html_time(out, &at, " UTC");
    text_append(out, "</td><td class=\"when\">");
    html_known(out, dossier_column(row, 1));
    text_append_format(
        out, "</td><td class=\"wrap\"><code>%lld:", (long long)sqlite3_column_int64(row, 2));
    escape_html(out, dossier_column(row, 3));
    text_append(out, "</code></td><td class=\"num\">");
    html_known(out, dossier_column(row, 4));
    text_append(out, "</td></tr>\n");
}

/* columns: 0 kinds of checkpoints, 1 role, 2 name, 3 public key, 4 the first, 5 how many */
static void append_signer(struct text *out, sqlite3_stmt *row)
{
    const struct view_count at = {true, sqlite3_column_int64(row, 4)};
    char key_text[KEY_TEXT_MAX];
    struct key_public key = {0};

    snprintf(key.name, sizeof(key.name), "%s",
             dossier_column(row, 2) ? dossier_column(row, 2) : "");
    if (sqlite3_column_bytes(row, 3) == KEY_PUBLIC_SIZE)
        memcpy(key.bytes, sqlite3_column_blob(row, 3), KEY_PUBLIC_SIZE);
    text_append_format(out, "<li>%lld of them (", (long long)sqlite3_column_int64(row, 5));
    html_known(out, dossier_column(row, 0));
    text_append(out, ") as ");
    html_known(out, dossier_column(row, 1));
    text_append(out, ", first ");
    html_time(out, &at, " UTC");
    text_append(out, ", with the key<br><code class=\"wrap\">");
    escape_html(out, key_public_text(&key, key_text));
    text_append(out, "</code></li>\n");
}

/* columns: 0 utc_ns, 1 file, 2 SHA-256, 3 origin, 4 size, 5 root, 6 note */
static void append_origin(struct text *out, sqlite3_stmt *row)
{
    const struct view_count at = {true, sqlite3_column_int64(row, 0)};

    text_append(out, "<li>taken in ");
    html_time(out, &at, " UTC");
    text_append(out, " from the bundle ");
    html_known(out, dossier_column(row, 1));
    text_append(out, ", SHA-256 <code class=\"wrap\">");
    html_known(out, dossier_column(row, 2));
    text_append(out, "</code>, made of the ledger ");
    html_known(out, dossier_column(row, 3));
    text_append(out, " with the head <code class=\"wrap\">");
    html_known(out, dossier_column(row, 4));
    text_append_char(out, ':');
    html_known(out, dossier_column(row, 5));
    text_append(out, "</code><details><summary>The head as it was signed</summary><pre>");
    for (const char *line = dossier_column(row, 6), *end; line && *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        escape_html_bytes(out, line, (size_t)(end - line));
        text_append_char(out, '\n');
        if (!*end)
            break;
    }
    text_append(out, "</pre></details></li>\n");
}

static enum status append_campaign_heads(struct text *out, struct store *store,
                                         const struct view_campaign *campaign, size_t *ret_heads,
                                         struct error *err)
{
    struct text rows, signers;
    size_t heads = 0, keys = 0;
    enum status status;

    text_init(&rows);
    text_init(&signers);
    status = dossier_each_row(&rows, store,
                              "SELECT c.utc_ns, c.kind, c.size, lower(hex(c.root)),"
                              " (SELECT count(*) FROM timestamp_token t WHERE t.checkpoint = c.id)"
                              " FROM checkpoint c WHERE " COVERS " ORDER BY c.id",
                              campaign->id, append_checkpoint, &heads, err);
    if (status == STATUS_OK)
        status = dossier_each_row(
            &signers, store,
            "SELECT replace(group_concat(DISTINCT c.kind), ',', ', '), s.role, s.name,"
            " s.public_key, min(s.utc_ns), count(*) FROM signature s"
            " JOIN checkpoint c ON c.id = s.checkpoint WHERE " COVERS
            " GROUP BY s.role, s.name, s.public_key ORDER BY min(s.id)",
            campaign->id, append_signer, &keys, err);
    if (heads > 0) {
        text_append(out,
                    "<div class=\"scroll\"><table class=\"tight\"><caption>Heads of the ledger "
                    "of campaign ");
        escape_html_short(out, campaign->uid ? campaign->uid : "not recorded", 9);
        text_append(out, "</caption><thead><tr><th scope=\"col\">When</th><th scope=\"col\">At</th>"
                         "<th scope=\"col\">Head</th><th scope=\"col\" class=\"num\">Time stamps"
                         "</th></tr></thead><tbody>\n");
        text_append_bytes(out, rows.data, rows.length);
        text_append(out, "</tbody></table></div>\n");
        text_append(out, keys ? "<p>They are signed:</p><ul>\n"
                              : "<p class=\"bad\">Signed by nobody: the heads show what came after "
                                "what, and not who says so.</p>\n");
        text_append_bytes(out, signers.data, signers.length);
        text_append(out, keys ? "</ul>\n" : "");
    }
    *ret_heads += heads;
    out->failed = out->failed || rows.failed || signers.failed;
    text_finish(&rows);
    text_finish(&signers);
    return status;
}

static enum status append_origins(struct text *out, struct store *store,
                                  const struct view_campaign *campaign, size_t *ret_count,
                                  struct error *err)
{
    struct text rows;
    size_t origins = 0;
    enum status status;

    text_init(&rows);
    status = dossier_each_row(&rows, store,
                              "SELECT imported_utc_ns, file, lower(hex(sha256)), origin, size,"
                              " lower(hex(root)), note FROM bundle WHERE campaign = ?1",
                              campaign->id, append_origin, &origins, err);
    if (origins > 0) {
        text_append(out, "<ul>\n");
        text_append_bytes(out, rows.data, rows.length);
        text_append(out, "</ul>\n");
    }
    *ret_count += origins;
    out->failed = out->failed || rows.failed;
    text_finish(&rows);
    return status;
}

/* For ink: who measured, who checked, who takes it. A key signs bytes, and none of these. */
static void append_hands(struct text *out)
{
    static const char *const hands[] = {"Measured by", "Checked by", "Accepted by"};

    text_append(out, "<div class=\"hands\">\n");
    for (size_t i = 0; i < sizeof(hands) / sizeof(hands[0]); i++)
        text_append_format(out,
                           "<p><b>%s</b><span>name, organisation</span><span>date</span>"
                           "<span>signature</span></p>\n",
                           hands[i]);
    text_append(out, "</div>\n");
}

enum status dossier_signatures(struct text *out, struct store *store, const struct view *view,
                               struct error *err)
{
    size_t heads = 0;
    enum status status = STATUS_OK;

    text_append(out, "<h2 id=\"signatures\">10. Signatures</h2>\n");
    for (size_t i = 0; i < view->campaign_count && status == STATUS_OK; i++) {
        status = append_campaign_heads(out, store, &view->campaigns[i], &heads, err);
        if (status == STATUS_OK)
            status = append_origins(out, store, &view->campaigns[i], &heads, err);
    }
    if (heads == 0)
        text_append(out, "<p class=\"bad\">This campaign has no checkpoint: nobody can vouch for "
                         "when its plan was made.</p>\n");
    if (status == STATUS_OK)
        status = append_head_now(out, store, err);
    append_hands(out);
    return status;
}
