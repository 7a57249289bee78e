/*
 * terminal - results as text, for terminals of 60 columns and more.
 *
 * UTF-8 with box-drawing rules; widths are those of wcwidth, so set LC_CTYPE from the environment
 * first. Names from devices and files are made printable, cut to fit, and never carry control
 * characters or escape sequences to the terminal. No line is longer than `columns`, except an
 * identifier that must be copied whole.
 */
#ifndef ASSAY_REPORTS_TERMINAL_H
#define ASSAY_REPORTS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/core/text.h"
#include "reports/view.h"

/* Columns of the terminal at `fd`, $COLUMNS, or 80. */
size_t report_terminal_columns(int fd);

/*
 * Table of results, grouped by device: workload, precision, batch, result with the larger side of
 * its interval, steady state, trials completed of those planned; from 104 columns also the time
 * per iteration. A narrow table of one campaign shows each id's second part alone (`assay show
 * CAMPAIGN/NUMBER`). Remarks follow as numbered notes. Summary depth is enough.
 */
void report_terminal_table(struct text *out, const struct view *view, size_t columns, bool colour);

/*
 * One result in at most twelve lines at 80 columns, unless names are very long: system,
 * configuration, result with interval and verdict, and findings as far as there is room.
 */
void report_terminal_brief(struct text *out, const struct view_cell *cell, size_t columns,
                           bool colour);

#endif
