#include "harness/runner/silence.h"

void silence_broken(struct silence *silence, int64_t now_ns)
{
    *silence = (struct silence){.since_ns = now_ns, .looked_ns = now_ns, .queued_ns = -1};
}

bool silence_is_long(const struct silence *silence, int64_t now_ns, int64_t limit_ns)
{
    return now_ns - silence->since_ns > limit_ns / 10;
}

int64_t silence_counted(struct silence *silence, int64_t now_ns, int64_t queued_ns,
                        int64_t limit_ns)
{
    const int64_t between_ns = now_ns - silence->looked_ns;
    const int64_t most_ns = SILENCE_QUEUED_MOST * limit_ns;

    /* A thread that has ended takes its sum with it. */
    if (queued_ns > silence->queued_ns && silence->queued_ns >= 0) {
        const int64_t grown_ns = queued_ns - silence->queued_ns;

        silence->waited_ns += grown_ns < between_ns ? grown_ns : between_ns;
    }
    silence->queued_ns = queued_ns;
    silence->looked_ns = now_ns;
    return now_ns - silence->since_ns -
           (silence->waited_ns < most_ns ? silence->waited_ns : most_ns);
}
