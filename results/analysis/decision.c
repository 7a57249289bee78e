/*
 * Which of several stored results to take (judgement_decide): requirements, figures, prices, and
 * what would change the answer. Rules: protocols/decision.h.
 *
 * Asked for by "decision", that of decision_load; "prices", a price sheet
 * (results/formats/price_sheet.h) or null where none is declared; "peaks", declared peaks
 * (results/formats/peak_sheet.h) or null. Of both only the rows that count need be there.
 *
 * A range is {value, lo, hi}, with null for what is not known. What rests on no evidence
 * (acceptance_unfit) is shown without bounds, and so separates nothing. INVALID, with the place in
 * the declaration: results do not compare, have no such figure, or no price, or may mean others
 * after the next run; CORRUPT: the decision or a sheet is not of this form.
 */
#include <math.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/shape.h"
#include "results/analysis/cost.h"
#include "results/analysis/decision_gather.h"
#include "results/analysis/judgement.h"
#include "results/analysis/peak_share.h"

static const struct type figure_shape = TYPE_OF({
    SHOWN("name", TEXT),
    SHOWN("unit", TEXT),
    SHOWN("better", TEXT, .help = "\"higher\" or \"lower\""),
    SHOWN("objective", BOOLEAN, .help = "else only a requirement"),
});
static const struct type requirement_shape = TYPE_OF({
    SHOWN("verdict", RECORD, .of = &decision_met_type),
    SHOWN("margin", REAL,
          .help = "of the worse bound to the limit, as a share of it; negative beyond it"),
});
static const struct type option_shape = TYPE_OF({
    SHOWN("name", TEXT),
    SHOWN("result", TEXT),
    OR_NULL("device", TEXT),
    OR_NULL("line", INTEGER, .help = "of its own price"),
    OR_NULL("hourly", RECORD, .of = &cost_range_type),
    OR_NULL("reason", TEXT, .help = "why it decides nothing"),
    SHOWN("figures", LIST, .of = &cost_range_type, .help = "in the order of figures"),
    SHOWN("peaks", RECORD, .of = &peak_shares_type),
    SHOWN("requirements", LIST, .of = &requirement_shape,
          .help = "in the order of the declaration"),
    SHOWN("met", RECORD, .of = &decision_met_type, .help = "the worst of them"),
    SHOWN("standing", RECORD, .of = &decision_standing_type),
    SHOWN("dominated_by", LIST, .of = &type_of_text),
});
static const struct type then_shape = TYPE_OF({
    SHOWN("option", TEXT),
    SHOWN("standing", RECORD, .of = &decision_standing_type),
});
static const struct type change_shape = TYPE_OF({
    SHOWN("what", TEXT, .help = "\"price\", \"metric\", \"limit\" or \"margin\""),
    OPTIONAL("line", INTEGER),
    OPTIONAL("option", TEXT),
    OPTIONAL("metric", TEXT),
    OPTIONAL("requirement", INTEGER),
    SHOWN("now", REAL),
    SHOWN("unit", TEXT),
    SHOWN("factor", REAL, .help = "nearest to 1 by which a standing changes"),
    SHOWN("then", LIST, .of = &then_shape),
    SHOWN("verdict", RECORD, .of = &decision_verdict_type),
});
static const struct type note_shape = TYPE_OF({
    SHOWN("options", LIST, .of = &type_of_text),
    OR_NULL("line", INTEGER),
    SHOWN("text", TEXT),
});
static const struct type peak_rows_shape = TYPE_OF({
    SHOWN("sha256", DIGEST),
    SHOWN("rows", LIST, .of = &type_of_object, .help = "of the sheet, those that count"),
});
static const struct type decision_type = TYPE_OF({
    SHOWN("a", TEXT),
    SHOWN("decision", JSON),
    SHOWN("decision_sha256", DIGEST),
    OR_NULL("prices", RECORD, .of = &price_rows_type),
    OR_NULL("peaks", RECORD, .of = &peak_rows_shape),
    SHOWN("figures", LIST, .of = &figure_shape),
    SHOWN("options", LIST, .of = &option_shape),
    SHOWN("changes", LIST, .of = &change_shape),
    SHOWN("notes", LIST, .of = &note_shape),
    SHOWN("verdict", RECORD, .of = &decision_verdict_type),
});

/* The rows that are used are kept, too. */
static json_t *peaks_json(struct gathered *g, size_t index)
{
    const char *item = member_string(decision_declared(g, "options", index), "item");
    json_t *list = peak_shares(g->options[index].record, g->peaks, item);

    EACH(one, list)
        EACH(row, json_object_get(g->peaks, "rows"))
            if (json_equal(json_object_get(row, "line"), json_object_get(one, "line")))
                decision_use(g->used_peaks, row);
    return list;
}

/* ---- what is said ---- */

static json_t *figures_json(const struct gathered *g)
{
    json_t *list = json_array();

    for (size_t f = 0; f < g->problem->figure_count; f++) {
        bool objective = false;

        for (size_t i = 0; i < g->problem->objective_count; i++)
            objective |= g->problem->objectives[i] == f;
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:b}", "name", g->names[f], "unit", g->units[f],
                            "better", g->problem->figures[f].lower_is_better ? "lower" : "higher",
                            "objective", (int)objective));
    }
    return list;
}

static json_t *requirements_json(const struct gathered *g, size_t option,
                                 const struct decision_answer *answer)
{
    json_t *list = json_array();
    size_t limit = 0;

    EACH(verdict, g->contracts) {
        const struct decision_requirement *r = &g->problem->requirements[limit];
        struct cost_range range;

        if (json_is_array(verdict)) {
            json_array_append_new(list, json_pack("{s:O, s:n}", "verdict",
                                                  json_array_get(verdict, option), "margin"));
            continue;
        }
        range = decision_range(g->problem, option, r->figure);
        json_array_append_new(
            list, json_pack("{s:s, s:o}", "verdict",
                            decision_met_name(answer->requirements[option][limit++]), "margin",
                            real_or_null(r->at_most ? 1 - range.hi / r->limit
                                                    : range.lo / r->limit - 1)));
    }
    return list;
}

static json_t *option_json(struct gathered *g, size_t index, const struct decision_answer *answer)
{
    const struct gathered_option *option = &g->options[index];
    const json_t *record = option->record;
    json_t *ranges = json_array(), *by = json_array();

    for (size_t f = 0; f < g->problem->figure_count; f++) {
        const struct cost_range range = decision_range(g->problem, index, f);

        json_array_append_new(ranges, type_to_json(&cost_range_type, &range));
    }
    for (size_t i = 0; i < g->problem->option_count; i++)
        if (answer->dominates[i][index] && answer->met[i] == DECISION_MET)
            json_array_append(by, json_object_get(decision_declared(g, "options", i), "name"));
    return json_pack(
        "{s:O, s:O, s:O?, s:O?, s:O?, s:s?, s:o, s:o, s:o, s:s, s:s, s:o}", "name",
        json_object_get(decision_declared(g, "options", index), "name"), "result",
        json_object_get(record, "id"), "device", member_in(record, "device", "name"), "line",
        json_object_get(option->price, "line"), "hourly", json_object_get(option->price, "hourly"),
        "reason", option->unfit, "figures", ranges, "peaks", peaks_json(g, index), "requirements",
        requirements_json(g, index, answer), "met", decision_met_name(answer->met[index]),
        "standing", decision_standing_name(answer->standings[index]), "dominated_by", by);
}

/* No more requests can be good than come. */
static double most_factor(const struct gathered *g, const struct decision_change *change)
{
    const json_t *attainment = metric_member(g->options[change->option].metrics, METRIC_ATTAINMENT);

    return change->metric == METRIC_ATTAINMENT || change->metric == METRIC_GOODPUT ||
                   change->metric == METRIC_GOOD_TOKEN_RATE
               ? 1 / member_number_or(attainment, "value", 1)
               : INFINITY;
}

/* Adds what is so when the quantity is changed by the nearest factors; `what` is kept by neither.
 */
static void add_flips(const struct gathered *g, const struct decision_change *change,
                      const struct decision_answer *now, json_t *what, json_t *changes)
{
    for (int up = 0; up < 2; up++) {
        struct decision_answer then;
        json_t *entry, *list;
        double factor;

        if (!decision_flip(g->problem, change, up, &factor, &then) ||
            (change->kind == CHANGE_METRIC && factor > most_factor(g, change)))
            continue;
        entry = json_copy(what);
        list = json_array();
        for (size_t i = 0; i < g->problem->option_count; i++)
            if (then.standings[i] != now->standings[i])
                json_array_append_new(
                    list, json_pack("{s:O, s:s}", "option",
                                    json_object_get(decision_declared(g, "options", i), "name"),
                                    "standing", decision_standing_name(then.standings[i])));
        json_object_set_new(entry, "factor", real_or_null(factor));
        json_object_set_new(entry, "then", list);
        json_object_set_new(entry, "verdict", json_string(decision_verdict_name(then.verdict)));
        json_array_append_new(changes, entry);
    }
    json_decref(what);
}

static void change_prices(const struct gathered *g, const struct decision_answer *now,
                          json_t *changes)
{
    EACH(row, g->used_prices) {
        const struct decision_change change = {.kind = CHANGE_PRICE,
                                               .line = member_integer(row, "line")};

        add_flips(g, &change, now,
                  json_pack("{s:s, s:O, s:O, s:O}", "what", "price", "line",
                            json_object_get(row, "line"), "now", json_object_get(row, "amount"),
                            "unit", json_object_get(row, "currency")),
                  changes);
    }
}

/* Whether no measurement is in the figure, or an earlier figure has the same one. */
static bool is_seen(const struct decision_problem *problem, size_t index)
{
    const struct decision_figure *figure = &problem->figures[index];
    bool seen = figure->kind == FIGURE_COST && !figure->work;

    for (size_t k = 0; k < index && !seen; k++)
        seen = problem->figures[k].metric == figure->metric &&
               (problem->figures[k].kind != FIGURE_COST || problem->figures[k].work);
    return seen;
}

/* What was measured of the option for the figure: a metric, or the error, which is none. New. */
static json_t *measured_json(const struct gathered *g, size_t option, size_t index)
{
    const struct decision_figure *figure = &g->problem->figures[index];
    const json_t *metric = metric_member(g->options[option].metrics, figure->metric);
    const bool is_error = figure->kind == FIGURE_ERROR;

    return json_pack("{s:s, s:O, s:s, s:o, s:s}", "what", "metric", "option",
                     json_object_get(decision_declared(g, "options", option), "name"), "metric",
                     is_error ? "error" : metrics[figure->metric].id, "now",
                     real_or_null(is_error ? g->problem->options[option].figures[index].value
                                           : member_real(metric, "value")),
                     "unit", member_text(metric, "unit"));
}

static void change_metrics(const struct gathered *g, const struct decision_answer *now,
                           json_t *changes)
{
    const struct decision_problem *problem = g->problem;

    for (size_t i = 0; i < problem->option_count; i++)
        for (size_t f = 0; f < problem->figure_count && problem->options[i].result == i; f++) {
            const struct decision_change change = {
                .kind = CHANGE_METRIC, .option = i, .metric = problem->figures[f].metric};

            if (!is_seen(problem, f))
                add_flips(g, &change, now, measured_json(g, i, f), changes);
        }
}

static void change_limits(const struct gathered *g, const struct decision_answer *now,
                          json_t *changes)
{
    const json_t *list = json_object_get(g->decision, "requirements");
    size_t limit = 0;

    EACH(one, list) {
        const struct decision_requirement *r = &g->problem->requirements[limit];
        const struct decision_change change = {.kind = CHANGE_LIMIT, .requirement = limit};

        if (json_object_get(one, "contract"))
            continue;
        limit++;
        add_flips(g, &change, now,
                  json_pack("{s:s, s:I, s:f, s:s}", "what", "limit", "requirement",
                            (json_int_t)one_at, "now", r->limit, "unit", g->units[r->figure]),
                  changes);
    }
}

static void change_margin(const struct gathered *g, const struct decision_answer *now,
                          json_t *changes)
{
    const struct decision_change change = {.kind = CHANGE_MARGIN};

    add_flips(g, &change, now,
              json_pack("{s:s, s:f, s:s}", "what", "margin", "now", g->problem->margin, "unit", ""),
              changes);
}

static json_t *with_rows(const json_t *sheet, json_t *rows)
{
    json_t *copy = sheet ? json_copy((json_t *)sheet) : json_null();

    if (sheet)
        json_object_set(copy, "rows", rows);
    return copy;
}

static enum status conclude(struct gathered *g, json_t **ret, struct error *err)
{
    json_auto_t *options = json_array(), *changes = json_array();
    struct decision_answer answer;
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];

    TRY(canonical_digest(g->decision, &digest, err));
    decision_judge(g->problem, &answer);
    for (size_t i = 0; i < g->problem->option_count; i++)
        json_array_append_new(options, option_json(g, i, &answer));
    change_prices(g, &answer, changes);
    change_metrics(g, &answer, changes);
    change_limits(g, &answer, changes);
    change_margin(g, &answer, changes);
    *ret = json_pack(
        "{s:O, s:O, s:s, s:o, s:o, s:o, s:O, s:O, s:O, s:s}", "a",
        json_object_get(g->options[0].record, "id"), "decision", g->decision, "decision_sha256",
        digest_hex(&digest, hex), "prices", with_rows(g->prices, g->used_prices), "peaks",
        with_rows(g->peaks, g->used_peaks), "figures", figures_json(g), "options", options,
        "changes", changes, "notes", g->notes, "verdict", decision_verdict_name(answer.verdict));
    return *ret ? STATUS_OK : error_no_memory(err);
}

static enum status make(struct store *store, const json_t *asked, json_t **ret, struct error *err)
{
    const json_t *prices = json_object_get(asked, "prices"),
                 *peaks = json_object_get(asked, "peaks");
    CLEANUP(decision_gather_finish)
    struct gathered g = {.store = store,
                         .decision = json_object_get(asked, "decision"),
                         .prices = json_is_object(prices) ? prices : NULL,
                         .peaks = json_is_object(peaks) ? peaks : NULL};

    TRY(decision_gather(&g, err));
    return conclude(&g, ret, err);
}

const struct judgement judgement_decide = {.name = "decide",
                                           .results = 1,
                                           .type = &decision_type,
                                           .subject = "$.decision.decision",
                                           .verdict = judgement_own_verdict,
                                           .make = make};
