#include "harness/core/waits.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "harness/core/clock.h"

int64_t waits_queued_ns(pid_t pid)
{
    char path[64];
    int64_t sum_ns = -1;
    const struct dirent *entry;
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    while (tasks && (entry = readdir(tasks))) {
        int64_t ran_ns, queued_ns;
        FILE *file;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%.16s/schedstat", (int)pid, entry->d_name);
        file = fopen(path, "re");
        if (file && fscanf(file, "%" SCNd64 " %" SCNd64, &ran_ns, &queued_ns) == 2)
            sum_ns = (sum_ns < 0 ? 0 : sum_ns) + queued_ns;
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return sum_ns;
}

static int64_t computed_ns(void)
{
    struct timespec now;

    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0
               ? (int64_t)now.tv_sec * 1000000000 + now.tv_nsec
               : 0;
}

struct waits_span waits_span_begin(void)
{
    struct waits_span span = {.queued_ns = waits_queued_ns(getpid())};

    span.cpu_ns = computed_ns();
    span.begin_ns = clock_monotonic_ns();
    return span;
}

int64_t waits_span_end_ns(const struct waits_span *span)
{
    const int64_t elapsed_ns = clock_monotonic_ns() - span->begin_ns;
    const int64_t cpu_ns = computed_ns() - span->cpu_ns;
    const int64_t least_ns = cpu_ns < elapsed_ns ? cpu_ns : elapsed_ns;
    const int64_t queued_ns = waits_queued_ns(getpid()) - span->queued_ns;

    if (span->queued_ns < 0 || queued_ns <= 0)
        return elapsed_ns;
    return elapsed_ns - queued_ns > least_ns ? elapsed_ns - queued_ns : least_ns;
}
