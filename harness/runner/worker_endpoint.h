/*
 * worker_endpoint - the worker as a client: requests to a server elsewhere, in place of a workload
 * on a device.
 *
 * A sample of the warmup is a request, one after the other; the window is one sample, whose
 * requests are the trial's log. There is no reference: what is checked is that output arrives, and
 * that the usage counts no fewer tokens than events had output.
 */
#ifndef ASSAY_RUNNER_WORKER_ENDPOINT_H
#define ASSAY_RUNNER_WORKER_ENDPOINT_H

#include "harness/runner/worker_internal.h"

/* Receives the schedule, and reads the declaration. worker_endpoint_finish after failure, too. */
enum status worker_endpoint_prepare(struct worker *worker, const json_t *trial, struct error *err);

/*
 * The whole trial: starts the server where one is declared, and ends it. CRASHED: that server
 * ended; UNAVAILABLE: the endpoint does not answer; CHECK_FAILED: it did not after the window.
 */
enum status worker_endpoint_run(struct worker *worker, struct error *err);

/* Sends the log of the requests as far as it is known, once. */
enum status worker_endpoint_send(struct worker *worker, struct error *err);

void worker_endpoint_finish(struct worker *worker);

#endif
