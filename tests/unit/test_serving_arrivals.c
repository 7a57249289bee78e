#include "protocols/serving/arrivals.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

static const struct lengths no_lengths = {0};
static const struct arrivals poisson = {.process = ARRIVAL_POISSON};

static struct schedule make(const struct arrivals *arrivals, const struct lengths *lengths,
                            double rate, size_t count, uint64_t seed)
{
    struct schedule schedule = {0};
    struct error err = ERROR_INIT;

    if (schedule_make(arrivals, lengths, rate, (struct schedule_extent){.count = count}, seed,
                      &schedule, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(schedule.count, count);
    for (size_t i = 1; i < count; i++)
        assert_true(schedule.requests[i].at_ns >= schedule.requests[i - 1].at_ns);
    assert_int_equal(schedule.requests[0].at_ns, 0);
    assert_true(schedule.window_ns > schedule.requests[count - 1].at_ns);
    return schedule;
}

TEST(deterministic)
{
    const struct arrivals a = {.process = ARRIVAL_DETERMINISTIC};
    struct schedule s = make(&a, &no_lengths, 4, 9, 1);

    for (size_t i = 0; i < 9; i++)
        assert_int_equal(s.requests[i].at_ns, 250000000 * (int64_t)i);
    assert_int_equal(s.window_ns, 2250000000);
    schedule_finish(&s);
    schedule_finish(NULL);
}

/* The same unit-rate realisation at every rate, and the same tokens. */
TEST(common_random_numbers)
{
    const struct arrivals kinds[] = {{.process = ARRIVAL_POISSON},
                                     {.process = ARRIVAL_GAMMA, .cv = 1.5},
                                     {.process = ARRIVAL_GAMMA, .cv = 0.5}};
    const struct lengths lengths = {
        .prompt = {LENGTH_LOGNORMAL, .mean = 200, .cv = 1, .min = 1, .max = 4096},
        .output = {LENGTH_GEOMETRIC, .mean = 50, .min = 1, .max = 1000}};

    for (size_t k = 0; k < 3; k++) {
        struct schedule slow = make(&kinds[k], &lengths, 10, 2000, 7);
        struct schedule fast = make(&kinds[k], &lengths, 40, 3000, 7);

        for (size_t i = 0; i < 2000; i++) {
            assert_true(llabs(slow.requests[i].at_ns - 4 * fast.requests[i].at_ns) <= 4);
            assert_int_equal(slow.requests[i].prompt_tokens, fast.requests[i].prompt_tokens);
            assert_int_equal(slow.requests[i].output_tokens, fast.requests[i].output_tokens);
        }
        schedule_finish(&slow);
        schedule_finish(&fast);
    }
}

/* Mean and CV of gaps: standard error of the CV below 0.01 at n = 200 000. */
TEST(moments)
{
    const double cvs[] = {0.3, 1, 1.5, 3};

    for (size_t k = 0; k < 4; k++) {
        const struct arrivals a = {.process = ARRIVAL_GAMMA, .cv = cvs[k]};
        const size_t n = 200000;
        struct schedule s = make(&a, &no_lengths, 100, n, 11 + k);
        double squares = 0, mean = (double)s.requests[n - 1].at_ns * 1e-9 / (double)(n - 1);

        for (size_t i = 1; i < n; i++) {
            double gap = (double)(s.requests[i].at_ns - s.requests[i - 1].at_ns) * 1e-9;

            squares += (gap - mean) * (gap - mean);
        }
        assert_true(fabs(mean * 100 - 1) < 4 * cvs[k] / sqrt((double)n));
        assert_true(fabs(sqrt(squares / (double)n) / mean / cvs[k] - 1) < 0.03);
        schedule_finish(&s);
    }
}

/* On and off: the mean rate, and the counts are overdispersed by the theory of the process. */
TEST(on_off)
{
    const struct arrivals a = {
        .process = ARRIVAL_ON_OFF, .on_s = 1, .off_s = 3, .rate_ratio = INFINITY};
    struct schedule s = {0};
    const int64_t window = INT64_C(40000) * 1000000000;
    double count;
    size_t again = 0;

    assert_int_equal(
        schedule_make(&a, &no_lengths, 10, (struct schedule_extent){0, window}, 3, &s, NULL),
        STATUS_OK);
    count = (double)s.count;
    assert_int_equal(s.window_ns, window);
    /* Levels 40 and 0: variance of the rate 300, relaxation 1/(1 + 1/3) s: 400 + 18000 per s. */
    assert_true(fabs(count - 400000) < 5 * sqrt(40000 * (10 + 2 * 300 * 0.75)));
    for (size_t i = 1; i < s.count; i++)
        again += s.requests[i].at_ns - s.requests[i - 1].at_ns > 500000000;
    assert_true(again > 5000 && again < 10000); /* of 10 000 off periods e^-(1/6) are so long */
    schedule_finish(&s);
}

/* Rescaled gaps are exponential, for all that have such a form: mean, variance, a quantile. */
TEST(rescale)
{
    const struct arrivals kinds[] = {
        {.process = ARRIVAL_POISSON},
        {.process = ARRIVAL_GAMMA, .cv = 0.5},
        {.process = ARRIVAL_GAMMA, .cv = 2},
        {.process = ARRIVAL_ON_OFF, .on_s = 2, .off_s = 5, .rate_ratio = 6},
        {.process = ARRIVAL_ON_OFF, .on_s = 0.3, .off_s = 0.2, .rate_ratio = INFINITY}};
    const size_t n = 100000;
    int64_t *at = calloc(n, sizeof(*at));
    double *gaps = calloc(n, sizeof(*gaps));

    assert_true(at && gaps);
    for (size_t k = 0; k < 5; k++) {
        struct schedule s = make(&kinds[k], &no_lengths, 25, n, 5);
        double sum = 0, squares = 0;
        size_t below = 0;

        for (size_t i = 0; i < n; i++)
            at[i] = s.requests[i].at_ns;
        assert_true(arrivals_rescale(&kinds[k], 25, 5, at, n, gaps));
        for (size_t i = 0; i + 1 < n; i++) {
            sum += gaps[i];
            squares += gaps[i] * gaps[i];
            below += gaps[i] < log(2);
        }
        assert_true(fabs(sum / (double)n - 1) < 0.015);
        assert_true(fabs(squares / (double)n - 2) < 0.08);
        assert_true(fabs((double)below / (double)n - 0.5) < 0.008);
        schedule_finish(&s);
    }
    assert_false(
        arrivals_rescale(&(struct arrivals){.process = ARRIVAL_DETERMINISTIC}, 1, 1, at, 3, gaps));
    free(at);
    free(gaps);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/*
 * Of gamma arrivals with a cv of 2 and 1000 requests/s two in a hundred gaps are shorter than the
 * ns that times are rounded to, with a cv of 4 half of them: rescaled, they are exponential to the
 * 1 % point of Kolmogorov and Smirnov all the same.
 */
TEST(rescaled_gaps_of_bursts)
{
    static const double cvs[] = {0.5, 2, 3, 4, 10};
    enum { COUNT = 40000 };
    int64_t *at = calloc(COUNT, sizeof(*at));
    double *gaps = calloc(COUNT, sizeof(*gaps));

    assert_true(at && gaps);
    for (size_t k = 0; k < sizeof(cvs) / sizeof(cvs[0]); k++) {
        const struct arrivals gamma = {.process = ARRIVAL_GAMMA, .cv = cvs[k]};
        struct schedule s = {0};
        double largest = 0;

        assert_int_equal(schedule_make(&gamma, &no_lengths, 1000,
                                       (struct schedule_extent){.count = COUNT}, 11, &s, NULL),
                         STATUS_OK);
        for (size_t i = 0; i < COUNT; i++)
            at[i] = s.requests[i].at_ns;
        assert_true(arrivals_rescale(&gamma, 1000, 11, at, COUNT, gaps));
        qsort(gaps, COUNT - 1, sizeof(*gaps), ascending);
        for (size_t i = 0; i < COUNT - 1; i++)
            largest = fmax(largest, fabs(-expm1(-gaps[i]) - ((double)i + 0.5) / (COUNT - 1)));
        assert_true(largest < 1.63 / sqrt(COUNT));
        schedule_finish(&s);
    }
    free(at);
    free(gaps);
}

TEST(lengths)
{
    static const uint32_t values[] = {3, 5, 8};
    const struct lengths a = {.prompt = {LENGTH_UNIFORM, .min = 10, .max = 12},
                              .output = {LENGTH_EMPIRICAL, .values = values, .value_count = 3}};
    const struct lengths b = {
        .prompt = {LENGTH_LOGNORMAL, .mean = 1000, .cv = 0.5, .min = 1, .max = 100000},
        .output = {LENGTH_GEOMETRIC, .mean = 20, .min = 1, .max = 100000}};
    const struct lengths c = {.prompt = {LENGTH_FIXED, .mean = 17},
                              .output = {LENGTH_GEOMETRIC, .mean = 20, .min = 4, .max = 6}};
    const size_t n = 100000;
    struct schedule s = make(&poisson, &a, 1000, n, 1), t = make(&poisson, &b, 1000, n, 1),
                    u = make(&poisson, &c, 1000, n, 1);
    double prompt = 0, output = 0, squares = 0;
    int seen[16] = {0};

    for (size_t i = 0; i < n; i++) {
        seen[s.requests[i].prompt_tokens]++;
        seen[s.requests[i].output_tokens]++;
        prompt += t.requests[i].prompt_tokens;
        squares += pow(t.requests[i].prompt_tokens, 2);
        output += t.requests[i].output_tokens;
        assert_int_equal(u.requests[i].prompt_tokens, 17);
        assert_in_range(u.requests[i].output_tokens, 4, 6);
    }
    for (int i = 0; i < 16; i++) { /* 33333 each, standard deviation 149 */
        bool expected = i == 3 || i == 5 || i == 8 || (i >= 10 && i <= 12);

        assert_true(expected ? abs(seen[i] - 33333) < 750 : seen[i] == 0);
    }
    prompt /= (double)n;
    output /= (double)n;
    assert_true(fabs(prompt - 999.5) < 8); /* rounded down; standard error 1.6 */
    assert_true(fabs(sqrt(squares / (double)n - prompt * prompt) / prompt - 0.5) < 0.02);
    assert_true(fabs(output - 20) < 0.4); /* standard error 0.06 */
    schedule_finish(&s);
    schedule_finish(&t);
    schedule_finish(&u);
}

/* Known bytes: the same on every machine. The digest of the empty form is hashlib's. */
TEST(digest)
{
    const struct arrivals gamma = {.process = ARRIVAL_GAMMA, .cv = 1.5};
    const struct lengths lengths = {
        .prompt = {LENGTH_LOGNORMAL, .mean = 200, .cv = 1, .min = 1, .max = 4096},
        .output = {LENGTH_GEOMETRIC, .mean = 50, .min = 1, .max = 1000}};
    struct scheduled_request two[] = {{0, 7, 9}, {1000000007, 258, 4294967295}};
    const struct schedule by_hand = {two, 2, 2000000000};
    struct schedule s = make(&gamma, &lengths, 3, 1000, 20261123);
    struct digest digest = schedule_digest(&by_hand);
    char hex[DIGEST_HEX_SIZE];

    assert_string_equal(digest_hex(&digest, hex),
                        "a104b228ac43ca4e210b4c9fa307a6d0d5b9da4b62b775848541d093fd6da492");
    digest = schedule_digest(&s);
    assert_string_equal(digest_hex(&digest, hex),
                        "2a5794fce71be2de833fb0bbaf6ba0a781e07b21700b39adcfd2adf901e82859");
    schedule_finish(&s);
}

static void expect_refused(const struct arrivals *a, const struct lengths *l, double rate,
                           struct schedule_extent extent, const char *word)
{
    struct schedule schedule = {.count = 99};
    struct error err = ERROR_INIT;

    assert_int_equal(schedule_make(a, l, rate, extent, 1, &schedule, &err), STATUS_INVALID);
    if (!strstr(err.message, word))
        fail_msg("'%s' does not say '%s'", err.message, word);
    assert_int_equal(schedule.count, 99);
}

TEST(refusals)
{
    const struct schedule_extent ten = {10, 0}, both = {10, 10}, none = {0, 0},
                                 many = {SCHEDULE_COUNT_MAX + 1, 0}, week = {0, INT64_MAX},
                                 negative = {0, -1};
    const struct arrivals
        cv = {.process = ARRIVAL_GAMMA, .cv = NAN},
        stay = {.process = ARRIVAL_ON_OFF, .on_s = 0, .off_s = 1, .rate_ratio = 2},
        ratio = {.process = ARRIVAL_ON_OFF, .on_s = 1, .off_s = 1, .rate_ratio = 0.5},
        trace = {.process = ARRIVAL_TRACE, .scale = 1};
    const struct lengths zero = {.prompt = {LENGTH_FIXED, .mean = 0}},
                         limits = {.output = {LENGTH_UNIFORM, .min = 5, .max = 4}},
                         list = {.output = {LENGTH_EMPIRICAL}},
                         wide = {.prompt = {LENGTH_LOGNORMAL, .mean = 5, .min = 1, .max = 9}};

    expect_refused(&poisson, &no_lengths, 0, ten, "rate");
    expect_refused(&poisson, &no_lengths, -1, ten, "rate");
    expect_refused(&poisson, &no_lengths, NAN, ten, "rate");
    expect_refused(&poisson, &no_lengths, INFINITY, ten, "rate");
    expect_refused(&poisson, &no_lengths, 1000001, ten, "rate");
    expect_refused(&poisson, &no_lengths, 1, both, "either");
    expect_refused(&poisson, &no_lengths, 1, none, "either");
    expect_refused(&poisson, &no_lengths, 1, negative, "either");
    expect_refused(&poisson, &no_lengths, 1, many, "at most");
    expect_refused(&poisson, &no_lengths, 1, week, "7 days");
    expect_refused(&poisson, &no_lengths, 1e-6, ten, "7 days");
    expect_refused(&poisson, &no_lengths, 1e6, (struct schedule_extent){0, 20000000000}, "shorter");
    expect_refused(&cv, &no_lengths, 1, ten, "cv");
    expect_refused(&stay, &no_lengths, 1, ten, "stays");
    expect_refused(&ratio, &no_lengths, 1, ten, "ratio");
    expect_refused(&trace, &no_lengths, 0, ten, "trace");
    expect_refused(&poisson, &zero, 1, ten, "prompt");
    expect_refused(&poisson, &limits, 1, ten, "output");
    expect_refused(&poisson, &list, 1, ten, "empty");
    expect_refused(&poisson, &wide, 1, ten, "cv");
}
