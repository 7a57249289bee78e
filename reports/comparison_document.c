#include "reports/comparison_document.h"

#include <math.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/comparability.h"
#include "protocols/condition.h"
#include "reports/escape.h"

#define NAMES_SHOWN 4  /* in a sentence */
#define FIELDS_SHOWN 8 /* of those that a factor differs in */
#define VALUE_SHOWN 40 /* characters */
#define GIVEN_SHOWN 60 /* of what an arm was given */

/* ---- the answer ---- */

static const json_t *only_factor(const struct stored_comparison *comparison)
{
    const json_t *factors = json_object_get(comparison->judgement, "factors");

    return json_array_size(factors) == 1 ? json_array_get(factors, 0) : NULL;
}

void comparison_side_words(struct text *out, const struct view *view,
                           const struct stored_comparison *comparison, bool is_b)
{
    const struct view_cell *cell = view_find(view, is_b ? comparison->b : comparison->a);
    const json_t *factor = only_factor(comparison);
    const char *name = member_string(factor, "factor");
    const char *value = member_string(factor, is_b ? "b" : "a");
    const bool is_variable = name && !strncmp(name, "variable ", strlen("variable "));
    CLEANUP(text_finish) struct text given = TEXT_INIT, words = TEXT_INIT;

    if (cell)
        view_append_settings(cell, &given);
    if (given.length == 0 && name && value)
        text_append_format(&given, is_variable ? " %s=%s" : " %s %s",
                           is_variable ? name + strlen("variable ") : name, value);
    doc_phrase(out, "{bold %s", is_b ? "b" : "a");
    if (given.length > 0) {
        escape_terminal_short(&words, given.data + 1, GIVEN_SHOWN);
        doc_phrase(out, " (%s)", words.data);
    }
    doc_phrase(out, "}");
    out->failed = out->failed || given.failed || words.failed;
}

/* The one name of each refusal; NULL: there is an answer. */
static const char *refusal_of(const struct stored_comparison *comparison, const char **ret_why)
{
    *ret_why = comparability_why_no_evidence(comparison->judgement);
    if (*ret_why && !comparison->has_numbers)
        return "The two do not compare";
    *ret_why = comparison->why.message;
    return comparison->has_numbers ? NULL : "No answer";
}

static void say_answer(struct doc *doc, const struct view *view,
                       const struct stored_comparison *comparison, const char *look)
{
    const struct view_cell *a = view_find(view, comparison->a), *b = view_find(view, comparison->b);
    const char *why, *refusal = refusal_of(comparison, &why);
    CLEANUP(text_finish) struct text base = TEXT_INIT, other = TEXT_INIT, conditions = TEXT_INIT;

    if (refusal) {
        doc_say(doc, look, "%s: %s.", refusal, why[0] ? why : NULL);
        return;
    }
    comparison_side_words(&base, view, comparison, false);
    comparison_side_words(&other, view, comparison, true);
    comparison_answer_words(&doc->block, comparison, other.data, base.data);
    if (a && b && a->workload && b->workload && !strcmp(a->workload, b->workload))
        doc_add(doc, text_same(a->precision, b->precision) ? " on %.60s %.20s" : " on %.60s",
                b->workload, b->precision ? b->precision : "");
    if (!strcmp(member_text(comparison->judgement, "verdict"), "exploratory"))
        doc_add(doc, ", exploratory and no evidence");
    condition_append(&conditions, comparison->conditions);
    if (conditions.length > 0)
        doc_add(doc, ", under %s, which can turn it", conditions.data);
    doc->out->failed |= base.failed || other.failed || conditions.failed;
    doc_say(doc, look, ".");
}

/*
 * A ratio may be shown although an arm was too short for a figure of its own: that must be visible.
 */
static void say_no_figure(struct doc *doc, const struct view_cell *a, const struct view_cell *b)
{
    enum metric_id id;
    const bool has_a = !a || view_headline(a, &id), has_b = !b || view_headline(b, &id);

    if (!has_a || !has_b)
        doc_say(doc, NULL,
                "%s figure of its own, for the reason below: the ratio is of those trials that "
                "count",
                !has_a && !has_b ? "neither has a"
                : !has_a         ? "a has no"
                                 : "b has no");
}

/* What stands between the answer and a decision on it, and what to do. */
static void say_limits(struct doc *doc, const struct view *view,
                       const struct stored_comparison *comparison)
{
    const struct comparison *numbers = &comparison->numbers;
    const json_t *reasons = json_object_get(comparison->judgement, "reasons");
    CLEANUP(text_finish) struct text order = TEXT_INIT, needed = TEXT_INIT;
    const size_t before = doc->out->length;
    size_t opened;
    bool is_empty;

    doc_open(doc, DOC_DETAILS, NULL);
    opened = doc->out->length;
    for (size_t i = 1; i < json_array_size(reasons); i++)
        doc_say(doc, NULL, "%s",
                comparability_reason_words(json_string_value(json_array_get(reasons, i))));
    if (json_array_size(comparison->conditions) > 0 && comparison->has_numbers)
        doc_say(doc, NULL,
                "the verdict is of that hour: repeat it at another hour, on an idle machine");
    if (comparison->has_numbers && comparison->figure == COMPARE_TIME) {
        if (numbers->verdict == COMPARE_EQUIVALENT && numbers->differs)
            doc_say(doc, NULL, "the difference is real, and smaller than the margin");
        if (numbers->undetermined)
            comparison_order_words(&order, numbers);
        comparison_append_needed(numbers, &needed);
        say_no_figure(doc, view_find(view, comparison->a), view_find(view, comparison->b));
    }
    if ((comparison->has_numbers || comparison->has_latency) && numbers->no_spread)
        doc_say(doc, NULL, "%s", comparison_alike_words(numbers));
    text_append(&doc->block, order.data);
    if (order.length > 0)
        doc_end(doc, NULL);
    if (needed.length > 0)
        doc_say(doc, NULL, "%s", needed.data);
    if (comparison->note)
        doc_say(doc, NULL, "%s", comparison->note);
    is_empty = doc->out->length == opened;
    doc_close(doc);
    if (is_empty)
        doc_undo(doc, before);
}

void comparison_answer(struct doc *doc, const struct view *view,
                       const struct stored_comparison *comparison, const char *look)
{
    say_answer(doc, view, comparison, look);
    say_limits(doc, view, comparison);
}

void comparison_levels(struct doc *doc, const struct view *view,
                       const struct stored_comparison *comparison, bool with_ids)
{
    const char *const results[] = {comparison->a, comparison->b};
    const struct view_cell *const cells[] = {view_find(view, results[0]),
                                             view_find(view, results[1])};
    CLEANUP(text_finish) struct text a = TEXT_INIT, b = TEXT_INIT;
    bool is_same;

    if (!cells[0] || !cells[1])
        return;
    comparison_arm_words(&a, cells[0]);
    comparison_arm_words(&b, cells[1]);
    is_same = text_same(a.data, b.data);
    doc_open(doc, DOC_FACTS, "facts");
    for (int i = 0; i < 2; i++) {
        doc_add(doc, with_ids ? "%s {code %s}\t" : "%s\t", i ? "b" : "a", results[i]);
        comparison_level_words(&doc->block, cells[i]);
        if (!is_same) {
            doc_add(doc, "; ");
            text_append(&doc->block, i ? b.data : a.data);
        }
        doc_end(doc, NULL);
    }
    if (is_same && with_ids) {
        doc_add(doc, "both\t");
        text_append(&doc->block, a.data);
        doc_end(doc, NULL);
    }
    doc_close(doc);
}

/* ---- what they differ in ---- */

/* What a factor is known by on one side; else what its one field has there. */
static void append_value(struct text *out, const json_t *judgement, const json_t *factor,
                         const char *side)
{
    const json_t *fields = json_object_get(factor, "fields");
    const char *name =
        json_array_size(fields) == 1 ? json_string_value(json_array_get(fields, 0)) : NULL;
    const json_t *value = json_object_get(factor, side);
    AUTO_FREE char *dump = NULL;

    EACH(field, json_object_get(judgement, "fields")) {
        const char *own = member_string(field, "field");

        if ((!value || json_is_null(value)) && name && own && !strcmp(name, own))
            value = json_object_get(field, side);
    }
    if (value && !json_is_string(value) && !json_is_null(value))
        dump = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    doc_phrase(out, "\t%.200s", dump ? dump : json_string_value(value));
}

static void add_factors(struct text *rows, const json_t *judgement, const char *member)
{
    EACH(factor, json_object_get(judgement, member)) {
        CLEANUP(text_finish) struct text row = TEXT_INIT;

        doc_phrase(&row, "%s", member_string(factor, "factor"));
        append_value(&row, judgement, factor, "a");
        append_value(&row, judgement, factor, "b");
        doc_phrase(&row, "\t{soft ");
        comparison_names_words(&row, json_object_get(factor, "fields"), FIELDS_SHOWN);
        doc_phrase(&row, "}\x1e");
        if (!strstr(rows->data, row.data))
            text_append(rows, row.data);
        rows->failed = rows->failed || row.failed;
    }
}

void comparison_add_factors(struct text *rows, const json_t *judgement)
{
    add_factors(rows, judgement, "factors");
    add_factors(rows, judgement, "brought");
}

void comparison_factors(struct doc *doc, const struct text *rows)
{
    static const struct doc_column columns[] = {{"Subject", DOC_NAME},
                                                {"a", DOC_BREAK | DOC_LABELLED},
                                                {"b", DOC_BREAK | DOC_LABELLED},
                                                {"Fields that differ", DOC_BREAK}};

    doc_table(doc, "tight stacked", columns, sizeof(columns) / sizeof(*columns));
    for (const char *row = rows->data, *end; (end = strchr(row, '\x1e')) != NULL; row = end + 1) {
        text_append_bytes(&doc->block, row, (size_t)(end - row));
        doc_end(doc, NULL);
    }
    doc_close(doc);
    doc->out->failed = doc->out->failed || rows->failed;
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

/* A condition is known to be another; one that is not known is only named. */
static bool has_other_conditions(const json_t *judgement)
{
    EACH(field, json_object_get(judgement, "fields"))
        if (!strcmp(member_text(field, "class"), "controlled") &&
            !strcmp(member_text(field, "state"), "differs"))
            return true;
    return false;
}

void comparison_cause(struct doc *doc, const struct stored_comparison *comparison)
{
    const json_t *judgement = comparison->judgement;
    const json_t *factors = json_object_get(judgement, "factors");
    const json_t *brought = json_object_get(judgement, "brought");
    const bool several = json_array_size(factors) > 1, shown = has_difference(comparison);

    if (json_array_size(factors) == 0) {
        doc_add(doc, "Nothing that the comparison could be about differs%s.",
                has_other_conditions(judgement) ? "; of the conditions named below some do"
                                                : ": a against itself");
        return;
    }
    doc_add(doc, shown && !several ? "Attributed to: " : "They differ in ");
    comparison_names_words(&doc->block, factors, NAMES_SHOWN);
    if (!several && json_array_size(brought) > 0) {
        doc_add(doc, ", which brought with it ");
        comparison_names_words(&doc->block, brought, NAMES_SHOWN);
    }
    if (several && shown)
        doc_add(doc, ", attributed to none of them (confounded)");
    else if (shown && has_other_conditions(judgement))
        doc_add(doc, ", unless one of the conditions that differ made it");
    if (several)
        doc_add(doc, "; a run with everything as in a and one of these of b isolates it");
    doc_add(doc, ".");
}

void comparison_attribution(struct doc *doc, const struct stored_comparison *comparison)
{
    CLEANUP(text_finish) struct text rows = TEXT_INIT;

    if (!comparison->judgement ||
        !strcmp(member_text(comparison->judgement, "verdict"), "not_comparable"))
        return;
    comparison_add_factors(&rows, comparison->judgement);
    comparison_cause(doc, comparison);
    if (rows.length == 0) {
        doc_end(doc, NULL);
        return;
    }
    doc_open(doc, DOC_FOLD, NULL);
    comparison_factors(doc, &rows);
    doc_close(doc);
}

/* ---- conditions ---- */

static const json_t *field_of(const json_t *judgement, const json_t *name)
{
    EACH(field, json_object_get(judgement, "fields"))
        if (json_equal(json_object_get(field, "field"), name))
            return field;
    return NULL;
}

/* How the two stand in a field that should have been known and equal. */
enum standing { DIFFERS, KNOWN_OF_ONE, KNOWN_OF_NONE, MARKED, STANDINGS };

static const char *const standings[STANDINGS] = {[DIFFERS] = "differing",
                                                 [KNOWN_OF_ONE] = "known of one alone",
                                                 [KNOWN_OF_NONE] = "unknown on both",
                                                 [MARKED] = "marking both"};

static enum standing standing_of(const json_t *field)
{
    const char *state = member_text(field, "state");

    if (!strcmp(state, "differs"))
        return DIFFERS;
    if (!strcmp(state, "same"))
        return MARKED;
    return json_equal(json_object_get(field, "a"), json_object_get(field, "b")) ? KNOWN_OF_NONE
                                                                                : KNOWN_OF_ONE;
}

/* As comparison_names_words takes them: with what they are on both sides. */
static json_t *with_values(const json_t *field, const json_t *name)
{
    json_t *entry = json_pack("{s:O}", "factor", name);

    for (const char *side = "a"; side; side = *side == 'a' ? "b" : NULL) {
        const json_t *value = json_object_get(field, side);
        const bool is_known = value && !json_is_null(value);
        AUTO_FREE char *dump =
            json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        CLEANUP(text_finish) struct text words = TEXT_INIT;

        escape_terminal_short(&words,
                              !is_known ? "unknown"
                              : dump    ? dump
                                        : json_string_value(value),
                              VALUE_SHOWN);
        json_object_set_new(entry, side, json_string(words.data));
    }
    return entry;
}

/* Those of one standing that the verdict excepts. New array. */
static json_t *names_of(const json_t *judgement, enum standing standing)
{
    json_t *names = json_array();

    EACH(name, json_object_get(judgement, "except")) {
        const json_t *field = field_of(judgement, name);

        if (standing_of(field) == standing && standing == DIFFERS)
            json_array_append_new(names, with_values(field, name));
        else if (standing_of(field) == standing)
            json_array_append(names, (json_t *)(uintptr_t)name);
    }
    return names;
}

/* ", except: x (1 -> 2) differing; 3 readings unknown on both": what is only not known is counted.
 */
static void add_exceptions(struct doc *doc, const json_t *judgement)
{
    const char *before = ", except: ";

    for (size_t i = 0; i < STANDINGS; i++) {
        json_auto_t *names = names_of(judgement, (enum standing)i);
        const size_t count = json_array_size(names);

        if (count == 0)
            continue;
        doc_add(doc, "%s", before);
        if (i == KNOWN_OF_ONE || i == KNOWN_OF_NONE)
            doc_add(doc, "%zu reading%s", count, count == 1 ? "" : "s");
        else
            comparison_names_words(&doc->block, names, NAMES_SHOWN);
        doc_add(doc, " %s", standings[i]);
        before = "; ";
    }
}

static void say_foreign_worker(struct doc *doc, const json_t *judgement)
{
    const char *worker = comparability_foreign_worker(judgement);

    if (worker)
        doc_say(doc, "care",
                "Measured by another program than assay's own worker, {code %s}: device, times and "
                "checks are as it reports them.",
                worker);
}

void comparison_conditions(struct doc *doc, const struct stored_comparison *comparison)
{
    const json_t *judgement = comparison->judgement;
    const bool is_evidence = comparability_is_evidence(judgement);

    say_foreign_worker(doc, judgement);
    if (!is_evidence && strcmp(member_text(judgement, "verdict"), "exploratory") != 0)
        return;
    doc_add(doc, is_evidence ? "Comparable"
                             : "Exploratory: by protocol no evidence, of the same machine, and no "
                               "gate passes on it; alike");
    add_exceptions(doc, judgement);
    doc_add(doc, ".");
    if (json_array_size(json_object_get(judgement, "except")) == 0) {
        doc_end(doc, NULL);
        return;
    }
    doc_open(doc, DOC_FOLD, NULL);
    for (size_t i = 0; i < STANDINGS; i++) {
        json_auto_t *names = names_of(judgement, (enum standing)i);

        if (json_array_size(names) == 0)
            continue;
        doc_add(doc, "%s: ", standings[i]);
        comparison_names_words(&doc->block, names, SIZE_MAX);
        doc_end(doc, "wrap soft");
    }
    doc_close(doc);
}

/* ---- how sure ---- */

/* A server's change, and what it rests on. */
static void add_change(struct doc *doc, const struct stored_comparison *comparison)
{
    comparison_change_words(&doc->block, comparison);
    if (comparison->change.pairs > 0)
        doc_add(doc, ", by the differences of %zu pairs with the same arrivals",
                comparison->change.pairs);
    else
        doc_add(doc, "%s",
                comparison->paired ? ", by the intervals of both arms, taken for independent"
                                   : ", not paired: drift between the two is not controlled");
}

static void say_ratio_tests(struct doc *doc, const struct comparison *numbers)
{
    CLEANUP(text_finish) struct text order = TEXT_INIT;

    if (!numbers->no_spread && numbers->rounding > 0)
        doc_say(doc, NULL,
                "the values are rounded in steps as wide as their spread: the interval is wider by "
                "%.2g %%",
                100 * numbers->rounding);
    comparison_order_words(&order, numbers);
    text_append(&doc->block, order.data);
    if (order.length > 0)
        doc_end(doc, NULL);
    if (numbers->family > 1) {
        comparison_family_words(&doc->block, numbers);
        doc_end(doc, NULL);
    } else if (isfinite(numbers->p_difference) && isfinite(numbers->p_equivalence)) {
        doc_say(doc, NULL,
                "p %.2g of no difference, %.2g of one beyond the margin of %.4g %%; t with %.3g "
                "degrees of freedom",
                numbers->p_difference, numbers->p_equivalence, 100 * numbers->margin, numbers->df);
    }
    doc->out->failed |= order.failed;
}

/* What the ratio is of, so that more than 1 is slower: of a rate that a program counts, a/b. */
static void add_ratio_of(struct doc *doc, const struct view *view,
                         const struct stored_comparison *comparison)
{
    const struct view_cell *cell = view ? view_find(view, comparison->a) : NULL;
    struct view_figure figure;
    enum metric_id id;

    if (cell && view_headline(cell, &id) && metric_is_counted(id) &&
        view_headline_figure(cell, &figure))
        doc_add(doc, "%s %s ", figure.unit, id == METRIC_COUNTED_RATE ? "a/b" : "b/a");
    else
        doc_add(doc, "time b/a ");
}

void comparison_certainty(struct doc *doc, const struct view *view,
                          const struct stored_comparison *comparison)
{
    const struct comparison *numbers = &comparison->numbers;
    const bool is_time = comparison->figure == COMPARE_TIME;
    const char *centre = numbers->centre == ESTIMATE_MEDIAN ? "by the trials' medians " : "";

    if (!comparison->has_numbers && !comparison->has_latency)
        return;
    doc_add(doc, "{bold How sure:} ");
    if (is_time) {
        add_ratio_of(doc, view, comparison);
        doc_add(doc, "%s", centre);
        comparison_ratio_words(&doc->block, numbers, comparison->pairs.planned);
    } else if (comparison->has_numbers)
        add_change(doc, comparison);
    else
        doc_add(doc, "no interval of the %s", compare_figure_name(comparison->figure));
    doc_add(doc, ".");
    doc_open(doc, DOC_FOLD, NULL);
    if (comparison->has_latency) {
        doc_add(doc, "mean latency of the requests that ended well, b/a ");
        comparison_ratio_words(&doc->block, numbers, comparison->pairs.planned);
        doc_end(doc, NULL);
    }
    if (is_time || comparison->has_latency)
        say_ratio_tests(doc, numbers);
    doc_close(doc);
}

/* ---- every field ---- */

void comparison_fields(struct doc *doc, const struct stored_comparison *comparison)
{
    static const struct doc_column columns[] = {{"class", 0}, {"state", 0}, {"field (a -> b)", 0}};

    doc_heading(doc, 3, NULL, "Every field, its class and what it came to");
    doc_table(doc, NULL, columns, sizeof(columns) / sizeof(*columns));
    EACH(field, json_object_get(comparison->judgement, "fields")) {
        json_auto_t *entry = json_pack("[o]", with_values(field, json_object_get(field, "field")));

        doc_add(doc, "%s\t%s\t", member_text(field, "class"), member_text(field, "state"));
        comparison_names_words(&doc->block, entry, 1);
        doc_end(doc, NULL);
    }
    doc_close(doc);
}
