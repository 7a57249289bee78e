/*
 * spot_schedule - when the harness asks for spot checks (`spot_checks` of a protocol): at times
 * that it draws when the window begins and that the worker learns one by one.
 */
#ifndef ASSAY_RUNNER_SPOT_SCHEDULE_H
#define ASSAY_RUNNER_SPOT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "harness/runner/message.h"
#include "protocols/protocol.h"

struct spot_schedule {
    int64_t *at_ns; /* CLOCK_MONOTONIC, ascending; heap */
    int64_t count, least, budget_ns;
    int64_t asked, made;
    int64_t asked_ns;            /* when the latest was; CLOCK_MONOTONIC */
    int64_t spent_ns, within_ns; /* as the worker says; of those that the window holds */
    int64_t *checked_ns; /* of the iterations that were checked, as far as they are known; heap */
    int64_t checked;
    bool closing; /* the window is over: what is left is asked for at once */
};

/* Draws times in a window of `window_ns` that begins at `now_ns`. Finish with
 * spot_schedule_finish. */
enum status spot_schedule_draw(struct spot_schedule *schedule, const struct protocol *protocol,
                               int64_t now_ns, int64_t window_ns, struct error *err);
void spot_schedule_finish(struct spot_schedule *schedule);

/* When the next is to be asked for; INT64_MAX: none, or not before the one asked for is made. */
int64_t spot_schedule_next_ns(const struct spot_schedule *schedule);
/* True when all is made that will be asked for. */
bool spot_schedule_done(const struct spot_schedule *schedule);

/* The message that asks for the next. */
struct message spot_schedule_ask(struct spot_schedule *schedule);
/*
 * Takes the answer, which came at `now_ns`. PROTOCOL: it is to nothing that was asked. INVALID: it
 * says that the check took longer than the answer did.
 */
enum status spot_schedule_take(struct spot_schedule *schedule, const struct message *message,
                               int64_t now_ns, struct error *err);

/* The shortest and the median of the iterations that were checked; -1: none is known. */
void spot_schedule_iterations(struct spot_schedule *schedule, int64_t *ret_least_ns,
                              int64_t *ret_median_ns);

#endif
