/* plan - the timings and faults that ASSAY_NULL asks for. */
#ifndef ASSAY_BACKENDS_NULL_PLAN_H
#define ASSAY_BACKENDS_NULL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/random.h"
#include "harness/core/status.h"

/* kind, name in ASSAY_NULL */
#define NULL_FAULT_MAP(X)                                                                          \
    X(OPEN, "open")                                                                                \
    X(ALLOC, "alloc")                                                                              \
    X(OOM, "oom")                                                                                  \
    X(UPLOAD, "upload")                                                                            \
    X(DOWNLOAD, "download")                                                                        \
    X(DOWNLOAD_CORRUPT, "download_corrupt")                                                        \
    X(COMPILE, "compile")                                                                          \
    X(LAUNCH, "launch")                                                                            \
    X(LOST, "lost")                                                                                \
    X(HANG, "hang")                                                                                \
    X(CRASH, "crash")                                                                              \
    X(ABORT, "abort")                                                                              \
    X(EXIT, "exit")                                                                                \
    X(BAD_TIME, "bad_time")                                                                        \
    X(TELEMETRY_OPEN, "telemetry_open")                                                            \
    X(TELEMETRY_READ, "telemetry_read")                                                            \
    X(TELEMETRY_HANG, "telemetry_hang")                                                            \
    X(TELEMETRY_CRASH, "telemetry_crash")

enum null_fault {
#define NULL_FAULT_ENUM(code, name) NULL_FAULT_##code,
    NULL_FAULT_MAP(NULL_FAULT_ENUM)
#undef NULL_FAULT_ENUM
        NULL_FAULT_COUNT
};

struct null_plan {
    int64_t launch_ns;      /* every launch takes this long ... */
    double delay;           /* ... times 1 + delay */
    double cv;              /* noise: standard deviation relative to the mean */
    double phi;             /* AR(1) coefficient of the noise, in (-1, 1) */
    double process_cv;      /* a factor 1 + process_cv * z drawn once a device opened */
    int64_t warmup_ns;      /* the first launch takes this much more, */
    double warmup_launches; /* falling by e over so many launches */
    double drift;           /* relative growth over 1000 launches */
    uint64_t step_at;       /* from this launch on (from 1; 0: never) ... */
    double step;            /* ... it takes 1 + step times as long */
    /* Telemetry; there is none unless power_mw is given. */
    bool has_power;
    uint64_t power_mw;        /* at the machine's start, */
    double power_ramp;        /* growing by so many mW a second */
    uint64_t energy_wraps_at; /* the counter begins anew after this many uJ; 0: never */
    uint64_t energy_stuck;    /* 1: the counter does not change */
    uint64_t clock_khz;
    uint64_t clock_drop_khz;   /* the clock falls to this ... */
    uint64_t throttle;         /* ... and these reasons come (bits) ... */
    int64_t throttle_after_ns; /* ... so long after the telemetry was opened */
    uint64_t foreign;          /* so many foreign processes are on the device */
    bool seeded;
    uint64_t seed;
    uint64_t faults[NULL_FAULT_COUNT]; /* the n-th call (from 1) of that kind; 0: none */
    char once[1024]; /* a fault happens only when this file could be removed; "": always */
};

/* Reads "key=value,..."; NULL or "" gives the defaults. INVALID names the key and what to write. */
enum status null_plan_parse(const char *text, struct null_plan *ret, struct error *err);

/* What a device has drawn and counted so far. */
struct null_progress {
    const struct null_plan *plan;
    struct random random;
    double process_factor;
    double noise; /* the AR(1) state, variance 1 */
    uint64_t launches;
    uint64_t calls[NULL_FAULT_COUNT];
};

void null_progress_init(struct null_progress *progress, const struct null_plan *plan);

/* Duration of the next launch; never negative. */
int64_t null_progress_next_ns(struct null_progress *progress);

/* Counts a call of that kind; true when it is the one to fail. */
bool null_progress_fault(struct null_progress *progress, enum null_fault fault);

#endif
