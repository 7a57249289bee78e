#include "backends/opencl/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SPACE_BYTES ((uint64_t)32 << 10)
#define SPACE_FROM_BYTES ((uint64_t)4 << 20)

/*
 * What to ask the driver for. On a processor a buffer is the C library's memory, and large ones of
 * one size lie that size and a page apart. AdamW over four of 128 MiB then took more than twice as
 * long as with eight pages more between them (Zen 4, PoCL 3.1). The cause was not shown by
 * counters; the first-level cache's way predictor is a candidate: its hash takes address bits that
 * cancel at this distance (Lipp et al., "Take A Way", 2020).
 */
static size_t spaced_bytes(const struct device *base, uint64_t bytes)
{
    const uint64_t limit = base->info.max_allocation_bytes;

    if (base->info.type != DEVICE_CPU || bytes < SPACE_FROM_BYTES || limit < SPACE_BYTES ||
        bytes > limit - SPACE_BYTES)
        return (size_t)bytes;
    return (size_t)(bytes + SPACE_BYTES);
}

static enum status buffer_alloc(struct device *base, uint64_t bytes, enum buffer_flags flags,
                                struct buffer **ret, struct error *err)
{
    struct opencl_device *device = opencl_device(base);
    const struct opencl_api *api = device->api;
    struct opencl_buffer *buffer = calloc(1, sizeof(*buffer));
    const char *function = "clCreateBuffer";
    char context[96];
    int32_t code = OCL_SUCCESS;

    if (buffer == NULL)
        return error_no_memory(err);
    buffer->mem = api->clCreateBuffer(
        device->context, flags == BUFFER_READ_ONLY ? OCL_MEM_READ_ONLY : OCL_MEM_READ_WRITE,
        spaced_bytes(base, bytes), NULL, &code);
    /*
     * Some drivers allocate at the first use. Asking for the (undefined) contents on the device
     * reports a lack of memory here, and keeps the allocation out of the first timing.
     */
    if (code == OCL_SUCCESS && buffer->mem != NULL && api->clEnqueueMigrateMemObjects != NULL) {
        function = "clEnqueueMigrateMemObjects";
        code = api->clEnqueueMigrateMemObjects(device->queue, 1, &buffer->mem,
                                               OCL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL,
                                               NULL);
    }
    if (code != OCL_SUCCESS || buffer->mem == NULL) {
        snprintf(context, sizeof(context),
                 "buffer of %" PRIu64 " bytes (the device says at most %" PRIu64 ")", bytes,
                 base->info.max_allocation_bytes);
        if (buffer->mem != NULL)
            api->clReleaseMemObject(buffer->mem);
        free(buffer);
        return opencl_fail(err, context, function, code);
    }
    *ret = &buffer->base;
    return STATUS_OK;
}

static void buffer_free(struct device *base, struct buffer *buffer)
{
    opencl_device(base)->api->clReleaseMemObject(((struct opencl_buffer *)buffer)->mem);
    free(buffer);
}

static enum status upload(struct device *base, struct buffer *buffer, uint64_t offset,
                          const void *source, uint64_t bytes, struct error *err)
{
    struct opencl_device *device = opencl_device(base);
    int32_t code = device->api->clEnqueueWriteBuffer(
        device->queue, ((struct opencl_buffer *)buffer)->mem, OCL_TRUE, (size_t)offset,
        (size_t)bytes, source, 0, NULL, NULL);

    return code == OCL_SUCCESS ? STATUS_OK : opencl_fail(err, NULL, "clEnqueueWriteBuffer", code);
}

/*
 * A call that needs no memory and yet reports too few resources: this is how NVIDIA's and Intel's
 * drivers report that an earlier kernel did something illegal, or hung.
 */
static enum status fail_after_work(struct error *err, const char *function, int32_t code)
{
    if (code == OCL_OUT_OF_RESOURCES)
        return error_set(err, STATUS_DEVICE_LOST,
                         "%s: CL_OUT_OF_RESOURCES (%d); a kernel that was enqueued before it did "
                         "something illegal, or hung",
                         function, (int)code);
    return opencl_fail(err, NULL, function, code);
}

static enum status download(struct device *base, struct buffer *buffer, uint64_t offset,
                            void *target, uint64_t bytes, struct error *err)
{
    struct opencl_device *device = opencl_device(base);
    int32_t code = device->api->clEnqueueReadBuffer(
        device->queue, ((struct opencl_buffer *)buffer)->mem, OCL_TRUE, (size_t)offset,
        (size_t)bytes, target, 0, NULL, NULL);

    return code == OCL_SUCCESS ? STATUS_OK : fail_after_work(err, "clEnqueueReadBuffer", code);
}

static enum status synchronize(struct device *base, struct error *err)
{
    struct opencl_device *device = opencl_device(base);
    int32_t code = device->api->clFinish(device->queue);

    return code == OCL_SUCCESS ? STATUS_OK : fail_after_work(err, "clFinish", code);
}

static enum status copy(struct device *base, struct buffer *to, struct buffer *from, uint64_t bytes,
                        struct error *err)
{
    struct opencl_device *device = opencl_device(base);
    int32_t code = device->api->clEnqueueCopyBuffer(
        device->queue, ((struct opencl_buffer *)from)->mem, ((struct opencl_buffer *)to)->mem, 0, 0,
        (size_t)bytes, 0, NULL, NULL);

    return code == OCL_SUCCESS ? STATUS_OK : opencl_fail(err, NULL, "clEnqueueCopyBuffer", code);
}

/* The queue for the other direction, made when it is first wanted. */
static enum status open_second(struct opencl_device *device, struct error *err)
{
    int32_t code = OCL_SUCCESS;

    if (device->second != NULL)
        return STATUS_OK;
    device->second = device->api->clCreateCommandQueue(device->context, device->id, 0, &code);
    if (code == OCL_SUCCESS && device->second != NULL)
        return STATUS_OK;
    device->second = NULL;
    return opencl_fail(err, NULL, "clCreateCommandQueue", code);
}

/*
 * The upload is flushed, so that it runs while the download is waited for. Whatever fails, nothing
 * is written to or read from the host's memory after it.
 */
static enum status exchange(struct device *base, const struct device_exchange *both,
                            struct error *err)
{
    struct opencl_device *device = opencl_device(base);
    const struct opencl_api *api = device->api;
    struct _cl_mem *to = ((const struct opencl_buffer *)both->to)->mem;
    struct _cl_mem *from = ((const struct opencl_buffer *)both->from)->mem;
    const size_t bytes = (size_t)both->bytes;
    int32_t code, flushed;

    TRY(open_second(device, err));
    TRY(synchronize(base, err));
    code = api->clEnqueueWriteBuffer(device->queue, to, OCL_FALSE, 0, bytes, both->source, 0, NULL,
                                     NULL);
    if (code != OCL_SUCCESS)
        return opencl_fail(err, NULL, "clEnqueueWriteBuffer", code);
    flushed = api->clFlush(device->queue);
    if (flushed == OCL_SUCCESS)
        code = api->clEnqueueReadBuffer(device->second, from, OCL_TRUE, 0, bytes, both->target, 0,
                                        NULL, NULL);
    if (flushed == OCL_SUCCESS && code == OCL_SUCCESS)
        return synchronize(base, err);
    api->clFinish(device->queue);
    return flushed != OCL_SUCCESS ? opencl_fail(err, NULL, "clFlush", flushed)
                                  : fail_after_work(err, "clEnqueueReadBuffer", code);
}

struct opencl_host_memory {
    struct host_memory base;
    struct _cl_mem *mem;
};

static void host_free(struct device *base, struct host_memory *memory)
{
    struct opencl_device *device = opencl_device(base);
    struct opencl_host_memory *self = (struct opencl_host_memory *)memory;

    if (memory->bytes != NULL)
        device->api->clEnqueueUnmapMemObject(device->queue, self->mem, memory->bytes, 0, NULL,
                                             NULL);
    device->api->clReleaseMemObject(self->mem); /* after what is enqueued */
    free(self);
}

/* Memory of the driver's that stays mapped: what it can pin, where it pins. */
static enum status host_alloc(struct device *base, uint64_t bytes, struct host_memory **ret,
                              struct error *err)
{
    struct opencl_device *device = opencl_device(base);
    const struct opencl_api *api = device->api;
    struct opencl_host_memory *memory = calloc(1, sizeof(*memory));
    int32_t code = OCL_SUCCESS;

    if (memory == NULL)
        return error_no_memory(err);
    memory->mem = api->clCreateBuffer(device->context, OCL_MEM_READ_WRITE | OCL_MEM_ALLOC_HOST_PTR,
                                      (size_t)bytes, NULL, &code);
    if (code != OCL_SUCCESS || memory->mem == NULL) {
        free(memory);
        return opencl_fail(err, "pinned host memory", "clCreateBuffer", code);
    }
    memory->base.bytes =
        api->clEnqueueMapBuffer(device->queue, memory->mem, OCL_TRUE, OCL_MAP_READ | OCL_MAP_WRITE,
                                0, (size_t)bytes, 0, NULL, NULL, &code);
    if (code != OCL_SUCCESS || memory->base.bytes == NULL) {
        memory->base.bytes = NULL;
        host_free(base, &memory->base);
        return opencl_fail(err, "pinned host memory", "clEnqueueMapBuffer", code);
    }
    *ret = &memory->base;
    return STATUS_OK;
}

/* CPUs want whole rows in one lane, or few; GPUs whole warps or wavefronts. */
static size_t lane_candidates(struct device *base, uint32_t *ret, size_t capacity)
{
    static const uint32_t cpu[] = {1, 8, 16, 64};
    static const uint32_t gpu[] = {1, 64, 128, 256};
    const uint32_t *all = base->info.type == DEVICE_GPU ? gpu : cpu;
    size_t count = 0, i;

    for (i = 0; i < sizeof(cpu) / sizeof(cpu[0]) && count < capacity; i++)
        if (all[i] == 1 || base->info.max_lanes == 0 || all[i] <= base->info.max_lanes)
            ret[count++] = all[i];
    return count;
}

static void close_device(struct device *base)
{
    struct opencl_device *device = opencl_device(base);

    if (device->second != NULL)
        device->api->clReleaseCommandQueue(device->second);
    if (device->queue != NULL) {
        device->api->clFinish(device->queue);
        device->api->clReleaseCommandQueue(device->queue);
    }
    if (device->context != NULL)
        device->api->clReleaseContext(device->context);
    device_info_finish(&base->info);
    free(device->compiler);
    free(device);
}

#define COMMON_HOOKS                                                                               \
    .buffer_alloc = buffer_alloc, .buffer_free = buffer_free, .upload = upload,                    \
    .download = download, .copy = copy, .exchange = exchange, .host_alloc = host_alloc,            \
    .host_free = host_free, .module_load = opencl_module_load,                                     \
    .module_unload = opencl_module_unload, .module_describe = opencl_module_describe,              \
    .kernel_launch = opencl_kernel_launch, .synchronize = synchronize,                             \
    .lane_candidates = lane_candidates, .close = close_device

static bool has_clblast(const struct device *device)
{
    return ((const struct opencl_device *)device)->state->clblast.usable && !device->info.simulated;
}

static const struct operation_implementation operations[] = {
    {OPERATION_GEMM, has_clblast, opencl_gemm_create},
    {0},
};

static const struct device_ops plain_ops = {COMMON_HOOKS, .operations = operations};

static const struct device_ops event_ops = {
    COMMON_HOOKS,
    .operations = operations,
    .event_create = opencl_event_create,
    .event_destroy = opencl_event_destroy,
    .event_record = opencl_event_record,
    .event_elapsed_ns = opencl_event_elapsed_ns,
};

static bool reading_is(const struct reading_list *list, const char *name, const char *value)
{
    const struct reading *reading = reading_find(list, name);

    return reading != NULL && reading->status == READING_MEASURED && reading->text != NULL &&
           strcmp(reading->text, value) == 0;
}

static bool reading_has(const struct reading_list *list, const char *name, const char *word)
{
    const struct reading *reading = reading_find(list, name);

    return reading != NULL && reading->status == READING_MEASURED && reading->text != NULL &&
           strstr(reading->text, word) != NULL;
}

static const char *reading_text(const struct reading_list *list, const char *name)
{
    const struct reading *reading = reading_find(list, name);

    return reading != NULL && reading->status == READING_MEASURED && reading->text != NULL
               ? reading->text
               : "?";
}

static enum status check_usable(const struct opencl_device *device, struct error *err)
{
    const struct device_info *info = &device->base.info;

    if (reading_is(&info->readings, "device.available", "no"))
        return error_set(err, STATUS_DEVICE_LOST, "%s: the driver says that it is not available",
                         info->name);
    if (reading_is(&info->readings, "device.compiler_available", "no"))
        return error_set(err, STATUS_UNSUPPORTED, "%s: the driver has no compiler for OpenCL C",
                         info->name);
    if (reading_is(&info->readings, "device.little_endian", "no"))
        return error_set(err, STATUS_UNSUPPORTED, "%s: big-endian devices are not supported",
                         info->name);
    return STATUS_OK;
}

static enum status create_queue(struct opencl_device *device, const struct opencl_slot *slot,
                                bool profile, struct error *err)
{
    const struct opencl_api *api = device->api;
    const intptr_t properties[] = {OCL_CONTEXT_PLATFORM, (intptr_t)slot->platform->id, 0};
    int32_t code = OCL_SUCCESS;

    device->context = api->clCreateContext(properties, 1, &device->id, NULL, NULL, &code);
    if (code != OCL_SUCCESS || device->context == NULL) {
        device->context = NULL;
        return opencl_fail(err, device->base.info.name, "clCreateContext", code);
    }
    device->queue = api->clCreateCommandQueue(device->context, device->id,
                                              profile ? OCL_QUEUE_PROFILING_ENABLE : 0, &code);
    if (code != OCL_SUCCESS || device->queue == NULL) {
        device->queue = NULL;
        return opencl_fail(err, device->base.info.name, "clCreateCommandQueue", code);
    }
    return STATUS_OK;
}

static void add_denormal_readings(struct opencl_device *device)
{
    struct reading_list *list = &device->base.info.readings;

    reading_add_text(list, "device.option.flush_denormals", device->flush_denormals ? "yes" : "no",
                     "clBuildProgram(-cl-denorms-are-zero)");
    if (!device->flush_denormals && !reading_has(list, "device.fp32", "denormals"))
        reading_add_text(list, "device.option.flush_denormals", "always",
                         "clGetDeviceInfo(CL_DEVICE_SINGLE_FP_CONFIG)");
}

enum status opencl_device_open(struct backend *backend, uint32_t index,
                               const struct device_options *options, struct device **ret,
                               struct error *err)
{
    const struct opencl_state *state = backend->state;
    const struct opencl_slot *slot = &state->slots[index];
    struct opencl_device *device = calloc(1, sizeof(*device));
    const bool events = options->profile && state->api.clEnqueueMarkerWithWaitList != NULL;
    struct reading_list *list;
    enum status status;

    if (device == NULL)
        return error_no_memory(err);
    device->base.ops = events ? &event_ops : &plain_ops;
    device->base.backend = backend;
    device->state = state;
    device->api = &state->api;
    device->id = slot->id;
    status = opencl_device_info(backend, index, &device->base.info, err);
    if (status == STATUS_OK)
        status = check_usable(device, err);
    if (status == STATUS_OK)
        status = create_queue(device, slot, events, err);
    if (status == STATUS_OK) {
        list = &device->base.info.readings;
        device->exact_divide = reading_has(list, "device.fp32", "exact_divide_sqrt");
        device->flush_denormals = options->flush_denormals;
        add_denormal_readings(device);
        device->compiler =
            text_format("%s, %s, driver %s", reading_text(list, "device.platform.name"),
                        reading_text(list, "device.platform.version"),
                        reading_text(list, "device.driver_version"));
        if (device->compiler == NULL || list->failed)
            status = error_no_memory(err);
    }
    if (status != STATUS_OK) {
        close_device(&device->base);
        return status;
    }
    *ret = &device->base;
    return STATUS_OK;
}
