#include "workloads/reference_loop.h"

#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/kernel_text.h"

/* Sizes are part of the definition, as the text is. */
#define GROUPS 64
#define MEMORY_ELEMENTS ((uint64_t)4 << 20) /* 16 MiB an array */
#define ARITHMETIC_STEPS 65536

struct reference_loop {
    struct device *device;
    struct module *module;
    struct buffer *from, *to;
    bool memory;
};

void reference_loop_destroy(struct reference_loop *loop)
{
    if (!loop)
        return;
    device_module_unload(loop->device, loop->module);
    device_buffer_free(loop->from);
    device_buffer_free(loop->to);
    free(loop);
}

static enum status load(struct reference_loop *loop, struct error *err)
{
    static const char *const files[] = {"reference.h"};
    const struct module_source source = {.file = "workloads/kernels/reference.h", .lanes = 1};

    return kernel_text_load(loop->device, files, 1, source, &loop->module, err);
}

static enum status allocate(struct reference_loop *loop, struct error *err)
{
    const uint64_t count = loop->memory ? MEMORY_ELEMENTS : GROUPS;
    AUTO_FREE float *ones = malloc(count * sizeof(*ones));

    if (!ones)
        return error_no_memory(err);
    for (uint64_t i = 0; ones && i < count; i++)
        ones[i] = 1.0f;
    TRY(device_buffer_alloc(loop->device, count * sizeof(*ones), BUFFER_READ_WRITE, &loop->from,
                            err));
    TRY(device_buffer_alloc(loop->device, count * sizeof(*ones), BUFFER_READ_WRITE, &loop->to,
                            err));
    return device_upload(loop->from, 0, ones, count * sizeof(*ones), err);
}

static enum status prepare(struct reference_loop *loop, struct error *err)
{
    TRY(load(loop, err));
    TRY(allocate(loop, err));
    return reference_loop_run(loop, err); /* touches the pages */
}

enum status reference_loop_create(struct device *device, const struct workload_cost *cost,
                                  struct reference_loop **ret, struct error *err)
{
    struct reference_loop *loop;

    *ret = NULL;
    if (device->info.type != DEVICE_CPU)
        return STATUS_OK;
    loop = calloc(1, sizeof(*loop));
    if (!loop)
        return error_no_memory(err);
    loop->device = device;
    loop->memory = cost->flops == 0;
    if (prepare(loop, err) != STATUS_OK) {
        reference_loop_destroy(loop);
        return error_prefix(err, "the reference loop");
    }
    *ret = loop;
    return STATUS_OK;
}

enum status reference_loop_run(struct reference_loop *loop, struct error *err)
{
    const struct kernel_arg args[] = {
        {.type = KERNEL_ARG_BUFFER, .buffer = loop->from},
        {.type = KERNEL_ARG_BUFFER, .buffer = loop->to},
        {.type = KERNEL_ARG_U64, .u64 = loop->memory ? MEMORY_ELEMENTS : ARITHMETIC_STEPS},
    };
    const struct kernel_launch launch = {
        .module = loop->module,
        .kernel = loop->memory ? "reference_memory" : "reference_arithmetic",
        .groups = {GROUPS, 1, 1},
        .args = args,
        .arg_count = sizeof(args) / sizeof(args[0]),
    };

    TRY(device_kernel_launch(loop->device, &launch, err));
    return device_synchronize(loop->device, err);
}

const char *reference_loop_name(const struct reference_loop *loop)
{
    return loop->memory ? "memory" : "arithmetic";
}
