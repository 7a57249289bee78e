/*
 * size_words - workloads of which the batch is a size, in a sentence each: launches in a row, and
 * copies by their bytes.
 */
#ifndef ASSAY_REPORTS_SIZE_WORDS_H
#define ASSAY_REPORTS_SIZE_WORDS_H

#include "reports/doc.h"
#include "reports/view.h"

/* A rate by size. */
struct size_rate {
    double size, rate;
};

/*
 * The size at which half of the highest of these rates is reached (n-half of Hockney and Jesshope,
 * "Parallel Computers 2", 1988, where the highest rate is that of endless size): between the two
 * sizes, ascending, where it is passed for the first time. Times are taken to lie on a line there,
 * as they do by their law, t0 + n / r. NAN: the smallest size has it already, or there are fewer
 * than two.
 */
double size_of_half_rate(const struct size_rate *rates, size_t count);

/* "launch on opencl:0: a launch takes 4.10 us; 100 in a row 1.20 us each"; nothing where the view
 * has none. */
void size_words(struct doc *doc, const struct view *view);

#endif
