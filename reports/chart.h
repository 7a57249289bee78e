/*
 * chart - inline SVG, with colours from the page's style sheet.
 *
 * Own writer rather than gnuplot: a chart takes light, dark and print colours from the page's CSS
 * classes, its marks carry <title> texts, it needs no second program on the machine that renders,
 * and it stays a few KB. Every chart is 340 units wide, so that several fit side by side on a
 * desktop and one fills a phone, without scaling the text.
 *
 * Each has role="img" with a title and a description in words. Text arguments are untrusted and are
 * escaped here. Times are nanoseconds per iteration: a sample divided by its iterations.
 */
#ifndef ASSAY_REPORTS_CHART_H
#define ASSAY_REPORTS_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/text.h"
#include "harness/core/number.h"
#include "reports/reduce.h"

#define CHART_WIDTH 340

/* The samples of one trial, warmup included, in the order they came. */
struct chart_series {
    const int64_t *sample_ns; /* borrowed; NULL when count is 0 */
    size_t count;
    double iterations; /* per sample, >= 1 */
    bool has_window;
    size_t window_from; /* index of the first sample of the window */
    bool has_steady;
    size_t steady_from; /* index at which steady state begins */
    bool failed;
};

struct chart_range {
    double lo, hi; /* ns per iteration */
};

/*
 * One range for all trials of a cell, so that their charts compare by eye. It holds the windows and
 * the body of the warmup; single spikes far outside are left off, and each chart marks and counts
 * what it leaves off. `scratch` has room for the longest series. False when there is no sample.
 */
bool chart_range_of(const struct chart_series *series, size_t count, int64_t *scratch,
                    struct chart_range *ret);

/* The range that holds all but the rarest samples, for a histogram; likewise. */
bool chart_body_of(const struct chart_series *series, size_t count, int64_t *scratch,
                   struct chart_range *ret);

/*
 * Samples in time order, warmup shaded, window and steady state marked. Up to `marks` samples are
 * drawn one by one; more become an envelope of minimum to maximum with the median through it.
 * `id` is unique on the page; `heading` is the visible title. False when out of memory.
 */
bool chart_time_series(struct text *out, const char *id, const char *heading,
                       const struct chart_series *series, const struct chart_range *range,
                       const struct number_unit *unit, size_t marks);

/* A mark on a distribution: a percentile. */
struct chart_mark {
    const char *label; /* "p99" */
    double ns;
};

/* The histogram of the steady samples of a cell, with percentiles and the mean's interval. */
struct chart_distribution {
    const struct reduce_histogram *histogram; /* ns per iteration */
    const struct chart_mark *marks;
    size_t mark_count;
    bool has_mean, has_interval;
    double mean, mean_lo, mean_hi;
};
void chart_distribution(struct text *out, const char *id, const char *heading,
                        const struct chart_distribution *distribution,
                        const struct number_unit *unit);

/* One row of the chart of trials: its mean, interval where there is one, or why there is neither.
 */
struct chart_trial {
    const char *label; /* "trial 3" */
    bool has_value, has_interval;
    double ns, lo, hi;
    const char *reason; /* "timeout"; when there is no value */
};
void chart_trials(struct text *out, const char *id, const char *heading,
                  const struct chart_trial *trials, size_t count, bool has_interval, double lo,
                  double hi, const struct number_unit *unit);

/* A part of a step. `slot` 0..7 picks the colour; 8 is the part that no stage accounts for. */
struct chart_part {
    const char *name;
    double ns;
    size_t slot;
};
#define CHART_SLOTS 8

/* One bar, its parts side by side in proportion; without letters, so it may stretch. */
void chart_parts(struct text *out, const char *id, const char *heading,
                 const struct chart_part *parts, size_t count, const struct number_unit *unit);

/* A strip of a stack: one channel over the trial's time. NAN breaks its line. */
struct chart_strip {
    const char *label;        /* "power_mw" */
    const char *unit;         /* "W", or "" */
    const double *s, *values; /* borrowed, both of `count` */
    size_t count;
};
/*
 * Strips below each other over one axis of seconds; what lies before `begin_s` and after `end_s`
 * (the window) is shaded. Each has a scale of its own, whose ends are labelled. False: out of
 * memory.
 */
bool chart_strips(struct text *out, const char *id, const char *heading,
                  const struct chart_strip *strips, size_t count, double begin_s, double end_s,
                  double last_s);

/* ---- shared by the chart sources ---- */

/* Opens the <svg> with title and description; `description` is markup-free text. */
void chart_open(struct text *out, const char *id, double height, const char *heading,
                const char *description);
void chart_close(struct text *out);
/* One decimal, no trailing ".0". */
void chart_coordinate(struct text *out, double value);
/* `anchor` is "start", "middle" or "end". `class_name` is ours, `string` is not. */
void chart_label(struct text *out, double x, double y, const char *anchor, const char *class_name,
                 const char *string);
void chart_line(struct text *out, double x1, double y1, double x2, double y2,
                const char *class_name);

#endif
