#include "results/analysis/contention.h"

#include <sqlite3.h>

#include "results/analysis/window_telemetry.h"

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
    enum status status = growth(view, "cpu_busy_ms", &busy, &known, err);

    if (status == STATUS_OK)
        status = growth(view, "worker_cpu_ms", &own, &known, err);
    if (status == STATUS_OK)
        status = growth(view, "cpu_steal_ms", &steal, &known, err);
    if (status != STATUS_OK || !known)
        return status;
    sum->windows++;
    sum->seconds += (double)(view->end_ns - view->begin_ns) / 1e9;
    sum->others_cores += (busy - own) / 1e3;
    sum->worker_cores += own / 1e3;
    sum->steal_cores += steal / 1e3;
    return STATUS_OK;
}

static enum status failed(struct store *store, struct error *err)
{
    sqlite3 *db = store_connection(store);

    return error_set(err, sqlite3_errcode(db) == SQLITE_NOMEM ? STATUS_NO_MEMORY : STATUS_IO,
                     "%s: reading a campaign's telemetry: %s", store_path(store),
                     sqlite3_errmsg(db));
}

static enum status read_cores(struct store *store, int64_t campaign, int64_t *ret,
                              struct error *err)
{
    sqlite3_stmt *select = NULL;
    enum status status = STATUS_OK;
    int rc = store_prepare(store,
                           "SELECT value FROM conditions WHERE name = 'host.cpu.usable' AND"
                           " trial = (SELECT min(id) FROM trial WHERE campaign = ?1)"
                           " AND value IS NOT NULL LIMIT 1",
                           &select);

    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(select, 1, campaign);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(select);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(select, 0);
    else if (rc != SQLITE_DONE)
        status = failed(store, err);
    store_release(select);
    return status;
}

enum status contention_of_campaign(struct store *store, int64_t campaign, struct contention *ret,
                                   struct error *err)
{
    static const char sql[] =
        "SELECT t.id, p.begin_ns, p.end_ns FROM trial t JOIN trial_end e ON e.trial = t.id"
        " JOIN phase p ON p.trial = t.id AND p.name = 'window'"
        " WHERE t.campaign = ?1 AND e.status = 'ok' AND p.end_ns > p.begin_ns ORDER BY t.id";
    struct contention sum = {0};
    sqlite3_stmt *select = NULL;
    enum status status = read_cores(store, campaign, &sum.cores, err);
    int rc;

    if (status != STATUS_OK)
        return status;
    if (store_prepare(store, sql, &select) != SQLITE_OK ||
        sqlite3_bind_int64(select, 1, campaign) != SQLITE_OK) {
        store_release(select);
        return failed(store, err);
    }
    while (status == STATUS_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        const struct window_telemetry_view view = {.store = store,
                                                   .trial = sqlite3_column_int64(select, 0),
                                                   .has_window = true,
                                                   .begin_ns = sqlite3_column_int64(select, 1),
                                                   .end_ns = sqlite3_column_int64(select, 2)};

        status = add_window(&view, &sum, err);
    }
    if (status == STATUS_OK && rc != SQLITE_DONE)
        status = failed(store, err);
    store_release(select);
    if (status != STATUS_OK)
        return status;
    if (sum.windows > 0) {
        sum.others_cores = sum.others_cores > 0 ? sum.others_cores / sum.seconds : 0;
        sum.worker_cores /= sum.seconds;
        sum.steal_cores /= sum.seconds;
    }
    *ret = sum;
    return STATUS_OK;
}
