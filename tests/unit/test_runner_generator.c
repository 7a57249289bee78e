#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "harness/core/clock.h"
#include "harness/runner/generator.h"
#include "tests/support/unit.h"

#define COUNT 50

/* Requests `gap_ns` apart. */
static struct schedule planned(int64_t gap_ns)
{
    struct schedule schedule = {calloc(COUNT, sizeof(struct scheduled_request)), COUNT,
                                COUNT * gap_ns};

    assert_non_null(schedule.requests);
    for (int i = 0; i < COUNT; i++)
        schedule.requests[i].at_ns = i * gap_ns;
    return schedule;
}

static struct generator *started(const struct schedule *schedule, uint32_t queue)
{
    struct generator *generator = NULL;

    assert_int_equal(generator_start(schedule, queue, &generator, NULL), STATUS_OK);
    assert_int_equal(generator_prepare(generator, false, NULL), STATUS_OK);
    generator_begin(generator);
    return generator;
}

/* All come, in their order, none before its time, and seen by nobody before it was sent. */
TEST(in_order_and_never_early)
{
    struct schedule schedule = planned(200000);
    struct generator *generator = started(&schedule, COUNT);
    uint32_t seen = 0;

    while (seen < COUNT) {
        assert_int_equal(generator_check(generator, NULL), STATUS_OK);
        if (generator_waiting(generator) == 0)
            continue;
        assert_int_equal(generator_peek(generator, 0), seen);
        assert_true(generator_sent_ns(generator, seen) >= schedule.requests[seen].at_ns);
        assert_true(generator_now_ns(generator) >= generator_sent_ns(generator, seen));
        assert_false(generator_refused(generator, seen));
        generator_take(generator, 1);
        seen++;
    }
    while (!generator_is_done(generator))
        assert_int_equal(generator_check(generator, NULL), STATUS_OK);
    generator_destroy(generator);
    free(schedule.requests);
}

/* Of a server that takes nothing, as many wait as the queue holds, and the others are refused. */
TEST(full_ring)
{
    struct schedule schedule = planned(1000);
    struct generator *generator = started(&schedule, 5);

    while (!generator_is_done(generator))
        assert_int_equal(generator_check(generator, NULL), STATUS_OK);
    assert_int_equal(generator_waiting(generator), 5);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(generator_refused(generator, i), i >= 5);
        assert_true(generator_sent_ns(generator, i) >= schedule.requests[i].at_ns);
    }
    generator_destroy(generator);
    free(schedule.requests);
}

/* Nothing is sent while the clock stands still, and all of the rest afterwards. */
TEST(pause)
{
    struct schedule schedule = planned(10000000);
    struct generator *generator = started(&schedule, COUNT);
    uint32_t before;
    int64_t at_ns;
    json_t *facts;

    while (generator_waiting(generator) < 3)
        assert_int_equal(generator_check(generator, NULL), STATUS_OK);
    generator_pause(generator);
    at_ns = generator_now_ns(generator);
    clock_sleep_until_ns(clock_monotonic_ns() + 100000000);
    before = generator_waiting(generator);
    assert_true(before < COUNT);
    generator_resume(generator);
    while (!generator_is_done(generator))
        assert_int_equal(generator_check(generator, NULL), STATUS_OK);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_true(generator_sent_ns(generator, i) >= schedule.requests[i].at_ns);
    for (uint32_t i = 0; i < before; i++)
        assert_true(generator_sent_ns(generator, i) <= at_ns);
    facts = generator_facts(generator);
    assert_int_equal(json_integer_value(json_object_get(facts, "pauses")), 1);
    assert_true(json_integer_value(json_object_get(facts, "paused_ns")) >= 100000000);
    json_decref(facts);
    generator_destroy(generator);
    free(schedule.requests);
}
