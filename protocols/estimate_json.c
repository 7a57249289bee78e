/* The codec of an estimate: what is stored, read back, and described by a schema. */
#include "protocols/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "protocols/serving/analysis.h"

static json_t *trials_to_json(const struct estimate *e)
{
    json_t *array = json_array();

    for (size_t i = 0; i < e->trial_count; i++) {
        const struct estimate_trial *t = &e->trials[i];
        json_t *trial =
            json_pack("{s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "number", (json_int_t)t->number,
                      "verdict", estimate_verdict_name(t->verdict), "steady_from",
                      t->has_steady ? json_integer((json_int_t)t->steady_from) : json_null(),
                      "mean_ns", real_or_null(t->mean_ns.has_value ? t->mean_ns.value : NAN),
                      "mean_lo_ns", real_or_null(t->mean_ns.has_interval ? t->mean_ns.lo : NAN),
                      "mean_hi_ns", real_or_null(t->mean_ns.has_interval ? t->mean_ns.hi : NAN),
                      "median_ns", real_or_null(t->median_ns), "ess", real_or_null(t->ess));

        if (t->sequence)
            json_object_set_new(trial, "sequence", json_integer((json_int_t)t->sequence));
        if (t->requests) {
            json_object_set_new(trial, "requests", json_integer((json_int_t)t->requests));
            json_object_set_new(trial, "missed", json_integer((json_int_t)t->missed));
            json_object_set_new(trial, "undecided", json_integer((json_int_t)t->undecided));
        }
        json_array_append_new(array, trial);
    }
    return array;
}

json_t *estimate_to_json(const struct estimate *e)
{
    json_t *object =
        json_pack("{s:I, s:s, s:s, s:I, s:I, s:f, s:s, s:o, s:o, s:o, s:{s:o, s:o}, s:o, s:o}",
                  "version", (json_int_t)e->version, "verdict", estimate_verdict_name(e->verdict),
                  "headline", metrics[e->headline].id, "samples", (json_int_t)e->sample_count,
                  "iterations_per_sample", (json_int_t)e->iterations_per_sample, "confidence",
                  e->confidence, "compare_by", estimate_centre_name(e->compare_by), "ess",
                  real_or_null(e->ess), "metrics", metrics_to_json(e->metrics), "trials",
                  trials_to_json(e), "variance", "iteration", real_or_null(e->variance_iteration),
                  "process", real_or_null(e->variance_process), "needed_trials",
                  e->needed_trials ? json_integer((json_int_t)e->needed_trials) : json_null(),
                  "findings", findings_to_json(&e->findings));

    if (object && e->energy_source)
        json_object_set_new(object, "energy_source", json_string(e->energy_source));
    if (object && e->energy)
        json_object_set(object, "energy", e->energy);
    if (object && e->serving)
        json_object_set(object, "serving", e->serving);
    return object;
}

/* ---- reading ---- */

static int64_t read_count(const json_t *object, const char *key)
{
    int64_t value = json_integer_value(json_object_get(object, key));

    return value > 0 ? value : 0;
}

static struct estimate_interval read_mean(const json_t *trial)
{
    struct estimate_interval mean = {.value = member_number(trial, "mean_ns"),
                                     .lo = member_number(trial, "mean_lo_ns"),
                                     .hi = member_number(trial, "mean_hi_ns")};

    mean.has_value = isfinite(mean.value);
    mean.has_interval = mean.has_value && mean.lo <= mean.hi;
    return mean;
}

static void read_trial(const json_t *json, struct estimate_trial *ret)
{
    const json_t *from = json_object_get(json, "steady_from");

    ret->sequence = read_count(json, "sequence");
    ret->number = read_count(json, "number");
    ret->verdict = estimate_verdict_find(member_string(json, "verdict"));
    ret->has_steady = json_is_integer(from) && json_integer_value(from) >= 0;
    ret->steady_from = ret->has_steady ? (size_t)json_integer_value(from) : 0;
    ret->mean_ns = read_mean(json);
    ret->median_ns = member_number(json, "median_ns");
    ret->ess = member_number(json, "ess");
    ret->requests = read_count(json, "requests");
    ret->missed = read_count(json, "missed");
    ret->undecided = read_count(json, "undecided");
}

static bool read_lists(const json_t *json, struct estimate *e)
{
    const json_t *trials = json_object_get(json, "trials"), *trial;
    const json_t *energy = json_object_get(json, "energy");
    const json_t *serving = json_object_get(json, "serving");
    const char *source = member_string(json, "energy_source");
    size_t i;

    e->trials = calloc(json_array_size(trials) + 1, sizeof(*e->trials));
    if (!e->trials || !findings_from_json(json_object_get(json, "findings"), &e->findings))
        return false;
    json_array_foreach(trials, i, trial) read_trial(trial, &e->trials[e->trial_count++]);
    if (json_is_array(energy))
        e->energy = json_incref((json_t *)energy);
    if (json_is_object(serving))
        e->serving = json_incref((json_t *)serving);
    e->energy_source = source ? strdup(source) : NULL;
    return !source || e->energy_source;
}

enum status estimate_from_json(const json_t *json, struct estimate **ret, struct error *err)
{
    const json_t *variance = json_object_get(json, "variance");
    const char *by = member_string(json, "compare_by");
    struct estimate *e;

    if (!json_is_object(json))
        return error_set(err, STATUS_CORRUPT, "an estimate is no JSON object");
    e = calloc(1, sizeof(*e));
    if (!e)
        return error_no_memory(err);
    e->version = read_count(json, "version");
    e->verdict = estimate_verdict_find(member_string(json, "verdict"));
    e->headline = metric_find(member_string(json, "headline"));
    if (e->headline == METRIC_COUNT)
        e->headline = METRIC_ITERATION_TIME;
    e->sample_count = (size_t)read_count(json, "samples");
    e->iterations_per_sample = read_count(json, "iterations_per_sample");
    e->confidence = member_number(json, "confidence");
    if (!(e->confidence > 0 && e->confidence < 1))
        e->confidence = 0;
    e->compare_by = by && strcmp(by, estimate_centre_name(ESTIMATE_MEDIAN)) == 0 ? ESTIMATE_MEDIAN
                                                                                 : ESTIMATE_MEAN;
    e->ess = member_number(json, "ess");
    metrics_from_json(json_object_get(json, "metrics"), e->metrics);
    e->variance_iteration = member_number(variance, "iteration");
    e->variance_process = member_number(variance, "process");
    e->needed_trials = (uint64_t)read_count(json, "needed_trials");
    if (!read_lists(json, e)) {
        estimate_destroy(e);
        return error_no_memory(err);
    }
    *ret = e;
    return STATUS_OK;
}

/* ---- schema ---- */

static json_t *verdicts_schema(void)
{
    json_t *names = json_array();

    for (int i = 0; i < ESTIMATE_VERDICT_COUNT; i++)
        json_array_append_new(names, json_string(estimate_verdict_name((enum estimate_verdict)i)));
    return json_pack("{s:o}", "enum", names);
}

static json_t *number_or_null(void)
{
    return json_pack("{s:[s,s]}", "type", "number", "null");
}

static json_t *trial_schema(void)
{
    return json_pack(
        "{s:s, s:b, s:[s,s,s,s], s:{s:{s:s, s:s}, s:{s:s, s:i}, s:o, s:{s:[s,s], s:i}, s:o, s:o, "
        "s:o, s:o, s:o, s:{s:s, s:s}, s:{s:s, s:s}, s:{s:s, s:s}}}",
        "type", "object", "additionalProperties", 0, "required", "number", "verdict", "mean_ns",
        "ess", "properties", "sequence", "type", "integer", "description",
        "place in the campaign's order", "number", "type", "integer", "minimum", 1, "verdict",
        verdicts_schema(), "steady_from", "type", "integer", "null", "minimum", 0, "mean_ns",
        number_or_null(), "mean_lo_ns", number_or_null(), "mean_hi_ns", number_or_null(),
        "median_ns", number_or_null(), "ess", number_or_null(), "requests", "type", "integer",
        "description", "of a server: after the warmup", "missed", "type", "integer", "description",
        "requests outside the limits", "undecided", "type", "integer", "description",
        "requests of which nobody can tell");
}

json_t *estimate_schema(void)
{
    json_t *ids = json_array(), *properties;

    for (int i = 0; i < METRIC_COUNT; i++)
        json_array_append_new(ids, json_string(metrics[i].id));
    properties = json_pack(
        "{s:{s:s}, s:o, s:{s:o}, s:{s:s}, s:{s:s}, s:o, s:{s:[s,s]}, s:o, s:o, s:{s:s, s:o}, "
        "s:{s:s, s:b, s:{s:o, s:o}}, s:{s:[s,s]}, s:o, s:{s:s}, s:{s:s}}",
        "version", "type", "integer", "verdict", verdicts_schema(), "headline", "enum", ids,
        "samples", "type", "integer", "iterations_per_sample", "type", "integer", "confidence",
        number_or_null(), "compare_by", "enum", "mean", "median", "ess", number_or_null(),
        "metrics", metrics_schema(), "trials", "type", "array", "items", trial_schema(), "variance",
        "type", "object", "additionalProperties", 0, "properties", "iteration", number_or_null(),
        "process", number_or_null(), "needed_trials", "type", "integer", "null", "findings",
        findings_schema(), "energy_source", "type", "string", "energy", "type", "array");
    if (properties)
        json_object_set_new(properties, "serving", serving_result_schema());
    return json_pack("{s:s, s:b, s:[s,s,s,s,s,s], s:o}", "type", "object", "additionalProperties",
                     0, "required", "version", "verdict", "headline", "metrics", "trials",
                     "findings", "properties", properties);
}
