#include "results/analysis/serving_rate.h"

#include <inttypes.h>
#include <sqlite3.h>

#include "harness/core/cleanup.h"
#include "protocols/serving/declared.h"
#include "protocols/serving/saturation.h"
#include "results/analysis/serving_log.h"

/* The first trial that was ok of the saturated cell of the same work; 0: none. */
#define SATURATED                                                                                  \
    "SELECT c.scenario, (SELECT t.id FROM cell s JOIN trial t ON t.cell = s.id JOIN trial_end e"   \
    " ON e.trial = t.id AND e.status = 'ok' WHERE s.campaign = c.campaign AND s.scenario ="        \
    " '" SERVING_SATURATED "' AND s.workload = c.workload AND s.precision = c.precision AND"       \
    " s.implementation = c.implementation AND s.batch IS c.batch AND s.device_spec ="              \
    " c.device_spec ORDER BY t.sequence, t.attempt LIMIT 1) FROM cell c WHERE c.id = ?1"

static enum status capacity_of(struct store *store, int64_t trial, double *ret, struct error *err)
{
    CLEANUP(serving_log_finish) struct serving_log log = {0};

    TRY(trial ? serving_log_load(store, trial, &log, err)
              : error_set(err, STATUS_UNAVAILABLE,
                          "its rate is a share of a capacity, and no trial of the saturated server "
                          "was ok: measure it again, or write load.capacity"));
    *ret = saturation_rate(log.requests, log.count);
    if (!(*ret > 0))
        return error_set(err, STATUS_UNAVAILABLE,
                         "trial %" PRId64 " shows no capacity: it admitted fewer requests "
                         "than two batches; raise serving.requests or batching.queue",
                         trial);
    return STATUS_OK;
}

enum status serving_rate_find(struct store *store, int64_t cell, double *ret, double *ret_capacity,
                              struct error *err)
{
    sqlite3_stmt *select = NULL;
    double rate = 0, capacity = 0;
    int64_t trial = 0;
    bool found = false;

    if (store_prepare(store, SATURATED, &select) != SQLITE_OK)
        return error_set(err, STATUS_IO, "%s: reading a result: %s", store_path(store),
                         sqlite3_errmsg(store_connection(store)));
    sqlite3_bind_int64(select, 1, cell);
    if (sqlite3_step(select) == SQLITE_ROW) {
        found = serving_rate_of((const char *)sqlite3_column_text(select, 0), &rate);
        trial = sqlite3_column_int64(select, 1);
    }
    store_release(select);
    if (!found)
        return error_set(err, STATUS_NOT_FOUND, "cell %" PRId64 " is of no server", cell);
    if (rate < 0)
        TRY(capacity_of(store, trial, &capacity, err));
    *ret = rate < 0 ? saturation_share(-rate, capacity) : rate;
    *ret_capacity = capacity;
    return STATUS_OK;
}
