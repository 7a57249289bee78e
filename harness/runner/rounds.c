#include "harness/runner/rounds.h"

#include <stdio.h>

#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

/* The date may be set while the campaign waits, and the machine may sleep. */
#define LOOK_NS INT64_C(1000000000)

int64_t rounds_due_utc_ns(const struct rounds *rounds, int64_t sequence)
{
    const int64_t cells = (int64_t)rounds->cells, count = (rounds->trials + cells - 1) / cells,
                  round = (sequence - 1) / cells;

    if (rounds->over_ns == 0 || count < 2)
        return 0;
    return rounds->planned_utc_ns +
           (int64_t)((double)rounds->over_ns * (double)round / (double)(count - 1));
}

bool rounds_wait(const struct rounds *rounds, int64_t sequence, int64_t pause_ns, int wake_fd,
                 struct progress *progress)
{
    const int64_t due_ns = rounds_due_utc_ns(rounds, sequence);
    char time[TEXT_HUMAN_SIZE], words[TEXT_HUMAN_SIZE + 80];
    int64_t left_ns;

    if (file_wait_readable(wake_fd, pause_ns))
        return true;
    while ((left_ns = due_ns - clock_utc_ns()) > 0) {
        snprintf(words, sizeof(words), "waiting %s for the next round (spread)",
                 text_human_duration((double)left_ns, time));
        progress_set(progress, words);
        if (file_wait_readable(wake_fd, left_ns < LOOK_NS ? left_ns : LOOK_NS))
            return true;
    }
    return false;
}
