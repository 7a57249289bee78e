/* Backlog and latency over a trial's window as two lines of blocks. */
#include <math.h>
#include <stdio.h>

#include "harness/core/cleanup.h"
#include "harness/core/number.h"
#include "reports/terminal_internal.h"

enum { LABEL = 13, RANGE = 24 };

/* Of all parts the largest is shown in each block, so that no spike is lost. */
static void append_spark(const struct terminal *terminal, const char *label, const double *values,
                         size_t count, const char *range)
{
    const size_t room = terminal->columns - LABEL - RANGE;
    const size_t blocks = room < count ? room : count;
    double shown[COURSE_PARTS];
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    for (size_t b = 0; b < blocks; b++) {
        shown[b] = NAN;
        for (size_t i = b * count / blocks; i < (b + 1) * count / blocks; i++)
            shown[b] = fmax(shown[b], values[i]);
    }
    text_append_format(terminal->out, "  %-*s", LABEL - 2, label);
    load_timeline_sparkline(&line, shown, blocks, load_timeline_most(shown, blocks));
    terminal_tone(terminal, TONE_PLAIN, text_ok(&line) ? line.data : "");
    text_append_format(terminal->out, "  %s\n", range);
    terminal->out->failed = terminal->out->failed || line.failed;
}

void terminal_load_timeline(const struct terminal *terminal,
                            const struct load_timeline *load_timeline)
{
    char heading[96], range[NUMBER_SIZE + 16], human[TEXT_HUMAN_SIZE];

    if (!load_timeline || !(load_timeline->length_s > 0))
        return;
    snprintf(heading, sizeof(heading), "Over trial %lld, %s", (long long)load_timeline->trial,
             text_human_duration(1e9 * load_timeline->length_s, human));
    terminal_heading(terminal, heading);
    snprintf(range, sizeof(range), "up to %.3g requests",
             load_timeline_most(load_timeline->backlog, load_timeline->count));
    append_spark(terminal, "backlog", load_timeline->backlog, load_timeline->count, range);
    snprintf(range, sizeof(range), "up to %s",
             text_human_duration(
                 load_timeline_most(load_timeline->latency_ns, load_timeline->count), human));
    append_spark(terminal, "longest", load_timeline->latency_ns, load_timeline->count, range);
}
