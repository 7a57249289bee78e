#include "backends/null/null.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/null/plan.h"
#include "backends/null/telemetry.h"
#include "harness/core/clock.h"
#include "harness/core/text.h"

#define MIB (UINT64_C(1) << 20)
/* Before the queue's end; an idle processor wakes late, in a virtual machine by 100 us and more. */
#define AWAKE_NS INT64_C(250000)

static const struct {
    const char *name;
    uint64_t memory_bytes;
} devices[] = {
    {"null device", 1024 * MIB},
    {"null device with 1 MiB of memory", 1 * MIB},
};

#define DEVICE_COUNT (sizeof(devices) / sizeof(devices[0]))

/*
 * The simulated queue: a launch does not wait but advances `busy_until_ns`, and synchronize waits
 * for that time: the last of it by reading the clock, so that short times are exact.
 */
struct null_device {
    struct device base;
    struct null_progress progress;
    int64_t busy_until_ns;
    uint64_t used_bytes;
};

struct null_buffer {
    struct buffer base;
    unsigned char *bytes;
    uint64_t size;
};

struct null_module {
    struct module base;
    char *file, *text, *options;
    struct digest source;
    uint32_t lanes;
};

struct null_event {
    struct event base;
    int64_t at_ns;
    bool recorded;
};

static struct null_device *null_device(struct device *device)
{
    return (struct null_device *)device;
}

static enum status fault(struct error *err, enum status status, const char *what)
{
    return error_set(err, status, "null: %s (a fault that ASSAY_NULL asked for)", what);
}

static void wait_until_idle(const struct null_device *device)
{
    clock_wait_until_ns(device->busy_until_ns, AWAKE_NS);
}

static int64_t queue_end_ns(const struct null_device *device)
{
    int64_t now_ns = clock_monotonic_ns();

    return now_ns > device->busy_until_ns ? now_ns : device->busy_until_ns;
}

static enum status buffer_alloc(struct device *base, uint64_t bytes, enum buffer_flags flags,
                                struct buffer **ret, struct error *err)
{
    struct null_device *device = null_device(base);
    struct null_buffer *buffer;

    (void)flags;
    if (null_progress_fault(&device->progress, NULL_FAULT_ALLOC))
        return fault(err, STATUS_DEVICE, "buffer_alloc failed");
    if (null_progress_fault(&device->progress, NULL_FAULT_OOM))
        return fault(err, STATUS_DEVICE_MEMORY, "out of device memory");
    if (bytes > base->info.memory_bytes - device->used_bytes)
        return error_set(err, STATUS_DEVICE_MEMORY,
                         "null: a buffer of %" PRIu64 " bytes; %" PRIu64 " of %" PRIu64 " are free",
                         bytes, base->info.memory_bytes - device->used_bytes,
                         base->info.memory_bytes);
    buffer = calloc(1, sizeof(*buffer));
    if (buffer != NULL)
        buffer->bytes = malloc((size_t)bytes);
    if (buffer == NULL || buffer->bytes == NULL) {
        free(buffer);
        return error_no_memory(err);
    }
    buffer->size = bytes;
    device->used_bytes += bytes;
    *ret = &buffer->base;
    return STATUS_OK;
}

static void buffer_free(struct device *base, struct buffer *buffer)
{
    struct null_buffer *self = (struct null_buffer *)buffer;

    null_device(base)->used_bytes -= self->size;
    free(self->bytes);
    free(self);
}

static enum status upload(struct device *base, struct buffer *buffer, uint64_t offset,
                          const void *source, uint64_t bytes, struct error *err)
{
    struct null_device *device = null_device(base);

    if (null_progress_fault(&device->progress, NULL_FAULT_UPLOAD))
        return fault(err, STATUS_DEVICE, "upload failed");
    wait_until_idle(device);
    memcpy(((struct null_buffer *)buffer)->bytes + offset, source, (size_t)bytes);
    return STATUS_OK;
}

static enum status download(struct device *base, struct buffer *buffer, uint64_t offset,
                            void *target, uint64_t bytes, struct error *err)
{
    struct null_device *device = null_device(base);

    if (null_progress_fault(&device->progress, NULL_FAULT_DOWNLOAD))
        return fault(err, STATUS_DEVICE, "download failed");
    wait_until_idle(device);
    memcpy(target, ((struct null_buffer *)buffer)->bytes + offset, (size_t)bytes);
    if (null_progress_fault(&device->progress, NULL_FAULT_DOWNLOAD_CORRUPT))
        for (uint64_t i = 0; i < bytes; i++)
            ((unsigned char *)target)[i] ^= 0x55;
    return STATUS_OK;
}

static enum status copy(struct device *base, struct buffer *to, struct buffer *from, uint64_t bytes,
                        struct error *err)
{
    (void)err;
    wait_until_idle(null_device(base));
    memcpy(((struct null_buffer *)to)->bytes, ((struct null_buffer *)from)->bytes, (size_t)bytes);
    return STATUS_OK;
}

/* One after the other, as everything here: it has no queues that could run at once. */
static enum status exchange(struct device *base, const struct device_exchange *both,
                            struct error *err)
{
    TRY(upload(base, both->to, 0, both->source, both->bytes, err));
    return download(base, both->from, 0, both->target, both->bytes, err);
}

static enum status host_alloc(struct device *base, uint64_t bytes, struct host_memory **ret,
                              struct error *err)
{
    struct host_memory *memory = calloc(1, sizeof(*memory));

    (void)base;
    if (memory != NULL)
        memory->bytes = malloc((size_t)bytes);
    if (memory == NULL || memory->bytes == NULL) {
        free(memory);
        return error_no_memory(err);
    }
    *ret = memory;
    return STATUS_OK;
}

static void host_free(struct device *base, struct host_memory *memory)
{
    (void)base;
    free(memory->bytes);
    free(memory);
}

static void module_unload(struct device *base, struct module *module)
{
    struct null_module *self = (struct null_module *)module;

    (void)base;
    free(self->file);
    free(self->text);
    free(self->options);
    free(self);
}

static char *options_of(const struct module_source *source)
{
    struct text text;
    size_t i;

    text_init(&text);
    text_append_format(&text, "-DLANES=%" PRIu32, source->lanes);
    for (i = 0; i < source->define_count; i++)
        text_append_format(&text, " -D%s=%s", source->defines[i].name, source->defines[i].value);
    return text_steal(&text);
}

static enum status module_load(struct device *base, const struct module_source *source,
                               struct module **ret, struct error *err)
{
    struct null_module *module;

    if (null_progress_fault(&null_device(base)->progress, NULL_FAULT_COMPILE))
        return error_set(err, STATUS_COMPILE,
                         "%s does not compile:\n%s:1: error: a fault that ASSAY_NULL asked for",
                         source->file, source->file);
    module = calloc(1, sizeof(*module));
    if (module == NULL)
        return error_no_memory(err);
    module->file = strdup(source->file);
    module->text = strdup(source->text);
    module->options = options_of(source);
    module->lanes = source->lanes;
    module->source = digest_bytes(source->text, strlen(source->text));
    if (module->file == NULL || module->text == NULL || module->options == NULL) {
        module_unload(base, &module->base);
        return error_no_memory(err);
    }
    *ret = &module->base;
    return STATUS_OK;
}

static enum status module_describe(struct device *base, const struct module *base_module,
                                   struct module_artifact *ret, struct error *err)
{
    const struct null_module *module = (const struct null_module *)base_module;

    (void)base;
    (void)err;
    *ret = (struct module_artifact){
        .file = strdup(module->file),
        .source = module->source,
        .prelude = digest_bytes("", 0),
        .options = strdup(module->options),
        .compiler = strdup("none (null backend)"),
        .log = strdup(""),
        .lanes = module->lanes,
    };
    return STATUS_OK;
}

/* True when the text has "KERNEL(name" followed by the end of a word. */
static bool has_kernel(const char *text, const char *name)
{
    const char *at = text;
    size_t length = strlen(name);

    while ((at = strstr(at, "KERNEL(")) != NULL) {
        at += strlen("KERNEL(");
        at += strspn(at, " \t\n");
        if (strncmp(at, name, length) == 0 && strchr(" \t\n,)", at[length]) != NULL)
            return true;
    }
    return false;
}

/* The default action, whatever handler a sanitizer has put in place. */
static void die_of(int signal_number)
{
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static enum status launch_fault(struct null_device *device, struct error *err)
{
    struct null_progress *progress = &device->progress;

    if (null_progress_fault(progress, NULL_FAULT_LAUNCH))
        return fault(err, STATUS_DEVICE, "kernel_launch failed");
    if (null_progress_fault(progress, NULL_FAULT_LOST))
        return fault(err, STATUS_DEVICE_LOST, "the device has gone");
    if (null_progress_fault(progress, NULL_FAULT_CRASH))
        die_of(SIGSEGV);
    if (null_progress_fault(progress, NULL_FAULT_ABORT))
        die_of(SIGABRT);
    if (null_progress_fault(progress, NULL_FAULT_EXIT))
        _exit(0);
    if (null_progress_fault(progress, NULL_FAULT_HANG))
        for (;;)
            pause();
    return STATUS_OK;
}

static enum status kernel_launch(struct device *base, const struct kernel_launch *launch,
                                 struct error *err)
{
    struct null_device *device = null_device(base);
    const struct null_module *module = (const struct null_module *)launch->module;

    if (!has_kernel(module->text, launch->kernel))
        return error_set(err, STATUS_NOT_FOUND, "%s has no kernel \"%s\"", module->file,
                         launch->kernel);
    TRY(launch_fault(device, err));
    device->busy_until_ns = queue_end_ns(device) + null_progress_next_ns(&device->progress);
    return STATUS_OK;
}

static enum status event_create(struct device *base, struct event **ret, struct error *err)
{
    struct null_event *event = calloc(1, sizeof(*event));

    (void)base;
    if (event == NULL)
        return error_no_memory(err);
    *ret = &event->base;
    return STATUS_OK;
}

static void event_destroy(struct device *base, struct event *event)
{
    (void)base;
    free(event);
}

static enum status event_record(struct device *base, struct event *event, struct error *err)
{
    struct null_event *self = (struct null_event *)event;

    (void)err;
    self->at_ns = queue_end_ns(null_device(base));
    self->recorded = true;
    return STATUS_OK;
}

static enum status event_elapsed_ns(struct device *base, const struct event *start,
                                    const struct event *end, int64_t *ret, struct error *err)
{
    const struct null_event *from = (const struct null_event *)start;
    const struct null_event *to = (const struct null_event *)end;

    if (!from->recorded || !to->recorded)
        return error_set(err, STATUS_INTERNAL, "an event was asked for its time but not recorded");
    *ret = null_progress_fault(&null_device(base)->progress, NULL_FAULT_BAD_TIME)
               ? -1000
               : to->at_ns - from->at_ns;
    return STATUS_OK;
}

static enum status synchronize(struct device *base, struct error *err)
{
    (void)err;
    wait_until_idle(null_device(base));
    return STATUS_OK;
}

static size_t lane_candidates(struct device *base, uint32_t *ret, size_t capacity)
{
    static const uint32_t all[] = {1, 64};
    size_t i;

    (void)base;
    for (i = 0; i < sizeof(all) / sizeof(all[0]) && i < capacity; i++)
        ret[i] = all[i];
    return i;
}

static void close_device(struct device *base)
{
    device_info_finish(&base->info);
    free(base);
}

#define COMMON_HOOKS                                                                               \
    .buffer_alloc = buffer_alloc, .buffer_free = buffer_free, .upload = upload,                    \
    .download = download, .copy = copy, .exchange = exchange, .host_alloc = host_alloc,            \
    .host_free = host_free, .module_load = module_load, .module_unload = module_unload,            \
    .module_describe = module_describe, .kernel_launch = kernel_launch,                            \
    .synchronize = synchronize, .lane_candidates = lane_candidates, .close = close_device

static const struct device_ops plain_ops = {COMMON_HOOKS};

static const struct device_ops event_ops = {
    COMMON_HOOKS,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_elapsed_ns = event_elapsed_ns,
};

static enum status device_info(struct backend *backend, uint32_t index, struct device_info *ret,
                               struct error *err)
{
    struct device_info info = {
        .name = strdup(devices[index].name),
        .vendor = strdup("assay"),
        .uuid = text_format("null-%08" PRIx32, index),
        .type = DEVICE_SIMULATED,
        .simulated = true,
        .memory_bytes = devices[index].memory_bytes,
        .max_allocation_bytes = devices[index].memory_bytes,
        .compute_units = 1,
        .max_lanes = 1024,
        .unified_memory = true,
    };
    const char *plan = getenv("ASSAY_NULL");

    (void)backend;
    reading_list_init(&info.readings);
    if (info.name != NULL)
        reading_add_text(&info.readings, "device.name", info.name, "backends/null");
    reading_add_text(&info.readings, "device.driver_version", "1", "backends/null");
    reading_add_text(&info.readings, "device.null.plan", plan != NULL ? plan : "", "ASSAY_NULL");
    reading_add_integer(&info.readings, "device.memory", (int64_t)info.memory_bytes, "bytes",
                        "backends/null");
    if (info.name == NULL || info.vendor == NULL || info.uuid == NULL || info.readings.failed) {
        device_info_finish(&info);
        return error_no_memory(err);
    }
    *ret = info;
    return STATUS_OK;
}

static enum status device_open(struct backend *backend, uint32_t index,
                               const struct device_options *options, struct device **ret,
                               struct error *err)
{
    struct null_device *device = calloc(1, sizeof(*device));
    enum status status;

    if (device == NULL)
        return error_no_memory(err);
    device->base.ops = options->profile ? &event_ops : &plain_ops;
    device->base.backend = backend;
    null_progress_init(&device->progress, backend->state);
    status = null_progress_fault(&device->progress, NULL_FAULT_OPEN)
                 ? fault(err, STATUS_DEVICE, "device_open failed")
                 : device_info(backend, index, &device->base.info, err);
    if (status != STATUS_OK) {
        close_device(&device->base);
        return status;
    }
    *ret = &device->base;
    return STATUS_OK;
}

static enum status probe(struct backend *backend, uint32_t *ret_device_count, struct error *err)
{
    struct null_plan *plan = calloc(1, sizeof(*plan));
    enum status status;

    if (plan == NULL)
        return error_no_memory(err);
    status = null_plan_parse(getenv("ASSAY_NULL"), plan, err);
    if (status != STATUS_OK) {
        free(plan);
        return status;
    }
    backend->state = plan;
    *ret_device_count = DEVICE_COUNT;
    return STATUS_OK;
}

static bool hidden(const struct backend *backend)
{
    (void)backend;
    return true;
}

const struct backend_ops null_backend_ops = {
    .name = "null",
    .description = "runs nothing; declared times and faults, to test assay itself",
    .probe = probe,
    .device_info = device_info,
    .device_open = device_open,
    .telemetry_open = null_telemetry_open,
    .hidden = hidden,
};
