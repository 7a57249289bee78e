/* The planning half of compare.h: power and the pairs or trials that a wanted answer takes. */
#include "protocols/compare.h"

#include <math.h>

#include "harness/core/number.h"
#include "protocols/finding.h"
#include "protocols/stats/distribution.h"
#include "protocols/stats/special.h"

#define NEEDED_MAX 10000000

double paired_power(double pairs, double sd, double difference, double confidence)
{
    double df = pairs - 1, t, delta;

    if (!(pairs >= 2) || !(sd >= 0) || !isfinite(difference))
        return NAN;
    if (sd == 0)
        return difference != 0 ? 1 : 1 - confidence;
    t = student_quantile(0.5 + 0.5 * confidence, df);
    delta = fabs(difference) * sqrt(pairs) / sd;
    return 1 - student_noncentral_cdf(t, df, delta) + student_noncentral_cdf(-t, df, delta);
}

double paired_equivalence_power(double pairs, double sd, double difference, double log_margin,
                                double confidence)
{
    enum { STEPS = 2000 };
    double df = pairs - 1, error, t, most, step, log_norm, sum = 0;
    int i;

    if (!(pairs >= 2) || !(sd >= 0) || !isfinite(difference) || !(log_margin > 0))
        return NAN;
    if (sd == 0)
        return fabs(difference) < log_margin ? 1 : 0;
    error = sd / sqrt(pairs);
    t = student_quantile(confidence, df);
    /* Average over s / sigma = chi / sqrt(df), which must leave room for the interval. */
    most = fmin(log_margin / (t * error), 1 + 12 / sqrt(2 * df) + (df < 4 ? 4 : 0));
    step = most / STEPS;
    log_norm = M_LN2 + 0.5 * df * log(0.5 * df) - special_log_gamma(0.5 * df);
    for (i = 0; i < STEPS; i++) {
        double s = (i + 0.5) * step, room = (log_margin - t * error * s) / error;
        double centre = difference / error;
        double density = exp(log_norm + (df - 1) * log(s) - 0.5 * df * s * s);

        sum += density * step * (normal_cdf(room - centre) - normal_cdf(-room - centre));
    }
    return fmin(fmax(sum, 0), 1);
}

/*
 * Of a difference of 1, where sd was estimated on df degrees of freedom: with sigma^2 = sd^2 df /
 * chi^2 the chance of Z + sqrt(n) / sigma > t is that of a noncentral t (Julious and Owen 2006).
 */
static double expected_power(double pairs, double sd, double df, double confidence)
{
    if (df >= COMPARE_KNOWN)
        return paired_power(pairs, sd, 1, confidence);
    if (!(pairs >= 2) || sd == 0)
        return pairs >= 2;
    return student_noncentral_cdf(sqrt(pairs) / sd, df,
                                  student_quantile(0.5 + 0.5 * confidence, pairs - 1));
}

uint64_t paired_needed(double sd, double df, double difference, double confidence, double power)
{
    const double ratio = sd / fabs(difference);
    double z, pairs;
    uint64_t low, high;

    if (!isfinite(ratio) || !(df > 0))
        return 0;
    z = normal_quantile(0.5 + 0.5 * confidence) + normal_quantile(power);
    pairs = ratio * ratio * z * z;
    if (!(pairs < NEEDED_MAX))
        return 0;
    low = 1;
    high = (uint64_t)pairs + 2;
    while (expected_power((double)high, ratio, df, confidence) < power) {
        low = high;
        high += high / 4 + 1;
        if (high > NEEDED_MAX)
            return 0;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (middle >= 2 && expected_power((double)middle, ratio, df, confidence) >= power)
            high = middle;
        else
            low = middle;
    }
    return high < 2 ? 2 : high;
}

double sd_with_assurance(double sd, double df, double assurance)
{
    return sd * sqrt(fisher_quantile(assurance, COMPARE_KNOWN, df));
}

/* What the half-width of `n` trials will not exceed with the chance `assurance`. */
static double half_width_to_expect(double n, double sd, double df, double confidence,
                                   double assurance)
{
    return student_quantile(0.5 + 0.5 * confidence, n - 1) * sd *
           sqrt(fisher_quantile(assurance, n - 1, df) / n);
}

uint64_t trials_needed(double sd, double df, double log_half_width, double confidence,
                       double assurance)
{
    uint64_t low = 1, high = 2;

    if (!(sd >= 0) || !(df > 0) || !(log_half_width > 0))
        return 0;
    if (sd == 0)
        return 2;
    while (half_width_to_expect((double)high, sd, df, confidence, assurance) > log_half_width) {
        low = high;
        high *= 2;
        if (high > NEEDED_MAX)
            return 0;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (half_width_to_expect((double)middle, sd, df, confidence, assurance) <= log_half_width)
            high = middle;
        else
            low = middle;
    }
    return high;
}

bool comparison_append_needed(const struct comparison *comparison, struct text *ret)
{
    const double most = FINDING_TRIALS_REASONABLE;
    const char *what = comparison->paired ? "pairs" : "trials an arm";
    char half[NUMBER_SIZE];

    if (comparison->needed_pairs == 0)
        return false;
    text_append_format(ret, "about %llu %s needed for a decision",
                       (unsigned long long)comparison->needed_pairs, what);
    if ((double)comparison->needed_pairs <= most || !isfinite(comparison->sd))
        return true;
    number_format_percent(expm1(student_quantile(0.5 + 0.5 * comparison->confidence, most - 1) *
                                comparison->sd / sqrt(most)),
                          half);
    text_append_format(ret, ", which is beyond reason: %.0f would show the ratio within about ±%s",
                       most, half);
    return true;
}
