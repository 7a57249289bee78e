/* What the two arms of a campaign say: answer, picture, and what they differ in. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/comparability.h"
#include "reports/comparison_words.h"
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

    if (arm && (strchr(arm, '(') || arm[strlen("arm ") + 1]))
        doc_phrase(out, "{bold %s}", arm + strlen("arm "));
    else if (name && value)
        doc_phrase(out, "{bold %s (%.30s %.40s)}", is_b ? "b" : "a", name, value);
    else
        doc_phrase(out, "{bold %s}", is_b ? "b" : "a");
}

static void say_verdict(struct doc *doc, const struct view *view,
                        const struct stored_comparison *comparison)
{
    const char *reason = comparability_why_no_evidence(comparison->judgement);
    const struct view_cell *cell = cell_of(view, comparison->b);
    CLEANUP(text_finish) struct text a = TEXT_INIT, b = TEXT_INIT;

    if (!comparability_is_evidence(comparison->judgement)) {
        doc_say(doc, "short", "The two arms do not compare%s%s.", reason ? ": " : "",
                reason ? reason : "");
        return;
    }
    if (!comparison->has_numbers) {
        doc_say(doc, "short", "There is no answer: %s.", comparison->why.message);
        return;
    }
    append_arm(&a, view, comparison, false);
    append_arm(&b, view, comparison, true);
    comparison_answer_words(&doc->block, comparison, b.data, a.data);
    doc->out->failed |= a.failed || b.failed;
    if (cell && cell->workload)
        doc_add(doc, " on %.60s %.20s", cell->workload, cell->precision ? cell->precision : "");
    doc_say(doc, "short", ".");
}

static void say_certainty(struct doc *doc, const struct stored_comparison *comparison)
{
    const struct comparison *numbers = &comparison->numbers;
    CLEANUP(text_finish) struct text order = TEXT_INIT;

    if (comparison->figure != COMPARE_TIME && comparison->has_numbers) {
        doc_add(doc, "{bold How sure:} ");
        comparison_change_words(&doc->block, comparison);
        if (comparison->change.pairs > 0)
            doc_say(doc, NULL, ", by the differences of %zu pairs with the same arrivals.",
                    comparison->change.pairs);
        else
            doc_say(doc, NULL, "; the intervals of both, taken for independent.");
    }
    if (!comparison->has_latency &&
        (!comparison->has_numbers || comparison->figure != COMPARE_TIME))
        return;
    doc_add(doc, comparison->has_latency ? "Mean latency of the requests that ended well, b/a "
                                         : "{bold How sure:} time b/a ");
    comparison_ratio_words(&doc->block, numbers);
    doc_add(doc, " of %zu planned, run side by side in random order", comparison->pairs.planned);
    if (numbers->no_spread)
        doc_add(doc, "; %s", comparison_alike_words(numbers));
    comparison_order_words(&order, numbers);
    if (order.length > 0)
        doc_add(doc, "; %s", order.data);
    if (numbers->verdict == COMPARE_INCONCLUSIVE && numbers->needed_pairs > 0) {
        doc_add(doc, "; ");
        comparison_append_needed(numbers, &doc->block);
    }
    doc_say(doc, NULL, ".");
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

void html_pairs_words(struct doc *doc, const struct view *view, const struct html_pairs *pairs)
{
    static const char *const words[VERDICTS] = {[COMPARE_FASTER] = "b is faster in",
                                                [COMPARE_SLOWER] = "b is slower in",
                                                [COMPARE_EQUIVALENT] = "they are equivalent in",
                                                [COMPARE_INCONCLUSIVE] = "it is not settled in",
                                                [NOT_WORSE] = "b keeps the limits as often in",
                                                [WORSE] = "b keeps the limits less often in"};
    size_t verdicts[VERDICTS] = {0}, none = 0;
    const char *before = ": ";

    if (pairs->count == 1) {
        say_verdict(doc, view, &pairs->campaigns[0].list[0]);
        say_certainty(doc, &pairs->campaigns[0].list[0]);
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
    doc_add(doc, "Of %zu comparisons of %s", pairs->count,
            html_pairs_several_arms(pairs) ? "an arm (b) with the base (a)" : "a and b");
    for (size_t v = 0; v < VERDICTS; ++v) {
        if (verdicts[v] == 0)
            continue;
        doc_add(doc, "%s%s %zu", before, words[v], verdicts[v]);
        before = ", ";
    }
    if (none > 0)
        doc_add(doc, "%s%zu have no answer", before, none);
    doc_say(doc, "short", ".");
    doc_say(doc, NULL,
            "{bold How sure:} those of one campaign are judged together: the chance of any false "
            "difference among them is at most 5 %%.");
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

void html_pairs_picture(struct doc *doc, const struct view *view, const struct html_pairs *pairs)
{
    const struct stored_comparison *first = &pairs->campaigns[0].list[0];
    struct text *out = doc->out;
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
    text_append(out, "</figure></div>\n");
    if (html_pairs_several_arms(pairs))
        doc_add(doc, "Each against ");
    append_arm(&doc->block, view, first, false);
    if (!html_pairs_several_arms(pairs)) {
        doc_add(doc, "; ");
        append_arm(&doc->block, view, first, true);
    }
    doc_say(doc, "soft small", ". {link #results The ids to cite} follow.");
    text_append(out, "</div>\n");
}

/* What a factor is known by on one side; else what its one field has there. */
static void append_side(struct text *out, const json_t *judgement, const json_t *factor,
                        const char *side)
{
    const json_t *fields = json_object_get(factor, "fields");
    const char *name =
        json_array_size(fields) == 1 ? json_string_value(json_array_get(fields, 0)) : NULL;
    const json_t *value = json_object_get(factor, side);
    AUTO_FREE char *dump = NULL;

    EACH(field, json_object_get(judgement, "fields")) {
        const char *own = member_string(field, "field");

        if ((!value || json_is_null(value)) && name && own && !strcmp(name, own))
            value = json_object_get(field, side);
    }
    if (value && !json_is_string(value) && !json_is_null(value))
        dump = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    doc_phrase(out, "\t%.200s", dump ? dump : json_string_value(value));
}

/* Phrases of a row. */
static void append_factor(struct text *out, const json_t *judgement, const json_t *factor)
{
    doc_phrase(out, "%s", member_string(factor, "factor"));
    append_side(out, judgement, factor, "a");
    append_side(out, judgement, factor, "b");
    doc_phrase(out, "\t{soft ");
    comparison_names_words(out, json_object_get(factor, "fields"), FIELDS_SHOWN);
    doc_phrase(out, "}\x1e");
}

/* Each factor of all comparisons once. */
static void gather_factors(struct text *rows, const struct html_pairs *pairs)
{
    for (size_t i = 0; i < pairs->campaign_count; ++i)
        for (size_t k = 0; k < pairs->campaigns[i].count; ++k) {
            const json_t *judgement = pairs->campaigns[i].list[k].judgement;

            EACH(factor, json_object_get(judgement, "factors")) {
                CLEANUP(text_finish) struct text row = TEXT_INIT;

                append_factor(&row, judgement, factor);
                if (!strstr(rows->data, row.data))
                    text_append(rows, row.data);
                rows->failed = rows->failed || row.failed;
            }
        }
}

void html_pairs_stack(struct doc *doc, const struct html_pairs *pairs)
{
    static const struct doc_column columns[] = {{"Subject", DOC_NAME},
                                                {"a", DOC_BREAK | DOC_LABELLED},
                                                {"b", DOC_BREAK | DOC_LABELLED},
                                                {"Fields that differ", DOC_BREAK}};
    CLEANUP(text_finish) struct text rows = TEXT_INIT;

    gather_factors(&rows, pairs);
    if (rows.length > 0) {
        doc_heading(doc, 2, "stack-difference", "What a and b differ in");
        doc_table(doc, "tight stacked", columns, sizeof(columns) / sizeof(*columns));
        for (const char *row = rows.data, *end; (end = strchr(row, '\x1e')) != NULL;
             row = end + 1) {
            text_append_bytes(&doc->block, row, (size_t)(end - row));
            doc_end(doc, NULL);
        }
        doc_close(doc);
    }
    if (pairs->notes.length > 0)
        doc_say(doc, "none", "Pairs that could not be compared: %s", pairs->notes.data);
    doc->out->failed = doc->out->failed || rows.failed;
}
