/* html_serving - pictures of servers under load. */
#ifndef ASSAY_REPORTS_HTML_SERVING_H
#define ASSAY_REPORTS_HTML_SERVING_H

#include "reports/html_internal.h"

/*
 * Of one result: the shares of requests above each latency, over all its trials, and the first
 * trial's backlog and longest latencies over time. Nothing where it is of no server.
 */
enum status html_serving_cell(struct text *out, struct store *store, const struct view_cell *cell,
                              struct error *err);

/*
 * Of each server of several rates: requests within the limits over the rate, with the capacity, and
 * latency over the rate, with its limit and the knee.
 */
void html_serving_pictures(struct text *out, const struct view *view);

#endif
