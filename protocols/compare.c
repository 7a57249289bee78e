#include "protocols/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "protocols/stats/autocovariance.h"
#include "protocols/stats/clock_step.h"
#include "protocols/stats/crossover.h"
#include "protocols/stats/distribution.h"
#include "protocols/stats/order.h"
#include "protocols/stats/succession.h"

static const char *const verdict_names[] = {"faster", "slower", "equivalent", "inconclusive"};

const char *compare_verdict_name(enum compare_verdict verdict)
{
    return verdict <= COMPARE_INCONCLUSIVE ? verdict_names[verdict] : "unknown";
}

int comparison_beyond_margin(const struct comparison *comparison)
{
    const struct estimate_interval *ratio = &comparison->ratio;

    if (!ratio->has_interval)
        return 0;
    return ratio->lo > 1 + comparison->margin         ? 1
           : ratio->hi < 1 / (1 + comparison->margin) ? -1
                                                      : 0;
}

const char *const compare_figure_names[COMPARE_FIGURE_COUNT] = {
#define COMPARE_FIGURE_NAME(code, name) name,
    COMPARE_FIGURE_MAP(COMPARE_FIGURE_NAME)
#undef COMPARE_FIGURE_NAME
};

const char *compare_figure_name(enum compare_figure figure)
{
    return compare_figure_names[figure];
}

enum compare_figure compare_figure_find(const char *name)
{
    enum compare_figure figure = COMPARE_TIME;

    while (figure < COMPARE_FIGURE_COUNT &&
           (!name || strcmp(name, compare_figure_names[figure]) != 0))
        figure++;
    return figure;
}

struct compare_options compare_options_default(void)
{
    return (struct compare_options){.confidence = 0.95, .margin = 0.01, .power = 0.8};
}

static enum status check(const double *values, size_t count, const char *arm, struct error *err)
{
    size_t i;

    if (count == 0)
        return error_set(err, STATUS_INVALID, "arm %s has no values: nothing to compare", arm);
    for (i = 0; i < count; i++) {
        if (!(isfinite(values[i]) && values[i] > 0))
            return error_set(err, STATUS_INVALID,
                             "value %zu of arm %s is %g; a time must be finite and greater than 0",
                             i, arm, values[i]);
    }
    return STATUS_OK;
}

static enum status check_options(const struct compare_options *o, struct error *err)
{
    if (!(o->confidence > 0.5 && o->confidence < 1) || !(o->margin > 0 && o->margin < 1) ||
        !(o->power > 0 && o->power < 1))
        return error_set(err, STATUS_INVALID,
                         "confidence %g must lie between 0.5 and 1, margin %g and power %g between "
                         "0 and 1",
                         o->confidence, o->margin, o->power);
    return STATUS_OK;
}

static struct estimate_interval interval(double mean, double half)
{
    return (struct estimate_interval){.value = exp(mean),
                                      .has_value = true,
                                      .lo = exp(mean - half),
                                      .hi = exp(mean + half),
                                      .has_interval = true};
}

/* What an interval of a mean difference of logs admits beside its standard error. */
struct beside {
    double shift;   /* added to the half-width */
    double stretch; /* of the standard error; 1: none */
    bool ordered;   /* the order of measuring is seen in the values */
    double further; /* then the verdict must stand this much more of a shift */
    double most;    /* and this stretch */
};

static const struct beside nothing_beside = {.stretch = 1};

/* What the order of measuring adds, as far as it is seen. */
static void admit_order(const struct succession *s, struct beside *beside, struct comparison *r)
{
    r->order_change = s->trend ? expm1(s->change) : 0;
    r->order_correlation = s->serial ? s->correlation : 0;
    beside->shift += succession_shift(s);
    beside->stretch = succession_stretch(s);
    beside->ordered = s->trend || s->serial;
    /* Nobody knows how far a trend goes on between the arms, or how long neighbours are alike. */
    beside->further = succession_shift(s);
    beside->most = s->serial ? SUCCESSION_MOST_STRETCH : 1;
}

/*
 * Up to which correlation of neighbours the verdict stands: where its quantile times the standard
 * error, stretched by that, takes all of what is left, `apart` or `inside` the margin.
 */
static double holds_to(const struct comparison *r, double apart, double inside,
                       double standard_error)
{
    const bool equivalent = r->verdict == COMPARE_EQUIVALENT;
    const double chance = equivalent ? r->confidence : 0.5 + 0.5 * r->confidence;
    const double stretch =
        (equivalent ? inside : apart) / (student_quantile(chance, r->df) * standard_error);

    if (r->verdict == COMPARE_INCONCLUSIVE)
        return 0;
    return succession_correlation_of(stretch);
}

/* Where the order of measuring is seen, the chances admit more than the interval does. */
static void admit_chances(struct comparison *r)
{
    const double p = r->verdict == COMPARE_EQUIVALENT ? r->p_equivalence : r->p_difference;

    if (r->verdict == COMPARE_INCONCLUSIVE || p <= 1 - r->confidence)
        return;
    r->verdict = COMPARE_INCONCLUSIVE;
    r->undetermined = true;
}

/* Fills intervals, p values and verdict from a mean log difference, its standard error and df. */
static void decide(double mean, double standard_error, const struct beside *beside,
                   const struct compare_options *o, struct comparison *r)
{
    const double limit = log1p(o->margin), error = standard_error * beside->stretch;
    const double shift = beside->shift + beside->further;
    const double most = fmax(error, standard_error * beside->most);
    double half, half_equivalence;

    r->ratio.value = r->equivalence.value = exp(mean);
    r->ratio.has_value = r->equivalence.has_value = true;
    r->p_difference = r->p_equivalence = r->p_worse = NAN;
    r->verdict = COMPARE_INCONCLUSIVE;
    if (!(r->df > 0) || !isfinite(error))
        return;
    half = student_quantile(0.5 + 0.5 * o->confidence, r->df) * error + beside->shift;
    half_equivalence = student_quantile(o->confidence, r->df) * error + beside->shift;
    if (!isfinite(exp(half) * exp(fabs(mean))))
        return;
    r->ratio = interval(mean, half);
    r->equivalence = interval(mean, half_equivalence);
    r->p_difference = 2 * student_cdf(-fmax(fabs(mean) - shift, 0) / most, r->df);
    r->p_equivalence = student_cdf((fabs(mean) + shift - limit) / most, r->df);
    r->p_worse = student_cdf((limit - mean + shift) / most, r->df);
    r->differs = fabs(mean) > half;
    if (fabs(mean) + half_equivalence < limit)
        r->verdict = COMPARE_EQUIVALENT;
    else if (r->differs)
        r->verdict = mean < 0 ? COMPARE_FASTER : COMPARE_SLOWER;
    if (beside->ordered)
        admit_chances(r);
    r->holds_to =
        holds_to(r, fabs(mean) - beside->shift, limit - fabs(mean) - beside->shift, standard_error);
}

/* ---- rounded values ---- */

/* Smaller shares are no bias that anybody measures. */
#define ROUNDING_LEAST 1e-6

/* The least distance between two different ones of all values; 0 where they are alike. */
static enum status step_of_values(const double *a, size_t count_a, const double *b, size_t count_b,
                                  double *ret, struct error *err)
{
    const size_t count = count_a + count_b;
    AUTO_FREE double *sorted = malloc(count * sizeof(*sorted));

    if (!sorted)
        return error_no_memory(err);
    memcpy(sorted, a, count_a * sizeof(*sorted));
    memcpy(sorted + count_a, b, count_b * sizeof(*sorted));
    order_sort_real(sorted, count);
    *ret = 0;
    for (size_t i = 1; i < count; i++) {
        const double distance = sorted[i] - sorted[i - 1];

        if (distance > 0 && (*ret == 0 || distance < *ret))
            *ret = distance;
    }
    return STATUS_OK;
}

/* By which share of it the mean of values that are rounded to steps may be off. */
static double rounding_of(const double *x, size_t count, double step)
{
    const double mean = series_mean(x, count);
    double squares = 0, variance;

    for (size_t i = 0; i < count; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    variance = count > 1 ? fmax(squares / ((double)count - 1) - step * step / 12, 0) : 0;
    return step > 0 ? 0.5 * step * exp(-2 * pow(acos(-1), 2) * variance / (step * step)) / mean : 0;
}

static enum status find_rounding(const double *a, size_t count_a, const double *b, size_t count_b,
                                 double *ret, struct error *err)
{
    double step = 0, share;

    TRY(step_of_values(a, count_a, b, count_b, &step, err));
    share = rounding_of(a, count_a, step) + rounding_of(b, count_b, step);
    *ret = share < ROUNDING_LEAST ? 0 : share;
    return STATUS_OK;
}

double comparison_chance_of_signs(double count)
{
    return exp2(1 - count);
}

/*
 * The probability that two groups do not overlap, in either order, when all orders are equally
 * likely.
 */
static double chance_of_orders(size_t count_a, size_t count_b)
{
    double orders = 1;
    size_t i;

    for (i = 1; i <= count_a; i++)
        orders *= (double)(count_b + i) / (double)i;
    return 2 / orders;
}

/*
 * Where all differences are equal, t divides 0 by 0: the measurement is coarser than the variation
 * and does not show it. What is valid without any spread is the test of signs (or orders), `chance`
 * being its two-sided p of any difference: few pairs decide nothing.
 */
static void decide_alike(double mean, double chance, const struct compare_options *o,
                         struct comparison *r)
{
    const double limit = log1p(o->margin);

    r->no_spread = true;
    r->ratio.value = r->equivalence.value = exp(mean);
    r->ratio.has_value = r->equivalence.has_value = true;
    r->verdict = COMPARE_INCONCLUSIVE;
    if (chance <= 1 - o->confidence)
        r->ratio = interval(mean, 0);
    if (chance <= 2 * (1 - o->confidence))
        r->equivalence = interval(mean, 0);
    r->p_difference = mean == 0 ? 1 : chance;
    r->p_equivalence = fabs(mean) < limit ? chance / 2 : 1;
    r->p_worse = mean > limit ? chance / 2 : 1;
    r->differs = mean != 0 && r->ratio.has_interval;
    if (r->equivalence.has_interval && fabs(mean) < limit)
        r->verdict = COMPARE_EQUIVALENT;
    else if (r->differs)
        r->verdict = mean < 0 ? COMPARE_FASTER : COMPARE_SLOWER;
}

/* Pairs, or trials of each of two arms, whose agreement would decide. */
static uint64_t needed_alike(double mean, bool paired, const struct compare_options *o)
{
    const double risk = (fabs(mean) < log1p(o->margin) ? 2 : 1) * (1 - o->confidence);
    uint64_t count = 2;

    while ((paired ? comparison_chance_of_signs((double)count) : chance_of_orders(count, count)) >
           risk)
        count++;
    return count;
}

/*
 * As many as `count` did not settle it. A difference of the margin may take no more than these;
 * then the observed difference is between zero and the margin, and must be distinguished from the
 * further of the two.
 */
static uint64_t needed_to_decide(double mean, double sd, double df, size_t count,
                                 const struct compare_options *o)
{
    const double limit = log1p(o->margin), seen = fabs(mean);
    const uint64_t needed = paired_needed(sd, df, limit, o->confidence, o->power);

    if (needed == 0 || needed > count)
        return needed;
    return paired_needed(sd, df, fmax(seen, limit - seen), o->confidence, o->power);
}

/* What the order of the pairs and of their arms, and rounding, add to the interval of their mean
 * difference. */
static struct beside beside_pairs(const double *differences, const bool *b_first, size_t count,
                                  struct comparison *r)
{
    const struct succession s = succession_find(differences, count);
    const struct crossover halves = crossover_find(differences, b_first, count);
    struct beside beside = {.shift = r->rounding, .stretch = 1};

    if (halves.seen) {
        r->ratio_a_first = exp(halves.a_first);
        r->ratio_b_first = exp(halves.b_first);
        beside.shift += halves.reach;
    }
    if (s.certain)
        admit_order(&s, &beside, r);
    return beside;
}

enum status paired_analyze(const double *a, const double *b, size_t count,
                           const struct compare_options *options, struct comparison *ret,
                           struct error *err)
{
    return crossover_analyze(a, b, NULL, count, options, ret, err);
}

enum status crossover_analyze(const double *a, const double *b, const bool *b_first, size_t count,
                              const struct compare_options *options, struct comparison *ret,
                              struct error *err)
{
    struct comparison r = {.paired = true, .count_a = count, .count_b = count};
    AUTO_FREE double *differences = malloc((count + 1) * sizeof(*differences));
    const double n = (double)count;
    double mean = 0, squares = 0;
    struct beside beside;

    TRY(check_options(options, err));
    TRY(check(a, count, "a", err));
    TRY(check(b, count, "b", err));
    if (!differences)
        return error_no_memory(err);
    TRY(find_rounding(a, count, b, count, &r.rounding, err));
    for (size_t i = 0; i < count; i++) {
        differences[i] = log(b[i]) - log(a[i]);
        mean += differences[i] / n;
    }
    for (size_t i = 0; i < count; i++)
        squares += (differences[i] - mean) * (differences[i] - mean);
    r.confidence = options->confidence;
    r.margin = options->margin;
    r.df = n - 1;
    r.sd = count > 1 ? sqrt(squares / r.df) : NAN;
    if (r.sd < COMPARE_NO_SPREAD) {
        decide_alike(mean, comparison_chance_of_signs(n), options, &r);
    } else {
        beside = beside_pairs(differences, b_first, count, &r);
        decide(mean, count > 1 ? r.sd / sqrt(n) : NAN, &beside, options, &r);
    }
    if (r.verdict == COMPARE_INCONCLUSIVE && !r.undetermined)
        r.needed_pairs = r.no_spread ? needed_alike(mean, true, options)
                                     : needed_to_decide(mean, r.sd, r.df, count, options);
    *ret = r;
    return STATUS_OK;
}

static double variance_of(const double *x, size_t count, double *ret_mean)
{
    double mean = 0, squares = 0;

    for (size_t i = 0; i < count; i++)
        mean += x[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    *ret_mean = mean;
    return count > 1 ? squares / (double)(count - 1) : NAN;
}

/* What the order of the trials of both, and rounding, add to the interval. */
static struct beside beside_trials(const double *logs, size_t count_a, size_t count_b,
                                   struct comparison *r)
{
    const struct succession a = succession_find(logs, count_a);
    const struct succession b = succession_find(logs + count_a, count_b);
    const struct succession both = succession_join(&a, &b);
    struct beside beside = {.shift = r->rounding};

    admit_order(&both, &beside, r);
    return beside;
}

enum status unpaired_analyze(const double *a, size_t count_a, const double *b, size_t count_b,
                             const struct compare_options *options, struct comparison *ret,
                             struct error *err)
{
    struct comparison r = {.count_a = count_a, .count_b = count_b};
    AUTO_FREE double *logs = malloc((count_a + count_b + 1) * sizeof(*logs));
    double mean_a, mean_b, va, vb, sum;
    struct beside beside;

    TRY(check_options(options, err));
    TRY(check(a, count_a, "a", err));
    TRY(check(b, count_b, "b", err));
    if (!logs)
        return error_no_memory(err);
    for (size_t i = 0; i < count_a + count_b; i++)
        logs[i] = log(i < count_a ? a[i] : b[i - count_a]);
    va = variance_of(logs, count_a, &mean_a);
    vb = variance_of(logs + count_a, count_b, &mean_b);
    r.sd = sqrt(va + vb);
    va /= (double)count_a;
    vb /= (double)count_b;
    sum = va + vb;
    r.confidence = options->confidence;
    r.margin = options->margin;
    r.df = sum > 0 ? sum * sum / (va * va / (double)(count_a - 1) + vb * vb / (double)(count_b - 1))
                   : (double)(count_a + count_b) - 2;
    if (count_a < 2 || count_b < 2)
        r.df = 0;
    TRY(find_rounding(a, count_a, b, count_b, &r.rounding, err));
    if (r.sd < COMPARE_NO_SPREAD) {
        decide_alike(mean_b - mean_a, chance_of_orders(count_a, count_b), options, &r);
    } else {
        beside = beside_trials(logs, count_a, count_b, &r);
        decide(mean_b - mean_a, sqrt(sum), &beside, options, &r);
    }
    if (r.verdict == COMPARE_INCONCLUSIVE && !r.undetermined)
        r.needed_pairs = r.no_spread
                             ? needed_alike(mean_b - mean_a, false, options)
                             : needed_to_decide(mean_b - mean_a, r.sd, r.df,
                                                count_a < count_b ? count_a : count_b, options);
    *ret = r;
    return STATUS_OK;
}

/* Half of an interval of a log, over what that is in standard errors. */
static double log_error(const struct estimate_interval *i, double quantile)
{
    return 0.5 * (log(i->hi) - log(i->lo)) / quantile;
}

enum status intervals_analyze(const struct estimate_interval *a, const struct estimate_interval *b,
                              const struct compare_options *options, struct comparison *ret,
                              struct error *err)
{
    static const double normal = 1e6; /* degrees of freedom at which t is the normal distribution */
    struct comparison r = {.count_a = 1, .count_b = 1};
    double quantile, error_a, error_b;

    TRY(check_options(options, err));
    if (!(a->has_interval && b->has_interval && isfinite(a->hi) && isfinite(b->hi)))
        return error_set(err, STATUS_INVALID, "one of them has no interval: nothing to compare by");
    else if (!(a->lo > 0 && b->lo > 0))
        return error_set(err, STATUS_INVALID,
                         "the interval of one of them reaches down to 0, so that their ratio has "
                         "no bounds: measure longer, or run more trials");
    quantile = student_quantile(0.5 + 0.5 * options->confidence, normal);
    error_a = log_error(a, quantile);
    error_b = log_error(b, quantile);
    r.confidence = options->confidence;
    r.margin = options->margin;
    r.df = normal;
    r.sd = hypot(error_a, error_b);
    if (r.sd > 0)
        decide(log(b->value) - log(a->value), r.sd, &nothing_beside, options, &r);
    else
        return error_set(err, STATUS_INVALID, "both are alike to the last digit: no comparison");
    r.holds_to = 0; /* it has no trials that could follow each other */
    *ret = r;
    return STATUS_OK;
}

/* Half of the wider of an interval around exp(mean), and of one that is known otherwise. */
static double widened(const struct estimate_interval *i, double mean, double half)
{
    return i->has_interval ? fmax(half, fmax(log(i->hi) - mean, mean - log(i->lo))) : half;
}

void comparison_widen(struct comparison *c, double sd_log, double df)
{
    double error = sqrt(2) * sd_log, mean, half, half_equivalence;

    if (!c->ratio.has_interval || !(sd_log > 0) || !(df > 0))
        return;
    mean = log(c->ratio.value);
    half = widened(&c->ratio, mean, student_quantile(0.5 + 0.5 * c->confidence, df) * error);
    half_equivalence = widened(&c->equivalence, mean, student_quantile(c->confidence, df) * error);
    if (!isfinite(exp(half) * exp(fabs(mean))))
        return;
    c->ratio = interval(mean, half);
    c->equivalence = interval(mean, half_equivalence);
    c->p_difference = fmax(c->p_difference, 2 * student_cdf(-fabs(mean) / error, df));
    c->p_equivalence =
        fmax(c->p_equivalence, student_cdf((fabs(mean) - log1p(c->margin)) / error, df));
    c->p_worse = fmax(c->p_worse, student_cdf((log1p(c->margin) - mean) / error, df));
    c->differs = fabs(mean) > half;
    c->needed_pairs = 0; /* trials of one session cannot decide this */
    c->holds_to = 0;
    c->verdict = fabs(mean) + half_equivalence < log1p(c->margin) ? COMPARE_EQUIVALENT
                 : !c->differs                                    ? COMPARE_INCONCLUSIVE
                 : mean < 0                                       ? COMPARE_FASTER
                                                                  : COMPARE_SLOWER;
}

/* NAN: nothing is known of it. */
static double step_between(double a_ns, double b_ns, double step_a_ns, double step_b_ns)
{
    if (!isnan(step_a_ns) || !isnan(step_b_ns))
        return fmax(step_a_ns, step_b_ns); /* the one that is known */
    if (fabs(a_ns - b_ns) < 0.5 || a_ns > 1e18 || b_ns > 1e18)
        return NAN;
    return (double)clock_step_common(llround(a_ns), llround(b_ns));
}

/* Keeps of a verdict by signs what these bounds of the ratio do not contradict. */
static void keep_within(struct comparison *c, double lo, double hi)
{
    const bool apart = lo > 1 + COMPARE_NO_SPREAD || hi < 1 - COMPARE_NO_SPREAD;
    const bool inside = lo > 1 / (1 + c->margin) && hi < 1 + c->margin;

    c->ratio.lo = c->equivalence.lo = lo;
    c->ratio.hi = c->equivalence.hi = hi;
    c->differs = c->differs && apart;
    if (!apart)
        c->p_difference = 1;
    if (!inside)
        c->p_equivalence = 1;
    if (!(lo > 1 + c->margin))
        c->p_worse = 1;
    if (!apart && !inside)
        c->needed_pairs = 0; /* more of the same would not tell */
    if (c->verdict == COMPARE_EQUIVALENT ? !inside : !c->differs)
        c->verdict = COMPARE_INCONCLUSIVE;
}

void comparison_round(struct comparison *c, double a_ns, double step_a_ns, double step_b_ns)
{
    const double b_ns = a_ns * c->ratio.value;
    double half;

    if (!c->no_spread || step_a_ns == 0 || step_b_ns == 0)
        return;
    half = 0.5 * step_between(a_ns, b_ns, step_a_ns, step_b_ns);
    if (half < a_ns && half < b_ns) {
        keep_within(c, (b_ns - half) / (a_ns + half), (b_ns + half) / (a_ns - half));
    } else {
        keep_within(c, 0, INFINITY);
        c->ratio.has_interval = c->equivalence.has_interval = false;
    }
}

double comparison_step_of(const double *a, const double *b, size_t count)
{
    int64_t step = 0;
    bool differ = false;

    for (size_t i = 0; i < count; i++) {
        if (!(fabs(a[i]) < 1e18 && fabs(b[i]) < 1e18))
            return 0;
        differ = differ || a[i] != a[0] || b[i] != a[0];
        step = clock_step_common(step, llround(a[i]));
        step = clock_step_common(step, llround(b[i]));
    }
    return differ ? (double)step : NAN;
}

const char *comparison_alike_words(const struct comparison *c)
{
    if (c->ratio.has_interval || c->equivalence.has_interval)
        return "all are alike to the last digit: judged by how many agree and, since there is no "
               "spread, by half a step of the clock";
    return c->needed_pairs > 0
               ? "all are alike to the last digit: judged by how many agree, since there is no "
                 "spread"
               : "all are alike to the last digit, and the samples do not show what the clock "
                 "rounds away: nothing is decided";
}

/* ---- as JSON ---- */

static bool is_paired(const void *record)
{
    return ((const struct comparison *)record)->paired;
}

static bool is_unpaired(const void *record)
{
    return !is_paired(record);
}

static bool is_alone(const void *record)
{
    return ((const struct comparison *)record)->family == 0;
}

static bool is_not_rounded(const void *record)
{
    const struct comparison *c = record;

    return c->rounding == 0 || c->no_spread;
}

static bool has_no_trend(const void *record)
{
    return ((const struct comparison *)record)->order_change == 0;
}

static bool is_determined(const void *record)
{
    return !((const struct comparison *)record)->undetermined;
}

static bool has_no_order(const void *record)
{
    return ((const struct comparison *)record)->ratio_a_first == 0;
}

static bool holds_to_none(const void *record)
{
    return ((const struct comparison *)record)->holds_to == 0;
}

static bool is_not_serial(const void *record)
{
    return ((const struct comparison *)record)->order_correlation == 0;
}

static json_t *version_to_json(const void *at)
{
    (void)at;
    return json_integer(ESTIMATE_VERSION);
}

static json_t *version_schema(void)
{
    return type_schema(&type_of_integer, NULL);
}

/* Which version made a record is its own (COMPARISON_VERSION). */
static const char *version_from_json(const json_t *json, void *at)
{
    (void)at;
    return json_is_integer(json) ? NULL : "";
}

static const struct member_codec version_codec = {
    .to_json = version_to_json, .from_json = version_from_json, .schema = version_schema};

#define M(...) MEMBER(struct comparison, __VA_ARGS__)
#define AS(...) MEMBER_AS(struct comparison, __VA_ARGS__)
#define OF_FAMILY .flags = MEMBER_OPTIONAL, .absent = is_alone
static const struct member trials_members[] = {AS(COUNT, "a", count_a), AS(COUNT, "b", count_b)};
static const struct type trials_type = TYPE_OF_MEMBERS(trials_members);
static const struct member comparison_members[] = {
    AS(COUNT, "pairs", count_a, .flags = MEMBER_OPTIONAL, .absent = is_unpaired),
    MEMBER_GROUP("trials", trials_type, .flags = MEMBER_OPTIONAL, .absent = is_paired),
    AS(NAME, "compare_by", centre, .flags = MEMBER_OPTIONAL,
       .names = MEMBER_NAMES(estimate_centre_names)),
    M(NAME, verdict, .names = MEMBER_NAMES(verdict_names)),
    M(RECORD, ratio, .of = &estimate_interval_type, .help = "time of b over time of a"),
    M(FINITE, margin),
    M(COUNT, needed_pairs, .flags = MEMBER_NULLABLE),
    M(BOOLEAN, differs, .help = "the interval excludes no difference"),
    M(FINITE, confidence),
    AS(RECORD, "equivalence_interval", equivalence, .of = &estimate_interval_type),
    M(REAL, p_difference),
    M(REAL, p_equivalence),
    AS(REAL, "sd_log", sd),
    M(BOOLEAN, no_spread, .flags = MEMBER_OPTIONAL),
    M(FINITE, rounding, .flags = MEMBER_OPTIONAL, .absent = is_not_rounded,
      .help = "by which share rounding of the values may move the ratio"),
    M(FINITE, order_change, .flags = MEMBER_OPTIONAL, .absent = has_no_trend,
      .help = "of the ratio from the first pair to the last, as a share; of trials that are not "
              "paired, of the levels of both arms together"),
    M(FINITE, order_correlation, .flags = MEMBER_OPTIONAL, .absent = is_not_serial,
      .help = "of pairs, or trials of an arm, that follow each other"),
    M(BOOLEAN, undetermined, .flags = MEMBER_OPTIONAL, .absent = is_determined,
      .help = "inconclusive by what the order of measuring may have done to it"),
    M(FINITE, ratio_a_first, .flags = MEMBER_OPTIONAL, .absent = has_no_order,
      .help = "of the pairs in which a ran first, where it depends on that"),
    M(FINITE, ratio_b_first, .flags = MEMBER_OPTIONAL, .absent = has_no_order),
    M(FINITE, holds_to, .flags = MEMBER_OPTIONAL, .absent = holds_to_none,
      .help = "the correlation of those that follow each other up to which the verdict stands"),
    M(COUNT, family, .flags = MEMBER_OPTIONAL),
    M(NAME, verdict_alone, OF_FAMILY, .names = MEMBER_NAMES(verdict_names)),
    M(REAL, p_worse, OF_FAMILY),
    M(REAL, p_worse_family, OF_FAMILY),
    M(REAL, p_difference_family, OF_FAMILY),
    M(REAL, p_equivalence_family, OF_FAMILY),
    M(REAL, q_difference, OF_FAMILY),
    {.name = "version", .kind = MEMBER_CUSTOM, .codec = &version_codec},
};
#undef OF_FAMILY
#undef AS
#undef M
const struct type comparison_type =
    TYPE(struct comparison, "a comparison", comparison_members, .def = "comparison");

struct ranked {
    double p;
    size_t index;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static enum status rank(const double *p, size_t count, struct ranked **ret, struct error *err)
{
    struct ranked *ranked = malloc((count + 1) * sizeof(*ranked));

    if (!ranked)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){isnan(p[i]) ? 1 : p[i], i};
    qsort(ranked, count, sizeof(*ranked), compare_ranked);
    *ret = ranked;
    return STATUS_OK;
}

enum status family_holm(const double *p, size_t count, double *ret, struct error *err)
{
    AUTO_FREE struct ranked *ranked = NULL;
    double most = 0;

    TRY(rank(p, count, &ranked, err));

    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fmin(ranked[i].p * (double)(count - i), 1));
        ret[ranked[i].index] = most;
    }
    return STATUS_OK;
}

enum status family_screen(const double *p, size_t count, double *ret, struct error *err)
{
    AUTO_FREE struct ranked *ranked = NULL;
    double least = 1;

    TRY(rank(p, count, &ranked, err));

    for (size_t i = count; i > 0; i--) {
        least = fmin(least, ranked[i - 1].p * (double)count / (double)i);
        ret[ranked[i - 1].index] = least;
    }
    return STATUS_OK;
}

bool comparison_tests_equivalence(const struct comparison *c)
{
    return (c->verdict == COMPARE_INCONCLUSIVE ? c->verdict_alone : c->verdict) ==
           COMPARE_EQUIVALENT;
}

enum status comparison_family(struct comparison *list, size_t count, struct error *err)
{
    AUTO_FREE double *memory = malloc((4 * count + 1) * sizeof(*memory));
    double *difference = memory;
    double *equivalence = memory + count, *worse = memory + 2 * count, *screen = memory + 3 * count;

    if (!memory)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        difference[i] = list[i].p_difference;
        equivalence[i] = list[i].p_equivalence;
        worse[i] = list[i].p_worse;
    }
    TRY(family_screen(difference, count, screen, err));
    TRY(family_holm(difference, count, difference, err));
    TRY(family_holm(equivalence, count, equivalence, err));
    TRY(family_holm(worse, count, worse, err));
    for (size_t i = 0; i < count; i++) {
        struct comparison *c = &list[i];
        const double alpha = 1 - c->confidence;

        c->family = count;
        c->verdict_alone = c->verdict;
        c->p_difference_family = difference[i];
        c->p_equivalence_family = equivalence[i];
        c->p_worse_family = worse[i];
        c->q_difference = screen[i];
        if (count > 1)
            c->verdict = equivalence[i] <= alpha     ? COMPARE_EQUIVALENT
                         : !(difference[i] <= alpha) ? COMPARE_INCONCLUSIVE
                         : c->ratio.value < 1        ? COMPARE_FASTER
                                                     : COMPARE_SLOWER;
    }
    return STATUS_OK;
}
