/* comparison_view - a comparison's verdict, numbers and attribution, as ab, compare and gate say it. */
#ifndef ASSAY_CLI_COMPARISON_VIEW_H
#define ASSAY_CLI_COMPARISON_VIEW_H

#include <stdbool.h>

#include <jansson.h>

#include "harness/cli/comparison_arms.h"
#include "harness/core/text.h"
#include "protocols/compare.h"

/*
 * Everything of a comparison. `judgement`: comparability_judge's object. `numbers` may be NULL when
 * there are none. `notes`: strings for people, may be NULL.
 */
struct comparison_view {
    const char *a, *b;             /* result ids */
    const struct comparison_arms *arms; /* what they are; NULL: ids alone */
    const json_t *judgement;
    const struct comparison *numbers;
    const char *why_no_numbers;    /* when `numbers` is NULL */
    const char *note;              /* one more sentence, or NULL */
};

/* New object: a, b, comparability, verdict, ratio ..., attribution, separating runs. */
json_t *comparison_view_json(const struct comparison_view *view);

/* What is printed of `object`, which stays as it was recorded: with "arms". New object. */
json_t *comparison_view_shown(const struct comparison_view *view, const json_t *object);

/* For the terminal; `explain` lists every field with its class. */
void comparison_view_append(struct text *out, const struct comparison_view *view, bool explain);

#endif
