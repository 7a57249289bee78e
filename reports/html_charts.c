/* From stored samples to the figures of one result. */
#include "reports/html_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "reports/escape.h"
#include "reports/html_serving.h"

static enum status load_trial(struct store *store, const struct view_trial *trial,
                              struct html_loaded *ret, struct error *err)
{
    struct error reason = ERROR_INIT;
    enum status status =
        store_load_samples(store, trial->id, "wall_ns", &ret->wall, &ret->series.count, &reason);

    if (status != STATUS_OK)
        ret->series.count = 0;
    if (status == STATUS_CORRUPT)
        snprintf(ret->unreadable, sizeof(ret->unreadable), "%.150s", reason.message);
    else if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        return error_set(err, status, "%s", reason.message);
    ret->series.sample_ns = ret->wall;
    ret->series.iterations =
        trial->iterations_per_sample.known && trial->iterations_per_sample.value > 0
            ? (double)trial->iterations_per_sample.value
            : 1;
    ret->series.has_window = trial->window_first.known && trial->window_first.value >= 0 &&
                             (uint64_t)trial->window_first.value < ret->series.count;
    ret->series.window_from = ret->series.has_window ? (size_t)trial->window_first.value : 0;
    ret->series.has_steady = trial->estimate && trial->estimate->has_steady &&
                             trial->estimate->steady_from < ret->series.count;
    ret->series.steady_from = ret->series.has_steady ? trial->estimate->steady_from : 0;
    ret->series.failed = !trial->ok;
    ret->from = ret->series.has_steady ? ret->series.steady_from : ret->series.window_from;
    ret->used = trial->estimate && ret->series.count > ret->from && ret->series.has_window;
    return STATUS_OK;
}

static double steady_mean(const struct html_loaded *loaded)
{
    double sum = 0;

    for (size_t i = loaded->from; i < loaded->series.count; ++i)
        sum += (double)loaded->wall[i];
    return sum / (double)(loaded->series.count - loaded->from) / loaded->series.iterations;
}

static void append_distribution(struct text *out, const struct view_cell *cell,
                                const struct html_loaded *loaded, size_t count, int64_t *scratch,
                                const struct number_unit *unit)
{
    AUTO_FREE struct chart_series *parts = calloc(count ? count : 1, sizeof(*parts));
    struct reduce_histogram histogram;
    struct chart_mark marks[METRIC_COUNT];
    const struct metric_value *mean = view_metric(cell, METRIC_ITERATION_TIME);
    struct chart_distribution distribution = {.histogram = &histogram, .marks = marks};
    struct chart_range range;
    char heading[HTML_HEADING_SIZE];
    CLEANUP(text_finish) struct text id = TEXT_INIT;
    size_t used = 0, total = 0;

    for (size_t i = 0; parts && i < count; ++i) {
        if (!loaded[i].used)
            continue;
        parts[used++] = (struct chart_series){.sample_ns = loaded[i].wall + loaded[i].from,
                                              .count = loaded[i].series.count - loaded[i].from,
                                              .iterations = loaded[i].series.iterations};
        total += parts[used - 1].count;
    }
    if (used == 0 || !chart_body_of(parts, used, scratch, &range)) {
        return;
    }
    reduce_histogram_init(&histogram, range.lo, range.hi,
                          total < 144    ? 12
                          : total > 2304 ? 48
                                         : (size_t)sqrt((double)total));
    for (size_t i = 0; i < used; ++i)
        reduce_histogram_add(&histogram, parts[i].sample_ns, parts[i].count, parts[i].iterations);
    for (int i = 0; i < METRIC_COUNT; ++i) {
        const struct metric_value *percentile =
            metrics[i].q > 0 ? view_metric(cell, (enum metric_id)i) : NULL;

        if (percentile && percentile->has_value)
            marks[distribution.mark_count++] =
                (struct chart_mark){metrics[i].label, percentile->value};
    }
    if (mean) {
        distribution.has_mean = mean->has_value;
        distribution.mean = mean->value;
        distribution.has_interval = mean->has_interval;
        distribution.mean_lo = mean->lo;
        distribution.mean_hi = mean->hi;
    }
    html_figure_id(&id, cell, "d", 0);
    html_figure_heading(cell, "Distribution", heading);
    text_append(out, "<figure>");
    chart_distribution(out, id.data, heading, &distribution, unit);
    text_append(out, "</figure>\n");
}

static void append_trials(struct text *out, const struct view_cell *cell,
                          const struct html_loaded *loaded, const struct number_unit *unit)
{
    AUTO_FREE struct chart_trial *trials =
        calloc(cell->trial_count ? cell->trial_count : 1, sizeof(*trials));
    char(*labels)[40] = calloc(cell->trial_count ? cell->trial_count : 1, sizeof(*labels));
    const struct metric_value *mean = view_metric(cell, METRIC_ITERATION_TIME);
    char heading[HTML_HEADING_SIZE];
    CLEANUP(text_finish) struct text id = TEXT_INIT;
    bool any = false;

    for (size_t i = 0; i < cell->trial_count; ++i)
        any = any || loaded[i].used;
    if (!any) {
        text_append(out, "<p class=\"none\">No trial reached the end of its window.</p>\n");
    } else if (trials && labels) {
        for (size_t i = 0; i < cell->trial_count; ++i) {
            const struct view_trial *trial = &cell->trials[i];

            if (trial->attempt.known && trial->attempt.value > 1)
                snprintf(labels[i], sizeof(labels[i]), "trial %lld (%lld)",
                         (long long)trial->number, (long long)trial->attempt.value);
            else
                snprintf(labels[i], sizeof(labels[i]), "trial %lld", (long long)trial->number);
            trials[i].label = labels[i];
            trials[i].has_value = loaded[i].used;
            trials[i].ns = loaded[i].used ? steady_mean(&loaded[i]) : 0;
            trials[i].reason = view_trial_label(cell, trial);
        }
        html_figure_id(&id, cell, "m", 0);
        text_append(out, "<figure>");
        html_figure_heading(cell, "Mean of each trial", heading);
        chart_trials(out, id.data, heading, trials, cell->trial_count, mean && mean->has_interval,
                     mean ? mean->lo : 0, mean ? mean->hi : 0, unit);
        text_append(out, "</figure>\n");
    } else {
        out->failed = true;
    }
    free(labels);
}

/* What is drawn in the two figures before; nothing where they are not. */
static void append_body_caption(struct text *out, const struct view_cell *cell,
                                const struct html_loaded *loaded)
{
    const struct metric_value *mean = view_metric(cell, METRIC_ITERATION_TIME);
    bool any = false;

    for (size_t i = 0; i < cell->trial_count; ++i)
        any = any || loaded[i].used;
    if (!any)
        return;
    text_append(out, "<p class=\"soft\"><small>Distribution: how many samples took how long; "
                     "upright lines are percentiles (p99: 99 of 100 samples took no longer)");
    if (mean && mean->has_value)
        text_append_format(out, ", the dot below is the mean%s",
                           mean->has_interval ? " with its interval" : "");
    text_append(out, ". Mean of each trial: a dot a trial, on a scale that need not begin at 0");
    if (mean && mean->has_interval)
        text_append_format(out, "; the band is the %.4g %% interval of the mean",
                           100 * cell->estimate->confidence);
    text_append(out, ".</small></p>\n");
}

static bool append_series(struct text *out, const struct view_cell *cell,
                          const struct html_loaded *loaded, const struct chart_range *range,
                          const struct number_unit *unit, size_t marks)
{
    bool ok = true, reduced = false;

    text_append(out, "<h4>Every trial over time</h4>\n<div class=\"charts\">\n");
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const struct view_trial *trial = &cell->trials[i];
        char whole[HTML_HEADING_SIZE];
        CLEANUP(text_finish) struct text heading = TEXT_INIT;
        struct text id = TEXT_INIT;

        text_append_format(&heading, "Trial %lld", (long long)trial->number);
        if (trial->attempt.known && trial->attempt.value > 1)
            text_append_format(&heading, ", attempt %lld", (long long)trial->attempt.value);
        if (!trial->ok)
            text_append_format(&heading, ": %s", view_trial_label(cell, trial));
        text_append(out, "<figure>");
        if (loaded[i].series.count) {
            html_figure_id(&id, cell, "t", i + 1);
            reduced = reduced || loaded[i].series.count > marks;
            html_figure_heading(cell, heading.data, whole);
            ok =
                chart_time_series(out, id.data, whole, &loaded[i].series, range, unit, marks) && ok;
        } else {
            text_append(out, "<p class=\"lost\"><b>");
            escape_html(out, heading.data);
            text_append(out, "</b></p><p class=\"lost none wrap\">");
            escape_html(out, loaded[i].unreadable[0] ? loaded[i].unreadable
                                                     : "It ended before the first sample.");
            text_append(out, "</p>");
        }
        text_append(out, "</figure>\n");
        text_finish(&id);
    }
    text_append(out,
                "</div>\n<p class=\"soft\"><small>Horizontal: sample number; vertical: time per "
                "iteration, one scale for all trials that need not begin at 0. The shaded part is "
                "warmup, the window "
                "begins where it ends; the dashed line is where steady state begins.");
    if (reduced)
        text_append(out, " Long series are drawn as the range from minimum to maximum, with the "
                         "median as a line; the database holds every sample.");
    text_append(out, "</small></p>\n");
    return ok;
}

enum status html_charts(struct doc *doc, struct store *store, const struct view_cell *cell,
                        size_t marks, struct error *err)
{
    struct text *out = doc->out;
    size_t count = cell->trial_count, longest = 1;
    struct html_loaded *loaded = calloc(count ? count : 1, sizeof(*loaded));
    struct chart_series *series = calloc(count ? count : 1, sizeof(*series));
    int64_t *scratch = NULL;
    struct chart_range range;
    struct number_unit unit;
    enum status status = loaded && series ? STATUS_OK : STATUS_NO_MEMORY;
    bool ok = true;

    for (size_t i = 0; i < count && status == STATUS_OK; ++i) {
        status = load_trial(store, &cell->trials[i], &loaded[i], err);
        series[i] = loaded[i].series;
        longest = series[i].count > longest ? series[i].count : longest;
    }
    if (status != STATUS_OK)
        goto cleanup;
    scratch = malloc(longest * sizeof(*scratch));
    if (!scratch) {
        status = STATUS_NO_MEMORY;
        goto cleanup;
    }
    if (count == 0) {
        text_append(out, "<p class=\"none\">No trial was started.</p>\n");
        goto cleanup;
    }
    if (!chart_range_of(series, count, scratch, &range))
        range = (struct chart_range){0, 1};
    unit = number_unit_duration((range.lo + range.hi) / 2);
    status = html_serving_cell(out, store, cell, err);
    if (status != STATUS_OK)
        goto cleanup;
    text_append_format(out, "<h4>%s of all trials</h4><div class=\"charts\">\n",
                       cell->load_timeline    ? "Steps"
                       : view_is_steady(cell) ? "Steady samples"
                                              : "Windows");
    append_distribution(out, cell, loaded, count, scratch, &unit);
    append_trials(out, cell, loaded, &unit);
    text_append(out, "</div>\n");
    append_body_caption(out, cell, loaded);
    text_append(out, "<div class=\"full\">\n");
    ok = append_series(out, cell, loaded, &range, &unit, marks);
    html_telemetry(doc, store, cell);
    text_append(out, "</div>\n");
    html_stages(out, store, cell, loaded);
    text_append(out, "<div class=\"full\">\n");
    html_clocks(out, store, cell, loaded);
    text_append(out, "</div>\n");
    if (!ok || !text_ok(out))
        status = STATUS_NO_MEMORY;
cleanup:
    if (status == STATUS_NO_MEMORY)
        error_set(err, status, "report: out of memory while drawing result %s", cell->result);
    for (size_t i = 0; loaded && i < count; ++i)
        free(loaded[i].wall);
    free(loaded);
    free(series);
    free(scratch);
    return status;
}
