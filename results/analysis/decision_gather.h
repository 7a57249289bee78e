/* decision_gather - what a decision rests on: results, prices, figures, limits; for decision.c. */
#ifndef ASSAY_RESULTS_ANALYSIS_DECISION_GATHER_H
#define ASSAY_RESULTS_ANALYSIS_DECISION_GATHER_H

#include <jansson.h>

#include "harness/core/status.h"
#include "protocols/decision.h"
#include "results/store/store.h"

/* One option while its figures are gathered. */
struct gathered_option {
    json_t *record, *fields, *price; /* `price`: its entry in what judgement_cost makes; or NULL */
    const json_t *metrics;
    const char *unfit;
    char error_of[160]; /* output and measure of the check that its error is of */
};

struct gathered {
    struct store *store;
    const json_t *decision, *prices, *peaks;
    json_t *assumptions; /* for judgement_cost; NULL without prices */
    json_t *used_prices, *used_peaks, *notes;
    json_t
        *contracts; /* of each requirement: the verdicts on the options, or null: it is a limit */
    const char *names[DECISION_FIGURES_MAX]; /* of figures */
    char units[DECISION_FIGURES_MAX][METRIC_UNIT_SIZE + 16];
    struct gathered_option options[DECISION_OPTIONS_MAX];
    struct decision_problem *problem; /* heap */
};

/*
 * Fills `g`, of which store, decision, prices and peaks are set and all else is zero. Errors as of
 * judgement_decide; finish in any case.
 */
enum status decision_gather(struct gathered *g, struct error *err);
void decision_gather_finish(struct gathered *g);

/* Entry `index` of a list of the declaration. */
const json_t *decision_declared(const struct gathered *g, const char *list, size_t index);
/* Adds a sheet's row once, in the sheet's order: what is made of them again adds up in that order.
 */
void decision_use(json_t *list, json_t *row);

#endif
