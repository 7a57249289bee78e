#include "results/evidence/witnessing.h"

#include <string.h>

#include "tests/support/unit.h"

#define S INT64_C(1000000000)

static const struct roster_key watch = {.key = {.name = "watch"},
                                        .is_witness = true,
                                        .not_before_ns = INT64_MIN,
                                        .expires_ns = INT64_MAX,
                                        .revoked_ns = 5000 * S};
static const struct roster_key author = {.key = {.name = "lab"},
                                         .not_before_ns = INT64_MIN,
                                         .expires_ns = INT64_MAX,
                                         .revoked_ns = INT64_MAX};

/* A plan that was cosigned at 1000 s, and an end `seconds` later; the file's clock says 100 s. */
static struct witnessing seen(int64_t seconds)
{
    const struct sighting plan = {1000, 1000 * S, 1001 * S};
    const struct sighting end = {1000 + seconds, 1101 * S, 1102 * S};
    struct witnessing made = {.last_end_ns = 1101 * S, .trials_ns = 90 * S};

    witnessing_add(&made, &watch, &plan);
    witnessing_add_end(&made, &watch, &end);
    return made;
}

static bool contradicts(const struct witnessing *witnessing)
{
    struct text out;
    bool found;

    text_init(&out);
    found = witnessing_contradicts(witnessing, 0, &out);
    assert_int_equal(found, out.length > 0);
    text_finish(&out);
    return found;
}

/* 100 to 102 s by the file's clock: a hundredth and 2 s are let pass. */
TEST(bounds)
{
    static const struct {
        int64_t seconds;
        bool found;
    } cases[] = {{101, false}, {98, false}, {97, true},  {105, false},
                 {106, true},  {0, true},   {-100, true}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct witnessing witnessing = seen(cases[i].seconds);

        assert_int_equal(witnessing.count, 1);
        assert_int_equal(contradicts(&witnessing), cases[i].found);
    }
}

/* Trials that took longer than passed between both, unless there is a later end. */
TEST(trials)
{
    struct witnessing witnessing = seen(101);

    witnessing.trials_ns = 105 * S;
    assert_true(contradicts(&witnessing));
    witnessing.last_end_ns += S;
    assert_false(contradicts(&witnessing));
}

/* Earlier versions did not note when a cosignature came. */
TEST(unknown)
{
    struct witnessing witnessing = seen(500);

    assert_true(contradicts(&witnessing));
    witnessing.by[0].end.stored_ns = 0;
    assert_false(contradicts(&witnessing));
}

/* Of the plan the earliest counts, of the latest end the earliest, and only what counts at all. */
TEST(which)
{
    struct witnessing witnessing = seen(101);
    struct sighting other = {1090, 1089 * S, 1091 * S};

    witnessing_add_end(&witnessing, &watch, &other);
    assert_int_equal(witnessing.by[0].end.seconds, 1101);
    other = (struct sighting){1100, 1101 * S, 1103 * S};
    witnessing_add_end(&witnessing, &watch, &other);
    assert_int_equal(witnessing.by[0].end.seconds, 1100);
    other = (struct sighting){5000, 4999 * S, 5001 * S};
    witnessing_add_end(&witnessing, &watch, &other);
    witnessing_add_end(&witnessing, &author, &other);
    witnessing_add_end(&witnessing, NULL, &other);
    assert_int_equal(witnessing.by[0].end.seconds, 1100);
    other = (struct sighting){1002, 1000 * S, 1003 * S};
    witnessing_add(&witnessing, &watch, &other);
    assert_int_equal(witnessing.by[0].plan.seconds, 1000);
    witnessing_add(&witnessing, &author, &other);
    assert_int_equal(witnessing.count, 1);
    assert_int_equal(witnessing.foreign, 1);
}
