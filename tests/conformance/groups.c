#include "tests/conformance/conformance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"

/* The device's own candidates, and counts that are no powers of two. */
static size_t all_lanes(struct conformance *c, uint32_t *ret)
{
    static const uint32_t odd[] = {2, 3, 7, 33};
    size_t count = device_lane_candidates(c->device, ret, 16), i;

    for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        if (odd[i] <= c->device->info.max_lanes)
            ret[count++] = odd[i];
    return count;
}

/* Start of chunk g by the contract: blocks of 16, the first groups get the remainder. */
static uint64_t chunk(uint64_t n, uint64_t g, uint64_t groups)
{
    const uint64_t blocks = (n + 15) / 16, rest = blocks % groups;
    const uint64_t begin = 16 * (blocks / groups * g + (g < rest ? g : rest));

    return begin < n ? begin : n;
}

static void check_collectives(struct conformance *c, uint32_t lanes, uint64_t n, uint32_t groups)
{
    struct module *module = conformance_module(c, "groups.h", lanes);
    float *in = calloc(n, 4), *sums, *maxima;
    const uint64_t size = (uint64_t)groups * lanes * 4;
    struct buffer *din, *dsums, *dmaxima;
    uint64_t i, g;

    sums = calloc(1, size);
    maxima = calloc(1, size);
    assert_true(in != NULL && sums != NULL && maxima != NULL);
    /* Small whole numbers: every order of summation gives the same f32. */
    for (i = 0; i < n; i++)
        in[i] = (float)((int)(random_at(23, 0, i) % 2001) - 1000);
    din = conformance_buffer(c, in, n * 4);
    dsums = conformance_buffer(c, NULL, size);
    dmaxima = conformance_buffer(c, NULL, size);
    RUN(c, module, "collectives", groups, 1, 1, arg_buffer(dsums), arg_buffer(dmaxima),
        arg_buffer(din), arg_u64(n));
    expect_ok(c, device_download(dsums, 0, sums, size, &c->err));
    expect_ok(c, device_download(dmaxima, 0, maxima, size, &c->err));
    for (g = 0; g < groups; g++) {
        float sum = 0, maximum = -INFINITY;

        for (i = chunk(n, g, groups); i < chunk(n, g + 1, groups); i++) {
            sum += in[i];
            maximum = fmaxf(maximum, in[i]);
        }
        for (i = 0; i < lanes; i++)
            if (sums[g * lanes + i] != sum || maxima[g * lanes + i] != maximum)
                fail_msg("%u lanes, %llu elements, group %llu of %u, lane %llu: sum %g (expected "
                         "%g), max %g (expected %g)",
                         lanes, (unsigned long long)n, (unsigned long long)g, groups,
                         (unsigned long long)i, (double)sums[g * lanes + i], (double)sum,
                         (double)maxima[g * lanes + i], (double)maximum);
    }
    device_buffer_free(din);
    device_buffer_free(dsums);
    device_buffer_free(dmaxima);
    device_module_unload(c->device, module);
    free(in);
    free(sums);
    free(maxima);
}

static void test_collectives(void **state)
{
    struct conformance *c = *state;
    uint32_t lanes[24];
    size_t count = all_lanes(c, lanes), k;

    for (k = 0; k < count; k++) {
        check_collectives(c, lanes[k], 1, 1);
        check_collectives(c, lanes[k], c->small ? 203 : 5003, 3);
        if (!c->small)
            check_collectives(c, lanes[k], 100, 64);
    }
}

/* A rounded sum is the same in every run, near the exact one, and NaN stays NaN. */
static void test_real_sums(void **state)
{
    struct conformance *c = *state;
    const uint64_t n = 1000;
    uint32_t lanes[24];
    size_t count = device_lane_candidates(c->device, lanes, 16), k;
    float in[1000];
    double exact = 0, magnitude = 0;

    for (uint64_t i = 0; i < n; i++) {
        in[i] = (float)(random_unit(random_at(29, 0, i)) * 2 - 1);
        exact += (double)in[i];
        magnitude += fabs((double)in[i]);
    }
    for (k = 0; k < count; k++) {
        struct module *module = conformance_module(c, "groups.h", lanes[k]);
        struct buffer *din = conformance_buffer(c, in, sizeof(in));
        struct buffer *sums = conformance_buffer(c, NULL, lanes[k] * 4);
        struct buffer *maxima = conformance_buffer(c, NULL, lanes[k] * 4);
        float first = 0, again = 0, with_nan[1000];

        for (int run = 0; run < 2; run++) {
            RUN(c, module, "collectives", 1, 1, 1, arg_buffer(sums), arg_buffer(maxima),
                arg_buffer(din), arg_u64(n));
            expect_ok(c, device_download(sums, 0, run ? &again : &first, 4, &c->err));
        }
        assert_int_equal(bits_of(first), bits_of(again));
        /* n roundings of at most half a unit of the sum of magnitudes. */
        assert_true(fabs((double)first - exact) <= (double)n * 0x1p-24 * magnitude);
        memcpy(with_nan, in, sizeof(in));
        with_nan[777] = NAN;
        expect_ok(c, device_upload(din, 0, with_nan, sizeof(with_nan), &c->err));
        RUN(c, module, "collectives", 1, 1, 1, arg_buffer(sums), arg_buffer(maxima),
            arg_buffer(din), arg_u64(n));
        expect_ok(c, device_download(sums, 0, &first, 4, &c->err));
        assert_true(isnan(first));
        device_buffer_free(din);
        device_buffer_free(sums);
        device_buffer_free(maxima);
        device_module_unload(c->device, module);
    }
}

static void test_collectives_again(void **state)
{
    struct conformance *c = *state;
    const uint32_t rounds = 5;
    uint32_t lanes[24];
    size_t count = all_lanes(c, lanes), k;

    for (k = 0; k < count; k++) {
        struct module *module = conformance_module(c, "groups.h", lanes[k]);
        struct buffer *out = conformance_buffer(c, NULL, 2 * lanes[k] * 4);
        float got[2 * 4096], expected = 0;
        const float l = (float)lanes[k];

        assert_true(lanes[k] <= 4096);
        for (uint32_t r = 0; r < rounds; r++)
            expected += l * (l - 1) / 2 + l * (float)r - (l - 1 + (float)r) + l;
        RUN(c, module, "collectives_again", 2, 1, 1, arg_buffer(out), arg_u32(rounds));
        expect_ok(c, device_download(out, 0, got, 2 * lanes[k] * 4, &c->err));
        for (uint32_t i = 0; i < 2 * lanes[k]; i++)
            if (got[i] != expected)
                fail_msg("%u lanes, lane %u: %g, expected %g", lanes[k], i % lanes[k],
                         (double)got[i], (double)expected);
        device_buffer_free(out);
        device_module_unload(c->device, module);
    }
}

static void test_barriers(void **state)
{
    struct conformance *c = *state;
    uint32_t lanes[24];
    size_t count = all_lanes(c, lanes), k;

    for (k = 0; k < count; k++) {
        const uint32_t l = lanes[k], n = 3 * l, rounds = 5;
        struct module *module = conformance_module(c, "groups.h", l);
        uint32_t *in = calloc(n, 4), *out = calloc(n, 4), i;
        struct buffer *din, *dout;

        assert_true(in != NULL && out != NULL);
        for (i = 0; i < n; i++)
            in[i] = i * 3 + 1;
        din = conformance_buffer(c, in, n * 4);
        dout = conformance_buffer(c, NULL, n * 4);
        RUN(c, module, "reverse", 3, 1, 1, arg_buffer(dout), arg_buffer(din));
        expect_ok(c, device_download(dout, 0, out, n * 4, &c->err));
        for (i = 0; i < n; i++)
            assert_int_equal(out[i], in[i / l * l + l - 1 - (i % l + 1) % l] + 7);
        RUN(c, module, "global_fence", 3, 1, 1, arg_buffer(dout), arg_u32(rounds));
        expect_ok(c, device_download(dout, 0, out, n * 4, &c->err));
        for (i = 0; i < n; i++)
            assert_int_equal(out[i], (i % l + rounds) % l);
        device_buffer_free(din);
        device_buffer_free(dout);
        device_module_unload(c->device, module);
        free(in);
        free(out);
    }
}

static void test_chunks(void **state)
{
    static const uint64_t sizes[] = {0,    1,    15,      16,       17,       255,
                                     1000, 4096, 1000003, 16777216, 16777217, (1ull << 40) + 3};
    static const uint32_t counts[] = {1, 2, 3, 7, 64, 1000};
    struct conformance *c = *state;
    struct module *module = conformance_module(c, "groups.h", 1);
    struct buffer *begins = conformance_buffer(c, NULL, 8000);
    struct buffer *ends = conformance_buffer(c, NULL, 8000);
    uint64_t begin[1000], end[1000];

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
            const uint64_t n = sizes[s];
            const uint32_t groups = counts[k];
            uint64_t least = UINT64_MAX, most = 0;

            if (c->small && groups > 64)
                continue;
            RUN(c, module, "chunks", groups, 1, 1, arg_buffer(begins), arg_buffer(ends),
                arg_u64(n));
            expect_ok(c, device_download(begins, 0, begin, groups * 8, &c->err));
            expect_ok(c, device_download(ends, 0, end, groups * 8, &c->err));
            assert_int_equal(begin[0], 0);
            assert_int_equal(end[groups - 1], n);
            for (uint32_t g = 0; g < groups; g++) {
                const uint64_t blocks = (end[g] - begin[g] + 15) / 16;

                assert_true(begin[g] <= end[g]);
                assert_true(begin[g] % 16 == 0 || begin[g] == n);
                assert_true(g == 0 || begin[g] == end[g - 1]);
                assert_int_equal(begin[g], chunk(n, g, groups));
                least = blocks < least ? blocks : least;
                most = blocks > most ? blocks : most;
            }
            assert_true(most - least <= 1);
        }
    device_buffer_free(begins);
    device_buffer_free(ends);
    device_module_unload(c->device, module);
}

CONFORMANCE_AREA(conformance_groups,
                 {"collectives for every number of lanes", test_collectives, true},
                 {"sums of reals", test_real_sums, true},
                 {"collectives in a row", test_collectives_again, true},
                 {"barriers and local arrays", test_barriers, true},
                 {"chunks partition the range", test_chunks, true});
