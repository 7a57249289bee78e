/*
 * remarks - what a reader must know beside a table of results, each said once.
 *
 * Warnings of the estimate, trials that failed and why, devices that are simulated: equal remarks
 * of several cells become one, and so do warnings that differ only in their figures. They are
 * numbered in the order of first use.
 */
#ifndef ASSAY_REPORTS_REMARKS_H
#define ASSAY_REPORTS_REMARKS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/core/text.h"
#include "reports/view.h"

struct remark {
    char *text;    /* heap, untrusted */
    char *warning; /* heap: an estimate's warning as it was first said; NULL for other remarks */
    bool similar;  /* other cells' warnings differ from it in their figures */
    size_t *cells; /* heap: indices of the cells it is about */
    size_t cell_count;
};

struct remarks {
    struct remark *items;
    size_t count;
    bool failed; /* out of memory */
};

void remarks_init(struct remarks *remarks);
void remarks_finish(struct remarks *remarks);

/*
 * Adds what is to be said of a cell beside its row in a table (so nothing of percentiles); `index`
 * is the caller's name for it.
 */
void remarks_add_cell(struct remarks *remarks, size_t index, const struct view_cell *cell);
void remarks_add(struct remarks *remarks, size_t index, const char *text);

/* Is told one remark, which is the caller's. */
typedef void remarks_say_fn(void *context, const char *text);

/* All of a cell's own, as a page about it says them: other's words, choices, the estimate's. */
void remarks_of_cell(const struct view_cell *cell, remarks_say_fn *say, void *context);
bool remarks_has_any(const struct view_cell *cell);

/*
 * Calls `say` with one text for each kind of warning of a cell: warnings that differ only in their
 * figures ("trial 0: drifts by 11 % ..." and "trial 1: drifts by 10.9 % ...") are of one kind, told
 * by the first of them and the number of the others.
 */
void remarks_of_estimate(const struct view_estimate *estimate, remarks_say_fn *say, void *context);

/*
 * The same of what failed when sizes and algorithms were chosen by measurement: candidates that
 * were left out, or the whole choice, so that each trial chose for itself.
 */
void remarks_of_choice(const struct view_cell *cell, remarks_say_fn *say, void *context);

/* True when two remarks differ in nothing but their figures. */
bool remarks_alike(const char *a, const char *b);

/* Numbers (from 1) of the remarks about a cell, ascending; returns how many, at most `capacity`. */
size_t remarks_of(const struct remarks *remarks, size_t index, size_t *ret, size_t capacity);

#endif
