/*
 * silent_device - what devices have in common that run nothing: buffers read as zeros, uploads and
 * waits do nothing. Their module_load, kernel_launch and the like say what they are for.
 */
#ifndef ASSAY_TESTS_SUPPORT_SILENT_DEVICE_H
#define ASSAY_TESTS_SUPPORT_SILENT_DEVICE_H

#include "backends/backend.h"

struct silent_buffer {
    struct buffer base; /* first */
    uint32_t number;    /* the owner's; 0 at first */
};

enum status silent_buffer_alloc(struct device *device, uint64_t bytes, enum buffer_flags flags,
                                struct buffer **ret, struct error *err);
void silent_buffer_free(struct device *device, struct buffer *buffer);
enum status silent_upload(struct device *device, struct buffer *buffer, uint64_t offset,
                          const void *source, uint64_t bytes, struct error *err);
enum status silent_download(struct device *device, struct buffer *buffer, uint64_t offset,
                            void *target, uint64_t bytes, struct error *err);
enum status silent_copy(struct device *device, struct buffer *to, struct buffer *from,
                        uint64_t bytes, struct error *err);
enum status silent_exchange(struct device *device, const struct device_exchange *both,
                            struct error *err);
enum status silent_host_alloc(struct device *device, uint64_t bytes, struct host_memory **ret,
                              struct error *err);
void silent_host_free(struct device *device, struct host_memory *memory);
enum status silent_synchronize(struct device *device, struct error *err);
void silent_close(struct device *device);

/* Members of a struct device_ops. */
#define SILENT_DEVICE_OPS                                                                          \
    .buffer_alloc = silent_buffer_alloc, .buffer_free = silent_buffer_free,                        \
    .upload = silent_upload, .download = silent_download, .copy = silent_copy,                     \
    .exchange = silent_exchange, .host_alloc = silent_host_alloc, .host_free = silent_host_free,   \
    .synchronize = silent_synchronize, .close = silent_close

#endif
