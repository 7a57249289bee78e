/* What the two arms of a campaign say: answer, picture, and what they differ in. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "reports/comparison_document.h"
#include "reports/html_pictures.h"
#include "reports/plot.h"

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
            has_arms = has_arms || (view->cells[k].campaign == i && view->cells[k].arm &&
                                    view->cells[k].evidence); /* a first look is not judged */
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

void html_pairs_words(struct doc *doc, const struct view *view, const struct html_pairs *pairs)
{
    const struct stored_comparison *only = pairs->campaigns[0].list;

    if (pairs->count == 1) {
        comparison_answer(doc, view, only, "short");
        comparison_levels(doc, view, only, false);
        comparison_certainty(doc, view, only);
        return;
    }
    comparison_tally(doc, pairs->campaigns, pairs->campaign_count, "short");
    for (size_t i = 0; i < pairs->campaign_count; ++i)
        comparison_family_certainty(doc, &pairs->campaigns[i]);
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
            const bool differs =
                numbers->verdict == COMPARE_FASTER || numbers->verdict == COMPARE_SLOWER;
            CLEANUP(text_finish) struct text change = TEXT_INIT;
            char *value = values[plot.count];

            comparison_speed_words(&change, &numbers->ratio, false);
            snprintf(value, sizeof(*values), "%s%s%s",
                     !known    ? "no answer"
                     : differs ? ""
                               : compare_verdict_name(numbers->verdict),
                     known && !differs ? ", " : "", known ? change.data : "");
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

void html_pairs_picture(struct doc *doc, const struct view *view, const struct html_pairs *pairs)
{
    const struct stored_comparison *first = &pairs->campaigns[0].list[0];
    struct text *out = doc->out;
    bool served = false, several;

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
    text_append(out, "</figure></div>\n");
    several = comparison_has_several_arms(pairs->campaigns);
    if (several)
        doc_add(doc, "Each against ");
    comparison_side_words(&doc->block, view, first, false);
    if (!several) {
        doc_add(doc, "; ");
        comparison_side_words(&doc->block, view, first, true);
    }
    doc_say(doc, "soft small", ". {link #results The ids to cite} follow.");
    text_append(out, "</div>\n");
}

void html_pairs_stack(struct doc *doc, const struct html_pairs *pairs)
{
    CLEANUP(text_finish) struct text rows = TEXT_INIT;

    for (size_t i = 0; i < pairs->campaign_count; ++i)
        for (size_t k = 0; k < pairs->campaigns[i].count; ++k)
            comparison_add_factors(&rows, pairs->campaigns[i].list[k].judgement);
    if (rows.length > 0) {
        doc_heading(doc, 2, "stack-difference", "What a and b differ in");
        if (pairs->count == 1) {
            comparison_cause(doc, pairs->campaigns[0].list);
            doc_end(doc, NULL);
        }
        comparison_factors(doc, &rows);
    }
    if (pairs->count == 1)
        comparison_conditions(doc, pairs->campaigns[0].list);
    if (pairs->notes.length > 0)
        doc_say(doc, "none", "Pairs that could not be compared: %s", pairs->notes.data);
}
