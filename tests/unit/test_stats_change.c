/* Clipping, change points, steps and states on small series with a known answer. */
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/stats/distribution.h"
#include "protocols/stats/hampel.h"
#include "protocols/stats/pelt.h"
#include "protocols/stats/states.h"
#include "protocols/stats/step_scan.h"
#include "tests/support/unit.h"

static void make_noise(double *x, size_t n, double sd, uint64_t seed)
{
    struct random random;
    size_t i;

    random_init(&random, seed, 0);
    for (i = 0; i < n; i++)
        x[i] = sd * random_next_normal(&random);
}

TEST(hampel_takes_impulses_and_leaves_steps)
{
    double x[100], y[100];
    size_t clipped, i;

    make_noise(x, 100, 0.01, 1);
    for (i = 50; i < 100; i++)
        x[i] += 1;
    x[0] = 5;
    x[20] = 3;
    x[21] = 3;
    x[99] = -4;
    assert_int_equal(hampel_clip(x, 100, 0, y, &clipped, NULL), STATUS_OK);
    assert_int_equal(clipped, 4);
    assert_true(fabs(y[0]) < 0.1 && fabs(y[20]) < 0.1 && fabs(y[21]) < 0.1);
    assert_true(fabs(y[99] - 1) < 0.1 && fabs(y[49]) < 0.1 && fabs(y[50] - 1) < 0.1);
}

TEST(hampel_keeps_a_coarse_clock)
{
    double x[200], y[200];
    size_t clipped, i;

    for (i = 0; i < 200; i++)
        x[i] = i % 3 == 0 ? 2 : 1;
    assert_int_equal(hampel_clip(x, 200, 0, y, &clipped, NULL), STATUS_OK);
    assert_int_equal(clipped, 0);
    assert_int_equal(hampel_clip(x, 4, 0, y, &clipped, NULL), STATUS_OK);
    assert_memory_equal(x, y, 4 * sizeof(*x));
}

/* Independent draws: one level in each window is no impulse, unless it is rare. */
TEST(hampel_keeps_a_second_level)
{
    double x[400], y[400];
    size_t clipped, i;

    for (int share = 2; share <= 8; share += 3) {
        make_noise(x, 400, 0.01, 3);
        for (i = 0; i < 400; i++)
            x[i] += random_at(4, 5, i) % 10 < (uint64_t)share ? 0.6 : 0;
        assert_int_equal(hampel_clip(x, 400, 0, y, &clipped, NULL), STATUS_OK);
        assert_int_equal(clipped, 0);
    }
    make_noise(x, 400, 0.01, 3);
    for (i = 0; i < 400; i += 20)
        x[i] += 0.6;
    assert_int_equal(hampel_clip(x, 400, 0, y, &clipped, NULL), STATUS_OK);
    assert_int_equal(clipped, 20);
}

/* The optimum by trying every pair of changes, as a reference for PELT. */
static double cost(const double *w, size_t from, size_t to, size_t skip)
{
    double mean = 0, sum = 0;
    size_t i;

    for (i = from + skip; i < to; i++)
        mean += w[i] / (double)(to - from - skip);
    for (i = from + skip; i < to; i++)
        sum += (w[i] - mean) * (w[i] - mean);
    return sum;
}

TEST(pelt_is_the_exhaustive_optimum)
{
    enum { N = 40, LEAST = 4, SKIP = 1 };
    const double penalty = 4;
    double w[N];
    size_t changes[N], count, round, a, b, i;

    for (round = 0; round < 60; round++) {
        double best, pelt = 0;
        size_t from = 0;

        make_noise(w, N, 1, 100 + round);
        for (i = 10 + round % 9; i < 28; i++)
            w[i] += (double)(round % 5);
        assert_int_equal(pelt_find(w, N, SKIP, 1, penalty, LEAST, 1, changes, &count, NULL),
                         STATUS_OK);
        if (count > 2)
            continue;
        for (i = 0; i <= count; i++) {
            size_t to = i < count ? changes[i] : N;

            pelt += cost(w, from, to, SKIP) + (i > 0 ? penalty + SKIP : 0);
            from = to;
        }
        best = cost(w, 0, N, SKIP);
        for (a = LEAST; a + LEAST <= N; a++) {
            best = fmin(best, cost(w, 0, a, SKIP) + cost(w, a, N, SKIP) + penalty + SKIP);
            for (b = a + LEAST; b + LEAST <= N; b++)
                best = fmin(best, cost(w, 0, a, SKIP) + cost(w, a, b, SKIP) + cost(w, b, N, SKIP) +
                                      2 * (penalty + SKIP));
        }
        assert_true(fabs(pelt - best) < 1e-9);
    }
}

TEST(step_scan_sees_the_jump)
{
    /* A random-walk-like series: only the jump itself shows the change. */
    enum { N = 400 };
    struct autoregression model = {.order = 1, .phi = {0.99}, .sigma2 = 0.01};
    double x[N], white[N], gain, e[N];
    size_t i, at;

    make_noise(e, N, 0.1, 21);
    x[0] = 0;
    for (i = 1; i < N; i++)
        x[i] = 0.99 * x[i - 1] + e[i];
    for (i = 137; i < N; i++)
        x[i] += 1.5;
    at = step_scan(x, N, 5, &model, white, &gain);
    assert_int_equal(at, 137);
    assert_true(gain > 100);
    assert_int_equal(step_scan(x, 6, 5, &model, white, &gain), 0);
    assert_true(gain == 0);
}

TEST(two_states)
{
    enum { N = 1000 };
    double x[N];
    struct two_state two;
    size_t i;

    make_noise(x, N, 0.01, 31);
    for (i = 0; i < N; i++)
        x[i] += (i / 50) % 2 ? 0.1 : 0;
    assert_int_equal(two_state_find(x, N, 0, 0.01, &two, NULL), STATUS_OK);
    assert_true(two.found);
    assert_int_equal(two.transitions, 19);
    assert_true(fabs(two.low) < 0.01 && fabs(two.high - 0.1) < 0.01);
    assert_true(fabs(two.high_share - 0.5) < 0.01);
    /* The same two values in random order are a distribution, not states. */
    make_noise(x, N, 0.01, 32);
    for (i = 0; i < N; i++)
        x[i] += random_at(1, 2, i) & 1 ? 0.1 : 0;
    assert_int_equal(two_state_find(x, N, 0, 0.01, &two, NULL), STATUS_OK);
    assert_false(two.found);
    /* One step is no return. */
    make_noise(x, N, 0.01, 33);
    for (i = 300; i < N; i++)
        x[i] += 0.1;
    assert_int_equal(two_state_find(x, N, 0, 0.01, &two, NULL), STATUS_OK);
    assert_false(two.found);
    /* A sine has no levels. */
    make_noise(x, N, 0.001, 34);
    for (i = 0; i < N; i++)
        x[i] += 0.05 * sin((double)i / 20);
    assert_int_equal(two_state_find(x, N, 0, 0.01, &two, NULL), STATUS_OK);
    assert_false(two.found);
    /* Two neighbouring ticks of a clock are one value. */
    for (i = 0; i < N; i++)
        x[i] = (i / 40) % 2 ? 0.02 : 0;
    assert_int_equal(two_state_find(x, N, 0.02, 0.01, &two, NULL), STATUS_OK);
    assert_false(two.found);
}

/* Levels of `values`, drawn independently with noise; `tail`: plus an exponential one. */
static struct two_state levels_of(const double *values, size_t count, double sd, double tail,
                                  double quantum)
{
    enum { N = 300 };
    double x[N];
    struct two_state two;
    struct random random;

    make_noise(x, N, sd, 41);
    random_init(&random, 42, 43);
    for (size_t i = 0; i < N; i++)
        x[i] += values[random_at(7, 8, i) % count] + tail * random_next_exponential(&random);
    assert_int_equal(levels_find(x, N, quantum, 0.01, &two, NULL), STATUS_OK);
    return two;
}

TEST(levels_in_any_order)
{
    static const double one[] = {0}, pair[] = {0, 0.6}, rare[] = {0, 0, 0, 0.6},
                        three[] = {0, 0.3, 0.6}, uneven[] = {0, 0.2, 0.9};
    struct two_state two;

    for (double sd = 0; sd < 0.03; sd += 0.02) {
        two = levels_of(pair, 2, sd, 0, 0);
        assert_int_equal(two.levels, 2);
        assert_false(two.found);
        assert_true(fabs(two.low) < 0.01 && fabs(two.high - 0.6) < 0.01);
        assert_in_range(two.transitions, 100, 200);
        assert_int_equal(levels_of(rare, 4, sd, 0, 0).levels, 2);
        assert_int_equal(levels_of(three, 3, sd, 0, 0).levels, 3);
        assert_int_equal(levels_of(uneven, 3, sd, 0, 0).levels, 3);
    }
    assert_int_equal(levels_of(one, 1, 0.1, 0, 0).levels, 0);
    assert_int_equal(levels_of(one, 1, 0, 0.1, 0).levels, 0);
    assert_int_equal(levels_of(pair, 2, 0.15, 0, 0).levels, 0);
    /* Neighbouring steps of a clock; and two steps apart, never the one between. */
    assert_int_equal(levels_of(three, 3, 0, 0, 0.3).levels, 0);
    assert_int_equal(levels_of(pair, 2, 0, 0, 0.3).levels, 2);
}

TEST(cycles_give_an_interval)
{
    enum { N = 400 };
    struct two_state two = {.found = true, .scale = 1, .low = 0, .high = 1, .threshold = 0.5};
    double x[N], expected;
    size_t i;

    for (i = 0; i < N; i++)
        x[i] = (i / 20) % 2 ? 1 : 0;
    /* Entries at 20, 60, ... 380: nine cycles, all the same, so the memoryless switch decides. */
    expected = sqrt(2 * 0.25 * (0.25 * N / 10) / N * 9 / 7) * student_quantile(0.975, 3.6);
    assert_true(fabs(two_state_half_width(x, x, N, &two, 0.95) / expected - 1) < 1e-9);
    /* A single value between the levels is no change of state. */
    x[5] = 0.6;
    x[27] = 0.3;
    assert_true(fabs(two_state_half_width(x, x, N, &two, 0.95) / expected - 1) < 0.02);
    assert_true(isinf(two_state_half_width(x, x, 100, &two, 0.95)));
}
