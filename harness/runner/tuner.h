/*
 * tuner - sizes of groups and the like, chosen once for a campaign.
 *
 * What is chosen by measurement varies from one process to the next, and a trial with another
 * choice would differ from the others because of the tool itself. So a worker of its own measures,
 * before the first trial, and every trial is handed its choice.
 */
#ifndef ASSAY_RUNNER_TUNER_H
#define ASSAY_RUNNER_TUNER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"

struct named_worker;

struct tuner_request {
    const json_t *message;            /* body of the "trial" message */
    char *const *environment_changes; /* of the worker; NULL: none */
    const char *root;                 /* of the worker; NULL: the same */
    const struct named_worker *named; /* who measures; NULL: assay's own */
    int64_t silence_ns;               /* longest silence of the worker */
    int wake_fd;                      /* readable: the user wants to stop; -1: none */
    bool trace; /* no choice: the operations of an iteration, timed (workloads/trace.h) */
};

/*
 * Runs a worker that chooses and reports: {"workload": {...}, "iterations_per_sample"}, or, where
 * that is asked for, what trace_end makes; new object.
 * INTERRUPTED: the user wants to stop. Any other error is the worker's, with its reason: the trials
 * will get it, too, and record it.
 */
enum status tuner_run(const struct tuner_request *request, json_t **ret, struct error *err);

#endif
