/*
 * protocol - a declared way of measuring, and its identity.
 *
 * Everything here is fixed before a campaign starts. Times are nanoseconds. Each member is a clause
 * of protocols/declared/NAME.yaml, where its reason is next to it.
 */
#ifndef ASSAY_PROTOCOLS_PROTOCOL_H
#define ASSAY_PROTOCOLS_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "protocols/estimate.h"

#define PROTOCOL_NAME_MAX 64
#define PROTOCOL_REQUIRED_MAX 32

enum protocol_cache { PROTOCOL_CACHE_HOT, PROTOCOL_CACHE_COLD };

/* Which trials of a cell compare their outputs with the reference. */
enum protocol_verification { PROTOCOL_VERIFY_EACH_TRIAL, PROTOCOL_VERIFY_FIRST_TRIAL };

/* Findings of at least this severity are refused; harness/runner/doctor.h defines the values. */
enum protocol_refusal {
    PROTOCOL_REFUSE_NOTHING,
    PROTOCOL_REFUSE_CRITICAL,
    PROTOCOL_REFUSE_WARNING
};

struct protocol {
    char name[PROTOCOL_NAME_MAX];
    int64_t version;
    char *description; /* heap */
    bool evidence;     /* false: results are a first look, and compare as exploratory at most */

    int64_t trials;            /* processes per cell */
    uint64_t seed;             /* of input data; the order's seed is drawn per campaign */
    int64_t warmup_iterations; /* both must be over before the window opens */
    int64_t warmup_ns;
    int64_t window_ns; /* the window closes when both are reached ... */
    int64_t window_min_samples;
    int64_t window_max_ns;     /* ... or at this limit; then the trial says so */
    int64_t max_samples;       /* per trial, bound on memory */
    int64_t spot_checks;       /* iterations checked in the window, at times drawn by the harness;
                                  0: none */
    int64_t spot_checks_least; /* so many at least, however long they take */
    int64_t spot_checks_ns;    /* no more are asked for once they took so long together */
    int64_t serving_requests;  /* scheduled in a trial of a server; 0: it measures no servers */
    int64_t serving_drain_ns;  /* how long after the schedule's end requests may still end */
    int64_t serving_lag_ns;    /* the load was late where more than one request in a thousand was
                                  sent later than this; 0: no limit */
    int64_t min_sample_ns;     /* shorter iterations are timed in blocks at least this long */
    int64_t trial_timeout_ns;  /* watchdog: no message from the worker for so long ends the trial */
    enum protocol_cache cache; /* cold: a buffer of cold_flush_factor x LLC is written before each
                                  sample, outside the timed region */
    int64_t cold_flush_factor;
    /* first_trial: later ones must write bit for bit what the first one did, or are verified, too
     */
    enum protocol_verification verification;
    int64_t reference_ns; /* a fixed reference loop runs so often between samples; 0: never */
    bool flush_denormals; /* FTZ/DAZ on host threads and in kernels where they can be set */
    int64_t throttle_cooldown_ns; /* pause between trials */

    int64_t telemetry_ns; /* telemetry interval of host and device during a trial; 0: none */
    enum protocol_refusal doctor_refuses; /* findings of `assay doctor` that end the campaign before
                                             its first trial */
    int64_t doctor_jitter_ns; /* length of its test for jitter and steal then; 0: no such test */

    struct estimate_options estimate; /* steady state, intervals, percentiles,
                                        margin, what comparisons rest on */

    char *required[PROTOCOL_REQUIRED_MAX]; /* readings that must be known for evidence, heap */
    size_t required_count;

    json_t *json;         /* the whole declaration with defaults filled in, canonical content */
    struct digest digest; /* SHA-256 of its canonical form: the protocol's identity */
};

/*
 * Loads a protocol from a YAML file. Errors are "FILE:LINE: what, and what to write instead".
 * INVALID: the declaration is wrong; NOT_FOUND, IO: the file. `ret` is initialised on success
 * (protocol_finish).
 */
enum status protocol_load(const char *path, struct protocol *ret, struct error *err);

/* As protocol_load, from the JSON kept in a store (how `reproduce` runs a stored protocol). */
enum status protocol_from_json(const json_t *json, struct protocol *ret, struct error *err);

/* "evidence", "first look", or "no evidence" where it is a long one (soak). */
const char *protocol_purpose(const struct protocol *protocol);

void protocol_finish(struct protocol *protocol);

/* The protocols that come with the suite: their names and embedded YAML texts. */
struct protocol_builtin {
    const char *name;
    const char *yaml;
};
const struct protocol_builtin *protocol_builtins(size_t *ret_count);

/*
 * By name of a built-in ("quick") or by path (contains '/' or ends in .yaml). NOT_FOUND suggests
 * the nearest name.
 */
enum status protocol_find(const char *name_or_path, struct protocol *ret, struct error *err);

#endif
