/* Readings as text: the value of each, and, on request, its source. */
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/number.h"
#include "reports/terminal_internal.h"

#define VULNERABILITIES "host.cpu.vulnerabilities."

static bool is_not_affected(const struct reading *reading)
{
    return strncmp(reading->name, VULNERABILITIES, sizeof(VULNERABILITIES) - 1) == 0 &&
           reading->status == READING_MEASURED && reading->type == READING_TEXT && reading->text &&
           strcmp(reading->text, "Not affected") == 0;
}

static void append_not_affected(const struct terminal *terminal,
                                const struct reading_list *readings)
{
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    for (size_t i = 0; i < readings->count; ++i)
        if (is_not_affected(&readings->items[i]))
            text_append_format(&line, "%s%s", line.length ? ", " : "",
                               readings->items[i].name + sizeof(VULNERABILITIES) - 1);
    if (line.length)
        terminal_fact(terminal, "host.cpu is not affected by", line.data);
}

static void append_bytes(struct text *line, const struct reading *reading)
{
    char size[NUMBER_SIZE];

    if (reading->type == READING_INTEGER && reading->unit && !strcmp(reading->unit, "bytes") &&
        reading->integer >= 1024)
        text_append_format(line, " (%s)", number_format_bytes((double)reading->integer, size));
}

void terminal_readings(const struct terminal *terminal, const struct reading_list *readings,
                       bool sources)
{
    if (!sources)
        append_not_affected(terminal, readings);
    for (size_t i = 0; i < readings->count; ++i) {
        const struct reading *reading = &readings->items[i];
        CLEANUP(text_finish) struct text line = TEXT_INIT;

        if (!sources && is_not_affected(reading))
            continue;

        if (reading->status != READING_MEASURED && reading->status != READING_DECLARED)
            text_append_format(&line, "%s: %s",
                               reading->status == READING_NOT_APPLICABLE
                                   ? "not applicable"
                                   : reading_status_name(reading->status),
                               reading->reason ? reading->reason : "no reason given");
        else if (reading->type == READING_TEXT)
            text_append(&line, reading->text && *reading->text ? reading->text : "empty");
        else if (reading->type == READING_INTEGER)
            text_append_format(&line, "%lld", (long long)reading->integer);
        else
            text_append_format(&line, "%.6g", reading->real);
        if (reading->unit && reading->status == READING_MEASURED)
            text_append_format(&line, " %s", reading->unit);
        append_bytes(&line, reading);
        if (reading->status == READING_DECLARED || (sources && reading->status == READING_MEASURED))
            text_append_format(&line, " (%s)", reading_status_name(reading->status));
        if (sources)
            text_append_format(&line, "; %s %s", reading_method(reading->source),
                               reading->source ? reading->source : "a source that is not recorded");
        terminal_fact(terminal, reading->name, line.data);
    }
}

const struct view_trial *terminal_shown_trial(const struct view_cell *cell)
{
    const struct view_trial *shown = NULL;

    for (size_t i = 0; i < cell->trial_count; ++i)
        if (cell->trials[i].host.count &&
            (!shown || (!shown->estimate && cell->trials[i].estimate)))
            shown = &cell->trials[i];
    return shown;
}

void report_terminal_readings(struct text *out, const struct view_cell *cell, size_t columns,
                              bool colour)
{
    const struct terminal terminal = terminal_make(out, columns, colour);
    const struct view_trial *shown = terminal_shown_trial(cell);

    terminal_heading(&terminal, "Device");
    terminal_readings(&terminal, &cell->device.readings, true);
    if (!shown)
        return;
    terminal_heading(&terminal, "Host");
    terminal_readings(&terminal, &shown->host, true);
    terminal_heading(&terminal, "Before the window");
    terminal_readings(&terminal, &shown->before, true);
    terminal_heading(&terminal, "After the window");
    terminal_readings(&terminal, &shown->after, true);
}
