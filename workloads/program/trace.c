/* Which files a program and its children map to execute, as their ends show it to a tracer. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "workloads/program/program.h"

#define END_MS 1000 /* that those which are left may take to end */
#define PATHS_MAX 4096
#define MAPS_TEXT_MAX ((size_t)16 << 20)
#define FOLLOWED (PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK)

void program_trace_begin(void *context, pid_t pid)
{
    struct program_trace *trace = context;

    trace->refused = ptrace(PTRACE_SEIZE, pid, NULL, (void *)(uintptr_t)FOLLOWED) != 0;
    if (!trace->refused)
        trace->followed[trace->followed_count++] = pid;
}

static void forget(struct program_trace *trace, pid_t pid)
{
    for (size_t i = 0; i < trace->followed_count; i++)
        if (trace->followed[i] == pid) {
            trace->followed[i] = trace->followed[--trace->followed_count];
            return;
        }
}

/* The child that this one has just made, which is followed as well. */
static void note_child(struct program_trace *trace, pid_t pid)
{
    unsigned long child = 0;

    if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child) == 0 &&
        trace->followed_count < PROGRAM_FOLLOWED_MAX)
        trace->followed[trace->followed_count++] = (pid_t)child;
    ptrace(PTRACE_CONT, pid, NULL, NULL);
}

static void add_path(struct program_trace *trace, const char *path)
{
    for (size_t i = 0; i < trace->count; i++)
        if (!strcmp(trace->paths[i], path))
            return;
    if (trace->count == PATHS_MAX || !ARRAY_ROOM(trace->paths, trace->count, 1))
        return;
    trace->paths[trace->count] = strdup(path);
    trace->count += trace->paths[trace->count] != NULL;
}

/* "ADDRESS PERMS OFFSET DEV INODE      PATH" (proc(5)); those that may be executed. */
static void read_maps(struct program_trace *trace, pid_t pid)
{
    char path[64];
    AUTO_FREE char *text = NULL;
    char *rest = NULL;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    if (file_read(path, MAPS_TEXT_MAX, &text, NULL, NULL) != STATUS_OK)
        return;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char permissions[8];
        int at = -1;

        if (sscanf(line, "%*s %7s %*s %*s %*s %n", permissions, &at) == 1 && at > 0 &&
            strchr(permissions, 'x') && line[at] == '/')
            add_path(trace, line + at);
    }
}

/* One that stopped: at its end what it has mapped is read, and it goes on by itself. */
static void handle(struct program_trace *trace, const siginfo_t *info)
{
    const pid_t pid = info->si_pid;
    const int event = info->si_status >> 8, signal = info->si_status & 0xff;

    switch (event) {
    case PTRACE_EVENT_EXIT:
        read_maps(trace, pid);
        ptrace(PTRACE_DETACH, pid, NULL, NULL);
        forget(trace, pid);
        return;
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
        note_child(trace, pid);
        return;
    case PTRACE_EVENT_STOP: /* a new child, or a stop of the whole group */
        ptrace(signal == SIGTRAP ? PTRACE_CONT : PTRACE_LISTEN, pid, NULL, NULL);
        return;
    default:
        ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)signal);
    }
}

void program_trace_step(struct program_trace *trace)
{
    siginfo_t info = {.si_pid = 0};

    while (trace->followed_count > 0 && waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG | __WALL) == 0 &&
           info.si_pid != 0) {
        handle(trace, &info);
        info.si_pid = 0;
    }
}

void program_trace_end(struct program_trace *trace)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    for (size_t i = 0; i < trace->followed_count; i++)
        kill(trace->followed[i], SIGKILL);
    for (int i = 0; i < END_MS && trace->followed_count > 0; i++) {
        program_trace_step(trace);
        nanosleep(&pause, NULL);
    }
}

/* A page of each is enough to be seen; on a file system without execution, to be read. */
static void *map_page(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    void *page = fd >= 0 ? mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) : MAP_FAILED;

    if (fd >= 0)
        close(fd);
    return page;
}

void program_trace_hold(struct program_trace *trace)
{
    trace->pages = calloc(trace->count + 1, sizeof(*trace->pages));
    for (size_t i = 0; trace->pages && i < trace->count; i++) {
        void *page = map_page(trace->paths[i]);

        if (page != MAP_FAILED)
            trace->pages[trace->page_count++] = page;
    }
}

void program_trace_finish(struct program_trace *trace)
{
    for (size_t i = 0; i < trace->page_count; i++)
        munmap(trace->pages[i], 1);
    for (size_t i = 0; i < trace->count; i++)
        free(trace->paths[i]);
    free(trace->pages);
    free(trace->paths);
    *trace = (struct program_trace){0};
}
