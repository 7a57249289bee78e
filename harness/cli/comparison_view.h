/*
 * comparison_view - stored comparisons as ab, compare, gate and reproduce show them: verdict,
 * numbers and attribution of one, the table of several, and what --exit-status makes of them.
 */
#ifndef ASSAY_CLI_COMPARISON_VIEW_H
#define ASSAY_CLI_COMPARISON_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/text.h"
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

/* ---- one comparison ---- */

/* What the two results are, and the result of each by itself. */
struct comparison_arms {
    char *words[2]; /* "triad fp32 on cpu:0 (AMD EPYC): 28 GB/s ±3 %", printable; heap */
    /*
     * Array of two: {"id", "workload", "precision", "batch", "arm", "device_spec", "device",
     * "verdict", "result": {"value", "lo", "hi", "unit"} or null, "planned", "counted", "left_out":
     * [{"trial", "why"}], "figures": [..], "capacity"}. `left_out`: trials that a comparison has no
     * time of. `figures`: of a server, each as "result"; `capacity`: over all of its rates, or
     * null.
     */
    json_t *json;
    char *figures; /* table of what two servers compare by, beside their verdict; heap. NULL: they
                      are none */
};

/* Reads them from the store. Finish with comparison_arms_finish. */
enum status comparison_arms_load(struct store *store, const struct stored_comparison *comparison,
                                 struct comparison_arms *ret, struct error *err);
void comparison_arms_finish(struct comparison_arms *arms);

/* What is printed of `object`, which stays as it was recorded: with "arms". New object. */
json_t *comparison_view_json(const struct comparison_arms *arms, const json_t *object);

/* For the terminal; `explain` lists every field with its class. */
void comparison_view_append(struct text *out, const struct stored_comparison *comparison,
                            const struct comparison_arms *arms, bool explain);

/* Prints `object` (its reference is taken) with the arms as JSON, or all as text. An exit status.
 */
int comparison_view_show(const struct stored_comparison *comparison,
                         const struct comparison_arms *arms, json_t *object, bool json,
                         bool explain);

/* "p 0.012 (alone slower, p 0.004)" of one that was judged in a family. */
void comparison_view_append_p(struct text *out, const struct comparison *numbers);

/*
 * "attainment 98.2 % -> 97.1 %, b - a -1.1 points, 95 % interval [-1.9, -0.3]", of a server's
 * figures.
 */
void comparison_view_append_change(struct text *out, const struct stored_comparison *comparison);
/* What it came to, that line, and the figures of both. */
void comparison_view_append_served(struct text *out, const struct stored_comparison *comparison,
                                   const struct comparison_arms *arms);

/* The exit status that --exit-status asks for. */
int comparison_exit_status(const struct stored_comparison *comparison);

/* ---- several ---- */

/*
 * Prints campaign_comparison_json, or a table, a line each, and what the family says, with
 * `explain` each comparison in full after it. An exit status.
 */
int campaign_comparison_show(struct store *store, const struct campaign_comparison *comparison,
                             bool gated, bool json, bool explain);

/* 0: every cell equivalent or faster; 1: one slower; 2: one that does not compare; 3: else. */
int campaign_comparison_exit_status(const struct campaign_comparison *comparison);

#endif
