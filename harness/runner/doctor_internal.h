/* doctor_internal - what the files of doctor share. */
#ifndef ASSAY_RUNNER_DOCTOR_INTERNAL_H
#define ASSAY_RUNNER_DOCTOR_INTERNAL_H

#include "harness/core/reading.h"
#include "harness/runner/doctor.h"
#include "harness/runner/jitter.h"
#include "harness/runner/processes.h"

struct doctor {
    struct reading_list host;       /* fixed, moving, limits */
    struct processes before, after; /* observes the load */
    int64_t own_ms;                 /* that this process used between them */
    bool has_load;
    const char *load_reason; /* why not */
    struct jitter jitter;
    bool has_jitter;
    int64_t throttled_before, throttled_after; /* periods of the cgroup; -1: not known */
    json_t *findings, *passed, *unknown;
};

void doctor_find(struct doctor *doctor, enum doctor_severity severity, const char *check,
                 const char *effect, const char *remedy, const char *observed, ...)
    __attribute__((format(printf, 6, 7)));
void doctor_pass(struct doctor *doctor, const char *check, const char *observed, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_cannot_know(struct doctor *doctor, const char *check, const char *reason);

/* Text of a reading; NULL when it has no value (then `ret_reason`, if wanted, says why). */
const char *doctor_text(const struct reading_list *list, const char *name, const char **ret_reason);
/* Integer of a reading, of an integer or a text that is one; -1 when it has none. */
int64_t doctor_integer(const struct reading_list *list, const char *name);

/* doctor_checks.c: everything about the host. */
void doctor_check_host(struct doctor *doctor);
/* doctor_device.c: one device, by what its backend and its telemetry report. */
void doctor_check_device(struct doctor *doctor, const json_t *device);

#endif
