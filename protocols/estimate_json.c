/* An estimate as a record: what is stored, read back, and described by a schema (core/type.h). */
#include "protocols/estimate.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/type.h"
#include "protocols/serving/analysis.h"

#define ID(constant, id, ...) id,
static const char *const verdicts[] = {ESTIMATE_VERDICT_MAP(ID)};
static const char *const metric_ids[] = {METRIC_MAP(ID)};
#undef ID

/* ---- an interval ---- */

#define M(...) MEMBER(struct estimate_interval, REAL, __VA_ARGS__)
#define HAS(flag) .has = offsetof(struct estimate_interval, flag)
static const struct member interval_members[] = {
    M(value, HAS(has_value)),
    M(lo, HAS(has_interval)),
    M(hi, HAS(has_interval)),
};
#undef HAS
#undef M
const struct type estimate_interval_type =
    TYPE(struct estimate_interval, "an interval", interval_members, .def = "interval");

/* ---- a trial ---- */

static bool has_no_requests(const void *record)
{
    return ((const struct estimate_trial *)record)->requests == 0;
}

#define M(...) MEMBER(struct estimate_trial, __VA_ARGS__)
#define MEAN(name, part, flag)                                                                     \
    MEMBER_AS(struct estimate_trial, REAL, name, mean_ns.part, .flags = MEMBER_LATER,              \
              .has = offsetof(struct estimate_trial, mean_ns.flag))
#define OF_SERVER .flags = MEMBER_OPTIONAL, .absent = has_no_requests
static const struct member trial_members[] = {
    M(COUNT, number),
    M(NAME, verdict, .names = MEMBER_NAMES(verdicts)),
    M(COUNT, steady_from, .flags = MEMBER_LATER,
      .has = offsetof(struct estimate_trial, has_steady)),
    MEAN("mean_ns", value, has_value),
    MEAN("mean_lo_ns", lo, has_interval),
    MEAN("mean_hi_ns", hi, has_interval),
    M(REAL, median_ns, .flags = MEMBER_LATER),
    M(REAL, ess),
    M(COUNT, sequence, .flags = MEMBER_OPTIONAL, .help = "place in the campaign's order"),
    M(COUNT, requests, OF_SERVER, .help = "of a server: after the warmup"),
    M(COUNT, missed, OF_SERVER, .help = "requests outside the limits"),
    M(COUNT, undecided, OF_SERVER, .help = "requests of which nobody can tell"),
};
#undef OF_SERVER
#undef MEAN
#undef M

static const struct estimate_trial unknown_trial = {
    .verdict = ESTIMATE_VERDICT_COUNT, .median_ns = NAN, .ess = NAN};

static void settle_trial(void *record)
{
    struct estimate_interval *mean = &((struct estimate_trial *)record)->mean_ns;

    mean->has_interval =
        mean->has_value && isfinite(mean->lo) && isfinite(mean->hi) && mean->lo <= mean->hi;
}

static const struct type trial_type =
    TYPE(struct estimate_trial, "a trial of an estimate", trial_members, .unknown = &unknown_trial,
         .settle = settle_trial);

/* ---- the cell ---- */

static const struct member variance_members[] = {
    MEMBER(struct estimate_variance, REAL, iteration, .help = "of log time, within processes"),
    MEMBER(struct estimate_variance, REAL, process, .help = "between processes"),
};
static const struct type variance_type =
    TYPE(struct estimate_variance, "a variance", variance_members);

static const struct type *const serving_types[] = {&serving_result_type, NULL};

#define M(...) MEMBER(struct estimate, __VA_ARGS__)
#define AS(...) MEMBER_AS(struct estimate, __VA_ARGS__)
static const struct member members[] = {
    M(COUNT, version),
    M(NAME, verdict, .names = MEMBER_NAMES(verdicts)),
    M(NAME, headline, .names = MEMBER_NAMES(metric_ids)),
    AS(COUNT, "samples", sample_count, .flags = MEMBER_LATER),
    M(COUNT, iterations_per_sample, .flags = MEMBER_LATER),
    M(REAL, confidence, .flags = MEMBER_LATER),
    M(NAME, compare_by, .flags = MEMBER_LATER, .names = MEMBER_NAMES(estimate_centre_names)),
    M(REAL, ess, .flags = MEMBER_LATER),
    M(RECORD, metrics, .of = &metrics_type),
    M(LIST, trials, .of = &trial_type, .count = offsetof(struct estimate, trial_count)),
    M(RECORD, variance, .flags = MEMBER_LATER, .of = &variance_type),
    M(COUNT, needed_trials, .flags = MEMBER_LATER | MEMBER_NULLABLE),
    M(RECORD, findings, .of = &findings_type),
    M(TEXT, energy_source, .flags = MEMBER_OPTIONAL),
    M(JSON, energy, .flags = MEMBER_OPTIONAL, .json = JSON_ARRAY),
    M(JSON, serving, .flags = MEMBER_OPTIONAL, .choices = serving_types),
};
#undef AS
#undef M

static const struct estimate unknown = {.verdict = ESTIMATE_VERDICT_COUNT,
                                        .headline = METRIC_ITERATION_TIME,
                                        .ess = NAN,
                                        .variance = {NAN, NAN}};

static void settle(void *record)
{
    struct estimate *e = record;

    if (!(e->confidence > 0 && e->confidence < 1))
        e->confidence = 0;
}

const struct type estimate_type = TYPE(struct estimate, "an estimate", members, .unknown = &unknown,
                                       .settle = settle, .def = "estimate");

json_t *estimate_to_json(const struct estimate *estimate)
{
    return type_to_json(&estimate_type, estimate);
}

enum status estimate_from_json(const json_t *json, struct estimate **ret, struct error *err)
{
    struct estimate *e;

    if (!json_is_object(json))
        return error_set(err, STATUS_CORRUPT, "an estimate must be a JSON object");
    e = calloc(1, sizeof(*e));
    if (!e)
        return error_no_memory(err);
    if (type_read(&estimate_type, json, e) == type_no_memory) {
        estimate_destroy(e);
        return error_no_memory(err);
    }
    *ret = e;
    return STATUS_OK;
}

void estimate_destroy(struct estimate *estimate)
{
    if (estimate) {
        free(estimate->trial_days);
        type_finish(&estimate_type, estimate);
    }
    free(estimate);
}
