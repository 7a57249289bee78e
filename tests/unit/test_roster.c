#include "results/evidence/roster.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/file.h"
#include "results/evidence/cosignature.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

#define PUBLIC "watch.example.org+bbe14e52+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
#define COSIGNER "watch.example.org+fdf348e4+BAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
#define OTHER "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
#define DAY_NS INT64_C(86400000000000)

static enum status read_text(struct fixture *fixture, const char *text, struct roster *ret,
                             struct error *err)
{
    char path[1024];

    snprintf(path, sizeof(path), "%s", fixture_path(fixture, "roster"));
    assert_ok(file_write_atomic(path, text, strlen(text), 0600, err), *err);
    return roster_read(path, ret, err);
}

TEST_WITH(read, fixture_make, fixture_remove)
{
    struct error err = ERROR_INIT;
    struct roster roster;
    char why[80];

    assert_ok(read_text(*state,
                        "# people\n\n  " COSIGNER
                        "\twitness expires=1970-01-03 # two days\r\n" OTHER
                        " author not-before=1970-01-02 revoked=1970-01-04T12:00:00Z",
                        &roster, &err),
              err);
    assert_int_equal(roster.count, 2);
    assert_true(roster.keys[0].is_witness);
    assert_false(roster.keys[1].is_witness);
    assert_int_equal(roster_witnesses(&roster), 1);
    assert_true(roster_counts(&roster.keys[0], INT64_MIN, why, sizeof(why)));
    assert_true(roster_counts(&roster.keys[0], 2 * DAY_NS - 1, why, sizeof(why)));
    assert_false(roster_counts(&roster.keys[0], 2 * DAY_NS, why, sizeof(why)));
    assert_string_equal(why, "had expired on 1970-01-03");
    assert_false(roster_counts(&roster.keys[1], DAY_NS - 1, why, sizeof(why)));
    assert_string_equal(why, "is trusted only from 1970-01-02");
    assert_true(roster_counts(&roster.keys[1], DAY_NS, why, sizeof(why)));
    assert_false(roster_counts(&roster.keys[1], 3 * DAY_NS + DAY_NS / 2, why, sizeof(why)));
    assert_string_equal(why, "was revoked on 1970-01-04");
    assert_ptr_equal(roster_find(&roster, roster.keys[1].key.bytes), &roster.keys[1]);
    assert_null(roster_find(NULL, roster.keys[1].key.bytes));
    roster_finish(&roster);
}

/* A line of a note names its key by name, id and form. */
TEST_WITH(lines, fixture_make, fixture_remove)
{
    struct note_line line = {
        .name = "watch.example.org", .id = 0xfdf348e4, .size = COSIGNATURE_SIZE};
    struct error err = ERROR_INIT;
    struct roster roster;

    assert_ok(read_text(*state, PUBLIC " witness\n" OTHER " author\n", &roster, &err), err);
    assert_ptr_equal(roster_find_line(&roster, &line), &roster.keys[0]);
    line.size = KEY_SIGNATURE_SIZE;
    assert_null(roster_find_line(&roster, &line));
    line.id = 0xbbe14e52;
    assert_ptr_equal(roster_find_line(&roster, &line), &roster.keys[0]);
    memcpy(line.name, "Watch", 5);
    assert_null(roster_find_line(&roster, &line));
    roster_finish(&roster);
}

TEST_WITH(what_is_wrong, fixture_make, fixture_remove)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "names no key"},
        {"# nobody\n", "names no key"},
        {"lab author\n", "roster:1: not a public key"},
        {OTHER "\n", "roster:1: write author or witness"},
        {"\n" OTHER " boss\n", "roster:2: write author or witness"},
        {OTHER " author since=2026-01-01\n", "not-before="},
        {OTHER " author expires\n", "not-before="},
        {OTHER " author expires=7d\n", "write a date"},
        {OTHER " author expires=2026-13-01\n", "write a date"},
        {OTHER " author expires=2026-01-01 expires=2026-01-01\n", "twice"},
        {PUBLIC " author\n" COSIGNER " witness\n", "twice"},
        {"watch.example.org+bbe14e53+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4 author\n",
         "has been changed"},
        {"\xff\n", "UTF-8"},
    };
    struct error err = ERROR_INIT;
    struct roster roster;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_status(read_text(*state, bad[i].text, &roster, &err), STATUS_INVALID, err);
        if (!strstr(err.message, bad[i].says))
            fail_msg("%s: %s", bad[i].text, err.message);
    }
    assert_status(roster_read(fixture_path(*state, "none"), &roster, &err), STATUS_NOT_FOUND, err);
}
