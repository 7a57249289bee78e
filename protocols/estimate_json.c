#include "protocols/estimate.h"

#include <math.h>
#include <stdio.h>

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static void set_interval(json_t *object, const struct estimate_interval *interval)
{
    json_object_set_new(object, "value",
                        interval->has_value ? real_or_null(interval->value) : json_null());
    json_object_set_new(object, "lo",
                        interval->has_interval ? real_or_null(interval->lo) : json_null());
    json_object_set_new(object, "hi",
                        interval->has_interval ? real_or_null(interval->hi) : json_null());
}

/* "p50", "p99.9": the shortest decimal form. */
static void percentile_name(double q, char *ret, size_t size)
{
    snprintf(ret, size, "p%.10g", q * 100);
}

static json_t *percentiles_to_json(const struct estimate *e)
{
    json_t *object = json_object();
    size_t i;

    for (i = 0; i < e->percentile_count; i++) {
        const struct estimate_percentile *p = &e->percentiles[i];
        json_t *entry = json_object();
        char name[40];

        if (p->interval.has_value) {
            set_interval(entry, &p->interval);
        } else {
            json_object_set_new(entry, "refused",
                                json_string(e->mean_ns.has_value ? "too few independent samples"
                                                                 : "no steady state"));
            json_object_set_new(entry, "needed_n", json_integer((json_int_t)p->needed_n));
        }
        percentile_name(p->q, name, sizeof(name));
        json_object_set_new(object, name, entry);
    }
    return object;
}

json_t *estimate_to_json(const struct estimate *e)
{
    json_t *object = json_object(), *from = json_array(), *mean = json_object();
    json_t *verdicts = json_array(), *variance = json_object(), *warnings = json_array();
    size_t i;

    for (i = 0; i < e->trial_count; i++) {
        json_array_append_new(from, estimate_verdict_is_steady(e->trials[i].verdict) ||
                                            e->trials[i].mean_ns.has_value
                                        ? json_integer((json_int_t)e->trials[i].steady_from)
                                        : json_null());
        json_array_append_new(verdicts, json_string(estimate_verdict_name(e->trials[i].verdict)));
    }
    set_interval(mean, &e->mean_ns);
    json_object_set_new(mean, "confidence", real_or_null(e->confidence));
    json_object_set_new(variance, "iteration", real_or_null(e->variance_iteration));
    json_object_set_new(variance, "process", real_or_null(e->variance_process));
    for (i = 0; i < e->warning_count; i++)
        json_array_append_new(warnings, json_string(e->warnings[i]));

    json_object_set_new(object, "n", json_integer((json_int_t)e->sample_count));
    json_object_set_new(object, "trials", json_integer((json_int_t)e->trial_count));
    json_object_set_new(object, "verdict", json_string(estimate_verdict_name(e->verdict)));
    json_object_set_new(object, "trial_verdicts", verdicts);
    json_object_set_new(object, "steady_from", from);
    json_object_set_new(object, "mean_ns", mean);
    json_object_set_new(object, "ess", real_or_null(e->ess));
    json_object_set_new(object, "percentiles", percentiles_to_json(e));
    json_object_set_new(object, "variance", variance);
    json_object_set_new(object, "needed_trials",
                        e->needed_trials ? json_integer((json_int_t)e->needed_trials)
                                         : json_null());
    json_object_set_new(object, "warnings", warnings);
    json_object_set_new(object, "version", json_integer(ESTIMATE_VERSION));
    return object;
}
