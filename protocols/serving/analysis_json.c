/* The codec of what trials under load say: one table of members writes, reads and describes it. */
#include "protocols/serving/analysis.h"

#include <math.h>
#include <string.h>

enum member_type { REAL, COUNT, INTEGER, BOOLEAN, NAME };

struct member {
    const char *group, *key; /* group NULL: at the top */
    enum member_type type;
    size_t offset;
    const char *const *names; /* NAME: of an enumeration, NULL at the end */
};

#define NAME_OF(constant, id) id,
static const char *const load_verdicts[] = {LOAD_VERDICT_MAP(NAME_OF) NULL};
static const char *const queue_verdicts[] = {QUEUE_VERDICT_MAP(NAME_OF) NULL};
static const char *const slo_verdicts[] = {SLO_VERDICT_MAP(NAME_OF) NULL};
static const char *const slo_reasons[] = {SLO_REASON_MAP(NAME_OF) NULL};
static const char *const percentile_states[] = {PERCENTILE_STATE_MAP(NAME_OF) NULL};
static const char *const capacity_states[] = {CAPACITY_STATE_MAP(NAME_OF) NULL};
#undef NAME_OF

#define AT(member) offsetof(struct serving_result, member)
static const struct member members[] = {
    {NULL, "version", COUNT, AT(version)},
    {NULL, "rate", REAL, AT(rate)},
    {NULL, "confidence", REAL, AT(confidence)},
    {NULL, "trials", COUNT, AT(trials)},
    {NULL, "windows", REAL, AT(windows)},
    {NULL, "prompt_tokens_per_s", REAL, AT(prompt_tokens_per_s)},
    {NULL, "output_tokens_per_s", REAL, AT(output_tokens_per_s)},
    {"plan", "known", BOOLEAN, AT(plan.known)},
    {"plan", "load", REAL, AT(plan.load)},
    {"plan", "relaxation_s", REAL, AT(plan.relaxation_s)},
    {"plan", "warmup_s", REAL, AT(plan.warmup_s)},
    {"plan", "requests", COUNT, AT(plan.requests)},
    {"plan", "trial_s", REAL, AT(plan.trial_s)},
    {"plan", "total_s", REAL, AT(plan.total_s)},
    {"totals", "requests", COUNT, AT(totals.requests)},
    {"totals", "ok", COUNT, AT(totals.ok)},
    {"totals", "unfinished", COUNT, AT(totals.unfinished)},
    {"totals", "failed", COUNT, AT(totals.failed)},
    {"totals", "refused", COUNT, AT(totals.refused)},
    {"totals", "timed_out", COUNT, AT(totals.timed_out)},
    {"totals", "met", COUNT, AT(totals.met)},
    {"totals", "undecided", COUNT, AT(totals.undecided)},
    {"totals", "prompt_tokens", COUNT, AT(totals.prompt_tokens)},
    {"totals", "output_tokens", COUNT, AT(totals.output_tokens)},
    {"totals", "good_tokens", COUNT, AT(totals.good_tokens)},
    {"totals", "disordered", COUNT, AT(totals.disordered)},
    {"totals", "span_ns", INTEGER, AT(totals.span_ns)},
    {"load", "verdict", NAME, AT(load.verdict), load_verdicts},
    {"load", "requests", COUNT, AT(load.requests)},
    {"load", "not_sent", COUNT, AT(load.not_sent)},
    {"load", "early", COUNT, AT(load.early)},
    {"load", "mismatched", COUNT, AT(load.mismatched)},
    {"load", "lag_p999_ns", REAL, AT(load.lag_p999_ns)},
    {"load", "late_share", REAL, AT(load.late_share)},
    {"load", "p_rate", REAL, AT(load.p_rate)},
    {"load", "p_gaps", REAL, AT(load.p_gaps)},
    {"load", "p_independence", REAL, AT(load.p_independence)},
    {"load", "p_dispersion", REAL, AT(load.p_dispersion)},
    {"queue", "verdict", NAME, AT(queue.verdict), queue_verdicts},
    {"queue", "growth", REAL, AT(queue.growth)},
    {"queue", "growth_lo", REAL, AT(queue.growth_lo)},
    {"queue", "growth_hi", REAL, AT(queue.growth_hi)},
    {"queue", "backlog", REAL, AT(queue.backlog)},
    {"queue", "backlog_end", REAL, AT(queue.backlog_end)},
    {"queue", "audit_failed", COUNT, AT(queue.audit_failed)},
    {"slo", "verdict", NAME, AT(slo.verdict), slo_verdicts},
    {"slo", "reason", NAME, AT(slo.reason), slo_reasons},
    {"slo", "attainment", REAL, AT(slo.attainment)},
    {"slo", "least", REAL, AT(slo.least)},
    {"slo", "most", REAL, AT(slo.most)},
    {"slo", "lo", REAL, AT(slo.lo)},
    {"slo", "hi", REAL, AT(slo.hi)},
    {"slo", "goodput", REAL, AT(slo.goodput)},
    {"slo", "dispersion", REAL, AT(slo.dispersion)},
    {"slo", "failures", REAL, AT(slo.failures)},
    {"slo", "needed_requests", COUNT, AT(slo.needed_requests)},
    {"slo", "mlperf_allowed", INTEGER, AT(slo.mlperf_allowed)},
    {"slo", "mlperf_passes", BOOLEAN, AT(slo.mlperf_passes)},
};
#undef AT

#define AT(member) offsetof(struct percentile_result, member)
static const struct member percentile_members[] = {
    {NULL, "state", NAME, AT(state), percentile_states},
    {NULL, "value", REAL, AT(value)},
    {NULL, "lo", REAL, AT(lo)},
    {NULL, "hi", REAL, AT(hi)},
    {NULL, "needed_requests", COUNT, AT(needed_requests)},
};
#undef AT

#define AT(member) offsetof(struct capacity_result, member)
static const struct member capacity_members[] = {
    {NULL, "state", NAME, AT(state), capacity_states},
    {NULL, "value", REAL, AT(value)},
    {NULL, "lo", REAL, AT(lo)},
    {NULL, "hi", REAL, AT(hi)},
    {NULL, "met", REAL, AT(met)},
    {NULL, "missed", REAL, AT(missed)},
};
#undef AT

#define LENGTH(table) (sizeof(table) / sizeof(*(table)))

static const char *const percentile_names[SERVING_PERCENTILES] = {"p50", "p90", "p99", "p99.9"};

/* ---- writing ---- */

static json_t *member_to_json(const struct member *m, const char *base)
{
    const void *at = base + m->offset;

    switch (m->type) {
    case REAL:
        return isfinite(*(const double *)at) ? json_real(*(const double *)at) : json_null();
    case COUNT:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case INTEGER:
        return json_integer(*(const int64_t *)at);
    case BOOLEAN:
        return json_boolean(*(const bool *)at);
    case NAME:
        return json_string(m->names[*(const unsigned *)at]);
    }
    return NULL;
}

/* The object of the member's group, made when it is not there yet. */
static json_t *group_of(json_t *object, const char *group)
{
    json_t *member = group ? json_object_get(object, group) : object;

    if (!member && json_object_set_new(object, group, json_object()) == 0)
        member = json_object_get(object, group);
    return member;
}

static json_t *to_json(const struct member *table, size_t count, const void *base)
{
    json_t *object = json_object();

    for (size_t i = 0; object && i < count; i++)
        if (json_object_set_new(group_of(object, table[i].group), table[i].key,
                                member_to_json(&table[i], base)) != 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

json_t *serving_result_to_json(const struct serving_result *result)
{
    json_t *object = to_json(members, LENGTH(members), result), *all = json_object();
    bool ok = object && all;

    for (int m = 0; ok && m < SERVING_METRIC_COUNT; m++) {
        json_t *metric = json_object();

        for (int q = 0; ok && q < SERVING_PERCENTILES; q++)
            ok = json_object_set_new(metric, percentile_names[q],
                                     to_json(percentile_members, LENGTH(percentile_members),
                                             &result->percentiles[m][q])) == 0;
        ok = json_object_set_new(all, serving_metric_name((enum serving_metric)m), metric) == 0 &&
             ok;
    }
    ok = json_object_set_new(object, "percentiles", all) == 0 && ok;
    if (ok)
        return object;
    json_decref(object);
    return NULL;
}

json_t *capacity_result_to_json(const struct capacity_result *result)
{
    return to_json(capacity_members, LENGTH(capacity_members), result);
}

/* ---- reading ---- */

static bool name_from_json(const struct member *m, const json_t *json, void *at)
{
    const char *name = json_string_value(json);

    for (unsigned i = 0; name && m->names[i]; i++)
        if (!strcmp(m->names[i], name)) {
            *(unsigned *)at = i;
            return true;
        }
    return false;
}

static bool member_from_json(const struct member *m, const json_t *json, char *base)
{
    void *at = base + m->offset;

    switch (m->type) {
    case REAL:
        *(double *)at = json_is_number(json) ? json_number_value(json) : NAN;
        return json_is_number(json) || json_is_null(json);
    case COUNT:
        *(uint64_t *)at = (uint64_t)json_integer_value(json);
        return json_is_integer(json) && json_integer_value(json) >= 0;
    case INTEGER:
        *(int64_t *)at = json_integer_value(json);
        return json_is_integer(json);
    case BOOLEAN:
        *(bool *)at = json_is_true(json);
        return json_is_boolean(json);
    case NAME:
        return name_from_json(m, json, at);
    }
    return false;
}

static enum status from_json(const struct member *table, size_t count, const json_t *json,
                             void *base, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct member *m = &table[i];
        const json_t *object = m->group ? json_object_get(json, m->group) : json;

        if (!member_from_json(m, json_object_get(object, m->key), base))
            return error_set(err, STATUS_CORRUPT, "an analysis under load has no valid '%s%s%s'",
                             m->group ? m->group : "", m->group ? "." : "", m->key);
    }
    return STATUS_OK;
}

enum status serving_result_from_json(const json_t *json, struct serving_result *ret,
                                     struct error *err)
{
    const json_t *all = json_object_get(json, "percentiles");
    struct serving_result result = {0};
    enum status status = from_json(members, LENGTH(members), json, &result, err);

    for (int m = 0; m < SERVING_METRIC_COUNT; m++)
        for (int q = 0; q < SERVING_PERCENTILES && status == STATUS_OK; q++)
            status = from_json(
                percentile_members, LENGTH(percentile_members),
                json_object_get(json_object_get(all, serving_metric_name((enum serving_metric)m)),
                                percentile_names[q]),
                &result.percentiles[m][q], err);
    if (status == STATUS_OK)
        *ret = result;
    return status;
}

enum status capacity_result_from_json(const json_t *json, struct capacity_result *ret,
                                      struct error *err)
{
    struct capacity_result result = {0};

    TRY(from_json(capacity_members, LENGTH(capacity_members), json, &result, err));
    *ret = result;
    return STATUS_OK;
}

/* ---- schema ---- */

static json_t *member_schema(const struct member *m)
{
    static const char *const types[] = {
        [REAL] = "number", [COUNT] = "integer", [INTEGER] = "integer", [BOOLEAN] = "boolean"};
    json_t *names;

    if (m->type == REAL)
        return json_pack("{s:[s,s]}", "type", "number", "null");
    if (m->type != NAME)
        return json_pack("{s:s}", "type", types[m->type]);
    names = json_array();
    for (size_t i = 0; m->names[i]; i++)
        json_array_append_new(names, json_string(m->names[i]));
    return json_pack("{s:o}", "enum", names);
}

static json_t *closed_object(void)
{
    return json_pack("{s:s, s:b, s:[], s:{}}", "type", "object", "additionalProperties", 0,
                     "required", "properties");
}

/* Adds a required property to a closed object's schema. Takes `schema`. */
static void add_property(json_t *object, const char *key, json_t *schema)
{
    json_object_set_new(json_object_get(object, "properties"), key, schema);
    json_array_append_new(json_object_get(object, "required"), json_string(key));
}

static json_t *table_schema(const struct member *table, size_t count)
{
    json_t *object = closed_object();

    for (size_t i = 0; i < count; i++) {
        const char *name = table[i].group;
        json_t *group = object;

        if (name && !json_object_get(json_object_get(object, "properties"), name))
            add_property(object, name, closed_object());
        if (name)
            group = json_object_get(json_object_get(object, "properties"), name);
        add_property(group, table[i].key, member_schema(&table[i]));
    }
    return object;
}

json_t *serving_result_schema(void)
{
    json_t *object = table_schema(members, LENGTH(members)), *all = closed_object();

    for (int m = 0; m < SERVING_METRIC_COUNT; m++) {
        json_t *metric = closed_object();

        for (int q = 0; q < SERVING_PERCENTILES; q++)
            add_property(metric, percentile_names[q],
                         table_schema(percentile_members, LENGTH(percentile_members)));
        add_property(all, serving_metric_name((enum serving_metric)m), metric);
    }
    add_property(object, "percentiles", all);
    return object;
}
