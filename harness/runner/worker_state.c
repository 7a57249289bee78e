#include "harness/runner/worker_state.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/waits.h"

#define PROCESSORS_MAX 8192 /* of a kernel: NR_CPUS */
#define WORDS (PROCESSORS_MAX / 64)
#define GROUP_MAX ((size_t)1 << 16)
#define ENVIRONMENT_MAX ((size_t)4 << 20)

struct worker_thread {
    pid_t id;
    int policy, nice;
    uint64_t processors[WORDS];
};

/* 0: the calling thread. */
static bool read_thread(pid_t id, struct worker_thread *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->id = id;
    errno = 0;
    ret->nice = getpriority(PRIO_PROCESS, (id_t)id);
    ret->policy = sched_getscheduler(id);
    return errno == 0 &&
           sched_getaffinity(id, sizeof(ret->processors), (cpu_set_t *)ret->processors) == 0;
}

static bool is_alike(const struct worker_thread *a, const struct worker_thread *b)
{
    return a->policy == b->policy && a->nice == b->nice &&
           !memcmp(a->processors, b->processors, sizeof(a->processors));
}

static size_t processors_of(const struct worker_thread *threads, size_t count)
{
    size_t processors = 0;

    for (size_t i = 0; i < WORDS; i++) {
        uint64_t together = 0;

        for (size_t k = 0; k < count; k++)
            together |= threads[k].processors[i];
        processors += (size_t)__builtin_popcountll(together);
    }
    return processors;
}

static void read_threads(pid_t pid, struct worker_state *ret)
{
    char path[64];
    size_t capacity = 0;
    const struct dirent *entry;
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    while (tasks && (entry = readdir(tasks))) {
        const pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);

        if (ret->count == capacity) {
            void *grown =
                realloc(ret->threads, (capacity = capacity * 2 + 16) * sizeof(*ret->threads));

            if (!grown)
                break;
            ret->threads = grown;
        }
        ret->count += id > 0 && read_thread(id, &ret->threads[ret->count]);
    }
    if (tasks)
        closedir(tasks);
}

/* Of all its threads, those that have ended included. */
static int64_t used_ns(pid_t pid)
{
    struct timespec used;
    clockid_t clock;

    return clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &used) == 0
               ? (int64_t)used.tv_sec * 1000000000 + used.tv_nsec
               : -1;
}

static int64_t is_moved(pid_t pid)
{
    AUTO_FREE char *own = NULL, *group = NULL;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    if (file_read("/proc/self/cgroup", GROUP_MAX, &own, NULL, NULL) != STATUS_OK ||
        file_read(path, GROUP_MAX, &group, NULL, NULL) != STATUS_OK)
        return -1;
    return strcmp(own, group) != 0;
}

/* Whether it was stopped since this was asked last; the kernel keeps it for the parent. */
static int64_t was_stopped(pid_t pid)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WCONTINUED | WNOHANG) < 0)
        return -1;
    return info.si_pid == pid;
}

void worker_state_finish(struct worker_state *state)
{
    free(state->threads);
    *state = (struct worker_state){0};
}

void worker_state_look(pid_t pid, struct worker_state *ret)
{
    *ret = (struct worker_state){.moved = is_moved(pid)};
    read_threads(pid, ret);
    (void)was_stopped(pid);
    ret->queued_ns = waits_queued_ns(pid);
    ret->cpu_ns = used_ns(pid);
}

/* Whether the environment that the process was started with has one of the variables. */
static bool has_variable(pid_t pid, const char *const *names)
{
    AUTO_FREE char *environment = NULL;
    char path[64];
    size_t length = 0;

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    if (file_read(path, ENVIRONMENT_MAX, &environment, &length, NULL) != STATUS_OK)
        return false;
    for (size_t at = 0; at < length; at += strlen(environment + at) + 1)
        for (size_t i = 0; names[i]; i++)
            if (!strncmp(environment + at, names[i], strlen(names[i])) &&
                environment[at + strlen(names[i])] == '=')
                return true;
    return false;
}

int64_t worker_state_steered(pid_t pid)
{
    /* By these a runtime of OpenMP places the first thread before the program begins. */
    static const char *const placed[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY",
                                         "KMP_AFFINITY", NULL};
    struct worker_thread own, first;

    if (!read_thread(0, &own) || !read_thread(pid, &first))
        return -1;
    if (has_variable(pid, placed))
        memcpy(first.processors, own.processors, sizeof(own.processors));
    return !is_alike(&own, &first);
}

/* Whether a thread of both has other processors or another priority now. */
static bool is_changed(const struct worker_state *before, const struct worker_state *after)
{
    for (size_t i = 0; i < before->count; i++)
        for (size_t k = 0; k < after->count; k++)
            if (before->threads[i].id == after->threads[k].id &&
                !is_alike(&before->threads[i], &after->threads[k]))
                return true;
    return false;
}

/* Whether the threads share fewer processors than there are for them. */
static bool is_confined(const struct worker_state *state)
{
    struct worker_thread own;
    size_t given = read_thread(0, &own) ? processors_of(&own, 1) : 0;

    return processors_of(state->threads, state->count) <
           (given < state->count ? given : state->count);
}

static int64_t grown(int64_t from, int64_t to)
{
    return from < 0 || to < from ? -1 : to - from;
}

void worker_state_seen(const struct worker_state *before, pid_t pid, bool takes_all,
                       struct conduct_seen *seen)
{
    const int64_t cpu_ns = used_ns(pid), stopped = was_stopped(pid);
    struct worker_state now;

    worker_state_look(pid, &now);
    seen->stopped = stopped;
    seen->moved = now.moved > before->moved ? now.moved : before->moved;
    seen->cpu_ns = grown(before->cpu_ns, cpu_ns);
    seen->queued_ns = grown(before->queued_ns, now.queued_ns);
    seen->threads = now.count > 0 ? (int64_t)now.count : -1;
    if (before->count > 0 && now.count > 0 && seen->steered <= 0)
        seen->steered = is_changed(before, &now) ||
                        (takes_all && (is_confined(&now) || worker_state_steered(pid) > 0));
    worker_state_finish(&now);
}
