#include "tests/conformance/conformance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"

/* Values that show the difference: specials, all magnitudes, and products that nearly cancel. */
struct triples {
    uint64_t n;
    float *a, *b, *c, *out;
};

static const uint32_t specials[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000,
    0x3f800001, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x33800000, 0x4b000000,
};

#define SPECIALS (sizeof(specials) / sizeof(specials[0]))

static struct triples triples_make(const struct conformance *c, bool normal_only)
{
    const uint64_t random_count = c->small ? 512 : 40000;
    struct triples t = {.n = SPECIALS * SPECIALS * SPECIALS / 16 + random_count};
    struct random random;
    uint64_t i, k;

    t.a = calloc(t.n, 4);
    t.b = calloc(t.n, 4);
    t.c = calloc(t.n, 4);
    t.out = calloc(t.n, 4);
    assert_true(t.a != NULL && t.b != NULL && t.c != NULL && t.out != NULL);
    random_init(&random, 1, 2);
    for (i = 0; i < t.n; i++) {
        k = i * 16 + i / SPECIALS % SPECIALS;
        if (i < t.n - random_count && !normal_only) {
            t.a[i] = float_of(specials[i % SPECIALS]);
            t.b[i] = float_of(specials[i / SPECIALS % SPECIALS]);
            t.c[i] = float_of(specials[k / 7 % SPECIALS]);
        } else {
            /* c is the rounded product, or near it: what remains is the rounding error. */
            t.a[i] = (float)ldexp(1 + random_next_unit(&random),
                                  (int)random_next_below(&random, 40) - 20);
            t.b[i] = (float)ldexp(1 + random_next_unit(&random),
                                  (int)random_next_below(&random, 40) - 20);
            t.c[i] = -(t.a[i] * t.b[i]);
            if (i % 3 == 0)
                t.c[i] = nextafterf(t.c[i], 0.0f);
            if (i % 7 == 0 && !normal_only)
                t.c[i] = float_of((uint32_t)random_next(&random));
        }
    }
    return t;
}

static void triples_free(struct triples *t)
{
    free(t->a);
    free(t->b);
    free(t->c);
    free(t->out);
}

/* True where division and square root are exact, or where the device does not report it. */
static bool is_exact(const struct conformance *c)
{
    const struct reading *fp32 = reading_find(&c->device->info.readings, "device.fp32");

    return fp32 == NULL || fp32->text == NULL || strstr(fp32->text, "exact_divide_sqrt") != NULL;
}

/* Runs an array kernel with two or three inputs at `lanes`. */
static void run_arrays(struct conformance *c, const char *kernel, uint32_t lanes, struct triples *t,
                       bool three)
{
    struct module *module = conformance_module(c, "arithmetic.h", lanes);
    struct buffer *a = conformance_buffer(c, t->a, t->n * 4);
    struct buffer *b = conformance_buffer(c, t->b, t->n * 4);
    struct buffer *d = conformance_buffer(c, t->c, t->n * 4);
    struct buffer *out = conformance_buffer(c, NULL, t->n * 4);

    if (three)
        RUN(c, module, kernel, 3, 1, 1, arg_buffer(out), arg_buffer(a), arg_buffer(b),
            arg_buffer(d), arg_u64(t->n));
    else
        RUN(c, module, kernel, 3, 1, 1, arg_buffer(out), arg_buffer(a), arg_buffer(b),
            arg_u64(t->n));
    expect_ok(c, device_download(out, 0, t->out, t->n * 4, &c->err));
    device_buffer_free(a);
    device_buffer_free(b);
    device_buffer_free(d);
    device_buffer_free(out);
    device_module_unload(c->device, module);
}

static uint32_t most_lanes(struct conformance *c)
{
    uint32_t lanes[16];

    return lanes[device_lane_candidates(c->device, lanes, 16) - 1];
}

/* Denormal inputs or results are left out where the device flushes them. */
static bool is_denormal(float x)
{
    return x != 0 && fabsf(x) < FLT_MIN;
}

typedef float operation(float a, float b, float c);

static float multiply_add(float a, float b, float c)
{
    volatile float product = a * b;

    return product + c;
}

static float multiply_subtract(float a, float b, float c)
{
    volatile float product = a * b;

    return c - product;
}

static float add(float a, float b, float c)
{
    (void)c;
    return a + b;
}

static float multiply(float a, float b, float c)
{
    (void)c;
    return a * b;
}

static float root(float a, float b, float c)
{
    (void)b;
    (void)c;
    return sqrtf(fabsf(a));
}

static float divide(float a, float b, float c)
{
    (void)c;
    return a / b;
}

/* Every result must have the reference's very bits, at one lane and at the most. */
static void check_exact(struct conformance *c, const char *kernel, operation *reference, bool three)
{
    const bool denormals = conformance_keeps_denormals(c);
    const uint32_t lanes[] = {1, most_lanes(c)};
    struct triples t = triples_make(c, false);
    uint64_t i;

    for (int k = 0; k < (lanes[1] > 1 ? 2 : 1); k++) {
        run_arrays(c, kernel, lanes[k], &t, three);
        for (i = 0; i < t.n; i++) {
            const float expected = reference(t.a[i], t.b[i], t.c[i]);

            if (!denormals && (is_denormal(t.a[i]) || is_denormal(t.b[i]) || is_denormal(t.c[i]) ||
                               is_denormal(t.a[i] * t.b[i]) || is_denormal(expected)))
                continue;
            if (!same_float(t.out[i], expected))
                fail_msg("%s, %u lanes: a=%a b=%a c=%a gives %a, expected %a", kernel, lanes[k],
                         t.a[i], t.b[i], t.c[i], t.out[i], expected);
        }
    }
    triples_free(&t);
}

static void test_no_contraction(void **state)
{
    check_exact(*state, "multiply_add", multiply_add, true);
    check_exact(*state, "multiply_subtract", multiply_subtract, true);
}

static void test_fma(void **state)
{
    check_exact(*state, "fused", fmaf, true);
}

static void test_add_multiply(void **state)
{
    check_exact(*state, "add", add, false);
    check_exact(*state, "multiply", multiply, false);
}

/* Where it is not offered, test_functions has its bound. */
static void test_root(void **state)
{
    if (is_exact(*state))
        check_exact(*state, "root", root, false);
    else
        print_message("  root: not offered as exact\n");
}

/* Exact where the device offers it; else within OpenCL's 2.5 units, over normal values. */
static void test_divide(void **state)
{
    struct conformance *c = *state;
    struct triples t;
    double worst = 0;
    uint64_t i;

    if (is_exact(c)) {
        check_exact(c, "divide", divide, false);
        return;
    }
    t = triples_make(c, true);
    run_arrays(c, "divide", 1, &t, false);
    for (i = 0; i < t.n; i++) {
        const double exact = (double)t.a[i] / (double)t.b[i];
        const double ulp = ldexp(1, ilogb(exact) - 23);

        worst = fmax(worst, fabs((double)t.out[i] - exact) / ulp);
    }
    triples_free(&t);
    print_message("  divide: at most %.2f ulp\n", worst);
    assert_true(worst <= 2.5);
}

/* A number wins over a NaN; of two zeros either may be returned. */
static void test_max_min(void **state)
{
    struct conformance *c = *state;
    struct triples t = triples_make(c, false);
    const bool denormals = conformance_keeps_denormals(c);
    uint64_t i;

    for (int minimum = 0; minimum < 2; minimum++) {
        run_arrays(c, minimum ? "minimum" : "maximum", 1, &t, false);
        for (i = 0; i < t.n; i++) {
            const float expected = minimum ? fminf(t.a[i], t.b[i]) : fmaxf(t.a[i], t.b[i]);

            if (!denormals && (is_denormal(t.a[i]) || is_denormal(t.b[i])))
                continue;
            if (!same_float(t.out[i], expected) && !(t.out[i] == 0 && expected == 0))
                fail_msg("%s(%a, %a) gives %a, expected %a", minimum ? "F_MIN" : "F_MAX", t.a[i],
                         t.b[i], t.out[i], expected);
        }
    }
    triples_free(&t);
}

/* A sum in a loop keeps its order and its roundings. */
static void test_chain_order(void **state)
{
    struct conformance *c = *state;
    struct module *module = conformance_module(c, "arithmetic.h", 1);
    const uint64_t n = c->small ? 200 : 20000;
    float *a = calloc(n, 4), *b = calloc(n, 4), got;
    volatile float sum = 0, product;
    struct buffer *da, *db, *out;
    struct random random;
    uint64_t i;

    assert_true(a != NULL && b != NULL);
    random_init(&random, 3, 4);
    for (i = 0; i < n; i++) {
        a[i] = (float)(random_next_unit(&random) - 0.5) * 1000;
        b[i] = (float)(random_next_unit(&random) - 0.5);
        product = a[i] * b[i];
        sum = sum + product;
    }
    da = conformance_buffer(c, a, n * 4);
    db = conformance_buffer(c, b, n * 4);
    out = conformance_buffer(c, NULL, 4);
    RUN(c, module, "dot_chain", 1, 1, 1, arg_buffer(out), arg_buffer(da), arg_buffer(db),
        arg_u64(n));
    expect_ok(c, device_download(out, 0, &got, 4, &c->err));
    if (bits_of(got) != bits_of(sum))
        fail_msg("a sum of products in order gives %a, expected %a", got, sum);
    device_buffer_free(da);
    device_buffer_free(db);
    device_buffer_free(out);
    device_module_unload(c->device, module);
    free(a);
    free(b);
}

/* Denormals by default and with flush_denormals: printed, and the same in every operation. */
static void test_denormals(void **state)
{
    struct conformance *c = *state;
    const struct device_options options = {.flush_denormals = true};
    struct device *before = c->device;
    struct triples t = {.n = 64};
    int kept[2] = {0, 0};
    uint64_t i;

    t.a = calloc(t.n, 4);
    t.b = calloc(t.n, 4);
    t.c = calloc(t.n, 4);
    t.out = calloc(t.n, 4);
    assert_true(t.a != NULL && t.b != NULL && t.c != NULL && t.out != NULL);
    for (i = 0; i < t.n; i++) {
        t.a[i] = float_of((uint32_t)(i * 100000 + 1));
        t.b[i] = 1.0f;
    }
    for (int flush = 0; flush < 2; flush++) {
        if (flush)
            expect_ok(c, backend_device_open(c->backend, c->index, &options, &c->device, &c->err));
        run_arrays(c, "multiply", 1, &t, false);
        for (i = 0; i < t.n; i++) {
            kept[flush] += t.out[i] == t.a[i];
            if (t.out[i] != t.a[i] && t.out[i] != 0)
                fail_msg("%a times 1 gives %a: neither kept nor flushed", t.a[i], t.out[i]);
        }
        if (flush) {
            const struct reading *reading =
                reading_find(&c->device->info.readings, "device.option.flush_denormals");

            assert_non_null(reading);
            device_close(c->device);
            c->device = before;
        }
    }
    print_message("  denormals kept: %d of 64 by default, %d with flush_denormals\n", kept[0],
                  kept[1]);
    if (conformance_keeps_denormals(c))
        assert_int_equal(kept[0], 64);
    triples_free(&t);
}

CONFORMANCE_AREA(conformance_arithmetic, {"a*b+c is never contracted", test_no_contraction, true},
                 {"F_FMA rounds once", test_fma, true},
                 {"add and multiply are IEEE", test_add_multiply, true},
                 {"divide", test_divide, true}, {"root", test_root, true},
                 {"F_MAX and F_MIN", test_max_min, true},
                 {"a sum keeps its order", test_chain_order, true},
                 {"denormals", test_denormals, true});
