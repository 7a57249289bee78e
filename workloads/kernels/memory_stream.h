/*
 * Copy, scale, add, triad and dot as BabelStream defines them (Deakin et al., "Evaluating
 * attainable memory bandwidth of parallel programming models via BabelStream", 2018). Arrays have n
 * elements. All but dot compute in f64 where that is stored.
 */
KERNEL(stream_copy, const GLOBAL storage *RESTRICT a, GLOBAL storage *RESTRICT c, u64 n)
{
    STREAM_OVER(n, c, LOAD(a, i));
}

KERNEL(stream_scale, const GLOBAL storage *RESTRICT c, GLOBAL storage *RESTRICT b, number scalar,
       u64 n)
{
    STREAM_OVER(n, b, scalar * LOAD(c, i));
}

KERNEL(stream_add, const GLOBAL storage *RESTRICT a, const GLOBAL storage *RESTRICT b,
       GLOBAL storage *RESTRICT c, u64 n)
{
    STREAM_OVER(n, c, LOAD(a, i) + LOAD(b, i));
}

KERNEL(stream_triad, const GLOBAL storage *RESTRICT b, const GLOBAL storage *RESTRICT c,
       GLOBAL storage *RESTRICT a, number scalar, u64 n)
{
    STREAM_OVER(n, a, LOAD(b, i) + scalar * LOAD(c, i));
}

/* One partial sum a group; stream_dot_finish adds them up. */
KERNEL(stream_dot, const GLOBAL storage *RESTRICT a, const GLOBAL storage *RESTRICT b,
       GLOBAL f32 *RESTRICT partial, u64 n)
{
    const u64 begin = CHUNK_BEGIN(n), end = CHUNK_END(n);
    const u64 whole = begin + STRIPE_WHOLE(end - begin);
    f32 sum[STRIPES];
    f32 total;
    GROUP_SCRATCH;

    UNROLL
    for (u32 j = 0; j < STRIPES; ++j)
        sum[j] = 0.0f;
    for (u64 at = begin; at < whole; at += STRIPE_SPAN) {
        UNROLL
        for (u32 j = 0; j < STRIPES; ++j)
            sum[j] = F_FMA(LOAD(a, STRIPE(at, j)), LOAD(b, STRIPE(at, j)), sum[j]);
    }
    for (u64 i = whole + LANE; i < end; i += LANES)
        sum[0] = F_FMA(LOAD(a, i), LOAD(b, i), sum[0]);
    total = stripes_sum(sum);
    total = GROUP_SUM(total);
    if (LANE == 0)
        partial[GROUP] = total;
}

/* To be launched with one group. */
KERNEL(stream_dot_finish, const GLOBAL f32 *RESTRICT partial, GLOBAL f32 *RESTRICT result,
       u64 count)
{
    f32 total = 0.0f;
    GROUP_SCRATCH;

    for (u64 i = LANE; i < count; i += LANES)
        total += partial[i];
    total = GROUP_SUM(total);
    if (LANE == 0)
        result[0] = total;
}
