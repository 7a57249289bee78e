#include "backends/cpu/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backends/cpu/threads.h"
#include "harness/core/clock.h"
#include "harness/core/denormals.h"

#define PAGE ((uint64_t)4096)

struct cpu_event {
    struct event base;
    int64_t at_ns; /* 0: not recorded */
};

/*
 * The host continues, possibly with parallel code of its own on the same pool, whose threads must
 * have the calling thread's mode. Where that flushes, too, as a trial's does, there is nothing to
 * undo.
 */
static void end_flush(struct device *base)
{
    struct cpu_device *device = cpu_device(base);

    if (!device->pool_flushes || denormals_flush(true))
        return;
    cpu_threads_set_flush(device->threads, false);
    device->pool_flushes = false;
}

static enum status buffer_alloc(struct device *base, uint64_t bytes, enum buffer_flags flags,
                                struct buffer **ret, struct error *err)
{
    const uint64_t align = bytes >= 2 * CPU_HUGE_PAGE ? CPU_HUGE_PAGE : PAGE;
    const uint64_t available = cpu_memory_available();
    struct cpu_buffer *buffer;

    (void)flags;
    end_flush(base);
    if (bytes > base->info.max_allocation_bytes || (available > 0 && bytes > available))
        return error_set(err, STATUS_DEVICE_MEMORY,
                         "a buffer of %" PRIu64 " bytes; %" PRIu64 " of %" PRIu64 " are free",
                         bytes, available, base->info.memory_bytes);
    buffer = calloc(1, sizeof(*buffer));
    if (buffer == NULL)
        return error_no_memory(err);
    bytes = (bytes + align - 1) / align * align;
    buffer->bytes = aligned_alloc(align, bytes);
    if (buffer->bytes == NULL) {
        free(buffer);
        return error_set(err, STATUS_DEVICE_MEMORY, "no memory for a buffer of %" PRIu64 " bytes",
                         bytes);
    }
    if (align == CPU_HUGE_PAGE)
        madvise(buffer->bytes, bytes, MADV_HUGEPAGE); /* where it is not had, small pages do */
    /* Now, so that no timing includes the first touch. */
    cpu_threads_touch(buffer->bytes, bytes, cpu_device(base)->threads);
    *ret = &buffer->base;
    return STATUS_OK;
}

static void buffer_free(struct device *base, struct buffer *buffer)
{
    (void)base;
    free(((struct cpu_buffer *)buffer)->bytes);
    free(buffer);
}

static enum status upload(struct device *base, struct buffer *buffer, uint64_t offset,
                          const void *source, uint64_t bytes, struct error *err)
{
    (void)err;
    end_flush(base);
    memcpy(((struct cpu_buffer *)buffer)->bytes + offset, source, bytes);
    return STATUS_OK;
}

static enum status download(struct device *base, struct buffer *buffer, uint64_t offset,
                            void *target, uint64_t bytes, struct error *err)
{
    (void)err;
    end_flush(base);
    memcpy(target, ((struct cpu_buffer *)buffer)->bytes + offset, bytes);
    return STATUS_OK;
}

static enum status copy(struct device *base, struct buffer *to, struct buffer *from, uint64_t bytes,
                        struct error *err)
{
    (void)err;
    end_flush(base);
    memcpy(((struct cpu_buffer *)to)->bytes, ((struct cpu_buffer *)from)->bytes, bytes);
    return STATUS_OK;
}

/* Everything has run when its call returns, so a time of the clock is a point of the queue. */
static enum status event_create(struct device *base, struct event **ret, struct error *err)
{
    struct cpu_event *event = calloc(1, sizeof(*event));

    (void)base;
    if (event == NULL)
        return error_no_memory(err);
    *ret = &event->base;
    return STATUS_OK;
}

static void event_destroy(struct device *base, struct event *event)
{
    (void)base;
    free(event);
}

static enum status event_record(struct device *base, struct event *event, struct error *err)
{
    (void)base;
    (void)err;
    ((struct cpu_event *)event)->at_ns = clock_monotonic_ns();
    return STATUS_OK;
}

static enum status event_elapsed_ns(struct device *base, const struct event *start,
                                    const struct event *end, int64_t *ret, struct error *err)
{
    const int64_t from_ns = ((const struct cpu_event *)start)->at_ns;
    const int64_t to_ns = ((const struct cpu_event *)end)->at_ns;

    (void)base;
    if (from_ns == 0 || to_ns == 0)
        return error_set(err, STATUS_INTERNAL, "an event was not recorded");
    if (to_ns < from_ns)
        return error_set(err, STATUS_DEVICE, "the end was recorded before the start");
    *ret = to_ns - from_ns;
    return STATUS_OK;
}

static enum status synchronize(struct device *base, struct error *err)
{
    (void)err;
    end_flush(base);
    return STATUS_OK;
}

static void close_device(struct device *base)
{
    end_flush(base);
    device_info_finish(&base->info);
    free(cpu_device(base));
}

static bool has_dnnl(const struct device *device)
{
    return ((const struct cpu_device *)device)->state->has_dnnl;
}

static bool has_convolutions(const struct device *device)
{
    return has_dnnl(device) &&
           onednn_has_convolutions(&((const struct cpu_device *)device)->state->dnnl);
}

static const struct operation_implementation operations[] = {
    {OPERATION_GEMM, has_dnnl, cpu_gemm_create},
    {OPERATION_CONVOLUTION, has_convolutions, cpu_convolution_create},
    {0},
};

#define COMMON_HOOKS                                                                               \
    .buffer_alloc = buffer_alloc, .buffer_free = buffer_free, .upload = upload,                    \
    .download = download, .copy = copy, .module_load = cpu_module_load,                            \
    .module_unload = cpu_module_unload, .module_describe = cpu_module_describe,                    \
    .kernel_launch = cpu_kernel_launch, .synchronize = synchronize, .operations = operations,      \
    .close = close_device

/* By whether device times were asked for. */
static const struct device_ops ops_of[2] = {
    {COMMON_HOOKS},
    {COMMON_HOOKS, .event_create = event_create, .event_destroy = event_destroy,
     .event_record = event_record, .event_elapsed_ns = event_elapsed_ns},
};

enum status cpu_device_open(struct backend *backend, uint32_t index,
                            const struct device_options *options, struct device **ret,
                            struct error *err)
{
    struct cpu_device *device = calloc(1, sizeof(*device));
    struct reading_list *list;
    enum status status;

    if (device == NULL)
        return error_no_memory(err);
    device->state = backend->state;
    device->base.ops = &ops_of[options->profile];
    device->base.backend = backend;
    device->flush_denormals = options->flush_denormals;
    device->compile_anew = options->compile_anew;
    device->threads = cpu_threads_count();
    cpu_threads_start(device->threads);
    status = cpu_device_info(backend, index, &device->base.info, err);
    if (status != STATUS_OK) {
        free(device);
        return status;
    }
    list = &device->base.info.readings;
    if (denormals_can_flush())
        reading_add_text(list, "device.option.flush_denormals",
                         device->flush_denormals ? "yes" : "no",
                         "FTZ and DAZ of MXCSR, or FZ of FPCR, on every thread of a launch");
    else
        reading_add_missing(
            list, "device.option.flush_denormals", READING_UNAVAILABLE, "build",
            "this processor's flushing cannot be switched here: denormals are kept");
    if (list->failed) {
        close_device(&device->base);
        return error_no_memory(err);
    }
    *ret = &device->base;
    return STATUS_OK;
}
