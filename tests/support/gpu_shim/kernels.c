#include "tests/support/gpu_shim/core.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu.h"
#include "harness/core/embed.h"
#include "tests/support/gpu_shim/opencl.h"

#define ARGUMENTS_MAX 64
#define ARG_ADDRESS_QUALIFIER 0x1196u /* CL_KERNEL_ARG_ADDRESS_QUALIFIER */
#define ARG_ADDRESS_GLOBAL 0x119Bu    /* CL_KERNEL_ARG_ADDRESS_GLOBAL */
#define WORK_GROUP_LOCAL 0x11B2u      /* CL_KERNEL_LOCAL_MEM_SIZE */
#define WORK_GROUP_PRIVATE 0x11B4u    /* CL_KERNEL_PRIVATE_MEM_SIZE */

extern const struct embed_file shim_opencl_prelude[];

struct core_kernel {
    struct core_kernel *next;
    char *name;
    struct _cl_kernel *handle;
    uint32_t count;
    size_t bytes[ARGUMENTS_MAX]; /* 0: a pointer */
};

struct core_module {
    struct _cl_program *program; /* of built_program */
    struct core_kernel *kernels;
};

char *core_program_text(const char *program)
{
    static const char prelude[] = "#line 1 \"" GPU_PRELUDE_FILE "\"\n";
    /* The text is NVRTC's, whose KERNEL has all parameters; PoCL's compiler takes such macros. */
    static const char heads[] = "#undef KERNEL\n#define KERNEL(name, ...) __kernel "
                                "__attribute__((reqd_work_group_size(LANES, 1, 1))) void "
                                "name(__VA_ARGS__)\n";
    const char *begin = strstr(program, prelude);
    const char *end = begin != NULL ? strstr(begin, GPU_PRELUDE_END "\n") : NULL;
    size_t head, size;
    char *text;

    if (end == NULL)
        return NULL;
    end += strlen(GPU_PRELUDE_END "\n");
    head = (size_t)(begin - program);
    size = head + shim_opencl_prelude[0].length + strlen(heads) + strlen(end) + 64;
    text = malloc(size);
    if (text != NULL)
        snprintf(text, size, "%.*s#line 1 \"backends/opencl/prelude.cl\"\n%s\n%s%s", (int)head,
                 program, shim_opencl_prelude[0].text, heads, end);
    return text;
}

static char *read_log(struct _cl_program *program)
{
    size_t size = 0;
    char *log;

    if (shim_opencl.api.clGetProgramBuildInfo(program, shim_opencl.device, OCL_PROGRAM_BUILD_LOG, 0,
                                              NULL, &size) != OCL_SUCCESS)
        size = 0;
    log = calloc(1, size + 1);
    if (log != NULL && size > 0)
        shim_opencl.api.clGetProgramBuildInfo(program, shim_opencl.device, OCL_PROGRAM_BUILD_LOG,
                                              size, log, NULL);
    return log;
}

/* A program without its kernels, for as long as the process lives. */
static enum core_result build(const char *text, struct _cl_program **ret, char **ret_log)
{
    const struct opencl_api *api = &shim_opencl.api;
    int32_t code = OCL_SUCCESS;
    struct _cl_program *program =
        api->clCreateProgramWithSource(shim_opencl.context, 1, &text, NULL, &code);

    if (program == NULL)
        return CORE_FAILED;
    if (api->clBuildProgram(program, 1, &shim_opencl.device,
                            "-cl-std=CL1.2 -cl-kernel-arg-info "
                            "-cl-fp32-correctly-rounded-divide-sqrt",
                            NULL, NULL) != OCL_SUCCESS) {
        *ret_log = read_log(program);
        api->clReleaseProgram(program);
        return CORE_NOT_COMPILED;
    }
    *ret = program;
    return CORE_OK;
}

/*
 * The program of a text, built once per process: the driver need not rebuild what the run-time
 * compiler has built, and PoCL runs clang's preprocessor even for what is in its own cache.
 */
static enum core_result built_program(const char *text, struct _cl_program **ret, char **ret_log)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct built {
        struct built *next;
        char *text;
        struct _cl_program *program;
    } * all;
    struct built *built;
    enum core_result result = CORE_OK;

    pthread_mutex_lock(&mutex);
    for (built = all; built != NULL && strcmp(built->text, text) != 0; built = built->next)
        ;
    if (built == NULL) {
        built = calloc(1, sizeof(*built));
        if (built == NULL || (built->text = strdup(text)) == NULL)
            result = CORE_FAILED;
        else
            result = build(text, &built->program, ret_log);
        if (result == CORE_OK) {
            built->next = all;
            all = built;
        } else if (built != NULL) {
            free(built->text);
            free(built);
        }
    }
    if (result == CORE_OK)
        *ret = built->program;
    pthread_mutex_unlock(&mutex);
    return result;
}

enum core_result core_module_create(const char *text, struct core_module **ret, char **ret_log)
{
    struct core_module *module = calloc(1, sizeof(*module));
    enum core_result result;

    *ret_log = NULL;
    if (module == NULL)
        return CORE_FAILED;
    result = built_program(text, &module->program, ret_log);
    if (result != CORE_OK) {
        free(module);
        return result;
    }
    shim_live_add(1);
    *ret = module;
    return CORE_OK;
}

void core_module_destroy(struct core_module *module)
{
    struct core_kernel *kernel, *next;

    core_synchronize();
    for (kernel = module->kernels; kernel != NULL; kernel = next) {
        next = kernel->next;
        shim_opencl.api.clReleaseKernel(kernel->handle);
        free(kernel->name);
        free(kernel);
    }
    free(module);
    shim_live_add(-1);
}

/* Pointers by their address space; scalars by which of the two sizes OpenCL takes. */
static bool ask_arguments(struct core_kernel *kernel)
{
    const struct opencl_api *api = &shim_opencl.api;
    const uint64_t zero = 0;

    for (uint32_t i = 0; i < kernel->count; i++) {
        uint32_t space = 0;

        if (shim_opencl.clGetKernelArgInfo(kernel->handle, i, ARG_ADDRESS_QUALIFIER, sizeof(space),
                                           &space, NULL) != OCL_SUCCESS)
            return false;
        if (space == ARG_ADDRESS_GLOBAL)
            continue;
        if (api->clSetKernelArg(kernel->handle, i, 8, &zero) == OCL_SUCCESS)
            kernel->bytes[i] = 8;
        else if (api->clSetKernelArg(kernel->handle, i, 4, &zero) == OCL_SUCCESS)
            kernel->bytes[i] = 4;
        else
            return false;
    }
    return true;
}

enum core_result core_kernel_find(struct core_module *module, const char *name,
                                  struct core_kernel **ret)
{
    struct core_kernel *kernel;
    int32_t code = OCL_SUCCESS;

    for (kernel = module->kernels; kernel != NULL; kernel = kernel->next)
        if (strcmp(kernel->name, name) == 0) {
            *ret = kernel;
            return CORE_OK;
        }
    kernel = calloc(1, sizeof(*kernel));
    if (kernel == NULL || (kernel->name = strdup(name)) == NULL) {
        free(kernel);
        return CORE_FAILED;
    }
    kernel->handle = shim_opencl.api.clCreateKernel(module->program, name, &code);
    if (kernel->handle == NULL) {
        free(kernel->name);
        free(kernel);
        return CORE_NOT_FOUND;
    }
    kernel->next = module->kernels;
    module->kernels = kernel;
    if (shim_opencl.api.clGetKernelInfo(kernel->handle, OCL_KERNEL_NUM_ARGS, sizeof(kernel->count),
                                        &kernel->count, NULL) != OCL_SUCCESS ||
        kernel->count > ARGUMENTS_MAX || !ask_arguments(kernel))
        return CORE_FAILED;
    *ret = kernel;
    return CORE_OK;
}

size_t core_kernel_arguments(const struct core_kernel *kernel)
{
    return kernel->count;
}

void core_kernel_resources(const struct core_kernel *kernel, uint32_t *ret_lanes,
                           size_t *ret_shared, size_t *ret_private)
{
    const struct opencl_api *api = &shim_opencl.api;
    uint64_t local = 0, private = 0;
    size_t lanes = 0;

    if (api->clGetKernelWorkGroupInfo(kernel->handle, shim_opencl.device,
                                      OCL_KERNEL_WORK_GROUP_SIZE, sizeof(lanes), &lanes,
                                      NULL) != OCL_SUCCESS)
        lanes = 0;
    api->clGetKernelWorkGroupInfo(kernel->handle, shim_opencl.device, WORK_GROUP_LOCAL,
                                  sizeof(local), &local, NULL);
    api->clGetKernelWorkGroupInfo(kernel->handle, shim_opencl.device, WORK_GROUP_PRIVATE,
                                  sizeof(private), &private, NULL);
    *ret_lanes = lanes < SHIM_LANES_MAX ? (uint32_t)lanes : SHIM_LANES_MAX;
    *ret_shared = (size_t)local;
    *ret_private = (size_t) private;
}

enum core_result core_launch(struct core_kernel *kernel, const uint32_t groups[3], uint32_t lanes,
                             void **args)
{
    const struct opencl_api *api = &shim_opencl.api;
    const size_t global[3] = {(size_t)groups[0] * lanes, groups[1], groups[2]};
    const size_t local[3] = {lanes, 1, 1};
    int32_t code;

    if (lanes == 0 || lanes > SHIM_LANES_MAX || groups[0] == 0 || groups[1] == 0 ||
        groups[2] == 0 || groups[0] > INT32_MAX || groups[1] > SHIM_GROUPS_YZ_MAX ||
        groups[2] > SHIM_GROUPS_YZ_MAX)
        return CORE_INVALID;
    for (uint32_t i = 0; i < kernel->count; i++) {
        if (kernel->bytes[i] != 0) {
            code = api->clSetKernelArg(kernel->handle, i, kernel->bytes[i], args[i]);
        } else {
            void *address;

            memcpy(&address, args[i], sizeof(address));
            if (address != NULL && core_bytes_at(address) == 0)
                return CORE_INVALID;
            code = shim_opencl.clSetKernelArgSVMPointer(kernel->handle, i, address);
        }
        if (code != OCL_SUCCESS)
            return CORE_INVALID;
    }
    return api->clEnqueueNDRangeKernel(shim_opencl.queue, kernel->handle, 3, NULL, global, local, 0,
                                       NULL, NULL) == OCL_SUCCESS
               ? CORE_OK
               : CORE_INVALID;
}
