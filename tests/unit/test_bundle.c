#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/canonical.h"
#include "harness/core/file.h"
#include "harness/core/random.h"
#include "harness/core/text.h"
#include "results/evidence/bundle.h"
#include "results/evidence/ledger.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

struct tally {
    int wrong, notes;
    bool is_withheld; /* a record of the own log has other salts than its secret makes */
    char last[512];
};

static void tally(void *context, const struct verify_finding *finding)
{
    struct tally *tally = context;

    if (finding->level == VERIFY_NOTE) {
        tally->notes++;
        return;
    }
    if (fixture_explains(finding))
        return;
    tally->wrong++;
    tally->is_withheld |=
        strstr(finding->message, "has other salts than it needs (amendment)") != NULL;
    snprintf(tally->last, sizeof(tally->last), "%s: %s", verify_check_name(finding->check),
             finding->message);
}

static int64_t fill(struct store *store, unsigned number)
{
    struct error err = ERROR_INIT;
    int64_t campaign, cells[FIXTURE_CELLS];

    assert_ok(fixture_add_campaign(store, number, &campaign, cells, &err), err);
    for (int64_t i = 1; i <= 6; i++)
        assert_ok(
            fixture_run_trial(store, campaign, i, i == 2 ? "crashed" : "ok", 1500, NULL, &err),
            err);
    assert_ok(ledger_add_amendment(store, cells[0], "an auditor", "the fan was loud", &err), err);
    return campaign;
}

static struct bundle_summary write_bundle(struct store *store, int64_t campaign, const char *path,
                                          const char *withhold, const struct key *key)
{
    struct bundle_options options = {
        .campaigns = &campaign,
        .campaign_count = 1,
        .withhold = &withhold,
        .withhold_count = withhold != NULL,
        .key = key,
        .tool_version = "test",
    };
    struct bundle_summary summary;
    struct error err = ERROR_INIT;
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_ok(bundle_write(store, &options, file, &summary, &err), err);
    assert_int_equal(fclose(file), 0);
    return summary;
}

static struct tally check(const char *path, bool is_bundle, const struct verify_options *asked)
{
    struct tally found = {0};
    struct verify_options options = asked ? *asked : (struct verify_options){0};
    struct verify_summary summary;
    struct error err = ERROR_INIT;

    options.context = &found;
    options.found = tally;
    options.skip_estimates = true;
    options.threads = 1;
    if ((is_bundle ? bundle_verify(path, &options, &summary, &err)
                   : verify_file(path, &options, &summary, &err)) != STATUS_OK) {
        found.wrong++;
        snprintf(found.last, sizeof(found.last), "%.500s", err.message);
    }
    return found;
}

static struct tally read_bundle(const char *path, const struct verify_options *options)
{
    return check(path, true, options);
}

static void assert_good(struct tally found)
{
    if (found.wrong > 0)
        fail_msg("%s", found.last);
}

static struct store *open_other(struct fixture *fixture, const char *name)
{
    struct store *store = NULL;
    struct error err = ERROR_INIT;

    assert_ok(store_open(fixture_path(fixture, name), STORE_CREATE, 0, &store, &err), err);
    return store;
}

/* All rows of one of two campaigns, none of the other's own, unchanged in another file. */
TEST_WITH(round_trip, fixture_open, fixture_remove)
{
    static const char *const counts[] = {
        "SELECT count(*) FROM trial WHERE campaign = (SELECT id FROM campaign WHERE uid = '%s')",
        "SELECT sum(samples) FROM trial_end e JOIN trial t ON t.id = e.trial WHERE t.campaign ="
        " (SELECT id FROM campaign WHERE uid = '%s')",
        "SELECT sum(total) FROM series s JOIN trial t ON t.id = s.trial WHERE t.campaign ="
        " (SELECT id FROM campaign WHERE uid = '%s')",
        "SELECT count(*) FROM verification v JOIN trial t ON t.id = v.trial WHERE t.campaign ="
        " (SELECT id FROM campaign WHERE uid = '%s')",
        "SELECT count(*) FROM libraries l JOIN trial t ON t.id = l.trial WHERE t.campaign ="
        " (SELECT id FROM campaign WHERE uid = '%s')",
        "SELECT count(*) FROM conditions l JOIN trial t ON t.id = l.trial WHERE t.campaign ="
        " (SELECT id FROM campaign WHERE uid = '%s')",
        "SELECT count(*) FROM amendment a JOIN cell c ON c.id = a.cell WHERE c.campaign ="
        " (SELECT id FROM campaign WHERE uid = '%s')",
    };
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct store *other = NULL;
    struct bundle_import import;
    struct bundle_summary summary;
    char bundle[600], uid[STORE_UID_SIZE];
    int64_t campaign, mine;
    const struct bundle_options options = {.campaigns = &campaign, .campaign_count = 1};
    FILE *file;

    fill(fixture->store, 1);
    campaign = fill(fixture->store, 2);
    snprintf(bundle, sizeof(bundle), "%s", fixture_path(fixture, "b.assay"));
    write_bundle(fixture->store, campaign, bundle, NULL, NULL);
    assert_true(bundle_recognise(bundle));
    assert_false(bundle_recognise(fixture->path));
    assert_good(read_bundle(bundle, NULL));

    /* Into a database whose numbers are in use. */
    other = open_other(fixture, "other.db");
    fill(other, 7);
    mine = fixture_ask(other, "SELECT count(*) FROM campaign");
    assert_ok(bundle_import(other, bundle, NULL, NULL, &import, NULL, &err), err);
    assert_int_equal(import.campaigns, 1);
    assert_int_equal(import.known, 0);
    assert_int_equal(fixture_ask(other, "SELECT count(*) FROM campaign"), mine + 1);
    assert_int_equal(fixture_ask(other, "SELECT count(*) FROM bundle"), 1);
    fixture_uid(2, uid);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        char sql[400];

        snprintf(sql, sizeof(sql), counts[i], uid);
        assert_true(fixture_ask(fixture->store, sql) > 0);
        assert_int_equal(fixture_ask(other, sql), fixture_ask(fixture->store, sql));
    }
    assert_string_equal(fixture_soundness(other), "ok");

    /* The digests are what they were. */
    assert_int_equal(fixture_ask(other, "SELECT count(*) FROM record WHERE log = 2"),
                     import.records);
    assert_good(check(fixture_path(fixture, "other.db"), false, NULL));

    /* Once more changes nothing. */
    mine = fixture_ask(other, "SELECT count(*) FROM record");
    assert_ok(bundle_import(other, bundle, NULL, NULL, &import, NULL, &err), err);
    assert_int_equal(import.known, 1);
    assert_int_equal(import.records, 0);
    assert_int_equal(fixture_ask(other, "SELECT count(*) FROM record"), mine);

    /* What came in a bundle is handed on in it. */
    campaign = import.campaign;
    file = fopen(bundle, "w");
    assert_status(bundle_write(other, &options, file, &summary, &err), STATUS_INVALID, err);
    assert_non_null(strstr(err.message, "hand that file on"));
    fclose(file);
    store_close(other);
}

/* Two of one log, made at different times, in either order. */
TEST_WITH(two_of_one_log, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct bundle_import import;
    char bundles[3][600], sql[80];
    int64_t campaigns[2];

    campaigns[0] = fill(fixture->store, 1);
    for (int i = 0; i < 3; i++)
        snprintf(bundles[i], sizeof(bundles[i]), "%s/%d.assay", fixture->folder, i);
    write_bundle(fixture->store, campaigns[0], bundles[0], NULL, NULL);
    campaigns[1] = fill(fixture->store, 2);
    write_bundle(fixture->store, campaigns[1], bundles[1], NULL, NULL);
    fill(fixture->store, 3);
    snprintf(sql, sizeof(sql), "SELECT min(id) FROM cell WHERE campaign = %" PRId64, campaigns[0]);
    assert_ok(ledger_add_amendment(fixture->store, fixture_ask(fixture->store, sql), "me",
                                   "it was hot, too", &err),
              err);
    write_bundle(fixture->store, campaigns[0], bundles[2], NULL, NULL);
    for (int i = 0; i < 3; i++)
        assert_good(read_bundle(bundles[i], NULL));
    for (int first = 0; first < 2; first++) {
        struct store *other = open_other(fixture, first ? "a.db" : "b.db");

        assert_ok(bundle_import(other, bundles[first], NULL, NULL, &import, NULL, &err), err);
        assert_ok(bundle_import(other, bundles[!first], NULL, NULL, &import, NULL, &err), err);
        assert_int_equal(import.known, 0);
        /* Nothing is added to a campaign that is here: a later bundle says what it has more. */
        assert_status(bundle_import(other, bundles[2], NULL, NULL, &import, NULL, &err),
                      STATUS_INVALID, err);
        assert_non_null(strstr(err.message, "did not: amendment (1)."));
        assert_ok(bundle_import(other, bundles[0], NULL, NULL, &import, NULL, &err), err);
        assert_int_equal(import.known, 1);
        assert_int_equal(fixture_ask(other, "SELECT count(*) FROM log"), 2);
        assert_int_equal(fixture_ask(other, "SELECT count(*) FROM campaign"), 2);
        assert_string_equal(fixture_soundness(other), "ok");
        store_close(other);
        assert_good(check(fixture_path(fixture, first ? "a.db" : "b.db"), false, NULL));
    }
}

/* What one bundle withheld may come from elsewhere: a text of our own has the same digest. */
TEST_WITH(withheld_and_stored, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct bundle_import import;
    struct store *other;
    char bundle[600];
    int64_t outputs;

    snprintf(bundle, sizeof(bundle), "%s", fixture_path(fixture, "b.assay"));
    write_bundle(fixture->store, fill(fixture->store, 1), bundle, "dump.output", NULL);
    assert_good(read_bundle(bundle, NULL));
    other = open_other(fixture, "other.db");
    assert_ok(bundle_import(other, bundle, NULL, NULL, &import, NULL, &err), err);
    assert_int_equal(import.blobs_withheld, 1);
    outputs = fixture_ask(other, "SELECT count(*) FROM content WHERE body IS NULL");
    assert_int_equal(outputs, 1);
    fill(other, 2);
    assert_int_equal(fixture_ask(other, "SELECT count(*) FROM content WHERE body IS NULL"), 0);
    assert_int_not_equal(
        sqlite3_exec(store_connection(other), "UPDATE content SET body = 'x'", NULL, NULL, NULL),
        SQLITE_OK);
    store_close(other);
    assert_good(check(fixture_path(fixture, "other.db"), false, NULL));
}

TEST_WITH(withheld, fixture_open, fixture_remove)
{
    static const char secret[] = "the fan was loud";
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct bundle_summary summary;
    struct store *other = NULL;
    struct bundle_import import;
    char bundle[600], *bytes = NULL;
    size_t length;
    int64_t campaign = fill(fixture->store, 1), records;
    const char *word = "no.such.thing";
    struct bundle_options options = {
        .campaigns = &campaign, .campaign_count = 1, .withhold = &word, .withhold_count = 1};
    FILE *file;

    snprintf(bundle, sizeof(bundle), "%s", fixture_path(fixture, "b.assay"));
    write_bundle(fixture->store, campaign, bundle, NULL, NULL);
    assert_ok(file_read(bundle, 1 << 26, &bytes, &length, &err), err);
    assert_non_null(memmem(bytes, length, secret, strlen(secret)));
    free(bytes);
    summary = write_bundle(fixture->store, campaign, bundle, "amendment.reason", NULL);
    assert_true(summary.withheld >= 1);
    assert_ok(file_read(bundle, 1 << 26, &bytes, &length, &err), err);
    assert_null(memmem(bytes, length, secret, strlen(secret)));
    free(bytes);
    assert_good(read_bundle(bundle, NULL));
    other = open_other(fixture, "other.db");
    assert_ok(bundle_import(other, bundle, NULL, NULL, &import, NULL, &err), err);
    assert_int_equal(fixture_ask(other, "SELECT count(*) FROM amendment WHERE reason ="
                                        " '(withheld)' AND author = 'an auditor'"),
                     1);
    assert_int_equal(
        fixture_ask(other, "SELECT count(*) FROM record WHERE type = 'amendment' AND"
                           " json_type(body, '$.reason.withheld') = 'text' AND json_type(salt) ="
                           " 'object'"),
        1);
    store_close(other);

    records = fixture_ask(fixture->store, "SELECT count(*) FROM record");
    file = fopen(bundle, "w");
    assert_status(bundle_write(fixture->store, &options, file, &summary, &err), STATUS_INVALID,
                  err);
    assert_non_null(strstr(err.message, "no.such.thing"));
    fclose(file);
    /* No head of a bundle that was refused. */
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM record"), records);
}

/* Nobody withholds from their own log: the digest is the same, and that is found. */
TEST_WITH(withheld_from_own_log, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct bundle_import import;
    struct store *other;
    char bundle[600], *sql;

    snprintf(bundle, sizeof(bundle), "%s", fixture_path(fixture, "b.assay"));
    write_bundle(fixture->store, fill(fixture->store, 1), bundle, "amendment.reason", NULL);
    other = open_other(fixture, "other.db");
    assert_ok(bundle_import(other, bundle, NULL, NULL, &import, NULL, &err), err);
    store_close(other);
    store_close(fixture->store);
    fixture->store = NULL;
    assert_good(check(fixture->path, false, NULL));
    sql = sqlite3_mprintf("ATTACH %Q AS theirs; UPDATE main.record SET body = (SELECT body FROM"
                          " theirs.record t WHERE t.digest = main.record.digest) WHERE type ="
                          " 'amendment'; UPDATE main.amendment SET reason = '(withheld)'",
                          fixture_path(fixture, "other.db"));
    fixture_tamper(fixture->path, sql);
    sqlite3_free(sql);
    assert_true(check(fixture->path, false, NULL).is_withheld);
}

/* A trial of which nothing was read: what is empty in two logs is not the same record. */
static int64_t fill_without_readings(struct store *store, unsigned number)
{
    const struct store_trial_end end = {.status = "crashed", .message = "x", .max_rss_bytes = -1};
    struct error err = ERROR_INIT;
    json_t *nothing = json_object();
    int64_t campaign, trial, cells[FIXTURE_CELLS];

    assert_ok(fixture_add_campaign(store, number, &campaign, cells, &err), err);
    assert_ok(store_begin_trial(store, campaign, 1, 5, &trial, &err), err);
    assert_ok(store_add_environment(store, trial, "host", nothing, &err), err);
    assert_ok(store_add_components(store, trial, "window_start", NULL, 0, &err), err);
    assert_ok(store_end_trial(store, trial, &end, &err), err);
    json_decref(nothing);
    return campaign;
}

TEST_WITH(empty_in_two_logs, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct bundle_import import;
    struct store *other = open_other(fixture, "other.db");
    char bundle[600];

    snprintf(bundle, sizeof(bundle), "%s", fixture_path(fixture, "b.assay"));
    write_bundle(fixture->store, fill_without_readings(fixture->store, 1), bundle, NULL, NULL);
    fill_without_readings(other, 2);
    assert_ok(bundle_import(other, bundle, NULL, NULL, &import, NULL, &err), err);
    assert_int_equal(fixture_ask(other, "SELECT count(*) FROM record WHERE type = 'readings' AND"
                                        " json_array_length(body, '$.readings') = 0 AND"
                                        " body LIKE '%\"readings\":{}%'"),
                     2);
    store_close(other);
    assert_good(check(fixture_path(fixture, "other.db"), false, NULL));
}

static void write_file(const char *path, const char *bytes, size_t length)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* Any byte of the file, changed or cut off, is found; what is signed is found with the key. */
TEST_WITH(tampering, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct key key, stranger;
    struct key_public keys[1];
    struct verify_options options = {.keys = keys, .key_count = 1};
    struct random random;
    char bundle[600], *bytes = NULL, head[96], hex[DIGEST_HEX_SIZE];
    size_t length;
    struct bundle_summary summary;
    const int64_t campaign = fill(fixture->store, 1);

    snprintf(bundle, sizeof(bundle), "%s", fixture_path(fixture, "b.assay"));
    assert_ok(key_generate("buyer", &key, &err), err);
    assert_ok(key_generate("stranger", &stranger, &err), err);
    summary = write_bundle(fixture->store, campaign, bundle, NULL, &key);
    keys[0] = key.public;
    snprintf(head, sizeof(head), "%lld:%s", (long long)summary.size,
             digest_hex(&summary.root, hex));
    options.expect_head = head;
    assert_good(read_bundle(bundle, &options));
    keys[0] = stranger.public;
    assert_true(read_bundle(bundle, &options).wrong >= 2);
    keys[0] = key.public;
    head[0] ^= 1;
    assert_int_equal(read_bundle(bundle, &options).wrong, 1);
    options.expect_head = NULL;

    assert_ok(file_read(bundle, 1 << 26, &bytes, &length, &err), err);
    random_init(&random, 1, 2);
    for (int i = 0; i < 100; i++) {
        const size_t at = (size_t)(random_unit(random_next(&random)) * (double)length);
        const char before = bytes[at];

        bytes[at] = (char)(before ^ (1 << (i % 8)));
        write_file(bundle, bytes, length);
        if (read_bundle(bundle, &options).wrong == 0)
            fail_msg("byte %zu changed from %02x to %02x is not found", at, before & 0xff,
                     bytes[at] & 0xff);
        bytes[at] = before;
    }
    for (int i = 1; i < 20; i++) {
        write_file(bundle, bytes, length - length * (size_t)i / 20 - 1);
        assert_true(read_bundle(bundle, &options).wrong > 0);
    }
    free(bytes);
    key_finish(&key);
    key_finish(&stranger);
}

/* ---- left out, with the hash of it in the proof ---- */

/* The lines of a bundle, parsed; new array. */
static json_t *read_lines(const char *path)
{
    struct error err = ERROR_INIT;
    json_t *lines = json_array();
    char *bytes = NULL;
    size_t length;

    assert_ok(file_read(path, 1 << 26, &bytes, &length, &err), err);
    for (char *at = bytes, *end; (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        json_array_append_new(lines, json_loads(at, 0, NULL));
    }
    free(bytes);
    return lines;
}

/* Writes them with a last line that is right. */
static void write_lines(const char *path, const json_t *lines)
{
    struct error err = ERROR_INIT;
    char hex[DIGEST_HEX_SIZE];
    struct digest digest;
    struct text out;
    json_t *line;
    size_t i;
    int records = 0;

    text_init(&out);
    json_array_foreach((json_t *)(uintptr_t)lines, i, line)
    {
        char *canonical = NULL;

        if (i + 1 == json_array_size(lines))
            break;
        assert_ok(canonical_dump(line, &canonical, &err), err);
        text_append_format(&out, "%s\n", canonical);
        records += json_object_get(line, "record") != NULL;
        free(canonical);
    }
    digest = digest_bytes(out.data, out.length);
    text_append_format(&out, "{\"records\":%d,\"seal\":null,\"sha256\":\"%s\"}\n", records,
                       digest_hex(&digest, hex));
    write_file(path, out.data, out.length);
    text_finish(&out);
}

static void hex_of_leaf(struct store *store, int64_t leaf, char ret[DIGEST_HEX_SIZE])
{
    sqlite3_stmt *row = NULL;

    assert_int_equal(sqlite3_prepare_v2(store_connection(store),
                                        "SELECT lower(hex(digest)) FROM record WHERE leaf = ?1", -1,
                                        &row, NULL),
                     SQLITE_OK);
    sqlite3_bind_int64(row, 1, leaf);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    snprintf(ret, DIGEST_HEX_SIZE, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
}

static const char *type_of(const json_t *line)
{
    return json_string_value(json_object_get(json_object_get(line, "record"), "type"));
}

/* A record that is left out, and whose hash the proof has, is missed: it is counted, or referred
 * to. Its samples go with it. */
TEST_WITH(left_out, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    char bundle[600], seen[400] = "";
    json_t *lines, *line;
    size_t i, k;
    int types = 0;

    fill(fixture->store, 1);
    snprintf(bundle, sizeof(bundle), "%s", fixture_path(fixture, "b.assay"));
    write_bundle(fixture->store, fill(fixture->store, 2), bundle, NULL, NULL);
    lines = read_lines(bundle);
    json_array_foreach(lines, i, line)
    {
        const char *type = type_of(line);
        json_t *less, *nodes, *one;
        char hex[DIGEST_HEX_SIZE], word[40];
        int64_t leaf;
        struct tally found;

        snprintf(word, sizeof(word), "<%s>", type ? type : "");
        if (!type || strstr(seen, word))
            continue;
        strcat(seen, word);
        types++;
        leaf = json_integer_value(json_object_get(line, "leaf"));
        hex_of_leaf(fixture->store, leaf, hex);
        less = json_deep_copy(lines);
        json_array_remove(less, i);
        nodes = json_object_get(json_object_get(json_array_get(less, 0), "proof"), "nodes");
        json_array_append_new(nodes, json_pack("[i, I, s]", 0, (json_int_t)leaf, hex));
        for (k = json_array_size(less); k > 0; k--) {
            one = json_array_get(less, k - 1);
            if (json_object_get(one, "series") &&
                json_integer_value(json_object_get(one, "leaf")) == leaf)
                json_array_remove(less, k - 1);
        }
        write_lines(bundle, less);
        found = read_bundle(bundle, NULL);
        if (found.wrong == 0)
            fail_msg("a record of type %s was left out, and nothing is wrong", type);
        json_decref(less);
    }
    assert_true(types >= 12);
    assert_non_null(strstr(seen, "<choice>"));
    assert_non_null(strstr(seen, "<doctor>"));
    write_lines(bundle, lines);
    assert_good(read_bundle(bundle, NULL));
    json_decref(lines);
}
