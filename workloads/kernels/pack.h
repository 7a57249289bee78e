/*
 * How lanes share elements. Many lanes take packs of 16 bytes, neighbours side by side, and groups
 * follow each other through memory: with 4 bytes a lane an H200 moved 3.0 of its 4.2 TB/s. A pack
 * is one element unless the module's define PACKED is 1, which says that every array and every row
 * begins at a multiple of 16 bytes. A single lane has a chunk of its own, whose loop is the
 * compiler's to vectorize.
 */
#if LANES > 1 && PACKED
#define PACK (16 / (u32)sizeof(storage))
#define PACK_PUT(to, words) STORE_U32X4((GLOBAL u32x4 *)(to), words)
typedef u32x4 pack_words;
typedef union {
    u32x4 words[(PACK + 3) / 4];
    f32 part[PACK];
} floats;
#else
#define PACK 1
#define PACK_PUT(to, words) (*(to) = (words))
typedef storage pack_words;
typedef union {
    f32 words[1];
    f32 part[1];
} floats;
#endif
/* LOAD(x.part, j) and STORE(x.part, j, v) for j < PACK. */
typedef union {
    pack_words words;
    storage part[PACK];
} pack;

INLINE pack pack_load(const GLOBAL storage *from)
{
    pack ret;

    ret.words = *(const GLOBAL pack_words *)from;
    return ret;
}

INLINE void pack_store(GLOBAL storage *to, pack x)
{
    PACK_PUT(to, x.words);
}

/* As many f32 as a pack has elements. */
#if LANES > 1 && PACKED
INLINE floats floats_load(const GLOBAL f32 *from)
{
    floats ret;

    UNROLL
    for (u32 k = 0; k < (PACK + 3) / 4; ++k)
        ret.words[k] = ((const GLOBAL u32x4 *)from)[k];
    return ret;
}

INLINE void floats_store(GLOBAL f32 *to, floats x)
{
    UNROLL
    for (u32 k = 0; k < (PACK + 3) / 4; ++k)
        STORE_U32X4((GLOBAL u32x4 *)to + k, x.words[k]);
}
#else
INLINE floats floats_load(const GLOBAL f32 *from)
{
    floats ret;

    ret.part[0] = *from;
    return ret;
}

INLINE void floats_store(GLOBAL f32 *to, floats x)
{
    *to = x.part[0];
}
#endif

/*
 * Loops over the packs of n elements that are this lane's, and over single elements that follow the
 * last whole pack. `i` is the first element.
 */
#if LANES == 1
#define EACH_PACK(i, n) for (u64 i = CHUNK_BEGIN(n), end_ = CHUNK_END(n); i < end_; ++i)
#define EACH_REST(i, n) for (u64 i = (n); i < (n); ++i)
#else
#define PACKS_APART (GROUPS * LANES * PACK)
#define FIRST_PACK ((GROUP * LANES + LANE) * PACK)
#define EACH_PACK(i, n) for (u64 i = FIRST_PACK; i + PACK <= (n); i += PACKS_APART)
#define EACH_REST(i, n)                                                                            \
    for (u64 i = (n) / PACK * PACK + GROUP * LANES + LANE; i < (n); i += GROUPS * LANES)
#endif
#define PACK_EACH(j)                                                                               \
    UNROLL                                                                                         \
    for (u32 j = 0; j < PACK; ++j)

#if LANES > 1 && !defined(NUMBER_F64)
/*
 * A row of `columns` elements among the lanes of a group: the first KEPT packs of each lane (a
 * define of the module) stay in registers between passes, further ones are read again from a cache.
 * ROW_EACH runs `body` with the pack `in`, the place `at` of its first element, and `p`, a number
 * to tell accumulators apart. Sums have SUMS of them, at least four, which bounds their chains.
 */
#define ROW_AT(p) (((u64)(p)*LANES + LANE) * PACK)
#define SUMS (PACK > 4 ? PACK : 4)
#define SUM_OF(p, j) (((p)*PACK + (j)) % SUMS)

INLINE void row_keep(pack *kept, const GLOBAL storage *row, u64 columns)
{
    UNROLL
    for (u32 p = 0; p < KEPT; ++p)
        if (ROW_AT(p) < columns)
            kept[p] = pack_load(row + ROW_AT(p));
}

#define ROW_EACH(row, kept, columns, body)                                                         \
    do {                                                                                           \
        UNROLL                                                                                     \
        for (u32 p = 0; p < KEPT; ++p) {                                                           \
            const u64 at = ROW_AT(p);                                                              \
                                                                                                   \
            if (at < (columns)) {                                                                  \
                const pack in = (kept)[p];                                                         \
                body                                                                               \
            }                                                                                      \
        }                                                                                          \
        for (u64 q_ = KEPT; ROW_AT(q_) < (columns); q_ += 4) {                                     \
            UNROLL                                                                                 \
            for (u32 p = 0; p < 4; ++p) {                                                          \
                const u64 at = ROW_AT(q_ + p);                                                     \
                                                                                                   \
                if (at < (columns)) {                                                              \
                    const pack in = pack_load((row) + at);                                         \
                    body                                                                           \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    } while (0)

INLINE f32 sums_total(const f32 *sums)
{
    f32 ret = sums[0];

    UNROLL
    for (u32 s = 1; s < SUMS; ++s)
        ret += sums[s];
    return ret;
}

INLINE void sums_clear(f32 *sums)
{
    UNROLL
    for (u32 s = 0; s < SUMS; ++s)
        sums[s] = 0.0f;
}

/* This lane's part of the row's sum. */
INLINE f32 row_sum(const pack *kept, const GLOBAL storage *row, u64 columns)
{
    f32 sums[SUMS];

    sums_clear(sums);
    ROW_EACH(row, kept, columns, PACK_EACH(j) sums[SUM_OF(p, j)] += LOAD(in.part, j););
    return sums_total(sums);
}

/* This lane's part of the squared deviations from `mean`. */
INLINE f32 row_squares(const pack *kept, const GLOBAL storage *row, u64 columns, f32 mean)
{
    f32 sums[SUMS];

    sums_clear(sums);
    ROW_EACH(
        row, kept, columns, PACK_EACH(j) {
            const f32 deviation = LOAD(in.part, j) - mean;

            sums[SUM_OF(p, j)] = F_FMA(deviation, deviation, sums[SUM_OF(p, j)]);
        });
    return sums_total(sums);
}
#endif
