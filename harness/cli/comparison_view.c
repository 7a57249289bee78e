#include "harness/cli/comparison_view.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/comparability.h"
#include "reports/comparison_words.h"

/* More runs than these are named by families; --json has each. */
#define RUNS_LISTED 5
#define NAMES_SHOWN 4

enum status comparison_by(const char *word, struct compare_options *options, struct error *err)
{
    if (word)
        options->figure = compare_figure_find(word);
    return options->figure != COMPARE_FIGURE_COUNT
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "--by %s: write time, attainment or capacity",
                           word);
}

static void say_list(struct doc *doc, const char *title, const json_t *list)
{
    if (json_array_size(list) == 0)
        return;
    doc_say(doc, NULL, "%s", title);
    doc_open(doc, DOC_LIST, NULL);
    EACH(entry, list)
        doc_say(doc, NULL, "%s", comparability_reason_words(json_string_value(entry)));
    doc_close(doc);
}

/* A line below the title. */
static void say_names(struct doc *doc, const char *title, const json_t *list)
{
    doc_say(doc, NULL, "%s", title);
    doc_open(doc, DOC_DETAILS, NULL);
    comparison_names_words(&doc->block, list, SIZE_MAX);
    doc_end(doc, NULL);
    doc_close(doc);
}

static void say_verdict(struct doc *doc, const json_t *judgement)
{
    const char *verdict = member_text(judgement, "verdict");
    const json_t *except = json_object_get(judgement, "except");

    if (!strcmp(verdict, "not_comparable")) {
        say_list(doc, "Not comparable:", json_object_get(judgement, "reasons"));
    } else if (!strcmp(verdict, "comparable")) {
        doc_say(doc, NULL, "Comparable");
    } else if (!strcmp(verdict, "exploratory")) {
        doc_say(doc, NULL,
                "Exploratory: by protocol no evidence, of the same machine; no gate passes on it");
        if (json_array_size(except) > 0)
            say_names(doc, "These differ or are not known:", except);
    } else {
        say_names(
            doc, "Comparable, except for these, which differ, are not known or mark both:", except);
    }
}

/*
 * A ratio may be shown although an arm was too short for a figure of its own: that must be visible.
 */
static void say_no_figure(struct doc *doc, const struct comparison_arms *arms)
{
    const bool a = !arms->list[0].has_result, b = !arms->list[1].has_result;

    if (a || b)
        doc_say(doc, NULL,
                "%s figure of its own, for the reason above: the ratio is of those trials that "
                "count",
                a && b ? "neither has a"
                : a    ? "a has no"
                       : "b has no");
}

/* What a server's change rests on, and latencies of pairs, which had the same arrivals. */
static void say_change(struct doc *doc, const struct stored_comparison *comparison)
{
    const struct served_change *change = &comparison->change;

    if (comparison->has_numbers) {
        comparison_change_words(&doc->block, comparison);
        doc_end(doc, NULL);
    }
    if (comparison->has_numbers && change->pairs > 0)
        doc_say(doc, NULL, "by the differences of %zu pairs with the same arrivals", change->pairs);
    else if (comparison->has_numbers)
        doc_say(doc, NULL, "%s",
                comparison->paired ? "the intervals of both arms, taken for independent"
                                   : "not paired: drift between the two is not controlled");
    if (!comparison->has_latency)
        return;
    doc_add(doc, "mean latency of the requests that ended well, b/a ");
    comparison_ratio_words(&doc->block, &comparison->numbers);
    doc_end(doc, NULL);
    if (comparison->numbers.no_spread)
        doc_say(doc, NULL, "%s", comparison_alike_words(&comparison->numbers));
}

static void say_answer(struct doc *doc, const struct stored_comparison *comparison,
                       const struct comparison_arms *arms)
{
    const bool is_time = comparison->figure == COMPARE_TIME;

    if (comparison->has_numbers)
        comparison_answer_words(&doc->block, comparison, "b", "a");
    else if (is_time)
        doc_add(doc, "No numbers: %s", comparison->why.message);
    else
        doc_add(doc, "No verdict on %s: %s", compare_figure_name(comparison->figure),
                comparison->why.message);
    doc_end(doc, "answer");
    doc_open(doc, DOC_DETAILS, NULL);
    if (!is_time) {
        say_change(doc, comparison);
    } else if (comparison->has_numbers) {
        comparison_basis(doc, &comparison->numbers);
        say_no_figure(doc, arms);
    }
    comparison_conditions_remedy(doc, comparison);
    doc_close(doc);
    if (comparison_arms_are_servers(arms))
        comparison_view_append_figures(doc, arms);
    if (comparison->note)
        doc_say(doc, NULL, "%s", comparison->note);
}

/* ---- what they differ in ---- */

/*
 * Factors of one family (library.libfoo, library.libbar) together: {"library.": [factor, ...],
 * "device": [factor]}, in the order of the judgement. New object.
 */
static json_t *families_of(const json_t *factors)
{
    json_t *families = json_object();

    EACH(factor, factors) {
        const char *name = member_text(factor, "factor"), *dot = strchr(name, '.');
        char key[64];
        json_t *list;

        snprintf(key, sizeof(key), "%.*s", (int)(dot ? (size_t)(dot + 1 - name) : strlen(name)),
                 name);
        list = json_object_get(families, key);
        if (!list) {
            list = json_array();
            json_object_set_new(families, key, list);
        }
        json_array_append(list, factor);
    }
    return families;
}

/* A family's factors without what they have in common, or the fields of its one factor. */
static void say_family(struct doc *doc, const char *family, json_t *list)
{
    const json_t *only = json_array_get(list, 0);
    const size_t count = json_array_size(list), common = strlen(family);

    if (count == 1) {
        comparison_names_words(&doc->block, list, 1);
        doc_add(doc, ": ");
        comparison_names_words(&doc->block, json_object_get(only, "fields"), NAMES_SHOWN);
        doc_end(doc, NULL);
        return;
    }
    doc_add(doc, "%s* (%zu, each by itself):", family, count);
    EACH(factor, list)
        if (factor_at < NAMES_SHOWN)
            doc_add(doc, "%s %s", factor_at ? "," : "", member_text(factor, "factor") + common);
    if (count > NAMES_SHOWN)
        doc_add(doc, " and %zu more", count - NAMES_SHOWN);
    doc_end(doc, NULL);
}

/* A condition is known to be another; one that is not known is only named. */
static bool has_other_conditions(const json_t *judgement)
{
    EACH(field, json_object_get(judgement, "fields"))
        if (!strcmp(member_text(field, "class"), "controlled") &&
            !strcmp(member_text(field, "state"), "differs"))
            return true;
    return false;
}

/* The one factor, or that there are several; `shown`: a difference was found, which has a cause. */
static void say_cause(struct doc *doc, const json_t *judgement, bool shown)
{
    const json_t *factors = json_object_get(judgement, "factors");

    if (json_array_size(factors) == 0) {
        doc_say(doc, NULL, "Nothing that the comparison could be about differs%s",
                has_other_conditions(judgement) ? "; of the conditions named above some do"
                                                : ": a against itself");
    } else if (!shown) {
        doc_say(doc, NULL, "They differ in:");
    } else if (json_is_string(json_object_get(judgement, "attribution"))) {
        doc_add(doc, "Attributed to: ");
        if (member_size(judgement, "brought") > 0)
            comparison_names_words(&doc->block, factors, 1);
        else /* what it is in both stands with its fields */
            doc_add(doc, "%s", member_text(judgement, "attribution"));
        if (has_other_conditions(judgement))
            doc_add(doc, ", unless one of the conditions that differ made it");
        doc_end(doc, NULL);
    } else {
        doc_say(doc, NULL,
                "Confounded: several factors differ, so the difference is attributed to none of "
                "them:");
    }
}

static void say_attribution(struct doc *doc, const json_t *judgement, bool shown)
{
    const json_t *factors = json_object_get(judgement, "factors");
    const json_t *brought = json_object_get(judgement, "brought");
    json_auto_t *families = NULL;
    json_t *list;
    const char *family;

    say_cause(doc, judgement, shown);
    doc_open(doc, DOC_DETAILS, NULL);
    if (json_array_size(factors) == 1 && json_array_size(brought) > 0) {
        if (!shown) {
            comparison_names_words(&doc->block, factors, 1);
            doc_end(doc, NULL);
        }
        doc_say(doc, NULL, "which brought with it:");
        factors = brought;
    }
    families = families_of(factors);
    json_object_foreach(families, family, list) say_family(doc, family, list);
    doc_close(doc);
}

/* One line a run while they are few; else what each of them takes from b, by families. */
static void say_separating_runs(struct doc *doc, const struct stored_comparison *comparison)
{
    const json_t *factors = json_object_get(comparison->judgement, "factors");
    json_auto_t *runs = NULL, *families = NULL;
    const char *family, *before = "";
    json_t *list;

    if (json_array_size(factors) <= RUNS_LISTED) {
        runs = stored_comparison_separating_runs(comparison);
        say_list(doc, "Isolating runs:", runs);
        return;
    }
    doc_say(doc, NULL, "The %zu isolating runs: everything as in a, with one of these of b",
            json_array_size(factors));
    doc_open(doc, DOC_DETAILS, NULL);
    families = families_of(factors);
    json_object_foreach(families, family, list)
    {
        if (json_array_size(list) == 1)
            doc_add(doc, "%s%s", before, member_text(json_array_get(list, 0), "factor"));
        else
            doc_add(doc, "%sone of %zu %s*", before, json_array_size(list), family);
        before = ", ";
    }
    doc_end(doc, NULL);
    doc_close(doc);
}

static void add_value(struct doc *doc, const json_t *value)
{
    AUTO_FREE char *plain =
        value && !json_is_null(value) ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

    if (plain && strlen(plain) > 40)
        memcpy(plain + 37, "...", 4);
    doc_add(doc, "%s", plain ? plain : "unknown");
}

static void say_fields(struct doc *doc, const json_t *judgement)
{
    static const struct doc_column columns[] = {{"class", 0}, {"state", 0}, {"field: a | b", 0}};

    doc_heading(doc, 3, NULL, "Every field, its class and what it came to");
    doc_table(doc, NULL, columns, sizeof(columns) / sizeof(*columns));
    EACH(field, json_object_get(judgement, "fields")) {
        const char *state = member_text(field, "state");

        doc_add(doc, "%s\t%s\t%s", member_text(field, "class"), state, member_text(field, "field"));
        if (strcmp(state, "same") != 0) {
            doc_add(doc, ": ");
            add_value(doc, json_object_get(field, "a"));
            doc_add(doc, " | ");
            add_value(doc, json_object_get(field, "b"));
        }
        doc_end(doc, NULL);
    }
    doc_close(doc);
}

/* Whether a difference was found, on which a cause can be sought. */
static bool has_difference(const struct stored_comparison *comparison)
{
    if (!comparison->has_numbers || !comparability_is_evidence(comparison->judgement))
        return false;
    return comparison->figure == COMPARE_TIME
               ? comparison->numbers.differs
               : served_change_verdict(comparison->figure, &comparison->change) < 0;
}

void comparison_view_append(struct doc *doc, const struct stored_comparison *comparison,
                            const struct comparison_arms *arms, bool explain)
{
    const json_t *judgement = comparison->judgement;

    doc_add(doc, "a {code %s}  ", comparison->a);
    text_append(&doc->block, arms->words[0]);
    doc_end(doc, NULL);
    doc_add(doc, "b {code %s}  ", comparison->b);
    text_append(&doc->block, arms->words[1]);
    doc_end(doc, NULL);
    say_verdict(doc, judgement);
    if (comparability_foreign_worker(judgement))
        doc_say(doc, NULL,
                "What the foreign worker measured is as that program reports it: device, times and "
                "checks");
    say_answer(doc, comparison, arms);
    if (strcmp(member_text(judgement, "verdict"), "not_comparable") != 0) {
        say_attribution(doc, judgement, has_difference(comparison));
        say_separating_runs(doc, comparison);
    }
    if (explain)
        say_fields(doc, judgement);
}
