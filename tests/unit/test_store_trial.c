#include "results/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/support/store_fixture.h"

static void check_ok(enum status status, const struct error *err)
{
    if (status != STATUS_OK)
        print_error("%s: %s\n", status_name(status), err->message);
    assert_int_equal(status, STATUS_OK);
}

static int64_t campaign_of(struct fixture *fixture, unsigned number)
{
    struct error err = ERROR_INIT;
    int64_t campaign = 0, cells[FIXTURE_CELLS];

    check_ok(fixture_add_campaign(fixture->store, number, &campaign, cells, &err), &err);
    return campaign;
}

static void test_trial_is_stored_whole(void **state)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaign = campaign_of(fixture, 1), trial = 0, *values = NULL;
    size_t count = 0;

    check_ok(fixture_run_trial(fixture->store, campaign, 2, "ok", 3000, &trial, &err), &err);
    check_ok(store_load_samples(fixture->store, trial, "wall_ns", &values, &count, &err), &err);
    assert_int_equal(count, 3000);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM samples"), 3000);
    /* The view decodes what the codec decodes, in plain SQL. */
    for (size_t i = 0; i < count; i += 251) {
        char sql[160];

        snprintf(sql, sizeof(sql),
                 "SELECT value FROM samples WHERE trial = %lld AND series = 'wall_ns' AND number = "
                 "%zu",
                 (long long)trial, i);
        assert_int_equal(fixture_ask(fixture->store, sql), values[i]);
    }
    free(values);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM libraries"), 3);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM conditions"), 2);
    assert_int_equal(fixture_ask(fixture->store, "SELECT samples FROM samples_index"), 3000);
    assert_string_equal(fixture_soundness(fixture->store), "ok");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_trial_is_stored_whole, fixture_open, fixture_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
