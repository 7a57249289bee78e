/*
 * Special numbers through the GEMM of our own text: every pattern of fp8, NaN and infinities in
 * every type; and few rows.
 */
#include "model_fixture.h"

#include <math.h>

#include "tests/support/unit.h"
#include "workloads/data/element.h"
#include "workloads/ops/gemm.h"

static struct device *device;

static bool has_f64(void)
{
    const struct reading *reading = reading_find(&device->info.readings, "device.fp64");

    return reading && reading->status == READING_MEASURED;
}

/* A GEMM of our text with C in the type of its sums; the operands' bytes are given. */
static void multiply(enum precision precision, uint64_t m, uint64_t n, uint64_t k, const void *a,
                     const void *b, void *ret_c)
{
    const enum dtype type = precision_dtype(precision), sum = gemm_sum_type(precision);
    const uint64_t bytes = dtype_bits(type) / 8, c_bytes = m * n * dtype_bits(sum) / 8;
    const struct workload_case work = {
        .precision = precision, .implementation = IMPLEMENTATION_PORTABLE, .emulate = true};
    struct gemms *gemms = NULL;
    struct buffer *at[3] = {NULL};
    struct op_gemm gemm = {.m = m, .n = n, .k = k};

    ASSERT_OK(gemms_create(device, &work, &gemms, err));
    ASSERT_OK(device_buffer_alloc(device, m * k * bytes, BUFFER_READ_ONLY, &at[0], err));
    ASSERT_OK(device_buffer_alloc(device, k * n * bytes, BUFFER_READ_ONLY, &at[1], err));
    ASSERT_OK(device_buffer_alloc(device, c_bytes, BUFFER_READ_WRITE, &at[2], err));
    ASSERT_OK(device_upload(at[0], 0, a, m * k * bytes, err));
    ASSERT_OK(device_upload(at[1], 0, b, k * n * bytes, err));
    gemm.a = (struct op_matrix){.at = {at[0], 0}, .type = type, .stride = k};
    gemm.b = (struct op_matrix){.at = {at[1], 0}, .type = type, .stride = n};
    gemm.c = (struct op_matrix){.at = {at[2], 0}, .type = sum, .stride = n};
    ASSERT_OK(gemms_run(gemms, &gemm, err));
    ASSERT_OK(device_download(at[2], 0, ret_c, c_bytes, err));
    for (size_t i = 0; i < 3; i++)
        device_buffer_free(at[i]);
    gemms_destroy(gemms);
}

static void assert_same(enum precision precision, uint64_t index, double got, double expected)
{
    if (isnan(expected) ? !isnan(got) : got != expected)
        fail_msg("%s, element %d: got %g, expected %g", precision_name(precision), (int)index, got,
                 expected);
}

/* Every pattern of fp8 through the text: a GEMM of k = 1 by 1. */
TEST(portable_codes)
{
    static const enum precision precisions[] = {PRECISION_FP8_E4M3, PRECISION_FP8_E5M2};
    uint8_t codes[256], one = 0;
    float got[256];

    if (!device)
        skip();
    for (int i = 0; i < 256; i++)
        codes[i] = (uint8_t)i;
    for (size_t p = 0; p < 2; p++) {
        element_encode(precision_dtype(precisions[p]), 1.0, &one, 0);
        multiply(precisions[p], 256, 1, 1, codes, &one, got);
        for (uint64_t i = 0; i < 256; i++)
            assert_same(precisions[p], i, (double)got[i],
                        element_decode(precision_dtype(precisions[p]), codes, i));
    }
}

/* element_encode saturates, so an infinity is written by its pattern. */
static void put_infinity(enum dtype type, void *array, uint64_t index, bool negative)
{
    const uint16_t pattern = type == DTYPE_BF16 ? 0x7f80 : 0x7c00;

    if (dtype_bits(type) > 16)
        element_encode(type, negative ? -INFINITY : INFINITY, array, index);
    else if (type == DTYPE_E5M2)
        ((uint8_t *)array)[index] = (uint8_t)((negative ? 0x80 : 0) | 0x7c);
    else if (type != DTYPE_E4M3) /* which has none */
        ((uint16_t *)array)[index] = (uint16_t)((negative ? 0x8000 : 0) | pattern);
}

/* NaN and infinities propagate as in arithmetic, infinity times zero included, no further. */
TEST(portable_special)
{
    enum { M = 9, N = 33, K = 17 };
    static const enum precision precisions[] = {PRECISION_FP64,     PRECISION_FP32,
                                                PRECISION_BF16,     PRECISION_FP16,
                                                PRECISION_FP8_E4M3, PRECISION_FP8_E5M2};
    static double a[M * K], b[K * N], c[M * N]; /* room for any type */

    if (!device)
        skip();
    for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++) {
        const enum dtype type = precision_dtype(precisions[p]);
        size_t special = 0;

        if (precisions[p] == PRECISION_FP64 && !has_f64())
            continue;
        for (uint64_t i = 0; i < M * K; i++)
            element_encode(type, i / K == 7 ? 0.0 : (double)(i % 3), a, i);
        for (uint64_t i = 0; i < K * N; i++)
            element_encode(type, (double)(i % 5) - 2.0, b, i);
        element_encode(type, NAN, a, 2 * K + 4);
        put_infinity(type, a, 5 * K + 16, false);
        put_infinity(type, b, 3 * N + 32, true);
        multiply(precisions[p], M, N, K, a, b, c);
        for (uint64_t i = 0; i < M * N; i++) {
            double expected = 0.0;

            for (uint64_t k = 0; k < K; k++)
                expected +=
                    element_decode(type, a, i / N * K + k) * element_decode(type, b, k * N + i % N);
            assert_same(precisions[p], i, element_decode(gemm_sum_type(precisions[p]), c, i),
                        expected);
            special += !isfinite(expected);
        }
        assert_true(special >= N && special < M * N / 2);
    }
}

/* Rows that are made at once, and more than those: whole numbers, whose sums are exact. */
TEST(portable_few_rows)
{
    enum { M = 10, N = 70, K = 21 };
    static const enum precision precisions[] = {PRECISION_FP32, PRECISION_BF16};
    static float a[M * K], b[K * N], c[M * N]; /* room for both */

    if (!device)
        skip();
    for (size_t p = 0; p < 2; p++) {
        const enum dtype type = precision_dtype(precisions[p]);

        for (uint64_t i = 0; i < M * K; i++)
            element_encode(type, (double)(i % 7) - 3.0, a, i);
        for (uint64_t i = 0; i < K * N; i++)
            element_encode(type, (double)(i % 5) - 2.0, b, i);
        for (uint64_t m = 1; m <= M; m++) {
            multiply(precisions[p], m, N, K, a, b, c);
            for (uint64_t i = 0; i < m * N; i++) {
                double expected = 0.0;

                for (uint64_t k = 0; k < K; k++)
                    expected += element_decode(type, a, i / N * K + k) *
                                element_decode(type, b, k * N + i % N);
                assert_same(precisions[p], i, (double)c[i], expected);
            }
        }
    }
}

int main(void)
{
    return model_fixture_run(&device);
}
