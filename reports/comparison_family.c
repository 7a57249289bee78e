/* Several comparisons that are judged together, and what a gate decides of them. */
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/comparability.h"
#include "protocols/condition.h"
#include "reports/comparison_document.h"

/* Of the family's screening: the share of false ones among those that are named. */
#define SCREEN 0.05
#define NAMES_SHOWN 4

/* ---- how many came to what ---- */

/* Those of times, and after them those of servers. */
enum { NOT_WORSE = COMPARE_INCONCLUSIVE + 1, WORSE, NONE, VERDICTS };

static int verdict_of(const struct stored_comparison *comparison)
{
    const int served = served_change_verdict(comparison->figure, &comparison->change);

    if (!comparison->has_numbers || !comparability_is_evidence(comparison->judgement))
        return NONE;
    if (comparison->figure == COMPARE_TIME)
        return (int)comparison->numbers.verdict;
    return served > 0 ? NOT_WORSE : served < 0 ? WORSE : COMPARE_INCONCLUSIVE;
}

bool comparison_has_several_arms(const struct campaign_comparison *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].paired && c->list[i].pairs.places[1] > c->list[i].pairs.places[0] + 1)
            return true;
    return false;
}

void comparison_tally(struct doc *doc, const struct campaign_comparison *list, size_t count,
                      const char *look)
{
    static const char *const words[VERDICTS] = {[COMPARE_FASTER] = "b is faster in",
                                                [COMPARE_SLOWER] = "b is slower in",
                                                [COMPARE_EQUIVALENT] = "they are equivalent in",
                                                [COMPARE_INCONCLUSIVE] = "it is not settled in",
                                                [NOT_WORSE] = "b keeps the limits as often in",
                                                [WORSE] = "b keeps the limits less often in",
                                                [NONE] = "there is no answer in"};
    size_t verdicts[VERDICTS] = {0}, all = 0;
    const char *before = ": ";
    bool several = false;

    for (size_t i = 0; i < count; i++) {
        several = several || comparison_has_several_arms(&list[i]);
        all += list[i].count;
        for (size_t k = 0; k < list[i].count; k++)
            verdicts[verdict_of(&list[i].list[k])]++;
    }
    doc_add(doc, "Of %zu comparison%s of %s", all, all == 1 ? "" : "s",
            several ? "an arm (b) with the base (a)" : "a and b");
    for (size_t v = 0; v < VERDICTS; v++) {
        if (verdicts[v] == 0)
            continue;
        doc_add(doc, "%s%s %zu", before, words[v], verdicts[v]);
        before = ", ";
    }
    doc_say(doc, look, ".");
}

/* ---- the table ---- */

/* "equivalent: 0.2 % faster [...]", the change of a server and its verdict, or why there is none.
 */
static void add_change(struct text *out, const struct stored_comparison *one)
{
    const char *reason = comparability_why_no_evidence(one->judgement);
    CLEANUP(text_finish) struct text conditions = TEXT_INIT, order = TEXT_INIT;

    if (reason && !one->has_numbers)
        doc_phrase(out, "do not compare: %s", reason);
    else if (one->has_numbers && one->figure == COMPARE_TIME)
        doc_phrase(out, "%s",
                   one->numbers.verdict == COMPARE_EQUIVALENT     ? "equivalent: "
                   : one->numbers.verdict == COMPARE_INCONCLUSIVE ? "not settled: "
                                                                  : "");
    if (!reason || one->has_numbers)
        comparison_number_words(out, one);
    if (one->has_numbers && one->figure != COMPARE_TIME) {
        doc_phrase(out, "; ");
        doc_spaced(out, stored_comparison_verdict(one));
    }
    condition_append(&conditions, one->conditions);
    if (conditions.length > 0 && one->has_numbers)
        doc_phrase(out, "; under %s, which can turn it", conditions.data);
    if (one->has_numbers && one->figure == COMPARE_TIME && one->numbers.undetermined) {
        comparison_order_words(&order, &one->numbers);
        doc_phrase(out, "; ");
        text_append(out, order.data);
    }
}

static void add_decision(struct text *out, const struct stored_comparison *one)
{
    json_auto_t *undecided_by = gate_undecided_by(one);

    doc_spaced(out, gate_decision_name(gate_decide(one)));
    comparison_undecided_words(out, undecided_by);
}

void comparison_decision_words(struct text *out, const struct stored_comparison *one)
{
    add_decision(out, one);
    doc_phrase(out, ": ");
    add_change(out, one);
}

/* What is to be said of each alike, such as a setting without effect; else NULL. */
static const char *common_note(const struct campaign_comparison *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (!c->list[i].note || strcmp(c->list[i].note, c->list[0].note))
            return NULL;
    return c->list[0].note;
}

static void add_level(struct text *out, const struct view *view, const char *result)
{
    struct view_figure figure = {.value = ""};
    const struct view_cell *cell = view_find(view, result);

    if (cell)
        view_headline_figure(cell, &figure);
    doc_phrase(out, figure.marked ? "\t(%s)" : "\t%s", figure.value[0] ? figure.value : "-");
}

static void say_row(struct doc *doc, const struct view *view, const struct campaign_comparison *c,
                    size_t i, bool gated)
{
    const struct stored_comparison *one = &c->list[i];

    doc_add(doc, "%s", c->names[i]);
    if (one->note && !common_note(c))
        doc_add(doc, "\n%s", one->note);
    add_level(&doc->block, view, one->a);
    add_level(&doc->block, view, one->b);
    doc_add(doc, "\t");
    add_change(&doc->block, one);
    if (gated) {
        doc_add(doc, gate_decide(one) == GATE_PASSES ? "\t" : "\t{bold ");
        add_decision(&doc->block, one);
        doc_add(doc, gate_decide(one) == GATE_PASSES ? "" : "}");
    }
    doc_end(doc, NULL);
}

static void say_table(struct doc *doc, const struct view *view, const struct campaign_comparison *c,
                      bool gated)
{
    static const struct doc_column columns[] = {{"result", DOC_NAME},
                                                {"a", DOC_NUMBER | DOC_LABELLED},
                                                {"b", DOC_NUMBER | DOC_LABELLED},
                                                {"b against a", 0},
                                                {"decision", 0}};

    doc_table(doc, "tight", columns, gated ? 5 : 4);
    for (size_t i = 0; i < c->count; i++)
        say_row(doc, view, c, i, gated);
    doc_close(doc);
}

/* ---- around it ---- */

static void say_only(struct doc *doc, const char *id, const json_t *only)
{
    const size_t count = json_array_size(only);

    if (count > 0)
        doc_say(doc, NULL, "%zu result%s of %s ha%s no match", count, count == 1 ? "" : "s", id,
                count == 1 ? "s" : "ve");
}

static void say_foreign_workers(struct doc *doc, const struct campaign_comparison *c)
{
    size_t count = 0;

    for (size_t i = 0; i < c->count; i++)
        count += comparability_foreign_worker(c->list[i].judgement) != NULL;
    if (count > 0)
        doc_say(doc, "care",
                "Of %zu of the %zu comparisons another program than assay's own worker measured a "
                "result",
                count, c->count);
}

static const json_t *factors_of(const struct campaign_comparison *c, size_t i)
{
    const json_t *factors = json_object_get(c->list[i].judgement, "factors");

    return json_array_size(factors) > 0 ? factors
                                        : json_object_get(c->list[i].judgement, "brought");
}

/* What a and b differ in, once where neighbours say the same; attributed where it is one cause. */
static void say_attribution(struct doc *doc, const struct campaign_comparison *c)
{
    bool is_one = true;

    for (size_t i = 0; i < c->count; i++)
        is_one = is_one && json_equal(factors_of(c, i), factors_of(c, 0)) &&
                 json_is_string(json_object_get(c->list[i].judgement, "attribution"));
    for (size_t i = 0; i < c->count; i++) {
        if (json_array_size(factors_of(c, i)) == 0 ||
            (i > 0 && json_equal(factors_of(c, i), factors_of(c, i - 1))))
            continue;
        doc_add(doc, is_one ? "Attributed to: " : "a and b differ in ");
        comparison_names_words(&doc->block, factors_of(c, i), NAMES_SHOWN);
        doc_end(doc, NULL);
    }
}

/* What the others of the family do to one, and what the order of measuring did. */
static void say_tests(struct doc *doc, const struct campaign_comparison *c, size_t i)
{
    const struct comparison *numbers = &c->list[i].numbers;
    CLEANUP(text_finish) struct text order = TEXT_INIT, conditions = TEXT_INIT;

    if (!c->list[i].has_numbers || c->list[i].figure != COMPARE_TIME || numbers->family <= 1)
        return;
    doc_add(doc, "%s: ", c->names[i]);
    comparison_family_words(&doc->block, numbers);
    condition_append(&conditions, c->list[i].conditions);
    if (conditions.length > 0)
        doc_add(doc, "; under %s, which can turn it", conditions.data);
    comparison_order_words(&order, numbers);
    if (order.length > 0)
        doc_add(doc, "; ");
    text_append(&doc->block, order.data);
    doc_end(doc, NULL);
}

void comparison_family_certainty(struct doc *doc, const struct campaign_comparison *c)
{
    const enum compare_figure figure = campaign_comparison_figure(c);
    const double confidence = 100 * c->options.confidence;
    const bool has_times = figure == COMPARE_TIME || figure == COMPARE_FIGURE_COUNT;
    CLEANUP(text_finish) struct text found = TEXT_INIT;
    size_t without = 0;

    if (c->count <= 1)
        return;
    for (size_t i = 0; i < c->count; i++) {
        const struct stored_comparison *one = &c->list[i];

        without += !one->has_numbers;
        if (one->has_numbers && one->figure == COMPARE_TIME && one->numbers.q_difference <= SCREEN)
            text_append_format(&found, "%s%s", found.length ? "; " : "", c->names[i]);
    }
    if (without > 0 && has_times)
        doc_say(doc, NULL, "Those without numbers (%zu) count in this, with p = 1.", without);
    doc_add(doc, "{bold How sure:} intervals are each result's own, at %g %%; ", confidence);
    if (!has_times) {
        doc_say(doc, NULL, "worse is what is so for all %zu together (Holm).", c->count);
        return;
    }
    doc_add(doc,
            "verdicts hold for all %zu together (Holm): the chance of any false difference among "
            "them is at most %g %%.",
            c->count, 100 - confidence);
    doc_open(doc, DOC_FOLD, NULL);
    if (found.length > 0)
        doc_say(doc, NULL,
                "screening (Benjamini-Hochberg; %g %% of these by chance) finds a difference in: "
                "%s",
                SCREEN * 100, found.data);
    for (size_t i = 0; i < c->count; i++)
        say_tests(doc, c, i);
    doc_close(doc);
}

static void say_names(struct doc *doc, const struct campaign_comparison *c, bool gated)
{
    if (c->b[0])
        doc_say(doc, NULL, "%s {code %s}, %s {code %s}", gated ? "Baseline a" : "a", c->a,
                gated ? "candidate b" : "b", c->b);
    else
        doc_say(doc, NULL, "%s of {code %s}",
                comparison_has_several_arms(c) ? "Arms, each against the base," : "Arms a and b",
                c->a);
}

void comparison_family_document(struct doc *doc, const struct view *view,
                                const struct campaign_comparison *c, bool gated)
{
    comparison_tally(doc, c, 1, "answer");
    say_names(doc, c, gated);
    say_table(doc, view, c, gated);
    say_only(doc, c->a, c->only[0]);
    say_only(doc, c->b, c->only[1]);
    say_foreign_workers(doc, c);
    say_attribution(doc, c);
    if (common_note(c))
        doc_say(doc, NULL, "%s", common_note(c));
    comparison_family_certainty(doc, c);
}

/* ---- a gate ---- */

void comparison_append_undecided(struct text *out, const struct campaign_comparison *c)
{
    json_auto_t *all = json_array();
    CLEANUP(text_finish) struct text words = TEXT_INIT;

    if (campaign_comparison_decide(c) != GATE_INCONCLUSIVE)
        return;
    for (size_t i = 0; i < c->count; i++) {
        json_auto_t *of_one = gate_undecided_by(&c->list[i]);

        json_array_extend(all, of_one);
    }
    comparison_undecided_words(&words, all);
    if (words.length > 0) {
        text_append(out, words.data);
        doc_phrase(out, ": repeat it at another hour, or allow the condition by --under");
    }
}

void comparison_gate(struct doc *doc, const struct campaign_comparison *c)
{
    CLEANUP(text_finish) struct text undecided = TEXT_INIT;
    size_t passes = 0;

    doc_add(doc, "assay gate: ");
    doc_spaced(&doc->block, gate_decision_name(campaign_comparison_decide(c)));
    doc_end_heading(doc, 3, NULL);
    comparison_append_undecided(&undecided, c);
    if (undecided.length > 0) {
        doc_add(doc, "Undecided");
        text_append(&doc->block, undecided.data);
        doc_end(doc, "answer");
    }
    for (size_t i = 0; i < c->count; i++)
        passes += gate_decide(&c->list[i]) == GATE_PASSES;
    if (!c->is_single)
        doc_say(doc, NULL, "%zu of %zu comparisons pass.", passes, c->count);
}

void comparison_gate_rule(struct doc *doc, const struct campaign_comparison *c)
{
    const char *const last =
        c->is_single ? "" : "; in a family worse by the p adjusted for all of it (Holm)";
    bool said[COMPARE_FIGURE_COUNT] = {false};

    for (size_t i = 0; i < c->count; i++) {
        const enum compare_figure figure = c->list[i].figure;

        if (said[figure])
            continue;
        said[figure] = true;
        doc_add(doc, "Rule: ");
        comparison_rule_words(&doc->block,
                              figure == COMPARE_TIME ? "gate" : compare_figure_name(figure),
                              c->options.margin, false);
        doc_say(doc, "soft", "%s.", last);
    }
}
