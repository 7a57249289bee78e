/* comparison_view - a comparison's verdict, numbers and attribution, as ab, compare and gate say
 * it. */
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
    const char *a, *b;                  /* result ids */
    const struct comparison_arms *arms; /* what they are; NULL: ids alone */
    const json_t *judgement;
    const struct comparison *numbers;
    const char *why_no_numbers; /* when `numbers` is NULL */
    const char *note;           /* one more sentence, or NULL */
};

/* New object: a, b, comparability, verdict, ratio ..., attribution, separating runs. */
json_t *comparison_view_json(const struct comparison_view *view);

/* What is printed of `object`, which stays as it was recorded: with "arms". New object. */
json_t *comparison_view_shown(const struct comparison_view *view, const json_t *object);

/* The option --exit-status, its text for help, and its row of a table. */
enum { KEY_EXIT_STATUS = 0x300 };
#define EXIT_STATUS_OPTION                                                                         \
    {                                                                                              \
        "exit-status", KEY_EXIT_STATUS, NULL, 0, "report the verdict as the exit status", 0        \
    }
#define EXIT_STATUS_TEXT                                                                           \
    "The exit status is 0 whatever the verdict. With --exit-status it is 0 where b is equivalent " \
    "or faster, 1 where b is slower, 2 where the two do not compare (or the arguments are wrong) " \
    "and 3 where the comparison is inconclusive or has no numbers; 4 and above: the command "      \
    "itself failed. `assay gate` also allows a slowdown within its margin."

/* The exit status that --exit-status asks for. `numbers` NULL: there are none. */
int comparison_exit_status(const json_t *judgement, const struct comparison *numbers);

/* "p 0.012 (alone slower, p 0.004)" of one that was judged in a family. */
void comparison_view_append_p(struct text *out, const struct comparison *numbers);

/* For the terminal; `explain` lists every field with its class. */
void comparison_view_append(struct text *out, const struct comparison_view *view, bool explain);

#endif
