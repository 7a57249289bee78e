/* window_telemetry_internal - what the files of window_telemetry share. */
#ifndef ASSAY_RESULTS_ANALYSIS_WINDOW_TELEMETRY_INTERNAL_H
#define ASSAY_RESULTS_ANALYSIS_WINDOW_TELEMETRY_INTERNAL_H

#include <stdbool.h>

#include "results/analysis/energy.h"
#include "results/analysis/window_telemetry.h"

/* A trial's record, with its window. */
struct window_telemetry_view {
    struct store *store;
    int64_t trial;
    int64_t number; /* as findings count them: from 1 */
    double iterations, good;
    json_t *telemetry; /* store_telemetry_json */
    bool has_window;
    int64_t begin_ns, end_ns;
};

/* A channel's values over time; series.count is 0 when there are none. Free times and values. */
struct window_telemetry_channel {
    int64_t *times, *values;
    struct energy_series series;
};
enum status window_telemetry_load(const struct window_telemetry_view *view, const char *part,
                                  const char *channel, struct window_telemetry_channel *ret,
                                  struct error *err);
void window_telemetry_channel_finish(struct window_telemetry_channel *channel);

/* Growth of a counter over the window; -1: not known, 0 when it did not change. */
enum status window_telemetry_growth(const struct window_telemetry_view *view, const char *part,
                                    const char *name, double *ret, struct error *err);

/* The telemetry of a part, or NULL; a channel's description in it, or NULL. */
const json_t *window_telemetry_part(const struct window_telemetry_view *view, const char *part);

/* Mean of logs of values of trials, as a value, with its interval by t on count - 1. */
struct estimate_interval window_telemetry_between_trials(const double *logs, size_t count,
                                                         double confidence);

/* window_telemetry_events.c: findings of one trial. */
enum status window_telemetry_events(const struct window_telemetry_view *view,
                                    struct finding_list *findings, struct error *err);

#endif
