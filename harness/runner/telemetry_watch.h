/*
 * telemetry_watch - a telemetry child from the outside: started with a trial, notified of the
 * window's edges, ended with the trial, and its output checked. Nothing here fails a trial.
 */
#ifndef ASSAY_RUNNER_TELEMETRY_WATCH_H
#define ASSAY_RUNNER_TELEMETRY_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "harness/core/process.h"
#include "harness/core/status.h"

struct telemetry_watch {
    struct process process;
    int control_fd, output_fd, rows_fd; /* -1: none */
    int error_fd;                       /* its output on stderr; -1: none */
    bool dump;
};

struct telemetry_watch_options {
    const char *part; /* "host" or "cuda:0" */
    int64_t interval_ns;
    pid_t worker;
    char *const *envp; /* of the worker; NULL: inherit */
    const char *root;  /* of the worker; NULL: the same */
    bool dump;         /* the vendor's full dump, too: it takes time at the end */
};

/* An error is the system's: no memory, no process. */
enum status telemetry_watch_start(const struct telemetry_watch_options *options,
                                  struct telemetry_watch *ret, struct error *err);

/* Waits for two rows, but no longer than `limit_ns` or than the child runs. */
void telemetry_watch_wait(const struct telemetry_watch *watch, int64_t limit_ns);

/* Asks for a row now; does not wait for it. */
void telemetry_watch_mark(struct telemetry_watch *watch);

/* What a child left. */
struct telemetry_log {
    enum status status;  /* OK, UNAVAILABLE, CRASHED, TIMEOUT ...: of the child */
    char *message;       /* heap; NULL when OK and nothing was lost */
    json_t *channels;    /* array of {name, kind, source, wraps_at, bits, reason}; never NULL */
    json_t *begin, *end; /* readings at both ends; NULL: none */
    char *dump;          /* heap; NULL: none */
    int64_t interval_ns;
    int64_t cpu_ns; /* all that the child took; -1: not known */
    size_t row_count, channel_count;
    int64_t *rows; /* heap: row_count times 2 + channel_count values, see telemetry_child.h */
};

/*
 * Ends the child and reads what it left. One that does not end within two seconds (ten when a dump
 * is due) is killed, and the log says so. NO_MEMORY alone.
 */
enum status telemetry_watch_stop(struct telemetry_watch *watch, int64_t interval_ns,
                                 struct telemetry_log *ret, struct error *err);
void telemetry_log_finish(struct telemetry_log *log);

#endif
