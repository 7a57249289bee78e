#include "tests/conformance/conformance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "tests/conformance/reference.h"

/*
 * Bounds are those of OpenCL 1.2, section 7.4 (full profile), which CUDA and HIP keep as well. erf
 * and pow are the loosest.
 */
struct function {
    const char *kernel;
    double (*exact)(double);
    double low, high; /* inputs are spread over this range, in addition to the specials */
    double ulps;
};

static double exact_rsqrt(double x)
{
    return 1 / sqrt(x);
}

static const struct function functions[] = {
    {"f_exp", exp, -110, 100, 3},     {"f_log", log, 1e-38, 1e38, 3},
    {"f_tanh", tanh, -12, 12, 5},     {"f_erf", erf, -6, 6, 16},
    {"f_sqrt", sqrt, 0, 1e38, 3},     {"f_rsqrt", exact_rsqrt, 1e-37, 1e38, 2},
    {"f_fabs", fabs, -1e38, 1e38, 0},
};

static const uint32_t specials[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
    0x7fc00000, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x42b17218, 0xc2aeac50,
};

#define SPECIALS (sizeof(specials) / sizeof(specials[0]))

/* Half evenly over the range, half over all magnitudes inside it. */
static void fill(float *x, uint64_t n, const struct function *function)
{
    struct random random;
    uint64_t i;

    random_init(&random, 5, 6);
    for (i = 0; i < n; i++) {
        double u = random_next_unit(&random);

        if (i < SPECIALS)
            x[i] = float_of(specials[i]);
        else if (i % 2 == 0)
            x[i] = (float)(function->low + (function->high - function->low) * u);
        else
            x[i] = (float)(function->high * exp2(-40 * u) *
                           (function->low < 0 && i % 4 == 1 ? -1 : 1));
    }
}

/* Where the device flushes denormals, a denormal result may be zero. */
static double error_of(const struct conformance *c, float got, double exact)
{
    if (got == 0 && fabs(exact) < (double)FLT_MIN && !conformance_keeps_denormals(c))
        return 0;
    return reference_ulps(got, exact);
}

static void test_functions(void **state)
{
    struct conformance *c = *state;
    const uint64_t n = c->small ? 300 : 100000;
    struct module *module = conformance_module(c, "functions.h", 1);
    struct buffer *in = conformance_buffer(c, NULL, n * 4);
    struct buffer *out = conformance_buffer(c, NULL, n * 4);
    float *x = calloc(n, 4), *y = calloc(n, 4);
    int failed = 0;
    size_t f;
    uint64_t i;

    assert_true(x != NULL && y != NULL);
    for (f = 0; f < sizeof(functions) / sizeof(functions[0]); f++) {
        const struct function *function = &functions[f];
        double worst = 0;
        uint64_t at = 0;

        fill(x, n, function);
        expect_ok(c, device_upload(in, 0, x, n * 4, &c->err));
        RUN(c, module, function->kernel, 3, 1, 1, arg_buffer(out), arg_buffer(in), arg_u64(n));
        expect_ok(c, device_download(out, 0, y, n * 4, &c->err));
        for (i = 0; i < n; i++) {
            const double error = error_of(c, y[i], function->exact((double)x[i]));

            if (error > worst) {
                worst = error;
                at = i;
            }
        }
        print_message("  %-8s at most %.2f ulp (bound %g), at x=%a: %a\n", function->kernel, worst,
                      function->ulps, x[at], y[at]);
        /* Half a unit comes from rounding the exact value itself. */
        if (worst > function->ulps + (function->ulps > 0 ? 0.5 : 0))
            failed++;
    }
    device_buffer_free(in);
    device_buffer_free(out);
    device_module_unload(c->device, module);
    free(x);
    free(y);
    assert_int_equal(failed, 0);
}

static void test_pow(void **state)
{
    struct conformance *c = *state;
    const uint64_t n = c->small ? 300 : 100000;
    struct module *module = conformance_module(c, "functions.h", 1);
    float *x = calloc(n, 4), *y = calloc(n, 4), *z = calloc(n, 4);
    struct buffer *dx, *dy, *dz;
    struct random random;
    double worst = 0;
    uint64_t i, at = 0;

    assert_true(x != NULL && y != NULL && z != NULL);
    random_init(&random, 7, 8);
    for (i = 0; i < n; i++) {
        x[i] = (float)exp2(40 * random_next_unit(&random) - 20);
        y[i] = (float)(random_next_unit(&random) * 10 - 5);
    }
    x[0] = 0.999f; /* as in AdamW's bias correction */
    y[0] = 1000.0f;
    x[1] = 2.0f;
    y[1] = 0.0f;
    dx = conformance_buffer(c, x, n * 4);
    dy = conformance_buffer(c, y, n * 4);
    dz = conformance_buffer(c, NULL, n * 4);
    RUN(c, module, "f_pow", 3, 1, 1, arg_buffer(dz), arg_buffer(dx), arg_buffer(dy), arg_u64(n));
    expect_ok(c, device_download(dz, 0, z, n * 4, &c->err));
    for (i = 0; i < n; i++) {
        const double error = error_of(c, z[i], pow((double)x[i], (double)y[i]));

        if (error > worst) {
            worst = error;
            at = i;
        }
    }
    print_message("  f_pow    at most %.2f ulp (bound 16), at %a^%a: %a\n", worst, x[at], y[at],
                  z[at]);
    device_buffer_free(dx);
    device_buffer_free(dy);
    device_buffer_free(dz);
    device_module_unload(c->device, module);
    free(x);
    free(y);
    free(z);
    assert_true(worst <= 16.5);
}

CONFORMANCE_AREA(conformance_functions, {"F_ functions against fp64", test_functions, true},
                 {"F_POW against fp64", test_pow, true});
