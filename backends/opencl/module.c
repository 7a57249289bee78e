#include "backends/opencl/internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backends/compile.h"
#include "backends/opencl/log.h"
#include "harness/core/array.h"
#include "harness/core/clock.h"
#include "harness/core/embed.h"

extern const struct embed_file opencl_prelude[];

#define LOG_MAX ((size_t)64 << 20)

/* Kernels are made at their first launch and kept. */
struct opencl_kernel {
    char *name;
    struct _cl_kernel *handle;
    uint32_t arg_count;
};

struct opencl_module {
    struct module base;
    struct _cl_program *program;
    struct opencl_kernel *kernels;
    size_t kernel_count;
    uint32_t lanes;
    /* provenance */
    char *file, *options, *log;
    struct digest source;
    int64_t compile_ns;
};

static struct digest prelude_digest(void)
{
    return digest_bytes(opencl_prelude[0].text, opencl_prelude[0].length);
}

/*
 * Appends the kernels' text with "KERNEL(name, parameters)" as "KERNEL(name)( parameters)", since
 * OpenCL C has no macros of any number of arguments: NVIDIA's compiler refuses them in every
 * version of the language. Lines stay where they are.
 */
static void append_kernels(struct text *ret, const char *text)
{
    static const char head[] = "KERNEL(";
    const char *at;

    while ((at = strstr(text, head)) != NULL) {
        const char *name = at + strlen(head), *end = name + strcspn(name, ",)");
        const bool inside = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_');

        if (*end == '\0')
            break;
        text_append_bytes(ret, text, (size_t)(end - text));
        text_append(ret, inside ? "" : *end == ',' ? ")(" : ")(void");
        text = end + (!inside && *end == ',');
    }
    text_append(ret, text);
}

/* Defines, prelude, text. #line makes the compiler name each by its own file and lines. */
static void build_text(const struct module_source *source, struct text *ret,
                       struct opencl_log_map *ret_map)
{
    const char *c;

    text_init(ret);
    compile_append_defines(ret, source);
    text_append(ret, "#line 1 \"" OPENCL_PRELUDE_FILE "\"\n");
    ret_map->file = source->file;
    ret_map->prelude_line = source->define_count + 3;
    text_append_bytes(ret, opencl_prelude[0].text, opencl_prelude[0].length);
    text_append_format(ret, "\n#line 1 \"%s\"\n", source->file);
    ret_map->text_line = 1;
    for (c = ret->data; *c != '\0'; c++)
        ret_map->text_line += *c == '\n';
    append_kernels(ret, source->text);
    text_append(ret, "\n");
}

/* No option that allows the compiler to change arithmetic; division and root exact where it can. */
static char *build_options(const struct opencl_device *device)
{
    return text_format("-cl-std=CL1.2%s%s",
                       device->exact_divide ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
                       device->flush_denormals ? " -cl-denorms-are-zero" : "");
}

/* The build log, heap; "" when the driver reports none. NULL: out of memory. */
static char *read_log(const struct opencl_device *device, struct _cl_program *program,
                      const struct opencl_log_map *map)
{
    const struct opencl_api *api = device->api;
    char *raw, *log;
    size_t size = 0;

    if (api->clGetProgramBuildInfo(program, device->id, OCL_PROGRAM_BUILD_LOG, 0, NULL, &size) !=
            OCL_SUCCESS ||
        size == 0 || size > LOG_MAX)
        return strdup("");
    raw = calloc(1, size + 1);
    if (raw == NULL)
        return NULL;
    if (api->clGetProgramBuildInfo(program, device->id, OCL_PROGRAM_BUILD_LOG, size, raw, NULL) !=
        OCL_SUCCESS)
        raw[0] = '\0';
    log = opencl_log_rewrite(raw, map);
    free(raw);
    return log;
}

static enum status refuse(const struct module_source *source, const char *log, int32_t code,
                          struct error *err)
{
    const char *begin = compile_log_head(log, "error:");

    return error_set(err, STATUS_COMPILE, "%s does not compile (clBuildProgram: %s (%d)):\n%s",
                     source->file, opencl_error_name(code), (int)code,
                     begin[0] != '\0' ? begin : "(the compiler gives no message)");
}

static enum status build(struct opencl_device *device, struct opencl_module *module,
                         const struct module_source *source, struct error *err)
{
    const struct opencl_api *api = device->api;
    struct opencl_log_map map;
    struct text text;
    const char *string;
    size_t length;
    int64_t begin_ns;
    int32_t code = OCL_SUCCESS;

    build_text(source, &text, &map);
    if (!text_ok(&text)) {
        text_finish(&text);
        return error_no_memory(err);
    }
    string = text.data;
    length = text.length;
    begin_ns = clock_monotonic_ns();
    module->program = api->clCreateProgramWithSource(device->context, 1, &string, &length, &code);
    text_finish(&text);
    if (code != OCL_SUCCESS || module->program == NULL) {
        module->program = NULL;
        return opencl_fail(err, source->file, "clCreateProgramWithSource", code);
    }
    code = api->clBuildProgram(module->program, 1, &device->id, module->options, NULL, NULL);
    module->compile_ns = clock_monotonic_ns() - begin_ns;
    module->log = read_log(device, module->program, &map);
    if (module->log == NULL)
        return error_no_memory(err);
    if (code == OCL_BUILD_PROGRAM_FAILURE || code == OCL_COMPILE_PROGRAM_FAILURE ||
        code == OCL_LINK_PROGRAM_FAILURE)
        TRY(refuse(source, module->log, code, err));
    else if (code != OCL_SUCCESS)
        TRY(opencl_fail(err, source->file, "clBuildProgram", code));
    return STATUS_OK;
}

/*
 * A driver that gives no binary still runs kernels: then there is no digest, and that is reported.
 * Asked for only when needed, since PoCL compiles every kernel once more to answer.
 */
static void read_binary(const struct opencl_device *device, const struct opencl_module *module,
                        struct module_artifact *ret)
{
    const struct opencl_api *api = device->api;
    unsigned char *bytes;
    size_t size = 0;

    if (api->clGetProgramInfo(module->program, OCL_PROGRAM_BINARY_SIZES, sizeof(size), &size,
                              NULL) != OCL_SUCCESS ||
        size == 0 || size > ((size_t)1 << 30))
        return;
    bytes = malloc(size);
    if (bytes == NULL)
        return;
    if (api->clGetProgramInfo(module->program, OCL_PROGRAM_BINARIES, sizeof(bytes), &bytes, NULL) ==
        OCL_SUCCESS) {
        ret->binary = digest_bytes(bytes, size);
        ret->binary_bytes = size;
        ret->has_binary = true;
    }
    free(bytes);
}

void opencl_module_unload(struct device *base, struct module *base_module)
{
    struct opencl_module *module = (struct opencl_module *)base_module;
    const struct opencl_api *api = opencl_device(base)->api;
    size_t i;

    for (i = 0; i < module->kernel_count; i++) {
        if (module->kernels[i].handle != NULL)
            api->clReleaseKernel(module->kernels[i].handle);
        free(module->kernels[i].name);
    }
    free(module->kernels);
    if (module->program != NULL)
        api->clReleaseProgram(module->program);
    free(module->file);
    free(module->options);
    free(module->log);
    free(module);
}

enum status opencl_module_load(struct device *base, const struct module_source *source,
                               struct module **ret, struct error *err)
{
    struct opencl_device *device = opencl_device(base);
    struct opencl_module *module = calloc(1, sizeof(*module));
    char *options;
    enum status status;

    if (module == NULL)
        return error_no_memory(err);
    module->lanes = source->lanes;
    module->source = digest_bytes(source->text, strlen(source->text));
    module->file = strdup(source->file);
    module->options = build_options(device);
    if (module->file == NULL || module->options == NULL)
        status = error_no_memory(err);
    else
        status = build(device, module, source, err);
    if (status == STATUS_OK) {
        options = compile_options(module->options, source);
        if (options == NULL)
            status = error_no_memory(err);
        free(module->options);
        module->options = options;
    }
    if (status != STATUS_OK) {
        opencl_module_unload(base, &module->base);
        return status;
    }
    *ret = &module->base;
    return STATUS_OK;
}

enum status opencl_module_describe(struct device *base, const struct module *base_module,
                                   struct module_artifact *ret, struct error *err)
{
    const struct opencl_module *module = (const struct opencl_module *)base_module;

    (void)err;
    *ret = (struct module_artifact){
        .file = strdup(module->file),
        .source = module->source,
        .prelude = prelude_digest(),
        .options = strdup(module->options),
        .compiler = strdup(opencl_device(base)->compiler),
        .log = strdup(module->log),
        .lanes = module->lanes,
        .compile_ns = module->compile_ns,
    };
    read_binary(opencl_device(base), module, ret);
    return STATUS_OK;
}

static enum status make_kernel(struct opencl_device *device, struct opencl_module *module,
                               const char *name, struct opencl_kernel *ret, struct error *err)
{
    const struct opencl_api *api = device->api;
    const char *function = "clCreateKernel";
    char context[256];
    struct _cl_kernel *handle;
    uint32_t arg_count = 0;
    size_t lanes = 0;
    int32_t code = OCL_SUCCESS;
    enum status status;

    snprintf(context, sizeof(context), "kernel %s of %s", name, module->file);
    handle = api->clCreateKernel(module->program, name, &code);
    if (code == OCL_INVALID_KERNEL_NAME)
        return error_set(err, STATUS_NOT_FOUND, "%s has no kernel \"%s\"", module->file, name);
    if (code != OCL_SUCCESS || handle == NULL)
        return opencl_fail(err, context, function, code);
    function = "clGetKernelInfo";
    code = api->clGetKernelInfo(handle, OCL_KERNEL_NUM_ARGS, sizeof(arg_count), &arg_count, NULL);
    if (code == OCL_SUCCESS) {
        function = "clGetKernelWorkGroupInfo";
        code = api->clGetKernelWorkGroupInfo(handle, device->id, OCL_KERNEL_WORK_GROUP_SIZE,
                                             sizeof(lanes), &lanes, NULL);
    }
    if (code != OCL_SUCCESS)
        status = opencl_fail(err, context, function, code);
    else if (lanes < module->lanes)
        status = error_set(err, STATUS_UNSUPPORTED,
                           "%s was compiled for %" PRIu32 " lanes; on this device it can have %zu "
                           "(registers or local memory run out)",
                           context, module->lanes, lanes);
    else
        status = STATUS_OK;
    if (status == STATUS_OK) {
        ret->name = strdup(name);
        if (ret->name == NULL)
            status = error_no_memory(err);
    }
    if (status != STATUS_OK) {
        api->clReleaseKernel(handle);
        return status;
    }
    ret->handle = handle;
    ret->arg_count = arg_count;
    return STATUS_OK;
}

static enum status find_kernel(struct opencl_device *device, struct opencl_module *module,
                               const char *name, struct opencl_kernel **ret, struct error *err)
{
    struct opencl_kernel made = {0};
    size_t i;

    for (i = 0; i < module->kernel_count; i++)
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

static int32_t set_arg(const struct opencl_api *api, struct _cl_kernel *kernel, uint32_t index,
                       const struct kernel_arg *arg)
{
    struct _cl_mem *mem;

    switch (arg->type) {
    case KERNEL_ARG_BUFFER:
        mem = arg->buffer != NULL ? ((const struct opencl_buffer *)arg->buffer)->mem : NULL;
        return api->clSetKernelArg(kernel, index, sizeof(mem), &mem);
    case KERNEL_ARG_I32:
    case KERNEL_ARG_U32:
    case KERNEL_ARG_F32:
        return api->clSetKernelArg(kernel, index, 4, &arg->u32);
    case KERNEL_ARG_I64:
    case KERNEL_ARG_U64:
    case KERNEL_ARG_F64:
        return api->clSetKernelArg(kernel, index, 8, &arg->u64);
    }
    return OCL_INVALID_ARG_VALUE;
}

enum status opencl_kernel_launch(struct device *base, const struct kernel_launch *launch,
                                 struct error *err)
{
    struct opencl_device *device = opencl_device(base);
    struct opencl_module *module = (struct opencl_module *)launch->module;
    const struct opencl_api *api = device->api;
    const size_t global[3] = {(size_t)launch->groups[0] * module->lanes, launch->groups[1],
                              launch->groups[2]};
    const size_t local[3] = {module->lanes, 1, 1};
    const uint32_t dimensions = launch->groups[2] > 1 ? 3 : launch->groups[1] > 1 ? 2 : 1;
    struct opencl_kernel *kernel = NULL;
    char context[160];
    uint32_t i;
    int32_t code;

    TRY(find_kernel(device, module, launch->kernel, &kernel, err));
    if (launch->arg_count != kernel->arg_count)
        return error_set(err, STATUS_INVALID,
                         "kernel %s of %s takes %" PRIu32 " arguments; %zu were given",
                         launch->kernel, module->file, kernel->arg_count, launch->arg_count);
    for (i = 0; i < kernel->arg_count; i++) {
        code = set_arg(api, kernel->handle, i, &launch->args[i]);
        if (code != OCL_SUCCESS) {
            snprintf(context, sizeof(context), "kernel %s, argument %" PRIu32, launch->kernel, i);
            return opencl_fail(err, context, "clSetKernelArg", code);
        }
    }
    code = api->clEnqueueNDRangeKernel(device->queue, kernel->handle, dimensions, NULL, global,
                                       local, 0, NULL, NULL);
    if (code != OCL_SUCCESS) {
        snprintf(context, sizeof(context), "kernel %s", launch->kernel);
        return opencl_fail(err, context, "clEnqueueNDRangeKernel", code);
    }
    return STATUS_OK;
}
