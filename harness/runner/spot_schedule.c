#include "harness/runner/spot_schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"
#include "harness/core/random.h"
#include "protocols/stats/order.h"

/* What two processes may differ by in reading one clock around a message. */
#define READING_NS INT64_C(1000000)

enum status spot_schedule_draw(struct spot_schedule *schedule, const struct protocol *protocol,
                               int64_t now_ns, int64_t window_ns, struct error *err)
{
    *schedule = (struct spot_schedule){.count = protocol->spot_checks,
                                       .least = protocol->spot_checks_least,
                                       .budget_ns = protocol->spot_checks_ns};
    schedule->at_ns = calloc((size_t)schedule->count + 1, sizeof(*schedule->at_ns));
    schedule->checked_ns = calloc((size_t)schedule->count + 1, sizeof(*schedule->checked_ns));
    if (!schedule->at_ns || !schedule->checked_ns)
        return error_no_memory(err);
    for (int64_t i = 0; i < schedule->count; i++)
        schedule->at_ns[i] = now_ns + (int64_t)(random_unit(random_secret()) * (double)window_ns);
    order_sort(schedule->at_ns, (size_t)schedule->count);
    return STATUS_OK;
}

void spot_schedule_finish(struct spot_schedule *schedule)
{
    free(schedule->at_ns);
    free(schedule->checked_ns);
    memset(schedule, 0, sizeof(*schedule));
}

static bool is_over(const struct spot_schedule *schedule)
{
    return schedule->asked >= schedule->count ||
           (schedule->asked >= schedule->least && schedule->spent_ns >= schedule->budget_ns);
}

int64_t spot_schedule_next_ns(const struct spot_schedule *schedule)
{
    if (!schedule->at_ns || schedule->asked > schedule->made || is_over(schedule))
        return INT64_MAX;
    return schedule->closing ? 0 : schedule->at_ns[schedule->asked];
}

bool spot_schedule_done(const struct spot_schedule *schedule)
{
    return schedule->asked == schedule->made && is_over(schedule);
}

struct message spot_schedule_ask(struct spot_schedule *schedule)
{
    schedule->asked_ns = clock_monotonic_ns();
    return (struct message){MESSAGE_SPOT_CHECK,
                            .spot_check = {.number = schedule->asked++, .secret = random_secret()}};
}

enum status spot_schedule_take(struct spot_schedule *schedule, const struct message *message,
                               int64_t now_ns, struct error *err)
{
    if (schedule->asked != schedule->made + 1 || message->spot_checked.number != schedule->made)
        return error_set(err, STATUS_PROTOCOL,
                         "the worker answers spot check %lld, which was not asked for",
                         (long long)message->spot_checked.number);
    if (message->spot_checked.took_ns > now_ns - schedule->asked_ns + READING_NS ||
        message->spot_checked.iteration_ns > message->spot_checked.took_ns)
        return error_set(err, STATUS_INVALID,
                         "clock.checks: the worker says that spot check %lld took %.6g s, and its "
                         "iteration %.6g s; its answer came after %.6g s",
                         (long long)message->spot_checked.number + 1,
                         (double)message->spot_checked.took_ns / 1e9,
                         (double)message->spot_checked.iteration_ns / 1e9,
                         (double)(now_ns - schedule->asked_ns) / 1e9);
    schedule->made++;
    if (message->spot_checked.iteration_ns >= 0)
        schedule->checked_ns[schedule->checked++] = message->spot_checked.iteration_ns;
    schedule->spent_ns += message->spot_checked.took_ns;
    if (!schedule->closing)
        schedule->within_ns += message->spot_checked.took_ns;
    return STATUS_OK;
}

void spot_schedule_iterations(struct spot_schedule *schedule, int64_t *ret_least_ns,
                              int64_t *ret_median_ns)
{
    order_sort(schedule->checked_ns, (size_t)schedule->checked);
    *ret_least_ns = schedule->checked > 0 ? schedule->checked_ns[0] : -1;
    *ret_median_ns = schedule->checked > 0 ? schedule->checked_ns[schedule->checked / 2] : -1;
}
