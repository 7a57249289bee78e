/* A stand-in for libcuda.so.1: one device of compute capability 9.0, run by core.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/driver.h"
#include "tests/support/gpu_shim/core.h"
#include "tests/support/gpu_shim/cuda.h"

#define PROTOTYPE(result, name, symbol, version, parameters) SHIM_EXPORT result symbol parameters;
CUDA_REQUIRED_MAP(PROTOTYPE)
CUDA_OPTIONAL_MAP(PROTOTYPE)
#undef PROTOTYPE
SHIM_EXPORT cuda_get_proc_address_v2 cuGetProcAddress_v2;
SHIM_EXPORT extern const char assay_simulated[];

const char assay_simulated[] = SHIM_SIMULATED;

#define INVALID_CONTEXT 201u /* CUDA_ERROR_INVALID_CONTEXT */
#define INVALID_HANDLE 400u  /* CUDA_ERROR_INVALID_HANDLE */
#define NOT_READY 600u       /* CUDA_ERROR_NOT_READY */

struct CUctx_st {
    int retained;
};
struct CUstream_st {
    int unused;
};
struct CUmod_st {
    struct core_module *module;
};

static struct CUctx_st primary;
static _Thread_local struct CUctx_st *current;

/* Requires that the device's context is current, as most functions of CUDA do. */
#define ENTER(function)                                                                            \
    SHIM_FAULT(unsigned, function);                                                                \
    if (current == NULL || current->retained == 0)                                                 \
    return INVALID_CONTEXT

static unsigned code_of(enum core_result result)
{
    switch (result) {
    case CORE_OK:
        return CUDA_DRIVER_SUCCESS;
    case CORE_NO_DEVICE:
        return CUDA_DRIVER_ERROR_NO_DEVICE;
    case CORE_NO_MEMORY:
        return CUDA_DRIVER_ERROR_OUT_OF_MEMORY;
    case CORE_INVALID:
        return CUDA_DRIVER_ERROR_INVALID_VALUE;
    case CORE_NOT_FOUND:
        return CUDA_DRIVER_ERROR_NOT_FOUND;
    case CORE_NOT_READY:
        return NOT_READY;
    case CORE_NOT_COMPILED:
        return CUDA_DRIVER_ERROR_INVALID_IMAGE;
    case CORE_FAILED:
        break;
    }
    return CUDA_DRIVER_ERROR_UNKNOWN;
}

unsigned cuInit(unsigned flags)
{
    SHIM_FAULT(unsigned, cuInit);
    return flags != 0 ? CUDA_DRIVER_ERROR_INVALID_VALUE : code_of(core_open());
}

unsigned cuDriverGetVersion(int *version)
{
    SHIM_FAULT(unsigned, cuDriverGetVersion);
    *version = SHIM_CUDA_VERSION;
    return 0;
}

unsigned cuGetErrorName(unsigned code, const char **name)
{
    switch (code) {
#define NAME(id, value)                                                                            \
    case value:                                                                                    \
        *name = "CUDA_" #id;                                                                       \
        return 0;
        CUDA_RESULT_MAP(NAME)
#undef NAME
    default:
        return CUDA_DRIVER_ERROR_INVALID_VALUE;
    }
}

unsigned cuGetProcAddress_v2(const char *name, void **ret, int version, unsigned long long flags,
                             unsigned *status)
{
    static const struct {
        const char *name;
        void *address;
        int version;
    } functions[] = {
#define FUNCTION(result, id, symbol, since, parameters) {#id, (void *)symbol, since},
        CUDA_REQUIRED_MAP(FUNCTION)
#undef FUNCTION
    };

    SHIM_FAULT(unsigned, cuGetProcAddress_v2);
    *ret = NULL;
    *status = 1; /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
    for (size_t i = 0; flags == 0 && i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(functions[i].name, name) == 0) {
            *status = version >= functions[i].version ? 0 : 2; /* ..._VERSION_NOT_SUFFICIENT */
            *ret = *status == 0 ? functions[i].address : NULL;
            return 0;
        }
    return CUDA_DRIVER_ERROR_NOT_FOUND;
}

unsigned cuDeviceGetCount(int *count)
{
    SHIM_FAULT(unsigned, cuDeviceGetCount);
    *count = 1;
    return 0;
}

unsigned cuDeviceGet(int *device, int ordinal)
{
    SHIM_FAULT(unsigned, cuDeviceGet);
    if (ordinal != 0)
        return CUDA_DRIVER_ERROR_INVALID_DEVICE;
    *device = 0;
    return 0;
}

unsigned cuDeviceGetName(char *name, int length, int device)
{
    (void)device;
    SHIM_FAULT(unsigned, cuDeviceGetName);
    snprintf(name, (size_t)length, "assay stand-in for a CUDA device");
    return 0;
}

unsigned cuDeviceGetAttribute(int *value, unsigned attribute, int device)
{
    static const struct {
        unsigned attribute;
        int value;
    } rows[] = {
        {CUDA_DEVICE_MAX_THREADS_PER_BLOCK, SHIM_LANES_MAX},
        {CUDA_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
        {CUDA_DEVICE_WARP_SIZE, 32},
        {CUDA_DEVICE_MULTIPROCESSOR_COUNT, 4},
        {CUDA_DEVICE_INTEGRATED, 0},
        {CUDA_DEVICE_KERNEL_EXEC_TIMEOUT, 0},
        {CUDA_DEVICE_COMPUTE_MODE, 0},
        {CUDA_DEVICE_ECC_ENABLED, 1},
        {CUDA_DEVICE_L2_CACHE_SIZE, 1 << 20},
        {CUDA_DEVICE_CLOCK_RATE, 0}, /* newer drivers report none, nor the memory's */
        {CUDA_DEVICE_MEMORY_CLOCK_RATE, 0},
        {CUDA_DEVICE_GLOBAL_MEMORY_BUS_WIDTH, 6144},
        {CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR, 0},
    };
    const char *arch = getenv("ASSAY_SHIM_ARCH");

    (void)device;
    SHIM_FAULT(unsigned, cuDeviceGetAttribute);
    if (attribute == CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR) {
        *value = arch != NULL ? atoi(arch) / 10 : 9;
        return 0;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].attribute == attribute) {
            *value = rows[i].value;
            return 0;
        }
    return CUDA_DRIVER_ERROR_INVALID_VALUE;
}

unsigned cuDeviceGetPCIBusId(char *id, int length, int device)
{
    (void)device;
    SHIM_FAULT(unsigned, cuDeviceGetPCIBusId);
    snprintf(id, (size_t)length, SHIM_PCI);
    return 0;
}

unsigned cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    SHIM_FAULT(unsigned, cuDeviceTotalMem);
    *bytes = SHIM_MEMORY_BYTES;
    return 0;
}

static unsigned fill_uuid(struct cuda_uuid *uuid, int first)
{
    for (int i = 0; i < 16; i++)
        uuid->bytes[i] = (char)(first + i);
    return 0;
}

unsigned cuDeviceGetUuid_v2(struct cuda_uuid *uuid, int device)
{
    (void)device;
    SHIM_FAULT(unsigned, cuDeviceGetUuid);
    return fill_uuid(uuid, getenv("ASSAY_SHIM_MIG") != NULL ? 0xb0 : 0xa0);
}

unsigned cuDeviceGetUuid(struct cuda_uuid *uuid, int device)
{
    (void)device;
    return fill_uuid(uuid, 0xa0);
}

unsigned cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device)
{
    (void)device;
    SHIM_FAULT(unsigned, cuDevicePrimaryCtxRetain);
    primary.retained++;
    shim_live_add(1);
    *context = &primary;
    return 0;
}

unsigned cuDevicePrimaryCtxRelease_v2(int device)
{
    int code;
    const bool failing = shim_fails("cuDevicePrimaryCtxRelease", &code);

    (void)device;
    if (primary.retained == 0)
        return INVALID_CONTEXT;
    primary.retained--;
    shim_live_add(-1);
    return failing ? (unsigned)code : 0;
}

unsigned cuCtxSetCurrent(struct CUctx_st *context)
{
    SHIM_FAULT(unsigned, cuCtxSetCurrent);
    current = context;
    return 0;
}

unsigned cuModuleLoadDataEx(struct CUmod_st **module, const void *image, unsigned count,
                            unsigned *options, void **values)
{
    struct CUmod_st *made;
    char *log = NULL;
    enum core_result result;

    ENTER(cuModuleLoadDataEx);
    if (strncmp(image, SHIM_IMAGE, strlen(SHIM_IMAGE)) != 0)
        return CUDA_DRIVER_ERROR_INVALID_IMAGE;
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return CUDA_DRIVER_ERROR_OUT_OF_MEMORY;
    result = core_module_create((const char *)image + strlen(SHIM_IMAGE), &made->module, &log);
    for (unsigned i = 0; i < count && log != NULL; i++)
        if (options[i] == CUDA_JIT_ERROR_LOG_BUFFER)
            snprintf(values[i], 256, "%s", log);
    free(log);
    if (result != CORE_OK) {
        free(made);
        return code_of(result);
    }
    *module = made;
    return 0;
}

unsigned cuModuleUnload(struct CUmod_st *module)
{
    int code;
    const bool failing = shim_fails("cuModuleUnload", &code);

    core_module_destroy(module->module);
    free(module);
    return failing ? (unsigned)code : 0;
}

unsigned cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name)
{
    struct core_kernel *kernel = NULL;
    enum core_result result;

    ENTER(cuModuleGetFunction);
    result = core_kernel_find(module->module, name, &kernel);
    if (result == CORE_OK)
        *function = (struct CUfunc_st *)kernel;
    return code_of(result);
}

/* The only variables of a module are those that count a kernel's arguments: gpu.h. */
unsigned cuModuleGetGlobal_v2(unsigned long long *address, size_t *bytes, struct CUmod_st *module,
                              const char *name)
{
    struct core_kernel *kernel = NULL;
    enum core_result result = CORE_NOT_FOUND;

    ENTER(cuModuleGetGlobal);
    if (strncmp(name, SHIM_ARGUMENTS, strlen(SHIM_ARGUMENTS)) == 0)
        result = core_kernel_find(module->module, name + strlen(SHIM_ARGUMENTS), &kernel);
    if (result != CORE_OK)
        return code_of(result);
    *address = 0x1000;
    *bytes = core_kernel_arguments(kernel) + 1;
    return 0;
}

unsigned cuFuncGetAttribute(int *value, unsigned attribute, struct CUfunc_st *function)
{
    size_t shared = 0, private = 0;
    uint32_t lanes = 0;

    ENTER(cuFuncGetAttribute);
    core_kernel_resources((struct core_kernel *)function, &lanes, &shared, &private);
    switch (attribute) {
    case CUDA_FUNCTION_MAX_THREADS_PER_BLOCK:
        *value = (int)lanes;
        return 0;
    case CUDA_FUNCTION_SHARED_SIZE_BYTES:
        *value = (int)shared;
        return 0;
    case CUDA_FUNCTION_LOCAL_SIZE_BYTES:
        *value = (int)private;
        return 0;
    default: /* registers: a processor has no such count */
        return CUDA_DRIVER_ERROR_INVALID_VALUE;
    }
}

unsigned cuLaunchKernel(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                        unsigned shared_bytes, struct CUstream_st *stream, void **parameters,
                        void **extra)
{
    const uint32_t groups[3] = {grid_x, grid_y, grid_z};

    ENTER(cuLaunchKernel);
    if (block_y != 1 || block_z != 1 || shared_bytes != 0 || stream == NULL || extra != NULL)
        return CUDA_DRIVER_ERROR_INVALID_VALUE;
    return code_of(core_launch((struct core_kernel *)function, groups, block_x, parameters));
}

unsigned cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
    void *memory = NULL;
    enum core_result result;

    ENTER(cuMemAlloc);
    if (bytes > SIZE_MAX - 4096) /* overflows to 0 when rounded up to pages */
        return CUDA_DRIVER_ERROR_INVALID_VALUE;
    result = core_alloc(bytes, &memory);
    if (result == CORE_OK)
        *address = (uintptr_t)memory;
    return code_of(result);
}

unsigned cuMemFree_v2(unsigned long long address)
{
    int code;
    const bool failing = shim_fails("cuMemFree", &code);
    const unsigned result = code_of(core_free((void *)(uintptr_t)address));

    return failing ? (unsigned)code : result;
}

unsigned cuMemHostAlloc(void **address, size_t bytes, unsigned flags)
{
    ENTER(cuMemHostAlloc);
    return flags != 0 ? CUDA_DRIVER_ERROR_INVALID_VALUE : code_of(core_host_alloc(bytes, address));
}

unsigned cuMemFreeHost(void *address)
{
    int code;
    const bool failing = shim_fails("cuMemFreeHost", &code);

    core_host_free(address);
    return failing ? (unsigned)code : 0;
}

unsigned cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes,
                              struct CUstream_st *stream)
{
    ENTER(cuMemcpyDtoDAsync);
    return stream == NULL ? INVALID_HANDLE
                          : code_of(core_copy_within((void *)(uintptr_t)to,
                                                     (const void *)(uintptr_t)from, bytes));
}

unsigned cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes,
                              struct CUstream_st *stream)
{
    ENTER(cuMemcpyHtoDAsync);
    return stream == NULL ? INVALID_HANDLE
                          : code_of(core_copy_in((void *)(uintptr_t)to, from, bytes));
}

unsigned cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes,
                              struct CUstream_st *stream)
{
    ENTER(cuMemcpyDtoHAsync);
    return stream == NULL ? INVALID_HANDLE
                          : code_of(core_copy_out(to, (const void *)(uintptr_t)from, bytes));
}

unsigned cuStreamCreate(struct CUstream_st **stream, unsigned flags)
{
    ENTER(cuStreamCreate);
    if (flags != CUDA_STREAM_NON_BLOCKING)
        return CUDA_DRIVER_ERROR_INVALID_VALUE;
    *stream = calloc(1, sizeof(**stream));
    if (*stream == NULL)
        return CUDA_DRIVER_ERROR_OUT_OF_MEMORY;
    shim_live_add(1);
    return 0;
}

unsigned cuStreamDestroy_v2(struct CUstream_st *stream)
{
    int code;
    const bool failing = shim_fails("cuStreamDestroy", &code);

    free(stream);
    shim_live_add(-1);
    return failing ? (unsigned)code : 0;
}

unsigned cuStreamSynchronize(struct CUstream_st *stream)
{
    /* A failing call has waited too: nothing is written after it. */
    const unsigned result = stream == NULL ? INVALID_HANDLE : code_of(core_synchronize());

    ENTER(cuStreamSynchronize);
    return result;
}

unsigned cuEventCreate(struct CUevent_st **event, unsigned flags)
{
    struct core_event *made = NULL;
    enum core_result result;

    ENTER(cuEventCreate);
    result = flags == CUDA_EVENT_DEFAULT ? core_event_create(&made) : CORE_INVALID;
    if (result == CORE_OK)
        *event = (struct CUevent_st *)made;
    return code_of(result);
}

unsigned cuEventDestroy_v2(struct CUevent_st *event)
{
    int code;
    const bool failing = shim_fails("cuEventDestroy", &code);

    core_event_destroy((struct core_event *)event);
    return failing ? (unsigned)code : 0;
}

unsigned cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream)
{
    ENTER(cuEventRecord);
    return stream == NULL ? INVALID_HANDLE : code_of(core_event_record((struct core_event *)event));
}

unsigned cuEventElapsedTime(float *milliseconds, struct CUevent_st *start, struct CUevent_st *end)
{
    int64_t ns = 0;
    enum core_result result;

    ENTER(cuEventElapsedTime);
    result = core_event_elapsed((struct core_event *)start, (struct core_event *)end, &ns);
    if (result == CORE_INVALID)
        return INVALID_HANDLE;
    if (result == CORE_OK)
        *milliseconds = (float)((double)ns / 1e6);
    return code_of(result);
}
