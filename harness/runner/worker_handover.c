/*
 * What assay's own worker does for another one: writes the files that are handed to it, and
 * compares the outputs that come back. In place of a trial, and without a device (handover.h).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "harness/runner/worker_internal.h"

#include "harness/core/cleanup.h"
#include "harness/core/member.h"

/* The secret of an entry; false: it has none, so that the inputs are the case's own. */
static bool secret_of(const json_t *entry, uint64_t *ret)
{
    const char *text = member_string(entry, "secret");

    *ret = text ? strtoull(text, NULL, 16) : 0;
    return text != NULL;
}

static enum status write_one(struct worker *worker, const json_t *entry, struct error *err)
{
    const char *path = member_string(entry, "path");
    uint64_t secret;
    const bool drawn = secret_of(entry, &secret);

    return worker->workload.kind->handover->write(&worker->work, drawn ? &secret : NULL,
                                                  path ? path : "", err);
}

static enum status judge_one(struct worker *worker, const json_t *entry, struct error *err)
{
    const char *path = member_string(entry, "path");
    uint64_t secret;
    const bool drawn = secret_of(entry, &secret);
    CLEANUP(tensors_close) struct tensors outputs = {0};
    const struct workload_handed handed = {
        .work = &worker->work,
        .secret = drawn ? &secret : NULL,
        .outputs = &outputs,
        .iteration = member_integer(entry, "iteration"),
        .whole = member_is_true(entry, "whole"),
    };
    enum status status = tensors_open(path ? path : "", &outputs, err);

    worker->verify_phase = member_string(entry, "phase");
    if (status == STATUS_OK)
        status = workload_judge(&handed, worker_report_check, worker, err);
    if (status != STATUS_OK)
        return error_prefix(err, "the outputs handed over (%s, iteration %" PRId64 ")",
                            worker->verify_phase, handed.iteration);
    if (worker->check_error.code != STATUS_OK && err)
        *err = worker->check_error;
    return worker->check_error.code;
}

enum status worker_hand_over(struct worker *worker, const json_t *task, struct error *err)
{

    if (!worker->workload.kind->handover || worker->work.scenario == SCENARIO_SERVER)
        return error_set(err, STATUS_UNSUPPORTED, "%s is not handed over to another program",
                         worker->workload.kind->name);
    EACH(entry, json_object_get(task, "write"))
        TRY(write_one(worker, entry, err));
    EACH(entry, json_object_get(task, "judge"))
        TRY(judge_one(worker, entry, err));
    return worker_link_send(&worker->link, &(struct message){MESSAGE_HANDED_OVER}, err);
}
