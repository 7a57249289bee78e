#include "tests/conformance/conformance.h"

#include <stdlib.h>
#include <string.h>

static void check_geometry(struct conformance *c, uint32_t lanes, uint32_t x, uint32_t y,
                           uint32_t z)
{
    struct module *module = conformance_module(c, "launch.h", lanes);
    const uint64_t rows = (uint64_t)x * y * z * lanes;
    uint64_t *out = calloc(rows * 8, 8), i;
    struct buffer *buffer = conformance_buffer(c, NULL, rows * 64);

    assert_non_null(out);
    expect_ok(c, device_upload(buffer, 0, out, rows * 64, &c->err));
    RUN(c, module, "geometry", x, y, z, arg_buffer(buffer));
    expect_ok(c, device_download(buffer, 0, out, rows * 64, &c->err));
    for (i = 0; i < rows; i++) {
        const uint64_t group = i / lanes;
        const uint64_t expected[8] = {i % lanes,     lanes, group % x, group / x % y,
                                      group / x / y, x,     y,         z};

        for (int k = 0; k < 8; k++)
            if (out[i * 8 + k] != expected[k])
                fail_msg("%u x %u x %u groups of %u lanes: row %llu, field %d is %llu, not %llu", x,
                         y, z, lanes, (unsigned long long)i, k, (unsigned long long)out[i * 8 + k],
                         (unsigned long long)expected[k]);
    }
    device_buffer_free(buffer);
    device_module_unload(c->device, module);
    free(out);
}

static void test_geometry(void **state)
{
    struct conformance *c = *state;
    uint32_t lanes[16];
    size_t count = device_lane_candidates(c->device, lanes, 16), k;

    assert_true(count >= 1);
    /* Groups of a GPU are whole warps; elsewhere one lane per group is tried too. */
    if (strcmp(c->backend->ops->name, "cuda") != 0 && strcmp(c->backend->ops->name, "hip") != 0)
        assert_int_equal(lanes[0], 1);
    for (k = 0; k < count; k++) {
        assert_true(k == 0 || lanes[k] > lanes[k - 1]);
        check_geometry(c, lanes[k], 1, 1, 1);
        check_geometry(c, lanes[k], 5, 3, 2);
        if (c->small)
            continue;
        check_geometry(c, lanes[k], 37, 1, 1);
        check_geometry(c, lanes[k], 1, 7, 1);
        check_geometry(c, lanes[k], 1, 1, 9);
        check_geometry(c, lanes[k], 4, 5, 6);
    }
}

/* More groups than some stacks launch in a dimension: they run, or there is an error. */
static void test_many_groups(void **state)
{
    static const uint32_t many = 65536;
    struct conformance *c = *state;
    struct module *module;

    if (c->small && !c->device->info.simulated)
        skip();
    module = conformance_module(c, "launch.h", 1);
    for (int dimension = 0; dimension < 3; dimension++) {
        struct kernel_launch launch = {
            .module = module, .kernel = "no_arguments", .groups = {1, 1, 1}};
        enum status status;

        launch.groups[dimension] = many;
        c->err = (struct error)ERROR_INIT;
        status = device_kernel_launch(c->device, &launch, &c->err);
        if (status == STATUS_OK) {
            expect_ok(c, device_synchronize(c->device, &c->err));
            check_geometry(c, 1, launch.groups[0], launch.groups[1], launch.groups[2]);
            continue;
        }
        print_message("  %s\n", c->err.message);
        assert_int_equal(status, STATUS_UNSUPPORTED);
        assert_non_null(strstr(c->err.message, "65536"));
    }
    device_module_unload(c->device, module);
}

static void test_zero_groups(void **state)
{
    struct conformance *c = *state;
    struct module *module = conformance_module(c, "launch.h", 1);
    struct kernel_launch launch = {.module = module, .kernel = "no_arguments", .groups = {1, 0, 1}};

    expect_status(c, STATUS_INVALID, device_kernel_launch(c->device, &launch, &c->err));
    launch.groups[1] = 1;
    launch.groups[0] = 0;
    expect_status(c, STATUS_INVALID, device_kernel_launch(c->device, &launch, &c->err));
    launch.groups[0] = 1;
    expect_ok(c, device_kernel_launch(c->device, &launch, &c->err));
    expect_ok(c, device_synchronize(c->device, &c->err));
    device_module_unload(c->device, module);
}

static void test_arguments(void **state)
{
    struct conformance *c = *state;
    struct module *module = conformance_module(c, "launch.h", 1);
    const uint32_t something[2] = {1, 77};
    struct buffer *in = conformance_buffer(c, something, sizeof(something));
    struct buffer *out = conformance_buffer(c, NULL, 7 * 8);
    int64_t got[7];

    RUN(c, module, "arguments", 1, 1, 1, arg_buffer(out),
        {.type = KERNEL_ARG_I32, .i32 = -123456789}, arg_u32(4000000000u),
        {.type = KERNEL_ARG_I64, .i64 = -1234567890123456789}, arg_u64(9007199254740993u),
        arg_f32(-2.5f), arg_buffer(NULL), arg_buffer(in));
    expect_ok(c, device_download(out, 0, got, sizeof(got), &c->err));
    assert_true(got[0] == -123456789);
    assert_true(got[1] == 4000000000);
    assert_true(got[2] == -1234567890123456789);
    assert_true(got[3] == 9007199254740993);
    assert_true(got[4] == -2500);
    assert_true(got[5] == 1);
    assert_true(got[6] == 77);
    device_buffer_free(in);
    device_buffer_free(out);
    device_module_unload(c->device, module);
}

static void test_double(void **state)
{
    struct conformance *c = *state;
    const struct reading *fp64 = reading_find(&c->device->info.readings, "device.fp64");
    struct module *module;
    struct buffer *out;
    double got;

    if (fp64 == NULL || fp64->status != READING_MEASURED || strcmp(fp64->text, "none") == 0) {
        print_message("  skipped: no fp64 on this device\n");
        skip();
    }
    module = conformance_module(c, "launch.h", 1);
    out = conformance_buffer(c, NULL, 8);
    RUN(c, module, "double_argument", 1, 1, 1, arg_buffer(out),
        {.type = KERNEL_ARG_F64, .f64 = 0x1.23456789abcdep-3});
    expect_ok(c, device_download(out, 0, &got, 8, &c->err));
    assert_true(got == 0x1.23456789abcdep-3 * 3.0);
    device_buffer_free(out);
    device_module_unload(c->device, module);
}

static void test_types(void **state)
{
    static const uint32_t expected[12] = {1, 1, 2, 4, 4, 8, 8, 4, 4, 2, 2, 1};
    struct conformance *c = *state;
    struct module *module = conformance_module(c, "launch.h", 1);
    struct buffer *out = conformance_buffer(c, NULL, sizeof(expected));
    uint32_t got[12];

    RUN(c, module, "sizes", 1, 1, 1, arg_buffer(out));
    expect_ok(c, device_download(out, 0, got, sizeof(got), &c->err));
    assert_memory_equal(got, expected, sizeof(got));
    device_buffer_free(out);
    device_module_unload(c->device, module);
}

static void test_unroll(void **state)
{
    struct conformance *c = *state;
    struct module *module = conformance_module(c, "launch.h", 1);
    struct buffer *out = conformance_buffer(c, NULL, 8);
    uint32_t got[2];

    RUN(c, module, "unrolled", 1, 1, 1, arg_buffer(out));
    expect_ok(c, device_download(out, 0, got, sizeof(got), &c->err));
    assert_int_equal(got[0], 140);
    assert_int_equal(got[1], 3628800);
    device_buffer_free(out);
    device_module_unload(c->device, module);
}

/* Launches and copies happen in the order of the calls, without waiting in between. */
static void test_order(void **state)
{
    struct conformance *c = *state;
    const uint64_t n = c->small ? 50 : 10007;
    const uint32_t steps = c->small ? 20 : 300;
    struct module *module = conformance_module(c, "launch.h", 1);
    uint32_t *x = calloc(n, 4), expected = 0, k;
    struct buffer *buffer = conformance_buffer(c, x, n * 4);
    uint64_t i;

    assert_non_null(x);
    for (k = 0; k < steps; k++) {
        const struct kernel_arg args[] = {arg_buffer(buffer), arg_u32(k), arg_u64(n)};
        const struct kernel_launch launch = {.module = module,
                                             .kernel = "chain_step",
                                             .groups = {k % 5 + 1, 1, 1},
                                             .args = args,
                                             .arg_count = 3};

        expect_ok(c, device_kernel_launch(c->device, &launch, &c->err));
        expected = expected * 1664525u + k;
        if (k % 60 == 30) {
            /* A blocking copy sees everything before it, and what follows sees the copy. */
            expect_ok(c, device_download(buffer, 0, x, n * 4, &c->err));
            for (i = 0; i < n; i++)
                assert_int_equal(x[i], expected);
            for (i = 0; i < n; i++)
                x[i] = expected + 9;
            expect_ok(c, device_upload(buffer, 0, x, n * 4, &c->err));
            expected += 9;
        }
    }
    expect_ok(c, device_download(buffer, 0, x, n * 4, &c->err));
    for (i = 0; i < n; i++)
        assert_int_equal(x[i], expected);
    device_buffer_free(buffer);
    device_module_unload(c->device, module);
    free(x);
}

/* A hint changes no value and accesses no memory, wherever its pointer points. */
static void test_prefetch(void **state)
{
    struct conformance *c = *state;
    const uint64_t n = c->small ? 50 : 10007;
    const uint64_t beyond[] = {0, 64, UINT64_C(1) << 40};
    struct module *module = conformance_module(c, "launch.h", 1);
    uint32_t *x = calloc(n, 4);
    struct buffer *in, *out;

    assert_non_null(x);
    out = conformance_buffer(c, x, n * 4);
    for (uint64_t i = 0; i < n; i++)
        x[i] = (uint32_t)(i * 3);
    in = conformance_buffer(c, x, n * 4);
    for (size_t k = 0; k < sizeof(beyond) / sizeof(beyond[0]); k++) {
        const struct kernel_arg args[] = {arg_buffer(in), arg_buffer(out), arg_u64(beyond[k]),
                                          arg_u64(n)};
        const struct kernel_launch launch = {.module = module,
                                             .kernel = "asked_ahead",
                                             .groups = {3, 1, 1},
                                             .args = args,
                                             .arg_count = 4};

        memset(x, 0, n * 4);
        expect_ok(c, device_upload(out, 0, x, n * 4, &c->err));
        expect_ok(c, device_kernel_launch(c->device, &launch, &c->err));
        expect_ok(c, device_download(out, 0, x, n * 4, &c->err));
        for (uint64_t i = 0; i < n; i++)
            assert_int_equal(x[i], i * 3 + 1);
    }
    device_buffer_free(in);
    device_buffer_free(out);
    device_module_unload(c->device, module);
    free(x);
}

CONFORMANCE_AREA(conformance_launch, {"geometry in 1, 2 and 3 dimensions", test_geometry, true},
                 {"very many groups", test_many_groups, true},
                 {"no groups", test_zero_groups, false},
                 {"arguments of every type", test_arguments, true},
                 {"an fp64 argument", test_double, true},
                 {"types have their sizes", test_types, true},
                 {"unrolled loops", test_unroll, true}, {"everything in order", test_order, true},
                 {"a hint to prefetch", test_prefetch, true});
