/* Events during a trial's window that a reader of its result should know. */
#include "harness/core/member.h"
#include "results/analysis/window_telemetry_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "protocols/stats/order.h"

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
    struct window_telemetry_channel channel;
    const char *reason = "";
    enum status status = window_telemetry_load(view, part, name, &channel, err);

    *ret = -1;
    if (status != STATUS_OK)
        return status;
    if (channel.series.count > 0 &&
        !energy_of_counter(&channel.series, 0, view->begin_ns, view->end_ns, ret, &reason))
        *ret = strstr(reason, "did not advance") ? 0 : -1;
    window_telemetry_channel_finish(&channel);
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
    struct text names;
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
    text_init(&names);
    for (size_t bit = 0; bit < 63; bit++)
        if (seen >> bit & 1) {
            const char *name = json_string_value(json_array_get(bits, bit));

            text_append_format(&names, "%s%s", names.length ? ", " : "", name ? name : "not named");
        }
    found(events, FINDING_DEVICE_THROTTLED, names.data, (double[]){(double)set / (double)moments});
    text_finish(&names);
}

static void clock_event(const struct events *events, const char *name,
                        const struct energy_series *series)
{
    int64_t *sorted = malloc((series->count + 1) * sizeof(*sorted));
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
    free(sorted);
}

static bool is_clock(const char *name)
{
    size_t length = strlen(name);

    return !strncmp(name, "clock_", 6) && !strstr(name, "memory") && length > 4 &&
           !strcmp(name + length - 4, "_khz");
}

static enum status device_channels(const struct events *events, const json_t *device)
{
    size_t i;
    json_t *described;

    json_array_foreach(json_object_get(device, "channels"), i, described)
    {
        const char *name = member_text(described, "name");
        struct window_telemetry_channel channel;
        bool mask = !strcmp(member_text(described, "kind"), "mask");
        enum status status;

        if (!mask && !is_clock(name))
            continue;
        status = window_telemetry_load(events->view, "device", name, &channel, events->err);
        if (status != STATUS_OK)
            return status;
        if (mask)
            mask_event(events, described, &channel.series);
        else
            clock_event(events, name, &channel.series);
        window_telemetry_channel_finish(&channel);
    }
    return STATUS_OK;
}

static const json_t *value_of(const json_t *readings, const char *name)
{
    return json_object_get(json_object_get(readings, name), "value");
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
        char *few = shortened(strangers);

        found(events, FINDING_DEVICE_SHARED, few ? few : strangers, NULL);
        free(few);
    }
    if (json_is_integer(before) && json_is_integer(after) &&
        json_integer_value(after) > json_integer_value(before))
        found(events, FINDING_MEMORY_ERRORS, NULL,
              (double[]){(double)(json_integer_value(after) - json_integer_value(before))});
}

static void lost_parts(const struct events *events)
{
    size_t i;
    json_t *part;

    json_array_foreach((json_t *)events->view->telemetry, i, part)
    {
        const char *status = member_text(part, "status");

        if (strcmp(status, "ok") && strcmp(status, "unavailable")) {
            char *subject =
                text_format("%s: %s", member_text(part, "part"), member_text(part, "message"));

            found(events, FINDING_TELEMETRY_GAP, subject, NULL);
            free(subject);
        }
    }
}

enum status window_telemetry_events(const struct window_telemetry_view *view,
                                    struct finding_list *findings, struct error *err)
{
    const struct events events = {view, findings, err};
    const json_t *device = window_telemetry_part(view, "device");
    enum status status = STATUS_OK;

    lost_parts(&events);
    if (!view->has_window)
        return STATUS_OK;
    if (window_telemetry_part(view, "host"))
        status = host_events(&events);
    if (status == STATUS_OK && device) {
        status = device_channels(&events, device);
        device_edges(&events, device);
    }
    return status;
}
