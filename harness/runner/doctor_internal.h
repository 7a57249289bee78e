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
    const char *device; /* whose checks are done, "cuda:0"; NULL: those of the host */
    json_t *findings, *passed, *unknown;
};

/* A finding of the table (FINDING_MACHINE_MAP). `remedy`: where the row leaves it open; else NULL.
 */
void doctor_find(struct doctor *doctor, enum finding_code code, bool is_critical,
                 const char *remedy, const char *observed, ...)
    __attribute__((format(printf, 5, 6)));
/* That a check passed, or could not be done. */
void doctor_pass(struct doctor *doctor, enum finding_code code, const char *observed, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_cannot_know(struct doctor *doctor, enum finding_code code, const char *reason);
/* That something could not be checked at all: "device", "cuda:0 telemetry". */
void doctor_cannot_check(struct doctor *doctor, const char *what, const char *reason);

/* Text of a reading; NULL when it has no value (then `ret_reason`, if wanted, says why). */
const char *doctor_text(const struct reading_list *list, const char *name, const char **ret_reason);
/* Integer of a reading, of an integer or a text that is one; -1 when it has none. */
int64_t doctor_integer(const struct reading_list *list, const char *name);

/* doctor_checks.c: everything about the host. */
void doctor_check_host(struct doctor *doctor);
/* doctor_device.c: one device, by what its backend and its telemetry report. */
void doctor_check_device(struct doctor *doctor, const json_t *device);

#endif
