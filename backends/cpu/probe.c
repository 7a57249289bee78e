#include <stdlib.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/internal.h"

static enum status probe(struct backend *backend, uint32_t *ret_device_count, struct error *err)
{
    struct cpu_state *state = calloc(1, sizeof(*state));
    enum status status;

    if (state == NULL)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    /* Kept even when this fails: `libraries` tells what was tried. */
    backend->state = state;
    status = cpu_compiler_find(&state->compiler, err);
    if (status == STATUS_OK)
        status = cpu_cache_open(&state->cache, err);
    if (status != STATUS_OK)
        return status;
    state->target = cpu_compiler_target();
    *ret_device_count = 1;
    return STATUS_OK;
}

const struct backend_ops cpu_backend_ops = {
    .name = "cpu",
    .description = "this processor, through the C compiler",
    .probe = probe,
    .device_info = cpu_device_info,
    .device_open = cpu_device_open,
};
