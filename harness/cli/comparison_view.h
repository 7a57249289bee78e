/*
 * comparison_view - stored comparisons as ab, compare, gate and reproduce show them: verdict,
 * numbers and attribution of one, the table of several, and what --exit-status makes of them.
 */
#ifndef ASSAY_CLI_COMPARISON_VIEW_H
#define ASSAY_CLI_COMPARISON_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/cli/command.h"
#include "reports/doc.h"
#include "reports/view.h"
#include "results/analysis/campaign_comparison.h"
#include "results/analysis/stored_comparison.h"
#include "results/store/store.h"

/* The option --exit-status, its text for help, and its row of a table. */
enum { KEY_EXIT_STATUS = 0x300 };
#define EXIT_STATUS_OPTION                                                                         \
    {                                                                                              \
        "exit-status", KEY_EXIT_STATUS, NULL, 0, "report the verdict as the exit status", 0        \
    }
#define EXIT_STATUS_TEXT                                                                           \
    "The exit status is 0 whatever the verdict. With --exit-status it is 0 where b is equivalent " \
    "or faster (of servers not worse), 1 where b is slower (worse), 2 where the two do not "       \
    "compare (or the arguments are wrong) and 3 where the comparison is inconclusive or has no "   \
    "numbers; 4 and above: the command "                                                           \
    "itself failed. `assay gate` also allows a slowdown within its margin."

/* Reads --by into the options, NULL where it is not given. INVALID for no such figure. */
enum status comparison_by(const char *word, struct compare_options *options, struct error *err);
#define BY_OPTION(key)                                                                             \
    {                                                                                              \
        "by", (key), "FIGURE", 0,                                                                  \
            "time (default), or of servers attainment (their default), the share of requests "     \
            "within the limits at each rate, or capacity, the highest rate served within them",    \
            0                                                                                      \
    }

/* Reports why there is no comparison. An exit status: of wrong arguments where it is INVALID. */
int comparison_fail(const struct error *err);

/* ---- one comparison ---- */

/* What the two results are, and the result of each by itself. */
struct comparison_arms {
    char *words[2]; /* phrases (doc.h): "triad fp32 on cpu:0 (AMD EPYC): 28 GB/s ±3 %"; heap */
    /*
     * Array of two: {"id", "workload", "precision", "batch", "arm", "device_spec", "device",
     * "verdict", "result": {"value", "lo", "hi", "unit"} or null, "planned", "counted", "left_out":
     * [{"trial", "why"}], "figures": [..], "capacity"}. `left_out`: trials that a comparison has no
     * time of. `figures`: of a server, each as "result"; `capacity`: over all of its rates, or
     * null.
     */
    json_t *json;
    char *figures; /* what two servers compare by, beside their verdict: rows of phrases, each of
                      name, a and b and ended by \n; heap. NULL: they are none */
};

/* Reads them from the store. Finish with comparison_arms_finish. */
enum status comparison_arms_load(struct store *store, const struct stored_comparison *comparison,
                                 struct comparison_arms *ret, struct error *err);
void comparison_arms_finish(struct comparison_arms *arms);

/* What is printed of `object`, which stays as it was recorded: with "arms". New object. */
json_t *comparison_view_json(const struct comparison_arms *arms, const json_t *object);

/* `explain` lists every field with its class. */
void comparison_view_append(struct doc *doc, const struct stored_comparison *comparison,
                            const struct comparison_arms *arms, bool explain);
/* The figures of both, of servers. */
void comparison_view_append_figures(struct doc *doc, const struct comparison_arms *arms);

/* ---- several ---- */

/* A table, a row each, and what the family says; `gated` with what a gate decides of each. */
void campaign_comparison_append(struct doc *doc, const struct campaign_comparison *comparison,
                                bool gated);

/*
 * As the options say: JSON; or that table, with --explain each comparison in full after it, or a
 * single one in full. An exit status.
 */
int campaign_comparison_show(const struct command_line *line, struct store *store,
                             const struct campaign_comparison *comparison, bool gated);

/* 0: every cell equivalent or faster; 1: one slower; 2: one that does not compare; 3: else. */
int campaign_comparison_exit_status(const struct campaign_comparison *comparison);

#endif
