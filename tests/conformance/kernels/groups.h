/* Collectives, barriers, local arrays and chunks. */

/* Every lane writes its result, so that a differing lane is detected. */
KERNEL(collectives, GLOBAL f32 *RESTRICT sums, GLOBAL f32 *RESTRICT maxima,
       const GLOBAL f32 *RESTRICT in, u64 n)
{
    GROUP_SCRATCH;
    const u64 end = CHUNK_END(n);
    f32 sum = 0.0f, maximum = -INFINITY;

    for (u64 i = CHUNK_BEGIN(n) + LANE; i < end; i += LANES) {
        sum += in[i];
        maximum = F_MAX(maximum, in[i]);
    }
    sums[GROUP * LANES + LANE] = GROUP_SUM(sum);
    maxima[GROUP * LANES + LANE] = GROUP_MAX(maximum);
}

/* Collectives in a row and in a loop, the scratch used again at once. */
KERNEL(collectives_again, GLOBAL f32 *RESTRICT out, u32 rounds)
{
    GROUP_SCRATCH;
    f32 total = 0.0f;

    for (u32 r = 0; r < rounds; r++) {
        const f32 x = (f32)(LANE + r);

        total += GROUP_SUM(x) - GROUP_MAX(x);
        total += GROUP_SUM(1.0f);
    }
    out[GROUP * LANES + LANE] = total;
}

/* Two local arrays and the order that a barrier gives. */
KERNEL(reverse, GLOBAL u32 *RESTRICT out, const GLOBAL u32 *RESTRICT in)
{
    LOCAL_ARRAY(u32, shelf, LANES);
    LOCAL_ARRAY(u32, other, 2 * LANES);

    shelf[LANE] = in[GROUP * LANES + LANE];
    BARRIER();
    other[2 * LANE] = shelf[LANES - 1 - LANE];
    other[2 * LANE + 1] = 7u;
    BARRIER();
    out[GROUP * LANES + LANE] = other[2 * ((LANE + 1) % LANES)] + other[2 * LANE + 1];
}

/* What a lane wrote to global memory before a barrier is visible to its group after it. */
KERNEL(global_fence, GLOBAL u32 *out, u32 rounds)
{
    GLOBAL u32 *mine = out + GROUP * LANES;

    mine[LANE] = (u32)LANE;
    for (u32 r = 0; r < rounds; r++) {
        BARRIER();
        const u32 next = mine[(LANE + 1) % LANES];
        BARRIER();
        mine[LANE] = next;
    }
}

KERNEL(chunks, GLOBAL u64 *RESTRICT begins, GLOBAL u64 *RESTRICT ends, u64 n)
{
    if (LANE == 0) {
        begins[GROUP] = CHUNK_BEGIN(n);
        ends[GROUP] = CHUNK_END(n);
    }
}
