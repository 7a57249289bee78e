/* The signatures of a dossier; and how the sections ask the store. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "reports/dossier_internal.h"
#include "reports/escape.h"
#include "results/evidence/key.h"
#include "results/evidence/ledger.h"

static enum status append_head_now(struct text *out, struct store *store, struct error *err)
{
    char hex[DIGEST_HEX_SIZE];
    struct digest root;
    int64_t size = 0;

    TRY(ledger_root(store, -1, &size, &root, err));
    text_append_format(out,
                       "<p>When this page was written the log had %lld records and the head "
                       "<code class=\"wrap\">%lld:%s</code>.</p>\n",
                       (long long)size, (long long)size, digest_hex(&root, hex));
    return STATUS_OK;
}

/* Its own heads, and later ones of the whole file, which a witness may have signed. */
#define COVERS                                                                                     \
    "(c.campaign = ?1 OR (c.campaign IS NULL AND c.size >="                                        \
    " (SELECT max(e.size) FROM checkpoint e WHERE e.campaign = ?1)))"

/* columns: 0 utc_ns, 1 kind, 2 size, 3 root, 4 time stamps */
static void append_checkpoint(struct text *out, const struct dossier_row *row)
{
    const struct view_count at = {true, dossier_integer(row, 0)};

    text_append(out, "<tr><td class=\"when\">");
    html_time(out, &at, " UTC");
    text_append(out, "</td><td class=\"when\">");
    html_known(out, dossier_column(row, 1));
    text_append_format(out,
                       "</td><td class=\"wrap\"><code>%lld:", (long long)dossier_integer(row, 2));
    escape_html(out, dossier_column(row, 3));
    text_append(out, "</code></td><td class=\"num\">");
    html_known(out, dossier_column(row, 4));
    text_append(out, "</td></tr>\n");
}

/* columns: 0 kinds of checkpoints, 1 role, 2 name, 3 public key, 4 the first, 5 how many */
static void append_signer(struct text *out, const struct dossier_row *row)
{
    const struct view_count at = {true, dossier_integer(row, 4)};
    char key_text[KEY_TEXT_MAX];
    struct key_public key = {0};

    snprintf(key.name, sizeof(key.name), "%s",
             dossier_column(row, 2) ? dossier_column(row, 2) : "");
    if (sqlite3_column_bytes(row->stmt, 3) == KEY_PUBLIC_SIZE)
        memcpy(key.bytes, sqlite3_column_blob(row->stmt, 3), KEY_PUBLIC_SIZE);
    text_append_format(out, "<li>%lld of them (", (long long)dossier_integer(row, 5));
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
static void append_origin(struct text *out, const struct dossier_row *row)
{
    const struct view_count at = {true, dossier_integer(row, 0)};

    text_append(out, "<li>taken in ");
    html_time(out, &at, " UTC");
    text_append(out, " from the bundle ");
    html_known(out, dossier_column(row, 1));
    text_append(out, ", SHA-256 <code class=\"wrap\">");
    html_known(out, dossier_column(row, 2));
    text_append(out, "</code>, made of the log ");
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
    status = dossier_each_row(&rows, store, NULL,
                              "SELECT c.utc_ns, c.kind, c.size, lower(hex(c.root)),"
                              " (SELECT count(*) FROM timestamp_token t WHERE t.checkpoint = c.id)"
                              " FROM checkpoint c WHERE " COVERS " ORDER BY c.id",
                              campaign->id, append_checkpoint, &heads, err);
    if (status == STATUS_OK)
        status = dossier_each_row(
            &signers, store, NULL,
            "SELECT replace(group_concat(DISTINCT c.kind), ',', ', '), s.role, s.name,"
            " s.public_key, min(s.utc_ns), count(*) FROM signature s"
            " JOIN checkpoint c ON c.id = s.checkpoint WHERE " COVERS
            " GROUP BY s.role, s.name, s.public_key ORDER BY min(s.id)",
            campaign->id, append_signer, &keys, err);
    if (heads > 0) {
        text_append(out, "<div class=\"scroll\"><table class=\"tight\"><caption>Heads of the log "
                         "of campaign ");
        escape_html_short(out, campaign->uid ? campaign->uid : "not recorded", 9);
        text_append(out, "</caption><thead><tr><th scope=\"col\">When</th><th scope=\"col\">At</th>"
                         "<th scope=\"col\">Head</th><th scope=\"col\" class=\"num\">Time stamps"
                         "</th></tr></thead><tbody>\n");
        text_append_bytes(out, rows.data, rows.length);
        text_append(out, "</tbody></table></div>\n");
        text_append(
            out, keys ? "<p>They are signed. Names and roles are what the file says; whose a key "
                        "is, its owner alone can tell you:</p><ul>\n"
                      : "<p class=\"bad\">Unsigned: the heads show what came after "
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
    status = dossier_each_row(&rows, store, NULL,
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

/* For handwritten signatures: who measured, who checked, who accepts it. A key signs only bytes. */
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

    dossier_section(out, DOSSIER_SIGNATURES);
    for (size_t i = 0; i < view->campaign_count && status == STATUS_OK; i++) {
        status = append_campaign_heads(out, store, &view->campaigns[i], &heads, err);
        if (status == STATUS_OK)
            status = append_origins(out, store, &view->campaigns[i], &heads, err);
    }
    if (heads == 0)
        text_append(out, "<p class=\"bad\">This campaign has no checkpoint: nothing shows when its "
                         "plan was made.</p>\n");
    if (status == STATUS_OK)
        status = append_head_now(out, store, err);
    append_hands(out);
    return status;
}
