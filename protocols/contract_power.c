/* Both parties' risks by a contract, before anything is measured. */
#include <math.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/declaration.h"
#include "harness/core/member.h"
#include "protocols/contract.h"
#include "protocols/protocol.h"

/* Points of a characteristic, both levels included. */
#define POINTS 7

/*
 * Reads an item whose metric's unit depends on the workload: of what is written behind the declared
 * figure, all, or what follows a prefix ("M", the two bytes of "µ") and a blank.
 */
static enum status read_item(const json_t *contract, size_t index, struct contract_item *ret,
                             char unit[METRIC_UNIT_SIZE], struct error *err)
{
    const char *declared =
        member_text(json_array_get(json_object_get(contract, "items"), index), "declared");
    const char *written = declared + strcspn(declared, " ");
    struct error other = ERROR_INIT;
    enum status status;

    TRY(contract_item_read(contract, index, NULL, ret, err));
    written += *written == ' ';
    if (!strchr(metrics[ret->metric].unit, '{')) {
        metric_unit(ret->metric, NULL, false, unit);
        return STATUS_OK;
    }
    if (strlen(written) >= METRIC_UNIT_SIZE)
        return error_set(err, STATUS_INVALID, "items[%zu].declared: \"%s\" is too long for a unit",
                         index, written);
    status = contract_item_read(contract, index, strcpy(unit, written), ret, err);
    for (size_t skip = 1; status != STATUS_OK && skip <= 3 && skip < strlen(written); skip++) {
        strcpy(unit, written + skip);
        if (contract_item_read(contract, index, unit, ret, &other) == STATUS_OK)
            status = STATUS_OK;
    }
    return status;
}

/* ---- the answer ---- */

struct chances {
    double truth, accepted, rejected, inconclusive;
};
#define M(...) MEMBER(struct chances, REAL, __VA_ARGS__)
static const struct member chances_members[] = {
    M(truth, .help = "the figure, or the share of units that conform"),
    M(accepted),
    M(rejected),
    M(inconclusive),
};
#undef M
static const struct type chances_type = TYPE(struct chances, "chances", chances_members);

struct characteristic {
    struct chances points[POINTS];
    size_t count;
};
#define CHARACTERISTIC(record)                                                                     \
    MEMBER_AS(record, LIST, "characteristic", characteristic.points, .of = &chances_type,          \
              .size = POINTS, .count = offsetof(record, characteristic.count))

struct fleet_power {
    uint64_t units;
    struct chances declared;
    struct characteristic characteristic;
};
static const struct member fleet_members[] = {
    MEMBER(struct fleet_power, COUNT, units),
    MEMBER(struct fleet_power, RECORD, declared, .of = &chances_type),
    CHARACTERISTIC(struct fleet_power),
};
static const struct type fleet_type = TYPE(struct fleet_power, "a fleet", fleet_members);

struct item_power {
    const char *workload, *metric;
    char unit[METRIC_UNIT_SIZE];
    double declared, limiting, alpha, beta;
    uint64_t trials, trials_needed;
    struct characteristic characteristic;
    bool has_fleet;
    struct fleet_power fleet;
};
#define M(...) MEMBER(struct item_power, __VA_ARGS__)
static const struct member item_members[] = {
    M(TEXT, workload),
    M(TEXT, metric),
    M(CHARS, unit, .size = METRIC_UNIT_SIZE),
    M(FINITE, declared),
    M(FINITE, limiting),
    M(FINITE, alpha),
    M(FINITE, beta),
    M(COUNT, trials),
    M(COUNT, trials_needed, .flags = MEMBER_NULLABLE,
      .help = "that tell both levels apart with both risks"),
    CHARACTERISTIC(struct item_power),
    M(RECORD, fleet, .of = &fleet_type, .has = offsetof(struct item_power, has_fleet)),
};
#undef M
static const struct type item_type = TYPE(struct item_power, "an item", item_members);

struct power {
    const char *contract;
    struct digest contract_sha256;
    double sd, accepted_as_declared;
    struct item_power *items;
    size_t count;
};
#define M(...) MEMBER(struct power, __VA_ARGS__)
static const struct member power_members[] = {
    M(TEXT, contract),
    M(DIGEST, contract_sha256),
    M(FINITE, sd, .help = "of logarithms, between trials"),
    M(LIST, items, .of = &item_type, .count = offsetof(struct power, count)),
    M(FINITE, accepted_as_declared,
      .help = "at least so likely are all items accepted that are as declared"),
};
#undef M
const struct type contract_power_type =
    TYPE(struct power, "the power of a contract", power_members);

/* ---- how it is found ---- */

double contract_margin(const json_t *contract)
{
    const char *name = member_string(contract, "protocol");
    CLEANUP(protocol_finish) struct protocol protocol = {0};

    if ((!name || declaration_is_path(name) || protocol_find(name, &protocol, NULL) != STATUS_OK) &&
        protocol_find("standard", &protocol, NULL) != STATUS_OK)
        return 0;
    return protocol.estimate.margin;
}

static struct chances chances_of(double truth, struct acceptance_chances chances)
{
    const double left = 1 - chances.accepted - chances.rejected;

    return (struct chances){truth, chances.accepted, chances.rejected, left < 0 ? 0 : left};
}

static void put_fleet(const struct contract_item *item, struct item_power *ret)
{
    const struct acceptance_fleet *fleet = &item->fleet;
    struct characteristic *points = &ret->fleet.characteristic;

    ret->has_fleet = item->units > 0;
    if (!ret->has_fleet)
        return;
    ret->fleet.units = item->units;
    ret->fleet.declared =
        chances_of(fleet->declared, acceptance_fleet_chances(fleet, item->units, fleet->declared));
    for (; points->count < POINTS; points->count++) {
        const double truth = 1 - (1 - fleet->share) * (double)points->count / (POINTS - 1);

        points->points[points->count] =
            chances_of(truth, acceptance_fleet_chances(fleet, item->units, truth));
    }
}

/* `ret` holds the unit. */
static void put_item(const json_t *contract, size_t index, const struct contract_item *item,
                     double sd, struct item_power *ret)
{
    const double margin = contract_margin(contract);
    const struct acceptance_plan plan = acceptance_plan_make(sd, item->trials, margin);
    const json_t *cell =
        json_object_get(json_array_get(json_object_get(contract, "items"), index), "cell");
    const struct acceptance_rule *rule = &item->rule;
    struct characteristic *points = &ret->characteristic;

    ret->workload = member_string(cell, "workload");
    ret->metric = metrics[item->metric].id;
    ret->declared = rule->declared;
    ret->limiting = rule->limiting;
    ret->alpha = rule->alpha;
    ret->beta = rule->beta;
    ret->trials = item->trials;
    ret->trials_needed = acceptance_trials(rule, sd, margin);
    for (; points->count < POINTS; points->count++) {
        const double truth = rule->declared * pow(rule->limiting / rule->declared,
                                                  (double)points->count / (POINTS - 1));

        points->points[points->count] = chances_of(truth, acceptance_chances(rule, &plan, truth));
    }
    put_fleet(item, ret);
}

enum status contract_power(const struct contract *contract, double sd, json_t **ret,
                           struct error *err)
{
    const size_t count = member_size(contract->json, "items");
    AUTO_FREE struct item_power *items = calloc(count + 1, sizeof(*items));
    struct power power = {.contract = member_string(contract->json, "contract"),
                          .contract_sha256 = contract->digest,
                          .sd = sd,
                          .items = items};
    double doubt = 0; /* that an item as declared is not accepted, at most */

    if (!items)
        return error_no_memory(err);
    for (; power.count < count; power.count++) {
        struct item_power *made = &items[power.count];
        struct contract_item item;

        TRY(read_item(contract->json, power.count, &item, made->unit, err));
        put_item(contract->json, power.count, &item, sd, made);
        doubt += 1 - made->characteristic.points[0].accepted;
    }
    power.accepted_as_declared = fmax(0, 1 - doubt);
    *ret = type_to_json(&contract_power_type, &power);
    return *ret ? STATUS_OK : error_no_memory(err);
}
