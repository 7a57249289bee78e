/*
 * guide - the topics of `assay help TOPIC` and of the manual pages assay-TOPIC(7): texts of
 * harness/guide, and lists of metrics, findings and verdicts from their tables.
 */
#ifndef ASSAY_CLI_GUIDE_H
#define ASSAY_CLI_GUIDE_H

#include <stdbool.h>

#include "harness/core/status.h"
#include "harness/core/text.h"

/* A line for each topic: its name and its title. */
void guide_append_topics(struct text *out);

/*
 * Appends a topic, as lines for a terminal or as a manual page. NOT_FOUND: no such topic or
 * command; the message names the nearest.
 */
enum status guide_append(const char *topic, bool roff, struct text *ret, struct error *err);

#endif
