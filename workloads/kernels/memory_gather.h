/* out[t] = table[index[t]]: an embedding's lookup. table [vocabulary, dimension], index [count]. */
KERNEL(memory_gather, const GLOBAL storage *RESTRICT table, const GLOBAL u32 *RESTRICT index,
       GLOBAL storage *RESTRICT out, u64 count, u64 dimension)
{
    const u64 end = ROWS_END(count);

    for (u64 t = ROWS_BEGIN(count); t < end; ++t) {
        const GLOBAL storage *RESTRICT from = table + index[t] * dimension;
        GLOBAL storage *RESTRICT to = out + t * dimension;

        for (u64 i = LANE; i < dimension; i += LANES)
            STORE(to, i, LOAD(from, i));
    }
}
