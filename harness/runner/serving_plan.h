/* serving_plan - how the schedule of a server's trial reaches the worker, and the record. */
#ifndef ASSAY_RUNNER_SERVING_PLAN_H
#define ASSAY_RUNNER_SERVING_PLAN_H

#include <stdint.h>

#include "harness/runner/channel.h"
#include "protocols/serving/request.h"

/* The reading, before the worker starts, that has the schedule's digest. */
#define SERVING_PLAN_READING "serving.schedule"
/* And the capacity in requests/s that its rate is a share of, where the campaign measured it. */
#define SERVING_CAPACITY_READING "serving.capacity"

/* Series in which the schedule is sent. */
#define SERVING_PLAN_SERIES 3
extern const char *const serving_plan_series[SERVING_PLAN_SERIES];

/* Sends it to the worker, as samples messages of the series above. */
enum status serving_plan_send(struct channel *channel, const struct schedule *schedule,
                              int64_t deadline_ns, struct error *err);

#endif
