#include "harness/runner/probe.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "harness/core/canonical.h"
#include "harness/core/log.h"
#include "harness/core/process.h"
#include "harness/core/text.h"
#include "harness/runner/tool.h"
#include "harness/runner/vendor_json.h"

#define PROBE_TIMEOUT_NS (60 * (int64_t)1000000000)
#define PROBE_OUTPUT_MAX ((size_t)16 << 20)
#define LIBRARIES_MAX 16

static json_t *libraries_json(struct backend *backend)
{
    struct backend_library libraries[LIBRARIES_MAX];
    size_t count = backend_libraries(backend, libraries, LIBRARIES_MAX);
    json_t *array = json_array();

    for (size_t i = 0; array && i < count; i++)
        json_array_append_new(array, json_pack("{s:o, s:o, s:o, s:o}", "name",
                                               vendor_json_text(libraries[i].name), "path",
                                               vendor_json_text(libraries[i].path), "tried",
                                               vendor_json_text(libraries[i].tried), "version",
                                               vendor_json_text(libraries[i].version)));
    return array;
}

static json_t *backend_json(struct backend *backend, bool available, const char *reason)
{
    return json_pack("{s:s, s:s, s:b, s:b, s:o, s:o, s:o}", "backend", backend->ops->name,
                     "description", backend->ops->description, "hidden",
                     backend_is_hidden(backend), "available", available, "reason",
                     available ? json_null() : vendor_json_text(reason), "libraries", json_array(),
                     "devices", json_array());
}

int probe_child_main(const char *name)
{
    struct backend *backend = backend_find(name);
    struct error err = ERROR_INIT;
    json_t *answer, *devices;
    char *line;

    if (!backend) {
        log_error("probe: no backend \"%s\"", name);
        return 2;
    }
    backend_probe(backend, &err);
    answer = backend_json(backend, err.code == STATUS_OK, err.message);
    if (!answer)
        return 1;
    json_object_set_new(answer, "libraries", libraries_json(backend));
    devices = json_object_get(answer, "devices");
    for (uint32_t i = 0; err.code == STATUS_OK && i < backend->device_count; i++) {
        struct device_info info;
        json_t *device;
        char spec[64];

        if (backend_device_info(backend, i, &info, &err) != STATUS_OK) {
            log_warning("%s:%u: %s", name, i, err.message);
            err.code = STATUS_OK;
            continue;
        }
        device = vendor_json_device(&info, name, i);
        snprintf(spec, sizeof(spec), "%s:%u", name, i);
        if (device)
            json_object_set_new(device, "spec", json_string(spec));
        json_array_append_new(devices, device);
        device_info_finish(&info);
    }
    line = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    if (!line)
        return 1;
    puts(line);
    free(line);
    return fflush(stdout) == 0 ? 0 : 1;
}

static enum status ask_child(const char *program, struct backend *backend, json_t **ret,
                             struct error *err)
{
    char *argv[] = {(char *)program, (char *)"probe", (char *)backend->ops->name, NULL};
    struct process_exit end;
    char *output = NULL;
    enum status status;

    backend_unbind_process();
    status = process_capture(argv, PROBE_TIMEOUT_NS, PROBE_OUTPUT_MAX, &output, &end, err);

    if (status == STATUS_OK && end.code != 0)
        status = error_set(err, STATUS_UNAVAILABLE, "its probe exited with status %d", end.code);
    if (status == STATUS_OK)
        status = canonical_parse(output, strlen(output), backend->ops->name, ret, err);
    free(output);
    return status;
}

enum status probe_run(const char *only, json_t **ret, struct error *err)
{
    json_t *all = json_array();
    char *program;
    enum status status = tool_path(&program, err);

    if (status != STATUS_OK || !all) {
        json_decref(all);
        return status != STATUS_OK ? status
                                   : error_set(err, STATUS_NO_MEMORY, "no memory for the probe");
    }
    for (size_t i = 0; i < backend_count(); i++) {
        struct backend *backend = backend_at(i);
        struct error child_error = ERROR_INIT;
        json_t *answer = NULL;

        if (only && strcmp(only, backend->ops->name))
            continue;
        if (ask_child(program, backend, &answer, &child_error) != STATUS_OK) {
            error_prefix(&child_error, "asking this backend failed");
            answer = backend_json(backend, false, child_error.message);
        }
        json_array_append_new(all, answer);
    }
    free(program);
    *ret = all;
    return STATUS_OK;
}

static const char *member(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static bool is_plain(const json_t *backend, const json_t *device)
{
    return !json_is_true(json_object_get(backend, "hidden")) &&
           !json_is_true(json_object_get(device, "simulated"));
}

/*
 * The device of an earlier backend that is the same processor, or NULL: a machine has one, however
 * many stacks show it (cpu, PoCL), and who does not choose wants it measured once.
 */
static const json_t *same_processor(const json_t *probe, const json_t *backend,
                                    const json_t *device)
{
    json_t *other, *candidate;
    size_t i, j;

    if (strcmp(member(device, "type"), "cpu"))
        return NULL;
    json_array_foreach(probe, i, other)
    {
        if (other == backend)
            return NULL;
        json_array_foreach(json_object_get(other, "devices"), j, candidate)
            if (is_plain(other, candidate) && !strcmp(member(candidate, "type"), "cpu"))
                return candidate;
    }
    return NULL;
}

static bool matches(const json_t *probe, const json_t *backend, const json_t *device,
                    const char *spec)
{
    const char *uuid = member(device, "uuid");

    if (!spec) {
        const json_t *same = is_plain(backend, device) ? same_processor(probe, backend, device)
                                                       : NULL;

        if (same)
            log_info("%s is left out: it is the processor that %s measures; --device %s asks for it",
                     member(device, "spec"), member(same, "spec"), member(device, "spec"));
        return is_plain(backend, device) && !same;
    }
    return !strcmp(spec, member(device, "spec")) || !strcmp(spec, member(backend, "backend")) ||
           (strlen(spec) >= 4 && !strncmp(spec, uuid, strlen(spec)));
}

/* Why nothing matched: the backend's reason when one was named, else what there is. */
static enum status explain(const json_t *probe, const char *spec, struct error *err)
{
    struct text known;
    size_t i, j;
    json_t *backend, *device;

    json_array_foreach(probe, i, backend)
    {
        const char *name = member(backend, "backend");

        if (json_is_true(json_object_get(backend, "available")))
            continue;
        if (spec && !strncmp(spec, name, strlen(name)))
            return error_set(err, STATUS_UNAVAILABLE, "%s: %s", spec, member(backend, "reason"));
    }
    text_init(&known);
    json_array_foreach(probe, i, backend)
    {
        if (!spec && json_is_true(json_object_get(backend, "hidden")))
            continue;
        json_array_foreach(json_object_get(backend, "devices"), j, device)
            text_append_format(&known, "%s%s", known.length ? ", " : "", member(device, "spec"));
        if (!spec && !json_is_true(json_object_get(backend, "available")))
            text_append_format(&known, "%s%s (not available: %s)", known.length ? ", " : "",
                               member(backend, "backend"), member(backend, "reason"));
    }
    if (spec)
        error_set(err, STATUS_NOT_FOUND,
                  "no device \"%s\"; there is: %s; `assay devices` says why not others", spec,
                  known.length ? known.data : "none");
    else
        error_set(err, STATUS_UNAVAILABLE,
                  "no usable device: %s. With a C compiler (package gcc) this processor is one",
                  known.length ? known.data : "no backend found one");
    text_finish(&known);
    return spec ? STATUS_NOT_FOUND : STATUS_UNAVAILABLE;
}

enum status probe_select(const json_t *probe, const char *spec, json_t **ret, struct error *err)
{
    json_t *selected = json_array();
    size_t i, j;
    json_t *backend, *device;

    if (!selected)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the devices");
    json_array_foreach(probe, i, backend)
        json_array_foreach(json_object_get(backend, "devices"), j, device)
            if (matches(probe, backend, device, spec))
                json_array_append(selected, device);
    if (json_array_size(selected) == 0) {
        enum status status = explain(probe, spec, err);

        json_decref(selected);
        return status;
    }
    *ret = selected;
    return STATUS_OK;
}
