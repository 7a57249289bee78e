/*
 * number - figures as people read them: a few significant digits, one prefix for a value and its
 * interval, a unit that is always there.
 *
 * The decimal sign is a point whatever the locale.
 */
#ifndef ASSAY_CORE_NUMBER_H
#define ASSAY_CORE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_SIZE 48

/* A power of ten (or of 1000 in time) and how it is written: 1e9 and "GB/s". */
struct number_unit {
    double factor;
    char name[NUMBER_SIZE];
};

/* The unit in which `ns` nanoseconds read best: ns, µs, ms, s, min. */
struct number_unit number_unit_duration(double ns);

/*
 * The unit in which `value` of `base` per second or the like is easiest to read. A `base` that is a
 * symbol ("B/s", "FLOP/s") takes the prefix directly ("GB/s"); a word ("tokens/s") takes it with a
 * blank ("k tokens/s"), and only from 10 000.
 */
struct number_unit number_unit_rate(double value, const char *base);

/* The unit in which an energy in J reads best: pJ to MJ, followed by "/ITEM" (NULL: nothing). */
struct number_unit number_unit_energy(double joules, const char *per);

/* Four significant digits without an exponent: "12.34", "1234", "0.1234"; "0" for 0. */
const char *number_format(double value, char ret[NUMBER_SIZE]);

/* `digits` (1..15) significant digits, no exponent for 1e-6 <= |value| < 1e15, "-" for NaN. */
const char *number_format_digits(double value, int digits, char ret[NUMBER_SIZE]);

/* The same, with zeros for missing digits before the point: "2200" for two. */
const char *number_format_rounded(double value, int digits, char ret[NUMBER_SIZE]);

/*
 * Significant digits that a figure with this interval carries: four, three where a side of the
 * interval is 2 % of the value or wider, two from 20 %.
 */
int number_digits(double value, double lo, double hi);

/*
 * "6.1 to 10.1": both ends in `unit`, without its name, with `digits` each; with more, up to nine
 * in all, where ends that differ would read alike. A narrow interval is never shown as a point.
 */
const char *number_format_ends(double lo, double hi, const struct number_unit *unit, int digits,
                               char ret[NUMBER_SIZE]);

/* Value and unit: "12.34 GB/s". */
const char *number_format_unit(double value, const struct number_unit *unit, char ret[NUMBER_SIZE]);

/* The same with so many significant digits; "28 GB/s" for two. */
const char *number_format_unit_digits(double value, const struct number_unit *unit, int digits,
                                      char ret[NUMBER_SIZE]);

/*
 * Relative half-width of an interval around `value` as "±0.42 %": the larger of the two sides; from
 * 10 % on both sides where they differ, "-35/+54 %", and above 1000 % "over 1000 %". Empty string
 * when the value is not positive.
 */
const char *number_format_half_width(double value, double lo, double hi, char ret[NUMBER_SIZE]);

/* "0.42 %", "12 %": a share of 1 with two significant digits. */
const char *number_format_percent(double share, char ret[NUMBER_SIZE]);

/* Thousands set apart by a thin no-break space: "1 234 567". */
const char *number_format_count(int64_t value, char ret[NUMBER_SIZE]);

/* Bytes with binary prefixes: "48.0 MiB"; a whole number of bytes below 1 KiB: "512 B". */
const char *number_format_bytes(double bytes, char ret[NUMBER_SIZE]);

/* An error or a tolerance, which spans magnitudes: "1.2e-07", "0.003". */
const char *number_format_scientific(double value, char ret[NUMBER_SIZE]);

/*
 * Two numbers for one sentence, with `digits` significant digits, or with as many more as tell them
 * apart. Equal ones are written alike.
 */
void number_format_apart(double a, double b, int digits, char ret_a[NUMBER_SIZE],
                         char ret_b[NUMBER_SIZE]);

#endif
