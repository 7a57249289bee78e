#include "harness/runner/serving_trace.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/canonical.h"
#include "harness/core/file.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "protocols/serving/arrivals.h"
#include "workloads/serving.h"

static enum status read_file(const struct workload *workload, const json_t *arrivals,
                             struct trace *ret, struct error *err)
{
    const json_t *columns = json_object_get(arrivals, "columns"),
                 *first = json_object_get(arrivals, "requests");
    const struct trace_columns names = {
        member_string(columns, "time"), member_string(columns, "prompt"),
        member_string(columns, "output"), member_string(arrivals, "unit")};
    AUTO_FREE char *resolved = file_beside(workload->origin, member_string(arrivals, "path"));
    FILE *file = NULL;
    enum status status;

    TRY(resolved ? file_open_stream(resolved, &file, err) : error_no_memory(err));
    status = trace_read(file, resolved, &names, ret, err);
    fclose(file);
    TRY(status);
    return first ? trace_cut(ret, (size_t)json_integer_value(first), err) : STATUS_OK;
}

/*
 * The rate that `scale` comes to names the cell; rounded, since it is the scale that is played: 1
 * where none is declared, which is written for that.
 */
static enum status set_rates(struct workload *workload, json_t *load, const struct trace *trace,
                             struct error *err)
{
    json_t *recorded = json_object_get(load, "arrivals"),
           *scale = json_object_get(recorded, "scale");
    const struct arrivals arrivals = {
        .process = ARRIVAL_TRACE, .trace = trace, .scale = scale ? json_number_value(scale) : 1};
    struct serving_load *own = &workload->serving->load;
    char text[SCENARIO_TEXT_SIZE];

    if (own->rates_count > 0 && scale)
        return error_set(err, STATUS_INVALID,
                         "%s: a trace has either a `scale` or `rates`, which say what it is scaled "
                         "to; remove one",
                         workload->origin);
    if (own->rates_count > 0)
        return STATUS_OK;
    if (!scale && json_object_set_new(recorded, "scale", json_real(1)) < 0)
        return error_no_memory(err);
    snprintf(text, sizeof(text), "%.6g", arrivals_mean_rate(&arrivals, 0));
    own->rates_count = 1;
    own->rates[0] = strtod(text, NULL);
    return json_object_set_new(load, "rates", json_pack("[f]", own->rates[0])) == 0
               ? STATUS_OK
               : error_no_memory(err);
}

static enum status set_trace(struct workload *workload, const struct trace *trace,
                             struct error *err)
{
    json_t *load = json_object_get(workload->json, "load");
    json_t *arrivals = json_object_get(load, "arrivals");
    const char *named = member_string(arrivals, "sha256");
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];

    workload->trace = trace_to_json(trace);
    if (!workload->trace)
        return error_no_memory(err);
    TRY(canonical_digest(workload->trace, &digest, err));
    if (named && strcmp(named, digest_hex(&digest, hex)) != 0)
        return error_set(err, STATUS_INVALID,
                         "%s: %s has the SHA-256 %s as a trace, and the declaration names another",
                         workload->origin, member_string(arrivals, "path"), hex);
    if (json_object_set_new(arrivals, "sha256", json_string(digest_hex(&digest, hex))) ||
        json_object_set_new(arrivals, "requests", json_integer((json_int_t)trace->count)))
        return error_no_memory(err);
    TRY(set_rates(workload, load, trace, err));
    return canonical_digest(workload->json, &workload->digest, err);
}

enum status serving_trace_find(const char *name_or_path, struct workload *ret, struct error *err)
{
    CLEANUP(workload_finish) struct workload workload = {0};
    CLEANUP(trace_finish) struct trace trace = {0};

    TRY(workload_find(name_or_path, &workload, err));
    if (workload.serving && workload.serving->load.arrivals.process == SERVING_TRACE) {
        TRY(read_file(&workload, member_in(workload.json, "load", "arrivals"), &trace, err));
        TRY(set_trace(&workload, &trace, err));
    }
    *ret = workload;
    workload = (struct workload){0};
    return STATUS_OK;
}
