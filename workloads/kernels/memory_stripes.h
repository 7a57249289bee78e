/* What streams compute in: f64 where that is stored, else f32. */
#ifdef NUMBER_F64
#ifndef HAVE_F64
#error "this device has no f64"
#endif
#define LOAD_F64(p, i) ((p)[i])
#define STORE_F64(p, i, v) ((p)[i] = (v))
typedef f64 number;
#else
typedef f32 number;
#endif

/*
 * A single lane takes a row STRIPES elements at a time, each with an accumulator of its own: sums
 * may not be reordered, so it needs that many independent ones for the compiler to fill its
 * vectors. Many lanes have the packs of pack.h, which this file is joined behind.
 */
#if LANES == 1
#define STRIPES 32
#define STRIPE(at, j) ((at) + (u64)(j))
/* Part of n elements that whole steps cover; the rest goes element by element. */
#define STRIPE_WHOLE(n) ((n) / STRIPES * STRIPES)
#endif

/* Writes `term`, an expression in `number x` from a (and y from b), to each element of `out`. */
#define STREAM_1(n, a, out, term)                                                                  \
    do {                                                                                           \
        EACH_PACK(i, n)                                                                            \
        {                                                                                          \
            const pack a_ = pack_load((a) + i);                                                    \
            pack out_;                                                                             \
                                                                                                   \
            PACK_EACH(j)                                                                           \
            {                                                                                      \
                const number x = LOAD(a_.part, j);                                                 \
                                                                                                   \
                STORE(out_.part, j, (term));                                                       \
            }                                                                                      \
            pack_store((out) + i, out_);                                                           \
        }                                                                                          \
        EACH_REST(i, n)                                                                            \
        {                                                                                          \
            const number x = LOAD(a, i);                                                           \
                                                                                                   \
            STORE(out, i, (term));                                                                 \
        }                                                                                          \
    } while (0)

#define STREAM_2(n, a, b, out, term)                                                               \
    do {                                                                                           \
        EACH_PACK(i, n)                                                                            \
        {                                                                                          \
            const pack a_ = pack_load((a) + i), b_ = pack_load((b) + i);                           \
            pack out_;                                                                             \
                                                                                                   \
            PACK_EACH(j)                                                                           \
            {                                                                                      \
                const number x = LOAD(a_.part, j), y = LOAD(b_.part, j);                           \
                                                                                                   \
                STORE(out_.part, j, (term));                                                       \
            }                                                                                      \
            pack_store((out) + i, out_);                                                           \
        }                                                                                          \
        EACH_REST(i, n)                                                                            \
        {                                                                                          \
            const number x = LOAD(a, i), y = LOAD(b, i);                                           \
                                                                                                   \
            STORE(out, i, (term));                                                                 \
        }                                                                                          \
    } while (0)

/* The greater of two; unlike fmax, one vector instruction on every CPU. */
#define F_GREATER(a, b) ((a) > (b) ? (a) : (b))

#if LANES == 1
/*
 * Folds the upper half of 2 * width stripes onto the lower, where there are so many. A width is
 * written out at each call: gcc makes one vector instruction of it, and of a loop over widths a
 * walk through memory.
 */
#define STRIPES_FOLD(fold, stripes, width)                                                         \
    do {                                                                                           \
        UNROLL                                                                                     \
        for (u32 j = 0; j < (width) && STRIPES > (width); ++j)                                     \
            stripes[j] = fold(stripes[j + (width)], stripes[j]);                                   \
    } while (0)
#define STRIPES_FOLD_ALL(fold, stripes)                                                            \
    do {                                                                                           \
        STRIPES_FOLD(fold, stripes, 16);                                                           \
        STRIPES_FOLD(fold, stripes, 8);                                                            \
        STRIPES_FOLD(fold, stripes, 4);                                                            \
        STRIPES_FOLD(fold, stripes, 2);                                                            \
        STRIPES_FOLD(fold, stripes, 1);                                                            \
    } while (0)
#define F_SUM(a, b) ((a) + (b))

/* Sum of this lane's accumulators, as a tree; leaves them changed. */
INLINE f32 stripes_sum(f32 *stripes)
{
    STRIPES_FOLD_ALL(F_SUM, stripes);
    return stripes[0];
}

INLINE f32 stripes_max(f32 *stripes)
{
    STRIPES_FOLD_ALL(F_GREATER, stripes);
    return stripes[0];
}
#endif

/* Rows are dealt to groups in contiguous runs: those of a single lane. */
#define ROWS_BEGIN(rows) ((rows)*GROUP / GROUPS)
#define ROWS_END(rows) ((rows) * (GROUP + 1) / GROUPS)
