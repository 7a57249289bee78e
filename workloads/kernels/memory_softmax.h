/*
 * y = e^(x - max) / sum of e^(x - max) for each row; x, y [rows, columns].
 *
 * Three passes: maximum, sum, division; the second and third find the row in cache. The next row's
 * maximum is taken while this row is written, so that reads and writes overlap as they do in a
 * copy. A single lane keeps e^(x - max) in y between the passes, which its own cache makes cheap;
 * many lanes, whose writes go further out, compute it twice.
 */
#define SOFTMAX_KEEPS (LANES == 1)
#define SOFTMAX_LOWEST -3.0e38f

KERNEL(memory_softmax, const GLOBAL storage *RESTRICT x, GLOBAL storage *RESTRICT y, u64 rows,
       u64 columns)
{
    const u64 end = ROWS_END(rows);
    const u64 whole = STRIPE_WHOLE(columns);
    f32 highest[STRIPES], sum[STRIPES];
    GROUP_SCRATCH;

    UNROLL
    for (u32 j = 0; j < STRIPES; ++j)
        highest[j] = SOFTMAX_LOWEST;
    if (ROWS_BEGIN(rows) < end) {
        const GLOBAL storage *RESTRICT row = x + ROWS_BEGIN(rows) * columns;

        for (u64 at = 0; at < whole; at += STRIPE_SPAN) {
            UNROLL
            for (u32 j = 0; j < STRIPES; ++j)
                highest[j] = F_GREATER(LOAD(row, STRIPE(at, j)), highest[j]);
        }
        for (u64 i = whole + LANE; i < columns; i += LANES)
            highest[0] = F_GREATER(LOAD(row, i), highest[0]);
    }
    for (u64 r = ROWS_BEGIN(rows); r < end; ++r) {
        const GLOBAL storage *RESTRICT row = x + r * columns;
        const GLOBAL storage *RESTRICT next = x + (r + 1 < end ? r + 1 : r) * columns;
        GLOBAL storage *RESTRICT out = y + r * columns;
        const f32 own_top = stripes_max(highest);
        const f32 top = GROUP_MAX(own_top);
        f32 own_sum, scale;

        UNROLL
        for (u32 j = 0; j < STRIPES; ++j)
            sum[j] = 0.0f;
        for (u64 at = 0; at < whole; at += STRIPE_SPAN) {
            UNROLL
            for (u32 j = 0; j < STRIPES; ++j) {
                const u64 i = STRIPE(at, j);
                const f32 e = exp_f32_to_88(LOAD(row, i) - top);

                if (SOFTMAX_KEEPS)
                    STORE(out, i, e);
                sum[j] += e;
            }
        }
        for (u64 i = whole + LANE; i < columns; i += LANES) {
            const f32 e = exp_f32_to_88(LOAD(row, i) - top);

            if (SOFTMAX_KEEPS)
                STORE(out, i, e);
            sum[0] += e;
        }
        own_sum = stripes_sum(sum);
        scale = 1.0f / GROUP_SUM(own_sum);

        UNROLL
        for (u32 j = 0; j < STRIPES; ++j)
            highest[j] = SOFTMAX_LOWEST;
        for (u64 at = 0; at < whole; at += STRIPE_SPAN) {
            UNROLL
            for (u32 j = 0; j < STRIPES; ++j) {
                const u64 i = STRIPE(at, j);
                const f32 e = SOFTMAX_KEEPS ? LOAD(out, i) : exp_f32_to_88(LOAD(row, i) - top);

                STORE(out, i, e * scale);
                highest[j] = F_GREATER(LOAD(next, i), highest[j]);
            }
        }
        for (u64 i = whole + LANE; i < columns; i += LANES) {
            const f32 e = SOFTMAX_KEEPS ? LOAD(out, i) : exp_f32_to_88(LOAD(row, i) - top);

            STORE(out, i, e * scale);
            highest[0] = F_GREATER(LOAD(next, i), highest[0]);
        }
    }
}
