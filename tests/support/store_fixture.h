/* store_fixture - a database in a folder of its own, and a campaign to fill it with. */
#ifndef ASSAY_TESTS_STORE_FIXTURE_H
#define ASSAY_TESTS_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "results/store/store.h"
#include "results/evidence/verify.h"

/* Fails the test, with the message, unless the call returns `expected`. `error` is what it filled.
 */
#define assert_status(call, expected, error)                                                       \
    do {                                                                                           \
        enum status got_ = (call);                                                                 \
                                                                                                   \
        if (got_ != (expected))                                                                    \
            print_error("%s: %s: %s\n", #call, status_name(got_), (error).message);                \
        assert_int_equal(got_, (expected));                                                        \
    } while (0)
#define assert_ok(call, error) assert_status(call, STATUS_OK, error)

struct fixture {
    char folder[512];
    char path[544]; /* of the database; nothing there yet */
    struct store *store;
};

/* For cmocka: *state is a new fixture. fixture_open also creates and opens the database. */
int fixture_make(void **state);
int fixture_open(void **state);
int fixture_remove(void **state);

/* "PATH/name" in the fixture's folder; the buffer is the fixture's and lasts until the next call.
 */
const char *fixture_path(struct fixture *fixture, const char *name);

#define FIXTURE_CELLS 2
#define FIXTURE_TRIALS 3 /* per cell */

/* A uid that differs by number. */
void fixture_uid(unsigned number, char ret[STORE_UID_SIZE]);

/*
 * Adds a campaign of two cells (triad, softmax) with three trials each, in the order 0 1 0 1 0 1.
 * `number` makes its uid and time unique.
 */
enum status fixture_add_campaign(struct store *store, unsigned number, int64_t *ret_campaign,
                                 int64_t ret_cells[FIXTURE_CELLS], struct error *err);

/* Stores content by its digest: JSON, or any bytes. */
enum status fixture_put_json(struct store *store, const json_t *json, struct digest *ret,
                             struct error *err);
enum status fixture_put_text(struct store *store, const char *text, size_t length,
                             struct digest *ret, struct error *err);

/* Marks a campaign as imported from a bundle that withheld its command. */
enum status fixture_mark_bundled(struct store *store, int64_t campaign, struct error *err);
/* An import of one result, as if a file of `number` had held it. */
enum status fixture_add_import(struct store *store, unsigned number, int64_t *ret_campaign,
                               struct error *err);

/* Runs one planned trial to an end with this status: device, phases, samples, checks, all of it. */
enum status fixture_run_trial(struct store *store, int64_t campaign, int64_t sequence,
                              const char *status, size_t samples, int64_t *ret_trial,
                              struct error *err);

/* Single integer that a SELECT gives; -1 when it fails. */
int64_t fixture_ask(struct store *store, const char *sql);

/* Runs statements on a connection of its own, without the triggers, which are there again after. */
void fixture_tamper(const char *path, const char *sql);

/* "ok" when PRAGMA integrity_check and foreign_key_check find nothing. */
const char *fixture_soundness(struct store *store);

/*
 * Rows of fixtures are as the store takes them, not as a worker leaves them: whether a finding is
 * of the checks that see that. tests/cli/test_vendor_forgeries.py has those.
 */
bool fixture_explains(const struct verify_finding *finding);

#endif
