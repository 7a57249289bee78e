/* campaign_choice - sizes that a kind of workload leaves to the device (workload_kind's `choices`):
 * found once for equal work, recorded, and handed to every trial, so that all trials run the same.
 */
#ifndef ASSAY_RUNNER_CAMPAIGN_CHOICE_H
#define ASSAY_RUNNER_CAMPAIGN_CHOICE_H

#include "harness/runner/campaign.h"

/* Records what is chosen for a cell's trials, and hands it to them; `choices` stays the caller's.
 */
enum status campaign_take_choices(struct store *store, struct campaign_cell *cell, json_t *choices,
                                  struct error *err);

/*
 * Ensures that the cell's trials get one choice: that of another cell with the same work on the
 * same device by the same driver and compiler, or what a worker finds now. A worker that cannot
 * choose is no error here: its trials choose for themselves, or fail for the same reason; both are
 * recorded. Nor is `wake_fd` becoming readable.
 */
enum status campaign_choose(struct campaign *campaign, struct campaign_cell *cell, int wake_fd,
                            struct error *err);

#endif
