#include "protocols/serving/declared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "harness/core/random.h"
#include "harness/core/text.h"
#include "protocols/serving/saturation.h"

#define SCHEDULE_STREAM 0x73636864 /* "schd" */
#define SERVER "server@"

static enum status unknown(const char *what, struct error *err)
{
    return error_set(err, STATUS_INVALID, "the declaration of a server has no %s that is known",
                     what);
}

static int64_t duration_of(const json_t *object, const char *key)
{
    int64_t ns = 0;

    return text_parse_duration_ns(member_text(object, key), &ns) ? ns : 0;
}

static enum status read_arrivals(const json_t *json, struct arrivals *ret, struct error *err)
{
    static const char *const names[] = {
#define NAME(code, name) name,
        ARRIVAL_PROCESS_MAP(NAME)};
    const double ratio = member_real(json, "rate_ratio");
    size_t i = 0;

    while (i < ARRIVAL_PROCESS_COUNT && strcmp(names[i], member_text(json, "process")) != 0)
        i++;
    if (i == ARRIVAL_PROCESS_COUNT)
        return unknown("process of arrivals", err);
    *ret = (struct arrivals){.process = (enum arrival_process)i,
                             .cv = member_real(json, "cv"),
                             .on_s = (double)duration_of(json, "on") / 1e9,
                             .off_s = (double)duration_of(json, "off") / 1e9,
                             .rate_ratio = ratio > 0 ? ratio : INFINITY};
    return STATUS_OK;
}

static enum status read_length(const json_t *json, struct length *ret, struct error *err)
{
    static const char *const names[] = {LENGTH_LAW_MAP(NAME)};
#undef NAME
    size_t i = 0;

    *ret = (struct length){.law = LENGTH_NONE};
    if (!json)
        return STATUS_OK;
    while (i < LENGTH_LAW_COUNT && strcmp(names[i], member_text(json, "law")) != 0)
        i++;
    if (i == LENGTH_LAW_COUNT || i == LENGTH_EMPIRICAL)
        return unknown("law of lengths", err);
    *ret = (struct length){.law = (enum length_law)i,
                           .mean = member_real(json, "mean"),
                           .cv = member_real(json, "cv"),
                           .min = (uint32_t)member_integer(json, "min"),
                           .max = (uint32_t)member_integer(json, "max")};
    return STATUS_OK;
}

enum status serving_declared_read(const json_t *workload, struct serving_declared *ret,
                                  struct error *err)
{
    const json_t *load = json_object_get(workload, "load");
    const json_t *lengths = json_object_get(load, "lengths");
    const json_t *batching = json_object_get(workload, "batching");
    const json_t *slo = json_object_get(workload, "slo");
    struct serving_declared declared = {
        .max_batch = member_integer(batching, "max_batch"),
        .by_token = strcmp(member_text(batching, "policy"), "continuous") == 0,
        .capacity = member_real(load, "capacity"),
        .limits = {.attain = member_real(slo, "attain"), .failures = member_real(slo, "failures")},
    };

    TRY(read_arrivals(json_object_get(load, "arrivals"), &declared.arrivals, err));
    TRY(read_length(json_object_get(lengths, "prompt"), &declared.lengths.prompt, err));
    TRY(read_length(json_object_get(lengths, "output"), &declared.lengths.output, err));
    declared.limits.ns[SERVING_TTFT] = duration_of(slo, "ttft");
    declared.limits.ns[SERVING_TPOT] = duration_of(slo, "tpot");
    declared.limits.ns[SERVING_GAP] = duration_of(slo, "gap");
    declared.limits.ns[SERVING_E2E] = duration_of(slo, "e2e");
    if (declared.max_batch < 1 && !json_object_get(workload, "endpoint"))
        return unknown("batching.max_batch", err);
    *ret = declared;
    return STATUS_OK;
}

static const json_t *arrivals_of(const json_t *workload)
{
    return member_in(workload, "load", "arrivals");
}

bool serving_trace_digest(const json_t *workload, struct digest *ret)
{
    const char *hex = member_string(arrivals_of(workload), "sha256");

    return hex && digest_from_hex(hex, ret);
}

int64_t serving_requests_of(const json_t *workload, const struct protocol *protocol)
{
    const json_t *own = json_object_get(arrivals_of(workload), "requests");

    return json_is_integer(own) ? json_integer_value(own) : protocol->serving_requests;
}

bool serving_rate_of(const char *scenario, double *ret)
{
    char *end;

    if (!scenario || strncmp(scenario, SERVER, strlen(SERVER)) != 0)
        return false;
    *ret = INFINITY;
    if (!strcmp(scenario, SERVING_SATURATED))
        return true;
    *ret = strtod(scenario + strlen(SERVER), &end);
    if (!(*ret > 0 && isfinite(*ret)) || (*end && strcmp(end, "x") != 0))
        return false;
    *ret = *end ? -*ret : *ret;
    return true;
}

enum status serving_result_of(const json_t *stored, const char *scenario,
                              struct serving_result *ret, struct error *err)
{
    struct serving_result result;
    double rate;

    TRY(type_from_json(&serving_result_type, stored, &result, err));
    if (!isfinite(result.rate) && serving_rate_of(scenario, &rate) && isfinite(rate) && rate > 0)
        result.rate = rate;
    *ret = result;
    return STATUS_OK;
}

uint64_t serving_schedule_seed(uint64_t seed, int64_t round)
{
    return random_at(seed, SCHEDULE_STREAM, (uint64_t)round);
}

enum status serving_schedule_make(const json_t *workload, const struct protocol *protocol,
                                  const struct trace *trace, double rate, uint64_t seed,
                                  int64_t round, struct schedule *ret, struct error *err)
{
    const struct schedule_extent extent = {.count =
                                               (size_t)serving_requests_of(workload, protocol)};
    struct serving_declared declared;
    double mean;

    TRY(serving_declared_read(workload, &declared, err));
    if (protocol->serving_requests == 0)
        return error_set(err, STATUS_INVALID,
                         "the protocol %s does not say how many requests a trial of a server has "
                         "(serving.requests)",
                         protocol->name);
    if (declared.arrivals.process == ARRIVAL_TRACE && trace && isinf(rate)) {
        declared.lengths.joint =
            member_text(json_object_get(arrivals_of(workload), "columns"), "output")[0] ? trace
                                                                                        : NULL;
    } else if (declared.arrivals.process == ARRIVAL_TRACE) {
        const bool has_lengths =
            member_text(json_object_get(arrivals_of(workload), "columns"), "output")[0] != '\0';

        if (!trace)
            return error_set(err, STATUS_INVALID, "the trace of its arrivals is not here");
        declared.arrivals.trace = trace;
        declared.arrivals.scale = 1;
        mean = arrivals_mean_rate(&declared.arrivals, 0);
        declared.arrivals.scale = member_real(arrivals_of(workload), "scale");
        if (declared.arrivals.scale > 0 && fabs(declared.arrivals.scale * mean / rate - 1) > 1e-5)
            return unknown("rate of its trace", err);
        if (!(declared.arrivals.scale > 0))
            declared.arrivals.scale = rate / mean;
        declared.lengths.joint = has_lengths ? trace : NULL;
        rate = 0;
    }
    if (isinf(rate)) {
        declared.arrivals = (struct arrivals){.process = ARRIVAL_DETERMINISTIC};
        rate = SCHEDULE_RATE_MAX;
    }
    return schedule_make(&declared.arrivals, &declared.lengths, rate, extent,
                         serving_schedule_seed(seed, round), ret, err);
}
