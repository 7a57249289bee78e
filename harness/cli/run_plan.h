/* run_plan - plans that others see before they run: what `assay run` takes and shows of them. */
#ifndef ASSAY_CLI_RUN_PLAN_H
#define ASSAY_CLI_RUN_PLAN_H

#include "harness/cli/command.h"
#include "harness/runner/campaign.h"

/* Who must see the plan, as the options say. */
struct run_witnesses {
    struct witness_hold hold;
    struct roster roster;
};

/* The values of --witness-command, --witnesses and --roster; all NULL: nobody. INVALID. */
enum status run_witnesses_read(const char *command, const char *count, const char *roster,
                               struct run_witnesses *ret, struct error *err);
void run_witnesses_finish(struct run_witnesses *witnesses);
/* For campaign_options; NULL: nobody. */
const struct witness_hold *run_witnesses_hold(const struct run_witnesses *witnesses);

/* Records the campaign's head and shows it, with what to do next; returns an exit status. */
int run_plan_show(const struct command_line *line, struct campaign *campaign,
                  const struct key *key);

#endif
