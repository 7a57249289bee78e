/* gate_report - what a gate decided, for where changes are reviewed: Markdown, and JUnit XML. */
#ifndef ASSAY_CLI_GATE_REPORT_H
#define ASSAY_CLI_GATE_REPORT_H

#include "harness/core/text.h"
#include "results/analysis/campaign_comparison.h"

/* The document of the terminal (campaign_comparison_append), as GitHub's Markdown. */
void gate_report_markdown(struct text *out, const struct campaign_comparison *comparison);

/*
 * JUnit XML, a test case a comparison: worse is a failure; what neither passes nor is worse, an
 * error.
 */
void gate_report_junit(struct text *out, const struct campaign_comparison *comparison);

#endif
