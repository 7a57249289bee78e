/*
 * special - the special functions of the distributions.
 *
 * Own code, since the libraries that have them to full precision are GPL. Relative errors are
 * checked against tables computed with 50 digits (tests/unit/data/distributions.txt).
 */
#ifndef ASSAY_PROTOCOLS_STATS_SPECIAL_H
#define ASSAY_PROTOCOLS_STATS_SPECIAL_H

/*
 * Natural logarithm of the gamma function, x > 0. Recurrence up to x >= 15, then Stirling's series
 * (DLMF 5.5.1, 5.11.1). Absolute error near the zeros at 1 and 2, relative elsewhere: below 1e-14.
 */
double special_log_gamma(double x);

/*
 * log(gamma(x + 1)) - Stirling's formula, x > 0: the "stirlerr" of C. Loader, "Fast and Accurate
 * Computation of Binomial Probabilities" (2000), section 3.
 */
double special_stirling_error(double x);

/* x log(x / m) + m - x without cancellation, x >= 0, m > 0: the "bd0" of Loader (2000). */
double special_deviance(double x, double m);

/*
 * Regularised incomplete beta function I_x(a, b), a, b > 0. `y` is 1 - x, given apart so that
 * neither tail loses digits. Continued fraction DLMF 8.17.22 by Lentz's method; the factor before
 * it in Loader's saddle-point form, so that a and b may go to 1e8.
 */
double special_beta(double a, double b, double x, double y);

/*
 * log Q(a, x), the logarithm of the regularised upper incomplete gamma function, 0 < a <= 1000,
 * x >= 0: the series of P for x < a + 1, the continued fraction by Lentz's method beyond (DLMF
 * 8.11.4, 8.9.2). Absolute error below 1e-12 + 1e-13 |log Q|.
 */
double special_gamma_upper_log(double a, double x);

#endif
