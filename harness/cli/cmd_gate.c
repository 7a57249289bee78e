#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/stored_comparison.h"
#include "harness/cli/with_store.h"
#include "harness/core/log.h"

enum { KEY_MARGIN = 0x100 };

enum gate_exit { GATE_PASS = 0, GATE_WORSE = 1, GATE_NOT_COMPARABLE = 2, GATE_INCONCLUSIVE = 3 };

/*
 * Slower beyond the margin is worse. A slowdown that is real but whose interval still reaches inside
 * the margin is not shown to be worse than allowed, and not shown to be fine: inconclusive.
 */
static enum gate_exit judge(const struct stored_comparison *comparison)
{
    const struct comparison *numbers = &comparison->numbers;

    if (!strcmp(json_string_value(json_object_get(comparison->judgement, "verdict")),
                "not_comparable"))
        return GATE_NOT_COMPARABLE;
    if (!comparison->has_numbers)
        return GATE_INCONCLUSIVE;
    if (numbers->verdict == COMPARE_EQUIVALENT || numbers->verdict == COMPARE_FASTER)
        return GATE_PASS;
    if (numbers->verdict == COMPARE_SLOWER && numbers->ratio.has_interval &&
        numbers->ratio.value > 1 + numbers->margin)
        return GATE_WORSE;
    return GATE_INCONCLUSIVE;
}

static int pass_or_fail(const struct command_line *line, struct store *store, void *context)
{
    static const char *const words[] = {"passes", "fails: the candidate is worse",
                                        "refused: the two do not compare",
                                        "inconclusive: measure more"};
    struct stored_comparison comparison;
    struct error err = ERROR_INIT;
    enum gate_exit verdict;

    if (stored_comparison_make(store, line->arguments[0],
                               line->argument_count > 1 ? line->arguments[1] : NULL, context,
                               &comparison, &err) != STATUS_OK) {
        log_error("%s", err.message);
        return ASSAY_EXIT_STORE;
    }
    verdict = judge(&comparison);
    stored_comparison_show(store, NULL, &comparison, command_has(line, KEY_JSON), false);
    log_info("gate %s", words[verdict]);
    stored_comparison_finish(&comparison);
    return (int)verdict;
}

static int run(const struct command_line *line)
{
    struct compare_options options;
    struct error err = ERROR_INIT;

    if (stored_comparison_margin(command_value(line, KEY_MARGIN), &options, &err) != STATUS_OK)
        return command_fail(&err);
    return with_store(line, STORE_READ, pass_or_fail, &options);
}

static const struct argp_option options[] = {
    {"margin", KEY_MARGIN, "FRACTION", 0, "slower by no more than this passes (default: 0.01)", 0},
    {0}};

const struct command command_gate = {
    .name = "gate",
    .arguments = "BASELINE CANDIDATE | CAMPAIGN",
    .summary = "Pass or fail a candidate against a baseline, for CI",
    .text = "Exit status 0: equivalent within the margin, or faster; 1: worse; 2: the two do not "
            "compare; 3: inconclusive. 4 and above: the command itself failed. A single CAMPAIGN is "
            "one that `assay ab` made: a is the baseline, b the candidate.",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON,
    .arguments_min = 1,
    .arguments_max = 2,
    .completes = "result",
    .run = run,
};
