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

/* ---- one comparison ---- */

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
    char *words[2]; /* phrases (doc.h): "triad fp32 on cpu:0 (AMD EPYC): 28 GB/s ±3 %"; heap */
};

/* Reads them from the store. Finish with comparison_arms_finish. */
enum status comparison_arms_load(struct store *store, const struct stored_comparison *comparison,
                                 struct comparison_arms *ret, struct error *err);
void comparison_arms_finish(struct comparison_arms *arms);
/* Whether both are servers under load, which have figures to be compared by. */
bool comparison_arms_are_servers(const struct comparison_arms *arms);

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
 * What conditions keep a gate from deciding, and what to do: " under contention by other processes
 * in ab12cd34/1: repeat it ..."; nothing where it decides, or is inconclusive without.
 */
void campaign_comparison_append_undecided(struct text *out,
                                          const struct campaign_comparison *comparison);

/*
 * As the options say: JSON; or that table, with --explain each comparison in full after it, or a
 * single one in full. An exit status.
 */
int campaign_comparison_show(const struct command_line *line, struct store *store,
                             const struct campaign_comparison *comparison, bool gated);

/* 0: every cell equivalent or faster; 1: one slower; 2: one that does not compare; 3: else. */
int campaign_comparison_exit_status(const struct campaign_comparison *comparison);

#endif
