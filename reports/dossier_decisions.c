/*
 * Decisions about the results, as recorded in the database: a summary for the first page, and
 * a section of a dossier, every comparison with its rule.
 */
#include "reports/dossier_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/number.h"
#include "protocols/comparability.h"
#include "protocols/compare.h"
#include "reports/escape.h"
#include "reports/html_decision.h"

/* Columns that count listed comparisons and the families they are of. */
#define FAMILY_COLUMNS                                                                             \
    "count(*), count(DISTINCT coalesce(kind || CASE WHEN json_valid(body) THEN"                    \
    " json_extract(body, '$.family_of') END, id))"

/*
 * ---- what a comparison was judged together with, by its body ----
 *
 * Its verdict is that of the family; the verdict of the comparison alone is shown next to it, with
 * the p values of both, from the test that the verdict is based on.
 */

static json_int_t size_of(const json_t *body)
{
    return json_integer_value(json_object_get(json_object_get(body, "family_of"), "size"));
}

static bool is_in_family(const json_t *body)
{
    return size_of(body) > 1;
}

/* As comparison_tests_equivalence. */
static bool tests_equivalence(const json_t *numbers)
{
    const char *verdict = member_text(numbers, "verdict");

    if (!strcmp(verdict, "inconclusive") && json_object_get(numbers, "verdict_alone"))
        verdict = member_text(numbers, "verdict_alone");
    return !strcmp(verdict, "equivalent");
}

static void append_p(struct text *out, const json_t *body, bool family)
{
    const json_t *numbers = json_object_get(body, "comparison"), *p;
    char key[32];

    snprintf(key, sizeof(key), "p_%s%s", tests_equivalence(numbers) ? "equivalence" : "difference",
             family ? "_family" : "");
    p = json_object_get(numbers, key);
    if (json_is_number(p))
        text_append_format(out, "%.2g", json_number_value(p));
    else
        text_append(out, "unknown");
}

static void append_family(struct text *out, const json_t *body)
{
    const json_t *of = json_object_get(body, "family_of");

    if (!is_in_family(body)) {
        text_append(out, body ? "alone" : "");
        return;
    }
    text_append_format(out, "%lld of <code>", (long long)size_of(body));
    html_known(out, member_text(of, json_object_get(of, "campaign") ? "campaign" : "a"));
    if (json_object_get(of, "b")) {
        text_append(out, "</code> and <code>");
        html_known(out, member_text(of, "b"));
    }
    text_append(out, "</code>");
}

static void append_family_p(struct text *out, const json_t *body)
{
    if (!is_in_family(body) || !json_is_object(json_object_get(body, "comparison")))
        return;
    text_append(out, "; p ");
    append_p(out, body, true);
    text_append_format(out, " in a family of %lld (alone %s, p ", (long long)size_of(body),
                       member_text(json_object_get(body, "comparison"), "verdict_alone"));
    append_p(out, body, false);
    text_append(out, ")");
}

static void append_alone(struct text *out, const json_t *body)
{
    const json_t *numbers = json_object_get(body, "comparison");

    if (!is_in_family(body) || !json_is_object(numbers))
        return;
    text_append(out, "<br><span class=\"soft\">");
    if (json_object_get(body, "gate"))
        text_append_format(out, "%s, ", member_text(numbers, "verdict"));
    text_append_format(out, "alone %s</span>", member_text(numbers, "verdict_alone"));
}

static void append_own_p(struct text *out, const json_t *body)
{
    if (!json_is_object(json_object_get(body, "comparison")) ||
        json_object_get(body, "reproduce")) {
        text_append(out, "<span class=\"soft\">none</span>");
        return;
    }
    append_p(out, body, is_in_family(body));
    if (!is_in_family(body))
        return;
    text_append(out, "<br><span class=\"soft\">alone ");
    append_p(out, body, false);
    text_append(out, "</span>");
}

static void append_families(struct text *out, const struct dossier_row *row)
{
    const long long count = dossier_integer(row, 0), families = dossier_integer(row, 1);

    if (count < 2)
        return;
    text_append_format(out, "<p>%lld comparisons are recorded. ", count);
    if (families == 1)
        text_append(out, "They were judged together, as one family: the chance of any false "
                         "difference among them is at most 5 %.</p>\n");
    else
        text_append_format(out,
                           "They were judged in %lld families, those judged alone each counted as "
                           "one. A verdict has the error rate of its own family; over all that are "
                           "recorded, the chance that one of them is false grows with the number "
                           "of families.</p>\n",
                           families);
}

/* ---- comparisons and decisions ---- */

/* "0.860 [0.651, 1.14]" */
static void append_ratio(struct text *out, const json_t *ratio)
{
    const double value = member_number(ratio, "value"), lo = member_number(ratio, "lo"),
                 hi = member_number(ratio, "hi");
    const int digits = isnan(lo) || isnan(hi) ? 4 : 1 + number_digits(value, lo, hi);
    char text[NUMBER_SIZE];

    if (isnan(value)) {
        text_append(out, "<span class=\"soft\">unknown</span>");
        return;
    }
    text_append(out, number_format_digits(value, digits, text));
    if (isnan(lo) || isnan(hi)) {
        text_append(out, " <span class=\"soft\">without an interval</span>");
        return;
    }
    text_append_format(out, " [%s, ", number_format_digits(lo, digits, text));
    text_append_format(out, "%s]", number_format_digits(hi, digits, text));
}

static void append_margin(struct text *out, const json_t *object)
{
    const double margin = member_number(object, "margin");

    if (isnan(margin))
        text_append(out, "<span class=\"soft\">unknown</span>");
    else
        text_append_format(out, "%.4g %%", 100 * margin);
}

/* "attainment", of servers; NULL: by time. Earlier versions named it of gates alone. */
static const char *figure_of(const json_t *body)
{
    const json_t *gate = json_object_get(body, "gate");
    const char *by = member_string(json_object_get(body, "by") ? body : gate, "by");
    const enum compare_figure figure = compare_figure_find(by);

    return figure < COMPARE_FIGURE_COUNT ? compare_figure_name(figure) : NULL;
}

#define COMPARISON_COLUMNS "created_utc_ns, kind, verdict, body, version"

static json_t *body_of(const struct dossier_row *row)
{
    const char *body = dossier_column(row, 3);

    return body ? json_loads(body, 0, NULL) : NULL;
}

/* Of COMPARISON_COLUMNS. */
static void append_comparison(struct text *out, const struct dossier_row *row)
{
    const struct view_count at = {true, dossier_integer(row, 0)};
    json_t *body = body_of(row);
    const json_t *numbers = json_object_get(body, "comparison");
    const json_t *reproduce = json_object_get(body, "reproduce");
    const json_t *served = json_object_get(body, "served");
    const json_t *ratio = served ? json_object_get(served, "change")
                                 : json_object_get(reproduce ? reproduce : numbers, "ratio");
    const char *by = figure_of(body);

    text_append(out, "<tr><td class=\"when\">");
    html_time(out, &at, " UTC");
    text_append(out, "</td><td>");
    html_known(out, dossier_column(row, 1));
    if (by)
        text_append_format(out, ", %s", by);
    text_append(out, "</td><td>");
    html_result(out, row->view, member_string(body, "a"));
    text_append(out, "</td><td>");
    html_result(out, row->view, member_string(body, "b"));
    text_append(out, "</td><td><b>");
    html_known(out, dossier_column(row, 2));
    text_append(out, "</b>");
    append_alone(out, body);
    text_append(out, "</td><td class=\"num\">");
    append_ratio(out, ratio);
    text_append(out, "</td><td class=\"num\">");
    append_own_p(out, body);
    text_append(out, "</td><td>");
    append_family(out, body);
    text_append(out, "</td><td class=\"num\">");
    append_margin(out, reproduce                 ? reproduce
                       : json_is_object(numbers) ? numbers
                       : served                  ? served
                                                 : json_object_get(body, "gate"));
    text_append(out, "</td></tr>\n");
    json_decref(body);
}

/* A comparison is listed whether the result was its `a` or its `b`. */
static enum status each_comparison(struct text *out, struct store *store, const struct view *view,
                                   const char *columns, const char *rest, dossier_row_fn *append,
                                   size_t *ret_rows, struct error *err)
{
    CLEANUP(text_finish) struct text ids;
    AUTO_FREE char *sql = NULL;

    text_init(&ids);
    for (size_t i = 0; i < view->cell_count; i++)
        text_append_format(&ids, "%s%lld", i ? "," : "", (long long)view->cells[i].id);
    if (text_ok(&ids))
        sql = text_format("SELECT %s FROM comparison WHERE kind NOT IN ('cost', 'plan', 'accept', "
                          "'decide', 'baseline') AND (a IN (%s)"
                          " OR b IN (%s)) %s",
                          columns, ids.data, ids.data, rest);
    return sql ? dossier_each_row(out, store, view, sql, 0, append, ret_rows, err)
               : error_no_memory(err);
}

enum status dossier_comparisons(struct text *out, struct store *store, const struct view *view,
                                size_t *ret_rows, struct error *err)
{
    CLEANUP(text_finish) struct text table;
    size_t counted = 0;

    text_init(&table);
    *ret_rows = 0;
    TRY(each_comparison(&table, store, view, COMPARISON_COLUMNS, "ORDER BY id", append_comparison,
                        ret_rows, err));
    TRY(each_comparison(out, store, view, FAMILY_COLUMNS, "", append_families, &counted, err));
    if (*ret_rows > 0) {
        text_append(
            out,
            "<div class=\"scroll\"><table class=\"tight stacked "
            "comparisons\"><caption>Every comparison "
            "in this database that one of these results takes part in. The verdict "
            "says what b is against a; the ratio is of their times, b to a, with its "
            "interval: below 1, b takes less; of a gate by attainment it is the "
            "difference b - a, by capacity the ratio b to a. p is that of the difference or, where "
            "the verdict rests on it, of the equivalence; within a family by Holm, "
            "with the verdict and p without the family below.</caption><thead><tr>"
            "<th scope=\"col\">When</th><th scope=\"col\">Kind</th>"
            "<th scope=\"col\">a</th><th scope=\"col\">b</th>"
            "<th scope=\"col\">Verdict</th><th scope=\"col\" class=\"num\">Time b/a"
            "</th><th scope=\"col\" class=\"num\">p</th><th scope=\"col\">Family</th>"
            "<th scope=\"col\" class=\"num\">Margin</th></tr></thead><tbody>\n");
        text_append_bytes(out, table.data, table.length);
        text_append(out, "</tbody></table></div>\n");
    }
    return STATUS_OK;
}

enum status dossier_decisions(struct text *out, struct store *store, const struct view *view,
                              struct error *err)
{
    size_t rows = 0;
    enum status status;

    dossier_section(out, DOSSIER_DECISIONS);
    text_append(
        out,
        "<p>Two results compare only where workload, protocol, precision, batch, scenario, "
        "implementation and "
        "data are the same and known. Then: <b>faster</b> or <b>slower</b> when the 95 % interval "
        "of the ratio of times leaves out 1; <b>equivalent</b> when the 90 % interval lies within "
        "the margin (two one-sided tests at 5 %), which wins where both hold; else "
        "<b>inconclusive</b>, with what would settle it. The risk of calling two equal things "
        "different is 5 %; that of calling things equivalent which differ by the margin is at most "
        "5 %. Both are measured on series whose truth is known (README, calibration). Comparisons "
        "of one campaign of several arms, or of two campaigns, are one family: their verdicts rest "
        "on p values adjusted by Holm, so that both risks are those of any such error among all of "
        "it; a gate over a family passes where each of its cells passes by itself, and calls worse "
        "by the adjusted p. A gate "
        "<b>passes</b> what is equivalent or faster, calls <b>worse</b> what is slower with the "
        "whole interval beyond the margin, and decides nothing else; it refuses what a "
        "foreign worker (ASSAY_WORKER) measured, unless it was told to allow that. A "
        "reproduction is "
        "<b>reproduced</b> when equivalent and <b>not reproduced</b> when the whole interval lies "
        "beyond the margin, by an interval widened by the spread between campaigns where three or "
        "more of the same result were stored before it. Comparisons of versions before 9 called "
        "worse what was slower where the ratio alone lay beyond the margin, and not reproduced "
        "what "
        "was faster or slower.</p>\n");
    status = dossier_comparisons(out, store, view, &rows, err);
    if (rows == 0)
        text_append(out, "<p>No comparison with these results was made in this database, so no "
                         "decision is stated here.</p>\n");
    return status;
}

/* ---- summary ---- */

/* How many the first page lists; it counts all, and the section of decisions has each. */
#define NEWEST_SHOWN 4
#define NAMES_SHOWN 4

#define RULE_CHANGED 9 /* the version of comparisons */
#define RULE_OF_COMPARISONS                                                                        \
    "equivalent within %s; else faster or slower when the interval leaves out 1; else "            \
    "inconclusive"

/*
 * `before`, `between`, `after`: what was asked of b, with a; `rule`: the condition of each answer;
 * `old_rule`: the same before RULE_CHANGED, NULL where it did not change. %s: the margin.
 */
static const struct decision_kind {
    const char *kind, *name, *before, *between, *after, *rule, *old_rule;
} decision_kinds[] = {
    {"gate", "Gate", "Is ", " as fast as ", ", or slower by no more than %s?",
     "passes when faster, or equivalent within %s; worse when slower with the whole interval "
     "beyond "
     "that; else inconclusive",
     "passes when faster, or equivalent within %s; worse when slower, with the ratio beyond that; "
     "else inconclusive"},
    {"attainment", NULL, "Are of ", " as many requests within the limits as of ",
     ", or fewer by no more than %s of all?",
     "not worse, and a gate passes, when the whole interval of b - a lies above minus %s; worse "
     "when it lies below; else inconclusive",
     NULL},
    {"capacity", NULL, "Does ", " serve as high a rate within the limits as ",
     ", or one lower by no more than %s?",
     "not worse, and a gate passes, when the whole interval of b/a lies above 1 less %s; worse "
     "when it lies below; else inconclusive",
     NULL},
    {"attainment again", NULL, "Are of ",
     ", the same again, as many requests within the limits as of ", " within %s of all?",
     "reproduced when the whole interval of b - a lies within %s either way; not reproduced when "
     "it "
     "lies beyond; else inconclusive",
     NULL},
    {"compare", "Comparison", "Does ", " differ in time from ", " by more than %s?",
     RULE_OF_COMPARISONS, NULL},
    {"ab", "Paired comparison", "Does ", " differ in time from ", " by more than %s?",
     RULE_OF_COMPARISONS, NULL},
    {"reproduce", "Reproduction", "Does ", ", the same again, agree with ", " within %s?",
     "reproduced when equivalent within %s; not reproduced when the whole interval lies beyond "
     "that; "
     "else inconclusive",
     "reproduced when equivalent within %s; not reproduced when the interval leaves out 1; else "
     "inconclusive"},
};

static const struct verdict_words {
    const char *kind, *verdict, *words, *class_name;
} verdict_list[] = {
    {"gate", "passes", "Passes", "good"},
    {"gate", "worse", "Fails: the candidate is worse", "bad"},
    {"gate", "not_comparable", "Refused: the two do not compare", "care"},
    {"gate", "foreign_worker", "Refused: another program than assay's own worker measured", "care"},
    {"gate", "inconclusive", "Inconclusive: neither shown to hold nor to fail", "care"},
    {"reproduce", "reproduced", "Reproduced", "good"},
    {"reproduce", "not_reproduced", "Not reproduced", "bad"},
    {"reproduce", "not_reproducible_here", "Not reproducible there", "care"},
    {NULL, "not_worse", "Not worse", ""},
    {NULL, "worse", "Worse", ""},
    {NULL, "faster", "Faster", ""},
    {NULL, "slower", "Slower", ""},
    {NULL, "equivalent", "Equivalent", ""},
    {NULL, "inconclusive", "Inconclusive: what was measured does not settle it", "care"},
    {NULL, "not_comparable", "The two do not compare", "care"},
    {NULL, "none", "No verdict", "care"},
};

static const struct decision_kind *kind_of(const char *kind)
{
    for (size_t i = 0; i < sizeof(decision_kinds) / sizeof(decision_kinds[0]); i++)
        if (kind && !strcmp(decision_kinds[i].kind, kind))
            return &decision_kinds[i];
    return NULL;
}

static const struct verdict_words *words_of(const char *kind, const char *verdict)
{
    for (size_t i = 0; kind && verdict && i < sizeof(verdict_list) / sizeof(verdict_list[0]); i++)
        if (!strcmp(verdict_list[i].verdict, verdict) &&
            (!verdict_list[i].kind || !strcmp(verdict_list[i].kind, kind)))
            return &verdict_list[i];
    return NULL;
}

/* One of the sentences above, with the margin in its place. */
static void append_with_margin(struct text *out, const char *sentence, double margin)
{
    const char *place = strstr(sentence, "%s");

    text_append_bytes(out, sentence, (size_t)(place - sentence));
    if (isnan(margin))
        text_append(out, "an unknown margin");
    else
        text_append_format(out, "%.4g %%", 100 * margin);
    text_append(out, place + 2);
}

/* "attainment 0.99 [0.98, 0.993], b 0.97 [0.96, 0.98]; change -0.02 [...]" */
static void append_served(struct text *out, const json_t *served, const char *by)
{
    static const char *const parts[][2] = {{"a", ": a "}, {"b", ", b "}, {"change", "; change "}};

    text_append(out, by ? by : "unknown");
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        text_append(out, parts[i][1]);
        append_ratio(out, json_object_get(served, parts[i][0]));
    }
    text_append_format(out, " at %.4g %%", 100 * member_number(served, "confidence"));
}

/* "time b/a 0.747, 95 % interval 0.573 to 0.975", or why there is none. */
static void append_number(struct text *out, const json_t *body, const json_t *numbers,
                          const json_t *ratio)
{
    const double value = member_number(ratio, "value"), lo = member_number(ratio, "lo"),
                 hi = member_number(ratio, "hi"), confidence = member_number(numbers, "confidence");
    const int digits = isnan(lo) || isnan(hi) ? 4 : 1 + number_digits(value, lo, hi);
    const json_t *pairs = json_object_get(numbers, "pairs");
    char text[NUMBER_SIZE];

    if (json_object_get(body, "served")) {
        append_served(out, json_object_get(body, "served"), figure_of(body));
        return;
    }
    if (isnan(value)) {
        text_append(out, "No number: ");
        html_known(out, member_string(body, "reason"));
        return;
    }
    text_append_format(out, "Time b/a <b>%s</b>, ", number_format_digits(value, digits, text));
    if (isnan(lo) || isnan(hi) || isnan(confidence)) {
        text_append(out, "without an interval");
    } else {
        text_append_format(out, "%.4g %% interval %s to ", 100 * confidence,
                           number_format_digits(lo, digits, text));
        text_append(out, number_format_digits(hi, digits, text));
    }
    if (json_is_integer(pairs))
        text_append_format(out, "; %lld pairs", (long long)json_integer_value(pairs));
    else
        text_append(out, "; not paired: drift between the two is not controlled");
    append_family_p(out, body);
}

/* A field, a reason, or a factor: "worker (onnxruntime 1.32.0 -> openvino 2026.4.1)". */
static void append_name(struct text *out, const json_t *entry)
{
    const char *string = json_string_value(entry);
    struct text labels;

    text_init(&labels);
    if (string)
        escape_html_words(out, comparability_reason_words(string));
    else
        html_known(out, member_string(entry, "factor"));
    if (comparability_append_labels(&labels, entry) && text_ok(&labels)) {
        text_append(out, " (");
        escape_html(out, labels.data);
        text_append_char(out, ')');
    }
    out->failed = out->failed || labels.failed;
    text_finish(&labels);
}

static void append_names(struct text *out, const json_t *list, size_t most)
{
    const size_t count = json_array_size(list);

    for (size_t i = 0; i < count && i < most; i++) {
        text_append(out, i ? ", " : "");
        append_name(out, json_array_get(list, i));
    }
    if (count > most)
        text_append_format(out, " and %zu more", count - most);
}

/* Why they do not compare, or what the difference is attributed to. */
static void append_subject(struct text *out, const json_t *judgement)
{
    const json_t *factors = json_object_get(judgement, "factors");
    const json_t *reasons = json_object_get(judgement, "reasons");

    if (json_array_size(reasons) > 0) {
        text_append(out, ". Not comparable: ");
        append_names(out, reasons, NAMES_SHOWN);
    } else if (json_array_size(factors) > 0) {
        text_append(out, ". They differ in ");
        append_names(out, factors, NAMES_SHOWN);
        if (json_array_size(factors) > 1)
            text_append(out, ", attributed to none of them (confounded)");
    }
    text_append(out, ".");
}

/* Fields that should have been equal. */
static void append_conditions(struct text *out, const json_t *judgement)
{
    const json_t *except = json_object_get(judgement, "except");
    const bool one = json_array_size(except) == 1;

    if (json_array_size(except) == 0)
        return;
    text_append_format(out,
                       "<details><summary>%zu condition%s that should be alike differ%s or %s not "
                       "known</summary><p class=\"wrap soft\">",
                       json_array_size(except), one ? "" : "s", one ? "s" : "", one ? "is" : "are");
    append_names(out, except, json_array_size(except));
    text_append(out, "</p></details>\n");
}

static void append_question(struct text *out, const struct view *view,
                            const struct decision_kind *kind, const json_t *body, double margin)
{
    if (!json_object_get(body, "a")) {
        text_append(out, "<p>What was compared is withheld, or not recorded.</p>\n");
        return;
    }
    text_append(out, "<p>");
    text_append(out, kind ? kind->before : "Of ");
    html_result(out, view, member_string(body, "b"));
    text_append(out, " (b)");
    text_append(out, kind ? kind->between : " and ");
    html_result(out, view, member_string(body, "a"));
    text_append(out, " (a)");
    if (kind)
        append_with_margin(out, kind->after, margin);
    text_append(out, "</p>\n");
}

/* What the decision rests on, where that is another program's word. */
static void append_foreign_worker(struct text *out, const json_t *body)
{
    const json_t *gate = json_object_get(body, "gate");
    const char *worker = comparability_foreign_worker(json_object_get(body, "comparability"));

    if (!worker)
        return;
    text_append(out,
                "<p class=\"care\">Measured by another program than assay's own worker, <code>");
    escape_html(out, worker);
    text_append(out, "</code>, as it reports");
    if (json_is_true(json_object_get(gate, "allow_foreign_worker")))
        text_append(out, "; the gate was told to allow that (<code>--allow-foreign-worker</code>)");
    text_append(out, ".</p>\n");
}

/* Of COMPARISON_COLUMNS. */
static void append_decision(struct text *out, const struct dossier_row *row)
{
    const struct view_count at = {true, dossier_integer(row, 0)};
    const char *kind_name = dossier_column(row, 1), *verdict = dossier_column(row, 2);
    const struct decision_kind *kind = kind_of(kind_name);
    const struct verdict_words *words = words_of(kind_name, verdict);
    json_t *body = body_of(row);
    const json_t *numbers = json_object_get(body, "comparison");
    const json_t *reproduce = json_object_get(body, "reproduce");
    const json_t *gate = json_object_get(body, "gate");
    const json_t *served = json_object_get(body, "served");
    const double margin = member_number(reproduce ? reproduce
                                        : gate    ? gate
                                        : served  ? served
                                                  : numbers,
                                        "margin");
    const char *name = kind ? kind->name : "Decision";
    const bool is_old = dossier_integer(row, 4) < RULE_CHANGED;

    if (figure_of(body))
        kind = kind_of(reproduce ? "attainment again" : figure_of(body));
    text_append_format(out, "<div class=\"decision %s\">\n", words ? words->class_name : "");
    append_question(out, row->view, kind, body, margin);
    text_append(out, "<p class=\"answer\"><b>");
    if (words)
        text_append(out, words->words);
    else
        html_known(out, verdict);
    text_append_format(out, "</b> <span class=\"soft\">%s, ", name);
    html_time(out, &at, " UTC");
    text_append(out, "</span></p>\n<p>");
    append_number(out, body, numbers, json_object_get(reproduce ? reproduce : numbers, "ratio"));
    append_subject(out, json_object_get(body, "comparability"));
    text_append(out, "</p>\n");
    if (kind) {
        text_append(out, "<p class=\"soft\">Rule: ");
        append_with_margin(out, is_old && kind->old_rule ? kind->old_rule : kind->rule, margin);
        if (is_in_family(body))
            text_append(out, gate ? "; in a family worse by the p adjusted for all of it (Holm)"
                                  : "; in a family by the p adjusted for all of it (Holm)");
        text_append(out, "; <a href=\"#decisions\">its risks</a>.</p>\n");
    }
    append_foreign_worker(out, body);
    append_conditions(out, json_object_get(body, "comparability"));
    text_append(out, "</div>\n");
    json_decref(body);
}

/* columns: 0 kind, 1 verdict, 2 how many */
static void append_tally(struct text *out, const struct dossier_row *row)
{
    const struct decision_kind *kind = kind_of(dossier_column(row, 0));
    const char *verdict = dossier_column(row, 1);

    text_append_format(out, "%s%lld ", out->length ? ", " : "", (long long)dossier_integer(row, 2));
    if (kind)
        text_append(out, kind->kind);
    else
        html_known(out, dossier_column(row, 0));
    text_append(out, ": ");
    for (const char *c = verdict ? verdict : "?"; *c; c++)
        escape_html_bytes(out, *c == '_' ? " " : c, 1);
}

static enum status append_newest(struct text *out, struct store *store, const struct view *view,
                                 size_t *ret_rows, struct error *err)
{
    struct text tally;
    size_t kinds = 0, shown = 0, counted = 0;
    char rest[64];
    enum status status;

    text_init(&tally);
    status = each_comparison(&tally, store, view, "kind, verdict, count(*)",
                             "GROUP BY kind, verdict ORDER BY min(id)", append_tally, &kinds, err);
    snprintf(rest, sizeof(rest), "ORDER BY id DESC LIMIT %d", NEWEST_SHOWN);
    if (status == STATUS_OK)
        status = each_comparison(out, store, view, COMPARISON_COLUMNS, rest, append_decision,
                                 &shown, err);
    if (status == STATUS_OK && shown > 1) {
        text_append(out, "<p class=\"soft\">All that are recorded: ");
        text_append_bytes(out, tally.data, tally.length);
        text_append(
            out,
            shown == NEWEST_SHOWN
                ? "; the newest stand here, <a href=\"#decisions\">each with its rule</a>.</p>\n"
                : ".</p>\n");
        status =
            each_comparison(out, store, view, FAMILY_COLUMNS, "", append_families, &counted, err);
    }
    out->failed = out->failed || tally.failed;
    text_finish(&tally);
    *ret_rows = shown;
    return status;
}

/* Each question once, of all plans that state one. */
static void append_questions(struct text *out, const struct view *view)
{
    for (size_t i = 0; i < view->campaign_count; i++) {
        const char *question = view->campaigns[i].question;
        bool asked = question == NULL;

        for (size_t k = 0; k < i && !asked; k++)
            asked = view->campaigns[k].question && !strcmp(view->campaigns[k].question, question);
        if (asked)
            continue;
        text_append(out, "<p class=\"wrap\">Asked: <b>");
        escape_html(out, question);
        text_append(out, "</b></p>\n");
    }
}

enum status dossier_decided(struct text *out, struct store *store, const struct view *view,
                            struct error *err)
{
    size_t rows = 0, accepted = 0;
    json_auto_t *decisions = NULL;
    json_t *decision;
    size_t i;

    append_questions(out, view);
    TRY(html_decisions_load(store, view, &decisions, err));
    json_array_foreach(decisions, i, decision) html_decision_in_short(out, decision);
    TRY(dossier_accepted(out, store, view, &accepted, err));
    TRY(append_newest(out, store, view, &rows, err));
    if (rows + accepted + json_array_size(decisions) == 0)
        text_append(out,
                    "<div class=\"decision\"><p class=\"answer\"><b>No decision is recorded</b>"
                    "</p>\n<p>Nothing in this database compares one of these results with "
                    "another: the figures are not compared (<code>assay gate</code>, "
                    "<code>assay compare --record</code>, <code>assay reproduce</code>).</p>"
                    "</div>\n");
    return STATUS_OK;
}
