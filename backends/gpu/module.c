#include "backends/gpu/gpu.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backends/compile.h"
#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"

#define NAMES_MAX 256

/* CUDA C++ programming guide, technical specifications per compute capability; HIP has no less. */
#define GROUPS_MAX_X 2147483647u
#define GROUPS_MAX_YZ 65535u

/* Kernels are looked up at their first launch and kept. */
struct gpu_kernel {
    char *name;
    void *function;
    size_t arg_count;
    struct module_resources resources;
};

struct gpu_module {
    struct module base;
    void *handle;
    struct gpu_kernel *kernels;
    size_t kernel_count;
    uint32_t lanes;
    /* provenance */
    char *file, *options, *log, *compiler;
    struct digest source, binary;
    uint64_t binary_bytes;
    int64_t compile_ns;
    char (*names)[64]; /* of the kernels in the binary, where the driver lists them */
    size_t name_count;
};

void gpu_module_unload(struct device *base, struct module *base_module)
{
    struct gpu_device *device = gpu_device(base);
    struct gpu_module *module = (struct gpu_module *)base_module;

    if (module->handle != NULL && gpu_bind(device, NULL) == STATUS_OK)
        device->driver->module_unload(device, module->handle);
    for (size_t i = 0; i < module->kernel_count; i++)
        free(module->kernels[i].name);
    free(module->kernels);
    free(module->file);
    free(module->options);
    free(module->log);
    free(module->compiler);
    free(module->names);
    free(module);
}

static enum status list_names(struct gpu_device *device, struct gpu_module *module,
                              const struct gpu_binary *binary, struct error *err)
{
    if (device->driver->kernel_names == NULL)
        return STATUS_OK;
    module->names = calloc(NAMES_MAX, sizeof(*module->names));
    if (module->names == NULL)
        return error_no_memory(err);
    module->name_count = device->driver->kernel_names(binary, module->names, NAMES_MAX);
    return STATUS_OK;
}

static enum status compile(struct gpu_device *device, struct gpu_module *module,
                           const struct module_source *source, struct error *err)
{
    CLEANUP(gpu_binary_finish) struct gpu_binary binary = {0};
    AUTO_FREE char *program = gpu_program(source);
    const int64_t begin_ns = clock_monotonic_ns();
    enum status status;

    if (program == NULL)
        return error_no_memory(err);
    status = device->driver->compile(device, source, program, &binary, err);
    module->compile_ns = clock_monotonic_ns() - begin_ns;
    TRY(status);
    module->binary = digest_bytes(binary.bytes, binary.size);
    module->binary_bytes = binary.size;
    module->log = gpu_log_rewrite(binary.log);
    module->options = compile_options(binary.options != NULL ? binary.options : "", source);
    module->compiler = binary.compiler;
    binary.compiler = NULL;
    if (module->log == NULL || module->options == NULL || module->compiler == NULL)
        return error_no_memory(err);
    TRY(list_names(device, module, &binary, err));
    status = device->driver->module_load(device, &binary, &module->handle, err);
    if (status != STATUS_OK && err != NULL)
        error_prefix(err, "%s", source->file);
    return status;
}

enum status gpu_module_load(struct device *base, const struct module_source *source,
                            struct module **ret, struct error *err)
{
    struct gpu_device *device = gpu_device(base);
    struct gpu_module *module = calloc(1, sizeof(*module));
    enum status status;

    if (module == NULL)
        return error_no_memory(err);
    module->lanes = source->lanes;
    module->source = digest_bytes(source->text, strlen(source->text));
    module->file = strdup(source->file);
    status = module->file != NULL ? gpu_bind(device, err) : error_no_memory(err);
    if (status == STATUS_OK)
        status = compile(device, module, source, err);
    if (status != STATUS_OK) {
        gpu_module_unload(base, &module->base);
        return status;
    }
    *ret = &module->base;
    return STATUS_OK;
}

static enum status make_kernel(struct gpu_device *device, struct gpu_module *module,
                               const char *name, struct gpu_kernel *ret, struct error *err)
{
    const struct gpu_driver *driver = device->driver;
    struct module_resources resources = {.registers = -1, .spill_bytes = -1, .shared_bytes = -1};
    size_t arguments = 0;
    uint32_t max_lanes = 0;
    void *function = NULL;
    char *variable;
    enum status status = driver->function_find(device, module->handle, name, &function, err);

    if (status == STATUS_NOT_FOUND)
        return error_set(err, status, "%s has no kernel \"%s\"", module->file, name);
    if (status != STATUS_OK)
        goto fail;
    variable = text_format(GPU_ARGUMENTS_PREFIX "%s", name);
    if (variable == NULL)
        return error_no_memory(err);
    status = driver->variable_bytes(device, module->handle, variable, &arguments, err);
    free(variable);
    if (status == STATUS_OK && (arguments == 0 || arguments - 1 > KERNEL_ARGS_MAX))
        status = error_set(err, STATUS_INVALID, "more than %d arguments", KERNEL_ARGS_MAX);
    if (status == STATUS_OK)
        status = driver->function_resources(device, function, &resources, &max_lanes, err);
    if (status == STATUS_OK && max_lanes < module->lanes)
        status = error_set(err, STATUS_UNSUPPORTED,
                           "compiled for %" PRIu32 " lanes; on this device it can have %" PRIu32
                           " (registers or shared memory run out)",
                           module->lanes, max_lanes);
    if (status != STATUS_OK)
        goto fail;
    snprintf(resources.kernel, sizeof(resources.kernel), "%s", name);
    *ret = (struct gpu_kernel){strdup(name), function, arguments - 1, resources};
    return ret->name != NULL ? STATUS_OK : error_no_memory(err);
fail:
    if (err != NULL)
        error_prefix(err, "kernel %s of %s", name, module->file);
    return status;
}

static enum status find_kernel(struct gpu_device *device, struct gpu_module *module,
                               const char *name, struct gpu_kernel **ret, struct error *err)
{
    struct gpu_kernel made = {0};

    for (size_t i = 0; i < module->kernel_count; i++)
        if (strcmp(module->kernels[i].name, name) == 0) {
            *ret = &module->kernels[i];
            return STATUS_OK;
        }
    TRY(ARRAY_GROW(module->kernels, module->kernel_count, 1, err));
    TRY(make_kernel(device, module, name, &made, err));
    module->kernels[module->kernel_count] = made;
    *ret = &module->kernels[module->kernel_count++];
    return STATUS_OK;
}

/* Every kernel of the binary is looked up, so that provenance does not depend on what ran. */
static enum status describe_resources(struct gpu_device *device, struct gpu_module *module,
                                      struct module_artifact *ret, struct error *err)
{
    struct gpu_kernel *kernel;

    for (size_t i = 0; i < module->name_count; i++)
        (void)find_kernel(device, module, module->names[i], &kernel, NULL);
    if (module->kernel_count == 0)
        return STATUS_OK;
    ret->resources = calloc(module->kernel_count, sizeof(*ret->resources));
    if (ret->resources == NULL)
        return error_no_memory(err);
    for (; ret->resource_count < module->kernel_count; ret->resource_count++)
        ret->resources[ret->resource_count] = module->kernels[ret->resource_count].resources;
    return STATUS_OK;
}

enum status gpu_module_describe(struct device *base, const struct module *base_module,
                                struct module_artifact *ret, struct error *err)
{
    struct gpu_device *device = gpu_device(base);
    struct gpu_module *module = (struct gpu_module *)base_module;

    TRY(gpu_bind(device, err));
    *ret = (struct module_artifact){
        .file = strdup(module->file),
        .source = module->source,
        .prelude = gpu_prelude_digest(),
        .binary = module->binary,
        .has_binary = true,
        .binary_bytes = module->binary_bytes,
        .options = strdup(module->options),
        .compiler = strdup(module->compiler),
        .log = strdup(module->log),
        .lanes = module->lanes,
        .compile_ns = module->compile_ns,
    };
    return describe_resources(device, module, ret, err);
}

enum status gpu_kernel_launch(struct device *base, const struct kernel_launch *launch,
                              struct error *err)
{
    struct gpu_device *device = gpu_device(base);
    struct gpu_module *module = (struct gpu_module *)launch->module;
    uint64_t addresses[KERNEL_ARGS_MAX];
    void *args[KERNEL_ARGS_MAX];
    struct gpu_kernel *kernel = NULL;
    enum status status;

    TRY(gpu_bind(device, err));
    TRY(find_kernel(device, module, launch->kernel, &kernel, err));
    if (launch->groups[0] > GROUPS_MAX_X || launch->groups[1] > GROUPS_MAX_YZ ||
        launch->groups[2] > GROUPS_MAX_YZ)
        return error_set(err, STATUS_UNSUPPORTED,
                         "kernel %s: %" PRIu32 " x %" PRIu32 " x %" PRIu32
                         " groups; this stack launches at most %u x %u x %u",
                         launch->kernel, launch->groups[0], launch->groups[1], launch->groups[2],
                         GROUPS_MAX_X, GROUPS_MAX_YZ, GROUPS_MAX_YZ);
    if (launch->arg_count != kernel->arg_count)
        return error_set(err, STATUS_INVALID, "kernel %s of %s takes %zu arguments; %zu were given",
                         launch->kernel, module->file, kernel->arg_count, launch->arg_count);
    for (size_t i = 0; i < launch->arg_count; i++) {
        const struct kernel_arg *arg = &launch->args[i];

        if (arg->type == KERNEL_ARG_BUFFER) {
            addresses[i] =
                arg->buffer != NULL ? ((const struct gpu_buffer *)arg->buffer)->address : 0;
            args[i] = &addresses[i];
        } else {
            args[i] = (void *)&arg->u64;
        }
    }
    status =
        device->driver->launch(device, kernel->function, launch->groups, module->lanes, args, err);
    if (status != STATUS_OK && err != NULL)
        error_prefix(err, "kernel %s", launch->kernel);
    return status;
}
