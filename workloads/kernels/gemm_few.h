/*
 * The GEMM of gemm.h for few rows of A, as a decode step has: B is read once, along its rows, by
 * all rows of A together, so that the time is that of reading B. Joined behind gemm.h; one lane, A
 * not transposed, one matrix, no triangle. A group makes `columns` columns of all m rows; m *
 * columns is FEW_SUMS at most. An element is the sum of sums over DEEP, or over WAYS_FEW strides of
 * k, each in one order: the same bytes on every run, whatever the groups.
 */
#if LANES == 1
#define FEW_SUMS 8192
#define DEEP 8
#define WAYS_FEW 16
#define COLUMNS_FEW 4 /* of B transposed at a time: so many streams of memory */

KERNEL(gemm_few, GEMM_PARAMETERS, u64 columns)
{
    LOCAL_ARRAY(NUMBER, sum, FEW_SUMS);
    const u64 n0 = GROUP * columns, whole = k / DEEP * DEEP;
    const u64 width = n0 >= n ? 0 : n - n0 < columns ? n - n0 : columns;

    a += a_offset;
    b += b_offset + n0 * b_column;
    c += c_offset + n0;
    bias += bias_offset + n0;
    d += d_offset + n0;
    if (b_column == 1) {
        for (u64 i = 0; i < m; i++)
            for (u64 j = 0; j < width; j++)
                sum[i * columns + j] = ZERO;
        for (u64 p = 0; p < k; p += p < whole ? DEEP : 1) {
            const GLOBAL ELEMENT(TYPE_B) *from = b + p * b_row;

            for (u64 i = 0; i < m; i++) {
                LOCAL NUMBER *to = sum + i * columns;
                NUMBER x[DEEP];

                if (p >= whole) {
                    x[0] = GET(TYPE_A, a, i * a_row + p);
                    for (u64 j = 0; j < width; j++)
                        to[j] = NUMBER_FMA(x[0], GET(TYPE_B, from, j), to[j]);
                    continue;
                }
                UNROLL
                for (u32 e = 0; e < DEEP; e++)
                    x[e] = GET(TYPE_A, a, i * a_row + p + e);
                for (u64 j = 0; j < width; j++) {
                    NUMBER part = ZERO;

                    UNROLL
                    for (u32 e = 0; e < DEEP; e++)
                        part = NUMBER_FMA(x[e], GET(TYPE_B, from, e * b_row + j), part);
                    to[j] += part;
                }
            }
        }
    } else {
        for (u64 j0 = 0; j0 < width; j0 += COLUMNS_FEW) {
            const GLOBAL ELEMENT(TYPE_B) * from[COLUMNS_FEW]; /* beyond the last: that once more */

            for (u32 j = 0; j < COLUMNS_FEW; j++)
                from[j] = b + (j0 + j < width ? j0 + j : width - 1) * b_column;
            for (u64 i = 0; i < m; i++) {
                const GLOBAL ELEMENT(TYPE_A) *row = a + i * a_row;
                NUMBER ways[COLUMNS_FEW][WAYS_FEW];

                for (u32 j = 0; j < COLUMNS_FEW; j++)
                    for (u32 e = 0; e < WAYS_FEW; e++)
                        ways[j][e] = ZERO;
                for (u64 p = 0; p + WAYS_FEW <= k; p += WAYS_FEW) {
                    UNROLL_N(COLUMNS_FEW)
                    for (u32 j = 0; j < COLUMNS_FEW; j++)
                        for (u32 e = 0; e < WAYS_FEW; e++)
                            ways[j][e] = NUMBER_FMA(GET(TYPE_A, row, p + e),
                                                    GET(TYPE_B, from[j], p + e), ways[j][e]);
                }
                for (u32 j = 0; j < COLUMNS_FEW && j0 + j < width; j++) {
                    NUMBER all = ZERO;

                    for (u64 p = k / WAYS_FEW * WAYS_FEW; p < k; p++)
                        all = NUMBER_FMA(GET(TYPE_A, row, p), GET(TYPE_B, from[j], p), all);
                    for (u32 e = 0; e < WAYS_FEW; e++)
                        all += ways[j][e];
                    sum[i * columns + j0 + j] = all;
                }
            }
        }
    }
    for (u64 i = 0; i < m; i++)
        for (u64 j = 0; j < width; j++) {
            NUMBER value = SCALE(sum[i * columns + j]);

            if (shape & HAS_BIAS)
                value += GET(TYPE_BIAS, bias, j);
            if (shape & HAS_D)
                value += GET(TYPE_C, d, i * c_row + j);
            PUT(TYPE_C, c, i * c_row + j, value);
        }
}
#endif
