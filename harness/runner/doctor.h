/*
 * doctor - what on this machine would invalidate evidence: each finding with what was seen, what it
 * would do to a measurement, and what to do about it. Only what was observed is reported: what
 * cannot be determined here is listed as unknown, with the reason, and is no finding.
 */
#ifndef ASSAY_RUNNER_DOCTOR_H
#define ASSAY_RUNNER_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/core/type.h"
#include "protocols/finding.h"

struct doctor_options {
    /* These devices too: "cuda:0", "opencl"; NULL: every usable one; "": none. */
    const char *device;
    /* In place of `device`, an array of "cuda:0": these by their telemetry alone. NULL: `device`.
     */
    const json_t *specs;
    int64_t jitter_ns; /* length of the test for jitter and steal; 0: none, ... */
    int64_t look_ns;   /* ... and load is observed for so long instead */
    /* During the test, false ends it, and once with jitter_ns when it is over; NULL: none. */
    bool (*tick)(void *context, int64_t done_ns);
    void *context;
};

/*
 * Checks the machine. New object:
 *   {"version": 1, "utc_ns", "worst": severity, "host": name, "devices": ["opencl:0", ...],
 *    "findings": [{"check", "severity", "observed", "effect", "remedy"}, ...],   worst first
 *    "passed": [{"check", "observed"}, ...],
 *    "unknown": [{"check", "reason"}, ...],
 *    "jitter": {"duration_ns", "threshold_ns", "gaps", "lost_ns", "longest_ns"} or null}
 */
enum status doctor_examine(const struct doctor_options *options, json_t **ret, struct error *err);
/* Its "jitter". */
extern const struct type doctor_jitter_type;

/*
 * The report's worst severity; FINDING_NONE for one that has none. WARNING: intervals grow wider,
 * or a level moves by some per cent; CRITICAL: numbers measured in this state say little of the
 * device.
 */
enum finding_severity doctor_worst(const json_t *report);

#endif
