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

/* Of the interval that an estimate has, whose order of trials is looked at. */
#define CONFIDENCE 0.95

struct acceptance_plan acceptance_plan_make(double sd, uint64_t trials, double margin)
{
    struct acceptance_plan plan = {.sd = sd, .trials = trials, .margin = margin};

    plan.widening_count = succession_widenings(trials, CONFIDENCE, plan.widenings);
    return plan;
}

/* `better`: that the worst bound is better than limiting, rejected or not. */
struct parts {
    double accepted, rejected, better;
};

/* Adds the chances where the interval is as `widening` has it, by so many midpoints. */
static void add_parts(const struct acceptance_rule *rule, const struct acceptance_plan *plan,
                      double truth, const struct succession_widening *widening, int steps,
                      struct parts *sum)
{
    const double n = (double)plan->trials, df = n - 1,
                 a = widening->factor * student_quantile(1 - rule->alpha, df),
                 b = widening->factor * student_quantile(1 - rule->beta, df);
    const double declared = distance(rule, truth, rule->declared, plan->sd, plan->trials),
                 limiting = distance(rule, truth, rule->limiting, plan->sd, plan->trials);
    /* Of s, the standard deviation by the true one: 2 (df/2)^(df/2) / gamma(df/2) s^(df-1)
       exp(-df s^2 / 2). Midpoints, since the density of few trials is not smooth at 0. */
    const double log_norm = M_LN2 + 0.5 * df * log(0.5 * df) - special_log_gamma(0.5 * df);
    const double lo = fmax(0, 1 - 9 / sqrt(2 * df));
    double hi = 1 + (df < 4 ? 13 : 9) / sqrt(df), step;

    if (widening->certain)
        hi = fmin(hi, log1p(plan->margin) * sqrt(n) / plan->sd / widening->factor /
                          student_quantile(0.5 + 0.5 * CONFIDENCE, df));
    step = fmax(hi - lo, 0) / steps;
    for (int i = 0; i < steps; i++) {
        const double s = lo + (i + 0.5) * step;
        const double chance =
            widening->chance * step * exp(log_norm + (df - 1) * log(s) - 0.5 * df * s * s);

        /* The mean's error z must lift it over both: z + declared >= -a s, z + limiting > b s. */
        sum->accepted += chance * normal_upper(fmax(-a * s - declared, b * s - limiting));
        sum->rejected += chance * normal_cdf(-a * s - declared);
        sum->better += chance * normal_upper(b * s - limiting);
    }
}

static struct parts parts_of(const struct acceptance_rule *rule, const struct acceptance_plan *plan,
                             double truth)
{
    enum { STEPS = 4000, STEPS_OF_WIDER = 400 };
    struct succession_widening none = {.factor = 1, .chance = 1};
    struct parts sum = {0};

    for (size_t i = 0; i < plan->widening_count; i++) {
        none.chance -= plan->widenings[i].chance;
        add_parts(rule, plan, truth, &plan->widenings[i], STEPS_OF_WIDER, &sum);
    }
    add_parts(rule, plan, truth, &none, STEPS, &sum);
    return sum;
}

struct acceptance_chances acceptance_chances(const struct acceptance_rule *rule,
                                             const struct acceptance_plan *plan, double truth)
{
    const struct parts parts = parts_of(rule, plan, truth);

    return (struct acceptance_chances){.accepted = fmin(parts.accepted, 1),
                                       .rejected = fmin(parts.rejected, 1)};
}

/* Without looking at the order of trials, which needs more. */
static bool tells_at_least(const struct acceptance_rule *rule, double sd, uint64_t trials)
{
    const double df = (double)trials - 1,
                 apart = distance(rule, rule->declared, rule->limiting, sd, trials);

    return student_noncentral_cdf(-student_quantile(1 - rule->alpha, df), df, -apart) >=
               1 - rule->beta &&
           student_noncentral_cdf(student_quantile(1 - rule->beta, df), df, apart) <= rule->alpha;
}

static uint64_t least_trials(const struct acceptance_rule *rule, double sd)
{
    uint64_t low = 2, high = 2;

    if (!(sd > 0))
        return 0;
    while (high < ACCEPTANCE_MAX && !tells_at_least(rule, sd, high)) {
        low = high + 1;
        high = 2 * high < ACCEPTANCE_MAX ? 2 * high : ACCEPTANCE_MAX;
    }
    if (!tells_at_least(rule, sd, high))
        return 0;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (tells_at_least(rule, sd, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint64_t acceptance_trials(const struct acceptance_rule *rule, double sd, double margin)
{
    const uint64_t least = least_trials(rule, sd);

    for (uint64_t trials = least; trials > 0 && trials <= ACCEPTANCE_MAX;
         trials += 1 + trials / 50) {
        const struct acceptance_plan plan = acceptance_plan_make(sd, trials, margin);

        if (parts_of(rule, &plan, rule->limiting).rejected >= 1 - rule->beta &&
            parts_of(rule, &plan, rule->declared).better >= 1 - rule->alpha)
            return trials;
    }
    return 0;
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
