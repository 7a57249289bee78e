/* Decisions between results, as recorded by `assay decide`: for the first screen, and each in full.
 */
#include "reports/html_decision.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "reports/decision_words.h"
#include "reports/dossier_internal.h"
#include "reports/escape.h"
#include "reports/plot.h"
#include "results/analysis/acceptance.h"

#define OPTIONS_MAX 16

/* Plain words of a decision, escaped. */
static void append_words(struct text *out, struct text *words)
{
    escape_html_words(out, text_ok(words) ? words->data : "");
    out->failed |= words->failed;
    text_clear(words);
}

/* ---- loading ---- */

/* columns: 0 created_utc_ns, 1 body, which is canonical and so has no line breaks */
static void append_line(struct text *out, const struct dossier_row *row)
{
    text_append_format(out, "[%lld,%s]\n", (long long)dossier_integer(row, 0),
                       dossier_column(row, 1));
}

enum status html_decisions_load(struct store *store, const struct view *view, json_t **ret,
                                struct error *err)
{
    struct text ids, lines;
    size_t rows = 0;
    char *sql = NULL, *rest = NULL, *line;
    enum status status;

    text_init(&ids);
    text_init(&lines);
    *ret = json_array();
    for (size_t i = 0; i < view->cell_count; i++)
        text_append_format(&ids, "%s%lld", i ? "," : "", (long long)view->cells[i].id);
    if (text_ok(&ids))
        sql = text_format(
            "SELECT k.created_utc_ns, k.body, max(k.id) FROM comparison k WHERE k.kind = 'decide' "
            "AND EXISTS (SELECT 1 FROM json_each(k.body, '$.options') o JOIN cell c JOIN campaign "
            "g ON g.id = c.campaign WHERE c.id IN (%s) AND json_extract(o.value, '$.result') = "
            "substr(g.uid, 1, 8) || '/' || c.ordinal) GROUP BY json_extract(k.body, "
            "'$.decision.decision') ORDER BY max(k.id) DESC",
            ids.data);
    status = sql ? dossier_each_row(&lines, store, view, sql, 0, append_line, &rows, err)
                 : error_no_memory(err);
    for (line = status == STATUS_OK && rows ? strtok_r(lines.data, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        json_t *pair = json_loads(line, 0, NULL), *body = json_array_get(pair, 1);

        json_object_set(body, "utc_ns", json_array_get(pair, 0));
        json_array_append(*ret, body);
        json_decref(pair);
    }
    free(sql);
    text_finish(&ids);
    text_finish(&lines);
    return status;
}

/* ---- the picture ---- */

/* Of the objectives: the first that is a cost, else the second; and the first other one. */
static bool choose_axes(const json_t *body, size_t *ret_y, size_t *ret_x)
{
    const json_t *figures = json_object_get(body, "figures"), *figure;
    size_t i, count = 0, objectives[OPTIONS_MAX], y = 0;

    json_array_foreach(figures, i, figure)
    {
        if (count < OPTIONS_MAX && json_is_true(json_object_get(figure, "objective")))
            objectives[count++] = i;
    }
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

static int by_x(const void *a, const void *b)
{
    const double x = ((const struct plot_point *)a)->x, y = ((const struct plot_point *)b)->x;

    return (x > y) - (x < y);
}

static char *name_of(const json_t *body, size_t figure, const char *unit)
{
    struct text name;

    text_init(&name);
    decision_figure_name(&name, json_array_get(json_object_get(body, "figures"), figure));
    if (*unit)
        text_append_format(&name, ", %s", unit);
    return text_steal(&name);
}

static void draw_plane(struct text *out, const json_t *body, const char *id, size_t x, size_t y)
{
    const json_t *options = json_object_get(body, "options"), *option;
    const struct number_unit unit_x = decision_figure_unit(body, x),
                             unit_y = decision_figure_unit(body, y);
    struct plot_point points[OPTIONS_MAX];
    struct plot_curve curves[LOOKS];
    char *title_x = name_of(body, x, unit_x.name), *title_y = name_of(body, y, unit_y.name);
    struct plot_xy plot = {.heading = "The options",
                           .description = "A mark per option with its intervals both ways; a line "
                                          "joins those that no other dominates.",
                           .x = plot_axis_new(title_x, unit_x, false),
                           .y = plot_axis_new(title_y, unit_y, false),
                           .curves = curves};
    size_t used = 0, i;

    for (size_t k = 0; k < LOOKS; k++) {
        const size_t from = used;

        json_array_foreach(options, i, option)
        {
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
        qsort(points + from, used - from, sizeof(*points), by_x);
        curves[plot.count++] = (struct plot_curve){.name = looks[k].name,
                                                   .slot = looks[k].slot,
                                                   .line = k == 0,
                                                   .dots = true,
                                                   .points = points + from,
                                                   .count = used - from};
    }
    plot_xy(out, id, &plot);
    out->failed |= !title_x || !title_y;
    free(title_x);
    free(title_y);
}

/* Of one objective: the options below each other. */
static void draw_rows(struct text *out, const json_t *body, const char *id, size_t figure)
{
    const json_t *options = json_object_get(body, "options"), *option;
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

    json_array_foreach(options, i, option)
    {
        const json_t *range = json_array_get(json_object_get(option, "figures"), figure);

        if (i == OPTIONS_MAX)
            break;
        text_init(&values[i]);
        decision_range_words(&values[i], range, &unit);
        rows[i] = (struct plot_row){
            .label = member_text(option, "name"),
            .value = text_ok(&values[i]) ? values[i].data : "",
            .at = member_number(range, "value"),
            .lo = member_number(range, "lo"),
            .hi = member_number(range, "hi"),
            .hollow = !strcmp(member_text(option, "standing"), "infeasible"),
            .bold = !strcmp(member_text(option, "standing"), "not_dominated"),
        };
        plot.count = i + 1;
    }
    plot_rows(out, id, &plot);
    for (i = 0; i < plot.count; i++)
        text_finish(&values[i]);
    free(name);
}

/* All options have the same value of this figure: it is no axis. */
static bool is_same(const json_t *body, size_t figure)
{
    const json_t *options = json_object_get(body, "options"), *option;
    const json_t *first =
        json_array_get(json_object_get(json_array_get(options, 0), "figures"), figure);
    size_t i;

    json_array_foreach(options, i, option)
    {
        if (!json_equal(first, json_array_get(json_object_get(option, "figures"), figure)))
            return false;
    }
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

void html_decision_question(struct text *out, const json_t *body)
{
    struct text words;

    text_init(&words);
    decision_question_words(&words, body);
    append_words(out, &words);
    text_finish(&words);
}

/* At what cost, how sure, and what would change it; after the answer. */
static void append_grounds(struct text *out, const json_t *body, struct text *words)
{
    const json_t *changes[DECISION_NEAREST];

    if (decision_cost_words(words, body)) {
        text_append(out, "<p><b>At what cost:</b> ");
        append_words(out, words);
        text_append(out, "</p>\n");
    }
    text_append(out, "<p><b>How sure:</b> ");
    decision_sure_words(words, body);
    append_words(out, words);
    text_append(out, "</p>\n<p><b>What would change it</b>, ");
    decision_nearest_changes(body, changes);
    if (!changes[0]) {
        text_append(out, "by itself: no price, figure or limit, were it ten times as high or "
                         "low.</p>\n");
        return;
    }
    text_append(out, "each by itself:</p>\n<ul>");
    for (size_t i = 0; i < DECISION_NEAREST && changes[i]; i++) {
        text_append(out, "<li>");
        decision_change_words(words, body, changes[i]);
        append_words(out, words);
        text_append(out, "</li>");
    }
    text_append(out, "</ul>\n");
}

void html_decision_words(struct text *out, const json_t *body)
{
    struct text words;

    text_init(&words);
    text_append(out, "<p class=\"short\">");
    decision_answer_words(&words, body);
    append_words(out, &words);
    text_append(out, "</p>\n");
    append_grounds(out, body, &words);
    text_append(out, "<p><a href=\"#decision\">Each option, and all that would change the "
                     "answer</a></p>\n");
    text_finish(&words);
}

/* ---- in full ---- */

static void append_heads(struct text *out, const json_t *body, struct text *words)
{
    const json_t *list = json_object_get(body, "figures"), *entry;
    size_t i;

    text_append(out, "<div class=\"scroll\"><table class=\"tight stacked\"><thead><tr><th "
                     "scope=\"col\">Option</th><th scope=\"col\">Standing</th>");
    json_array_foreach(list, i, entry)
    {
        text_append(out, "<th scope=\"col\" class=\"num\">");
        decision_figure_name(words, entry);
        append_words(out, words);
        text_append_format(out, "<br><span class=\"soft\">%s</span></th>",
                           !json_is_true(json_object_get(entry, "objective")) ? "required only"
                           : !strcmp(member_text(entry, "better"), "lower")   ? "lower is better"
                                                                              : "higher is better");
    }
    text_append(
        out,
        "<th scope=\"col\">Requirements<br><span class=\"soft\">margins of the worse bound</span>"
        "</th></tr></thead><tbody>\n");
}

static void append_option(struct text *out, const json_t *body, const json_t *option,
                          struct text *words)
{
    const json_t *required = json_object_get(json_object_get(body, "decision"), "requirements");
    const json_t *entry;
    size_t i;

    text_append(out, "<tr><td><b>");
    escape_html(out, member_text(option, "name"));
    text_append(out, "</b><br><code>");
    html_known(out, member_text(option, "result"));
    text_append(out, "</code> <span class=\"soft\">");
    html_known(out, member_string(option, "device"));
    text_append(out, "</span></td><td data-name=\"standing\"><b>");
    decision_spaced(out, member_text(option, "standing"));
    text_append(out, "</b>");
    json_array_foreach(json_object_get(option, "dominated_by"), i, entry)
    {
        text_append(out, i ? ", " : " by ");
        escape_html(out, json_string_value(entry));
    }
    if (member_text(option, "reason")[0]) {
        text_append(out, ": ");
        escape_html(out, acceptance_reason_words(member_text(option, "reason")));
    }
    text_append(out, "</td>");
    json_array_foreach(json_object_get(option, "figures"), i, entry)
    {
        const struct number_unit unit = decision_figure_unit(body, i);

        text_append(out, "<td class=\"num\" data-name=\"");
        decision_figure_name(words, json_array_get(json_object_get(body, "figures"), i));
        append_words(out, words);
        text_append(out, "\">");
        decision_range_words(words, entry, &unit);
        append_words(out, words);
        text_append(out, "</td>");
    }
    text_append(out, "<td>");
    json_array_foreach(json_object_get(option, "requirements"), i, entry)
    {
        text_append(out, i ? "<br>" : "");
        decision_requirement_words(words, json_array_get(required, i));
        text_append(words, ": ");
        decision_met_words(words, entry);
        append_words(out, words);
    }
    json_array_foreach(json_object_get(option, "peaks"), i, entry)
    {
        text_append(out, i || json_array_size(required) ? "<br>" : "");
        decision_peak_words(words, json_object_get(body, "peaks"), entry);
        append_words(out, words);
    }
    text_append(out, "</td></tr>\n");
}

/* A list of lines in words, folded. */
static void append_list(struct text *out, const json_t *body, const char *member,
                        const char *summary,
                        void (*say)(struct text *, const json_t *, const json_t *),
                        struct text *words)
{
    const json_t *list = json_object_get(body, member), *entry;
    size_t i;

    if (json_array_size(list) == 0)
        return;
    text_append_format(out, "<details><summary>%zu %s</summary><ul>", json_array_size(list),
                       summary);
    json_array_foreach(list, i, entry)
    {
        text_append(out, "<li>");
        say(words, body, entry);
        append_words(out, words);
        text_append(out, "</li>");
    }
    text_append(out, "</ul></details>\n");
}

static void say_note(struct text *out, const json_t *body, const json_t *note)
{
    (void)body;
    decision_note_words(out, note);
}

static void append_prices(struct text *out, const json_t *body)
{
    const json_t *prices = json_object_get(body, "prices"), *row;
    size_t i;

    if (!json_is_object(prices))
        return;
    text_append(out,
                "<details><summary>The prices that count</summary><div class=\"scroll\"><table "
                "class=\"tight\"><thead><tr><th scope=\"col\">Line</th><th scope=\"col\">Item"
                "</th><th scope=\"col\">Kind</th><th scope=\"col\" class=\"num\">Amount</th>"
                "<th scope=\"col\">Source</th></tr></thead><tbody>\n");
    json_array_foreach(json_object_get(prices, "rows"), i, row)
    {
        text_append_format(out, "<tr><td>%lld</td><td>",
                           (long long)json_integer_value(json_object_get(row, "line")));
        escape_html(out, member_text(row, "item"));
        text_append(out, "</td><td>");
        escape_html(out, member_text(row, "kind"));
        text_append(out, "</td><td class=\"num\">");
        if (!strcmp(member_text(row, "confidential"), "yes")) {
            text_append(out, "confidential");
        } else {
            text_append_format(out, "%.10g ", member_number(row, "amount"));
            escape_html(out, member_text(row, "currency"));
            text_append(out, " per ");
            escape_html(out, !strcmp(member_text(row, "unit"), "each") ? "piece"
                                                                       : member_text(row, "unit"));
        }
        text_append(out, "</td><td>");
        html_known(out, member_string(row, "source"));
        text_append(out, "</td></tr>\n");
    }
    text_append(out, "</tbody></table></div></details>\n");
}

static void append_sheet(struct text *out, const char *name, const json_t *sheet)
{
    if (!json_is_object(sheet))
        return;
    text_append_format(out, ", %s ", name);
    html_digest(out, member_text(sheet, "sha256"));
}

static void append_answer(struct text *out, const json_t *body, struct text *words)
{
    const json_t *decision = json_object_get(body, "decision");
    const struct view_count at = {true, json_integer_value(json_object_get(body, "utc_ns"))};
    const char *verdict = member_text(body, "verdict");

    text_append_format(out, "<div class=\"decision %s\"><p>",
                       !strcmp(verdict, "none")   ? "bad"
                       : !strcmp(verdict, "open") ? "care"
                                                  : "good");
    html_decision_question(out, body);
    text_append_format(out, "</p>\n<p class=\"answer\"><b>%s</b> <span class=\"soft\">decision ",
                       !strcmp(verdict, "decided")     ? "Decided"
                       : !strcmp(verdict, "trade_off") ? "No single answer"
                       : !strcmp(verdict, "open")      ? "Open"
                                                       : "None");
    escape_html(out, member_text(decision, "decision"));
    text_append_format(out, " version %lld, ",
                       (long long)json_integer_value(json_object_get(decision, "version")));
    html_time(out, &at, " UTC");
    text_append(out, "</span></p>\n<p>");
    decision_answer_words(words, body);
    append_words(out, words);
    text_append(out, "</p>");
}

void html_decision_in_short(struct text *out, const json_t *body)
{
    struct text words;

    text_init(&words);
    append_answer(out, body, &words);
    append_grounds(out, body, &words);
    text_append(out, "<p class=\"soft\"><a href=\"#decision\">Each option</a></p></div>\n");
    text_finish(&words);
}

static void append_decision(struct text *out, const json_t *body, const char *picture,
                            struct text *words)
{
    const json_t *option;
    size_t i;

    append_answer(out, body, words);
    text_append(out, "</div>\n");
    if (picture)
        html_decision_picture(out, body, picture);
    append_heads(out, body, words);
    json_array_foreach(json_object_get(body, "options"), i, option)
        append_option(out, body, option, words);
    text_append(out, "</tbody></table></div>\n");
    append_list(out, body, "changes", "single changes that would give another answer",
                decision_change_words, words);
    append_prices(out, body);
    append_list(out, body, "notes", "notes", say_note, words);
    text_append(out, "<p class=\"soft\">Declaration ");
    html_digest(out, member_text(body, "decision_sha256"));
    append_sheet(out, "prices", json_object_get(body, "prices"));
    append_sheet(out, "declared peaks", json_object_get(body, "peaks"));
    text_append(out, "</p>\n");
}

void html_decisions(struct text *out, const json_t *bodies, const char *heading, bool first_drawn)
{
    struct text words;
    const json_t *body;
    char id[32];
    size_t i;

    if (json_array_size(bodies) == 0)
        return;
    text_init(&words);
    text_append(out, heading);
    text_append(out,
                "<p>The newest recorded answer to each decision. An option is dominated where "
                "another that meets all requirements is no worse in every objective and better in "
                "one, for every value within the intervals and beyond the decision's margin; where "
                "that can be shown neither way, "
                "the two are not separable. No weights are put on objectives.</p>\n");
    json_array_foreach(bodies, i, body)
    {
        snprintf(id, sizeof(id), "decision-%zu", i + 1);
        append_decision(out, body, i == 0 && first_drawn ? NULL : id, &words);
    }
    out->failed |= words.failed;
    text_finish(&words);
}
