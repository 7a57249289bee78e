#include "protocols/contract.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/declaration.h"
#include "harness/core/member.h"
#include "protocols/condition.h"
#include "protocols/quantity.h"

#define NAME_MAX_LENGTH 128
#define ALPHA 0.05
#define BETA 0.1
#define CONFIDENCE 0.95

struct raw_cell {
    char *workload, *precision, *implementation, *device;
    int64_t batch;
};

struct raw_units {
    int64_t count;
    double share, confidence, declared;
};

struct raw_item {
    struct raw_cell cell;
    char *metric, *limit, *declared, *limiting;
    double alpha, beta;
    int64_t trials;
    struct raw_units units;
};

struct raw {
    char *contract, *description, *nonce, *protocol;
    int64_t version;
    enum condition *under;
    uint32_t under_count;
    struct raw_item *items;
    uint32_t items_count;
};

#define TEXT(K, FLAGS, S) FIELD_STRING(#K, FLAGS, S, K, 1, NAME_MAX_LENGTH)
static const struct declaration_field cell_fields[] = {
    TEXT(workload, FIELD_REQUIRED, struct raw_cell),
    TEXT(precision, FIELD_OPTIONAL, struct raw_cell),
    TEXT(implementation, FIELD_OPTIONAL, struct raw_cell),
    TEXT(device, FIELD_OPTIONAL, struct raw_cell),
    FIELD_INT("batch", FIELD_OPTIONAL, struct raw_cell, batch),
    FIELD_END};
static const struct declaration_field units_fields[] = {
    FIELD_INT("count", FIELD_REQUIRED, struct raw_units, count),
    FIELD_FLOAT("share", FIELD_REQUIRED, struct raw_units, share),
    FIELD_FLOAT("confidence", FIELD_OPTIONAL, struct raw_units, confidence),
    FIELD_FLOAT("declared", FIELD_OPTIONAL, struct raw_units, declared), FIELD_END};
static const struct declaration_field item_fields[] = {
    FIELD_GROUP("cell", FIELD_REQUIRED, struct raw_item, cell, cell_fields),
    TEXT(metric, FIELD_REQUIRED, struct raw_item),
    TEXT(limit, FIELD_REQUIRED, struct raw_item),
    TEXT(declared, FIELD_REQUIRED, struct raw_item),
    TEXT(limiting, FIELD_REQUIRED, struct raw_item),
    FIELD_FLOAT("alpha", FIELD_OPTIONAL, struct raw_item, alpha),
    FIELD_FLOAT("beta", FIELD_OPTIONAL, struct raw_item, beta),
    FIELD_INT("trials", FIELD_REQUIRED, struct raw_item, trials),
    FIELD_GROUP("units", FIELD_OPTIONAL, struct raw_item, units, units_fields),
    FIELD_END};
static const struct declaration_schema item_schema = {ENTRY_GROUP(struct raw_item, item_fields)};
static const struct declaration_schema under_schema = {
    ENTRY_ENUM(enum condition, condition_names, CONDITION_COUNT)};
static const struct declaration_field fields[] = {
    TEXT(contract, FIELD_REQUIRED, struct raw),
    FIELD_INT("version", FIELD_REQUIRED, struct raw, version),
    FIELD_STRING("description", FIELD_OPTIONAL, struct raw, description, 1, 1000),
    FIELD_STRING("nonce", FIELD_OPTIONAL, struct raw, nonce, 1, 1000),
    TEXT(protocol, FIELD_OPTIONAL, struct raw),
    FIELD_LIST("under", FIELD_OPTIONAL, struct raw, under, &under_schema, 1, CONDITION_COUNT),
    FIELD_LIST("items", FIELD_REQUIRED, struct raw, items, &item_schema, 1, CONTRACT_ITEMS_MAX),
    FIELD_END};
static const struct declaration_schema schema = {ENTRY_GROUP(struct raw, fields)};

static uint64_t count(const json_t *object, const char *name)
{
    const double value = member_real(object, name);

    return value >= 1 && value <= ACCEPTANCE_MAX && value == floor(value) ? (uint64_t)value : 0;
}

#define fault(err, index, member, ...)                                                             \
    (error_set(err, STATUS_INVALID, __VA_ARGS__),                                                  \
     error_prefix(err, "items[%zu].%s", (size_t)(index), member), STATUS_INVALID)

static enum status read_metric(const json_t *item, size_t index, struct contract_item *ret,
                               struct error *err)
{
    const char *limit = member_text(item, "limit");
    const struct metric *metric;

    ret->metric = metric_find(member_text(item, "metric"));
    if (ret->metric == METRIC_COUNT)
        return fault(err, index, "metric",
                     "\"%s\" is not a metric that assay measures: write item_rate, op_rate, "
                     "byte_rate, iteration_time, p99, energy_per_item or another of `assay show "
                     "ID --json`",
                     member_text(item, "metric"));
    metric = &metrics[ret->metric];
    ret->rule.at_most = !strcmp(limit, "at_most");
    if (!ret->rule.at_most && strcmp(limit, "at_least") != 0)
        return fault(err, index, "limit", "\"%s\": write at_least or at_most", limit);
    if (metric->better == METRIC_NEITHER)
        return fault(err, index, "metric",
                     "%s is neither better when higher nor when lower, so nothing can be promised "
                     "of it",
                     metric->id);
    if ((metric->better == METRIC_LOWER) != ret->rule.at_most)
        return fault(err, index, "limit", "%s is better when it is %s: write %s", metric->id,
                     ret->rule.at_most ? "higher" : "lower",
                     ret->rule.at_most ? "at_least" : "at_most");
    return STATUS_OK;
}

static enum status read_levels(const json_t *item, size_t index, const char *unit,
                               struct contract_item *ret, struct error *err)
{
    static const char *const names[] = {"declared", "limiting"};
    double *const levels[] = {&ret->rule.declared, &ret->rule.limiting};

    for (size_t i = 0; i < 2; i++)
        if (quantity_read(member_text(item, names[i]), ret->metric, unit, levels[i], err) !=
            STATUS_OK) {
            error_prefix(err, "items[%zu].%s", index, names[i]);
            return err->code;
        }
    if ((unit || !strchr(metrics[ret->metric].unit, '{')) &&
        !(ret->rule.at_most ? ret->rule.declared < ret->rule.limiting
                            : ret->rule.declared > ret->rule.limiting))
        return fault(err, index, "limiting",
                     "%s must be worse than what is declared (%s), that is, %s: else no trial "
                     "could tell the two apart",
                     member_text(item, "limiting"), member_text(item, "declared"),
                     ret->rule.at_most ? "higher" : "lower");
    return STATUS_OK;
}

static bool is_risk(double risk)
{
    return risk > 0 && risk < 0.5;
}

static enum status read_risks(const json_t *item, size_t index, struct contract_item *ret,
                              struct error *err)
{
    ret->rule.alpha = member_number_or(item, "alpha", ALPHA);
    ret->rule.beta = member_number_or(item, "beta", BETA);
    ret->trials = count(item, "trials");
    if (!is_risk(ret->rule.alpha) || !is_risk(ret->rule.beta))
        return fault(err, index, is_risk(ret->rule.alpha) ? "beta" : "alpha",
                     "a risk lies above 0 and below 0.5; 0.05 is 5 %%");
    if (ret->trials < 2)
        return fault(err, index, "trials", "write a whole number from 2 to %d", ACCEPTANCE_MAX);
    return STATUS_OK;
}

static enum status read_units(const json_t *item, size_t index, struct contract_item *ret,
                              struct error *err)
{
    const json_t *units = json_object_get(item, "units");
    const double share = member_number_or(units, "share", NAN);
    uint64_t needed;

    ret->units = 0;
    if (!units)
        return STATUS_OK;
    ret->units = count(units, "count");
    ret->fleet =
        (struct acceptance_fleet){.share = share,
                                  .declared = member_number_or(units, "declared", share),
                                  .alpha = ret->rule.alpha,
                                  .beta = 1 - member_number_or(units, "confidence", CONFIDENCE)};
    if (ret->units == 0)
        return fault(err, index, "units.count", "write a whole number from 1 to %d",
                     ACCEPTANCE_MAX);
    if (!(share > 0 && share < 1))
        return fault(err, index, "units.share",
                     "write the share of units that must conform, above 0 and below 1");
    if (!(ret->fleet.declared >= share && ret->fleet.declared <= 1))
        return fault(err, index, "units.declared", "write a share from units.share (%g) to 1",
                     share);
    if (!is_risk(ret->fleet.beta))
        return fault(err, index, "units.confidence", "write a share above 0.5 and below 1");
    needed = acceptance_units(&ret->fleet, 0);
    if (ret->units < needed || needed == 0)
        return fault(err, index, "units.count",
                     "%llu units cannot show %g %% with %g %% confidence even where none fails: "
                     "write at least %llu",
                     (unsigned long long)ret->units, 100 * share, 100 * (1 - ret->fleet.beta),
                     (unsigned long long)needed);
    return STATUS_OK;
}

enum status contract_item_read(const json_t *contract, size_t index, const char *unit,
                               struct contract_item *ret, struct error *err)
{
    const json_t *item = json_array_get(json_object_get(contract, "items"), index);
    struct contract_item read = {0};

    TRY(read_metric(item, index, &read, err));
    if (!member_text(json_object_get(item, "cell"), "workload")[0])
        TRY(fault(err, index, "cell", "it names no workload"));
    TRY(read_levels(item, index, unit, &read, err));
    TRY(read_risks(item, index, &read, err));
    TRY(read_units(item, index, &read, err));
    *ret = read;
    return STATUS_OK;
}

/* Two promises of one figure contradict each other, or one of them is of no use. */
static enum status check_twice(const json_t *items, size_t index, struct error *err)
{
    const json_t *item = json_array_get(items, index);

    for (size_t i = 0; i < index; i++) {
        const json_t *other = json_array_get(items, i);

        if (json_equal(json_object_get(item, "cell"), json_object_get(other, "cell")) &&
            !strcmp(member_text(item, "metric"), member_text(other, "metric")))
            return fault(err, index, "metric",
                         "item %zu promises %s of the same cell as item %zu: write one of them",
                         index + 1, member_text(item, "metric"), i + 1);
    }
    return STATUS_OK;
}

enum status contract_load(const char *path, struct contract *ret, struct error *err)
{
    CLEANUP(contract_finish) struct contract contract = {.json = NULL};
    struct contract_item item;
    const json_t *items;

    contract.declaration = calloc(1, sizeof(*contract.declaration));
    if (!contract.declaration)
        return error_no_memory(err);
    TRY(declaration_load(path, &schema, contract.declaration, err));
    TRY(declaration_to_json(contract.declaration, &contract.json, err));
    items = json_object_get(contract.json, "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        enum status status = contract_item_read(contract.json, i, NULL, &item, err);

        if (status == STATUS_OK)
            status = check_twice(items, i, err);
        contract_locate(&contract, err);
        TRY(status);
    }
    TRY(canonical_digest(contract.json, &contract.digest, err));
    *ret = contract;
    contract = (struct contract){.json = NULL};
    return STATUS_OK;
}

void contract_locate(const struct contract *contract, struct error *err)
{
    declaration_locate(contract->declaration, err);
}

void contract_finish(struct contract *contract)
{
    declaration_finish(contract->declaration);
    free(contract->declaration);
    json_decref(contract->json);
    *contract = (struct contract){.json = NULL};
}
