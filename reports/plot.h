/*
 * plot - what every picture of results is made of: axes, marks, intervals, labels; and the two
 * forms that they take.
 *
 *   plot_rows   a name, a mark with its interval and the value in words, row below row, over one
 * axis: forest plots, precision ladders, differences of pairs plot_xy     points with intervals
 * both ways, and lines through them, over two axes: batch curves, rooflines, fronts, histories
 *
 * Both are charts (chart.h): 340 units wide, colours by class, a title and a description in words.
 * Texts are untrusted and are escaped here. Values have their base unit; an axis scales them.
 */
#ifndef ASSAY_REPORTS_PLOT_H
#define ASSAY_REPORTS_PLOT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/core/number.h"
#include "harness/core/text.h"
#include "reports/chart.h"
#include "reports/scale.h"

/* An axis: which values it has to show, and how they are written. */
struct plot_axis {
    struct scale scale; /* lo, hi: grown by plot_cover; from, to: set by whoever draws */
    struct number_unit unit;
    const char *title; /* "TFLOP/s", "batch"; borrowed */
    const double
        *ticks; /* where the labels are, such as the batches measured; NULL: round values */
    size_t tick_count;
};

/* An axis that covers nothing yet. */
struct plot_axis plot_axis_new(const char *title, struct number_unit unit, bool logarithmic);
/* Grows the axis to show the value too; what is not finite (on a logarithmic one: above 0) is left
 * out. */
void plot_cover(struct plot_axis *axis, double value);
/*
 * Grows the axis to show an interval, too, but for what goes far beyond `values`, which the axis
 * covered before the intervals: one that spans decades would leave the others a dot each. What is
 * left off is marked (plot_beyond).
 */
void plot_cover_interval(struct plot_axis *axis, const struct scale *values, double lo, double hi);
/* After the last value: room at both ends, a range where there was one value or none. */
void plot_round(struct plot_axis *axis);

/* ---- primitives ---- */

/* An axis along `y`, its labels below; `top` above y: grid lines up to there. */
void plot_axis_x(struct text *out, const struct plot_axis *axis, double top, double y);
/* An axis along `x`, its labels to the left, grid lines up to `right`. */
void plot_axis_y(struct text *out, const struct plot_axis *axis, double x, double right);
/*
 * A dot with a text for pointers and readers. `slot` as of the parts of a step (chart.h; 8 is
 * grey), or PLOT_ACCENT; `hollow` for an indication (grade D).
 */
#define PLOT_ACCENT (CHART_SLOTS + 1)
void plot_dot(struct text *out, double x, double y, size_t slot, bool hollow, const char *title);
/* An arrow head whose tip, at (x, y), points along (dx, dy): the interval goes on beyond the axis.
 */
void plot_beyond(struct text *out, double x, double y, double dx, double dy);
/* A label, cut to `columns`. */
void plot_label_short(struct text *out, double x, double y, const char *anchor,
                      const char *class_name, const char *string, size_t columns);

/* ---- rows ---- */

struct plot_row {
    const char *label, *value; /* "triad fp32", "28.0 GB/s ±3.1 %" or why there is no value */
    double at, lo, hi;         /* NAN: none */
    bool hollow;
    bool bold; /* the answer, where other rows are what it rests on */
};
struct plot_rows {
    const char *heading, *description;
    const struct plot_row *rows;
    size_t count;
    struct plot_axis axis;   /* covers the rows by itself */
    double reference;        /* an upright line, such as no difference; NAN: none */
    double band_lo, band_hi; /* shaded, such as what counts as equivalent; NAN: none */
};
/* `id` is unique on the page. */
void plot_rows(struct text *out, const char *id, const struct plot_rows *plot);

/* ---- points and lines over two axes ---- */

struct plot_point {
    double x, y;
    double x_lo, x_hi, y_lo, y_hi; /* NAN: none */
    const char *label;             /* beside it where there is room; NULL: none */
    const char *title;             /* in words, for pointers and readers */
    bool hollow;
};
/* A point without intervals, for what is filled in then. */
struct plot_point plot_point_at(double x, double y);
/* For qsort: by x, as a line goes. */
int plot_points_by_x(const void *a, const void *b);

struct plot_curve {
    const char *name; /* in the legend; NULL: none */
    size_t slot;      /* colour: 0..CHART_SLOTS, or PLOT_ACCENT */
    bool line, dots;
    const struct plot_point *points; /* in the order of the line */
    size_t count;
};
struct plot_xy {
    const char *heading, *description;
    struct plot_axis x, y; /* cover the points by themselves */
    const struct plot_curve *curves;
    size_t count;
};
void plot_xy(struct text *out, const char *id, const struct plot_xy *plot);

#endif
