/*
 * Causal softmax over scores, in place, and its gradient. p, dp: matrices of length x length in
 * `storage`, one after another, row t of each holding the scores of position t with positions
 * 0..length-1. Only s <= t count; the rest of the row becomes 0, since the products that follow
 * read whole tiles. Joined behind fold.h and memory_exp.h.
 */

/* Narrow storage would round e^x on the way; it is computed twice instead. */
#define SOFTMAX_KEEPS (sizeof(storage) == sizeof(f32))

KERNEL(causal_softmax_forward, GLOBAL storage *p, u64 p_offset, u64 rows, u64 length)
{
    GROUP_SCRATCH;

    for (u64 r = GROUP; r < rows; r += GROUPS) {
        GLOBAL storage *row = p + p_offset + r * length;
        const u64 count = r % length + 1;
        f32 top, sum;

        MAX_OVER(top, count, LOAD(row, i));
        if (SOFTMAX_KEEPS) {
            for (u64 i = LANE; i < count; i += LANES)
                STORE(row, i, exp_f32_to_88(LOAD(row, i) - top));
            SUM_OVER(sum, count, LOAD(row, i));
            sum = 1.0f / sum;
            for (u64 i = LANE; i < count; i += LANES)
                STORE(row, i, LOAD(row, i) * sum);
        } else {
            SUM_OVER(sum, count, exp_f32_to_88(LOAD(row, i) - top));
            sum = 1.0f / sum;
            for (u64 i = LANE; i < count; i += LANES)
                STORE(row, i, exp_f32_to_88(LOAD(row, i) - top) * sum);
        }
        for (u64 i = count + LANE; i < length; i += LANES)
            STORE(row, i, 0.0f);
    }
}

/* dp (the gradient of p on entry) becomes that of the scores: p (dp - sum(p dp)). */
KERNEL(causal_softmax_backward, const GLOBAL storage *RESTRICT p, GLOBAL storage *RESTRICT dp,
       u64 p_offset, u64 rows, u64 length)
{
    GROUP_SCRATCH;

    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *RESTRICT in = p + p_offset + r * length;
        GLOBAL storage *RESTRICT row = dp + r * length;
        const u64 count = r % length + 1;
        f32 dot;

        SUM_OVER(dot, count, LOAD(in, i) * LOAD(row, i));
        for (u64 i = LANE; i < count; i += LANES)
            STORE(row, i, LOAD(in, i) * (LOAD(row, i) - dot));
        for (u64 i = count + LANE; i < length; i += LANES)
            STORE(row, i, 0.0f);
    }
}
