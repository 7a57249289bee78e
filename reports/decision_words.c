#include "reports/decision_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/finding.h"
#include "reports/view.h"
#include "results/analysis/acceptance.h"

static void append_digits(struct text *out, double value)
{
    char shown[NUMBER_SIZE];

    doc_phrase(out, "%s", isfinite(value) ? number_format_digits(value, 4, shown) : "?");
}

/* "a, b and c" of the options of this standing; how many. */
static size_t append_options(struct text *out, const json_t *body, const char *standing)
{
    size_t count = 0, seen = 0;

    EACH(option, json_object_get(body, "options"))
        count += !strcmp(member_text(option, "standing"), standing);
    EACH(option, json_object_get(body, "options")) {
        if (strcmp(member_text(option, "standing"), standing) != 0)
            continue;
        doc_phrase(out, "%s%s",
                   seen == 0           ? ""
                   : seen + 1 == count ? " and "
                                       : ", ",
                   member_text(option, "name"));
        seen++;
    }
    return count;
}

void decision_question_words(struct text *out, const json_t *body)
{
    const char *asked = member_text(json_object_get(body, "decision"), "question");

    if (asked[0])
        doc_phrase(out, "%s", asked);
    else
        doc_phrase(out, "Which of %zu options meets what is required, and is dominated by none?",
                   member_size(body, "options"));
}

/* After `before`: "goodput at least 40 requests/s is missed by all; the contract tender is missed
 * by a, b" */
static void append_missed(struct text *out, const json_t *body, const char *before)
{
    const json_t *required = member_in(body, "decision", "requirements");
    const json_t *options = json_object_get(body, "options");
    bool is_first = true;

    EACH(requirement, required) {
        struct text names = TEXT_INIT;
        size_t count = 0;

        EACH(option, options) {
            const json_t *met =
                json_array_get(json_object_get(option, "requirements"), requirement_at);

            if (!strcmp(member_text(met, "verdict"), "missed"))
                doc_phrase(&names, "%s%s", count++ ? ", " : "", member_text(option, "name"));
        }
        if (count > 0 && text_ok(&names)) {
            doc_phrase(out, "%s", is_first ? before : "; ");
            decision_requirement_words(out, requirement);
            doc_phrase(out, " is missed by %s",
                       count == json_array_size(options) ? "all" : names.data);
            is_first = false;
        }
        out->failed |= names.failed;
        text_finish(&names);
    }
}

/* The options that are not the answer, and why. */
static void append_rest(struct text *out, const json_t *body)
{
    CLEANUP(text_finish) struct text names = TEXT_INIT;
    size_t count;

    count = append_options(&names, body, "dominated");
    if (count > 0)
        doc_phrase(out, "; %s %s better in nothing and worse in something", names.data,
                   count == 1 ? "is" : "are");
    append_missed(out, body, "; ");
    out->failed |= names.failed;
}

/* Of an option that no number of trials of its kind makes fit. */
static bool any_unfit(const json_t *body)
{
    EACH(option, json_object_get(body, "options"))
        if (member_text(option, "reason")[0])
            return true;
    return false;
}

void decision_answer_words(struct text *out, const json_t *body)
{
    const char *verdict = member_text(body, "verdict");
    const size_t required = member_size(json_object_get(body, "decision"), "requirements");
    const char *meets = required > 1 ? ", which meet all requirements"
                        : required   ? ", which meet the requirement"
                                     : "";

    if (!strcmp(verdict, "none")) {
        doc_phrase(out, "No option meets what is required");
        append_missed(out, body, ": ");
    } else if (!strcmp(verdict, "decided")) {
        append_options(out, body, "not_dominated");
        doc_phrase(out, required ? ": it meets what is required, and no other that does is better "
                                   "in anything that counts"
                                 : ": no other is better in anything that counts");
        append_rest(out, body);
    } else if (!strcmp(verdict, "trade_off")) {
        doc_phrase(out, "No single answer: ");
        append_options(out, body, "not_dominated");
        doc_phrase(out, " remain%s, and none of them dominates another", meets);
        append_rest(out, body);
    } else {
        CLEANUP(text_finish) struct text names = TEXT_INIT;
        size_t count;

        doc_phrase(out, "Open: what was measured does not tell");
        count = append_options(&names, body, "not_separable");
        if (count > 0)
            doc_phrase(out, " how %s stand%s to the others", names.data, count == 1 ? "s" : "");
        else
            doc_phrase(out, " whether all that is required is met");
        doc_phrase(out, any_unfit(body)
                            ? "; results that are fit to decide by would, which some of these are "
                              "not"
                            : "; longer or more trials would");
        append_rest(out, body);
        out->failed |= names.failed;
    }
    doc_phrase(out, ".");
}

/* ---- figures ---- */

static void append_name(struct text *out, const char *name)
{
    const enum metric_id metric = metric_find(name);

    if (metric < METRIC_COUNT)
        doc_phrase(out, "%s", metrics[metric].label);
    else
        doc_spaced(out, name);
}

void decision_figure_name(struct text *out, const json_t *figure)
{
    append_name(out, member_text(figure, "name"));
}

/* `value`: the largest that is shown. */
static struct number_unit unit_for(enum metric_id metric, double value, const char *unit)
{
    struct metric_value scaled = {.value = value};
    struct number_unit plain = {.factor = 1};

    snprintf(scaled.unit, sizeof(scaled.unit), "%s", unit);
    if (metric < METRIC_COUNT)
        return view_metric_unit(metric, &scaled);
    snprintf(plain.name, sizeof(plain.name), "%.8s", unit);
    return plain;
}

struct number_unit decision_figure_unit(const json_t *body, size_t index)
{
    const json_t *figure = json_array_get(json_object_get(body, "figures"), index);
    double largest = 0;

    EACH(option, json_object_get(body, "options")) {
        const double value =
            member_number(json_array_get(json_object_get(option, "figures"), index), "value");

        largest = value > largest ? value : largest;
    }
    return unit_for(metric_find(member_text(figure, "name")), largest, member_text(figure, "unit"));
}

void decision_range_words(struct text *out, const json_t *range, const struct number_unit *unit)
{
    const double value = member_number(range, "value"), lo = member_number(range, "lo"),
                 hi = member_number(range, "hi");

    append_digits(out, value / unit->factor);
    doc_phrase(out, "%s%s", *unit->name ? " " : "", unit->name);
    if (isfinite(lo + hi) && hi > lo) {
        doc_phrase(out, " [");
        append_digits(out, lo / unit->factor);
        doc_phrase(out, ", ");
        append_digits(out, hi / unit->factor);
        doc_phrase(out, "]");
    } else if (!isfinite(lo + hi)) {
        doc_phrase(out, " without an interval");
    }
}

/* ---- requirements ---- */

void decision_requirement_words(struct text *out, const json_t *requirement)
{
    const json_t *contract = json_object_get(requirement, "contract");
    const char *most = member_text(requirement, "at_most");

    if (contract) {
        doc_phrase(out, "the contract %s", member_text(contract, "contract"));
        return;
    }
    append_name(out, member_text(requirement, "figure"));
    doc_phrase(out, " at %s %s", most[0] ? "most" : "least",
               most[0] ? most : member_text(requirement, "at_least"));
}

void decision_met_words(struct text *out, const json_t *met)
{
    const double margin = member_number(met, "margin");
    char shown[NUMBER_SIZE];

    doc_phrase(out, "%s", member_text(met, "verdict"));
    if (isfinite(margin))
        doc_phrase(out, ", %s %s", margin < 0 ? "beyond it by" : "by",
                   number_format_percent(fabs(margin), shown));
}

void decision_peak_words(struct text *out, const json_t *sheet, const json_t *peak)
{
    const json_t *rows = json_object_get(sheet, "rows");
    const struct number_unit unit =
        unit_for(metric_find(member_text(peak, "metric")), member_number(peak, "peak"),
                 member_text(peak, "unit"));
    char shown[NUMBER_SIZE];

    doc_phrase(out, "%s of the declared peak of ",
               number_format_percent(member_number(peak, "share"), shown));
    append_digits(out, member_number(peak, "peak") / unit.factor);
    doc_phrase(out, " %s", unit.name);
    EACH(row, rows)
        if (json_equal(json_object_get(row, "line"), json_object_get(peak, "line")))
            doc_phrase(out, " (%s, %s)", member_text(row, "source"), member_text(row, "retrieved"));
}

void decision_note_words(struct text *out, const json_t *body, const json_t *note)
{
    const json_t *line = json_object_get(note, "line");

    (void)body;
    EACH(name, json_object_get(note, "options"))
        doc_phrase(out, "%s%s", name_at ? ", " : "", json_string_value(name));
    if (json_is_integer(line))
        doc_phrase(out, ": line %lld", (long long)json_integer_value(line));
    doc_phrase(out, ": %s", member_text(note, "text"));
}

/* ---- changes ---- */

/* The row of the price sheet that is changed; NULL: another thing is. */
static const json_t *row_of(const json_t *body, const json_t *change)
{
    const json_t *rows = member_in(body, "prices", "rows");

    EACH(row, rows)
        if (!strcmp(member_text(change, "what"), "price") &&
            json_equal(json_object_get(row, "line"), json_object_get(change, "line")))
            return row;
    return NULL;
}

/* Such an amount is in the record, and not in words. */
static bool is_confidential(const json_t *body, const json_t *change)
{
    return !strcmp(member_text(row_of(body, change), "confidential"), "yes");
}

static void append_subject(struct text *out, const json_t *body, const json_t *change)
{
    const json_t *row = row_of(body, change);
    const char *what = member_text(change, "what");
    const enum metric_id metric = metric_find(member_text(change, "metric"));

    if (row) {
        doc_phrase(out, "the price in line %lld (%s, %s)", member_integer(change, "line"),
                   member_text(row, "item"), member_text(row, "kind"));
    } else if (!strcmp(what, "metric")) {
        doc_phrase(out, "the %s of %s, and its interval,",
                   metric < METRIC_COUNT ? metrics[metric].label : member_text(change, "metric"),
                   member_text(change, "option"));
    } else if (!strcmp(what, "margin")) {
        doc_phrase(out, "the margin within which differences do not count");
    } else {
        const json_t *list = member_in(body, "decision", "requirements");

        doc_phrase(out, "the limit of ");
        decision_requirement_words(
            out, json_array_get(list, (size_t)member_integer(change, "requirement")));
    }
}

static enum metric_id metric_of_change(const json_t *body, const json_t *change)
{
    const json_t *list = member_in(body, "decision", "requirements");
    const size_t index = (size_t)member_integer(change, "requirement");

    return !strcmp(member_text(change, "what"), "limit")
               ? metric_find(member_text(json_array_get(list, index), "figure"))
               : metric_find(member_text(change, "metric"));
}

/* "39 % more", "4.3 times as much", "0.2 times as much". */
static void append_factor(struct text *out, double factor)
{
    char shown[NUMBER_SIZE];

    if (factor > 0.5 && factor < 2)
        doc_phrase(out, "%s %s", number_format_percent(fabs(factor - 1), shown),
                   factor > 1 ? "more" : "less");
    else
        doc_phrase(out, "%s times as much", number_format_digits(factor, 2, shown));
}

/* What it is now, of the option of this name; "": there is none. */
static const char *standing_of(const json_t *body, const char *name)
{
    EACH(option, json_object_get(body, "options"))
        if (!strcmp(member_text(option, "name"), name))
            return member_text(option, "standing");
    return "";
}

/* "misses goodput at least 40 requests/s": by the requirement that the change is of, if one is. */
static void append_missed_by(struct text *out, const json_t *body, const json_t *change)
{
    const json_t *list = member_in(body, "decision", "requirements");
    const json_t *found = NULL;
    size_t count = 0;

    if (!strcmp(member_text(change, "what"), "limit")) {
        doc_phrase(out, "misses it");
        return;
    }
    EACH(requirement, list)
        if (!strcmp(member_text(requirement, "figure"), member_text(change, "metric"))) {
            found = requirement;
            count++;
        }
    doc_phrase(out, "misses ");
    if (count == 1)
        decision_requirement_words(out, found);
    else
        doc_phrase(out, "a requirement");
}

static void append_then(struct text *out, const json_t *body, const json_t *change,
                        const json_t *then)
{
    const char *option = member_text(then, "option"), *standing = member_text(then, "standing");
    const bool was_open = !strcmp(standing_of(body, option), "not_separable");

    doc_phrase(out, "%s ", option);
    if (!strcmp(standing, "infeasible"))
        append_missed_by(out, body, change);
    else if (!strcmp(standing, "not_dominated"))
        doc_phrase(out, was_open ? "is ruled out by none" : "is no longer ruled out");
    else
        doc_phrase(out, !strcmp(standing, "dominated") ? "is ruled out by a better one"
                                                       : "may be as good");
}

void decision_change_words(struct text *out, const json_t *body, const json_t *change)
{
    const double now = member_number(change, "now"), factor = member_number(change, "factor");
    const struct number_unit unit =
        unit_for(metric_of_change(body, change), now, member_text(change, "unit"));

    append_subject(out, body, change);
    if (is_confidential(body, change)) {
        doc_phrase(out, " ");
        append_factor(out, factor);
    } else {
        doc_phrase(out, " from ");
        append_digits(out, now / unit.factor);
        doc_phrase(out, " to %s than ", factor > 1 ? "more" : "less");
        append_digits(out, now * factor / unit.factor);
        doc_phrase(out, "%s%s, ", *unit.name ? " " : "", unit.name);
        append_factor(out, factor);
    }
    if (member_size(change, "then") == 0) {
        doc_phrase(out, ": the decision is ");
        doc_spaced(out, member_text(change, "verdict"));
    }
    EACH(then, json_object_get(change, "then")) {
        doc_phrase(out, then_at ? ", " : ": ");
        append_then(out, body, change, then);
    }
}

/* Whether it changes which options are left, and not only how one fails. */
static bool is_another_answer(const json_t *body, const json_t *change)
{
    if (strcmp(member_text(change, "verdict"), member_text(body, "verdict")) != 0)
        return true;
    EACH(then, json_object_get(change, "then"))
        if (!strncmp(member_text(then, "standing"), "not_", 4) ||
            !strncmp(standing_of(body, member_text(then, "option")), "not_", 4))
            return true;
    return false;
}

void decision_nearest_changes(const json_t *body, const json_t *ret[DECISION_NEAREST])
{
    static const char *const kinds[][2] = {
        {"price", "price"}, {"metric", "metric"}, {"limit", "margin"}};
    size_t count = 0;

    for (size_t k = 0; k < DECISION_NEAREST; k++) {
        const json_t *best = NULL;
        double least = INFINITY;

        ret[k] = NULL;
        EACH(change, json_object_get(body, "changes")) {
            const char *what = member_text(change, "what");
            const double far = fabs(log(member_number(change, "factor")));

            if ((!strcmp(what, kinds[k][0]) || !strcmp(what, kinds[k][1])) && far < least &&
                is_another_answer(body, change)) {
                least = far;
                best = change;
            }
        }
        if (best)
            ret[count++] = best;
    }
}

/* Why an option decides nothing, and what would. */
static void append_reason(struct text *out, const json_t *option)
{
    const char *reason = acceptance_reason_words(member_text(option, "reason"));

    doc_phrase(out, " %s: %s", member_text(option, "name"), reason);
    if (strstr(reason, "protocol gives no evidence"))
        doc_phrase(out, "; measure it under one that does, such as `standard`, or `serving` for "
                        "what is served under load");
    else if (strstr(reason, "not steady"))
        doc_phrase(out, "; its notes (`assay show`) say what to look for");
    else if (strstr(reason, "own"))
        doc_phrase(out, "; only what assay's own worker measured decides");
    doc_phrase(out, ".");
}

void decision_sure_words(struct text *out, const json_t *body)
{
    size_t left = 0;

    EACH(option, json_object_get(body, "options"))
        left += !strncmp(member_text(option, "standing"), "not_", 4);
    doc_phrase(out, left == 1 ? "it is the answer for every value within the intervals of the "
                                "measurements and the bounds of the prices."
                              : "an option counts as worse than another only where it is so for "
                                "every value within the intervals of the measurements and the "
                                "bounds of the prices.");
    EACH(option, json_object_get(body, "options"))
        if (member_text(option, "reason")[0])
            append_reason(out, option);
    EACH(option, json_object_get(body, "notes")) {
        if (!strcmp(member_text(option, "text"), finding_kinds[FINDING_PRICE_NOT_VALID].words))
            text_append_format(out, " The price in line %lld was not valid on %s.",
                               member_integer(option, "line"),
                               member_text(member_in(body, "decision", "assumptions"), "as_of"));
    }
}
