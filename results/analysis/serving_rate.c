#include "results/analysis/serving_rate.h"

#include <inttypes.h>

#include "harness/core/cleanup.h"
#include "protocols/serving/declared.h"
#include "protocols/serving/saturation.h"
#include "results/analysis/serving_log.h"
#include "results/store/store_internal.h"

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
    CLEANUP(statement_end) struct statement statement = {0};
    double rate = 0, capacity = 0;
    enum status status;

    TRY(statement_of(store, SATURATED, cell, &statement, err));
    if (!statement_next(&statement, &status, err) ||
        !serving_rate_of((const char *)sqlite3_column_text(statement.handle, 0), &rate))
        return status != STATUS_OK
                   ? status
                   : error_set(err, STATUS_NOT_FOUND, "cell %" PRId64 " is of no server", cell);
    if (rate < 0)
        TRY(capacity_of(store, sqlite3_column_int64(statement.handle, 1), &capacity, err));
    *ret = rate < 0 ? saturation_share(-rate, capacity) : rate;
    *ret_capacity = capacity;
    return STATUS_OK;
}
