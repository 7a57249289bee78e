/*
 * Two processes write two hundred campaigns each into one database that neither has made before,
 * while a third reads: nothing is lost, no write is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

#define CAMPAIGNS 200
#define WRITERS 2
#define PATIENCE INT64_C(60000000000)

static int failed(const char *who, const struct error *err)
{
    fprintf(stderr, "%s: %s\n", who, err->message);
    return 1;
}

static int writer(const char *path, unsigned first)
{
    struct error err = ERROR_INIT;
    struct store *store = NULL;

    if (store_open(path, STORE_CREATE, PATIENCE, &store, &err) != STATUS_OK)
        return failed("opening", &err);
    for (unsigned i = 0; i < CAMPAIGNS; i++) {
        int64_t campaign, cells[FIXTURE_CELLS];

        if (fixture_add_campaign(store, first + i, &campaign, cells, &err) != STATUS_OK)
            return failed("campaign", &err);
        if (i % 10 == 0 &&
            fixture_run_trial(store, campaign, 1, "ok", 100, NULL, &err) != STATUS_OK)
            return failed("trial", &err);
    }
    store_close(store);
    return 0;
}

/* Reads until all is there; what it has seen once must stay. */
static int reader(const char *path)
{
    struct error err = ERROR_INIT;
    struct store *store = NULL;
    int64_t last = 0, count = 0;

    while (store_open(path, STORE_READ, PATIENCE, &store, &err) != STATUS_OK) {
        /* Not there yet, or there without its schema. */
        if (err.code != STATUS_NOT_FOUND && err.code != STATUS_CORRUPT)
            return failed("reading", &err);
        usleep(1000);
    }
    while (count < WRITERS * CAMPAIGNS) {
        const struct store_filter filter = {.limit = 20};
        json_t *rows = NULL;

        if (store_list_results(store, &filter, &rows, &err) != STATUS_OK)
            return failed("listing", &err);
        json_decref(rows);
        count = fixture_ask(store, "SELECT count(*) FROM campaign");
        if (count < last || fixture_ask(store, "SELECT count(*) FROM planned_trial") % 6 != 0)
            return 2;
        last = count;
        usleep(5000);
    }
    store_close(store);
    return 0;
}

TEST_WITH(writers_take_turns, fixture_make, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    pid_t children[WRITERS + 1];

    for (int i = 0; i <= WRITERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            alarm(500); /* before ctest ends the test, and not them */
            _exit(i < WRITERS ? writer(fixture->path, (unsigned)i * 10000) : reader(fixture->path));
        }
    }
    for (int i = 0; i <= WRITERS; i++) {
        int how;

        assert_int_equal(waitpid(children[i], &how, 0), children[i]);
        assert_true(WIFEXITED(how));
        assert_int_equal(WEXITSTATUS(how), 0);
    }
    assert_ok(store_open(fixture->path, STORE_WRITE, PATIENCE, &fixture->store, &err), err);
    assert_string_equal(fixture_soundness(fixture->store), "ok");
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM campaign"),
                     WRITERS * CAMPAIGNS);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM planned_trial"),
                     WRITERS * CAMPAIGNS * 6);
    assert_int_equal(
        fixture_ask(fixture->store, "SELECT count(*) FROM samples WHERE series = 'wall_ns'"),
        WRITERS * CAMPAIGNS / 10 * 100);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM declaration"), 3);
}
