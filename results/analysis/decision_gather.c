#include "results/analysis/decision_gather.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "protocols/comparability.h"
#include "protocols/finding.h"
#include "results/analysis/acceptance.h"
#include "results/analysis/cost.h"
#include "results/analysis/fields.h"
#include "results/analysis/judged.h"
#include "results/analysis/judgement.h"

#define fault(err, list, index, member, ...)                                                       \
    (error_set(err, STATUS_INVALID, __VA_ARGS__),                                                  \
     error_prefix(err, "%s[%zu]%s", list, (size_t)(index), member), STATUS_INVALID)

const json_t *decision_declared(const struct gathered *g, const char *list, size_t index)
{
    return json_array_get(json_object_get(g->decision, list), index);
}

/* Once for all options that it is of. */
static void note(struct gathered *g, size_t option, const json_t *line, const char *text)
{
    json_t *name = json_object_get(decision_declared(g, "options", option), "name");
    json_t *made;

    EACH(known, g->notes) {
        if (!strcmp(member_text(known, "text"), text) &&
            member_integer(known, "line") == json_integer_value(line)) {
            json_array_append(json_object_get(known, "options"), name);
            return;
        }
    }
    made = json_pack("{s:[O], s:O?, s:s}", "options", name, "line",
                     json_is_integer(line) ? line : NULL, "text", text);
    json_array_append_new(g->notes, made);
}

void decision_use(json_t *list, json_t *row)
{
    const json_int_t line = member_integer(row, "line");
    size_t i = 0;

    while (i < json_array_size(list) && member_integer(json_array_get(list, i), "line") < line)
        i++;
    if (!json_equal(json_array_get(list, i), row))
        json_array_insert(list, i, row);
}

/* ---- the results ---- */

static enum status load_option(struct gathered *g, size_t index, struct error *err)
{
    struct gathered_option *option = &g->options[index];
    const char *id = member_text(decision_declared(g, "options", index), "result"), *own;
    int64_t cell;

    if (store_find_cell(g->store, id, &cell, err) != STATUS_OK)
        return fault(err, "options", index, ".result",
                     "there is no result %s; write CAMPAIGN/NUMBER, as `assay results` lists them",
                     id);
    TRY(judged_cell_json(g->store, cell, &option->record, err));
    own = member_text(option->record, "id");
    if (strcmp(own, id) != 0) /* what a decision is between must not change with the next run */
        return fault(err, "options", index, ".result",
                     "%s may mean another result after the next run: write %s", id, own);
    TRY(fields_from_record(option->record, &option->fields, err));
    option->metrics = store_cell_metrics(option->record);
    option->unfit = acceptance_unfit(option->record);
    if (!option->metrics)
        return fault(err, "options", index, ".result", "%s has no numbers", id);
    if (member_is_true(json_object_get(option->record, "device"), "simulated"))
        note(g, index, NULL, finding_kinds[FINDING_FIGURES_SIMULATED].words);
    if (option->unfit)
        note(g, index, NULL, option->unfit);
    g->problem->options[index].result = index;
    for (size_t i = index; i-- > 0;)
        if (!strcmp(member_text(g->options[i].record, "id"), member_text(option->record, "id")))
            g->problem->options[index].result = i;
    return STATUS_OK;
}

/* What the options differ in on purpose, as the judge takes it. New. */
static json_t *varied(const struct gathered *g)
{
    json_t *made = json_object();
    char field[80];

    EACH(name, json_object_get(g->decision, "vary")) {
        snprintf(field, sizeof(field), "identity.%s", json_string_value(name));
        json_object_set(made, field, name);
        json_object_set(made, "kernel.*", name); /* another precision has other kernels */
    }
    return made;
}

static bool is_served(const json_t *record)
{
    return !strncmp(member_text(json_object_get(record, "identity"), "scenario"), "server", 6);
}

static bool is_evidence(const json_t *record)
{
    return !json_is_false(member_in(record, "protocol", "evidence"));
}

/* What would make the two compare, as far as a run can; "" where none can. Heap; NULL: no memory.
 */
static char *remedy_for(const struct gathered *g, size_t index, const char *reason)
{
    const json_t *first = g->options[0].record, *other = g->options[index].record;
    const json_t *base = is_evidence(first) ? first : other, *again = base == first ? other : first;
    const char *spec = member_text(again, "device_spec"), *word = store_path_word(g->store);
    const bool same_device = !strcmp(spec, member_text(base, "device_spec"));
    char start[64];

    for (size_t i = 0; i < store_case_type.count; i++) {
        const char *name = store_case_type.members[i].name;

        snprintf(start, sizeof(start), "identity.%s differs", name);
        if (!strncmp(reason, start, strlen(start)))
            return text_format("; write `vary: [%s]` where that is what is decided about, or "
                               "measure both alike",
                               name);
    }
    if (json_is_object(json_object_get(first, "imported")) ||
        json_is_object(json_object_get(other, "imported")))
        return strdup("; what another program measured compares with nothing: measure it with "
                      "`assay run`");
    if (!strncmp(reason, "identity.above_", 15) || !strncmp(reason, "identity.mixed_", 15))
        return strdup("");
    if (!is_evidence(base))
        return text_format("; measure the work of both with `assay run ... --protocol %s`",
                           is_served(base) ? "serving" : "standard");
    if ((strncmp(reason, "identity.workload", 17) != 0 &&
         strncmp(reason, "identity.protocol", 17) != 0) ||
        !word)
        return strdup("; measure both alike");
    return text_format("; a result that does comes from: assay reproduce %s%s%s --db %s",
                       member_text(base, "id"), same_device ? "" : " --device ",
                       same_device ? "" : spec, word);
}

static enum status refuse(const struct gathered *g, size_t index, const json_t *judgement,
                          struct error *err)
{
    const char *known = json_string_value(json_array_get(json_object_get(judgement, "reasons"), 0));
    const char *reason = known ? known : "what they share is not known";
    AUTO_FREE char *remedy = remedy_for(g, index, reason);

    return fault(err, "options", index, ".result", "%s does not compare with %s: %s%s",
                 member_text(g->options[index].record, "id"),
                 member_text(g->options[0].record, "id"), comparability_reason_words(reason),
                 remedy ? remedy : "");
}

static enum status compare_option(struct gathered *g, size_t index, struct error *err)
{
    json_auto_t *on_purpose = varied(g), *judgement = NULL;

    TRY(comparability_judge(g->options[0].fields, g->options[index].fields, on_purpose, &judgement,
                            err));
    if (!strcmp(member_text(judgement, "verdict"), "not_comparable"))
        TRY(refuse(g, index, judgement, err));
    if (member_size(judgement, "except") > 0) {
        char first[61];
        const struct finding finding = {.code = FINDING_CONDITIONS_DIFFER,
                                        .numbers = {(double)member_size(judgement, "except")},
                                        .subject = first};
        CLEANUP(text_finish) struct text words = {0};

        snprintf(first, sizeof(first), "%s",
                 member_text(decision_declared(g, "options", 0), "name"));
        text_init(&words);
        finding_render_words(&(const struct finding *){&finding}, 1, &words);
        note(g, index, NULL, words.data);
    }
    return STATUS_OK;
}

/* ---- prices ---- */

static enum status read_assumptions(struct gathered *g, struct error *err)
{
    const json_t *given = json_object_get(g->decision, "assumptions");

    if (!g->prices)
        return STATUS_OK;
    g->assumptions =
        json_pack("{s:s, s:f, s:f, s:f}", "as_of", member_text(given, "as_of"), "discount",
                  member_real(given, "discount"), "pue", member_number_or(given, "pue", 1),
                  "utilisation", member_number_or(given, "utilisation", 1));
    return g->assumptions ? STATUS_OK : error_no_memory(err);
}

static const json_t *row_at(const json_t *rows, const json_t *line)
{
    EACH(row, rows)
        if (json_equal(json_object_get(row, "line"), line))
            return row;
    return NULL;
}

/* What the problem needs to know of each price: its amount, and what it makes an hour cost. */
static enum status add_price(struct gathered *g, size_t index, const json_t *row, struct error *err)
{
    struct decision_option *option = &g->problem->options[index];
    struct decision_price *ret = &option->prices[option->price_count];
    const struct cost_assumptions assumptions = {
        member_number_or(g->assumptions, "discount", NAN),
        member_number_or(g->assumptions, "pue", NAN),
        member_number_or(g->assumptions, "utilisation", NAN)};
    struct cost_range watts = cost_range_of(metric_member(g->options[index].metrics, METRIC_POWER));
    struct price price;

    if (option->price_count == DECISION_PRICES_MAX || !cost_price_read(row, &price))
        return error_set(err, STATUS_CORRUPT, "a row of the price sheet is not of its form");
    if (!isfinite(watts.lo + watts.hi))
        watts.lo = watts.hi = watts.value;
    ret->line = member_integer(row, "line");
    ret->amount = price.amount;
    price.amount = (struct cost_range){1, 1, 1};
    ret->each = cost_hourly(&price, &watts, &assumptions);
    option->price_count++;
    return STATUS_OK;
}

static enum status choose_price(struct gathered *g, size_t index, const json_t *cost,
                                struct error *err)
{
    const json_t *option = decision_declared(g, "options", index),
                 *kind = json_object_get(option, "kind");
    json_t *chosen = NULL;

    EACH(one, json_object_get(cost, "options")) {
        if (kind && !json_equal(kind, json_object_get(one, "kind")))
            continue;
        if (chosen)
            return fault(err, "options", index, ".item",
                         "lines %lld and %lld of the prices are both of \"%s\": write kind: device "
                         "or kind: cloud, or give one of them another name",
                         member_integer(chosen, "line"), member_integer(one, "line"),
                         member_text(one, "item"));
        chosen = one;
    }
    if (!chosen)
        return fault(err, "options", index, ".kind", "no row of the prices is of this kind");
    g->options[index].price = json_incref(chosen);
    return STATUS_OK;
}

static enum status price_option(struct gathered *g, size_t index, struct error *err)
{
    const json_t *item = json_object_get(decision_declared(g, "options", index), "item");
    const json_t *rows;
    json_auto_t *asked = NULL, *cost = NULL;
    enum status status;

    if (!g->prices)
        return STATUS_OK;
    json_object_set_new(g->assumptions, "item", item ? json_incref((json_t *)item) : json_null());
    asked = json_pack("{s:O, s:O, s:O}", "a", json_object_get(g->options[index].record, "id"),
                      "prices", g->prices, "assumptions", g->assumptions);
    status = judgement_cost.make(g->store, asked, &cost, err);
    if (status == STATUS_INVALID)
        return fault(
            err, "options", index, item ? ".item" : "",
            "no row of kind device or cloud of the prices has the item \"%s\": add one, "
            "or name the row's item",
            item ? json_string_value(item)
                 : member_text(json_object_get(g->options[index].record, "device"), "name"));
    TRY(status);
    TRY(choose_price(g, index, cost, err));
    rows = member_in(cost, "prices", "rows");
    EACH(one, rows)
        decision_use(g->used_prices, one);
    EACH(one, json_object_get(g->options[index].price, "parts"))
        TRY(add_price(g, index, row_at(rows, json_object_get(one, "line")), err));
    EACH(one, json_object_get(cost, "notes")) {
        const char *code = member_text(one, "code");

        if (strcmp(code, finding_kinds[FINDING_FIGURES_SIMULATED].code) != 0 &&
            strcmp(code, finding_kinds[FINDING_UNVERIFIED].code) != 0)
            note(g, index, json_object_get(one, "line"), member_text(one, "text"));
    }
    return STATUS_OK;
}

/* ---- figures ---- */

static enum status add_figure(struct gathered *g, const char *name, size_t *ret, struct error *err)
{
    struct decision_problem *problem = g->problem;

    for (*ret = 0; *ret < problem->figure_count; ++*ret)
        if (!strcmp(g->names[*ret], name))
            return STATUS_OK;
    if (problem->figure_count == DECISION_FIGURES_MAX)
        return error_set(err, STATUS_CORRUPT, "the decision has too many figures");
    g->names[problem->figure_count] = name;
    return decision_figure_find(name, &problem->figures[problem->figure_count++], err);
}

/* The largest error of the first output that is compared by a distance, over all trials. */
static struct cost_range error_of(struct gathered_option *option)
{
    const json_t *trials = json_object_get(option->record, "trials");
    double worst = NAN;

    EACH(trial, trials)
        EACH(check, json_object_get(trial, "checks")) {
            const char *measure = member_text(check, "metric");
            char name[160];

            if ((strcmp(measure, "normalised_rms") != 0 && strcmp(measure, "max_scaled") != 0) ||
                !json_is_number(json_object_get(check, "error")))
                continue;
            snprintf(name, sizeof(name), "%s of %s", measure, member_text(check, "output"));
            if (!option->error_of[0])
                memcpy(option->error_of, name, sizeof(name));
            if (!strcmp(option->error_of, name))
                worst = fmax(isnan(worst) ? 0 : worst, member_number_or(check, "error", NAN));
        }
    return (struct cost_range){worst, worst, worst};
}

static enum status no_figure(const struct gathered *g, size_t option, size_t figure,
                             struct error *err)
{
    return fault(err, "options", option, ".result", "%s has no %s",
                 member_text(g->options[option].record, "id"),
                 g->problem->figures[figure].kind == FIGURE_ERROR
                     ? "error that was measured by a distance"
                     : metrics[g->problem->figures[figure].metric].id);
}

/* The figure as the problem has it: of a cost the hours that one unit of it takes. */
static enum status measure(struct gathered *g, size_t option, size_t figure, struct error *err)
{
    const struct decision_figure *what = &g->problem->figures[figure];
    struct cost_range *ret = &g->problem->options[option].figures[figure], value;
    struct gathered_option *from = &g->options[option];
    const json_t *metric = metric_member(from->metrics, what->metric);

    if (what->kind == FIGURE_COST)
        snprintf(g->units[figure], sizeof(g->units[figure]), "%.3s",
                 member_text(g->prices, "currency"));
    else if (what->kind == FIGURE_METRIC)
        snprintf(g->units[figure], sizeof(g->units[figure]), "%.47s", member_text(metric, "unit"));
    if (what->kind == FIGURE_COST && !what->work) {
        *ret = (struct cost_range){1, 1, 1};
        return STATUS_OK;
    }
    value = what->kind == FIGURE_ERROR ? error_of(from) : cost_range_of(metric);
    if (!isfinite(value.value) || (what->kind == FIGURE_COST && value.value <= 0))
        return no_figure(g, option, figure, err);
    if (what->kind == FIGURE_ERROR && strcmp(from->error_of, g->options[0].error_of) != 0)
        return fault(err, "options", option, ".result", "its error is the %s, that of %s the %s",
                     from->error_of, member_text(decision_declared(g, "options", 0), "name"),
                     g->options[0].error_of);
    if (from->unfit)
        value.lo = value.hi = NAN;
    if (what->kind == FIGURE_COST) {
        const struct cost_range rate = cost_rate(what->metric, &value);
        const double hours =
            what->work->quantity / (3600 * member_number_or(g->assumptions, "utilisation", NAN));

        value = (struct cost_range){hours / rate.value, hours / rate.hi, hours / rate.lo};
    }
    *ret = value;
    return STATUS_OK;
}

/* ---- requirements ---- */

static enum status add_limit(struct gathered *g, size_t index, struct error *err)
{
    const json_t *one = decision_declared(g, "requirements", index);
    const char *most = member_string(one, "at_most");
    const char *limit = most ? most : member_text(one, "at_least");
    struct decision_requirement *ret = &g->problem->requirements[g->problem->requirement_count++];
    enum status status;

    TRY(add_figure(g, member_text(one, "figure"), &ret->figure, err));
    ret->at_most = most != NULL;
    for (size_t i = 0; i < g->problem->option_count; i++)
        TRY(measure(g, i, ret->figure, err));
    status = decision_limit_read(limit, &g->problem->figures[ret->figure], g->units[ret->figure],
                                 &ret->limit, err);
    if (status != STATUS_OK)
        error_prefix(err, "requirements[%zu].%s", index, most ? "at_most" : "at_least");
    return status;
}

/* The contract's verdict on each option, by the cells of its campaign that are like it. */
static enum status judge_contract(struct gathered *g, size_t index, json_t *verdicts,
                                  struct error *err)
{
    const json_t *contract =
        json_object_get(decision_declared(g, "requirements", index), "contract");

    for (size_t i = 0; i < g->problem->option_count; i++) {
        const json_t *record = g->options[i].record;
        json_auto_t *made = NULL,
                    *asked = json_pack("{s:O, s:[{s:O, s:O}]}", "contract", contract, "campaigns",
                                       "campaign", member_in(record, "campaign", "uid"), "like",
                                       json_object_get(record, "id"));
        const enum status status = judgement_accept.make(g->store, asked, &made, err);
        enum decision_met met;

        if (status == STATUS_INVALID)
            error_prefix(err, "requirements[%zu].contract: %s", index,
                         member_text(decision_declared(g, "options", i), "name"));
        TRY(status);
        met = !strcmp(member_text(made, "verdict"), "accepted")   ? DECISION_MET
              : !strcmp(member_text(made, "verdict"), "rejected") ? DECISION_MISSED
                                                                  : DECISION_OPEN;
        if ((int)met < g->problem->options[i].met)
            g->problem->options[i].met = met;
        json_array_append_new(verdicts, json_string(decision_met_name(met)));
    }
    return STATUS_OK;
}

static enum status add_requirements(struct gathered *g, struct error *err)
{
    const json_t *list = json_object_get(g->decision, "requirements");

    if (json_array_size(list) > DECISION_FIGURES_MAX)
        return error_set(err, STATUS_CORRUPT, "the decision has too many requirements");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const bool is_contract = json_object_get(json_array_get(list, i), "contract") != NULL;

        json_array_append_new(g->contracts, is_contract ? json_array() : json_null());
        TRY(is_contract ? judge_contract(g, i, json_array_get(g->contracts, i), err)
                        : add_limit(g, i, err));
    }
    return STATUS_OK;
}

static enum status add_objectives(struct gathered *g, struct error *err)
{
    const json_t *list = json_object_get(g->decision, "objectives");
    struct decision_problem *problem = g->problem;

    if (json_array_size(list) == 0 || json_array_size(list) > DECISION_FIGURES_MAX)
        return error_set(err, STATUS_CORRUPT, "the decision's objectives are not of their form");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));

        TRY(name ? add_figure(g, name, &problem->objectives[problem->objective_count++], err)
                 : error_set(err, STATUS_CORRUPT, "an objective is not text"));
        for (size_t k = 0; k < problem->option_count; k++)
            TRY(measure(g, k, problem->objectives[i], err));
    }
    return STATUS_OK;
}

enum status decision_gather(struct gathered *g, struct error *err)
{
    const size_t count = member_size(g->decision, "options");

    g->used_prices = json_array();
    g->used_peaks = json_array();
    g->notes = json_array();
    g->contracts = json_array();
    g->problem = calloc(1, sizeof(*g->problem));
    if (!g->problem)
        return error_no_memory(err);
    if (count < 2 || count > DECISION_OPTIONS_MAX)
        return error_set(err, STATUS_CORRUPT, "the decision is not of its form");
    g->problem->margin = member_number_or(g->decision, "margin", DECISION_MARGIN);
    TRY(read_assumptions(g, err));
    for (size_t i = 0; i < count; i++) {
        g->problem->option_count = i + 1;
        g->problem->options[i].met = DECISION_MET;
        TRY(load_option(g, i, err));
        if (i > 0)
            TRY(compare_option(g, i, err));
        TRY(price_option(g, i, err));
    }
    TRY(add_objectives(g, err));
    return add_requirements(g, err);
}

void decision_gather_finish(struct gathered *g)
{
    for (size_t i = 0; i < DECISION_OPTIONS_MAX; i++) {
        json_decref(g->options[i].record);
        json_decref(g->options[i].fields);
        json_decref(g->options[i].price);
    }
    json_decref(g->assumptions);
    json_decref(g->used_prices);
    json_decref(g->used_peaks);
    json_decref(g->notes);
    json_decref(g->contracts);
    free(g->problem);
}
