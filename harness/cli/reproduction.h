/* reproduction - what `reproduce` decides of a result and its repetition, and how it is stored. */
#ifndef ASSAY_CLI_REPRODUCTION_H
#define ASSAY_CLI_REPRODUCTION_H

#include <jansson.h>

#include "harness/cli/stored_comparison.h"
#include "results/analysis/repeatability.h"

/* Their numbers are the command's exit statuses. */
#define REPRODUCTION_MAP(X)                                                                        \
    X(HELD, 0, "reproduced")                                                                       \
    X(DIFFERS, 1, "not_reproduced")                                                                \
    X(NOT_HERE, 2, "not_reproducible_here")                                                        \
    X(INCONCLUSIVE, 3, "inconclusive")

enum reproduction_verdict {
#define REPRODUCTION_ENUM(code, value, name) REPRODUCTION_##code = value,
    REPRODUCTION_MAP(REPRODUCTION_ENUM)
#undef REPRODUCTION_ENUM
};

/* Stable name, as it is stored. */
const char *reproduction_verdict_name(enum reproduction_verdict verdict);

struct reproduction {
    enum reproduction_verdict verdict;
    const struct stored_comparison *comparison; /* the caller's */
    double margin;
    struct repeatability repeatability; /* of both; none where there are no numbers */
    bool has_spread;           /* sessions enough, so that `numbers` holds how they differ */
    struct comparison numbers; /* that the verdict is based on, when the comparison has any */
};

/*
 * Decides. `ids`: the sessions that count, as one was stored with them; NULL: those of the
 * database. Errors as repeatability_find and repeatability_again. Finish with reproduction_finish.
 */
enum status reproduction_make(struct store *store, const struct stored_comparison *comparison,
                              double margin, const json_t *ids, struct reproduction *ret,
                              struct error *err);
void reproduction_finish(struct reproduction *reproduction);

/*
 * stored_comparison_json with the member "reproduce": {verdict, margin, rests_on: "trials" |
 * "repeatability", ratio, equivalence_interval, repeatability}, the last three null without
 * numbers; repeatability as repeatability_json. NULL: out of memory.
 */
json_t *reproduction_json(const struct reproduction *reproduction);

/* The same for people, without the comparison itself. */
void reproduction_append(struct text *out, const struct reproduction *reproduction);

#endif
