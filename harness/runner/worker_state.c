#include "harness/runner/worker_state.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/elf.h"
#include "harness/core/file.h"
#include "harness/core/text.h"
#include "harness/core/waits.h"
#include "harness/runner/maps.h"

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
                environment[at + strlen(names[i])] == '=' && environment[at + strlen(names[i]) + 1])
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
    if (before->count > 0 && now.count > 0 && seen->steered == 0)
        seen->steered = is_changed(before, &now) ||
                        (takes_all && (is_confined(&now) || worker_state_steered(pid) > 0));
    worker_state_finish(&now);
}

/* ---- what nobody tells of ---- */

/* A file that the worker has mapped, and why. */
struct mapped {
    const char *path;
    struct elf_links links;
    bool explained;
};

static const char *const preloads[] = {"LD_PRELOAD", "LD_AUDIT", NULL};

static bool has_preload_file(const char *root)
{
    AUTO_FREE char *path = text_format("%s/etc/ld.so.preload", root ? root : ""), *text = NULL;

    return path && file_read(path, GROUP_MAX, &text, NULL, NULL) == STATUS_OK &&
           text[strspn(text, " \t\n")];
}

/* Executable memory without a file; what the kernel itself puts there has one of these names. */
static int64_t count_memory(const char *maps)
{
    static const char *const known[] = {"[vdso]", "[vsyscall]", "[heap]", "[stack]"};
    int64_t count = 0;

    for (const char *line = maps; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char permissions[8], name[16] = "";
        bool counts;

        if (sscanf(line, "%*s %7s %*s %*s %*s%*[ ]%15[^\n]", permissions, name) < 1 ||
            !strchr(permissions, 'x'))
            continue;
        counts = name[0] != '/';
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            counts = counts && strcmp(name, known[i]) != 0;
        count += counts;
    }
    return count;
}

/* The first that goes by the name and is not explained yet. */
static struct mapped *find_mapped(struct mapped *files, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!files[i].explained && ((files[i].links.name && !strcmp(files[i].links.name, name)) ||
                                    !strcmp(file_base_name(files[i].path), name)))
            return &files[i];
    return NULL;
}

static void explain(struct mapped *files, size_t count, struct mapped *file)
{
    file->explained = true;
    for (char **name = file->links.needed; name && *name; name++) {
        struct mapped *needed = find_mapped(files, count, *name);

        if (needed)
            explain(files, count, needed);
    }
}

/* Files that the program does not need. The C library opens one by itself, to walk a stack. */
static int64_t count_files(pid_t pid, const char *maps)
{
    CLEANUP(maps_list_finish) struct maps_list list = {0};
    AUTO_FREE struct mapped *files = NULL;
    struct mapped *walker;
    char path[64], program[PATH_MAX];
    int64_t count = 0;
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    length = readlink(path, program, sizeof(program) - 1);
    if (length < 0 || maps_parse(maps, &list, NULL) != STATUS_OK)
        return -1;
    program[length] = '\0';
    files = calloc(list.count + 1, sizeof(*files));
    for (size_t i = 0; files && i < list.count; i++) {
        files[i].path = list.files[i].path;
        (void)elf_read_links(files[i].path, &files[i].links, NULL);
    }
    for (size_t i = 0; files && i < list.count; i++)
        if (!strcmp(files[i].path, program))
            explain(files, list.count, &files[i]);
    walker = files ? find_mapped(files, list.count, "libgcc_s.so.1") : NULL;
    if (walker)
        explain(files, list.count, walker);
    for (size_t i = 0; files && i < list.count; i++) {
        count += !files[i].explained;
        elf_links_finish(&files[i].links);
    }
    return files ? count : -1;
}

/* Whether this process was started with preloads that it does not find in its environment. */
static bool is_hidden_here(void)
{
    for (size_t i = 0; preloads[i]; i++)
        if (getenv(preloads[i]))
            return false;
    return has_variable(getpid(), preloads);
}

int64_t worker_state_hidden(pid_t pid, bool own, bool given, const char *root)
{
    AUTO_FREE char *maps = NULL;
    char path[64];
    struct stat tasks;
    int64_t files, unset;

    if (given || has_preload_file(root))
        return -1;
    unset = has_variable(pid, preloads) + is_hidden_here();
    if (!own)
        return unset;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    if (file_read(path, ENVIRONMENT_MAX, &maps, NULL, NULL) != STATUS_OK)
        return -1;
    files = count_files(pid, maps);
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    if (files < 0 || stat(path, &tasks) < 0)
        return -1;
    return files + count_memory(maps) + (tasks.st_nlink > 3 ? (int64_t)tasks.st_nlink - 3 : 0) +
           unset;
}
