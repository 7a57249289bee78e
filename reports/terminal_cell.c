/* One result as text, with the whole context of its number. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/member.h"
#include "reports/citation.h"
#include "harness/core/number.h"
#include "reports/remarks.h"
#include "reports/terminal_internal.h"

static void append_headline(const struct terminal *terminal, const struct view_cell *cell)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    const struct metric_value *value = view_headline(cell, &id);
    struct view_figure figure;
    char shown[NUMBER_SIZE + 16];

    text_append(terminal->out, "  ");
    if (!view_figure_of(id, value, &figure)) {
        const char *reason = view_no_value_reason(cell);

        terminal_tone(terminal, TONE_CARE, view_no_value_label(cell));
        text_append_format(terminal->out, ": %s\n", reason ? reason : "unknown");
        return;
    }
    snprintf(shown, sizeof(shown), figure.marked ? "(%s%s)" : "%s%s", figure.value, figure.of);
    terminal_tone(terminal, figure.marked ? TONE_CARE : TONE_BOLD, shown);
    if (figure.spread[0])
        text_append_format(terminal->out, "  %s", figure.spread);
    if (figure.grade[0])
        text_append_format(terminal->out, "  grade %s (%s)", figure.grade,
                           metric_grade_label(value->grade));
    if (figure.ends[0])
        text_append_format(terminal->out, "\n  %s, %g %% interval %s\n", figure.ends,
                           cell->estimate->confidence * 100,
                           cell->estimate->trial_count > 1 ? "between trials" : "within one trial");
    else
        text_append(terminal->out, cell->imported.present ? "  as its file says\n"
                                                          : "  without a confidence interval\n");
}

static void append_verdict(const struct terminal *terminal, const struct view_cell *cell)
{
    enum view_cache fits;
    struct text line = TEXT_INIT;

    if (cell->imported.present) {
        AUTO_FREE char *words = view_imported_words(cell);

        terminal_wrap(terminal, TONE_CARE, "  ", words ? words : "Imported.");
        return;
    }
    text_append(terminal->out, "  ");
    terminal_tone(terminal, view_is_steady(cell) ? TONE_GOOD : TONE_CARE, view_verdict_label(cell));
    text_append_format(terminal->out, ", %zu of %lld planned trials completed\n", cell->ok_count,
                       cell->trials_planned.known ? (long long)cell->trials_planned.value : 0);
    if (view_no_evidence_words(cell))
        terminal_wrap(terminal, TONE_CARE, "  ", view_no_evidence_words(cell));
    if (cell->device.simulated)
        terminal_wrap(terminal, TONE_CARE, "  ",
                      "Simulated device: a test of the tool, not a measurement of hardware.");
    fits = view_cache_words(cell, &line);
    if (line.length > 0)
        terminal_wrap(terminal, fits == VIEW_CACHE_HOLDS ? TONE_CARE : TONE_PLAIN, "  ", line.data);
    text_finish(&line);
}

static void append_amendments(const struct terminal *terminal, const struct view_cell *cell)
{
    EACH(amendment, cell->amendments) {
        AUTO_FREE char *words = view_amendment_words(amendment);

        terminal_wrap(terminal, TONE_CARE, "  ", words ? words : "amended");
    }
}

static void append_energy_source(const struct terminal *terminal, const struct estimate *estimate)
{
    const char *reason = member_string(json_array_get(estimate->energy, 0), "reason");
    char line[160];

    if (estimate->energy_source) {
        terminal_fact(terminal, "energy from", estimate->energy_source);
    } else if (json_array_size(estimate->energy) > 0) {
        snprintf(line, sizeof(line), "unavailable: %.100s", reason ? reason : "unknown");
        terminal_fact(terminal, "energy", line);
    }
}

static void append_numbers(const struct terminal *terminal, const struct view_cell *cell)
{
    const struct estimate *estimate = cell->estimate;
    char value[NUMBER_SIZE];
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    if (!estimate || cell->imported.present)
        return;
    terminal_heading(terminal, "Metrics");
    for (int i = 0; i < METRIC_COUNT; ++i) {
        const enum metric_id id = (enum metric_id)i;

        if (!view_metric(cell, id))
            continue;
        text_clear(&line);
        view_metric_words(id, view_metric(cell, id), &line);
        terminal_fact(terminal, metrics[i].label, line.data);
    }
    append_energy_source(terminal, estimate);
    if (isfinite(estimate->variance.iteration) && estimate->variance.iteration >= 0)
        terminal_fact(terminal, "sd within a trial",
                      number_format_percent(sqrt(estimate->variance.iteration), value));
    if (isfinite(estimate->variance.process) && estimate->variance.process >= 0)
        terminal_fact(terminal, "sd between trials",
                      number_format_percent(sqrt(estimate->variance.process), value));
    if (isfinite(estimate->ess))
        terminal_fact(terminal, "effective samples",
                      number_format_count((int64_t)fmin(estimate->ess, 9e18), value));
}

static void say_remark(void *context, enum finding_severity severity, const char *text)
{
    terminal_wrap(context, severity == FINDING_INFO ? TONE_PLAIN : TONE_CARE,
                  severity == FINDING_INFO ? "  - " : "  ! ", text);
}

static void append_attempts(struct terminal *terminal, const struct view_cell *cell)
{
    terminal_heading(terminal, "All attempts");
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const struct view_trial *trial = &cell->trials[i];
        char label[64], iso[CLOCK_ISO_SIZE] = "", number[NUMBER_SIZE];
        CLEANUP(text_finish) struct text line = TEXT_INIT;

        if (trial->attempt.known && trial->attempt.value > 1)
            snprintf(label, sizeof(label), "trial %lld, attempt %lld", (long long)trial->number,
                     (long long)trial->attempt.value);
        else
            snprintf(label, sizeof(label), "trial %lld", (long long)trial->number);
        text_append(&line, view_trial_label(cell, trial));
        if (trial->estimate)
            text_append_format(&line, ", %s", estimate_verdict_label(trial->estimate->verdict));
        if (trial->estimate && trial->estimate->has_steady)
            text_append_format(&line, " from sample %zu", trial->estimate->steady_from);
        if (trial->samples.known)
            text_append_format(&line, ", %s samples",
                               number_format_count(trial->samples.value, number));
        if (trial->started_utc_ns.known) {
            clock_format_iso(trial->started_utc_ns.value, iso);
            text_append_format(&line, ", started %.10s %.8s", iso,
                               strlen(iso) > 11 ? iso + 11 : "");
        }
        if (trial->message && *trial->message)
            text_append_format(&line, ": %s", trial->message);
        terminal_fact(terminal, label, line.data);
    }
}

static void append_checks(const struct terminal *terminal, const struct view_cell *cell)
{
    const struct view_trial *shown = terminal_shown_trial(cell);

    for (size_t i = 0; i < cell->trial_count; ++i)
        if (cell->trials[i].check_count &&
            (!shown || (!shown->estimate && cell->trials[i].estimate)))
            shown = &cell->trials[i];
    if (!shown)
        return;
    terminal_heading(terminal, cell->kind && !strcmp(cell->kind, "endpoint")
                                   ? "Answers, without a reference"
                                   : "Outputs against the reference");
    for (size_t i = 0; i < shown->check_count; ++i) {
        const struct view_check *check = &shown->checks[i];
        char error[NUMBER_SIZE], tolerance[NUMBER_SIZE];
        CLEANUP(text_finish) struct text line = TEXT_INIT;

        text_append_format(&line, "%s: %s %s, tolerance %s, %s", check->phase, check->metric,
                           check->error_text ? check->error_text
                                             : number_format_scientific(check->error, error),
                           number_format_scientific(check->tolerance, tolerance),
                           check->passed ? "passed" : "FAILED");
        terminal_fact(terminal, check->output, line.data);
    }
}

static void say_counted(void *context, const char *label, const char *words)
{
    terminal_fact(context, label, words);
}

static void append_client(struct terminal *terminal, const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        char heading[80];

        if (view_client_each(&cell->trials[i], NULL, NULL) == 0)
            continue;
        snprintf(heading, sizeof(heading), "Client in trial %lld (what is 0 is left out)",
                 (long long)cell->trials[i].number);
        terminal_heading(terminal, heading);
        view_client_each(&cell->trials[i], say_counted, terminal);
    }
}

/* The kernel lists each known processor vulnerability; those that do not affect this one are
 * merged. */
static void append_components(const struct terminal *terminal, const struct view_trial *trial)
{
    if (trial->component_count == 0)
        return;
    terminal_heading(terminal, "Mapped libraries");
    for (size_t i = 0; i < trial->component_count; ++i) {
        const struct view_component *component = &trial->components[i];
        char size[NUMBER_SIZE];
        CLEANUP(text_finish) struct text line = TEXT_INIT;

        if (component->version)
            text_append_format(&line, "%s, ", component->version);
        if (component->package && component->package_version)
            text_append_format(&line, "%s %s, ", component->package, component->package_version);
        if (component->size.known)
            text_append_format(&line, "%s, ",
                               number_format_bytes((double)component->size.value, size));
        if (component->sha256)
            text_append_format(&line, "sha256 %.12s", component->sha256);
        else
            text_append_format(&line, "no digest: %s",
                               component->missing_reason ? component->missing_reason : "unknown");
        if (component->build_id)
            text_append_format(&line, ", build-id %.12s", component->build_id);
        if (component->change == VIEW_CHANGED)
            text_append(&line, ", CHANGED during the window");
        else if (component->change == VIEW_APPEARED)
            text_append(&line, ", only at the window's end");
        else if (component->change == VIEW_GONE)
            text_append(&line, ", only at the window's start");
        terminal_wrap(terminal, component->change == VIEW_CHANGED ? TONE_BAD : TONE_PLAIN, "  ",
                      component->path);
        terminal_wrap(terminal, TONE_SOFT, "      ", line.data);
    }
}

static void append_kernels(const struct terminal *terminal, const struct view_trial *trial)
{
    const json_t *resources;
    const char *name;
    json_t *kernel;
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    if (json_array_size(trial->artifacts) == 0)
        return;
    terminal_heading(terminal, "Kernels as compiled for the device");
    EACH(entry, trial->artifacts) {
        const json_t *artifact = json_object_get(entry, "artifact");
        const char *file = member_string(artifact, "file");

        text_clear(&line);
        view_artifact_words(artifact, &line);
        terminal_wrap(terminal, TONE_PLAIN, "  ", file ? file : "text unknown");
        terminal_wrap(terminal, TONE_SOFT, "      ", line.data);
        resources = json_object_get(artifact, "resources");
        json_object_foreach((json_t *)resources, name, kernel)
        {
            text_clear(&line);
            text_append_format(&line, "%s: ", name);
            view_kernel_words(kernel, &line);
            terminal_wrap(terminal, TONE_SOFT, "      ", line.data);
        }
    }
}

static void append_identity(const struct terminal *terminal, const struct view_campaign *campaign,
                            const struct view_cell *cell)
{
    char version[32] = "";
    struct view_gemm gemm;
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    terminal_heading(terminal, "Configuration");
    if (cell->protocol_version.known)
        snprintf(version, sizeof(version), " v%lld", (long long)cell->protocol_version.value);
    text_append_format(&line, "%s%s", cell->protocol ? cell->protocol : "not recorded", version);
    terminal_fact(terminal, "protocol", line.data);
    terminal_fact(terminal, "precision", cell->precision);
    text_clear(&line);
    text_append_format(&line, "%lld", (long long)cell->batch.value);
    terminal_fact(terminal, "batch", cell->batch.known ? line.data : NULL);
    terminal_fact(terminal, "scenario", cell->scenario);
    terminal_fact(terminal, "implementation", cell->implementation);
    if (view_gemm(cell, &gemm)) {
        text_clear(&line);
        view_gemm_words(&gemm, &line);
        terminal_fact(terminal, "gemms", line.data);
    }
    for (size_t i = 0; i < view_phrase_count; ++i) {
        text_clear(&line);
        if (view_phrases[i].words(cell, &line))
            terminal_fact(terminal, view_phrases[i].name, line.data);
    }
    terminal_fact(terminal, "seed of the data", cell->seed);
    terminal_fact(terminal, "command", campaign->command);
    if (cell->imported.present) {
        terminal_heading(terminal, "Imported");
        terminal_fact(terminal, "measured by", cell->imported.program);
        terminal_fact(terminal, "its version", cell->imported.program_version);
        terminal_fact(terminal, "measured at", cell->imported.measured);
        terminal_fact(terminal, "file", cell->imported.file);
        terminal_fact(terminal, "SHA-256", cell->imported.sha256);
    }
    terminal_heading(terminal, "Device");
    terminal_fact(terminal, "name", cell->device.name);
    terminal_fact(terminal, "vendor", cell->device.vendor);
    terminal_fact(terminal, "opened as", cell->device_spec);
}

void report_terminal_cell(struct text *out, const struct view_campaign *campaign,
                          const struct view_cell *cell, size_t columns, bool colour)
{
    struct terminal terminal = terminal_make(out, columns, colour);
    const struct view_trial *shown = terminal_shown_trial(cell);
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    terminal_title(&terminal, cell);
    append_headline(&terminal, cell);
    append_verdict(&terminal, cell);
    append_amendments(&terminal, cell);
    append_numbers(&terminal, cell);
    terminal_load_timeline(&terminal, cell->load_timeline);
    if (remarks_has_any(cell))
        terminal_heading(&terminal, "Findings");
    remarks_of_cell(cell, say_remark, &terminal);
    if (!cell->imported.present)
        append_attempts(&terminal, cell);
    append_checks(&terminal, cell);
    append_client(&terminal, cell);
    append_identity(&terminal, campaign, cell);
    terminal_readings(&terminal, &cell->device.readings, false);
    if (shown) {
        char heading[64];

        terminal_heading(&terminal, "Host");
        terminal_readings(&terminal, &shown->host, false);
        snprintf(heading, sizeof(heading), "Load before trial %lld", (long long)shown->number);
        terminal_heading(&terminal, heading);
        terminal_readings(&terminal, &shown->before, false);
        append_kernels(&terminal, shown);
        append_components(&terminal, shown);
    }
    for (size_t i = 0; i < cell->trial_count; ++i)
        if (json_array_size(cell->trials[i].telemetry) > 0) {
            terminal_telemetry(&terminal, &cell->trials[i]);
            break;
        }
    terminal_heading(&terminal, "Cite as");
    text_clear(&line);
    citation_append(&line, campaign, cell);
    terminal_wrap(&terminal, TONE_PLAIN, "  ", line.data);
    out->failed = out->failed || line.failed;
}
