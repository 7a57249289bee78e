/* Spot checks of the window: iterations at times that only the harness knows beforehand. */
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/random.h"
#include "harness/runner/worker_internal.h"

#define PARITY_STREAM 0x70617269 /* "pari" */

static struct spot_output *find_output(struct worker *worker, const struct workload_check *check)
{
    struct spot_output *spot;

    for (size_t i = 0; i < worker->spot_count; i++)
        if (!strcmp(worker->spots[i].output, check->output) &&
            !strcmp(worker->spots[i].metric, check->metric))
            return &worker->spots[i];
    if (!worker->spots)
        worker->spots = calloc(SPOT_OUTPUTS_MAX, sizeof(*worker->spots));
    if (!worker->spots || worker->spot_count == SPOT_OUTPUTS_MAX)
        return NULL;
    spot = &worker->spots[worker->spot_count];
    spot->output = strdup(check->output);
    spot->metric = strdup(check->metric);
    spot->reason = strdup(check->reason ? check->reason : "");
    spot->passed = true;
    spot->error = -1.0;
    if (!spot->output || !spot->metric || !spot->reason)
        return NULL;
    worker->spot_count++;
    return spot;
}

/* Of several the worst is kept: the largest part of its tolerance, and any that did not pass. */
static void note(void *context, const struct workload_check *check)
{
    struct worker *worker = context;
    struct spot_output *spot = find_output(worker, check);
    bool worse;

    if (!spot) {
        error_no_memory(&worker->check_error);
        return;
    }
    worse =
        spot->error < 0.0 || !(check->error * spot->tolerance <= spot->error * check->tolerance);
    if (spot->passed && (!check->passed || worse)) {
        spot->error = check->error;
        spot->tolerance = check->tolerance;
    }
    spot->passed &= check->passed;
    spot->compared += check->compared;
}

enum status worker_spot_check(struct worker *worker, const struct message *message,
                              struct error *err)
{
    const int64_t begin_ns = clock_monotonic_ns();
    enum status status = STATUS_OK;
    struct message answer = {MESSAGE_SPOT_CHECKED,
                             .spot_checked = {.number = message->spot_check.number}};

    /*
     * One iteration before it or none: samples of an even number of iterations would else let a
     * spot check meet the same half of what leaves out every second one, each time.
     */
    if (!worker->workload.kind->is_program &&
        random_at(message->spot_check.secret, PARITY_STREAM, 0) & 1)
        status = worker->workload.kind->iterate(worker->instance, err);
    if (status == STATUS_OK)
        status =
            workload_spot_check(worker->instance, message->spot_check.secret, note, worker, err);
    if (status != STATUS_OK)
        return error_prefix(err, "spot check %lld of the window",
                            (long long)message->spot_check.number + 1);
    if (worker->check_error.code != STATUS_OK) {
        if (err)
            *err = worker->check_error;
        return worker->check_error.code;
    }
    answer.spot_checked.iteration_ns = worker->instance->checked_ns;
    answer.spot_checked.took_ns = clock_monotonic_ns() - begin_ns;
    worker->spot_ns += answer.spot_checked.took_ns;
    return worker_link_send(&worker->link, &answer, err);
}

/*
 * What changing inputs takes, comparing among it, is at most this part of the window, or one of
 * them: it is in gaps. Every sample has other inputs where that is cheap.
 */
#define CHANGES_PART 200

enum status worker_change_inputs(struct worker *worker, struct error *err)
{
    const int64_t begin_ns = clock_monotonic_ns();

    if (worker->window_first < 0 || worker->protocol.spot_checks == 0 ||
        worker->changes_ns * CHANGES_PART > begin_ns - worker->window_ns)
        return STATUS_OK;
    worker->change_secret = random_next(&worker->drawn);
    TRY(workload_change(worker->instance, worker->change_secret, &worker->is_changed, err));
    worker->changes_ns += clock_monotonic_ns() - begin_ns;
    return STATUS_OK;
}

enum status worker_check_changed(struct worker *worker, struct error *err)
{
    const int64_t begin_ns = clock_monotonic_ns();

    if (!worker->is_changed) {
        if (worker->window_first >= 0)
            worker->unchanged_ns[worker->unchanged_count++ % UNCHANGED_KEPT] =
                worker->sampler.wall_ns[worker->sampler.count - 1];
        return STATUS_OK;
    }
    worker->is_changed = false;
    if (workload_check_changed(worker->instance, worker->change_secret, note, worker, err) !=
        STATUS_OK)
        return error_prefix(err, "spot check of sample %zu, whose inputs were changed before it",
                            worker->sampler.count - (size_t)worker->window_first);
    worker->changed_count++;
    worker->changes_ns += clock_monotonic_ns() - begin_ns;
    return STATUS_OK;
}

enum status worker_settle_inputs(struct worker *worker, struct error *err)
{
    if (worker->changed_count == 0)
        return STATUS_OK;
    TRY(worker->workload.kind->iterate(worker->instance, err));
    return device_synchronize(worker->device, err);
}

enum status worker_send_spots(struct worker *worker, struct error *err)
{
    for (size_t i = 0; i < worker->spot_count; i++) {
        const struct spot_output *spot = &worker->spots[i];
        const struct workload_check check = {
            .output = spot->output,
            .metric = spot->metric,
            .reason = spot->reason,
            .error = spot->error,
            .tolerance = spot->tolerance,
            .compared = spot->compared,
            .passed = spot->passed,
        };

        TRY(worker_link_send_check(&worker->link, "spot_check", &check, err));
    }
    worker_finish_spots(worker);
    return STATUS_OK;
}

void worker_finish_spots(struct worker *worker)
{
    for (size_t i = 0; i < SPOT_OUTPUTS_MAX && worker->spots; i++) {
        free(worker->spots[i].output);
        free(worker->spots[i].metric);
        free(worker->spots[i].reason);
    }
    free(worker->spots);
    worker->spots = NULL;
    worker->spot_count = 0;
}

enum status worker_sync(struct worker *worker, const char *at, struct error *err)
{
    bool go = false;

    TRY(worker_link_sync(&worker->link, at, err));
    while (!go) {
        CLEANUP(message_finish) struct message message = {0};

        TRY(worker_link_hear(&worker->link, true, &message, err));
        go = message.type == MESSAGE_GO;
        if (!go)
            TRY(worker_spot_check(worker, &message, err));
    }
    return STATUS_OK;
}
