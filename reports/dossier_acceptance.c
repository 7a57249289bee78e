/* What contracts came to: for `assay accept`, and the newest of each for page and dossier. */
#include "reports/acceptance_document.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "protocols/acceptance.h"
#include "protocols/contract.h"
#include "protocols/condition.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/stats/distribution.h"
#include "protocols/stats/succession.h"
#include "reports/comparison_words.h"
#include "reports/dossier_internal.h"
#include "reports/plot.h"
#include "reports/view.h"
#include "results/analysis/acceptance.h"

static const struct verdict {
    const char *name, *words, *class_name;
} verdicts[] = {
    {"accepted", "Accepted", "decision good"},
    {"rejected", "Rejected", "decision bad"},
    {"inconclusive", "Inconclusive: neither shown to hold nor to fail", "decision care"}};

static const struct verdict *verdict_of(const char *name)
{
    size_t i = 0;

    while (i < 2 && (!name || strcmp(verdicts[i].name, name) != 0))
        i++;
    return &verdicts[i];
}

static struct number_unit unit_of(const json_t *item)
{
    struct metric_value value = {.value = member_real(item, "declared")};

    snprintf(value.unit, sizeof(value.unit), "%s", member_text(item, "unit"));
    return view_metric_unit(metric_find(member_text(item, "metric")), &value);
}

static void append_figure(struct text *out, const json_t *number, const struct number_unit *unit)
{
    char shown[NUMBER_SIZE];

    if (json_is_number(number))
        doc_phrase(out, "%s %s",
                   number_format_digits(json_number_value(number) / unit->factor, 5, shown),
                   unit->name);
    else
        doc_phrase(out, "unknown");
}

static void append_verdict(struct text *out, const json_t *object)
{
    const char *reason = member_string(object, "reason");

    doc_phrase(out, "{bold %s}", member_string(object, "verdict"));
    if (reason)
        doc_phrase(out, ": %s", acceptance_reason_words(reason));
}

static void say_unit(struct doc *doc, const struct view *view, const json_t *item,
                     const json_t *unit)
{
    static const char *const levels[][2] = {{"declared", "alpha"}, {"limiting", "beta"}},
                             *const figures[] = {"value", "best", "worst"};
    const struct number_unit scale = unit_of(item);

    phrase_result(&doc->block, view, member_string(unit, "result"));
    for (size_t i = 0; i < 2; i++) {
        doc_add(doc, "\t");
        append_figure(&doc->block, json_object_get(item, levels[i][0]), &scale);
        doc_add(doc, " {soft (%s %g)}", levels[i][1], member_number(item, levels[i][1]));
    }
    for (size_t i = 0; i < 3; i++) {
        doc_add(doc, "\t");
        append_figure(&doc->block, json_object_get(unit, figures[i]), &scale);
    }
    doc_add(doc, "\t%lld\t", member_integer(unit, "trials"));
    append_verdict(&doc->block, unit);
    doc_end(doc, NULL);
}

/* A row of each unit; of a fleet, whose units are several, one more for all of them. */
static void say_item(struct doc *doc, const struct view *view, const json_t *contract,
                     const json_t *item, size_t index)
{
    const json_t *declared = json_array_get(json_object_get(contract, "items"), index);
    const json_t *units = json_object_get(item, "units");
    const char *workload = member_string(json_object_get(declared, "cell"), "workload");

    EACH(unit, units) {
        doc_add(doc, "%zu. %s %s\n", index + 1, workload, member_string(item, "metric"));
        say_unit(doc, view, item, unit);
    }
    if (json_is_object(json_object_get(declared, "units")))
        doc_add(doc, "%zu. all %zu units\t%lld rejected, %lld open: ", index + 1,
                json_array_size(units), member_integer(item, "rejected"),
                member_integer(item, "inconclusive"));
    else if (member_string(item, "reason"))
        doc_add(doc, "%zu. %s %s\t", index + 1, workload, member_string(item, "metric"));
    else
        return;
    append_verdict(&doc->block, item);
    doc_end(doc, NULL);
}

static void say_items(struct doc *doc, const struct view *view, const json_t *body)
{
    static const struct doc_column columns[] = {{"Item", 0},
                                                {"Declared", DOC_NUMBER | DOC_LABELLED},
                                                {"Limiting", DOC_NUMBER | DOC_LABELLED},
                                                {"Measured", DOC_NUMBER | DOC_LABELLED},
                                                {"No better than", DOC_NUMBER | DOC_LABELLED},
                                                {"No worse than", DOC_NUMBER | DOC_LABELLED},
                                                {"Trials", DOC_NUMBER | DOC_LABELLED},
                                                {"Verdict", 0}};

    doc_table(doc, "tight stacked", columns, sizeof(columns) / sizeof(*columns));
    EACH(item, json_object_get(body, "items"))
        say_item(doc, view, json_object_get(body, "contract"), item, item_at);
    doc_close(doc);
}

/* Of a unit: up to which correlation between its trials its verdict stands; NAN: it has none. */
static double holds_to(const json_t *item, const json_t *unit)
{
    const char *verdict = member_text(unit, "verdict");
    const bool accepted = !strcmp(verdict, "accepted");

    if (!accepted && strcmp(verdict, "rejected") != 0)
        return NAN;
    return acceptance_holds_to(member_real(unit, "value"),
                               member_real(unit, accepted ? "worst" : "best"),
                               member_real(item, accepted ? "limiting" : "declared"));
}

/* What all verdicts assume of the trials, and where the one that needs it most would fall. */
static void say_independence(struct doc *doc, const json_t *body)
{
    double least = SUCCESSION_SURE;
    const char *result = NULL;

    EACH(item, json_object_get(body, "items"))
        EACH(unit, json_object_get(item, "units")) {
            const double most = holds_to(item, unit);

            if (most < least) {
                least = most;
                result = member_text(unit, "result");
            }
        }
    if (result)
        doc_say(
            doc, NULL,
            "Trials are taken for independent, which few check poorly: the verdict on {code %s} "
            "stands up to a correlation of %.2g between those that follow each other, and no "
            "other falls sooner.",
            result, fmax(least, 0));
}

/*
 * The spread between trials of the units, on a log scale: of each, what its bound `best` was made
 * of (acceptance_judge), pooled. NAN: no unit has bounds.
 */
static double spread_of(const json_t *item, uint64_t *ret_trials)
{
    const double alpha = member_real(item, "alpha");
    const json_t *units = json_object_get(item, "units");
    double squares = 0;
    size_t count = 0;

    EACH(unit, units) {
        const double trials = member_real(unit, "trials"), value = member_real(unit, "value"),
                     best = member_real(unit, "best");

        if (!(trials >= 2) || !(value > 0) || !(best > 0) || best == value)
            continue;
        squares += pow(log(best / value) / student_quantile(1 - alpha, trials - 1), 2) * trials;
        *ret_trials = count++ ? (uint64_t)fmin((double)*ret_trials, trials) : (uint64_t)trials;
    }
    return count ? sqrt(squares / (double)count) : NAN;
}

#define CURVE_POINTS 41

/* The operating characteristic: what the test says of each true figure, with the measured spread.
 */
static void append_characteristic(struct text *out, const json_t *body, const json_t *item,
                                  size_t index)
{
    const struct acceptance_rule rule = {.declared = member_real(item, "declared"),
                                         .limiting = member_real(item, "limiting"),
                                         .alpha = member_real(item, "alpha"),
                                         .beta = member_real(item, "beta"),
                                         .at_most = member_real(item, "declared") <
                                                    member_real(item, "limiting")};
    const struct number_unit unit = unit_of(item), percent = {0.01, "%"};
    const char *digest = member_string(body, "contract_sha256");
    struct plot_point accepted[CURVE_POINTS], rejected[CURVE_POINTS], levels[4];
    const struct plot_curve curves[] = {{"accepted", 1, true, false, accepted, CURVE_POINTS},
                                        {"rejected", 5, true, false, rejected, CURVE_POINTS},
                                        {NULL, PLOT_ACCENT, false, true, levels, 4}};
    struct acceptance_chances chances;
    char id[40], words[256];
    uint64_t trials = 0;
    const double spread = spread_of(item, &trials);
    struct acceptance_plan plan;
    struct plot_xy plot = {.heading = "Operating characteristic",
                           .description = words,
                           .x = plot_axis_new(unit.name, unit, false),
                           .y = plot_axis_new("chance of the verdict, %", percent, false),
                           .curves = curves,
                           .count = sizeof(curves) / sizeof(curves[0])};

    if (!(spread > 0) || !(rule.declared > 0) || !(rule.limiting > 0))
        return;
    plan = acceptance_plan_make(spread, trials, contract_margin(json_object_get(body, "contract")));
    for (int i = 0; i < CURVE_POINTS; i++) {
        /* From beyond the declared level to beyond the limiting one, by half of their distance. */
        const double at = -0.5 + 2.0 * i / (CURVE_POINTS - 1),
                     truth = rule.declared * pow(rule.limiting / rule.declared, at);

        chances = acceptance_chances(&rule, &plan, truth);
        accepted[i] = plot_point_at(truth, chances.accepted);
        rejected[i] = plot_point_at(truth, chances.rejected);
    }
    for (int i = 0; i < 2; i++) {
        const double truth = i == 0 ? rule.declared : rule.limiting;

        chances = acceptance_chances(&rule, &plan, truth);
        levels[2 * i] = plot_point_at(truth, chances.accepted);
        levels[2 * i].label = i == 0 ? "declared" : "limiting";
        levels[2 * i + 1] = plot_point_at(truth, chances.rejected);
        levels[2 * i].title = levels[2 * i + 1].title = levels[2 * i].label;
    }
    snprintf(
        words, sizeof(words),
        "Of a true figure, how likely %llu trials that vary by %.2g %% lead to each verdict. As "
        "declared: accepted %.1f %%, rejected %.1f %%; limiting: accepted %.1f %%, rejected "
        "%.1f %%. The rest is inconclusive.",
        (unsigned long long)trials, 100 * spread, 100 * levels[0].y, 100 * levels[1].y,
        100 * levels[2].y, 100 * levels[3].y);
    snprintf(id, sizeof(id), "characteristic-%.8s-%zu", digest ? digest : "", index + 1);
    text_append(out, "<figure><figcaption>");
    html_phrase(out, "Item %zu: %s", index + 1, words);
    text_append(out, "</figcaption>");
    plot_xy(out, id, &plot);
    text_append(out, "</figure>\n");
}

/* Whether the contract was there before the results. */
static void say_planned(struct doc *doc, const json_t *campaigns)
{
    size_t planned = 0;

    EACH(campaign, campaigns)
        planned += member_is_true(campaign, "planned");
    if (planned == json_array_size(campaigns)) {
        doc_say(doc, NULL, "The contract is in the recorded plan, from before the first trial.");
        return;
    }
    doc_add(doc, "{bold The plan does not have this contract}: it may have been written after the "
                 "results were seen. Without it:");
    EACH(campaign, campaigns)
        if (!member_is_true(campaign, "planned"))
            doc_add(doc, " {code %.8s}", member_string(campaign, "campaign"));
    doc_say(doc, NULL, ".");
}

/* " under contention by other processes in ab12cd34/1": of all units, where nothing is decided. */
static void append_undecided(struct text *out, const json_t *body)
{
    const json_t *allowed = json_object_get(json_object_get(body, "contract"), "under");
    json_auto_t *all = json_array();

    EACH(item, json_object_get(body, "items"))
        EACH(unit, json_object_get(item, "units")) {
            json_auto_t *beyond = condition_beyond(json_object_get(unit, "conditions"), allowed);

            if (json_array_size(beyond) > 0)
                json_array_append_new(all, json_pack("{s:O, s:O}", "result",
                                                     json_object_get(unit, "result"), "conditions",
                                                     beyond));
        }
    comparison_undecided_words(out, all);
}

/* Opens a group with the verdict, and when it was recorded. */
static void say_answer(struct doc *doc, const json_t *body)
{
    const json_t *utc_ns = json_object_get(body, "utc_ns");
    const struct verdict *verdict = verdict_of(member_string(body, "verdict"));
    const json_t *contract = json_object_get(body, "contract");
    const size_t count = member_size(body, "items");
    CLEANUP(text_finish) struct text under = TEXT_INIT;

    if (!strcmp(verdict->name, "inconclusive"))
        append_undecided(&under, body);
    doc_open(doc, DOC_GROUP, verdict->class_name);
    if (under.length > 0) {
        doc_add(doc, "{bold Undecided}");
        text_append(&doc->block, under.data);
        doc_add(doc,
                ": repeat it at another hour, or allow the condition in the contract (under).");
    } else {
        doc_add(doc, "{bold %s}", verdict->words);
    }
    doc_add(doc, " {soft contract %s version %lld, %zu item%s", member_string(contract, "contract"),
            member_integer(contract, "version"), count,
            count == 1 ? ", which must be accepted" : "s, which all must be accepted");
    if (utc_ns) {
        doc_add(doc, ", ");
        phrase_time(&doc->block, &(struct view_count){true, json_integer_value(utc_ns)});
    }
    doc_say(doc, "answer", "}");
    say_planned(doc, json_object_get(body, "campaigns"));
}

void acceptance_document(struct doc *doc, const json_t *body)
{
    say_answer(doc, body);
    doc_close(doc);
    say_items(doc, NULL, body);
    say_independence(doc, body);
}

void dossier_accepted(struct doc *doc, const json_t *body)
{
    say_answer(doc, body);
    doc_say(doc, "soft", "{link #acceptance Each item}.");
    doc_close(doc);
}

static void say_acceptance(struct doc *doc, const struct view *view, const json_t *body)
{
    say_answer(doc, body);
    doc_say(doc, "soft", "Contract {digest %s}", member_string(body, "contract_sha256"));
    doc_close(doc);
    say_items(doc, view, body);
    say_independence(doc, body);
    doc_open(doc, DOC_GROUP, "charts");
    EACH(item, json_object_get(body, "items"))
        append_characteristic(doc->out, body, item, item_at);
    doc_close(doc);
}

enum status dossier_acceptances(struct doc *doc, struct store *store, const struct view *view,
                                const char *heading, bool *ret_any, struct error *err)
{
    json_auto_t *bodies = NULL;

    TRY(dossier_newest(store, view, &judgement_accept, &bodies, err));
    *ret_any = json_array_size(bodies) > 0;
    if (!*ret_any)
        return STATUS_OK;
    if (heading)
        doc_heading(doc, 2, "acceptance", "%s", heading);
    doc_say(doc, NULL,
            "The newest recorded verdict on each contract. An item is rejected where, with "
            "confidence 1 - alpha, the figure is no better than something that is worse than "
            "declared, and accepted where, with confidence 1 - beta, it is no worse than something "
            "that is better than limiting; else it is inconclusive. Every item must be accepted. "
            "Trials are taken for independent and lognormal.");
    for (size_t i = 0; i < json_array_size(bodies); i++)
        say_acceptance(doc, view, json_array_get(bodies, i));
    return STATUS_OK;
}
