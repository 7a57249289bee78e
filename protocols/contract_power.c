/* Both parties' risks by a contract, before anything is measured. */
#include <math.h>
#include <string.h>

#include "harness/core/member.h"
#include "protocols/contract.h"

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
    enum status status = contract_item_read(contract, index, NULL, ret, err);

    if (status != STATUS_OK)
        return status;
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

static json_t *chances_json(double truth, struct acceptance_chances chances)
{
    const double left = 1 - chances.accepted - chances.rejected;

    return json_pack("{s:o, s:o, s:o, s:o}", "truth", real_or_null(truth), "accepted",
                     real_or_null(chances.accepted), "rejected", real_or_null(chances.rejected),
                     "inconclusive", real_or_null(left < 0 ? 0 : left));
}

static json_t *fleet_json(const struct contract_item *item)
{
    const struct acceptance_fleet *fleet = &item->fleet;
    json_t *rows = json_array();

    if (!item->units) {
        json_decref(rows);
        return json_null();
    }
    for (int i = 0; i < POINTS; i++) {
        const double truth = 1 - (1 - fleet->share) * i / (POINTS - 1);

        json_array_append_new(
            rows, chances_json(truth, acceptance_fleet_chances(fleet, item->units, truth)));
    }
    return json_pack("{s:I, s:o, s:o}", "units", (json_int_t)item->units, "declared",
                     chances_json(fleet->declared,
                                  acceptance_fleet_chances(fleet, item->units, fleet->declared)),
                     "characteristic", rows);
}

static json_t *item_json(const json_t *contract, size_t index, const struct contract_item *item,
                         const char *unit, double sd, double *doubt)
{
    const json_t *cell =
        json_object_get(json_array_get(json_object_get(contract, "items"), index), "cell");
    const struct acceptance_rule *rule = &item->rule;
    const uint64_t needed = acceptance_trials(rule, sd);
    json_t *rows = json_array();

    for (int i = 0; i < POINTS; i++) {
        const double truth =
            rule->declared * pow(rule->limiting / rule->declared, (double)i / (POINTS - 1));
        const struct acceptance_chances chances = acceptance_chances(rule, sd, item->trials, truth);

        *doubt += i == 0 ? 1 - chances.accepted : 0;
        json_array_append_new(rows, chances_json(truth, chances));
    }
    return json_pack("{s:O, s:s, s:s, s:f, s:f, s:f, s:f, s:I, s:o, s:o, s:o}", "workload",
                     json_object_get(cell, "workload"), "metric", metrics[item->metric].id, "unit",
                     unit, "declared", rule->declared, "limiting", rule->limiting, "alpha",
                     rule->alpha, "beta", rule->beta, "trials", (json_int_t)item->trials,
                     "trials_needed", needed ? json_integer((json_int_t)needed) : json_null(),
                     "characteristic", rows, "fleet", fleet_json(item));
}

enum status contract_power(const struct contract *contract, double sd, json_t **ret,
                           struct error *err)
{
    const size_t count = json_array_size(json_object_get(contract->json, "items"));
    json_auto_t *items = json_array();
    json_t *made = NULL;
    double doubt = 0; /* that an item as declared is not accepted, at most */
    char hex[DIGEST_HEX_SIZE];

    for (size_t i = 0; i < count; i++) {
        struct contract_item item;
        char unit[METRIC_UNIT_SIZE];

        TRY(read_item(contract->json, i, &item, unit, err));
        json_array_append_new(items, item_json(contract->json, i, &item, unit, sd, &doubt));
    }
    made = json_pack("{s:O, s:s, s:f, s:O, s:f}", "contract",
                     json_object_get(contract->json, "contract"), "contract_sha256",
                     digest_hex(&contract->digest, hex), "sd", sd, "items", items,
                     "accepted_as_declared", fmax(0, 1 - doubt));
    if (!made)
        return error_no_memory(err);
    *ret = made;
    return STATUS_OK;
}
