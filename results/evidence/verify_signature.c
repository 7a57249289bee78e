/* Signatures and time stamps of checkpoints. */
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "results/evidence/cosignature.h"
#include "results/evidence/note.h"
#include "results/evidence/timestamp.h"
#include "results/evidence/verify_internal.h"
#include "results/evidence/witnessing.h"

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
        VERIFY_REPORT(verify, KEY_NOT_COUNTED, signature->key, known->key.name, why);
        return false;
    }
    if (known && known->revoked_ns != INT64_MAX && !signature->cosigned)
        VERIFY_REPORT(verify, KEY_REVOKED_LATER, signature->key, known->key.name);
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
    " c.utc_ns, g.uid, l.name, c.log, s.utc_ns FROM signature s LEFT JOIN checkpoint c ON c.id ="  \
    " s.checkpoint LEFT JOIN log l ON l.id = c.log LEFT JOIN campaign g ON g.id = c.campaign"

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

/* Good signatures cover the log up to this many records. */
static void add_cover(struct verify *verify, int64_t log, int64_t size)
{
    struct verify_cover *cover = verify->covers;

    while (cover && cover->log != log)
        cover = cover->next;
    if (!cover) {
        cover = calloc(1, sizeof(*cover));
        if (!cover)
            return;
        cover->log = log;
        cover->next = verify->covers;
        verify->covers = cover;
    }
    if (size > cover->size)
        cover->size = size;
}

static int64_t cover_of(const struct verify *verify, int64_t log)
{
    for (const struct verify_cover *cover = verify->covers; cover; cover = cover->next)
        if (cover->log == log)
            return cover->size;
    return 0;
}

/* Appends "name+id" to the signers, once; "..." stands for those that do not fit. */
static void add_signer(struct verify_summary *summary, const char *name, const uint8_t *bytes)
{
    struct key_public key = {.name = ""};
    char word[KEY_NAME_MAX + 16];
    const size_t used = strlen(summary->signers);

    snprintf(key.name, sizeof(key.name), "%s", name);
    memcpy(key.bytes, bytes, sizeof(key.bytes));
    snprintf(word, sizeof(word), "%s+%08x", key.name, (unsigned)key_id(&key));
    if (strstr(summary->signers, word) || strstr(summary->signers, " ..."))
        return;
    if (used + strlen(word) + sizeof(",  ...") > sizeof(summary->signers))
        snprintf(word, sizeof(word), "...");
    snprintf(summary->signers + used, sizeof(summary->signers) - used, "%s%s", used ? ", " : "",
             word);
}

static void check_signature(struct verify *verify, sqlite3_stmt *row)
{
    struct signature signature;
    bool trusted;

    verify->summary->signatures++;
    if (!read_signature(row, &signature)) {
        VERIFY_REPORT(verify, SIGNATURE_FORM, signature.key);
        return;
    }
    if (!is_good(&signature)) {
        VERIFY_REPORT(verify, SIGNATURE_DIFFERS, signature.key,
                      (long long)sqlite3_column_int64(row, 5));
        return;
    }
    trusted = is_trusted(verify, &signature);
    if (trusted)
        verify->summary->trusted_signatures++;
    if (!trusted && (verify_asks_for_authors(verify->options) || verify->options->roster))
        return;
    add_cover(verify, sqlite3_column_int64(row, 12), signature.note.size);
    add_signer(verify->summary, text_at(row, 1), signature.public_key);
}

static void check_signatures(struct verify *verify)
{
    sqlite3_stmt *row = verify_prepare(verify, verify->db, SIGNATURES " ORDER BY s.id",
                                       VERIFY_SIGNATURE, "signature");

    while (row && verify_step(verify, row, VERIFY_SIGNATURE, "signature"))
        check_signature(verify, row);
    sqlite3_finalize(row);
}

/* The head under which a bundle was handed over. columns: 0 record, 1 log, 2 name, 3 size, 4 root,
 * 5 note */
static void check_bundle(struct verify *verify, sqlite3_stmt *row)
{
    const struct verify_options *options = verify->options;
    const bool asks = verify_asks_for_authors(options);
    const void *root = sqlite3_column_blob(row, 4);
    const struct key_public *author;
    struct note_text note;
    char key[24];

    snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(row, 0));
    if (note_read(text_at(row, 5), &note, NULL) != STATUS_OK ||
        strcmp(note.origin, text_at(row, 2)) != 0 ||
        note.note.size != sqlite3_column_int64(row, 3) || !root ||
        sqlite3_column_bytes(row, 4) != DIGEST_SIZE ||
        memcmp(root, note.note.root.bytes, DIGEST_SIZE) != 0 || note_count_lines(note.lines) < 0) {
        VERIFY_REPORT(verify, BUNDLE_NOTE, key);
        return;
    }
    verify->summary->signatures += note_count_lines(note.lines);
    for (size_t i = 0; (author = verify_author(options, i, note.note.utc_ns)); i++)
        if (note_text_is_signed(text_at(row, 5), note.length, author)) {
            verify->summary->trusted_signatures++;
            add_signer(verify->summary, author->name, author->bytes);
            add_cover(verify, sqlite3_column_int64(row, 1), note.note.size);
        }
    if (!asks && note_count_lines(note.lines) > 0)
        add_cover(verify, sqlite3_column_int64(row, 1), note.note.size);
}

static void check_bundles(struct verify *verify)
{
    sqlite3_stmt *row = verify_prepare(verify, verify->db,
                                       "SELECT b.record, l.id, l.name, b.size, b.root, b.note FROM"
                                       " bundle b JOIN log l ON l.name = b.origin GROUP BY b.record"
                                       " ORDER BY b.record",
                                       VERIFY_SIGNATURE, "bundle");

    while (row && verify_step(verify, row, VERIFY_SIGNATURE, "bundle"))
        check_bundle(verify, row);
    sqlite3_finalize(row);
}

/* Other text under such a name could be read as a head. */
static void check_names(struct verify *verify)
{
    sqlite3_stmt *row =
        verify_prepare(verify, verify->db, "SELECT id, name FROM log", VERIFY_SIGNATURE, "log");

    while (row && verify_step(verify, row, VERIFY_SIGNATURE, "log"))
        if (!note_is_log_name(text_at(row, 1)))
            VERIFY_REPORT(verify, LOG_NAME_FORM, text_at(row, 0));
    sqlite3_finalize(row);
}

/*
 * The authority's clock against the file's. columns: 3 when the head was made, 4 when the first
 * trial began, where the head is of a plan
 */
static void compare_clocks(struct verify *verify, const char *key, sqlite3_stmt *row,
                           const struct timestamp *timestamp)
{
    const int64_t made = sqlite3_column_int64(row, 3) / INT64_C(1000000000);
    const int64_t stamped = timestamp->seconds;

    if (stamped < made - CLOCKS_APART_S)
        VERIFY_REPORT(verify, STAMP_EARLY, key, (long long)(made - stamped));
    if (sqlite3_column_type(row, 4) == SQLITE_INTEGER &&
        stamped > sqlite3_column_int64(row, 4) / INT64_C(1000000000) + CLOCKS_APART_S)
        VERIFY_REPORT(verify, STAMP_AFTER_TRIAL, key);
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
        bool has_read;
        char key[24];

        snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(row, 0));
        if (bytes && sqlite3_column_bytes(row, 2) == DIGEST_SIZE)
            memcpy(root.bytes, bytes, DIGEST_SIZE);
        has_read =
            timestamp_check(token ? token : "", token ? (size_t)sqlite3_column_bytes(row, 1) : 0,
                            &root, verify->options->tsa_ca, &timestamp, &err) == STATUS_OK;
        if (!has_read)
            VERIFY_REPORT(verify, STAMP_BAD, key, err.message);
        else if (verify->options->tsa_ca)
            VERIFY_REPORT(verify, STAMP_CHECKED, key, verify->options->tsa_ca, timestamp.time);
        else
            VERIFY_REPORT(verify, STAMP_UNCHECKED, key, timestamp.time);
        if (has_read)
            compare_clocks(verify, key, row, &timestamp);
    }
    sqlite3_finalize(row);
}

/* With keys given, every campaign must be covered by one of them, in its own log. */
static void check_cover(struct verify *verify)
{
    sqlite3_stmt *row = verify_prepare(
        verify, verify->db,
        "SELECT g.id, substr(g.uid, 1, 8), r.log, (SELECT max(c.size) FROM checkpoint c WHERE"
        " c.campaign = g.id AND c.log = r.log AND c.kind IN ('plan', 'end')) FROM campaign g JOIN "
        "record r ON r.id = g.record"
        " ORDER BY g.id",
        VERIFY_SIGNATURE, "campaign");

    while (row && verify_step(verify, row, VERIFY_SIGNATURE, "campaign")) {
        const int64_t log = sqlite3_column_int64(row, 2), cover = cover_of(verify, log);
        char key[24];

        snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(row, 0));
        if (cover == 0 ||
            (sqlite3_column_type(row, 3) != SQLITE_NULL && sqlite3_column_int64(row, 3) > cover))
            VERIFY_REPORT(verify, CAMPAIGN_UNSIGNED, key, text_at(row, 1),
                          log == 1 ? "" : ", which came in a bundle,");
    }
    sqlite3_finalize(row);
}

/* A signature of a campaign's plan does not cover its trials. */
static void check_rest(struct verify *verify)
{
    for (const struct verify_cover *cover = verify->covers; cover; cover = cover->next)
        verify_rule_check(verify, VERIFY_RULE_RECORDS_AFTER_SIGNATURE,
                          (const int64_t[]){cover->log, cover->size});
}

/* The good cosignatures of a campaign. columns: as check_signature has them, 13 when it was stored
 */
static void gather_witnesses(struct verify *verify, sqlite3_stmt *rows, int64_t campaign,
                             struct witnessing *witnessing)
{
    struct signature signature;

    sqlite3_bind_int64(rows, 1, campaign);
    while (verify_step(verify, rows, VERIFY_SIGNATURE, "signature"))
        if (read_signature(rows, &signature) && signature.cosigned && is_good(&signature)) {
            const struct roster_key *who =
                roster_find(verify->options->roster, signature.public_key);
            struct sighting seen = {.seconds = cosignature_seconds(signature.bytes),
                                    .head_ns = signature.note.utc_ns,
                                    .stored_ns = sqlite3_column_int64(rows, 13)};

            /* Earlier versions stored the witness's own time again. */
            if (seen.stored_ns == seen.seconds * SECOND_NS)
                seen.stored_ns = 0;
            if (!strcmp(signature.note.kind, "plan"))
                witnessing_add(witnessing, who, &seen);
            else
                witnessing_add_end(witnessing, who, &seen);
        }
    sqlite3_reset(rows);
}

/* columns: 0 id, 1 uid, 2 when the first trial began, 3 the last end, 4 the trials' duration */
static void tell_witnesses_of(struct verify *verify, sqlite3_stmt *campaign, sqlite3_stmt *rows)
{
    struct witnessing witnessing = {.first_trial_ns =
                                        sqlite3_column_type(campaign, 2) == SQLITE_INTEGER
                                            ? sqlite3_column_int64(campaign, 2)
                                            : INT64_MAX,
                                    .last_end_ns = sqlite3_column_int64(campaign, 3),
                                    .trials_ns = sqlite3_column_int64(campaign, 4)};
    struct text message;
    bool wrong = false;
    char key[24];

    snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(campaign, 0));
    gather_witnesses(verify, rows, sqlite3_column_int64(campaign, 0), &witnessing);
    text_init(&message);
    if (witnessing_tell(&witnessing, verify->options, text_at(campaign, 1), &message, &wrong))
        verify_report(verify, wrong ? VERIFY_RULE_PLAN_WITNESSES_FEW : VERIFY_RULE_PLAN_WITNESSES,
                      VERIFY_SIGNATURE, "campaign", key, verify_message_PLAN_WITNESSES,
                      text_ok(&message) ? message.data : "out of memory");
    for (size_t i = 0; i < witnessing.count; i++) {
        message.length = 0;
        if (witnessing_contradicts(&witnessing, i, &message) && text_ok(&message))
            VERIFY_REPORT(verify, WITNESS_ELAPSED, key, message.data);
    }
    text_finish(&message);
}

/* Who saw each plan before it ran. What another program measured was never planned here. */
static void tell_witnesses(struct verify *verify)
{
    sqlite3_stmt *campaign = verify_prepare(
        verify, verify->db,
        "SELECT g.id, g.uid, (SELECT min(t.started_utc_ns) FROM trial t WHERE t.campaign = g.id),"
        " (SELECT max(c.utc_ns) FROM checkpoint c WHERE c.campaign = g.id AND c.kind = 'end'),"
        " (SELECT total(m) FROM (SELECT max(p.end_ns) AS m FROM trial t JOIN phase p ON p.trial = "
        "t.id"
        " WHERE t.campaign = g.id GROUP BY t.id)) FROM campaign g"
        " WHERE g.id NOT IN (SELECT campaign FROM import) OR g.id IN (SELECT campaign FROM trial)"
        " ORDER BY g.id",
        VERIFY_SIGNATURE, "campaign");
    sqlite3_stmt *rows = verify_prepare(verify, verify->db,
                                        SIGNATURES " WHERE c.kind IN ('plan', 'end') AND c.campaign"
                                                   " = ?1 ORDER BY c.kind DESC, s.id",
                                        VERIFY_SIGNATURE, "signature");

    while (campaign && rows && verify_step(verify, campaign, VERIFY_SIGNATURE, "campaign"))
        tell_witnesses_of(verify, campaign, rows);
    sqlite3_finalize(campaign);
    sqlite3_finalize(rows);
}

/* Which release ran each campaign. What another program measured, assay has only taken in. */
static void tell_releases(struct verify *verify)
{
    sqlite3_stmt *row = verify_prepare(
        verify, verify->db,
        "SELECT id, uid, tool_digest FROM campaign WHERE id NOT IN (SELECT campaign FROM import)"
        " OR id IN (SELECT campaign FROM trial) ORDER BY id",
        VERIFY_SIGNATURE, "campaign");

    while (row && verify_step(verify, row, VERIFY_SIGNATURE, "campaign")) {
        struct digest digest = {{0}};
        const struct release *release = column_digest(row, 2, &digest)
                                            ? releases_find(verify->options->releases, &digest)
                                            : NULL;
        AUTO_FREE char *words = release ? release_words(release) : NULL;
        char key[24], hex[DIGEST_HEX_SIZE];

        if (release)
            VERIFY_REPORT(verify, RELEASE, key_of(row, key), text_at(row, 1), words ? words : "");
        else
            VERIFY_REPORT(verify, RELEASE_NONE, key_of(row, key), text_at(row, 1),
                          digest_hex(&digest, hex));
    }
    sqlite3_finalize(row);
}

static void tell_cover(struct verify *verify)
{
    struct verify_summary *summary = verify->summary;
    const bool asks = verify_asks_for_authors(verify->options);
    const int64_t own = verify_ask(verify,
                                   "SELECT count(*) FROM campaign g JOIN record r ON r.id ="
                                   " g.record WHERE r.log = 1",
                                   0, 0, VERIFY_SIGNATURE);
    const int64_t bundles =
        verify_ask(verify, "SELECT count(*) FROM bundle", 0, 0, VERIFY_SIGNATURE);
    int64_t rest;

    summary->signed_leaves = cover_of(verify, 1);
    rest = summary->leaves - summary->signed_leaves;
    if (asks && summary->trusted_signatures == 0)
        VERIFY_REPORT(verify, UNSIGNED_BY_KEY, NULL);
    else if (!asks && verify->options->roster)
        VERIFY_REPORT(verify, ROSTER_WITHOUT_AUTHORS, NULL);
    else if (own > 0 || bundles == 0) {
        if (summary->signed_leaves == 0)
            VERIFY_REPORT(verify, UNSIGNED, NULL);
        else if (rest > 0)
            VERIFY_REPORT(verify, RECORDS_UNSIGNED, NULL, rest,
                          asks ? "that key" : "the newest signature");
    }
    if (!asks && summary->signatures > 0)
        VERIFY_REPORT(verify, SIGNERS_UNKNOWN, NULL);
}

enum status verify_signatures(struct verify *verify, struct error *err)
{
    (void)err;
    verify_progress(verify, "signatures", 0, 1);
    check_names(verify);
    check_signatures(verify);
    check_bundles(verify);
    check_stamps(verify);
    verify_rule_check(verify, VERIFY_RULE_PLAN_UNPROVEN, NULL);
    verify_rule_check(verify, VERIFY_RULE_HEAD_DATES, NULL);
    verify_rule_check(verify, VERIFY_RULE_HEAD_DATES_BACK, NULL);
    verify_rule_check(verify, VERIFY_RULE_PLAN_HEAD_PLACE, NULL);
    if (verify_asks_for_authors(verify->options)) {
        check_cover(verify);
        check_rest(verify);
    }
    tell_witnesses(verify);
    verify_quotes(verify);
    if (verify->options->releases)
        tell_releases(verify);
    tell_cover(verify);
    return STATUS_OK;
}
