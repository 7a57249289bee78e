/*
 * trial_judge - whether a trial is what was planned: before anything runs, by its device; at its
 * end, by what the worker sent and what the harness saw.
 */
#ifndef ASSAY_RUNNER_TRIAL_JUDGE_H
#define ASSAY_RUNNER_TRIAL_JUDGE_H

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/runner/handover.h"
#include "harness/runner/message.h"
#include "harness/runner/trial.h"
#include "harness/runner/trial_record.h"

/*
 * UNAVAILABLE: a reading that the protocol demands (`required`) is neither among those of the host
 * nor of `device`, a worker's message.
 */
enum status trial_judge_device(const struct trial_request *request, const json_t *device,
                               struct error *err);

/*
 * Takes the worker's message "end" into the record, and says whether the trial may be counted: the
 * worker's own status; CHECK_FAILED or PROTOCOL where what it sent says otherwise; else what
 * conduct_judge, trial_declared_end and trial_record_same_stack find.
 */
enum status trial_judge_end(const struct trial_request *request, const struct protocol *protocol,
                            const struct handover *handover, const struct message *end,
                            struct trial_record *record, struct error *err);

#endif
