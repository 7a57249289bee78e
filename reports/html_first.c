/*
 * The first screen of a page, for whoever reads no further: what was asked, the answer in a
 * sentence, how sure it is, and one picture. Ids and digests come after it.
 */
#include "reports/html_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/escape.h"
#include "reports/html_decision.h"
#include "reports/html_pictures.h"

static bool is_same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* How many different texts there are at `offset` of the cells; the first is returned. */
static const char *first_of(const struct view *view, const char *(*text)(const struct view_cell *),
                            size_t *ret_count)
{
    *ret_count = 0;
    for (size_t i = 0; i < view->cell_count; ++i) {
        bool seen = false;

        for (size_t k = 0; k < i && !seen; ++k)
            seen = is_same(text(&view->cells[i]), text(&view->cells[k]));
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
        text_append_format(out, "%zu %s", count, many);
    else
        escape_html_short(out, first ? first : "what is not recorded", 80);
}

/* Arms of a matrix have names, which are what was set, and the first is the base; else a and b. */
static void append_arms(struct text *out, const struct view *view)
{
    const struct view_cell *base = NULL;
    bool is_version = true, has_driver = false, has_worker = false, crossed;
    size_t stem;

    for (size_t i = 0; i < view->cell_count; ++i)
        if (view->cells[i].arm && (!base || view->cells[i].ordinal.value < base->ordinal.value))
            base = &view->cells[i];
    if (view->campaign_count != 1 || !base || strlen(base->arm) < 2) {
        text_append(out, "Does b differ from a: ");
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
    text_append(out, "Which ");
    if (is_version) {
        text_append(out, "version of ");
        escape_html_bytes(out, base->arm, stem - 1);
    } else {
        text_append(out, crossed      ? "setting"
                         : has_driver ? "driver"
                         : has_worker ? "worker"
                                      : "setting");
    }
    text_append(out, " differs from ");
    escape_html_short(out, base->arm + (is_version ? stem : 0), 40);
    text_append(out, ": ");
}

/* Each question once, of all plans that state one; else what the plan amounts to. */
static void append_question(struct text *out, const struct view *view,
                            const struct html_pairs *pairs)
{
    bool asked = false;
    size_t workloads;

    text_append(out, "<h1 class=\"wrap\">");
    for (size_t i = 0; i < view->campaign_count; ++i) {
        const char *question = view->campaigns[i].question;
        bool again = question == NULL;

        for (size_t k = 0; k < i && !again; ++k)
            again = is_same(view->campaigns[k].question, question);
        if (again)
            continue;
        text_append(out, asked ? "<br>" : "");
        escape_html(out, question);
        asked = true;
    }
    if (!asked) {
        first_of(view, workload_of, &workloads);
        if (pairs->count > 0)
            append_arms(out, view);
        else
            text_append(out, workloads > 1 ? "How fast are " : "How fast is ");
        append_one_or_count(out, view, workload_of, "workloads");
        text_append(out, " on ");
        append_one_or_count(out, view, device_of, "devices");
        text_append(out, "?");
    }
    text_append(out, "</h1>\n");
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

static void append_share(struct text *out, size_t count, const char *words, const char **before)
{
    if (count == 0)
        return;
    text_append_format(out, "%s%zu %s", *before, count, words);
    *before = ", ";
}

static void append_answer_of_one(struct text *out, const struct view_cell *cell)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    struct view_figure figure;

    html_cell_name(out, cell);
    if (!view_figure_of(id, view_headline(cell, &id), &figure)) {
        text_append_format(out, ": %s, ", view_no_value_label(cell));
        escape_html(out, view_no_value_reason(cell));
        text_append_char(out, '.');
        return;
    }
    text_append_format(out, ": %s", figure.marked ? "an indication of " : "");
    escape_html(out, figure.value);
    text_append_char(out, '.');
}

static void append_answer(struct text *out, const struct view *view, const struct tally *tally)
{
    const char *before = ": ";

    text_append(out, "<p class=\"short\">");
    if (view->cell_count == 1) {
        append_answer_of_one(out, &view->cells[0]);
    } else {
        text_append_format(out, "%zu results", view->cell_count);
        append_share(out, tally->settled, "hold as they stand", &before);
        append_share(out, tally->open, "without a proven steady state", &before);
        append_share(out, tally->marked, "only indicate a level (in parentheses)", &before);
        append_share(out, tally->imported, "come from another program", &before);
        append_share(out, tally->unsupported, "asked for what the device does not support",
                     &before);
        append_share(out, tally->none, "came to no value", &before);
        text_append_char(out, '.');
    }
    text_append(out, "</p>\n");
}

static void append_certainty(struct text *out, const struct view *view, const struct tally *tally)
{
    static const char *const names[] = {[METRIC_GRADE_A] = "A",
                                        [METRIC_GRADE_B] = "B",
                                        [METRIC_GRADE_C] = "C",
                                        [METRIC_GRADE_D] = "D"};
    char least[NUMBER_SIZE], most[NUMBER_SIZE];
    enum metric_id id = METRIC_ITERATION_TIME;
    struct view_figure figure;
    const char *before = "";

    text_append(out, "<p><b>How sure:</b> ");
    if (tally->intervals == 0) {
        text_append(out, tally->settled + tally->marked + tally->imported > 0
                             ? "no value here has an interval, so nothing says how far it would "
                               "move if it was measured again.</p>\n"
                             : "nothing was measured to its end.</p>\n");
        return;
    }
    number_format_percent(tally->least, least);
    /* Such a width tells no more than that nothing is known. */
    if (tally->most > 1)
        snprintf(most, sizeof(most), "more than 100 %%");
    else
        number_format_percent(tally->most, most);
    if (tally->confidence > 0)
        text_append_format(out, "%.4g %% ", 100 * tally->confidence);
    if (view->cell_count == 1) {
        view_figure_of(id, view_headline(&view->cells[0], &id), &figure);
        text_append(out, "interval from ");
        escape_html(out, figure.ends);
    } else if (tally->intervals == 1) {
        text_append_format(out, "interval of %s%s", tally->most > 1 ? "" : "±", most);
    } else {
        text_append_format(out, "intervals of ±%s to %s%s", least, tally->most > 1 ? "" : "±",
                           most);
    }
    if (tally->intervals < tally->settled + tally->marked + tally->imported)
        text_append_format(out, " (%zu of %zu values have one)", tally->intervals,
                           tally->settled + tally->marked + tally->imported);
    text_append(out, view->cell_count == 1 ? "; grade " : "; grades ");
    for (int grade = METRIC_GRADE_A; grade <= METRIC_GRADE_D; ++grade) {
        if (tally->grades[grade] == 0)
            continue;
        text_append(out, before);
        if (view->cell_count > 1)
            text_append_format(out, "%zu ", tally->grades[grade]);
        text_append_format(out, "%s (%s)", names[grade],
                           metric_grade_label((enum metric_grade)grade));
        before = ", ";
    }
    text_append(out, ".</p>\n");
}

static void append_contention(struct text *out, const struct view *view, struct text *words)
{
    text_clear(words);
    if (view_contention(view, words))
        text_append_format(out, "<div class=\"note\"><p>%s.</p></div>\n", words->data);
}

/* What invalidates the figures, or limits them, comes with them. */
static void append_limits(struct text *out, const struct view *view)
{
    bool simulated = false;
    struct text words;

    text_init(&words);
    for (size_t i = 0; i < view->cell_count; ++i)
        simulated = simulated || view->cells[i].device.simulated;
    if (simulated)
        text_append(
            out,
            "<div class=\"note stop\"><p><b>Some devices are simulated.</b> Their results test "
            "this tool and say nothing of any hardware; they are not for publication."
            "</p></div>\n");
    if (view_closing_words(view, &words)) {
        text_append(out, "<div class=\"note\"><p>");
        escape_html_words(out, words.data);
        text_append(out, "</p></div>\n");
    }
    text_clear(&words);
    append_contention(out, view, &words);
    out->failed = out->failed || words.failed;
    text_finish(&words);
}

void html_first(struct text *out, const struct view *view, const struct html_pairs *pairs,
                const json_t *decision)
{
    const struct tally tally = tally_of(view);

    text_append(out,
                "<header class=\"masthead\"><p class=\"eyebrow\">assay benchmark report</p>\n");
    if (decision) {
        text_append(out, "<h1 class=\"wrap\">");
        html_decision_question(out, decision);
        text_append(out, "</h1>\n");
    } else {
        append_question(out, view, pairs);
    }
    text_append(out, "<div class=\"first\"><div class=\"words\">\n");
    if (decision) {
        html_decision_words(out, decision);
    } else if (pairs->count > 0) {
        html_pairs_words(out, view, pairs);
    } else {
        append_answer(out, view, &tally);
        append_certainty(out, view, &tally);
    }
    append_limits(out, view);
    text_append(out, "</div>\n");
    if (decision)
        html_decision_picture(out, decision, "decision-1");
    else if (pairs->count > 0)
        html_pairs_picture(out, view, pairs);
    else
        html_forest(out, view);
    text_append(out, "</div></header>\n");
}
