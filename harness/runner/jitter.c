#include "harness/runner/jitter.h"

#include "harness/core/clock.h"

#define TICK_NS 100000000

struct jitter jitter_measure(int64_t duration_ns, bool (*tick)(void *context), void *context)
{
    struct jitter jitter = {.threshold_ns = JITTER_THRESHOLD_NS};
    int64_t before_ns = clock_monotonic_ns(), ticked_ns = before_ns;

    while (jitter.duration_ns < duration_ns) {
        int64_t now_ns = clock_monotonic_ns(), gap_ns = now_ns - before_ns;

        jitter.duration_ns += gap_ns;
        if (gap_ns > JITTER_THRESHOLD_NS) {
            jitter.gaps++;
            jitter.lost_ns += gap_ns;
            if (gap_ns > jitter.longest_ns)
                jitter.longest_ns = gap_ns;
        }
        before_ns = now_ns;
        if (now_ns - ticked_ns < TICK_NS)
            continue;
        if (tick && !tick(context))
            break;
        before_ns = ticked_ns = clock_monotonic_ns();
    }
    return jitter;
}
