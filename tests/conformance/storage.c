#include "tests/conformance/conformance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "tests/conformance/reference.h"

#define PATTERNS 65536u

/* All 65 536 patterns of a 16-bit type. */
static void check_load(struct conformance *c, const char *kernel, const struct small_float *format)
{
    struct module *module = conformance_module(c, "storage.h", 1);
    uint16_t *in = calloc(PATTERNS, 2);
    float *out = calloc(PATTERNS, 4);
    struct buffer *din, *dout;
    uint32_t i;

    assert_true(in != NULL && out != NULL);
    for (i = 0; i < PATTERNS; i++)
        in[i] = (uint16_t)i;
    din = conformance_buffer(c, in, PATTERNS * 2);
    dout = conformance_buffer(c, NULL, PATTERNS * 4);
    RUN(c, module, kernel, 3, 1, 1, arg_buffer(dout), arg_buffer(din), arg_u64(PATTERNS));
    expect_ok(c, device_download(dout, 0, out, PATTERNS * 4, &c->err));
    for (i = 0; i < PATTERNS; i++)
        if (!same_float(out[i], (float)reference_decode(format, (uint16_t)i)))
            fail_msg("%s of 0x%04x gives %a, expected %a", kernel, i, out[i],
                     reference_decode(format, (uint16_t)i));
    device_buffer_free(din);
    device_buffer_free(dout);
    device_module_unload(c->device, module);
    free(in);
    free(out);
}

static void test_load_bf16(void **state)
{
    check_load(*state, "read_bf16", &reference_bf16);
}

static void test_load_f16(void **state)
{
    check_load(*state, "read_f16", &reference_f16);
}

/*
 * Every value of the type; every midpoint between neighbours and the f32 on both sides of it, where
 * rounding turns; random bits; f32's own specials and denormals.
 */
static uint64_t store_inputs(const struct conformance *c, const struct small_float *format,
                             float *ret)
{
    const uint64_t random_count = c->small ? 1000 : 300000;
    struct random random;
    uint64_t n = 0;
    uint32_t i;

    for (i = 0; i < PATTERNS; i++) {
        const double value = reference_decode(format, (uint16_t)i);
        const double next = reference_decode(format, (uint16_t)(i + 1));
        float middle;

        if (c->small && i % 64 > 2)
            continue;
        ret[n++] = (float)value;
        if (!isfinite(value) || !isfinite(next))
            continue;
        middle = (float)((value + next) / 2);
        ret[n++] = middle;
        ret[n++] = nextafterf(middle, INFINITY);
        ret[n++] = nextafterf(middle, -INFINITY);
    }
    /* Around the first value that rounds to infinity. */
    for (i = 0; i < 64; i++)
        ret[n++] = float_of(0x477fefe0u + i);
    for (i = 0; i < 64; i++)
        ret[n++] = float_of(0x7f7fffe0u + i);
    for (i = 0; i < 64; i++)
        ret[n++] = float_of(0x7fffffc0u + i);
    for (i = 0; i < 64; i++)
        ret[n++] = float_of(i);
    random_init(&random, 9, 10);
    for (i = 0; i < random_count; i++)
        ret[n++] = float_of((uint32_t)random_next(&random));
    return n;
}

static void check_store(struct conformance *c, const char *kernel, const struct small_float *format)
{
    const bool denormals = conformance_keeps_denormals(c);
    float *in = calloc(4 * PATTERNS + 400000, 4);
    uint16_t *out = calloc(4 * PATTERNS + 400000, 2);
    struct module *module = conformance_module(c, "storage.h", 1);
    struct buffer *din, *dout;
    uint64_t n, i;

    assert_true(in != NULL && out != NULL);
    n = store_inputs(c, format, in);
    din = conformance_buffer(c, in, n * 4);
    dout = conformance_buffer(c, NULL, n * 2);
    RUN(c, module, kernel, 3, 1, 1, arg_buffer(dout), arg_buffer(din), arg_u64(n));
    expect_ok(c, device_download(dout, 0, out, n * 2, &c->err));
    for (i = 0; i < n; i++) {
        const uint16_t expected = reference_encode(format, (double)in[i]);

        if (out[i] == expected ||
            (reference_is_nan(format, expected) && reference_is_nan(format, out[i])))
            continue;
        if (!denormals && fabsf(in[i]) < 0x1p-126f && (out[i] & 0x7fff) == 0)
            continue;
        fail_msg("%s of %a (0x%08x) gives 0x%04x, expected 0x%04x", kernel, in[i], bits_of(in[i]),
                 out[i], expected);
    }
    device_buffer_free(din);
    device_buffer_free(dout);
    device_module_unload(c->device, module);
    free(in);
    free(out);
}

static void test_store_bf16(void **state)
{
    check_store(*state, "write_bf16", &reference_bf16);
}

static void test_store_f16(void **state)
{
    check_store(*state, "write_f16", &reference_f16);
}

static void test_f32(void **state)
{
    struct conformance *c = *state;
    struct module *module = conformance_module(c, "storage.h", 1);
    uint32_t in[1000], out[1000];
    struct random random;
    struct buffer *din, *dout;

    random_init(&random, 11, 12);
    for (int i = 0; i < 1000; i++)
        in[i] = (uint32_t)random_next(&random) & 0x7f7fffff;
    din = conformance_buffer(c, in, sizeof(in));
    for (int store = 0; store < 2; store++) {
        dout = conformance_buffer(c, NULL, sizeof(out));
        RUN(c, module, store ? "write_f32" : "read_f32", 3, 1, 1, arg_buffer(dout), arg_buffer(din),
            arg_u64(1000));
        expect_ok(c, device_download(dout, 0, out, sizeof(out), &c->err));
        assert_memory_equal(in, out, sizeof(in));
        device_buffer_free(dout);
    }
    device_buffer_free(din);
    device_module_unload(c->device, module);
}

static void test_mixed(void **state)
{
    struct conformance *c = *state;
    struct module *module = conformance_module(c, "storage.h", 1);
    uint16_t a[100], b[100];
    float x[100], out[100];
    struct buffer *da, *db, *dx, *dout;
    int i;

    for (i = 0; i < 100; i++) {
        a[i] = reference_encode(&reference_bf16, i);
        b[i] = reference_encode(&reference_f16, 0.5 * i);
        x[i] = 0.25f * (float)i;
    }
    da = conformance_buffer(c, a, sizeof(a));
    db = conformance_buffer(c, b, sizeof(b));
    dx = conformance_buffer(c, x, sizeof(x));
    dout = conformance_buffer(c, NULL, sizeof(out));
    RUN(c, module, "sum_as", 2, 1, 1, arg_buffer(dout), arg_buffer(da), arg_buffer(db),
        arg_buffer(dx), arg_u64(100));
    expect_ok(c, device_download(dout, 0, out, sizeof(out), &c->err));
    for (i = 0; i < 100; i++)
        assert_true(out[i] == 1.75f * (float)i);
    device_buffer_free(da);
    device_buffer_free(db);
    device_buffer_free(dx);
    device_buffer_free(dout);
    device_module_unload(c->device, module);
}

static void test_local(void **state)
{
    struct conformance *c = *state;
    uint32_t lanes[16];
    size_t count = device_lane_candidates(c->device, lanes, 16), k;

    for (k = 0; k < count; k++) {
        struct module *module = conformance_module(c, "storage.h", lanes[k]);
        const uint32_t n = 2 * lanes[k];
        float *in = calloc(n, 4), *out = calloc(n, 4);
        struct buffer *din, *dout;

        assert_true(in != NULL && out != NULL);
        for (uint32_t i = 0; i < n; i++)
            in[i] = (float)(i % 100);
        din = conformance_buffer(c, in, n * 4);
        dout = conformance_buffer(c, NULL, n * 4);
        RUN(c, module, "through_local", 2, 1, 1, arg_buffer(dout), arg_buffer(din));
        expect_ok(c, device_download(dout, 0, out, n * 4, &c->err));
        for (uint32_t i = 0; i < n; i++)
            assert_true(out[i] == in[i / lanes[k] * lanes[k] + lanes[k] - 1 - i % lanes[k]]);
        device_buffer_free(din);
        device_buffer_free(dout);
        device_module_unload(c->device, module);
        free(in);
        free(out);
    }
}

CONFORMANCE_AREA(conformance_storage, {"every bf16 loads", test_load_bf16, true},
                 {"every f16 loads", test_load_f16, true},
                 {"bf16 stores round to nearest even", test_store_bf16, true},
                 {"f16 stores round to nearest even", test_store_f16, true},
                 {"f32 passes through", test_f32, true},
                 {"types mix in one kernel", test_mixed, true},
                 {"storage types in local memory", test_local, true});
