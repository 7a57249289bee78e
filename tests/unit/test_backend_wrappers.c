/* The wrappers against a device that records what reaches it: bad calls must never do so. */
#include "wrapper_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

static int64_t elapsed_ns;    /* what event_elapsed_ns gives */
static bool describe_is_torn; /* module_describe leaves a string out, as when memory is short */

static enum status buffer_alloc(struct device *device, uint64_t bytes, enum buffer_flags flags,
                                struct buffer **ret, struct error *err)
{
    enum status status = say(err);

    (void)device;
    (void)bytes;
    (void)flags;
    if (status == STATUS_OK)
        *ret = calloc(1, sizeof(**ret));
    return status;
}

static void buffer_free(struct device *device, struct buffer *buffer)
{
    (void)device;
    reached++;
    free(buffer);
}

static enum status upload(struct device *device, struct buffer *buffer, uint64_t offset,
                          const void *source, uint64_t bytes, struct error *err)
{
    (void)device;
    (void)source;
    assert_true(bytes > 0 && offset + bytes <= buffer->bytes);
    return say(err);
}

static enum status download(struct device *device, struct buffer *buffer, uint64_t offset,
                            void *target, uint64_t bytes, struct error *err)
{
    (void)device;
    (void)target;
    assert_true(bytes > 0 && offset + bytes <= buffer->bytes);
    return say(err);
}

static enum status module_load(struct device *device, const struct module_source *source,
                               struct module **ret, struct error *err)
{
    enum status status = say(err);

    (void)device;
    (void)source;
    if (status == STATUS_OK)
        *ret = calloc(1, sizeof(**ret));
    return status;
}

static void module_unload(struct device *device, struct module *module)
{
    (void)device;
    reached++;
    free(module);
}

static enum status module_describe(struct device *device, const struct module *module,
                                   struct module_artifact *ret, struct error *err)
{
    (void)device;
    (void)module;
    *ret = (struct module_artifact){.file = strdup("f"),
                                    .options = strdup("o"),
                                    .compiler = describe_is_torn ? NULL : strdup("c"),
                                    .log = strdup("")};
    return say(err);
}

static enum status launch_hook(struct device *device, const struct kernel_launch *launch,
                               struct error *err)
{
    (void)device;
    (void)launch;
    return say(err);
}

static enum status event_create(struct device *device, struct event **ret, struct error *err)
{
    enum status status = say(err);

    (void)device;
    if (status == STATUS_OK)
        *ret = calloc(1, sizeof(**ret));
    return status;
}

static void event_destroy(struct device *device, struct event *event)
{
    (void)device;
    free(event);
}

static enum status event_record(struct device *device, struct event *event, struct error *err)
{
    (void)device;
    (void)event;
    return say(err);
}

static enum status event_elapsed(struct device *device, const struct event *start,
                                 const struct event *end, int64_t *ret, struct error *err)
{
    (void)device;
    (void)start;
    (void)end;
    *ret = elapsed_ns;
    return say(err);
}

static enum status simple(struct device *device, struct error *err)
{
    (void)device;
    return say(err);
}

static void close_hook(struct device *device)
{
    (void)device;
    reached++;
}

static const struct device_ops full_ops = {
    .buffer_alloc = buffer_alloc,
    .buffer_free = buffer_free,
    .upload = upload,
    .download = download,
    .module_load = module_load,
    .module_unload = module_unload,
    .module_describe = module_describe,
    .kernel_launch = launch_hook,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_elapsed_ns = event_elapsed,
    .synchronize = simple,
    .close = close_hook,
};

static struct device_ops least_ops;
static struct device device, other;

static int set_up(void **state)
{
    (void)state;
    least_ops = full_ops;
    least_ops.event_create = NULL;
    least_ops.event_destroy = NULL;
    least_ops.event_record = NULL;
    least_ops.event_elapsed_ns = NULL;
    device = (struct device){.ops = &full_ops, .info = {.name = (char *)"fake", .max_lanes = 64}};
    other = device;
    reached = 0;
    answer = STATUS_OK;
    elapsed_ns = 0;
    describe_is_torn = false;
    return 0;
}

TEST_WITH(buffers, set_up, NULL)
{
    struct buffer *buffer = NULL;
    struct error error = ERROR_INIT;
    char bytes[100];

    REFUSED(STATUS_INVALID, device_buffer_alloc(&device, 0, BUFFER_READ_WRITE, &buffer, &err));
    PASSES(device_buffer_alloc(&device, 100, BUFFER_READ_ONLY, &buffer, &err));
    assert_ptr_equal(buffer->device, &device);
    assert_int_equal(buffer->bytes, 100);
    PASSES(device_upload(buffer, 0, bytes, 100, &err));
    PASSES(device_upload(buffer, 99, bytes, 1, &err));
    PASSES(device_download(buffer, 1, bytes, 99, &err));
    REFUSED(STATUS_INVALID, device_upload(buffer, 1, bytes, 100, &err));
    REFUSED(STATUS_INVALID, device_upload(buffer, 101, bytes, 0, &err));
    REFUSED(STATUS_INVALID, device_upload(buffer, UINT64_MAX, bytes, 1, &err));
    REFUSED(STATUS_INVALID, device_download(buffer, 50, bytes, UINT64_MAX - 20, &err));
    REFUSED(STATUS_INTERNAL, device_upload(NULL, 0, bytes, 1, &err));
    REFUSED(STATUS_INTERNAL, device_upload(buffer, 0, NULL, 1, &err));
    REFUSED(STATUS_INTERNAL, device_download(NULL, 0, bytes, 1, &err));
    reached = 0;
    assert_int_equal(device_upload(buffer, 100, NULL, 0, &error), STATUS_OK);
    assert_int_equal(device_download(buffer, 0, NULL, 0, &error), STATUS_OK);
    assert_int_equal(reached, 0);
    device_buffer_free(buffer);
    assert_int_equal(reached, 1);
    device_buffer_free(NULL);
    assert_int_equal(reached, 1);
    answer = STATUS_DEVICE_MEMORY;
    buffer = NULL;
    assert_int_equal(device_buffer_alloc(&device, 1, BUFFER_READ_WRITE, &buffer, &error),
                     STATUS_DEVICE_MEMORY);
    assert_null(buffer);
    assert_string_equal(error.message, "asked to fail");
}

TEST_WITH(modules, set_up, NULL)
{
    const struct module_define fine[] = {{"_A1", "x + 1"}, {"B", ""}};
    const struct module_define broken[] = {{"A-B", "1"},  {"9", "1"},    {NULL, "1"},   {"A", NULL},
                                           {"A", "1\n2"}, {"A", "1 \\"}, {"LANES", "1"}};
    struct module_source source = {.file = "f.h", .text = "", .lanes = 64};
    struct module_artifact artifact = {.lanes = 7};
    struct module *module = NULL;
    struct error error;

    source.defines = fine;
    source.define_count = 2;
    PASSES(device_module_load(&device, &source, &module, &err));
    assert_ptr_equal(module->device, &device);
    assert_int_equal(module->lanes, 64);
    PASSES(device_module_describe(&device, module, &artifact, &err));
    module_artifact_finish(&artifact);
    artifact.lanes = 7;
    describe_is_torn = true;
    assert_int_equal(device_module_describe(&device, module, &artifact, &error), STATUS_NO_MEMORY);
    assert_int_equal(artifact.lanes, 7);
    device_module_unload(&device, module);
    device_module_unload(&device, NULL);
    module = NULL;
    source.define_count = 1;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        source.defines = &broken[i];
        REFUSED(STATUS_INVALID, device_module_load(&device, &source, &module, &err));
    }
    source.define_count = 0;
    source.lanes = 0;
    REFUSED(STATUS_INVALID, device_module_load(&device, &source, &module, &err));
    source.lanes = 65;
    REFUSED(STATUS_UNSUPPORTED, device_module_load(&device, &source, &module, &err));
    source.lanes = 1;
    source.file = "a\"b";
    REFUSED(STATUS_INVALID, device_module_load(&device, &source, &module, &err));
    source.file = NULL;
    REFUSED(STATUS_INTERNAL, device_module_load(&device, &source, &module, &err));
    source.file = "f.h";
    source.text = NULL;
    REFUSED(STATUS_INTERNAL, device_module_load(&device, &source, &module, &err));
    assert_null(module);
}

TEST_WITH(launches, set_up, NULL)
{
    struct module module = {.device = &device, .lanes = 1}, foreign = {.device = &other};
    struct buffer mine = {.device = &device, .bytes = 4}, theirs = {.device = &other, .bytes = 4};
    struct kernel_arg args[KERNEL_ARGS_MAX + 1] = {{.type = KERNEL_ARG_BUFFER, .buffer = &mine},
                                                   {.type = KERNEL_ARG_BUFFER, .buffer = NULL}};
    struct kernel_launch launch = {
        .module = &module, .kernel = "k", .groups = {1, 2, 3}, .args = args, .arg_count = 2};

    PASSES(device_kernel_launch(&device, &launch, &err));
    for (int d = 0; d < 3; d++) {
        launch.groups[d] = 0;
        REFUSED(STATUS_INVALID, device_kernel_launch(&device, &launch, &err));
        launch.groups[d] = 1;
    }
    args[1].buffer = &theirs;
    REFUSED(STATUS_INTERNAL, device_kernel_launch(&device, &launch, &err));
    args[1].buffer = NULL;
    launch.module = &foreign;
    REFUSED(STATUS_INTERNAL, device_kernel_launch(&device, &launch, &err));
    launch.module = NULL;
    REFUSED(STATUS_INTERNAL, device_kernel_launch(&device, &launch, &err));
    launch.module = &module;
    launch.kernel = NULL;
    REFUSED(STATUS_INTERNAL, device_kernel_launch(&device, &launch, &err));
    launch.kernel = "k";
    launch.arg_count = KERNEL_ARGS_MAX + 1;
    REFUSED(STATUS_INVALID, device_kernel_launch(&device, &launch, &err));
    launch.arg_count = KERNEL_ARGS_MAX;
    PASSES(device_kernel_launch(&device, &launch, &err));
}

TEST_WITH(events, set_up, NULL)
{
    struct event *event = NULL;
    struct error error = ERROR_INIT;
    int64_t ns = 42;

    PASSES(device_event_create(&device, &event, &err));
    assert_ptr_equal(event->device, &device);
    PASSES(device_event_record(&device, event, &err));
    elapsed_ns = 5;
    PASSES(device_event_elapsed_ns(&device, event, event, &ns, &err));
    assert_int_equal(ns, 5);
    elapsed_ns = -1;
    assert_int_equal(device_event_elapsed_ns(&device, event, event, &ns, &error), STATUS_DEVICE);
    assert_non_null(strstr(error.message, "backwards"));
    assert_int_equal(ns, 5);
    device_event_destroy(&device, event);
    device_event_destroy(&device, NULL);
    device.ops = &least_ops;
    assert_false(device_has_events(&device));
    event = NULL;
    REFUSED(STATUS_UNSUPPORTED, device_event_create(&device, &event, &err));
    REFUSED(STATUS_UNSUPPORTED, device_event_record(&device, event, &err));
    REFUSED(STATUS_UNSUPPORTED, device_event_elapsed_ns(&device, event, event, &ns, &err));
    PASSES(device_synchronize(&device, &err));
}

TEST_WITH(the_rest, set_up, NULL)
{
    uint32_t lanes[2] = {7, 7};
    struct device_info info = {0};

    assert_int_equal(device_lane_candidates(&device, lanes, 0), 0);
    assert_int_equal(lanes[0], 7);
    assert_int_equal(device_lane_candidates(&device, lanes, 2), 1);
    assert_int_equal(lanes[0], 1);
    device_close(NULL);
    device_close(&device);
    assert_int_equal(reached, 1);
    device_info_finish(&info);
    device_info_finish(NULL);
    module_artifact_finish(NULL);
    assert_string_equal(device_type_name(DEVICE_CPU), "cpu");
    assert_string_equal(device_type_name(DEVICE_GPU), "gpu");
    assert_string_equal(device_type_name((enum device_type)77), "unknown");
}
