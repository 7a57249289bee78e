/* Telemetry of a trial, as text: the range of each channel, or why it has none. */
#include <stdio.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/number.h"
#include "harness/core/member.h"
#include "reports/terminal_internal.h"
#include "reports/view.h"
#include "reports/view_json.h"

static void append_channel(const struct terminal *terminal, const struct view_trial *trial,
                           const char *part, const json_t *channel)
{
    const char *name = member_text(channel, "name"), *reason = member_string(channel, "reason");
    const json_t *row = view_telemetry_series(trial, part, name);
    struct view_count low = view_json_count(row, "minimum"), high = view_json_count(row, "maximum"),
                      samples = view_json_count(row, "samples");
    char a[NUMBER_SIZE], b[NUMBER_SIZE];
    CLEANUP(text_finish) struct text lead = TEXT_INIT, line = TEXT_INIT;

    text_append_format(&lead, "  %s.", part);
    text_append_printable(&lead, name, strlen(name));
    while (lead.length < 36 && text_ok(&lead))
        text_append_char(&lead, ' ');
    text_append_char(&lead, ' ');
    if (!row)
        text_append_format(&line, "unavailable: %s",
                           reason ? reason : "it had no value in this trial");
    else if (low.known && high.known && low.value == high.value)
        text_append_format(&line, "%s, %lld polls", number_format_count(low.value, a),
                           (long long)samples.value);
    else if (low.known && high.known && !strcmp(member_text(channel, "kind"), "counter") &&
             !json_object_get(channel, "wraps_at"))
        text_append_format(&line, "grew by %s, %lld polls",
                           number_format_count(high.value - low.value, a),
                           (long long)samples.value);
    else if (low.known && high.known)
        text_append_format(&line, "%s to %s, %lld polls", number_format_count(low.value, a),
                           number_format_count(high.value, b), (long long)samples.value);
    terminal_wrap(terminal, row ? TONE_PLAIN : TONE_SOFT, lead.data, line.data);
}

void terminal_telemetry(const struct terminal *terminal, const struct view_trial *trial)
{
    char heading[64];

    snprintf(heading, sizeof(heading), "System telemetry, trial %lld", (long long)trial->number);
    terminal_heading(terminal, heading);
    EACH(part, trial->telemetry) {
        const char *name = member_text(part, "part"), *message = member_string(part, "message");
        struct view_count ticks = view_json_count(part, "ticks"),
                          late = view_json_count(part, "late_ticks"),
                          cpu = view_json_count(part, "cpu_ns");
        CLEANUP(text_finish) struct text line = TEXT_INIT;

        text_append_format(&line, "%lld polls, %lld missed", (long long)ticks.value,
                           (long long)late.value);
        if (cpu.known)
            text_append_format(&line, ", %.1f ms of processor time", (double)cpu.value / 1e6);
        if (message)
            text_append_format(&line, "; %s", message);
        terminal_fact(terminal, name, line.data);
        EACH(channel, json_object_get(part, "channels"))
            append_channel(terminal, trial, name, channel);
    }
}
