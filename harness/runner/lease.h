/*
 * lease - which process runs a campaign, so that two never resume the same one at once.
 *
 * A campaign's "started" and "resumed" events carry "BOOT_ID PID START_TICKS" in their detail; the
 * three together name a process for good on one machine. A process of another machine or another
 * boot cannot be asked, and is taken as gone.
 */
#ifndef ASSAY_RUNNER_LEASE_H
#define ASSAY_RUNNER_LEASE_H

#include <jansson.h>

#include "harness/core/status.h"

#define LEASE_SIZE 128

/* This process's description. */
void lease_describe(char ret[LEASE_SIZE]);

/*
 * `events`: the campaign's events, oldest first. BUSY when the last one is a start or resume by a
 * process that is alive here; `campaign` names it in the message.
 */
enum status lease_check(const json_t *events, const char *campaign, struct error *err);

#endif
