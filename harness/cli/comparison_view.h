/*
 * comparison_view - stored comparisons as ab, compare, gate and reproduce show them, and what
 * --exit-status makes of them. The words are those of reports/comparison_document.h.
 */
#ifndef ASSAY_CLI_COMPARISON_VIEW_H
#define ASSAY_CLI_COMPARISON_VIEW_H

#include <stdbool.h>

#include "harness/cli/command.h"
#include "harness/library/inside.h"
#include "reports/comparison_document.h"

/* The options of comparisons, and the text of --exit-status for help. */
enum {
    KEY_EXIT_STATUS = 0x300,
    KEY_DETAILS,
    KEY_MARGIN,
    KEY_BY,
    KEY_UNDER,
    KEY_ALLOW_FOREIGN_WORKER
};
#define DETAILS_OPTION                                                                             \
    {                                                                                              \
        "details", KEY_DETAILS, NULL, 0,                                                           \
            "also show tests, the order's effect, readings that are unknown, and every field", 0   \
    }
#define EXIT_STATUS_OPTION                                                                         \
    {                                                                                              \
        "exit-status", KEY_EXIT_STATUS, NULL, 0, "report the verdict as the exit status", 0        \
    }
#define EXIT_STATUS_TEXT                                                                           \
    "25 % faster is 1.25 times as much in the same time, 25 % slower 1.25 times the time; in "     \
    "brackets stands the interval.\n"                                                              \
    "\n"                                                                                           \
    "The exit status is 0 whatever the verdict. With --exit-status it is 0 where b is equivalent " \
    "or faster (of servers not worse), 1 where b is slower (worse), 2 where the two do not "       \
    "compare (or the arguments are wrong) and 3 where the comparison is inconclusive or has no "   \
    "numbers; 4 and above: the command "                                                           \
    "itself failed. `assay gate` also allows a slowdown within its margin."

#define BY_OPTION                                                                                  \
    {                                                                                              \
        "by", KEY_BY, "FIGURE", 0,                                                                 \
            "time (default), or of servers attainment (their default), the share of requests "     \
            "within the limits at each rate, or capacity, the highest rate served within them",    \
            0                                                                                      \
    }

/* --margin, --by, --under and --allow-foreign-worker. INVALID says what to write. */
enum status comparison_options(const struct command_line *line, struct assay_compare_options *ret,
                               struct error *err);
/* What the one or two arguments name, in the store that is open; its error is library_error. */
enum assay_status comparison_of_arguments(const struct command_line *line,
                                          const struct assay_compare_options *options,
                                          struct assay_comparison **ret);

/* A document of a comparison for the command: brief without --details. */
struct doc comparison_view_doc(const struct command_line *line, struct text *out);
/* Where a document for a terminal is brief, says how to see the rest. */
void comparison_view_hint(struct doc *doc);

/*
 * The document of a comparison or a family, `gated`: with what a gate decides. Where it is not
 * brief, each of a family in full after its table.
 */
enum status comparison_view_write(struct doc *doc, struct store *store,
                                  const struct campaign_comparison *comparison, bool gated,
                                  struct error *err);
/* Prints it, or JSON, as the options say. An exit status. */
int campaign_comparison_show(const struct command_line *line, struct store *store,
                             const struct campaign_comparison *comparison, bool gated);

/* 0: every cell equivalent or faster; 1: one slower; 2: one that does not compare; 3: else. */
int campaign_comparison_exit_status(const struct campaign_comparison *comparison);

#endif
