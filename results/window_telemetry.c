#include "results/window_telemetry_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/text.h"
#include "protocols/stats/distribution.h"

#define WINDOW_LEAST_S 10    /* counters move in steps of up to 100 ms */
#define POWER_TOLERANCE 0.05 /* of the integral of power against the counter */

static const char *member(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no memory for the telemetry of a result");
}

enum status window_telemetry_load(const struct window_telemetry_view *view, const char *part,
                                  const char *channel, struct window_telemetry_channel *ret,
                                  struct error *err)
{
    size_t count = 0;
    enum status status;

    memset(ret, 0, sizeof(*ret));
    status = store_load_telemetry(view->store, view->trial, part, channel, ENERGY_MISSING,
                                  &ret->times, &ret->values, &count, err);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    ret->series = (struct energy_series){ret->times, ret->values, count};
    return status;
}

void window_telemetry_channel_finish(struct window_telemetry_channel *channel)
{
    free(channel->times);
    free(channel->values);
    memset(channel, 0, sizeof(*channel));
}

const json_t *window_telemetry_part(const struct window_telemetry_view *view, const char *part)
{
    size_t i;
    json_t *entry;

    json_array_foreach((json_t *)view->telemetry, i, entry)
    {
        if (!strcmp(member(entry, "part"), part))
            return entry;
    }
    return NULL;
}

/* ---- energy of one counter over all trials ---- */

struct account {
    json_t *json; /* its entry in "energy" */
    double *logs; /* of joules per iteration, one a trial that has it */
    size_t known;
    double joules, seconds;
};

/* The channel of power beside a device's counter: what is nearest to this moment first. */
static enum status power_beside(const struct window_telemetry_view *view, const char *part,
                                double *ret_j, bool *ret_known, struct error *err)
{
    static const char *const names[] = {"power_instant_mw", "power_mw", "power_average_mw"};

    *ret_known = false;
    for (size_t i = 0; i < 3 && !*ret_known && !strcmp(part, "device"); i++) {
        struct window_telemetry_channel channel;
        const char *reason;
        enum status status = window_telemetry_load(view, part, names[i], &channel, err);

        if (status != STATUS_OK)
            return status;
        *ret_known = channel.series.count > 0 &&
                     energy_of_gauge(&channel.series, view->begin_ns, view->end_ns, ret_j, &reason);
        *ret_j /= 1000;
        window_telemetry_channel_finish(&channel);
    }
    return STATUS_OK;
}

static enum status add_trial(const struct window_telemetry_view *view, const char *part,
                             const json_t *described, struct account *account, json_t *warnings,
                             struct error *err)
{
    const char *name = member(described, "name"), *reason = "it had no value in this trial";
    double joules = 0, by_power = 0, seconds = (double)(view->end_ns - view->begin_ns) / 1e9;
    struct window_telemetry_channel channel;
    bool known, has_power = false;
    enum status status = window_telemetry_load(view, part, name, &channel, err);

    if (status != STATUS_OK)
        return status;
    if (channel.series.count == 0 && member(described, "reason")[0])
        reason = member(described, "reason");
    known = view->has_window && channel.series.count > 0 &&
            energy_of_counter(&channel.series,
                              json_integer_value(json_object_get(described, "wraps_at")),
                              view->begin_ns, view->end_ns, &joules, &reason);
    joules /= 1e6;
    if (known)
        status = power_beside(view, part, &by_power, &has_power, err);
    json_array_append_new(json_object_get(account->json, "trials"),
                          json_pack("{s:I, s:o, s:o, s:o, s:o}", "trial", (json_int_t)view->trial,
                                    "joules", known ? json_real(joules) : json_null(),
                                    "joules_by_power",
                                    has_power ? json_real(by_power) : json_null(), "seconds",
                                    view->has_window ? json_real(seconds) : json_null(), "reason",
                                    known ? json_null() : json_string(reason)));
    window_telemetry_channel_finish(&channel);
    if (!known) {
        json_object_set_new(account->json, "reason", json_string(reason));
        return status;
    }
    if (has_power && joules > 0 && fabs(by_power - joules) > POWER_TOLERANCE * joules) {
        char *words = text_format("trial %zu: %s.%s counts %.4g J over the window, the integral of "
                                  "its power is %.4g J: one of the two misses something",
                                  view->number, part, name, joules, by_power);

        json_array_append_new(warnings, words ? json_string(words) : NULL);
        free(words);
    }
    account->joules += joules;
    account->seconds += seconds;
    if (joules > 0 && view->iterations > 0)
        account->logs[account->known++] = log(joules / view->iterations);
    return status;
}

/* Mean on the log scale over trials, with t on R - 1. */
static json_t *interval(const double *logs, size_t count, double confidence, double by)
{
    double mean = 0, squares = 0, half;

    for (size_t i = 0; i < count; i++)
        mean += logs[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (logs[i] - mean) * (logs[i] - mean);
    if (count == 0)
        return json_pack("{s:n, s:n, s:n}", "value", "lo", "hi");
    if (count == 1)
        return json_pack("{s:f, s:n, s:n}", "value", exp(mean) / by, "lo", "hi");
    half = student_quantile(0.5 + confidence / 2, (double)count - 1) *
           sqrt(squares / (double)(count - 1) / (double)count);
    if (!isfinite(exp(mean + half)))
        return json_pack("{s:f, s:n, s:n}", "value", exp(mean) / by, "lo", "hi");
    return json_pack("{s:f, s:f, s:f}", "value", exp(mean) / by, "lo", exp(mean - half) / by, "hi",
                     exp(mean + half) / by);
}

static void set_per(json_t *estimate, const char *key, const struct account *account,
                    double confidence, double by)
{
    if (by > 0)
        json_object_set_new(estimate, key, interval(account->logs, account->known, confidence, by));
}

/* Packages together: the logs of sums, where every package was known in every trial. */
static bool sum_packages(const struct account *accounts, size_t count, size_t trials,
                         struct account *ret)
{
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        if (!strstr(member(accounts[i].json, "channel"), "_package-"))
            continue;
        if (accounts[i].known != trials)
            return false;
        for (size_t t = 0; t < trials; t++)
            ret->logs[t] =
                any ? log(exp(ret->logs[t]) + exp(accounts[i].logs[t])) : accounts[i].logs[t];
        ret->joules += accounts[i].joules;
        ret->seconds = accounts[i].seconds;
        any = true;
    }
    ret->known = any ? trials : 0;
    return any;
}

static void set_headline(json_t *estimate, const char *source, const struct account *account,
                         const struct window_telemetry_work *work, double confidence)
{
    json_object_set_new(estimate, "energy_source", json_string(source));
    set_per(estimate, "energy_per_iteration_j", account, confidence, 1);
    set_per(estimate, "energy_per_item_j", account, confidence, (double)work->items);
    set_per(estimate, "energy_per_flop_j", account, confidence, (double)work->flops);
    set_per(estimate, "energy_per_byte_j", account, confidence, (double)work->bytes);
    if (account->seconds > 0)
        json_object_set_new(estimate, "mean_power_w",
                            json_real(account->joules / account->seconds));
}

static bool is_energy(const char *name)
{
    size_t length = strlen(name), end = strlen("energy_uj");

    return length >= end && !strcmp(name + length - end, "energy_uj");
}

/* Every energy counter that any trial's telemetry describes, "part\nname" -> description. */
static json_t *counters_of(const struct window_telemetry_view *views, size_t count)
{
    json_t *counters = json_object();

    for (size_t i = 0; i < count; i++) {
        size_t p, c;
        json_t *part, *channel;

        json_array_foreach((json_t *)views[i].telemetry, p, part)
        {
            json_array_foreach(json_object_get(part, "channels"), c, channel)
            {
                char *key = text_format("%s\n%s", member(part, "part"), member(channel, "name"));

                if (key && is_energy(member(channel, "name")) &&
                    !strcmp(member(channel, "kind"), "counter") && !json_object_get(counters, key))
                    json_object_set(counters, key, channel);
                free(key);
            }
        }
    }
    return counters;
}

static enum status add_energy(const struct window_telemetry_view *views, size_t count,
                              bool device_is_cpu, const struct window_telemetry_work *work,
                              double confidence, json_t *estimate, struct error *err)
{
    json_t *counters = counters_of(views, count), *list = json_array(), *described;
    json_t *warnings = json_object_get(estimate, "warnings");
    size_t counter_count = json_object_size(counters), n = 0;
    struct account *accounts = calloc(counter_count + 1, sizeof(*accounts));
    struct account packages = {.logs = calloc(count + 1, sizeof(double))};
    const struct account *device = NULL;
    const char *key;
    enum status status = accounts && packages.logs ? STATUS_OK : no_memory(err);

    json_object_foreach(counters, key, described)
    {
        const char *name = strchr(key, '\n') + 1;
        struct account *account = &accounts[n++];
        char part[16];

        if (status != STATUS_OK)
            break;
        snprintf(part, sizeof(part), "%.*s", (int)(name - 1 - key), key);
        account->logs = calloc(count + 1, sizeof(double));
        account->json = json_pack("{s:s, s:s, s:s, s:n, s:[]}", "part", part, "channel", name,
                                  "source", member(described, "source"), "reason", "trials");
        if (!account->logs || !account->json) {
            status = no_memory(err);
            break;
        }
        for (size_t i = 0; i < count && status == STATUS_OK; i++)
            status = add_trial(&views[i], part, described, account, warnings, err);
        json_object_set_new(account->json, "joules_per_iteration",
                            interval(account->logs, account->known, confidence, 1));
        json_array_append(list, account->json);
        if (!strcmp(part, "device") && account->known > 0 && !device)
            device = account;
    }
    if (status == STATUS_OK && counter_count > 0)
        json_object_set(estimate, "energy", list);
    if (status == STATUS_OK && device)
        set_headline(estimate, "device.energy_uj", device, work, confidence);
    else if (status == STATUS_OK && device_is_cpu &&
             sum_packages(accounts, counter_count, count, &packages))
        set_headline(estimate, "host packages", &packages, work, confidence);
    if (status == STATUS_OK && json_object_get(estimate, "energy_source") && views[0].has_window &&
        (double)(views[0].end_ns - views[0].begin_ns) < 0.99e9 * WINDOW_LEAST_S)
        json_array_append_new(warnings,
                              json_string("energy comes from windows shorter than 10 s, over which "
                                          "a counter's steps show: use protocol standard"));
    for (size_t i = 0; accounts && i < counter_count; i++) {
        json_decref(accounts[i].json);
        free(accounts[i].logs);
    }
    free(accounts);
    free(packages.logs);
    json_decref(list);
    json_decref(counters);
    return status;
}

/* ---- libraries that differ between trials ---- */

/* Most often all trials stand on one stack, which is quickly seen. */
static bool has_one_stack(sqlite3 *db, int64_t cell)
{
    sqlite3_stmt *select = NULL;
    bool one = sqlite3_prepare_v2(db,
                                  "SELECT count(DISTINCT s.stack) FROM trial t JOIN trial_stack s"
                                  " ON s.trial = t.id WHERE t.cell = ?1",
                                  -1, &select, NULL) == SQLITE_OK &&
               sqlite3_bind_int64(select, 1, cell) == SQLITE_OK &&
               sqlite3_step(select) == SQLITE_ROW && sqlite3_column_int64(select, 0) <= 1;

    sqlite3_finalize(select);
    return one;
}

static enum status add_changes(struct store *store, int64_t cell, json_t *warnings,
                               struct error *err)
{
    sqlite3_stmt *select = NULL;
    sqlite3 *db = store_connection(store);
    int rc;

    if (has_one_stack(db, cell))
        return STATUS_OK;
    rc = sqlite3_prepare_v2(
        db,
        "SELECT c.path, count(DISTINCT c.sha256) FROM trial t"
        " JOIN trial_stack s ON s.trial = t.id JOIN stack_member m ON m.stack = s.stack"
        " JOIN component c ON c.id = m.component WHERE t.cell = ?1 AND c.sha256 IS NOT NULL"
        " GROUP BY c.path HAVING count(DISTINCT c.sha256) > 1 ORDER BY c.path",
        -1, &select, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(select, 1, cell);
    while (rc == SQLITE_OK && sqlite3_step(select) == SQLITE_ROW) {
        char *words = text_format("%s changed while the campaign ran: its trials stand on %d "
                                  "different files; run it again on one",
                                  (const char *)sqlite3_column_text(select, 0),
                                  sqlite3_column_int(select, 1));

        json_array_append_new(warnings, words ? json_string(words) : NULL);
        free(words);
    }
    rc = sqlite3_finalize(select);
    return rc == SQLITE_OK ? STATUS_OK
                           : error_set(err, STATUS_IO, "%s: reading a result: %s",
                                       store_path(store), sqlite3_errmsg(db));
}

/* ---- all of it ---- */

static bool has_telemetry(struct store *store, int64_t cell)
{
    sqlite3_stmt *select = NULL;
    bool any = sqlite3_prepare_v2(store_connection(store),
                                  "SELECT 1 FROM telemetry x JOIN trial t ON t.id = x.trial"
                                  " WHERE t.cell = ?1 LIMIT 1",
                                  -1, &select, NULL) == SQLITE_OK &&
               sqlite3_bind_int64(select, 1, cell) == SQLITE_OK &&
               sqlite3_step(select) == SQLITE_ROW;

    sqlite3_finalize(select);
    return any;
}

static bool ask_window(struct store *store, struct window_telemetry_view *view)
{
    sqlite3_stmt *select = NULL;
    bool row = sqlite3_prepare_v2(store_connection(store),
                                  "SELECT begin_ns, end_ns FROM phase WHERE trial = ?1"
                                  " AND name = 'window' ORDER BY id DESC LIMIT 1",
                                  -1, &select, NULL) == SQLITE_OK &&
               sqlite3_bind_int64(select, 1, view->trial) == SQLITE_OK &&
               sqlite3_step(select) == SQLITE_ROW;

    if (row) {
        view->begin_ns = sqlite3_column_int64(select, 0);
        view->end_ns = sqlite3_column_int64(select, 1);
    }
    sqlite3_finalize(select);
    return row;
}

static bool is_cpu(struct store *store, int64_t trial)
{
    sqlite3_stmt *select = NULL;
    bool cpu = sqlite3_prepare_v2(store_connection(store),
                                  "SELECT 1 FROM trial_device t JOIN device d ON d.id = t.device"
                                  " WHERE t.trial = ?1 AND d.type = 'cpu'",
                                  -1, &select, NULL) == SQLITE_OK &&
               sqlite3_bind_int64(select, 1, trial) == SQLITE_OK &&
               sqlite3_step(select) == SQLITE_ROW;

    sqlite3_finalize(select);
    return cpu;
}

enum status window_telemetry_add(struct store *store, int64_t cell,
                                 const struct window_telemetry_trial *trials, size_t count,
                                 const struct window_telemetry_work *work, double confidence,
                                 json_t *estimate, struct error *err)
{
    json_t *warnings = json_object_get(estimate, "warnings");
    struct window_telemetry_view *views = NULL;
    enum status status = add_changes(store, cell, warnings, err);

    if (status != STATUS_OK || count == 0 || !has_telemetry(store, cell))
        return status;
    views = calloc(count + 1, sizeof(*views));
    if (!views)
        return no_memory(err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        views[i] = (struct window_telemetry_view){.store = store,
                                                  .trial = trials[i].trial,
                                                  .number = i,
                                                  .iterations = trials[i].iterations};
        views[i].has_window = ask_window(store, &views[i]);
        status = store_telemetry_json(store, trials[i].trial, &views[i].telemetry, err);
        if (status == STATUS_OK)
            status = window_telemetry_events(&views[i], warnings, err);
    }
    if (status == STATUS_OK)
        status = add_energy(views, count, is_cpu(store, trials[0].trial), work, confidence,
                            estimate, err);
    for (size_t i = 0; i < count; i++)
        json_decref(views[i].telemetry);
    free(views);
    return status;
}
