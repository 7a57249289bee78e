/* Copies `source` to `target`: something to launch when the tool itself is under test. */
KERNEL(synthetic_touch, const GLOBAL f32 *RESTRICT source, GLOBAL f32 *RESTRICT target, u64 n)
{
    const u64 end = CHUNK_END(n);

    for (u64 i = CHUNK_BEGIN(n) + LANE; i < end; i += LANES)
        target[i] = source[i];
}
