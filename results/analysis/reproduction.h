/* reproduction - what `reproduce` decides of a result and its repetition, and how it is stored. */
#ifndef ASSAY_RESULTS_ANALYSIS_REPRODUCTION_H
#define ASSAY_RESULTS_ANALYSIS_REPRODUCTION_H

#include <jansson.h>

#include "results/analysis/repeatability.h"
#include "results/analysis/stored_comparison.h"

/* X(constant, name) */
#define REPRODUCTION_MAP(X)                                                                        \
    X(HELD, "reproduced")                                                                          \
    X(DIFFERS, "not_reproduced")                                                                   \
    X(NOT_HERE, "not_reproducible_here")                                                           \
    X(INCONCLUSIVE, "inconclusive")

enum reproduction_verdict {
#define REPRODUCTION_ENUM(code, name) REPRODUCTION_##code,
    REPRODUCTION_MAP(REPRODUCTION_ENUM)
#undef REPRODUCTION_ENUM
};

/* Stable name, as it is stored. */
const char *reproduction_verdict_name(enum reproduction_verdict verdict);

/* What the spread of the verdict's interval was taken from. */
enum reproduction_ground {
    REPRODUCTION_ON_TRIALS,
    REPRODUCTION_ON_REPEATABILITY /* sessions enough, so that `numbers` holds how they differ */
};

struct reproduction {
    enum reproduction_verdict verdict;
    const struct stored_comparison *comparison; /* the caller's */
    double margin;
    struct repeatability repeatability; /* of both; none where there are no numbers */
    enum reproduction_ground rests_on;
    struct comparison numbers; /* that the verdict is based on, when the comparison has any */
};

/*
 * Decides. `ids`: the sessions that count, as one was stored with them; NULL: those of the
 * database. Errors as repeatability_find and repeatability_from_record. Finish with
 * reproduction_finish.
 */
enum status reproduction_make(struct store *store, const struct stored_comparison *comparison,
                              double margin, const json_t *ids, struct reproduction *ret,
                              struct error *err);

/* Frees what it holds; the comparison stays the caller's. NULL is allowed. */
void reproduction_finish(struct reproduction *reproduction);

/*
 * stored_comparison_json with the member "reproduce": {verdict, margin, rests_on: "trials" |
 * "repeatability", ratio, equivalence_interval, repeatability}, the last three null without
 * numbers; repeatability as repeatability_json. NULL: out of memory.
 */
json_t *reproduction_json(const struct reproduction *reproduction);
/* Its member "reproduce". */
extern const struct type reproduction_type;

#endif
