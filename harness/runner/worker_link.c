#include "harness/runner/worker_link.h"

#include <math.h>
#include <stdio.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/member.h"
#include "harness/runner/tool.h"
#include "harness/runner/vendor_json.h"

/* How long the worker waits for a harness that neither reads nor answers. */
#define LINK_TIMEOUT_NS (60 * (int64_t)1000000000)
/* 20 digits and a comma each: well inside a line. */
#define SAMPLES_PER_MESSAGE 16384

static enum status hear(struct worker_link *link, int64_t deadline_ns, struct message *ret,
                        struct error *err)
{
    char *line;
    size_t length;

    TRY(channel_read_line(&link->channel, deadline_ns, -1, &line, &length, err));
    return message_parse(line, length, ret, err);
}

static enum status unexpected(struct message *message, const char *expected, struct error *err)
{
    const char *name = message_type_name(message->type);

    message_finish(message);
    return error_set(err, STATUS_PROTOCOL, "expected %s from the harness, got \"%s\"", expected,
                     name);
}

enum status worker_link_hear(struct worker_link *link, bool wait, struct message *ret,
                             struct error *err)
{
    const enum status status =
        hear(link, wait ? clock_monotonic_ns() + LINK_TIMEOUT_NS : 0, ret, err);

    if (status != STATUS_OK || ret->type == MESSAGE_GO || ret->type == MESSAGE_SPOT_CHECK)
        return status;
    return unexpected(ret, "\"go\" or \"spot_check\"", err);
}

enum status worker_link_hear_samples(struct worker_link *link, struct message *ret,
                                     struct error *err)
{
    const enum status status = hear(link, clock_monotonic_ns() + LINK_TIMEOUT_NS, ret, err);

    if (status != STATUS_OK || ret->type == MESSAGE_SAMPLES)
        return status;
    return unexpected(ret, "\"samples\" of the schedule", err);
}

enum status worker_link_open(struct worker_link *link, struct message *ret, struct error *err)
{
    char name[128];
    struct message hello = {MESSAGE_HELLO, .hello = {WORKER_PROTOCOL_VERSION, name}};
    enum status status = channel_init(&link->channel, WORKER_READ_FD, WORKER_WRITE_FD, err);

    if (status != STATUS_OK)
        return error_prefix(err, "`assay worker` is started by `assay run`, not by hand");
    snprintf(name, sizeof(name), "assay %s", tool_version());
    status = worker_link_send(link, &hello, err);
    if (status == STATUS_OK)
        status = hear(link, clock_monotonic_ns() + LINK_TIMEOUT_NS, ret, err);
    if (status == STATUS_OK && ret->type != MESSAGE_TRIAL)
        status = unexpected(ret, "\"trial\"", err);
    if (status != STATUS_OK)
        worker_link_close(link);
    return status;
}

void worker_link_close(struct worker_link *link)
{
    channel_finish(&link->channel);
}

enum status worker_link_send(struct worker_link *link, const struct message *message,
                             struct error *err)
{
    return message_send(&link->channel, message, clock_monotonic_ns() + LINK_TIMEOUT_NS, err);
}

enum status worker_link_send_body(struct worker_link *link, enum message_type type, json_t *body,
                                  struct error *err)
{
    const struct message message = {type, .body = body};
    const enum status status = body ? worker_link_send(link, &message, err) : error_no_memory(err);

    json_decref(body);
    return status;
}

enum status worker_link_send_device(struct worker_link *link, const struct device *device,
                                    uint32_t index, const struct workload_case *work,
                                    struct error *err)
{
    json_auto_t *body = vendor_json_device(&device->info, device->backend->ops->name, index);
    json_auto_t *list = json_array();
    CLEANUP(backend_file_list_finish) struct backend_file_list files = {0};

    TRY(backend_files(device->backend, index, &files, err));
    if (work->workload->kind->files)
        work->workload->kind->files(work, &files);
    for (size_t i = 0; i < files.count; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:o}", "kind", files.items[i].kind, "path",
                                        printable_or_null(files.items[i].path), "version",
                                        printable_or_null(files.items[i].version)));
    if (!body || json_object_set(body, "files", list) < 0)
        return error_no_memory(err);
    return worker_link_send_body(link, MESSAGE_DEVICE, json_incref(body), err);
}

static json_t *count_or_null(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

/*
 * {"kernel": {"registers", "spill_bytes", "shared_bytes"}}; null where the stack does not report
 * it.
 */
static json_t *resources_json(const struct module_artifact *artifact)
{
    json_t *ret = json_object();

    for (size_t i = 0; i < artifact->resource_count; i++) {
        const struct module_resources *one = &artifact->resources[i];

        json_object_set_new(ret, one->kernel,
                            json_pack("{s:o, s:o, s:o}", "registers", count_or_null(one->registers),
                                      "spill_bytes", count_or_null(one->spill_bytes),
                                      "shared_bytes", count_or_null(one->shared_bytes)));
    }
    return ret;
}

enum status worker_link_send_artifact(struct worker_link *link,
                                      const struct module_artifact *artifact, struct error *err)
{
    char source[DIGEST_HEX_SIZE], prelude[DIGEST_HEX_SIZE], binary[DIGEST_HEX_SIZE];
    json_t *body = json_pack(
        "{s:s, s:s, s:s, s:o, s:I, s:o, s:o, s:o, s:I, s:I}", "file", artifact->file, "source",
        digest_hex(&artifact->source, source), "prelude", digest_hex(&artifact->prelude, prelude),
        "binary",
        artifact->has_binary ? json_string(digest_hex(&artifact->binary, binary)) : json_null(),
        "binary_bytes", (json_int_t)artifact->binary_bytes, "options",
        printable_or_null(artifact->options), "compiler", printable_or_null(artifact->compiler),
        "log", printable_or_null(artifact->log), "lanes", (json_int_t)artifact->lanes, "compile_ns",
        (json_int_t)artifact->compile_ns);

    if (body && artifact->resource_count > 0)
        json_object_set_new(body, "resources", resources_json(artifact));
    return worker_link_send_body(link, MESSAGE_ARTIFACT, body, err);
}

enum status worker_link_send_check(struct worker_link *link, const char *phase,
                                   const struct workload_check *check, struct error *err)
{
    const struct message message = {MESSAGE_CHECK,
                                    .check = {.phase = phase,
                                              .output = check->output,
                                              .metric = check->metric,
                                              .reason = check->reason ? check->reason : "",
                                              .error = check->error,
                                              .tolerance = check->tolerance,
                                              .compared = check->compared,
                                              .passed = check->passed}};

    return worker_link_send(link, &message, err);
}

enum status worker_link_send_samples(struct worker_link *link, const char *series,
                                     const int64_t *values, size_t first, size_t count,
                                     struct error *err)
{
    while (first < count) {
        const size_t chunk =
            count - first < SAMPLES_PER_MESSAGE ? count - first : SAMPLES_PER_MESSAGE;
        const struct message message = {MESSAGE_SAMPLES,
                                        .samples = {series, first, values + first, chunk}};

        TRY(worker_link_send(link, &message, err));
        first += chunk;
    }
    return STATUS_OK;
}

enum status worker_link_sync(struct worker_link *link, const char *at, struct error *err)
{
    return worker_link_send(link, &(struct message){MESSAGE_SYNC, .sync = at}, err);
}
