/*
 * The reference loop: work that never changes, run between samples, so that a rate can be told as a
 * ratio to what the same processors gave it at the same time. Not to be edited: with another text
 * ratios no longer compare.
 */
#define REFERENCE_CHAINS 32

/* Memory: n elements read and n written. */
KERNEL(reference_memory, const GLOBAL f32 *RESTRICT from, GLOBAL f32 *RESTRICT to, u64 n)
{
    const u64 end = CHUNK_END(n);

    for (u64 i = CHUNK_BEGIN(n) + LANE; i < end; i += LANES)
        to[i] = from[i];
}

/* Arithmetic: a group makes n steps of REFERENCE_CHAINS fused multiply-adds, which stay near 1. */
KERNEL(reference_arithmetic, const GLOBAL f32 *RESTRICT from, GLOBAL f32 *RESTRICT to, u64 n)
{
    const f32 x = from[GROUP];
    f32 chain[REFERENCE_CHAINS];
    f32 sum = 0.0f;

    for (u32 k = 0; k < REFERENCE_CHAINS; k++)
        chain[k] = x + 0.001f * (f32)k;
    for (u64 i = 0; i < n; i++)
        for (u32 k = 0; k < REFERENCE_CHAINS; k++)
            chain[k] = F_FMA(chain[k], 0.5f, 0.5f);
    for (u32 k = 0; k < REFERENCE_CHAINS; k++)
        sum += chain[k];
    if (LANE == 0)
        to[GROUP] = sum;
}
