#include "tests/conformance/conformance.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"

static unsigned char *random_bytes(uint64_t size, uint64_t stream)
{
    unsigned char *bytes = malloc(size);
    uint64_t i;

    assert_non_null(bytes);
    for (i = 0; i < size; i++)
        bytes[i] = (unsigned char)random_at(13, stream, i);
    return bytes;
}

static void test_round_trip(void **state)
{
    static const uint64_t sizes[] = {1, 2, 3, 7, 63, 64, 65, 4095, 4096, 4097, 65537, 1000003};
    struct conformance *c = *state;
    size_t i;

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned char *in = random_bytes(sizes[i], i), *out = calloc(1, sizes[i]);
        struct buffer *buffer = conformance_buffer(c, in, sizes[i]);

        assert_non_null(out);
        assert_int_equal(buffer->bytes, sizes[i]);
        assert_ptr_equal(buffer->device, c->device);
        expect_ok(c, device_download(buffer, 0, out, sizes[i], &c->err));
        assert_memory_equal(in, out, sizes[i]);
        device_buffer_free(buffer);
        free(in);
        free(out);
    }
}

/* Odd offsets and lengths write the given range and nothing else. */
static void test_offsets(void **state)
{
    struct conformance *c = *state;
    unsigned char *expected = random_bytes(1000, 50), *patch = random_bytes(1000, 51);
    unsigned char out[1000];
    struct buffer *buffer = conformance_buffer(c, expected, 1000);
    uint64_t k;

    for (k = 0; k < 40; k++) {
        const uint64_t offset = random_at(17, 0, k) % 1000;
        const uint64_t size = random_at(17, 1, k) % (1000 - offset) + 1;

        memcpy(expected + offset, patch + k, size <= 1000 - k ? size : 1000 - k);
        expect_ok(c, device_upload(buffer, offset, patch + k, size <= 1000 - k ? size : 1000 - k,
                                   &c->err));
        memset(out, 0, sizeof(out));
        expect_ok(c, device_download(buffer, offset, out + offset, size, &c->err));
        assert_memory_equal(out + offset, expected + offset, size);
    }
    expect_ok(c, device_download(buffer, 0, out, 1000, &c->err));
    assert_memory_equal(out, expected, 1000);
    device_buffer_free(buffer);
    free(expected);
    free(patch);
}

static void test_bounds(void **state)
{
    struct conformance *c = *state;
    struct buffer *buffer = conformance_buffer(c, NULL, 100), *untouched = buffer;
    unsigned char bytes[200] = {0};

    expect_status(c, STATUS_INVALID, device_upload(buffer, 0, bytes, 101, &c->err));
    expect_status(c, STATUS_INVALID, device_upload(buffer, 101, bytes, 1, &c->err));
    expect_status(c, STATUS_INVALID, device_upload(buffer, 60, bytes, 41, &c->err));
    expect_status(c, STATUS_INVALID, device_upload(buffer, UINT64_MAX, bytes, 2, &c->err));
    expect_status(c, STATUS_INVALID, device_download(buffer, 100, bytes, 1, &c->err));
    expect_status(c, STATUS_INVALID, device_download(buffer, 1, bytes, UINT64_MAX, &c->err));
    expect_status(c, STATUS_INVALID,
                  device_buffer_alloc(c->device, 0, BUFFER_READ_WRITE, &untouched, &c->err));
    assert_ptr_equal(untouched, buffer);
    expect_ok(c, device_upload(buffer, 100, bytes, 0, &c->err));
    expect_ok(c, device_download(buffer, 0, bytes, 0, &c->err));
    device_buffer_free(buffer);
    device_buffer_free(NULL);
}

/* Refused with the right status, and the device still works. */
static void test_too_large(void **state)
{
    struct conformance *c = *state;
    const struct device_info *info = &c->device->info;
    const uint64_t sizes[] = {info->memory_bytes * 2 + 1, UINT64_C(1) << 60, UINT64_MAX};
    struct buffer *buffer = NULL;
    uint32_t in = 5, out = 0;
    size_t i;

    if (info->memory_bytes == 0 ||
        (info->simulated && strcmp(c->backend->ops->name, "opencl") == 0)) {
        print_message("  skipped: the device does not report its memory, or only simulates it\n");
        skip();
    }
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        expect_status(
            c, STATUS_DEVICE_MEMORY,
            device_buffer_alloc(c->device, sizes[i], BUFFER_READ_WRITE, &buffer, &c->err));
        assert_null(buffer);
    }
    buffer = conformance_buffer(c, &in, sizeof(in));
    expect_ok(c, device_download(buffer, 0, &out, sizeof(out), &c->err));
    assert_int_equal(out, 5);
    device_buffer_free(buffer);
}

/* Many at once keep their own contents, whatever the order of their release. */
static void test_many(void **state)
{
    struct conformance *c = *state;
    struct buffer *buffers[100];
    uint32_t order[100], value;
    struct random random;
    uint32_t i;

    for (i = 0; i < 100; i++) {
        value = i * 2654435761u;
        buffers[i] = conformance_buffer(c, NULL, 4 + i);
        expect_ok(c, device_upload(buffers[i], i, &value, 4, &c->err));
    }
    random_init(&random, 19, 20);
    for (i = 0; i < 100; i++)
        order[i] = i;
    random_shuffle(&random, order, 100);
    for (i = 0; i < 100; i++) {
        const uint32_t b = order[i];

        expect_ok(c, device_download(buffers[b], b, &value, 4, &c->err));
        assert_int_equal(value, b * 2654435761u);
        device_buffer_free(buffers[b]);
    }
}

static void test_read_only(void **state)
{
    struct conformance *c = *state;
    struct buffer *in = NULL, *out;
    struct module *module;
    float x[33], y[33];

    if (!c->computes)
        skip();
    for (int i = 0; i < 33; i++)
        x[i] = (float)i;
    expect_ok(c, device_buffer_alloc(c->device, sizeof(x), BUFFER_READ_ONLY, &in, &c->err));
    expect_ok(c, device_upload(in, 0, x, sizeof(x), &c->err));
    out = conformance_buffer(c, NULL, sizeof(y));
    module = conformance_module(c, "storage.h", 1);
    RUN(c, module, "read_f32", 1, 1, 1, arg_buffer(out), arg_buffer(in), arg_u64(33));
    expect_ok(c, device_download(out, 0, y, sizeof(y), &c->err));
    assert_memory_equal(x, y, sizeof(x));
    device_module_unload(c->device, module);
    device_buffer_free(in);
    device_buffer_free(out);
}

/* What was enqueued before is there, and what comes after is not. */
static void test_copy(void **state)
{
    static const uint64_t sizes[] = {1, 63, 4097, 300007};
    struct conformance *c = *state;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const uint64_t size = sizes[i];
        unsigned char *in = random_bytes(size, 60 + i), *out = calloc(1, size + 1);
        struct buffer *from = conformance_buffer(c, in, size);
        struct buffer *to = conformance_buffer(c, NULL, size + 1);

        assert_non_null(out);
        expect_ok(c, device_upload(to, size, "x", 1, &c->err));
        if (c->device->ops->copy == NULL) {
            expect_status(c, STATUS_UNSUPPORTED, device_copy(to, from, size, &c->err));
        } else {
            expect_ok(c, device_copy(to, from, size, &c->err));
            expect_ok(c, device_upload(from, 0, out, size, &c->err));
            expect_ok(c, device_download(to, 0, out, size + 1, &c->err));
            assert_memory_equal(in, out, size);
            assert_int_equal(out[size], 'x');
        }
        expect_status(c, STATUS_INVALID, device_copy(to, from, size + 1, &c->err));
        expect_status(c, STATUS_INTERNAL, device_copy(from, from, size, &c->err));
        device_buffer_free(from);
        device_buffer_free(to);
        free(in);
        free(out);
    }
}

static void test_exchange(void **state)
{
    struct conformance *c = *state;
    unsigned char *up = random_bytes(100003, 70), *down = random_bytes(100003, 71);
    unsigned char *out = calloc(1, 100003);
    struct device_exchange both = {.to = conformance_buffer(c, NULL, 100003),
                                   .source = up,
                                   .from = conformance_buffer(c, down, 100003),
                                   .target = out,
                                   .bytes = 100003};

    assert_non_null(out);
    if (c->device->ops->exchange == NULL) {
        expect_status(c, STATUS_UNSUPPORTED, device_exchange(&both, &c->err));
    } else {
        for (int i = 0; i < 3; i++) {
            up[i] ^= 0xff;
            expect_ok(c, device_exchange(&both, &c->err));
            assert_memory_equal(out, down, 100003);
            expect_ok(c, device_download(both.to, 0, out, 100003, &c->err));
            assert_memory_equal(out, up, 100003);
        }
    }
    both.bytes++;
    expect_status(c, STATUS_INVALID, device_exchange(&both, &c->err));
    device_buffer_free(both.to);
    both.to = both.from;
    expect_status(c, STATUS_INTERNAL, device_exchange(&both, &c->err));
    both.to = NULL;
    expect_status(c, STATUS_INTERNAL, device_exchange(&both, &c->err));
    device_buffer_free(both.from);
    free(up);
    free(down);
    free(out);
}

/* The host's memory that stays in place is memory like any other. */
static void test_host_memory(void **state)
{
    struct conformance *c = *state;
    unsigned char *in = random_bytes(70001, 80);
    struct buffer *buffer = conformance_buffer(c, NULL, 70001);
    struct host_memory *memory = NULL;

    expect_status(c, STATUS_INVALID, device_host_alloc(c->device, 0, &memory, &c->err));
    if (c->device->ops->host_alloc == NULL) {
        expect_status(c, STATUS_UNSUPPORTED, device_host_alloc(c->device, 1, &memory, &c->err));
    } else {
        expect_ok(c, device_host_alloc(c->device, 70001, &memory, &c->err));
        memcpy(memory->bytes, in, 70001);
        expect_ok(c, device_upload(buffer, 0, memory->bytes, 70001, &c->err));
        memset(memory->bytes, 0, 70001);
        expect_ok(c, device_download(buffer, 0, memory->bytes, 70001, &c->err));
        assert_memory_equal(memory->bytes, in, 70001);
    }
    device_host_free(memory);
    device_host_free(NULL);
    device_buffer_free(buffer);
    free(in);
}

CONFORMANCE_AREA(conformance_buffers, {"odd sizes come back", test_round_trip, false},
                 {"odd offsets", test_offsets, false},
                 {"out of range is refused", test_bounds, false},
                 {"too large is refused", test_too_large, false},
                 {"many buffers", test_many, false}, {"read-only buffers", test_read_only, true},
                 {"copies within the device", test_copy, false},
                 {"copies in both directions", test_exchange, false},
                 {"pinned host memory", test_host_memory, false});
