#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/internal.h"

static enum status probe(struct backend *backend, uint32_t *ret_device_count, struct error *err)
{
    struct cpu_state *state = calloc(1, sizeof(*state));
    struct error reason = ERROR_INIT;

    if (state == NULL)
        return error_no_memory(err);
    /* Kept even when this fails: `libraries` reports what was tried. */
    backend->state = state;
    TRY(cpu_compiler_find(&state->compiler, err));
    TRY(cpu_cache_open(&state->cache, err));
    state->target = cpu_compiler_target();
    /* Without it there are no vendor GEMMs, and nothing more. */
    state->has_dnnl = onednn_open(&state->dnnl, &reason) == STATUS_OK;
    if (!state->has_dnnl) {
        state->dnnl_reason = strdup(reason.message);
        if (state->dnnl_reason == NULL)
            return error_no_memory(err);
    }
    *ret_device_count = 1;
    return STATUS_OK;
}

static size_t libraries(struct backend *backend, struct backend_library *ret, size_t capacity)
{
    const struct cpu_state *state = backend->state;

    if (state == NULL || capacity < 2)
        return 0;
    ret[0] = (struct backend_library){
        .name = "cc",
        .path = state->compiler.path,
        .tried = state->compiler.tried,
        .version = state->compiler.version,
    };
    ret[1] = (struct backend_library){
        .name = "dnnl",
        .path = state->has_dnnl ? state->dnnl.lib.path : NULL,
        .tried = state->has_dnnl ? state->dnnl.lib.tried : state->dnnl_reason,
        .version = state->has_dnnl ? state->dnnl.version : NULL,
    };
    return 2;
}

/* The OpenMP runtime reads these once, when the process begins: one thread a core, and it stays. */
static size_t environment(const char **ret, size_t capacity)
{
    static const char *const variables[] = {"OMP_PROC_BIND=close", "OMP_PLACES=cores"};
    size_t count = 0;

    for (; count < sizeof(variables) / sizeof(variables[0]) && count < capacity; count++)
        ret[count] = variables[count];
    return count;
}

static void files(struct backend *backend, uint32_t index, struct backend_file_list *ret)
{
    const struct cpu_state *state = backend->state;

    if (index == 0 && state != NULL)
        cpu_compiler_files(&state->compiler, ret);
}

static const char *const library_names[] = {"dnnl", NULL};

const struct backend_ops cpu_backend_ops = {
    .name = "cpu",
    .description = "this processor, through the C compiler and oneDNN",
    .probe = probe,
    .device_info = cpu_device_info,
    .device_open = cpu_device_open,
    .library_names = library_names,
    .libraries = libraries,
    .files = files,
    .environment = environment,
};
