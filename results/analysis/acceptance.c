#include "results/analysis/acceptance.h"

#include <math.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/shape.h"
#include "harness/core/text.h"
#include "protocols/condition.h"
#include "protocols/contract.h"
#include "protocols/estimate.h"
#include "protocols/comparability.h"
#include "results/analysis/fields.h"
#include "results/analysis/judged.h"
#include "results/analysis/judgement.h"
#include "results/analysis/fleet_plan.h"

static const struct type unit_shape = TYPE_OF({
    SHOWN("result", TEXT),
    OR_NULL("device", TEXT),
    SHOWN("value", REAL),
    SHOWN("best", REAL, .help = "no better than that, with confidence 1 - alpha"),
    SHOWN("worst", REAL, .help = "no worse than that, with confidence 1 - beta"),
    SHOWN("trials", INTEGER),
    SHOWN("verdict", RECORD, .of = &acceptance_verdict_type),
    OR_NULL("reason", TEXT, .help = "why it decides nothing"),
    OPTIONAL("conditions", LIST, .of = &type_of_text,
             .help = "findings on it that could turn the verdict"),
});
static const struct type item_shape = TYPE_OF({
    SHOWN("metric", TEXT),
    SHOWN("unit", TEXT),
    SHOWN("declared", FINITE, .help = "in that unit"),
    SHOWN("limiting", FINITE),
    SHOWN("alpha", FINITE),
    SHOWN("beta", FINITE),
    SHOWN("units", LIST, .of = &unit_shape),
    SHOWN("rejected", INTEGER),
    SHOWN("inconclusive", INTEGER),
    SHOWN("verdict", RECORD, .of = &acceptance_verdict_type),
    OR_NULL("reason", TEXT),
});
static const struct type campaign_shape = TYPE_OF({
    SHOWN("campaign", TEXT),
    SHOWN("planned", BOOLEAN, .help = "this very contract is in its plan"),
    SHOWN("nonce", BOOLEAN, .help = "the plan has the contract's nonce, or none is demanded"),
});
static const struct type acceptance_type = TYPE_OF({
    SHOWN("a", TEXT),
    SHOWN("campaigns", LIST, .of = &campaign_shape),
    SHOWN("contract", JSON),
    SHOWN("contract_sha256", DIGEST),
    SHOWN("items", LIST, .of = &item_shape),
    SHOWN("verdict", RECORD, .of = &acceptance_verdict_type),
});

/* All that is read of the campaigns. */
struct evidence {
    json_t *records, *nonces; /* of each result: its record; whether its plan has the nonce */
    json_t *campaigns;
};

/* Of the device and arm of the result `like`; NULL: of any. */
static bool is_like(const json_t *record, const json_t *like)
{
    return !like ||
           (!strcmp(member_text(record, "device_spec"), member_text(like, "device_spec")) &&
            !strcmp(member_text(record, "arm"), member_text(like, "arm")));
}

static enum status add_campaign(struct store *store, const json_t *contract, const json_t *named,
                                struct evidence *evidence, struct error *err)
{
    const char *nonce = member_string(contract, "nonce");
    json_auto_t *like = NULL, *campaign = NULL;
    const json_t *plan, *cells;
    bool has_nonce = false;
    int64_t row, cell;

    TRY(store_find_campaign(store, member_text(named, "campaign"), &row, err));
    if (json_object_get(named, "like")) {
        TRY(store_find_cell(store, member_text(named, "like"), &cell, err));
        TRY(store_cell_json(store, cell, &like, err));
    }
    TRY(store_campaign_json(store, row, &campaign, err));
    plan = json_object_get(campaign, "plan");
    cells = json_object_get(campaign, "cells");
    has_nonce = !nonce || !strcmp(nonce, member_text(plan, "nonce"));
    for (size_t i = 0; i < json_array_size(cells); i++) {
        json_auto_t *record = NULL;

        cell = json_integer_value(json_object_get(json_array_get(cells, i), "cell"));
        TRY(store_cell_json(store, cell, &record, err));
        if (!is_like(record, like))
            continue;
        TRY(judged_record(store, cell, record, err));
        json_array_append(evidence->records, record);
        json_array_append_new(evidence->nonces, json_boolean(has_nonce));
    }
    json_array_append_new(evidence->campaigns,
                          json_pack("{s:s, s:b, s:b}", "campaign", member_text(campaign, "uid"),
                                    "planned",
                                    (int)json_equal(json_object_get(plan, "contract"), contract),
                                    "nonce", (int)has_nonce));
    return STATUS_OK;
}

/* Whether the result is of the item's cell: what it names must be equal. */
static bool is_of(const json_t *record, const json_t *cell)
{
    static const char *const names[] = {"workload", "precision", "batch", "implementation"};
    const json_t *identity = json_object_get(record, "identity");
    const char *device = member_string(cell, "device");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const json_t *wanted = json_object_get(cell, names[i]);

        if (wanted && !json_equal(wanted, json_object_get(identity, names[i])))
            return false;
    }
    return !device || !strcmp(device, member_text(record, "device_spec")) ||
           !strcmp(device, member_text(json_object_get(record, "device"), "name"));
}

/* Also true where it cannot be told. */
static bool by_foreign_worker(const json_t *record)
{
    json_auto_t *fields = NULL;

    return fields_from_record(record, &fields, NULL) != STATUS_OK ||
           !strncmp(member_text(fields, "identity.origin"), COMPARABILITY_FOREIGN_ORIGIN,
                    strlen(COMPARABILITY_FOREIGN_ORIGIN));
}

const char *acceptance_unfit(const json_t *record)
{
    const json_t *estimate = json_object_get(record, "estimate");

    if (!json_is_object(estimate))
        return "it has no estimate of assay's own";
    if (!json_is_true(json_object_get(json_object_get(record, "protocol"), "evidence")))
        return "it is a first look: its protocol gives no evidence";
    if (by_foreign_worker(record))
        return "another program than assay's own worker measured it";
    return estimate_verdict_is_steady(estimate_verdict_find(member_text(estimate, "verdict")))
               ? NULL
               : "it is not steady";
}

const char *acceptance_reason_words(const char *reason)
{
    static const char first_look[] = "it is a first look: ";

    return strncmp(reason, first_look, strlen(first_look)) ? reason : reason + strlen(first_look);
}

/* Why a result can decide nothing about an item; NULL: it can. */
static const char *unfit(const json_t *record, const struct contract_item *item,
                         const struct acceptance_measured *measured, bool has_nonce)
{
    const char *reason = acceptance_unfit(record);

    if (reason)
        return reason;
    if (!has_nonce)
        return "its plan does not have the contract's nonce";
    if (measured->trials < item->trials)
        return "it has fewer trials than declared";
    return isfinite(measured->lo + measured->hi) ? NULL : "the figure has no interval";
}

/* Why the conditions that were found on a result let it decide nothing. Heap; NULL: they do not. */
static char *disturbed(const json_t *conditions, const json_t *allowed)
{
    json_auto_t *beyond = condition_beyond(conditions, allowed);
    CLEANUP(text_finish) struct text words = TEXT_INIT;

    condition_append(&words, beyond);
    return words.length > 0
               ? text_format("it was measured under %s: repeat it at another hour", words.data)
               : NULL;
}

static enum status judge_unit(const json_t *record, const struct contract_item *item,
                              const json_t *allowed, bool has_nonce, json_t *units,
                              enum acceptance_verdict *ret, struct error *err)
{
    const json_t *estimate = json_object_get(record, "estimate");
    const json_t *value = metric_member(json_object_get(estimate, "metrics"), item->metric);
    const json_t *trials = json_object_get(estimate, "trials");
    struct acceptance_measured measured = {.value = member_number(value, "value"),
                                           .lo = member_number(value, "lo"),
                                           .hi = member_number(value, "hi"),
                                           .confidence = member_number(estimate, "confidence")};
    json_auto_t *conditions = json_array();
    AUTO_FREE char *under = NULL;
    double best, worst;
    const char *reason;
    json_t *unit;

    EACH(trial, trials)
        measured.trials += json_is_number(json_object_get(trial, "mean_ns"));
    *ret = acceptance_judge(&item->rule, &measured, &best, &worst);
    if (!condition_add(record, conditions))
        return error_no_memory(err);
    under = disturbed(conditions, allowed);
    reason = unfit(record, item, &measured, has_nonce);
    if (!reason)
        reason = under;
    if (reason)
        *ret = ACCEPTANCE_INCONCLUSIVE;
    else if (*ret == ACCEPTANCE_INCONCLUSIVE)
        reason = "its trials do not tell the declared level from the limiting one";
    unit = json_pack("{s:O, s:O?, s:o, s:o, s:o, s:I, s:s, s:s?}", "result",
                     json_object_get(record, "id"), "device",
                     json_object_get(json_object_get(record, "device"), "name"), "value",
                     real_or_null(measured.value), "best", real_or_null(best), "worst",
                     real_or_null(worst), "trials", (json_int_t)measured.trials, "verdict",
                     acceptance_verdict_name(*ret), "reason", reason);
    if (json_array_size(conditions) > 0)
        json_object_set(unit, "conditions", conditions);
    return json_array_append_new(units, unit) ? error_no_memory(err) : STATUS_OK;
}

/* The item of all its units. */
static enum acceptance_verdict conclude(const struct contract_item *item, size_t units,
                                        const size_t counts[3], const char **ret_reason)
{
    const size_t rejected = counts[ACCEPTANCE_REJECTED], open = counts[ACCEPTANCE_INCONCLUSIVE];

    *ret_reason = NULL;
    if (!item->units)
        return counts[ACCEPTANCE_ACCEPTED] ? ACCEPTANCE_ACCEPTED
               : rejected                  ? ACCEPTANCE_REJECTED
                                           : ACCEPTANCE_INCONCLUSIVE;
    if (units < item->units)
        *ret_reason = "fewer units were measured than declared";
    else if (acceptance_judge_units(&item->fleet, units, rejected) == ACCEPTANCE_REJECTED)
        return ACCEPTANCE_REJECTED;
    else if (acceptance_judge_units(&item->fleet, units, rejected + open) == ACCEPTANCE_ACCEPTED)
        return ACCEPTANCE_ACCEPTED;
    else
        *ret_reason = "so many units do not show the share, and do not refute it";
    return ACCEPTANCE_INCONCLUSIVE;
}

static enum status same_unit_twice(json_t *machines, const json_t *record, size_t index,
                                   struct error *err)
{
    json_auto_t *machine = fleet_plan_machine(record);

    EACH(known, machines) {
        if (json_equal(known, machine))
            return error_set(err, STATUS_INVALID,
                             "items[%zu].cell: %s is of a unit that an earlier result is of: name "
                             "campaigns in which each unit was measured once",
                             index, member_text(record, "id"));
    }
    json_array_append(machines, machine);
    return STATUS_OK;
}

/* Judges all units of an item. */
static enum status judge_item(const json_t *contract, size_t index, const struct evidence *evidence,
                              json_t **ret, struct error *err)
{
    const json_t *cell =
        json_object_get(json_array_get(json_object_get(contract, "items"), index), "cell");
    struct contract_item item = {.metric = METRIC_COUNT};
    const char *unit = "", *reason;
    enum acceptance_verdict verdict = ACCEPTANCE_INCONCLUSIVE;
    size_t counts[3] = {0};
    json_auto_t *units = json_array(), *machines = json_array();

    TRY(contract_item_read(contract, index, NULL, &item, err));
    EACH(record, evidence->records) {
        const json_t *value;

        if (!is_of(record, cell))
            continue;
        value = metric_member(json_object_get(json_object_get(record, "estimate"), "metrics"),
                              item.metric);
        if (json_array_size(units) == 0 && member_text(value, "unit")[0]) {
            unit = member_text(value, "unit");
            TRY(contract_item_read(contract, index, unit, &item, err));
        }
        if (json_array_size(units) > 0 && !item.units)
            return error_set(err, STATUS_INVALID,
                             "items[%zu].cell: %s and %s are both of this cell: name its "
                             "precision, batch, implementation and device, and one campaign, or "
                             "the units of a fleet",
                             index, member_text(json_array_get(units, 0), "result"),
                             member_text(record, "id"));
        TRY(same_unit_twice(machines, record, index, err));
        TRY(judge_unit(record, &item, json_object_get(contract, "under"),
                       json_is_true(json_array_get(evidence->nonces, record_at)), units, &verdict,
                       err));
        counts[verdict]++;
    }
    if (json_array_size(units) == 0)
        return error_set(err, STATUS_INVALID,
                         "items[%zu].cell: no result of the campaigns is of this cell; `assay "
                         "run --contract` measures it",
                         index);
    if (!unit[0])
        return error_set(err, STATUS_INVALID, "items[%zu].metric: %s has no %s", index,
                         member_text(json_array_get(units, 0), "result"), metrics[item.metric].id);
    verdict = conclude(&item, json_array_size(units), counts, &reason);
    *ret =
        json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:O, s:I, s:I, s:s, s:s?}", "metric",
                  metrics[item.metric].id, "unit", unit, "declared", item.rule.declared, "limiting",
                  item.rule.limiting, "alpha", item.rule.alpha, "beta", item.rule.beta, "units",
                  units, "rejected", (json_int_t)counts[ACCEPTANCE_REJECTED], "inconclusive",
                  (json_int_t)counts[ACCEPTANCE_INCONCLUSIVE], "verdict",
                  acceptance_verdict_name(verdict), "reason", reason);
    return *ret ? STATUS_OK : error_no_memory(err);
}

/* All must be accepted; one that is rejected decides. */
static const char *of_all(const json_t *items)
{
    const char *verdict = "accepted";

    EACH(item, items) {
        if (!strcmp(member_text(item, "verdict"), "rejected"))
            return "rejected";
        if (strcmp(member_text(item, "verdict"), "accepted") != 0)
            verdict = "inconclusive";
    }
    return verdict;
}

static void finish(struct evidence *evidence)
{
    json_decref(evidence->records);
    json_decref(evidence->nonces);
    json_decref(evidence->campaigns);
}

static enum status make(struct store *store, const json_t *asked, json_t **ret, struct error *err)
{
    const json_t *contract = json_object_get(asked, "contract");
    const json_t *campaigns = json_object_get(asked, "campaigns");
    CLEANUP(finish) struct evidence evidence = {json_array(), json_array(), json_array()};
    const size_t count = json_array_size(json_object_get(contract, "items"));
    json_auto_t *items = json_array();
    char hex[DIGEST_HEX_SIZE];
    struct digest digest;
    const json_t *first;

    if (count == 0 || count > CONTRACT_ITEMS_MAX || json_array_size(campaigns) == 0)
        return error_set(err, STATUS_CORRUPT,
                         "the contract or its campaigns are not of their form");
    for (size_t i = 0; i < json_array_size(campaigns); i++)
        TRY(add_campaign(store, contract, json_array_get(campaigns, i), &evidence, err));
    for (size_t i = 0; i < count; i++) {
        json_t *item = NULL;

        TRY(judge_item(contract, i, &evidence, &item, err));
        json_array_append_new(items, item);
    }
    TRY(canonical_digest(contract, &digest, err));
    first = json_array_get(json_object_get(json_array_get(items, 0), "units"), 0);
    *ret = json_pack("{s:O, s:O, s:O, s:s, s:O, s:s}", "a", json_object_get(first, "result"),
                     "campaigns", evidence.campaigns, "contract", contract, "contract_sha256",
                     digest_hex(&digest, hex), "items", items, "verdict", of_all(items));
    return *ret ? STATUS_OK : error_no_memory(err);
}

const struct judgement judgement_accept = {.name = "accept",
                                           .results = 1,
                                           .type = &acceptance_type,
                                           .subject = "$.contract_sha256",
                                           .verdict = judgement_own_verdict,
                                           .make = make};
