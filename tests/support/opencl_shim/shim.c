#include "tests/support/opencl_shim/shim.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/api.h"

/* Returns false data on request, so results through it count as simulated. */
extern const char assay_simulated[];
const char assay_simulated[] = "a stand-in for tests";

#define LIE 0
#define ABSURD_SIZE 1

enum function {
#define FUNCTION(result, name, parameters) FUNCTION_##name,
    OPENCL_REQUIRED_MAP(FUNCTION) OPENCL_OPTIONAL_MAP(FUNCTION)
#undef FUNCTION
        FUNCTION_COUNT
};

static const char *const names[] = {
#define NAME(result, name, parameters) #name,
    OPENCL_REQUIRED_MAP(NAME) OPENCL_OPTIONAL_MAP(NAME)
#undef NAME
};

static struct opencl_api real;
static int calls[FUNCTION_COUNT];
static int live;
static int fail_function = -1, fail_n, fail_code;
static unsigned pretended, vendor;
static bool twice, lacks_f64;

#define EXPORT __attribute__((visibility("default")))

EXPORT void assay_shim_fail(const char *function, int n, int code)
{
    int i;

    memset(calls, 0, sizeof(calls));
    fail_function = -1;
    fail_n = n;
    fail_code = code;
    for (i = 0; function != NULL && i < FUNCTION_COUNT; i++)
        if (strcmp(names[i], function) == 0)
            fail_function = i;
}

EXPORT int assay_shim_calls(const char *function)
{
    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (strcmp(names[i], function) == 0)
            return calls[i];
    return -1;
}

EXPORT void assay_shim_devices(unsigned count)
{
    pretended = count;
}

EXPORT void assay_shim_platforms_twice(bool on)
{
    twice = on;
}

EXPORT void assay_shim_vendor(unsigned id)
{
    vendor = id;
}

EXPORT int assay_shim_live(void)
{
    return live;
}

__attribute__((constructor)) static void load(void)
{
    const char *path = getenv("ASSAY_SHIM_REAL"), *fail = getenv("ASSAY_SHIM_FAIL");
    void *handle = dlopen(path != NULL ? path : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    char function[64];
    int n, code;

    if (handle == NULL) {
        fprintf(stderr, "opencl_shim: %s\n", dlerror());
        abort();
    }
#define FIND(result, name, parameters) *(void **)&real.name = dlsym(handle, #name);
    OPENCL_REQUIRED_MAP(FIND)
    OPENCL_OPTIONAL_MAP(FIND)
#undef FIND
    twice = getenv("ASSAY_SHIM_PLATFORMS_TWICE") != NULL;
    lacks_f64 = getenv("ASSAY_SHIM_LACKS_F64") != NULL;
    if (fail != NULL && sscanf(fail, "%63[^@]@%d:%d", function, &n, &code) == 3)
        assay_shim_fail(function, n, code);
}

/* Counts the call; true when it is the one to fail. */
static int fails(enum function function)
{
    return ++calls[function] == fail_n && (int)function == fail_function;
}

/* A call that gives a code. */
#define CALL(name, parameters, arguments)                                                          \
    EXPORT int32_t name parameters;                                                                \
    int32_t name parameters                                                                        \
    {                                                                                              \
        return fails(FUNCTION_##name) ? fail_code : real.name arguments;                           \
    }

/* A query, which can report a false size. */
#define QUERY(name, parameters, arguments) QUERY_BY(real.name, name, parameters, arguments)
#define QUERY_BY(ask, name, parameters, arguments)                                                 \
    EXPORT int32_t name parameters;                                                                \
    int32_t name parameters                                                                        \
    {                                                                                              \
        if (!fails(FUNCTION_##name))                                                               \
            return ask arguments;                                                                  \
        if (fail_code != ABSURD_SIZE)                                                              \
            return fail_code;                                                                      \
        if (size_ret != NULL)                                                                      \
            *size_ret = (size_t)1 << 62;                                                           \
        return OCL_SUCCESS;                                                                        \
    }

/* A call that makes an object. */
#define CREATE(type, name, parameters, arguments)                                                  \
    CREATE_BY(real.name, type, name, parameters, arguments)
#define CREATE_BY(make, type, name, parameters, arguments)                                         \
    EXPORT struct type *name parameters;                                                           \
    struct type *name parameters                                                                   \
    {                                                                                              \
        struct type *object;                                                                       \
                                                                                                   \
        if (fails(FUNCTION_##name)) {                                                              \
            *code = fail_code;                                                                     \
            return NULL;                                                                           \
        }                                                                                          \
        object = make arguments;                                                                   \
        live += object != NULL;                                                                    \
        return object;                                                                             \
    }

/* A release happens in any case. */
#define RELEASE(name, type)                                                                        \
    EXPORT int32_t name(struct type *object);                                                      \
    int32_t name(struct type *object)                                                              \
    {                                                                                              \
        int failing = fails(FUNCTION_##name);                                                      \
        int32_t result = real.name(object);                                                        \
                                                                                                   \
        live--;                                                                                    \
        return failing ? fail_code : result;                                                       \
    }

static int32_t platform_ids(uint32_t count, struct _cl_platform_id **ids, uint32_t *ret)
{
    int32_t code = real.clGetPlatformIDs(count, ids, ret);

    if (code != OCL_SUCCESS || !twice || ret == NULL)
        return code;
    for (uint32_t i = 0; ids != NULL && i < *ret && *ret + i < count; i++)
        ids[*ret + i] = ids[i];
    *ret *= 2;
    return code;
}

EXPORT int32_t clGetPlatformIDs(uint32_t count, struct _cl_platform_id **ids, uint32_t *ret);
int32_t clGetPlatformIDs(uint32_t count, struct _cl_platform_id **ids, uint32_t *ret)
{
    return fails(FUNCTION_clGetPlatformIDs) ? fail_code : platform_ids(count, ids, ret);
}
QUERY(clGetPlatformInfo,
      (struct _cl_platform_id * platform, uint32_t what, size_t size, void *value,
       size_t *size_ret),
      (platform, what, size, value, size_ret))
static int32_t device_ids(struct _cl_platform_id *platform, uint64_t type, uint32_t count,
                          struct _cl_device_id **ids, uint32_t *ret)
{
    struct _cl_device_id *first;
    int32_t code;

    if (pretended == 0)
        return real.clGetDeviceIDs(platform, type, count, ids, ret);
    code = real.clGetDeviceIDs(platform, type, 1, &first, NULL);
    if (code != OCL_SUCCESS)
        return code;
    for (uint32_t i = 0; ids != NULL && i < count && i < pretended; i++)
        ids[i] = first;
    if (ret != NULL)
        *ret = pretended;
    return OCL_SUCCESS;
}

EXPORT int32_t clGetDeviceIDs(struct _cl_platform_id *platform, uint64_t type, uint32_t count,
                              struct _cl_device_id **ids, uint32_t *ret);
int32_t clGetDeviceIDs(struct _cl_platform_id *platform, uint64_t type, uint32_t count,
                       struct _cl_device_id **ids, uint32_t *ret)
{
    return fails(FUNCTION_clGetDeviceIDs) ? fail_code : device_ids(platform, type, count, ids, ret);
}
/* Data of a GPU of the pretended vendor; false: use the device's own. */
static bool pretend(uint32_t what, size_t size, void *value, size_t *size_ret)
{
    static const char extensions[] = "cl_khr_icd cl_amd_device_attribute_query";
    static const uint64_t gpu = OCL_DEVICE_TYPE_GPU, cache = 16 << 10;
    static const uint32_t no = 0;
    static const struct opencl_topology_amd topology = {
        .type = OPENCL_TOPOLOGY_PCIE_AMD, .bus = 0xc3, .device = 2, .function = 1};
    const struct {
        uint32_t what;
        const void *value;
        size_t size;
    } answers[] = {
        {OCL_DEVICE_TYPE, &gpu, sizeof(gpu)},
        {OCL_DEVICE_VENDOR_ID, &vendor, sizeof(vendor)},
        {OCL_DEVICE_GLOBAL_MEM_CACHE_SIZE, &cache, sizeof(cache)},
        {OCL_DEVICE_ERROR_CORRECTION_SUPPORT, &no, sizeof(no)},
        {OCL_DEVICE_EXTENSIONS, extensions, sizeof(extensions)},
        {OCL_DEVICE_TOPOLOGY_AMD, &topology, sizeof(topology)},
    };

    for (size_t i = 0; vendor != 0 && i < sizeof(answers) / sizeof(answers[0]); i++) {
        if (answers[i].what != what)
            continue;
        if (value != NULL && size >= answers[i].size)
            memcpy(value, answers[i].value, answers[i].size);
        if (size_ret != NULL)
            *size_ret = answers[i].size;
        return true;
    }
    return false;
}

/* Without cl_khr_fp64 among the extensions, whose names are kept apart by blanks. */
static int32_t extensions_without_f64(struct _cl_device_id *device, size_t size, void *value,
                                      size_t *size_ret)
{
    static const char name[] = "cl_khr_fp64";
    const int32_t code = real.clGetDeviceInfo(device, OCL_DEVICE_EXTENSIONS, size, value, size_ret);
    char *found = code == OCL_SUCCESS && value != NULL ? strstr(value, name) : NULL;

    if (found != NULL)
        memset(found, ' ', sizeof(name) - 1);
    return code;
}

static int32_t device_info(struct _cl_device_id *device, uint32_t what, size_t size, void *value,
                           size_t *size_ret)
{
    if (lacks_f64 && what == OCL_DEVICE_EXTENSIONS)
        return extensions_without_f64(device, size, value, size_ret);
    if (lacks_f64 && what == OCL_DEVICE_DOUBLE_FP_CONFIG)
        return OCL_INVALID_VALUE;
    return pretend(what, size, value, size_ret)
               ? OCL_SUCCESS
               : real.clGetDeviceInfo(device, what, size, value, size_ret);
}

QUERY_BY(device_info, clGetDeviceInfo,
         (struct _cl_device_id * device, uint32_t what, size_t size, void *value, size_t *size_ret),
         (device, what, size, value, size_ret))
CREATE(_cl_context, clCreateContext,
       (const intptr_t *properties, uint32_t count, struct _cl_device_id *const *devices,
        void (*notify)(const char *, const void *, size_t, void *), void *data, int32_t *code),
       (properties, count, devices, notify, data, code))
RELEASE(clReleaseContext, _cl_context)
CREATE(_cl_command_queue, clCreateCommandQueue,
       (struct _cl_context * context, struct _cl_device_id *device, uint64_t properties,
        int32_t *code),
       (context, device, properties, code))
RELEASE(clReleaseCommandQueue, _cl_command_queue)
CREATE(_cl_mem, clCreateBuffer,
       (struct _cl_context * context, uint64_t flags, size_t size, void *host, int32_t *code),
       (context, flags, size, host, code))
RELEASE(clReleaseMemObject, _cl_mem)
CALL(clEnqueueReadBuffer,
     (struct _cl_command_queue * queue, struct _cl_mem *mem, uint32_t blocking, size_t offset,
      size_t size, void *target, uint32_t waits, struct _cl_event *const *wait,
      struct _cl_event **event),
     (queue, mem, blocking, offset, size, target, waits, wait, event))
CALL(clEnqueueWriteBuffer,
     (struct _cl_command_queue * queue, struct _cl_mem *mem, uint32_t blocking, size_t offset,
      size_t size, const void *source, uint32_t waits, struct _cl_event *const *wait,
      struct _cl_event **event),
     (queue, mem, blocking, offset, size, source, waits, wait, event))
CALL(clEnqueueCopyBuffer,
     (struct _cl_command_queue * queue, struct _cl_mem *from, struct _cl_mem *to,
      size_t from_offset, size_t to_offset, size_t size, uint32_t waits,
      struct _cl_event *const *wait, struct _cl_event **event),
     (queue, from, to, from_offset, to_offset, size, waits, wait, event))
EXPORT void *clEnqueueMapBuffer(struct _cl_command_queue *queue, struct _cl_mem *mem,
                                uint32_t blocking, uint64_t flags, size_t offset, size_t size,
                                uint32_t waits, struct _cl_event *const *wait,
                                struct _cl_event **event, int32_t *code);
void *clEnqueueMapBuffer(struct _cl_command_queue *queue, struct _cl_mem *mem, uint32_t blocking,
                         uint64_t flags, size_t offset, size_t size, uint32_t waits,
                         struct _cl_event *const *wait, struct _cl_event **event, int32_t *code)
{
    if (!fails(FUNCTION_clEnqueueMapBuffer))
        return real.clEnqueueMapBuffer(queue, mem, blocking, flags, offset, size, waits, wait,
                                       event, code);
    *code = fail_code;
    return NULL;
}
CALL(clEnqueueUnmapMemObject,
     (struct _cl_command_queue * queue, struct _cl_mem *mem, void *address, uint32_t waits,
      struct _cl_event *const *wait, struct _cl_event **event),
     (queue, mem, address, waits, wait, event))
CALL(clFlush, (struct _cl_command_queue * queue), (queue))
/* Before the text, as a compiler for a device without it would have it. */
static struct _cl_program *program(struct _cl_context *context, uint32_t count,
                                   const char **strings, const size_t *lengths, int32_t *code)
{
    const char *both[2] = {"#undef cl_khr_fp64\n", strings[0]};
    const size_t sizes[2] = {strlen(both[0]), lengths[0]};

    return lacks_f64 && count == 1
               ? real.clCreateProgramWithSource(context, 2, both, sizes, code)
               : real.clCreateProgramWithSource(context, count, strings, lengths, code);
}

CREATE_BY(program, _cl_program, clCreateProgramWithSource,
          (struct _cl_context * context, uint32_t count, const char **strings,
           const size_t *lengths, int32_t *code),
          (context, count, strings, lengths, code))
CALL(clBuildProgram,
     (struct _cl_program * program, uint32_t count, struct _cl_device_id *const *devices,
      const char *options, void (*notify)(struct _cl_program *, void *), void *data),
     (program, count, devices, options, notify, data))
QUERY(clGetProgramInfo,
      (struct _cl_program * program, uint32_t what, size_t size, void *value, size_t *size_ret),
      (program, what, size, value, size_ret))
QUERY(clGetProgramBuildInfo,
      (struct _cl_program * program, struct _cl_device_id *device, uint32_t what, size_t size,
       void *value, size_t *size_ret),
      (program, device, what, size, value, size_ret))
RELEASE(clReleaseProgram, _cl_program)
CREATE(_cl_kernel, clCreateKernel, (struct _cl_program * program, const char *name, int32_t *code),
       (program, name, code))
RELEASE(clReleaseKernel, _cl_kernel)
QUERY(clGetKernelInfo,
      (struct _cl_kernel * kernel, uint32_t what, size_t size, void *value, size_t *size_ret),
      (kernel, what, size, value, size_ret))
QUERY(clGetKernelWorkGroupInfo,
      (struct _cl_kernel * kernel, struct _cl_device_id *device, uint32_t what, size_t size,
       void *value, size_t *size_ret),
      (kernel, device, what, size, value, size_ret))
CALL(clSetKernelArg, (struct _cl_kernel * kernel, uint32_t index, size_t size, const void *value),
     (kernel, index, size, value))
CALL(clEnqueueNDRangeKernel,
     (struct _cl_command_queue * queue, struct _cl_kernel *kernel, uint32_t dimensions,
      const size_t *offset, const size_t *global, const size_t *local, uint32_t waits,
      struct _cl_event *const *wait, struct _cl_event **event),
     (queue, kernel, dimensions, offset, global, local, waits, wait, event))
CALL(clFinish, (struct _cl_command_queue * queue), (queue))
RELEASE(clReleaseEvent, _cl_event)
QUERY(clGetEventProfilingInfo,
      (struct _cl_event * event, uint32_t what, size_t size, void *value, size_t *size_ret),
      (event, what, size, value, size_ret))
CALL(clEnqueueMigrateMemObjects,
     (struct _cl_command_queue * queue, uint32_t count, struct _cl_mem *const *mems, uint64_t flags,
      uint32_t waits, struct _cl_event *const *wait, struct _cl_event **event),
     (queue, count, mems, flags, waits, wait, event))

/* The one enqueue whose event we keep. */
EXPORT int32_t clEnqueueMarkerWithWaitList(struct _cl_command_queue *queue, uint32_t waits,
                                           struct _cl_event *const *wait, struct _cl_event **event);
int32_t clEnqueueMarkerWithWaitList(struct _cl_command_queue *queue, uint32_t waits,
                                    struct _cl_event *const *wait, struct _cl_event **event)
{
    int32_t code;

    if (fails(FUNCTION_clEnqueueMarkerWithWaitList))
        return fail_code;
    code = real.clEnqueueMarkerWithWaitList(queue, waits, wait, event);
    live += code == OCL_SUCCESS && event != NULL;
    return code;
}
