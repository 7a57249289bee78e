/*
 * distribution - probabilities and quantiles of the distributions that the engine uses.
 *
 * Lower tails unless a name says otherwise. Probabilities outside [0, 1] and parameters out of
 * range give NaN; p = 0 and p = 1 give the ends of the support (infinite for normal and t).
 * Definitions: DLMF 7.2, 8.17; Abramowitz and Stegun chapter 26.
 */
#ifndef ASSAY_PROTOCOLS_STATS_DISTRIBUTION_H
#define ASSAY_PROTOCOLS_STATS_DISTRIBUTION_H

double normal_cdf(double x);
double normal_upper(double x); /* 1 - cdf without cancellation */
/* Starts from A&S 26.2.23 and polishes with Halley steps on the exact function. */
double normal_quantile(double p);

/* Student's t with `df` > 0 degrees of freedom, real (A&S 26.7.1). */
double student_cdf(double t, double df);
double student_quantile(double p, double df);

/* Quantile of Fisher's F; either of the degrees of freedom may be as large as 1e8 (A&S 26.6.2). */
double fisher_quantile(double p, double df1, double df2);

double beta_cdf(double x, double a, double b);
double beta_quantile(double p, double a, double b);

/*
 * P(T <= t) of the noncentral t with noncentrality `delta`: the normal probability averaged over
 * the chi distribution of the scale (Johnson, Kotz, Balakrishnan, "Continuous Univariate
 * Distributions" vol. 2, 31.5), by Gauss-Legendre panels. Absolute error below 1e-10.
 */
double student_noncentral_cdf(double t, double df, double delta);

/*
 * P(at most k successes) for a binomial with real `n` >= k >= 0 trials of probability `p`: the
 * incomplete beta function, which continues the binomial sum between the integers (DLMF 8.17.5).
 */
double binomial_cdf(double k, double n, double p);

#endif
