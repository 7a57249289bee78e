#include "protocols/stats/special.h"

#include <float.h>
#include <math.h>

#define LOG_SQRT_2PI 0.91893853320467274178

/* Stirling's series: B_2k / (2k (2k - 1) x^(2k-1)), DLMF 5.11.1; x >= 15 needs these many. */
static double stirling_series(double x)
{
    double r = 1.0 / (x * x);

    return (1.0 / 12 -
            r * (1.0 / 360 -
                 r * (1.0 / 1260 -
                      r * (1.0 / 1680 - r * (1.0 / 1188 - r * (691.0 / 360360 - r / 156)))))) /
           x;
}

double special_log_gamma(double x)
{
    double product = 1.0;

    if (!(x > 0))
        return NAN;
    while (x < 15) {
        product *= x;
        x += 1.0;
    }
    return (x - 0.5) * log(x) - x + LOG_SQRT_2PI + stirling_series(x) - log(product);
}

double special_stirling_error(double x)
{
    if (x >= 15)
        return stirling_series(x);
    return special_log_gamma(x + 1.0) - (x + 0.5) * log(x) + x - LOG_SQRT_2PI;
}

double special_deviance(double x, double m)
{
    double d = x - m, v, term, sum;
    int j;

    if (x <= 0)
        return m;
    if (fabs(d) >= 0.1 * (x + m))
        return x * log(x / m) - d;
    /* Loader's series in v = (x - m) / (x + m). */
    v = d / (x + m);
    sum = d * v;
    term = 2 * x * v;
    for (j = 1; j < 1000; j++) {
        double next;

        term *= v * v;
        next = sum + term / (2 * j + 1);
        if (next == sum)
            break;
        sum = next;
    }
    return sum;
}

/* x^a y^b / B(a, b) = ab/(a+b) times a binomial density at real arguments. */
static double beta_factor(double a, double b, double x, double y)
{
    double n = a + b;
    double exponent = special_stirling_error(n) - special_stirling_error(a) -
                      special_stirling_error(b) - special_deviance(a, n * x) -
                      special_deviance(b, n * y);

    return exp(exponent - LOG_SQRT_2PI) * sqrt(a * (b / n));
}

/* DLMF 8.17.22, modified Lentz (Thompson and Barnett 1986). Converges fast for x < (a+1)/(a+b+2).
 */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1.0, d, h;
    long m;

    d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    h = d;
    for (m = 1; m < 100000; m++) {
        double m2 = 2.0 * (double)m, k = (double)m, step;

        step = k * (b - k) * x / ((a + m2 - 1.0) * (a + m2));
        d = 1.0 + step * d;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        c = 1.0 + step / c;
        c = fabs(c) < tiny ? tiny : c;
        h *= d * c;
        step = -(a + k) * (a + b + k) * x / ((a + m2) * (a + m2 + 1.0));
        d = 1.0 + step * d;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        c = 1.0 + step / c;
        c = fabs(c) < tiny ? tiny : c;
        step = d * c;
        h *= step;
        if (fabs(step - 1.0) < DBL_EPSILON)
            break;
    }
    return h;
}

double special_beta(double a, double b, double x, double y)
{
    if (!(a > 0) || !(b > 0) || isnan(x) || isnan(y))
        return NAN;
    if (x <= 0)
        return 0.0;
    if (y <= 0)
        return 1.0;
    if (x <= (a + 1.0) / (a + b + 2.0))
        return beta_factor(a, b, x, y) * beta_fraction(a, b, x) / a;
    return 1.0 - beta_factor(a, b, x, y) * beta_fraction(b, a, y) / b;
}

double special_gamma_upper_log(double a, double x)
{
    double factor = a * log(x) - x - special_log_gamma(a), term, sum, b, c, d;

    if (x <= 0)
        return 0;
    if (x < a + 1) {
        term = sum = 1 / a;
        for (int n = 1; n < 10000 && term > sum * 1e-17; n++) {
            term *= x / (a + n);
            sum += term;
        }
        return log1p(-fmin(exp(factor) * sum, 1));
    }
    b = x + 1 - a;
    c = 1e300;
    d = sum = 1 / b;
    for (int n = 1; n < 10000; n++) {
        double numerator = -n * (n - a), step;

        b += 2;
        d = 1 / (b + numerator * d);
        c = b + numerator / c;
        step = c * d;
        sum *= step;
        if (fabs(step - 1) < 1e-16)
            break;
    }
    return factor + log(sum);
}
