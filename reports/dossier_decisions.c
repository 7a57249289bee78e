/*
 * Decisions about the results, as recorded in the database: a summary for the first page, and
 * a section of a dossier, every comparison with its rule.
 */
#include "reports/dossier_internal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/condition.h"
#include "reports/comparison_document.h"
#include "reports/html_decision.h"

/* Columns that count listed comparisons and the families they are of. */
#define FAMILY_COLUMNS                                                                             \
    "count(*), count(DISTINCT coalesce(kind || CASE WHEN json_valid(body) THEN"                    \
    " json_extract(body, '$.family_of') END, id))"

#define COMPARISON_COLUMNS "created_utc_ns, kind, verdict, body, version"

/* One that is recorded. */
struct recorded {
    json_t *body;
    struct stored_comparison comparison; /* borrows from it */
    const json_t *gate, *family_of;
    double margin;
};

static void recorded_finish(struct recorded *recorded)
{
    json_decref(recorded->body);
}

/* Of COMPARISON_COLUMNS. */
static struct recorded recorded_of(const struct dossier_row *row)
{
    json_t *body = dossier_json(row, 3);
    struct recorded read = {body, comparison_from_record(body), json_object_get(body, "gate"),
                            json_object_get(body, "family_of"), NAN};
    const json_t *holders[] = {json_object_get(body, "reproduce"), read.gate,
                               json_object_get(body, "served"),
                               json_object_get(body, "comparison")};

    for (size_t i = 0; i < sizeof(holders) / sizeof(*holders) && isnan(read.margin); i++)
        read.margin = member_number(holders[i], "margin");
    if (member_integer(read.family_of, "size") <= 1)
        read.family_of = NULL;
    return read;
}

static bool has_ratio(const struct recorded *recorded)
{
    return recorded->comparison.has_numbers && recorded->comparison.figure == COMPARE_TIME;
}

static void append_family(struct text *out, const struct recorded *recorded)
{
    const json_t *of = recorded->family_of;

    if (!of) {
        doc_phrase(out, recorded->body ? "alone" : " ");
        return;
    }
    doc_phrase(out, "%lld of {code %s}", member_integer(of, "size"),
               member_text(of, json_object_get(of, "campaign") ? "campaign" : "a"));
    if (json_object_get(of, "b"))
        doc_phrase(out, " and {code %s}", member_text(of, "b"));
}

static void append_families(struct doc *doc, const struct dossier_row *row)
{
    const long long count = dossier_integer(row, 0), families = dossier_integer(row, 1);

    if (count < 2)
        return;
    doc_add(doc, "%lld comparisons are recorded. ", count);
    if (families == 1)
        doc_add(doc, "They were judged together, as one family: the chance of any false difference "
                     "among them is at most 5 %%.");
    else
        doc_add(doc,
                "They were judged in %lld families, those judged alone each counted as one. A "
                "verdict has the error rate of its own family; over all that are recorded, the "
                "chance that one of them is false grows with the number of families.",
                families);
    doc_end(doc, NULL);
}

/* ---- comparisons and decisions ---- */

/* The verdict, and that without the family below it. */
static void append_verdict(struct text *out, const struct dossier_row *row,
                           const struct recorded *recorded)
{
    const struct comparison *numbers = &recorded->comparison.numbers;
    CLEANUP(text_finish) struct text conditions = TEXT_INIT, order = TEXT_INIT;

    doc_phrase(out, "{bold %s}", dossier_column(row, 2));
    condition_append(&conditions, recorded->comparison.conditions);
    if (conditions.length > 0)
        doc_phrase(out, "\n{soft under %s}", conditions.data);
    if (has_ratio(recorded))
        comparison_order_words(&order, numbers);
    if (order.length > 0) {
        doc_phrase(out, "\n{soft ");
        text_append(out, order.data);
        doc_phrase(out, "}");
    }
    if (!recorded->family_of || !has_ratio(recorded))
        return;
    doc_phrase(out, "\n{soft ");
    if (recorded->gate)
        doc_phrase(out, "%s, ", compare_verdict_name(numbers->verdict));
    doc_phrase(out, "alone %s}", compare_verdict_name(numbers->verdict_alone));
}

static void append_p(struct text *out, const struct recorded *recorded)
{
    if (!has_ratio(recorded) || json_object_get(recorded->body, "reproduce")) {
        doc_phrase(out, "{soft none}");
        return;
    }
    comparison_p_words(out, &recorded->comparison.numbers, false);
    if (!recorded->family_of)
        return;
    doc_phrase(out, "\n{soft alone ");
    comparison_p_words(out, &recorded->comparison.numbers, true);
    doc_phrase(out, "}");
}

static void append_comparison(struct doc *doc, const struct dossier_row *row)
{
    CLEANUP(recorded_finish) struct recorded recorded = recorded_of(row);
    const struct stored_comparison *comparison = &recorded.comparison;

    dossier_time(&doc->block, row, 0);
    doc_add(doc, "\t%s", dossier_column(row, 1));
    if (comparison->figure != COMPARE_TIME)
        doc_add(doc, ", %s", compare_figure_name(comparison->figure));
    doc_add(doc, "\t");
    phrase_result(&doc->block, row->view, member_string(recorded.body, "a"));
    doc_add(doc, "\t");
    phrase_result(&doc->block, row->view, member_string(recorded.body, "b"));
    doc_add(doc, "\t");
    append_verdict(&doc->block, row, &recorded);
    doc_add(doc, "\t");
    if (comparison->has_numbers)
        comparison_number_words(&doc->block, comparison);
    else
        doc_add(doc, "{soft unknown}");
    doc_add(doc, "\t");
    append_p(&doc->block, &recorded);
    doc_add(doc, "\t");
    append_family(&doc->block, &recorded);
    if (isnan(recorded.margin))
        doc_say(doc, NULL, "\t{soft unknown}");
    else
        doc_say(doc, NULL, "\t%.4g %%", 100 * recorded.margin);
}

/* A comparison is listed whether the result was its `a` or its `b`. */
static enum status each_comparison(struct doc *doc, struct store *store, const struct view *view,
                                   const char *columns, const char *rest, dossier_row_fn *append,
                                   size_t *ret_rows, struct error *err)
{
    AUTO_FREE char *ids = dossier_cells(view), *sql = NULL;

    if (ids)
        sql = text_format("SELECT %s FROM comparison WHERE b IS NOT NULL AND (a IN (%s)"
                          " OR b IN (%s)) %s",
                          columns, ids, ids, rest);
    return sql ? dossier_each_row(doc, store, view, sql, 0, append, ret_rows, err)
               : error_no_memory(err);
}

enum status dossier_comparisons(struct doc *doc, struct store *store, const struct view *view,
                                size_t *ret_rows, struct error *err)
{
    static const struct doc_column columns[] = {{"When", DOC_WHOLE},
                                                {"Kind", 0},
                                                {"a", DOC_LABELLED},
                                                {"b", DOC_LABELLED},
                                                {"Verdict", 0},
                                                {"b against a", DOC_LABELLED},
                                                {"p", DOC_NUMBER | DOC_LABELLED},
                                                {"Family", DOC_LABELLED},
                                                {"Margin", DOC_NUMBER | DOC_LABELLED}};
    size_t counted = 0;

    *ret_rows = 0;
    TRY(each_comparison(doc, store, view, FAMILY_COLUMNS, "", append_families, &counted, err));
    doc_add(doc,
            "Every comparison in this database that one of these results takes part in. The "
            "verdict says what b is against a, with its change and interval: 25 %% faster is 1.25 "
            "times as much in the same time, 25 %% slower 1.25 times the time; of a gate by "
            "attainment it is the difference b - a, "
            "by capacity the ratio b to a. p is that of the difference or, where the verdict rests "
            "on it, of the equivalence; within a family by Holm, with the verdict and p without "
            "the family below.");
    doc_table(doc, "tight stacked comparisons", columns, sizeof(columns) / sizeof(*columns));
    TRY(each_comparison(doc, store, view, COMPARISON_COLUMNS, "ORDER BY id", append_comparison,
                        ret_rows, err));
    doc_close(doc);
    return STATUS_OK;
}

enum status dossier_decisions(struct doc *doc, struct store *store, const struct view *view,
                              struct error *err)
{
    size_t rows = 0, before;

    dossier_section(doc, DOSSIER_DECISIONS);
    doc_say(doc, NULL,
            "Two results compare only where workload, protocol, precision, batch, scenario, "
            "implementation and data are the same and known. Then: {bold faster} or {bold slower} "
            "when the 95 %% interval of the ratio of times leaves out 1; {bold equivalent} when "
            "the 90 %% interval lies within the margin (two one-sided tests at 5 %%), which wins "
            "where both hold; else {bold inconclusive}, with what would settle it. The risk of "
            "calling two equal things different is 5 %%; that of calling things equivalent which "
            "differ by the margin is at most 5 %%. Both are measured on series whose truth is "
            "known (README, calibration). Comparisons of one campaign of several arms, or of two "
            "campaigns, are one family: their verdicts rest on p values adjusted by Holm, so that "
            "both risks are those of any such error among all of it; a gate over a family passes "
            "where each of its cells passes by itself, and calls worse by the adjusted p. A gate "
            "{bold passes} what is equivalent or faster, calls {bold worse} what is slower with "
            "the whole interval beyond the margin, and decides nothing else; it refuses what a "
            "foreign worker (ASSAY_WORKER) measured, unless it was told to allow that. A "
            "reproduction is {bold reproduced} when equivalent and {bold not reproduced} when the "
            "whole interval lies beyond the margin, by an interval widened by the spread between "
            "campaigns where three or more of the same result were stored before it. Comparisons "
            "of versions before 9 called worse what was slower where the ratio alone lay beyond "
            "the margin, and not reproduced what was faster or slower.");
    before = doc->out->length;
    TRY(dossier_comparisons(doc, store, view, &rows, err));
    if (rows > 0)
        return STATUS_OK;
    doc_undo(doc, before);
    doc_say(doc, NULL,
            "No comparison with these results was made in this database, so no decision "
            "is stated here.");
    return STATUS_OK;
}

/* ---- summary ---- */

/* How many the first page lists; it counts all, and the section of decisions has each. */
#define NEWEST_SHOWN 4
#define NAMES_SHOWN 4

#define RULE_CHANGED 9 /* the version of comparisons */

/* `before`, `between`, `after`: what was asked of b, with a; %s: the margin. */
static const struct decision_kind {
    const char *kind, *name, *before, *between, *after;
} decision_kinds[] = {
    {"gate", "Gate", "Is ", " as fast as ", ", or slower by no more than %s?"},
    {"attainment", NULL, "Are of ", " as many requests within the limits as of ",
     ", or fewer by no more than %s of all?"},
    {"capacity", NULL, "Does ", " serve as high a rate within the limits as ",
     ", or one lower by no more than %s?"},
    {"attainment again", NULL, "Are of ",
     ", the same again, as many requests within the limits as of ", " within %s of all?"},
    {"compare", "Comparison", "Does ", " differ in time from ", " by more than %s?"},
    {"ab", "Paired comparison", "Does ", " differ in time from ", " by more than %s?"},
    {"reproduce", "Reproduction", "Does ", ", the same again, agree with ", " within %s?"},
};

static const struct verdict_words {
    const char *kind, *verdict, *words, *class_name;
} verdict_list[] = {
#define GATE_ROW(code, name, words)                                                                \
    {"gate", name, words,                                                                          \
     GATE_##code == GATE_PASSES  ? "good"                                                          \
     : GATE_##code == GATE_WORSE ? "bad"                                                           \
                                 : "care"},
    GATE_MAP(GATE_ROW)
#undef GATE_ROW
        {"reproduce", "reproduced", "reproduced", "good"},
    {"reproduce", "not_reproduced", "not reproduced", "bad"},
    {"reproduce", "not_reproducible_here", "not reproducible there", "care"},
    {NULL, "not_worse", "not worse", ""},
    {NULL, "worse", "worse", ""},
    {NULL, "faster", "faster", ""},
    {NULL, "slower", "slower", ""},
    {NULL, "equivalent", "equivalent", ""},
    {NULL, "inconclusive", "inconclusive: what was measured does not settle it", "care"},
    {NULL, "not_comparable", "the two do not compare", "care"},
    {NULL, "none", "no answer", "care"},
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

static void say_question(struct doc *doc, const struct view *view, const struct decision_kind *kind,
                         const struct recorded *recorded)
{
    if (!json_object_get(recorded->body, "a")) {
        doc_say(doc, NULL, "What was compared is withheld, or not recorded.");
        return;
    }
    doc_add(doc, "%s", kind ? kind->before : "Of ");
    phrase_result(&doc->block, view, member_string(recorded->body, "b"));
    doc_add(doc, " (b)%s", kind ? kind->between : " and ");
    phrase_result(&doc->block, view, member_string(recorded->body, "a"));
    doc_add(doc, " (a)");
    if (kind)
        comparison_margin_words(&doc->block, kind->after, recorded->margin);
    doc_end(doc, NULL);
}

/* What keeps a gate from deciding, and what it was allowed to decide under. */
static void say_undecided(struct doc *doc, const json_t *gate)
{
    CLEANUP(text_finish) struct text under = TEXT_INIT;

    if (json_object_get(gate, "undecided_by")) {
        doc_add(doc, "Undecided");
        comparison_undecided_words(&doc->block, json_object_get(gate, "undecided_by"));
        doc_say(doc, "care", ": to be repeated at another hour.");
    }
    condition_append(&under, json_object_get(gate, "under"));
    if (member_is_true(gate, "allow_foreign_worker"))
        doc_say(doc, "care",
                "The gate was told to allow another program's measurements "
                "(`--allow-foreign-worker`).");
    if (under.length > 0)
        doc_say(doc, "care", "The gate was told to decide under %s, too (`--under`).", under.data);
}

static void say_rule(struct doc *doc, const struct decision_kind *kind, bool is_old,
                     const struct recorded *recorded)
{
    doc_add(doc, "Rule: ");
    comparison_rule_words(&doc->block, kind->kind, recorded->margin, is_old);
    if (recorded->family_of)
        doc_add(doc, recorded->gate ? "; in a family worse by the p adjusted for all of it (Holm)"
                                    : "; in a family by the p adjusted for all of it (Holm)");
    doc_say(doc, "soft", "; {link #decisions its risks}.");
}

/* Of COMPARISON_COLUMNS. */
static void append_decision(struct doc *doc, const struct dossier_row *row)
{
    CLEANUP(recorded_finish) struct recorded recorded = recorded_of(row);
    const char *verdict = dossier_column(row, 2);
    const struct decision_kind *kind = kind_of(dossier_column(row, 1));
    const struct verdict_words *words = words_of(dossier_column(row, 1), verdict);
    const char *name = kind ? kind->name : "Decision", *said = words ? words->words : verdict;
    const enum compare_figure figure = recorded.comparison.figure;
    char look[32];

    snprintf(look, sizeof(look), "decision %s", words ? words->class_name : "");
    if (figure != COMPARE_TIME)
        kind = kind_of(json_object_get(recorded.body, "reproduce") ? "attainment again"
                                                                   : compare_figure_name(figure));
    doc_open(doc, DOC_GROUP, look);
    say_question(doc, row->view, kind, &recorded);
    doc_add(doc, "{bold %c%s} {soft %s, ", toupper((unsigned char)said[0]), said + 1, name);
    dossier_time(&doc->block, row, 0);
    doc_say(doc, "answer", "}");
    comparison_answer(doc, row->view, &recorded.comparison, NULL);
    comparison_attribution(doc, &recorded.comparison);
    if (kind)
        say_rule(doc, kind, dossier_integer(row, 4) < RULE_CHANGED, &recorded);
    say_undecided(doc, recorded.gate);
    comparison_certainty(doc, row->view, &recorded.comparison);
    comparison_conditions(doc, &recorded.comparison);
    doc_close(doc);
}

/* columns: 0 kind, 1 verdict, 2 how many */
static void append_tally(struct doc *doc, const struct dossier_row *row)
{
    const struct decision_kind *kind = kind_of(dossier_column(row, 0));

    doc_add(doc, "%s%lld %s: ", doc_ends_with(doc, ' ') ? "" : ", ",
            (long long)dossier_integer(row, 2), kind ? kind->kind : dossier_column(row, 0));
    doc_spaced(&doc->block, dossier_column(row, 1));
}

static enum status say_newest(struct doc *doc, struct store *store, const struct view *view,
                              size_t *ret_rows, struct error *err)
{
    size_t kinds = 0, counted = 0;
    char rest[64];

    *ret_rows = 0;
    snprintf(rest, sizeof(rest), "ORDER BY id DESC LIMIT %d", NEWEST_SHOWN);
    TRY(each_comparison(doc, store, view, COMPARISON_COLUMNS, rest, append_decision, ret_rows,
                        err));
    if (*ret_rows <= 1)
        return STATUS_OK;
    doc_add(doc, "All that are recorded: ");
    TRY(each_comparison(doc, store, view, "kind, verdict, count(*)",
                        "GROUP BY kind, verdict ORDER BY min(id)", append_tally, &kinds, err));
    doc_say(doc, "soft",
            *ret_rows == NEWEST_SHOWN ? "; the newest stand here, {link #decisions each "
                                        "with its rule}."
                                      : ".");
    return each_comparison(doc, store, view, FAMILY_COLUMNS, "", append_families, &counted, err);
}

/* Each question once, of all plans that state one. */
static void say_questions(struct doc *doc, const struct view *view)
{
    for (size_t i = 0; i < view->campaign_count; i++) {
        const char *question = view->campaigns[i].question;
        bool asked = question == NULL;

        for (size_t k = 0; k < i && !asked; k++)
            asked = view->campaigns[k].question && !strcmp(view->campaigns[k].question, question);
        if (!asked)
            doc_say(doc, "wrap", "Asked: {bold %s}", question);
    }
}

enum status dossier_decided(struct doc *doc, struct store *store, const struct view *view,
                            struct error *err)
{
    json_auto_t *decisions = NULL, *accepted = NULL;
    size_t rows = 0;

    say_questions(doc, view);
    TRY(dossier_newest(store, view, &judgement_decide, &decisions, err));
    EACH(body, decisions)
        html_decision_in_short(doc, body);
    TRY(dossier_newest(store, view, &judgement_accept, &accepted, err));
    EACH(body, accepted)
        dossier_accepted(doc, body);
    TRY(say_newest(doc, store, view, &rows, err));
    if (rows + json_array_size(accepted) + json_array_size(decisions) > 0)
        return STATUS_OK;
    doc_open(doc, DOC_GROUP, "decision");
    doc_say(doc, "answer", "{bold No decision is recorded}");
    doc_say(doc, NULL,
            "Nothing in this database compares one of these results with another: the figures are "
            "not compared (`assay gate`, `assay compare --record`, `assay reproduce`).");
    doc_close(doc);
    return STATUS_OK;
}
