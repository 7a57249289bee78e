/* telemetry_record - what a telemetry child left, into the store. */
#ifndef ASSAY_RUNNER_TELEMETRY_RECORD_H
#define ASSAY_RUNNER_TELEMETRY_RECORD_H

#include <stdint.h>

#include "harness/runner/telemetry_watch.h"
#include "results/store/store.h"

/*
 * Stores a log as `part` ("host" or "device") of a trial; `started_ns` (CLOCK_MONOTONIC) is the
 * trial's start, from which times are counted. Times before it are left out.
 */
enum status telemetry_record(struct store *store, int64_t trial, const char *part,
                             int64_t started_ns, const struct telemetry_log *log,
                             struct error *err);

#endif
