#include "harness/runner/rounds.h"

#include <unistd.h>

#include "harness/core/clock.h"
#include "tests/support/unit.h"

#define HOUR_NS INT64_C(3600000000000)

/* Three cells, five rounds over twelve hours: every cell of a round at the same time. */
TEST(rounds_at_equal_distances)
{
    const struct rounds rounds = {1000, 12 * HOUR_NS, 3, 15};

    for (int64_t sequence = 1; sequence <= 15; sequence++)
        assert_int_equal(rounds_due_utc_ns(&rounds, sequence),
                         1000 + (sequence - 1) / 3 * 3 * HOUR_NS);
}

TEST(nothing_to_spread)
{
    assert_int_equal(rounds_due_utc_ns(&(struct rounds){1000, 0, 3, 15}, 9), 0);
    assert_int_equal(rounds_due_utc_ns(&(struct rounds){1000, HOUR_NS, 3, 3}, 3), 0);
    assert_int_equal(rounds_due_utc_ns(&(struct rounds){1000, HOUR_NS, 1, 0}, 1), 0);
}

/* Whoever wants to stop does not wait for the round. */
TEST(stopped)
{
    const struct rounds rounds = {clock_utc_ns(), 24 * HOUR_NS, 1, 2};
    struct progress progress;
    int ends[2];

    progress_init(&progress, 2, true);
    assert_int_equal(pipe(ends), 0);
    assert_false(rounds_wait(&rounds, 1, 0, ends[0], &progress));
    assert_int_equal(write(ends[1], "", 1), 1);
    assert_true(rounds_wait(&rounds, 2, 0, ends[0], &progress));
    close(ends[0]);
    close(ends[1]);
}
