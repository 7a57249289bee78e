#include "protocols/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/compare.h"
#include "protocols/estimate_parts.h"
#include "protocols/stats/autocovariance.h"
#include "protocols/stats/clock_step.h"
#include "protocols/stats/distribution.h"
#include "protocols/stats/mean_interval.h"
#include "protocols/stats/order.h"

#define VERDICT_SHARE 0.2 /* of the trials: so many may be worse than the cell's verdict */

static const struct {
    const char *name, *label;
    bool steady;
} verdicts[ESTIMATE_VERDICT_COUNT] = {
#define VERDICT_ROW(constant, name, label, steady) {name, label, steady},
    ESTIMATE_VERDICT_MAP(VERDICT_ROW)
#undef VERDICT_ROW
};

const char *estimate_centre_name(enum estimate_centre centre)
{
    return centre == ESTIMATE_MEDIAN ? "median" : "mean";
}

const char *estimate_verdict_name(enum estimate_verdict verdict)
{
    return verdict < ESTIMATE_VERDICT_COUNT ? verdicts[verdict].name : "unknown";
}

const char *estimate_verdict_label(enum estimate_verdict verdict)
{
    return verdict < ESTIMATE_VERDICT_COUNT ? verdicts[verdict].label : "unknown verdict";
}

enum estimate_verdict estimate_verdict_find(const char *name)
{
    size_t i = 0;

    while (i < ESTIMATE_VERDICT_COUNT && !(name && strcmp(verdicts[i].name, name) == 0))
        i++;
    return (enum estimate_verdict)i;
}

bool estimate_verdict_is_steady(enum estimate_verdict verdict)
{
    return verdict < ESTIMATE_VERDICT_COUNT && verdicts[verdict].steady;
}

bool estimate_is_steady(const struct estimate *estimate)
{
    return estimate_verdict_is_steady(estimate->verdict);
}

struct estimate_options estimate_options_default(void)
{
    return (struct estimate_options){
        .confidence = 0.95,
        .steady_tolerance = 0.01,
        .drift_tolerance = 0.02,
        .min_ess = 1.5,
        .margin = 0.01,
        .percentiles = {0.5, 0.9, 0.95, 0.99, 0.999},
        .percentile_count = 5,
    };
}

static enum status check_options(const struct estimate_options *o, struct error *err)
{
    size_t i;

    if (!(o->confidence > 0.5 && o->confidence < 1))
        return error_set(err, STATUS_INVALID,
                         "confidence is %g; it must lie between 0.5 and 1, 0.95 say",
                         o->confidence);
    if (!(o->steady_tolerance >= 0 && o->steady_tolerance < 1) ||
        !(o->drift_tolerance >= 0 && o->drift_tolerance < 1) || !(o->margin > 0 && o->margin < 1))
        return error_set(err, STATUS_INVALID,
                         "steady tolerance %g, drift tolerance %g, margin %g: each is a share "
                         "between 0 and 1, 0.01 for one percent",
                         o->steady_tolerance, o->drift_tolerance, o->margin);
    if (!(o->min_ess >= 0 && isfinite(o->min_ess)))
        return error_set(err, STATUS_INVALID,
                         "the least effective sample size is %g; it must be 0 or more", o->min_ess);
    if (o->percentile_count > ESTIMATE_PERCENTILES_MAX)
        return error_set(err, STATUS_INVALID, "%zu percentiles asked for; at most %d can be given",
                         o->percentile_count, ESTIMATE_PERCENTILES_MAX);
    for (i = 0; i < o->percentile_count; i++) {
        if (!(o->percentiles[i] > 0 && o->percentiles[i] < 1))
            return error_set(err, STATUS_INVALID, "percentile %g is asked for; write p99 as 0.99",
                             o->percentiles[i]);
        if (metric_of_quantile(o->percentiles[i]) == METRIC_COUNT)
            return error_set(
                err, STATUS_INVALID,
                "percentile %g is none that assay reports: choose among 0.5, 0.75, 0.9, "
                "0.95, 0.99 and 0.999",
                o->percentiles[i]);
    }
    return STATUS_OK;
}

static double squares_about(const double *logs, size_t count, double mean)
{
    double squares = 0;
    size_t i;

    for (i = 0; i < count; i++)
        squares += (logs[i] - mean) * (logs[i] - mean);
    return squares;
}

/* Whether a trial of this verdict has an interval of its own. */
static bool has_own_interval(enum estimate_verdict verdict)
{
    return estimate_verdict_is_steady(verdict) || verdict == ESTIMATE_BIMODAL ||
           verdict == ESTIMATE_UNDETERMINED;
}

static enum status analyse_used(struct estimate_part *part, struct estimate_trial *trial,
                                const struct estimate_options *options, struct error *err)
{
    size_t n = part->used_count, i;
    struct mean_interval mean;
    enum status status;
    double *values, *logs;

    values = malloc(2 * n * sizeof(*values));
    if (!values)
        return error_no_memory(err);
    logs = values + n;
    for (i = 0; i < n; i++) {
        values[i] = (double)part->used[i];
        logs[i] = log(values[i]);
    }
    status = mean_interval(values, n, options->confidence, &mean, err);
    if (status) {
        free(values);
        return status;
    }
    if (part->state.states.found)
        mean.half_width =
            fmax(mean.half_width,
                 two_state_half_width(values, logs, n, &part->state.states, options->confidence));
    mean.half_width += part->state.remainder * mean.mean;
    part->log_squares = squares_about(logs, n, series_mean(logs, n));
    if (trial->verdict != ESTIMATE_BIMODAL) {
        trial->median_ns = order_select(values, n, n / 2);
        if (n % 2 == 0)
            trial->median_ns = (trial->median_ns + order_select(values, n, n / 2 - 1)) / 2;
    }
    free(values);

    trial->ess = mean.ess;
    trial->mean_ns.value = mean.mean;
    trial->mean_ns.has_value = true;
    part->log_mean = log(mean.mean);
    part->log_error = mean.lrv_ar > 0 && isfinite(mean.lrv_ar)
                          ? sqrt(fmax(mean.lrv_ar, mean.lrv_geyer) / (double)n) / mean.mean
                          : 0;
    if (!has_own_interval(trial->verdict))
        return STATUS_OK;
    /* An undetermined one has its interval however few samples it is worth: only those that look
       better than they are would be left. */
    if (trial->verdict != ESTIMATE_UNDETERMINED && mean.ess < options->min_ess) {
        if (trial->verdict != ESTIMATE_BIMODAL)
            trial->verdict = ESTIMATE_INSUFFICIENT;
        return STATUS_OK;
    }
    if (part->state.memory_order > 0 || !isfinite(mean.half_width))
        return STATUS_OK;
    /* Rounding to the clock's ticks moves a mean by up to half a tick. All samples alike do not
       show the tick, which may be as large as they are. */
    if (part->state.resolution_ns == 0)
        return STATUS_OK;
    mean.half_width = fmax(mean.half_width, 0.5 * (double)part->state.resolution_ns);
    /* Few samples that are far longer than the rest: no time is below 0, and nothing else is sure.
     */
    trial->mean_ns.lo = fmax(mean.mean - mean.half_width, 0);
    trial->mean_ns.hi = mean.mean + mean.half_width;
    trial->mean_ns.has_interval = true;
    return STATUS_OK;
}

static enum status analyse_trial(const struct estimate_series *series, struct estimate_part *part,
                                 struct estimate_trial *trial,
                                 const struct estimate_options *options, struct error *err)
{
    enum status status = steady_state_find(series->sample_ns, series->count, series->first, options,
                                           &part->state, err);
    size_t from;

    if (status)
        return status;
    trial->verdict = part->state.verdict;
    trial->median_ns = NAN;
    part->log_mean = NAN;
    part->log_error = NAN;
    from = part->state.from;
    trial->has_steady = from < series->count && has_own_interval(trial->verdict);
    trial->steady_from = from;
    if (from >= series->count) /* no steady state: the whole window, marked by the verdict */
        from = series->first;
    if (from >= series->count)
        return STATUS_OK;
    part->used = series->sample_ns + from;
    part->used_count = series->count - from;
    return analyse_used(part, trial, options, err);
}

double estimate_tick(const struct estimate_part *parts, size_t trial_count)
{
    int64_t step = 0, divisor = 0, first = 0;
    bool differ = false;

    for (size_t i = 0; i < trial_count; i++) {
        const int64_t own = parts[i].state.resolution_ns;

        step = own > 0 && (step == 0 || own < step) ? own : step;
        if (parts[i].used_count == 0)
            continue;
        differ = differ || (first > 0 && parts[i].used[0] != first);
        first = parts[i].used[0];
        divisor = clock_step_common(divisor, first);
    }
    if (step == 0 && differ)
        step = divisor;
    return step > 0 ? (double)step : NAN;
}

double estimate_between(const double *logs, size_t count, double confidence, double tick,
                        struct estimate_interval *ret)
{
    const double r = (double)count, mean = series_mean(logs, count);
    const double sd = sqrt(squares_about(logs, count, mean) / (r - 1));
    const double half = student_quantile(0.5 + 0.5 * confidence, r - 1) * sd / sqrt(r);

    ret->value = exp(mean);
    ret->has_value = true;
    ret->lo = exp(mean - half);
    ret->hi = exp(mean + half);
    if (!isnan(tick)) {
        ret->lo = fmax(fmin(ret->lo, ret->value - 0.5 * tick), 0);
        ret->hi = fmax(ret->hi, ret->value + 0.5 * tick);
    }
    /*
     * Means that are alike to the last digit have no spread for t to go by: what was measured is
     * coarser than what varies, and it takes as many as the sign test does to say that it varies
     * by less than a tick.
     */
    ret->has_interval =
        isfinite(ret->hi) && !(sd < COMPARE_NO_SPREAD &&
                               (isnan(tick) || comparison_chance_of_signs(r) > 1 - confidence));
    return sd;
}

/* Interval between trials; variance split; trials that would be enough. `logs`: trial_count. */
static void combine_trials(struct estimate *e, const struct estimate_part *parts,
                           const struct estimate_options *options, double *logs,
                           struct estimate_interval *ret)
{
    double noise = 0, within = 0, remainder = 0, r, sd;
    size_t i, samples = 0, with = 0, last = 0;
    uint64_t needed;

    for (i = 0; i < e->trial_count; i++) {
        if (isnan(parts[i].log_mean))
            continue;
        logs[with++] = parts[i].log_mean;
        noise += parts[i].log_error * parts[i].log_error;
        within += parts[i].log_squares;
        remainder += parts[i].state.remainder;
        samples += parts[i].used_count - 1;
        last = i;
        e->ess += e->trials[i].ess;
    }
    e->variance.iteration = samples > 0 ? within / (double)samples : NAN;
    e->variance.process = NAN;
    if (with == 1)
        *ret = e->trials[last].mean_ns;
    if (with < 2)
        return;
    r = (double)with;
    sd = estimate_between(logs, with, options->confidence, estimate_tick(parts, e->trial_count),
                          ret);
    e->variance.process = fmax(sd * sd - noise / r, 0);
    ret->lo *= exp(-remainder / r);
    ret->hi *= exp(remainder / r);
    needed = trials_needed(sd, r - 1, log1p(options->margin), options->confidence,
                           compare_options_default().power);
    e->needed_trials = needed > with ? needed : 0;
}

static void find_verdict(struct estimate *e)
{
    size_t counts[ESTIMATE_VERDICT_COUNT] = {0}, judged, worse = 0, i;

    for (i = 0; i < e->trial_count; i++)
        counts[e->trials[i].verdict]++;
    judged = e->trial_count - counts[ESTIMATE_INSUFFICIENT];
    if (2 * judged < e->trial_count || judged == 0) {
        e->verdict = ESTIMATE_INSUFFICIENT;
        return;
    }
    for (i = ESTIMATE_VERDICT_COUNT; i-- > 0;) {
        if (i == ESTIMATE_INSUFFICIENT || i == ESTIMATE_UNDETERMINED || i == ESTIMATE_SERVING)
            continue;
        worse += counts[i];
        if ((double)worse > VERDICT_SHARE * (double)judged)
            break;
    }
    /* Past the first: nearly all are undetermined. */
    e->verdict = i < ESTIMATE_VERDICT_COUNT ? (enum estimate_verdict)i : ESTIMATE_UNDETERMINED;
    if (2 * counts[ESTIMATE_UNDETERMINED] > judged && estimate_verdict_is_steady(e->verdict))
        e->verdict = ESTIMATE_UNDETERMINED;
}

/* Trials with samples after their warmup: those that the value and its interval are of. */
static size_t trials_that_count(const struct estimate *e)
{
    size_t count = 0;

    for (size_t i = 0; i < e->trial_count; i++)
        count += e->trials[i].mean_ns.has_value;
    return count;
}

void estimate_set_metric(struct estimate *e, enum metric_id id,
                         const struct estimate_interval *value, const char *item, bool integers)
{
    struct metric_value *v = &e->metrics[id];

    v->present = true;
    v->has_value = value->has_value && isfinite(value->value);
    v->has_interval =
        v->has_value && value->has_interval && isfinite(value->lo) && isfinite(value->hi);
    v->value = value->value;
    v->lo = value->lo;
    v->hi = value->hi;
    metric_unit(id, item, integers, v->unit);
    v->grade =
        metric_grade(v, estimate_is_steady(e),
                     e->verdict == ESTIMATE_INSUFFICIENT || e->verdict == ESTIMATE_UNDETERMINED,
                     trials_that_count(e));
}

enum status estimate_cell(const struct estimate_series *trials, size_t trial_count,
                          const struct estimate_options *options, struct estimate **ret,
                          struct error *err)
{
    struct estimate_part *parts = NULL;
    struct estimate_interval mean = {0};
    struct estimate *e = NULL;
    double *logs = NULL;
    enum status status;
    size_t i;

    if (trial_count == 0)
        return error_set(err, STATUS_INVALID, "a cell without trials cannot be analysed");
    status = check_options(options, err);
    if (status)
        return status;
    e = calloc(1, sizeof(*e));
    parts = calloc(trial_count, sizeof(*parts));
    logs = malloc(trial_count * sizeof(*logs));
    if (e)
        e->trials = calloc(trial_count, sizeof(*e->trials));
    if (!e || !parts || !logs || !e->trials) {
        status = error_no_memory(err);
        goto out;
    }
    e->version = ESTIMATE_VERSION;
    e->iterations_per_sample = 1;
    e->compare_by = options->compare_by;
    e->headline = METRIC_ITERATION_TIME;
    e->trial_count = trial_count;
    e->confidence = options->confidence;
    for (i = 0; i < trial_count; i++) {
        e->sample_count += trials[i].count;
        e->trials[i].number = trials[i].number ? trials[i].number : (int64_t)i + 1;
        status = analyse_trial(&trials[i], &parts[i], &e->trials[i], options, err);
        if (status) {
            error_prefix(err, "trial %lld", (long long)e->trials[i].number);
            goto out;
        }
    }
    e->step_ns = estimate_tick(parts, trial_count);
    find_verdict(e);
    combine_trials(e, parts, options, logs, &mean);
    estimate_set_metric(e, METRIC_ITERATION_TIME, &mean, NULL, false);
    status = estimate_find_percentiles(parts, options, e, err);
    if (!status)
        status = estimate_add_findings(trials, parts, options, e, err);
out:
    free(parts);
    free(logs);
    if (status)
        estimate_destroy(e);
    else
        *ret = e;
    return status;
}
