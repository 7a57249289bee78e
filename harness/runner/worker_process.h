/*
 * worker_process - a worker as a process: started fresh, with its two ends of the channel, and with
 * its standard output and error kept in memory, so that its last output can explain its end.
 */
#ifndef ASSAY_RUNNER_WORKER_PROCESS_H
#define ASSAY_RUNNER_WORKER_PROCESS_H

#include <stdbool.h>

#include "harness/core/digest.h"
#include "harness/core/process.h"
#include "harness/core/status.h"
#include "harness/core/text.h"
#include "harness/runner/channel.h"

struct worker_process {
    struct process process;
    struct channel channel;
    int output_fd;         /* the worker's standard output and error */
    bool foreign;          /* it is not our own: */
    struct digest program; /* its file as it was at the start */
    bool preloads;         /* its environment has LD_PRELOAD or LD_AUDIT */
};

/* Holds nothing yet; may be finished. */
void worker_process_init(struct worker_process *worker);

/* How a worker is started. */
struct worker_start {
    const char *device_spec; /* our own worker gets what its backend requires; NULL: none */
    char *const *environment_changes; /* "NAME=VALUE" or "NAME" (unset); NULL: none */
    const char *root;                 /* its root directory; NULL: the same */
    const struct named_worker *named; /* who measures; NULL: assay's own */
    bool own;                         /* assay's own, whatever ASSAY_WORKER says */
};

/* Starts assay's own worker, the named worker's program, or the program that ASSAY_WORKER names. */
enum status worker_process_start(struct worker_process *worker, const struct worker_start *start,
                                 struct error *err);

/* True when ASSAY_WORKER names a worker that is not our own. */
bool worker_process_is_foreign(void);

/*
 * SHA-256 of the program that measures: of assay's own, or of the file that ASSAY_WORKER names, a
 * script's text where it is one. `root` as above.
 */
enum status worker_process_program(const char *root, struct digest *ret, struct error *err);

/*
 * The same of the worker that runs: our own by the file that the kernel has executed
 * (/proc/PID/exe), another by its file at the start. UNAVAILABLE: it has ended.
 */
enum status worker_process_running(const struct worker_process *worker, struct digest *ret,
                                   struct error *err);

/* Appends what the worker wrote last, if anything, to `text`. */
void worker_process_append_words(const struct worker_process *worker, struct text *text);

/* Keeps only the end of what it wrote; to be called often. */
void worker_process_forget_words(const struct worker_process *worker);

/* Closes the channel and drops the output; the process must have been waited for. */
void worker_process_finish(struct worker_process *worker);

#endif
