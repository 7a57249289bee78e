#include "results/analysis/window_telemetry.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "protocols/stats/distribution.h"
#include "protocols/stats/order.h"
#include "results/analysis/energy.h"
#include "results/store/store_internal.h"

/* A channel's values over time; series.count is 0 when there are none. Free times and values. */
struct channel {
    int64_t *times, *values;
    struct energy_series series;
};

#define WINDOW_LEAST_NS 10e9 /* counters move in steps of up to 100 ms */
#define POWER_TOLERANCE 0.05 /* of the integral of power against the counter */
#define COUNTER_STEP_S 0.1   /* either end of a window may lie inside such a step */

static enum status load_channel(const struct window_telemetry_view *view, const char *part,
                                const char *channel, struct channel *ret, struct error *err)
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

static void finish_channel(struct channel *channel)
{
    free(channel->times);
    free(channel->values);
    memset(channel, 0, sizeof(*channel));
}

static const json_t *part_of(const struct window_telemetry_view *view, const char *part)
{
    EACH(entry, view->telemetry)
        if (!strcmp(member_text(entry, "part"), part))
            return entry;
    return NULL;
}

/* ---- energy of one counter over all trials ---- */

struct account {
    json_t *json; /* its entry in "energy" */
    double *logs; /* of joules per iteration, one a trial that has it */
    size_t known;
    double joules, seconds;
};

/* ---- what happened in the window of a trial ---- */

#define STEAL_SHARE 0.02  /* of one processor's time */
#define OTHERS_SHARE 0.25 /* likewise */
#define CLOCK_DROP 0.95   /* of the window's median clock */

struct events {
    const struct window_telemetry_view *view;
    struct finding_list *findings;
    struct error *err;
};

static void found(const struct events *events, enum finding_code code, const char *subject,
                  const double *numbers)
{
    finding_add(events->findings, code, events->view->number, subject, numbers);
}

enum status window_telemetry_growth(const struct window_telemetry_view *view, const char *part,
                                    const char *name, double *ret, struct error *err)
{
    struct channel channel;
    const char *reason = "";
    enum status status = load_channel(view, part, name, &channel, err);

    *ret = -1;
    TRY(status);
    if (channel.series.count > 0 &&
        !energy_of_counter(&channel.series, 0, view->begin_ns, view->end_ns, ret, &reason))
        *ret = strstr(reason, "did not advance") ? 0 : -1;
    finish_channel(&channel);
    return STATUS_OK;
}

static enum status growth(const struct events *events, const char *name, double *ret)
{
    return window_telemetry_growth(events->view, "host", name, ret, events->err);
}

static enum status host_events(const struct events *events)
{
    double window_ms = (double)(events->view->end_ns - events->view->begin_ns) / 1e6;
    double steal, busy, own, periods, throttled;

    TRY(growth(events, "cpu_steal_ms", &steal));
    TRY(growth(events, "cpu_busy_ms", &busy));
    TRY(growth(events, "worker_cpu_ms", &own));
    TRY(growth(events, "cgroup_throttled_periods", &periods));
    TRY(growth(events, "cgroup_throttled_us", &throttled));
    /* Counters of processor time move in ticks of 10 ms: a few ticks are not significant. */
    if (steal > STEAL_SHARE * window_ms && steal >= 30)
        found(events, FINDING_STEAL, NULL, (double[]){steal / window_ms});
    if (busy >= 0 && own >= 0 && busy - own > OTHERS_SHARE * window_ms && busy - own >= 100)
        found(events, FINDING_CONTENTION, NULL, (double[]){(busy - own) / window_ms});
    if (periods >= 1)
        found(events, FINDING_CGROUP_THROTTLED, NULL,
              (double[]){periods, throttled > 0 ? throttled * 1e3 : 0});
    return STATUS_OK;
}

static bool in_window(const struct events *events, int64_t time)
{
    return time >= events->view->begin_ns && time <= events->view->end_ns;
}

/* Bits of masks that were set in the window, with the share of moments. */
static void mask_event(const struct events *events, const json_t *described,
                       const struct energy_series *series)
{
    const json_t *bits = json_object_get(described, "bits");
    size_t moments = 0, set = 0;
    CLEANUP(text_finish) struct text names = TEXT_INIT;
    int64_t seen = 0;

    for (size_t i = 0; i < series->count; i++) {
        int64_t counted = 0;

        if (series->values[i] == ENERGY_MISSING || !in_window(events, series->times[i]))
            continue;
        moments++;
        for (size_t bit = 0; bit < 63; bit++) {
            const char *name = json_string_value(json_array_get(bits, bit));

            /* A clock lowered by an idle device or by the user's own setting is not an event. */
            if (series->values[i] >> bit & 1 &&
                !(name && (strstr(name, "idle") || strstr(name, "setting"))))
                counted |= INT64_C(1) << bit;
        }
        seen |= counted;
        set += counted != 0;
    }
    if (set == 0)
        return;
    for (size_t bit = 0; bit < 63; bit++)
        if (seen >> bit & 1) {
            const char *name = json_string_value(json_array_get(bits, bit));

            text_append_format(&names, "%s%s", names.length ? ", " : "", name ? name : "not named");
        }
    found(events, FINDING_DEVICE_THROTTLED, names.data, (double[]){(double)set / (double)moments});
}

static void clock_event(const struct events *events, const char *name,
                        const struct energy_series *series)
{
    AUTO_FREE int64_t *sorted = malloc((series->count + 1) * sizeof(*sorted));
    size_t count = 0;

    for (size_t i = 0; sorted && i < series->count; i++)
        if (series->values[i] != ENERGY_MISSING && in_window(events, series->times[i]))
            sorted[count++] = series->values[i];
    if (count > 1) {
        order_sort(sorted, count);
        if ((double)sorted[0] < CLOCK_DROP * (double)sorted[count - 1])
            found(events, FINDING_CLOCK_MOVED, name,
                  (double[]){(double)sorted[0] * 1e3, (double)sorted[count - 1] * 1e3});
    }
}

static bool is_clock(const char *name)
{
    size_t length = strlen(name);

    return !strncmp(name, "clock_", 6) && !strstr(name, "memory") && length > 4 &&
           !strcmp(name + length - 4, "_khz");
}

static enum status device_channels(const struct events *events, const json_t *device)
{
    EACH(described, json_object_get(device, "channels")) {
        const char *name = member_text(described, "name");
        struct channel channel;
        bool mask = !strcmp(member_text(described, "kind"), "mask");

        if (!mask && !is_clock(name))
            continue;
        TRY(load_channel(events->view, "device", name, &channel, events->err));
        if (mask)
            mask_event(events, described, &channel.series);
        else
            clock_event(events, name, &channel.series);
        finish_channel(&channel);
    }
    return STATUS_OK;
}

static const json_t *value_of(const json_t *readings, const char *name)
{
    return member_in(readings, name, "value");
}

/* Of a list by "; " the first few, and how many more there are; heap, NULL: no memory. */
#define STRANGERS_NAMED 3
static char *shortened(const char *list)
{
    const char *end = list, *next;
    size_t named = 1, more = 0;

    while ((next = strstr(end, "; ")) != NULL && named < STRANGERS_NAMED) {
        end = next + 2;
        named++;
    }
    if (next == NULL)
        return strdup(list);
    for (const char *at = next; at != NULL; at = strstr(at + 2, "; "))
        more++;
    return text_format("%.*s; and %zu more", (int)(next - list), list, more);
}

/* The trial's own process has ended when the last readings are taken. */
static void device_edges(const struct events *events, const json_t *device)
{
    static const char errors[] = "device.ecc_uncorrected_total";
    const json_t *begin = json_object_get(device, "begin"), *end = json_object_get(device, "end");
    const char *strangers = json_string_value(value_of(end, "device.processes"));
    const json_t *before = value_of(begin, errors), *after = value_of(end, errors);

    if (strangers && strcmp(strangers, "none")) {
        AUTO_FREE char *few = shortened(strangers);

        found(events, FINDING_DEVICE_SHARED, few ? few : strangers, NULL);
    }
    if (json_is_integer(before) && json_is_integer(after) &&
        json_integer_value(after) > json_integer_value(before))
        found(events, FINDING_MEMORY_ERRORS, NULL,
              (double[]){(double)(json_integer_value(after) - json_integer_value(before))});
}

static void lost_parts(const struct events *events)
{
    EACH(part, events->view->telemetry) {
        const char *status = member_text(part, "status");

        if (strcmp(status, "ok") && strcmp(status, "unavailable")) {
            AUTO_FREE char *subject =
                text_format("%s: %s", member_text(part, "part"), member_text(part, "message"));

            found(events, FINDING_TELEMETRY_GAP, subject, NULL);
        }
    }
}

static enum status find_events(const struct window_telemetry_view *view,
                               struct finding_list *findings, struct error *err)
{
    const struct events events = {view, findings, err};
    const json_t *device = part_of(view, "device");

    lost_parts(&events);
    if (!view->has_window)
        return STATUS_OK;
    if (part_of(view, "host"))
        TRY(host_events(&events));
    if (!device)
        return STATUS_OK;
    TRY(device_channels(&events, device));
    device_edges(&events, device);
    return STATUS_OK;
}

/* ---- energy ---- */

/* Energy by a device's power channels, to check its counter: the least averaged channel first. */
static enum status power_energy(const struct window_telemetry_view *view, const char *part,
                                double *ret_j, bool *ret_known, struct error *err)
{
    static const char *const names[] = {"power_instant_mw", "power_mw", "power_average_mw"};

    *ret_known = false;
    for (size_t i = 0; i < 3 && !*ret_known && !strcmp(part, "device"); i++) {
        struct channel channel;
        const char *reason;

        TRY(load_channel(view, part, names[i], &channel, err));
        *ret_known = channel.series.count > 0 &&
                     energy_of_gauge(&channel.series, view->begin_ns, view->end_ns, ret_j, &reason);
        *ret_j /= 1000;
        finish_channel(&channel);
    }
    return STATUS_OK;
}

static enum status add_trial(const struct window_telemetry_view *view, const char *part,
                             const json_t *described, struct account *account,
                             struct finding_list *findings, struct error *err)
{
    const char *name = member_text(described, "name"), *reason = "it had no value in this trial";
    double joules = 0, by_power = 0, seconds = (double)(view->end_ns - view->begin_ns) / 1e9;
    struct channel channel;
    bool known, has_power = false;
    enum status status = STATUS_OK;

    TRY(load_channel(view, part, name, &channel, err));
    if (channel.series.count == 0 && member_text(described, "reason")[0])
        reason = member_text(described, "reason");
    known = view->has_window && channel.series.count > 0 &&
            energy_of_counter(&channel.series, member_integer(described, "wraps_at"),
                              view->begin_ns, view->end_ns, &joules, &reason);
    joules /= 1e6;
    if (known)
        status = power_energy(view, part, &by_power, &has_power, err);
    json_array_append_new(json_object_get(account->json, "trials"),
                          json_pack("{s:I, s:o, s:o, s:o, s:o}", "trial_number",
                                    (json_int_t)view->number, "joules",
                                    real_or_null(known ? joules : NAN), "joules_by_power",
                                    real_or_null(has_power ? by_power : NAN), "seconds",
                                    view->has_window ? json_real(seconds) : json_null(), "reason",
                                    known ? json_null() : json_string(reason)));
    finish_channel(&channel);
    if (!known) {
        json_object_set_new(account->json, "reason", json_string(reason));
        return status;
    }
    if (has_power && joules > 0 &&
        fabs(by_power - joules) > (POWER_TOLERANCE + 2 * COUNTER_STEP_S / seconds) * joules) {
        AUTO_FREE char *counter = text_format("%s.%s", part, name);

        finding_add(findings, FINDING_ENERGY_DISAGREES, view->number, counter,
                    (double[]){joules, by_power});
    }
    account->joules += joules;
    account->seconds += seconds;
    if (joules > 0 && view->iterations > 0)
        account->logs[account->known++] = log(joules / view->iterations);
    return status;
}

struct estimate_interval window_telemetry_between_trials(const double *logs, size_t count,
                                                         double confidence)
{
    const double n = (double)count;
    struct estimate_interval ret = {0};
    double mean = 0, squares = 0, half;

    for (size_t i = 0; i < count; i++)
        mean += logs[i] / n;
    for (size_t i = 0; i < count; i++)
        squares += (logs[i] - mean) * (logs[i] - mean);
    ret.has_value = count > 0;
    ret.value = exp(mean);
    if (count < 2)
        return ret;
    half = student_quantile(0.5 + confidence / 2, n - 1) * sqrt(squares / (n - 1) / n);
    ret.lo = exp(mean - half);
    ret.hi = exp(mean + half);
    ret.has_interval = isfinite(ret.hi);
    return ret;
}

static struct estimate_interval interval(const struct account *account, double confidence,
                                         double by)
{
    struct estimate_interval ret =
        window_telemetry_between_trials(account->logs, account->known, confidence);

    ret.value /= by;
    ret.lo /= by;
    ret.hi /= by;
    return ret;
}

static json_t *interval_json(const struct estimate_interval *interval)
{
    return json_pack("{s:o, s:o, s:o}", "value",
                     real_or_null(interval->has_value ? interval->value : NAN), "lo",
                     real_or_null(interval->has_interval ? interval->lo : NAN), "hi",
                     real_or_null(interval->has_interval ? interval->hi : NAN));
}

/* Packages together: the logs of sums, where every package was known in every trial. */
static bool sum_packages(const struct account *accounts, size_t count, size_t trials,
                         struct account *ret)
{
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        if (!strstr(member_text(accounts[i].json, "channel"), "_package-"))
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

/* Where every trial has both. */
static void set_good(struct estimate *estimate, const struct account *account,
                     const struct window_telemetry_view *views, size_t count, const char *item)
{
    struct estimate_interval per;
    double logs[1024];

    if (!item || account->known != count || count > sizeof(logs) / sizeof(*logs))
        return;
    for (size_t i = 0; i < count; i++) {
        if (!(views[i].good > 0))
            return;
        logs[i] = account->logs[i] + log(views[i].iterations / views[i].good);
    }
    per = window_telemetry_between_trials(logs, count, estimate->confidence);
    estimate_set_metric(estimate, METRIC_ENERGY_GOOD, &per, item, false);
}

static enum status set_metrics(struct estimate *estimate, const char *source,
                               const struct account *account,
                               const struct window_telemetry_work *work, struct error *err)
{
    const struct {
        enum metric_id id;
        int64_t amount;
    } rows[] = {{METRIC_ENERGY_ITERATION, 1},
                {METRIC_ENERGY_ITEM, work->items},
                {METRIC_ENERGY_OP, work->ops},
                {METRIC_ENERGY_BYTE, work->bytes}};
    const struct estimate_interval power = {.has_value = account->seconds > 0,
                                            .value = account->joules / account->seconds};

    estimate->energy_source = strdup(source);
    if (!estimate->energy_source)
        return error_no_memory(err);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct estimate_interval per =
            interval(account, estimate->confidence, (double)rows[i].amount);

        if (rows[i].amount > 0)
            estimate_set_metric(estimate, rows[i].id, &per, work->item, work->integers);
    }
    estimate_set_metric(estimate, METRIC_POWER, &power, NULL, false);
    return STATUS_OK;
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
        EACH(part, views[i].telemetry) {
            EACH(channel, json_object_get(part, "channels")) {
                AUTO_FREE char *key =
                    text_format("%s\n%s", member_text(part, "part"), member_text(channel, "name"));

                if (key && is_energy(member_text(channel, "name")) &&
                    !strcmp(member_text(channel, "kind"), "counter") &&
                    !json_object_get(counters, key))
                    json_object_set(counters, key, channel);
            }
        }
    }
    return counters;
}

/* Every counter over all trials; the one that the metrics come from. */
static enum status read_counters(const struct window_telemetry_view *views, size_t count,
                                 json_t *counters, struct account *accounts,
                                 struct estimate *estimate, const struct account **ret_device,
                                 struct error *err)
{
    json_t *described;
    const char *key;
    size_t n = 0;

    json_object_foreach(counters, key, described)
    {
        const char *name = strchr(key, '\n') + 1;
        struct account *account = &accounts[n++];
        struct estimate_interval per;
        char part[16];

        snprintf(part, sizeof(part), "%.*s", (int)(name - 1 - key), key);
        account->logs = calloc(count + 1, sizeof(double));
        account->json = json_pack("{s:s, s:s, s:s, s:n, s:[]}", "part", part, "channel", name,
                                  "source", member_text(described, "source"), "reason", "trials");
        if (!account->logs || !account->json)
            return error_no_memory(err);
        for (size_t i = 0; i < count; i++)
            TRY(add_trial(&views[i], part, described, account, &estimate->findings, err));
        per = interval(account, estimate->confidence, 1);
        json_object_set_new(account->json, "joules_per_iteration", interval_json(&per));
        json_array_append(estimate->energy, account->json);
        if (!strcmp(part, "device") && account->known > 0 && !*ret_device)
            *ret_device = account;
    }
    return STATUS_OK;
}

static enum status add_energy(const struct window_telemetry_view *views, size_t count,
                              bool device_is_cpu, const struct window_telemetry_work *work,
                              struct estimate *estimate, struct error *err)
{
    json_auto_t *counters = counters_of(views, count);
    size_t counter_count = json_object_size(counters);
    AUTO_FREE struct account *accounts = calloc(counter_count + 1, sizeof(*accounts));
    struct account packages = {.logs = calloc(count + 1, sizeof(double))};
    const struct account *device = NULL;
    enum status status = accounts && packages.logs ? STATUS_OK : error_no_memory(err);

    if (status == STATUS_OK && counter_count > 0) {
        estimate->energy = json_array();
        status = read_counters(views, count, counters, accounts, estimate, &device, err);
    }
    if (status == STATUS_OK && device)
        status = set_metrics(estimate, "device.energy_uj", device, work, err);
    else if (status == STATUS_OK && device_is_cpu &&
             sum_packages(accounts, counter_count, count, &packages))
        status = set_metrics(estimate, "host packages", &packages, work, err);
    if (status == STATUS_OK && estimate->energy_source)
        set_good(estimate, device ? device : &packages, views, count, work->good);
    if (status == STATUS_OK && estimate->energy_source && views[0].has_window &&
        (double)(views[0].end_ns - views[0].begin_ns) < 0.99 * WINDOW_LEAST_NS)
        finding_add(&estimate->findings, FINDING_ENERGY_SHORT, 0, NULL,
                    (double[]){WINDOW_LEAST_NS});
    for (size_t i = 0; accounts && i < counter_count; i++) {
        json_decref(accounts[i].json);
        free(accounts[i].logs);
    }
    free(packages.logs);
    return status;
}

/* ---- libraries that differ between trials ---- */

static enum status add_changes(struct store *store, int64_t cell, int64_t last_trial,
                               struct finding_list *findings, struct error *err)
{
    CLEANUP(statement_end) struct statement stacks = {0}, statement = {0};
    int64_t count = 0;
    enum status status;

    /* Most often all trials have one stack, which is quickly checked. */
    TRY(statement_of(store,
                     "SELECT count(DISTINCT s.stack) FROM trial t JOIN trial_stack s"
                     " ON s.trial = t.id WHERE t.cell = ?1 AND t.id <= ?2",
                     cell, &stacks, err));
    statement_i64(&stacks, last_trial);
    TRY(statement_single(&stacks, &count, err));
    if (count <= 1)
        return STATUS_OK;
    TRY(statement_of(
        store,
        "SELECT c.path, count(DISTINCT c.sha256) FROM trial t"
        " JOIN trial_stack s ON s.trial = t.id JOIN stack_member m ON m.stack = s.stack"
        " JOIN component c ON c.id = m.component WHERE t.cell = ?1 AND t.id <= ?2 AND c.sha256"
        " IS NOT NULL"
        " GROUP BY c.path HAVING count(DISTINCT c.sha256) > 1 ORDER BY c.path",
        cell, &statement, err));
    statement_i64(&statement, last_trial);
    while (statement_next(&statement, &status, err))
        finding_add(findings, FINDING_FILE_CHANGED, 0,
                    (const char *)sqlite3_column_text(statement.handle, 0),
                    (double[]){(double)sqlite3_column_int(statement.handle, 1)});
    return status;
}

/* ---- all of it ---- */

/* Integers of the first row of a SELECT about one id; false: there is no row. */
static bool ask(struct store *store, const char *sql, int64_t id, int64_t *ret, int count)
{
    sqlite3_stmt *select = NULL;
    const bool row = store_prepare(store, sql, &select) == SQLITE_OK &&
                     sqlite3_bind_int64(select, 1, id) == SQLITE_OK &&
                     sqlite3_step(select) == SQLITE_ROW;

    for (int i = 0; row && i < count; i++)
        ret[i] = sqlite3_column_int64(select, i);
    store_release(select);
    return row;
}

static bool has_telemetry(struct store *store, int64_t cell)
{
    return ask(store,
               "SELECT 1 FROM telemetry x JOIN trial t ON t.id = x.trial WHERE t.cell = ?1 LIMIT 1",
               cell, NULL, 0);
}

static bool is_cpu(struct store *store, int64_t trial)
{
    return ask(store,
               "SELECT 1 FROM trial_device t JOIN device d ON d.id = t.device"
               " WHERE t.trial = ?1 AND d.type = 'cpu'",
               trial, NULL, 0);
}

enum status window_telemetry_add(struct store *store, int64_t cell, int64_t last_trial,
                                 const struct window_telemetry_trial *trials, size_t count,
                                 const struct window_telemetry_work *work,
                                 struct estimate *estimate, struct error *err)
{
    struct window_telemetry_view *views = NULL;
    enum status status = add_changes(store, cell, last_trial, &estimate->findings, err);

    if (status != STATUS_OK || count == 0 || !has_telemetry(store, cell))
        return status;
    views = calloc(count + 1, sizeof(*views));
    if (!views)
        return error_no_memory(err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        int64_t window[2] = {0};

        views[i] = (struct window_telemetry_view){.store = store,
                                                  .trial = trials[i].trial,
                                                  .number = trials[i].number,
                                                  .iterations = trials[i].iterations,
                                                  .good = trials[i].good};
        views[i].has_window = ask(store,
                                  "SELECT begin_ns, end_ns FROM phase WHERE trial = ?1"
                                  " AND name = 'window' ORDER BY id DESC LIMIT 1",
                                  trials[i].trial, window, 2);
        views[i].begin_ns = window[0];
        views[i].end_ns = window[1];
        status = store_telemetry_json(store, trials[i].trial, &views[i].telemetry, err);
        if (status == STATUS_OK)
            status = find_events(&views[i], &estimate->findings, err);
    }
    if (status == STATUS_OK)
        status = add_energy(views, count, is_cpu(store, trials[0].trial), work, estimate, err);
    for (size_t i = 0; i < count; i++)
        json_decref(views[i].telemetry);
    free(views);
    return status;
}
