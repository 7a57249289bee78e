#include "protocols/protocol_clauses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

#define S 1e9
#define RAW(member) offsetof(struct protocol_raw, member)
#define OUR(member) offsetof(struct protocol, member)

/* clang-format off */
const struct clause protocol_clauses[] = {
    {"version", "version", CLAUSE_INTEGER, RAW(version), OUR(version), 1, 1e6, false, false},
    {"evidence", "evidence", CLAUSE_BOOLEAN, RAW(evidence), OUR(evidence), 0, 0, false, false},
    {"trials", "trials", CLAUSE_INTEGER, RAW(trials), OUR(trials), 1, 10000, false, false},
    {"seed", "seed", CLAUSE_INTEGER, RAW(seed), OUR(seed), 0, 0x1p62, false, false},
    {"warmup.iterations", "warmup.iterations", CLAUSE_INTEGER, RAW(warmup.iterations),
        OUR(warmup_iterations), 0, 1e9, false, false},
    {"warmup.time", "warmup.time_ns", CLAUSE_DURATION, RAW(warmup.time_ns), OUR(warmup_ns),
        0, 86400 * S, false, false},
    {"window.time", "window.time_ns", CLAUSE_DURATION, RAW(window.time_ns), OUR(window_ns),
        1e6, 30 * 86400 * S, false, false},
    {"window.min_samples", "window.min_samples", CLAUSE_INTEGER, RAW(window.min_samples),
        OUR(window_min_samples), 1, 1e7, false, false},
    {"window.max_time", "window.max_time_ns", CLAUSE_DURATION, RAW(window.max_time_ns),
        OUR(window_max_ns), 1e6, 30 * 86400 * S, false, false},
    {"window.max_samples", "window.max_samples", CLAUSE_INTEGER, RAW(window.max_samples),
        OUR(max_samples), 1, 1e7, false, false},
    {"spot_checks.count", "spot_checks.count", CLAUSE_INTEGER, RAW(spot_checks.count),
        OUR(spot_checks), 0, 1000, true, true},
    {"spot_checks.least", "spot_checks.least", CLAUSE_INTEGER, RAW(spot_checks.least),
        OUR(spot_checks_least), 0, 1000, true, true},
    {"spot_checks.time", "spot_checks.time_ns", CLAUSE_DURATION, RAW(spot_checks.time_ns),
        OUR(spot_checks_ns), 0, 3600 * S, true, true},
    {"serving.requests", "serving.requests", CLAUSE_INTEGER, RAW(serving.requests),
        OUR(serving_requests), 0, 1e7, true, true},
    {"serving.drain", "serving.drain_ns", CLAUSE_DURATION, RAW(serving.drain_ns),
        OUR(serving_drain_ns), 0, 86400 * S, true, true},
    {"serving.lag", "serving.lag_ns", CLAUSE_DURATION, RAW(serving.lag_ns), OUR(serving_lag_ns),
        0, 3600 * S, true, true},
    {"sample.min_time", "sample.min_time_ns", CLAUSE_DURATION, RAW(sample.min_time_ns),
        OUR(min_sample_ns), 0, 60 * S, false, false},
    {"trial_timeout", "trial_timeout_ns", CLAUSE_DURATION, RAW(trial_timeout_ns),
        OUR(trial_timeout_ns), S, 86400 * S, false, false},
    {"cooldown", "cooldown_ns", CLAUSE_DURATION, RAW(cooldown_ns), OUR(throttle_cooldown_ns),
        0, 86400 * S, false, false},
    {"cache.state", "cache.state", CLAUSE_CACHE, RAW(cache.state), OUR(cache), 0, 0, false, false},
    {"cache.flush_factor", "cache.flush_factor", CLAUSE_INTEGER, RAW(cache.flush_factor),
        OUR(cold_flush_factor), 1, 64, true, false},
    {"flush_denormals", "flush_denormals", CLAUSE_BOOLEAN, RAW(flush_denormals),
        OUR(flush_denormals), 0, 0, false, false},
    {"verification", "verification", CLAUSE_VERIFICATION, RAW(verification), OUR(verification),
        0, 0, true, true},
    {"reference.interval", "reference.interval_ns", CLAUSE_DURATION, RAW(reference.interval_ns),
        OUR(reference_ns), 0, 3600 * S, true, true},
    {"telemetry.interval", "telemetry.interval_ns", CLAUSE_DURATION, RAW(telemetry.interval_ns),
        OUR(telemetry_ns), 0, 3600 * S, true, true},
    {"doctor.refuse", "doctor.refuse", CLAUSE_REFUSAL, RAW(doctor.refuse), OUR(doctor_refuses),
        0, 0, true, true},
    {"doctor.jitter", "doctor.jitter_ns", CLAUSE_DURATION, RAW(doctor.jitter_ns),
        OUR(doctor_jitter_ns), 0, 600 * S, true, true},
    {"analysis.confidence", "analysis.confidence", CLAUSE_REAL, RAW(analysis.confidence),
        OUR(estimate.confidence), 0, 1, true, false},
    {"analysis.steady_tolerance", "analysis.steady_tolerance", CLAUSE_REAL,
        RAW(analysis.steady_tolerance), OUR(estimate.steady_tolerance), 1e-6, 0.5, true, false},
    {"analysis.drift_tolerance", "analysis.drift_tolerance", CLAUSE_REAL,
        RAW(analysis.drift_tolerance), OUR(estimate.drift_tolerance), 1e-6, 0.5, true, false},
    {"analysis.min_ess", "analysis.min_ess", CLAUSE_REAL, RAW(analysis.min_ess),
        OUR(estimate.min_ess), 1, 1e6, true, false},
    {"analysis.margin", "analysis.margin", CLAUSE_REAL, RAW(analysis.margin),
        OUR(estimate.margin), 1e-6, 0.5, true, false},
    {"analysis.compare_by", "analysis.compare_by", CLAUSE_CENTRE, RAW(analysis.compare_by),
        OUR(estimate.compare_by), 0, 0, true, true},
};
/* clang-format on */
const size_t protocol_clause_count = sizeof(protocol_clauses) / sizeof(*protocol_clauses);

static const struct declaration_name cache_names[] = {
    {"hot", PROTOCOL_CACHE_HOT},
    {"cold", PROTOCOL_CACHE_COLD},
};

static const struct declaration_name refusal_names[] = {
    {"nothing", PROTOCOL_REFUSE_NOTHING},
    {"critical", PROTOCOL_REFUSE_CRITICAL},
    {"warning", PROTOCOL_REFUSE_WARNING},
};

static const struct declaration_name centre_names[] = {
    {"mean", ESTIMATE_MEAN},
    {"median", ESTIMATE_MEDIAN},
};

static const struct declaration_name verification_names[] = {
    {"each_trial", PROTOCOL_VERIFY_EACH_TRIAL},
    {"first_trial", PROTOCOL_VERIFY_FIRST_TRIAL},
};

#define WORDS(names)                                                                               \
    {                                                                                              \
        names, sizeof(names) / sizeof(*(names))                                                    \
    }

_Static_assert(sizeof(enum protocol_cache) == sizeof(unsigned) &&
                   sizeof(enum protocol_refusal) == sizeof(unsigned) &&
                   sizeof(enum estimate_centre) == sizeof(unsigned) &&
                   sizeof(enum protocol_verification) == sizeof(unsigned),
               "a clause of words is copied as unsigned");

const struct clause_words *clause_words(enum clause_type type)
{
    static const struct clause_words cache = WORDS(cache_names), refusal = WORDS(refusal_names),
                                     centre = WORDS(centre_names),
                                     verification = WORDS(verification_names);

    switch (type) {
    case CLAUSE_CACHE:
        return &cache;
    case CLAUSE_REFUSAL:
        return &refusal;
    case CLAUSE_CENTRE:
        return &centre;
    case CLAUSE_VERIFICATION:
        return &verification;
    default:
        return NULL;
    }
}

/* All may be left out, as a derived protocol writes only what differs; see protocol_overlay(). */
#define OPTIONAL FIELD_OPTIONAL
#define DURATION (FIELD_OPTIONAL | DECLARATION_DURATION)

static const struct declaration_field warmup_fields[] = {
    FIELD_INT("iterations", OPTIONAL, struct protocol_raw_warmup, iterations),
    FIELD_INT("time", DURATION, struct protocol_raw_warmup, time_ns),
    FIELD_END,
};

static const struct declaration_field window_fields[] = {
    FIELD_INT("time", DURATION, struct protocol_raw_window, time_ns),
    FIELD_INT("min_samples", OPTIONAL, struct protocol_raw_window, min_samples),
    FIELD_INT("max_time", DURATION, struct protocol_raw_window, max_time_ns),
    FIELD_INT("max_samples", OPTIONAL, struct protocol_raw_window, max_samples),
    FIELD_END,
};

static const struct declaration_field spot_check_fields[] = {
    FIELD_INT("count", OPTIONAL, struct protocol_raw_spot_checks, count),
    FIELD_INT("least", OPTIONAL, struct protocol_raw_spot_checks, least),
    FIELD_INT("time", DURATION, struct protocol_raw_spot_checks, time_ns),
    FIELD_END,
};

static const struct declaration_field serving_fields[] = {
    FIELD_INT("requests", OPTIONAL, struct protocol_raw_serving, requests),
    FIELD_INT("drain", DURATION, struct protocol_raw_serving, drain_ns),
    FIELD_INT("lag", DURATION, struct protocol_raw_serving, lag_ns),
    FIELD_END,
};

static const struct declaration_field sample_fields[] = {
    FIELD_INT("min_time", DURATION, struct protocol_raw_sample, min_time_ns),
    FIELD_END,
};

static const struct declaration_field cache_fields[] = {
    FIELD_ENUM("state", OPTIONAL, struct protocol_raw_cache, state, cache_names, 2),
    FIELD_INT("flush_factor", OPTIONAL, struct protocol_raw_cache, flush_factor),
    FIELD_END,
};

static const struct declaration_field reference_fields[] = {
    FIELD_INT("interval", DURATION, struct protocol_raw_reference, interval_ns),
    FIELD_END,
};

static const struct declaration_field telemetry_fields[] = {
    FIELD_INT("interval", DURATION, struct protocol_raw_telemetry, interval_ns),
    FIELD_END,
};

static const struct declaration_field doctor_fields[] = {
    FIELD_ENUM("refuse", OPTIONAL, struct protocol_raw_doctor, refuse, refusal_names, 3),
    FIELD_INT("jitter", DURATION, struct protocol_raw_doctor, jitter_ns),
    FIELD_END,
};

static const struct declaration_schema percentile_entry = {
    ENTRY_FLOAT,
};

static const struct declaration_field analysis_fields[] = {
    FIELD_FLOAT("confidence", OPTIONAL, struct protocol_raw_analysis, confidence),
    FIELD_FLOAT("steady_tolerance", OPTIONAL, struct protocol_raw_analysis, steady_tolerance),
    FIELD_FLOAT("drift_tolerance", OPTIONAL, struct protocol_raw_analysis, drift_tolerance),
    FIELD_FLOAT("min_ess", OPTIONAL, struct protocol_raw_analysis, min_ess),
    FIELD_FLOAT("margin", OPTIONAL, struct protocol_raw_analysis, margin),
    FIELD_ENUM("compare_by", OPTIONAL, struct protocol_raw_analysis, compare_by, centre_names, 2),
    FIELD_LIST("percentiles", OPTIONAL, struct protocol_raw_analysis, percentiles,
               &percentile_entry, 0, ESTIMATE_PERCENTILES_MAX),
    FIELD_END,
};

static const struct declaration_schema required_entry = {
    ENTRY_STRING(1, 100),
};

static const struct declaration_field protocol_fields[] = {
    FIELD_STRING("name", FIELD_REQUIRED, struct protocol_raw, name, 1, PROTOCOL_NAME_MAX - 1),
    FIELD_INT("version", OPTIONAL, struct protocol_raw, version),
    FIELD_STRING("description", OPTIONAL, struct protocol_raw, description, 1, 1000),
    FIELD_STRING("extends", OPTIONAL, struct protocol_raw, extends, 1, 4095),
    FIELD_BOOL("evidence", OPTIONAL, struct protocol_raw, evidence),
    FIELD_INT("trials", OPTIONAL, struct protocol_raw, trials),
    FIELD_INT("seed", OPTIONAL, struct protocol_raw, seed),
    FIELD_GROUP("warmup", OPTIONAL, struct protocol_raw, warmup, warmup_fields),
    FIELD_GROUP("window", OPTIONAL, struct protocol_raw, window, window_fields),
    FIELD_GROUP("spot_checks", OPTIONAL, struct protocol_raw, spot_checks, spot_check_fields),
    FIELD_GROUP("serving", OPTIONAL, struct protocol_raw, serving, serving_fields),
    FIELD_GROUP("sample", OPTIONAL, struct protocol_raw, sample, sample_fields),
    FIELD_INT("trial_timeout", DURATION, struct protocol_raw, trial_timeout_ns),
    FIELD_INT("cooldown", DURATION, struct protocol_raw, cooldown_ns),
    FIELD_GROUP("cache", OPTIONAL, struct protocol_raw, cache, cache_fields),
    FIELD_BOOL("flush_denormals", OPTIONAL, struct protocol_raw, flush_denormals),
    FIELD_ENUM("verification", OPTIONAL, struct protocol_raw, verification, verification_names, 2),
    FIELD_GROUP("reference", OPTIONAL, struct protocol_raw, reference, reference_fields),
    FIELD_GROUP("telemetry", OPTIONAL, struct protocol_raw, telemetry, telemetry_fields),
    FIELD_GROUP("doctor", OPTIONAL, struct protocol_raw, doctor, doctor_fields),
    FIELD_GROUP("analysis", OPTIONAL, struct protocol_raw, analysis, analysis_fields),
    FIELD_LIST("required", OPTIONAL, struct protocol_raw, required, &required_entry, 0,
               PROTOCOL_REQUIRED_MAX),
    FIELD_END,
};

const struct declaration_schema protocol_schema = {
    ENTRY_GROUP(struct protocol_raw, protocol_fields),
};

void protocol_start(struct protocol *protocol)
{
    *protocol = (struct protocol){.cold_flush_factor = 4, .estimate = estimate_options_default()};
}

static size_t clause_size(const struct clause *clause)
{
    switch (clause->type) {
    case CLAUSE_INTEGER:
    case CLAUSE_DURATION:
        return sizeof(int64_t);
    case CLAUSE_BOOLEAN:
        return sizeof(bool);
    case CLAUSE_REAL:
        return sizeof(double);
    case CLAUSE_CACHE:
    case CLAUSE_REFUSAL:
    case CLAUSE_CENTRE:
    case CLAUSE_VERIFICATION:
        return sizeof(unsigned);
    }
    return 0;
}

/* True when it was another value before. */
static bool copy_clause(const struct clause *clause, const struct protocol_raw *raw,
                        struct protocol *protocol)
{
    const char *from = (const char *)raw + clause->raw_offset;
    char *to = (char *)protocol + clause->offset;
    size_t size = clause_size(clause);
    bool other = memcmp(to, from, size) != 0;

    memcpy(to, from, size);
    return other;
}

bool protocol_set_text(char **place, const char *value)
{
    char *copy = strdup(value);

    if (!copy)
        return false;
    free(*place);
    *place = copy;
    return true;
}

static bool same_percentiles(const struct protocol_raw *raw, const struct protocol *protocol)
{
    size_t count = raw->analysis.percentiles_count;
    bool same = count == protocol->estimate.percentile_count;

    for (size_t i = 0; i < count && same; ++i)
        same = protocol->estimate.percentiles[i] == raw->analysis.percentiles[i];
    return same;
}

static bool same_required(const struct protocol_raw *raw, const struct protocol *protocol)
{
    bool same = raw->required_count == protocol->required_count;

    for (size_t i = 0; i < raw->required_count && same; ++i)
        same = strcmp(protocol->required[i], raw->required[i]) == 0;
    return same;
}

static bool copy_required(const struct protocol_raw *raw, struct protocol *protocol)
{
    for (size_t i = 0; i < protocol->required_count; ++i) {
        free(protocol->required[i]);
        protocol->required[i] = NULL;
    }
    protocol->required_count = 0;
    for (size_t i = 0; i < raw->required_count; ++i) {
        if (!protocol_set_text(&protocol->required[i], raw->required[i]))
            return false;
        ++protocol->required_count;
    }
    return true;
}

/* The names of what a derived protocol has otherwise than its base. */
static void add_other(struct text *others, const char *path)
{
    if (strcmp(path, "version") != 0)
        text_append_format(others, "%s%s", others->length ? ", " : " but for ", path);
}

/* The lists: written ones take the base's place whole. */
static bool copy_lists(const struct protocol_raw *raw, const struct declaration *declaration,
                       struct protocol *protocol, struct text *others)
{
    if (declaration_has(declaration, "analysis.percentiles") && !same_percentiles(raw, protocol)) {
        protocol->estimate.percentile_count = raw->analysis.percentiles_count;
        for (size_t i = 0; i < raw->analysis.percentiles_count; ++i)
            protocol->estimate.percentiles[i] = raw->analysis.percentiles[i];
        add_other(others, "analysis.percentiles");
    }
    if (declaration_has(declaration, "required") && !same_required(raw, protocol)) {
        add_other(others, "required");
        return copy_required(raw, protocol);
    }
    return true;
}

/*
 * The base's description would say of a derived protocol what is true of the base ("ten trials of
 * ten seconds"), so one without its own says from what it differs, and in which clauses.
 */
static bool describe(const struct protocol_raw *raw, const char *base, const struct text *others,
                     struct protocol *protocol)
{
    struct text words;
    bool done;

    if (raw->description)
        return protocol_set_text(&protocol->description, raw->description);
    text_init(&words);
    text_append_format(&words, "As %s%s", base, others->length ? others->data : "");
    done =
        text_ok(others) && text_ok(&words) && protocol_set_text(&protocol->description, words.data);
    text_finish(&words);
    return done;
}

static enum status overlay(struct protocol *protocol, const struct declaration *declaration,
                           bool complete, struct text *others, struct error *err)
{
    const struct protocol_raw *raw = declaration->data;
    char base[sizeof(protocol->name)];

    memcpy(base, protocol->name, sizeof(base));
    for (size_t i = 0; i < protocol_clause_count; ++i) {
        const struct clause *clause = &protocol_clauses[i];

        if (!declaration_has(declaration, clause->path)) {
            if (complete && !clause->optional)
                return declaration_error(declaration, clause->path, err,
                                         "clause \"%s\" is missing; write it, or begin with "
                                         "\"extends: standard\" and write only what differs",
                                         clause->path);
        } else if (copy_clause(clause, raw, protocol)) {
            add_other(others, clause->path);
        }
    }
    snprintf(protocol->name, sizeof(protocol->name), "%s", raw->name);
    if (complete && !raw->description)
        return declaration_error(declaration, "", err,
                                 "key \"description\" is missing; add a line that says what this "
                                 "protocol is for");
    if (!copy_lists(raw, declaration, protocol, others) || !describe(raw, base, others, protocol))
        return error_no_memory(err);
    return STATUS_OK;
}

enum status protocol_overlay(struct protocol *protocol, const struct declaration *declaration,
                             bool complete, struct error *err)
{
    CLEANUP(text_finish) struct text others;

    text_init(&others);
    return overlay(protocol, declaration, complete, &others, err);
}
