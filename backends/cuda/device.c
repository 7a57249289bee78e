#include "backends/cuda/cudnn_graph.h"
#include "backends/cuda/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define JIT_LOG_SIZE 4096

static enum status check(struct gpu_device *device, const char *function, unsigned code,
                         struct error *err)
{
    return code == CUDA_DRIVER_SUCCESS
               ? STATUS_OK
               : cuda_fail(cuda_device(device)->api, err, NULL, function, code);
}

/* Calls a driver function by its name, which is part of the message. */
#define CALL(device, err, function, ...)                                                           \
    check(device, #function, cuda_device(device)->api->function(__VA_ARGS__), err)

/* It reports success, but there is no object. */
static enum status gave_nothing(struct gpu_device *device, const char *function, struct error *err)
{
    return cuda_fail(cuda_device(device)->api, err, NULL, function, CUDA_DRIVER_SUCCESS);
}

static enum status bind(struct gpu_device *device, struct error *err)
{
    return CALL(device, err, cuCtxSetCurrent, cuda_device(device)->context);
}

static enum status compile(struct gpu_device *device, const struct module_source *source,
                           const char *program, struct gpu_binary *ret, struct error *err)
{
    const struct cuda_device *self = cuda_device(device);

    return nvrtc_compile(&self->nvrtc, source->file, program, self->compute,
                         device->flush_denormals, NULL, ret, err);
}

static enum status module_load(struct gpu_device *device, const struct gpu_binary *binary,
                               void **ret, struct error *err)
{
    const struct cuda_device *self = cuda_device(device);
    unsigned options[] = {CUDA_JIT_ERROR_LOG_BUFFER, CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    char log[JIT_LOG_SIZE] = "";
    void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
    struct CUmod_st *module = NULL;
    unsigned code = self->api->cuModuleLoadDataEx(&module, binary->bytes, 2, options, values);

    log[sizeof(log) - 1] = '\0';
    if (code != CUDA_DRIVER_SUCCESS || module == NULL)
        return cuda_fail(self->api, err, log[0] != '\0' ? log : NULL, "cuModuleLoadDataEx", code);
    *ret = module;
    return STATUS_OK;
}

static void module_unload(struct gpu_device *device, void *module)
{
    cuda_device(device)->api->cuModuleUnload(module);
}

static enum status function_find(struct gpu_device *device, void *module, const char *name,
                                 void **ret, struct error *err)
{
    struct CUfunc_st *function = NULL;

    TRY(CALL(device, err, cuModuleGetFunction, &function, module, name));
    if (function == NULL)
        TRY(gave_nothing(device, "cuModuleGetFunction", err));
    *ret = function;
    return STATUS_OK;
}

static enum status variable_bytes(struct gpu_device *device, void *module, const char *name,
                                  size_t *ret, struct error *err)
{
    unsigned long long address = 0;
    size_t bytes = 0;

    TRY(CALL(device, err, cuModuleGetGlobal, &address, &bytes, module, name));
    *ret = bytes;
    return STATUS_OK;
}

static enum status function_resources(struct gpu_device *device, void *function,
                                      struct module_resources *ret, uint32_t *ret_max_lanes,
                                      struct error *err)
{
    const struct cuda_driver_api *api = cuda_device(device)->api;
    int lanes = 0, value = 0;

    TRY(CALL(device, err, cuFuncGetAttribute, &lanes, CUDA_FUNCTION_MAX_THREADS_PER_BLOCK,
             function));
    if (api->cuFuncGetAttribute(&value, CUDA_FUNCTION_NUM_REGS, function) == CUDA_DRIVER_SUCCESS)
        ret->registers = value;
    if (api->cuFuncGetAttribute(&value, CUDA_FUNCTION_LOCAL_SIZE_BYTES, function) ==
        CUDA_DRIVER_SUCCESS)
        ret->spill_bytes = value;
    if (api->cuFuncGetAttribute(&value, CUDA_FUNCTION_SHARED_SIZE_BYTES, function) ==
        CUDA_DRIVER_SUCCESS)
        ret->shared_bytes = value;
    *ret_max_lanes = lanes > 0 ? (uint32_t)lanes : 0;
    return STATUS_OK;
}

static enum status memory_alloc(struct gpu_device *device, uint64_t bytes, uint64_t *ret,
                                struct error *err)
{
    unsigned long long address = 0;
    unsigned code = cuda_device(device)->api->cuMemAlloc(&address, (size_t)bytes);

    /* An absurdly large size may be invalid to the driver rather than out of memory. */
    if (code == CUDA_DRIVER_ERROR_INVALID_VALUE && bytes > device->base.info.memory_bytes)
        code = CUDA_DRIVER_ERROR_OUT_OF_MEMORY;
    TRY(check(device, "cuMemAlloc", code, err));
    if (address == 0)
        TRY(gave_nothing(device, "cuMemAlloc", err));
    *ret = address;
    return STATUS_OK;
}

static void memory_free(struct gpu_device *device, uint64_t address)
{
    cuda_device(device)->api->cuMemFree(address);
}

static enum status synchronize(struct gpu_device *device, struct error *err)
{
    return CALL(device, err, cuStreamSynchronize, cuda_device(device)->stream);
}

static enum status copy_in(struct gpu_device *device, uint64_t to, const void *from, uint64_t bytes,
                           struct error *err)
{
    TRY(CALL(device, err, cuMemcpyHtoDAsync, to, from, (size_t)bytes, cuda_device(device)->stream));
    return synchronize(device, err);
}

static enum status copy_out(struct gpu_device *device, void *to, uint64_t from, uint64_t bytes,
                            struct error *err)
{
    TRY(CALL(device, err, cuMemcpyDtoHAsync, to, from, (size_t)bytes, cuda_device(device)->stream));
    return synchronize(device, err);
}

static enum status copy_within(struct gpu_device *device, uint64_t to, uint64_t from,
                               uint64_t bytes, struct error *err)
{
    return CALL(device, err, cuMemcpyDtoDAsync, to, from, (size_t)bytes,
                cuda_device(device)->stream);
}

static enum status create_stream(struct cuda_device *device, struct CUstream_st **stream,
                                 struct error *err)
{
    struct gpu_device *base = &device->base;

    if (*stream != NULL)
        return STATUS_OK;
    TRY(CALL(base, err, cuStreamCreate, stream, CUDA_STREAM_NON_BLOCKING));
    return *stream != NULL ? STATUS_OK : gave_nothing(base, "cuStreamCreate", err);
}

/* Whatever fails, nothing is written to or read from the host's memory after it. */
static enum status copy_both(struct gpu_device *device, const struct gpu_copies *copies,
                             struct error *err)
{
    struct cuda_device *self = cuda_device(device);
    const size_t bytes = (size_t)copies->bytes;
    enum status status, waited;

    TRY(create_stream(self, &self->second, err));
    TRY(synchronize(device, err));
    TRY(CALL(device, err, cuMemcpyHtoDAsync, copies->to, copies->source, bytes, self->stream));
    status =
        CALL(device, err, cuMemcpyDtoHAsync, copies->target, copies->from, bytes, self->second);
    if (status == STATUS_OK)
        status = CALL(device, err, cuStreamSynchronize, self->second);
    waited = synchronize(device, status == STATUS_OK ? err : NULL);
    return status == STATUS_OK ? waited : status;
}

static enum status host_alloc(struct gpu_device *device, uint64_t bytes, void **ret,
                              struct error *err)
{
    void *memory = NULL;

    TRY(CALL(device, err, cuMemHostAlloc, &memory, (size_t)bytes, 0));
    if (memory == NULL)
        TRY(gave_nothing(device, "cuMemHostAlloc", err));
    *ret = memory;
    return STATUS_OK;
}

static void host_free(struct gpu_device *device, void *memory)
{
    cuda_device(device)->api->cuMemFreeHost(memory);
}

static enum status launch(struct gpu_device *device, void *function, const uint32_t groups[3],
                          uint32_t lanes, void **args, struct error *err)
{
    return CALL(device, err, cuLaunchKernel, function, groups[0], groups[1], groups[2], lanes, 1, 1,
                0, cuda_device(device)->stream, args, NULL);
}

static enum status event_create(struct gpu_device *device, void **ret, struct error *err)
{
    struct CUevent_st *event = NULL;

    TRY(CALL(device, err, cuEventCreate, &event, CUDA_EVENT_DEFAULT));
    if (event == NULL)
        TRY(gave_nothing(device, "cuEventCreate", err));
    *ret = event;
    return STATUS_OK;
}

static void event_destroy(struct gpu_device *device, void *event)
{
    cuda_device(device)->api->cuEventDestroy(event);
}

static enum status event_record(struct gpu_device *device, void *event, struct error *err)
{
    return CALL(device, err, cuEventRecord, event, cuda_device(device)->stream);
}

static enum status event_elapsed_ns(struct gpu_device *device, void *start, void *end, int64_t *ret,
                                    struct error *err)
{
    float milliseconds = 0.0f;

    TRY(CALL(device, err, cuEventElapsedTime, &milliseconds, start, end));
    if (!(fabsf(milliseconds) < 1e12f))
        return error_set(err, STATUS_DEVICE, "cuEventElapsedTime: gave %g ms",
                         (double)milliseconds);
    *ret = llround((double)milliseconds * 1e6);
    return STATUS_OK;
}

static void close_device(struct gpu_device *device)
{
    struct cuda_device *self = cuda_device(device);

    if (self->retained && gpu_bind(device, NULL) == STATUS_OK && self->stream != NULL)
        self->api->cuStreamSynchronize(self->stream);
    if (self->cudnn != NULL)
        self->state->cudnn.cudnnDestroy(self->cudnn);
    if (self->cublaslt != NULL)
        self->state->cublaslt.cublasLtDestroy(self->cublaslt);
    if (self->second != NULL)
        self->api->cuStreamDestroy(self->second);
    if (self->stream != NULL)
        self->api->cuStreamDestroy(self->stream);
    if (self->retained) {
        self->api->cuCtxSetCurrent(NULL);
        self->api->cuDevicePrimaryCtxRelease(self->ordinal);
    }
    nvrtc_finish(&self->nvrtc);
}

static const struct gpu_driver driver = {
    .bind = bind,
    .compile = compile,
    .module_load = module_load,
    .module_unload = module_unload,
    .function_find = function_find,
    .variable_bytes = variable_bytes,
    .function_resources = function_resources,
    .kernel_names = cuda_cubin_kernels,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy_within = copy_within,
    .copy_both = copy_both,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .launch = launch,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_elapsed_ns = event_elapsed_ns,
    .synchronize = synchronize,
    .close = close_device,
};

static const struct cuda_device *const_device(const struct device *device)
{
    return (const struct cuda_device *)device;
}

static bool has_cublaslt(const struct device *device)
{
    return const_device(device)->cublaslt != NULL;
}

static bool has_cudnn(const struct device *device)
{
    return cuda_state_cudnn(const_device(device)->state);
}

static bool has_graph(const struct device *device)
{
    return has_cudnn(device) && cudnn_has_graph(&const_device(device)->state->cudnn);
}

static const struct operation_implementation operations[] = {
    {OPERATION_GEMM, has_cublaslt, cuda_gemm_create},
    {OPERATION_CONVOLUTION, has_cudnn, cuda_convolution_create},
    {OPERATION_ATTENTION, has_graph, cuda_attention_create},
    {OPERATION_ATTENTION_BACKWARD, has_graph, cuda_attention_create},
    {0},
};

static const struct device_ops cuda_ops = {GPU_DEVICE_HOOKS, .operations = operations};

/* Without cuDNN there are no convolutions and no attention, and a reading says why. */
static void find_cudnn(struct cuda_device *device)
{
    static const char reading[] = "device.cudnn";
    struct cuda_state *state = device->state;
    struct reading_list *list = &device->base.base.info.readings;

    if (cuda_state_cudnn(state)) {
        reading_add_text(list, reading, state->cudnn_version, "cudnnGetVersion");
        return;
    }
    reading_add_missing(list, reading, READING_UNAVAILABLE, "libcudnn.so",
                        state->cudnn_lib.tried != NULL ? state->cudnn_lib.tried : "");
}

static void add_no_gemm(struct reading_list *list, const char *source, const char *reason)
{
    reading_add_missing(list, "device.cublaslt", READING_UNAVAILABLE, source, reason);
    reading_add_missing(list, "device.gemm", READING_UNAVAILABLE, source, reason);
}

/*
 * Without cuBLASLt there are no GEMMs, and a reading says why. So it is where the library
 * refuses to work, being too new for the driver, say: our own kernels run all the same.
 */
static enum status open_libraries(struct cuda_device *device, struct error *err)
{
    struct cuda_state *state = device->state;
    struct reading_list *list = &device->base.base.info.readings;
    struct error reason = ERROR_INIT;
    unsigned code;

    find_cudnn(device);
    if (!cuda_state_cublaslt(state)) {
        add_no_gemm(list, "libcublasLt.so",
                    state->cublaslt_lib.tried != NULL ? state->cublaslt_lib.tried : "");
        return STATUS_OK;
    }
    code = state->cublaslt.cublasLtCreate(&device->cublaslt);
    if (code == LT_STATUS_SUCCESS && device->cublaslt != NULL) {
        reading_add_text(list, "device.cublaslt", state->cublaslt_version, "cublasLtGetVersion");
        return STATUS_OK;
    }
    device->cublaslt = NULL;
    error_set(&reason, code == LT_STATUS_ALLOC_FAILED ? STATUS_DEVICE_MEMORY : STATUS_DEVICE,
              "cublasLtCreate: %s (%u)", cublaslt_status_name(&state->cublaslt, code), code);
    if (reason.code != STATUS_DEVICE_MEMORY) {
        add_no_gemm(list, "cublasLtCreate", reason.message);
        return STATUS_OK;
    }
    if (err != NULL)
        *err = reason;
    return reason.code;
}

static enum status open_context(struct cuda_device *device, struct error *err)
{
    struct gpu_device *base = &device->base;

    TRY(CALL(base, err, cuDevicePrimaryCtxRetain, &device->context, device->ordinal));
    if (device->context == NULL)
        TRY(gave_nothing(base, "cuDevicePrimaryCtxRetain", err));
    device->retained = true;
    TRY(gpu_bind(base, err));
    return create_stream(device, &device->stream, err);
}

static void add_compiler_reading(struct cuda_device *device, int arch)
{
    struct reading_list *list = &device->base.base.info.readings;
    char text[160];

    if (device->compute > 0)
        snprintf(text, sizeof(text), "sm_%d", device->compute);
    else
        snprintf(text, sizeof(text),
                 "compute_%d (PTX, translated by the driver: NVRTC %d.%d does not know sm_%d)",
                 -device->compute, device->nvrtc.major, device->nvrtc.minor, arch);
    reading_add_text(list, "device.compile_target", text, "nvrtcGetSupportedArchs");
    gpu_add_option_readings(list, device->base.flush_denormals, "nvrtcCompileProgram(--ftz)");
}

enum status cuda_device_open(struct backend *backend, uint32_t index,
                             const struct device_options *options, struct device **ret,
                             struct error *err)
{
    struct cuda_state *state = backend->state;
    struct cuda_device *device = calloc(1, sizeof(*device));
    enum status status;
    int arch = 0;

    if (device == NULL)
        return error_no_memory(err);
    device->base.base.ops = &cuda_ops;
    device->base.base.backend = backend;
    device->base.driver = &driver;
    device->base.flush_denormals = options->flush_denormals;
    device->state = state;
    device->api = &state->driver;
    status = cuda_device_info(backend, index, &device->base.base.info, err);
    if (status == STATUS_OK)
        status = check(&device->base, "cuDeviceGet",
                       state->driver.cuDeviceGet(&device->ordinal, (int)index), err);
    if (status == STATUS_OK)
        status = cuda_device_arch(state, device->ordinal, &arch, err);
    if (status == STATUS_OK)
        status = nvrtc_open_for(arch, state->driver_version, &device->nvrtc, &device->compute, err);
    if (status == STATUS_OK)
        status = open_context(device, err);
    if (status == STATUS_OK)
        status = open_libraries(device, err);
    if (status == STATUS_OK) {
        gpu_choose_events(&device->base, options);
        add_compiler_reading(device, arch);
        if (device->base.base.info.readings.failed)
            status = error_no_memory(err);
    }
    if (status != STATUS_OK) {
        gpu_close(&device->base.base);
        return status;
    }
    *ret = &device->base.base;
    return STATUS_OK;
}
