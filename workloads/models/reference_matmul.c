/*
 * Blocked fp64 matrix product: panels of A and B are packed so that the inner loop reads both in
 * order. The inner kernel exists once and is compiled for three vector widths; no width changes the
 * order of a sum (each element of C has its own chain over k), so the bytes do not depend on it.
 */
#include "workloads/models/reference_math.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 4 /* of C in the inner kernel */
#define COLUMNS 16
#define BLOCK_K 256
#define BLOCK_M 256
#define BLOCK_N 1024
#define WORTH_THREADS 1000000 /* multiplications below which one thread is faster */

typedef double lane8 __attribute__((vector_size(64), aligned(8)));

static double element(const struct reference_matrix *matrix, uint64_t row, uint64_t column)
{
    uint64_t at = matrix->transpose ? column * matrix->stride + row : row * matrix->stride + column;

    return matrix->f64 ? matrix->f64[at] : (double)matrix->f32[at];
}

/* Packs op(B)[k0..k0+kn, n0..n0+nn] as panels of COLUMNS, zero beyond the edge. */
static void pack_b(const struct reference_matrix *b, uint64_t k0, uint64_t kn, uint64_t n0,
                   uint64_t nn, double *packed, bool threads)
{
    uint64_t panels = (nn + COLUMNS - 1) / COLUMNS;

#pragma omp parallel for schedule(static) if (threads)
    for (uint64_t panel = 0; panel < panels; panel++) {
        double *out = packed + panel * kn * COLUMNS;
        uint64_t first = panel * COLUMNS;
        uint64_t count = nn - first < COLUMNS ? nn - first : COLUMNS;

        for (uint64_t k = 0; k < kn; k++)
            for (uint64_t j = 0; j < COLUMNS; j++)
                out[k * COLUMNS + j] = j < count ? element(b, k0 + k, n0 + first + j) : 0.0;
    }
}

static void pack_a(const struct reference_matrix *a, uint64_t m0, uint64_t mn, uint64_t k0,
                   uint64_t kn, double *packed, bool threads)
{
    uint64_t panels = (mn + ROWS - 1) / ROWS;

#pragma omp parallel for schedule(static) if (threads)
    for (uint64_t panel = 0; panel < panels; panel++) {
        double *out = packed + panel * kn * ROWS;
        uint64_t first = panel * ROWS;

        for (uint64_t k = 0; k < kn; k++)
            for (uint64_t i = 0; i < ROWS; i++)
                out[k * ROWS + i] = first + i < mn ? element(a, m0 + first + i, k0 + k) : 0.0;
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

enum status reference_matmul(double *c, uint64_t c_stride, struct reference_matrix a,
                             struct reference_matrix b, uint64_t m, uint64_t n, uint64_t k,
                             bool accumulate, struct error *err)
{
    const bool threads = (double)m * (double)n * (double)k > WORTH_THREADS;
    inner_fn *inner = inner_choose();
    uint64_t kb = k < BLOCK_K ? k : BLOCK_K, mb = m < BLOCK_M ? m : BLOCK_M;
    uint64_t nb = n < BLOCK_N ? n : BLOCK_N;
    double *packed_a = malloc((mb + ROWS) * kb * sizeof(double));
    double *packed_b = malloc((nb + COLUMNS) * kb * sizeof(double));

    if (!packed_a || !packed_b) {
        free(packed_a);
        free(packed_b);
        return error_set(err, STATUS_NO_MEMORY, "reference: out of memory");
    }
    for (uint64_t n0 = 0; n0 < n; n0 += BLOCK_N) {
        uint64_t nn = n - n0 < BLOCK_N ? n - n0 : BLOCK_N;

        for (uint64_t k0 = 0; k0 < k; k0 += BLOCK_K) {
            uint64_t kn = k - k0 < BLOCK_K ? k - k0 : BLOCK_K;

            pack_b(&b, k0, kn, n0, nn, packed_b, threads);
            for (uint64_t m0 = 0; m0 < m; m0 += BLOCK_M) {
                uint64_t mn = m - m0 < BLOCK_M ? m - m0 : BLOCK_M;
                uint64_t across = (nn + COLUMNS - 1) / COLUMNS, down = (mn + ROWS - 1) / ROWS;

                pack_a(&a, m0, mn, k0, kn, packed_a, threads);
#pragma omp parallel for schedule(static) if (threads)
                for (uint64_t at = 0; at < across * down; at++) {
                    uint64_t j = at / down * COLUMNS, i = at % down * ROWS;

                    tile(inner, packed_a + i * kn, packed_b + j * kn, kn,
                         c + (m0 + i) * c_stride + n0 + j, c_stride, mn - i < ROWS ? mn - i : ROWS,
                         nn - j < COLUMNS ? nn - j : COLUMNS, accumulate || k0 > 0);
                }
            }
        }
    }
    free(packed_a);
    free(packed_b);
    return STATUS_OK;
}
