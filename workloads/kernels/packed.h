/*
 * Weights in few bits (workloads/data/format.h): made in place by position, and their products with
 * few rows, for which the time is that of reading the codes. Joined behind fold.h and vector.h.
 *
 * A matrix is (n outputs, k inputs). The codes of an output lie in tiles of WORDS words, the last
 * one of as many as it needs; of a tile with w words, element i is in word i % w, field i / w, the
 * lowest bits first. So a vector of words has a vector of elements in each field. BLOCK_ROWS and
 * BLOCK_COLS are those of a scale's block, BLOCK_COLS 0 for all; scales lie as (blocks of outputs,
 * blocks of inputs). x and y have ROWS rows at most in one pass over the codes.
 */
#define INT8 1
#define INT4 2
#define E4M3 3
#define E2M1 4
#define SCALE_MATRIX 1
#define SCALE_F32 2
#define SCALE_F16 3
#define SCALE_E8M0 4
#define SCALE_E4M3 5

#if ELEMENT_KIND == INT4 || ELEMENT_KIND == E2M1
#define BITS 4
#else
#define BITS 8
#endif
#define MASK ((1u << BITS) - 1u)
#define FIELDS (32 / BITS)
#define WORDS 16
#define TILE (WORDS * FIELDS)
/* Fields of a whole tile that have one scale. */
#if BLOCK_COLS == 0 || BLOCK_COLS >= TILE
#define FIELDS_ALIKE FIELDS
#else
#define FIELDS_ALIKE (BLOCK_COLS / WORDS)
#endif

INLINE f32 packed_float(u32 bits)
{
    union {
        u32 bits;
        f32 value;
    } both;

    both.bits = bits;
    return both.value;
}

INLINE u32 packed_bits(f32 value)
{
    union {
        f32 value;
        u32 bits;
    } both;

    both.value = value;
    return both.bits;
}

/* To nearest even, below 2^22. */
INLINE f32 packed_round(f32 x)
{
    return (x + 12582912.0f) - 12582912.0f;
}

/*
 * The number at a position: the sum of four uniform 16-bit numbers around its mean, times `step`,
 * by SplitMix64's finaliser over a keyed counter (harness/core/random.h, random_keyed).
 */
INLINE f32 packed_number(u64 key, u64 index, f32 mean, f32 step)
{
    u64 z = key + 0x9e3779b97f4a7c15ul * (index + 1);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
    z ^= z >> 31;
    z = (z & 0x0000ffff0000fffful) + ((z >> 16) & 0x0000ffff0000fffful);
    return mean + step * (f32)((i32)((u32)z + (u32)(z >> 32)) - 131070);
}

/* ---- codes ---- */

INLINE u32 packed_e4m3(f32 x)
{
    const f32 magnitude = F_FABS(x);
    const u32 bits = packed_bits(magnitude);
    const u32 normal = ((bits + 0x7ffffu + ((bits >> 20) & 1u)) >> 20) - (120u << 3);
    const u32 small = (u32)(i32)packed_round(magnitude * 512.0f);
    const u32 code = magnitude < 0.015625f ? small : normal < 0x7eu ? normal : 0x7eu;

    return magnitude < 448.0f ? code : 0x7eu;
}

INLINE f32 packed_of_e4m3(u32 magnitude)
{
    return magnitude < 8u ? (f32)(i32)magnitude * 0.001953125f
                          : packed_float((magnitude + (120u << 3)) << 20);
}

/* Halves: 0, 1, 2, 3, 4, 6, 8, 12. All are computed first, so that loops vectorize. */
INLINE u32 packed_e2m1(f32 magnitude)
{
    const f32 x = magnitude < 6.0f ? magnitude : 6.0f;
    const f32 fine = packed_round(2.0f * x), middle = 2.0f * packed_round(x);
    const f32 coarse = 4.0f * packed_round(0.5f * x);
    const i32 halves = (i32)(x < 2.0f ? fine : x < 4.0f ? middle : coarse);
    const i32 two = 2 + halves / 2, four = 4 + halves / 4;

    return (u32)(halves < 4 ? halves : halves < 8 ? two : four);
}

INLINE u32 packed_encode(f32 x)
{
#if ELEMENT_KIND == INT8
    return (u32)(i32)F_MAX(-127.0f, F_MIN(127.0f, packed_round(x))) & 0xffu;
#elif ELEMENT_KIND == INT4
    return (u32)((i32)F_MAX(-7.0f, F_MIN(7.0f, packed_round(x))) + 8);
#elif ELEMENT_KIND == E4M3
    return packed_e4m3(x) | (packed_bits(x) >> 31) << 7;
#else
    return packed_e2m1(F_FABS(x)) | (packed_bits(x) >> 31) << 3;
#endif
}

INLINE f32 packed_decode(u32 code)
{
#if ELEMENT_KIND == INT8
    return (f32)(i32)(i8)code;
#elif ELEMENT_KIND == INT4
    return (f32)((i32)code - 8);
#elif ELEMENT_KIND == E4M3
    const f32 magnitude = packed_of_e4m3(code & 0x7fu);

    return packed_float(packed_bits(magnitude) | (code & 0x80u) << 24);
#else
    const u32 magnitude = code & 7u;
    const u32 small = magnitude == 0u ? 0u : 0x3f000000u; /* 0 and 0.5 */

    return packed_float((magnitude < 2u ? small : (magnitude + 252u) << 22) | (code & 8u) << 28);
#endif
}

/* ---- scales ---- */

#if ELEMENT_KIND == INT8
#define LARGEST 127.0f
#elif ELEMENT_KIND == INT4
#define LARGEST 7.0f
#elif ELEMENT_KIND == E4M3
#define LARGEST 448.0f
#define LARGEST_EXPONENT 8
#else
#define LARGEST 6.0f
#define LARGEST_EXPONENT 2
#endif

#if SCALE_KIND == SCALE_F32
#define SCALE_TYPE f32
#elif SCALE_KIND == SCALE_F16
#define SCALE_TYPE store_f16
#else
#define SCALE_TYPE u8
#endif

/* What codes of block `at` are multiplied with. */
INLINE f32 packed_scale(const GLOBAL SCALE_TYPE *scales, u64 at, f32 matrix)
{
#if SCALE_KIND == SCALE_MATRIX
    return matrix;
#elif SCALE_KIND == SCALE_F32
    return scales[at];
#elif SCALE_KIND == SCALE_F16
    return LOAD_F16(scales, at);
#elif SCALE_KIND == SCALE_E8M0
    return packed_float((u32)scales[at] << 23);
#else
    return packed_of_e4m3(scales[at]) * matrix;
#endif
}

/* By the format's rule, from the largest magnitude of the block. */
INLINE void packed_put_scale(GLOBAL SCALE_TYPE *scales, u64 at, f32 largest, f32 matrix)
{
#if SCALE_KIND == SCALE_F32
    scales[at] = largest / LARGEST;
#elif SCALE_KIND == SCALE_F16
    STORE_F16(scales, at, largest / LARGEST);
#elif SCALE_KIND == SCALE_E8M0
    const i32 exponent = (i32)(packed_bits(largest) >> 23) - LARGEST_EXPONENT;

    scales[at] = (u8)(exponent > 1 ? exponent : 1);
#elif SCALE_KIND == SCALE_E4M3
    scales[at] = (u8)packed_e4m3(largest / LARGEST / matrix);
#endif
}

/* ---- made in place ---- */

/* Numbers by position into an array of the storage type. */
KERNEL(packed_fill, GLOBAL storage *y, u64 y_offset, u64 count, u64 key, f32 mean, f32 step)
{
    const u64 end = CHUNK_END(count);

    y += y_offset;
    for (u64 i = CHUNK_BEGIN(count) + LANE; i < end; i += LANES)
        STORE(y, i, packed_number(key, i, mean, step));
}

/* Element (o, i) of a matrix is number o k + i; a group makes the scale of a block. */
KERNEL(packed_scales, GLOBAL SCALE_TYPE *scales, u64 n, u64 k, u64 key, f32 step, f32 matrix)
{
    GROUP_SCRATCH;
    const u64 columns = BLOCK_COLS == 0 ? k : BLOCK_COLS, across = k / columns;
    const u64 blocks = (n + BLOCK_ROWS - 1) / BLOCK_ROWS * across;

    for (u64 b = GROUP; b < blocks; b += GROUPS) {
        const u64 o0 = b / across * BLOCK_ROWS, i0 = b % across * columns;
        const u64 end = n - o0 < BLOCK_ROWS ? n : o0 + BLOCK_ROWS;
        f32 largest = 0.0f;

        for (u64 o = o0; o < end; o++) {
            f32 of_row;

            MAX_OVER(of_row, columns, F_FABS(packed_number(key, o * k + i0 + i, 0.0f, step)));
            largest = F_MAX(largest, of_row);
        }
        if (LANE == 0)
            packed_put_scale(scales, b, largest, matrix);
    }
}

/* Where the scale of output o begins, and that of its input p. */
#define BLOCKS_ACROSS (BLOCK_COLS == 0 ? 1 : k / (BLOCK_COLS == 0 ? 1 : BLOCK_COLS))
#define SCALE_AT(o, p)                                                                             \
    ((o) / BLOCK_ROWS * BLOCKS_ACROSS +                                                            \
     (BLOCK_COLS == 0 ? 0 : (p) / (BLOCK_COLS == 0 ? 1 : BLOCK_COLS)))
/* Words of the tile that begins at input p. */
#define WORDS_AT(p) (k - (p) < TILE ? (k - (p)) / FIELDS : WORDS)

/* What elements are multiplied with before they are encoded. */
INLINE f32 packed_inverse(const GLOBAL SCALE_TYPE *scales, u64 at, f32 matrix)
{
    const f32 scale = packed_scale(scales, at, matrix);

    return scale > 0.0f ? 1.0f / scale : 0.0f;
}

/* Field f of `count` words, whose elements begin at number `at` and have one scale. */
INLINE void packed_put(GLOBAL u32 *to, u32 count, u32 f, u64 key, u64 at, f32 step, f32 inverse)
{
    for (u32 w = (u32)LANE; w < count; w += LANES) {
        const u32 code = packed_encode(packed_number(key, at + w, 0.0f, step) * inverse);

        to[w] = (f == 0 ? 0u : to[w]) | code << f * BITS;
    }
}

KERNEL(packed_codes, GLOBAL u32 *codes, const GLOBAL SCALE_TYPE *scales, u64 n, u64 k, u64 key,
       f32 step, f32 matrix)
{
    const u64 tiles = (k + TILE - 1) / TILE;

    for (u64 t = GROUP; t < n * tiles; t += GROUPS) {
        const u64 o = t / tiles, p = t % tiles * TILE, words = WORDS_AT(p);
        GLOBAL u32 *to = codes + (o * k + p) / FIELDS;

        for (u32 f = 0; f < FIELDS; f++) {
            const u64 first = p + f * words;

            if (words == WORDS)
                packed_put(to, WORDS, f, key, o * k + first, step,
                           packed_inverse(scales, SCALE_AT(o, first), matrix));
            for (u64 w = 0; words < WORDS && w < words; w += 4) /* blocks may begin at any four */
                packed_put(to + w, 4, f, key, o * k + first + w, step,
                           packed_inverse(scales, SCALE_AT(o, first + w), matrix));
        }
    }
}

/* ---- products ---- */

/* What is narrow is widened once, not by every output. */
KERNEL(packed_widen, const GLOBAL storage *x, GLOBAL f32 *y, u64 x_offset, u64 count)
{
    const u64 end = CHUNK_END(count);

    x += x_offset;
    for (u64 i = CHUNK_BEGIN(count) + LANE; i < end; i += LANES)
        y[i] = LOAD(x, i);
}

/* bias and d count where they are wanted: 1 and 2 of `shape`. */
#define PACKED_PARAMETERS                                                                          \
    const GLOBAL f32 *x, const GLOBAL u32 *codes, const GLOBAL SCALE_TYPE *scales,                 \
        const GLOBAL storage *bias, const GLOBAL storage *d, GLOBAL storage *y, u64 x_offset,      \
        u64 bias_offset, u64 d_offset, u64 y_offset, u64 m, u64 n, u64 k, f32 matrix, u32 shape

INLINE void packed_store(const GLOBAL storage *bias, const GLOBAL storage *d, GLOBAL storage *y,
                         u64 row, u64 n, u64 o, u32 shape, f32 value)
{
    if (shape & 1u)
        value += LOAD(bias, o);
    if (shape & 2u)
        value += LOAD(d, row * n + o);
    STORE(y, row * n + o, value);
}

/* Element p of an output. */
INLINE f32 packed_element(const GLOBAL u32 *row, u64 k, u64 p)
{
    const u64 tile = p / TILE * TILE, words = WORDS_AT(tile), at = p - tile;

    return packed_decode(row[tile / FIELDS + at % words] >> at / words * BITS & MASK);
}

#if LANES == 1
#ifdef __OPENCL_VERSION__
typedef int16 integers;
#define WORDS_LOAD(p) vload16(0, (const GLOBAL i32 *)(p))
#define TO_NUMBERS(x) convert_float16(x)
#define AS_NUMBERS(x) as_float16(x)
#define AS_INTEGERS(x) as_int16(x)
#elif defined(ASSAY_VECTOR_BYTES)
typedef i32 integers __attribute__((vector_size(VECTOR_BYTES)));
typedef integers words_in_memory __attribute__((aligned(4), may_alias));
#define WORDS_LOAD(p) (*(const words_in_memory *)(p))
#define TO_NUMBERS(x) __builtin_convertvector(x, vector)
#define AS_NUMBERS(x) ((vector)(x))
#define AS_INTEGERS(x) ((integers)(x))
/* A table of 16 is one permutation, by the index modulo 16. */
#if BITS == 4 && VECTOR == 16 && !defined(__clang__)
#define PERMUTED
#endif
#else
#define NO_VECTORS /* all by packed_element */
#endif

#ifndef NO_VECTORS
#define CHOSEN(mask, a, b) (((a) & (mask)) | ((b) & ~(mask)))

/* The numbers in field f of each word. */
INLINE vector packed_field(integers words, i32 f)
{
#if ELEMENT_KIND == INT8
    return TO_NUMBERS((words << (24 - 8 * f)) >> 24);
#elif defined(PERMUTED) && ELEMENT_KIND == INT4
    const vector table = {-8.0f, -7.0f, -6.0f, -5.0f, -4.0f, -3.0f, -2.0f, -1.0f,
                          0.0f,  1.0f,  2.0f,  3.0f,  4.0f,  5.0f,  6.0f,  7.0f};

    return __builtin_shuffle(table, words >> 4 * f);
#elif defined(PERMUTED)
    const vector table = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                          -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

    return __builtin_shuffle(table, words >> 4 * f);
#elif ELEMENT_KIND == INT4
    return TO_NUMBERS(((words >> 4 * f) & 15) - 8);
#elif ELEMENT_KIND == E4M3
    /*
     * Sign, exponent and mantissa where f32 has them, and the exponent 120 too small: so numbers
     * below 2^-6, of which there are few, are denormal on the way, and 0 where those are flushed.
     */
    return AS_NUMBERS((words << (24 - 8 * f)) >> 4 & ~0x780fffff) * 0x1p120f;
#else
    const integers code = words >> 4 * f;
    const integers magnitude = (code & 7) << 22, sign = (code & 8) << 28;
    const integers normal = magnitude + (126 << 23);
    /* Below 1: that with this mantissa, less itself. */
    const integers least = magnitude - magnitude + (127 << 23);
    const integers small = AS_INTEGERS(AS_NUMBERS(magnitude + least) - AS_NUMBERS(least));

    return AS_NUMBERS(CHOSEN(magnitude < (1 << 23), small, normal) | sign);
#endif
}

/* Adds the products of a whole tile. */
INLINE void packed_tile(const GLOBAL u32 *words, const GLOBAL SCALE_TYPE *scales, f32 matrix,
                        const GLOBAL f32 *const *from, u64 p, vector *sum)
{
    UNROLL_VECTORS
    for (u32 v = 0; v < WORDS; v += VECTOR) {
        const integers codes = WORDS_LOAD(words + v);

        UNROLL_VECTORS
        for (u32 b = 0; b < FIELDS; b += FIELDS_ALIKE) {
            const f32 scale = packed_scale(scales, b / FIELDS_ALIKE, matrix);
            vector part[ROWS];

            UNROLL_VECTORS
            for (u32 r = 0; r < ROWS; r++)
                VECTOR_ZERO(part[r]);
            UNROLL_VECTORS
            for (u32 f = b; f < b + FIELDS_ALIKE; f++) {
                const vector numbers = packed_field(codes, (i32)f);

                UNROLL_VECTORS
                for (u32 r = 0; r < ROWS; r++) {
                    vector x;

                    VECTOR_LOAD(x, GLOBAL, from[r] + p + f * WORDS + v);
                    VECTOR_FMA_EACH(part[r], numbers, x);
                }
            }
            UNROLL_VECTORS
            for (u32 r = 0; r < ROWS; r++)
                VECTOR_FMA(sum[r], scale, part[r]);
        }
    }
}
#endif

/* An element is the sum of VECTOR sums and of what no whole tile has, each in one order. */
KERNEL(packed_product, PACKED_PARAMETERS)
{
    LOCAL_ARRAY(f32, parts, VECTOR);
    const u64 end = CHUNK_END(n), first = GROUP_Y * ROWS;
    const GLOBAL f32 *from[ROWS]; /* beyond the last: that once more */
#ifdef NO_VECTORS
    const u64 whole = 0;
#else
    const u64 whole = k / TILE * TILE;
#endif

    for (u32 r = 0; r < ROWS; r++)
        from[r] = x + x_offset + (first + r < m ? first + r : m - 1) * k;
    bias += bias_offset;
    d += d_offset;
    y += y_offset;
    for (u64 o = CHUNK_BEGIN(n); o < end; o++) {
        const GLOBAL u32 *row = codes + o * k / FIELDS;
        vector sum[ROWS];

        UNROLL_VECTORS
        for (u32 r = 0; r < ROWS; r++)
            VECTOR_ZERO(sum[r]);
#ifndef NO_VECTORS
        for (u64 p = 0; p < whole; p += TILE)
            packed_tile(row + p / FIELDS, scales + SCALE_AT(o, p), matrix, from, p, sum);
#endif
        UNROLL_VECTORS
        for (u32 r = 0; r < ROWS; r++) {
            f32 all = 0.0f;

            VECTOR_STORE(sum[r], LOCAL, parts);
            for (u32 i = 0; i < VECTOR; i++)
                all += parts[i];
            for (u64 p = whole; p < k; p++)
                all =
                    F_FMA(packed_scale(scales, SCALE_AT(o, p), matrix) * packed_element(row, k, p),
                          from[r][p], all);
            if (first + r < m)
                packed_store(bias, d, y, first + r, n, o, shape, all);
        }
    }
}
#else
/* A group makes an output of ROWS rows; its lanes take 4 words of codes each, side by side. */
KERNEL(packed_product, PACKED_PARAMETERS)
{
    GROUP_SCRATCH;
    const u64 first = GROUP_Y * ROWS;

    x += x_offset;
    bias += bias_offset;
    d += d_offset;
    y += y_offset;
    for (u64 o = GROUP; o < n; o += GROUPS) {
        const GLOBAL u32 *row = codes + o * k / FIELDS;
        f32 sum[ROWS];

        UNROLL
        for (u32 r = 0; r < ROWS; r++)
            sum[r] = 0.0f;
        for (u64 u = LANE; u < k / FIELDS / 4; u += LANES) {
            const u32x4 four = *(const GLOBAL u32x4 *)(row + 4 * u);
            const u32 word[4] = {four.x, four.y, four.z, four.w};
            const u64 tile = u / (WORDS / 4) * TILE, words = WORDS_AT(tile);

            UNROLL
            for (u32 f = 0; f < FIELDS; f++) {
                const u64 at = tile + f * words + u % (WORDS / 4) * 4;
                const f32 scale = packed_scale(scales, SCALE_AT(o, at), matrix);

                UNROLL
                for (u32 r = 0; r < ROWS; r++) {
                    const GLOBAL f32 *from = x + (first + r < m ? first + r : m - 1) * k + at;
                    f32 part = 0.0f;

                    UNROLL
                    for (u32 i = 0; i < 4u; i++)
                        part = F_FMA(packed_decode(word[i] >> f * BITS & MASK), from[i], part);
                    sum[r] = F_FMA(scale, part, sum[r]);
                }
            }
        }
        UNROLL
        for (u32 r = 0; r < ROWS; r++) {
            const f32 all = GROUP_SUM(sum[r]);

            if (LANE == 0 && first + r < m)
                packed_store(bias, d, y, first + r, n, o, shape, all);
        }
    }
}
#endif
