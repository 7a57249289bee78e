/* compare - two results, two campaigns or the arms of one: do they compare, and how they differ. */
#ifndef ASSAY_COMPARE_H
#define ASSAY_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/store.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_comparison;

struct assay_compare_options {
    size_t size;
    double margin;             /* half-width of equivalence, a share below 1; 0: 0.01 */
    const char *by;            /* "time", "attainment", "capacity"; NULL: what fits the results */
    const char *under;         /* conditions under which a gate decides all the same, as `assay
                                  gate --under` takes them; NULL: none */
    bool allow_foreign_worker; /* a gate judges what another program than assay's worker measured */
};
#define ASSAY_COMPARE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(struct assay_compare_options), 0, NULL, NULL, false                                 \
    }

/* Of b against a. */
struct assay_difference {
    const char *a, *b;         /* ids of the results */
    const char *comparability; /* "comparable", "comparable_except", "exploratory",
                                  "not_comparable" */
    const char *verdict;       /* "faster", "slower", "equivalent", "inconclusive" ...; NULL: there
                                  are no numbers */
    const char *decision;      /* of a gate: "passes", "worse", "not_comparable", "foreign_worker",
                                  "inconclusive" */
    const char *reason;        /* why there are no numbers; "": there are */
    bool paired;               /* the arms of a campaign, pair by pair */
    double ratio, lo, hi;      /* b / a in time, with its interval; NAN: compared by another figure,
                                  or not at all */
    double p_difference, p_equivalence;
    uint64_t needed; /* pairs (trials an arm) that would decide; 0: decided, or not known */
};

/*
 * Compares two results ("9f2c41aa/3"), two campaigns cell by cell, or, with `b` NULL, the arms of a
 * paired campaign; several are judged together, with the chance of one error among all. `options`
 * may be NULL. NOT_FOUND; INVALID: options, or nothing in common. Free with assay_comparison_free,
 * before the store is closed.
 */
enum assay_status assay_compare(struct assay_store *store, const char *a, const char *b,
                                const struct assay_compare_options *options,
                                struct assay_comparison **ret);
void assay_comparison_free(struct assay_comparison *comparison);

/* The i-th; NULL past the last. */
const struct assay_difference *assay_comparison_at(const struct assay_comparison *comparison,
                                                   size_t i);
/* What a gate decides of all together, as in assay_difference. Static. */
const char *assay_comparison_decision(const struct assay_comparison *comparison);
/*
 * As JSON: of two results the body that is recorded (results/FORMAT.md), of several what `assay
 * compare --json` has; `gated`: with what a gate decides. Free with assay_free. NO_MEMORY.
 */
enum assay_status assay_comparison_json(const struct assay_comparison *comparison, bool gated,
                                        char **ret);
/*
 * Records it as evidence in the store that it was made of, which is open for writing; `gated`: as
 * the decision of a gate. INVALID: it is no evidence, or a campaign is not finished.
 */
enum assay_status assay_comparison_record(struct assay_comparison *comparison, bool gated);

#ifdef __cplusplus
}
#endif

#endif
