/* Decisions between results, as recorded by `assay decide`: for the first screen, and each in full.
 */
#include "reports/html_decision.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "reports/decision_document.h"
#include "reports/decision_words.h"
#include "reports/plot.h"

#define OPTIONS_MAX 16

/* ---- the picture ---- */

/* Of the objectives: the first that is a cost, else the second; and the first other one. */
static bool choose_axes(const json_t *body, size_t *ret_y, size_t *ret_x)
{
    const json_t *figures = json_object_get(body, "figures");
    size_t count = 0, objectives[OPTIONS_MAX], y = 0;

    EACH(figure, figures)
        if (count < OPTIONS_MAX && member_is_true(figure, "objective"))
            objectives[count++] = figure_at;
    while (y < count &&
           strncmp(member_text(json_array_get(figures, objectives[y]), "name"), "cost", 4) != 0)
        y++;
    if (y == count)
        y = count > 1 ? 1 : 0;
    *ret_y = count ? objectives[y] : 0;
    *ret_x = count ? objectives[y == 0 && count > 1] : 0;
    return count > 1;
}

/* Each standing has its colour; those that remain are joined. */
static const struct {
    const char *standing, *name;
    size_t slot;
    bool hollow;
} looks[] = {{"not_dominated", "not dominated", PLOT_ACCENT, false},
             {"not_separable", "not separable", 1, false},
             {"dominated", "dominated", CHART_SLOTS, false},
             {"infeasible", "misses a requirement", CHART_SLOTS, true}};
#define LOOKS (sizeof(looks) / sizeof(looks[0]))

static char *name_of(const json_t *body, size_t figure, const char *unit)
{
    struct text name = TEXT_INIT;

    decision_figure_name(&name, json_array_get(json_object_get(body, "figures"), figure));
    if (*unit)
        text_append_format(&name, ", %s", unit);
    return text_steal(&name);
}

static void draw_plane(struct text *out, const json_t *body, const char *id, size_t x, size_t y)
{
    const json_t *options = json_object_get(body, "options");
    const struct number_unit unit_x = decision_figure_unit(body, x),
                             unit_y = decision_figure_unit(body, y);
    struct plot_point points[OPTIONS_MAX];
    struct plot_curve curves[LOOKS];
    AUTO_FREE char *title_x = name_of(body, x, unit_x.name),
                   *title_y = name_of(body, y, unit_y.name);
    struct plot_xy plot = {.heading = "The options",
                           .description = "A mark per option with its intervals both ways; a line "
                                          "joins those that no other dominates.",
                           .x = plot_axis_new(title_x, unit_x, false),
                           .y = plot_axis_new(title_y, unit_y, false),
                           .curves = curves};
    size_t used = 0;

    for (size_t k = 0; k < LOOKS; k++) {
        const size_t from = used;

        EACH(option, options) {
            const json_t *at_x = json_array_get(json_object_get(option, "figures"), x),
                         *at_y = json_array_get(json_object_get(option, "figures"), y);

            if (strcmp(member_text(option, "standing"), looks[k].standing) != 0 ||
                used == OPTIONS_MAX)
                continue;
            points[used++] = (struct plot_point){.x = member_number(at_x, "value"),
                                                 .y = member_number(at_y, "value"),
                                                 .x_lo = member_number(at_x, "lo"),
                                                 .x_hi = member_number(at_x, "hi"),
                                                 .y_lo = member_number(at_y, "lo"),
                                                 .y_hi = member_number(at_y, "hi"),
                                                 .label = member_text(option, "name"),
                                                 .title = member_text(option, "name"),
                                                 .hollow = looks[k].hollow};
        }
        if (used == from)
            continue;
        qsort(points + from, used - from, sizeof(*points), plot_points_by_x);
        curves[plot.count++] = (struct plot_curve){.name = looks[k].name,
                                                   .slot = looks[k].slot,
                                                   .line = k == 0,
                                                   .dots = true,
                                                   .points = points + from,
                                                   .count = used - from};
    }
    plot_xy(out, id, &plot);
    out->failed |= !title_x || !title_y;
}

/* Of one objective: the options below each other. */
static void draw_rows(struct text *out, const json_t *body, const char *id, size_t figure)
{
    const json_t *options = json_object_get(body, "options");
    const struct number_unit unit = decision_figure_unit(body, figure);
    struct plot_row rows[OPTIONS_MAX];
    struct text values[OPTIONS_MAX];
    char *name = name_of(body, figure, "");
    struct plot_rows plot = {.heading = name ? name : "",
                             .description = "A row per option, a mark with its interval.",
                             .rows = rows,
                             .axis = plot_axis_new(NULL, unit, false),
                             .reference = NAN,
                             .band_lo = NAN,
                             .band_hi = NAN};
    size_t i;

    EACH(option, options) {
        const json_t *range = json_array_get(json_object_get(option, "figures"), figure);

        if (option_at == OPTIONS_MAX)
            break;
        text_init(&values[option_at]);
        decision_range_words(&values[option_at], range, &unit);
        rows[option_at] = (struct plot_row){
            .label = member_text(option, "name"),
            .value = text_ok(&values[option_at]) ? values[option_at].data : "",
            .at = member_number(range, "value"),
            .lo = member_number(range, "lo"),
            .hi = member_number(range, "hi"),
            .hollow = !strcmp(member_text(option, "standing"), "infeasible"),
            .bold = !strcmp(member_text(option, "standing"), "not_dominated"),
        };
        plot.count = option_at + 1;
    }
    plot_rows(out, id, &plot);
    for (i = 0; i < plot.count; i++)
        text_finish(&values[i]);
    free(name);
}

/* All options have the same value of this figure: it is no axis. */
static bool is_same(const json_t *body, size_t figure)
{
    const json_t *options = json_object_get(body, "options");
    const json_t *first =
        json_array_get(json_object_get(json_array_get(options, 0), "figures"), figure);

    EACH(option, options)
        if (!json_equal(first, json_array_get(json_object_get(option, "figures"), figure)))
            return false;
    return true;
}

void html_decision_picture(struct text *out, const json_t *body, const char *id)
{
    size_t x, y;

    text_append(out, "<div class=\"picture\"><figure>");
    if (choose_axes(body, &y, &x) && !is_same(body, x))
        draw_plane(out, body, id, x, y);
    else
        draw_rows(out, body, id, y);
    text_append(out, "</figure>\n<p class=\"soft\"><small>Intervals of measurements, and the "
                     "prices' own bounds. A price that several options pay moves them together, so "
                     "options can be told apart although their intervals overlap.</small></p>"
                     "</div>\n");
}

/* ---- words ---- */

/* At what cost, how sure, and what would change it; after the answer. */
static void say_grounds(struct doc *doc, const json_t *body)
{
    const json_t *changes[DECISION_NEAREST];

    decision_grounds(doc, body);
    decision_nearest_changes(body, changes);
    if (!changes[0]) {
        doc_say(doc, NULL,
                "{bold What would change it}, by itself: no price, figure or limit, were it ten "
                "times as high or low.");
        return;
    }
    doc_say(doc, NULL, "{bold What would change it}, each by itself:");
    doc_open(doc, DOC_LIST, NULL);
    for (size_t i = 0; i < DECISION_NEAREST && changes[i]; i++) {
        decision_change_words(&doc->block, body, changes[i]);
        doc_end(doc, NULL);
    }
    doc_close(doc);
}

void html_decision_words(struct doc *doc, const json_t *body)
{
    decision_answer_words(&doc->block, body);
    doc_end(doc, "short");
    say_grounds(doc, body);
    doc_say(doc, NULL, "{link #decision Each option, and all that would change the answer}");
}

/* ---- in full ---- */

/* Prices that count, folded. */
static void say_prices(struct doc *doc, const json_t *body)
{
    static const struct doc_column columns[] = {
        {"Line", 0}, {"Item", 0}, {"Kind", 0}, {"Amount", DOC_NUMBER}, {"Source", 0}};
    const json_t *prices = json_object_get(body, "prices");

    if (!json_is_object(prices))
        return;
    doc_add(doc, "The prices that count");
    doc_open(doc, DOC_FOLD, NULL);
    doc_table(doc, "tight", columns, sizeof(columns) / sizeof(*columns));
    EACH(row, json_object_get(prices, "rows")) {
        const char *unit = member_text(row, "unit");

        doc_add(doc, "%lld\t%s\t%s\t", member_integer(row, "line"), member_text(row, "item"),
                member_text(row, "kind"));
        if (!strcmp(member_text(row, "confidential"), "yes"))
            doc_add(doc, "confidential");
        else
            doc_add(doc, "%.10g %s per %s", member_number(row, "amount"),
                    member_text(row, "currency"), !strcmp(unit, "each") ? "piece" : unit);
        doc_say(doc, NULL, "\t%s", member_string(row, "source"));
    }
    doc_close(doc);
    doc_close(doc);
}

static void say_answer(struct doc *doc, const json_t *body)
{
    const json_t *decision = json_object_get(body, "decision");
    const struct view_count at = {true, member_integer(body, "utc_ns")};
    const char *verdict = member_text(body, "verdict");

    doc_open(doc, DOC_GROUP,
             !strcmp(verdict, "none")   ? "decision bad"
             : !strcmp(verdict, "open") ? "decision care"
                                        : "decision good");
    decision_question_words(&doc->block, body);
    doc_end(doc, NULL);
    doc_add(doc, "{bold %s} {soft decision %s version %lld, ",
            !strcmp(verdict, "decided")     ? "Decided"
            : !strcmp(verdict, "trade_off") ? "No single answer"
            : !strcmp(verdict, "open")      ? "Open"
                                            : "None",
            member_text(decision, "decision"), member_integer(decision, "version"));
    phrase_time(&doc->block, &at);
    doc_say(doc, "answer", "}");
    decision_answer_words(&doc->block, body);
    doc_end(doc, NULL);
}

void html_decision_in_short(struct doc *doc, const json_t *body)
{
    say_answer(doc, body);
    say_grounds(doc, body);
    doc_say(doc, "soft", "{link #decision Each option}");
    doc_close(doc);
}

static void say_decision(struct doc *doc, const json_t *body, const char *picture)
{
    const json_t *prices = json_object_get(body, "prices"), *peaks = json_object_get(body, "peaks");

    say_answer(doc, body);
    doc_close(doc);
    if (picture)
        html_decision_picture(doc->out, body, picture);
    decision_options(doc, body);
    decision_changes(doc, body);
    say_prices(doc, body);
    decision_notes(doc, body);
    doc_add(doc, "Declaration {digest %s}", member_string(body, "decision_sha256"));
    if (json_is_object(prices))
        doc_add(doc, ", prices {digest %s}", member_string(prices, "sha256"));
    if (json_is_object(peaks))
        doc_add(doc, ", declared peaks {digest %s}", member_string(peaks, "sha256"));
    doc_end(doc, "soft");
}

void html_decisions(struct doc *doc, const json_t *bodies, bool first_drawn)
{
    char id[32];

    doc_say(doc, NULL,
            "The newest recorded answer to each decision. An option is dominated where another "
            "that meets all requirements is no worse in every objective and better in one, for "
            "every value within the intervals and beyond the decision's margin; where that can be "
            "shown neither way, the two are not separable. No weights are put on objectives.");
    EACH(body, bodies) {
        snprintf(id, sizeof(id), "decision-%zu", body_at + 1);
        say_decision(doc, body, body_at == 0 && first_drawn ? NULL : id);
    }
}
