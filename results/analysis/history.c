#include "results/analysis/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/shape.h"
#include "harness/core/text.h"
#include "protocols/comparability.h"
#include "protocols/history.h"
#include "results/analysis/fields.h"
#include "results/analysis/judgement.h"

#define NAME_MAX_LENGTH 64

_Static_assert(HISTORY_SITTINGS_LEAST == HISTORY_LEAST, "what is said is what is done");

static const struct type result_shape = TYPE_OF({
    SHOWN("id", TEXT),
    SHOWN("created", TEXT),
    SHOWN("value", FINITE),
    SHOWN("lo", REAL),
    SHOWN("hi", REAL),
    OR_NULL("driver_version", TEXT),
    OR_NULL("stack", LIST, .of = &type_of_text, .help = "what differs from the result before"),
});
static const char *const history_kinds[] = {"too_few", "constant", "line",
                                            "ramp",    "approach", "steps"};
static const struct type kind_shape = {WORD_OF(history_kinds), .def = "history_kind"};
static const struct type change_shape = TYPE_OF({
    SHOWN("before", TEXT, .help = "the change lies after this result"),
    SHOWN("after", TEXT, .help = "and before or at this one"),
    SHOWN("ratio", REAL, .help = "of the levels, after over before"),
    OR_NULL("stack", LIST, .of = &type_of_text, .help = "what differs between the two"),
});
static const struct type baseline_shape = TYPE_OF({
    SHOWN("name", TEXT),
    SHOWN("result", TEXT),
    SHOWN("ratio", REAL, .help = "of the newest result over it"),
});
static const struct type stale_shape = TYPE_OF({
    SHOWN("result", TEXT, .help = "the newest on this device, whose stack is another"),
    OR_NULL("stack", LIST, .of = &type_of_text),
});
const struct type history_type = TYPE_OF({
    SHOWN("workload", TEXT),
    SHOWN("precision", TEXT),
    OR_NULL("batch", INTEGER),
    SHOWN("scenario", TEXT),
    OR_NULL("arm", TEXT),
    SHOWN("implementation", TEXT),
    SHOWN("protocol", TEXT),
    OR_NULL("device", TEXT),
    SHOWN("device_spec", TEXT),
    OR_NULL("host", TEXT),
    SHOWN("metric", TEXT),
    SHOWN("unit", TEXT),
    SHOWN("results", LIST, .of = &result_shape),
    SHOWN("sittings", INTEGER, .help = "groups of results within an hour of each other"),
    SHOWN("kind", RECORD, .of = &kind_shape),
    SHOWN("changes", LIST, .of = &change_shape),
    SHOWN("baselines", LIST, .of = &baseline_shape),
    OR_NULL("stale", RECORD, .of = &stale_shape),
});

static double number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* A result that a history can be made of. */
static bool counts(const json_t *row)
{
    return number(row, "value") > 0 && !json_is_string(json_object_get(row, "imported")) &&
           strcmp(member_text(row, "verdict"), "drift") != 0 &&
           strcmp(member_text(row, "verdict"), "non_stationary") != 0;
}

static bool is_of(const json_t *series, const json_t *row)
{
    static const char *const keys[] = {
        "workload_digest", "precision", "batch",       "scenario", "arm",   "implementation",
        "protocol_digest", "device",    "device_spec", "host",     "metric"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const json_t *a = json_object_get(series, keys[i]), *b = json_object_get(row, keys[i]);

        if (a != b && !json_equal(a, b))
            return false;
    }
    return true;
}

/* The factors that differ between the fields of two results; null where they are not judged. */
static json_t *differences(const json_t *a, const json_t *b)
{
    json_t *judgement = NULL, *list;

    if (!a || !b || comparability_judge(a, b, NULL, &judgement, NULL) != STATUS_OK)
        return json_null();
    list = json_array();
    EACH(factor, json_object_get(judgement, "factors")) {
        CLEANUP(text_finish) struct text labels = TEXT_INIT;

        json_array_append_new(
            list, comparability_append_labels(&labels, factor) && text_ok(&labels)
                      ? json_sprintf("%s: %s", member_text(factor, "factor"), labels.data)
                      : json_string(member_text(factor, "factor")));
    }
    json_decref(judgement);
    return list;
}

static const json_t *at(const json_t *list, size_t i)
{
    return json_array_get(list, i);
}

static void add_change(json_t *changes, const json_t *results, const json_t *fields, size_t before,
                       size_t after, double ratio)
{
    json_array_append_new(changes, json_pack("{s:O, s:O, s:o, s:o}", "before",
                                             json_object_get(at(results, before), "id"), "after",
                                             json_object_get(at(results, after), "id"), "ratio",
                                             real_or_null(ratio), "stack",
                                             differences(at(fields, before), at(fields, after))));
}

/* Sittings of a series: the mean of the logs of each, and its first result. */
struct sittings {
    double *logs;
    size_t *first;
    size_t count, results;
};

static void sittings_finish(struct sittings *sittings)
{
    free(sittings->logs);
    free(sittings->first);
}

static enum status sittings_of(const json_t *results, struct sittings *ret, struct error *err)
{
    const size_t count = json_array_size(results);
    AUTO_FREE double *logs = calloc(count + 1, sizeof(*logs));
    AUTO_FREE int64_t *times = calloc(count + 1, sizeof(*times));

    ret->logs = calloc(count + 1, sizeof(*ret->logs));
    ret->first = calloc(count + 1, sizeof(*ret->first));
    if (!logs || !times || !ret->logs || !ret->first)
        return error_no_memory(err);
    EACH(result, results) {
        logs[result_at] = log(number(result, "value"));
        times[result_at] = json_integer_value(json_object_get(result, "created_utc_ns"));
    }
    ret->results = count;
    ret->count = history_sittings(logs, times, count, ret->logs, ret->first);
    return STATUS_OK;
}

/* The last result of a sitting. */
static size_t last_of(const struct sittings *sittings, size_t i)
{
    return (i + 1 < sittings->count ? sittings->first[i + 1] : sittings->results) - 1;
}

static const char *describe_changes(const struct trend *trend, const struct sittings *sittings,
                                    const json_t *results, const json_t *fields, json_t *changes)
{
    const size_t last = sittings->count - 1, newest = sittings->results - 1;

    switch (trend->kind) {
    case TREND_LINE:
        add_change(changes, results, fields, 0, newest, exp(trend->slope * (double)last));
        return "line";
    case TREND_RAMP:
        add_change(changes, results, fields, last_of(sittings, trend->from),
                   sittings->first[trend->to], exp(-trend->amplitude));
        return "ramp";
    case TREND_APPROACH:
        add_change(changes, results, fields, 0, newest, exp(-trend->amplitude));
        return "approach";
    case TREND_STEPS:
        for (size_t i = 0; i < trend->change_count; i++)
            add_change(changes, results, fields, last_of(sittings, trend->change[i] - 1),
                       sittings->first[trend->change[i]],
                       exp(trend->level[i + 1] - trend->level[i]));
        return "steps";
    default:
        return "constant";
    }
}

static enum status find_changes(json_t *series, const json_t *fields, struct error *err)
{
    const json_t *results = json_object_get(series, "results");
    CLEANUP(sittings_finish) struct sittings sittings = {.logs = NULL};
    json_auto_t *changes = json_array();
    const char *kind = "too_few";
    CLEANUP(trend_finish) struct trend trend = {0};

    TRY(sittings_of(results, &sittings, err));
    if (sittings.count >= HISTORY_LEAST) {
        TRY(history_describe(sittings.logs, sittings.count, &trend, err));
        kind = describe_changes(&trend, &sittings, results, fields, changes);
    }
    EACH(result, results)
        json_object_del(result, "created_utc_ns");
    json_object_set_new(series, "sittings", json_integer((json_int_t)sittings.count));
    json_object_set_new(series, "kind", json_string(kind));
    json_object_set(series, "changes", changes);
    return STATUS_OK;
}

/* The newest of each name that is a result of this series. */
static void find_baselines(json_t *series, const json_t *recorded)
{
    const json_t *results = json_object_get(series, "results");
    const json_t *newest = at(results, json_array_size(results) - 1);
    json_t *named = json_object(), *list = json_array();

    for (size_t i = 0; i < json_array_size(recorded); i++) {
        const json_t *baseline = json_object_get(at(recorded, i), "body");

        for (size_t k = 0; k < json_array_size(results); k++)
            if (json_equal(json_object_get(at(results, k), "id"), json_object_get(baseline, "a")) &&
                !json_object_get(named, member_text(baseline, "name"))) {
                json_object_set_new(named, member_text(baseline, "name"), json_true());
                json_array_append_new(
                    list, json_pack("{s:O, s:O, s:o}", "name", json_object_get(baseline, "name"),
                                    "result", json_object_get(baseline, "a"), "ratio",
                                    real_or_null(number(newest, "value") /
                                                 number(at(results, k), "value"))));
            }
    }
    json_decref(named);
    json_object_set_new(series, "baselines", list);
}

static json_t *series_of(const json_t *row)
{
    static const char *const keys[] = {"workload",        "workload_digest",
                                       "precision",       "batch",
                                       "scenario",        "arm",
                                       "implementation",  "protocol",
                                       "protocol_digest", "device",
                                       "device_spec",     "host",
                                       "metric",          "unit"};
    json_t *series = json_object();

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        json_t *value = json_object_get(row, keys[i]);

        json_object_set(series, keys[i], value ? value : json_null());
    }
    json_object_set_new(series, "rows", json_array());
    json_object_set_new(series, "results", json_array());
    json_object_set_new(series, "fields", json_array());
    return series;
}

static bool is_wanted(const struct history_query *query, const json_t *series)
{
    const struct store_filter *filter = &query->filter;

    return (!filter->workload || !strcmp(filter->workload, member_text(series, "workload"))) &&
           (!filter->precision || !strcmp(filter->precision, member_text(series, "precision"))) &&
           (!query->wants || query->wants(query->context, json_object_get(series, "rows")));
}

static const json_t *newest_of(const json_t *series)
{
    const json_t *rows = json_object_get(series, "rows");

    return at(rows, json_array_size(rows) - 1);
}

/* Appends a result, with what of the stack differs from the one before it. */
static enum status add_result(struct store *store, json_t *series, const json_t *row,
                              struct error *err)
{
    json_t *results = json_object_get(series, "results"), *all = json_object_get(series, "fields");
    const size_t count = json_array_size(results);
    json_t *fields = NULL;

    TRY(fields_of_cell(store, json_integer_value(json_object_get(row, "cell")), &fields, err));
    json_array_append_new(
        results,
        json_pack("{s:O, s:O, s:O?, s:O, s:O?, s:O?, s:O?, s:o}", "id", json_object_get(row, "id"),
                  "created", json_object_get(row, "created"), "created_utc_ns",
                  json_object_get(row, "created_utc_ns"), "value", json_object_get(row, "value"),
                  "lo", json_object_get(row, "lo"), "hi", json_object_get(row, "hi"),
                  "driver_version", json_object_get(row, "driver_version"), "stack",
                  count ? differences(at(all, count - 1), fields) : json_array()));
    json_array_append_new(all, fields);
    return STATUS_OK;
}

/* The fields of its newest result, which a series that is shown has already. */
static enum status newest_fields(struct store *store, const json_t *series, const json_t **ret,
                                 struct error *err)
{
    json_t *all = json_object_get(series, "fields"), *fields = NULL;

    if (json_array_size(all) == 0) {
        TRY(fields_of_cell(store, json_integer_value(json_object_get(newest_of(series), "cell")),
                           &fields, err));
        json_array_append_new(all, fields);
    }
    *ret = at(all, json_array_size(all) - 1);
    return STATUS_OK;
}

/* The series of the same device, host and arm whose newest result is the newest of them. */
static const json_t *latest_like(const json_t *series, const json_t *all)
{
    static const char *const keys[] = {"device", "device_spec", "host", "arm"};
    const json_t *found = series;
    const char *latest = "";

    for (size_t i = 0; i < json_array_size(all); i++) {
        const char *created = member_text(newest_of(at(all, i)), "created");
        bool same = true;

        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
            same &=
                json_equal(json_object_get(at(all, i), keys[k]), json_object_get(series, keys[k]));
        if (same && strcmp(created, latest) >= 0) {
            latest = created;
            found = at(all, i);
        }
    }
    return found;
}

/*
 * Whether the newest result of another series of this device, host and arm has another stack: of
 * what both have fields of, since each workload maps libraries of its own.
 */
static enum status find_stale(struct store *store, json_t *series, const json_t *all,
                              struct error *err)
{
    const json_t *newest = latest_like(series, all), *mine, *others;
    json_auto_t *own = json_object(), *common = json_object(), *stack = NULL;
    const char *field;
    json_t *value;

    TRY(newest_fields(store, series, &mine, err));
    TRY(newest_fields(store, newest, &others, err));
    json_object_foreach((json_t *)(uintptr_t)mine, field, value)
    {
        json_t *other = json_object_get(others, field);
        const bool shared = strncmp(field, "identity.", 9) != 0 &&
                            strncmp(field, "kernel.", 7) != 0 &&
                            strncmp(field, "choice.", 7) != 0 && strncmp(field, "jit.", 4) != 0;

        if (shared && other && !json_is_null(other) && !json_is_null(value)) {
            json_object_set(own, field, value);
            json_object_set(common, field, other);
        }
    }
    stack = newest == series ? json_array() : differences(own, common);
    json_object_set_new(series, "stale",
                        json_array_size(stack) > 0
                            ? json_pack("{s:O, s:O}", "result",
                                        json_object_get(newest_of(newest), "id"), "stack", stack)
                            : json_null());
    return STATUS_OK;
}

/* Adds the rows to their series, the oldest first. */
static enum status gather(struct store *store, const struct store_filter *filter, json_t *all,
                          struct error *err)
{
    struct store_filter every = *filter;
    json_auto_t *rows = NULL;

    every.workload = every.precision = NULL; /* others' newest results tell what is stale */
    TRY(store_list_results(store, &every, &rows, err));
    for (size_t i = json_array_size(rows); i-- > 0;) {
        json_t *row = json_array_get(rows, i);
        size_t k = 0;

        if (!counts(row))
            continue;
        while (k < json_array_size(all) && !is_of(at(all, k), row))
            k++;
        if (k == json_array_size(all))
            json_array_append_new(all, series_of(row));
        json_array_append(json_object_get(at(all, k), "rows"), row);
    }
    return STATUS_OK;
}

enum status history_make(struct store *store, const struct history_query *query, json_t **ret,
                         struct error *err)
{
    static const char *const internal[] = {"fields", "rows", "workload_digest", "protocol_digest"};
    json_auto_t *all = json_array(), *recorded = NULL, *wanted = json_array();

    TRY(gather(store, &query->filter, all, err));
    TRY(store_list_baselines(store, &recorded, err));
    EACH(series, all) {
        if (!is_wanted(query, series))
            continue;
        EACH(row, json_object_get(series, "rows"))
            TRY(add_result(store, series, row, err));
        json_array_append(wanted, series);
    }
    EACH(series, wanted) {
        TRY(find_changes(series, json_object_get(series, "fields"), err));
        find_baselines(series, recorded);
        TRY(find_stale(store, series, all, err));
    }
    EACH(series, wanted) {
        for (size_t k = 0; k < sizeof(internal) / sizeof(internal[0]); k++)
            json_object_del(series, internal[k]);
    }
    *ret = json_incref(wanted);
    return *ret ? STATUS_OK : error_no_memory(err);
}

static bool is_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const size_t length = strlen(name);

    return length > 0 && length <= NAME_MAX_LENGTH && strspn(name, allowed) == length;
}

static enum status make_baseline(struct store *store, const json_t *asked, json_t **ret,
                                 struct error *err)
{
    const char *result = member_text(asked, "a"), *name = member_text(asked, "name");
    struct store_filter filter = {0};
    json_auto_t *rows = NULL;
    const json_t *row;

    if (!is_name(name))
        return error_set(err, STATUS_INVALID,
                         "\"%s\": write a baseline's name with up to %d letters, digits, '.', '_' "
                         "and '-'",
                         name, NAME_MAX_LENGTH);
    TRY(store_find_cell(store, result, &filter.cell, err));
    TRY(store_list_results(store, &filter, &rows, err));
    row = at(rows, 0);
    if (!json_is_number(json_object_get(row, "value")))
        return error_set(err, STATUS_INVALID, "%s has no value that could be a baseline", result);
    *ret = json_pack("{s:O, s:s, s:O, s:O, s:O?, s:O?, s:O}", "a", json_object_get(row, "id"),
                     "name", name, "metric", json_object_get(row, "metric"), "value",
                     json_object_get(row, "value"), "lo", json_object_get(row, "lo"), "hi",
                     json_object_get(row, "hi"), "unit", json_object_get(row, "unit"));
    return *ret ? STATUS_OK : error_no_memory(err);
}

const struct judgement judgement_baseline = {
    .name = "baseline", .results = 1, .make = make_baseline};
