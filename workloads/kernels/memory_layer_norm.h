/*
 * y = (x - mean) / sqrt(variance + epsilon) * weight + bias for each row (Ba, Kiros and Hinton
 * 2016; biased variance). x, y [rows, columns]; weight, bias [columns] in fp32.
 *
 * Three passes: sum, squared deviations, result. Many lanes keep the row in registers meanwhile.
 * For a single lane the second and third pass find it in cache, and it is faster pass by pass, if
 * memory works on while it computes: a processor's prefetchers follow misses and stop at the end of
 * a page, and stores that miss wait in line, the longer the busier memory is. So it asks for the
 * next row of x in the first two passes, and for that of y in the third. Asking for x in only one
 * of the two is slower: the first is short and probably asks for more at once than there is room
 * for.
 */
#if LANES == 1
INLINE void layer_norm_ask(const GLOBAL storage *lines)
{
    UNROLL
    for (u32 j = 0; j < STRIPES; j += 64 / sizeof(storage))
        PREFETCH(lines + j);
}

/* Asks for the row at `next` meanwhile. */
INLINE f32 layer_norm_sum(const GLOBAL storage *RESTRICT row, const GLOBAL storage *next,
                          u64 columns)
{
    const u64 whole = STRIPE_WHOLE(columns);
    f32 sum[STRIPES];

    UNROLL
    for (u32 j = 0; j < STRIPES; ++j)
        sum[j] = 0.0f;
    for (u64 at = 0; at < whole; at += STRIPES) {
        layer_norm_ask(next + at);
        UNROLL
        for (u32 j = 0; j < STRIPES; ++j)
            sum[j] += LOAD(row, STRIPE(at, j));
    }
    for (u64 i = whole; i < columns; ++i)
        sum[0] += LOAD(row, i);
    return stripes_sum(sum);
}

INLINE f32 layer_norm_squares(const GLOBAL storage *RESTRICT row, const GLOBAL storage *next,
                              u64 columns, f32 mean)
{
    const u64 whole = STRIPE_WHOLE(columns);
    f32 square[STRIPES];

    UNROLL
    for (u32 j = 0; j < STRIPES; ++j)
        square[j] = 0.0f;
    for (u64 at = 0; at < whole; at += STRIPES) {
        layer_norm_ask(next + at);
        UNROLL
        for (u32 j = 0; j < STRIPES; ++j) {
            const f32 deviation = LOAD(row, STRIPE(at, j)) - mean;

            square[j] = F_FMA(deviation, deviation, square[j]);
        }
    }
    for (u64 i = whole; i < columns; ++i) {
        const f32 deviation = LOAD(row, i) - mean;

        square[0] = F_FMA(deviation, deviation, square[0]);
    }
    return stripes_sum(square);
}

KERNEL(memory_layer_norm, const GLOBAL storage *RESTRICT x, const GLOBAL f32 *RESTRICT weight,
       const GLOBAL f32 *RESTRICT bias, GLOBAL storage *RESTRICT y, f32 epsilon, u64 rows,
       u64 columns)
{
    const u64 end = ROWS_END(rows);
    const u64 whole = STRIPE_WHOLE(columns);

    for (u64 r = ROWS_BEGIN(rows); r < end; ++r) {
        const u64 following = r + 1 < end ? r + 1 : r;
        const GLOBAL storage *RESTRICT row = x + r * columns;
        const GLOBAL storage *RESTRICT next = x + following * columns;
        GLOBAL storage *RESTRICT out = y + r * columns;
        const f32 mean = layer_norm_sum(row, next, columns) / (f32)columns;
        const f32 square = layer_norm_squares(row, next, columns, mean);
        const f32 scale = 1.0f / F_SQRT(square / (f32)columns + epsilon);

        for (u64 at = 0; at < whole; at += STRIPES) {
            layer_norm_ask(y + following * columns + at);
            UNROLL
            for (u32 j = 0; j < STRIPES; ++j) {
                const u64 i = STRIPE(at, j);

                STORE(out, i, F_FMA((LOAD(row, i) - mean) * scale, weight[i], bias[i]));
            }
        }
        for (u64 i = whole; i < columns; ++i)
            STORE(out, i, F_FMA((LOAD(row, i) - mean) * scale, weight[i], bias[i]));
    }
}
#else
KERNEL(memory_layer_norm, const GLOBAL storage *RESTRICT x, const GLOBAL f32 *RESTRICT weight,
       const GLOBAL f32 *RESTRICT bias, GLOBAL storage *RESTRICT y, f32 epsilon, u64 rows,
       u64 columns)
{
    GROUP_SCRATCH;

    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *RESTRICT row = x + r * columns;
        GLOBAL storage *RESTRICT out = y + r * columns;
        pack kept[KEPT];
        f32 mean, scale, own;

        row_keep(kept, row, columns);
        own = row_sum(kept, row, columns);
        mean = GROUP_SUM(own) / (f32)columns;
        own = row_squares(kept, row, columns, mean);
        scale = 1.0f / F_SQRT(GROUP_SUM(own) / (f32)columns + epsilon);
        ROW_EACH(row, kept, columns, {
            const floats gain = floats_load(weight + at);
            const floats shift = floats_load(bias + at);
            pack result;

            PACK_EACH(j)
            STORE(result.part, j,
                  F_FMA((LOAD(in.part, j) - mean) * scale, gain.part[j], shift.part[j]));
            pack_store(out + at, result);
        });
    }
}
#endif
