#include "backends/cpu/internal.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "backends/compile.h"
#include "backends/cpu/threads.h"
#include "harness/core/array.h"
#include "harness/core/clock.h"
#include "harness/core/embed.h"

extern const struct embed_file cpu_prelude[];

#define KERNEL_NAME_MAX 128

struct cpu_kernel {
    char *name;
    cpu_kernel_run *run;
    const char *signature; /* in the object */
    size_t arg_count;
};

struct cpu_module {
    struct module base;
    void *handle;
    struct cpu_kernel *kernels; /* found at their first launch */
    size_t kernel_count;
    char *scratch; /* folder of an object that is not in the cache */
    /* provenance */
    char *file, *options, *log;
    struct digest source, binary;
    uint64_t binary_bytes;
    uint32_t lanes;
    int64_t compile_ns;
};

static struct digest prelude_digest(void)
{
    return digest_bytes(cpu_prelude[0].text, cpu_prelude[0].length);
}

/* Of all that the object depends on. Each part ends in a NUL, so that none merges with the next. */
static struct digest key_of(const struct cpu_state *state, const struct text *joined)
{
    static const char format[] = "assay cpu kernel 1";
    const char *options = cpu_compiler_options(&state->compiler);
    struct digest_state digest;

    digest_init(&digest);
    digest_update(&digest, format, sizeof(format));
    digest_update(&digest, joined->data, joined->length + 1);
    digest_update(&digest, options, strlen(options) + 1);
    digest_update(&digest, state->compiler.identity, strlen(state->compiler.identity) + 1);
    digest_update(&digest, state->compiler.tools, strlen(state->compiler.tools) + 1);
    digest_update(&digest, &state->target, sizeof(state->target));
    return digest_final(&digest);
}

static enum status refuse(const char *file, enum status status, struct error *err)
{
    char copy[ERROR_MESSAGE_MAX];

    if (status != STATUS_COMPILE)
        return status;
    snprintf(copy, sizeof(copy), "%s", compile_log_head(err->message, "error:"));
    return error_set(err, status, "%s does not compile:\n%s", file, copy);
}

/* Compiles `joined` in the module's scratch folder; the object's path is put into `object`. */
static enum status compile(struct cpu_state *state, struct cpu_module *module,
                           const struct text *joined, char **object, struct error *err)
{
    struct error own = ERROR_INIT;
    char *preprocessed = NULL;
    struct text expanded;
    enum status status;

    TRY(cpu_scratch_make(&state->cache, &module->scratch, err));
    *object = text_format("%s/kernel.so", module->scratch);
    if (*object == NULL)
        return error_no_memory(err);
    status = cpu_compiler_preprocess(&state->compiler, module->scratch, joined->data,
                                     joined->length, &preprocessed, &module->log, &own);
    if (status == STATUS_OK) {
        status = cpu_source_expand(preprocessed, &expanded, &own);
        free(preprocessed);
    }
    if (status == STATUS_OK) {
        status = cpu_compiler_compile(&state->compiler, module->scratch, expanded.data,
                                      expanded.length, *object, &module->log, &own);
        text_finish(&expanded);
    }
    if (status != STATUS_OK) {
        refuse(module->file, status, &own);
        return error_set(err, status, "%s", own.message);
    }
    return STATUS_OK;
}

/* From the cache unless `anew`, or compiled and put there; `object` is the path to load either way.
 */
static enum status provide(struct cpu_state *state, bool anew, struct cpu_module *module,
                           const struct module_source *source, char **object, struct error *err)
{
    enum status status;
    struct digest key;
    struct text joined;
    char *kept = NULL;

    cpu_source_join(source, cpu_prelude[0].text, cpu_prelude[0].length, &joined);
    if (!text_ok(&joined)) {
        text_finish(&joined);
        return error_no_memory(err);
    }
    key = key_of(state, &joined);
    status =
        anew ? STATUS_NOT_FOUND : cpu_cache_find(&state->cache, &key, object, &module->log, NULL);
    if (status != STATUS_OK)
        status = compile(state, module, &joined, object, err);
    text_finish(&joined);
    if (status != STATUS_OK || module->scratch == NULL)
        return status;
    /* A cache that is full or was removed is no reason to fail. */
    if (cpu_cache_store(&state->cache, &key, *object, module->log, &kept, NULL) == STATUS_OK) {
        free(*object);
        *object = kept;
        cpu_scratch_remove(module->scratch);
        free(module->scratch);
        module->scratch = NULL;
    }
    return STATUS_OK;
}

void cpu_module_unload(struct device *device, struct module *base)
{
    struct cpu_module *module = (struct cpu_module *)base;

    (void)device;
    if (module->handle != NULL)
        dlclose(module->handle);
    cpu_scratch_remove(module->scratch);
    for (size_t i = 0; i < module->kernel_count; i++)
        free(module->kernels[i].name);
    free(module->kernels);
    free(module->scratch);
    free(module->file);
    free(module->options);
    free(module->log);
    free(module);
}

enum status cpu_module_load(struct device *base, const struct module_source *source,
                            struct module **ret, struct error *err)
{
    struct cpu_state *state = cpu_device(base)->state;
    struct cpu_module *module = calloc(1, sizeof(*module));
    const int64_t begin_ns = clock_monotonic_ns();
    char *object = NULL;
    enum status status;

    if (module == NULL)
        return error_no_memory(err);
    module->lanes = source->lanes;
    module->source = digest_bytes(source->text, strlen(source->text));
    module->file = strdup(source->file);
    module->options = compile_options(cpu_compiler_options(&state->compiler), source);
    if (module->file == NULL || module->options == NULL)
        status = error_no_memory(err);
    else
        status = provide(state, cpu_device(base)->compile_anew, module, source, &object, err);
    module->compile_ns = clock_monotonic_ns() - begin_ns;
    if (status == STATUS_OK)
        status = digest_file(object, &module->binary, &module->binary_bytes, err);
    if (status == STATUS_OK) {
        module->handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
        if (module->handle == NULL)
            status = error_set(err, STATUS_COMPILE, "%s: the compiled kernel cannot be loaded: %s",
                               source->file, dlerror());
    }
    free(object);
    if (status != STATUS_OK) {
        cpu_module_unload(base, &module->base);
        return status;
    }
    *ret = &module->base;
    return STATUS_OK;
}

enum status cpu_module_describe(struct device *base, const struct module *base_module,
                                struct module_artifact *ret, struct error *err)
{
    const struct cpu_module *module = (const struct cpu_module *)base_module;

    (void)err;
    *ret = (struct module_artifact){
        .file = strdup(module->file),
        .source = module->source,
        .prelude = prelude_digest(),
        .binary = module->binary,
        .has_binary = true,
        .binary_bytes = module->binary_bytes,
        .options = strdup(module->options),
        .compiler = strdup(cpu_device(base)->state->compiler.identity),
        .log = strdup(module->log),
        .lanes = module->lanes,
        .compile_ns = module->compile_ns,
    };
    return STATUS_OK;
}

/* dlsym gives a pointer to data; POSIX allows its use as a function pointer. */
static void *symbol_of(const struct cpu_module *module, const char *prefix, const char *name)
{
    char symbol[KERNEL_NAME_MAX + 32];

    if (strlen(name) > KERNEL_NAME_MAX)
        return NULL;
    snprintf(symbol, sizeof(symbol), "%s%s", prefix, name);
    return dlsym(module->handle, symbol);
}

static enum status find_kernel(struct cpu_module *module, const char *name, struct cpu_kernel **ret,
                               struct error *err)
{
    struct cpu_kernel made = {0};
    void *run;

    for (size_t i = 0; i < module->kernel_count; i++)
        if (strcmp(module->kernels[i].name, name) == 0) {
            *ret = &module->kernels[i];
            return STATUS_OK;
        }
    run = symbol_of(module, CPU_RUN, name);
    made.signature = symbol_of(module, CPU_SIGNATURE, name);
    if (run == NULL || made.signature == NULL)
        return error_set(err, STATUS_NOT_FOUND, "%s has no kernel \"%s\"", module->file, name);
    memcpy(&made.run, &run, sizeof(run));
    made.arg_count = strlen(made.signature);
    TRY(ARRAY_GROW(module->kernels, module->kernel_count, 1, err));
    made.name = strdup(name);
    if (made.name == NULL)
        return error_no_memory(err);
    module->kernels[module->kernel_count] = made;
    *ret = &module->kernels[module->kernel_count++];
    return STATUS_OK;
}

/* Signed and unsigned of one size are interchangeable; anything else is an error. */
static bool set_argument(char letter, const struct kernel_arg *arg, union cpu_argument *ret)
{
    switch (arg->type) {
    case KERNEL_ARG_BUFFER:
        ret->pointer = arg->buffer != NULL ? ((const struct cpu_buffer *)arg->buffer)->bytes : NULL;
        return letter == CPU_PARAMETER_POINTER;
    case KERNEL_ARG_I32:
    case KERNEL_ARG_U32:
        ret->u32 = arg->u32;
        return letter == 'i' || letter == 'u';
    case KERNEL_ARG_I64:
    case KERNEL_ARG_U64:
        ret->u64 = arg->u64;
        return letter == 'l' || letter == 'L';
    case KERNEL_ARG_F32:
        ret->f32 = arg->f32;
        return letter == 'f';
    case KERNEL_ARG_F64:
        ret->f64 = arg->f64;
        return letter == 'd';
    }
    return false;
}

enum status cpu_kernel_launch(struct device *base, const struct kernel_launch *launch,
                              struct error *err)
{
    const struct cpu_device *device = cpu_device(base);
    struct cpu_module *module = (struct cpu_module *)launch->module;
    const uint64_t groups[3] = {launch->groups[0], launch->groups[1], launch->groups[2]};
    union cpu_argument arguments[KERNEL_ARGS_MAX];
    struct cpu_kernel *kernel = NULL;

    TRY(find_kernel(module, launch->kernel, &kernel, err));
    if (launch->arg_count != kernel->arg_count)
        return error_set(err, STATUS_INVALID, "kernel %s of %s takes %zu arguments; %zu were given",
                         launch->kernel, module->file, kernel->arg_count, launch->arg_count);
    for (size_t i = 0; i < kernel->arg_count; i++)
        if (!set_argument(kernel->signature[i], &launch->args[i], &arguments[i]))
            return error_set(err, STATUS_INVALID,
                             "kernel %s of %s, argument %zu: the type given is not the parameter's",
                             launch->kernel, module->file, i);
    cpu_threads_run(kernel->run, groups, arguments, device->threads, device->flush_denormals);
    return STATUS_OK;
}
