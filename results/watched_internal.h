/* watched_internal - what the files of watched share. */
#ifndef ASSAY_RESULTS_WATCHED_INTERNAL_H
#define ASSAY_RESULTS_WATCHED_INTERNAL_H

#include <stdbool.h>

#include "results/energy.h"
#include "results/watched.h"

/* A trial's record, with its window. */
struct watched_view {
    struct store *store;
    int64_t trial;
    int64_t number; /* as findings count them: from 1 */
    double iterations;
    json_t *telemetry; /* store_telemetry_json */
    bool has_window;
    int64_t begin_ns, end_ns;
};

/* A channel's values over time; series.count is 0 when there are none. Free times and values. */
struct watched_channel {
    int64_t *times, *values;
    struct energy_series series;
};
enum status watched_load(const struct watched_view *view, const char *part, const char *channel,
                         struct watched_channel *ret, struct error *err);
void watched_channel_finish(struct watched_channel *channel);

/* The telemetry of a part, or NULL; a channel's description in it, or NULL. */
const json_t *watched_part(const struct watched_view *view, const char *part);

/* watched_events.c: findings of one trial. */
enum status watched_events(const struct watched_view *view, struct finding_list *findings,
                           struct error *err);

#endif
