/*
 * y = e^(x - max) / sum of e^(x - max) for each row; x, y [rows, columns].
 *
 * Three passes: maximum, sum, division. Many lanes keep the row in registers meanwhile and compute
 * e^(x - max) twice. A single lane finds it in cache, keeps e^(x - max) in y between the passes,
 * and takes the next row's maximum while this row is written, so that reads and writes overlap as
 * they do in a copy.
 */
#define SOFTMAX_LOWEST -3.0e38f

#if LANES == 1
KERNEL(memory_softmax, const GLOBAL storage *RESTRICT x, GLOBAL storage *RESTRICT y, u64 rows,
       u64 columns)
{
    const u64 end = ROWS_END(rows);
    const u64 whole = STRIPE_WHOLE(columns);
    f32 highest[STRIPES], sum[STRIPES];

    UNROLL
    for (u32 j = 0; j < STRIPES; ++j)
        highest[j] = SOFTMAX_LOWEST;
    if (ROWS_BEGIN(rows) < end) {
        const GLOBAL storage *RESTRICT row = x + ROWS_BEGIN(rows) * columns;

        for (u64 at = 0; at < whole; at += STRIPES) {
            UNROLL
            for (u32 j = 0; j < STRIPES; ++j)
                highest[j] = F_GREATER(LOAD(row, STRIPE(at, j)), highest[j]);
        }
        for (u64 i = whole; i < columns; ++i)
            highest[0] = F_GREATER(LOAD(row, i), highest[0]);
    }
    for (u64 r = ROWS_BEGIN(rows); r < end; ++r) {
        const GLOBAL storage *RESTRICT row = x + r * columns;
        const GLOBAL storage *RESTRICT next = x + (r + 1 < end ? r + 1 : r) * columns;
        GLOBAL storage *RESTRICT out = y + r * columns;
        const f32 top = stripes_max(highest);
        f32 scale;

        UNROLL
        for (u32 j = 0; j < STRIPES; ++j)
            sum[j] = 0.0f;
        for (u64 at = 0; at < whole; at += STRIPES) {
            UNROLL
            for (u32 j = 0; j < STRIPES; ++j) {
                const u64 i = STRIPE(at, j);
                const f32 e = exp_f32_to_88(LOAD(row, i) - top);

                STORE(out, i, e);
                sum[j] += e;
            }
        }
        for (u64 i = whole; i < columns; ++i) {
            const f32 e = exp_f32_to_88(LOAD(row, i) - top);

            STORE(out, i, e);
            sum[0] += e;
        }
        scale = 1.0f / stripes_sum(sum);

        UNROLL
        for (u32 j = 0; j < STRIPES; ++j)
            highest[j] = SOFTMAX_LOWEST;
        for (u64 at = 0; at < whole; at += STRIPES) {
            UNROLL
            for (u32 j = 0; j < STRIPES; ++j) {
                const u64 i = STRIPE(at, j);

                STORE(out, i, LOAD(out, i) * scale);
                highest[j] = F_GREATER(LOAD(next, i), highest[j]);
            }
        }
        for (u64 i = whole; i < columns; ++i) {
            STORE(out, i, LOAD(out, i) * scale);
            highest[0] = F_GREATER(LOAD(next, i), highest[0]);
        }
    }
}
#else
KERNEL(memory_softmax, const GLOBAL storage *RESTRICT x, GLOBAL storage *RESTRICT y, u64 rows,
       u64 columns)
{
    GROUP_SCRATCH;

    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *RESTRICT row = x + r * columns;
        GLOBAL storage *RESTRICT out = y + r * columns;
        pack kept[KEPT];
        f32 own = SOFTMAX_LOWEST, sums[SUMS];
        f32 top, scale;

        row_keep(kept, row, columns);
        ROW_EACH(row, kept, columns, PACK_EACH(j) own = F_GREATER(LOAD(in.part, j), own););
        top = GROUP_MAX(own);
        sums_clear(sums);
        ROW_EACH(row, kept, columns,
                 PACK_EACH(j) sums[SUM_OF(p, j)] += exp_f32_to_88(LOAD(in.part, j) - top););
        own = sums_total(sums);
        scale = 1.0f / GROUP_SUM(own);
        ROW_EACH(row, kept, columns, {
            pack result;

            PACK_EACH(j)
            STORE(result.part, j, exp_f32_to_88(LOAD(in.part, j) - top) * scale);
            pack_store(out + at, result);
        });
    }
}
#endif
