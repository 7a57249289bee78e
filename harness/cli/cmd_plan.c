#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/core/number.h"
#include "protocols/serving/trace.h"
#include "protocols/stats/order.h"
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
    KEY_RISK,
    KEY_NO_RECORD
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
    double *rates;

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
    free(rates);
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

/* ---- the view ---- */

static double number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static void say_count(struct doc *doc, const json_t *plan, const char *name, const char *words)
{
    const json_t *count = json_object_get(plan, name);

    if (json_is_integer(count))
        doc_say(doc, NULL, "%lld\t%s", (long long)json_integer_value(count), words);
    else
        doc_say(doc, NULL, "?\t%s", words);
}

static void say_unit(struct doc *doc, const json_t *unit)
{
    const json_t *capacity = json_object_get(unit, "capacity");
    const char *device = member_string(unit, "device");
    char lo[NUMBER_SIZE], hi[NUMBER_SIZE];

    number_format_digits(number(capacity, "lo"), 3, lo);
    doc_add(doc, "Measured: {code %s}, %s: ", member_string(unit, "result"), device ? device : "?");
    if (json_is_number(json_object_get(capacity, "hi")))
        doc_say(doc, NULL, "%s to %s requests/s", lo,
                number_format_digits(number(capacity, "hi"), 3, hi));
    else
        doc_say(doc, NULL, "at least %s requests/s", lo);
}

static void say_plan(struct doc *doc, const json_t *plan)
{
    static const struct doc_column columns[] = {{"Devices", DOC_NUMBER}, {"", 0}};
    const json_t *request = json_object_get(plan, "request");
    size_t i;
    json_t *entry;

    doc_add(doc, "%.4g requests/s", number(request, "demand"));
    if (json_object_get(request, "trace"))
        doc_add(doc, " (not exceeded in %g %% of the trace's spans of %g s)",
                100 * number(request, "quantile"), number(request, "span_ns") / 1e9);
    if (number(request, "growth") != 1)
        doc_add(doc, ", times %g for growth", number(request, "growth"));
    doc_say(doc, NULL, ", within the limits of what was measured:");
    doc_table(doc, NULL, columns, 2);
    say_count(doc, plan, "devices", "to serve it");
    say_count(doc, plan, "spares", "spare, for those that are out");
    say_count(doc, plan, "total", "in all");
    doc_close(doc);
    doc_say(doc, NULL,
            "Confidence %g %%; each device works %g %% of the time, and for %g %% of it too few "
            "may.",
            100 * number(request, "confidence"), 100 * number(request, "availability"),
            100 * number(request, "risk"));
    json_array_foreach(json_object_get(plan, "units"), i, entry) say_unit(doc, entry);
    json_array_foreach(json_object_get(plan, "notes"), i, entry)
        doc_say(doc, NULL, "Note: %s", member_string(entry, "text"));
}

/* ---- the command ---- */

/* What is recorded must mean the same when "last" is another. */
static enum status make(const struct command_line *line, struct store *store, const json_t *request,
                        json_t **ret, struct error *err)
{
    json_auto_t *results = json_array();

    for (size_t i = 0; i < line->argument_count; i++) {
        AUTO_FREE char *id = NULL;
        int64_t cell;

        TRY(store_find_result(store, line->arguments[i], &cell, &id, err));
        json_array_append_new(results, json_string(id));
    }
    return fleet_plan_make(store, results, request, ret, err);
}

static int plan_fleet(const struct command_line *line, struct store *store, void *context)
{
    json_auto_t *plan = NULL;
    struct error err = ERROR_INIT;

    if (make(line, store, context, &plan, &err) != STATUS_OK)
        return err.code == STATUS_INVALID ? command_fail(&err) : command_fail_store(&err);
    if (!command_has(line, KEY_NO_RECORD) && !line->bundle)
        database_record(line, "plan", "plan", plan, "the plan is not recorded");
    return output_shown(line, plan, say_plan);
}

static int run(const struct command_line *line)
{
    json_t *request = json_object();
    struct error err = ERROR_INIT;
    int result = read_request(line, request, &err) == STATUS_OK
                     ? with_store(line, STORE_READ, plan_fleet, request)
                     : command_fail(&err);

    json_decref(request);
    return result;
}

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
    {"no-record", KEY_NO_RECORD, NULL, 0, "store nothing, and leave the file as it is"},
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
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN,
    .arguments_min = 1,
    .arguments_max = FLEET_PLAN_UNITS_MAX,
    .completes = "RESULT",
    .run = run,
};
