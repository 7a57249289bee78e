#include "reports/plot.h"

#include <stdio.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "reports/escape.h"

#define LABEL_DIGIT 6.2 /* width of a digit of a tick's label */
#define TICKS_MAX 16

struct plot_axis plot_axis_new(const char *title, struct number_unit unit, bool logarithmic)
{
    return (struct plot_axis){
        .scale = {.lo = INFINITY, .hi = -INFINITY, .logarithmic = logarithmic},
        .unit = unit,
        .title = title};
}

void plot_cover(struct plot_axis *axis, double value)
{
    if (!isfinite(value) || (axis->scale.logarithmic && !(value > 0)))
        return;
    axis->scale.lo = fmin(axis->scale.lo, value);
    axis->scale.hi = fmax(axis->scale.hi, value);
}

void plot_cover_interval(struct plot_axis *axis, const struct scale *values, double lo, double hi)
{
    const double room = fmax(4 * (values->hi - values->lo), fabs(values->hi));

    if (!isfinite(lo) || !isfinite(hi))
        return;
    plot_cover(axis, fmax(lo, values->logarithmic ? values->lo / 10 : values->lo - room));
    plot_cover(axis, fmin(hi, values->logarithmic ? values->hi * 10 : values->hi + room));
}

void plot_round(struct plot_axis *axis)
{
    struct scale *scale = &axis->scale;
    double room;

    if (!(scale->hi >= scale->lo)) {
        scale->lo = scale->logarithmic ? 1 : 0;
        scale->hi = 10;
    } else if (scale->logarithmic) {
        room = fmax(pow(scale->hi / scale->lo, 0.06), 1.12);
        scale->lo /= room;
        scale->hi *= room;
    } else {
        /* From 0 where that is near, else never less than a percent of the level. */
        room = fmax(scale->hi - scale->lo, 0.01 * fmax(fabs(scale->hi), fabs(scale->lo)));
        room = room > 0 ? room * 0.06 : 1;
        scale->lo = scale->lo >= 0 && scale->lo < 0.5 * scale->hi ? 0 : scale->lo - room;
        scale->hi += room;
    }
}

static size_t ticks_of(const struct plot_axis *axis, size_t wanted, double ret[TICKS_MAX])
{
    const double factor = axis->unit.factor > 0 ? axis->unit.factor : 1;
    size_t count = 0;

    if (!axis->ticks)
        return axis->scale.logarithmic
                   ? scale_ticks_logarithmic(axis->scale.lo / factor, axis->scale.hi / factor, ret,
                                             TICKS_MAX)
                   : scale_ticks(axis->scale.lo / factor, axis->scale.hi / factor, wanted, ret,
                                 TICKS_MAX);
    for (size_t i = 0; i < axis->tick_count && count < TICKS_MAX; ++i)
        ret[count++] = axis->ticks[i] / factor;
    return count;
}

/* Coordinate and label of a tick. */
static double place_of(const struct plot_axis *axis, const double *ticks, size_t count, size_t i,
                       char ret_label[NUMBER_SIZE])
{
    const double factor = axis->unit.factor > 0 ? axis->unit.factor : 1;

    if (axis->ticks || axis->scale.logarithmic)
        snprintf(ret_label, NUMBER_SIZE, "%.4g", ticks[i]);
    else
        snprintf(ret_label, NUMBER_SIZE, "%.*f", scale_tick_decimals(ticks, count), ticks[i]);
    return scale_map(&axis->scale, ticks[i] * factor);
}

void plot_axis_x(struct text *out, const struct plot_axis *axis, double top, double y)
{
    double ticks[TICKS_MAX], free_from = -INFINITY;
    size_t count = ticks_of(axis, 5, ticks);
    char label[NUMBER_SIZE];

    for (size_t i = 0; i < count; ++i) {
        const double at = place_of(axis, ticks, count, i, label);
        const double width = LABEL_DIGIT * (double)strlen(label);

        if (top < y)
            chart_line(out, at, top, at, y, "grid");
        chart_line(out, at, y, at, y + 3, "axis");
        if (at - width / 2 < free_from)
            continue;
        chart_label(out, fmin(at, CHART_WIDTH - width / 2), y + 13, "middle", "tick", label);
        free_from = at + width / 2 + LABEL_DIGIT;
    }
    chart_line(out, axis->scale.from, y, axis->scale.to, y, "axis");
}

void plot_axis_y(struct text *out, const struct plot_axis *axis, double x, double right)
{
    double ticks[TICKS_MAX], last = INFINITY;
    size_t count = ticks_of(axis, 4, ticks);
    char label[NUMBER_SIZE];

    for (size_t i = 0; i < count; ++i) {
        const double at = place_of(axis, ticks, count, i, label);

        chart_line(out, x, at, right, at, "grid");
        if (last - at < 11)
            continue;
        chart_label(out, x - 5, at + 3.2, "end", "tick", label);
        last = at;
    }
    chart_line(out, x, axis->scale.from, x, axis->scale.to, "axis");
}

void plot_dot(struct text *out, double x, double y, size_t slot, bool hollow, const char *title)
{
    if (slot <= CHART_SLOTS)
        text_append_format(out, "<circle class=\"point s%zu%s\" r=\"3\" cx=\"", slot,
                           hollow ? " hollow" : "");
    else
        text_append_format(out, "<circle class=\"mean%s\" r=\"3\" cx=\"", hollow ? " hollow" : "");
    chart_coordinate(out, x);
    text_append(out, "\" cy=\"");
    chart_coordinate(out, y);
    text_append(out, "\"><title>");
    escape_html(out, title ? title : "");
    text_append(out, "</title></circle>");
}

void plot_label_short(struct text *out, double x, double y, const char *anchor,
                      const char *class_name, const char *string, size_t columns)
{
    CLEANUP(text_finish) struct text cut = TEXT_INIT;

    escape_terminal_short(&cut, string, columns);
    chart_label(out, x, y, anchor, class_name, cut.data);
    out->failed = out->failed || cut.failed;
}

/*
 * A name that is too long loses its middle: results of one workload are told apart by its end.
 */
static void append_name(struct text *out, double y, const char *class_name, const char *name,
                        size_t columns)
{
    const char *tail = name + strlen(name);
    struct text cut = TEXT_INIT;

    if (text_columns(name) > columns) {
        while (tail > name && (text_columns(tail) < columns - columns / 3 ||
                               ((unsigned char)*tail & 0xc0) == 0x80))
            --tail;
        escape_terminal_short(&cut, name, columns / 3);
        text_append(&cut, tail);
        name = text_ok(&cut) ? cut.data : "";
    }
    chart_label(out, 0, y, "start", class_name, name);
    out->failed = out->failed || cut.failed;
    text_finish(&cut);
}

void plot_beyond(struct text *out, double x, double y, double dx, double dy)
{
    const double corners[][2] = {
        {x, y}, {x - dx - 0.6 * dy, y - dy - 0.6 * dx}, {x - dx + 0.6 * dy, y - dy + 0.6 * dx}};

    text_append(out, "<path class=\"off\" d=\"");
    for (size_t i = 0; i < 3; ++i) {
        text_append_char(out, i ? 'L' : 'M');
        chart_coordinate(out, corners[i][0]);
        text_append_char(out, ' ');
        chart_coordinate(out, corners[i][1]);
    }
    text_append(out, "z\"><title>the interval goes on beyond the axis</title></path>");
}

enum { ROWS_LEFT = 4, ROWS_RIGHT = 336, ROWS_TOP = 18, ROW = 25, LETTER_TENTHS = 54 };

static void append_row(struct text *out, const struct plot_row *row, const struct scale *x,
                       double reference, double top)
{
    const size_t columns = CHART_WIDTH * 10 / LETTER_TENTHS;
    const size_t taken = row->value ? text_columns(row->value) : 0;
    const double y = top + 17.5;

    append_name(out, top + 10, row->bold ? "name strong" : "name", row->label,
                taken + 14 < columns ? columns - taken - 2 : 12);
    plot_label_short(out, CHART_WIDTH, top + 10, "end",
                     isnan(row->at) ? "zone bad"
                     : row->bold    ? "name strong"
                                    : "tick",
                     row->value, columns - 10);
    chart_line(out, x->from, y, x->to, y, "grid");
    if (isfinite(reference)) /* beside its interval alone, where it crosses no name */
        chart_line(out, scale_map(x, reference), y - 4, scale_map(x, reference), y + 6, "mark");
    if (isnan(row->at))
        return;
    if (isfinite(row->lo) && isfinite(row->hi))
        chart_line(out, scale_map(x, row->lo), y, scale_map(x, row->hi), y, "whisker");
    if (row->lo < x->lo)
        plot_beyond(out, x->from, y, -5, 0);
    if (row->hi > x->hi)
        plot_beyond(out, x->to, y, 5, 0);
    plot_dot(out, scale_map(x, row->at), y, PLOT_ACCENT, row->hollow, row->value);
}

void plot_rows(struct text *out, const char *id, const struct plot_rows *plot)
{
    const double bottom = ROWS_TOP + ROW * (double)plot->count + 2;
    struct plot_axis axis = plot->axis;
    struct scale values;

    for (size_t i = 0; i < plot->count; ++i)
        plot_cover(&axis, plot->rows[i].at);
    plot_cover(&axis, plot->reference);
    values = axis.scale;
    for (size_t i = 0; i < plot->count; ++i)
        plot_cover_interval(&axis, &values, plot->rows[i].lo, plot->rows[i].hi);
    plot_round(&axis);
    axis.scale.from = ROWS_LEFT;
    axis.scale.to = ROWS_RIGHT;
    chart_open(out, id, bottom + 18, plot->heading, plot->description);
    if (isfinite(plot->band_lo) && isfinite(plot->band_hi)) {
        const double from = scale_map(&axis.scale, plot->band_lo);

        text_append(out, "<rect class=\"ci\" x=\"");
        chart_coordinate(out, from);
        text_append_format(out, "\" y=\"%d\" width=\"", ROWS_TOP);
        chart_coordinate(out, fmax(scale_map(&axis.scale, plot->band_hi) - from, 1));
        text_append(out, "\" height=\"");
        chart_coordinate(out, bottom - ROWS_TOP);
        text_append(out, "\"/>");
    }
    plot_axis_x(out, &axis, bottom, bottom);
    for (size_t i = 0; i < plot->count; ++i)
        append_row(out, &plot->rows[i], &axis.scale, plot->reference, ROWS_TOP + ROW * (double)i);
    plot_label_short(out, 0, 9, "start", "head", plot->heading, 46);
    chart_label(out, CHART_WIDTH, 9, "end", "note", axis.title ? axis.title : axis.unit.name);
    chart_close(out);
}
