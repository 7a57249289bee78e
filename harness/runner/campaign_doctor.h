/*
 * campaign_doctor - what `assay doctor` finds before a campaign's first trial, and what the
 * protocol refuses.
 */
#ifndef ASSAY_RUNNER_CAMPAIGN_DOCTOR_H
#define ASSAY_RUNNER_CAMPAIGN_DOCTOR_H

#include "harness/runner/campaign.h"

/*
 * Looks at this machine and the campaign's devices and stores what was found; the test for jitter
 * is as long as the protocol or the options say, whichever is longer. UNAVAILABLE: the protocol
 * refuses what was found; the message names it, and the campaign has the event "failed".
 */
enum status campaign_examine(struct campaign *campaign, const struct campaign_options *options,
                             struct error *err);

#endif
