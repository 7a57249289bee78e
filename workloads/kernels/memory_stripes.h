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

/* The greater of two; unlike fmax, one vector instruction on every CPU. */
#define F_GREATER(a, b) ((a) > (b) ? (a) : (b))

/* Sum of this lane's accumulators, as a tree; leaves them changed. */
INLINE f32 stripes_sum(f32 *stripes)
{
    UNROLL
    for (u32 width = STRIPES / 2; width > 0; width /= 2) {
        UNROLL
        for (u32 j = 0; j < width; ++j)
            stripes[j] += stripes[j + width];
    }
    return stripes[0];
}

INLINE f32 stripes_max(f32 *stripes)
{
    UNROLL
    for (u32 width = STRIPES / 2; width > 0; width /= 2) {
        UNROLL
        for (u32 j = 0; j < width; ++j)
            stripes[j] = F_GREATER(stripes[j + width], stripes[j]);
    }
    return stripes[0];
}

/* Rows are dealt to groups in contiguous runs. */
#define ROWS_BEGIN(rows) ((rows)*GROUP / GROUPS)
#define ROWS_END(rows) ((rows) * (GROUP + 1) / GROUPS)
