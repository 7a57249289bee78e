/* Whether values depend on their order: size under independence, power, and what is admitted. */
#include <math.h>
#include <stddef.h>

#include "harness/core/random.h"
#include "protocols/stats/succession.h"
#include "tests/support/unit.h"

#define CASES 4000
#define COUNT_MAX 20

static const size_t counts[] = {5, 8, 10, 20};

struct seen {
    double trend, serial, certain;
};

/* Shares of campaigns of `count` values with a trend of `drift` and neighbours with `phi`. */
static struct seen seen_in(size_t count, double drift, double phi, struct random *random)
{
    struct seen ret = {0};

    for (size_t c = 0; c < CASES; c++) {
        double values[COUNT_MAX], noise = random_next_normal(random);
        struct succession s;

        for (size_t i = 0; i < count; i++) {
            values[i] = 3 + 0.005 * noise + drift * (double)i / ((double)count - 1);
            noise = phi * noise + sqrt(1 - phi * phi) * random_next_normal(random);
        }
        s = succession_find(values, count);
        ret.trend += (double)s.trend / CASES;
        ret.serial += (double)s.serial / CASES;
        ret.certain += (double)s.certain / CASES;
    }
    return ret;
}

TEST(false_alarms_are_as_many_as_declared)
{
    struct random random;

    random_init(&random, 20261128, 0);
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        const struct seen seen = seen_in(counts[k], 0, 0, &random);

        assert_true(seen.trend > 0.02 && seen.trend < 0.04);
        assert_true(seen.serial > 0.012 && seen.serial < 0.035);
        assert_true(seen.certain < 0.015);
    }
}

TEST(what_ten_trials_show)
{
    struct random random;

    random_init(&random, 11, 0);
    assert_true(seen_in(10, 0.03, 0, &random).trend > 0.98);
    assert_true(seen_in(8, 0.03, 0, &random).trend > 0.95);
    assert_true(seen_in(10, 0.03, 0, &random).certain > 0.9);
    assert_true(seen_in(20, 0, 0.8, &random).serial > 0.8);
    assert_true(seen_in(10, 0, 0.5, &random).serial < 0.3); /* ten trials do not show this one */
}

TEST(a_trend_by_hand)
{
    /* Slope 1, residuals (0.1, -0.2, 0, 0.2, -0.1): s^2 = 0.1 / 3, sum of squared times 10. */
    const double values[] = {-1.9, -1.2, 0, 1.2, 1.9};
    const struct succession s = succession_find(values, 5);

    assert_true(s.tested && s.trend);
    assert_true(fabs(s.change - 4 * 1.0) < 1e-12);
    assert_true(fabs(s.error - 4 * sqrt(0.1 / 3 / 10)) < 1e-12);
    assert_true(fabs(succession_half_width(&s, 0.5) - 2.5) < 1e-12);
    assert_true(fabs(succession_unseen(&s, 0.01) - 0.5 * (s.change + s.error)) < 1e-12);
}

TEST(values_that_show_nothing)
{
    const double alike[] = {2, 2, 2, 2, 2, 2}, line[] = {1, 2, 3, 4, 5};

    assert_false(succession_find(line, 4).tested);
    assert_false(succession_find(alike, 6).tested);
    assert_true(succession_find(line, 5).trend);
    assert_true(succession_find(line, 5).p_trend == 0);
}

TEST(independence_adds_nothing)
{
    const struct succession none = {0};

    assert_true(succession_half_width(&none, 0.25) == 0.25);
    assert_true(succession_unseen(&none, 0.25) == 0.25);
}
