/* Several comparisons as a table, with what the family says. */
#include "harness/cli/comparison_view.h"

#include <stdint.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/comparability.h"
#include "reports/comparison_words.h"

/* Of the family's screening: the share of false ones among those that are named. */
#define SCREEN 0.05
#define NAMES_SHOWN 4

/* What is to be said of each alike, such as a setting without effect; else NULL. */
static const char *common_note(const struct campaign_comparison *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (!c->list[i].note || strcmp(c->list[i].note, c->list[0].note))
            return NULL;
    return c->list[0].note;
}

static void say_row(struct doc *doc, const struct campaign_comparison *c, size_t i, bool gated)
{
    const struct stored_comparison *one = &c->list[i];
    json_auto_t *undecided_by = gate_undecided_by(one);
    CLEANUP(text_finish) struct text decision = TEXT_INIT;

    doc_spaced(&decision, gate_decision_name(gate_decide(one)));
    if (gated)
        doc_add(doc, gate_decide(one) == GATE_PASSES ? "%s\t" : "{bold %s}\t", decision.data);
    else
        doc_add(doc, "%zu\t", i + 1);
    doc_add(doc, "%s\t", c->names[i]);
    comparison_number_words(&doc->block, one);
    if (gated && comparability_why_no_evidence(one->judgement))
        doc_add(doc, "; %s", comparability_why_no_evidence(one->judgement));
    if (gated && json_array_size(undecided_by) > 0) {
        doc_add(doc, "; undecided");
        comparison_undecided_words(&doc->block, undecided_by);
    }
    doc_add(doc, "\t%s", one->has_numbers ? stored_comparison_verdict(one) : "none");
    if (one->has_numbers && one->figure == COMPARE_TIME && one->numbers.family > 1) {
        doc_add(doc, ", ");
        comparison_family_words(&doc->block, &one->numbers);
    }
    if (one->note && !common_note(c))
        doc_add(doc, "\n%s", one->note);
    doc_end(doc, NULL);
}

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
        doc_say(doc, NULL,
                "Of %zu of the %zu comparisons another program than assay's own worker measured a "
                "result",
                count, c->count);
}

static const json_t *factors_of(const struct campaign_comparison *c, size_t i)
{
    return json_object_get(c->list[i].judgement, "factors");
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

/* Of a plan of several arms: the rate of each, and what its stack has otherwise than the base's. */
static enum status say_arms(struct doc *doc, struct store *store,
                            const struct campaign_comparison *c, struct error *err)
{
    static const struct doc_column columns[] = {
        {"", DOC_NUMBER}, {"arm", 0}, {"what differs from the base", 0}};

    doc_table(doc, NULL, columns, sizeof(columns) / sizeof(*columns));
    for (size_t i = 0; i < c->count; i++) {
        const struct stored_comparison *one = &c->list[i];
        const json_t *factors = factors_of(c, i);
        CLEANUP(comparison_arms_finish) struct comparison_arms arms = {.words = {NULL}};

        TRY(comparison_arms_load(store, one, &arms, err));
        if (one->pairs.places[1] == one->pairs.places[0] + 1) {
            doc_add(doc, "base\t");
            text_append(&doc->block, arms.words[0]);
            doc_end(doc, NULL);
        }
        doc_add(doc, "%zu\t", i + 1);
        text_append(&doc->block, arms.words[1]);
        if (json_array_size(factors) == 0)
            factors = json_object_get(one->judgement, "brought");
        if (json_array_size(factors) > 0)
            doc_add(doc, "\ndiffers: ");
        comparison_names_words(&doc->block, factors, SIZE_MAX);
        doc_end(doc, NULL);
    }
    doc_close(doc);
    return STATUS_OK;
}

static bool has_several_arms(const struct campaign_comparison *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].paired && c->list[i].pairs.places[1] > c->list[i].pairs.places[0] + 1)
            return true;
    return false;
}

/* How far the verdicts hold: what is so for all together. */
static void say_family(struct doc *doc, const struct campaign_comparison *c,
                       enum compare_figure figure)
{
    CLEANUP(text_finish) struct text found = TEXT_INIT;
    const double confidence = 100 * c->options.confidence;
    size_t screened = 0, without = 0;

    if (c->count > 1 && figure != COMPARE_TIME && figure != COMPARE_FIGURE_COUNT)
        doc_say(doc, NULL,
                "Intervals are each result's own, at %g %%; worse is what is so for all %zu "
                "together (Holm).",
                confidence, c->count);
    if (c->count <= 1 || (figure != COMPARE_TIME && figure != COMPARE_FIGURE_COUNT))
        return;
    for (size_t i = 0; i < c->count; i++) {
        const struct stored_comparison *one = &c->list[i];

        without += !one->has_numbers;
        if (one->has_numbers && one->figure == COMPARE_TIME && one->numbers.q_difference <= SCREEN)
            text_append_format(&found, "%s%zu", screened++ ? ", " : "", i + 1);
    }
    doc_say(doc, NULL,
            "Intervals are each result's own, at %g %%. Verdicts and p hold for all %zu together "
            "(Holm): a false difference among them has a chance of at most %g %%.",
            confidence, c->count, 100 - confidence);
    if (without > 0)
        doc_say(doc, NULL, "Those without numbers (%zu) count in this, with p = 1.", without);
    if (screened > 0)
        doc_say(doc, NULL,
                "Screening (Benjamini-Hochberg; %g %% of these by chance) finds a difference in: "
                "%s.",
                SCREEN * 100, found.data);
}

void campaign_comparison_append_undecided(struct text *out, const struct campaign_comparison *c)
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

/* The line before all others of a gate that conditions keep from deciding. */
static void say_undecided(struct doc *doc, const struct campaign_comparison *c)
{
    CLEANUP(text_finish) struct text words = TEXT_INIT;

    campaign_comparison_append_undecided(&words, c);
    if (words.length == 0)
        return;
    doc_add(doc, "Undecided");
    text_append(&doc->block, words.data);
    doc_end(doc, "answer");
}

/* What a gate asks of each, and how many pass. */
static void say_gate(struct doc *doc, const struct campaign_comparison *c,
                     enum compare_figure figure)
{
    static const char *const rules[] = {
        [COMPARE_TIME] = "the candidate (b) is as fast as the baseline (a), or slower",
        [COMPARE_ATTAINMENT] =
            "of the candidate (b) as large a share of requests is within the limits as of the "
            "baseline (a), or a smaller one",
        [COMPARE_CAPACITY] = "the candidate (b) serves as many requests within the limits as the "
                             "baseline (a), or fewer",
        [COMPARE_FIGURE_COUNT] =
            "the candidate (b) is as fast as the baseline (a), and of servers as large a share of "
            "requests is within the limits, or it is worse",
    };
    CLEANUP(text_finish) struct text decision = TEXT_INIT;
    size_t passes = 0;

    doc_spaced(&decision, gate_decision_name(campaign_comparison_decide(c)));
    for (size_t i = 0; i < c->count; i++)
        passes += gate_decide(&c->list[i]) == GATE_PASSES;
    doc_heading(doc, 3, NULL, "assay gate: %s", decision.data);
    say_undecided(doc, c);
    doc_say(doc, NULL, "%zu of %zu comparisons pass: %s by no more than %.4g %s.", passes, c->count,
            rules[figure], 100 * c->options.margin,
            figure == COMPARE_ATTAINMENT ? "% of the requests" : "%");
}

static void say_names(struct doc *doc, const struct campaign_comparison *c, bool gated)
{
    if (c->b[0])
        doc_say(doc, NULL, "%s {code %s}, %s {code %s}", gated ? "Baseline a" : "a", c->a,
                gated ? "candidate b" : "b", c->b);
    else
        doc_say(doc, NULL, "%s of {code %s}",
                has_several_arms(c) ? "Arms, each against the base," : "Arms a and b", c->a);
}

void campaign_comparison_append(struct doc *doc, const struct campaign_comparison *c, bool gated)
{
    const enum compare_figure figure = campaign_comparison_figure(c);
    const struct doc_column columns[] = {{gated ? "decision" : "#", gated ? 0 : DOC_NUMBER},
                                         {"result", DOC_NAME},
                                         {figure == COMPARE_TIME ? "time b/a"
                                          : figure == COMPARE_FIGURE_COUNT
                                              ? "time b/a, or a -> b and the change"
                                              : "a -> b, change and its interval",
                                          0},
                                         {"verdict", 0}};

    if (gated)
        say_gate(doc, c, figure);
    say_names(doc, c, gated);
    doc_table(doc, NULL, columns, sizeof(columns) / sizeof(*columns));
    for (size_t i = 0; i < c->count; i++)
        say_row(doc, c, i, gated);
    doc_close(doc);
    say_only(doc, c->a, c->only[0]);
    say_only(doc, c->b, c->only[1]);
    say_foreign_workers(doc, c);
    say_attribution(doc, c);
    if (common_note(c))
        doc_say(doc, NULL, "%s", common_note(c));
    say_family(doc, c, figure);
    if (gated)
        doc_say(doc, NULL, "%sInconclusive is neither shown to hold nor to fail: measure more.",
                figure == COMPARE_TIME ? "Below 1 the candidate takes less time. " : "");
}

/* With --explain each comparison in full after the table. */
static enum status append_all(struct doc *doc, struct store *store,
                              const struct campaign_comparison *c, bool gated, bool explain,
                              struct error *err)
{
    if (has_several_arms(c))
        TRY(say_arms(doc, store, c, err));
    campaign_comparison_append(doc, c, gated);
    for (size_t i = 0; explain && i < c->count; i++) {
        CLEANUP(comparison_arms_finish) struct comparison_arms arms = {.words = {NULL}};

        TRY(comparison_arms_load(store, &c->list[i], &arms, err));
        doc_heading(doc, 3, NULL, "%zu  %s", i + 1, c->names[i]);
        comparison_view_append(doc, &c->list[i], &arms, true);
    }
    return STATUS_OK;
}

int campaign_comparison_show(const struct command_line *line, struct store *store,
                             const struct campaign_comparison *c, bool gated)
{
    const bool explain = command_has(line, KEY_EXPLAIN);
    CLEANUP(comparison_arms_finish) struct comparison_arms arms = {.words = {NULL}};
    json_auto_t *object = NULL;
    struct error err = ERROR_INIT;
    enum status status = STATUS_OK;
    CLEANUP(text_finish) struct text out = TEXT_INIT;
    struct doc doc;

    if (c->is_single && comparison_arms_load(store, c->list, &arms, &err) != STATUS_OK)
        return command_fail_store(&err);
    if (command_has(line, KEY_JSON) && c->is_single)
        object = gated ? gate_json(c->list, c->options.margin) : stored_comparison_json(c->list);
    if (command_has(line, KEY_JSON))
        return output_json(object ? comparison_view_json(&arms, object)
                                  : campaign_comparison_json(c, gated));
    doc = output_doc(line, &out);
    if (c->is_single && gated)
        say_undecided(&doc, c);
    if (c->is_single)
        comparison_view_append(&doc, c->list, &arms, explain);
    else
        status = append_all(&doc, store, c, gated, explain, &err);
    if (status == STATUS_OK)
        return output_document(&doc);
    doc_finish(&doc);
    return command_fail_store(&err);
}

static int exit_status_of(const struct stored_comparison *comparison)
{
    const enum compare_verdict verdict = comparison->numbers.verdict;
    const int served = served_change_verdict(comparison->figure, &comparison->change);

    if (!strcmp(member_text(comparison->judgement, "verdict"), "not_comparable"))
        return ASSAY_EXIT_USAGE;
    if (!comparison->has_numbers)
        return ASSAY_EXIT_DEVICE;
    if (comparison->figure != COMPARE_TIME)
        return served > 0 ? ASSAY_EXIT_OK : served < 0 ? ASSAY_EXIT_TRIALS : ASSAY_EXIT_DEVICE;
    if (verdict == COMPARE_EQUIVALENT || verdict == COMPARE_FASTER)
        return ASSAY_EXIT_OK;
    return verdict == COMPARE_SLOWER ? ASSAY_EXIT_TRIALS : ASSAY_EXIT_DEVICE;
}

int campaign_comparison_exit_status(const struct campaign_comparison *c)
{
    int worst = ASSAY_EXIT_OK;

    for (size_t i = 0; i < c->count; i++) {
        const int status = exit_status_of(&c->list[i]);

        if (status == ASSAY_EXIT_USAGE)
            return status;
        if (status == ASSAY_EXIT_TRIALS || (status != ASSAY_EXIT_OK && worst == ASSAY_EXIT_OK))
            worst = status;
    }
    return worst;
}
