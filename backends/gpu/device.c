#include "backends/gpu/gpu.h"

#include <inttypes.h>
#include <stdlib.h>

struct gpu_event {
    struct event base;
    void *handle;
    bool recorded;
};

/* The device whose context this thread has; contexts are the vendor's state of a thread. */
static _Thread_local const struct gpu_device *bound;

enum status gpu_bind(struct gpu_device *device, struct error *err)
{
    if (bound == device)
        return STATUS_OK;
    bound = NULL;
    TRY(device->driver->bind(device, err));
    bound = device;
    return STATUS_OK;
}

enum status gpu_workspace_resize(struct gpu_device *device, struct gpu_workspace *workspace,
                                 uint64_t bytes, struct error *err)
{
    struct gpu_workspace next = {.bytes = bytes};

    if (bytes == workspace->bytes)
        return STATUS_OK;
    if (bytes > 0)
        TRY(device->driver->memory_alloc(device, bytes, &next.address, err));
    gpu_workspace_free(device, workspace);
    *workspace = next;
    return STATUS_OK;
}

void gpu_workspace_free(struct gpu_device *device, struct gpu_workspace *workspace)
{
    if (workspace->address != 0)
        device->driver->memory_free(device, workspace->address);
    *workspace = (struct gpu_workspace){0};
}

enum status gpu_buffer_alloc(struct device *base, uint64_t bytes, enum buffer_flags flags,
                             struct buffer **ret, struct error *err)
{
    struct gpu_device *device = gpu_device(base);
    struct gpu_buffer *buffer;
    enum status status;

    (void)flags;
    buffer = calloc(1, sizeof(*buffer));
    if (buffer == NULL)
        return error_no_memory(err);
    status = gpu_bind(device, err);
    if (status == STATUS_OK) {
        status = device->driver->memory_alloc(device, bytes, &buffer->address, err);
        if (status != STATUS_OK && err != NULL)
            error_prefix(err, "buffer of %" PRIu64 " bytes", bytes);
    }
    if (status != STATUS_OK) {
        free(buffer);
        return status;
    }
    *ret = &buffer->base;
    return STATUS_OK;
}

void gpu_buffer_free(struct device *base, struct buffer *buffer)
{
    struct gpu_device *device = gpu_device(base);

    if (gpu_bind(device, NULL) == STATUS_OK)
        device->driver->memory_free(device, ((struct gpu_buffer *)buffer)->address);
    free(buffer);
}

enum status gpu_upload(struct device *base, struct buffer *buffer, uint64_t offset,
                       const void *source, uint64_t bytes, struct error *err)
{
    struct gpu_device *device = gpu_device(base);

    TRY(gpu_bind(device, err));
    return device->driver->copy_in(device, ((struct gpu_buffer *)buffer)->address + offset, source,
                                   bytes, err);
}

enum status gpu_download(struct device *base, struct buffer *buffer, uint64_t offset, void *target,
                         uint64_t bytes, struct error *err)
{
    struct gpu_device *device = gpu_device(base);

    TRY(gpu_bind(device, err));
    return device->driver->copy_out(device, target, ((struct gpu_buffer *)buffer)->address + offset,
                                    bytes, err);
}

enum status gpu_copy(struct device *base, struct buffer *to, struct buffer *from, uint64_t bytes,
                     struct error *err)
{
    struct gpu_device *device = gpu_device(base);

    TRY(gpu_bind(device, err));
    return device->driver->copy_within(device, ((struct gpu_buffer *)to)->address,
                                       ((struct gpu_buffer *)from)->address, bytes, err);
}

enum status gpu_exchange(struct device *base, const struct device_exchange *exchange,
                         struct error *err)
{
    struct gpu_device *device = gpu_device(base);
    const struct gpu_copies copies = {
        .to = ((const struct gpu_buffer *)exchange->to)->address,
        .from = ((const struct gpu_buffer *)exchange->from)->address,
        .source = exchange->source,
        .target = exchange->target,
        .bytes = exchange->bytes,
    };

    TRY(gpu_bind(device, err));
    return device->driver->copy_both(device, &copies, err);
}

enum status gpu_host_alloc(struct device *base, uint64_t bytes, struct host_memory **ret,
                           struct error *err)
{
    struct gpu_device *device = gpu_device(base);
    struct host_memory *memory = calloc(1, sizeof(*memory));
    enum status status;

    if (memory == NULL)
        return error_no_memory(err);
    status = gpu_bind(device, err);
    if (status == STATUS_OK)
        status = device->driver->host_alloc(device, bytes, &memory->bytes, err);
    if (status != STATUS_OK) {
        free(memory);
        return status;
    }
    *ret = memory;
    return STATUS_OK;
}

void gpu_host_free(struct device *base, struct host_memory *memory)
{
    struct gpu_device *device = gpu_device(base);

    if (gpu_bind(device, NULL) == STATUS_OK)
        device->driver->host_free(device, memory->bytes);
    free(memory);
}

enum status gpu_event_create(struct device *base, struct event **ret, struct error *err)
{
    struct gpu_device *device = gpu_device(base);
    struct gpu_event *event = calloc(1, sizeof(*event));
    enum status status;

    if (event == NULL)
        return error_no_memory(err);
    status = gpu_bind(device, err);
    if (status == STATUS_OK)
        status = device->driver->event_create(device, &event->handle, err);
    if (status != STATUS_OK) {
        free(event);
        return status;
    }
    *ret = &event->base;
    return STATUS_OK;
}

void gpu_event_destroy(struct device *base, struct event *event)
{
    struct gpu_device *device = gpu_device(base);

    if (gpu_bind(device, NULL) == STATUS_OK)
        device->driver->event_destroy(device, ((struct gpu_event *)event)->handle);
    free(event);
}

enum status gpu_event_record(struct device *base, struct event *event, struct error *err)
{
    struct gpu_device *device = gpu_device(base);
    struct gpu_event *self = (struct gpu_event *)event;

    TRY(gpu_bind(device, err));
    TRY(device->driver->event_record(device, self->handle, err));
    self->recorded = true;
    return STATUS_OK;
}

enum status gpu_event_elapsed_ns(struct device *base, const struct event *start,
                                 const struct event *end, int64_t *ret, struct error *err)
{
    struct gpu_device *device = gpu_device(base);
    const struct gpu_event *from = (const struct gpu_event *)start;
    const struct gpu_event *to = (const struct gpu_event *)end;

    if (!from->recorded || !to->recorded)
        return error_set(err, STATUS_INTERNAL, "an event was asked for its time but not recorded");
    TRY(gpu_bind(device, err));
    return device->driver->event_elapsed_ns(device, from->handle, to->handle, ret, err);
}

void gpu_choose_events(struct gpu_device *device, const struct device_options *options)
{
    device->ops = *device->base.ops;
    device->base.ops = &device->ops;
    if (options->profile)
        return;
    device->ops.event_create = NULL;
    device->ops.event_destroy = NULL;
    device->ops.event_record = NULL;
    device->ops.event_elapsed_ns = NULL;
}

enum status gpu_synchronize(struct device *base, struct error *err)
{
    struct gpu_device *device = gpu_device(base);

    TRY(gpu_bind(device, err));
    return device->driver->synchronize(device, err);
}

/* Whole warps (32), of which a wavefront (64) of AMD's has two. */
size_t gpu_lane_candidates(struct device *base, uint32_t *ret, size_t capacity)
{
    static const uint32_t all[] = {32, 64, 128, 256, 512, 1024};
    size_t count = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && count < capacity; i++)
        if (i == 0 || base->info.max_lanes == 0 || all[i] <= base->info.max_lanes)
            ret[count++] = all[i];
    return count;
}

void gpu_close(struct device *base)
{
    struct gpu_device *device = gpu_device(base);

    device->driver->close(device);
    bound = NULL;
    device_info_finish(&base->info);
    free(device);
}
