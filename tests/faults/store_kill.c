/*
 * A writer is killed at fifty random moments; after each, the database is sound, holds all that was
 * reported to the writer as stored, and can be resumed.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/core/random.h"
#include "tests/faults/store_scenario.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

#define KILLS 50
#define SECOND INT64_C(1000000000)

/* Runs scenarios until killed, and reports progress after each committed step. */
static void write_for_ever(const char *path, unsigned first, int to)
{
    struct scenario_progress progress = {0};
    struct error err = ERROR_INIT;

    scenario_progress_fd = to;
    for (unsigned number = first;; number++) {
        if (scenario_run(path, number, &progress, &err) != STATUS_OK) {
            fprintf(stderr, "the writer failed: %s\n", err.message);
            _exit(1);
        }
    }
}

/*
 * Starts a writer, kills it after `ns`, or only once it has reported samples; adds what it had
 * reported to `ret`.
 */
static void kill_after(const char *path, unsigned first, int64_t ns, bool samples,
                       struct scenario_progress *ret)
{
    struct scenario_progress reported = {0};
    int pipes[2], how;
    pid_t child;
    ssize_t count;

    assert_int_equal(pipe(pipes), 0);
    fcntl(pipes[1], F_SETPIPE_SZ, 1 << 20); /* so that the writer never waits for us */
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(pipes[0]);
        write_for_ever(path, first, pipes[1]);
    }
    close(pipes[1]);
    clock_sleep_until_ns(clock_monotonic_ns() + ns);
    while (samples && reported.samples == 0 &&
           read(pipes[0], &reported, sizeof(reported)) == (ssize_t)sizeof(reported))
        ;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how));
    /* Messages are shorter than PIPE_BUF, so whole. The last one counts. */
    while ((count = read(pipes[0], &reported, sizeof(reported))) == (ssize_t)sizeof(reported))
        ;
    assert_int_equal(count, 0);
    close(pipes[0]);
    scenario_progress_add(ret, &reported);
}

static void check_orphans(const char *path, long *ret_orphans)
{
    struct error err = ERROR_INIT;
    struct store *store = NULL;
    int64_t campaigns, orphans;

    assert_ok(store_open(path, STORE_CREATE, SECOND, &store, &err), err);
    campaigns = fixture_ask(store, "SELECT coalesce(max(id), 0) FROM campaign");
    orphans = fixture_ask(store, "SELECT count(*) FROM trial WHERE id NOT IN"
                                 " (SELECT trial FROM trial_end)");
    assert_true(orphans == 0 || orphans == 1);
    for (int64_t campaign = 1; campaign <= campaigns; campaign++)
        assert_ok(store_close_orphans(store, campaign, &err), err);
    assert_int_equal(fixture_ask(store, "SELECT count(*) FROM trials WHERE status = 'no end'"), 0);
    *ret_orphans += (long)orphans;
    assert_int_equal(fixture_ask(store, "SELECT count(*) FROM trial_end WHERE orphan"),
                     *ret_orphans);
    store_close(store);
}

/* A resume of every campaign runs what is pending, and then nothing is. */
static void resume_all(const char *path)
{
    struct error err = ERROR_INIT;
    struct store *store = NULL;
    int64_t campaigns;

    assert_ok(store_open(path, STORE_WRITE, SECOND, &store, &err), err);
    campaigns = fixture_ask(store, "SELECT coalesce(max(id), 0) FROM campaign");
    assert_ok(store_batch_begin(store, &err), err);
    for (int64_t campaign = 1; campaign <= campaigns; campaign++) {
        struct store_pending *pending = NULL;
        size_t count = 0;

        assert_ok(store_pending_trials(store, campaign, &pending, &count, &err), err);
        for (size_t i = 0; i < count; i++)
            assert_ok(fixture_run_trial(store, campaign, pending[i].sequence, "ok", 0, NULL, &err),
                      err);
        free(pending);
        assert_ok(store_pending_trials(store, campaign, &pending, &count, &err), err);
        assert_int_equal(count, 0);
        free(pending);
    }
    assert_ok(store_batch_end(store, true, &err), err);
    assert_int_equal(fixture_ask(store, "SELECT count(*) FROM planned WHERE state <> 'ok'"), 0);
    store_close(store);
}

TEST_WITH(killed_writers, fixture_make, fixture_remove)
{
    struct fixture *fixture = *state;
    struct scenario_progress progress = {0};
    uint64_t seed = (uint64_t)clock_utc_ns();
    long orphans = 0;

    print_message("seed %llu\n", (unsigned long long)seed);
    for (unsigned i = 0; i < KILLS; i++) {
        /* Sometimes in the first moments, while the file is created. */
        int64_t most = i % 3 == 0 ? 4000000 : 60000000;
        const char *wrong;

        if (i % 5 == 0 && i < 30) {
            unlink(fixture->path);
            unlink(fixture_path(fixture, "results.db-wal"));
            unlink(fixture_path(fixture, "results.db-shm"));
            unlink(fixture_path(fixture, "results.db-journal"));
            memset(&progress, 0, sizeof(progress));
            orphans = 0;
        }
        /* On a slow machine all but the last may be too early for samples. */
        kill_after(fixture->path, i * 1000, (int64_t)(random_at(seed, 1, i) % (uint64_t)most),
                   i == KILLS - 1, &progress);
        wrong = scenario_check(fixture->path, &progress);
        if (wrong)
            fail_msg("kill %u: %s", i, wrong);
        check_orphans(fixture->path, &orphans);
    }
    print_message("%ld campaigns, %ld trials, %ld samples reported; %ld trials cut off\n",
                  progress.campaigns, progress.trials, progress.samples, orphans);
    assert_true(progress.samples > 0);
    resume_all(fixture->path);
}
