/*
 * A database with changed bytes: whatever they are, reading and writing end with a result or an
 * error, and samples that are returned are those that were stored.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/file.h"
#include "harness/core/random.h"
#include "results/formats/csv_export.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

#define ROUNDS 2000
#define SAMPLES 1500
#define SECOND INT64_C(1000000000)

static int64_t expected[SAMPLES];

static void check_answer(enum status status, const struct error *err)
{
    if (status != STATUS_OK && !err->message[0])
        fail_msg("%s without a message", status_name(status));
}

static void read_all(struct store *store)
{
    const struct store_filter filter = {.limit = 10};
    struct store_pending *pending = NULL;
    struct error err = ERROR_INIT;
    json_t *json = NULL;
    int64_t *values = NULL, id = 0;
    size_t count = 0;
    enum status status;
    FILE *file;

    check_answer(store_list_results(store, &filter, &json, &err), &err);
    json_decref(json);
    for (int64_t row = 1; row <= 2; row++) {
        json = NULL;
        check_answer(store_cell_json(store, row, &json, &err), &err);
        json_decref(json);
    }
    json = NULL;
    check_answer(store_campaign_json(store, 1, &json, &err), &err);
    json_decref(json);
    check_answer(store_find_campaign(store, "last", &id, &err), &err);
    check_answer(store_pending_trials(store, 1, &pending, &count, &err), &err);
    free(pending);
    file = fopen("/dev/null", "w");
    assert_non_null(file);
    check_answer(csv_export_series_rows(store, 1, file, &err), &err);
    fclose(file);
    count = 0;
    status = store_load_samples(store, 1, "wall_ns", &values, &count, &err);
    check_answer(status, &err);
    if (status == STATUS_OK) {
        /* A chunk may be missing (it has another trial's number); what is there is correct. */
        assert_true(count <= SAMPLES);
        assert_memory_equal(values, expected, count * sizeof(*values));
    }
    free(values);
}

static void write_some(struct store *store, unsigned number)
{
    struct error err = ERROR_INIT;
    int64_t campaign = 0, cells[FIXTURE_CELLS];
    enum status status = fixture_add_campaign(store, number, &campaign, cells, &err);

    check_answer(status, &err);
    if (status == STATUS_OK)
        check_answer(fixture_run_trial(store, campaign, 1, "ok", 20, NULL, &err), &err);
}

static void build(struct fixture *fixture, char **ret, size_t *ret_length)
{
    struct error err = ERROR_INIT;
    int64_t campaign, cells[FIXTURE_CELLS], trial, *values;
    json_t *estimate = json_pack("{s:s}", "verdict", "flat");
    size_t count;

    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    assert_ok(fixture_run_trial(fixture->store, campaign, 1, "ok", SAMPLES, &trial, &err), err);
    assert_ok(store_add_estimate(fixture->store, cells[0], 1, estimate, &err), err);
    json_decref(estimate);
    assert_ok(store_load_samples(fixture->store, trial, "wall_ns", &values, &count, &err), err);
    assert_int_equal(count, SAMPLES);
    memcpy(expected, values, sizeof(expected));
    free(values);
    store_close(fixture->store);
    fixture->store = NULL;
    assert_ok(file_read(fixture->path, 64 << 20, ret, ret_length, &err), err);
}

TEST_WITH(changed_bytes, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    char *bytes, *changed;
    size_t length;
    int opened = 0;

    build(fixture, &bytes, &length);
    changed = malloc(length);
    assert_non_null(changed);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct error err = ERROR_INIT;
        struct store *store = NULL;
        uint64_t flips = 1 + random_at(round, 0, 0) % 16;
        enum status status;

        memcpy(changed, bytes, length);
        for (uint64_t i = 0; i < flips; i++)
            changed[random_at(round, 1, i) % length] ^= (char)(1 << random_at(round, 2, i) % 8);
        assert_ok(file_write_atomic(fixture->path, changed, length, 0600, &err), err);
        status =
            store_open(fixture->path, round % 4 ? STORE_READ : STORE_WRITE, SECOND, &store, &err);
        check_answer(status, &err);
        if (status != STATUS_OK)
            continue;
        opened++;
        read_all(store);
        if (round % 4 == 0)
            write_some(store, 7);
        store_close(store);
    }
    print_message("%d of %d opened\n", opened, ROUNDS);
    assert_true(opened > ROUNDS / 4);
    free(bytes);
    free(changed);
}
