/*
 * How lanes share elements. Many lanes take packs of 16 bytes, neighbours side by side, and groups
 * follow each other through memory: with 4 bytes a lane an H200 moved 3.0 of its 4.2 TB/s. The
 * module's define PACK is how many elements a pack has: 16 bytes of them where every array and
 * every row begins at a multiple of that, else one; and one for a single lane, which has a chunk of
 * its own, whose loop is the compiler's to vectorize.
 */
/* LOAD(x.part, j) and STORE(x.part, j, v) for j < PACK; and as many f32 as a pack has elements. */
typedef struct {
    storage part[PACK];
} pack;
typedef struct {
    f32 part[PACK];
} floats;

/* Bits are taken apart by shifts, since an interpreter of kernels has no integers of 16 bytes. */
INLINE f32 f32_of_bits(u32 bits)
{
    union {
        u32 bits;
        f32 value;
    } both;

    both.bits = bits;
    return both.value;
}

INLINE u32 bits_of_f32(f32 value)
{
    union {
        f32 value;
        u32 bits;
    } both;

    both.value = value;
    return both.bits;
}

#if PACK >= 4
INLINE void quad_load(const GLOBAL f32 *from, f32 *ret)
{
    const u32x4 words = *(const GLOBAL u32x4 *)from;

    ret[0] = f32_of_bits(words.x);
    ret[1] = f32_of_bits(words.y);
    ret[2] = f32_of_bits(words.z);
    ret[3] = f32_of_bits(words.w);
}

INLINE void quad_store(GLOBAL f32 *to, const f32 *x)
{
    u32x4 words;

    words.x = bits_of_f32(x[0]);
    words.y = bits_of_f32(x[1]);
    words.z = bits_of_f32(x[2]);
    words.w = bits_of_f32(x[3]);
    STORE_U32X4((GLOBAL u32x4 *)to, words);
}
#endif

#if PACK == 8 /* 2 bytes an element */
#define HALVES(at, word)                                                                           \
    do {                                                                                           \
        ret.part[at] = (storage)((word)&0xffffu);                                                  \
        ret.part[(at) + 1] = (storage)((word) >> 16);                                              \
    } while (0)
#define WORD(at) ((u32)x.part[at] | (u32)x.part[(at) + 1] << 16)
INLINE pack pack_load(const GLOBAL storage *from)
{
    const u32x4 words = *(const GLOBAL u32x4 *)from;
    pack ret;

    HALVES(0, words.x);
    HALVES(2, words.y);
    HALVES(4, words.z);
    HALVES(6, words.w);
    return ret;
}

INLINE void pack_store(GLOBAL storage *to, pack x)
{
    u32x4 words;

    words.x = WORD(0);
    words.y = WORD(2);
    words.z = WORD(4);
    words.w = WORD(6);
    STORE_U32X4((GLOBAL u32x4 *)to, words);
}
#elif PACK == 4
INLINE pack pack_load(const GLOBAL storage *from)
{
    pack ret;

    quad_load(from, ret.part);
    return ret;
}

INLINE void pack_store(GLOBAL storage *to, pack x)
{
    quad_store(to, x.part);
}
#elif PACK == 2 /* f64 */
INLINE f64 f64_of_bits(u32 low, u32 high)
{
    union {
        u64 bits;
        f64 value;
    } both;

    both.bits = (u64)low | (u64)high << 32;
    return both.value;
}

INLINE u64 bits_of_f64(f64 value)
{
    union {
        f64 value;
        u64 bits;
    } both;

    both.value = value;
    return both.bits;
}

INLINE pack pack_load(const GLOBAL storage *from)
{
    const u32x4 words = *(const GLOBAL u32x4 *)from;
    pack ret;

    ret.part[0] = f64_of_bits(words.x, words.y);
    ret.part[1] = f64_of_bits(words.z, words.w);
    return ret;
}

INLINE void pack_store(GLOBAL storage *to, pack x)
{
    const u64 low = bits_of_f64(x.part[0]), high = bits_of_f64(x.part[1]);
    u32x4 words;

    words.x = (u32)low;
    words.y = (u32)(low >> 32);
    words.z = (u32)high;
    words.w = (u32)(high >> 32);
    STORE_U32X4((GLOBAL u32x4 *)to, words);
}
#else
INLINE pack pack_load(const GLOBAL storage *from)
{
    pack ret;

    UNROLL
    for (u32 j = 0; j < PACK; ++j)
        ret.part[j] = from[j];
    return ret;
}

INLINE void pack_store(GLOBAL storage *to, pack x)
{
    UNROLL
    for (u32 j = 0; j < PACK; ++j)
        to[j] = x.part[j];
}
#endif

INLINE floats floats_load(const GLOBAL f32 *from)
{
    floats ret;

#if PACK < 4
    for (u32 j = 0; j < PACK; ++j)
        ret.part[j] = from[j];
#else
    UNROLL
    for (u32 k = 0; k < PACK; k += 4)
        quad_load(from + k, ret.part + k);
#endif
    return ret;
}

INLINE void floats_store(GLOBAL f32 *to, floats x)
{
#if PACK < 4
    for (u32 j = 0; j < PACK; ++j)
        to[j] = x.part[j];
#else
    UNROLL
    for (u32 k = 0; k < PACK; k += 4)
        quad_store(to + k, x.part + k);
#endif
}

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
