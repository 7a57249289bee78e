#include "backends/backend.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/threads.h"
#include "backends/registry.h"
#include "harness/core/text.h"

enum status backend_probe(struct backend *backend, struct error *err)
{
    if (backend == NULL)
        return error_set(err, STATUS_INTERNAL, "backend_probe: no backend");
    if (!backend->probed) {
        uint32_t count = 0;

        backend->probe_status = backend->ops->probe(backend, &count, &backend->probe_error);
        if (backend->probe_status == STATUS_OK && count == 0)
            backend->probe_status =
                error_set(&backend->probe_error, STATUS_UNAVAILABLE, "no device");
        backend->device_count = backend->probe_status == STATUS_OK ? count : 0;
        backend->probed = true;
    }
    if (backend->probe_status != STATUS_OK && err != NULL)
        *err = backend->probe_error;
    return backend->probe_status;
}

static enum status check_index(struct backend *backend, uint32_t index, struct error *err)
{
    TRY(backend_probe(backend, err));
    if (index >= backend->device_count)
        return error_set(err, STATUS_NOT_FOUND, "%s:%" PRIu32 ": there are %" PRIu32 " devices",
                         backend->ops->name, index, backend->device_count);
    return STATUS_OK;
}

enum status backend_device_info(struct backend *backend, uint32_t index, struct device_info *ret,
                                struct error *err)
{
    struct device_info info = {0};
    enum status status;

    TRY(check_index(backend, index, err));
    status = backend->ops->device_info(backend, index, &info, err);
    if (status == STATUS_OK && (info.name == NULL || info.vendor == NULL || info.readings.failed))
        status = error_no_memory(err);
    if (status != STATUS_OK) {
        device_info_finish(&info);
        return status;
    }
    *ret = info;
    return STATUS_OK;
}

enum status backend_device_open(struct backend *backend, uint32_t index,
                                const struct device_options *options, struct device **ret,
                                struct error *err)
{
    static const struct device_options defaults;
    struct device *device = NULL;
    enum status status;

    TRY(check_index(backend, index, err));
    TRY(backend->ops->device_open(backend, index, options != NULL ? options : &defaults, &device,
                                  err));
    status = device_ops_check(device->ops, err);
    if (status != STATUS_OK) {
        if (device->ops != NULL && device->ops->close != NULL)
            device->ops->close(device);
        return status;
    }
    device->backend = backend;
    *ret = device;
    return STATUS_OK;
}

size_t backend_libraries(struct backend *backend, struct backend_library *ret, size_t capacity)
{
    if (backend == NULL || backend->ops == NULL || backend->ops->libraries == NULL)
        return 0;
    backend_probe(backend, NULL);
    return backend->ops->libraries(backend, ret, capacity);
}

#define LIBRARY_NAMES_MAX 64

static size_t library_names(const char **ret)
{
    size_t count = 0;

    for (size_t i = 0; i < backend_count(); i++) {
        const struct backend_ops *ops = backend_at(i)->ops;

        for (const char *const *name = ops != NULL ? ops->library_names : NULL;
             name != NULL && *name != NULL && count < LIBRARY_NAMES_MAX; name++)
            ret[count++] = *name;
    }
    return count;
}

enum status backend_check_variable(const char *variable, struct error *err)
{
    static const char prefix[] = "ASSAY_LIB_";
    const char *known[LIBRARY_NAMES_MAX], *nearest;
    const size_t count = library_names(known);
    struct text name, list;
    bool found = false;
    enum status status = STATUS_OK;

    if (strncmp(variable, prefix, strlen(prefix)) != 0)
        return STATUS_OK;
    text_init(&name);
    text_init(&list);
    for (const char *c = variable + strlen(prefix); *c != '\0' && *c != '='; c++)
        text_append_char(&name, (char)tolower((unsigned char)*c));
    for (size_t i = 0; i < count; i++) {
        found = found || (text_ok(&name) && strcmp(known[i], name.data) == 0);
        text_append_format(&list, "%s%s", i > 0 ? ", " : "", known[i]);
    }
    nearest = text_ok(&name) ? text_nearest(name.data, known, count) : NULL;
    if (!text_ok(&name) || !text_ok(&list))
        status = error_no_memory(err);
    else if (!found)
        status = error_set(err, STATUS_INVALID,
                           "no backend opens a library \"%s\", so a file for it (--lib, "
                           "%.*s) changes nothing%s%s%s; there is: %s",
                           name.data, (int)strcspn(variable, "="), variable,
                           nearest != NULL ? "; did you mean \"" : "",
                           nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "", list.data);
    text_finish(&name);
    text_finish(&list);
    return status;
}

enum status backend_files(struct backend *backend, uint32_t index, struct backend_file_list *ret,
                          struct error *err)
{
    TRY(check_index(backend, index, err));
    if (backend->ops->files != NULL)
        backend->ops->files(backend, index, ret);
    if (ret->failed)
        return error_no_memory(err);
    return STATUS_OK;
}

size_t backend_environment(const char *spec, const char **ret, size_t capacity)
{
    const size_t length = strcspn(spec, ":");

    for (size_t i = 0; i < backend_count(); i++) {
        const struct backend_ops *ops = backend_at(i)->ops;

        if (ops != NULL && ops->name != NULL && strlen(ops->name) == length &&
            strncmp(ops->name, spec, length) == 0)
            return ops->environment != NULL ? ops->environment(ret, capacity) : 0;
    }
    return 0;
}

bool backend_is_hidden(const struct backend *backend)
{
    return backend->ops != NULL && backend->ops->hidden != NULL && backend->ops->hidden(backend);
}

void device_info_finish(struct device_info *info)
{
    if (info == NULL)
        return;
    free(info->name);
    free(info->vendor);
    free(info->uuid);
    reading_list_finish(&info->readings);
    memset(info, 0, sizeof(*info));
}

void module_artifact_finish(struct module_artifact *artifact)
{
    if (artifact == NULL)
        return;
    free(artifact->file);
    free(artifact->options);
    free(artifact->compiler);
    free(artifact->log);
    free(artifact->resources);
    memset(artifact, 0, sizeof(*artifact));
}

const char *device_type_name(enum device_type type)
{
    switch (type) {
    case DEVICE_CPU:
        return "cpu";
    case DEVICE_GPU:
        return "gpu";
    case DEVICE_ACCELERATOR:
        return "accelerator";
    case DEVICE_SIMULATED:
        return "simulated";
    }
    return "unknown";
}

void device_close(struct device *device)
{
    if (device != NULL)
        device->ops->close(device);
}

void backend_unbind_process(void)
{
    cpu_threads_unbind();
}
