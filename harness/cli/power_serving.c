#include "harness/cli/power_serving.h"

#include <stdio.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "workloads/declared.h"

/* "  12345    2 h 3 min" */
static void append_cost(struct text *out, const json_t *cost)
{
    char human[TEXT_HUMAN_SIZE];

    text_append_format(out, " %12lld %12s", member_integer(cost, "requests"),
                       text_human_duration(1e9 * member_real(cost, "total_s"), human));
}

static void append_rate(struct text *out, const json_t *row, double precision, double margin)
{
    char human[TEXT_HUMAN_SIZE], wanted[32];

    text_append_format(out, "\n%.6g requests/s, load %.3g", member_real(row, "rate"),
                       member_real(row, "load"));
    if (json_is_null(json_object_get(row, "relaxation_s"))) {
        text_append(out, ": the backlog grows, so that no number of requests is enough\n");
        return;
    }
    snprintf(wanted, sizeof(wanted), "known to ±%.3g %%", 100 * precision);
    text_append_format(out,
                       ", relaxation time %s\n   %-10s %8s %25s %26s\n   %-10s %8s %12s %12s %12s "
                       "%12s\n",
                       text_human_duration(1e9 * member_real(row, "relaxation_s"), human), "", "",
                       "least for an interval", wanted, "figure", "share", "requests", "in all",
                       "requests", "in all");
    EACH(need, json_object_get(row, "needs")) {
        const char *figure = member_string(need, "figure");
        bool capacity = !strcmp(figure, "capacity");

        text_append_format(out, "   %-10s %6.4g %%", figure, 100 * member_real(need, "tail"));
        if (capacity) {
            snprintf(wanted, sizeof(wanted), "to ±%.3g %%:", 100 * margin);
            text_append_format(out, " %26s", wanted);
        } else {
            append_cost(out, json_object_get(need, "least"));
        }
        append_cost(out, json_object_get(need, "wanted"));
        text_append_char(out, '\n');
    }
}

static int show(const json_t *made)
{
    const char *name = member_string(made, "workload");
    struct text out = TEXT_INIT;

    text_append(&out, "Load of ");
    text_append_printable(&out, name ? name : "?", strlen(name ? name : "?"));
    text_append_format(&out, ", which serves %.6g requests/s offline, in %lld trials\n",
                       member_real(made, "capacity"), member_integer(made, "trials"));
    EACH(row, json_object_get(made, "rates"))
        append_rate(&out, row, member_real(made, "precision"), member_real(made, "margin"));
    text_append(
        &out, "\nShare: of the requests that miss the limits or lie above the percentile, whose "
              "interval is within so much of itself. Capacity: the highest rate that keeps the "
              "limits, should it lie here. Requests are those of a trial, with its "
              "warmup (serving.requests of a protocol); the time is that of all trials. By "
              "relaxation times (protocols/serving/plan.h), services taken for exponential; "
              "measured intervals were 0.5 to 1.6 times as wide (tests/calibration/SERVING.md).\n");
    return output_lines(&out);
}

int power_serving(const char *name_or_path, const struct serving_power_options *options, bool json)
{
    CLEANUP(workload_finish) struct workload workload = {0};
    struct error err = ERROR_INIT;
    json_t *made = NULL;
    enum status status = workload_find(name_or_path, &workload, &err);
    int result;

    if (status == STATUS_OK && workload.scenario != SCENARIO_SERVER)
        status = error_set(&err, STATUS_INVALID,
                           "%s is not served under load: only of `scenario: server` requests are "
                           "planned",
                           name_or_path);
    if (status == STATUS_OK)
        status = serving_power(workload.json, options, &made, &err);
    if (status != STATUS_OK)
        return command_fail(&err);
    if (json)
        return output_json(made);
    result = show(made);
    json_decref(made);
    return result;
}
