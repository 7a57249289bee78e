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
    const char *path;            /* program file; NULL: search argv[0] in PATH */
    char *const *argv;           /* NULL-terminated */
    char *const *envp;           /* NULL: inherit */
    const char *const *settings; /* "NAME=value" in place of the environment's of that name,
                                    NULL-terminated; or NULL */
    const char *root;      /* chroot there (needs privilege), with this system's /proc, /sys and
                              /dev; `path` is still looked up outside, the loader and all
                              libraries inside; NULL: no */
    const char *directory; /* of its own, where `argv[0]` counts from; NULL: this process's */
    const struct process_fd *fds;
    size_t fd_count;
    /* Called here while the child waits before it executes the program, as a tracer wants it; or
       NULL. */
    void (*forked)(void *context, pid_t pid);
    void *context;
};

struct process {
    pid_t pid; /* 0 when there is none */
};

/* How a child ended. */
struct process_exit {
    bool exited;
    int code;   /* when exited */
    int signal; /* when not; 0: not known, see process_signal_text */
    bool core_dumped;
    int64_t max_rss_bytes; /* at least what this process had at the fork, which Linux counts */
    int64_t user_ns, system_ns;
};

#define PROCESS_SIGNAL_SIZE 96

/*
 * What ended a child, for "ended by": "signal 9 (Killed)". Says so where `end` has no signal, since
 * this process ignores SIGCHLD, or another part of it waits for all children.
 */
const char *process_signal_text(const struct process_exit *end, char ret[PROCESS_SIGNAL_SIZE]);

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
 * Ends all children of this process and theirs, such as those that left the group of a child and
 * came here with its end (PR_SET_CHILD_SUBREAPER): for a process that has no others.
 */
void process_end_adopted(void);

/* A heap array of heap strings that NULL ends, as argv and envp are; takes NULL. */
void process_free_words(char **words);

/* In English, as messages are kept and read: for `settings`. */
extern const char *const process_plain[];

struct process_call {
    const char *name; /* in messages; NULL: argv[0] */
    char *const *argv;
    char *const *envp; /* as in process_options, as is the next */
    const char *const *settings;
    const void *input; /* its standard input, read when it likes or never; NULL: empty */
    size_t length;
    int error_fd; /* its standard error; -1: /dev/null */
    int wake_fd;  /* readable: stop it; -1: none */
    int64_t timeout_ns;
    size_t max_output;
    bool is_bounded; /* stop it when it writes more than `max_output` */
};

/*
 * Runs a program to its end. Its standard output, up to `max_output` bytes (heap, NUL-terminated),
 * is put into `ret` whenever it was started, after a crash and a timeout, too; else NULL. It and
 * what it started have ended by then; one that is stopped has a second from SIGTERM to SIGKILL to
 * report where it was. UNAVAILABLE: it cannot be started; NO_MEMORY; CRASHED: a signal ended it;
 * TIMEOUT; INTERRUPTED: by `wake_fd`; INVALID: it wrote more. A non-zero exit is no error here: see
 * `ret_exit`. `ret_length` may be NULL.
 */
enum status process_call(const struct process_call *call, char **ret, size_t *ret_length,
                         struct process_exit *ret_exit, struct error *err);

/*
 * The same with no input, standard error dropped; `ret_output` is set on success alone, and
 * `ret_exit` may be NULL.
 */
enum status process_capture(char *const *argv, int64_t timeout_ns, size_t max_output,
                            char **ret_output, struct process_exit *ret_exit, struct error *err);

#endif
