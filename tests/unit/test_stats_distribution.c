/* Distribution functions against tables of 30 digits (data/distributions.py says how made). */
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"
#include "protocols/stats/special.h"
#include "tests/support/unit.h"

struct function {
    const char *name;
    int arguments;
    double (*one)(double);
    double (*two)(double, double);
    double (*three)(double, double, double);
    double relative, absolute; /* tolerated */
    int seen;
};

static struct function functions[] = {
    {"log_gamma", 1, special_log_gamma, NULL, NULL, 2e-14, 2e-15, 0},
    {"normal_cdf", 1, normal_cdf, NULL, NULL, 2e-13, 0, 0},
    {"normal_quantile", 1, normal_quantile, NULL, NULL, 1e-13, 0, 0},
    {"student_cdf", 2, NULL, student_cdf, NULL, 1e-12, 0, 0},
    {"student_quantile", 2, NULL, student_quantile, NULL, 1e-11, 0, 0},
    {"beta_cdf", 3, NULL, NULL, beta_cdf, 1e-11, 0, 0},
    {"beta_quantile", 3, NULL, NULL, beta_quantile, 1e-11, 0, 0},
    {"binomial_cdf", 3, NULL, NULL, binomial_cdf, 1e-11, 0, 0},
    {"gamma_upper_log", 2, NULL, special_gamma_upper_log, NULL, 1e-13, 1e-12, 0},
    {"student_noncentral_cdf", 3, NULL, NULL, student_noncentral_cdf, 1e-9, 1e-10, 0},
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static double call(const struct function *f, const double *a)
{
    return f->arguments == 1   ? f->one(a[0])
           : f->arguments == 2 ? f->two(a[0], a[1])
                               : f->three(a[0], a[1], a[2]);
}

TEST(reference_table)
{
    FILE *file = fopen(DISTRIBUTION_TABLE, "r");
    char line[256];
    int failures = 0;
    size_t i;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        char *rest = line, *name = strtok_r(line, " \n", &rest);
        double a[3], expected, got, error;
        int k;

        if (!name || name[0] == '#')
            continue;
        for (i = 0; i < FUNCTIONS && strcmp(functions[i].name, name) != 0; i++)
            ;
        assert_true(i < FUNCTIONS);
        for (k = 0; k < functions[i].arguments; k++)
            a[k] = strtod(strtok_r(NULL, " \n", &rest), NULL);
        expected = strtod(strtok_r(NULL, " \n", &rest), NULL);
        got = call(&functions[i], a);
        error = fabs(got - expected);
        functions[i].seen++;
        if (!(error <= functions[i].relative * fabs(expected) + functions[i].absolute)) {
            print_error("%s(%.17g, %.17g, %.17g) = %.17g, expected %.17g (relative %.2g)\n", name,
                        a[0], a[1], a[2], got, expected, error / fabs(expected));
            failures++;
        }
    }
    fclose(file);
    for (i = 0; i < FUNCTIONS; i++)
        assert_true(functions[i].seen >= 5);
    assert_int_equal(failures, 0);
}

TEST(quantiles_invert)
{
    static const double ps[] = {1e-12, 1e-4, 0.025, 0.3, 0.5, 0.7, 0.975, 0.9999};
    static const double dfs[] = {0.3, 1, 2.5, 7, 40, 1e4, 1e7};
    size_t i, j;

    for (i = 0; i < sizeof(ps) / sizeof(ps[0]); i++) {
        assert_true(fabs(normal_cdf(normal_quantile(ps[i])) - ps[i]) <= 1e-12 * ps[i] + 1e-16);
        for (j = 0; j < sizeof(dfs) / sizeof(dfs[0]); j++) {
            double t = student_quantile(ps[i], dfs[j]);

            assert_true(fabs(student_cdf(t, dfs[j]) - ps[i]) <= 1e-10 * ps[i] + 1e-15);
        }
    }
}

TEST(ends_and_nonsense)
{
    assert_true(isinf(normal_quantile(0)) && normal_quantile(0) < 0);
    assert_true(isinf(student_quantile(1, 3)) && student_quantile(1, 3) > 0);
    assert_true(student_quantile(0.5, 3) == 0);
    assert_true(beta_quantile(0, 2, 3) == 0 && beta_quantile(1, 2, 3) == 1);
    assert_true(isnan(normal_quantile(-0.1)) && isnan(normal_quantile(NAN)));
    assert_true(isnan(student_quantile(0.9, 0)) && isnan(student_cdf(1, -1)));
    assert_true(isnan(beta_cdf(0.5, 0, 1)) && isnan(special_log_gamma(-1)));
    assert_true(student_cdf(INFINITY, 5) == 1 && student_cdf(-INFINITY, 5) == 0);
    assert_true(binomial_cdf(-1, 5, 0.5) == 0 && binomial_cdf(5, 5, 0.5) == 1);
    /* Noncentral t with noncentrality 0 is t. */
    assert_true(fabs(student_noncentral_cdf(1.3, 7, 0) - student_cdf(1.3, 7)) < 1e-10);
}
