/*
 * comparison_document - comparisons as documents: the answer, what both sides came to, what the
 * difference is attributed to, what it rests on. Commands, pages and dossiers are made of these
 * parts, in every medium (doc.h). What is known of a side comes from the view that has its result;
 * where none has it, or `view` is NULL, the document does without.
 */
#ifndef ASSAY_REPORTS_COMPARISON_DOCUMENT_H
#define ASSAY_REPORTS_COMPARISON_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "reports/comparison_words.h"
#include "reports/view.h"
#include "results/analysis/campaign_comparison.h"
#include "results/store/store.h"

/* ---- comparison_document.c: one, as compared now or as recorded ---- */

/* "{bold b (cc=clang)}": a side by what its arm was given, or what it alone is otherwise. */
void comparison_side_words(struct text *out, const struct view *view,
                           const struct stored_comparison *comparison, bool is_b);
/*
 * The answer, or why there is none, in a sentence of the class `look`; then lines of what limits it
 * and what to do.
 */
void comparison_answer(struct doc *doc, const struct view *view,
                       const struct stored_comparison *comparison, const char *look);
/* What each came to, with its unit; `with_ids`: and which result it is, of what. */
void comparison_levels(struct doc *doc, const struct view *view,
                       const struct stored_comparison *comparison, bool with_ids);
/* Phrases for the block: what a difference is attributed to. */
void comparison_cause(struct doc *doc, const struct stored_comparison *comparison);
/* The same as a block; in a fold the fields that differ. */
void comparison_attribution(struct doc *doc, const struct stored_comparison *comparison);
/* Whether both were measured under the same conditions; in a fold those that are not the same. */
void comparison_conditions(struct doc *doc, const struct stored_comparison *comparison);
/* How sure the answer is; in a fold the tests and what the order of measuring did. */
void comparison_certainty(struct doc *doc, const struct view *view,
                          const struct stored_comparison *comparison);
/* Every field with its class. */
void comparison_fields(struct doc *doc, const struct stored_comparison *comparison);

/* Rows of comparison_factors, of the factors of one more comparison that are not among them. */
void comparison_add_factors(struct text *rows, const json_t *judgement);
/* A table of what a and b differ in. */
void comparison_factors(struct doc *doc, const struct text *rows);

/* ---- comparison_arms.c: the two results, for one comparison of a command ---- */

struct compared_figure {
    const char *metric;
    double value, lo, hi; /* NAN: there is no interval */
    const char *unit, *grade;
};

/* A trial that a comparison has no time of. */
struct left_out_trial {
    int64_t trial;
    const char *why;
};

/* What a result is, and came to by itself. Strings are of the view; NULL: not known. */
struct compared_arm {
    const char *id, *implementation, *workload, *precision, *device_spec, *device, *foreign_worker,
        *verdict;
    int64_t batch, planned, counted; /* -1: not known */
    bool has_result;
    struct compared_figure result;
    struct left_out_trial *left_out; /* heap */
    struct compared_figure *figures; /* heap; of servers, what they are compared by */
    size_t left_out_count, figure_count;
    json_t *capacity; /* of a server, over all of its rates; NULL: they do not tell */
};
extern const struct type compared_arm_type;

/* Both. */
struct comparison_arms {
    struct view view;
    struct compared_arm list[2];
};

/* Reads them from the store. Finish with comparison_arms_finish. */
enum status comparison_arms_load(struct store *store, const struct stored_comparison *comparison,
                                 struct comparison_arms *ret, struct error *err);
void comparison_arms_finish(struct comparison_arms *arms);
/* `object`, which stays as it was recorded, with the member "arms". New object. */
json_t *comparison_arms_json(const struct comparison_arms *arms, const json_t *object);
/* A result as words: "triad fp32 on cpu:0 (AMD EPYC)". */
void comparison_arm_words(struct text *out, const struct view_cell *cell);
/* What it came to: "28 GB/s ±3 %, steady; 4 of 5 trials count, without trial 1 (crashed)". */
void comparison_level_words(struct text *out, const struct view_cell *cell);

/* All of the parts above, of one comparison. `details`: every field, too. */
void comparison_document(struct doc *doc, const struct stored_comparison *comparison,
                         const struct comparison_arms *arms, bool details);

/* ---- comparison_family.c: several ---- */

/* How sure the verdicts of a family are; in a fold what it does to each. */
void comparison_family_certainty(struct doc *doc, const struct campaign_comparison *comparison);

/*
 * "Of 3 comparisons of a and b: b is faster in 2, 1 has no answer.", of the class `look`; `list`
 * has `count` families.
 */
void comparison_tally(struct doc *doc, const struct campaign_comparison *list, size_t count,
                      const char *look);
/* Whether a plan has more arms than a and b, each compared with the first of its block. */
bool comparison_has_several_arms(const struct campaign_comparison *comparison);
/* The answer, a table with a row each, and what the family says; `gated`: what a gate decides. */
void comparison_family_document(struct doc *doc, const struct view *view,
                                const struct campaign_comparison *comparison, bool gated);
/* Before a comparison or family what a gate decided of it, and what keeps it from deciding. */
void comparison_gate(struct doc *doc, const struct campaign_comparison *comparison);
/* Behind it, the rule of the decision. */
void comparison_gate_rule(struct doc *doc, const struct campaign_comparison *comparison);
/*
 * What conditions keep a gate from deciding, and what to do: " under contention by other processes
 * in ab12cd34/1: repeat it ..."; nothing where it decides, or is inconclusive without.
 */
void comparison_append_undecided(struct text *out, const struct campaign_comparison *comparison);
/* "worse: 4.0 times slower [3.9, 4.1]; ...", of one comparison of a gate. */
void comparison_decision_words(struct text *out, const struct stored_comparison *comparison);

#endif
