/* trial_required - the readings that a protocol demands (`required`). */
#ifndef ASSAY_RUNNER_TRIAL_REQUIRED_H
#define ASSAY_RUNNER_TRIAL_REQUIRED_H

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/runner/trial.h"

/* UNAVAILABLE: one is neither among the readings of the host nor of `device`, a worker's message.
 */
enum status trial_required_check(const struct trial_request *request, const json_t *device,
                                 struct error *err);

#endif
