/*
 * worker_process - a worker as a process: started fresh, with its two ends of the channel, and with
 * its standard output and error kept in memory, so that its last output can explain its end.
 */
#ifndef ASSAY_RUNNER_WORKER_PROCESS_H
#define ASSAY_RUNNER_WORKER_PROCESS_H

#include <stdbool.h>

#include "harness/core/process.h"
#include "harness/core/status.h"
#include "harness/core/text.h"
#include "harness/runner/channel.h"

struct worker_process {
    struct process process;
    struct channel channel;
    int words_fd; /* the worker's standard output and error */
};

/* Holds nothing yet; may be finished. */
void worker_process_init(struct worker_process *worker);

/*
 * Starts assay's own worker, or the program that ASSAY_WORKER names. `environment_changes` are
 * "NAME=VALUE" or "NAME" (unset), NULL: none; in addition our own worker gets what the backend of
 * `device_spec` (NULL: none) requires at the start. `root` is its root directory, NULL: the same.
 */
enum status worker_process_start(struct worker_process *worker, const char *device_spec,
                                 char *const *environment_changes, const char *root,
                                 struct error *err);

/* True when ASSAY_WORKER names a worker that is not our own. */
bool worker_process_is_foreign(void);

/* Appends what the worker wrote last, if anything, to `text`. */
void worker_process_append_words(const struct worker_process *worker, struct text *text);

/* Keeps only the end of what it wrote; to be called often. */
void worker_process_forget_words(const struct worker_process *worker);

/* Closes the channel and drops the output; the process must have been waited for. */
void worker_process_finish(struct worker_process *worker);

#endif
