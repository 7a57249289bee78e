#include "workloads/serving.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ATTAIN_DEFAULT 0.99
#define FAILURES_DEFAULT 0.001
#define TOKENS_MAX 1000000
#define STAY_MIN_NS INT64_C(10000000)
#define TRACED_PROMPT "load.arrivals.columns.prompt"
#define TRACED_OUTPUT "load.arrivals.columns.output"

static const struct declaration_name process_names[] = {
    {"poisson", SERVING_POISSON}, {"deterministic", SERVING_DETERMINISTIC},
    {"gamma", SERVING_GAMMA},     {"on_off", SERVING_ON_OFF},
    {"trace", SERVING_TRACE},
};

static const struct declaration_name unit_names[] = {
    {"s", SERVING_UNIT_S},
    {"ms", SERVING_UNIT_MS},
    {"us", SERVING_UNIT_US},
    {"ns", SERVING_UNIT_NS},
};

static const struct declaration_name law_names[] = {
    {"none", SERVING_NONE},           {"fixed", SERVING_FIXED},
    {"uniform", SERVING_UNIFORM},     {"lognormal", SERVING_LOGNORMAL},
    {"geometric", SERVING_GEOMETRIC},
};

static const struct declaration_name policy_names[] = {
    {"deadline", SERVING_DEADLINE},
    {"continuous", SERVING_CONTINUOUS},
};

#define DURATION (FIELD_OPTIONAL | DECLARATION_DURATION)

static const struct declaration_field columns_fields[] = {
    FIELD_STRING("time", FIELD_REQUIRED, struct serving_columns, time, 1, 200),
    FIELD_STRING("prompt", FIELD_OPTIONAL, struct serving_columns, prompt, 1, 200),
    FIELD_STRING("output", FIELD_OPTIONAL, struct serving_columns, output, 1, 200),
    FIELD_END,
};

static const struct declaration_field arrivals_fields[] = {
    FIELD_ENUM("process", FIELD_REQUIRED, struct serving_arrivals, process, process_names, 5),
    FIELD_FLOAT("cv", FIELD_OPTIONAL, struct serving_arrivals, cv),
    FIELD_INT("on", DURATION, struct serving_arrivals, on_ns),
    FIELD_INT("off", DURATION, struct serving_arrivals, off_ns),
    FIELD_FLOAT("rate_ratio", FIELD_OPTIONAL, struct serving_arrivals, rate_ratio),
    FIELD_STRING("path", FIELD_OPTIONAL, struct serving_arrivals, path, 1, 4000),
    FIELD_GROUP("columns", FIELD_OPTIONAL, struct serving_arrivals, columns, columns_fields),
    FIELD_ENUM("unit", FIELD_OPTIONAL, struct serving_arrivals, unit, unit_names, 4),
    FIELD_FLOAT("scale", FIELD_OPTIONAL, struct serving_arrivals, scale),
    FIELD_INT("requests", FIELD_OPTIONAL, struct serving_arrivals, requests),
    FIELD_STRING("sha256", FIELD_OPTIONAL, struct serving_arrivals, sha256, 64, 64),
    FIELD_END,
};

static const struct declaration_schema rate_entry = {DECLARATION_FLOAT, DECLARATION_TIMES,
                                                     sizeof(double)};

static const struct declaration_field length_fields[] = {
    FIELD_ENUM("law", FIELD_REQUIRED, struct serving_length, law, law_names, 5),
    FIELD_FLOAT("mean", FIELD_OPTIONAL, struct serving_length, mean),
    FIELD_FLOAT("cv", FIELD_OPTIONAL, struct serving_length, cv),
    FIELD_INT("min", FIELD_OPTIONAL, struct serving_length, min),
    FIELD_INT("max", FIELD_OPTIONAL, struct serving_length, max),
    FIELD_END,
};

static const struct declaration_field lengths_fields[] = {
    FIELD_GROUP("prompt", FIELD_OPTIONAL, struct serving_lengths, prompt, length_fields),
    FIELD_GROUP("output", FIELD_REQUIRED, struct serving_lengths, output, length_fields),
    FIELD_END,
};

const struct declaration_field serving_load_fields[] = {
    FIELD_GROUP("arrivals", FIELD_REQUIRED, struct serving_load, arrivals, arrivals_fields),
    FIELD_LIST("rates", FIELD_OPTIONAL, struct serving_load, rates, &rate_entry, 1,
               SERVING_RATES_MAX),
    FIELD_FLOAT("capacity", FIELD_OPTIONAL, struct serving_load, capacity),
    FIELD_GROUP("lengths", FIELD_OPTIONAL, struct serving_load, lengths, lengths_fields),
    FIELD_END,
};

const struct declaration_field serving_batching_fields[] = {
    FIELD_ENUM("policy", FIELD_REQUIRED, struct serving_batching, policy, policy_names, 2),
    FIELD_INT("max_batch", FIELD_REQUIRED, struct serving_batching, max_batch),
    FIELD_INT("max_wait", DURATION, struct serving_batching, max_wait_ns),
    FIELD_INT("queue", FIELD_OPTIONAL, struct serving_batching, queue),
    FIELD_INT("max_tokens", FIELD_OPTIONAL, struct serving_batching, max_tokens),
    FIELD_INT("chunk", FIELD_OPTIONAL, struct serving_batching, chunk),
    FIELD_END,
};

const struct declaration_field serving_slo_fields[] = {
    FIELD_INT("ttft", DURATION, struct serving_slo, ttft_ns),
    FIELD_INT("tpot", DURATION, struct serving_slo, tpot_ns),
    FIELD_INT("gap", DURATION, struct serving_slo, gap_ns),
    FIELD_INT("e2e", DURATION, struct serving_slo, e2e_ns),
    FIELD_FLOAT("attain", FIELD_OPTIONAL, struct serving_slo, attain),
    FIELD_FLOAT("failures", FIELD_OPTIONAL, struct serving_slo, failures),
    FIELD_END,
};

static enum status check_arrivals(const struct declaration *declaration,
                                  const struct serving_arrivals *arrivals, struct error *err)
{
    static const struct {
        const char *path;
        enum serving_process of;
    } keys[] = {
        {"load.arrivals.cv", SERVING_GAMMA},     {"load.arrivals.on", SERVING_ON_OFF},
        {"load.arrivals.off", SERVING_ON_OFF},   {"load.arrivals.rate_ratio", SERVING_ON_OFF},
        {"load.arrivals.path", SERVING_TRACE},   {"load.arrivals.columns", SERVING_TRACE},
        {"load.arrivals.scale", SERVING_TRACE},  {"load.arrivals.requests", SERVING_TRACE},
        {"load.arrivals.sha256", SERVING_TRACE}, {"load.arrivals.unit", SERVING_TRACE}};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const bool is_optional = i == 3 || i > 5;
        const bool wanted = keys[i].of == arrivals->process && !is_optional;

        if (declaration_has(declaration, keys[i].path) && keys[i].of != arrivals->process)
            return declaration_error(declaration, keys[i].path, err,
                                     "`%s` belongs to another process; remove it", keys[i].path);
        if (wanted && !declaration_has(declaration, keys[i].path))
            return declaration_error(declaration, "load.arrivals.process", err,
                                     "this process needs `%s`", keys[i].path);
    }
    if (arrivals->process == SERVING_GAMMA && !(arrivals->cv >= 0.1 && arrivals->cv <= 10))
        return declaration_error(declaration, "load.arrivals.cv", err,
                                 "`cv` is %g; write a coefficient of variation of the gaps from "
                                 "0.1 to 10",
                                 arrivals->cv);
    if (arrivals->process == SERVING_ON_OFF &&
        (arrivals->on_ns < STAY_MIN_NS || arrivals->off_ns < STAY_MIN_NS))
        return declaration_error(declaration, "load.arrivals", err,
                                 "`on` and `off` are mean stays; write 10ms or more");
    if (declaration_has(declaration, "load.arrivals.rate_ratio") && !(arrivals->rate_ratio >= 1))
        return declaration_error(declaration, "load.arrivals.rate_ratio", err,
                                 "`rate_ratio` is %g; write how many times the rate of the second "
                                 "state the first one has, 1 or more",
                                 arrivals->rate_ratio);
    if (declaration_has(declaration, "load.arrivals.scale") &&
        !(arrivals->scale >= 1e-3 && arrivals->scale <= 1e3))
        return declaration_error(declaration, "load.arrivals.scale", err,
                                 "`scale` is %g; write how many times as fast the trace is played, "
                                 "0.001 to 1000",
                                 arrivals->scale);
    if (declaration_has(declaration, "load.arrivals.requests") && arrivals->requests < 2)
        return declaration_error(declaration, "load.arrivals.requests", err,
                                 "`requests` is %lld; write how many of the trace's first ones are "
                                 "played, 2 or more",
                                 (long long)arrivals->requests);
    return STATUS_OK;
}

static enum status check_rates(const struct declaration *declaration, struct serving_load *load,
                               enum serving_by by, struct error *err)
{
    char path[32], text[32];

    if (load->rates_count == 0 && load->arrivals.process != SERVING_TRACE)
        return declaration_error(
            declaration, "load", err,
            "`rates` is missing; write requests per second, such as [50, 100]");
    if (declaration_has(declaration, "load.capacity") &&
        !(load->capacity > 0 && load->capacity <= SERVING_RATE_MAX))
        return declaration_error(declaration, "load.capacity", err,
                                 "`capacity` is %g; write the requests per second that the subject "
                                 "serves offline, above 0 and at most %g",
                                 load->capacity, SERVING_RATE_MAX);
    for (uint32_t i = 0; i < load->rates_count; i++) {
        snprintf(path, sizeof(path), "load.rates[%u]", i);
        if (load->rates[i] < 0 && !declaration_has(declaration, "load.capacity") &&
            by == SERVED_ELSEWHERE)
            return declaration_error(declaration, path, err,
                                     "%gx is a share of the capacity; write `capacity`, the "
                                     "requests per second that the endpoint serves offline",
                                     -load->rates[i]);
        if (load->rates[i] < 0 && load->capacity > 0) { /* rounded: the rate names the cell */
            snprintf(text, sizeof(text), "%.6g", -load->rates[i] * load->capacity);
            load->rates[i] = strtod(text, NULL);
        }
        if (!(load->rates[i] != 0 && fabs(load->rates[i]) <= SERVING_RATE_MAX))
            return declaration_error(declaration, path, err,
                                     "rate %g; write requests per second, above 0 and at most %g",
                                     load->rates[i], SERVING_RATE_MAX);
        for (uint32_t j = 0; j < i; j++)
            if (load->rates[i] == load->rates[j])
                return declaration_error(declaration, path, err,
                                         "rate %g is listed twice; remove one", load->rates[i]);
    }
    return STATUS_OK;
}

static enum status check_length(const struct declaration *declaration, const char *path,
                                struct serving_length *length, struct error *err)
{
    const bool by_mean = length->law == SERVING_FIXED || length->law == SERVING_LOGNORMAL ||
                         length->law == SERVING_GEOMETRIC;

    if (length->law == SERVING_NONE)
        return STATUS_OK;
    if (by_mean && !(length->mean >= 1 && length->mean <= TOKENS_MAX))
        return declaration_error(declaration, path, err,
                                 "`mean` is %g; write a number of tokens from 1 to %d",
                                 length->mean, TOKENS_MAX);
    if (length->law == SERVING_LOGNORMAL && !(length->cv > 0 && length->cv <= 10))
        return declaration_error(declaration, path, err,
                                 "`cv` is %g; write standard deviation / mean, above 0 and at "
                                 "most 10",
                                 length->cv);
    if (length->law == SERVING_FIXED)
        return STATUS_OK;
    if (length->min == 0)
        length->min = 1;
    if (length->max == 0 && length->law != SERVING_UNIFORM)
        length->max = TOKENS_MAX;
    if (length->min < 1 || length->max < length->min || length->max > TOKENS_MAX)
        return declaration_error(declaration, path, err,
                                 "`min` is %lld and `max` %lld; write 1 <= min <= max <= %d",
                                 (long long)length->min, (long long)length->max, TOKENS_MAX);
    return STATUS_OK;
}

static enum status check_lengths(const struct declaration *declaration,
                                 struct serving_lengths *lengths, bool steps, struct error *err)
{
    const bool traced = declaration_has(declaration, TRACED_OUTPUT);

    if (traced && declaration_has(declaration, "load.lengths"))
        return declaration_error(declaration, "load.lengths", err,
                                 "the trace has the lengths; remove `lengths`, or the columns "
                                 "`prompt` and `output`");
    if (declaration_has(declaration, TRACED_PROMPT) && !traced)
        return declaration_error(declaration, "load.arrivals.columns", err,
                                 "write the column `output`, too, or neither");
    if (traced && !steps)
        return declaration_error(declaration, "load.arrivals.columns", err,
                                 "requests of this kind have no lengths: all are of the declared "
                                 "shape; remove the columns `prompt` and `output`");
    if (!declaration_has(declaration, "load.lengths"))
        return STATUS_OK;
    if (!steps)
        return declaration_error(declaration, "load.lengths", err,
                                 "requests of this kind have no lengths: all are of the declared "
                                 "shape; remove `lengths`");
    TRY(check_length(declaration, "load.lengths.prompt", &lengths->prompt, err));
    return check_length(declaration, "load.lengths.output", &lengths->output, err);
}

static enum status check_batching(const struct declaration *declaration,
                                  struct serving_batching *batching, bool steps, struct error *err)
{
    if (batching->max_batch < 1 || batching->max_batch > SERVING_BATCH_MAX)
        return declaration_error(declaration, "batching.max_batch", err,
                                 "`max_batch` is %lld; write the most requests of a batch, 1 to %d",
                                 (long long)batching->max_batch, SERVING_BATCH_MAX);
    if (batching->policy == SERVING_CONTINUOUS && !steps)
        return declaration_error(declaration, "batching.policy", err,
                                 "this kind has no steps that requests could join; write deadline");
    if (batching->policy == SERVING_CONTINUOUS && declaration_has(declaration, "batching.max_wait"))
        return declaration_error(declaration, "batching.max_wait", err,
                                 "continuous batching does not wait; remove `max_wait`");
    if (batching->max_wait_ns < 0)
        return declaration_error(declaration, "batching.max_wait", err,
                                 "`max_wait` is negative; write how long the oldest request may "
                                 "wait for others, such as 2ms");
    if (!declaration_has(declaration, "batching.queue"))
        batching->queue = SERVING_QUEUE_DEFAULT;
    if (batching->queue < 1 || batching->queue > (1 << 20))
        return declaration_error(declaration, "batching.queue", err,
                                 "`queue` is %lld; write how many requests may wait, 1 to %d",
                                 (long long)batching->queue, 1 << 20);
    return STATUS_OK;
}

static enum status check_slo(const struct declaration *declaration, struct serving_slo *slo,
                             bool steps, struct error *err)
{
    const bool has_tokens = steps && (declaration_has(declaration, "load.lengths") ||
                                      declaration_has(declaration, TRACED_OUTPUT));

    if (!(slo->ttft_ns || slo->tpot_ns || slo->gap_ns || slo->e2e_ns))
        return declaration_error(declaration, "slo", err,
                                 "no limit is written; write one or more of `ttft`, `tpot`, `gap` "
                                 "and `e2e`, such as `e2e: 100ms`");
    if (slo->ttft_ns < 0 || slo->tpot_ns < 0 || slo->gap_ns < 0 || slo->e2e_ns < 0)
        return declaration_error(declaration, "slo", err,
                                 "a limit is negative; write a duration such as 100ms");
    if ((slo->tpot_ns > 0 || slo->gap_ns > 0) && !has_tokens)
        return declaration_error(declaration, slo->tpot_ns > 0 ? "slo.tpot" : "slo.gap", err,
                                 "requests make no tokens one after the other here; remove `%s`",
                                 slo->tpot_ns > 0 ? "tpot" : "gap");
    if (!declaration_has(declaration, "slo.attain"))
        slo->attain = ATTAIN_DEFAULT;
    if (!declaration_has(declaration, "slo.failures"))
        slo->failures = FAILURES_DEFAULT;
    if (!(slo->attain > 0 && slo->attain < 1))
        return declaration_error(declaration, "slo.attain", err,
                                 "`attain` is %g; write the share of requests that must keep the "
                                 "limits, such as 0.99",
                                 slo->attain);
    if (!(slo->failures >= 0 && slo->failures < 1))
        return declaration_error(declaration, "slo.failures", err,
                                 "`failures` is %g; write the share of requests that may fail, "
                                 "such as 0.001",
                                 slo->failures);
    return STATUS_OK;
}

static enum status check_sections(const struct declaration *declaration, enum serving_by by,
                                  struct error *err)
{
    static const struct {
        const char *name;
        bool of_endpoints;
    } sections[] = {{"load", true}, {"batching", false}, {"slo", true}};

    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
        const char *name = sections[i].name;
        const bool has = declaration_has(declaration, name);
        const bool wanted =
            by == SERVED_HERE || (by == SERVED_ELSEWHERE && sections[i].of_endpoints);

        if (has && !wanted && by == SERVED_ELSEWHERE)
            return declaration_error(declaration, name, err,
                                     "an endpoint forms its batches itself; remove `%s`", name);
        if (has && !wanted)
            return declaration_error(declaration, name, err,
                                     "`%s` belongs to `scenario: server`; write that, or remove it",
                                     name);
        if (!has && wanted)
            return declaration_error(declaration, "scenario", err,
                                     "`scenario: server` needs the section `%s`", name);
    }
    if (by == SERVED_ELSEWHERE && !declaration_has(declaration, "load.lengths.prompt") &&
        !declaration_has(declaration, TRACED_PROMPT) &&
        !(declaration_has(declaration, "endpoint.prompts") &&
          (declaration_has(declaration, "load.lengths") ||
           declaration_has(declaration, TRACED_OUTPUT))))
        return declaration_error(declaration, "load", err,
                                 "requests of an endpoint need `lengths` with `prompt` and "
                                 "`output`, such as {law: fixed, mean: 128}");
    return STATUS_OK;
}

enum status serving_check(const struct declaration *declaration, struct serving_declaration *data,
                          enum serving_by by, bool steps, struct error *err)
{
    TRY(check_sections(declaration, by, err));
    if (by == SERVED_BY_NONE)
        return STATUS_OK;
    TRY(check_arrivals(declaration, &data->load.arrivals, err));
    TRY(check_rates(declaration, &data->load, by, err));
    TRY(check_lengths(declaration, &data->load.lengths, steps, err));
    if (by == SERVED_HERE)
        TRY(check_batching(declaration, &data->batching, steps, err));
    return check_slo(declaration, &data->slo, steps, err);
}
