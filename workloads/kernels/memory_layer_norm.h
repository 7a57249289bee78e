/*
 * y = (x - mean) / sqrt(variance + epsilon) * weight + bias for each row (Ba, Kiros and Hinton
 * 2016; biased variance). x, y [rows, columns]; weight, bias [columns] in fp32.
 *
 * Three passes: sum, squared deviations, result; the second and third find the row in cache. Many
 * lanes take the next row's sum while this row is written, so that reads and writes overlap as they
 * do in a copy. A single lane is faster pass by pass, if memory works on while it computes: a
 * processor's prefetchers follow misses and stop at the end of a page, and stores that miss wait in
 * line, the longer the busier memory is. So it asks for the next row of x in the first two passes,
 * and for that of y in the third. Asking for x in only one of the two is slower: the first is short
 * and probably asks for more at once than there is room for.
 */
#define NORM_OVERLAPS (LANES > 1)

INLINE void layer_norm_ask(const GLOBAL storage *lines)
{
#if LANES == 1
    UNROLL
    for (u32 j = 0; j < STRIPES; j += 64 / sizeof(storage))
        PREFETCH(lines + j);
#endif
}

/* Asks for the row at `next` meanwhile. */
INLINE void layer_norm_sum(const GLOBAL storage *RESTRICT row, const GLOBAL storage *next,
                           u64 columns, f32 *sum)
{
    const u64 whole = STRIPE_WHOLE(columns);

    UNROLL
    for (u32 j = 0; j < STRIPES; ++j)
        sum[j] = 0.0f;
    for (u64 at = 0; at < whole; at += STRIPE_SPAN) {
        layer_norm_ask(next + at);
        UNROLL
        for (u32 j = 0; j < STRIPES; ++j)
            sum[j] += LOAD(row, STRIPE(at, j));
    }
    for (u64 i = whole + LANE; i < columns; i += LANES)
        sum[0] += LOAD(row, i);
}

KERNEL(memory_layer_norm, const GLOBAL storage *RESTRICT x, const GLOBAL f32 *RESTRICT weight,
       const GLOBAL f32 *RESTRICT bias, GLOBAL storage *RESTRICT y, f32 epsilon, u64 rows,
       u64 columns)
{
    const u64 begin = ROWS_BEGIN(rows), end = ROWS_END(rows);
    const u64 whole = STRIPE_WHOLE(columns);
    f32 sum[STRIPES], square[STRIPES];
    GROUP_SCRATCH;

    if (NORM_OVERLAPS && begin < end)
        layer_norm_sum(x + begin * columns, x + begin * columns, columns, sum);
    for (u64 r = begin; r < end; ++r) {
        const u64 following = r + 1 < end ? r + 1 : r;
        const GLOBAL storage *RESTRICT row = x + r * columns;
        const GLOBAL storage *RESTRICT next = x + following * columns;
        GLOBAL storage *RESTRICT out = y + r * columns;
        f32 own_sum, mean, own_square, scale;

        if (!NORM_OVERLAPS)
            layer_norm_sum(row, next, columns, sum);
        own_sum = stripes_sum(sum);
        mean = GROUP_SUM(own_sum) / (f32)columns;

        UNROLL
        for (u32 j = 0; j < STRIPES; ++j)
            square[j] = 0.0f;
        for (u64 at = 0; at < whole; at += STRIPE_SPAN) {
            layer_norm_ask(next + at);
            UNROLL
            for (u32 j = 0; j < STRIPES; ++j) {
                const f32 deviation = LOAD(row, STRIPE(at, j)) - mean;

                square[j] = F_FMA(deviation, deviation, square[j]);
            }
        }
        for (u64 i = whole + LANE; i < columns; i += LANES) {
            const f32 deviation = LOAD(row, i) - mean;

            square[0] = F_FMA(deviation, deviation, square[0]);
        }
        own_square = stripes_sum(square);
        scale = 1.0f / F_SQRT(GROUP_SUM(own_square) / (f32)columns + epsilon);

        UNROLL
        for (u32 j = 0; j < STRIPES; ++j)
            sum[j] = 0.0f;
        for (u64 at = 0; at < whole; at += STRIPE_SPAN) {
            layer_norm_ask(y + following * columns + at);
            UNROLL
            for (u32 j = 0; j < STRIPES; ++j) {
                const u64 i = STRIPE(at, j);

                STORE(out, i, F_FMA((LOAD(row, i) - mean) * scale, weight[i], bias[i]));
                if (NORM_OVERLAPS)
                    sum[j] += LOAD(next, i);
            }
        }
        for (u64 i = whole + LANE; i < columns; i += LANES) {
            STORE(out, i, F_FMA((LOAD(row, i) - mean) * scale, weight[i], bias[i]));
            if (NORM_OVERLAPS)
                sum[0] += LOAD(next, i);
        }
    }
}
