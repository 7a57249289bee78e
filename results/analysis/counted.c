#include "results/analysis/counted.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/workload_cost.h"
#include "protocols/stats/order.h"

/* The median is brought to so many digits before the point: decimals of as many digits become whole
 * numbers as they were written (a sample is right to 1 in 2^32). */
#define DIGITS 9

/* All trials' numbers, as if they were seconds. */
struct counted {
    double *seconds; /* heap, of all trials one after the other */
    size_t count;
    bool is_rate;   /* higher is better */
    double unit_s;  /* a unit in seconds; 1 of what is no time */
    double per_int; /* seconds that a whole number of the analysis stands for */
};

static void counted_finish(struct counted *counted)
{
    free(counted->seconds);
}

static double seconds_of_unit(const char *unit)
{
    static const struct {
        const char *name;
        double s;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"min", 60}, {"h", 3600}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(unit, units[i].name))
            return units[i].s;
    return 1;
}

static enum status load_trial(struct store *store, const struct counted_trial *trial,
                              struct counted *counted, struct error *err)
{
    AUTO_FREE int64_t *samples = NULL;
    size_t count = 0;
    enum status status =
        store_load_samples(store, trial->trial, COUNTED_SERIES, &samples, &count, err);

    if (status == STATUS_NOT_FOUND || (status == STATUS_OK && count != trial->count))
        return error_set(err, STATUS_CORRUPT,
                         "%s: trial %" PRId64 " has not counted each of its %zu samples",
                         store_path(store), trial->trial, trial->count);
    TRY(status);
    TRY(ARRAY_GROW(counted->seconds, counted->count, count, err));
    for (size_t i = 0; i < count; i++) {
        const double value = counted_from_sample(samples[i]);

        if (!isfinite(value) || value <= 0)
            return error_set(err, STATUS_CORRUPT,
                             "%s: sample %zu of trial %" PRId64 " counted no number above 0",
                             store_path(store), i, trial->trial);
        counted->seconds[counted->count++] = counted->is_rate ? 1 / value : value * counted->unit_s;
    }
    return STATUS_OK;
}

static enum status find_scale(struct counted *counted, struct error *err)
{
    AUTO_FREE double *sorted = malloc((counted->count + 1) * sizeof(*sorted));
    double median;

    if (!sorted)
        return error_no_memory(err);
    memcpy(sorted, counted->seconds, counted->count * sizeof(*sorted));
    median = order_select(sorted, counted->count, counted->count / 2);
    counted->per_int = pow(10, floor(log10(median)) - (DIGITS - 1));
    return STATUS_OK;
}

static int64_t whole_of(double value)
{
    return value < 1 ? 1 : value < 1e18 ? llround(value) : INT64_C(1000000000000000000);
}

static enum status analyse(const struct counted *counted, const struct counted_trial *trials,
                           size_t count, const struct estimate_options *options,
                           struct estimate **ret, struct error *err)
{
    AUTO_FREE int64_t *whole = malloc((counted->count + 1) * sizeof(*whole));
    AUTO_FREE struct estimate_series *series = calloc(count + 1, sizeof(*series));
    size_t at = 0;

    if (!whole || !series)
        return error_no_memory(err);
    for (size_t i = 0; i < counted->count; i++)
        whole[i] = whole_of(counted->seconds[i] / counted->per_int);
    for (size_t i = 0; i < count; i++) {
        series[i] = (struct estimate_series){whole + at, trials[i].count, trials[i].first,
                                             trials[i].number, trials[i].started_utc_ns};
        at += trials[i].count;
    }
    return estimate_cell(series, count, options, ret, err);
}

/* From whole numbers to nanoseconds: what is stored of trials, and what findings say. */
static void scale(struct estimate *e, double by, const struct counted_trial *trials)
{
    e->step_ns *= by;
    for (size_t i = 0; i < e->trial_count; i++) {
        e->trials[i].sequence = trials[i].sequence;
        e->trials[i].mean_ns.value *= by;
        e->trials[i].mean_ns.lo *= by;
        e->trials[i].mean_ns.hi *= by;
        e->trials[i].median_ns *= by;
    }
    finding_scale_times(&e->findings, by);
}

/* The value in the program's own unit. */
static struct estimate_interval value_of(const struct counted *counted,
                                         const struct metric_value *v)
{
    const double by = counted->per_int / counted->unit_s;

    if (counted->is_rate)
        return (struct estimate_interval){.value = 1 / (v->value * counted->per_int),
                                          .lo = 1 / (v->hi * counted->per_int),
                                          .hi = 1 / (v->lo * counted->per_int),
                                          .has_value = v->has_value,
                                          .has_interval = v->has_interval};
    return (struct estimate_interval){.value = v->value * by,
                                      .lo = v->lo * by,
                                      .hi = v->hi * by,
                                      .has_value = v->has_value,
                                      .has_interval = v->has_interval};
}

enum status counted_estimate(struct store *store, const struct counted_trial *trials, size_t count,
                             const json_t *metric, const struct estimate_options *options,
                             struct estimate **estimate, struct error *err)
{
    const char *unit = member_text(metric, "unit");
    CLEANUP(counted_finish)
    struct counted counted = {.is_rate = !strcmp(member_text(metric, "better"), "higher"),
                              .unit_s = seconds_of_unit(unit)};
    struct estimate *e = NULL;
    struct estimate_interval value;

    for (size_t i = 0; i < count; i++)
        TRY(load_trial(store, &trials[i], &counted, err));
    TRY(find_scale(&counted, err));
    TRY(analyse(&counted, trials, count, options, &e, err));
    value = value_of(&counted, &e->metrics[METRIC_ITERATION_TIME]);
    scale(e, counted.per_int * 1e9, trials);
    memcpy(e->metrics, (*estimate)->metrics, sizeof(e->metrics));
    e->headline = counted.is_rate ? METRIC_COUNTED_RATE : METRIC_COUNTED_COST;
    estimate_set_metric(e, e->headline, &value, unit, false);
    finding_add(&e->findings, FINDING_COUNTED_BY_PROGRAM, 0, unit, NULL);
    estimate_destroy(*estimate);
    *estimate = e;
    return STATUS_OK;
}
