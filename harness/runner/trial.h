/*
 * trial - one trial, from the outside: start a worker, watch it, store what it sends, and report
 * how it ended. A crash, a hang or wrong data ends this trial with a reason and affects nothing
 * else.
 */
#ifndef ASSAY_RUNNER_TRIAL_H
#define ASSAY_RUNNER_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/runner/maps.h"
#include "harness/runner/progress.h"
#include "protocols/serving/request.h"
#include "results/store/store.h"

struct named_worker;

struct trial_request {
    struct store *store;
    int64_t campaign, sequence;      /* which planned trial */
    const json_t *message;           /* body of the "trial" message */
    const struct schedule *schedule; /* of a server's requests; NULL: the scenario is none */
    double
        capacity; /* requests/s, measured in this campaign, that its rate is a share of; 0: none */
    int64_t silence_ns;        /* watchdog: longest silence of the worker */
    const json_t *environment; /* fixed readings, environment_read_fixed */
    const json_t *first;      /* the cell's first trial that is ok (same_stack.h); NULL: none yet */
    struct maps_cache *cache; /* of library digests, one a campaign */
    const char *worker;       /* of its program, by the plan (SHA-256); NULL or "": it says none */
    struct progress *progress; /* NULL: none */
    int wake_fd;               /* readable: the user wants to stop; -1: none */
    char *const
        *environment_changes; /* "NAME=VALUE" or "NAME" (unset) for the worker; NULL: none */
    const char *root;         /* root directory for the worker; NULL: the same */
    const struct named_worker *named; /* who measures; NULL: assay's own */
    int64_t telemetry_ns;             /* interval of telemetry during it; 0: none */
    bool dump;                        /* keep the vendor's full dump of the device, too */
};

/* How it ended. */
struct trial_outcome {
    int64_t trial;      /* its row */
    enum status status; /* OK: it may be counted */
    struct error error; /* why not */
};

/*
 * Runs one trial to its end and stores all of it. The worker is this program's own, a named one's
 * program, or the executable that the environment variable ASSAY_WORKER names (its value is a
 * recorded reading). A failure of the trial is an outcome, not an error; an error is a failure of
 * the harness itself (the store cannot be written, no memory, the program cannot be started).
 */
enum status trial_run(const struct trial_request *request, struct trial_outcome *ret,
                      struct error *err);

#endif
