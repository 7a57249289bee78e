#include "backends/backend.h"

#include <string.h>
#include <strings.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

#define UUID_DIGITS_MIN 4

bool backend_begins_uuid(const char *spec, const char *uuid)
{
    const char *dash = strchr(uuid, '-');
    const size_t kind = dash != NULL && dash - uuid <= 4 ? (size_t)(dash + 1 - uuid) : 0;

    return strlen(spec) >= kind + UUID_DIGITS_MIN && strncasecmp(spec, uuid, strlen(spec)) == 0;
}

/* "opencl:0 (name), null: reason": what a person could have asked for. */
static void append_choices(struct text *text)
{
    size_t i;
    bool any = false;

    for (i = 0; i < backend_count(); i++) {
        struct backend *backend = backend_at(i);
        struct error error = ERROR_INIT;
        uint32_t d;

        if (backend_is_hidden(backend))
            continue;
        if (backend_probe(backend, &error) != STATUS_OK) {
            text_append_format(text, "%s%s is not available (%s)", any ? "; " : "",
                               backend->ops != NULL ? backend->ops->name : "?", error.message);
            any = true;
            continue;
        }
        for (d = 0; d < backend->device_count; d++) {
            struct device_info info = {0};

            text_append_format(text, "%s%s:%u", any ? "; " : "", backend->ops->name, d);
            any = true;
            if (backend_device_info(backend, d, &info, NULL) == STATUS_OK) {
                text_append(text, " (");
                text_append_printable(text, info.name, strlen(info.name));
                text_append(text, ")");
                device_info_finish(&info);
            }
        }
    }
    if (!any)
        text_append(text, "no device at all");
}

static enum status not_found(const char *spec, struct error *err)
{
    CLEANUP(text_finish) struct text text;

    text_init(&text);
    append_choices(&text);
    return error_set(err, STATUS_NOT_FOUND, "no device \"%s\"; there is: %s", spec,
                     text_ok(&text) ? text.data : "(out of memory)");
}

static enum status resolve_uuid(const char *spec, struct backend **ret_backend, uint32_t *ret_index,
                                struct error *err)
{
    struct backend *found = NULL;
    uint32_t found_index = 0;
    size_t i;

    for (i = 0; i < backend_count(); i++) {
        struct backend *backend = backend_at(i);
        uint32_t d;

        if (backend_probe(backend, NULL) != STATUS_OK)
            continue;
        for (d = 0; d < backend->device_count; d++) {
            struct device_info info = {0};
            bool match;

            if (backend_device_info(backend, d, &info, NULL) != STATUS_OK)
                continue;
            match = info.uuid != NULL && backend_begins_uuid(spec, info.uuid);
            device_info_finish(&info);
            if (!match)
                continue;
            if (found != NULL)
                return error_set(err, STATUS_INVALID,
                                 "\"%s\" begins the UUID of both %s:%u and %s:%u; give more of it "
                                 "or name the device so",
                                 spec, found->ops->name, found_index, backend->ops->name, d);
            found = backend;
            found_index = d;
        }
    }
    if (found == NULL)
        return not_found(spec, err);
    *ret_backend = found;
    *ret_index = found_index;
    return STATUS_OK;
}

enum status backend_resolve(const char *spec, struct backend **ret_backend, uint32_t *ret_index,
                            struct error *err)
{
    char name[64];
    const char *colon;
    size_t length;
    struct backend *backend;
    uint64_t index = 0;
    enum status status;

    if (spec == NULL || spec[0] == '\0')
        return error_set(err, STATUS_INVALID,
                         "a device is named \"opencl:0\", \"opencl\" or by "
                         "the beginning of its UUID; nothing was given");
    colon = strchr(spec, ':');
    length = colon != NULL ? (size_t)(colon - spec) : strlen(spec);
    if (length >= sizeof(name))
        return not_found(spec, err);
    memcpy(name, spec, length);
    name[length] = '\0';
    backend = backend_find(name);
    if (backend == NULL)
        return colon == NULL ? resolve_uuid(spec, ret_backend, ret_index, err)
                             : not_found(spec, err);
    if (colon != NULL && !text_parse_u64(colon + 1, &index))
        return error_set(err, STATUS_INVALID, "\"%s\": \"%s\" is no device number; write %s:0",
                         spec, colon + 1, name);
    status = backend_probe(backend, err);
    if (status != STATUS_OK)
        return error_prefix(err, "%s", spec);
    if (index >= backend->device_count)
        return not_found(spec, err);
    *ret_backend = backend;
    *ret_index = (uint32_t)index;
    return STATUS_OK;
}
