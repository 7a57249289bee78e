#include "harness/runner/silence.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

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

int64_t silence_queued(pid_t pid)
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
