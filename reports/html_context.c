/* Beside the number: what it was measured on, how, and every attempt that was made. */
#include "reports/html_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/escape.h"

void html_checks(struct text *out, const struct view_cell *cell)
{
    bool any = false;
    char number[NUMBER_SIZE];

    for (size_t i = 0; i < cell->trial_count; ++i)
        any = any || cell->trials[i].check_count > 0;
    if (!any) {
        text_append(out, "<h4>Outputs against the reference</h4><p class=\"none\">no check recorded</p>\n");
        return;
    }
    text_append(out, "<h4>Outputs against the reference</h4>\n<div class=\"scroll\"><table class=\"tight\">"
                     "<caption>Largest error over all trials, compared with the fp64 reference before "
                     "the warmup and after the window</caption><thead><tr><th scope=\"col\">Output</th>"
                     "<th scope=\"col\">When</th><th scope=\"col\">Metric</th>"
                     "<th scope=\"col\" class=\"num\">Error</th><th scope=\"col\" class=\"num\">Tolerance</th>"
                     "<th scope=\"col\" class=\"num\">Passed</th><th scope=\"col\">Reason for the tolerance"
                     "</th></tr></thead><tbody>\n");
    /* Rows are the distinct (output, phase, metric) in the order in which they were first made. */
    for (size_t t = 0; t < cell->trial_count; ++t) {
        for (size_t c = 0; c < cell->trials[t].check_count; ++c) {
            const struct view_check *check = &cell->trials[t].checks[c];
            double worst = check->error;
            const char *worst_text = check->error_text;
            size_t made = 0, passed = 0;
            bool earlier = false;

            for (size_t u = 0; u < cell->trial_count && !earlier; ++u) {
                for (size_t d = 0; d < cell->trials[u].check_count; ++d) {
                    const struct view_check *other = &cell->trials[u].checks[d];

                    if (strcmp(other->output, check->output) || strcmp(other->phase, check->phase) ||
                        strcmp(other->metric, check->metric))
                        continue;
                    if (u < t || (u == t && d < c)) {
                        earlier = true;
                        break;
                    }
                    ++made;
                    passed += other->passed;
                    if (other->error_text && !worst_text)
                        worst_text = other->error_text;
                    worst = fmax(worst, other->error);
                }
            }
            if (earlier)
                continue;
            text_append(out, "<tr><th scope=\"row\" class=\"wrap\">");
            escape_html(out, check->output);
            text_append(out, "</th><td>");
            escape_html(out, strcmp(check->phase, "verify_before") == 0  ? "before"
                             : strcmp(check->phase, "verify_after") == 0 ? "after"
                                                                         : check->phase);
            text_append(out, "</td><td>");
            escape_html(out, check->metric);
            text_append_format(out, "</td><td class=\"num%s\">", passed < made ? " bad" : "");
            if (worst_text)
                escape_html(out, worst_text);
            else
                text_append(out, isnan(worst) ? "not recorded" : number_format_scientific(worst, number));
            text_append(out, "</td><td class=\"num\">");
            text_append(out, isnan(check->tolerance)
                                 ? "not recorded"
                                 : number_format_scientific(check->tolerance, number));
            text_append_format(out, "</td><td class=\"num %s\">%zu/%zu</td><td class=\"soft\">",
                               passed < made ? "bad" : "good", passed, made);
            html_known(out, check->reason);
            text_append(out, "</td></tr>\n");
        }
    }
    text_append(out, "</tbody></table></div>\n");
}

static void append_duration(struct text *out, const struct view_trial *trial, const char *phase)
{
    char number[NUMBER_SIZE];

    for (size_t i = 0; i < trial->phase_count; ++i) {
        if (strcmp(trial->phases[i].name, phase) == 0) {
            double ns = (double)trial->phases[i].end_ns - (double)trial->phases[i].begin_ns;
            struct number_unit unit = number_unit_duration(ns);
            char value[NUMBER_SIZE];

            number_format_digits(ns / unit.factor, 3, value);
            text_append_format(out, "%s %s", value, unit.name);
            (void)number;
            return;
        }
    }
    text_append(out, "<span class=\"soft\">\u2013</span>");
}

void html_attempts(struct text *out, const struct view_cell *cell)
{
    text_append_format(out,
                       "<h4>All attempts</h4>\n<div class=\"scroll\"><table class=\"tight\"><caption>%zu "
                       "attempts, none left out; each a fresh process</caption><thead><tr>"
                       "<th scope=\"col\">Trial</th><th scope=\"col\">Started (UTC)</th>"
                       "<th scope=\"col\" class=\"num\">Samples</th><th scope=\"col\" class=\"num\">Warmup"
                       "</th><th scope=\"col\" class=\"num\">Window</th><th scope=\"col\" class=\"num\">"
                       "Peak memory</th><th scope=\"col\">Outcome</th></tr></thead><tbody>\n",
                       cell->trial_count);
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const struct view_trial *trial = &cell->trials[i];
        char number[NUMBER_SIZE];

        text_append_format(out, "<tr><th scope=\"row\">%lld", (long long)trial->number);
        if (trial->attempt.known && trial->attempt.value > 1)
            text_append_format(out, "\u00a0<span class=\"soft\">(attempt\u00a0%lld)</span>",
                               (long long)trial->attempt.value);
        text_append(out, "</th><td class=\"when\">");
        html_time(out, &trial->started_utc_ns, "");
        text_append(out, "</td><td class=\"num\">");
        text_append(out, trial->samples.known ? number_format_count(trial->samples.value, number)
                                              : "<span class=\"soft\">\u2013</span>");
        text_append(out, "</td><td class=\"num\">");
        append_duration(out, trial, "warmup");
        text_append(out, "</td><td class=\"num\">");
        append_duration(out, trial, "window");
        text_append(out, "</td><td class=\"num\">");
        text_append(out, trial->max_rss_bytes.known
                             ? number_format_bytes((double)trial->max_rss_bytes.value, number)
                             : "<span class=\"soft\">\u2013</span>");
        text_append_format(out, "</td><td class=\"wrap %s\">", trial->ok ? "good" : "bad");
        escape_html(out, trial->status ? trial->status : "no end recorded");
        if (trial->verdict) {
            text_append(out, ", <span class=\"soft\">");
            escape_html(out, view_verdict_translate(trial->verdict));
            text_append(out, "</span>");
        }
        if (trial->ok && !trial->counted)
            text_append(out, " <span class=\"soft\">(a later attempt counts)</span>");
        if (trial->message && *trial->message) {
            text_append(out, "<br><span class=\"soft\">");
            escape_html(out, trial->message);
            text_append(out, "</span>");
        }
        if (trial->signal.known && trial->signal.value > 0)
            text_append_format(out, " <span class=\"soft\">(signal %lld)</span>",
                               (long long)trial->signal.value);
        text_append(out, "</td></tr>\n");
    }
    text_append(out, "</tbody></table></div>\n");
}

struct shown {
    const char *name, *label;
};

static void append_readings(struct text *out, const struct reading_list *readings,
                            const struct shown *shown, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        html_fact_begin(out, shown[i].label);
        html_reading(out, readings ? reading_find(readings, shown[i].name) : NULL);
        html_fact_end(out);
    }
}

/* The extent of a numeric reading over the trials, before and after. */
static void append_extent(struct text *out, const struct view_cell *cell, const char *name,
                          const char *label)
{
    const struct reading *least = NULL, *most = NULL;
    double lo = INFINITY, hi = -INFINITY;
    const struct reading *missing = NULL;

    for (size_t i = 0; i < cell->trial_count * 2; ++i) {
        const struct view_trial *trial = &cell->trials[i / 2];
        const struct reading *reading = reading_find(i % 2 ? &trial->after : &trial->before, name);
        double value;

        if (!reading)
            continue;
        if (reading->status != READING_MEASURED || reading->type == READING_TEXT) {
            missing = reading;
            continue;
        }
        value = reading->type == READING_INTEGER ? (double)reading->integer : reading->real;
        if (value < lo) {
            lo = value;
            least = reading;
        }
        if (value > hi) {
            hi = value;
            most = reading;
        }
    }
    html_fact_begin(out, label);
    if (!least) {
        html_reading(out, missing);
    } else {
        html_reading_value(out, least);
        if (hi > lo) {
            text_append(out, " to ");
            html_reading_value(out, most);
        }
    }
    html_fact_end(out);
}

static void append_link(struct text *out, const struct html_appendix *appendix,
                        enum html_appendix_kind kind, const struct view_cell *cell,
                        const char *label)
{
    html_fact_begin(out, label);
    if (!html_appendix_links(out, appendix, kind, cell))
        html_known(out, NULL);
    html_fact_end(out);
}

static void append_duration_clause(struct text *out, const json_t *protocol, const char *clause,
                                   const char *label)
{
    const json_t *value = json_object_get(json_object_get(protocol, clause), "time_ns");
    char number[NUMBER_SIZE];

    if (!value)
        return;
    html_fact_begin(out, label);
    if (json_is_number(value)) {
        struct number_unit unit = number_unit_duration(json_number_value(value));

        text_append(out, number_format_unit(json_number_value(value), &unit, number));
    } else {
        html_known(out, json_string_value(value));
    }
    html_fact_end(out);
}

static void append_protocol(struct text *out, const struct view_cell *cell,
                            const struct html_appendix *appendix)
{
    const json_t *json = cell->protocol_json;

    text_append(out, "<section><h4>How</h4><dl>\n");
    html_fact_begin(out, "Protocol");
    html_known(out, cell->protocol);
    if (cell->protocol_version.known)
        text_append_format(out, " v%lld", (long long)cell->protocol_version.value);
    text_append_char(out, ' ');
    html_digest(out, cell->protocol_digest);
    html_fact_end(out);
    append_duration_clause(out, json, "warmup", "Warmup at least");
    append_duration_clause(out, json, "window", "Window");
    html_fact_begin(out, "Workload");
    html_known(out, cell->workload);
    if (cell->workload_version.known)
        text_append_format(out, " v%lld", (long long)cell->workload_version.value);
    text_append_char(out, ' ');
    html_digest(out, cell->workload_digest);
    html_fact_end(out);
    html_fact_begin(out, "Precision, batch, scenario");
    html_known(out, cell->precision);
    text_append(out, ", ");
    if (cell->batch.known)
        text_append_format(out, "%lld", (long long)cell->batch.value);
    else
        html_known(out, NULL);
    text_append(out, ", ");
    html_known(out, cell->scenario);
    html_fact_end(out);
    html_fact_begin(out, "Arm");
    html_known(out, cell->arm);
    html_fact_end(out);
    html_fact_begin(out, "Seed of the data");
    html_known(out, cell->seed);
    html_fact_end(out);
    append_link(out, appendix, HTML_APPENDIX_PROTOCOL, cell, "Every clause");
    append_link(out, appendix, HTML_APPENDIX_WORKLOAD, cell, "Declaration");
    text_append(out, "</dl></section>\n");
}

void html_context(struct text *out, const struct view_cell *cell,
                  const struct view_campaign *campaign, const struct html_appendix *appendix)
{
    static const struct shown device[] = {
        {"device.driver_version", "Driver"},
        {"device.version", "Device version"},
        {"device.platform.version", "Platform"},
        {"device.compute_units", "Compute units"},
        {"device.clock_max", "Clock, declared by the driver"},
    };
    static const struct shown host[] = {
        {"host.cpu.model", "Processor"},     {"host.cpu.usable", "Usable CPUs"},
        {"host.memory.total", "Memory"},     {"host.kernel.release", "Kernel"},
        {"host.os", "System"},               {"host.cpu.governor", "Governor"},
        {"host.virtualised", "Virtualised"}, {"cgroup.cpu_max", "CPU limit"},
    };
    const struct reading_list *surroundings = NULL;
    size_t changed = 0;

    for (size_t i = 0; i < cell->trial_count; ++i) {
        if (!surroundings && cell->trials[i].before.count)
            surroundings = &cell->trials[i].before;
        changed += cell->trials[i].changed_count;
    }
    text_append(out, "<aside class=\"context\" aria-label=\"Context of this result\"><div class=\"sheets\">"
                     "<section><h4>On what</h4><dl>\n");
    html_fact_begin(out, "Device");
    if (cell->device.name)
        escape_html_short(out, cell->device.name, 160);
    else
        html_known(out, NULL);
    if (cell->device.simulated)
        text_append(out, " <b class=\"care\">simulated</b>");
    html_fact_end(out);
    html_fact_begin(out, "Opened as");
    html_known(out, cell->device_spec);
    html_fact_end(out);
    append_readings(out, &cell->device.readings, device, sizeof(device) / sizeof(device[0]));
    append_link(out, appendix, HTML_APPENDIX_DEVICE, cell, "Everything it tells");
    append_link(out, appendix, HTML_APPENDIX_STACK, cell, "Mapped libraries");
    if (changed)
        text_append_format(out, "<div><dt>Libraries</dt><dd class=\"bad\">%zu differ between start and "
                                "end of a window</dd></div>\n",
                           changed);
    append_link(out, appendix, HTML_APPENDIX_KERNELS, cell, "Kernels as compiled");
    text_append(out, "</dl></section>\n");
    append_protocol(out, cell, appendix);
    text_append(out, "<section><h4>Around it</h4><dl>\n");
    append_readings(out, surroundings, host, sizeof(host) / sizeof(host[0]));
    append_extent(out, cell, "load.average_1min", "Load, 1 min, over the trials");
    append_extent(out, cell, "load.memory_available", "Memory available");
    append_extent(out, cell, "load.temperature", "Temperature");
    append_link(out, appendix, HTML_APPENDIX_HOST, cell, "Everything recorded");
    html_fact_begin(out, "Measured by");
    text_append(out, "assay ");
    html_known(out, campaign->tool_version);
    text_append_char(out, ' ');
    html_digest(out, campaign->tool_digest);
    html_fact_end(out);
    text_append(out, "</dl></section></div></aside>\n");
}
