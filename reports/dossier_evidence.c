/* The signatures of a dossier; and how the sections ask the store. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "reports/dossier_internal.h"
#include "results/evidence/key.h"
#include "results/evidence/ledger.h"

static enum status say_head_now(struct doc *doc, struct store *store, struct error *err)
{
    char hex[DIGEST_HEX_SIZE];
    struct digest root;
    int64_t size = 0;

    TRY(ledger_root(store, -1, &size, &root, err));
    doc_say(doc, NULL,
            "When this page was written the log had %lld records and the head {code %lld:%s}.",
            (long long)size, (long long)size, digest_hex(&root, hex));
    return STATUS_OK;
}

/* Its own heads, and later ones of the whole file, which a witness may have signed. */
#define COVERS                                                                                     \
    "(c.campaign = ?1 OR (c.campaign IS NULL AND c.size >="                                        \
    " (SELECT max(e.size) FROM checkpoint e WHERE e.campaign = ?1)))"

/* columns: 0 utc_ns, 1 kind, 2 size, 3 root, 4 time stamps */
static void append_checkpoint(struct doc *doc, const struct dossier_row *row)
{
    dossier_time(&doc->block, row, 0);
    doc_say(doc, NULL, "\t%s\t{code %lld:%s}\t%s", dossier_column(row, 1),
            (long long)dossier_integer(row, 2), dossier_column(row, 3), dossier_column(row, 4));
}

/* columns: 0 kinds of checkpoints, 1 role, 2 name, 3 public key, 4 the first, 5 how many */
static void append_signer(struct doc *doc, const struct dossier_row *row)
{
    char key_text[KEY_TEXT_MAX];
    struct key_public key = {0};

    snprintf(key.name, sizeof(key.name), "%s",
             dossier_column(row, 2) ? dossier_column(row, 2) : "");
    if (sqlite3_column_bytes(row->stmt, 3) == KEY_PUBLIC_SIZE)
        memcpy(key.bytes, sqlite3_column_blob(row->stmt, 3), KEY_PUBLIC_SIZE);
    doc_add(doc, "%lld of them (%s) as %s, first ", (long long)dossier_integer(row, 5),
            dossier_column(row, 0), dossier_column(row, 1));
    dossier_time(&doc->block, row, 4);
    doc_say(doc, NULL, ", with the key\n{code %s}", key_public_text(&key, key_text));
}

/* columns: 0 utc_ns, 1 file, 2 SHA-256, 3 origin, 4 size, 5 root, 6 note */
static void append_origin(struct doc *doc, const struct dossier_row *row)
{
    doc_add(doc, "taken in ");
    dossier_time(&doc->block, row, 0);
    doc_add(doc,
            " from the bundle %s, SHA-256 {code %s}, made of the log %s with the head {code "
            "%s:%s}",
            dossier_column(row, 1), dossier_column(row, 2), dossier_column(row, 3),
            dossier_column(row, 4), dossier_column(row, 5));
    doc_open(doc, DOC_ITEM, NULL);
    doc_add(doc, "The head as it was signed");
    doc_open(doc, DOC_FOLD, NULL);
    for (const char *line = dossier_column(row, 6); line && *line;) {
        const size_t length = strcspn(line, "\n");
        AUTO_FREE char *one = strndup(line, length);

        doc_add(doc, "%s\n", one ? one : "");
        line += length + (line[length] == '\n');
    }
    doc_end(doc, "wrap mono");
    doc_close(doc);
    doc_close(doc);
}

static enum status say_campaign_heads(struct doc *doc, struct store *store,
                                      const struct view_campaign *campaign, size_t *ret_heads,
                                      struct error *err)
{
    static const struct doc_column columns[] = {
        {"When", DOC_WHOLE}, {"At", DOC_WHOLE}, {"Head", DOC_BREAK}, {"Time stamps", DOC_NUMBER}};
    const size_t before = doc->out->length;
    size_t heads = 0, keys = 0, signers;

    doc_add(doc, "Heads of the log of campaign %.8s", campaign->uid);
    doc_table(doc, "tight", columns, sizeof(columns) / sizeof(*columns));
    TRY(dossier_each_row(doc, store, NULL,
                         "SELECT c.utc_ns, c.kind, c.size, lower(hex(c.root)),"
                         " (SELECT count(*) FROM timestamp_token t WHERE t.checkpoint = c.id)"
                         " FROM checkpoint c WHERE " COVERS " ORDER BY c.id",
                         campaign->id, append_checkpoint, &heads, err));
    doc_close(doc);
    *ret_heads += heads;
    if (heads == 0) {
        doc_undo(doc, before);
        return STATUS_OK;
    }
    signers = doc->out->length;
    doc_say(doc, NULL,
            "They are signed. Names and roles are what the file says; whose a key is, "
            "its owner alone can tell you:");
    doc_open(doc, DOC_LIST, NULL);
    TRY(dossier_each_row(doc, store, NULL,
                         "SELECT replace(group_concat(DISTINCT c.kind), ',', ', '), s.role, s.name,"
                         " s.public_key, min(s.utc_ns), count(*) FROM signature s"
                         " JOIN checkpoint c ON c.id = s.checkpoint WHERE " COVERS
                         " GROUP BY s.role, s.name, s.public_key ORDER BY min(s.id)",
                         campaign->id, append_signer, &keys, err));
    doc_close(doc);
    if (keys > 0)
        return STATUS_OK;
    doc_undo(doc, signers);
    doc_say(doc, "bad", "Unsigned: the heads show what came after what, and not who says so.");
    return STATUS_OK;
}

static enum status say_origins(struct doc *doc, struct store *store,
                               const struct view_campaign *campaign, size_t *ret_count,
                               struct error *err)
{
    const size_t before = doc->out->length;
    size_t origins = 0;

    doc_open(doc, DOC_LIST, NULL);
    TRY(dossier_each_row(doc, store, NULL,
                         "SELECT imported_utc_ns, file, lower(hex(sha256)), origin, size,"
                         " lower(hex(root)), note FROM bundle WHERE campaign = ?1",
                         campaign->id, append_origin, &origins, err));
    doc_close(doc);
    if (origins == 0)
        doc_undo(doc, before);
    *ret_count += origins;
    return STATUS_OK;
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

enum status dossier_signatures(struct doc *doc, struct store *store, const struct view *view,
                               struct error *err)
{
    size_t heads = 0;

    dossier_section(doc, DOSSIER_SIGNATURES);
    for (size_t i = 0; i < view->campaign_count; i++) {
        TRY(say_campaign_heads(doc, store, &view->campaigns[i], &heads, err));
        TRY(say_origins(doc, store, &view->campaigns[i], &heads, err));
    }
    if (heads == 0)
        doc_say(doc, "bad",
                "This campaign has no checkpoint: nothing shows when its plan was made.");
    TRY(say_head_now(doc, store, err));
    append_hands(doc->out);
    return STATUS_OK;
}
