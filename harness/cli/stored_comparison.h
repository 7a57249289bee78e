/* stored_comparison - two stored results judged and compared, for `compare`, `gate` and
 * `reproduce`. */
#ifndef ASSAY_CLI_STORED_COMPARISON_H
#define ASSAY_CLI_STORED_COMPARISON_H

#include <stdbool.h>

#include <jansson.h>

#include "harness/cli/comparison_arms.h"
#include "harness/core/status.h"
#include "harness/core/text.h"
#include "protocols/compare.h"
#include "results/store/store.h"

struct stored_comparison {
    char a[80], b[80]; /* result ids */
    int64_t cells[2];
    json_t *judgement;
    bool paired;                /* the two arms of a campaign, pair by pair */
    bool allows_foreign_worker; /* of a gate: it may pass on what such a worker measured */
    bool has_numbers;
    struct comparison numbers;
    struct error why;            /* why there are no numbers */
    char *note;                  /* pairs that do not count and why, heap; NULL: all count */
    json_t *family_of;           /* what it was judged together with: {a, b, size, margin} of two
                                    campaigns, {campaign, size, margin} of arms; NULL: nothing */
    struct comparison_arms arms; /* what the two are, once asked for; else without `json` */
};

/*
 * `a` and `b` name results; `b` NULL: `a` is a paired campaign of one comparison. NOT_FOUND for an
 * unknown id. Finish with stored_comparison_finish.
 */
enum status stored_comparison_make(struct store *store, const char *a, const char *b,
                                   const struct compare_options *options,
                                   struct stored_comparison *ret, struct error *err);

/* Comparison `index` (from 0) of a paired campaign, by itself. Otherwise as above. */
enum status stored_comparison_of_pairs(struct store *store, int64_t campaign, size_t index,
                                       const struct compare_options *options,
                                       struct stored_comparison *ret, struct error *err);
void stored_comparison_finish(struct stored_comparison *comparison);

/*
 * Reads what the two results are and their values, for commands that show the comparison to people.
 */
enum status stored_comparison_load_arms(struct store *store, struct stored_comparison *comparison,
                                        struct error *err);

/* The comparison as JSON (comparison_view_json), or for people, appended to `out`. */
json_t *stored_comparison_json(const struct stored_comparison *comparison);
void stored_comparison_append(struct text *out, const struct stored_comparison *comparison,
                              bool explain);

/*
 * Stores `object`, which was made of the comparison, as `kind` with the verdict NULL: the numbers',
 * or why there are none. As store_record_comparison.
 */
enum status stored_comparison_record(struct store *store, const char *kind, const char *verdict,
                                     const struct stored_comparison *comparison,
                                     const json_t *object, struct error *err);

/*
 * Prints `object` (its reference is taken) and what the two results are as JSON, or all as text. An
 * exit status.
 */
int stored_comparison_show(const struct stored_comparison *comparison, json_t *object, bool json,
                           bool explain);

/* Reads --margin; INVALID says what to write. */
enum status stored_comparison_margin(const char *word, struct compare_options *ret,
                                     struct error *err);

#endif
