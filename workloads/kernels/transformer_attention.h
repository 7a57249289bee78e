/*
 * Causal softmax over scores, in place, and its gradient. p: matrices of length x length, one after
 * another, row t of each holding the scores of position t with positions 0..length-1. Only
 * s <= t count; the rest of the row becomes 0, since the products that follow read whole tiles. Joined behind fold.h and memory_exp.h.
 */
KERNEL(causal_softmax_forward, GLOBAL f32 *p, u64 p_offset, u64 rows, u64 length)
{
    GROUP_SCRATCH;

    for (u64 r = GROUP; r < rows; r += GROUPS) {
        GLOBAL f32 *row = p + p_offset + r * length;
        const u64 count = r % length + 1;
        f32 top, sum;

        MAX_OVER(top, count, row[i]);
        for (u64 i = LANE; i < count; i += LANES)
            row[i] = exp_f32_to_88(row[i] - top);
        SUM_OVER(sum, count, row[i]);
        sum = 1.0f / sum;
        for (u64 i = LANE; i < count; i += LANES)
            row[i] *= sum;
        for (u64 i = count + LANE; i < length; i += LANES)
            row[i] = 0.0f;
    }
}

/* dp (the gradient of p on entry) becomes that of the scores: p (dp - sum(p dp)). */
KERNEL(causal_softmax_backward, const GLOBAL f32 *RESTRICT p, GLOBAL f32 *RESTRICT dp,
       u64 p_offset, u64 rows, u64 length)
{
    GROUP_SCRATCH;

    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL f32 *RESTRICT in = p + p_offset + r * length;
        GLOBAL f32 *RESTRICT row = dp + r * length;
        const u64 count = r % length + 1;
        f32 dot;

        SUM_OVER(dot, count, in[i] * row[i]);
        for (u64 i = LANE; i < count; i += LANES)
            row[i] = in[i] * (row[i] - dot);
        for (u64 i = count + LANE; i < length; i += LANES)
            row[i] = 0.0f;
    }
}
