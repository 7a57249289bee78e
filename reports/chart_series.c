/* The chart of a trial over time. */
#include "reports/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "reports/scale.h"

#define LABEL_DIGIT 6.2 /* width of a digit of a tick's label */

enum { HEIGHT = 132, LEFT = 40, RIGHT = 334, TOP = 22, BOTTOM = 110 };

static void append_axes(struct text *out, const struct chart_series *series, const struct scale *x,
                        const struct scale *y, const struct number_unit *unit)
{
    double ticks[12], free_from = 0;
    char label[NUMBER_SIZE];
    size_t count = scale_ticks(y->lo / unit->factor, y->hi / unit->factor, 4, ticks, 12);
    int decimals = scale_tick_decimals(ticks, count);

    for (size_t i = 0; i < count; ++i) {
        double at = scale_map(y, ticks[i] * unit->factor);

        chart_line(out, LEFT, at, RIGHT, at, "grid");
        snprintf(label, sizeof(label), "%.*f", decimals, ticks[i]);
        chart_label(out, LEFT - 5, at + 3.2, "end", "tick", label);
    }
    count = scale_ticks(0, (double)series->count, 5, ticks, 12);
    for (size_t i = 0; i < count; ++i) {
        double at = scale_map(x, ticks[i]), width;
        bool at_end = at > RIGHT - 12;

        if (fabs(ticks[i] - round(ticks[i])) > 1e-6)
            continue;
        chart_line(out, at, BOTTOM, at, BOTTOM + 3, "axis");
        number_format_count((int64_t)llround(ticks[i]), label);
        width = LABEL_DIGIT * (double)text_columns(label);
        if (at - (at_end ? width : width / 2) < free_from)
            continue;
        chart_label(out, at, BOTTOM + 13, at_end ? "end" : "middle", "tick", label);
        free_from = at + (at_end ? 0 : width / 2) + LABEL_DIGIT;
    }
    chart_line(out, LEFT, BOTTOM, RIGHT, BOTTOM, "axis");
}

/* The shade under the warmup. */
static void append_shade(struct text *out, const struct chart_series *series, const struct scale *x)
{
    double from = scale_map(x, (double)series->window_from);

    if (series->has_window && series->window_from > 0) {
        text_append_format(out, "<rect class=\"warm\" x=\"%d\" y=\"%d\" width=\"", LEFT, TOP);
        chart_coordinate(out, from - LEFT);
        text_append_format(out, "\" height=\"%d\"><title>warmup: samples 0 to %zu</title></rect>",
                           BOTTOM - TOP, series->window_from - 1);
    } else if (!series->has_window && series->count > 0) {
        text_append_format(out,
                           "<rect class=\"warm\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>",
                           LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP);
    }
}

/* The window's edge, the place where steady state begins, and their names, above the data. */
static void append_zones(struct text *out, const struct chart_series *series, const struct scale *x)
{
    double from = scale_map(x, (double)series->window_from), steady;
    char label[NUMBER_SIZE];

    if (!series->has_window && series->count > 0)
        chart_label(out, LEFT + 4, TOP + 10, "start", "zone in", "warmup, window never reached");
    if (series->has_window) {
        chart_line(out, from, TOP, from, BOTTOM, "edge");
        if (from - LEFT > 44)
            chart_label(out, LEFT + 4, TOP + 10, "start", "zone in", "warmup");
    }
    if (!series->has_steady || series->steady_from >= series->count)
        return;
    steady = scale_map(x, (double)series->steady_from);
    chart_line(out, steady, TOP - 4, steady, BOTTOM, "steady");
    snprintf(label, sizeof(label), "steady from %zu", series->steady_from);
    if (steady < RIGHT - 80)
        chart_label(out, steady + 4, TOP + 10, "start", "zone on", label);
    else
        chart_label(out, steady - 4, TOP + 10, "end", "zone on", label);
}

static void append_point(struct text *out, char command, double x, double y)
{
    text_append_char(out, command);
    chart_coordinate(out, x);
    text_append_char(out, ' ');
    chart_coordinate(out, y);
}

static void append_dots(struct text *out, const struct chart_series *series, const struct scale *x,
                        const struct scale *y)
{
    text_append_format(out, "<path class=\"dots%s\" d=\"", series->count <= 150 ? " few" : "");
    for (size_t i = 0; i < series->count; ++i) {
        double value = (double)series->sample_ns[i] / series->iterations;

        if (value > y->hi || value < y->lo)
            continue; /* shown by append_outside */
        append_point(out, 'M', scale_map(x, (double)i + 0.5), scale_map(y, value));
        text_append(out, "h0");
    }
    text_append(out, "\"/>");
}

static bool append_envelope(struct text *out, const struct chart_series *series, size_t buckets,
                            const struct scale *x, const struct scale *y)
{
    AUTO_FREE struct reduce_bucket *bucket = malloc(buckets * sizeof(*bucket));
    AUTO_FREE int64_t *scratch = malloc((series->count / buckets + 2) * sizeof(*scratch));
    size_t count;

    if (!bucket || !scratch)
        return false;
    count = reduce_envelope(series->sample_ns, series->count, buckets, bucket, scratch);
    text_append(out, "<path class=\"band\" d=\"");
    for (size_t i = 0; i < count; ++i) {
        double at = scale_map(x, (double)bucket[i].first + (double)bucket[i].count / 2);

        append_point(out, 'M', at, scale_map(y, (double)bucket[i].max / series->iterations));
        text_append_char(out, 'V');
        chart_coordinate(out, scale_map(y, (double)bucket[i].min / series->iterations) + 0.5);
    }
    text_append(out, "\"/><path class=\"line\" d=\"");
    for (size_t i = 0; i < count; ++i) {
        double at = scale_map(x, (double)bucket[i].first + (double)bucket[i].count / 2);

        append_point(out, i ? 'L' : 'M', at,
                     scale_map(y, (double)bucket[i].median / series->iterations));
    }
    text_append(out, "\"/>");
    return true;
}

/* Samples beyond the scale get a mark on its edge, at most one per unit of width. */
static void append_outside(struct text *out, const struct chart_series *series,
                           const struct scale *x, const struct scale *y)
{
    double last_above = -9, last_below = -9;
    bool open = false;

    for (size_t i = 0; i < series->count; ++i) {
        double value = (double)series->sample_ns[i] / series->iterations;
        double at = scale_map(x, (double)i + 0.5);
        bool above = value > y->hi;
        double *last = above ? &last_above : &last_below;

        if ((!above && value >= y->lo) || at - *last < 2)
            continue;
        *last = at;
        text_append(out, open ? "" : "<path class=\"off\" d=\"");
        open = true;
        append_point(out, 'M', at, above ? TOP - 5 : BOTTOM + 5);
        text_append(out, above ? "l-2.5 5h5z" : "l-2.5 -5h5z");
    }
    text_append(out, open ? "\"/>" : "");
}

static void describe(struct text *description, const struct chart_series *series,
                     const struct chart_range *range, const struct number_unit *unit, bool points,
                     size_t *ret_above, size_t *ret_below, double *ret_most)
{
    char a[NUMBER_SIZE], b[NUMBER_SIZE];
    double least = INFINITY, most = 0;

    *ret_above = *ret_below = 0;
    for (size_t i = 0; i < series->count; ++i) {
        double value = (double)series->sample_ns[i] / series->iterations;

        least = fmin(least, value);
        most = fmax(most, value);
        *ret_above += value > range->hi;
        *ret_below += value < range->lo;
    }
    *ret_most = most;
    if (series->count == 0) {
        text_append(description, "No sample was taken.");
        return;
    }
    text_append_format(description, "%zu samples in time order, from %s to %s per iteration",
                       series->count, number_format_unit(least, unit, a),
                       number_format_unit(most, unit, b));
    if (series->has_window)
        text_append_format(description, "; warmup before sample %zu", series->window_from);
    else
        text_append(description, "; the window was never reached");
    if (series->has_steady)
        text_append_format(description, "; steady from sample %zu", series->steady_from);
    text_append(description, points ? "." : "; drawn as minimum to maximum with the median.");
}

bool chart_time_series(struct text *out, const char *id, const char *heading,
                       const struct chart_series *series, const struct chart_range *range,
                       const struct number_unit *unit, size_t marks)
{
    struct scale x = {0, series->count ? (double)series->count : 1, LEFT, RIGHT};
    struct scale y = {range->lo, range->hi, BOTTOM, TOP};
    CLEANUP(text_finish) struct text description = TEXT_INIT, note = TEXT_INIT;
    size_t above, below;
    double most;
    char value[NUMBER_SIZE];
    bool points = series->count <= marks, ok = true;

    describe(&description, series, range, unit, points, &above, &below, &most);
    chart_open(out, id, HEIGHT, heading, description.data);
    append_shade(out, series, &x);
    append_axes(out, series, &x, &y, unit);
    if (points)
        append_dots(out, series, &x, &y);
    else
        ok = append_envelope(out, series,
                             marks / 2 > 294 ? 294
                             : marks / 2     ? marks / 2
                                             : 1,
                             &x, &y);
    append_outside(out, series, &x, &y);
    append_zones(out, series, &x);
    chart_label(out, 0, 9, "start", series->failed ? "head bad" : "head", heading);
    text_append_format(&note, "%s / iteration", unit->name);
    if (above)
        text_append_format(&note, " \u00b7 %zu above", above);
    if (above && !below) /* else there is no room for it */
        text_append_format(&note, ", to %s", number_format_unit(most, unit, value));
    if (below)
        text_append_format(&note, " \u00b7 %zu below", below);
    chart_label(out, RIGHT, 9, "end", "note", note.data);
    chart_close(out);
    out->failed = out->failed || description.failed || note.failed;
    return ok && text_ok(out);
}
