/*
 * guide - the topics of `assay help TOPIC` and of the manual pages assay-TOPIC(7): texts of
 * harness/guide, and lists of metrics, findings and verdicts from their tables.
 */
#ifndef ASSAY_CLI_GUIDE_H
#define ASSAY_CLI_GUIDE_H

#include <stdbool.h>

#include "harness/core/status.h"
#include "harness/core/text.h"

/* clang-format off */
/* In the order in which they are listed: X(name, title, what appends it); NULL: harness/guide/NAME.md. */
#define GUIDE_TOPIC_MAP(X)                                                                         \
    X("tutorial", NULL, NULL)                                                                      \
    X("drivers", NULL, NULL)                                                                       \
    X("buy", NULL, NULL)                                                                           \
    X("audit", NULL, NULL)                                                                         \
    X("server", NULL, NULL)                                                                        \
    X("program", NULL, NULL)                                                                       \
    X("troubleshooting", NULL, NULL)                                                               \
    X("glossary", NULL, NULL)                                                                      \
    X("grades", NULL, NULL)                                                                        \
    X("verdicts", "Verdicts of a cell", append_verdicts)                                           \
    X("metrics", "Metrics, and what each is", append_metrics)                                      \
    X("findings", "Findings: what a reader must know with a number", append_findings)
/* clang-format on */

/* A line for each topic: its name and its title. */
void guide_append_topics(struct text *out);

/*
 * Appends a topic, as lines for a terminal or as a manual page. NOT_FOUND: no such topic or
 * command; the message names the nearest.
 */
enum status guide_append(const char *topic, bool roff, struct text *ret, struct error *err);

#endif
