/* Channels of telemetry below each other, over the time of a trial. */
#include "reports/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "reports/scale.h"

enum { LEFT = 4, RIGHT = 286, HEAD = 16, STRIP = 46, PLOT = 22, AXIS = 20, POINTS_MAX = 280 };
enum { DIGITS = 3 }; /* of a reading every 100 ms or so */

struct extent {
    double lo, hi;
    bool any;
};

static struct extent extent_of(const struct chart_strip *strip)
{
    struct extent extent = {0, 0, false};

    for (size_t i = 0; i < strip->count; ++i) {
        if (!isfinite(strip->values[i]))
            continue;
        if (!extent.any)
            extent = (struct extent){strip->values[i], strip->values[i], true};
        extent.lo = fmin(extent.lo, strip->values[i]);
        extent.hi = fmax(extent.hi, strip->values[i]);
    }
    return extent;
}

static void append_point(struct text *out, bool first, double x, double y)
{
    text_append_char(out, first ? 'M' : 'L');
    chart_coordinate(out, x);
    text_append_char(out, ' ');
    chart_coordinate(out, y);
}

/*
 * Long series are drawn by the least and the greatest of each part, so that no spike is lost; a
 * part without values stays a gap.
 */
static void append_path(struct text *out, const struct chart_strip *strip, const struct scale *x,
                        const struct scale *y)
{
    size_t part = strip->count > POINTS_MAX ? (strip->count + POINTS_MAX - 1) / POINTS_MAX : 1;
    bool open = false;

    text_append(out, "<path class=\"line\" d=\"");
    for (size_t i = 0; i < strip->count; i += part) {
        size_t end = i + part < strip->count ? i + part : strip->count, at = i;
        double lo = INFINITY, hi = -INFINITY;

        for (size_t k = i; k < end; ++k) {
            if (!isfinite(strip->values[k]))
                continue;
            lo = fmin(lo, strip->values[k]);
            hi = fmax(hi, strip->values[k]);
            at = k;
        }
        if (!(lo <= hi)) {
            open = false;
            continue;
        }
        append_point(out, !open, scale_map(x, strip->s[at]), scale_map(y, lo));
        if (hi > lo)
            append_point(out, false, scale_map(x, strip->s[at]), scale_map(y, hi));
        if (!open && part == 1)
            text_append(out, "h0"); /* a single moment between gaps is a dot */
        open = true;
    }
    text_append(out, "\"/>");
}

static void append_shade(struct text *out, double from, double to, double top, double bottom)
{
    if (to - from < 0.5)
        return;
    text_append(out, "<rect class=\"warm\" x=\"");
    chart_coordinate(out, from);
    text_append(out, "\" y=\"");
    chart_coordinate(out, top);
    text_append(out, "\" width=\"");
    chart_coordinate(out, to - from);
    text_append(out, "\" height=\"");
    chart_coordinate(out, bottom - top);
    text_append(out, "\"/>");
}

static void append_strip(struct text *out, const struct chart_strip *strip, const struct scale *x,
                         double top)
{
    struct extent extent = extent_of(strip);
    /* Changes of less than a hundredth are drawn nearly level. */
    double least = 0.01 * fmax(fabs(extent.lo), fabs(extent.hi));
    double room = extent.hi - extent.lo < least ? (least - (extent.hi - extent.lo)) / 2 : 0;
    struct scale y = {extent.lo - room, extent.hi + room, top + STRIP - 6, top + STRIP - 6 - PLOT};
    char number[NUMBER_SIZE], label[2 * NUMBER_SIZE];

    chart_label(out, LEFT, top + 9, "start", "tick", strip->label);
    append_path(out, strip, x, &y);
    if (!extent.any) {
        chart_label(out, RIGHT + 5, y.from - PLOT / 2.0 + 3, "start", "tick", "no value");
        return;
    }
    if (extent.lo == extent.hi || room > 0) {
        snprintf(label, sizeof(label), "%s %s", number_format_digits(extent.hi, DIGITS, number),
                 strip->unit);
        chart_label(out, RIGHT + 5, y.from - PLOT / 2.0 + 3, "start", "tick", label);
        return;
    }
    snprintf(label, sizeof(label), "%s %s", number_format_digits(extent.hi, DIGITS, number),
             strip->unit);
    chart_label(out, RIGHT + 5, y.to + 5, "start", "tick", label);
    chart_label(out, RIGHT + 5, y.from + 1, "start", "tick",
                number_format_digits(extent.lo, DIGITS, number));
}

static void append_axis(struct text *out, const struct scale *x, double bottom)
{
    double ticks[12];
    size_t count = scale_ticks(x->lo, x->hi, 5, ticks, 12);
    int decimals = scale_tick_decimals(ticks, count);
    char label[NUMBER_SIZE];
    double taken = INFINITY; /* by the label to the right, which is placed first */

    chart_line(out, LEFT, bottom, RIGHT, bottom, "axis");
    for (size_t i = count; i-- > 0;) {
        double at = scale_map(x, ticks[i]), width;

        chart_line(out, at, bottom, at, bottom + 3, "axis");
        snprintf(label, sizeof(label), "%.*f%s", decimals, ticks[i], i + 1 == count ? " s" : "");
        width = 6.2 * (double)strlen(label);
        if (at + (at < LEFT + 6 ? width : width / 2) > taken)
            continue;
        taken = at - (at > RIGHT - 12 ? width : width / 2);
        chart_label(out, at, bottom + 13,
                    at > RIGHT - 12 ? "end"
                    : at < LEFT + 6 ? "start"
                                    : "middle",
                    "tick", label);
    }
}

bool chart_strips(struct text *out, const char *id, const char *heading,
                  const struct chart_strip *strips, size_t count, double begin_s, double end_s,
                  double last_s)
{
    double bottom = HEAD + (double)count * STRIP;
    struct scale x = {0, last_s, LEFT, RIGHT};
    CLEANUP(text_finish) struct text description = TEXT_INIT;

    text_append_format(&description, "%zu channels over %.3g s:", count, last_s);
    for (size_t i = 0; i < count; ++i) {
        struct extent extent = extent_of(&strips[i]);
        char lo[NUMBER_SIZE], hi[NUMBER_SIZE];

        if (!extent.any)
            text_append_format(&description, "%s %s has no value", i ? ";" : "", strips[i].label);
        else
            text_append_format(&description, "%s %s from %s to %s %s", i ? ";" : "",
                               strips[i].label, number_format_digits(extent.lo, DIGITS, lo),
                               number_format_digits(extent.hi, DIGITS, hi), strips[i].unit);
    }
    chart_open(out, id, bottom + AXIS, heading, description.data);
    append_shade(out, LEFT, scale_map(&x, begin_s), HEAD, bottom);
    append_shade(out, scale_map(&x, end_s), RIGHT, HEAD, bottom);
    for (size_t i = 0; i < count; ++i)
        append_strip(out, &strips[i], &x, HEAD + (double)i * STRIP);
    append_axis(out, &x, bottom);
    chart_label(out, 0, 9, "start", "head", heading);
    chart_close(out);
    out->failed = out->failed || description.failed;
    return text_ok(out);
}
