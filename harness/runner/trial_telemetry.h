/*
 * trial_telemetry - the samplers of a trial, one for the device and one for the host. None of their
 * failures fails the trial: what is missing is recorded as missing.
 */
#ifndef ASSAY_RUNNER_TRIAL_TELEMETRY_H
#define ASSAY_RUNNER_TRIAL_TELEMETRY_H

#include <stdbool.h>
#include <sys/types.h>

#include "harness/core/status.h"
#include "harness/runner/telemetry_watch.h"
#include "harness/runner/trial_record.h"

#define TRIAL_TELEMETRY_PARTS 2

struct trial_telemetry {
    struct telemetry_watch watches[TRIAL_TELEMETRY_PARTS];
    bool runs[TRIAL_TELEMETRY_PARTS];
    int64_t interval_ns;
};

struct trial_request;

/* Starts them in the worker's environment, as the request says; zeroed before. */
void trial_telemetry_start(struct trial_telemetry *telemetry, const struct trial_request *request,
                           pid_t worker);

/* Asks for a row now: an edge of the window. Does not wait. */
void trial_telemetry_mark(struct trial_telemetry *telemetry);

/*
 * Ends them; their output is stored in the record, or dropped when `record` is NULL. An error is
 * the store's, or no memory.
 */
enum status trial_telemetry_end(struct trial_telemetry *telemetry, struct trial_record *record,
                                struct error *err);

#endif
