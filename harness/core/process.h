/*
 * process - child processes with pipes on chosen descriptors.
 *
 * The child is its own process group, dies when the thread that started it dies (PR_SET_PDEATHSIG,
 * so start it from one that stays), and inherits no descriptor but those listed; of the descriptors
 * 0, 1 and 2 those not listed are /dev/null.
 */
#ifndef ASSAY_CORE_PROCESS_H
#define ASSAY_CORE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/core/status.h"

struct process_fd {
    int parent_fd; /* descriptor in this process that the child gets */
    int child_fd;  /* its number there */
};

struct process_options {
    const char *path;  /* program file; NULL: search argv[0] in PATH */
    char *const *argv; /* NULL-terminated */
    char *const *envp; /* NULL: inherit */
    const char *root;  /* chroot there (needs privilege), with this system's /proc, /sys and
                          /dev; `path` is still looked up outside, the loader and all
                          libraries inside; NULL: no */
    const struct process_fd *fds;
    size_t fd_count;
};

struct process {
    pid_t pid; /* 0 when there is none */
};

/* How a child ended. */
struct process_exit {
    bool exited;
    int code;   /* when exited */
    int signal; /* when not */
    bool core_dumped;
    int64_t max_rss_bytes; /* at least what this process had at the fork, which Linux counts */
    int64_t user_ns, system_ns;
};

/* Starts the child; an exec failure in the child is reported here, with its reason. */
enum status process_spawn(const struct process_options *options, struct process *ret,
                          struct error *err);

/*
 * Waits until the child has ended or `deadline_ns` (CLOCK_MONOTONIC; 0: poll; INT64_MAX: for ever)
 * passes: TIMEOUT then, and the child runs on. Processes that remain in its group are ended with
 * it. Time in which this process or the machine was suspended does not count, here and for the
 * limits below.
 */
enum status process_wait(struct process *process, int64_t deadline_ns, struct process_exit *ret,
                         struct error *err);

/* True once it has ended, reaped or not; others may still hold its descriptors. */
bool process_has_ended(const struct process *process);

/* Sends a signal to the child's whole group; no error when it has ended. */
void process_signal(const struct process *process, int signal);

/* SIGTERM, up to `grace_ns`, then SIGKILL, then reaps. Takes one that is already reaped. */
void process_stop(struct process *process, int64_t grace_ns, struct process_exit *ret);

/*
 * Runs a program to its end, at most `timeout_ns`, standard input empty; its standard output (up to
 * `max_output` bytes, heap, NUL-terminated) is put into `ret_output`. UNAVAILABLE when it cannot be
 * started, CRASHED on a signal; a non-zero exit is no error here: see `ret_exit`.
 */
enum status process_capture(char *const *argv, int64_t timeout_ns, size_t max_output,
                            char **ret_output, struct process_exit *ret_exit, struct error *err);

/* The same with another environment; NULL: inherit. */
enum status process_capture_with(char *const *argv, char *const *envp, int64_t timeout_ns,
                                 size_t max_output, char **ret_output,
                                 struct process_exit *ret_exit, struct error *err);

/*
 * As process_capture(), but standard error goes to `error_fd`, and what the program wrote to its
 * standard output until then is returned (heap) after a crash and a timeout, too; NULL when it
 * could not be started. One that is out of time has a second from SIGTERM to SIGKILL to report
 * where it was.
 */
enum status process_capture_both(char *const *argv, int error_fd, int64_t timeout_ns,
                                 size_t max_output, char **ret_output,
                                 struct process_exit *ret_exit, struct error *err);

/* This process's environment with messages in plain English (LC_ALL=C), heap, its strings the
   environment's own: free() the array alone. NULL: out of memory. */
char **process_plain_environment(void);

#endif
