/* Autocovariance, FFT, AR models: against direct sums and closed forms. */
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>

#include "harness/core/random.h"
#include "protocols/stats/autocovariance.h"
#include "protocols/stats/autoregression.h"
#include "protocols/stats/fractional.h"
#include "protocols/stats/fft.h"
#include "tests/support/unit.h"

static void make_ar(double *x, size_t n, double phi, double phi2, uint64_t seed)
{
    struct random random;
    double last = 0, before = 0;
    size_t i;

    random_init(&random, seed, 0);
    for (i = 0; i < n + 500; i++) {
        double next = phi * last + phi2 * before + random_next_normal(&random);

        before = last;
        last = next;
        if (i >= 500)
            x[i - 500] = 100 + next;
    }
}

TEST(fft_equals_the_direct_sum)
{
    double data[32], original[32], table[16];
    size_t k, t;

    for (t = 0; t < 32; t++)
        data[t] = original[t] = sin((double)(t * t));
    fft_init_table(table, 16);
    fft_transform(data, 16, table);
    for (k = 0; k < 16; k++) {
        double re = 0, im = 0;

        for (t = 0; t < 16; t++) {
            double angle = -2 * M_PI * (double)(k * t) / 16;

            re += original[2 * t] * cos(angle) - original[2 * t + 1] * sin(angle);
            im += original[2 * t] * sin(angle) + original[2 * t + 1] * cos(angle);
        }
        assert_true(fabs(re - data[2 * k]) < 1e-13 && fabs(im - data[2 * k + 1]) < 1e-13);
    }
}

TEST(autocovariance_by_fft_is_the_direct_one)
{
    double x[777], direct[21], fast[777];
    size_t lag;

    make_ar(x, 777, 0.7, 0, 3);
    assert_int_equal(autocovariance(x, 777, 20, direct, NULL), STATUS_OK);
    assert_int_equal(autocovariance(x, 777, 776, fast, NULL), STATUS_OK);
    for (lag = 0; lag <= 20; lag++)
        assert_true(fabs(direct[lag] - fast[lag]) < 1e-12);
    for (lag = 0; lag < 777; lag++) {
        double mean = series_mean(x, 777), sum = 0;
        size_t t;

        for (t = 0; t + lag < 777; t++)
            sum += (x[t] - mean) * (x[t + lag] - mean);
        assert_true(fabs(sum / 777 - fast[lag]) < 1e-12);
    }
}

TEST(mean_keeps_its_digits)
{
    double x[1000];
    size_t i;

    for (i = 0; i < 1000; i++)
        x[i] = 4611686018427387904.0;
    assert_true(series_mean(x, 1000) == 4611686018427387904.0);
    assert_true(isnan(series_mean(x, 0)));
}

TEST(geyer_stops_where_noise_begins)
{
    /* AR(1) with 0.5, exact: gamma_k = 0.5^k; long-run variance (1 + 0.5) / (1 - 0.5) = 3. */
    double gamma[60], noise[4] = {1, -0.6, 0.9, 0.9};
    size_t k;

    for (k = 0; k < 60; k++)
        gamma[k] = pow(0.5, (double)k);
    assert_true(fabs(geyer_long_run_variance(gamma, 59) - 3) < 1e-12);
    /* Pairs 0.4 and 1.8: the second may not be more than the first. */
    assert_true(fabs(geyer_long_run_variance(noise, 3) - (2 * 0.8 - 1)) < 1e-12);
    noise[1] = -1.2;
    assert_true(geyer_long_run_variance(noise, 3) == 0);
}

TEST(levinson_solves_exact_ar2)
{
    /* phi = 0.6, phi2 = 0.3: rho1 = 0.6 / 0.7, then the recursion. */
    double gamma[10];
    struct autoregression model;
    size_t k;

    gamma[0] = 1;
    gamma[1] = 0.6 / 0.7;
    for (k = 2; k < 10; k++)
        gamma[k] = 0.6 * gamma[k - 1] + 0.3 * gamma[k - 2];
    autoregression_fit_levinson(gamma, 1000000, 9, 2, &model);
    assert_int_equal(model.order, 2);
    assert_true(fabs(model.phi[0] - 0.6) < 1e-12 && fabs(model.phi[1] - 0.3) < 1e-12);
    assert_true(fabs(autoregression_gain(&model) - 0.1) < 1e-12);
}

TEST(burg_finds_a_long_ar2)
{
    size_t n = 50000, i;
    double *x = malloc((1 + AUTOREGRESSION_WORK) * n * sizeof(*x)), *work = x + n, mean;
    struct autoregression model;

    assert_non_null(x);
    make_ar(x, n, 1.5, -0.8, 11);
    mean = series_mean(x, n);
    for (i = 0; i < n; i++)
        x[i] -= mean;
    autoregression_fit_burg(x, n, 8, log((double)n), work, &model);
    assert_int_equal(model.order, 2);
    assert_true(fabs(model.phi[0] - 1.5) < 0.02 && fabs(model.phi[1] + 0.8) < 0.02);
    assert_true(fabs(model.sigma2 - 1) < 0.05);
    free(x);
}

TEST(constant_series_have_no_model)
{
    double zeros[20] = {0}, work[20 * AUTOREGRESSION_WORK];
    struct autoregression model;

    autoregression_fit_burg(zeros, 20, 3, 2, work, &model);
    assert_int_equal(model.order, 0);
    assert_true(model.sigma2 == 0);
    autoregression_fit_levinson(zeros, 20, 3, 2, &model);
    assert_int_equal(model.order, 0);
}

TEST(gain_is_freed_of_its_bias)
{
    struct autoregression model = {.order = 1, .phi = {0.9}, .sigma2 = 1};

    /* (1 + 3 * 0.9) / 1000 */
    assert_true(fabs(autoregression_gain_corrected(&model, 1000) - (0.1 - 0.0037)) < 1e-12);
    /* Never more than three quarters. */
    assert_true(fabs(autoregression_gain_corrected(&model, 10) - 0.025) < 1e-12);
    model.order = 0;
    assert_true(autoregression_gain_corrected(&model, 10) == 1);
}

TEST(fractional_differences)
{
    const double x[] = {1, 3, 2, 5};
    double half[4], other[4], first[4];

    fractional_difference(x, 4, 0.5, half);
    /* (1 - B)^0.5 = 1 - B / 2 - B^2 / 8 - B^3 / 16 - ... */
    assert_true(fabs(half[3] - (5 - 2 / 2.0 - 3 / 8.0 - 1 / 16.0)) < 1e-12);
    /* Twice a half is one. */
    fractional_difference(half, 4, 0.5, other);
    fractional_difference(x, 4, 1, first);
    for (size_t i = 0; i < 4; i++) {
        assert_true(fabs(first[i] - (i > 0 ? x[i] - x[i - 1] : x[i])) < 1e-12);
        assert_true(fabs(other[i] - first[i]) < 1e-12);
    }
}
