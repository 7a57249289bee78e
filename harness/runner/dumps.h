/*
 * dumps - what the vendors' and the system's own tools report of the machine, kept verbatim
 * alongside the readings that assay takes itself: lscpu, numactl, dmidecode, and with a device of
 * theirs clinfo, nvidia-smi, rocm-smi and amd-smi.
 *
 * Each is a child process without a shell, with a limit of time and of output. One that is absent,
 * refused, hangs or crashes is recorded as such and stops no campaign.
 */
#ifndef ASSAY_RUNNER_DUMPS_H
#define ASSAY_RUNNER_DUMPS_H

#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store/store.h"

/*
 * Runs the tools that have to do with `specs` (an array of "cuda:0", ...; the host's are always
 * run) and stores a row for each. An error is the store's, or no memory.
 */
enum status dumps_take(struct store *store, int64_t campaign, const json_t *specs,
                       struct error *err);

#endif
