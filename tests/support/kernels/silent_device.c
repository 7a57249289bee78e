#include "tests/support/kernels/silent_device.h"

#include <stdlib.h>
#include <string.h>

enum status silent_buffer_alloc(struct device *device, uint64_t bytes, enum buffer_flags flags,
                                struct buffer **ret, struct error *err)
{
    struct silent_buffer *buffer = calloc(1, sizeof(*buffer));

    (void)device;
    (void)bytes;
    (void)flags;
    if (buffer == NULL)
        return error_no_memory(err);
    *ret = &buffer->base;
    return STATUS_OK;
}

void silent_buffer_free(struct device *device, struct buffer *buffer)
{
    (void)device;
    free(buffer);
}

enum status silent_upload(struct device *device, struct buffer *buffer, uint64_t offset,
                          const void *source, uint64_t bytes, struct error *err)
{
    (void)device;
    (void)buffer;
    (void)offset;
    (void)source;
    (void)bytes;
    (void)err;
    return STATUS_OK;
}

enum status silent_download(struct device *device, struct buffer *buffer, uint64_t offset,
                            void *target, uint64_t bytes, struct error *err)
{
    (void)device;
    (void)buffer;
    (void)offset;
    (void)err;
    memset(target, 0, (size_t)bytes);
    return STATUS_OK;
}

enum status silent_copy(struct device *device, struct buffer *to, struct buffer *from,
                        uint64_t bytes, struct error *err)
{
    (void)device;
    (void)to;
    (void)from;
    (void)bytes;
    (void)err;
    return STATUS_OK;
}

enum status silent_exchange(struct device *device, const struct device_exchange *both,
                            struct error *err)
{
    return silent_download(device, both->from, 0, both->target, both->bytes, err);
}

enum status silent_host_alloc(struct device *device, uint64_t bytes, struct host_memory **ret,
                              struct error *err)
{
    struct host_memory *memory = calloc(1, sizeof(*memory) + (size_t)bytes);

    (void)device;
    if (memory == NULL)
        return error_no_memory(err);
    memory->bytes = memory + 1;
    *ret = memory;
    return STATUS_OK;
}

void silent_host_free(struct device *device, struct host_memory *memory)
{
    (void)device;
    free(memory);
}

enum status silent_synchronize(struct device *device, struct error *err)
{
    (void)device;
    (void)err;
    return STATUS_OK;
}

void silent_close(struct device *device)
{
    (void)device;
}
