/* A result in a few lines: system, configuration, result, findings. */
#include "reports/terminal.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "reports/remarks.h"
#include "reports/terminal_internal.h"

#define LINES_MAX 12

/* "System         ", of one width for all. */
static void brief_fact(const struct terminal *terminal, const char *label, const char *value)
{
    char lead[32];

    snprintf(lead, sizeof(lead), "  %-14s ", label);
    terminal_wrap(terminal, TONE_PLAIN, lead, value);
}

/* "; driver 550.54"; nothing where it is not known. */
static void append_reading(struct text *line, const struct reading_list *list, const char *name,
                           const char *before)
{
    const struct reading *reading = reading_find(list, name);

    if (reading && reading->text)
        text_append_format(line, "%s%s", before, reading->text);
}

static void append_system(const struct terminal *terminal, const struct view_cell *cell)
{
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    text_append_format(&line, "%s  %s%s", cell->device_spec ? cell->device_spec : "?",
                       cell->device.name ? cell->device.name : "device not recorded",
                       cell->device.simulated ? " (simulated: no measurement of hardware)" : "");
    append_reading(&line, &cell->device.readings, "device.driver_version", "; driver ");
    for (size_t i = 0; i < cell->trial_count; i++)
        if (cell->trials[i].host.count > 0) {
            append_reading(&line, &cell->trials[i].host, "host.os", "; ");
            append_reading(&line, &cell->trials[i].host, "host.kernel.release", ", Linux ");
            break;
        }
    brief_fact(terminal, "System", line.data);
    terminal->out->failed = terminal->out->failed || line.failed;
}

static void append_configuration(const struct terminal *terminal, const struct view_cell *cell)
{
    struct view_gemm gemm;
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    text_append_format(&line, "protocol %s", cell->protocol ? cell->protocol : "not recorded");
    if (cell->protocol_version.known)
        text_append_format(&line, " v%lld", (long long)cell->protocol_version.value);
    if (!cell->evidence && !cell->imported.present)
        text_append(&line, view_is_first_look(cell) ? " (a first look)" : " (no evidence)");
    text_append_format(&line, "; scenario %s", cell->scenario ? cell->scenario : "not recorded");
    if (view_gemm(cell, &gemm) && gemm.library)
        text_append_format(&line, "; %s %s", gemm.library,
                           gemm.version ? gemm.version : "of unknown version");
    brief_fact(terminal, "Configuration", line.data);
    terminal->out->failed = terminal->out->failed || line.failed;
}

static void append_result(const struct terminal *terminal, const struct view_cell *cell)
{
    const char *reason = view_no_value_reason(cell);
    AUTO_FREE char *imported = cell->imported.present ? view_imported_words(cell) : NULL;
    struct view_figure figure;
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    if (view_headline_figure(cell, &figure)) {
        text_append_format(&line, figure.marked ? "(%s%s)" : "%s%s", figure.value, figure.of);
        if (figure.spread[0])
            text_append_format(&line, " %s", figure.spread);
        if (figure.ends[0])
            text_append_format(
                &line, " (%s, %g %% interval %s)", figure.ends, cell->estimate->confidence * 100,
                cell->estimate->trial_count > 1 ? "between trials" : "within one trial");
        else
            text_append(&line, cell->imported.present ? ", as its file says"
                                                      : ", without a confidence interval");
        if (figure.grade[0])
            text_append_format(&line, ", grade %s", figure.grade);
    } else {
        text_append_format(&line, "%s: %s", view_no_value_label(cell), reason ? reason : "unknown");
    }
    brief_fact(terminal, "Result", line.data);
    text_clear(&line);
    if (cell->imported.present)
        text_append(&line, imported ? imported : "imported");
    else
        text_append_format(&line, "%s; %zu of %lld planned trials completed",
                           view_verdict_label(cell), cell->ok_count,
                           cell->trials_planned.known ? (long long)cell->trials_planned.value : 0);
    brief_fact(terminal, "Verdict", line.data);
    terminal->out->failed = terminal->out->failed || line.failed;
}

static size_t lines_of(const struct text *out)
{
    size_t lines = 0;

    for (size_t i = 0; i < out->length; i++)
        lines += out->data[i] == '\n';
    return lines;
}

/* Findings that are shown as far as each has room, and how many more there are. */
struct findings {
    const struct terminal *terminal;
    size_t room, lines, shown, left;
};

static void say_finding(void *context, enum finding_severity severity, const char *string)
{
    struct findings *findings = context;
    struct terminal terminal = *findings->terminal;
    CLEANUP(text_finish) struct text out = TEXT_INIT;

    terminal.out = &out;
    brief_fact(&terminal, findings->shown ? "" : "Findings", string);
    /* A value that must not be relied on is never shown without the reason. */
    if (severity != FINDING_CRITICAL && findings->lines + lines_of(&out) > findings->room) {
        findings->left++;
    } else {
        text_append(findings->terminal->out, text_ok(&out) ? out.data : "");
        findings->lines += lines_of(&out);
        findings->shown++;
    }
}

/* How many findings are not shown, and the command that shows them. */
static void append_left(const struct terminal *terminal, const struct view_cell *cell, size_t left,
                        bool some_are_shown)
{
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    text_append_format(&line, "%zu %s: assay show --all %s%s%s", left,
                       some_are_shown ? "more" : "of them", cell->result,
                       cell->database ? " --db " : "", cell->database ? cell->database : "");
    brief_fact(terminal, some_are_shown ? "" : "Findings", line.data);
    terminal->out->failed = terminal->out->failed || line.failed;
}

/* Lines that are left for findings, with one of append_left after them. */
static size_t room_of(const struct terminal *terminal, const struct view_cell *cell)
{
    struct terminal scratch = *terminal;
    CLEANUP(text_finish) struct text out = TEXT_INIT;
    size_t lines;

    scratch.out = &out;
    append_left(&scratch, cell, 99, true);
    lines = lines_of(&out);
    return lines < LINES_MAX ? LINES_MAX - lines : 0;
}

void report_terminal_brief(struct text *out, const struct view_cell *cell, size_t columns,
                           bool colour)
{
    const struct terminal terminal = terminal_make(out, columns, colour);
    const size_t before = lines_of(out);
    struct findings findings = {.terminal = &terminal, .room = room_of(&terminal, cell)};

    terminal_title(&terminal, cell);
    append_system(&terminal, cell);
    append_configuration(&terminal, cell);
    append_result(&terminal, cell);
    findings.lines = lines_of(out) - before;
    EACH(amendment, cell->amendments) {
        AUTO_FREE char *words = view_amendment_words(amendment);

        say_finding(&findings, FINDING_WARNING, words ? words : "amended");
    }
    remarks_of_cell(cell, say_finding, &findings);
    if (findings.left > 0)
        append_left(&terminal, cell, findings.left, findings.shown > 0);
}
