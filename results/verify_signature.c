/* Signatures and time stamps of checkpoints. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "results/cosignature.h"
#include "results/note.h"
#include "results/timestamp_authority.h"
#include "results/verify_internal.h"
#include "results/witnessing.h"

#define CLOCKS_APART_S 60 /* largest difference of two honest clocks */
#define SECOND_NS INT64_C(1000000000)

/* A signature whose own form and place are right. */
struct signature {
    const uint8_t *public_key, *bytes;
    bool cosigned; /* a witness's, with a time */
    struct note note;
    char key[24]; /* of its row */
};

/* Whether the reader asks for the signer's signatures, and they count at that time. */
static bool is_trusted(struct verify *verify, const struct signature *signature)
{
    const struct roster_key *known = roster_find(verify->options->roster, signature->public_key);
    const int64_t utc_ns = signature->cosigned ? cosignature_seconds(signature->bytes) * SECOND_NS
                                               : signature->note.utc_ns;
    char why[80];

    if (known && !roster_counts(known, utc_ns, why, sizeof(why))) {
        verify_report(verify, VERIFY_NOTE, VERIFY_SIGNATURE, "signature", signature->key,
                      "is by %s and does not count: the key %s", known->key.name, why);
        return false;
    }
    if (known && known->revoked_ns != INT64_MAX && !signature->cosigned)
        verify_report(verify, VERIFY_NOTE, VERIFY_SIGNATURE, "signature", signature->key,
                      "is by %s, whose key was revoked later: that the head is older than that is "
                      "the word of whoever had the key, unless a witness or a time stamp shows it",
                      known->key.name);
    if (known && !signature->cosigned && !known->is_witness)
        return true;
    for (size_t i = 0; i < verify->options->key_count; i++)
        if (memcmp(verify->options->keys[i].bytes, signature->public_key, KEY_PUBLIC_SIZE) == 0)
            return true;
    return false;
}

static bool is_good(const struct signature *signature)
{
    struct text body;
    bool good;

    if (!signature->cosigned)
        return note_verify(&signature->note, signature->public_key, signature->bytes);
    text_init(&body);
    note_append_body(&body, &signature->note);
    good = text_ok(&body) &&
           cosignature_verify(signature->public_key, body.data, body.length, signature->bytes);
    text_finish(&body);
    return good;
}

/* 5 is the checkpoint; the rest as in its note. */
#define SIGNATURES                                                                                 \
    "SELECT s.id, s.name, s.public_key, s.signature, s.role, s.checkpoint, c.size, c.root, "       \
    "c.kind,"                                                                                      \
    " c.utc_ns, g.uid, (SELECT name FROM ledger_origin WHERE id = 1) FROM signature s LEFT JOIN"   \
    " checkpoint c ON c.id = s.checkpoint LEFT JOIN campaign g ON g.id = c.campaign"

/* Its parts; false when it has not the form of a signature of a head. */
static bool read_signature(sqlite3_stmt *row, struct signature *ret)
{
    const void *root = sqlite3_column_blob(row, 7);
    const int size = sqlite3_column_bytes(row, 3);

    *ret = (struct signature){.public_key = sqlite3_column_blob(row, 2),
                              .bytes = sqlite3_column_blob(row, 3),
                              .cosigned = size == COSIGNATURE_SIZE,
                              .note = {.origin = text_at(row, 11),
                                       .size = sqlite3_column_int64(row, 6),
                                       .kind = text_at(row, 8),
                                       .utc_ns = sqlite3_column_int64(row, 9),
                                       .campaign = sqlite3_column_type(row, 10) == SQLITE_NULL
                                                       ? NULL
                                                       : text_at(row, 10)}};
    snprintf(ret->key, sizeof(ret->key), "%lld", (long long)sqlite3_column_int64(row, 0));
    if (!ret->public_key || sqlite3_column_bytes(row, 2) != KEY_PUBLIC_SIZE || !ret->bytes ||
        (size != KEY_SIGNATURE_SIZE && size != COSIGNATURE_SIZE) || !root ||
        sqlite3_column_bytes(row, 7) != DIGEST_SIZE)
        return false;
    memcpy(ret->note.root.bytes, root, DIGEST_SIZE);
    return true;
}

static void check_signature(struct verify *verify, sqlite3_stmt *row)
{
    struct signature signature;
    bool trusted;

    verify->summary->signatures++;
    if (!read_signature(row, &signature)) {
        verify_report(verify, VERIFY_WRONG, VERIFY_SIGNATURE, "signature", signature.key,
                      "is of no checkpoint, or has not the form of a signature");
        return;
    }
    if (!is_good(&signature)) {
        verify_report(verify, VERIFY_WRONG, VERIFY_SIGNATURE, "signature", signature.key,
                      "does not match checkpoint %lld", (long long)sqlite3_column_int64(row, 5));
        return;
    }
    trusted = is_trusted(verify, &signature);
    if (trusted)
        verify->summary->trusted_signatures++;
    if ((trusted || (!verify_asks_for_authors(verify->options) && !verify->options->roster)) &&
        signature.note.size > verify->summary->signed_leaves)
        verify->summary->signed_leaves = signature.note.size;
}

/*
 * The authority's clock against the file's. columns: 3 when the head was made, 4 when the first
 * trial began, where the head is of a plan
 */
static void compare_clocks(struct verify *verify, const char *key, sqlite3_stmt *row,
                           const struct timestamp *timestamp)
{
    const int64_t made = sqlite3_column_int64(row, 3) / INT64_C(1000000000);
    int64_t stamped;

    if (!timestamp_seconds(timestamp, &stamped))
        return;
    if (stamped < made - CLOCKS_APART_S)
        verify_report(
            verify, VERIFY_NOTE, VERIFY_SIGNATURE, "timestamp_token", key,
            "is %lld s earlier than the time the checkpoint states: the times in this file "
            "are too late",
            (long long)(made - stamped));
    if (sqlite3_column_type(row, 4) == SQLITE_INTEGER &&
        stamped > sqlite3_column_int64(row, 4) / INT64_C(1000000000) + CLOCKS_APART_S)
        verify_report(
            verify, VERIFY_NOTE, VERIFY_SIGNATURE, "timestamp_token", key,
            "was made after the first trial of its campaign began, by the file's clock: it "
            "does not show that the plan came before");
}

static void check_stamps(struct verify *verify)
{
    sqlite3_stmt *row = verify_prepare(verify, verify->db,
                                       "SELECT t.id, t.token, c.root, c.utc_ns,"
                                       " CASE c.kind WHEN 'plan' THEN (SELECT min(r.started_utc_ns)"
                                       " FROM trial r WHERE r.campaign = c.campaign) END"
                                       " FROM timestamp_token t"
                                       " LEFT JOIN checkpoint c ON c.id = t.checkpoint"
                                       " ORDER BY t.id",
                                       VERIFY_SIGNATURE, "timestamp_token");

    while (row && verify_step(verify, row, VERIFY_SIGNATURE, "timestamp_token")) {
        const void *token = sqlite3_column_blob(row, 1), *bytes = sqlite3_column_blob(row, 2);
        struct error err = ERROR_INIT;
        struct digest root = {{0}};
        struct timestamp timestamp;
        bool checked = false, has_read;
        char key[24];

        snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(row, 0));
        if (bytes && sqlite3_column_bytes(row, 2) == DIGEST_SIZE)
            memcpy(root.bytes, bytes, DIGEST_SIZE);
        has_read = timestamp_verify(
                       token ? token : "", token ? (size_t)sqlite3_column_bytes(row, 1) : 0, &root,
                       verify->options->tsa_ca, &timestamp, &checked, &err) == STATUS_OK;
        if (!has_read)
            verify_report(verify, VERIFY_WRONG, VERIFY_SIGNATURE, "timestamp_token", key, "%s",
                          err.message);
        else if (checked)
            verify_report(verify, VERIFY_NOTE, VERIFY_SIGNATURE, "timestamp_token", key,
                          "an authority of %s stamped this root at %s", verify->options->tsa_ca,
                          timestamp.time);
        else
            verify_report(verify, VERIFY_NOTE, VERIFY_SIGNATURE, "timestamp_token", key,
                          "is of the right root and states %s; its signer was not checked: no CA "
                          "given (--tsa-ca)",
                          timestamp.time);
        if (has_read)
            compare_clocks(verify, key, row, &timestamp);
    }
    sqlite3_finalize(row);
}

/* With keys given, every campaign must be covered by one of them. */
static void check_cover(struct verify *verify)
{
    sqlite3_stmt *row =
        verify_prepare(verify, verify->db,
                       "SELECT g.id, substr(g.uid, 1, 8), (SELECT max(c.size) FROM checkpoint c"
                       " WHERE c.campaign = g.id), (SELECT lower(hex(b.sha256)) FROM bundle b WHERE"
                       " b.campaign = g.id) FROM campaign g ORDER BY g.id",
                       VERIFY_SIGNATURE, "campaign");

    while (row && verify_step(verify, row, VERIFY_SIGNATURE, "campaign")) {
        char key[24];

        if (sqlite3_column_type(row, 2) != SQLITE_NULL &&
            sqlite3_column_int64(row, 2) <= verify->summary->signed_leaves)
            continue;
        snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(row, 0));
        if (sqlite3_column_type(row, 3) == SQLITE_TEXT)
            verify_report(
                verify, VERIFY_WRONG, VERIFY_SIGNATURE, "campaign", key,
                "campaign %s came in a bundle and is not covered by a signature of the key "
                "that you named in this ledger: who measured it signed the bundle, so check "
                "that with the key (the file of SHA-256 %s)",
                text_at(row, 1), text_at(row, 3));
        else
            verify_report(verify, VERIFY_WRONG, VERIFY_SIGNATURE, "campaign", key,
                          "campaign %s is not covered by a signature of the key that you named",
                          text_at(row, 1));
    }
    sqlite3_finalize(row);
}

/* The first column that tells whose a row is; NULL: the table's rows are of no campaign. */
static const char *owner_of(const struct verify_table *table)
{
    static const char *const owners[] = {"campaign", "trial"};

    if (!strcmp(table->name, "checkpoint") || !strcmp(table->name, "bundle"))
        return NULL;
    for (size_t i = 0; i < 2; i++)
        for (int k = 0; k < table->shape.count; k++)
            if (!strcmp(table->shape.columns[k].name, owners[i]))
                return owners[i];
    return NULL;
}

/* The campaigns that have rows from leaf ?1 on, in SQL. Keys begin with `id`, or with the owner. */
static char *late_campaigns_sql(const struct verify *verify)
{
    struct text sql;

    text_init(&sql);
    text_append(&sql, "SELECT DISTINCT o.campaign, g.uid FROM (SELECT key AS campaign FROM ledger"
                      " WHERE leaf >= ?1 AND table_name = 'campaign'");
    for (size_t i = 0; i < verify->table_count; i++) {
        const struct verify_table *table = &verify->tables[i];
        const char *owner = owner_of(table);

        if (!owner)
            continue;
        text_append(&sql, " UNION ALL SELECT ");
        text_append(&sql, !strcmp(owner, "trial") ? "(SELECT t.campaign FROM trial t WHERE t.id = "
                                                  : "(");
        if (table->counted)
            text_append_format(&sql, "(SELECT x.%s FROM %s x WHERE x.id = l.key)", owner,
                               table->name);
        else
            text_append(&sql, "CAST(l.key AS INTEGER)");
        text_append_format(&sql, ") FROM ledger l WHERE l.leaf >= ?1 AND l.table_name = '%s'",
                           table->name);
        if (!strcmp(table->name, "campaign_event"))
            text_append(&sql, " AND NOT EXISTS (SELECT 1 FROM campaign_event v WHERE v.id = l.key"
                              " AND v.event IN " EVENTS_LATER ")");
    }
    text_append(&sql, ") o JOIN campaign g ON g.id = o.campaign WHERE (SELECT max(c.size) FROM"
                      " checkpoint c WHERE c.campaign = o.campaign) <= ?1 ORDER BY 1");
    return text_steal(&sql);
}

/*
 * Reports each campaign that the statement `sql` gives as (id, uid), with a text around its name;
 * takes `sql`, whose parameter, if it has one, is `covered`.
 */
static enum status tell_campaigns(struct verify *verify, char *sql, int64_t covered,
                                  const struct verify_finding *finding, const char *before,
                                  const char *after, struct error *err)
{
    sqlite3_stmt *row;

    if (!sql)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    row = verify_prepare(verify, verify->db, sql, VERIFY_SIGNATURE, finding->table);
    if (row && sqlite3_bind_parameter_count(row) > 0)
        sqlite3_bind_int64(row, 1, covered);
    while (row && verify_step(verify, row, VERIFY_SIGNATURE, finding->table))
        verify_report(verify, finding->level, finding->check, finding->table, text_at(row, 0),
                      "%scampaign %.8s %s", before, text_at(row, 1), after);
    sqlite3_finalize(row);
    free(sql);
    return STATUS_OK;
}

/* A signature of a campaign's plan does not cover its trials. */
static enum status check_rest(struct verify *verify, struct error *err)
{
    return tell_campaigns(
        verify, late_campaigns_sql(verify), verify->summary->signed_leaves,
        &(struct verify_finding){VERIFY_WRONG, VERIFY_SIGNATURE, .table = "campaign"}, "",
        "has rows that came after what the key that you named has signed", err);
}

/* As in a bundle, what is not proven is reported. */
static enum status tell_plans(struct verify *verify, struct error *err)
{
    return tell_campaigns(
        verify,
        text_format("SELECT id, uid FROM campaign g WHERE id IN (SELECT campaign FROM trial)"
                    " AND id NOT IN (SELECT campaign FROM bundle) AND NOT EXISTS (SELECT 1 FROM"
                    " checkpoint c WHERE c.campaign = g.id AND c.kind = 'plan') ORDER BY id"),
        0, &(struct verify_finding){VERIFY_NOTE, VERIFY_COMPLETE, .table = "campaign"}, "that ",
        "was planned before its first trial is not proven: there is no checkpoint of its plan",
        err);
}

/* The good cosignatures of a campaign's plan. columns: as check_signature has them */
static void gather_witnesses(struct verify *verify, sqlite3_stmt *rows, int64_t campaign,
                             struct witnessing *witnessing)
{
    struct signature signature;

    sqlite3_bind_int64(rows, 1, campaign);
    while (verify_step(verify, rows, VERIFY_SIGNATURE, "signature"))
        if (read_signature(rows, &signature) && signature.cosigned && is_good(&signature))
            witnessing_add(witnessing, roster_find(verify->options->roster, signature.public_key),
                           cosignature_seconds(signature.bytes));
    sqlite3_reset(rows);
}

/* columns: 0 id, 1 uid, 2 when the first trial began, 3 SHA-256 of the bundle that it came in */
static void tell_witnesses_of(struct verify *verify, sqlite3_stmt *campaign, sqlite3_stmt *rows)
{
    struct witnessing witnessing = {.first_trial_ns =
                                        sqlite3_column_type(campaign, 2) == SQLITE_INTEGER
                                            ? sqlite3_column_int64(campaign, 2)
                                            : INT64_MAX};
    struct text message;
    bool wrong = false;
    char key[24];

    snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(campaign, 0));
    if (sqlite3_column_type(campaign, 3) == SQLITE_TEXT) {
        if (verify->options->witnesses > 0)
            verify_report(
                verify, VERIFY_WRONG, VERIFY_SIGNATURE, "campaign", key,
                "campaign %.8s came in a bundle, which says who witnessed its plan: check "
                "that with the roster (the file of SHA-256 %s)",
                text_at(campaign, 1), text_at(campaign, 3));
        return;
    }
    gather_witnesses(verify, rows, sqlite3_column_int64(campaign, 0), &witnessing);
    text_init(&message);
    if (witnessing_tell(&witnessing, verify->options, text_at(campaign, 1), &message, &wrong))
        verify_report(verify, wrong ? VERIFY_WRONG : VERIFY_NOTE, VERIFY_SIGNATURE, "campaign", key,
                      "%s", text_ok(&message) ? message.data : "out of memory");
    text_finish(&message);
}

/* Who saw each plan before it ran. What another program measured was never planned here. */
static void tell_witnesses(struct verify *verify)
{
    sqlite3_stmt *campaign = verify_prepare(
        verify, verify->db,
        "SELECT g.id, g.uid, (SELECT min(t.started_utc_ns) FROM trial t WHERE t.campaign = g.id),"
        " (SELECT lower(hex(b.sha256)) FROM bundle b WHERE b.campaign = g.id) FROM campaign g"
        " WHERE g.id NOT IN (SELECT campaign FROM import) OR g.id IN (SELECT campaign FROM trial)"
        " ORDER BY g.id",
        VERIFY_SIGNATURE, "campaign");
    sqlite3_stmt *rows = verify_prepare(verify, verify->db,
                                        SIGNATURES " WHERE c.kind = 'plan' AND c.campaign = ?1"
                                                   " ORDER BY s.id",
                                        VERIFY_SIGNATURE, "signature");

    while (campaign && rows && verify_step(verify, campaign, VERIFY_SIGNATURE, "campaign"))
        tell_witnesses_of(verify, campaign, rows);
    sqlite3_finalize(campaign);
    sqlite3_finalize(rows);
}

static void tell_cover(struct verify *verify)
{
    const struct verify_summary *summary = verify->summary;
    const bool asks = verify_asks_for_authors(verify->options);
    int64_t rest = summary->leaves - summary->signed_leaves;

    if (asks && summary->trusted_signatures == 0)
        verify_report(verify, VERIFY_WRONG, VERIFY_SIGNATURE, NULL, NULL,
                      "unsigned by the key that you named");
    else if (!asks && verify->options->roster)
        verify_report(verify, VERIFY_NOTE, VERIFY_SIGNATURE, NULL, NULL,
                      "the roster names no author, so whose results these are was not checked");
    else if (summary->signatures == 0)
        verify_report(verify, VERIFY_NOTE, VERIFY_SIGNATURE, NULL, NULL,
                      "unsigned: a rewrite of the whole file is detected only with "
                      "--expect-head");
    else if (rest > 0)
        verify_report(verify, VERIFY_NOTE, VERIFY_SIGNATURE, NULL, NULL,
                      "the last %" PRId64 " rows came after what %s covers", rest,
                      asks ? "that key" : "the newest signature");
    if (!asks && summary->signatures > 0)
        verify_report(verify, VERIFY_NOTE, VERIFY_SIGNATURE, NULL, NULL,
                      "signatures match the keys stored with them; --key checks whose keys these "
                      "are");
}

enum status verify_signatures(struct verify *verify, struct error *err)
{
    enum status status;
    sqlite3_stmt *row;
    bool has_origin;

    verify_progress(verify, "signatures", 0, 1);
    row = verify_prepare(verify, verify->db, "SELECT name FROM ledger_origin WHERE id = 1",
                         VERIFY_SIGNATURE, "ledger_origin");
    has_origin = row && verify_step(verify, row, VERIFY_SIGNATURE, "ledger_origin");
    if (has_origin)
        snprintf(verify->summary->origin, sizeof(verify->summary->origin), "%s", text_at(row, 0));
    else
        verify_report(verify, VERIFY_WRONG, VERIFY_SIGNATURE, "ledger_origin", NULL,
                      "the ledger has no origin");
    sqlite3_finalize(row);
    if (has_origin && !note_is_log_name(verify->summary->origin))
        verify_report(
            verify, VERIFY_WRONG, VERIFY_SIGNATURE, "ledger_origin", "1",
            "its name is not one that assay gives a ledger, so notes under it may read as "
            "another's");
    row = verify_prepare(verify, verify->db, SIGNATURES " ORDER BY s.id", VERIFY_SIGNATURE,
                         "signature");
    while (row && verify_step(verify, row, VERIFY_SIGNATURE, "signature"))
        check_signature(verify, row);
    sqlite3_finalize(row);
    check_stamps(verify);
    status = tell_plans(verify, err);
    if (verify_asks_for_authors(verify->options))
        check_cover(verify);
    if (status == STATUS_OK && verify_asks_for_authors(verify->options) &&
        verify->summary->signed_leaves > 0)
        status = check_rest(verify, err);
    tell_witnesses(verify);
    tell_cover(verify);
    return status;
}
