/*
 * trace - the operations of one iteration, with the time that each took on the device.
 *
 * A kind marks what it has enqueued; the time between two marks is that of what lies between them,
 * what the device waits for its launch included. Times are those of the device's events, or, where
 * a backend has none, of the host's clock, with a wait at each mark.
 */
#ifndef ASSAY_WORKLOADS_TRACE_H
#define ASSAY_WORKLOADS_TRACE_H

#include <stdint.h>

#include <jansson.h>

#include "backends/backend.h"
#include "harness/core/status.h"

#define TRACE_NAME_MAX 64
#define TRACE_UNKNOWN UINT64_MAX
#define TRACE_COPY_IN "copy_to_device" /* the kind of a copy of the host's data */

struct trace_operation {
    const char *name; /* what it writes: "layer0.q"; copied */
    const char *kind; /* an operator's name, TRACE_COPY_IN ...; static */
    uint64_t bytes;   /* read and written in memory; TRACE_UNKNOWN: it depends on the data */
    uint64_t flops;   /* of its products; TRACE_UNKNOWN: not counted */
};

struct trace; /* of one iteration */

/* The trace begins here: waits for the device. `device` must outlive it. */
enum status trace_begin(struct device *device, struct trace **ret, struct error *err);
/* What was enqueued since the mark before is this operation. Does nothing where `trace` is NULL. */
enum status trace_mark(struct trace *trace, const struct trace_operation *operation,
                       struct error *err);
size_t trace_count(const struct trace *trace);
/*
 * Waits, then {"clock": "device" | "host", "operations": [{"name", "kind", "begin_ns",
 * "duration_ns", "bytes", "flops"}]}, since the beginning and in order; `bytes` and `flops` null
 * where they are not known. New.
 */
enum status trace_end(struct trace *trace, json_t **ret, struct error *err);
void trace_destroy(struct trace *trace); /* takes NULL */

#endif
