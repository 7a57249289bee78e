/* Points and lines over two axes. */
#include "reports/plot.h"

#include <stdio.h>

#include "harness/core/cleanup.h"

enum { LEFT = 44, RIGHT = 334, TOP = 28, BOTTOM = 180, LEGEND_ROW = 13, LABELS_MAX = 64 };
#define LETTER 5.4

/* Where labels are already. */
struct placed {
    size_t count;
    struct place {
        double left, right, y;
    } label[LABELS_MAX];
};

int plot_points_by_x(const void *a, const void *b)
{
    const double x = ((const struct plot_point *)a)->x, y = ((const struct plot_point *)b)->x;

    return (x > y) - (x < y);
}

struct plot_point plot_point_at(double x, double y)
{
    return (struct plot_point){.x = x, .y = y, .x_lo = NAN, .x_hi = NAN, .y_lo = NAN, .y_hi = NAN};
}

/* Not on a logarithmic axis at or below 0. */
static bool is_shown(const struct plot_xy *plot, const struct plot_point *point)
{
    return isfinite(point->x) && isfinite(point->y) &&
           (point->x > 0 || !plot->x.scale.logarithmic) &&
           (point->y > 0 || !plot->y.scale.logarithmic);
}

static bool is_free(const struct placed *placed, double left, double right, double y)
{
    if (left < LEFT || right > CHART_WIDTH || y < TOP + 6 || y > BOTTOM)
        return false;
    for (size_t i = 0; i < placed->count; ++i)
        if (left < placed->label[i].right && right > placed->label[i].left &&
            fabs(y - placed->label[i].y) < 10)
            return false;
    return placed->count < LABELS_MAX;
}

/* Beside the point, above or below it, of one that an interval crosses at a corner; nowhere where
 * there is no room: its title still names it. */
static void append_label(struct text *out, struct placed *placed, const char *label, double x,
                         double y, bool crossed)
{
    static const struct {
        double dx, dy;
        const char *anchor;
        double shift; /* of the left end, in widths */
    } places[] = {{6, 3.2, "start", 0},    {-6, 3.2, "end", -1}, {0, -7, "middle", -0.5},
                  {0, 13, "middle", -0.5}, {5, -6, "start", 0},  {5, 12, "start", 0},
                  {-5, -6, "end", -1},     {-5, 12, "end", -1}};
    enum { COUNT = sizeof(places) / sizeof(places[0]) };
    const double width = LETTER * (double)text_columns(label);

    for (size_t k = 0; k < COUNT; ++k) {
        const size_t i = (k + (crossed ? COUNT / 2 : 0)) % COUNT;
        const double at = x + places[i].dx, left = at + places[i].shift * width;

        if (!is_free(placed, left, left + width, y + places[i].dy))
            continue;
        placed->label[placed->count].left = left;
        placed->label[placed->count].right = left + width;
        placed->label[placed->count++].y = y + places[i].dy;
        chart_label(out, at, y + places[i].dy, places[i].anchor, "zone", label);
        return;
    }
}

static void append_line(struct text *out, const struct plot_xy *plot,
                        const struct plot_curve *curve)
{
    char command = 'M';

    if (curve->slot <= CHART_SLOTS)
        text_append_format(out, "<path class=\"curve t%zu\" d=\"", curve->slot);
    else
        text_append(out, "<path class=\"curve\" d=\"");
    for (size_t i = 0; i < curve->count; ++i) {
        if (!is_shown(plot, &curve->points[i]))
            continue;
        text_append_char(out, command);
        chart_coordinate(out, scale_map(&plot->x.scale, curve->points[i].x));
        text_append_char(out, ' ');
        chart_coordinate(out, scale_map(&plot->y.scale, curve->points[i].y));
        command = 'L';
    }
    text_append(out, "\"/>");
}

static void append_intervals(struct text *out, const struct plot_xy *plot,
                             const struct plot_curve *curve, const struct plot_point *point,
                             double x, double y)
{
    const struct scale *across = &plot->x.scale, *up = &plot->y.scale;
    char look[24] = "whisker"; /* of its point's colour */

    if (curve->slot <= CHART_SLOTS)
        snprintf(look, sizeof(look), "whisker t%zu", curve->slot);

    if (isfinite(point->y_lo) && isfinite(point->y_hi))
        chart_line(out, x, scale_map(up, point->y_lo), x, scale_map(up, point->y_hi), look);
    if (point->y_hi > up->hi)
        plot_beyond(out, x, up->to, 0, -5);
    if (point->y_lo < up->lo)
        plot_beyond(out, x, up->from, 0, 5);
    if (isfinite(point->x_lo) && isfinite(point->x_hi))
        chart_line(out, scale_map(across, point->x_lo), y, scale_map(across, point->x_hi), y, look);
    if (point->x_hi > across->hi)
        plot_beyond(out, across->to, y, 5, 0);
    if (point->x_lo < across->lo)
        plot_beyond(out, across->from, y, -5, 0);
}

static void append_points(struct text *out, const struct plot_xy *plot,
                          const struct plot_curve *curve, struct placed *placed)
{
    for (size_t i = 0; i < curve->count; ++i) {
        const struct plot_point *point = &curve->points[i];
        const double x = scale_map(&plot->x.scale, point->x),
                     y = scale_map(&plot->y.scale, point->y);

        if (!is_shown(plot, point))
            continue;
        append_intervals(out, plot, curve, point, x, y);
        if (curve->dots)
            plot_dot(out, x, y, curve->slot, point->hollow, point->title);
        if (point->label && *point->label)
            append_label(out, placed, point->label, x, y,
                         isfinite(point->x_lo) && point->x_hi > point->x_lo);
    }
}

/* The names of the curves, each in its colour, below the axis; returns the rows they take. */
static size_t append_legend(struct text *out, const struct plot_xy *plot)
{
    double x = LEFT;
    size_t rows = 0;

    for (size_t i = 0; i < plot->count; ++i) {
        const struct plot_curve *curve = &plot->curves[i];
        double width;

        if (!curve->name)
            continue;
        width = 14 + LETTER * (double)text_columns(curve->name) + 10;
        if (rows == 0 || x + width > CHART_WIDTH + 10) {
            ++rows;
            x = LEFT;
        }
        plot_dot(out, x + 4, BOTTOM + 27 + LEGEND_ROW * (double)(rows - 1), curve->slot, false,
                 curve->name);
        plot_label_short(out, x + 11, BOTTOM + 30.2 + LEGEND_ROW * (double)(rows - 1), "start",
                         "tick", curve->name, 52);
        x += width;
    }
    return rows;
}

void plot_xy(struct text *out, const char *id, const struct plot_xy *given)
{
    struct plot_xy plot = *given;
    struct placed placed = {0};
    CLEANUP(text_finish) struct text legend = TEXT_INIT;
    struct scale x, y;
    size_t rows;

    for (size_t c = 0; c < plot.count; ++c)
        for (size_t i = 0; i < plot.curves[c].count; ++i) {
            plot_cover(&plot.x, plot.curves[c].points[i].x);
            plot_cover(&plot.y, plot.curves[c].points[i].y);
        }
    x = plot.x.scale;
    y = plot.y.scale;
    for (size_t c = 0; c < plot.count; ++c)
        for (size_t i = 0; i < plot.curves[c].count; ++i) {
            const struct plot_point *point = &plot.curves[c].points[i];

            plot_cover_interval(&plot.x, &x, point->x_lo, point->x_hi);
            plot_cover_interval(&plot.y, &y, point->y_lo, point->y_hi);
        }
    plot_round(&plot.x);
    plot_round(&plot.y);
    plot.x.scale.from = LEFT;
    plot.x.scale.to = RIGHT;
    plot.y.scale.from = BOTTOM;
    plot.y.scale.to = TOP;
    rows = append_legend(&legend, &plot);
    chart_open(out, id, BOTTOM + 18 + (rows ? 4 + LEGEND_ROW * (double)rows : 0), plot.heading,
               plot.description);
    plot_axis_y(out, &plot.y, LEFT, RIGHT);
    plot_axis_x(out, &plot.x, BOTTOM, BOTTOM);
    for (size_t i = 0; i < plot.count; ++i)
        if (plot.curves[i].line)
            append_line(out, &plot, &plot.curves[i]);
    if (plot.x.title) /* its place is taken */
        placed.label[placed.count++] =
            (struct place){RIGHT - LETTER * (double)text_columns(plot.x.title), RIGHT, BOTTOM - 4};
    for (size_t i = 0; i < plot.count; ++i)
        append_points(out, &plot, &plot.curves[i], &placed);
    text_append_bytes(out, legend.data, legend.length);
    plot_label_short(out, 0, 9, "start", "head", plot.heading, 58);
    if (plot.y.title)
        chart_label(out, 0, 22, "start", "note", plot.y.title);
    if (plot.x.title)
        chart_label(out, RIGHT, BOTTOM - 4, "end", "note zone", plot.x.title);
    chart_close(out);
    out->failed = out->failed || legend.failed;
}
