#include "results/analysis/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/shape.h"
#include "protocols/cost.h"
#include "protocols/finding.h"
#include "protocols/metric.h"
#include "results/analysis/judged.h"
#include "results/analysis/judgement.h"

static const struct type part_shape = TYPE_OF({
    SHOWN("line", INTEGER, .help = "of the price sheet"),
    SHOWN("item", TEXT),
    SHOWN("kind", TEXT),
    SHOWN("hourly", RECORD, .of = &cost_range_type, .help = "in the sheet's currency"),
});
static const struct type figure_shape = TYPE_OF({
    SHOWN("metric", TEXT),
    SHOWN("per", TEXT, .help = "how much work it is of"),
    SHOWN("cost", RECORD, .of = &cost_range_type),
    SHOWN("measured_share", REAL,
          .help = "of the logarithmic width between the bounds, what comes from the measurement"),
});
static const struct type option_shape = TYPE_OF({
    SHOWN("item", TEXT),
    SHOWN("line", INTEGER),
    SHOWN("kind", TEXT),
    SHOWN("parts", LIST, .of = &part_shape),
    SHOWN("hourly", RECORD, .of = &cost_range_type),
    SHOWN("figures", LIST, .of = &figure_shape),
});
static const struct type note_shape = TYPE_OF({
    SHOWN("code", TEXT),
    OR_NULL("line", INTEGER),
    SHOWN("text", TEXT),
});
const struct type price_rows_type = TYPE_OF({
    SHOWN("currency", TEXT),
    SHOWN("sha256", DIGEST),
    SHOWN("rows", LIST, .of = &type_of_object, .help = "of the sheet, those that count"),
});
static const struct type assumptions_shape = TYPE_OF({
    SHOWN("as_of", TEXT),
    SHOWN("discount", FINITE),
    SHOWN("pue", FINITE),
    SHOWN("utilisation", FINITE),
    OR_NULL("item", TEXT),
});
static const struct type cost_type = TYPE_OF({
    SHOWN("a", TEXT),
    OR_NULL("device", TEXT),
    SHOWN("metrics_of", TEXT), /* "estimate" or "claim" */
    SHOWN("assumptions", RECORD, .of = &assumptions_shape),
    SHOWN("prices", RECORD, .of = &price_rows_type),
    SHOWN("options", LIST, .of = &option_shape),
    SHOWN("notes", LIST, .of = &note_shape),
});

struct cost_range cost_range_of(const json_t *metric)
{
    return (struct cost_range){member_number_or(metric, "value", NAN),
                               member_number_or(metric, "lo", NAN),
                               member_number_or(metric, "hi", NAN)};
}

bool cost_price_read(const json_t *row, struct price *ret)
{
    const double amount = member_number_or(row, "amount", NAN);

    *ret = (struct price){.kind = price_kind_find(member_text(row, "kind")),
                          .unit = price_unit_find(member_text(row, "unit")),
                          .amount = {amount, member_number_or(row, "amount_lo", amount),
                                     member_number_or(row, "amount_hi", amount)},
                          .years = member_number_or(row, "term_months", 12) / 12,
                          .residual = member_real(row, "residual"),
                          .devices = member_number_or(row, "covers_devices", 1)};
    return ret->kind < PRICE_KIND_COUNT && ret->unit < PRICE_UNIT_COUNT && amount >= 0 &&
           ret->amount.lo >= 0 && ret->amount.lo <= amount && ret->amount.hi >= amount &&
           ret->years > 0 && ret->residual >= 0 && ret->residual <= 1 && ret->devices >= 1;
}

/* What is known when all is read. */
struct question {
    const json_t *record, *metrics, *rows;
    const char *as_of, *item;
    struct cost_assumptions assumptions;
    struct cost_range watts;
    json_t *used, *notes;
};

static void note(struct question *question, enum finding_code finding, const json_t *row)
{
    const char *code = finding_kinds[finding].code;

    EACH(known, question->notes)
        if (!strcmp(member_text(known, "code"), code) &&
            json_equal(json_object_get(known, "line"), json_object_get(row, "line")))
            return;
    json_array_append_new(question->notes, json_pack("{s:s, s:O?, s:s}", "code", code, "line",
                                                     row ? json_object_get(row, "line") : NULL,
                                                     "text", finding_kinds[finding].words));
}

/* Days compare as text. */
static bool is_valid(const struct question *question, const json_t *row)
{
    const char *from = member_text(row, "valid_from"), *to = member_text(row, "valid_to");

    return (!from[0] || strcmp(from, question->as_of) <= 0) &&
           (!to[0] || strcmp(question->as_of, to) <= 0);
}

static void use(struct question *question, json_t *row)
{
    if (!is_valid(question, row))
        note(question, FINDING_PRICE_NOT_VALID, row);
    EACH(known, question->used)
        if (known == row)
            return;
    json_array_append(question->used, row);
}

static void add(struct cost_range *sum, const struct cost_range *part)
{
    sum->value += part->value;
    sum->lo += part->lo;
    sum->hi += part->hi;
}

static void add_part(struct question *question, json_t *row, const struct price *price,
                     json_t *parts, struct cost_range *sum)
{
    const struct cost_range part = cost_hourly(price, &question->watts, &question->assumptions);

    use(question, row);
    if (!isfinite(part.value)) {
        note(question, FINDING_POWER_NOT_KNOWN, row);
        return;
    }
    json_array_append_new(
        parts, json_pack("{s:O, s:s, s:s, s:o}", "line", json_object_get(row, "line"), "item",
                         member_text(row, "item"), "kind", price_kind_name(price->kind), "hourly",
                         type_to_json(&cost_range_type, &part)));
    add(sum, &part);
}

static json_t *figures_json(const struct question *question, const struct cost_range *hourly)
{
    const char *item = member_text(json_object_get(question->record, "cost"), "item_name");
    json_t *list = json_array();

    for (const struct cost_work *work = cost_works; work < cost_works + COST_WORKS; work++) {
        const struct cost_range value =
            cost_range_of(json_object_get(question->metrics, metrics[work->metric].id));
        const struct cost_range rate = cost_rate(work->metric, &value);
        struct cost_range cost;
        double measured;
        char per[96];

        if (!isfinite(rate.value) || rate.value <= 0)
            continue;
        cost = cost_of_work(hourly, &rate, work->quantity, &question->assumptions, &measured);
        snprintf(per, sizeof(per), "million %.60s%s", item[0] ? item : "item",
                 text_plural_ending(item));
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o, s:o}", "metric", metrics[work->metric].id,
                                        "per", work->per ? work->per : per, "cost",
                                        type_to_json(&cost_range_type, &cost), "measured_share",
                                        real_or_null(measured)));
    }
    return list;
}

static json_t *option_json(struct question *question, json_t *own, const struct price *price)
{
    struct cost_range sum = {0, 0, 0};
    json_t *parts = json_array();

    add_part(question, own, price, parts, &sum);
    EACH(row, question->rows) {
        struct price other;

        if (price->kind == PRICE_DEVICE && cost_price_read(row, &other) &&
            other.kind != PRICE_DEVICE && other.kind != PRICE_CLOUD)
            add_part(question, row, &other, parts, &sum);
    }
    return json_pack("{s:s, s:O, s:s, s:o, s:o, s:o}", "item", member_text(own, "item"), "line",
                     json_object_get(own, "line"), "kind", price_kind_name(price->kind), "parts",
                     parts, "hourly", type_to_json(&cost_range_type, &sum), "figures",
                     figures_json(question, &sum));
}

/* A device or cloud row of this device, by the item named or the device's name. */
static bool is_option(const struct question *question, const json_t *row, const struct price *price)
{
    const char *name = member_text(json_object_get(question->record, "device"), "name");

    return (price->kind == PRICE_DEVICE || price->kind == PRICE_CLOUD) &&
           !strcasecmp(member_text(row, "item"), question->item ? question->item : name);
}

static enum status make_options(struct question *question, json_t *options, struct error *err)
{
    bool energy = false, bought = false;

    EACH(row, question->rows) {
        struct price price;

        if (!cost_price_read(row, &price))
            return error_set(err, STATUS_CORRUPT, "a row of the price sheet is not of its form");
        energy |= price.kind == PRICE_ENERGY;
        if (!is_option(question, row, &price))
            continue;
        bought |= price.kind == PRICE_DEVICE;
        json_array_append_new(options, option_json(question, row, &price));
    }
    if (json_array_size(options) == 0)
        return error_set(err, STATUS_INVALID,
                         "no row of kind device or cloud has the item \"%s\": add one, or name the "
                         "row's item by --item",
                         question->item
                             ? question->item
                             : member_text(json_object_get(question->record, "device"), "name"));
    if (bought && !energy)
        note(question, FINDING_NO_TARIFF, NULL);
    if (member_is_true(json_object_get(question->record, "device"), "simulated"))
        note(question, FINDING_FIGURES_SIMULATED, NULL);
    if (question->assumptions.utilisation < 1 && bought)
        note(question, FINDING_IDLE_POWER, NULL);
    return STATUS_OK;
}

static enum status read_assumptions(const json_t *json, struct question *ret, struct error *err)
{
    ret->as_of = member_text(json, "as_of");
    ret->item = member_string(json, "item");
    ret->assumptions = (struct cost_assumptions){member_number_or(json, "discount", NAN),
                                                 member_number_or(json, "pue", NAN),
                                                 member_number_or(json, "utilisation", NAN)};
    return ret->assumptions.discount >= 0 && ret->assumptions.pue >= 1 &&
                   ret->assumptions.utilisation > 0 && ret->assumptions.utilisation <= 1
               ? STATUS_OK
               : error_set(err, STATUS_CORRUPT, "the assumptions are not of their form");
}

static void finish(struct question *question)
{
    json_decref(question->used);
    json_decref(question->notes);
}

static enum status make(struct store *store, const json_t *asked, json_t **ret, struct error *err)
{
    const char *result = member_text(asked, "a");
    const json_t *sheet = json_object_get(asked, "prices");
    const json_t *assumptions = json_object_get(asked, "assumptions");
    json_auto_t *record = NULL, *options = json_array();
    CLEANUP(finish)
    struct question question = {
        .rows = json_object_get(sheet, "rows"), .used = json_array(), .notes = json_array()};
    const json_t *estimate;
    int64_t cell;

    TRY(read_assumptions(assumptions, &question, err));
    TRY(store_find_cell(store, result, &cell, err));
    TRY(judged_cell_json(store, cell, &record, err));
    question.record = record;
    estimate = json_object_get(record, "estimate");
    question.metrics = store_cell_metrics(record);
    if (!question.metrics)
        return error_set(err, STATUS_INVALID, "%s has no numbers", result);
    question.watts = cost_range_of(metric_member(question.metrics, METRIC_POWER));
    if (isfinite(question.watts.value) && !isfinite(question.watts.lo + question.watts.hi)) {
        question.watts.lo = question.watts.hi = question.watts.value;
        note(&question, FINDING_POWER_WITHOUT_INTERVAL, NULL);
    }
    if (!json_is_object(estimate))
        note(&question, FINDING_UNVERIFIED, NULL);
    TRY(make_options(&question, options, err));
    *ret = json_pack("{s:O, s:O, s:s, s:O, s:{s:O, s:O, s:O}, s:O, s:O}", "a",
                     json_object_get(record, "id"), "device", member_in(record, "device", "name"),
                     "metrics_of", json_is_object(estimate) ? "estimate" : "claim", "assumptions",
                     assumptions, "prices", "currency", json_object_get(sheet, "currency"),
                     "sha256", json_object_get(sheet, "sha256"), "rows", question.used, "options",
                     options, "notes", question.notes);
    return *ret ? STATUS_OK : error_no_memory(err);
}

const struct judgement judgement_cost = {
    .name = "cost", .results = 1, .type = &cost_type, .subject = "$.a", .make = make};
