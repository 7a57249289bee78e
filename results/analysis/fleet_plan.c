#include "results/analysis/fleet_plan.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/shape.h"
#include "protocols/finding.h"
#include "protocols/fleet.h"
#include "results/analysis/judged.h"
#include "results/analysis/judgement.h"
#include "results/analysis/serving_change.h"

static const struct type unit_shape = TYPE_OF({
    SHOWN("result", TEXT),
    OR_NULL("device", TEXT),
    SHOWN("capacity", RECORD, .of = &capacity_result_type, .help = "requests/s within the limits"),
});
static const struct type request_shape = TYPE_OF({
    SHOWN("demand", FINITE, .help = "requests/s"),
    SHOWN("growth", FINITE),
    SHOWN("confidence", FINITE),
    SHOWN("availability", FINITE),
    SHOWN("risk", FINITE),
    OPTIONAL("quantile", FINITE),
    OPTIONAL("span_ns", INTEGER),
    OPTIONAL("trace", DIGEST),
});
static const struct type note_shape = TYPE_OF({
    SHOWN("code", TEXT),
    SHOWN("text", TEXT),
});
static const struct type fleet_plan_type = TYPE_OF({
    SHOWN("a", TEXT),
    SHOWN("results", LIST, .of = &type_of_text),
    SHOWN("request", RECORD, .of = &request_shape),
    SHOWN("units", LIST, .of = &unit_shape),
    OR_NULL("devices", INTEGER),
    OR_NULL("spares", INTEGER),
    OR_NULL("total", INTEGER),
    SHOWN("notes", LIST, .of = &note_shape),
});

static void note(json_t *notes, enum finding_code code)
{
    json_array_append_new(notes, json_pack("{s:s, s:s}", "code", finding_kinds[code].code, "text",
                                           finding_kinds[code].words));
}

/* What a unit is known to carry: its capacity, or what it carries at least. */
static double rate_of(const struct capacity_result *capacity)
{
    return capacity->state == CAPACITY_WITHIN     ? capacity->value
           : capacity->state == CAPACITY_AT_LEAST ? capacity->lo
                                                  : NAN;
}

struct units {
    double rates[FLEET_PLAN_UNITS_MAX], lowest[FLEET_PLAN_UNITS_MAX];
    size_t count;
    json_t *results, *list, *notes;        /* `results`: their own ids, which "last" is not */
    json_t *first;                         /* record of the first result */
    json_t *machine[FLEET_PLAN_UNITS_MAX]; /* what tells units apart: host, device and its UUID */
};

/* The device and the machine that it was measured in; a processor has no UUID. */
json_t *fleet_plan_machine(const json_t *record)
{
    const json_t *device = json_object_get(record, "device");
    const json_t *trials = json_object_get(record, "trials");
    const json_t *host = NULL;

    for (size_t i = 0; i < json_array_size(trials) && !host; i++)
        host = member_in(member_in(json_array_get(trials, i), "environment", "host"), "host.name",
                         "value");
    return json_pack("[O?, O?, O?]", json_object_get(device, "name"),
                     json_object_get(device, "uuid"), host);
}

/* Repetitions of a unit do not show how units differ. */
static enum status check_unit(const struct units *units, const json_t *machine, const char *id,
                              struct error *err)
{
    for (size_t i = 0; i < units->count; i++)
        if (json_equal(units->machine[i], machine))
            return error_set(err, STATUS_INVALID,
                             "%s was measured on the same unit as an earlier one: name each unit "
                             "once, since repetitions do not show how units differ",
                             id);
    return STATUS_OK;
}

static enum status add_unit(struct store *store, const char *id, struct units *units,
                            struct error *err)
{
    struct capacity_result capacity = {.state = CAPACITY_INCONCLUSIVE};
    json_auto_t *record = NULL, *machine = NULL;
    int64_t cell;

    TRY(store_find_cell(store, id, &cell, err));
    TRY(judged_cell_json(store, cell, &record, err));
    TRY(serving_capacity_of(store, record, &capacity, NULL, err));
    if (isnan(rate_of(&capacity)))
        return error_set(err, STATUS_INVALID,
                         "%s: no rate was shown to be within the limits; measure lower rates, or "
                         "longer",
                         id);
    if (units->first && !json_equal(member_in(units->first, "identity", "workload_digest"),
                                    member_in(record, "identity", "workload_digest")))
        return error_set(err, STATUS_INVALID, "%s is of another declaration than %s", id,
                         member_text(units->first, "id"));
    machine = fleet_plan_machine(record);
    TRY(check_unit(units, machine, id, err));
    units->machine[units->count] = json_incref(machine);
    units->rates[units->count] = rate_of(&capacity);
    units->lowest[units->count++] = capacity.lo;
    if (capacity.state == CAPACITY_AT_LEAST)
        note(units->notes, FINDING_AT_LEAST);
    json_array_append(units->results, json_object_get(record, "id"));
    json_array_append_new(units->list,
                          json_pack("{s:O, s:O?, s:o}", "result", json_object_get(record, "id"),
                                    "device", member_in(record, "device", "name"), "capacity",
                                    type_to_json(&capacity_result_type, &capacity)));
    if (!units->first)
        units->first = json_incref(record);
    return STATUS_OK;
}

/* Of one unit: its own lower bound, as if all were like it. */
static uint64_t count_devices(const struct units *units, double demand, double confidence)
{
    const double lo = units->lowest[0];

    if (units->count > 1)
        return fleet_units(units->rates, units->count, demand, confidence);
    note(units->notes, FINDING_ONE_UNIT);
    return lo > 0 && demand / lo <= FLEET_MAX ? (uint64_t)ceil(demand / lo) : 0;
}

static json_t *count_or_null(uint64_t count, bool known)
{
    return known ? json_integer((json_int_t)count) : json_null();
}

static enum status conclude(const struct units *units, const json_t *request, json_t **ret,
                            struct error *err)
{
    const double demand = member_number(request, "demand") * member_number(request, "growth");
    const uint64_t devices = count_devices(units, demand, member_number(request, "confidence"));
    const uint64_t spares = devices ? fleet_spares(devices, member_number(request, "availability"),
                                                   member_number(request, "risk"))
                                    : UINT64_MAX;
    const bool known = spares != UINT64_MAX;

    if (!devices)
        note(units->notes, FINDING_NO_FLEET);
    *ret = json_pack("{s:O, s:O, s:O, s:O, s:o, s:o, s:o, s:O}", "a",
                     json_object_get(units->first, "id"), "results", units->results, "request",
                     request, "units", units->list, "devices", count_or_null(devices, devices > 0),
                     "spares", count_or_null(spares, known), "total",
                     count_or_null(devices + spares, known), "notes", units->notes);
    return *ret ? STATUS_OK : error_no_memory(err);
}

/* Also true of numbers out of range, which fleet_units and fleet_spares refuse. */
static bool is_request(const json_t *request)
{
    static const char *const names[] = {"demand", "growth", "confidence", "availability", "risk"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!(member_number(request, names[i]) > 0))
            return false;
    return true;
}

static void finish(struct units *units)
{
    for (size_t i = 0; i < FLEET_PLAN_UNITS_MAX; i++)
        json_decref(units->machine[i]);
    json_decref(units->first);
    json_decref(units->results);
    json_decref(units->list);
    json_decref(units->notes);
}

static enum status make(struct store *store, const json_t *asked, json_t **ret, struct error *err)
{
    const json_t *results = json_object_get(asked, "results");
    const json_t *request = json_object_get(asked, "request");
    CLEANUP(finish)
    struct units units = {.results = json_array(), .list = json_array(), .notes = json_array()};

    if (!is_request(request) || json_array_size(results) == 0 ||
        json_array_size(results) > FLEET_PLAN_UNITS_MAX)
        return error_set(err, STATUS_CORRUPT, "the request is not of its form");
    for (size_t i = 0; i < json_array_size(results); i++) {
        const char *id = json_string_value(json_array_get(results, i));

        TRY(id ? add_unit(store, id, &units, err)
               : error_set(err, STATUS_CORRUPT, "an id is not text"));
    }
    return conclude(&units, request, ret, err);
}

const struct judgement judgement_plan = {
    .name = "plan", .results = 1, .type = &fleet_plan_type, .make = make};
