#include "protocols/stats/distribution.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "protocols/stats/special.h"

double normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

double normal_upper(double x)
{
    return 0.5 * erfc(x * M_SQRT1_2);
}

double normal_quantile(double p)
{
    double q, t, x;
    int i;

    if (!(p >= 0 && p <= 1))
        return NAN;
    if (p == 0 || p == 1)
        return p == 0 ? -INFINITY : INFINITY;
    if (p == 0.5)
        return 0;
    q = p < 0.5 ? p : 1.0 - p;
    t = sqrt(-2 * log(q));
    x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for (i = 0; i < 3; i++) {
        double error = normal_upper(x) - q;
        double u = error * sqrt(2 * M_PI) * exp(0.5 * x * x);

        x += u / (1 - 0.5 * x * u);
    }
    return p < 0.5 ? -x : x;
}

/* Upper tail of t for t >= 0, full relative precision. */
static double student_tail(double t, double df)
{
    double t2 = t * t, x, y;

    if (isinf(t2))
        return 0;
    x = df / (df + t2);
    y = t2 / (df + t2);
    return 0.5 * special_beta(0.5 * df, 0.5, x, y);
}

double student_cdf(double t, double df)
{
    if (isnan(t) || !(df > 0))
        return NAN;
    return t > 0 ? 1.0 - student_tail(t, df) : student_tail(-t, df);
}

static double student_density(double t, double df)
{
    double scale = exp(special_log_gamma(0.5 * (df + 1)) - special_log_gamma(0.5 * df));

    return scale / sqrt(df * M_PI) * exp(-0.5 * (df + 1) * log1p(t * t / df));
}

/*
 * Solves tail(x) = q for a decreasing function by Newton steps kept inside a bracket. Returns the
 * last iterate; 200 halvings settle any double.
 */
struct solver {
    double (*value)(double x, double a, double b);
    double (*slope)(double x, double a, double b);
    double a, b;
};

static double search(const struct solver *solver, double target, double x, double lo, double hi)
{
    int i;

    for (i = 0; i < 200; i++) {
        double error = solver->value(x, solver->a, solver->b) - target, next, slope;

        if (error == 0)
            return x;
        if (error > 0)
            hi = x;
        else
            lo = x;
        slope = solver->slope(x, solver->a, solver->b);
        next = x - error / slope;
        if (!(next > lo && next < hi))
            next = isinf(hi) ? (x > 0 ? 2 * x : 1) : 0.5 * (lo + hi);
        if (fabs(next - x) <= 2 * DBL_EPSILON * fabs(next)) {
            return next;
        }
        x = next;
    }
    return x;
}

/* From the bits of both, since most are small whole or half numbers. */
static size_t place_of(double a, double b)
{
    uint64_t x, y;

    memcpy(&x, &a, sizeof(x));
    memcpy(&y, &b, sizeof(y));
    return (size_t)((x + 31 * y) * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

/* The last solutions are kept: the same few degrees of freedom are asked for over and over. */
static double solve(const struct solver *solver, double target, double x, double lo, double hi)
{
    static _Thread_local struct {
        struct solver solver;
        double target, x;
    } known[64], *last;

    last = &known[place_of(solver->a, solver->b)];
    if (last->solver.value != solver->value || last->solver.a != solver->a ||
        last->solver.b != solver->b || last->target != target) {
        last->solver = *solver;
        last->target = target;
        last->x = search(solver, target, x, lo, hi);
    }
    return last->x;
}

/* As functions that increase, for solve(): minus the upper tail. */
static double student_value(double t, double df, double unused)
{
    (void)unused;
    return -student_tail(t, df);
}

static double student_slope(double t, double df, double unused)
{
    (void)unused;
    return student_density(t, df);
}

double student_quantile(double p, double df)
{
    struct solver solver = {student_value, student_slope, df, 0};
    double q, t;

    if (!(p >= 0 && p <= 1) || !(df > 0))
        return NAN;
    if (p == 0 || p == 1)
        return p == 0 ? -INFINITY : INFINITY;
    if (p == 0.5)
        return 0;
    q = p < 0.5 ? p : 1.0 - p;
    t = solve(&solver, -q, -normal_quantile(q), 0, INFINITY);
    return p < 0.5 ? -t : t;
}

double beta_cdf(double x, double a, double b)
{
    if (!(a > 0) || !(b > 0) || isnan(x))
        return NAN;
    return x <= 0 ? 0 : x >= 1 ? 1 : special_beta(a, b, x, 1.0 - x);
}

static double beta_slope(double x, double a, double b)
{
    double n = a + b, y = 1.0 - x;
    double e = special_stirling_error(n) - special_stirling_error(a) - special_stirling_error(b) -
               special_deviance(a, n * x) - special_deviance(b, n * y);

    return exp(e) * sqrt(a * (b / n) / (2 * M_PI)) / (x * y);
}

double beta_quantile(double p, double a, double b)
{
    struct solver solver = {beta_cdf, beta_slope, a, b};

    if (!(p >= 0 && p <= 1) || !(a > 0) || !(b > 0))
        return NAN;
    if (p == 0 || p == 1)
        return p;
    return solve(&solver, p, a / (a + b), 0, 1);
}

/* Nodes and weights of the 8-point Gauss-Legendre rule on [-1, 1] (A&S table 25.4). */
static const double gauss_node[4] = {0.18343464249564980494, 0.52553240991632898582,
                                     0.79666647741362673959, 0.96028985649753623168};
static const double gauss_weight[4] = {0.36268378337836198297, 0.31370664587788728734,
                                       0.22238103445337447054, 0.10122853629037625915};

double student_noncentral_cdf(double t, double df, double delta)
{
    enum { PANELS = 64 };
    double lo, hi, step, sum = 0, log_norm, spread;
    int i, j, side;

    if (isnan(t) || isnan(delta) || !(df > 0))
        return NAN;
    /* s = chi / sqrt(df): density 2 (df/2)^(df/2) / gamma(df/2) s^(df-1) exp(-df s^2 / 2). */
    spread = 9.0 / sqrt(2 * df);
    lo = fmax(0.0, 1.0 - spread);
    hi = 1.0 + spread + (df < 4 ? 4.0 / sqrt(df) : 0.0);
    log_norm = M_LN2 + 0.5 * df * log(0.5 * df) - special_log_gamma(0.5 * df);
    step = (hi - lo) / PANELS;
    for (i = 0; i < PANELS; i++) {
        double middle = lo + (i + 0.5) * step;

        for (j = 0; j < 4; j++) {
            for (side = -1; side <= 1; side += 2) {
                double s = middle + side * 0.5 * step * gauss_node[j];
                double density = exp(log_norm + (df - 1) * log(s) - 0.5 * df * s * s);

                sum += gauss_weight[j] * density * normal_cdf(t * s - delta);
            }
        }
    }
    sum *= 0.5 * step;
    return fmin(fmax(sum, 0.0), 1.0);
}

double fisher_quantile(double p, double df1, double df2)
{
    double x, y; /* of the beta variable and its complement, the smaller one exact */

    if (df1 < df2) {
        x = beta_quantile(p, 0.5 * df1, 0.5 * df2);
        y = 1 - x;
    } else {
        y = beta_quantile(1 - p, 0.5 * df2, 0.5 * df1);
        x = 1 - y;
    }
    return df2 * x / (df1 * y);
}

double binomial_cdf(double k, double n, double p)
{
    if (!(n > 0) || !(p >= 0 && p <= 1) || isnan(k))
        return NAN;
    if (k < 0)
        return 0;
    if (k >= n)
        return 1;
    return special_beta(n - k, k + 1.0, 1.0 - p, p);
}
