/* gate_report - what a gate decided, for where changes are reviewed: Markdown, and JUnit XML. */
#ifndef ASSAY_CLI_GATE_REPORT_H
#define ASSAY_CLI_GATE_REPORT_H

#include "harness/core/text.h"
#include "results/analysis/gate.h"

/* One comparison that was gated. */
struct gate_row {
    const char *name; /* "triad fp32 batch 1"; untrusted */
    const struct stored_comparison *comparison;
    enum gate_decision decision;
};

struct gate_report {
    const struct gate_row *rows;
    size_t count;
    enum gate_decision decision; /* of all of them */
    const char *a, *b;           /* ids of baseline and candidate; b NULL: the arms of a */
    double margin;
    enum compare_figure figure; /* that was compared */
};

/*
 * A heading, a table with a row a comparison, and how to read it, as GitHub's Markdown; names
 * cannot break out of their cell, nor mention anybody.
 */
void gate_report_markdown(struct text *out, const struct gate_report *report);

/*
 * JUnit XML, a test case a comparison: worse is a failure; what neither passes nor is worse, an
 * error.
 */
void gate_report_junit(struct text *out, const struct gate_report *report);

#endif
