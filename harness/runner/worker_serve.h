/*
 * worker_serve - the worker as a server: batches of the requests that a generator sends, in place
 * of samples one after the other.
 *
 * A sample is a step of the server, so the series of a trial are those of any other, with
 * step:begin_ns, step:batch and step:tokens beside them. What is known of the requests are series
 * of their own, one value a scheduled request: worker_serve_series.
 */
#ifndef ASSAY_RUNNER_WORKER_SERVE_H
#define ASSAY_RUNNER_WORKER_SERVE_H

#include "harness/runner/worker_internal.h"
#include "protocols/serving/arrivals.h"

/*
 * Receives the schedule that the trial's message announces; `ret` is to be finished, after failure,
 * too. PROTOCOL: it is none, or another.
 */
enum status worker_serve_receive(struct worker *worker, const json_t *trial, struct schedule *ret,
                                 struct error *err);

/* Sends the first `columns` of the log of requests (REQUEST_COLUMNS, or all), one by one. */
enum status worker_serve_send_log(struct worker *worker, const struct request *requests,
                                  size_t count, size_t columns, struct error *err);

/* Receives the schedule and starts the generator: before the device is opened. */
enum status worker_serve_prepare(struct worker *worker, const json_t *trial, struct error *err);

/* Warmup in full batches, and the window, with the syncs around it. */
enum status worker_serve(struct worker *worker, struct error *err);

/* Sends the log of the requests as far as it is known, once. */
enum status worker_serve_send(struct worker *worker, struct error *err);

/* How it was served, as a new object for the facts. */
json_t *worker_serve_facts(const struct worker *worker);

void worker_serve_finish(struct worker *worker);

#endif
