/*
 * trial_declared - what is demanded of another program than assay's own worker, besides the clauses
 * of the protocol: that the work is of the process whose files are recorded, and, of a declared
 * one, that it is made of the packages that it was installed with and ran as the plan says. Each
 * function returns INVALID with what is wrong, its name first ("worker.device: ...").
 */
#ifndef ASSAY_RUNNER_TRIAL_DECLARED_H
#define ASSAY_RUNNER_TRIAL_DECLARED_H

#include <sys/types.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/runner/processes.h"
#include "harness/runner/trial.h"
#include "harness/runner/trial_record.h"

/*
 * worker.process, at both syncs of the window, `start` of zeros at first, then the caller's to
 * finish: processes that `pid` started have not used more processor time between the two than it
 * has itself, nor more than a twentieth of the time that passed, so that helpers may wait.
 */
enum status trial_declared_process(struct processes *start, pid_t pid, struct error *err);

/* worker.device: the opened device (body of the worker's message) is the one of the plan. */
enum status trial_declared_device(const struct trial_request *request, const json_t *device,
                                  struct error *err);

/*
 * worker.precision, worker.threads: what the program says of itself in member "framework" of the
 * record's facts is what the plan says; what it does not say is not compared. worker.packages: no
 * file of its folder has changed since the plan, and each that was mapped at the window's end has
 * the content that a package was installed with.
 */
enum status trial_declared_end(const struct trial_request *request,
                               const struct trial_record *record, struct error *err);

#endif
