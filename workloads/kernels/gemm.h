/*
 * C[m,n] = alpha * op(A)[m,k] op(B)[k,n] (+ bias[n]) (+ D[m,n]), row-major, any size, batched.
 *
 * Group (GROUP, GROUP_Y, GROUP_Z) makes one TILE_M x TILE_N tile of one matrix of the batch. Matrix
 * z starts at offset + z / inner * outer_stride + z % inner * inner_stride. Element (r, s) of op(A)
 * lies at r * a_row + s * a_column, so a transposed operand is one with its strides exchanged.
 *
 * Joined behind vector.h, which says what types are; D is of C's. C is rounded once, at the end.
 * With I8 alpha has no effect.
 *
 * One lane: a block of B is packed into panels of PANEL columns, and REG_M x PANEL sums live in
 * vector registers. Several lanes: blocks of A and B are staged in local memory and each lane keeps
 * REG_M x REG_N sums. In both an element of C is the sum, in order, of chains over blocks of k:
 * the same bytes on every run.
 *
 * `shape` lets triangular operands (causal attention) skip what is zero or never read:
 * TRIANGLE_C: tiles above the diagonal of C are left alone; TRIANGLE_A: op(A) is zero for k > row;
 * TRIANGLE_AT: op(A) is zero for k < row.
 *
 * A text in front of this one may put an A in its place that lies in no matrix (convolution.h): it
 * defines IMPLICIT_A, and what stands under it below.
 */
#if KIND(TYPE_A) == KIND_E4M3 || KIND(TYPE_B) == KIND_E4M3
/* As f16 its exponent would be 8 too small; 0x7f and 0xff are NaN, and there is no infinity. */
INLINE f32 gemm_e4m3(u8 x)
{
    const store_f16 half_x = (store_f16)((x & 0x80u) << 8 | (x & 0x7fu) << 7);

    return (x & 0x7fu) == 0x7fu ? NAN : 256.0f * LOAD_F16(&half_x, 0);
}
#endif

#if KIND(TYPE_A) == KIND_E5M2 || KIND(TYPE_B) == KIND_E5M2
/* The upper half of an f16. */
INLINE f32 gemm_e5m2(u8 x)
{
    const store_f16 half_x = (store_f16)(x << 8);

    return LOAD_F16(&half_x, 0);
}
#endif

#define TRIANGLE_C 1u
#define TRIANGLE_A 2u
#define TRIANGLE_AT 4u

#ifndef IMPLICIT_A
#define GEMM_LOCALS
#define GEMM_PARAMETERS                                                                            \
    const GLOBAL ELEMENT(TYPE_A) * a, const GLOBAL ELEMENT(TYPE_B) * b,                            \
        GLOBAL ELEMENT(TYPE_C) * c, const GLOBAL ELEMENT(TYPE_BIAS) * bias,                        \
        const GLOBAL ELEMENT(TYPE_C) * d, u64 a_offset, u64 b_offset, u64 c_offset,                \
        u64 bias_offset, u64 d_offset, u64 a_row, u64 a_column, u64 b_row, u64 b_column,           \
        u64 c_row, u64 a_outer, u64 a_inner, u64 b_outer, u64 b_inner, u64 c_outer, u64 c_inner,   \
        u64 inner, u64 m, u64 n, u64 k, f32 alpha, u32 shape

#define GEMM_START                                                                                 \
    const u64 outer_index = GROUP_Z / inner, inner_index = GROUP_Z % inner;                        \
    const u64 m0 = GROUP_Y * TILE_M, n0 = GROUP * TILE_N;                                          \
    const u64 k_end = (shape & TRIANGLE_A) && m0 + TILE_M < k ? m0 + TILE_M : k;                   \
    const u64 k_begin = shape & TRIANGLE_AT ? m0 : 0;                                              \
                                                                                                   \
    a += a_offset + outer_index * a_outer + inner_index * a_inner;                                 \
    b += b_offset + outer_index * b_outer + inner_index * b_inner;                                 \
    c += c_offset + outer_index * c_outer + inner_index * c_inner;                                 \
    bias += bias_offset;                                                                           \
    d += d_offset + outer_index * c_outer + inner_index * c_inner;                                 \
    if ((shape & TRIANGLE_C) && n0 >= m0 + TILE_M)                                                 \
        return;
#define LEFT_TILE                                                                                  \
    for (u32 e = lane; e < BLOCK_K * TILE_M; e += LANES) {                                         \
        const u32 p = a_column == 1 ? e % BLOCK_K : e / TILE_M;                                    \
        const u32 i = a_column == 1 ? e / BLOCK_K : e % TILE_M;                                    \
                                                                                                   \
        left[p * TILE_M + i] = m0 + i < m && k0 + p < k_end                                        \
                                   ? GET(TYPE_A, a, (m0 + i) * a_row + (k0 + p) * a_column)        \
                                   : ZERO;                                                         \
    }
#endif

#define HAS_BIAS 8u
#define HAS_D 16u

#if LANES == 1

KERNEL(gemm, GEMM_PARAMETERS)
{
    LOCAL_ARRAY(NUMBER, packed, BLOCK_K * TILE_N);
#if KIND(TYPE_C) != NUMBER_KIND
    LOCAL_ARRAY(NUMBER, kept, TILE_M * TILE_N); /* sums that C's type could not hold */
#endif
    GEMM_LOCALS

    GEMM_START
    const u64 rows = m - m0 < TILE_M ? m - m0 : TILE_M;
    const u64 columns = n - n0 < TILE_N ? n - n0 : TILE_N;

    for (u64 k0 = k_begin; k0 < k_end || k0 == k_begin; k0 += BLOCK_K) {
        const u64 depth = k_end - k0 < BLOCK_K ? k_end - k0 : BLOCK_K;

        for (u64 j0 = 0; j0 < columns; j0 += PANEL) {
            const u64 width = columns - j0 < PANEL ? columns - j0 : PANEL;
            const GLOBAL ELEMENT(TYPE_B) *from = b + k0 * b_row + (n0 + j0) * b_column;
            LOCAL NUMBER *panel = packed + j0 * BLOCK_K;

            if (width < PANEL)
                for (u64 p = 0; p < depth * PANEL; p++)
                    panel[p] = ZERO;
            if (b_column == 1 && width == PANEL) {
                for (u64 p = 0; p < depth; p++) {
#if KIND(TYPE_B) == NUMBER_KIND
                    UNROLL_VECTORS
                    for (u32 v = 0; v < VECTORS; v++) {
                        vector x;

                        VECTOR_LOAD(x, GLOBAL, from + p * b_row + v * VECTOR);
                        VECTOR_STORE(x, LOCAL, panel + p * PANEL + v * VECTOR);
                    }
#else
                    for (u64 j = 0; j < PANEL; j++)
                        panel[p * PANEL + j] = GET(TYPE_B, from, p * b_row + j);
#endif
                }
            } else if (b_column == 1) {
                for (u64 p = 0; p < depth; p++)
                    for (u64 j = 0; j < width; j++)
                        panel[p * PANEL + j] = GET(TYPE_B, from, p * b_row + j);
            } else {
                for (u64 j = 0; j < width; j++)
                    for (u64 p = 0; p < depth; p++)
                        panel[p * PANEL + j] = GET(TYPE_B, from, p * b_row + j * b_column);
            }
        }
        for (u64 j0 = 0; j0 < columns; j0 += PANEL) {
            const LOCAL NUMBER *panel = packed + j0 * BLOCK_K;
            const u64 width = columns - j0 < PANEL ? columns - j0 : PANEL;

            for (u64 i0 = 0; i0 < rows; i0 += REG_M) {
#if KIND(TYPE_A) == NUMBER_KIND && !defined(IMPLICIT_A)
                const GLOBAL NUMBER *row[REG_M];
#define A_AT(i, p) row[i][(p)*a_column]
#else
                NUMBER row[REG_M][BLOCK_K]; /* fetched here once, not for every column */
#define A_AT(i, p) row[i][p]
#endif
                vector sum[REG_M][VECTORS];
                NUMBER line[REG_M][PANEL];

#if KIND(TYPE_A) == NUMBER_KIND
                UNROLL_VECTORS
#else
                UNROLL_ROWS
#endif
                for (u32 i = 0; i < REG_M; i++) {
                    /* Beyond the edge the last row is computed again, and not stored. */
                    const u64 r = i0 + i < rows ? i0 + i : rows - 1;
#ifdef IMPLICIT_A
                    LEFT_ROW(row[i], r)
#elif KIND(TYPE_A) == NUMBER_KIND
                    row[i] = a + (m0 + r) * a_row + k0 * a_column;
#else
                    const GLOBAL ELEMENT(TYPE_A) *from = a + (m0 + r) * a_row + k0 * a_column;

                    if (a_column == 1)
                        for (u64 p = 0; p < depth; p++)
                            row[i][p] = GET(TYPE_A, from, p);
                    else
                        for (u64 p = 0; p < depth; p++)
                            row[i][p] = GET(TYPE_A, from, p * a_column);
#endif
                }
                UNROLL_VECTORS
                for (u32 i = 0; i < REG_M; i++) {
                    UNROLL_VECTORS
                    for (u32 v = 0; v < VECTORS; v++)
                        VECTOR_ZERO(sum[i][v]);
                }
                for (u64 p = 0; p < depth; p++) {
                    vector y[VECTORS];

                    UNROLL_VECTORS
                    for (u32 v = 0; v < VECTORS; v++)
                        VECTOR_LOAD(y[v], LOCAL, panel + p * PANEL + v * VECTOR);
                    UNROLL_VECTORS
                    for (u32 i = 0; i < REG_M; i++) {
                        const NUMBER x = A_AT(i, p);

                        UNROLL_VECTORS
                        for (u32 v = 0; v < VECTORS; v++)
                            VECTOR_FMA(sum[i][v], x, y[v]);
                    }
                }
                UNROLL_VECTORS
                for (u32 i = 0; i < REG_M; i++) {
                    UNROLL_VECTORS
                    for (u32 v = 0; v < VECTORS; v++)
                        VECTOR_STORE(sum[i][v], PRIVATE, line[i] + v * VECTOR);
                }
                UNROLL_ROWS
                for (u32 i = 0; i < REG_M; i++) {
                    const u64 at = (m0 + i0 + i) * c_row + n0 + j0;

                    if (i0 + i >= rows)
                        continue;
#if KIND(TYPE_C) == NUMBER_KIND
                    if (k0 != k_begin) {
                        for (u64 j = 0; j < width; j++)
                            c[at + j] += SCALE(line[i][j]);
                        continue;
                    }
#else
                    if (k0 != k_begin)
                        for (u64 j = 0; j < width; j++)
                            line[i][j] += kept[(i0 + i) * TILE_N + j0 + j];
                    if (k0 + BLOCK_K < k_end) {
                        for (u64 j = 0; j < width; j++)
                            kept[(i0 + i) * TILE_N + j0 + j] = line[i][j];
                        continue;
                    }
#endif
                    for (u64 j = 0; j < width; j++)
                        line[i][j] = SCALE(line[i][j]);
                    if (shape & HAS_BIAS)
                        for (u64 j = 0; j < width; j++)
                            line[i][j] += GET(TYPE_BIAS, bias, n0 + j0 + j);
                    if (shape & HAS_D)
                        for (u64 j = 0; j < width; j++)
                            line[i][j] += GET(TYPE_C, d, at + j);
                    for (u64 j = 0; j < width; j++)
                        PUT(TYPE_C, c, at + j, line[i][j]);
                }
            }
        }
    }
}

#else /* LANES > 1: TILE_M = LANES_M * REG_M, TILE_N = LANES_N * REG_N */

#define LANES_N (LANES < 16 ? LANES : 16)
#define LANES_M (LANES / LANES_N)

KERNEL(gemm, GEMM_PARAMETERS)
{
    LOCAL_ARRAY(NUMBER, left, BLOCK_K * TILE_M);
    LOCAL_ARRAY(NUMBER, right, BLOCK_K * TILE_N);
    GEMM_LOCALS

    GEMM_START
    const u32 lane = (u32)LANE, lane_m = lane / LANES_N, lane_n = lane % LANES_N;
    NUMBER sum[REG_M][REG_N];

    UNROLL
    for (u32 i = 0; i < REG_M; i++) {
        UNROLL
        for (u32 j = 0; j < REG_N; j++)
            sum[i][j] = ZERO;
    }
    for (u64 k0 = k_begin; k0 < k_end; k0 += BLOCK_K) {
        /* Neighbouring lanes read along whichever index is contiguous in memory. */
        LEFT_TILE
        for (u32 e = lane; e < BLOCK_K * TILE_N; e += LANES) {
            const u32 p = b_column == 1 ? e / TILE_N : e % BLOCK_K;
            const u32 j = b_column == 1 ? e % TILE_N : e / BLOCK_K;

            right[p * TILE_N + j] = n0 + j < n && k0 + p < k_end
                                        ? GET(TYPE_B, b, (k0 + p) * b_row + (n0 + j) * b_column)
                                        : ZERO;
        }
        BARRIER();
        for (u32 p = 0; p < BLOCK_K; p++) {
            NUMBER x[REG_M], y[REG_N];

            UNROLL
            for (u32 i = 0; i < REG_M; i++)
                x[i] = left[p * TILE_M + lane_m + i * LANES_M];
            UNROLL
            for (u32 j = 0; j < REG_N; j++)
                y[j] = right[p * TILE_N + lane_n + j * LANES_N];
            UNROLL
            for (u32 i = 0; i < REG_M; i++) {
                UNROLL
                for (u32 j = 0; j < REG_N; j++)
                    sum[i][j] = NUMBER_FMA(x[i], y[j], sum[i][j]);
            }
        }
        BARRIER();
    }
    UNROLL
    for (u32 i = 0; i < REG_M; i++) {
        UNROLL
        for (u32 j = 0; j < REG_N; j++) {
            const u64 r = m0 + lane_m + i * LANES_M, s = n0 + lane_n + j * LANES_N;

            if (r < m && s < n) {
                NUMBER value = SCALE(sum[i][j]);

                if (shape & HAS_BIAS)
                    value += GET(TYPE_BIAS, bias, s);
                if (shape & HAS_D)
                    value += GET(TYPE_C, d, r * c_row + s);
                PUT(TYPE_C, c, r * c_row + s, value);
            }
        }
    }
}

#endif
