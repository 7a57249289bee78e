/*
 * Copy, scale, add, triad and dot as BabelStream defines them (Deakin et al., "Evaluating
 * attainable memory bandwidth of parallel programming models via BabelStream", 2018). Arrays have n
 * elements. All but dot compute in f64 where that is stored.
 */
KERNEL(stream_copy, const GLOBAL storage *RESTRICT a, GLOBAL storage *RESTRICT c, u64 n)
{
    EACH_PACK(i, n)
    {
        pack_store(c + i, pack_load(a + i));
    }
    EACH_REST(i, n)
    {
        c[i] = a[i];
    }
}

KERNEL(stream_scale, const GLOBAL storage *RESTRICT c, GLOBAL storage *RESTRICT b, number scalar,
       u64 n)
{
    STREAM_1(n, c, b, scalar * x);
}

KERNEL(stream_add, const GLOBAL storage *RESTRICT a, const GLOBAL storage *RESTRICT b,
       GLOBAL storage *RESTRICT c, u64 n)
{
    STREAM_2(n, a, b, c, x + y);
}

KERNEL(stream_triad, const GLOBAL storage *RESTRICT b, const GLOBAL storage *RESTRICT c,
       GLOBAL storage *RESTRICT a, number scalar, u64 n)
{
    STREAM_2(n, b, c, a, x + scalar * y);
}

#ifndef NUMBER_F64
/* This lane's part of the sum of a[i] b[i]. */
#if LANES == 1
INLINE f32 stream_dot_part(const GLOBAL storage *a, const GLOBAL storage *b, u64 n)
{
    const u64 begin = CHUNK_BEGIN(n), end = CHUNK_END(n);
    const u64 whole = begin + STRIPE_WHOLE(end - begin);
    f32 sum[STRIPES];

    UNROLL
    for (u32 j = 0; j < STRIPES; ++j)
        sum[j] = 0.0f;
    for (u64 at = begin; at < whole; at += STRIPES) {
        UNROLL
        for (u32 j = 0; j < STRIPES; ++j)
            sum[j] = F_FMA(LOAD(a, STRIPE(at, j)), LOAD(b, STRIPE(at, j)), sum[j]);
    }
    for (u64 i = whole; i < end; ++i)
        sum[0] = F_FMA(LOAD(a, i), LOAD(b, i), sum[0]);
    return stripes_sum(sum);
}
#else
#define DOT_PACKS (SUMS / PACK) /* of a step */
INLINE f32 stream_dot_part(const GLOBAL storage *a, const GLOBAL storage *b, u64 n)
{
    const u64 apart = PACKS_APART, last = n / PACK * PACK;
    f32 sums[SUMS];

    sums_clear(sums);
    for (u64 at = FIRST_PACK; at < last; at += DOT_PACKS * apart) {
        UNROLL
        for (u32 p = 0; p < DOT_PACKS; ++p)
            if (at + p * apart < last) {
                const pack x = pack_load(a + at + p * apart), y = pack_load(b + at + p * apart);

                PACK_EACH(j)
                sums[SUM_OF(p, j)] = F_FMA(LOAD(x.part, j), LOAD(y.part, j), sums[SUM_OF(p, j)]);
            }
    }
    EACH_REST(i, n)
    sums[0] = F_FMA(LOAD(a, i), LOAD(b, i), sums[0]);
    return sums_total(sums);
}
#endif

/* One partial sum a group; stream_dot_finish adds them up. */
KERNEL(stream_dot, const GLOBAL storage *RESTRICT a, const GLOBAL storage *RESTRICT b,
       GLOBAL f32 *RESTRICT partial, u64 n)
{
    f32 total = stream_dot_part(a, b, n);
    GROUP_SCRATCH;

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
#endif
