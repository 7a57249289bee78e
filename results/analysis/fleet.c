#include "results/analysis/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/shape.h"
#include "protocols/history.h"
#include "protocols/metric.h"
#include "protocols/units.h"
#include "results/analysis/fleet_plan.h"
#include "results/analysis/judged.h"
#include "results/analysis/judgement.h"

static const struct type request_shape = TYPE_OF({
    SHOWN("workload", TEXT),
    OR_NULL("precision", TEXT),
    OR_NULL("protocol", TEXT),
    OR_NULL("device", TEXT),
    OR_NULL("batch", INTEGER),
    SHOWN("since_utc_ns", INTEGER),
    SHOWN("margin", FINITE, .help = "how far below the fleet's median a unit may lie"),
    SHOWN("fdr", FINITE, .help = "share of the units called slow that may be wrong"),
    OR_NULL("expected", INTEGER, .help = "units that there are"),
});
static const struct type spread_shape = TYPE_OF({
    OR_NULL("sd", FINITE, .help = "of logs of rates"),
    OR_NULL("lo", FINITE),
    OR_NULL("hi", FINITE),
});
static const struct type unit_shape = TYPE_OF({
    OR_NULL("device", TEXT),
    OR_NULL("uuid", TEXT),
    OR_NULL("host", TEXT),
    SHOWN("results", LIST, .of = &type_of_text),
    SHOWN("sittings", INTEGER),
    SHOWN("failures", INTEGER, .help = "results without a value"),
    OR_NULL("ratio", FINITE, .help = "its rate over that of the fleet's median"),
    OR_NULL("lo", FINITE),
    OR_NULL("hi", FINITE),
    SHOWN("verdict", TEXT, .help = "fine, slow, undecided, one_sitting or failed"),
    OR_NULL("needed", INTEGER, .help = "sittings that would probably decide"),
});
static const struct type fleet_type = TYPE_OF({
    SHOWN("a", TEXT, .help = "the first of the results"),
    SHOWN("request", RECORD, .of = &request_shape),
    SHOWN("results", LIST, .of = &type_of_text),
    SHOWN("precision", TEXT),
    SHOWN("metric", TEXT),
    SHOWN("unit", TEXT),
    SHOWN("median", FINITE, .help = "of the units, in that unit"),
    SHOWN("between_units", RECORD, .of = &spread_shape),
    SHOWN("between_sittings", RECORD, .of = &spread_shape),
    SHOWN("units", LIST, .of = &unit_shape, .help = "the slowest first"),
    OR_NULL("missing", INTEGER, .help = "units of which no result is here"),
    SHOWN("verdict", TEXT, .help = "slow_units, failed_units, undecided or fine"),
});

/* A unit, its results, and of those with a value how many there are. */
struct member_unit {
    json_t *machine; /* fleet_plan_machine */
    json_t *spec;    /* by which its first result named the device */
    json_t *results;
    size_t count, failures;
};

/* A result with a value. */
struct measured {
    size_t member;
    double log;
    int64_t utc_ns;
};

struct fleet {
    struct member_unit *members;
    size_t count;
    json_t *indices; /* of members, by their machines */
    struct measured *measured;
    size_t measured_count;
    /* Of sittings, of all members one after the other; of a metric where lower is better negative.
     */
    double *logs;
    struct unit *units; /* those that have a value */
    json_t *kind;       /* what all results are of */
    json_t *results;
    json_t *early; /* ids of those that failed before they knew their device */
    enum metric_id metric;
    char *unit;
};

static void fleet_finish(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->count; i++) {
        json_decref(fleet->members[i].machine);
        json_decref(fleet->members[i].spec);
        json_decref(fleet->members[i].results);
    }
    free(fleet->members);
    json_decref(fleet->indices);
    free(fleet->measured);
    free(fleet->logs);
    free(fleet->units);
    json_decref(fleet->kind);
    json_decref(fleet->results);
    json_decref(fleet->early);
    free(fleet->unit);
}

static enum status fleet_room(struct fleet *fleet, size_t results, struct error *err)
{
    fleet->members = calloc(results + 1, sizeof(*fleet->members));
    fleet->measured = calloc(results + 1, sizeof(*fleet->measured));
    fleet->logs = calloc(results + 1, sizeof(*fleet->logs));
    fleet->units = calloc(results + 1, sizeof(*fleet->units));
    fleet->results = json_array();
    fleet->early = json_array();
    fleet->indices = json_object();
    return fleet->members && fleet->measured && fleet->logs && fleet->units && fleet->results &&
                   fleet->early && fleet->indices
               ? STATUS_OK
               : error_no_memory(err);
}

/* The ids of the results that are asked for, the oldest first; new. */
static enum status find_results(struct store *store, const json_t *request, json_t **ret,
                                struct error *err)
{
    const json_t *batch = json_object_get(request, "batch");
    const struct store_filter filter = {.workload = member_string(request, "workload"),
                                        .precision = member_string(request, "precision"),
                                        .protocol = member_string(request, "protocol"),
                                        .device = member_string(request, "device"),
                                        .since_utc_ns = member_integer(request, "since_utc_ns"),
                                        .hide_archived = true,
                                        .sort = "created"};
    json_auto_t *rows = NULL;

    TRY(store_list_results(store, &filter, &rows, err));
    *ret = json_array();
    EACH(row, rows)
        if ((!json_is_integer(batch) || json_equal(batch, json_object_get(row, "batch"))) &&
            !json_is_string(json_object_get(row, "imported")))
            json_array_append(*ret, json_object_get(row, "id"));
    if (json_array_size(*ret) == 0 || json_array_size(*ret) > FLEET_RESULTS_MAX)
        return error_set(err, json_array_size(*ret) ? STATUS_INVALID : STATUS_NOT_FOUND,
                         "%zu results match: `assay results` lists what there is",
                         json_array_size(*ret));
    return STATUS_OK;
}

/* What a result is of: all must be of the same. */
static json_t *kind_of(const json_t *record)
{
    const json_t *identity = json_object_get(record, "identity");

    return json_pack("{s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?}", "workload",
                     json_object_get(identity, "workload_digest"), "precision",
                     json_object_get(identity, "precision"), "batch",
                     json_object_get(identity, "batch"), "scenario",
                     json_object_get(identity, "scenario"), "implementation",
                     json_object_get(identity, "implementation"), "protocol",
                     json_object_get(identity, "protocol_digest"), "device",
                     member_in(record, "device", "name"));
}

/* A trial that failed early does not know its device. */
static enum status check_kind(struct fleet *fleet, const json_t *record, struct error *err)
{
    static const struct {
        const char *name, *choose;
    } members[] = {{"workload", "--since"},    {"precision", "--precision"},
                   {"batch", "--batch"},       {"scenario", "--since"},
                   {"protocol", "--protocol"}, {"implementation", "--since"},
                   {"device", "--device"}};
    json_auto_t *kind = kind_of(record);

    if (!kind)
        return error_no_memory(err);
    if (!fleet->kind)
        fleet->kind = json_incref(kind);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        json_t *known = json_object_get(fleet->kind, members[i].name);
        json_t *value = json_object_get(kind, members[i].name);

        if (json_is_null(known))
            json_object_set(fleet->kind, members[i].name, value);
        else if (!json_is_null(value) && !json_equal(known, value))
            return error_set(err, STATUS_INVALID,
                             "%s is of another %s than the results before it: choose one by %s",
                             member_text(record, "id"), members[i].name, members[i].choose);
    }
    return STATUS_OK;
}

/* The one unit of that host of which another result named its device so; else their count. */
static size_t find_by_spec(const struct fleet *fleet, const json_t *host, const json_t *spec)
{
    size_t ret = fleet->count;

    for (size_t i = 0; json_is_string(host) && i < fleet->count; i++) {
        const struct member_unit *member = &fleet->members[i];

        if (!json_is_string(json_array_get(member->machine, 0)) ||
            !json_equal(json_array_get(member->machine, 2), host) ||
            !json_equal(member->spec, spec))
            continue;
        if (ret < fleet->count)
            return fleet->count;
        ret = i;
    }
    return ret;
}

static enum status find_member(struct fleet *fleet, const json_t *record, size_t *ret,
                               struct error *err)
{
    json_t *spec = json_object_get(record, "device_spec");
    json_auto_t *machine = fleet_plan_machine(record);
    AUTO_FREE char *key = machine ? json_dumps(machine, JSON_COMPACT) : NULL;
    const json_t *known = key ? json_object_get(fleet->indices, key) : NULL;

    *ret = json_is_null(json_object_get(record, "device"))
               ? find_by_spec(fleet, json_array_get(machine, 2), spec)
               : fleet->count;
    if (*ret == fleet->count && known)
        *ret = (size_t)json_integer_value(known);
    if (*ret < fleet->count)
        return STATUS_OK;
    if (!key || json_object_set_new(fleet->indices, key, json_integer((json_int_t)fleet->count)))
        return error_no_memory(err);
    fleet->members[fleet->count++] = (struct member_unit){
        .machine = json_incref(machine), .spec = json_incref(spec), .results = json_array()};
    return STATUS_OK;
}

/* The headline's value; NAN: it has none. */
static double value_of(struct fleet *fleet, const json_t *record)
{
    const json_t *estimate = json_object_get(record, "estimate");
    const char *headline = member_text(estimate, "headline");
    const json_t *metric = member_in(estimate, "metrics", headline);
    const double value = member_number(metric, "value");

    if (value > 0 && !fleet->unit) {
        fleet->metric = metric_find(headline);
        fleet->unit = strdup(member_text(metric, "unit"));
    }
    return value;
}

static enum status read_result(struct store *store, struct fleet *fleet, const json_t *id,
                               json_t **ret, struct error *err)
{
    int64_t cell;

    if (!json_is_string(id))
        return error_set(err, STATUS_CORRUPT, "an id is not text");
    TRY(store_find_cell(store, json_string_value(id), &cell, err));
    TRY(judged_cell_json(store, cell, ret, err));
    return check_kind(fleet, *ret, err);
}

static enum status count_result(struct fleet *fleet, const json_t *record, struct error *err)
{
    struct member_unit *member;
    size_t index;
    double value;

    TRY(find_member(fleet, record, &index, err));
    member = &fleet->members[index];
    value = value_of(fleet, record);
    json_array_append(member->results, json_object_get(record, "id"));
    member->failures += !(value > 0);
    member->count += value > 0;
    if (value > 0)
        fleet->measured[fleet->measured_count++] = (struct measured){
            index, log(value),
            member_integer(json_object_get(record, "campaign"), "created_utc_ns")};
    return STATUS_OK;
}

static enum status add_result(struct store *store, struct fleet *fleet, const json_t *id,
                              struct error *err)
{
    json_auto_t *record = NULL;

    TRY(read_result(store, fleet, id, &record, err));
    json_array_append(fleet->results, json_object_get(record, "id"));
    if (!json_is_null(json_object_get(record, "device")))
        return count_result(fleet, record, err);
    json_array_append(fleet->early, json_object_get(record, "id"));
    return STATUS_OK;
}

/* After the others, by which its unit is known. */
static enum status add_early(struct store *store, struct fleet *fleet, const json_t *id,
                             struct error *err)
{
    json_auto_t *record = NULL;

    TRY(read_result(store, fleet, id, &record, err));
    return count_result(fleet, record, err);
}

static int by_member_and_time(const void *a, const void *b)
{
    const struct measured *x = a, *y = b;

    if (x->member != y->member)
        return (x->member > y->member) - (x->member < y->member);
    return (x->utc_ns > y->utc_ns) - (x->utc_ns < y->utc_ns);
}

/* Results become sittings, members with a value units; how many have one. */
static enum status make_units(struct fleet *fleet, size_t *ret, struct error *err)
{
    const bool lower =
        fleet->metric < METRIC_COUNT && metrics[fleet->metric].better == METRIC_LOWER;
    AUTO_FREE int64_t *times = calloc(fleet->measured_count + 1, sizeof(*times));
    AUTO_FREE size_t *first = calloc(fleet->measured_count + 1, sizeof(*first));
    AUTO_FREE double *logs = calloc(fleet->measured_count + 1, sizeof(*logs));

    *ret = 0;
    if (!times || !first || !logs)
        return error_no_memory(err);
    qsort(fleet->measured, fleet->measured_count, sizeof(*fleet->measured), by_member_and_time);
    for (size_t i = 0; i < fleet->measured_count; i++) {
        logs[i] = lower ? -fleet->measured[i].log : fleet->measured[i].log;
        times[i] = fleet->measured[i].utc_ns;
    }
    for (size_t i = 0, at = 0; i < fleet->count; at += fleet->members[i++].count)
        if (fleet->members[i].count > 0)
            fleet->units[(*ret)++] = (struct unit){
                .logs = fleet->logs + at,
                .count = history_sittings(logs + at, times + at, fleet->members[i].count,
                                          fleet->logs + at, first)};
    return STATUS_OK;
}

static json_t *spread_json(const struct unit_spread *spread)
{
    return json_pack("{s:o, s:o, s:o}", "sd", real_or_null(spread->sd), "lo",
                     real_or_null(spread->lo), "hi", real_or_null(spread->hi));
}

/* `unit` NULL: it has no value. */
static json_t *unit_json(const struct member_unit *member, const struct unit *unit)
{
    const struct unit none = {.level = NAN, .lo = NAN, .hi = NAN}, *of = unit ? unit : &none;

    return json_pack("{s:O, s:O, s:O, s:O, s:I, s:I, s:o, s:o, s:o, s:s, s:o}", "device",
                     json_array_get(member->machine, 0), "uuid", json_array_get(member->machine, 1),
                     "host", json_array_get(member->machine, 2), "results", member->results,
                     "sittings", (json_int_t)of->count, "failures", (json_int_t)member->failures,
                     "ratio", real_or_null(exp(of->level)), "lo", real_or_null(exp(of->lo)), "hi",
                     real_or_null(exp(of->hi)), "verdict",
                     unit ? unit_verdict_name(unit->verdict) : "failed", "needed",
                     of->needed ? json_integer((json_int_t)of->needed) : json_null());
}

/* The slowest first; those without a value before all. */
static int slower(const void *a, const void *b)
{
    const double x = member_number_or(*(json_t *const *)a, "ratio", 0);
    const double y = member_number_or(*(json_t *const *)b, "ratio", 0);

    return (x > y) - (x < y);
}

static enum status list_units(const struct fleet *fleet, json_t **ret, struct error *err)
{
    AUTO_FREE json_t **list = calloc(fleet->count + 1, sizeof(*list));
    size_t used = 0;

    *ret = json_array();
    if (!list || !*ret)
        return error_no_memory(err);
    for (size_t i = 0; i < fleet->count; i++)
        list[i] =
            unit_json(&fleet->members[i], fleet->members[i].count ? &fleet->units[used++] : NULL);
    qsort(list, fleet->count, sizeof(*list), slower);
    for (size_t i = 0; i < fleet->count; i++)
        json_array_append_new(*ret, list[i]);
    return STATUS_OK;
}

static const char *verdict_of(const json_t *units, bool missing)
{
    bool slow = false, failed = missing, open = false;

    EACH(unit, units) {
        const char *verdict = member_text(unit, "verdict");

        slow |= !strcmp(verdict, "slow");
        failed |= !strcmp(verdict, "failed");
        open |= !strcmp(verdict, "undecided") || !strcmp(verdict, "one_sitting");
    }
    return slow ? "slow_units" : failed ? "failed_units" : open ? "undecided" : "fine";
}

static enum status conclude(struct fleet *fleet, const json_t *request,
                            const struct units_levels *levels, json_t **ret, struct error *err)
{
    const json_t *expected = json_object_get(request, "expected");
    const long long missing = json_integer_value(expected) - (long long)fleet->count;
    const bool lower = metrics[fleet->metric].better == METRIC_LOWER;
    json_auto_t *units = NULL;

    TRY(list_units(fleet, &units, err));
    *ret = json_pack(
        "{s:O, s:O, s:O, s:s, s:s, s:s, s:f, s:o, s:o, s:O, s:o, s:s}", "a",
        json_array_get(fleet->results, 0), "request", request, "results", fleet->results,
        "precision", member_text(fleet->kind, "precision"), "metric", metrics[fleet->metric].id,
        "unit", fleet->unit, "median", exp(lower ? -levels->median : levels->median),
        "between_units", spread_json(&levels->units), "between_sittings",
        spread_json(&levels->sittings), "units", units, "missing",
        json_is_integer(expected) ? json_integer(missing > 0 ? missing : 0) : json_null(),
        "verdict", verdict_of(units, missing > 0));
    return *ret ? STATUS_OK : error_no_memory(err);
}

static enum status judge(struct fleet *fleet, const json_t *request, json_t **ret,
                         struct error *err)
{
    struct units_levels levels;
    size_t used = 0;

    TRY(make_units(fleet, &used, err));
    if (used < UNITS_LEAST)
        return error_set(err, STATUS_INVALID,
                         "%zu of %zu units have a value, and a fleet's median takes %d: measure "
                         "more units, and bring their bundles here by `assay import`",
                         used, fleet->count, UNITS_LEAST);
    TRY(units_judge(fleet->units, used, member_number(request, "margin"),
                    member_number(request, "fdr"), &levels, err));
    return conclude(fleet, request, &levels, ret, err);
}

static enum status make(struct store *store, const json_t *asked, json_t **ret, struct error *err)
{
    const json_t *request = json_object_get(asked, "request");
    json_auto_t *results = json_incref(json_object_get(asked, "results"));
    CLEANUP(fleet_finish) struct fleet fleet = {.metric = METRIC_COUNT};

    if (!member_string(request, "workload"))
        return error_set(err, STATUS_CORRUPT, "the request is not of its form");
    if (!results)
        TRY(find_results(store, request, &results, err));
    TRY(fleet_room(&fleet, json_array_size(results), err));
    EACH(id, results)
        TRY(add_result(store, &fleet, id, err));
    EACH(id, fleet.early)
        TRY(add_early(store, &fleet, id, err));
    return judge(&fleet, request, ret, err);
}

const struct judgement judgement_fleet = {.name = "fleet",
                                          .results = 1,
                                          .type = &fleet_type,
                                          .subject = "$.request.workload",
                                          .verdict = judgement_own_verdict,
                                          .make = make};
