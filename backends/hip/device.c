#include <stdlib.h>

#include "backends/hip/internal.h"

static enum status done(int code, const char *function, struct error *err)
{
    return code == HIP_Success ? STATUS_OK : hip_runtime_fail(err, NULL, function, code);
}

static enum status bind_device(struct gpu_device *base, struct error *err)
{
    const struct hip_device *device = hip_device(base);

    return done(device->api->hipSetDevice(device->ordinal), "hipSetDevice", err);
}

static enum status memory_alloc(struct gpu_device *base, uint64_t bytes, uint64_t *ret,
                                struct error *err)
{
    void *address = NULL;
    int code = hip_device(base)->api->hipMalloc(&address, (size_t)bytes);

    if (code != HIP_Success || address == NULL)
        return hip_runtime_fail(err, NULL, "hipMalloc", code);
    *ret = (uint64_t)(uintptr_t)address;
    return STATUS_OK;
}

static void memory_free(struct gpu_device *base, uint64_t address)
{
    hip_device(base)->api->hipFree((void *)(uintptr_t)address);
}

static enum status wait_for(const struct hip_device *device, struct error *err)
{
    return done(device->api->hipStreamSynchronize(device->stream), "hipStreamSynchronize", err);
}

static enum status copy_in(struct gpu_device *base, uint64_t to, const void *from, uint64_t bytes,
                           struct error *err)
{
    const struct hip_device *device = hip_device(base);
    int code = device->api->hipMemcpyHtoDAsync((void *)(uintptr_t)to, (void *)from, (size_t)bytes,
                                               device->stream);

    return code == HIP_Success ? wait_for(device, err) : done(code, "hipMemcpyHtoDAsync", err);
}

static enum status copy_out(struct gpu_device *base, void *to, uint64_t from, uint64_t bytes,
                            struct error *err)
{
    const struct hip_device *device = hip_device(base);
    int code =
        device->api->hipMemcpyDtoHAsync(to, (void *)(uintptr_t)from, (size_t)bytes, device->stream);

    return code == HIP_Success ? wait_for(device, err) : done(code, "hipMemcpyDtoHAsync", err);
}

static enum status copy_within(struct gpu_device *base, uint64_t to, uint64_t from, uint64_t bytes,
                               struct error *err)
{
    const struct hip_device *device = hip_device(base);

    return done(device->api->hipMemcpyDtoDAsync((void *)(uintptr_t)to, (void *)(uintptr_t)from,
                                                (size_t)bytes, device->stream),
                "hipMemcpyDtoDAsync", err);
}

static enum status create_stream(const struct hip_device *device, struct ihipStream_t **stream,
                                 struct error *err)
{
    int code;

    if (*stream != NULL)
        return STATUS_OK;
    code = device->api->hipStreamCreateWithFlags(stream, HIP_STREAM_NON_BLOCKING);
    if (code == HIP_Success && *stream != NULL)
        return STATUS_OK;
    *stream = NULL;
    return hip_runtime_fail(err, NULL, "hipStreamCreateWithFlags", code);
}

/* Whatever fails, nothing is written to or read from the host's memory after it. */
static enum status copy_both(struct gpu_device *base, const struct gpu_copies *copies,
                             struct error *err)
{
    struct hip_device *device = hip_device(base);
    const struct hip_runtime *api = device->api;
    enum status status, waited;

    TRY(create_stream(device, &device->second, err));
    TRY(wait_for(device, err));
    TRY(done(api->hipMemcpyHtoDAsync((void *)(uintptr_t)copies->to, (void *)copies->source,
                                     (size_t)copies->bytes, device->stream),
             "hipMemcpyHtoDAsync", err));
    status = done(api->hipMemcpyDtoHAsync(copies->target, (void *)(uintptr_t)copies->from,
                                          (size_t)copies->bytes, device->second),
                  "hipMemcpyDtoHAsync", err);
    if (status == STATUS_OK)
        status = done(api->hipStreamSynchronize(device->second), "hipStreamSynchronize", err);
    waited = wait_for(device, status == STATUS_OK ? err : NULL);
    return status == STATUS_OK ? waited : status;
}

static enum status host_alloc(struct gpu_device *base, uint64_t bytes, void **ret,
                              struct error *err)
{
    void *memory = NULL;
    int code = hip_device(base)->api->hipHostMalloc(&memory, (size_t)bytes, 0);

    if (code != HIP_Success || memory == NULL)
        return hip_runtime_fail(err, NULL, "hipHostMalloc", code);
    *ret = memory;
    return STATUS_OK;
}

static void host_free(struct gpu_device *base, void *memory)
{
    hip_device(base)->api->hipHostFree(memory);
}

static enum status event_create(struct gpu_device *base, void **ret, struct error *err)
{
    struct ihipEvent_t *event = NULL;
    int code = hip_device(base)->api->hipEventCreateWithFlags(&event, HIP_EVENT_DEFAULT);

    if (code != HIP_Success || event == NULL)
        return hip_runtime_fail(err, NULL, "hipEventCreateWithFlags", code);
    *ret = event;
    return STATUS_OK;
}

static void event_destroy(struct gpu_device *base, void *event)
{
    hip_device(base)->api->hipEventDestroy(event);
}

static enum status event_record(struct gpu_device *base, void *event, struct error *err)
{
    const struct hip_device *device = hip_device(base);

    return done(device->api->hipEventRecord(event, device->stream), "hipEventRecord", err);
}

/* Milliseconds in a float: 24 bits, so a second is exact to 60 ns and 100 s to 8 us. */
static enum status event_elapsed_ns(struct gpu_device *base, void *start, void *end, int64_t *ret,
                                    struct error *err)
{
    float ms = -1.0f;
    int code = hip_device(base)->api->hipEventElapsedTime(&ms, start, end);

    if (code != HIP_Success)
        return done(code, "hipEventElapsedTime", err);
    if (!(ms >= 0.0f && ms < 1e12f))
        return error_set(err, STATUS_DEVICE, "hipEventElapsedTime: it gave %g ms", (double)ms);
    *ret = (int64_t)((double)ms * 1e6 + 0.5);
    return STATUS_OK;
}

static enum status synchronize(struct gpu_device *base, struct error *err)
{
    const struct hip_device *device = hip_device(base);

    return device->stream != NULL ? wait_for(device, err) : STATUS_OK;
}

static void close_device(struct gpu_device *base)
{
    struct hip_device *device = hip_device(base);

    if (device->stream != NULL && gpu_bind(base, NULL) == STATUS_OK)
        device->api->hipStreamSynchronize(device->stream);
    hip_gemm_close(device);
    if (device->second != NULL)
        device->api->hipStreamDestroy(device->second);
    if (device->stream != NULL)
        device->api->hipStreamDestroy(device->stream);
}

static const struct gpu_driver driver = {
    .bind = bind_device,
    .compile = hip_compile,
    .module_load = hip_module_load,
    .module_unload = hip_module_unload,
    .function_find = hip_function_find,
    .variable_bytes = hip_variable_bytes,
    .function_resources = hip_function_resources,
    .kernel_names = hip_kernel_names,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy_within = copy_within,
    .copy_both = copy_both,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .launch = hip_launch,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_elapsed_ns = event_elapsed_ns,
    .synchronize = synchronize,
    .close = close_device,
};

static const struct operation_implementation operations[] = {
    {OPERATION_GEMM, NULL, hip_hipblaslt_create},
    {OPERATION_GEMM, NULL, hip_rocblas_create},
    {0},
};

static const struct device_ops hip_ops = {GPU_DEVICE_HOOKS, .operations = operations};

enum status hip_device_open(struct backend *backend, uint32_t index,
                            const struct device_options *options, struct device **ret,
                            struct error *err)
{
    struct hip_state *state = backend->state;
    struct hip_device *device = calloc(1, sizeof(*device));
    enum status status;

    if (device == NULL)
        return error_no_memory(err);
    device->base.base.ops = &hip_ops;
    device->base.base.backend = backend;
    device->base.driver = &driver;
    device->base.flush_denormals = options->flush_denormals;
    device->state = state;
    device->api = &state->runtime;
    device->ordinal = (int)index;
    status = hip_device_info(backend, index, &device->base.base.info, err);
    if (status == STATUS_OK)
        status = hip_device_arch(device->api, device->ordinal, device->arch, err);
    if (status == STATUS_OK && !state->rtc_open)
        status = error_set(err, STATUS_UNAVAILABLE, "HIPRTC, which compiles kernels: %s",
                           state->rtc_error.message);
    if (status == STATUS_OK)
        status = gpu_bind(&device->base, err);
    if (status == STATUS_OK)
        status = create_stream(device, &device->stream, err);
    if (status == STATUS_OK) {
        struct reading_list *list = &device->base.base.info.readings;

        gpu_choose_events(&device->base, options);
        gpu_add_option_readings(list, options->flush_denormals, "options of hiprtcCompileProgram");
        if (list->failed)
            status = error_no_memory(err);
    }
    if (status != STATUS_OK) {
        gpu_close(&device->base.base);
        return status;
    }
    *ret = &device->base.base;
    return STATUS_OK;
}
