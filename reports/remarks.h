/*
 * remarks - what a reader must know in addition to the numbers of a table or of a cell.
 *
 * Findings of the estimates, trials that failed and why, devices that are simulated. Below a table
 * findings of one kind are one remark for all cells that have them, with the range of their
 * figures; those of severity "info" are left to the cell's own page. Remarks are numbered in the
 * order of first use.
 */
#ifndef ASSAY_REPORTS_REMARKS_H
#define ASSAY_REPORTS_REMARKS_H

#include <stdbool.h>
#include <stddef.h>

#include "reports/view.h"

/* What of a remark's findings is of one cell. */
struct remark_part {
    const char *result; /* the cell's */
    size_t count;
};

struct remark {
    char *text;                      /* heap, untrusted; set by remarks_render */
    const struct finding **findings; /* heap; of all its cells */
    size_t finding_count;
    struct remark_part *parts; /* heap; of the findings, in their order */
    size_t part_count;
    size_t *cells; /* heap: indices of the cells it is about */
    size_t cell_count;
};

struct remarks {
    struct remark *items;
    size_t count;
    struct finding_list *made; /* heap; of cells, besides those of their estimates */
    size_t made_count;
    bool failed; /* out of memory */
};

void remarks_init(struct remarks *remarks);
void remarks_finish(struct remarks *remarks);

/* Adds the remarks on a cell's row in a table; `index` is the caller's name for it. */
void remarks_add_cell(struct remarks *remarks, size_t index, const struct view_cell *cell);
/* After all cells were added, and before they are freed: makes the texts. */
void remarks_render(struct remarks *remarks);

/* Is given one remark, which is the caller's; the least severe is FINDING_INFO. */
typedef void remarks_say_fn(void *context, enum finding_severity severity, const char *text);

/* All of a cell's own, as a page about it says them. */
void remarks_of_cell(const struct view_cell *cell, remarks_say_fn *say, void *context);
bool remarks_has_any(const struct view_cell *cell);

/* Of these, what failed when sizes and algorithms were tuned. */
void remarks_of_choice(const struct view_cell *cell, remarks_say_fn *say, void *context);

/* Numbers (from 1) of the remarks about a cell, ascending; returns how many, at most `capacity`. */
size_t remarks_of(const struct remarks *remarks, size_t index, size_t *ret, size_t capacity);

#endif
