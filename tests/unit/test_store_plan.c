#include "results/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

TEST_WITH(json_is_stored_once, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    json_t *one = json_pack("{s:i, s:s}", "b", 1, "a", "x");
    json_t *same = json_pack("{s:s, s:i}", "a", "x", "b", 1);
    json_t *back = NULL;
    struct digest a, b, none = {{0}};

    assert_ok(fixture_put_json(fixture->store, one, &a, &err), err);
    assert_ok(fixture_put_json(fixture->store, same, &b, &err), err);
    assert_true(digest_equal(&a, &b));
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM content"), 1);
    assert_ok(store_get_json(fixture->store, &a, &back, &err), err);
    assert_true(json_equal(one, back));
    json_decref(back);
    assert_status(store_get_json(fixture->store, &none, &back, &err), STATUS_NOT_FOUND, err);
    /* Changed content is not returned. */
    store_close(fixture->store);
    fixture->store = NULL;
    fixture_tamper(fixture->path, "UPDATE content SET body = '{\"a\":\"y\",\"b\":1}'");
    assert_ok(store_open(fixture->path, STORE_READ, 1000000000, &fixture->store, &err), err);
    assert_status(store_get_json(fixture->store, &a, &back, &err), STATUS_CORRUPT, err);
    json_decref(one);
    json_decref(same);
}

TEST_WITH(any_text_is_kept, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    static const char bad[] = "error: \xff\xfe", nul[] = "a\0b";
    struct digest digest, expected = digest_bytes(bad, sizeof(bad) - 1);

    assert_ok(fixture_put_text(fixture->store, bad, sizeof(bad) - 1, &digest, &err), err);
    assert_true(digest_equal(&digest, &expected));
    assert_ok(fixture_put_text(fixture->store, nul, 3, &digest, &err), err);
    assert_ok(fixture_put_text(fixture->store, "", 0, &digest, &err), err);
    assert_ok(fixture_put_text(fixture->store, "plain", 5, &digest, &err), err);
    assert_int_equal(fixture_ask(fixture->store,
                                 "SELECT group_concat(typeof(body) || length(body), ' ')"
                                 " = 'blob9 blob3 text0 text5' FROM content"),
                     1);
}

TEST_WITH(plan_is_stored_whole, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaign, cells[FIXTURE_CELLS];

    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    assert_int_not_equal(cells[0], cells[1]);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM planned"), 6);
    assert_int_equal(fixture_ask(fixture->store,
                                 "SELECT group_concat(workload) ="
                                 " 'triad,softmax,triad,softmax,triad,softmax' FROM (SELECT"
                                 " workload FROM planned ORDER BY sequence)"),
                     1);
    assert_int_equal(fixture_ask(fixture->store,
                                 "SELECT count(*) FROM cell WHERE flops IS NULL AND bytes = 3145728"
                                 " AND seed = '18446744073709551615'"),
                     2);
    /* Declarations repeat between campaigns, and are there once. */
    assert_ok(fixture_add_campaign(fixture->store, 2, &campaign, cells, &err), err);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM declaration"), 3);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM campaigns"), 2);
    /* The same campaign is refused. */
    assert_status(fixture_add_campaign(fixture->store, 2, &campaign, cells, &err), STATUS_INVALID,
                  err);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM planned"), 12);
}

TEST_WITH(wrong_plans_leave_nothing, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    const uint32_t order[2] = {0, 1};
    json_t *json = json_object();
    struct store_campaign campaign = {.plan = json, .command = "", .tool_version = ""};
    struct store_cell cell = {.ordinal = 1,
                              .workload_name = "a",
                              .protocol_name = "b",
                              .kind = "k",
                              .work.precision = "fp32",
                              .work.scenario = "s",
                              .work.implementation = "a",
                              .backend = "null",
                              .device_spec = "null:0"};
    int64_t id = -7, cells[1] = {-7};

    assert_status(
        store_add_campaign(fixture->store, &campaign, &cell, 1, order, 1, &id, cells, &err),
        STATUS_INVALID, err);
    fixture_uid(5, campaign.uid);
    /* A protocol that nobody stored; then an order beyond the cells; then a number too large. */
    assert_status(
        store_add_campaign(fixture->store, &campaign, &cell, 1, order, 1, &id, cells, &err),
        STATUS_INVALID, err);
    assert_ok(fixture_put_json(fixture->store, json, &campaign.protocol, &err), err);
    cell.workload = cell.protocol = campaign.protocol;
    assert_status(
        store_add_campaign(fixture->store, &campaign, &cell, 1, order, 2, &id, cells, &err),
        STATUS_INVALID, err);
    cell.cost.device_memory_bytes = UINT64_MAX;
    assert_status(
        store_add_campaign(fixture->store, &campaign, &cell, 1, order, 1, &id, cells, &err),
        STATUS_INVALID, err);
    assert_int_equal(id, -7);
    assert_int_equal(cells[0], -7);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM campaign"), 0);
    cell.cost.device_memory_bytes = 0;
    assert_ok(store_add_campaign(fixture->store, &campaign, &cell, 1, order, 1, &id, cells, &err),
              err);
    json_decref(json);
}

TEST_WITH(campaigns_are_found, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    char uid[STORE_UID_SIZE], prefix[5] = "";
    int64_t campaigns[40], cells[40][FIXTURE_CELLS], found = 0;

    assert_status(store_find_campaign(fixture->store, "last", &found, &err), STATUS_NOT_FOUND, err);
    assert_ok(store_batch_begin(fixture->store, &err), err);
    /* The newest by time is not the last one stored. */
    for (unsigned i = 0; i < 40; i++)
        assert_ok(
            fixture_add_campaign(fixture->store, 39 - i, &campaigns[39 - i], cells[39 - i], &err),
            err);
    assert_ok(store_batch_end(fixture->store, true, &err), err);
    assert_ok(store_find_campaign(fixture->store, "last", &found, &err), err);
    assert_int_equal(found, campaigns[39]);
    for (unsigned i = 0; i < 40; i++) {
        fixture_uid(i, uid);
        assert_ok(store_find_campaign(fixture->store, uid, &found, &err), err);
        assert_int_equal(found, campaigns[i]);
        memcpy(prefix, uid, 4);
        assert_ok(store_find_campaign(fixture->store, prefix, &found, &err), err);
        assert_int_equal(found, campaigns[i]);
    }
    assert_ok(store_find_campaign(fixture->store, "7", &found, &err), err);
    assert_int_equal(found, 7);
    assert_status(store_find_campaign(fixture->store, "41", &found, &err), STATUS_NOT_FOUND, err);
    uid[3] = '\0'; /* too short to be a beginning */
    assert_status(store_find_campaign(fixture->store, "abc", &found, &err), STATUS_NOT_FOUND, err);
    assert_status(store_find_campaign(fixture->store, "", &found, &err), STATUS_NOT_FOUND, err);
    assert_status(store_find_campaign(fixture->store, "'; --", &found, &err), STATUS_NOT_FOUND,
                  err);
}

/* Stores a campaign whose uid is these 8 digits, repeated. */
static int64_t campaign_with(struct fixture *fixture, const char *digits)
{
    struct error err = ERROR_INIT;
    json_t *json = json_object();
    struct store_campaign campaign = {.plan = json, .command = "", .tool_version = ""};
    int64_t id = 0;

    for (int i = 0; i < 8; i++)
        memcpy(campaign.uid + 8 * i, digits, 8);
    assert_ok(fixture_put_json(fixture->store, json, &campaign.protocol, &err), err);
    assert_ok(store_add_campaign(fixture->store, &campaign, NULL, 0, NULL, 0, &id, NULL, &err),
              err);
    json_decref(json);
    return id;
}

TEST_WITH(ambiguous_ids_are_refused, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t first = campaign_with(fixture, "abcd1111"), found = 0;

    campaign_with(fixture, "abcd2222");
    assert_status(store_find_campaign(fixture->store, "abcd", &found, &err), STATUS_INVALID, err);
    assert_non_null(strstr(err.message, "abcd1111"));
    assert_non_null(strstr(err.message, "abcd2222"));
    assert_ok(store_find_campaign(fixture->store, "abcd1", &found, &err), err);
    assert_int_equal(found, first);
    for (int i = 0; i < 1200; i++) {
        char digits[9];

        snprintf(digits, sizeof(digits), "%08x", 0x10030000 + i);
        if (i == 0)
            assert_ok(store_batch_begin(fixture->store, &err), err);
        campaign_with(fixture, digits);
    }
    assert_ok(store_batch_end(fixture->store, true, &err), err);
    /* 1003 is a row, and the beginning of many. */
    assert_status(store_find_campaign(fixture->store, "1003", &found, &err), STATUS_INVALID, err);
    assert_non_null(strstr(err.message, "..."));
    assert_ok(store_find_campaign(fixture->store, "1002", &found, &err), err);
    assert_int_equal(found, 1002);
    campaign_with(fixture, "10021111");
    assert_status(store_find_campaign(fixture->store, "1002", &found, &err), STATUS_INVALID, err);
    assert_non_null(strstr(err.message, "both"));
    assert_ok(store_find_campaign(fixture->store, "10021", &found, &err), err);
    assert_int_equal(found, 1203);
}

TEST_WITH(results_are_found, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    char uid[STORE_UID_SIZE], id[STORE_UID_SIZE + 8];
    int64_t campaign, cells[FIXTURE_CELLS], found = 0;

    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    fixture_uid(1, uid);
    for (int i = 0; i < FIXTURE_CELLS; i++) {
        snprintf(id, sizeof(id), "%.8s/%d", uid, i + 1);
        assert_ok(store_find_cell(fixture->store, id, &found, &err), err);
        assert_int_equal(found, cells[i]);
        snprintf(id, sizeof(id), "%s/%d", uid, i + 1);
        assert_ok(store_find_cell(fixture->store, id, &found, &err), err);
        assert_int_equal(found, cells[i]);
    }
    assert_ok(store_find_cell(fixture->store, "last/2", &found, &err), err);
    assert_int_equal(found, cells[1]);
    snprintf(id, sizeof(id), "%.8s/3", uid);
    assert_status(store_find_cell(fixture->store, id, &found, &err), STATUS_NOT_FOUND, err);
    assert_non_null(strstr(err.message, "2 results"));
    snprintf(id, sizeof(id), "%.8s", uid);
    assert_status(store_find_cell(fixture->store, id, &found, &err), STATUS_INVALID, err);
    assert_status(store_find_cell(fixture->store, "last/x", &found, &err), STATUS_INVALID, err);
    assert_status(store_find_cell(fixture->store, "last/0", &found, &err), STATUS_INVALID, err);
    assert_status(store_find_cell(fixture->store, "/", &found, &err), STATUS_INVALID, err);
    memset(id, 'a', sizeof(id) - 1);
    id[sizeof(id) - 1] = '\0';
    assert_status(store_find_cell(fixture->store, id, &found, &err), STATUS_INVALID, err);
}
