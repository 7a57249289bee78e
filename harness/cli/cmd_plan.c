#include <math.h>
#include <stdlib.h>

#include "harness/cli/commands.h"
#include "harness/cli/judging.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/text.h"
#include "protocols/serving/trace.h"
#include "protocols/stats/order.h"
#include "reports/plan_document.h"
#include "results/analysis/fleet_plan.h"

enum {
    KEY_DEMAND = 0x100,
    KEY_TRACE,
    KEY_COLUMN,
    KEY_SPAN,
    KEY_QUANTILE,
    KEY_GROWTH,
    KEY_CONFIDENCE,
    KEY_AVAILABILITY,
    KEY_RISK
};

/* A number from above `least` to `most`, else `otherwise`. */
static enum status read_number(const struct command_line *line, int key, const char *name,
                               double otherwise, double least, double most, json_t *request,
                               struct error *err)
{
    const char *given = command_value(line, key);
    double value = otherwise;

    if (given && (!text_parse_double(given, &value) || !(value > least && value <= most)))
        return error_set(err, STATUS_INVALID, "--%s %s: write a number above %g, up to %g", name,
                         given, least, most);
    json_object_set_new(request, name, json_real(value));
    return STATUS_OK;
}

/* The quantile of the rates of arrivals over windows of `span_ns`, the last one not whole left out:
 * the least rate that so large a share of the windows does not exceed. */
static enum status rate_of_trace(const struct trace *trace, int64_t span_ns, double quantile,
                                 double *ret, struct error *err)
{
    const int64_t windows = trace->requests[trace->count - 1].at_ns / span_ns;
    AUTO_FREE double *rates = NULL;

    if (windows < 1 || windows > 10000000)
        return error_set(err, STATUS_INVALID,
                         "--span: the trace lasts %.6g s; write a span that fits into it 1 to "
                         "10000000 times",
                         (double)trace->requests[trace->count - 1].at_ns / 1e9);
    rates = calloc((size_t)windows, sizeof(*rates));
    if (!rates)
        return error_no_memory(err);
    for (size_t i = 0; i < trace->count; i++)
        if (trace->requests[i].at_ns / span_ns < windows)
            rates[trace->requests[i].at_ns / span_ns] += 1e9 / (double)span_ns;
    order_sort_real(rates, (size_t)windows);
    *ret = rates[(size_t)fmax(ceil(quantile * (double)windows) - 1, 0)];
    return STATUS_OK;
}

static enum status read_trace(const struct command_line *line, json_t *request, struct error *err)
{
    const char *path = command_value(line, KEY_TRACE), *span = command_value(line, KEY_SPAN);
    const char *column = command_value(line, KEY_COLUMN);
    const struct trace_columns columns = {column ? column : "TIMESTAMP", NULL, NULL};
    int64_t span_ns = INT64_C(60000000000);
    char hex[DIGEST_HEX_SIZE];
    CLEANUP(trace_finish) struct trace trace = {0};
    FILE *file = NULL;
    double demand = 0;
    enum status status;

    if (span && (!text_parse_duration_ns(span, &span_ns) || span_ns < 1000000))
        return error_set(err, STATUS_INVALID, "--span %s: write a duration from 1ms", span);
    TRY(read_number(line, KEY_QUANTILE, "quantile", 0.99, 0, 1, request, err));
    TRY(file_open_stream(path, &file, err));
    status = trace_read(file, path, &columns, &trace, err);
    fclose(file);
    TRY(status);
    TRY(rate_of_trace(&trace, span_ns, json_real_value(json_object_get(request, "quantile")),
                      &demand, err));
    if (demand <= 0)
        return error_set(err, STATUS_INVALID, "%s: no request comes in so many of its windows",
                         path);
    json_object_set_new(request, "demand", json_real(demand));
    json_object_set_new(request, "span_ns", json_integer((json_int_t)span_ns));
    json_object_set_new(request, "trace", json_string(digest_hex(&trace.digest, hex)));
    return STATUS_OK;
}

static enum status read_request(const struct command_line *line, json_t *request, struct error *err)
{
    const bool traced = command_has(line, KEY_TRACE);

    if (traced == command_has(line, KEY_DEMAND))
        return error_set(err, STATUS_INVALID,
                         "write either --demand RATE (requests/s) or --trace FILE");
    if (!traced)
        TRY(read_number(line, KEY_DEMAND, "demand", 0, 0, 1e9, request, err));
    else
        TRY(read_trace(line, request, err));
    TRY(read_number(line, KEY_GROWTH, "growth", 1, 0, 1000, request, err));
    TRY(read_number(line, KEY_CONFIDENCE, "confidence", 0.95, 0.5, 0.9999, request, err));
    TRY(read_number(line, KEY_AVAILABILITY, "availability", 0.99, 0, 1, request, err));
    return read_number(line, KEY_RISK, "risk", 0.001, 0, 0.5, request, err);
}

static enum status ask(const struct command_line *line, struct judging_request *ret,
                       struct error *err)
{
    json_t *results = json_array(), *request = json_object();

    ret->asked = json_pack("{s:o, s:o}", "results", results, "request", request);
    for (size_t i = 0; i < line->argument_count; i++)
        json_array_append_new(results, json_string(line->arguments[i]));
    return read_request(line, request, err);
}

static const struct judging judging = {
    .judgement = &judgement_plan, .ask = ask, .write = plan_document};

static const struct argp_option options[] = {
    {"demand", KEY_DEMAND, "RATE", 0, "requests/s that all devices together must serve"},
    {"trace", KEY_TRACE, "FILE", 0, "or take the demand from recorded arrivals (CSV)"},
    {"column", KEY_COLUMN, "NAME", 0, "the trace's column of times (default: TIMESTAMP)"},
    {"span", KEY_SPAN, "DURATION", 0,
     "count the trace's requests in spans of this length (default: 60s)"},
    {"quantile", KEY_QUANTILE, "SHARE", 0,
     "share of the spans whose requests must be served within the limits (default: 0.99)"},
    {"growth", KEY_GROWTH, "FACTOR", 0, "multiply the demand by this (default: 1)"},
    {"confidence", KEY_CONFIDENCE, "SHARE", 0, "that the devices can serve it (default: 0.95)"},
    {"availability", KEY_AVAILABILITY, "SHARE", 0,
     "share of the time that a device works (default: 0.99)"},
    {"risk", KEY_RISK, "SHARE", 0,
     "share of the time in which too few devices may work (default: 0.001)"},
    {0}};

const struct command command_plan = {
    .name = "plan",
    .arguments = "RESULT...",
    .summary = "Compute how many devices serve a demand within the limits",
    .text =
        "Each RESULT is of a server under load (scenario: server), on a device of its own; the "
        "result of one rate stands for those of all its rates. What a device can serve is its "
        "capacity within the declared limits, never a peak. When R devices were measured, with "
        "mean m and standard deviation s, n devices serve a demand D with the wanted confidence if "
        "n (m - t s sqrt(1/n + 1/R)) >= D, t being Student's quantile. When one was measured, "
        "nothing is known of others: its own lower bound counts then, and the output says so. The "
        "number of spares f is the least for which more than f of n + f devices are out of service "
        "for no larger share of the time than the risk, if failures are independent.\n"
        "\n"
        "The plan is stored in the log, and `assay verify` recomputes it.\n"
        "\n"
        "  assay plan 9f2c41aa/1 --demand 40 --growth 1.5\n"
        "  assay plan 9f2c41aa/1 b7d0e333/1 --trace arrivals.csv --span 60s",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN | GROUP_RECORD,
    .arguments_min = 1,
    .arguments_max = FLEET_PLAN_UNITS_MAX,
    .completes = "RESULT",
    .judging = &judging,
};
