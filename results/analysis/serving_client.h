/*
 * serving_client - findings from what the client of an endpoint counted beside its requests, which
 * a trial's facts hold (`endpoint.stats`, harness/endpoint/endpoint.h). Facts may be withheld: then
 * there are none of these findings.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_SERVING_CLIENT_H
#define ASSAY_RESULTS_ANALYSIS_SERVING_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "protocols/finding.h"
#include "results/store/store.h"

/* Adds those of the trial that is `number` in its cell and had so many requests. Nothing where
 * there are no such facts. */
enum status serving_client_add(struct store *store, int64_t trial, int64_t number,
                               uint64_t requests, struct finding_list *findings, struct error *err);

/* Whether findings of this code follow from facts of an endpoint's client alone. */
bool serving_client_has(const char *code);

#endif
