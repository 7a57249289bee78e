/* Verdicts on series whose trend is plain. The rates on noisy ones are measured by calibration. */
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/steady_state.h"
#include "tests/support/unit.h"

enum { N = 1200 };

static double noise(size_t i)
{
    double sum = 0;
    uint64_t k;

    for (k = 0; k < 12; k++)
        sum += random_unit(random_at(77, k, i));
    return sum - 6;
}

static struct steady_state judge(const int64_t *x, size_t n, size_t first)
{
    struct estimate_options options = estimate_options_default();
    struct steady_state state;

    assert_int_equal(steady_state_find(x, n, first, &options, &state, NULL), STATUS_OK);
    return state;
}

static struct steady_state judge_trend(double (*trend)(double), size_t first)
{
    int64_t x[N];
    size_t i;

    for (i = 0; i < N; i++)
        x[i] = (int64_t)(1e6 * trend((double)i / N) * (1 + 0.005 * noise(i)));
    return judge(x, N, first);
}

static double flat(double t)
{
    (void)t;
    return 1;
}

static double warm(double t)
{
    return t < 0.2 ? 1.1 : 1;
}

static double slow(double t)
{
    return 1 - 0.1 * exp(-t / 0.05);
}

static double drift(double t)
{
    return 1 + 0.05 * t;
}

static double late(double t)
{
    return t < 0.9 ? 1 : 1.05;
}

static double small_step(double t)
{
    return t < 0.3 ? 1.004 : 1;
}

static double bump(double t)
{
    return t > 0.3 && t < 0.4 ? 1.08 : 1;
}

static double warm_then_drift(double t)
{
    return t < 0.1 ? 1.3 : 1 + 0.06 * t;
}

TEST(verdicts)
{
    struct steady_state s;

    s = judge_trend(flat, 0);
    assert_int_equal(s.verdict, ESTIMATE_STEADY);
    assert_int_equal(s.from, 0);
    s = judge_trend(warm, 0);
    assert_int_equal(s.verdict, ESTIMATE_WARMUP);
    assert_int_equal(s.from, N / 5);
    assert_true(fabs(s.change - 0.1) < 0.005);
    s = judge_trend(slow, 0);
    assert_int_equal(s.verdict, ESTIMATE_SLOWDOWN);
    assert_in_range(s.from, N / 10, N / 2);
    assert_true(s.change < -0.05);
    s = judge_trend(drift, 0);
    assert_int_equal(s.verdict, ESTIMATE_DRIFT);
    assert_int_equal(s.from, N);
    assert_true(fabs(s.change - 0.05) < 0.01);
    s = judge_trend(late, 0);
    assert_int_equal(s.verdict, ESTIMATE_NON_STATIONARY);
    assert_int_equal(s.from, N);
    s = judge_trend(warm_then_drift, 0);
    assert_int_equal(s.verdict, ESTIMATE_DRIFT);
}

/* A long series often crosses the middle of its own approach by noise alone. */
TEST(a_long_approach_is_not_two_states)
{
    enum { LONG = 60000 };
    int64_t *x = malloc(LONG * sizeof(*x));
    struct steady_state s;
    size_t i;

    assert_non_null(x);
    for (i = 0; i < LONG; i++)
        x[i] = (int64_t)(1e6 * (1 + 0.1 * exp(-(double)i / (0.05 * LONG))) * (1 + 0.01 * noise(i)));
    s = judge(x, LONG, 0);
    assert_int_equal(s.verdict, ESTIMATE_WARMUP);
    assert_in_range(s.from, LONG / 10, LONG / 2);
    for (i = 0; i < LONG; i++)
        x[i] = (int64_t)(1e6 * (1 + 0.05 * (double)(i / 1500 % 2)) * (1 + 0.01 * noise(i)));
    assert_int_equal(judge(x, LONG, 0).verdict, ESTIMATE_BIMODAL);
    free(x);
}

static double endless_approach(double t)
{
    return 1 + 0.1 * exp(-t / 0.2);
}

TEST(the_rest_of_an_approach_is_reported)
{
    struct steady_state s = judge_trend(endless_approach, 0);

    assert_int_equal(s.verdict, ESTIMATE_WARMUP);
    assert_in_range(s.from, N / 2, 3 * N / 4);
    /* The mean of the rest against the level it goes to. */
    assert_true(s.remainder > 0.1 * 0.2 / 0.25 * (exp(-3.75) - exp(-5)));
    assert_true(s.remainder < 0.01);
    assert_true(judge_trend(slow, 0).remainder == 0);
}

static double ramp(double t)
{
    return t < 0.2 ? 1.05 : t < 0.5 ? 1 + 0.05 * (0.5 - t) / 0.3 : 1;
}

static double late_ramp(double t)
{
    return t < 0.5 ? 1.05 : t < 0.9 ? 1 + 0.05 * (0.9 - t) / 0.4 : 1;
}

static double power_law(double t)
{
    return 1 + 0.1 / sqrt(1 + t / 0.01);
}

TEST(ramps)
{
    struct steady_state s = judge_trend(ramp, 0);

    assert_int_equal(s.verdict, ESTIMATE_WARMUP);
    assert_in_range(s.from, 45 * N / 100, 55 * N / 100);
    assert_true(fabs(s.change - 0.05) < 0.005);
    assert_int_equal(judge_trend(late_ramp, 0).verdict, ESTIMATE_NON_STATIONARY);
}

/* What is left at the end of the window is unknown; what the steady part still lost is not. */
TEST(a_power_law_leaves_a_remainder)
{
    struct steady_state s = judge_trend(power_law, 0);
    double mean = 0, end = power_law(1);

    assert_int_equal(s.verdict, ESTIMATE_WARMUP);
    for (size_t i = s.from; i < N; i++)
        mean += power_law((double)i / N) / (double)(N - s.from);
    assert_true(s.remainder > 0.8 * (mean - end));
    assert_true(s.remainder < 0.01);
}

/* A random walk is shown as one, alone or in noise; by first differences it is white. */
TEST(random_walks_are_undetermined)
{
    int64_t x[N];

    for (int noisy = 0; noisy < 2; noisy++) {
        double walk = 0;
        struct steady_state s;

        for (size_t i = 0; i < N; i++) {
            walk += 0.003 * noise(i);
            x[i] = (int64_t)(1e6 * exp(walk) * (1 + 0.01 * noisy * noise(N + i)));
        }
        s = judge(x, N, 0);
        assert_int_equal(s.verdict, ESTIMATE_UNDETERMINED);
        assert_true(s.memory_order > 0 || s.root_distance < STEADY_STATE_UNIT_ROOT);
    }
}

/* Fractional noise of order 0.45, by its moving average (Hosking 1981). */
TEST(long_memory_is_undetermined)
{
    enum { PAST = 4 * N };
    int64_t x[N];
    double weight[PAST] = {1};
    struct steady_state s;

    for (size_t k = 1; k < PAST; k++)
        weight[k] = weight[k - 1] * ((double)k - 0.55) / (double)k;
    for (size_t i = 0; i < N; i++) {
        double sum = 0;

        for (size_t k = 0; k < PAST; k++)
            sum += weight[k] * noise(PAST + i - k);
        x[i] = (int64_t)(1e6 * (1 + 0.01 * sum));
    }
    s = judge(x, N, 0);
    assert_int_equal(s.verdict, ESTIMATE_UNDETERMINED);
    assert_true(fabs(s.memory_order - 0.45) < 0.2);
    assert_true(s.root_distance == 0);
}

/* Independent samples with rare, far larger ones, two or three of which meet now and then. */
TEST(heavy_tails_are_steady)
{
    int64_t x[300];
    size_t steady = 0;

    for (size_t run = 0; run < 100; run++) {
        for (size_t i = 0; i < 300; i++)
            x[i] =
                (int64_t)(1e6 * (1 + 0.01 * pow(1 - random_unit(random_at(5, run, i)), -1.0 / 3)));
        steady += judge(x, 300, 0).verdict == ESTIMATE_STEADY;
    }
    assert_true(steady >= 94);
}

TEST(within_the_tolerance_is_the_same_level)
{
    struct steady_state s = judge_trend(small_step, 0);

    assert_int_equal(s.verdict, ESTIMATE_STEADY);
    assert_int_equal(s.from, 0);
}

static double warm_then_bump(double t)
{
    return t < 0.1 ? 1.3 : t > 0.5 && t < 0.9 ? 1.05 : 1;
}

/* The level before is that after, so what lies between is no warmup, and everything counts. */
TEST(a_disturbance_that_passes_is_no_warmup)
{
    struct steady_state s = judge_trend(bump, 0);

    assert_int_equal(s.verdict, ESTIMATE_STEADY);
    assert_int_equal(s.from, 0);
    assert_true(fabs(s.disturbed - 0.1) < 0.01 && fabs(s.disturbance - 0.08) < 0.01);
    s = judge_trend(warm_then_bump, 0);
    assert_int_equal(s.verdict, ESTIMATE_WARMUP);
    assert_in_range(s.from, N / 10 - 2, N / 10 + 2);
    assert_true(fabs(s.change - 0.3) < 0.01);
    assert_true(fabs(s.disturbed - 0.4 / 0.9) < 0.01 && fabs(s.disturbance - 0.05) < 0.01);
    assert_true(judge_trend(flat, 0).disturbed == 0 && judge_trend(warm, 0).disturbed == 0);
}

/* One that is over before the declared warmup is, or that the last of it lies in. */
TEST(what_of_a_disturbance_counts)
{
    struct steady_state s = judge_trend(bump, N / 2);

    assert_int_equal(s.from, N / 2);
    assert_true(s.disturbed == 0);
    s = judge_trend(bump, (size_t)(0.35 * N));
    assert_true(fabs(s.disturbed - 0.05 / 0.65) < 0.01);
}

TEST(declared_warmup_is_a_lower_bound)
{
    assert_int_equal(judge_trend(flat, 100).from, 100);
    assert_int_equal(judge_trend(warm, 100).from, N / 5);
    assert_int_equal(judge_trend(warm, N / 2).from, N / 2);
    assert_int_equal(judge_trend(warm, N / 2).verdict, ESTIMATE_WARMUP);
}

TEST(a_slow_first_sample)
{
    int64_t x[40];
    size_t i;

    for (i = 0; i < 40; i++)
        x[i] = (int64_t)(1e6 * (1 + 0.005 * noise(i)));
    x[0] = 5000000;
    assert_int_equal(judge(x, 40, 0).verdict, ESTIMATE_WARMUP);
    assert_int_equal(judge(x, 40, 0).from, 1);
    /* Where such samples come all the time, the first is one of them. */
    x[9] = x[17] = x[30] = 5000000;
    assert_int_equal(judge(x, 40, 0).verdict, ESTIMATE_STEADY);
    assert_int_equal(judge(x, 40, 0).impulses, 4);
}

TEST(hostile_input)
{
    struct estimate_options options = estimate_options_default();
    int64_t equal[500], huge[500], ticks[500], zero[9] = {1, 1, 1, 1, 1, 1, 1, 1, 0};
    struct steady_state s;
    struct error err;
    size_t i, n;

    for (i = 0; i < 500; i++) {
        equal[i] = 100;
        huge[i] = ((int64_t)1 << 62) + (int64_t)(random_at(1, 1, i) >> 20);
        ticks[i] = random_at(1, 2, i) & 1 ? 2 : 1;
    }
    s = judge(equal, 500, 0);
    assert_int_equal(s.verdict, ESTIMATE_STEADY);
    assert_int_equal(s.resolution_ns, 0);
    assert_int_equal(judge(huge, 500, 0).verdict, ESTIMATE_STEADY);
    assert_int_equal(judge(ticks, 500, 0).verdict, ESTIMATE_STEADY);
    for (n = 0; n <= 40; n++) {
        s = judge(ticks, n, 0);
        assert_true(s.from <= n);
        assert_true((s.verdict == ESTIMATE_INSUFFICIENT) == (n < STEADY_STATE_LEAST));
        s = judge(huge, n, n / 2);
        assert_true(s.from >= n / 2 && s.from <= n);
    }
    assert_int_equal(judge(equal, 10, 10).verdict, ESTIMATE_INSUFFICIENT);
    assert_int_equal(judge(equal, 10, 99).from, 10);
    assert_int_equal(steady_state_find(zero, 9, 0, &options, &s, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "sample 8"));
}

/* Independent draws of n samples from a distribution by its number. */
enum { FOLDED, TIED, RARE_TIED, NOISY, LOGNORMAL, THREE, TICKS, SPIKES, DISTRIBUTIONS };

static double draw(int distribution, uint64_t run, size_t i)
{
    const double u = random_unit(random_at(11, run, 2 * i)), v = noise(1000 * run + i);

    switch (distribution) {
    case FOLDED:
        return u < 0.5 ? 13.26 : 25 + 8 * (u - 0.5);
    case TIED:
        return u < 0.5 ? 13.26 : 25;
    case RARE_TIED:
        return u < 0.75 ? 13.26 : 25;
    case NOISY:
        return (u < 0.5 ? 10 : 12) * (1 + 0.01 * v);
    case LOGNORMAL:
        return (u < 0.5 ? 10 : 20) * exp(0.05 * v);
    case THREE:
        return 10 + 3 * floor(3 * u);
    case TICKS: /* of a clock */
        return 10 + floor(5 * u);
    default:
        return u < 0.02 ? 20 + 500 * u : 10;
    }
}

static struct steady_state judge_draws(int distribution, uint64_t run, size_t n, double change)
{
    int64_t x[300];

    for (size_t i = 0; i < n; i++)
        x[i] = (int64_t)(1e6 * draw(distribution, run, i) * (i < n / 4 ? change : 1));
    return judge(x, n, 0);
}

/* None of these moves. A median that follows draws from two levels made steps of them: of the
   first one at n = 40 a tenth were called a change. */
TEST(stationary_series_of_few_values_do_not_change)
{
    static const size_t counts[] = {20, 40, 80, 300};
    enum { RUNS = 100 };

    for (int distribution = 0; distribution < DISTRIBUTIONS; distribution++) {
        for (size_t k = 0; k < 4; k++) {
            size_t changes = 0;

            for (uint64_t run = 0; run < RUNS; run++) {
                const struct steady_state s = judge_draws(distribution, run, counts[k], 1);

                changes += s.verdict != ESTIMATE_STEADY && s.verdict != ESTIMATE_BIMODAL &&
                           s.verdict != ESTIMATE_UNDETERMINED;
            }
            assert_in_range(changes, 0, 3);
        }
    }
}

TEST(levels_are_called_bimodal_without_noise_as_well)
{
    static const int distributions[] = {FOLDED, TIED, RARE_TIED, NOISY, LOGNORMAL, THREE};

    for (size_t k = 0; k < 6; k++) {
        size_t found = 0;

        for (uint64_t run = 0; run < 50; run++) {
            const struct steady_state s = judge_draws(distributions[k], run, 300, 1);

            found += s.verdict == ESTIMATE_BIMODAL && s.states.levels == (k == 5 ? 3 : 2);
        }
        assert_in_range(found, 49, 50);
    }
    for (uint64_t run = 0; run < 20; run++)
        assert_int_equal(judge_draws(TICKS, run, 300, 1).verdict, ESTIMATE_STEADY);
}

/* A start that is twice as slow is found among two levels, too. */
TEST(a_change_is_found_among_levels)
{
    for (uint64_t run = 0; run < 20; run++) {
        const struct steady_state s = judge_draws(FOLDED, run, 300, 2);

        assert_int_equal(s.verdict, ESTIMATE_BIMODAL);
        assert_in_range(s.from, 60, 90);
        assert_true(s.change > 0.5);
    }
}

/* 10 ms and 12 ms: two levels, or a clock of 2 ms that rounds one either way. */
TEST(two_values_that_may_be_steps)
{
    int64_t x[300];

    for (size_t i = 0; i < 300; i++)
        x[i] = random_at(3, 1, i) & 1 ? 10000000 : 12000000;
    assert_int_equal(judge(x, 300, 0).verdict, ESTIMATE_UNDETERMINED);
    assert_int_equal(judge(x, 300, 0).states.levels, 2);
    for (size_t i = 0; i < 300; i++)
        x[i] += i % 7 == 0; /* the clock is finer */
    assert_int_equal(judge(x, 300, 0).verdict, ESTIMATE_BIMODAL);
}

TEST(a_series_that_repeats_itself)
{
    int64_t x[300];

    for (size_t period = 2; period < 6; period++) {
        for (size_t i = 0; i < 300; i++)
            x[i] = i % period == 0 ? 25000000 : 13260000;
        assert_int_equal(judge(x, 300, 0).verdict, ESTIMATE_BIMODAL);
    }
}

/* A coarse clock shows in every distance; the least distance of a few noisy samples is no clock. */
TEST(resolution)
{
    int64_t few[12], coarse[60], ticks[60];

    for (size_t i = 0; i < 12; i++)
        few[i] = 1000000 + (int64_t)(50000 * noise(i));
    for (size_t i = 0; i < 60; i++) {
        coarse[i] = 1000000 + 1000 * (int64_t)(5 * noise(i));
        ticks[i] = 1000000 + (int64_t)(41.67 * (int64_t)(2 * noise(i)));
    }
    assert_int_equal(judge(few, 4, 0).resolution_ns, 1);
    assert_int_equal(judge(few, 12, 0).resolution_ns, 1);
    assert_int_equal(judge(coarse, 60, 0).resolution_ns, 1000);
    assert_in_range(judge(ticks, 60, 0).resolution_ns, 1, 42);
}
