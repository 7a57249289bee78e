#include "results/store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

#define UTC 1763654400000000000

static int64_t campaign_of(struct fixture *fixture, unsigned number)
{
    struct error err = ERROR_INIT;
    int64_t campaign = 0, cells[FIXTURE_CELLS];

    assert_ok(fixture_add_campaign(fixture->store, number, &campaign, cells, &err), err);
    return campaign;
}

static int64_t trial_of(struct fixture *fixture)
{
    struct error err = ERROR_INIT;
    int64_t trial = 0;

    assert_ok(store_begin_trial(fixture->store, campaign_of(fixture, 1), 1, UTC, &trial, &err),
              err);
    return trial;
}

TEST_WITH(trial_is_stored_whole, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaign = campaign_of(fixture, 1), trial = 0;

    assert_ok(fixture_run_trial(fixture->store, campaign, 2, "ok", 3000, &trial, &err), err);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM libraries"), 3);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM libraries WHERE (sha256 IS"
                                                 " NULL) <> (missing_reason IS NOT NULL)"),
                     0);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM component"), 2);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM conditions"), 2);
    assert_int_equal(fixture_ask(fixture->store, "SELECT samples FROM samples_index"
                                                 " WHERE series = 'wall_ns'"),
                     3000);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM kernels"), 1);
    assert_int_equal(fixture_ask(fixture->store, "SELECT max_rss_bytes IS NULL FROM trials"), 1);
    /* What repeats is stored once. */
    assert_ok(fixture_run_trial(fixture->store, campaign, 1, "ok", 10, &trial, &err), err);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM device"), 1);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM component"), 2);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM stack"), 2);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM reading_set"), 2);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM reading"), 3);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(DISTINCT content) FROM artifact"),
                     1);
    assert_string_equal(fixture_soundness(fixture->store), "ok");
}

/* The date was set back by an hour in a trial, and before the next one. */
TEST_WITH(a_date_that_steps_back, fixture_open, fixture_remove)
{
    const int64_t begun = UTC + 10000000000; /* after the campaign was planned */
    struct fixture *fixture = *state;
    struct store_trial_end end = {.ended_utc_ns = begun - 3600000000000,
                                  .status = "timeout",
                                  .message = "it took too long",
                                  .iterations_per_sample = 1,
                                  .window_first = -1,
                                  .exit_code = -1,
                                  .max_rss_bytes = -1};
    struct error err = ERROR_INIT;
    int64_t campaign = campaign_of(fixture, 1), trial = 0;

    assert_ok(store_begin_trial(fixture->store, campaign, 1, begun, &trial, &err), err);
    assert_ok(store_end_trial(fixture->store, trial, &end, &err), err);
    assert_int_equal(fixture_ask(fixture->store, "SELECT ended_utc_ns FROM trial_end"), begun);
    end.ended_utc_ns = begun + 5;
    assert_ok(store_begin_trial(fixture->store, campaign, 2, begun, &trial, &err), err);
    assert_ok(store_end_trial(fixture->store, trial, &end, &err), err);
    assert_ok(store_begin_trial(fixture->store, campaign, 3, begun - 1, &trial, &err), err);
    assert_int_equal(
        fixture_ask(fixture->store, "SELECT started_utc_ns FROM trial ORDER BY id DESC LIMIT 1"),
        begun + 5);
    assert_ok(store_close_orphans(fixture->store, campaign, &err), err);
    assert_string_equal(fixture_soundness(fixture->store), "ok");
}

static void check_samples(struct store *store, int64_t trial, const char *series,
                          const int64_t *values, size_t count)
{
    struct error err = ERROR_INIT;
    int64_t *back = NULL;
    size_t read = 0;

    assert_ok(store_load_samples(store, trial, series, &back, &read, &err), err);
    assert_int_equal(read, count);
    assert_memory_equal(back, values, count * sizeof(*values));
    free(back);
}

static void end_trial(struct store *store, int64_t trial)
{
    const struct store_trial_end end = {.status = "ok", .samples = -1, .max_rss_bytes = -1};
    struct error err = ERROR_INIT;

    assert_ok(store_end_trial(store, trial, &end, &err), err);
}

/* The view decodes in plain SQL what the codec wrote, for every width it is exact for. */
static void check_view(struct store *store, int64_t trial, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i += 97) {
        char sql[160];

        snprintf(sql, sizeof(sql),
                 "SELECT value FROM samples WHERE trial = %lld AND series = 'wall_ns' AND"
                 " number = %zu",
                 (long long)trial, i);
        assert_int_equal(fixture_ask(store, sql), values[i]);
    }
}

TEST_WITH(samples_come_back, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaign = campaign_of(fixture, 1);

    for (int64_t sequence = 1; sequence <= 6; sequence++) {
        int64_t values[2500], trial;

        for (size_t i = 0; i < 2500; i++)
            values[i] = (int64_t)(random_at(3, (uint64_t)sequence, i) >> (64 - 10 * sequence)) -
                        (sequence == 3 ? 5000 : 0);
        assert_ok(store_begin_trial(fixture->store, campaign, sequence, UTC, &trial, &err), err);
        assert_ok(store_add_samples(fixture->store, trial, "wall_ns", 0, values, 7, &err), err);
        assert_ok(store_add_samples(fixture->store, trial, "wall_ns", 7, values + 7, 2493, &err),
                  err);
        assert_ok(store_add_samples(fixture->store, trial, "wall_ns", 2500, values, 0, &err), err);
        end_trial(fixture->store, trial);
        check_samples(fixture->store, trial, "wall_ns", values, 2500);
        check_view(fixture->store, trial, values, 2500);
    }
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM samples"), 15000);
    assert_int_equal(fixture_ask(fixture->store,
                                 "SELECT sum(value) - (SELECT sum(total) FROM series WHERE trial = "
                                 "4) FROM samples WHERE trial = 4"),
                     0);
}

TEST_WITH(extreme_samples_come_back, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    const int64_t values[] = {INT64_MIN, INT64_MAX, 0, INT64_MAX};
    int64_t trial = trial_of(fixture);

    assert_ok(store_add_samples(fixture->store, trial, "gap_ns", 0, values, 4, &err), err);
    end_trial(fixture->store, trial);
    check_samples(fixture->store, trial, "gap_ns", values, 4);
}

TEST_WITH(chunks_must_follow, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    const int64_t values[3] = {1, 2, 3};
    int64_t trial = trial_of(fixture), *back;
    size_t count;

    assert_status(store_add_samples(fixture->store, trial, "wall_ns", 1, values, 3, &err),
                  STATUS_INVALID, err);
    assert_ok(store_add_samples(fixture->store, trial, "wall_ns", 0, values, 3, &err), err);
    assert_status(store_add_samples(fixture->store, trial, "wall_ns", 0, values, 3, &err),
                  STATUS_INVALID, err);
    assert_status(store_add_samples(fixture->store, trial, "wall_ns", 4, values, 3, &err),
                  STATUS_INVALID, err);
    assert_status(store_add_samples(fixture->store, trial + 1, "wall_ns", 0, values, 3, &err),
                  STATUS_INVALID, err);
    end_trial(fixture->store, trial);
    check_samples(fixture->store, trial, "wall_ns", values, 3);
    assert_status(store_load_samples(fixture->store, trial, "gap_ns", &back, &count, &err),
                  STATUS_NOT_FOUND, err);
}

/* Any change to a chunk or its row is found when the samples are read. */
TEST(changed_samples_are_found)
{
    static const char *const changes[] = {
        "UPDATE series SET minimum = minimum + 1 WHERE first = 0",
        "UPDATE series SET maximum = maximum - 1 WHERE first = 0",
        "UPDATE series SET total = NULL WHERE first = 0",
        "UPDATE series SET count = count - 1 WHERE first = 0",
        "UPDATE series SET first = 2048 WHERE first = 1024",
        "UPDATE series SET data = zeroblob(length(data)) WHERE first = 0",
        "UPDATE series SET data = x'' WHERE first = 0",
        "DELETE FROM series WHERE first = 0",
        "UPDATE series SET data = (SELECT data FROM series WHERE first = 0) WHERE first = 1024",
    };
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct fixture *fixture;
        int64_t trial, *back;
        size_t count;

        assert_int_equal(fixture_open(state), 0);
        fixture = *state;
        assert_ok(
            fixture_run_trial(fixture->store, campaign_of(fixture, 1), 1, "ok", 2500, &trial, &err),
            err);
        fixture_tamper(fixture->path, changes[i]);
        assert_status(store_load_samples(fixture->store, trial, "wall_ns", &back, &count, &err),
                      STATUS_CORRUPT, err);
        assert_non_null(strstr(err.message, "wall_ns"));
        fixture_remove(state);
    }
}

TEST_WITH(errors_without_a_number, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct store_check check = {.phase = "verify_after",
                                .output = "a",
                                .metric = "max_relative",
                                .error = NAN,
                                .tolerance = 1e-6,
                                .compared = 10};
    int64_t trial = trial_of(fixture);

    assert_ok(store_add_check(fixture->store, trial, &check, &err), err);
    check.error = -INFINITY;
    assert_ok(store_add_check(fixture->store, trial, &check, &err), err);
    check.error = 0.5;
    assert_ok(store_add_check(fixture->store, trial, &check, &err), err);
    check.compared = UINT64_MAX;
    assert_status(store_add_check(fixture->store, trial, &check, &err), STATUS_INVALID, err);
    end_trial(fixture->store, trial);
    assert_int_equal(fixture_ask(fixture->store,
                                 "SELECT group_concat(coalesce(error_text, error), ' ') = 'nan -inf"
                                 " 0.5' FROM verification"),
                     1);
    assert_int_equal(
        fixture_ask(fixture->store, "SELECT count(*) FROM verifications WHERE error = 'nan'"), 1);
}

static void check_pending(struct fixture *fixture, int64_t campaign, const char *expected)
{
    struct error err = ERROR_INIT;
    struct store_pending *pending = NULL;
    size_t count = 0;
    char sequences[64] = "";

    assert_ok(store_pending_trials(fixture->store, campaign, &pending, &count, &err), err);
    for (size_t i = 0; i < count; i++) {
        snprintf(sequences + strlen(sequences), sizeof(sequences) - strlen(sequences), "%lld",
                 (long long)pending[i].sequence);
        assert_int_equal(pending[i].cell_ordinal, 1 + (pending[i].sequence - 1) % 2);
    }
    free(pending);
    assert_string_equal(sequences, expected);
}

TEST_WITH(what_a_resume_runs, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t other = campaign_of(fixture, 2), campaign = campaign_of(fixture, 1), trial;

    check_pending(fixture, campaign, "123456");
    assert_ok(fixture_run_trial(fixture->store, campaign, 1, "ok", 4, &trial, &err), err);
    assert_ok(fixture_run_trial(fixture->store, campaign, 2, "timeout", 4, &trial, &err), err);
    assert_ok(fixture_run_trial(fixture->store, campaign, 3, "crashed", 4, &trial, &err), err);
    assert_ok(fixture_run_trial(fixture->store, campaign, 4, "interrupted", 4, &trial, &err), err);
    assert_ok(store_begin_trial(fixture->store, campaign, 5, UTC, &trial, &err), err);
    check_pending(fixture, campaign, "456");
    assert_ok(store_close_orphans(fixture->store, campaign, &err), err);
    assert_ok(store_close_orphans(fixture->store, campaign, &err), err);
    check_pending(fixture, campaign, "456");
    assert_int_equal(fixture_ask(fixture->store,
                                 "SELECT count(*) FROM trial_end WHERE orphan = 1 AND status = "
                                 "'crashed' AND message LIKE '%harness%'"),
                     1);
    /* The last attempt counts, and attempts are numbered. */
    assert_ok(fixture_run_trial(fixture->store, campaign, 4, "ok", 4, &trial, &err), err);
    assert_ok(fixture_run_trial(fixture->store, campaign, 5, "check_failed", 4, &trial, &err), err);
    check_pending(fixture, campaign, "6");
    assert_int_equal(
        fixture_ask(fixture->store, "SELECT max(attempt) FROM trial WHERE sequence = 5"), 2);
    assert_ok(fixture_run_trial(fixture->store, campaign, 6, "ok", 4, &trial, &err), err);
    check_pending(fixture, campaign, "");
    check_pending(fixture, other, "123456");
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM planned"), 12);
    assert_int_equal(
        fixture_ask(fixture->store, "SELECT count(*) FROM planned WHERE state = 'not run'"), 6);
}

TEST_WITH(a_trial_ends_once, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct store_trial_end end = {.status = "ok",
                                  .window_first = -1,
                                  .exit_code = -1,
                                  .samples = -1,
                                  .max_rss_bytes = 4096,
                                  .signal = 9};
    int64_t trial = trial_of(fixture);

    end.facts = json_pack("{s:i}", "group_size", 64);
    assert_ok(store_end_trial(fixture->store, trial, &end, &err), err);
    json_decref((json_t *)(uintptr_t)end.facts);
    end.facts = NULL;
    assert_status(store_end_trial(fixture->store, trial, &end, &err), STATUS_INVALID, err);
    assert_int_equal(fixture_ask(fixture->store,
                                 "SELECT count(*) FROM trial_end WHERE window_first IS NULL AND"
                                 " exit_code IS NULL AND samples IS NULL AND signal = 9 AND"
                                 " iterations_per_sample IS NULL AND"
                                 " json_extract(facts, '$.group_size') = 64"),
                     1);
}

/* A gap is not a 0, and a 0 is not a gap. */
TEST_WITH(telemetry, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    int64_t campaign = 0, cells[FIXTURE_CELLS], trial = 0, *times = NULL, *values = NULL;
    size_t count = 0;
    struct error err = ERROR_INIT;

    assert_ok(fixture_add_campaign(fixture->store, 7, &campaign, cells, &err), err);
    assert_ok(fixture_run_trial(fixture->store, campaign, 1, "ok", 10, &trial, &err), err);
    assert_ok(store_load_telemetry(fixture->store, trial, "device", "power_mw", INT64_MIN, &times,
                                   &values, &count, &err),
              err);
    assert_int_equal(count, 4);
    assert_int_equal(times[2], 3000);
    assert_int_equal(values[0], 50000);
    assert_int_equal(values[1], 0);
    assert_true(values[2] == INT64_MIN);
    assert_int_equal(values[3], 51000);
    free(times);
    free(values);
    assert_int_equal(store_load_telemetry(fixture->store, trial, "device", "energy_uj", 0, &times,
                                          &values, &count, &err),
                     STATUS_NOT_FOUND);
    assert_int_equal(fixture_ask(fixture->store, "SELECT samples FROM sensors WHERE channel ="
                                                 " 'energy_uj' AND reason LIKE 'permission%'"),
                     0);
    /* A second record of the same part is refused. */
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM telemetry"), 1);
}
