/* What the two arms of a campaign say: answer, picture, and what they differ in. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/comparability.h"
#include "harness/core/member.h"
#include "reports/escape.h"
#include "reports/html_pictures.h"
#include "reports/plot.h"

#define FIELDS_SHOWN 8 /* of those that a subject differs in; `assay compare --explain` has all */

enum status html_pairs_load(struct store *store, const struct view *view, struct html_pairs *ret,
                            struct error *err)
{
    const struct compare_options options = compare_options_default();
    struct html_pairs pairs = {0};
    enum status status = STATUS_OK;

    text_init(&pairs.notes);
    pairs.campaigns = calloc(view->campaign_count + 1, sizeof(*pairs.campaigns));
    if (!pairs.campaigns)
        status = error_no_memory(err);
    for (size_t i = 0; i < view->campaign_count && status == STATUS_OK; ++i) {
        struct campaign_comparison *one = &pairs.campaigns[pairs.campaign_count];
        struct error why = ERROR_INIT;
        bool has_arms = false;

        for (size_t k = 0; k < view->cell_count; ++k)
            has_arms = has_arms || (view->cells[k].campaign == i && view->cells[k].arm);
        if (!has_arms || !view->campaigns[i].uid)
            continue;
        status = campaign_comparison_make(store, view->campaigns[i].uid, NULL, &options, one, &why);
        if (status == STATUS_OK) {
            pairs.count += one->count;
            ++pairs.campaign_count;
        } else if (status == STATUS_NO_MEMORY) {
            error_set(err, status, "%s", why.message);
        } else {
            text_append_format(&pairs.notes, "%s%s", pairs.notes.length ? "; " : "", why.message);
            status = STATUS_OK;
        }
    }
    if (status == STATUS_OK)
        *ret = pairs;
    else
        html_pairs_finish(&pairs);
    return status;
}

void html_pairs_finish(struct html_pairs *pairs)
{
    for (size_t i = 0; pairs->campaigns && i < pairs->campaign_count; ++i)
        campaign_comparison_finish(&pairs->campaigns[i]);
    free(pairs->campaigns);
    text_finish(&pairs->notes);
}

static const struct view_cell *cell_of(const struct view *view, const char *result)
{
    for (size_t i = 0; i < view->cell_count; ++i)
        if (!strcmp(view->cells[i].result, result))
            return &view->cells[i];
    return NULL;
}

static const json_t *only_factor(const struct stored_comparison *comparison)
{
    const json_t *factors = json_object_get(comparison->judgement, "factors");

    return json_array_size(factors) == 1 ? json_array_get(factors, 0) : NULL;
}

/* "b (ASSAY_NULL=...)", or by the one subject in which the arms differ: "b (driver 550.54)". */
static void append_arm(struct text *out, const struct view *view,
                       const struct stored_comparison *comparison, bool is_b)
{
    const struct view_cell *cell = cell_of(view, is_b ? comparison->b : comparison->a);
    const char *arm = cell ? strstr(cell->variant, "arm ") : NULL;
    const json_t *factor = only_factor(comparison);
    const char *name = member_string(factor, "factor");
    const char *value = member_string(factor, is_b ? "b" : "a");

    text_append(out, "<b>");
    if (arm && (strchr(arm, '(') || arm[strlen("arm ") + 1])) {
        escape_html(out, arm + strlen("arm "));
    } else {
        text_append(out, is_b ? "b" : "a");
        if (name && value) {
            text_append(out, " (");
            escape_html_short(out, name, 30);
            text_append_char(out, ' ');
            escape_html_short(out, value, 40);
            text_append_char(out, ')');
        }
    }
    text_append(out, "</b>");
}

/* "12.3 % less" of a ratio of times. */
static void append_change(struct text *out, double ratio)
{
    char number[NUMBER_SIZE];

    text_append_format(out, "%s %%\u00a0%s", number_format_digits(100 * fabs(ratio - 1), 3, number),
                       ratio < 1 ? "less" : "more");
}

/* Of attainment: the answer without its full stop. */
static void append_served(struct text *out, const struct view *view,
                          const struct stored_comparison *comparison)
{
    const int verdict = served_change_verdict(comparison->figure, &comparison->change);

    if (verdict == 0)
        text_append(out, "It is not settled whether ");
    append_arm(out, view, comparison, true);
    text_append(out, verdict < 0 ? " keeps the limits for a smaller share of the requests than "
                                 : " keeps the limits for as large a share of the requests as ");
    append_arm(out, view, comparison, false);
    text_append_format(out,
                       verdict < 0 ? ", by more than %.4g %% of them"
                                   : ", or one smaller by no more than %.4g %% of them",
                       100 * comparison->change.margin);
}

static void append_verdict(struct text *out, const struct view *view,
                           const struct stored_comparison *comparison)
{
    const struct comparison *numbers = &comparison->numbers;
    const struct view_cell *cell = cell_of(view, comparison->b);
    const enum compare_verdict verdict = numbers->verdict;

    if (!comparability_is_evidence(comparison->judgement)) {
        const char *reason = comparability_why_no_evidence(comparison->judgement);

        text_append(out, "The two arms do not compare");
        text_append(out, reason ? ": " : "");
        escape_html_words(out, reason);
        text_append_char(out, '.');
        return;
    }
    if (!comparison->has_numbers) {
        text_append(out, "There is no answer: ");
        escape_html(out, comparison->why.message);
        text_append_char(out, '.');
        return;
    }
    if (comparison->figure != COMPARE_TIME) {
        append_served(out, view, comparison);
    } else if (verdict == COMPARE_EQUIVALENT) {
        append_arm(out, view, comparison, true);
        text_append(out, " takes as long as ");
        append_arm(out, view, comparison, false);
        text_append_format(out, ", within %.4g %%", 100 * numbers->margin);
    } else if (verdict == COMPARE_INCONCLUSIVE) {
        text_append(out, "It is not settled whether ");
        append_arm(out, view, comparison, true);
        text_append(out, " takes less or more time than ");
        append_arm(out, view, comparison, false);
    } else {
        append_arm(out, view, comparison, true);
        text_append(out, " takes ");
        append_change(out, numbers->ratio.value);
        text_append(out, " time than ");
        append_arm(out, view, comparison, false);
    }
    if (cell && cell->workload) {
        text_append(out, " on ");
        escape_html_short(out, cell->workload, 60);
        if (cell->precision) {
            text_append_char(out, ' ');
            escape_html_short(out, cell->precision, 20);
        }
    }
    text_append_char(out, '.');
}

/* "97.1 % after 98.2 %: -1.1 points, 95 % interval from -1.9 to -0.3" */
static void append_shares(struct text *out, const struct served_change *change)
{
    const double shares[] = {change->b.value, change->a.value, change->change.value,
                             change->change.lo, change->change.hi};
    static const char *const before[] = {"", " of the requests are within the limits, of a ",
                                         " %: a change of ", " points, %.4g %% interval from ",
                                         " to "};
    char number[NUMBER_SIZE];

    text_append(out, "<p><b>How sure:</b> of b ");
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); ++i) {
        text_append(out, i == 1 ? " %" : "");
        text_append_format(out, before[i], 100 * change->confidence);
        text_append(out, isnan(shares[i]) ? "unknown"
                                          : number_format_digits(100 * shares[i], 3, number));
    }
    if (change->pairs > 0)
        text_append_format(out, ", by the differences of %zu pairs with the same arrivals.</p>\n",
                           change->pairs);
    else
        text_append(out, "; the intervals of both, taken for independent.</p>\n");
}

static void append_certainty(struct text *out, const struct stored_comparison *comparison)
{
    const struct comparison *numbers = &comparison->numbers;

    if (comparison->figure != COMPARE_TIME && comparison->has_numbers)
        append_shares(out, &comparison->change);
    if (!comparison->has_latency &&
        (!comparison->has_numbers || comparison->figure != COMPARE_TIME))
        return;
    text_append(out, comparison->has_latency ? "<p>Mean latency of the requests that ended well: "
                                             : "<p><b>How sure:</b> ");
    if (numbers->ratio.has_interval) {
        text_append_format(out, "%.4g %% interval: from ", 100 * numbers->confidence);
        append_change(out, numbers->ratio.lo);
        text_append(out, " to ");
        append_change(out, numbers->ratio.hi);
        text_append(out, " time");
    } else {
        text_append(out, "there is no interval");
    }
    text_append_format(out, ", from %zu of %zu planned pairs, run side by side in random order",
                       comparison->pairs.count, comparison->pairs.planned);
    if (numbers->no_spread)
        text_append_format(out, "; %s", comparison_alike_words(numbers));
    if (numbers->verdict == COMPARE_INCONCLUSIVE && numbers->needed_pairs > 0) {
        text_append(out, "; ");
        comparison_append_needed(numbers, out);
    }
    text_append(out, ".</p>\n");
}

/* Those of times, and after them those of servers. */
enum { NOT_WORSE = COMPARE_INCONCLUSIVE + 1, WORSE, VERDICTS };

static int verdict_of(const struct stored_comparison *comparison)
{
    const int served = served_change_verdict(comparison->figure, &comparison->change);

    if (comparison->figure == COMPARE_TIME)
        return (int)comparison->numbers.verdict;
    return served > 0 ? NOT_WORSE : served < 0 ? WORSE : COMPARE_INCONCLUSIVE;
}

bool html_pairs_several_arms(const struct html_pairs *pairs)
{
    for (size_t i = 0; i < pairs->campaign_count; ++i)
        for (size_t k = 0; k < pairs->campaigns[i].count; ++k) {
            const size_t *places = pairs->campaigns[i].list[k].pairs.places;

            if (places[1] > places[0] + 1)
                return true;
        }
    return false;
}

void html_pairs_words(struct text *out, const struct view *view, const struct html_pairs *pairs)
{
    static const char *const words[VERDICTS] = {[COMPARE_FASTER] = "b is faster in %zu",
                                                [COMPARE_SLOWER] = "b is slower in %zu",
                                                [COMPARE_EQUIVALENT] = "they take as long in %zu",
                                                [COMPARE_INCONCLUSIVE] = "%zu are not settled",
                                                [NOT_WORSE] = "b keeps the limits as often in %zu",
                                                [WORSE] = "b keeps the limits less often in %zu"};
    size_t verdicts[VERDICTS] = {0}, none = 0;
    const char *before = ": ";

    text_append(out, "<p class=\"short\">");
    if (pairs->count == 1) {
        append_verdict(out, view, &pairs->campaigns[0].list[0]);
        text_append(out, "</p>\n");
        append_certainty(out, &pairs->campaigns[0].list[0]);
        return;
    }
    for (size_t i = 0; i < pairs->campaign_count; ++i)
        for (size_t k = 0; k < pairs->campaigns[i].count; ++k) {
            const struct stored_comparison *one = &pairs->campaigns[i].list[k];

            if (one->has_numbers && comparability_is_evidence(one->judgement))
                ++verdicts[verdict_of(one)];
            else
                ++none;
        }
    text_append_format(out, "Of %zu comparisons of %s", pairs->count,
                       html_pairs_several_arms(pairs) ? "an arm (b) with the base (a)" : "a and b");
    for (size_t v = 0; v < VERDICTS; ++v) {
        if (verdicts[v] == 0)
            continue;
        text_append(out, before);
        text_append_format(out, words[v], verdicts[v]);
        before = ", ";
    }
    if (none > 0)
        text_append_format(out, "%s%zu have no answer", before, none);
    text_append(out, ".</p>\n<p><b>How sure:</b> those of one campaign are judged together: the "
                     "chance of any false difference among them is at most 5 %.</p>\n");
}

/* Pair by pair, in the order of running, and all of them together. */
static void append_differences(struct text *out, const struct stored_comparison *comparison)
{
    const struct pairs *pairs = &comparison->pairs;
    const struct comparison *numbers = &comparison->numbers;
    struct plot_point *points = calloc(pairs->count + 1, sizeof(*points));
    const double end = (double)pairs->count + 1.5;
    struct plot_point zero[] = {plot_point_at(0.5, 0), plot_point_at(end + 0.5, 0)};
    struct plot_point all = plot_point_at(end, 100 * (numbers->ratio.value - 1));
    struct plot_curve curves[] = {
        {.slot = CHART_SLOTS, .line = true, .points = zero, .count = 2},
        {.name = "a pair", .slot = 1, .dots = true, .points = points, .count = pairs->count},
        {.name = "all pairs, with their interval",
         .slot = PLOT_ACCENT,
         .dots = true,
         .points = &all,
         .count = 1}};
    double ticks[12];
    struct plot_xy plot = {
        .heading = "Difference in time, b against a, pair by pair",
        .description = "A dot for each pair of trials in the order of running: how much more time "
                       "b took than a, in percent; below 0, b took less.",
        .x = plot_axis_new("pair", (struct number_unit){1, ""}, false),
        .y = plot_axis_new("% more time", (struct number_unit){1, "%"}, false),
        .curves = curves,
        .count = 3};

    plot.x.ticks = ticks;
    plot.x.tick_count = scale_ticks(1, (double)pairs->count, 6, ticks, 12);
    out->failed = out->failed || !points;
    for (size_t i = 0; points && i < pairs->count; ++i)
        points[i] = plot_point_at((double)i + 1, 100 * (pairs->b[i] / pairs->a[i] - 1));
    if (numbers->ratio.has_interval) {
        all.y_lo = 100 * (numbers->ratio.lo - 1);
        all.y_hi = 100 * (numbers->ratio.hi - 1);
    }
    if (points)
        plot_xy(out, "pairs", &plot);
    free(points);
}

static void append_ratios(struct text *out, const struct html_pairs *pairs)
{
    struct plot_row *rows = calloc(pairs->count, sizeof(*rows));
    char(*values)[64] = calloc(pairs->count, sizeof(*values));
    struct plot_rows plot = {
        .heading = "Difference in time, b against a",
        .description = "A row per comparison: how much more time b takes than a, in percent, with "
                       "the interval; the band counts as equivalent.",
        .rows = rows,
        .axis = plot_axis_new("% more time", (struct number_unit){1, "%"}, false),
        .reference = 0,
        .band_lo = NAN,
        .band_hi = NAN};

    out->failed = out->failed || !rows || !values;
    for (size_t i = 0; rows && values && i < pairs->campaign_count; ++i)
        for (size_t k = 0; k < pairs->campaigns[i].count; ++k) {
            const struct campaign_comparison *campaign = &pairs->campaigns[i];
            const struct comparison *numbers = &campaign->list[k].numbers;
            const bool known = campaign->list[k].has_numbers;
            char *value = values[plot.count];

            snprintf(value, sizeof(*values), known ? "%+.3g %%, %s" : "no answer",
                     100 * (numbers->ratio.value - 1), compare_verdict_name(numbers->verdict));
            rows[plot.count++] = (struct plot_row){
                .label = campaign->names[k],
                .value = value,
                .at = known ? 100 * (numbers->ratio.value - 1) : NAN,
                .lo = known && numbers->ratio.has_interval ? 100 * (numbers->ratio.lo - 1) : NAN,
                .hi = known && numbers->ratio.has_interval ? 100 * (numbers->ratio.hi - 1) : NAN,
                .hollow = known && numbers->verdict == COMPARE_INCONCLUSIVE};
            plot.band_lo = -100 * numbers->margin;
            plot.band_hi = 100 * numbers->margin;
        }
    if (rows && values)
        plot_rows(out, "pairs", &plot);
    free(rows);
    free(values);
}

void html_pairs_picture(struct text *out, const struct view *view, const struct html_pairs *pairs)
{
    const struct stored_comparison *first = &pairs->campaigns[0].list[0];
    bool served = false;

    for (size_t i = 0; i < pairs->campaign_count; ++i)
        for (size_t k = 0; k < pairs->campaigns[i].count; ++k)
            served |= pairs->campaigns[i].list[k].figure != COMPARE_TIME;
    if (served || (pairs->count == 1 && !first->has_numbers)) {
        html_forest(out, view);
        return;
    }
    text_append(out, "<div class=\"picture\"><div class=\"charts\">\n<figure>");
    if (pairs->count == 1)
        append_differences(out, first);
    else
        append_ratios(out, pairs);
    text_append(out, "</figure></div>\n<p class=\"soft\"><small>");
    text_append(out, html_pairs_several_arms(pairs) ? "Each against " : "");
    append_arm(out, view, first, false);
    if (!html_pairs_several_arms(pairs)) {
        text_append(out, "; ");
        append_arm(out, view, first, true);
    }
    text_append(out, ". <a href=\"#results\">The ids to cite</a> follow.</small></p></div>\n");
}

/* What a factor is known by on one side; else what its one field has there. */
static void append_side(struct text *out, const json_t *judgement, const json_t *factor,
                        const char *side)
{
    const json_t *fields = json_object_get(factor, "fields");
    const char *name =
        json_array_size(fields) == 1 ? json_string_value(json_array_get(fields, 0)) : NULL;
    const json_t *value = json_object_get(factor, side), *field;
    char *dump;
    size_t i;

    text_append_format(out, "<td class=\"wrap\" data-name=\"%s\">", side);
    json_array_foreach(json_object_get(judgement, "fields"), i, field)
    {
        const char *own = member_string(field, "field");

        if ((!value || json_is_null(value)) && name && own && !strcmp(name, own))
            value = json_object_get(field, side);
    }
    dump = value && !json_is_string(value) && !json_is_null(value)
               ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))
               : NULL;
    if (dump)
        escape_html_short(out, dump, 200);
    else
        html_known(out, json_string_value(value));
    text_append(out, "</td>");
    free(dump);
}

static void append_factor(struct text *out, const json_t *judgement, const json_t *factor)
{
    const json_t *fields = json_object_get(factor, "fields");

    text_append(out, "<tr><th scope=\"row\">");
    html_known(out, member_string(factor, "factor"));
    text_append(out, "</th>");
    append_side(out, judgement, factor, "a");
    append_side(out, judgement, factor, "b");
    text_append(out, "<td class=\"wrap soft\">");
    for (size_t f = 0; f < json_array_size(fields) && f < FIELDS_SHOWN; ++f) {
        text_append(out, f ? ", " : "");
        html_known(out, json_string_value(json_array_get(fields, f)));
    }
    if (json_array_size(fields) > FIELDS_SHOWN)
        text_append_format(out, " and %zu more", json_array_size(fields) - FIELDS_SHOWN);
    text_append(out, "</td></tr>\n");
}

void html_pairs_stack(struct text *out, const struct html_pairs *pairs)
{
    struct text rows;
    const json_t *factor;
    size_t n;

    text_init(&rows);
    for (size_t i = 0; i < pairs->campaign_count; ++i)
        for (size_t k = 0; k < pairs->campaigns[i].count; ++k) {
            const json_t *judgement = pairs->campaigns[i].list[k].judgement;

            json_array_foreach(json_object_get(judgement, "factors"), n, factor)
            {
                struct text row;

                text_init(&row);
                append_factor(&row, judgement, factor);
                if (text_ok(&row) && !(rows.data && strstr(rows.data, row.data)))
                    text_append(&rows, row.data);
                rows.failed = rows.failed || row.failed;
                text_finish(&row);
            }
        }
    if (rows.length > 0) {
        text_append(out, "<h2 id=\"stack-difference\">What a and b differ in</h2>\n"
                         "<div class=\"scroll\"><table class=\"tight stacked\"><thead><tr>"
                         "<th scope=\"col\">Subject</th><th scope=\"col\">a</th>"
                         "<th scope=\"col\">b</th><th scope=\"col\">Fields that differ</th></tr>"
                         "</thead><tbody>\n");
        text_append_bytes(out, rows.data, rows.length);
        text_append(out, "</tbody></table></div>\n");
    }
    if (pairs->notes.length > 0) {
        text_append(out, "<p class=\"none\">Pairs that could not be compared: ");
        escape_html(out, pairs->notes.data);
        text_append(out, "</p>\n");
    }
    out->failed = out->failed || rows.failed;
    text_finish(&rows);
}
