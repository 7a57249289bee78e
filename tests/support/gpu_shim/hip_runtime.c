/* A stand-in for libamdhip64.so: one device, run by core.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/runtime.h"
#include "tests/support/gpu_shim/core.h"
#include "tests/support/gpu_shim/hip.h"

#define PROTOTYPE(name, parameters) SHIM_EXPORT unsigned name parameters;
HIP_RUNTIME_REQUIRED_MAP(PROTOTYPE)
#ifdef SHIM_HIP_5
PROTOTYPE(hipGetDeviceProperties, (void *properties, int device))
#else
HIP_RUNTIME_OPTIONAL_MAP(PROTOTYPE)
#endif
#undef PROTOTYPE
SHIM_EXPORT extern const char assay_simulated[];

const char assay_simulated[] = SHIM_SIMULATED;

struct ihipStream_t {
    int unused;
};
struct ihipModule_t {
    struct core_module *module;
};

static unsigned code_of(enum core_result result)
{
    switch (result) {
    case CORE_OK:
        return HIP_Success;
    case CORE_NO_DEVICE:
        return HIP_ErrorNoDevice;
    case CORE_NO_MEMORY:
        return HIP_ErrorOutOfMemory;
    case CORE_INVALID:
        return HIP_ErrorInvalidValue;
    case CORE_NOT_FOUND:
        return HIP_ErrorNotFound;
    case CORE_NOT_READY:
        return HIP_ErrorNotReady;
    case CORE_NOT_COMPILED:
        return HIP_ErrorInvalidImage;
    case CORE_FAILED:
        break;
    }
    return HIP_ErrorUnknown;
}

unsigned hipInit(unsigned flags)
{
    SHIM_FAULT(unsigned, hipInit);
    return flags != 0 ? HIP_ErrorInvalidValue : code_of(core_open());
}

unsigned hipGetDeviceCount(int *count)
{
    SHIM_FAULT(unsigned, hipGetDeviceCount);
    *count = 1;
    return 0;
}

unsigned hipSetDevice(int device)
{
    SHIM_FAULT(unsigned, hipSetDevice);
    return device == 0 ? 0 : HIP_ErrorInvalidDevice;
}

unsigned hipDeviceGetName(char *name, int length, int device)
{
    (void)device;
    SHIM_FAULT(unsigned, hipDeviceGetName);
    snprintf(name, (size_t)length, "assay stand-in for a HIP device");
    return 0;
}

unsigned hipDeviceTotalMem(size_t *bytes, int device)
{
    (void)device;
    SHIM_FAULT(unsigned, hipDeviceTotalMem);
    *bytes = SHIM_MEMORY_BYTES;
    return 0;
}

unsigned hipDeviceGetAttribute(int *value, unsigned attribute, int device)
{
    static const struct {
        unsigned attribute;
        int value;
    } rows[] = {
        {HIP_ATTRIBUTE_MaxThreadsPerBlock, SHIM_LANES_MAX},
        {HIP_ATTRIBUTE_MaxSharedMemoryPerBlock, 64 << 10},
        {HIP_ATTRIBUTE_WarpSize, 64},
        {HIP_ATTRIBUTE_MultiprocessorCount, 4},
        {HIP_ATTRIBUTE_Integrated, 0},
        {HIP_ATTRIBUTE_L2CacheSize, 1 << 20},
        {HIP_ATTRIBUTE_ClockRate, 2100000},
        {HIP_ATTRIBUTE_MemoryClockRate, 0}, /* not reported */
        {HIP_ATTRIBUTE_MemoryBusWidth, 8192},
        {HIP_ATTRIBUTE_MaxRegistersPerBlock, 65536},
    };

    (void)device;
    SHIM_FAULT(unsigned, hipDeviceGetAttribute);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].attribute == attribute) {
            *value = rows[i].value;
            return 0;
        }
    return HIP_ErrorInvalidValue;
}

unsigned hipDeviceGetPCIBusId(char *id, int length, int device)
{
    (void)device;
    SHIM_FAULT(unsigned, hipDeviceGetPCIBusId);
    snprintf(id, (size_t)length, SHIM_HIP_PCI);
    return 0;
}

unsigned hipDriverGetVersion(int *version)
{
    SHIM_FAULT(unsigned, hipDriverGetVersion);
    *version = SHIM_HIP_VERSION;
    return 0;
}

unsigned hipRuntimeGetVersion(int *version)
{
    SHIM_FAULT(unsigned, hipRuntimeGetVersion);
    *version = SHIM_HIP_VERSION;
    return 0;
}

unsigned hipGetDeviceProperties(void *properties, int device)
{
    (void)device;
    SHIM_FAULT(unsigned, hipGetDeviceProperties);
    memset(properties, 0x5a, HIP_PROPERTIES_BYTES);
    strcpy((char *)properties + HIP_PROPERTIES_ARCH, SHIM_HIP_ARCH);
    return 0;
}

#ifndef SHIM_HIP_5
unsigned hipGetDevicePropertiesR0600(void *properties, int device)
{
    (void)device;
    SHIM_FAULT(unsigned, hipGetDevicePropertiesR0600);
    memset(properties, 0x5a, HIP_PROPERTIES_R0600_BYTES);
    strcpy((char *)properties + HIP_PROPERTIES_R0600_ARCH, SHIM_HIP_ARCH);
    return 0;
}

unsigned hipDeviceGetUuid(struct hip_uuid *uuid, int device)
{
    (void)device;
    SHIM_FAULT(unsigned, hipDeviceGetUuid);
    memcpy(uuid->bytes, "6f00d1eaf0e1e2e3", HIP_UUID_SIZE);
    return 0;
}
#endif

unsigned hipMalloc(void **address, size_t bytes)
{
    SHIM_FAULT(unsigned, hipMalloc);
    return code_of(core_alloc(bytes, address));
}

unsigned hipFree(void *address)
{
    int code;
    const bool failing = shim_fails("hipFree", &code);
    const unsigned result = code_of(core_free(address));

    return failing ? (unsigned)code : result;
}

unsigned hipHostMalloc(void **address, size_t bytes, unsigned flags)
{
    SHIM_FAULT(unsigned, hipHostMalloc);
    return flags != 0 ? HIP_ErrorInvalidValue : code_of(core_host_alloc(bytes, address));
}

unsigned hipHostFree(void *address)
{
    int code;
    const bool failing = shim_fails("hipHostFree", &code);

    core_host_free(address);
    return failing ? (unsigned)code : 0;
}

unsigned hipMemcpyDtoDAsync(void *to, void *from, size_t bytes, struct ihipStream_t *stream)
{
    SHIM_FAULT(unsigned, hipMemcpyDtoDAsync);
    return stream == NULL ? HIP_ErrorInvalidHandle : code_of(core_copy_within(to, from, bytes));
}

unsigned hipMemcpyHtoDAsync(void *to, void *from, size_t bytes, struct ihipStream_t *stream)
{
    SHIM_FAULT(unsigned, hipMemcpyHtoDAsync);
    return stream == NULL ? HIP_ErrorInvalidHandle : code_of(core_copy_in(to, from, bytes));
}

unsigned hipMemcpyDtoHAsync(void *to, void *from, size_t bytes, struct ihipStream_t *stream)
{
    SHIM_FAULT(unsigned, hipMemcpyDtoHAsync);
    return stream == NULL ? HIP_ErrorInvalidHandle : code_of(core_copy_out(to, from, bytes));
}

unsigned hipStreamCreateWithFlags(struct ihipStream_t **stream, unsigned flags)
{
    SHIM_FAULT(unsigned, hipStreamCreateWithFlags);
    if (flags != HIP_STREAM_NON_BLOCKING)
        return HIP_ErrorInvalidValue;
    *stream = calloc(1, sizeof(**stream));
    if (*stream == NULL)
        return HIP_ErrorOutOfMemory;
    shim_live_add(1);
    return 0;
}

unsigned hipStreamDestroy(struct ihipStream_t *stream)
{
    int code;
    const bool failing = shim_fails("hipStreamDestroy", &code);

    free(stream);
    shim_live_add(-1);
    return failing ? (unsigned)code : 0;
}

unsigned hipStreamSynchronize(struct ihipStream_t *stream)
{
    /* A failing call has waited too: nothing is written after it. */
    const unsigned result = stream == NULL ? HIP_ErrorInvalidHandle : code_of(core_synchronize());

    SHIM_FAULT(unsigned, hipStreamSynchronize);
    return result;
}

unsigned hipEventCreateWithFlags(struct ihipEvent_t **event, unsigned flags)
{
    struct core_event *made = NULL;
    enum core_result result;

    SHIM_FAULT(unsigned, hipEventCreateWithFlags);
    result = flags == HIP_EVENT_DEFAULT ? core_event_create(&made) : CORE_INVALID;
    if (result == CORE_OK)
        *event = (struct ihipEvent_t *)made;
    return code_of(result);
}

unsigned hipEventDestroy(struct ihipEvent_t *event)
{
    int code;
    const bool failing = shim_fails("hipEventDestroy", &code);

    core_event_destroy((struct core_event *)event);
    return failing ? (unsigned)code : 0;
}

unsigned hipEventRecord(struct ihipEvent_t *event, struct ihipStream_t *stream)
{
    SHIM_FAULT(unsigned, hipEventRecord);
    return stream == NULL ? HIP_ErrorInvalidHandle
                          : code_of(core_event_record((struct core_event *)event));
}

unsigned hipEventElapsedTime(float *ms, struct ihipEvent_t *start, struct ihipEvent_t *end)
{
    int64_t ns = 0;
    enum core_result result;

    SHIM_FAULT(unsigned, hipEventElapsedTime);
    result = core_event_elapsed((struct core_event *)start, (struct core_event *)end, &ns);
    if (result == CORE_INVALID)
        return HIP_ErrorInvalidHandle;
    if (result == CORE_OK)
        *ms = (float)((double)ns / 1e6);
    return code_of(result);
}

unsigned hipModuleLoadData(struct ihipModule_t **module, const void *image)
{
    struct ihipModule_t *made;
    char *log = NULL;
    enum core_result result;

    SHIM_FAULT(unsigned, hipModuleLoadData);
    if (strncmp(image, SHIM_HIP_IMAGE, strlen(SHIM_HIP_IMAGE)) != 0)
        return HIP_ErrorInvalidImage;
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return HIP_ErrorOutOfMemory;
    result = core_module_create((const char *)image + strlen(SHIM_HIP_IMAGE), &made->module, &log);
    free(log);
    if (result != CORE_OK) {
        free(made);
        return code_of(result);
    }
    *module = made;
    return 0;
}

unsigned hipModuleUnload(struct ihipModule_t *module)
{
    int code;
    const bool failing = shim_fails("hipModuleUnload", &code);

    core_module_destroy(module->module);
    free(module);
    return failing ? (unsigned)code : 0;
}

unsigned hipModuleGetFunction(struct ihipModuleSymbol_t **function, struct ihipModule_t *module,
                              const char *name)
{
    struct core_kernel *kernel = NULL;
    enum core_result result;

    SHIM_FAULT(unsigned, hipModuleGetFunction);
    result = core_kernel_find(module->module, name, &kernel);
    if (result == CORE_OK)
        *function = (struct ihipModuleSymbol_t *)kernel;
    return code_of(result);
}

/* The only variables of a module are those that count a kernel's arguments: gpu.h. */
unsigned hipModuleGetGlobal(void **address, size_t *bytes, struct ihipModule_t *module,
                            const char *name)
{
    static const char prefix[] = GPU_ARGUMENTS_PREFIX;
    struct core_kernel *kernel = NULL;
    enum core_result result = CORE_NOT_FOUND;

    SHIM_FAULT(unsigned, hipModuleGetGlobal);
    if (strncmp(name, prefix, strlen(prefix)) == 0)
        result = core_kernel_find(module->module, name + strlen(prefix), &kernel);
    if (result != CORE_OK)
        return code_of(result);
    *address = module;
    *bytes = core_kernel_arguments(kernel) + 1;
    return 0;
}

unsigned hipFuncGetAttribute(int *value, unsigned attribute, struct ihipModuleSymbol_t *function)
{
    size_t shared = 0, private = 0;
    uint32_t lanes = 0;

    SHIM_FAULT(unsigned, hipFuncGetAttribute);
    core_kernel_resources((struct core_kernel *)function, &lanes, &shared, &private);
    switch (attribute) {
    case HIP_FUNCTION_MAX_THREADS:
        *value = (int)lanes;
        return 0;
    case HIP_FUNCTION_SHARED_BYTES:
        *value = (int)shared;
        return 0;
    case HIP_FUNCTION_LOCAL_BYTES:
        *value = (int)private;
        return 0;
    default: /* registers: a processor has no such count */
        return HIP_ErrorInvalidValue;
    }
}

unsigned hipModuleLaunchKernel(struct ihipModuleSymbol_t *function, unsigned grid_x,
                               unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                               unsigned block_z, unsigned shared_bytes, struct ihipStream_t *stream,
                               void **arguments, void **extra)
{
    const uint32_t groups[3] = {grid_x, grid_y, grid_z};

    SHIM_FAULT(unsigned, hipModuleLaunchKernel);
    if (block_y != 1 || block_z != 1 || shared_bytes != 0 || stream == NULL || extra != NULL)
        return HIP_ErrorInvalidValue;
    return code_of(core_launch((struct core_kernel *)function, groups, block_x, arguments));
}
