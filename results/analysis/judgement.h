/*
 * judgement - what is decided or computed of stored results and stored itself, a kind of it an
 * object: the record in the log, its recomputation by `verify`, its command and the schema of what
 * that prints follow from it.
 *
 * The body that is stored has what was asked (a contract, prices, a margin) beside the answer, so
 * that `make` makes it again of itself. Each is defined in the file of what it decides.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_JUDGEMENT_H
#define ASSAY_RESULTS_ANALYSIS_JUDGEMENT_H

#include <stdbool.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/core/type.h"
#include "results/store/store.h"

struct judgement {
    const char *name; /* of the kind, as it is stored: "accept" */
    /* How many results it is of: 2, which the body names as "a" and "b"; 1, "a"; or 0. */
    unsigned results;
    const struct type *type; /* of the body; NULL: that of a comparison */
    /* Path in the body of what it is about ("$.contract_sha256"): of those that are of the same the
     * newest is shown. NULL: each stands for itself. */
    const char *subject;
    /* The verdict, of a body; NULL: there is none, or it is no text. Without it the verdict is the
     * name of the kind. */
    const char *(*verdict)(const json_t *body);
    /* Other verdicts that may be recorded of a body; NULL: none. */
    bool (*allows)(const json_t *body, const char *verdict);
    /*
     * Gathers what `asked` names and judges it. `asked`: a body, of which only what was asked is
     * read; what only the machine could report at the time (a calibration's clock) is taken from
     * it, too. New object in `ret`, the body. INVALID: what was asked cannot be judged, with the
     * place in a declaration where there is one; CORRUPT: `asked` is not of the form; UNSUPPORTED,
     * NOT_FOUND and others as the functions that it calls.
     */
    enum status (*make)(struct store *store, const json_t *asked, json_t **ret, struct error *err);
};

extern const struct judgement judgement_ab;
extern const struct judgement judgement_accept;
extern const struct judgement judgement_baseline;
extern const struct judgement judgement_calibration;
extern const struct judgement judgement_compare;
extern const struct judgement judgement_cost;
extern const struct judgement judgement_decide;
extern const struct judgement judgement_fleet;
extern const struct judgement judgement_gate;
extern const struct judgement judgement_plan;
extern const struct judgement judgement_reproduce;

/* The kind of this name; NULL: assay makes none. */
const struct judgement *judgement_find(const char *name);

/* Whether `verdict` is one that is recorded of the body. */
bool judgement_says(const struct judgement *judgement, const json_t *body, const char *verdict);

/* The member "verdict" of a body, for `verdict` above. */
const char *judgement_own_verdict(const json_t *body);

/*
 * Stores a body with its verdict, NULL: the one that it has, and before it the estimates that it
 * rests on where older ones were replaced for it (judged.h). As store_record_comparison, of today's
 * COMPARISON_VERSION.
 */
enum status judgement_record(struct store *store, const struct judgement *judgement,
                             const char *verdict, const json_t *body, struct error *err);

#endif
