#include "backends/backend.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum status device_check_precision(const struct device *device, enum precision precision,
                                   struct error *err)
{
    const struct reading *fp64 = reading_find(&device->info.readings, "device.fp64");

    if (precision != PRECISION_FP64 || fp64 == NULL ||
        (fp64->text != NULL && strcmp(fp64->text, "none") != 0))
        return STATUS_OK;
    return error_set(err, STATUS_UNSUPPORTED,
                     "%s has no fp64 (%s): choose another device or another --precision",
                     device->info.name,
                     fp64->reason != NULL ? fp64->reason : "the driver lists none of its features");
}

enum status device_buffer_alloc(struct device *device, uint64_t bytes, enum buffer_flags flags,
                                struct buffer **ret, struct error *err)
{
    struct buffer *buffer = NULL;

    if (bytes == 0)
        return error_set(err, STATUS_INVALID, "a buffer of 0 bytes was asked for");
    if (bytes > SIZE_MAX)
        return error_set(err, STATUS_DEVICE_MEMORY,
                         "a buffer of %" PRIu64 " bytes is beyond the address space", bytes);
    TRY(device->ops->buffer_alloc(device, bytes, flags, &buffer, err));
    buffer->device = device;
    buffer->bytes = bytes;
    *ret = buffer;
    return STATUS_OK;
}

void device_buffer_free(struct buffer *buffer)
{
    if (buffer != NULL)
        buffer->device->ops->buffer_free(buffer->device, buffer);
}

static enum status check_range(const struct buffer *buffer, uint64_t offset, const void *host,
                               uint64_t bytes, const char *what, struct error *err)
{
    if (buffer == NULL || (host == NULL && bytes > 0))
        return error_set(err, STATUS_INTERNAL, "%s: %s is NULL", what,
                         buffer == NULL ? "the buffer" : "the host memory");
    if (offset > buffer->bytes || bytes > buffer->bytes - offset)
        return error_set(err, STATUS_INVALID,
                         "%s of %" PRIu64 " bytes at offset %" PRIu64
                         " goes beyond the buffer's %" PRIu64 " bytes",
                         what, bytes, offset, buffer->bytes);
    return STATUS_OK;
}

enum status device_upload(struct buffer *buffer, uint64_t offset, const void *source,
                          uint64_t bytes, struct error *err)
{
    enum status status = check_range(buffer, offset, source, bytes, "upload", err);

    if (status != STATUS_OK || bytes == 0)
        return status;
    return buffer->device->ops->upload(buffer->device, buffer, offset, source, bytes, err);
}

enum status device_download(struct buffer *buffer, uint64_t offset, void *target, uint64_t bytes,
                            struct error *err)
{
    enum status status = check_range(buffer, offset, target, bytes, "download", err);

    if (status != STATUS_OK || bytes == 0)
        return status;
    return buffer->device->ops->download(buffer->device, buffer, offset, target, bytes, err);
}

/* Of two buffers that a copy has at once. */
static enum status check_two(const struct buffer *to, const struct buffer *from, const char *what,
                             struct error *err)
{
    if (to == NULL || from == NULL || to == from || to->device != from->device)
        return error_set(err, STATUS_INTERNAL, "%s: it needs two buffers of one device", what);
    return STATUS_OK;
}

enum status device_copy(struct buffer *to, struct buffer *from, uint64_t bytes, struct error *err)
{
    TRY(check_two(to, from, "copy", err));
    TRY(check_range(from, 0, from, bytes, "copy", err));
    TRY(check_range(to, 0, to, bytes, "copy", err));
    if (to->device->ops->copy == NULL)
        return error_set(err, STATUS_UNSUPPORTED, "%s has no copy within its memory",
                         to->device->info.name);
    return bytes == 0 ? STATUS_OK : to->device->ops->copy(to->device, to, from, bytes, err);
}

enum status device_exchange(const struct device_exchange *exchange, struct error *err)
{
    struct buffer *to = exchange->to, *from = exchange->from;

    TRY(check_two(to, from, "exchange", err));
    TRY(check_range(to, 0, exchange->source, exchange->bytes, "exchange", err));
    TRY(check_range(from, 0, exchange->target, exchange->bytes, "exchange", err));
    if (to->device->ops->exchange == NULL)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s has one queue for copies: it cannot copy in both directions at once",
                         to->device->info.name);
    return exchange->bytes == 0 ? STATUS_OK : to->device->ops->exchange(to->device, exchange, err);
}

enum status device_host_alloc(struct device *device, uint64_t bytes, struct host_memory **ret,
                              struct error *err)
{
    struct host_memory *memory = NULL;

    if (bytes == 0 || bytes > SIZE_MAX)
        return error_set(err, STATUS_INVALID, "host memory of %" PRIu64 " bytes was asked for",
                         bytes);
    if (device->ops->host_alloc == NULL)
        return error_set(err, STATUS_UNSUPPORTED, "%s has no pinned host memory",
                         device->info.name);
    TRY(device->ops->host_alloc(device, bytes, &memory, err));
    memory->device = device;
    *ret = memory;
    return STATUS_OK;
}

void device_host_free(struct host_memory *memory)
{
    if (memory != NULL)
        memory->device->ops->host_free(memory->device, memory);
}

static bool is_identifier(const char *name)
{
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

static enum status check_source(const struct device *device, const struct module_source *source,
                                struct error *err)
{
    size_t i;

    if (source == NULL || source->file == NULL || source->text == NULL)
        return error_set(err, STATUS_INTERNAL, "module_load: no file name or text");
    if (source->file[strcspn(source->file, "\"\\\n")] != '\0')
        return error_set(err, STATUS_INVALID,
                         "kernel text \"%s\": the name has a quote, backslash or line break",
                         source->file);
    if (source->lanes == 0)
        return error_set(err, STATUS_INVALID, "%s: 0 lanes were asked for", source->file);
    if (device->info.max_lanes != 0 && source->lanes > device->info.max_lanes)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s: %" PRIu32 " lanes were asked for; %s has at most %" PRIu32,
                         source->file, source->lanes, device->info.name, device->info.max_lanes);
    for (i = 0; i < source->define_count; i++) {
        const struct module_define *define = &source->defines[i];

        if (define->name == NULL || define->value == NULL || !is_identifier(define->name))
            return error_set(err, STATUS_INVALID, "%s: \"%s\" is no name for a define",
                             source->file, define->name != NULL ? define->name : "(null)");
        if (define->value[strcspn(define->value, "\n\r\\")] != '\0')
            return error_set(err, STATUS_INVALID,
                             "%s: the value of define %s has a line break or backslash",
                             source->file, define->name);
        if (strcmp(define->name, "LANES") == 0)
            return error_set(err, STATUS_INVALID,
                             "%s: LANES is given by the group size, not by a define", source->file);
    }
    return STATUS_OK;
}

enum status device_module_load(struct device *device, const struct module_source *source,
                               struct module **ret, struct error *err)
{
    struct module *module = NULL;

    TRY(check_source(device, source, err));
    TRY(device->ops->module_load(device, source, &module, err));
    module->device = device;
    module->lanes = source->lanes;
    *ret = module;
    return STATUS_OK;
}

void device_module_unload(struct device *device, struct module *module)
{
    if (module != NULL)
        device->ops->module_unload(device, module);
}

enum status device_module_describe(struct device *device, const struct module *module,
                                   struct module_artifact *ret, struct error *err)
{
    struct module_artifact artifact = {0};
    enum status status = device->ops->module_describe(device, module, &artifact, err);

    if (status == STATUS_OK && (artifact.file == NULL || artifact.options == NULL ||
                                artifact.compiler == NULL || artifact.log == NULL))
        status = error_no_memory(err);
    if (status != STATUS_OK) {
        module_artifact_finish(&artifact);
        return status;
    }
    *ret = artifact;
    return STATUS_OK;
}

enum status device_kernel_launch(struct device *device, const struct kernel_launch *launch,
                                 struct error *err)
{
    size_t i;

    if (launch->module == NULL || launch->kernel == NULL)
        return error_set(err, STATUS_INTERNAL, "kernel_launch: no module or kernel");
    if (launch->module->device != device)
        return error_set(err, STATUS_INTERNAL, "kernel %s: its module is another device's",
                         launch->kernel);
    if (launch->groups[0] == 0 || launch->groups[1] == 0 || launch->groups[2] == 0)
        return error_set(err, STATUS_INVALID,
                         "kernel %s: %" PRIu32 " x %" PRIu32 " x %" PRIu32
                         " groups; each dimension needs at least 1",
                         launch->kernel, launch->groups[0], launch->groups[1], launch->groups[2]);
    if (launch->arg_count > KERNEL_ARGS_MAX)
        return error_set(err, STATUS_INVALID, "kernel %s: %zu arguments; %d are the most",
                         launch->kernel, launch->arg_count, KERNEL_ARGS_MAX);
    for (i = 0; i < launch->arg_count; i++)
        if (launch->args[i].type == KERNEL_ARG_BUFFER && launch->args[i].buffer != NULL &&
            launch->args[i].buffer->device != device)
            return error_set(err, STATUS_INTERNAL,
                             "kernel %s: the buffer of argument %zu is another device's",
                             launch->kernel, i);
    return device->ops->kernel_launch(device, launch, err);
}

bool device_has_events(const struct device *device)
{
    return device->ops->event_create != NULL;
}

static enum status no_events(const struct device *device, struct error *err)
{
    return error_set(err, STATUS_UNSUPPORTED, "%s reports no device-side times", device->info.name);
}

enum status device_event_create(struct device *device, struct event **ret, struct error *err)
{
    struct event *event = NULL;

    if (!device_has_events(device))
        return no_events(device, err);
    TRY(device->ops->event_create(device, &event, err));
    event->device = device;
    *ret = event;
    return STATUS_OK;
}

void device_event_destroy(struct device *device, struct event *event)
{
    if (event != NULL)
        device->ops->event_destroy(device, event);
}

enum status device_event_record(struct device *device, struct event *event, struct error *err)
{
    if (!device_has_events(device))
        return no_events(device, err);
    return device->ops->event_record(device, event, err);
}

enum status device_event_elapsed_ns(struct device *device, const struct event *start,
                                    const struct event *end, int64_t *ret, struct error *err)
{
    int64_t elapsed_ns = 0;

    if (!device_has_events(device))
        return no_events(device, err);
    TRY(device->ops->event_elapsed_ns(device, start, end, &elapsed_ns, err));
    if (elapsed_ns < 0)
        return error_set(err, STATUS_DEVICE,
                         "%s: the device's clock ran backwards between two events (%" PRId64 " ns)",
                         device->info.name, elapsed_ns);
    *ret = elapsed_ns;
    return STATUS_OK;
}

enum status device_synchronize(struct device *device, struct error *err)
{
    return device->ops->synchronize(device, err);
}

size_t device_lane_candidates(struct device *device, uint32_t *ret, size_t capacity)
{
    if (capacity == 0)
        return 0;
    if (device->ops->lane_candidates != NULL)
        return device->ops->lane_candidates(device, ret, capacity);
    ret[0] = 1;
    return 1;
}
