#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "protocols/serving/request_log.h"
#include "tests/support/unit.h"

/* Three requests in two steps: two at once, and one of two tokens that spans both. */
static const struct request good[] = {
    {0, 5, 10, 20, 20, REQUEST_NEVER, 0, 1, REQUEST_OK},
    {1, 6, 10, 20, 40, 20, 4, 2, REQUEST_OK, 2, 1, 1},
    {2, 7, 30, 40, 40, REQUEST_NEVER, 0, 1, REQUEST_OK},
    {3, 8, REQUEST_NEVER, REQUEST_NEVER, REQUEST_NEVER, REQUEST_NEVER, 0, 0, REQUEST_REFUSED},
    {4, REQUEST_NEVER, REQUEST_NEVER, REQUEST_NEVER, REQUEST_NEVER, REQUEST_NEVER, 0, 0,
     REQUEST_UNFINISHED},
};
static const struct serving_step steps[] = {{10, 20, 2, 0, 2, 0}, {30, 40, 2, 0, 2, 0}};
#define COUNT (sizeof(good) / sizeof(*good))

TEST(columns_round_trip)
{
    for (size_t i = 0; i < COUNT; i++) {
        struct request back = {0};

        for (size_t c = 0; c < REQUEST_COLUMNS_ALL; c++) {
            assert_true(request_is_column(request_columns[c]));
            assert_int_equal(request_is_demanded(request_columns[c]), c < REQUEST_COLUMNS);
            assert_true(request_set_column(&back, c, request_column(&good[i], c)));
        }
        assert_memory_equal(&back, &good[i], sizeof(back));
    }
    assert_false(request_is_column("wall_ns"));
    for (size_t c = 0; c < REQUEST_COLUMNS_ALL; c++) {
        struct request back = {0};

        assert_false(request_set_column(&back, c, -2));
        assert_int_equal(request_set_column(&back, c, -1), c > 0 && c < 6);
    }
    assert_false(request_set_column(&(struct request){0}, 8, REQUEST_TIMED_OUT + 1));
}

static void assert_refused(size_t index, struct request bad, const char *why)
{
    struct request requests[COUNT];
    struct error err = ERROR_INIT;

    memcpy(requests, good, sizeof(requests));
    requests[index] = bad;
    assert_int_equal(request_log_audit(requests, COUNT, steps, 2, &err), STATUS_INVALID);
    if (!strstr(err.message, why))
        fail_msg("\"%s\" lacks \"%s\"", err.message, why);
}

TEST(audit)
{
    struct request bad;

    assert_int_equal(request_log_audit(good, COUNT, steps, 2, NULL), STATUS_OK);
    assert_int_equal(request_log_audit(good, COUNT, NULL, 0, NULL), STATUS_OK);
    bad = good[0];
    bad.sent_ns = -1; /* before its time */
    assert_refused(0, bad, "out of order");
    bad = good[0];
    bad.admitted_ns = 4; /* before it was sent */
    assert_refused(0, bad, "out of order");
    bad = good[0];
    bad.scheduled_ns = 3;
    assert_refused(0, bad, "scheduled before");
    bad = good[0];
    bad.first_ns = bad.done_ns = 21; /* when no step ended */
    assert_refused(0, bad, "when no step ended");
    bad = good[0];
    bad.status = REQUEST_UNFINISHED; /* and yet done */
    assert_refused(0, bad, "its status excludes");
    bad = good[1];
    bad.is_told = 2; /* neither no nor yes */
    assert_refused(1, bad, "its status excludes");
    bad = good[1];
    bad.outputs = 3; /* of two tokens */
    assert_refused(1, bad, "its status excludes");
    bad = good[1];
    bad.first_outputs = 3; /* of two pieces */
    assert_refused(1, bad, "its status excludes");
    bad = good[3];
    bad.status = REQUEST_OK;
    assert_refused(3, bad, "its status excludes");
    bad = good[1];
    bad.output_tokens = 3; /* one more than the steps put out */
    assert_refused(1, bad, "put out");
    bad = good[0];
    bad.status = REQUEST_REFUSED;
    assert_refused(0, bad, "its status excludes");
}
