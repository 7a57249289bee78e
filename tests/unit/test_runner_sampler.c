#include <stddef.h>
#include <stdint.h>

#include "harness/runner/sampler.h"
#include "tests/support/unit.h"

/* Walls and gaps together give back the whole time line. */
TEST(time_line)
{
    struct sampler sampler;
    int64_t first_begin = 0, last_end, sum = 0;

    assert_int_equal(sampler_init(&sampler, 100, NULL), STATUS_OK);
    for (int i = 0; i < 100; i++) {
        assert_false(sampler_full(&sampler));
        sampler_begin(&sampler);
        if (i == 0)
            first_begin = sampler.started_ns;
        clock_sleep_until_ns(clock_monotonic_ns() + 1000);
        assert_true(sampler_end(&sampler) > 0);
    }
    last_end = sampler.previous_end_ns;
    assert_true(sampler_full(&sampler));
    assert_int_equal(sampler.gap_ns[0], 0);
    for (int i = 0; i < 100; i++) {
        assert_true(sampler.wall_ns[i] > 0);
        assert_true(sampler.gap_ns[i] >= 0);
        sum += sampler.wall_ns[i] + sampler.gap_ns[i];
    }
    assert_true(sum == last_end - first_begin);
    sampler_finish(&sampler);
    sampler_finish(&sampler);
}

TEST(refusals)
{
    struct sampler sampler;
    struct error err = ERROR_INIT;

    assert_int_equal(sampler_init(&sampler, 0, &err), STATUS_INVALID);
    assert_int_equal(sampler_init(&sampler, SIZE_MAX, &err), STATUS_INVALID);
    assert_int_equal(sampler_init(&sampler, (size_t)1 << 58, &err), STATUS_NO_MEMORY);
    sampler_finish(NULL);
}
