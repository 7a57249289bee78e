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
 * How the memory-bound kernels share a row or a chunk among lanes. A step takes STRIPES elements a
 * lane, each with an accumulator of its own: sums may not be reordered, so a single lane needs that
 * many independent ones for the compiler to fill its vectors, and many lanes need a few loads in
 * flight each. The elements of a step lie LANES apart, so that neighbouring lanes read neighbours.
 */
#if LANES == 1
#define STRIPES 32
#else
#define STRIPES 4
#endif
#define STRIPE_SPAN (STRIPES * LANES)

/* Index of stripe j in the step that begins at `at`. */
#define STRIPE(at, j) ((at) + (u64)(j)*LANES + LANE)

/* Part of n elements that whole steps cover; the rest goes element by element, LANES apart. */
#define STRIPE_WHOLE(n) ((n) / STRIPE_SPAN * STRIPE_SPAN)

/*
 * Writes `term`, an expression in u64 i, to element i of `out` for a group's share of n. Many lanes
 * take a step at once, all its loads before its stores: one load a lane in flight does not fill the
 * memory of a large GPU (an H100 moved 2.3 of 3.0 TB/s so). A single lane's loop is the compiler's
 * to vectorize.
 */
#if LANES == 1
#define STREAM_OVER(n, out, term)                                                                  \
    do {                                                                                           \
        const u64 end_ = CHUNK_END(n);                                                             \
                                                                                                   \
        for (u64 i = CHUNK_BEGIN(n); i < end_; i++)                                                \
            STORE(out, i, (term));                                                                 \
    } while (0)
#else
#define STREAM_OVER(n, out, term)                                                                  \
    do {                                                                                           \
        const u64 begin_ = CHUNK_BEGIN(n), end_ = CHUNK_END(n);                                    \
        const u64 whole_ = begin_ + STRIPE_WHOLE(end_ - begin_);                                   \
                                                                                                   \
        for (u64 at_ = begin_; at_ < whole_; at_ += STRIPE_SPAN) {                                 \
            number value_[STRIPES];                                                                \
                                                                                                   \
            UNROLL                                                                                 \
            for (u32 j_ = 0; j_ < STRIPES; ++j_) {                                                 \
                const u64 i = STRIPE(at_, j_);                                                     \
                                                                                                   \
                value_[j_] = (term);                                                               \
            }                                                                                      \
            UNROLL                                                                                 \
            for (u32 j_ = 0; j_ < STRIPES; ++j_)                                                   \
                STORE(out, STRIPE(at_, j_), value_[j_]);                                           \
        }                                                                                          \
        for (u64 i = whole_ + LANE; i < end_; i += LANES)                                          \
            STORE(out, i, (term));                                                                 \
    } while (0)
#endif

/* The greater of two; unlike fmax, one vector instruction on every CPU. */
#define F_GREATER(a, b) ((a) > (b) ? (a) : (b))

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

/* Rows are dealt to groups in contiguous runs. */
#define ROWS_BEGIN(rows) ((rows)*GROUP / GROUPS)
#define ROWS_END(rows) ((rows) * (GROUP + 1) / GROUPS)
