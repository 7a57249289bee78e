#include "harness/runner/telemetry_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/telemetry.h"
#include "harness/core/canonical.h"
#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "harness/core/child_output.h"
#include "harness/runner/telemetry_child.h"
#include "harness/runner/tool.h"

#define POLL_NS ((int64_t)10000000)
#define END_GRACE_NS (2 * (int64_t)1000000000)
#define DUMP_GRACE_NS (10 * (int64_t)1000000000)
#define STOP_GRACE_NS ((int64_t)1000000000)
#define WORDS_MAX ((size_t)16 << 20)
#define ROWS_MAX                                                                                   \
    ((size_t)256 << 20) /* a day of 64 channels at 5 Hz; memory is taken as it fills               \
                         */

static void close_all(struct telemetry_watch *watch)
{
    int *fds[] = {&watch->control_fd, &watch->output_fd, &watch->rows_fd, &watch->error_fd};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

enum status telemetry_watch_start(const struct telemetry_watch_options *options,
                                  struct telemetry_watch *ret, struct error *err)
{
    struct telemetry_watch watch = {
        .control_fd = -1, .output_fd = -1, .rows_fd = -1, .error_fd = -1};
    char interval[32], worker[32];
    char *path = NULL;
    int control[2] = {-1, -1};
    enum status status;

    TRY(tool_path(&path, err));
    snprintf(interval, sizeof(interval), "%" PRId64, options->interval_ns);
    snprintf(worker, sizeof(worker), "%d", (int)options->worker);
    watch.output_fd = file_open_memory("assay-telemetry-words", WORDS_MAX);
    watch.rows_fd = file_open_memory("assay-telemetry-rows", ROWS_MAX);
    watch.error_fd = child_output_open("assay-telemetry-errors");
    if (watch.output_fd < 0 || watch.rows_fd < 0 || watch.error_fd < 0 ||
        pipe2(control, O_CLOEXEC | O_NONBLOCK) < 0) {
        status = error_set_errno(err, errno, "memory and a pipe for telemetry");
    } else {
        char *argv[] = {path,
                        (char *)"telemetry",
                        (char *)options->part,
                        interval,
                        worker,
                        (char *)(options->dump ? "dump" : "-"),
                        NULL};
        struct process_fd fds[] = {{control[0], TELEMETRY_CONTROL_FD},
                                   {watch.error_fd, STDERR_FILENO},
                                   {watch.output_fd, TELEMETRY_WORDS_FD},
                                   {watch.rows_fd, TELEMETRY_ROWS_FD}};
        struct process_options process = {.path = path,
                                          .argv = argv,
                                          .envp = options->envp,
                                          .root = options->root,
                                          .fds = fds,
                                          .fd_count = sizeof(fds) / sizeof(fds[0])};

        watch.control_fd = control[1];
        watch.dump = options->dump;
        status = process_spawn(&process, &watch.process, err);
    }
    if (control[0] >= 0)
        close(control[0]);
    free(path);
    if (status == STATUS_OK)
        *ret = watch;
    else
        close_all(&watch);
    return status;
}

static bool has_ended(const struct telemetry_watch *watch)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)watch->process.pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
}

void telemetry_watch_wait(const struct telemetry_watch *watch, int64_t limit_ns)
{
    const int64_t deadline = clock_monotonic_ns() + limit_ns;
    off_t first = 0, at;

    /* The offset of what the child writes is shared with it. */
    while (clock_monotonic_ns() < deadline && !has_ended(watch)) {
        at = lseek(watch->rows_fd, 0, SEEK_CUR);
        if (first > 0 && at > first)
            return;
        if (at > 0 && first == 0)
            first = at;
        clock_sleep_until_ns(clock_monotonic_ns() + POLL_NS);
    }
}

void telemetry_watch_mark(struct telemetry_watch *watch)
{
    /* A full pipe belongs to a child that hangs; there is nothing to add. */
    if (watch->control_fd >= 0 && write(watch->control_fd, "!", 1) < 0)
        return;
}

/* ---- what is left ---- */

/* What was written so far: the offset is shared with the child. Heap, NUL-terminated. */
static char *read_memory(int fd, size_t max, size_t *ret_length)
{
    off_t end = lseek(fd, 0, SEEK_CUR);
    size_t length = end > 0 ? (size_t)end : 0, got = 0;
    char *bytes;

    if (length > max)
        length = max;
    bytes = malloc(length + 1);
    while (bytes && got < length) {
        ssize_t part = pread(fd, bytes + got, length - got, (off_t)got);

        if (part <= 0)
            break;
        got += (size_t)part;
    }
    if (bytes)
        bytes[got] = '\0';
    *ret_length = got;
    return bytes;
}

static bool is_short_text(const json_t *json)
{
    return json_is_string(json) && json_string_length(json) < TELEMETRY_WORD_MAX;
}

/* Only names that can be part of a series' name, each once. */
static bool is_channel(const json_t *channel)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    const char *name = member_string(channel, "name");
    const char *kind = member_string(channel, "kind");
    const json_t *reason = json_object_get(channel, "reason");
    const json_t *wraps_at = json_object_get(channel, "wraps_at");

    return name && name[0] && strlen(name) < TELEMETRY_WORD_MAX && !name[strspn(name, letters)] &&
           kind && (!strcmp(kind, "gauge") || !strcmp(kind, "counter") || !strcmp(kind, "mask")) &&
           is_short_text(json_object_get(channel, "source")) &&
           (!reason || is_short_text(reason)) &&
           (!wraps_at || (json_is_integer(wraps_at) && json_integer_value(wraps_at) > 0));
}

static bool are_channels(const json_t *channels)
{
    size_t count = json_array_size(channels);

    if (!json_is_array(channels) || count > TELEMETRY_CHANNELS_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *channel = json_array_get(channels, i);

        if (!is_channel(channel))
            return false;
        for (size_t k = 0; k < i; k++)
            if (json_equal(json_object_get(channel, "name"),
                           json_object_get(json_array_get(channels, k), "name")))
                return false;
    }
    return true;
}

static bool are_readings(const json_t *readings)
{
    struct reading_list list;

    if (reading_list_from_json(readings, &list, NULL) != STATUS_OK)
        return false;
    reading_list_finish(&list);
    return true;
}

static void set_message(struct telemetry_log *log, enum status status, const char *message)
{
    if (log->message)
        return; /* the first reason counts */
    log->status = status;
    log->message = strdup(message);
}

static void take_failure(struct telemetry_log *log, const json_t *words)
{
    const char *name = member_string(words, "failed");
    const char *message = member_string(words, "message");
    enum status status = name ? status_from_name(name) : STATUS_COUNT;

    if (!message || status == STATUS_OK || status == STATUS_COUNT)
        set_message(log, STATUS_PROTOCOL, "the telemetry process says nonsense");
    else
        set_message(log, status, message);
}

static void take_line(struct telemetry_log *log, const char *line, size_t length)
{
    json_t *words = NULL, *readings, *channels;
    const char *dump;

    if (canonical_parse(line, length, "telemetry", &words, NULL) != STATUS_OK) {
        set_message(log, STATUS_PROTOCOL, "the telemetry process says nonsense");
        return;
    }
    channels = json_object_get(words, "channels");
    readings = json_object_get(words, "readings");
    dump = member_string(words, "dump");
    if (channels && are_channels(channels) && json_array_size(log->channels) == 0) {
        json_decref(log->channels);
        log->channels = json_incref(channels);
    } else if (channels) {
        set_message(log, STATUS_PROTOCOL, "the telemetry process describes impossible channels");
    }
    if (readings && are_readings(readings)) {
        if (log->begin) {
            json_decref(log->end);
            log->end = json_incref(readings);
        } else {
            log->begin = json_incref(readings);
        }
    }
    if (dump && !log->dump)
        log->dump = strdup(dump);
    if (json_object_get(words, "failed"))
        take_failure(log, words);
    if (json_is_integer(json_object_get(words, "lost")) && !log->message)
        log->message = text_format("%lld readings failed: %s", member_integer(words, "lost"),
                                   json_is_string(json_object_get(words, "message"))
                                       ? member_string(words, "message")
                                       : "reason not recorded");
    json_decref(words);
}

static void take_words(struct telemetry_log *log, const char *bytes, size_t length)
{
    const char *end;

    while ((end = memchr(bytes, '\n', length))) {
        take_line(log, bytes, (size_t)(end - bytes));
        length -= (size_t)(end - bytes) + 1;
        bytes = end + 1;
    }
}

/* Whole rows whose times go forward; the first that does not ends them. */
static void take_rows(struct telemetry_log *log, const int64_t *values, size_t length)
{
    size_t width = TELEMETRY_ROW_HEAD + log->channel_count;
    size_t count = log->channel_count ? length / (width * sizeof(*values)) : 0;
    int64_t before = INT64_MIN;

    for (size_t i = 0; i < count; i++) {
        const int64_t *row = values + i * width;

        if (row[0] < 0 || row[0] < before || row[1] < row[0]) {
            set_message(log, STATUS_PROTOCOL, "the telemetry's times run backwards");
            break;
        }
        before = row[1];
        log->row_count++;
    }
}

static void explain_end(struct telemetry_log *log, const struct process_exit *end, bool ended,
                        int error_fd)
{
    char by[PROCESS_SIGNAL_SIZE];
    struct text text;

    log->cpu_ns = end->user_ns + end->system_ns;
    if (ended && end->exited && end->code == 0)
        return;
    text_init(&text);
    if (!ended)
        text_append(&text, "the telemetry process did not end when asked (a vendor library hangs?) "
                           "and was killed; what it had sampled is kept");
    else if (!end->exited)
        text_append_format(&text,
                           "the telemetry process was ended by %s; what it had sampled is kept",
                           process_signal_text(end, by));
    else
        text_append_format(&text, "the telemetry process exited with status %d", end->code);
    child_output_append(error_fd, &text);
    set_message(log, ended ? STATUS_CRASHED : STATUS_TIMEOUT,
                text_ok(&text) ? text.data : "out of memory");
    text_finish(&text);
}

enum status telemetry_watch_stop(struct telemetry_watch *watch, int64_t interval_ns,
                                 struct telemetry_log *ret, struct error *err)
{
    struct telemetry_log log = {.interval_ns = interval_ns, .cpu_ns = -1};
    struct process_exit end = {0};
    size_t words_length = 0, rows_length = 0;
    char *words, *rows;
    bool ended;

    close(watch->control_fd);
    watch->control_fd = -1;
    ended = process_wait(&watch->process,
                         clock_monotonic_ns() + (watch->dump ? DUMP_GRACE_NS : END_GRACE_NS), &end,
                         NULL) == STATUS_OK;
    if (!ended)
        process_stop(&watch->process, STOP_GRACE_NS, &end);
    log.channels = json_array();
    words = read_memory(watch->output_fd, WORDS_MAX, &words_length);
    rows = read_memory(watch->rows_fd, ROWS_MAX, &rows_length);
    if (!log.channels || !words || !rows) {
        close_all(watch);
        free(words);
        free(rows);
        telemetry_log_finish(&log);
        return error_no_memory(err);
    }
    take_words(&log, words, words_length);
    free(words);
    log.channel_count = json_array_size(log.channels);
    log.rows = (int64_t *)(void *)rows;
    take_rows(&log, log.rows, rows_length);
    explain_end(&log, &end, ended, watch->error_fd);
    close_all(watch);
    *ret = log;
    return STATUS_OK;
}

void telemetry_log_finish(struct telemetry_log *log)
{
    free(log->message);
    json_decref(log->channels);
    json_decref(log->begin);
    json_decref(log->end);
    free(log->dump);
    free(log->rows);
    memset(log, 0, sizeof(*log));
}
