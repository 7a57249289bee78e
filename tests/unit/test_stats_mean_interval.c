/* The interval of the mean: exact cases, blocks, and too few samples. */
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>

#include "harness/core/random.h"
#include "protocols/stats/distribution.h"
#include "protocols/stats/mean_interval.h"
#include "tests/support/unit.h"

TEST(equal_samples_have_no_width)
{
    double x[50];
    struct mean_interval m;
    size_t i;

    for (i = 0; i < 50; i++)
        x[i] = 1234.5;
    assert_int_equal(mean_interval(x, 50, 0.95, &m, NULL), STATUS_OK);
    assert_true(m.mean == 1234.5 && m.half_width == 0 && m.ess == 50);
}

TEST(too_few_samples_have_no_interval)
{
    double x[3] = {1, 2, 4};
    struct mean_interval m;

    assert_int_equal(mean_interval(x, 3, 0.95, &m, NULL), STATUS_OK);
    assert_true(isinf(m.half_width));
    assert_int_equal(mean_interval(x, 0, 0.95, &m, NULL), STATUS_INVALID);
}

TEST(cosines_of_a_cosine)
{
    /* x = cos(pi 3 (t + 1/2) / n): the third transform holds all of it, n / 2 squared. */
    double x[64];
    size_t t;

    for (t = 0; t < 64; t++)
        x[t] = cos(M_PI * 3 * ((double)t + 0.5) / 64);
    assert_true(fabs(cosine_long_run_variance(x, 64, 0, 2)) < 1e-20);
    assert_true(fabs(cosine_long_run_variance(x, 64, 0, 3) - 2.0 * 32 * 32 / (64 * 3)) < 1e-10);
}

TEST(width_is_about_that_of_the_oracle)
{
    /* White noise, n = 2000: 1.96 / sqrt(n), and never narrower than the cosines say. */
    double x[2000];
    struct mean_interval m;
    struct random random;
    size_t i;

    random_init(&random, 5, 0);
    for (i = 0; i < 2000; i++)
        x[i] = 10 + random_next_normal(&random);
    assert_int_equal(mean_interval(x, 2000, 0.95, &m, NULL), STATUS_OK);
    assert_true(m.half_width > 1.7 / sqrt(2000) && m.half_width < 2.8 / sqrt(2000));
    assert_int_equal(m.cosines, 32); /* 0.2 * 2000^(2/3) = 31.7 */
    assert_true(m.half_width >=
                student_quantile(0.975, 32) * sqrt(m.lrv_cosines / 2000) * (1 - 1e-12));
}

TEST(autocorrelation_is_paid_for)
{
    /* AR(1), phi = 0.9: nineteen times the variance of the mean. */
    enum { N = 20000 };
    double *x = malloc(N * sizeof(*x)), last = 0;
    struct mean_interval m;
    struct random random;
    size_t i;

    assert_non_null(x);
    random_init(&random, 6, 0);
    for (i = 0; i < N; i++)
        x[i] = last = 0.9 * last + sqrt(1 - 0.81) * random_next_normal(&random);
    /* Above 2^14 samples: this goes through blocks. */
    assert_int_equal(mean_interval(x, N, 0.95, &m, NULL), STATUS_OK);
    assert_true(m.lrv_ar > 14 && m.lrv_ar < 25);
    assert_true(m.ess > N / 25.0 && m.ess < N / 14.0);
    free(x);
}
