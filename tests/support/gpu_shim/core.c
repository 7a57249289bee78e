#include "tests/support/gpu_shim/core.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/gpu_shim/opencl.h"

#define ALLOCATIONS_MAX 4096
#define MEM_READ_WRITE 1u              /* CL_MEM_READ_WRITE */
#define EVENT_EXECUTION_STATUS 0x11D3u /* CL_EVENT_COMMAND_EXECUTION_STATUS */
#define COMPLETE 0                     /* CL_COMPLETE */

struct shim_opencl shim_opencl;

struct core_event {
    struct _cl_event *marker; /* NULL until recorded */
    int64_t clock_ns;         /* of the listed algorithms, when it was recorded */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *address;
    size_t bytes;
} allocations[ALLOCATIONS_MAX];
static size_t used_bytes;
static bool tried;

static bool find_functions(void)
{
    const char *path = getenv("ASSAY_SHIM_OPENCL");
    void *handle = dlopen(path != NULL ? path : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    bool all = true;

    if (handle == NULL) {
        fprintf(stderr, "gpu_shim: %s\n", dlerror());
        return false;
    }
#define FIND(result, name, parameters)                                                             \
    *(void **)&shim_opencl.api.name = dlsym(handle, #name);                                        \
    all = all && shim_opencl.api.name != NULL;
    OPENCL_REQUIRED_MAP(FIND)
    OPENCL_OPTIONAL_MAP(FIND)
#undef FIND
#define FIND(name)                                                                                 \
    *(void **)&shim_opencl.name = dlsym(handle, #name);                                            \
    all = all && shim_opencl.name != NULL;
    FIND(clSVMAlloc)
    FIND(clSVMFree)
    FIND(clEnqueueSVMMemcpy)
    FIND(clSetKernelArgSVMPointer)
    FIND(clGetKernelArgInfo)
    FIND(clGetEventInfo)
#undef FIND
    return all;
}

static bool open_device(void)
{
    const struct opencl_api *api = &shim_opencl.api;
    struct _cl_platform_id *platforms[16] = {NULL};
    uint32_t count = 0, devices = 0;
    int32_t code = OCL_SUCCESS;

    if (api->clGetPlatformIDs(16, platforms, &count) != OCL_SUCCESS)
        return false;
    for (uint32_t i = 0; i < count && i < 16 && shim_opencl.device == NULL; i++)
        if (api->clGetDeviceIDs(platforms[i], OCL_DEVICE_TYPE_CPU, 1, &shim_opencl.device,
                                &devices) != OCL_SUCCESS)
            shim_opencl.device = NULL;
    if (shim_opencl.device == NULL)
        return false;
    shim_opencl.context = api->clCreateContext(NULL, 1, &shim_opencl.device, NULL, NULL, &code);
    if (shim_opencl.context == NULL)
        return false;
    shim_opencl.queue = api->clCreateCommandQueue(shim_opencl.context, shim_opencl.device,
                                                  OCL_QUEUE_PROFILING_ENABLE, &code);
    return shim_opencl.queue != NULL;
}

enum core_result core_open(void)
{
    enum core_result result;

    pthread_mutex_lock(&mutex);
    if (!tried) {
        tried = true;
        if (!find_functions() || !open_device())
            fprintf(stderr, "gpu_shim: no OpenCL device on this processor (pocl-opencl-icd)\n");
    }
    result = shim_opencl.queue != NULL ? CORE_OK : CORE_NO_DEVICE;
    pthread_mutex_unlock(&mutex);
    return result;
}

enum core_result core_alloc(size_t bytes, void **ret)
{
    enum core_result result = CORE_NO_MEMORY;
    void *address = NULL;
    size_t i;

    pthread_mutex_lock(&mutex);
    for (i = 0; i < ALLOCATIONS_MAX && allocations[i].address != NULL; i++)
        ;
    if (bytes > 0 && i < ALLOCATIONS_MAX && bytes <= SHIM_MEMORY_BYTES - used_bytes)
        address = shim_opencl.clSVMAlloc(shim_opencl.context, MEM_READ_WRITE, bytes, 0);
    if (address != NULL) {
        allocations[i].address = address;
        allocations[i].bytes = bytes;
        used_bytes += bytes;
        *ret = address;
        result = CORE_OK;
    }
    pthread_mutex_unlock(&mutex);
    if (result == CORE_OK)
        shim_live_add(1);
    return result;
}

enum core_result core_free(void *address)
{
    enum core_result result = CORE_INVALID;

    core_synchronize();
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < ALLOCATIONS_MAX; i++)
        if (address != NULL && allocations[i].address == address) {
            shim_opencl.clSVMFree(shim_opencl.context, address);
            used_bytes -= allocations[i].bytes;
            allocations[i].address = NULL;
            result = CORE_OK;
            break;
        }
    pthread_mutex_unlock(&mutex);
    if (result == CORE_OK)
        shim_live_add(-1);
    return result;
}

size_t core_bytes_at(const void *address)
{
    const char *at = address;
    size_t bytes = 0;

    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < ALLOCATIONS_MAX && at != NULL; i++)
        if (allocations[i].address != NULL && at >= allocations[i].address &&
            at < allocations[i].address + allocations[i].bytes) {
            bytes = (size_t)(allocations[i].address + allocations[i].bytes - at);
            break;
        }
    pthread_mutex_unlock(&mutex);
    return bytes;
}

size_t core_memory_free(void)
{
    return SHIM_MEMORY_BYTES - used_bytes;
}

static enum core_result copy(void *to, const void *from, size_t bytes, const void *device)
{
    if (core_bytes_at(device) < bytes)
        return CORE_INVALID;
    return shim_opencl.clEnqueueSVMMemcpy(shim_opencl.queue, 0, to, from, bytes, 0, NULL, NULL) ==
                   OCL_SUCCESS
               ? CORE_OK
               : CORE_FAILED;
}

enum core_result core_copy_in(void *to, const void *from, size_t bytes)
{
    return copy(to, from, bytes, to);
}

enum core_result core_copy_out(void *to, const void *from, size_t bytes)
{
    return copy(to, from, bytes, from);
}

enum core_result core_copy_within(void *to, const void *from, size_t bytes)
{
    return core_bytes_at(from) < bytes ? CORE_INVALID : copy(to, from, bytes, to);
}

enum core_result core_host_alloc(size_t bytes, void **ret)
{
    void *memory = malloc(bytes);

    if (memory == NULL)
        return CORE_NO_MEMORY;
    shim_live_add(1);
    *ret = memory;
    return CORE_OK;
}

void core_host_free(void *address)
{
    free(address);
    shim_live_add(-1);
}

enum core_result core_synchronize(void)
{
    return shim_opencl.api.clFinish(shim_opencl.queue) == OCL_SUCCESS ? CORE_OK : CORE_FAILED;
}

enum core_result core_event_create(struct core_event **ret)
{
    struct core_event *event = calloc(1, sizeof(*event));

    if (event == NULL)
        return CORE_FAILED;
    shim_live_add(1);
    *ret = event;
    return CORE_OK;
}

void core_event_destroy(struct core_event *event)
{
    if (event->marker != NULL)
        shim_opencl.api.clReleaseEvent(event->marker);
    free(event);
    shim_live_add(-1);
}

enum core_result core_event_record(struct core_event *event)
{
    struct _cl_event *marker = NULL;

    if (shim_opencl.api.clEnqueueMarkerWithWaitList(shim_opencl.queue, 0, NULL, &marker) !=
            OCL_SUCCESS ||
        marker == NULL)
        return CORE_FAILED;
    if (event->marker != NULL)
        shim_opencl.api.clReleaseEvent(event->marker);
    event->marker = marker;
    core_algorithm_clock(&event->clock_ns);
    return CORE_OK;
}

static enum core_result time_of(const struct core_event *event, uint64_t *ret)
{
    int32_t state = 1;

    if (event->marker == NULL)
        return CORE_INVALID;
    if (shim_opencl.clGetEventInfo(event->marker, EVENT_EXECUTION_STATUS, sizeof(state), &state,
                                   NULL) != OCL_SUCCESS)
        return CORE_FAILED;
    if (state != COMPLETE)
        return CORE_NOT_READY;
    return shim_opencl.api.clGetEventProfilingInfo(event->marker, OCL_PROFILING_COMMAND_END,
                                                   sizeof(*ret), ret, NULL) == OCL_SUCCESS
               ? CORE_OK
               : CORE_FAILED;
}

enum core_result core_event_elapsed(struct core_event *start, struct core_event *end, int64_t *ret)
{
    uint64_t from = 0, to = 0;
    int64_t now;
    enum core_result result = time_of(start, &from);

    if (result == CORE_OK)
        result = time_of(end, &to);
    if (result == CORE_OK)
        *ret = core_algorithm_clock(&now) ? end->clock_ns - start->clock_ns : (int64_t)(to - from);
    return result;
}
