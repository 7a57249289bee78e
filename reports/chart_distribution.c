/* The distribution of a cell's steady samples, and the comparison of its trials. */
#include "reports/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "reports/escape.h"
#include "reports/scale.h"

enum { LEFT = 8, RIGHT = 332 };

static void append_time_axis(struct text *out, const struct scale *x, double at,
                             const struct number_unit *unit)
{
    double ticks[12];
    char label[NUMBER_SIZE];
    size_t count = scale_ticks(x->lo / unit->factor, x->hi / unit->factor, 4, ticks, 12);
    int decimals = scale_tick_decimals(ticks, count);

    chart_line(out, x->from, at, x->to, at, "axis");
    for (size_t i = 0; i < count; ++i) {
        double place = scale_map(x, ticks[i] * unit->factor);

        chart_line(out, place, at, place, at + 3, "axis");
        snprintf(label, sizeof(label), "%.*f", decimals, ticks[i]);
        chart_label(out, place, at + 13,
                    place > x->to - 14     ? "end"
                    : place < x->from + 14 ? "start"
                                           : "middle",
                    "tick", label);
    }
}

static void append_bars(struct text *out, const struct reduce_histogram *histogram,
                        const struct scale *x, double top, double bottom)
{
    uint64_t most = 1;
    double width = (histogram->hi - histogram->lo) / (double)histogram->bins;

    for (size_t i = 0; i < histogram->bins; ++i)
        most = histogram->counts[i] > most ? histogram->counts[i] : most;
    text_append(out, "<path class=\"bars\" d=\"M");
    chart_coordinate(out, x->from);
    text_append_char(out, ' ');
    chart_coordinate(out, bottom);
    for (size_t i = 0; i < histogram->bins; ++i) {
        double share = (double)histogram->counts[i] / (double)most;

        text_append_char(out, 'V');
        chart_coordinate(out, bottom - share * (bottom - top));
        text_append_char(out, 'H');
        chart_coordinate(out, scale_map(x, histogram->lo + width * (double)(i + 1)));
    }
    text_append_char(out, 'V');
    chart_coordinate(out, bottom);
    text_append(out, "Z\"/>");
}

/* Percentile lines; a label that would touch the one before it goes to the next row. */
#define LABEL_ROWS 4
static void append_marks(struct text *out, const struct chart_distribution *distribution,
                         const struct scale *x, double top, double bottom)
{
    double row_end[LABEL_ROWS] = {-99, -99, -99, -99};

    for (size_t i = 0; i < distribution->mark_count; ++i) {
        const struct chart_mark *mark = &distribution->marks[i];
        double at = scale_map(x, mark->ns), width = 6.2 * (double)strlen(mark->label);
        size_t row = 0;
        bool left = at + width + 6 > RIGHT;

        if (mark->ns < x->lo || mark->ns > x->hi)
            continue;
        while (row + 1 < LABEL_ROWS && (left ? at - width - 4 : at) < row_end[row])
            ++row;
        chart_line(out, at, top + 11 * (double)row - 2, at, bottom, "mark");
        chart_label(out, left ? at - 3 : at + 3, top + 7 + 11 * (double)row, left ? "end" : "start",
                    "zone", mark->label);
        row_end[row] = left ? at + 2 : at + width + 6;
    }
}

static void append_mean(struct text *out, const struct chart_distribution *distribution,
                        const struct scale *x, double y)
{
    double at = scale_map(x, distribution->mean);

    if (distribution->has_interval)
        chart_line(out, scale_map(x, distribution->mean_lo), y, scale_map(x, distribution->mean_hi),
                   y, "whisker");
    text_append(out, "<circle class=\"mean\" r=\"2.6\" cx=\"");
    chart_coordinate(out, at);
    text_append(out, "\" cy=\"");
    chart_coordinate(out, y);
    text_append(out, "\"><title>mean</title></circle>");
}

void chart_distribution(struct text *out, const char *id, const char *heading,
                        const struct chart_distribution *distribution,
                        const struct number_unit *unit)
{
    enum { HEIGHT_ = 158, TOP_ = 24, BOTTOM_ = 128, MEAN_ = 134 };
    const struct reduce_histogram *histogram = distribution->histogram;
    struct scale x = {histogram->lo, histogram->hi, LEFT, RIGHT};
    CLEANUP(text_finish) struct text description = TEXT_INIT, note = TEXT_INIT;
    char a[NUMBER_SIZE], b[NUMBER_SIZE];

    text_append_format(&description, "Histogram of %llu steady samples between %s and %s.",
                       (unsigned long long)histogram->total,
                       number_format_unit(histogram->least, unit, a),
                       number_format_unit(histogram->greatest, unit, b));
    for (size_t i = 0; i < distribution->mark_count; ++i)
        text_append_format(&description, " %s %s.", distribution->marks[i].label,
                           number_format_unit(distribution->marks[i].ns, unit, a));
    chart_open(out, id, HEIGHT_, heading, description.data);
    append_bars(out, histogram, &x, TOP_ + 18, BOTTOM_);
    append_marks(out, distribution, &x, TOP_, BOTTOM_);
    append_time_axis(out, &x, BOTTOM_ + 14, unit);
    if (distribution->has_mean)
        append_mean(out, distribution, &x, MEAN_);
    chart_label(out, 0, 9, "start", "head", heading);
    text_append_format(&note, "%s / iteration", unit->name);
    if (histogram->above || histogram->below)
        text_append_format(&note, " \u00b7 %llu outside",
                           (unsigned long long)(histogram->above + histogram->below));
    chart_label(out, RIGHT, 9, "end", "note", note.data);
    chart_close(out);
    out->failed = out->failed || description.failed || note.failed;
}

/* The range of all values and intervals, a little widened. */
static struct scale trials_scale(const struct chart_trial *trials, size_t count, bool has_interval,
                                 double lo, double hi)
{
    struct scale x = {INFINITY, -INFINITY, 62, RIGHT};
    double extent;

    for (size_t i = 0; i < count; ++i) {
        const struct chart_trial *trial = &trials[i];

        if (!trial->has_value)
            continue;
        x.lo = fmin(x.lo, trial->has_interval ? trial->lo : trial->ns);
        x.hi = fmax(x.hi, trial->has_interval ? trial->hi : trial->ns);
    }
    if (has_interval) {
        x.lo = fmin(x.lo, lo);
        x.hi = fmax(x.hi, hi);
    }
    if (!(x.hi >= x.lo)) {
        x.lo = 0;
        x.hi = 1;
    }
    extent = fmax(x.hi - x.lo, x.hi * 0.002);
    x.lo = fmax(0, x.lo - extent * 0.08);
    x.hi += extent * 0.08;
    return x;
}

void chart_trials(struct text *out, const char *id, const char *heading,
                  const struct chart_trial *trials, size_t count, bool has_interval, double lo,
                  double hi, const struct number_unit *unit)
{
    enum { TOP_ = 22, ROW_ = 15 };
    struct scale x = trials_scale(trials, count, has_interval, lo, hi);
    double bottom = TOP_ + ROW_ * (double)(count < 3 ? 3 : count) + 2;
    CLEANUP(text_finish) struct text description = TEXT_INIT;
    char value[NUMBER_SIZE];

    text_append(&description, "Mean time per iteration of each trial:");
    for (size_t i = 0; i < count; ++i)
        text_append_format(&description, "%s %s %s", i ? "," : "", trials[i].label,
                           trials[i].has_value ? number_format_unit(trials[i].ns, unit, value)
                           : trials[i].reason  ? trials[i].reason
                                               : "no value");
    chart_open(out, id, bottom + 18, heading, description.data);
    if (has_interval) {
        double from = scale_map(&x, lo), to = scale_map(&x, hi);

        text_append(out, "<rect class=\"ci\" y=\"18\" x=\"");
        chart_coordinate(out, from);
        text_append(out, "\" width=\"");
        chart_coordinate(out, fmax(to - from, 1));
        text_append(out, "\" height=\"");
        chart_coordinate(out, bottom - 18);
        text_append(out, "\"><title>interval of the cell's mean</title></rect>");
    }
    for (size_t i = 0; i < count; ++i) {
        const struct chart_trial *trial = &trials[i];
        double y = TOP_ + ROW_ * ((double)i + 0.5);

        chart_label(out, 0, y + 3.2, "start", "tick", trial->label);
        if (!trial->has_value) {
            chart_label(out, x.from, y + 3.2, "start", "zone bad",
                        trial->reason ? trial->reason : "no value");
            continue;
        }
        chart_line(out, x.from, y, x.to, y, "grid");
        if (trial->has_interval)
            chart_line(out, scale_map(&x, trial->lo), y, scale_map(&x, trial->hi), y, "whisker");
        text_append(out, "<circle class=\"mean\" r=\"2.8\" cx=\"");
        chart_coordinate(out, scale_map(&x, trial->ns));
        text_append(out, "\" cy=\"");
        chart_coordinate(out, y);
        text_append(out, "\"><title>");
        escape_html(out, trial->label);
        text_append_format(out, ": %s</title></circle>",
                           number_format_unit(trial->ns, unit, value));
    }
    append_time_axis(out, &x, bottom, unit);
    chart_label(out, 0, 9, "start", "head", heading);
    snprintf(value, sizeof(value), "%.20s / iteration", unit->name);
    chart_label(out, RIGHT, 9, "end", "note", value);
    chart_close(out);
    out->failed = out->failed || description.failed;
}
