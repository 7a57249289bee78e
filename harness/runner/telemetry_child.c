#include "harness/runner/telemetry_child.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "backends/backend.h"
#include "backends/telemetry.h"
#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "harness/core/crash_context.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "harness/runner/telemetry_host.h"

#define DUMP_MAX ((size_t)8 << 20)

static void say(json_t *words)
{
    char *line = words ? json_dumps(words, JSON_COMPACT) : NULL;

    if (line && file_write_all(TELEMETRY_WORDS_FD, line, strlen(line), NULL) == STATUS_OK)
        file_write_all(TELEMETRY_WORDS_FD, "\n", 1, NULL);
    free(line);
    json_decref(words);
}

static const char *const kind_names[] = {
    [TELEMETRY_GAUGE] = "gauge", [TELEMETRY_COUNTER] = "counter", [TELEMETRY_MASK] = "mask"};

static json_t *channel_json(const struct telemetry_channel *channel)
{
    json_t *json =
        json_pack("{s:o, s:s, s:o}", "name", printable_or_null(channel->name), "kind",
                  kind_names[channel->kind], "source", printable_or_null(channel->source));
    json_t *bits = channel->bits ? json_array() : NULL;

    for (size_t i = 0; bits && channel->bits[i]; i++)
        json_array_append_new(bits, json_string(channel->bits[i]));
    if (bits)
        json_object_set_new(json, "bits", bits);
    if (channel->wraps_at > 0 && channel->wraps_at <= INT64_MAX)
        json_object_set_new(json, "wraps_at", json_integer((json_int_t)channel->wraps_at));
    if (channel->reason[0])
        json_object_set_new(json, "reason", printable_or_null(channel->reason));
    return json;
}

static void say_channels(const struct telemetry *telemetry)
{
    json_t *channels = json_array();

    for (size_t i = 0; i < telemetry->channel_count; i++)
        json_array_append_new(channels, channel_json(&telemetry->channels[i]));
    say(json_pack("{s:o}", "channels", channels));
}

static void say_readings(struct telemetry *telemetry)
{
    struct reading_list list;
    struct error err = ERROR_INIT;

    if (!telemetry->ops->edges)
        return;
    reading_list_init(&list);
    if (telemetry_edges(telemetry, &list, &err) == STATUS_OK && !list.failed)
        say(json_pack("{s:o}", "readings", reading_list_to_json(&list)));
    reading_list_finish(&list);
}

static void say_dump(struct telemetry *telemetry)
{
    char *dump = NULL;

    if (telemetry->ops->dump && telemetry_dump(telemetry, &dump, NULL) == STATUS_OK &&
        strlen(dump) <= DUMP_MAX && text_is_utf8(dump, strlen(dump)))
        say(json_pack("{s:s}", "dump", dump));
    free(dump);
}

/*
 * True when the harness ends the sampling. Waits until `deadline_ns` or for a request of the
 * harness.
 */
static bool wait_for_word(int64_t deadline_ns)
{
    struct pollfd fd = {TELEMETRY_CONTROL_FD, POLLIN, 0};
    int64_t left_ns = deadline_ns - clock_monotonic_ns();
    struct timespec timeout = {left_ns > 0 ? left_ns / 1000000000 : 0,
                               left_ns > 0 ? left_ns % 1000000000 : 0};
    char bytes[64];

    if (ppoll(&fd, 1, &timeout, NULL) <= 0)
        return false;
    return read(TELEMETRY_CONTROL_FD, bytes, sizeof(bytes)) <= 0;
}

struct sampling {
    struct telemetry *telemetry;
    int64_t *row; /* room for a row */
    int64_t lost;
    struct error last;
};

/* False when the file of rows is full. */
static bool take_row(struct sampling *sampling)
{
    struct telemetry *telemetry = sampling->telemetry;
    int64_t *values = sampling->row + TELEMETRY_ROW_HEAD;
    struct error err = ERROR_INIT;

    sampling->row[0] = clock_monotonic_ns();
    if (telemetry_read(telemetry, values, &err) != STATUS_OK) {
        sampling->lost++;
        sampling->last = err;
        for (size_t i = 0; i < telemetry->channel_count; i++)
            values[i] = TELEMETRY_MISSING;
    }
    sampling->row[1] = clock_monotonic_ns();
    return file_write_all(TELEMETRY_ROWS_FD, sampling->row,
                          (TELEMETRY_ROW_HEAD + telemetry->channel_count) * sizeof(int64_t),
                          NULL) == STATUS_OK;
}

static void sample(struct sampling *sampling, int64_t interval_ns)
{
    int64_t next_ns = clock_monotonic_ns();
    bool over = false;

    while (take_row(sampling) && !over) {
        int64_t now_ns = clock_monotonic_ns();

        /* Ticks that were missed are not made up for: they would only crowd together. */
        while (next_ns <= now_ns)
            next_ns += interval_ns;
        over = wait_for_word(next_ns);
    }
    if (sampling->lost > 0) {
        json_t *message = printable_or_null(sampling->last.message);

        say(json_pack("{s:I, s:o}", "lost", (json_int_t)sampling->lost, "message", message));
    }
}

static enum status open_part(const char *part, int64_t worker, struct telemetry **ret,
                             struct error *err)
{
    const char *colon = strrchr(part, ':');
    struct backend *backend;
    char name[64];
    int64_t index;

    if (!strcmp(part, "host"))
        return telemetry_host_open((pid_t)worker, ret, err);
    if (!colon || (size_t)(colon - part) >= sizeof(name) || !text_parse_i64(colon + 1, &index) ||
        index < 0 || index > UINT32_MAX)
        return error_set(err, STATUS_INVALID, "\"%s\" is not a device such as cuda:0", part);
    memcpy(name, part, (size_t)(colon - part));
    name[colon - part] = '\0';
    backend = backend_find(name);
    if (!backend)
        return error_set(err, STATUS_NOT_FOUND, "there is no backend \"%s\"", name);
    return backend_telemetry_open(backend, (uint32_t)index, ret, err);
}

int telemetry_child_main(const char *part, const char *interval, const char *worker,
                         const char *dump)
{
    struct sampling sampling = {0};
    struct error err = ERROR_INIT;
    int64_t interval_ns, worker_pid;
    enum status status;

    if (!text_parse_i64(interval, &interval_ns) || interval_ns < 1000000 ||
        !text_parse_i64(worker, &worker_pid)) {
        log_error("`assay telemetry` is started by `assay run`, not by hand");
        return 2;
    }
    crash_context_begin();
    status = open_part(part, worker_pid, &sampling.telemetry, &err);
    if (status == STATUS_OK && sampling.telemetry->channel_count > TELEMETRY_CHANNELS_MAX)
        status = error_set(&err, STATUS_INTERNAL, "%s has more than %d channels", part,
                           TELEMETRY_CHANNELS_MAX);
    if (status == STATUS_OK) {
        sampling.row =
            calloc(TELEMETRY_ROW_HEAD + sampling.telemetry->channel_count, sizeof(*sampling.row));
        if (!sampling.row)
            status = error_no_memory(&err);
    }
    if (status != STATUS_OK) {
        say(json_pack("{s:s, s:o}", "failed", status_name(status), "message",
                      printable_or_null(err.message)));
        telemetry_close(sampling.telemetry);
        crash_context_end();
        return 0;
    }
    say_channels(sampling.telemetry);
    say_readings(sampling.telemetry);
    sample(&sampling, interval_ns);
    say_readings(sampling.telemetry);
    if (!strcmp(dump, "dump"))
        say_dump(sampling.telemetry);
    free(sampling.row);
    telemetry_close(sampling.telemetry);
    crash_context_end();
    return 0;
}
