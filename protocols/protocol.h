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

/*
 * The clauses, each in one row, by the groups that they stand in:
 *
 *     X(group, type, key, member, least, most, absence)
 *
 * The member of the struct, reading, limits, defaults and the JSON form come from it. A key is as
 * in YAML; in JSON that of a duration ends in "_ns". `absence`: NEEDED; DEFAULT: it has one, see
 * protocol_start; LATER: the same, and it came after protocols were stored, so that 0 is what they
 * meant, and is left out of the JSON, and their digests stay.
 */
#define PROTOCOL_S 1e9
/* clang-format off */
#define PROTOCOL_GENERAL(X)                                                                        \
    X("", INTEGER, "version", version, 1, 1e6, NEEDED)                                             \
    /* false: results are a first look, and compare as exploratory at most */                      \
    X("", BOOLEAN, "evidence", evidence, 0, 0, NEEDED)                                             \
    X("", INTEGER, "trials", trials, 1, 10000, NEEDED) /* processes per cell */                    \
    /* of input data; the order's seed is drawn per campaign */                                    \
    X("", SEED, "seed", seed, 0, 0x1p62, NEEDED)
/* Both must be over before the window opens. */
#define PROTOCOL_WARMUP(X)                                                                         \
    X("warmup.", INTEGER, "iterations", warmup_iterations, 0, 1e9, NEEDED)                         \
    X("warmup.", DURATION, "time", warmup_ns, 0, 86400 * PROTOCOL_S, NEEDED)
/* The window closes when both are reached, or at a limit; then the trial says so. */
#define PROTOCOL_WINDOW(X)                                                                         \
    X("window.", DURATION, "time", window_ns, 1e6, 30 * 86400 * PROTOCOL_S, NEEDED)                \
    X("window.", INTEGER, "min_samples", window_min_samples, 1, 1e7, NEEDED)                       \
    X("window.", DURATION, "max_time", window_max_ns, 1e6, 30 * 86400 * PROTOCOL_S, NEEDED)        \
    /* per trial, bound on memory */                                                               \
    X("window.", INTEGER, "max_samples", max_samples, 1, 1e7, NEEDED)                              \
    /* the share of the window that may be in no sample and no check; 0: CONDUCT_GAPS_MOST */      \
    X("window.", SHARE, "gaps", window_gaps, 0, 0.5, LATER)
#define PROTOCOL_SPOT_CHECKS(X)                                                                    \
    /* iterations checked in the window, at times drawn by the harness; 0: none */                 \
    X("spot_checks.", INTEGER, "count", spot_checks, 0, 1000, LATER)                               \
    /* so many at least, however long they take */                                                 \
    X("spot_checks.", INTEGER, "least", spot_checks_least, 0, 1000, LATER)                         \
    /* no more are asked for once they took so long together */                                    \
    X("spot_checks.", DURATION, "time", spot_checks_ns, 0, 3600 * PROTOCOL_S, LATER)
#define PROTOCOL_SERVING(X)                                                                        \
    /* scheduled in a trial of a server; 0: it measures no servers */                              \
    X("serving.", INTEGER, "requests", serving_requests, 0, 1e7, LATER)                            \
    /* how long after the schedule's end requests may still end */                                 \
    X("serving.", DURATION, "drain", serving_drain_ns, 0, 86400 * PROTOCOL_S, LATER)               \
    /* the load was late where more than one request in a thousand was sent later than this; 0: no \
     * limit */                                                                                    \
    X("serving.", DURATION, "lag", serving_lag_ns, 0, 3600 * PROTOCOL_S, LATER)
#define PROTOCOL_SAMPLE(X)                                                                         \
    /* shorter iterations are timed in blocks at least this long */                                \
    X("sample.", DURATION, "min_time", min_sample_ns, 0, 60 * PROTOCOL_S, NEEDED)
#define PROTOCOL_PAUSES(X)                                                                         \
    /* watchdog: no message from the worker for so long ends the trial */                          \
    X("", DURATION, "trial_timeout", trial_timeout_ns, PROTOCOL_S, 86400 * PROTOCOL_S, NEEDED)     \
    /* between trials */                                                                           \
    X("", DURATION, "cooldown", throttle_cooldown_ns, 0, 86400 * PROTOCOL_S, NEEDED)    \
    /* from the plan to the last round of trials, which begin at equal distances; 0: rounds follow each \
     * other */ \
    X("", DURATION, "spread", spread_ns, 0, 30 * 86400 * PROTOCOL_S, LATER)
#define PROTOCOL_CACHE(X)                                                                          \
    /* cold: a buffer of flush_factor x LLC is written before each sample, outside the timed       \
     * region */                                                                                   \
    X("cache.", CACHE, "state", cache, 0, 0, NEEDED)                                               \
    X("cache.", INTEGER, "flush_factor", cold_flush_factor, 1, 64, DEFAULT)
#define PROTOCOL_RUNNING(X)                                                                        \
    /* FTZ/DAZ on host threads and in kernels where they can be set */                             \
    X("", BOOLEAN, "flush_denormals", flush_denormals, 0, 0, NEEDED)                               \
    /* first_trial: later ones must write bit for bit what the first one did, or are verified, too \
     */                                                                                            \
    X("", VERIFICATION, "verification", verification, 0, 0, LATER)
#define PROTOCOL_REFERENCE(X)                                                                      \
    /* a fixed reference loop runs so often between samples; 0: never */                           \
    X("reference.", DURATION, "interval", reference_ns, 0, 3600 * PROTOCOL_S, LATER)
#define PROTOCOL_TELEMETRY(X)                                                                      \
    /* of host and device during a trial; 0: none */                                               \
    X("telemetry.", DURATION, "interval", telemetry_ns, 0, 3600 * PROTOCOL_S, LATER)
#define PROTOCOL_DOCTOR(X)                                                                         \
    /* findings of `assay doctor` that end the campaign before its first trial */                  \
    X("doctor.", REFUSAL, "refuse", doctor_refuses, 0, 0, LATER)                                   \
    /* length of its test for jitter and steal then; 0: no such test */                            \
    X("doctor.", DURATION, "jitter", doctor_jitter_ns, 0, 600 * PROTOCOL_S, LATER)
/* clang-format on */
/* In their order; TOP(list), GROUP(name, list, flags in JSON). */
#define PROTOCOL_CLAUSES(TOP, GROUP)                                                               \
    TOP(PROTOCOL_GENERAL)                                                                          \
    GROUP(warmup, PROTOCOL_WARMUP, 0)                                                              \
    GROUP(window, PROTOCOL_WINDOW, 0)                                                              \
    GROUP(spot_checks, PROTOCOL_SPOT_CHECKS, MEMBER_OPTIONAL)                                      \
    GROUP(serving, PROTOCOL_SERVING, MEMBER_OPTIONAL)                                              \
    GROUP(sample, PROTOCOL_SAMPLE, 0)                                                              \
    TOP(PROTOCOL_PAUSES)                                                                           \
    GROUP(cache, PROTOCOL_CACHE, 0)                                                                \
    TOP(PROTOCOL_RUNNING)                                                                          \
    GROUP(reference, PROTOCOL_REFERENCE, MEMBER_OPTIONAL)                                          \
    GROUP(telemetry, PROTOCOL_TELEMETRY, MEMBER_OPTIONAL)                                          \
    GROUP(doctor, PROTOCOL_DOCTOR, MEMBER_OPTIONAL)

#define PROTOCOL_TOP(list) list(PROTOCOL_MEMBER)
#define PROTOCOL_GROUP(name, list, flags) list(PROTOCOL_MEMBER)
#define PROTOCOL_MEMBER(group, type, key, member, ...) PROTOCOL_MEMBER_##type member;
#define PROTOCOL_MEMBER_INTEGER int64_t
#define PROTOCOL_MEMBER_DURATION int64_t
#define PROTOCOL_MEMBER_SEED uint64_t
#define PROTOCOL_MEMBER_SHARE double
#define PROTOCOL_MEMBER_BOOLEAN bool
#define PROTOCOL_MEMBER_CACHE enum protocol_cache
#define PROTOCOL_MEMBER_VERIFICATION enum protocol_verification
#define PROTOCOL_MEMBER_REFUSAL enum protocol_refusal
struct protocol {
    char name[PROTOCOL_NAME_MAX];
    char *description; /* heap */
    PROTOCOL_CLAUSES(PROTOCOL_TOP, PROTOCOL_GROUP)
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
