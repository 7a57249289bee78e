/*
 * autoregression - AR(p) models: x_t - m = sum phi_i (x_{t-i} - m) + e_t, var e = sigma2.
 */
#ifndef ASSAY_PROTOCOLS_STATS_AUTOREGRESSION_H
#define ASSAY_PROTOCOLS_STATS_AUTOREGRESSION_H

#include <stddef.h>

#define AUTOREGRESSION_MAX 64
#define AUTOREGRESSION_LANES 4 /* series that are fitted at once */

struct autoregression {
    size_t order;
    double phi[AUTOREGRESSION_MAX];
    double sigma2; /* innovation variance */
};

/*
 * Yule-Walker by Levinson-Durbin (Brockwell and Davis, 5.1.1) from gamma(0..max_order); the order
 * has the least n ln sigma2 + penalty p (penalty 2: Akaike 1974; ln n: Schwarz 1978).
 */
void autoregression_fit_levinson(const double *gamma, size_t count, size_t max_order,
                                 double penalty, struct autoregression *ret);

/*
 * Burg's method (Brockwell and Davis, 5.1.2) on a series of mean zero: less biased than Yule-Walker
 * near a unit root. `work` holds AUTOREGRESSION_WORK doubles for each value. Same choice of order.
 */
#define AUTOREGRESSION_WORK (3 * AUTOREGRESSION_LANES)
void autoregression_fit_burg(const double *x, size_t count, size_t max_order, double penalty,
                             double *work, struct autoregression *ret);
/*
 * The same of several series at once, in the time that one takes, since each sum waits for the one
 * before it: value t of series i is x[t AUTOREGRESSION_LANES + i]. A series of zeros costs nothing.
 */
void autoregression_fit_burg_lanes(const double *x, size_t count, size_t max_order, double penalty,
                                   double *work, struct autoregression *ret);

/* 1 - sum phi. */
double autoregression_gain(const struct autoregression *model);

/*
 * The gain freed of its leading bias. An estimated AR with a mean has sum phi too small by about
 * (1 + 3 sum phi) / n (Kendall, "Note on bias in the estimation of autocorrelation", Biometrika 41
 * (1954); Marriott and Pope, same volume), which near a unit root halves the long-run variance. At
 * most three quarters of the gain are taken away.
 */
double autoregression_gain_corrected(const struct autoregression *model, size_t count);

/*
 * Long-run variance (2 pi times the spectral density at zero): sigma2 / gain^2 with the corrected
 * gain, sigma2 freed of its bias by n / (n - p - 1) (Heidelberger and Welch 1981; R coda's
 * spectrum0.ar).
 */
double autoregression_long_run_variance(const struct autoregression *model, size_t count);

#endif
