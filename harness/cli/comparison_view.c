#include "harness/cli/comparison_view.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/core/member.h"
#include "harness/core/number.h"
#include "protocols/comparability.h"

/* More runs than these are named by families; --json has each. */
#define RUNS_LISTED 5

enum status comparison_by(const char *word, struct compare_options *options, struct error *err)
{
    if (word)
        options->figure = compare_figure_find(word);
    return options->figure != COMPARE_FIGURE_COUNT
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "--by %s: write time, attainment or capacity",
                           word);
}

json_t *comparison_view_json(const struct comparison_arms *arms, const json_t *object)
{
    json_t *shown = json_copy((json_t *)(uintptr_t)object);

    json_object_set(shown, "arms", arms->json);
    return shown;
}

int comparison_exit_status(const struct stored_comparison *comparison)
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

static void append_arms(struct text *out, const struct stored_comparison *comparison,
                        const struct comparison_arms *arms)
{
    const char *const ids[] = {comparison->a, comparison->b};

    for (int i = 0; i < 2; i++) {
        char lead[96];

        snprintf(lead, sizeof(lead), "%c %s  ", "ab"[i], ids[i]);
        output_hanging(out, lead, arms->words[i], 4, output_terminal_columns());
    }
}

static void append_list(struct text *out, const char *title, const json_t *list)
{
    size_t i;
    json_t *entry;

    if (json_array_size(list) == 0)
        return;
    text_append_format(out, "%s\n", title);
    json_array_foreach(list, i, entry)
    {
        const char *string = comparability_reason_words(json_string_value(entry));
        struct text line;

        text_init(&line);
        text_append_printable(&line, string, strlen(string));
        text_append(out, "  - ");
        output_wrapped(out, text_ok(&line) ? line.data : "", 4, output_columns());
        text_finish(&line);
    }
}

static void append_exceptions(struct text *out, const char *title, const json_t *list)
{
    struct text names;
    size_t i;
    json_t *entry;

    text_init(&names);
    json_array_foreach(list, i, entry)
        text_append_format(&names, "%s%s", i ? ", " : "", json_string_value(entry));
    text_append_format(out, "%s\n  ", title);
    output_wrapped(out, text_ok(&names) ? names.data : "", 2, output_columns());
    text_finish(&names);
}

/* "b is 1.8 times faster than a (45 % less time)"; small changes in percent alone. */
static void append_change(struct text *out, double ratio)
{
    const double times = ratio < 1 ? 1 / ratio : ratio;
    const char *word = ratio < 1 ? "faster" : "slower";
    char percent[NUMBER_SIZE], number[NUMBER_SIZE];

    number_format_percent(fabs(ratio - 1), percent);
    if (times >= 1.2)
        text_append_format(out, "b is %s times %s than a (%s %s time)",
                           number_format_digits(times, 3, number), word, percent,
                           ratio < 1 ? "less" : "more");
    else
        text_append_format(out, "b is %s than a: %s %s time", word, percent,
                           ratio < 1 ? "less" : "more");
}

static void append_exploratory(struct text *out, const json_t *except)
{
    text_append(out, "Exploratory: by protocol no evidence, of the same machine; no gate passes on "
                     "it\n");
    if (json_array_size(except) > 0)
        append_exceptions(out, "These differ or are not known:", except);
}

static void append_p(struct text *out, double p)
{
    if (isnan(p))
        text_append(out, "p unknown");
    else
        text_append_format(out, "p %.2g", p);
}

void comparison_view_append_p(struct text *out, const struct comparison *numbers)
{
    const bool equivalence = comparison_tests_equivalence(numbers);

    append_p(out, equivalence ? numbers->p_equivalence_family : numbers->p_difference_family);
    text_append_format(out, " (alone %s, ", compare_verdict_name(numbers->verdict_alone));
    append_p(out, equivalence ? numbers->p_equivalence : numbers->p_difference);
    text_append_char(out, ')');
}

static void append_needed(struct text *out, const struct comparison *numbers)
{
    struct text needed;

    text_init(&needed);
    if (comparison_append_needed(numbers, &needed))
        output_hanging(out, "  ", needed.data, 2, output_terminal_columns());
    out->failed |= needed.failed;
    text_finish(&needed);
}

static void append_numbers(struct text *out, const struct comparison *numbers)
{
    char value[NUMBER_SIZE], lo[NUMBER_SIZE], hi[NUMBER_SIZE];
    /* One more than a figure has: the information of a ratio is in the digits after its 1. */
    int digits = numbers->ratio.has_interval
                     ? 1 + number_digits(numbers->ratio.value, numbers->ratio.lo, numbers->ratio.hi)
                     : 4;

    switch (numbers->verdict) {
    case COMPARE_FASTER:
    case COMPARE_SLOWER:
        append_change(out, numbers->ratio.value);
        break;
    case COMPARE_EQUIVALENT:
        text_append_format(out, "b is equivalent to a within %g %%", numbers->margin * 100);
        break;
    case COMPARE_INCONCLUSIVE:
        text_append(out, "inconclusive");
        break;
    }
    text_append_format(out, "\n  time b/a%s %s",
                       numbers->centre == ESTIMATE_MEDIAN ? ", by the trials' medians," : "",
                       number_format_digits(numbers->ratio.value, digits, value));
    if (numbers->ratio.has_interval)
        text_append_format(out, ", %g %% interval [%s, %s]", numbers->confidence * 100,
                           number_format_digits(numbers->ratio.lo, digits, lo),
                           number_format_digits(numbers->ratio.hi, digits, hi));
    if (numbers->paired)
        text_append_format(out, ", %zu pairs\n", numbers->count_a);
    else
        text_append_format(out,
                           ", %zu and %zu trials, not paired: drift between the two is not "
                           "controlled\n",
                           numbers->count_a, numbers->count_b);
    if (numbers->verdict == COMPARE_EQUIVALENT && numbers->differs)
        text_append(out, "  the difference is real, and smaller than the margin\n");
    if (numbers->no_spread)
        text_append_format(out, "  %s\n", comparison_alike_words(numbers));
    if (numbers->family > 1) {
        text_append_format(out, "  judged in a family of %zu: ", numbers->family);
        comparison_view_append_p(out, numbers);
        text_append_char(out, '\n');
    }
    append_needed(out, numbers);
}

/*
 * Factors of one family (library.libfoo, library.libbar) together: {"library.": [factor, ...],
 * "device": [factor]}, in the order of the judgement. New object.
 */
static json_t *families_of(const json_t *factors)
{
    json_t *families = json_object(), *factor;
    size_t i;

    json_array_foreach(factors, i, factor)
    {
        const char *name = member_text(factor, "factor"), *dot = strchr(name, '.');
        char key[64];
        json_t *list;

        snprintf(key, sizeof(key), "%.*s", (int)(dot ? dot + 1 - name : (ptrdiff_t)strlen(name)),
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

#define NAMES_SHOWN 4

/* " (3.1 -> 6.0)", where it is known what a factor is in a and in b, and these differ. */
static void append_labels(struct text *out, const json_t *factor)
{
    struct text labels;

    text_init(&labels);
    if (comparability_append_labels(&labels, factor) && text_ok(&labels)) {
        text_append(out, " (");
        text_append_printable(out, labels.data, labels.length);
        text_append_char(out, ')');
    }
    out->failed = out->failed || labels.failed;
    text_finish(&labels);
}

/* A family's factors without what they have in common, or the fields of its one factor. */
static void append_family(struct text *out, const char *family, const json_t *list)
{
    const json_t *only = json_array_get(list, 0), *names = list;
    size_t i, count, common = 0;
    json_t *name;

    if (json_array_size(list) == 1) {
        names = json_object_get(only, "fields");
        text_append(out, "  ");
        text_append_printable(out, member_text(only, "factor"),
                              strlen(member_text(only, "factor")));
        append_labels(out, only);
        text_append_char(out, ':');
    } else {
        common = strlen(family);
        text_append_format(out, "  %s* (%zu, each by itself):", family, json_array_size(list));
    }
    count = json_array_size(names);
    json_array_foreach(names, i, name)
    {
        const char *word =
            json_is_object(name) ? member_text(name, "factor") : json_string_value(name);

        if (i == NAMES_SHOWN) {
            text_append_format(out, " and %zu more", count - i);
            break;
        }
        text_append_format(out, "%s ", i ? "," : "");
        text_append_printable(out, word + common, strlen(word + common));
    }
    text_append_char(out, '\n');
}

/* A condition is known to be another; one that is not known is only named. */
static bool has_other_conditions(const json_t *judgement)
{
    size_t i;
    json_t *field;

    json_array_foreach(json_object_get(judgement, "fields"), i, field)
    {
        if (!strcmp(member_text(field, "class"), "controlled") &&
            !strcmp(member_text(field, "state"), "differs"))
            return true;
    }
    return false;
}

/* `shown`: a difference in time was found, which can be attributed to something. */
static void append_attribution(struct text *out, const json_t *judgement, bool shown)
{
    const json_t *factors = json_object_get(judgement, "factors");
    const json_t *brought = json_object_get(judgement, "brought");
    json_t *families, *list;
    const char *family;

    if (json_array_size(factors) == 0) {
        text_append(out, has_other_conditions(judgement)
                             ? "Nothing that the comparison could be about differs; of the "
                               "conditions named above some do\n"
                             : "Nothing that the comparison could be about differs: a against "
                               "itself\n");
        return;
    }
    if (!shown)
        text_append(out, "They differ in:\n");
    else if (json_is_string(json_object_get(judgement, "attribution"))) {
        text_append_format(out, "Attributed to: %s", member_text(judgement, "attribution"));
        if (json_array_size(brought) > 0) /* else they stand with its fields */
            append_labels(out, json_array_get(factors, 0));
        text_append_format(out, "%s\n",
                           has_other_conditions(judgement)
                               ? ", unless one of the conditions that differ made it"
                               : "");
    } else
        text_append(out, "Confounded: several factors differ, so the difference is attributed to "
                         "none of them:\n");
    if (json_array_size(factors) == 1 && json_array_size(brought) > 0) {
        if (!shown) {
            text_append_format(out, "  %s", member_text(json_array_get(factors, 0), "factor"));
            append_labels(out, json_array_get(factors, 0));
            text_append_char(out, '\n');
        }
        text_append(out, "  which brought with it:\n");
        factors = brought;
    }
    families = families_of(factors);
    json_object_foreach(families, family, list) append_family(out, family, list);
    json_decref(families);
}

/* One line a run while they are few; else what each of them takes from b, by families. */
static void append_separating_runs(struct text *out, const struct stored_comparison *comparison)
{
    const json_t *factors = json_object_get(comparison->judgement, "factors");
    json_t *runs, *families, *list;
    const char *family;
    struct text names;

    if (json_array_size(factors) <= RUNS_LISTED) {
        runs = stored_comparison_separating_runs(comparison);
        append_list(out, "Isolating runs:", runs);
        json_decref(runs);
        return;
    }
    text_init(&names);
    families = families_of(factors);
    json_object_foreach(families, family, list)
    {
        if (names.length > 0)
            text_append(&names, ", ");
        if (json_array_size(list) == 1)
            text_append(&names, member_text(json_array_get(list, 0), "factor"));
        else
            text_append_format(&names, "one of %zu %s*", json_array_size(list), family);
    }
    json_decref(families);
    text_append_format(out,
                       "The %zu isolating runs: everything as in a, with one of these "
                       "of b\n  ",
                       json_array_size(factors));
    output_wrapped(out, text_ok(&names) ? names.data : "", 2, output_columns());
    text_finish(&names);
}

static void append_value(struct text *out, const json_t *value)
{
    char *plain;

    if (!value || json_is_null(value)) {
        text_append(out, "unknown");
        return;
    }
    plain = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (plain && strlen(plain) > 40)
        memcpy(plain + 37, "...", 4);
    if (plain)
        text_append_printable(out, plain, strlen(plain));
    free(plain);
}

static void append_fields(struct text *out, const json_t *judgement)
{
    size_t i;
    json_t *field;

    text_append(out, "\nEvery field, its class and what it came to\n");
    json_array_foreach(json_object_get(judgement, "fields"), i, field)
    {
        const char *state = member_text(field, "state");
        struct text words;
        char lead[64];

        snprintf(lead, sizeof(lead), "  %-10s %-8s ", member_text(field, "class"), state);
        text_init(&words);
        text_append(&words, member_text(field, "field"));
        if (strcmp(state, "same")) {
            text_append(&words, ": ");
            append_value(&words, json_object_get(field, "a"));
            text_append(&words, " | ");
            append_value(&words, json_object_get(field, "b"));
        }
        output_hanging(out, lead, text_ok(&words) ? words.data : "", text_columns(lead) + 2,
                       output_terminal_columns());
        text_finish(&words);
    }
}

static void append_text(struct text *out, const char *lead, const char *string)
{
    text_append(out, lead);
    text_append_printable(out, string, strlen(string));
    text_append_char(out, '\n');
}

/*
 * A ratio may be shown although an arm was too short for a figure of its own: that must be visible.
 */
static void append_no_figure(struct text *out, const struct comparison_arms *arms)
{
    bool a = json_is_null(json_object_get(json_array_get(arms->json, 0), "result"));
    bool b = json_is_null(json_object_get(json_array_get(arms->json, 1), "result"));

    if (a || b)
        text_append_format(out,
                           "  %s figure of its own, for the reason above: the ratio is of those "
                           "trials that count\n",
                           a && b ? "neither has a"
                           : a    ? "a has no"
                                  : "b has no");
}

/* Two results of one such worker compare, and stay what that worker reported. */
static void append_foreign_worker(struct text *out, const json_t *judgement)
{
    if (comparability_foreign_worker(judgement))
        output_wrapped(out,
                       "What the foreign worker measured is as that program reports it: device, "
                       "times and checks",
                       0, output_columns());
}

static void append_view(struct text *out, const struct stored_comparison *comparison,
                        const struct comparison_arms *arms, bool explain)
{
    const json_t *judgement = comparison->judgement;
    const char *verdict = member_text(judgement, "verdict");

    append_arms(out, comparison, arms);
    if (!strcmp(verdict, "not_comparable"))
        append_list(out, "Not comparable:", json_object_get(judgement, "reasons"));
    else if (!strcmp(verdict, "comparable"))
        text_append(out, "Comparable\n");
    else if (!strcmp(verdict, "exploratory"))
        append_exploratory(out, json_object_get(judgement, "except"));
    else
        append_exceptions(out,
                          "Comparable, except for these, which differ, are not known or mark both:",
                          json_object_get(judgement, "except"));
    append_foreign_worker(out, judgement);
    if (comparison->figure != COMPARE_TIME) {
        comparison_view_append_served(out, comparison, arms);
    } else if (comparison->has_numbers) {
        append_numbers(out, &comparison->numbers);
        append_no_figure(out, arms);
    } else {
        append_text(out, "No numbers: ", comparison->why.message);
    }
    if (comparison->note)
        append_text(out, "", comparison->note);
    if (strcmp(verdict, "not_comparable")) {
        append_attribution(
            out, judgement,
            comparison->has_numbers &&
                (comparison->figure == COMPARE_TIME
                     ? comparison->numbers.differs
                     : served_change_verdict(comparison->figure, &comparison->change) < 0) &&
                comparability_is_evidence(judgement));
        append_separating_runs(out, comparison);
    }
    if (explain)
        append_fields(out, judgement);
}

void comparison_view_append(struct text *out, const struct stored_comparison *comparison,
                            const struct comparison_arms *arms, bool explain)
{
    struct text lines;

    text_init(&lines);
    append_view(&lines, comparison, arms, explain);
    if (text_ok(&lines))
        output_append_lines(out, lines.data);
    else
        out->failed = true;
    text_finish(&lines);
}

int comparison_view_show(const struct stored_comparison *comparison,
                         const struct comparison_arms *arms, json_t *object, bool json,
                         bool explain)
{
    json_t *shown = json ? comparison_view_json(arms, object) : NULL;
    struct text out;

    json_decref(object);
    if (json)
        return output_json(shown);
    text_init(&out);
    comparison_view_append(&out, comparison, arms, explain);
    return output_text(&out);
}
