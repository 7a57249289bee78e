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

/* Of two series: as seldom seen by chance as declared, and more often than in one where it is. */
TEST(two_series_together)
{
    double seen[3] = {0}, values[2][10];
    struct random random;

    random_init(&random, 7, 0);
    for (size_t c = 0; c < CASES; c++) {
        struct succession each[2], both;

        for (size_t k = 0; k < 2; k++) {
            double noise = random_next_normal(&random);

            for (size_t i = 0; i < 10; i++) {
                values[k][i] = noise;
                noise = (c % 2 ? 0.8 : 0) * noise + (c % 2 ? 0.6 : 1) * random_next_normal(&random);
            }
            each[k] = succession_find(values[k], 10);
        }
        both = succession_join(&each[0], &each[1]);
        seen[0] += c % 2 ? 0 : (double)both.trend / CASES * 2;
        seen[1] += c % 2 ? 0 : (double)both.serial / CASES * 2;
        seen[2] += c % 2 ? (double)both.serial / CASES * 2 : 0;
    }
    assert_true(seen[0] > 0.004 && seen[0] < 0.018);
    assert_true(seen[1] > 0.012 && seen[1] < 0.035);
    assert_true(seen[2] > 0.5);
}

TEST(one_series_of_two_is_too_short)
{
    const double line[] = {1, 2, 3, 4, 5};
    const struct succession tested = succession_find(line, 5), none = succession_find(line, 4);

    assert_true(succession_join(&none, &tested).change == 4);
    assert_true(succession_join(&tested, &none).trend);
    assert_false(succession_join(&none, &none).tested);
}

TEST(independence_adds_nothing)
{
    const struct succession none = {0};

    assert_true(succession_half_width(&none, 0.25) == 0.25);
    assert_true(succession_unseen(&none, 0.25) == 0.25);
}
