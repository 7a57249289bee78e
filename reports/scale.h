/* scale - from values to coordinates, and the ticks of an axis. */
#ifndef ASSAY_REPORTS_SCALE_H
#define ASSAY_REPORTS_SCALE_H

#include <stdbool.h>
#include <stddef.h>

/* Values lo..hi lie at coordinates from..to (to < from for an upward axis). */
struct scale {
    double lo, hi;
    double from, to;
    bool logarithmic; /* lo > 0 then; a value of 0 or below lies at `from` */
};

/*
 * Coordinate of `value`, clamped to the range so that nothing is drawn outside a chart. A domain
 * without extent maps to the middle; NaN to `from`.
 */
double scale_map(const struct scale *scale, double value);

/*
 * Round values (1, 2, 5 times a power of ten) inside [lo, hi], about `wanted` of them, ascending,
 * at most `capacity`. Returns how many; 0 when the domain is empty or not finite.
 */
size_t scale_ticks(double lo, double hi, size_t wanted, double *ret, size_t capacity);

/*
 * The same for a logarithmic axis: powers of ten, with 2 and 5 times them where those are few;
 * within less than a decade as scale_ticks.
 */
size_t scale_ticks_logarithmic(double lo, double hi, double *ret, size_t capacity);

/* Decimals that distinguish neighbouring ticks (0 for steps of 1 and more). */
int scale_tick_decimals(const double *ticks, size_t count);

#endif
