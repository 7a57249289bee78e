#include "reports/comparison_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/number.h"
#include "harness/core/type.h"
#include "protocols/comparability.h"
#include "protocols/condition.h"
#include "protocols/stats/succession.h"

/* ---- from a record ---- */

struct stored_comparison comparison_from_record(const json_t *body)
{
    const json_t *numbers = json_object_get(body, "comparison");
    const json_t *reproduce = json_object_get(body, "reproduce");
    const json_t *gate = json_object_get(body, "gate"), *served = json_object_get(body, "served");
    const char *by = member_string(json_object_get(body, "by") ? body : gate, "by");
    struct stored_comparison read = {.judgement = json_object_get(body, "comparability"),
                                     .conditions = json_object_get(body, "conditions"),
                                     .has_numbers = json_is_object(numbers) || served,
                                     .note = (char *)(uintptr_t)member_string(body, "note")};

    snprintf(read.a, sizeof(read.a), "%s", member_text(body, "a"));
    snprintf(read.b, sizeof(read.b), "%s", member_text(body, "b"));
    snprintf(read.why.message, sizeof(read.why.message), "%s", member_text(body, "reason"));
    read.figure = by ? compare_figure_find(by) : COMPARE_TIME;
    type_read(&comparison_type, numbers, &read.numbers);
    type_read(&served_change_type, served, &read.change);
    read.numbers.paired = json_object_get(numbers, "pairs") != NULL;
    read.numbers.family = (size_t)member_integer(json_object_get(body, "family_of"), "size");
    if (!reproduce)
        return read;
    /* By the interval that the verdict is based on. */
    type_read(&estimate_interval_type, json_object_get(reproduce, "ratio"), &read.numbers.ratio);
    return read;
}

/* ---- numbers ---- */

/* From here on a change is a multiple; below, percent. */
#define TIMES_FROM 1.5

/* One more than a figure has: the information of a ratio is in the digits after its 1. */
static int digits_of(const struct estimate_interval *ratio)
{
    return ratio->has_interval ? 1 + number_digits(ratio->value, ratio->lo, ratio->hi) : 4;
}

/* How an interval of times b/a is written: of its value's side of 1, as a multiple or in percent.
 */
struct change {
    bool faster, in_times;
    int digits;
};

/* "2.9", of 2.9 times faster; "4.1", of 4.1 % slower. */
static double amount_of(const struct change *change, double ratio)
{
    const double times = ratio < 1 ? 1 / ratio : ratio;

    return change->in_times ? times : 100 * (times - 1);
}

/* The same, below 0 on the other side of 1. */
static double signed_amount(const struct change *change, double ratio)
{
    return (ratio < 1) == change->faster ? amount_of(change, ratio) : -amount_of(change, ratio);
}

/* With three digits at most, or as many as it takes for the ends to read differently. */
static struct change change_of(const struct estimate_interval *ratio)
{
    struct change change = {.faster = ratio->value < 1, .digits = 3};
    char lo[NUMBER_SIZE], hi[NUMBER_SIZE];
    double ends[2];

    change.in_times = fmax(ratio->value, 1 / ratio->value) >= TIMES_FROM;
    if (!ratio->has_interval)
        return change;
    ends[0] = signed_amount(&change, change.faster ? ratio->hi : ratio->lo);
    ends[1] = signed_amount(&change, change.faster ? ratio->lo : ratio->hi);
    change.digits = number_digits(signed_amount(&change, ratio->value), ends[0], ends[1]);
    change.digits = change.digits < 3 ? change.digits : 3;
    while (change.digits < 9 && !strcmp(number_format_digits(ends[0], change.digits, lo),
                                        number_format_digits(ends[1], change.digits, hi)))
        change.digits++;
    return change;
}

static void append_amount(struct text *out, const struct change *change, double ratio)
{
    char number[NUMBER_SIZE];

    doc_phrase(out, "%s", number_format_digits(amount_of(change, ratio), change->digits, number));
}

/* "2.9 times faster", "4.1 % slower" */
static void append_side(struct text *out, const struct change *change, double ratio)
{
    append_amount(out, change, ratio);
    doc_phrase(out, " %s %s", change->in_times ? "times" : "%", ratio < 1 ? "faster" : "slower");
}

/* " [2.7, 3.1]", or with words, where the interval lies on both sides of 1. */
static void append_ends(struct text *out, const struct estimate_interval *ratio)
{
    const struct change change = change_of(ratio);
    const double ends[] = {change.faster ? ratio->hi : ratio->lo,
                           change.faster ? ratio->lo : ratio->hi};

    if (!ratio->has_interval) {
        doc_phrase(out, " {soft without an interval}");
        return;
    }
    for (int i = 0; i < 2; i++) {
        doc_phrase(out, i ? ", " : " [");
        if ((ratio->lo < 1) != (ratio->hi < 1))
            append_side(out, &change, ends[i]);
        else
            append_amount(out, &change, ends[i]);
    }
    doc_phrase(out, "]");
}

void comparison_speed_words(struct text *out, const struct estimate_interval *ratio,
                            bool with_interval)
{
    const struct change change = change_of(ratio);

    if (!isfinite(ratio->value)) {
        doc_phrase(out, "{soft unknown}");
        return;
    }
    append_side(out, &change, ratio->value);
    if (with_interval)
        append_ends(out, ratio);
}

void comparison_ratio_words(struct text *out, const struct comparison *numbers, size_t planned)
{
    const struct estimate_interval *ratio = &numbers->ratio;
    const int digits = digits_of(ratio);
    char value[NUMBER_SIZE], lo[NUMBER_SIZE], hi[NUMBER_SIZE];

    doc_phrase(out, "{bold %s}, ", number_format_digits(ratio->value, digits, value));
    if (ratio->has_interval)
        doc_phrase(out, "%.4g %% interval %s to %s", 100 * numbers->confidence,
                   number_format_digits(ratio->lo, digits, lo),
                   number_format_digits(ratio->hi, digits, hi));
    else
        doc_phrase(out, "without an interval");
    if (numbers->paired && planned > 0)
        doc_phrase(out, ", %zu pairs of %zu planned, side by side in random order",
                   numbers->count_a, planned);
    else if (numbers->paired)
        doc_phrase(out, ", %zu pairs", numbers->count_a);
    else
        doc_phrase(out, ", %zu and %zu trials, not paired: drift between the two is not controlled",
                   numbers->count_a, numbers->count_b);
}

void comparison_p_words(struct text *out, const struct comparison *numbers, bool alone)
{
    const bool equivalence = comparison_tests_equivalence(numbers);
    const double p =
        alone || numbers->family <= 1
            ? (equivalence ? numbers->p_equivalence : numbers->p_difference)
            : (equivalence ? numbers->p_equivalence_family : numbers->p_difference_family);

    if (isnan(p))
        doc_phrase(out, "unknown");
    else
        doc_phrase(out, "%.2g", p);
}

void comparison_family_words(struct text *out, const struct comparison *numbers)
{
    doc_phrase(out, "judged in a family of %zu: %s, p ", numbers->family,
               compare_verdict_name(numbers->verdict));
    comparison_p_words(out, numbers, false);
    doc_phrase(out, " (alone %s, p ", compare_verdict_name(numbers->verdict_alone));
    comparison_p_words(out, numbers, true);
    doc_phrase(out, ")");
}

void comparison_served_words(struct text *out, enum compare_figure figure,
                             const struct served_figure *served)
{
    const double scale = figure == COMPARE_ATTAINMENT ? 100 : 1;
    const bool open = figure == COMPARE_CAPACITY && (isnan(served->lo) || isnan(served->hi));
    const double value = !open ? served->value : isnan(served->hi) ? served->lo : served->hi;
    char number[NUMBER_SIZE];

    doc_phrase(out, "%s%s %s",
               !open               ? ""
               : isnan(served->hi) ? "at least "
                                   : "at most ",
               number_format_digits(scale * value, 4, number),
               figure == COMPARE_ATTAINMENT ? "%" : "/s");
}

static const char *end_of(double value, char ret[NUMBER_SIZE])
{
    return isnan(value) ? "unknown" : number_format_digits(value, 3, ret);
}

void comparison_change_words(struct text *out, const struct stored_comparison *comparison)
{
    const struct served_change *change = &comparison->change;
    const bool is_share = comparison->figure == COMPARE_ATTAINMENT;
    const double scale = is_share ? 100 : 1;
    char value[NUMBER_SIZE], lo[NUMBER_SIZE], hi[NUMBER_SIZE];

    doc_phrase(out, "%s ", compare_figure_name(comparison->figure));
    comparison_served_words(out, comparison->figure, &change->a);
    doc_phrase(out, " -> ");
    comparison_served_words(out, comparison->figure, &change->b);
    doc_phrase(out, ", %s %s%s, %.4g %% interval %s to %s", is_share ? "b - a" : "b/a",
               end_of(scale * change->change.value, value), is_share ? " points" : "",
               100 * change->confidence, end_of(scale * change->change.lo, lo),
               end_of(scale * change->change.hi, hi));
}

void comparison_number_words(struct text *out, const struct stored_comparison *comparison)
{
    if (!comparison->has_numbers)
        doc_phrase(out, "%s", comparison->why.message);
    else if (comparison->figure == COMPARE_TIME)
        comparison_speed_words(out, &comparison->numbers.ratio, true);
    else
        comparison_change_words(out, comparison);
}

/* ---- words ---- */

static void append_served(struct text *out, const struct stored_comparison *comparison,
                          const char *b, const char *a)
{
    const int verdict = served_change_verdict(comparison->figure, &comparison->change);

    doc_phrase(out, "the %s of ", compare_figure_name(comparison->figure));
    text_append(out, b);
    doc_phrase(out, " is %s than that of ",
               verdict > 0   ? "not lower"
               : verdict < 0 ? "lower"
                             : "neither shown to be lower, nor not to be,");
    text_append(out, a);
    doc_phrase(out, " by more than %.4g %%%s", 100 * comparison->change.margin,
               comparison->figure == COMPARE_ATTAINMENT ? " of the requests" : "");
}

void comparison_undecided_words(struct text *out, const json_t *undecided_by)
{
    EACH(one, undecided_by) {
        CLEANUP(text_finish) struct text words = TEXT_INIT;

        condition_append(&words, json_object_get(one, "conditions"));
        doc_phrase(out, "%s under %s in {code %s}", one_at > 0 ? "," : "", words.data,
                   member_text(one, "result"));
    }
}

void comparison_answer_words(struct text *out, const struct stored_comparison *comparison,
                             const char *b, const char *a)
{
    const struct comparison *numbers = &comparison->numbers;
    const struct change change = change_of(&numbers->ratio);

    if (comparison->figure != COMPARE_TIME) {
        append_served(out, comparison, b, a);
        return;
    }
    if (numbers->verdict == COMPARE_INCONCLUSIVE)
        doc_phrase(out, "It is not settled whether ");
    text_append(out, b);
    switch (numbers->verdict) {
    case COMPARE_FASTER:
    case COMPARE_SLOWER:
        doc_phrase(out, " is ");
        append_side(out, &change, numbers->ratio.value);
        doc_phrase(out, " than ");
        text_append(out, a);
        append_ends(out, &numbers->ratio);
        return;
    case COMPARE_EQUIVALENT:
        doc_phrase(out, " is equivalent to ");
        text_append(out, a);
        doc_phrase(out, " within %g %%: ", numbers->margin * 100);
        break;
    case COMPARE_INCONCLUSIVE:
        doc_phrase(out, " is faster or slower than ");
        text_append(out, a);
        doc_phrase(out, ": ");
        break;
    }
    comparison_speed_words(out, &numbers->ratio, true);
}

void comparison_names_words(struct text *out, const json_t *list, size_t most)
{
    const size_t count = json_array_size(list);

    for (size_t i = 0; i < count && i < most; i++) {
        const json_t *entry = json_array_get(list, i);
        const char *string = json_string_value(entry);
        CLEANUP(text_finish) struct text labels = TEXT_INIT;

        doc_phrase(out, "%s%s", i ? ", " : "",
                   string ? comparability_reason_words(string) : member_string(entry, "factor"));
        if (comparability_append_labels(&labels, entry))
            doc_phrase(out, " (%s)", labels.data);
        out->failed = out->failed || labels.failed;
    }
    if (count > most)
        doc_phrase(out, " and %zu more", count - most);
}

/* Begins one of several clauses. */
static void next_clause(struct text *out, size_t start)
{
    if (out->length > start)
        doc_phrase(out, "; ");
}

/* What the verdict assumes of the order, and how much of it could be otherwise. */
static void append_independence(struct text *out, const struct comparison *numbers)
{
    const size_t least = numbers->count_a < numbers->count_b ? numbers->count_a : numbers->count_b;

    doc_phrase(out,
               "%s%s are taken for independent%s: the verdict stands up to a correlation of %.2g "
               "between those that follow each other",
               numbers->family > 1 ? "by itself, " : "", numbers->paired ? "pairs" : "trials",
               least < SUCCESSION_LEAST  ? ", which so few cannot check"
               : least < SUCCESSION_MANY ? ", which so few check poorly"
                                         : "",
               numbers->holds_to);
}

static void append_change(struct text *out, const struct comparison *numbers)
{
    if (numbers->paired)
        doc_phrase(out,
                   "the ratio moved by %+.2g %% from the first pair to the last: the interval "
                   "reaches both ends",
                   100 * numbers->order_change);
    else
        doc_phrase(out,
                   "the levels of a and b moved by %.2g %% together from the first trial to the "
                   "last: the interval reaches all ends",
                   100 * fabs(numbers->order_change));
}

void comparison_order_words(struct text *out, const struct comparison *numbers)
{
    const size_t start = out->length;

    if (numbers->order_change != 0)
        append_change(out, numbers);
    if (numbers->order_correlation != 0) {
        next_clause(out, start);
        doc_phrase(out,
                   "%s that follow each other are alike (correlation %.2g): the interval is of "
                   "this hour, and wider by that",
                   numbers->paired ? "pairs" : "trials", numbers->order_correlation);
    }
    if (numbers->ratio_a_first != 0) {
        next_clause(out, start);
        doc_phrase(out,
                   "b/a is %.4g where a ran first and %.4g where b did, by a change within the "
                   "pair or an arm that profits from the other before it: the interval reaches "
                   "both",
                   numbers->ratio_a_first, numbers->ratio_b_first);
    }
    if (numbers->undetermined)
        doc_phrase(out, "; no verdict stands on that: measure both again at another hour%s",
                   numbers->paired ? "" : ", or in pairs (`assay ab`)");
    if (numbers->holds_to != 0 && numbers->holds_to < SUCCESSION_SURE) {
        next_clause(out, start);
        append_independence(out, numbers);
    }
}

/* ---- rules ---- */

#define RULE_OF_COMPARISONS                                                                        \
    "equivalent within %s; else faster or slower when the interval leaves out 1; else "            \
    "inconclusive"

/* The condition of each answer; `old`: before version 9 of comparisons, where it was another. */
static const struct rule {
    const char *kind, *words, *old;
} rules[] = {
    {"gate",
     "passes when faster, or equivalent within %s; worse when slower with the whole interval "
     "beyond that; else inconclusive",
     "passes when faster, or equivalent within %s; worse when slower, with the ratio beyond that; "
     "else inconclusive"},
    {"attainment",
     "not worse, and a gate passes, when the whole interval of b - a lies above minus %s; worse "
     "when it lies below; else inconclusive",
     NULL},
    {"capacity",
     "not worse, and a gate passes, when the whole interval of b/a lies above 1 less %s; worse "
     "when it lies below; else inconclusive",
     NULL},
    {"attainment again",
     "reproduced when the whole interval of b - a lies within %s either way; not reproduced when "
     "it lies beyond; else inconclusive",
     NULL},
    {"compare", RULE_OF_COMPARISONS, NULL},
    {"ab", RULE_OF_COMPARISONS, NULL},
    {"reproduce",
     "reproduced when equivalent within %s; not reproduced when the whole interval lies beyond "
     "that; else inconclusive",
     "reproduced when equivalent within %s; not reproduced when the interval leaves out 1; else "
     "inconclusive"},
};

void comparison_margin_words(struct text *out, const char *sentence, double margin)
{
    const char *place = strstr(sentence, "%s");
    const size_t length = place ? (size_t)(place - sentence) : strlen(sentence);
    AUTO_FREE char *before = strndup(sentence, length);

    doc_phrase(out, "%s", before ? before : "");
    if (place && isnan(margin))
        doc_phrase(out, "an unknown margin%s", place + 2);
    else if (place)
        doc_phrase(out, "%.4g %%%s", 100 * margin, place + 2);
    out->failed = out->failed || !before;
}

void comparison_rule_words(struct text *out, const char *kind, double margin, bool is_old)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (!strcmp(rules[i].kind, kind))
            comparison_margin_words(out, is_old && rules[i].old ? rules[i].old : rules[i].words,
                                    margin);
}
