/*
 * The first screen of a page, for whoever reads no further: what was asked, the answer in a
 * sentence, how sure it is, and one picture. Ids and digests come after it.
 */
#include "reports/html_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "reports/cost_document.h"
#include "reports/decision_words.h"
#include "reports/html_decision.h"
#include "reports/html_pictures.h"
#include "reports/serving_table.h"

/* How many different texts there are at `offset` of the cells; the first is returned. */
static const char *first_of(const struct view *view, const char *(*text)(const struct view_cell *),
                            size_t *ret_count)
{
    *ret_count = 0;
    for (size_t i = 0; i < view->cell_count; ++i) {
        bool seen = false;

        for (size_t k = 0; k < i && !seen; ++k)
            seen = text_same(text(&view->cells[i]), text(&view->cells[k]));
        *ret_count += !seen;
    }
    return view->cell_count ? text(&view->cells[0]) : NULL;
}

static const char *workload_of(const struct view_cell *cell)
{
    return cell->workload;
}

static const char *device_of(const struct view_cell *cell)
{
    return cell->device.name ? cell->device.name : cell->device_spec;
}

/* "NVIDIA H100", "3 devices" */
static void append_one_or_count(struct text *out, const struct view *view,
                                const char *(*text)(const struct view_cell *), const char *many)
{
    size_t count;
    const char *first = first_of(view, text, &count);

    if (count > 1)
        doc_phrase(out, "%zu %s", count, many);
    else
        doc_phrase(out, "%.80s", first ? first : "what is not recorded");
}

/* Arms of a matrix have names, which are what was set, and the first is the base; else a and b. */
static void append_arms(struct text *out, const struct view *view)
{
    const struct view_cell *base = NULL;
    bool is_version = true, has_driver = false, has_worker = false, crossed;
    AUTO_FREE char *what = NULL;
    size_t stem;

    for (size_t i = 0; i < view->cell_count; ++i)
        if (view->cells[i].arm && (!base || view->cells[i].ordinal.value < base->ordinal.value))
            base = &view->cells[i];
    if (view->campaign_count != 1 || !base || strlen(base->arm) < 2) {
        doc_phrase(out, "Does b differ from a: ");
        return;
    }
    crossed = strstr(base->arm, ", ") != NULL;
    stem = strcspn(base->arm, "@") + 1;
    for (size_t i = 0; i < view->cell_count; ++i) {
        const struct view_cell *cell = &view->cells[i];

        is_version = is_version && cell->arm && !strncmp(cell->arm, base->arm, stem);
        has_driver |= json_object_get(json_object_get(cell->root, "arm_settings"), "driver") != 0;
        has_worker |= json_is_object(json_object_get(cell->root, "worker"));
    }
    is_version = is_version && !crossed && base->arm[stem - 1] == '@';
    what = is_version ? text_format("version of %.*s", (int)stem - 1, base->arm) : NULL;
    doc_phrase(out, "Which %s differs from %.40s: ",
               what         ? what
               : crossed    ? "setting"
               : has_driver ? "driver"
               : has_worker ? "worker"
                            : "setting",
               base->arm + (is_version ? stem : 0));
}

/* Each question once, of all plans that state one; else what the plan amounts to. */
static void append_question(struct text *out, const struct view *view,
                            const struct html_pairs *pairs)
{
    bool asked = false;
    size_t workloads;

    for (size_t i = 0; i < view->campaign_count; ++i) {
        const char *question = view->campaigns[i].question;
        bool again = question == NULL;

        for (size_t k = 0; k < i && !again; ++k)
            again = text_same(view->campaigns[k].question, question);
        if (again)
            continue;
        doc_phrase(out, asked ? "\n%s" : "%s", question);
        asked = true;
    }
    if (asked)
        return;
    first_of(view, workload_of, &workloads);
    if (pairs->count > 0)
        append_arms(out, view);
    else
        doc_phrase(out, workloads > 1 ? "How fast are " : "How fast is ");
    append_one_or_count(out, view, workload_of, "workloads");
    doc_phrase(out, " on ");
    append_one_or_count(out, view, device_of, "devices");
    doc_phrase(out, "?");
}

/* What the cells amount to; the sum is all of them. */
struct tally {
    size_t settled, open, marked, imported, unsupported, none;
    size_t grades[METRIC_GRADE_D + 1];
    double least, most; /* half-width of the intervals, relative */
    double confidence;  /* of all; 0: they differ, or there are none */
    size_t intervals;
};

static void tally_add(struct tally *tally, const struct view_cell *cell)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    const struct metric_value *value = view_headline(cell, &id);
    double half;

    if (!value) {
        ++*(view_is_unsupported(cell) ? &tally->unsupported : &tally->none);
        return;
    }
    ++*(cell->imported.present           ? &tally->imported
        : value->grade == METRIC_GRADE_D ? &tally->marked
        : view_is_steady(cell)           ? &tally->settled
                                         : &tally->open);
    if (value->grade <= METRIC_GRADE_D)
        ++tally->grades[value->grade];
    if (!value->has_interval || !(value->value > 0))
        return;
    half = fmax(value->hi - value->value, value->value - value->lo) / value->value;
    tally->least = tally->intervals ? fmin(tally->least, half) : half;
    tally->most = tally->intervals ? fmax(tally->most, half) : half;
    tally->confidence = tally->intervals == 0 || tally->confidence == cell->estimate->confidence
                            ? cell->estimate->confidence
                            : 0;
    ++tally->intervals;
}

static struct tally tally_of(const struct view *view)
{
    struct tally tally = {0};

    for (size_t i = 0; i < view->cell_count; ++i)
        tally_add(&tally, &view->cells[i]);
    return tally;
}

/* Results whose headline is of one metric and unit, and the two ends of them. */
struct span {
    enum metric_id id;
    const char *unit;
    const struct view_cell *ends[2];
    double values[2];
    size_t count;
    bool marked; /* none is more than an indication */
};

#define SPANS_MAX 4

static void widen(struct span *span, const struct view_cell *cell, double value, bool marked)
{
    if (marked && !span->marked)
        return;
    if (span->marked && !marked)
        *span = (struct span){.id = span->id, .unit = span->unit};
    if (span->count == 0 || value < span->values[0]) {
        span->ends[0] = cell;
        span->values[0] = value;
    }
    if (span->count++ == 0 || value > span->values[1]) {
        span->ends[1] = cell;
        span->values[1] = value;
    }
}

/* In the order of the results; returns how many. */
static size_t spans_of(const struct view *view, bool of_servers, struct span spans[SPANS_MAX])
{
    size_t count = 0, k;

    for (size_t i = 0; i < view->cell_count; ++i) {
        enum metric_id id = METRIC_ITERATION_TIME;
        const struct metric_value *value = view_headline(&view->cells[i], &id);

        if (!value || (!of_servers && serving_is_cell(&view->cells[i], NULL)))
            continue;
        for (k = 0; k < count && (spans[k].id != id || strcmp(spans[k].unit, value->unit)); ++k)
            ;
        if (k == SPANS_MAX)
            continue;
        if (k == count)
            spans[count++] = (struct span){.id = id, .unit = value->unit, .marked = true};
        widen(&spans[k], &view->cells[i], value->value, value->grade == METRIC_GRADE_D);
    }
    return count;
}

static void append_end(struct text *out, const struct view_cell *cell)
{
    AUTO_FREE char *anchor = phrase_result_id(cell), *words = html_cell_words(cell, false);

    doc_phrase(out, "{link #%s %.80s}", anchor, words);
}

/* "6.6 to 51 GB/s: add fp32 to copy fp32." */
static void say_span(struct doc *doc, const struct span *span)
{
    const struct metric_value *most = view_metric(span->ends[1], span->id);
    const struct number_unit unit = view_metric_unit(span->id, most);
    const bool is_one = span->ends[0] == span->ends[1];
    struct view_figure figure;
    char ends[NUMBER_SIZE];

    view_figure_of(span->id, most, &figure);
    number_format_ends(span->values[0], span->values[1], &unit, 3, ends);
    doc_add(doc, "{bold %s%s %s%s}", span->marked ? "(" : "", is_one ? figure.number : ends,
            unit.name, span->marked ? ")" : "");
    if (metrics[span->id].kind != METRIC_KIND_RATE)
        doc_add(doc, " %s", metrics[span->id].label);
    doc_add(doc, ": ");
    append_end(&doc->block, span->ends[0]);
    if (!is_one) {
        doc_add(doc, " to ");
        append_end(&doc->block, span->ends[1]);
    }
    doc_say(doc, "short", "%s.", span->marked ? ", an indication" : "");
}

/* What each server carries, and the levels of all else. */
static void say_numbers(struct doc *doc, const struct view *view)
{
    struct span spans[SPANS_MAX];
    size_t told = 0, count;

    for (size_t i = 0; i < view->cell_count; ++i) {
        CLEANUP(text_finish) struct text words = TEXT_INIT;

        if (!serving_is_first(view, i) || !serving_carried_words(view, i, &words))
            continue;
        append_end(&doc->block, &view->cells[i]);
        doc_say(doc, "short", ": %s", words.data);
        ++told;
    }
    count = spans_of(view, told == 0, spans);
    for (size_t i = 0; i < count; ++i)
        say_span(doc, &spans[i]);
}

static void say_answer(struct doc *doc, const struct view *view, const struct tally *tally)
{
    const struct {
        size_t count;
        const char *words;
    } shares[] = {{tally->settled, "hold as they stand"},
                  {tally->open, "without a proven steady state"},
                  {tally->marked, "only indicate a level (in parentheses)"},
                  {tally->imported, "come from another program"},
                  {tally->unsupported, "asked for what the device does not support"},
                  {tally->none, "came to no value"}};
    const char *before = ": ";

    say_numbers(doc, view);
    if (view->cell_count == 1 && tally->none + tally->unsupported > 0)
        doc_say(doc, "short", "%s: %s.", view_no_value_label(&view->cells[0]),
                view_no_value_reason(&view->cells[0]));
    if (view->cell_count == 1)
        return;
    doc_add(doc, "%zu results", view->cell_count);
    for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); ++i) {
        if (shares[i].count == 0)
            continue;
        doc_add(doc, "%s%zu %s", before, shares[i].count, shares[i].words);
        before = ", ";
    }
    doc_say(doc, NULL, ".");
}

/* "95 % intervals of ±1.2 % to ±3 %" */
static void append_intervals(struct text *out, const struct view *view, const struct tally *tally)
{
    char least[NUMBER_SIZE], most[NUMBER_SIZE];
    struct view_figure figure;

    number_format_percent(tally->least, least);
    /* Such a width tells no more than that nothing is known. */
    if (tally->most > 1)
        snprintf(most, sizeof(most), "more than 100 %%");
    else
        number_format_percent(tally->most, most);
    if (tally->confidence > 0)
        doc_phrase(out, "%.4g %% ", 100 * tally->confidence);
    if (view->cell_count == 1) {
        view_headline_figure(&view->cells[0], &figure);
        doc_phrase(out, "interval from %s", figure.ends);
    } else if (tally->intervals == 1) {
        doc_phrase(out, "interval of %s%s", tally->most > 1 ? "" : "±", most);
    } else {
        doc_phrase(out, "intervals of ±%s to %s%s", least, tally->most > 1 ? "" : "±", most);
    }
}

static void say_certainty(struct doc *doc, const struct view *view, const struct tally *tally)
{
    static const char *const names[] = {[METRIC_GRADE_A] = "A",
                                        [METRIC_GRADE_B] = "B",
                                        [METRIC_GRADE_C] = "C",
                                        [METRIC_GRADE_D] = "D"};
    const size_t values = tally->settled + tally->marked + tally->imported;
    const char *before = "";

    doc_add(doc, "{bold How sure:} ");
    if (tally->intervals == 0) {
        doc_say(doc, NULL,
                values > 0 ? "no value here has an interval, so nothing says how far it "
                             "would move if it was measured again."
                           : "nothing was measured to its end.");
        return;
    }
    append_intervals(&doc->block, view, tally);
    if (tally->intervals < values)
        doc_add(doc, " (%zu of %zu values have one)", tally->intervals, values);
    doc_add(doc, view->cell_count == 1 ? "; grade " : "; grades ");
    for (int grade = METRIC_GRADE_A; grade <= METRIC_GRADE_D; ++grade) {
        if (tally->grades[grade] == 0)
            continue;
        doc_add(doc, "%s", before);
        if (view->cell_count > 1)
            doc_add(doc, "%zu ", tally->grades[grade]);
        doc_add(doc, "%s (%s)", names[grade], metric_grade_label((enum metric_grade)grade));
        before = ", ";
    }
    doc_say(doc, NULL, ".");
}

/* What invalidates the figures, or limits them, comes with them. */
static void say_limits(struct doc *doc, const struct view *view)
{
    CLEANUP(text_finish) struct text words = TEXT_INIT;
    bool simulated = false;

    for (size_t i = 0; i < view->cell_count; ++i)
        simulated = simulated || view->cells[i].device.simulated;
    if (simulated)
        doc_note(doc, "note stop",
                 "{bold Some devices are simulated.} Their results test this tool and say nothing "
                 "of any hardware; they are not for publication.");
    if (view_closing_words(view, &words))
        doc_note(doc, "note", "%s", words.data);
    text_clear(&words);
    if (view_contention(view, &words))
        doc_note(doc, "note", "%s.", words.data);
    doc->out->failed = doc->out->failed || words.failed;
}

static void say_cost(struct doc *doc, const json_t *costs)
{
    if (!cost_answer_words(&doc->block, costs))
        return;
    doc_say(doc, "short", " ({link #cost cost})");
}

void html_first(struct doc *doc, const struct view *view, const struct html_pairs *pairs,
                const json_t *decision, const json_t *costs, const struct text *contents)
{
    const struct tally tally = tally_of(view);
    struct text *out = doc->out;

    text_append(out, "<header class=\"masthead\">");
    doc_say(doc, "eyebrow", "assay benchmark report");
    if (decision)
        decision_question_words(&doc->block, decision);
    else
        append_question(&doc->block, view, pairs);
    doc_end_heading(doc, 1, NULL);
    text_append(out, "<div class=\"first\"><div class=\"words\">\n");
    if (decision) {
        html_decision_words(doc, decision);
    } else if (pairs->count > 0) {
        html_pairs_words(doc, view, pairs);
    } else {
        say_answer(doc, view, &tally);
        say_cost(doc, costs);
        say_certainty(doc, view, &tally);
    }
    say_limits(doc, view);
    text_append_bytes(out, contents->data, contents->length);
    text_append(out, "</div>\n");
    if (decision)
        html_decision_picture(out, decision, "decision-1");
    else if (pairs->count > 0)
        html_pairs_picture(doc, view, pairs);
    else
        html_forest(out, view);
    text_append(out, "</div></header>\n");
}
