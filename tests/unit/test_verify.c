#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "harness/core/file.h"
#include "results/analysis/analysis.h"
#include "results/evidence/ledger.h"
#include "results/store/store_internal.h"
#include "results/evidence/verify_rules.h"
#include "tests/support/store_fixture.h"
#include "tests/support/synthetic_campaign.h"
#include "tests/support/unit.h"

#define SECOND INT64_C(1000000000)

/* Findings as lines. */
struct heard {
    char lines[256][512];
    int count, wrong, explained, calls;
    bool stop;
};

static void found(void *context, const struct verify_finding *finding)
{
    struct heard *heard = context;

    if (fixture_explains(finding)) {
        heard->explained += finding->level == VERIFY_WRONG;
        return;
    }
    heard->wrong += finding->level == VERIFY_WRONG;
    if (heard->count < 256)
        snprintf(heard->lines[heard->count++], 512, "%s%s: %s %s: %.300s",
                 finding->level == VERIFY_WRONG ? "wrong: " : "", verify_check_name(finding->check),
                 finding->table ? finding->table : "", finding->key ? finding->key : "",
                 finding->message);
}

static bool progress(void *context, const struct verify_progress *progress)
{
    struct heard *heard = context;

    assert_true(progress->done <= progress->total);
    heard->calls++;
    return !heard->stop;
}

static bool heard_of(const struct heard *heard, const char *words)
{
    for (int i = 0; i < heard->count; i++)
        if (strstr(heard->lines[i], words))
            return true;
    for (int i = 0; i < heard->count; i++)
        print_error("%s\n", heard->lines[i]);
    return false;
}

static struct verify_summary check(const char *path, const struct verify_options *more,
                                   struct heard *heard)
{
    struct verify_options options = more ? *more : (struct verify_options){0};
    struct verify_summary summary;
    struct error err = ERROR_INIT;

    memset(heard, 0, sizeof(*heard));
    options.context = heard;
    options.found = found;
    options.progress = progress;
    assert_ok(verify_file(path, &options, &summary, &err), err);
    if (summary.wrong != heard->wrong + heard->explained)
        fail_msg("%lld wrong, %d reported", (long long)summary.wrong,
                 heard->wrong + heard->explained);
    summary.wrong = heard->wrong;
    return summary;
}

/* Two results of many trials, with estimates by the analysis. */
static void fill(struct fixture *fixture)
{
    struct synthetic_options options = synthetic_options_default();
    struct error err = ERROR_INIT;
    int64_t cells[SYNTHETIC_SHAPES];

    options.cells = SYNTHETIC_SHAPES;
    options.estimates = SYNTHETIC_ANALYSED;
    assert_ok(synthetic_campaign_add(fixture->store, &options, cells, &err), err);
}

static void close_store(struct fixture *fixture)
{
    store_close(fixture->store);
    fixture->store = NULL;
}

static int count_values(const char *message)
{
    int count = 0;

    for (const char *at = strchr(message, '%'); at; at = strchr(at + 1, '%'))
        count++;
    return count;
}

/* Codes differ, and each SELECT gives the row's key and the values of its message. */
TEST_WITH(rules, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < VERIFY_RULE_COUNT; i++) {
        const struct verify_rule *rule = &verify_rules[i];
        sqlite3_stmt *select = NULL;

        for (int k = 0; k < i; k++)
            assert_string_not_equal(rule->code, verify_rules[k].code);
        if (!rule->select)
            continue;
        assert_int_equal(
            sqlite3_prepare_v2(store_connection(fixture->store), rule->select, -1, &select, NULL),
            SQLITE_OK);
        if (sqlite3_column_count(select) != 1 + count_values(rule->message))
            fail_msg("%s: %d columns for \"%s\"", rule->code, sqlite3_column_count(select),
                     rule->message);
        sqlite3_finalize(select);
    }
}

TEST_WITH(good, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct verify_summary summary, shared;
    struct heard heard;

    fill(fixture);
    /* While somebody has it open, the content of the log counts too. */
    summary = check(fixture->path, NULL, &heard);
    /* The synthetic campaign repeats a trial that crashed by itself: one thing is wrong with it. */
    assert_int_equal(summary.wrong, 1);
    assert_true(heard_of(&heard, "was tried again although attempt 1 ended 'crashed'"));
    close_store(fixture);
    for (int threads = 1; threads <= 4; threads++) {
        shared = check(fixture->path, &(struct verify_options){.threads = threads}, &heard);
        assert_int_equal(shared.wrong, 1);
        assert_int_equal(shared.rows, summary.leaves);
        assert_true(digest_equal(&shared.root, &summary.root));
        assert_true(shared.estimates >= 3);
    }
    assert_true(heard_of(&heard, "unsigned: a rewrite"));
    assert_true(heard.calls > 3);
}

static void keep(void *context, const struct verify_finding *finding)
{
    digest_update(context, finding->message, strlen(finding->message) + 1);
    if (finding->key)
        digest_update(context, finding->key, strlen(finding->key) + 1);
}

/* More findings than are kept, in many parts: the same ones in the same order. */
TEST_WITH(threads_report_in_order, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct verify_summary summary;
    struct digest first = {{0}}, digest;
    struct error err = ERROR_INIT;
    sqlite3 *db = NULL;

    fill(fixture);
    assert_ok(store_batch_begin(fixture->store, &err), err);
    for (int i = 0; i < 1500; i++)
        assert_ok(store_add_campaign_event(fixture->store, 1, "resumed", NULL, &err), err);
    assert_ok(store_batch_end(fixture->store, true, &err), err);
    close_store(fixture);
    assert_int_equal(sqlite3_open(fixture->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "DROP TRIGGER record_no_update;"
                                  "UPDATE record SET digest = CAST(printf('%032d', id) AS BLOB)"
                                  " WHERE type = 'event'",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    for (int threads = 1; threads <= 4; threads++) {
        struct digest_state state_of;
        const struct verify_options options = {
            .threads = threads, .context = &state_of, .found = keep};

        digest_init(&state_of);
        assert_ok(verify_file(fixture->path, &options, &summary, &err), err);
        digest = digest_final(&state_of);
        assert_true(summary.wrong > 1000);
        if (threads == 1)
            first = digest;
        assert_true(digest_equal(&digest, &first));
    }
}

TEST_WITH(stops_when_asked, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct heard heard = {.stop = true};
    const struct verify_options options = {.context = &heard, .found = found, .progress = progress};
    struct verify_summary summary;
    struct error err = ERROR_INIT;

    fill(fixture);
    close_store(fixture);
    assert_status(verify_file(fixture->path, &options, &summary, &err), STATUS_INTERRUPTED, err);
}

static bool write_meanwhile(void *context, const struct verify_progress *unused)
{
    const struct fixture *fixture = context;
    const struct timespec times[2] = {{1, 0}, {1, 0}};

    (void)unused;
    assert_int_equal(utimensat(AT_FDCWD, fixture->path, times, 0), 0);
    return true;
}

/* A file without a log is read without locks, so there is no verdict if others wrote to it. */
TEST_WITH(written_meanwhile, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    const struct verify_options options = {.context = fixture, .progress = write_meanwhile};
    struct verify_summary summary;
    struct error err = ERROR_INIT;

    fill(fixture);
    close_store(fixture);
    assert_status(verify_file(fixture->path, &options, &summary, &err), STATUS_BUSY, err);
    assert_non_null(strstr(err.message, "was written to while it was checked"));
}

/* An earlier estimate stays valid when trials were added after it. */
TEST_WITH(earlier_estimates, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct heard heard;
    struct verify_summary summary;

    fill(fixture);
    close_store(fixture);
    fixture_tamper(fixture->path,
                   "UPDATE estimate SET body = replace(body, '\"mean_ns\"', '\"mean_Ns\"')"
                   " WHERE id = 1");
    summary = check(fixture->path, NULL, &heard);
    assert_true(summary.wrong > 0);
    assert_true(heard_of(&heard, "estimate: estimate 1: does not follow"));
    assert_true(
        heard_of(&heard, "row: estimate 1: is not what its record says: it differs in body"));
}

TEST_WITH(signatures, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaign, cells[FIXTURE_CELLS];
    struct key key, other;
    struct verify_options options = {0};
    struct verify_summary summary;
    struct ledger_checkpoint checkpoint;
    struct heard heard;
    char head[128], hex[DIGEST_HEX_SIZE];

    assert_ok(key_generate("lab", &key, &err), err);
    assert_ok(key_generate("other", &other, &err), err);
    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    assert_ok(ledger_add_checkpoint(fixture->store, "end", campaign, &key, &checkpoint, &err), err);
    close_store(fixture);
    options.keys = &key.public;
    options.key_count = 1;
    snprintf(head, sizeof(head), "%lld:%s", (long long)checkpoint.size,
             digest_hex(&checkpoint.root, hex));
    options.expect_head = head;
    summary = check(fixture->path, &options, &heard);
    assert_int_equal(summary.wrong, 0);
    assert_int_equal(summary.trusted_signatures, 1);
    assert_int_equal(summary.signed_leaves, checkpoint.size);
    options.keys = &other.public;
    summary = check(fixture->path, &options, &heard);
    assert_int_equal(summary.wrong, 2);
    assert_true(heard_of(&heard, "unsigned by the key"));
    options.key_count = 0;
    head[strlen(head) - 1] = head[strlen(head) - 1] == '0' ? '1' : '0';
    summary = check(fixture->path, &options, &heard);
    assert_int_equal(summary.wrong, 1);
    assert_true(heard_of(&heard, "the expected head"));
    options.expect_head = "12:34";
    options.found = NULL;
    assert_status(verify_file(fixture->path, &options, &summary, &err), STATUS_INVALID, err);
}

/* Files that are no evidence at all, and malicious ones. */
TEST_WITH(hostile, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    const char *path = fixture_path(fixture, "x.db");
    const struct verify_options options = {.threads = 1};
    struct verify_summary summary;
    struct error err = ERROR_INIT;
    struct heard heard;
    sqlite3 *db = NULL;

    assert_status(verify_file(path, &options, &summary, &err), STATUS_NOT_FOUND, err);
    assert_status(verify_file(fixture->folder, &options, &summary, &err), STATUS_CORRUPT, err);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t (a)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_status(verify_file(path, &options, &summary, &err), STATUS_CORRUPT, err);
    close_store(fixture);
    /* Views and triggers of theirs are not run, columns that compute are not read. */
    assert_int_equal(sqlite3_open(fixture->path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(
            db,
            "DROP TABLE amendment; CREATE VIEW amendment AS WITH RECURSIVE n (i) AS (SELECT"
            " 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS cell, i AS utc_ns, 'x'"
            " AS author, 'y' AS reason FROM n",
            NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    summary = check(fixture->path, &options, &heard);
    assert_true(heard_of(&heard, "the table amendment is missing"));
    assert_true(summary.rows == 0);
}
