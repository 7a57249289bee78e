#include "launch_recorder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kernels/silent_device.h"

struct recorded_module {
    struct module base;
    uint32_t number;
    char *what; /* text, lanes and defines */
};

static void module_unload(struct device *device, struct module *module)
{
    (void)device;
    free(((struct recorded_module *)module)->what);
    free(module);
}

static enum status module_load(struct device *device, const struct module_source *source,
                               struct module **ret, struct error *err)
{
    struct recorded_module *module = calloc(1, sizeof(*module));
    struct text what;

    (void)device;
    text_init(&what);
    text_append_format(&what, "%s lanes=%" PRIu32, source->file, source->lanes);
    for (size_t i = 0; i < source->define_count; i++)
        text_append_format(&what, " %s=%s", source->defines[i].name, source->defines[i].value);
    if (module)
        module->what = text_steal(&what);
    if (!module || !module->what) {
        text_finish(&what);
        free(module);
        return error_no_memory(err);
    }
    *ret = &module->base;
    return STATUS_OK;
}

static void append_buffer(struct launch_recorder *recorder, struct buffer *base)
{
    struct silent_buffer *buffer = (struct silent_buffer *)base;

    if (!buffer) {
        text_append(&recorder->lines, " null");
        return;
    }
    if (buffer->number > 0) {
        text_append_format(&recorder->lines, " b%" PRIu32, buffer->number);
        return;
    }
    buffer->number = ++recorder->buffers;
    text_append_format(&recorder->lines, " b%" PRIu32 "(%" PRIu64 " bytes)", buffer->number,
                       base->bytes);
}

static void append_argument(struct launch_recorder *recorder, const struct kernel_arg *arg)
{
    struct text *lines = &recorder->lines;

    switch (arg->type) {
    case KERNEL_ARG_BUFFER:
        append_buffer(recorder, arg->buffer);
        break;
    case KERNEL_ARG_I32:
        text_append_format(lines, " %" PRId32, arg->i32);
        break;
    case KERNEL_ARG_U32:
        text_append_format(lines, " %" PRIu32, arg->u32);
        break;
    case KERNEL_ARG_I64:
        text_append_format(lines, " %" PRId64, arg->i64);
        break;
    case KERNEL_ARG_U64:
        text_append_format(lines, " %" PRIu64, arg->u64);
        break;
    case KERNEL_ARG_F32:
        text_append_format(lines, " %.9g", (double)arg->f32);
        break;
    case KERNEL_ARG_F64:
        text_append_format(lines, " %.17g", arg->f64);
        break;
    }
}

static enum status kernel_launch(struct device *device, const struct kernel_launch *launch,
                                 struct error *err)
{
    struct launch_recorder *recorder = (struct launch_recorder *)device;
    struct recorded_module *module = (struct recorded_module *)launch->module;

    (void)err;
    if (module->number == 0) {
        module->number = ++recorder->modules;
        text_append_format(&recorder->lines, "m%" PRIu32 ": %s\n", module->number, module->what);
    }
    text_append_format(&recorder->lines, "%s m%" PRIu32 " %" PRIu32 "x%" PRIu32 "x%" PRIu32 ":",
                       launch->kernel, module->number, launch->groups[0], launch->groups[1],
                       launch->groups[2]);
    for (size_t i = 0; i < launch->arg_count; i++)
        append_argument(recorder, &launch->args[i]);
    text_append_char(&recorder->lines, '\n');
    return STATUS_OK;
}

static const struct device_ops recorder_ops = {
    SILENT_DEVICE_OPS,
    .module_load = module_load,
    .module_unload = module_unload,
    .kernel_launch = kernel_launch,
};

void launch_recorder_init(struct launch_recorder *recorder, enum device_type type)
{
    static struct backend_ops backend_ops = {.name = "recorder"};
    static struct backend backend = {.ops = &backend_ops, .device_count = 1};

    *recorder =
        (struct launch_recorder){.device = {.ops = &recorder_ops,
                                            .backend = &backend,
                                            .info = {.name = (char *)"recorder",
                                                     .vendor = (char *)"assay",
                                                     .type = type,
                                                     .memory_bytes = UINT64_C(1) << 40,
                                                     .max_allocation_bytes = UINT64_C(1) << 40,
                                                     .compute_units = 100,
                                                     .max_lanes = 1024}}};
    reading_list_init(&recorder->device.info.readings);
    text_init(&recorder->lines);
}

void launch_recorder_finish(struct launch_recorder *recorder)
{
    reading_list_finish(&recorder->device.info.readings);
    text_finish(&recorder->lines);
}
