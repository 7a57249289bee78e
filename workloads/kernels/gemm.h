/*
 * C[m,n] = alpha * op(A)[m,k] op(B)[k,n] (+ bias[n]) (+ D[m,n]), row-major, any size, batched.
 *
 * Group (GROUP, GROUP_Y, GROUP_Z) makes one TILE_M x TILE_N tile of one matrix of the batch. Matrix z
 * starts at offset + z / inner * outer_stride + z % inner * inner_stride. Element (r, s) of op(A) lies
 * at r * a_row + s * a_column, so a transposed operand is one with its strides exchanged.
 *
 * One lane: a block of B is packed into panels of PANEL columns, and REG_M x PANEL sums live in
 * vector registers. Several lanes: blocks of A and B are staged in local memory and each lane keeps
 * REG_M x REG_N sums. In both an element of C is the sum, in order, of chains over blocks of k:
 * the same bytes on every run.
 *
 * `shape` lets triangular operands (causal attention) skip what is zero or never read:
 * TRIANGLE_C: tiles above the diagonal of C are left alone; TRIANGLE_A: op(A) is zero for k > row;
 * TRIANGLE_AT: op(A) is zero for k < row.
 */
#define TRIANGLE_C 1u
#define TRIANGLE_A 2u
#define TRIANGLE_AT 4u

#define GEMM_PARAMETERS                                                                            \
    const GLOBAL f32 *a, const GLOBAL f32 *b, GLOBAL f32 *c, const GLOBAL f32 *bias,               \
        const GLOBAL f32 *d, u64 a_offset, u64 b_offset, u64 c_offset, u64 bias_offset,            \
        u64 d_offset, u64 a_row, u64 a_column, u64 b_row, u64 b_column, u64 c_row, u64 a_outer,    \
        u64 a_inner, u64 b_outer, u64 b_inner, u64 c_outer, u64 c_inner, u64 inner, u64 m, u64 n,  \
        u64 k, f32 alpha, u32 shape

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

#define HAS_BIAS 8u
#define HAS_D 16u

#if LANES == 1

#define VECTOR 16
#define PANEL (REG_V * VECTOR)

#ifdef __OPENCL_VERSION__
typedef float16 vector;
#define PRIVATE __private
#define VECTOR_ZERO(x) (x) = (vector)(0.0f)
#ifdef ASSAY_BUILTINS /* nothing of the inner loop may be a call, see there */
typedef float16 __attribute__((aligned(4))) vector_in_memory;
#define VECTOR_LOAD(x, space, p) (x) = *(const space vector_in_memory *)(p)
#define VECTOR_STORE(x, space, p) (*(space vector_in_memory *)(p) = (x))
#else
#define VECTOR_LOAD(x, space, p) (x) = vload16(0, (p))
#define VECTOR_STORE(x, space, p) vstore16((x), 0, (p))
#endif
#ifdef ASSAY_BUILTIN_VECTOR_FMA
#define VECTOR_FMA(x, s, y) (x) = __builtin_elementwise_fma((vector)(s), (y), (x))
#else
#define VECTOR_FMA(x, s, y) (x) = fma((vector)(s), (y), (x))
#endif
#else
typedef struct {
    f32 e[VECTOR];
} vector;
#define VECTOR_EACH                                                                                \
    UNROLL                                                                                         \
    for (int e_ = 0; e_ < VECTOR; e_++)
#define VECTOR_ZERO(x) VECTOR_EACH (x).e[e_] = 0.0f
#define VECTOR_LOAD(x, space, p) VECTOR_EACH (x).e[e_] = (p)[e_]
#define VECTOR_STORE(x, space, p) VECTOR_EACH (p)[e_] = (x).e[e_]
#define VECTOR_FMA(x, s, y) VECTOR_EACH (x).e[e_] = F_FMA((s), (y).e[e_], (x).e[e_])
#endif

KERNEL(gemm, GEMM_PARAMETERS)
{
    LOCAL_ARRAY(f32, packed, BLOCK_K *TILE_N);

    GEMM_START
    const u64 rows = m - m0 < TILE_M ? m - m0 : TILE_M;
    const u64 columns = n - n0 < TILE_N ? n - n0 : TILE_N;

    for (u64 k0 = k_begin; k0 < k_end || k0 == k_begin; k0 += BLOCK_K) {
        const u64 depth = k_end - k0 < BLOCK_K ? k_end - k0 : BLOCK_K;

        for (u64 j0 = 0; j0 < columns; j0 += PANEL) {
            const u64 width = columns - j0 < PANEL ? columns - j0 : PANEL;
            const GLOBAL f32 *from = b + k0 * b_row + (n0 + j0) * b_column;
            LOCAL f32 *panel = packed + j0 * BLOCK_K;

            if (width < PANEL)
                for (u64 p = 0; p < depth * PANEL; p++)
                    panel[p] = 0.0f;
            if (b_column == 1 && width == PANEL) {
                for (u64 p = 0; p < depth; p++) {
                    UNROLL
                    for (u32 v = 0; v < REG_V; v++) {
                        vector x;

                        VECTOR_LOAD(x, GLOBAL, from + p * b_row + v * VECTOR);
                        VECTOR_STORE(x, LOCAL, panel + p * PANEL + v * VECTOR);
                    }
                }
            } else if (b_column == 1) {
                for (u64 p = 0; p < depth; p++)
                    for (u64 j = 0; j < width; j++)
                        panel[p * PANEL + j] = from[p * b_row + j];
            } else {
                for (u64 j = 0; j < width; j++)
                    for (u64 p = 0; p < depth; p++)
                        panel[p * PANEL + j] = from[p * b_row + j * b_column];
            }
        }
        for (u64 j0 = 0; j0 < columns; j0 += PANEL) {
            const LOCAL f32 *panel = packed + j0 * BLOCK_K;
            const u64 width = columns - j0 < PANEL ? columns - j0 : PANEL;

            for (u64 i0 = 0; i0 < rows; i0 += REG_M) {
                const GLOBAL f32 *row[REG_M];
                vector sum[REG_M][REG_V];

                UNROLL
                for (u32 i = 0; i < REG_M; i++) {
                    /* Beyond the edge the last row is computed again, and not stored. */
                    const u64 r = i0 + i < rows ? i0 + i : rows - 1;

                    row[i] = a + (m0 + r) * a_row + k0 * a_column;
                    UNROLL
                    for (u32 v = 0; v < REG_V; v++)
                        VECTOR_ZERO(sum[i][v]);
                }
                for (u64 p = 0; p < depth; p++) {
                    vector y[REG_V];

                    UNROLL
                    for (u32 v = 0; v < REG_V; v++)
                        VECTOR_LOAD(y[v], LOCAL, panel + p * PANEL + v * VECTOR);
                    UNROLL
                    for (u32 i = 0; i < REG_M; i++) {
                        const f32 x = row[i][p * a_column];

                        UNROLL
                        for (u32 v = 0; v < REG_V; v++)
                            VECTOR_FMA(sum[i][v], x, y[v]);
                    }
                }
                UNROLL
                for (u32 i = 0; i < REG_M; i++) {
                    f32 line[PANEL];
                    const u64 at = (m0 + i0 + i) * c_row + n0 + j0;

                    if (i0 + i >= rows)
                        continue;
                    UNROLL
                    for (u32 v = 0; v < REG_V; v++)
                        VECTOR_STORE(sum[i][v], PRIVATE, line + v * VECTOR);
                    if (k0 != k_begin) {
                        for (u64 j = 0; j < width; j++)
                            c[at + j] += alpha * line[j];
                        continue;
                    }
                    for (u64 j = 0; j < width; j++)
                        line[j] *= alpha;
                    if (shape & HAS_BIAS)
                        for (u64 j = 0; j < width; j++)
                            line[j] += bias[n0 + j0 + j];
                    if (shape & HAS_D)
                        for (u64 j = 0; j < width; j++)
                            line[j] += d[at + j];
                    for (u64 j = 0; j < width; j++)
                        c[at + j] = line[j];
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
    LOCAL_ARRAY(f32, left, BLOCK_K *TILE_M);
    LOCAL_ARRAY(f32, right, BLOCK_K *TILE_N);

    GEMM_START
    const u32 lane = (u32)LANE, lane_m = lane / LANES_N, lane_n = lane % LANES_N;
    f32 sum[REG_M][REG_N];

    UNROLL
    for (u32 i = 0; i < REG_M; i++) {
        UNROLL
        for (u32 j = 0; j < REG_N; j++)
            sum[i][j] = 0.0f;
    }
    for (u64 k0 = k_begin; k0 < k_end; k0 += BLOCK_K) {
        /* Neighbouring lanes read along whichever index is contiguous in memory. */
        for (u32 e = lane; e < BLOCK_K * TILE_M; e += LANES) {
            const u32 p = a_column == 1 ? e % BLOCK_K : e / TILE_M;
            const u32 i = a_column == 1 ? e / BLOCK_K : e % TILE_M;

            left[p * TILE_M + i] = m0 + i < m && k0 + p < k_end
                                       ? a[(m0 + i) * a_row + (k0 + p) * a_column] : 0.0f;
        }
        for (u32 e = lane; e < BLOCK_K * TILE_N; e += LANES) {
            const u32 p = b_column == 1 ? e / TILE_N : e % BLOCK_K;
            const u32 j = b_column == 1 ? e % TILE_N : e / BLOCK_K;

            right[p * TILE_N + j] = n0 + j < n && k0 + p < k_end
                                        ? b[(k0 + p) * b_row + (n0 + j) * b_column] : 0.0f;
        }
        BARRIER();
        for (u32 p = 0; p < BLOCK_K; p++) {
            f32 x[REG_M], y[REG_N];

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
                    sum[i][j] = F_FMA(x[i], y[j], sum[i][j]);
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
                f32 value = alpha * sum[i][j];

                if (shape & HAS_BIAS)
                    value += bias[s];
                if (shape & HAS_D)
                    value += d[r * c_row + s];
                c[r * c_row + s] = value;
            }
        }
    }
}

#endif
