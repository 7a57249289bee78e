#include "harness/cli/commands.h"

#include <string.h>

#include "harness/cli/comparison_view.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "protocols/comparability.h"

enum { KEY_RECORD = 0x100 };

static int compare(const struct command_line *line, struct store *store, void *context)
{
    CLEANUP(comparison_cleanup) struct assay_comparison *comparison = NULL;
    const struct campaign_comparison *made;
    int result;

    if (comparison_of_arguments(line, context, &comparison) != ASSAY_OK)
        return command_fail_asked(library_error());
    made = &comparison->made;
    if (command_has(line, KEY_RECORD) && made->is_single && !made->list->paired &&
        !strcmp(member_text(made->list->judgement, "verdict"),
                comparability_verdict_name(EXPLORATORY))) {
        log_error("without evidence they compare as exploratory only, which is not recorded: leave "
                  "out --record, or measure both under `standard`, or `serving` for servers");
        return ASSAY_EXIT_USAGE;
    }
    result = campaign_comparison_show(line, store, made, false);
    if (result == ASSAY_EXIT_OK && command_has(line, KEY_RECORD) &&
        assay_comparison_record(comparison, false) != ASSAY_OK)
        result = command_fail(library_error());
    if (result == ASSAY_EXIT_OK && command_has(line, KEY_EXIT_STATUS))
        result = campaign_comparison_exit_status(made);
    return result;
}

static int run(const struct command_line *line)
{
    struct assay_compare_options options;
    struct error err = ERROR_INIT;

    if (comparison_options(line, &options, &err) != STATUS_OK)
        return command_fail(&err);
    if (line->argument_count == 1 && strchr(line->arguments[0], '/')) {
        log_error("%s is one result: name the other one, too (a single argument is a campaign made "
                  "by `assay ab`)",
                  line->arguments[0]);
        return ASSAY_EXIT_USAGE;
    }
    return with_store(line, command_has(line, KEY_RECORD) ? STORE_WRITE : STORE_READ, compare,
                      &options);
}

static const struct argp_option options[] = {
    {"margin", KEY_MARGIN, "FRACTION", 0, "half-width of equivalence (default: 0.01)"},
    BY_OPTION,
    {"record", KEY_RECORD, NULL, 0,
     "store the outcome as evidence, in the log, where `assay verify` recomputes it and a dossier "
     "lists it"},
    DETAILS_OPTION,
    EXIT_STATUS_OPTION,
    {0}};

const struct command command_compare = {
    .name = "compare",
    .arguments = "A B | CAMPAIGN",
    .summary = "Say whether two results compare, then how they differ and why",
    .text = "A and B are results (9f2c41aa/3). First comes whether the two may be compared at all, "
            "with the reason; then the numbers, by Welch's t on the trials' means, or of servers "
            "under load by the share of requests within the limits, with goodput, latencies and "
            "capacity of both; then the one factor that the difference is attributed to, or the "
            "isolating runs where several differ. A single CAMPAIGN made by `assay ab` is analysed "
            "pair by pair. Of two campaigns of several results those of the same workload, "
            "precision and batch are compared, and of a CAMPAIGN of several comparisons all, and "
            "judged together: with the chance of one error among all, not in each.\n"
            "\n" EXIT_STATUS_TEXT,
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_MARKDOWN,
    .arguments_min = 1,
    .arguments_max = 2,
    .completes = "RESULT|CAMPAIGN",
    .run = run,
};
