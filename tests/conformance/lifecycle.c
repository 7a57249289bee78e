#include "tests/conformance/conformance.h"

#include <string.h>
#include "tests/support/operations.h"

/* Opened, used and closed repeatedly; LeakSanitizer finds leaks. */
static void test_open_close(void **state)
{
    struct conformance *c = *state;
    struct device *first = c->device;
    const struct device_options options = {.profile = true};

    for (int round = 0; round < (c->small ? 2 : 5); round++) {
        struct module *module;
        struct buffer *buffer;
        struct event *event;
        uint32_t x[64] = {0};

        expect_ok(c, backend_device_open(c->backend, c->index, &options, &c->device, &c->err));
        assert_ptr_equal(c->device->backend, c->backend);
        module = conformance_module(c, "launch.h", 1);
        buffer = conformance_buffer(c, x, sizeof(x));
        expect_ok(c, device_event_create(c->device, &event, &c->err));
        expect_ok(c, device_event_record(c->device, event, &c->err));
        RUN(c, module, "chain_step", 2, 1, 1, arg_buffer(buffer), arg_u32(5), arg_u64(64));
        expect_ok(c, device_download(buffer, 0, x, sizeof(x), &c->err));
        if (c->computes)
            assert_int_equal(x[63], 5);
        device_event_destroy(c->device, event);
        device_buffer_free(buffer);
        device_module_unload(c->device, module);
        device_close(c->device);
    }
    c->device = first;
    device_close(NULL);
}

/* Two devices open at once do not see each other's objects. */
static void test_two_open(void **state)
{
    struct conformance *c = *state;
    struct device *first = c->device, *second = NULL;
    struct module *module;
    struct buffer *buffer;
    struct kernel_arg arg;
    struct kernel_launch launch = {.kernel = "sizes", .groups = {1, 1, 1}, .arg_count = 1};

    expect_ok(c, backend_device_open(c->backend, c->index, NULL, &second, &c->err));
    module = conformance_module(c, "launch.h", 1);
    buffer = conformance_buffer(c, NULL, 64);
    arg = arg_buffer(buffer);
    launch.args = &arg;
    launch.module = module;
    expect_status(c, STATUS_INTERNAL, device_kernel_launch(second, &launch, &c->err));
    expect_ok(c, device_kernel_launch(first, &launch, &c->err));
    expect_ok(c, device_synchronize(first, &c->err));
    device_buffer_free(buffer);
    device_module_unload(first, module);
    device_close(second);
}

static void test_info(void **state)
{
    struct conformance *c = *state;
    struct device_info info;
    struct error ignored;

    expect_ok(c, backend_device_info(c->backend, c->index, &info, &c->err));
    assert_string_equal(info.name, c->device->info.name);
    assert_int_equal(info.type, c->device->info.type);
    assert_true(info.max_lanes >= 1);
    assert_true(info.readings.count > 0);
    for (size_t i = 0; i < info.readings.count; i++) {
        const struct reading *reading = &info.readings.items[i];

        assert_int_equal(strncmp(reading->name, "device.", 7), 0);
        assert_non_null(reading->source);
        if (reading->status != READING_MEASURED && reading->status != READING_DECLARED)
            assert_non_null(reading->reason);
    }
    device_info_finish(&info);
    expect_status(c, STATUS_NOT_FOUND,
                  backend_device_info(c->backend, c->backend->device_count, &info, &c->err));
    assert_int_equal(backend_device_info(c->backend, c->backend->device_count, &info, &ignored),
                     STATUS_NOT_FOUND);
}

static void test_gemm_absent(void **state)
{
    struct conformance *c = *state;
    const struct gemm_shape shape = {
        .precision = PRECISION_FP32,
        .m = 1,
        .n = 1,
        .k = 1,
        .a = {.type = DTYPE_F32, .stride = 1},
        .b = {.type = DTYPE_F32, .stride = 1},
        .c = {.type = DTYPE_F32, .stride = 1},
    };
    struct operation *gemm;

    if (device_has_operation(c->device, OPERATION_GEMM))
        skip();
    expect_status(c, STATUS_UNSUPPORTED, create_gemm(c->device, &shape, &gemm, &c->err));
}

CONFORMANCE_AREA(conformance_lifecycle, {"open and close again and again", test_open_close, false},
                 {"two open devices", test_two_open, false},
                 {"the device says what it is", test_info, false},
                 {"no vendor GEMM where there is none", test_gemm_absent, false});
