/*
 * protocol_clauses - the table of a protocol's clauses. Private to protocol*.c.
 *
 * One row a clause: where it is in YAML and JSON, where in struct protocol, and what values make
 * sense. Reading, defaults, checks and the JSON form all walk this table.
 */
#ifndef ASSAY_PROTOCOLS_PROTOCOL_CLAUSES_H
#define ASSAY_PROTOCOLS_PROTOCOL_CLAUSES_H

#include "harness/core/declaration.h"
#include "protocols/protocol.h"

enum clause_type {
    CLAUSE_INTEGER,
    CLAUSE_DURATION,
    CLAUSE_BOOLEAN,
    CLAUSE_REAL,
    CLAUSE_CACHE, /* from here on: enumerations, see clause_words() */
    CLAUSE_REFUSAL,
    CLAUSE_CENTRE,
    CLAUSE_VERIFICATION
};

struct clause {
    const char *path; /* in YAML: "window.time" */
    const char *json; /* in JSON: "window.time_ns"; at most one dot */
    enum clause_type type;
    size_t raw_offset; /* in struct protocol_raw */
    size_t offset;     /* in struct protocol */
    double min, max;   /* of integers, durations (ns) and reals, both allowed */
    bool optional;     /* has a default: see protocol_start() */
    bool later;        /* came after protocols were stored: 0 is what they meant, and is left out of
                          the JSON, so that their digests stay */
};

extern const struct clause protocol_clauses[];
extern const size_t protocol_clause_count;

/* What is written. A member counts only where declaration_has() says that it is written. */
struct protocol_raw_warmup {
    int64_t iterations, time_ns;
};
struct protocol_raw_window {
    int64_t time_ns, min_samples, max_time_ns, max_samples;
};
struct protocol_raw_spot_checks {
    int64_t count, least, time_ns;
};
struct protocol_raw_serving {
    int64_t requests, drain_ns, lag_ns;
};
struct protocol_raw_sample {
    int64_t min_time_ns;
};
struct protocol_raw_cache {
    enum protocol_cache state;
    int64_t flush_factor;
};
struct protocol_raw_reference {
    int64_t interval_ns;
};
struct protocol_raw_telemetry {
    int64_t interval_ns;
};
struct protocol_raw_doctor {
    enum protocol_refusal refuse;
    int64_t jitter_ns;
};
struct protocol_raw_analysis {
    double confidence, steady_tolerance, drift_tolerance, min_ess, margin;
    enum estimate_centre compare_by;
    double *percentiles;
    uint32_t percentiles_count;
};
struct protocol_raw {
    char *name;
    int64_t version;
    char *description;
    char *extends;
    bool evidence;
    int64_t trials, seed;
    struct protocol_raw_warmup warmup;
    struct protocol_raw_window window;
    struct protocol_raw_spot_checks spot_checks;
    struct protocol_raw_serving serving;
    struct protocol_raw_sample sample;
    int64_t trial_timeout_ns, cooldown_ns;
    struct protocol_raw_cache cache;
    enum protocol_verification verification;
    struct protocol_raw_reference reference;
    bool flush_denormals;
    struct protocol_raw_telemetry telemetry;
    struct protocol_raw_doctor doctor;
    struct protocol_raw_analysis analysis;
    char **required;
    uint32_t required_count;
};

extern const struct declaration_schema protocol_schema;

/* The names of an enumeration in the order of its values, which count from 0; NULL for other types.
 */
struct clause_words {
    const struct declaration_name *names;
    unsigned count;
};
const struct clause_words *clause_words(enum clause_type type);

/* Puts a copy in the place of what is there; false when out of memory. */
bool protocol_set_text(char **place, const char *value);

/* A protocol of nothing but defaults. */
void protocol_start(struct protocol *protocol);

/*
 * Puts what is written over what `protocol` holds. With `complete` every clause without a default
 * must be written; else the protocol already holds a base.
 */
enum status protocol_overlay(struct protocol *protocol, const struct declaration *declaration,
                             bool complete, struct error *err);

/*
 * Refuses values that make no sense, alone or together. `declaration` gives the lines and may be
 * NULL, then `origin` replaces them.
 */
enum status protocol_check(const struct protocol *protocol, const struct declaration *declaration,
                           const char *origin, struct error *err);

/* Fills `json` and `digest` from the other members. */
enum status protocol_seal(struct protocol *protocol, struct error *err);

#endif
