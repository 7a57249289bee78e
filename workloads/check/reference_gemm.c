/*
 * Blocked fp64 GEMM: panels of A and B are packed so that the inner loop reads both in
 * order. The inner kernel exists once and is compiled for three vector widths; no width changes the
 * order of a sum (each element of C has its own chain over k), so the bytes do not depend on it.
 */
#include "workloads/check/reference_math.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 4 /* of C in the inner kernel */
#define COLUMNS 16
#define BLOCK_K 256
#define BLOCK_M 256
#define BLOCK_N 256
#define WORTH_THREADS 10000000 /* multiplications below which one thread is faster */

typedef double lane8 __attribute__((vector_size(64), aligned(8)));

/*
 * Packs rows r0.. of `matrix` (or, with `columns`, its columns) over k0..k0+kn as panels of
 * `width`, zero beyond `count`: out[panel][k][i].
 */
static void pack(const struct reference_matrix *matrix, bool columns, uint64_t r0, uint64_t count,
                 uint64_t k0, uint64_t kn, uint64_t width, double *out)
{
    /* Where element (i, k) lies: i * across + k * along. */
    const bool swapped = matrix->transpose != columns;
    const uint64_t across = swapped ? 1 : matrix->stride, along = swapped ? matrix->stride : 1;

    for (uint64_t first = 0; first < count; first += width, out += kn * width) {
        const uint64_t used = count - first < width ? count - first : width;
        const uint64_t base = (r0 + first) * across + k0 * along;

        if (used < width)
            memset(out, 0, kn * width * sizeof(*out));
        if (matrix->f64) {
            for (uint64_t k = 0; k < kn; k++)
                for (uint64_t i = 0; i < used; i++)
                    out[k * width + i] = matrix->f64[base + k * along + i * across];
        } else {
            for (uint64_t k = 0; k < kn; k++)
                for (uint64_t i = 0; i < used; i++)
                    out[k * width + i] = (double)matrix->f32[base + k * along + i * across];
        }
    }
}

static inline __attribute__((always_inline)) void inner_body(const double *a, const double *b,
                                                             uint64_t k, double *ret)
{
    lane8 sum[ROWS][2];

    memset(sum, 0, sizeof(sum));
    for (uint64_t p = 0; p < k; p++) {
        const lane8 *row = (const lane8 *)(b + p * COLUMNS);
        lane8 b0 = row[0], b1 = row[1];

        for (int i = 0; i < ROWS; i++) {
            sum[i][0] += a[p * ROWS + i] * b0;
            sum[i][1] += a[p * ROWS + i] * b1;
        }
    }
    memcpy(ret, sum, sizeof(sum));
}

static void inner_plain(const double *a, const double *b, uint64_t k, double *ret)
{
    inner_body(a, b, k, ret);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void inner_avx2(const double *a, const double *b, uint64_t k,
                                                       double *ret)
{
    inner_body(a, b, k, ret);
}

__attribute__((target("avx512f"))) static void inner_avx512(const double *a, const double *b,
                                                            uint64_t k, double *ret)
{
    inner_body(a, b, k, ret);
}
#endif

typedef void inner_fn(const double *a, const double *b, uint64_t k, double *ret);

static inner_fn *inner_choose(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return inner_avx512;
    if (__builtin_cpu_supports("avx2"))
        return inner_avx2;
#endif
    return inner_plain;
}

static void tile(inner_fn *inner, const double *a, const double *b, uint64_t k, double *c,
                 uint64_t stride, uint64_t rows, uint64_t columns, bool add)
{
    double sum[ROWS * COLUMNS];

    inner(a, b, k, sum);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < columns; j++)
            c[i * stride + j] = (add ? c[i * stride + j] : 0.0) + sum[i * COLUMNS + j];
}

/* One block of C, over all of k. */
struct block {
    double *c;
    uint64_t stride, m0, n0, mn, nn, k;
    bool accumulate;
};

static void multiply_block(inner_fn *inner, const struct block *block,
                           const struct reference_matrix *a, const struct reference_matrix *b,
                           double *packed_a, double *packed_b)
{
    for (uint64_t k0 = 0; k0 < block->k; k0 += BLOCK_K) {
        const uint64_t kn = block->k - k0 < BLOCK_K ? block->k - k0 : BLOCK_K;

        pack(a, false, block->m0, block->mn, k0, kn, ROWS, packed_a);
        pack(b, true, block->n0, block->nn, k0, kn, COLUMNS, packed_b);
        for (uint64_t j = 0; j < block->nn; j += COLUMNS)
            for (uint64_t i = 0; i < block->mn; i += ROWS)
                tile(inner, packed_a + i * kn, packed_b + j * kn, kn,
                     block->c + (block->m0 + i) * block->stride + block->n0 + j, block->stride,
                     block->mn - i < ROWS ? block->mn - i : ROWS,
                     block->nn - j < COLUMNS ? block->nn - j : COLUMNS,
                     block->accumulate || k0 > 0);
    }
}

enum status reference_gemm(double *c, uint64_t c_stride, struct reference_matrix a,
                           struct reference_matrix b, uint64_t m, uint64_t n, uint64_t k,
                           bool accumulate, struct error *err)
{
    const uint64_t mb = m < BLOCK_M ? m : BLOCK_M, nb = n < BLOCK_N ? n : BLOCK_N;
    const uint64_t kb = k < BLOCK_K ? k : BLOCK_K;
    const bool threads = (double)m * (double)n * (double)k > WORTH_THREADS;
    const uint64_t down = (m + BLOCK_M - 1) / BLOCK_M, across = (n + BLOCK_N - 1) / BLOCK_N;
    inner_fn *inner = inner_choose();
    bool failed = false;

    /* One region for all: threads never wait for each other in between. */
#pragma omp parallel reduction(|| : failed) if (threads)
    {
        double *packed_a = malloc((mb + ROWS) * kb * sizeof(double));
        double *packed_b = malloc((nb + COLUMNS) * kb * sizeof(double));

        failed = !packed_a || !packed_b;
#pragma omp for schedule(dynamic)
        for (uint64_t at = 0; at < down * across; at++) {
            const uint64_t m0 = at % down * BLOCK_M, n0 = at / down * BLOCK_N;
            const struct block block = {
                .c = c,
                .stride = c_stride,
                .m0 = m0,
                .n0 = n0,
                .mn = m - m0 < BLOCK_M ? m - m0 : BLOCK_M,
                .nn = n - n0 < BLOCK_N ? n - n0 : BLOCK_N,
                .k = k,
                .accumulate = accumulate,
            };

            if (!failed)
                multiply_block(inner, &block, &a, &b, packed_a, packed_b);
        }
        free(packed_a);
        free(packed_b);
    }
    return failed ? error_no_memory(err) : STATUS_OK;
}
