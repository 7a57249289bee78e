#include "backends/hip/internal.h"

#include <stdlib.h>
#include <string.h>

struct hip_module;

/* Made at a function's first use, and the module's until it is unloaded. */
struct hip_function {
    struct hip_function *next;
    struct ihipModuleSymbol_t *handle;
    const struct code_object_kernel *kernel; /* NULL: the metadata has none of this name */
};

struct hip_module {
    struct ihipModule_t *handle;
    struct code_object object;
    struct hip_function *functions;
};

enum status hip_module_load(struct gpu_device *base, const struct gpu_binary *binary, void **ret,
                            struct error *err)
{
    struct hip_device *device = hip_device(base);
    struct hip_module *module = calloc(1, sizeof(*module));
    int code;

    if (module == NULL)
        return error_no_memory(err);
    code = device->api->hipModuleLoadData(&module->handle, binary->bytes);
    if (code != HIP_Success || module->handle == NULL) {
        free(module);
        return hip_runtime_fail(err, NULL, "hipModuleLoadData", code);
    }
    /* A binary whose metadata cannot be read still runs; then the runtime is asked. */
    (void)code_object_read(binary->bytes, binary->size, &module->object, NULL);
    *ret = module;
    return STATUS_OK;
}

void hip_module_unload(struct gpu_device *base, void *handle)
{
    struct hip_module *module = handle;

    hip_device(base)->api->hipModuleUnload(module->handle);
    while (module->functions != NULL) {
        struct hip_function *next = module->functions->next;

        free(module->functions);
        module->functions = next;
    }
    code_object_finish(&module->object);
    free(module);
}

enum status hip_function_find(struct gpu_device *base, void *handle, const char *name, void **ret,
                              struct error *err)
{
    struct hip_module *module = handle;
    struct hip_function *function = calloc(1, sizeof(*function));
    int code;

    if (function == NULL)
        return error_no_memory(err);
    code = hip_device(base)->api->hipModuleGetFunction(&function->handle, module->handle, name);
    if (code != HIP_Success || function->handle == NULL) {
        free(function);
        if (code == HIP_ErrorNotFound)
            return error_set(err, STATUS_NOT_FOUND, "hipModuleGetFunction: hipErrorNotFound (500)");
        return hip_runtime_fail(err, NULL, "hipModuleGetFunction", code);
    }
    function->kernel = code_object_find(&module->object, name);
    function->next = module->functions;
    module->functions = function;
    *ret = function;
    return STATUS_OK;
}

enum status hip_variable_bytes(struct gpu_device *base, void *handle, const char *name, size_t *ret,
                               struct error *err)
{
    struct hip_module *module = handle;
    void *address = NULL;
    size_t bytes = 0;
    int code = hip_device(base)->api->hipModuleGetGlobal(&address, &bytes, module->handle, name);

    if (code == HIP_ErrorNotFound)
        return error_set(err, STATUS_NOT_FOUND, "hipModuleGetGlobal: hipErrorNotFound (500)");
    if (code != HIP_Success)
        return hip_runtime_fail(err, NULL, "hipModuleGetGlobal", code);
    *ret = bytes;
    return STATUS_OK;
}

static int64_t ask(const struct hip_runtime *api, const struct hip_function *function,
                   int attribute)
{
    int value = 0;

    return api->hipFuncGetAttribute(&value, attribute, function->handle) == HIP_Success &&
                   value >= 0
               ? value
               : -1;
}

/* From the metadata, which the compiler wrote; what it lacks is asked of the runtime. */
enum status hip_function_resources(struct gpu_device *base, void *handle,
                                   struct module_resources *ret, uint32_t *ret_max_lanes,
                                   struct error *err)
{
    const struct hip_runtime *api = hip_device(base)->api;
    const struct hip_function *function = handle;
    const struct code_object_kernel *kernel = function->kernel;
    int most = 0;
    int code = api->hipFuncGetAttribute(&most, HIP_FUNCTION_MAX_THREADS, function->handle);

    if (code != HIP_Success || most <= 0)
        return hip_runtime_fail(err, NULL, "hipFuncGetAttribute", code);
    *ret_max_lanes = (uint32_t)most;
    ret->registers = kernel != NULL && kernel->vgprs >= 0
                         ? kernel->vgprs
                         : ask(api, function, HIP_FUNCTION_REGISTERS);
    ret->spill_bytes = kernel != NULL && kernel->private_bytes >= 0
                           ? kernel->private_bytes
                           : ask(api, function, HIP_FUNCTION_LOCAL_BYTES);
    ret->shared_bytes = kernel != NULL && kernel->group_bytes >= 0
                            ? kernel->group_bytes
                            : ask(api, function, HIP_FUNCTION_SHARED_BYTES);
    return STATUS_OK;
}

size_t hip_kernel_names(const struct gpu_binary *binary, char (*ret)[64], size_t capacity)
{
    struct code_object object;
    size_t count = 0;

    if (code_object_read(binary->bytes, binary->size, &object, NULL) != STATUS_OK)
        return 0;
    for (size_t i = 0; i < object.kernel_count && count < capacity; i++)
        if (object.kernels[i].name[0] != '\0')
            memcpy(ret[count++], object.kernels[i].name, sizeof(*ret));
    code_object_finish(&object);
    return count;
}

enum status hip_launch(struct gpu_device *base, void *handle, const uint32_t groups[3],
                       uint32_t lanes, void **args, struct error *err)
{
    struct hip_device *device = hip_device(base);
    const struct hip_function *function = handle;
    int code = device->api->hipModuleLaunchKernel(function->handle, groups[0], groups[1], groups[2],
                                                  lanes, 1, 1, 0, device->stream, args, NULL);

    return code == HIP_Success ? STATUS_OK
                               : hip_runtime_fail(err, NULL, "hipModuleLaunchKernel", code);
}
