#include "results/analysis/contention.h"

#include "harness/core/cleanup.h"
#include "results/analysis/window_telemetry.h"
#include "results/store/store_internal.h"

/* Growth of a host counter over the window, in ms of processor time. */
static enum status growth(const struct window_telemetry_view *view, const char *name,
                          double *ret_ms, bool *known, struct error *err)
{
    enum status status = window_telemetry_growth(view, "host", name, ret_ms, err);

    *known = *known && *ret_ms >= 0;
    return status;
}

static enum status add_window(const struct window_telemetry_view *view, struct contention *sum,
                              struct error *err)
{
    double busy, own, steal;
    bool known = true;

    TRY(growth(view, "cpu_busy_ms", &busy, &known, err));
    TRY(growth(view, "worker_cpu_ms", &own, &known, err));
    TRY(growth(view, "cpu_steal_ms", &steal, &known, err));
    if (!known)
        return STATUS_OK;
    sum->windows++;
    sum->seconds += (double)(view->end_ns - view->begin_ns) / 1e9;
    sum->others_cores += (busy - own) / 1e3;
    sum->worker_cores += own / 1e3;
    sum->steal_cores += steal / 1e3;
    return STATUS_OK;
}

static enum status read_cores(struct store *store, int64_t campaign, int64_t *ret,
                              struct error *err)
{
    const enum status status =
        store_ask(store,
                  "SELECT value FROM conditions WHERE name = 'host.cpu.usable' AND"
                  " trial = (SELECT min(id) FROM trial WHERE campaign = ?1)"
                  " AND value IS NOT NULL LIMIT 1",
                  campaign, ret, err);

    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

enum status contention_of_campaign(struct store *store, int64_t campaign, struct contention *ret,
                                   struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    struct contention sum = {0};
    enum status status;

    TRY(read_cores(store, campaign, &sum.cores, err));
    TRY(statement_of(store,
                     "SELECT t.id, p.begin_ns, p.end_ns FROM trial t JOIN trial_end e ON"
                     " e.trial = t.id JOIN phase p ON p.trial = t.id AND p.name = 'window'"
                     " WHERE t.campaign = ?1 AND e.status = 'ok' AND p.end_ns > p.begin_ns"
                     " ORDER BY t.id",
                     campaign, &statement, err));
    while (statement_next(&statement, &status, err)) {
        const struct window_telemetry_view view = {
            .store = store,
            .trial = sqlite3_column_int64(statement.handle, 0),
            .has_window = true,
            .begin_ns = sqlite3_column_int64(statement.handle, 1),
            .end_ns = sqlite3_column_int64(statement.handle, 2)};

        TRY(add_window(&view, &sum, err));
    }
    TRY(status);
    if (sum.windows > 0) {
        sum.others_cores = sum.others_cores > 0 ? sum.others_cores / sum.seconds : 0;
        sum.worker_cores /= sum.seconds;
        sum.steal_cores /= sum.seconds;
    }
    *ret = sum;
    return STATUS_OK;
}
