#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/canonical.h"
#include "harness/core/file.h"
#include "harness/core/random.h"
#include "harness/core/text.h"
#include "results/bundle.h"
#include "results/ledger.h"
#include "results/merkle_levels.h"
#include "tests/support/store_fixture.h"

struct tally {
    int wrong, notes;
    char last[512];
};

static void tally(void *context, const struct verify_finding *finding)
{
    struct tally *tally = context;

    if (finding->level == VERIFY_NOTE) {
        tally->notes++;
        return;
    }
    tally->wrong++;
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

static struct tally read_bundle(const char *path, const struct verify_options *options)
{
    struct tally found = {0};
    const struct bundle_visitor visitor = {.context = &found, .found = tally};
    struct digest sha256;
    struct error err = ERROR_INIT;

    if (bundle_read(path, &visitor, options, &sha256, &err) != STATUS_OK) {
        found.wrong++;
        snprintf(found.last, sizeof(found.last), "%.500s", err.message);
    }
    return found;
}

/* Every proof of merkle_levels equals that of the direct method. */
static void test_levels(void **state)
{
    (void)state;
    for (uint64_t size = 1; size <= 70; size++) {
        struct digest *leaves = calloc(size, sizeof(*leaves)), *copy = calloc(size, sizeof(*copy));
        struct merkle tree = {0};
        struct merkle_levels levels;
        struct error err = ERROR_INIT;

        for (uint64_t i = 0; i < size; i++) {
            leaves[i] = copy[i] = merkle_leaf(&i, sizeof(i));
            merkle_add(&tree, &leaves[i]);
        }
        assert_ok(merkle_levels_init(&levels, leaves, size, &err), err);
        {
            const struct digest expected = merkle_root(&tree);
            const struct digest got = merkle_levels_root(&levels, size);

            assert_true(digest_equal(&expected, &got));
        }
        for (uint64_t part = 1; part <= size; part++)
            for (uint64_t i = 0; i < part; i++) {
                struct digest path[MERKLE_HEIGHT_MAX];
                const struct digest root = merkle_levels_root(&levels, part);
                const size_t count = merkle_levels_prove(&levels, i, part, path);

                assert_true(merkle_proves(&copy[i], i, part, path, count, &root));
            }
        for (uint64_t first = 1; first <= size; first++) {
            const struct digest old = merkle_levels_root(&levels, first);
            const struct digest new = merkle_levels_root(&levels, size);
            struct digest path[MERKLE_HEIGHT_MAX + 1];
            const size_t count = merkle_levels_connect(&levels, first, size, path);

            assert_true(merkle_connects(first, &old, size, &new, path, count));
            assert_false(merkle_connects(first, &new, size, &old, path, count) && first < size);
            assert_false(merkle_connects(first + 1, &old, size, &new, path, count));
            assert_false(merkle_connects(0, &old, size, &new, path, count));
            for (size_t i = 0; i < count; i++) {
                path[i].bytes[i % DIGEST_SIZE] ^= 1;
                assert_false(merkle_connects(first, &old, size, &new, path, count));
                path[i].bytes[i % DIGEST_SIZE] ^= 1;
            }
            assert_false(count > 0 && merkle_connects(first, &old, size, &new, path, count - 1));
            path[count] = old;
            assert_false(merkle_connects(first, &old, size, &new, path, count + 1));
        }
        merkle_levels_finish(&levels);
        free(copy);
    }
}

/* A table that comes later must be given a rule, or be named here as the file's own. */
static void test_every_table_has_a_rule(void **state)
{
    static const char *const own[] = {"ledger", "ledger_origin", "bundle", "withheld"};
    struct fixture *fixture = *state;
    sqlite3_stmt *tables = NULL;
    int checked = 0;

    assert_int_equal(sqlite3_prepare_v2(store_connection(fixture->store),
                                        "SELECT name FROM sqlite_schema WHERE type = 'table'"
                                        " AND name NOT LIKE 'sqlite_%'",
                                        -1, &tables, NULL),
                     SQLITE_OK);
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(tables, 0);
        bool mine = false;

        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
            mine |= !strcmp(own[i], table);
        if (!mine && !bundle_condition(table))
            fail_msg("bundle_select.c has no rule for the table %s", table);
        checked++;
    }
    sqlite3_finalize(tables);
    assert_true(checked > 25);
}

/* All rows of one of two campaigns, none of the other's own, unchanged in another file. */
static void test_round_trip(void **state)
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
    char bundle[600], uid[STORE_UID_SIZE];
    int64_t campaign, mine;

    fill(fixture->store, 1);
    campaign = fill(fixture->store, 2);
    snprintf(bundle, sizeof(bundle), "%s", fixture_path(fixture, "b.assay"));
    write_bundle(fixture->store, campaign, bundle, NULL, NULL);
    assert_true(bundle_recognise(bundle));
    assert_false(bundle_recognise(fixture->path));
    assert_int_equal(read_bundle(bundle, NULL).wrong, 0);

    /* Into a database whose numbers are in use. */
    assert_ok(store_open(fixture_path(fixture, "other.db"), STORE_CREATE, 0, &other, &err), err);
    fill(other, 7);
    mine = fixture_ask(other, "SELECT count(*) FROM campaign");
    assert_ok(bundle_import(other, bundle, NULL, NULL, &import, &err), err);
    assert_int_equal(import.campaigns, 1);
    assert_int_equal(import.known, 0);
    assert_int_equal(fixture_ask(other, "SELECT count(*) FROM campaign"), mine + 1);
    assert_int_equal(fixture_ask(other, "SELECT count(*) FROM bundle"), 1);
    assert_int_equal(fixture_ask(other, "SELECT count(*) FROM withheld"), 0);
    fixture_uid(2, uid);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        char sql[400];

        snprintf(sql, sizeof(sql), counts[i], uid);
        assert_true(fixture_ask(fixture->store, sql) > 0);
        assert_int_equal(fixture_ask(other, sql), fixture_ask(fixture->store, sql));
    }
    assert_string_equal(fixture_soundness(other), "ok");

    /* Once more changes nothing. */
    mine = fixture_ask(other, "SELECT count(*) FROM ledger");
    assert_ok(bundle_import(other, bundle, NULL, NULL, &import, &err), err);
    assert_int_equal(import.known, 1);
    assert_int_equal(import.rows, 0);
    assert_int_equal(fixture_ask(other, "SELECT count(*) FROM ledger"), mine);
    store_close(other);
}

static void test_withheld(void **state)
{
    static const char secret[] = "the fan was loud";
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct bundle_summary summary;
    struct store *other = NULL;
    struct bundle_import import;
    char bundle[600], *bytes = NULL;
    size_t length;
    int64_t campaign = fill(fixture->store, 1);
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
    assert_int_equal(read_bundle(bundle, NULL).wrong, 0);
    assert_ok(store_open(fixture_path(fixture, "other.db"), STORE_CREATE, 0, &other, &err), err);
    assert_ok(bundle_import(other, bundle, NULL, NULL, &import, &err), err);
    assert_int_equal(fixture_ask(other, "SELECT count(*) FROM amendment WHERE reason ="
                                        " '(withheld)' AND author = 'an auditor'"),
                     1);
    assert_int_equal(fixture_ask(other, "SELECT count(*) FROM withheld WHERE table_name ="
                                        " 'amendment' AND column_name = 'reason'"),
                     1);
    store_close(other);

    file = fopen(bundle, "w");
    assert_status(bundle_write(fixture->store, &options, file, &summary, &err), STATUS_INVALID,
                  err);
    assert_non_null(strstr(err.message, "no.such.thing"));
    fclose(file);
}

static void write_file(const char *path, const char *bytes, size_t length)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* Any byte of the file, changed or cut off, is found; what is signed is found with the key. */
static void test_tampering(void **state)
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
    assert_int_equal(read_bundle(bundle, &options).wrong, 0);
    keys[0] = stranger.public;
    assert_int_equal(read_bundle(bundle, &options).wrong, 2);
    keys[0] = key.public;
    head[0] ^= 1;
    assert_int_equal(read_bundle(bundle, &options).wrong, 1);
    options.expect_head = NULL;

    assert_ok(file_read(bundle, 1 << 26, &bytes, &length, &err), err);
    random_init(&random, 1, 2);
    for (int i = 0; i < 300; i++) {
        const size_t at = (size_t)(random_unit(random_next(&random)) * (double)length);
        const char before = bytes[at];

        bytes[at] = (char)(before ^ (1 << (i % 8)));
        write_file(bundle, bytes, length);
        if (read_bundle(bundle, &options).wrong == 0)
            fail_msg("byte %zu changed from %02x to %02x is not found", at, before & 0xff,
                     bytes[at] & 0xff);
        bytes[at] = before;
    }
    for (int i = 1; i < 40; i++) {
        write_file(bundle, bytes, length - length * (size_t)i / 40 - 1);
        assert_true(read_bundle(bundle, &options).wrong > 0);
    }
    free(bytes);
    key_finish(&key);
    key_finish(&stranger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test_setup_teardown(test_every_table_has_a_rule, fixture_open, fixture_remove),
        cmocka_unit_test_setup_teardown(test_round_trip, fixture_open, fixture_remove),
        cmocka_unit_test_setup_teardown(test_withheld, fixture_open, fixture_remove),
        cmocka_unit_test_setup_teardown(test_tampering, fixture_open, fixture_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
