/* out[t] = table[index[t]]: an embedding's lookup. table [vocabulary, dimension], index [count]. */
KERNEL(memory_gather, const GLOBAL storage *RESTRICT table, const GLOBAL u32 *RESTRICT index,
       GLOBAL storage *RESTRICT out, u64 count, u64 dimension)
{
    for (u64 t = ROWS_BEGIN(count); t < ROWS_END(count); ++t) {
        const GLOBAL storage *RESTRICT from = table + index[t] * dimension;
        GLOBAL storage *RESTRICT to = out + t * dimension;

        for (u64 i = LANE * PACK; i < dimension; i += LANES * PACK)
            pack_store(to + i, pack_load(from + i));
    }
}
