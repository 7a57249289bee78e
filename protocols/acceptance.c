#include "protocols/acceptance.h"

#include <math.h>

#include "harness/core/shape.h"
#include "protocols/stats/distribution.h"
#include "protocols/stats/special.h"
#include "protocols/stats/succession.h"

static const char *const verdicts[] = {[ACCEPTANCE_ACCEPTED] = "accepted",
                                       [ACCEPTANCE_REJECTED] = "rejected",
                                       [ACCEPTANCE_INCONCLUSIVE] = "inconclusive"};
const struct type acceptance_verdict_type = {WORD_OF(verdicts), .def = "acceptance"};

const char *acceptance_verdict_name(enum acceptance_verdict verdict)
{
    return verdicts[verdict];
}

enum acceptance_verdict acceptance_judge(const struct acceptance_rule *rule,
                                         const struct acceptance_measured *measured,
                                         double *ret_best, double *ret_worst)
{
    const double df = (double)measured->trials - 1, sign = rule->at_most ? -1 : 1;
    double t, better, worse;

    *ret_best = *ret_worst = NAN;
    if (measured->trials < 2 || !(measured->value > 0) || !(measured->lo > 0) ||
        !(measured->lo <= measured->value && measured->value <= measured->hi))
        return ACCEPTANCE_INCONCLUSIVE;
    /* Standard errors, from the sides of the interval. */
    t = student_quantile(0.5 + 0.5 * measured->confidence, df);
    better = log(rule->at_most ? measured->value / measured->lo : measured->hi / measured->value);
    worse = log(rule->at_most ? measured->hi / measured->value : measured->value / measured->lo);
    *ret_best = measured->value * exp(sign * student_quantile(1 - rule->alpha, df) / t * better);
    *ret_worst = measured->value * exp(-sign * student_quantile(1 - rule->beta, df) / t * worse);
    if (sign * (rule->declared - *ret_best) > 0)
        return ACCEPTANCE_REJECTED;
    return sign * (*ret_worst - rule->limiting) > 0 ? ACCEPTANCE_ACCEPTED : ACCEPTANCE_INCONCLUSIVE;
}

double acceptance_holds_to(double value, double bound, double level)
{
    if (!(value > 0 && bound > 0 && level > 0) || value == bound)
        return NAN;
    return succession_correlation_of(log(level / value) / log(bound / value));
}

/* (log x - log reference) in standard errors, positive where x is the better. */
static double distance(const struct acceptance_rule *rule, double x, double reference, double sd,
                       uint64_t trials)
{
    return (rule->at_most ? -1 : 1) * log(x / reference) * sqrt((double)trials) / sd;
}

struct acceptance_chances acceptance_chances(const struct acceptance_rule *rule, double sd,
                                             uint64_t trials, double truth)
{
    enum { STEPS = 4000 };
    const double df = (double)trials - 1, a = student_quantile(1 - rule->alpha, df),
                 b = student_quantile(1 - rule->beta, df);
    const double declared = distance(rule, truth, rule->declared, sd, trials),
                 limiting = distance(rule, truth, rule->limiting, sd, trials);
    /* Of s, the standard deviation by the true one: 2 (df/2)^(df/2) / gamma(df/2) s^(df-1)
       exp(-df s^2 / 2). Midpoints, since the density of few trials is not smooth at 0. */
    const double log_norm = M_LN2 + 0.5 * df * log(0.5 * df) - special_log_gamma(0.5 * df);
    const double lo = fmax(0, 1 - 9 / sqrt(2 * df)), hi = 1 + (df < 4 ? 13 : 9) / sqrt(df);
    const double step = (hi - lo) / STEPS;
    double sum = 0;

    for (int i = 0; i < STEPS; i++) {
        const double s = lo + (i + 0.5) * step;
        const double density = exp(log_norm + (df - 1) * log(s) - 0.5 * df * s * s);

        /* The mean's error z must lift it over both: z + declared >= -a s, z + limiting > b s. */
        sum += density * normal_upper(fmax(-a * s - declared, b * s - limiting));
    }
    return (struct acceptance_chances){.accepted = fmin(sum * step, 1),
                                       .rejected = student_noncentral_cdf(-a, df, declared)};
}

static bool tells(const struct acceptance_rule *rule, double sd, uint64_t trials)
{
    const double df = (double)trials - 1,
                 apart = distance(rule, rule->declared, rule->limiting, sd, trials);

    return student_noncentral_cdf(-student_quantile(1 - rule->alpha, df), df, -apart) >=
               1 - rule->beta &&
           student_noncentral_cdf(student_quantile(1 - rule->beta, df), df, apart) <= rule->alpha;
}

uint64_t acceptance_trials(const struct acceptance_rule *rule, double sd)
{
    uint64_t low = 2, high = 2;

    if (!(sd > 0))
        return 0;
    while (high < ACCEPTANCE_MAX && !tells(rule, sd, high)) {
        low = high + 1;
        high = 2 * high < ACCEPTANCE_MAX ? 2 * high : ACCEPTANCE_MAX;
    }
    if (!tells(rule, sd, high))
        return 0;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (tells(rule, sd, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Most failures that are still accepted, as a number; -1: not even none. */
static double most_accepted(const struct acceptance_fleet *fleet, uint64_t units)
{
    double low = -1, high = (double)units - 1;

    while (low < high) {
        const double middle = ceil((low + high) / 2);

        if (binomial_cdf(middle, (double)units, 1 - fleet->share) <= fleet->beta)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* P(Bin(units, failing) >= failed). */
static double so_many(double failed, double units, double failing)
{
    return failed > 0 ? 1 - binomial_cdf(failed - 1, units, failing) : 1;
}

/* Least failures that are rejected; units + 1: not even all. */
static double least_rejected(const struct acceptance_fleet *fleet, double units)
{
    double low = 1, high = units + 1;

    while (low < high) {
        const double middle = floor((low + high) / 2);

        if (so_many(middle, units, 1 - fleet->declared) <= fleet->alpha)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

enum acceptance_verdict acceptance_judge_units(const struct acceptance_fleet *fleet, uint64_t units,
                                               uint64_t failed)
{
    const double n = (double)units, f = (double)failed;

    if (units == 0)
        return ACCEPTANCE_INCONCLUSIVE;
    if (so_many(f, n, 1 - fleet->declared) <= fleet->alpha)
        return ACCEPTANCE_REJECTED;
    return f < n && binomial_cdf(f, n, 1 - fleet->share) <= fleet->beta ? ACCEPTANCE_ACCEPTED
                                                                        : ACCEPTANCE_INCONCLUSIVE;
}

uint64_t acceptance_units(const struct acceptance_fleet *fleet, uint64_t failed)
{
    uint64_t units = failed + 1;

    while (units <= ACCEPTANCE_MAX &&
           binomial_cdf((double)failed, (double)units, 1 - fleet->share) > fleet->beta)
        units++;
    return units <= ACCEPTANCE_MAX ? units : 0;
}

struct acceptance_chances acceptance_fleet_chances(const struct acceptance_fleet *fleet,
                                                   uint64_t units, double truth)
{
    const double n = (double)units, least = least_rejected(fleet, n),
                 most = fmin(most_accepted(fleet, units), least - 1);

    return (struct acceptance_chances){.accepted = most < 0 ? 0 : binomial_cdf(most, n, 1 - truth),
                                       .rejected = least <= n ? so_many(least, n, 1 - truth) : 0};
}
