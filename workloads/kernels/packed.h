/*
 * Weights in few bits (workloads/data/format.h): made in place by position, and their products with
 * few rows, for which the time is that of reading the codes. Joined behind fold.h and vector.h.
 *
 * A matrix is (n outputs, k inputs). Of each STEP inputs of an output lie the codes in a row; of 4
 * bits byte i has element i below and element STEP / 2 + i above. BLOCK_ROWS and BLOCK_COLS are
 * those of a scale's block, 0 for all; scales lie as (blocks of outputs, blocks of inputs). x and y
 * have ROWS rows at most in one pass over the codes.
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
#define STEP_BYTES (STEP * BITS / 8)
#define HALF (STEP / 2)
/* Blocks along a step: each half may have its own. */
#if BLOCK_COLS != 0 && BLOCK_COLS < STEP
#define PARTS 2
#else
#define PARTS 1
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
    const u32 small = (u32)packed_round(magnitude * 512.0f);
    const u32 code = magnitude < 0.015625f ? small : normal < 0x7eu ? normal : 0x7eu;

    return magnitude < 448.0f ? code : 0x7eu;
}

INLINE f32 packed_of_e4m3(u32 magnitude)
{
    return magnitude < 8u ? (f32)(i32)magnitude * 0.001953125f
                          : packed_float((magnitude + (120u << 3)) << 20);
}

/* Halves: 0, 1, 2, 3, 4, 6, 8, 12. */
INLINE u32 packed_e2m1(f32 magnitude)
{
    const f32 x = F_MIN(magnitude, 6.0f);
    const u32 halves = (u32)(x < 2.0f   ? packed_round(2.0f * x)
                             : x < 4.0f ? 2.0f * packed_round(x)
                                        : 4.0f * packed_round(0.5f * x));

    return halves < 4u ? halves : halves < 8u ? 2u + halves / 2u : 4u + halves / 4u;
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

/* A group makes all of a block, or of a step of smaller ones; element (o, i) is number o k + i. */
KERNEL(packed_make, GLOBAL u8 *codes, GLOBAL SCALE_TYPE *scales, u64 n, u64 k, u64 key, f32 step,
       f32 matrix)
{
    GROUP_SCRATCH;
    const u64 rows = BLOCK_ROWS == 0 ? 1 : BLOCK_ROWS; /* no block needs another's number */
    const u64 columns = BLOCK_COLS == 0 ? k : BLOCK_COLS * PARTS, across = k / columns;

    for (u64 b = GROUP; b < (n + rows - 1) / rows * across; b += GROUPS) {
        const u64 o0 = b / across * rows, i0 = b % across * columns;
        const u64 height = n - o0 < rows ? n - o0 : rows;
        f32 inverse[2];

        for (u32 h = 0; h < PARTS; h++) {
            const u64 width = columns / PARTS, from = i0 + h * width;
            f32 largest = 0.0f;

#if SCALE_KIND != SCALE_MATRIX
            for (u64 o = 0; o < height; o++) {
                const u64 at = (o0 + o) * k + from;
                f32 of_row;

                MAX_OVER(of_row, width, F_FABS(packed_number(key, at + i, 0.0f, step)));
                largest = F_MAX(largest, of_row);
            }
            if (LANE == 0)
                packed_put_scale(scales, b * PARTS + h, largest, matrix);
            BARRIER();
#endif
            inverse[h] = packed_scale(scales, b * PARTS + h, matrix);
            inverse[h] = inverse[h] > 0.0f ? 1.0f / inverse[h] : 0.0f;
        }
        for (u64 o = 0; o < height; o++) {
            for (u64 p = i0; p < i0 + columns; p += STEP) {
                const u64 at = (o0 + o) * k + p;
                GLOBAL u8 *to = codes + at * BITS / 8;

#if BITS == 4
                for (u64 i = LANE; i < HALF; i += LANES)
                    to[i] =
                        (u8)(packed_encode(packed_number(key, at + i, 0.0f, step) * inverse[0]) |
                             packed_encode(packed_number(key, at + HALF + i, 0.0f, step) *
                                           inverse[PARTS - 1])
                                 << 4);
#else
                for (u64 i = LANE; i < STEP; i += LANES)
                    to[i] = (u8)packed_encode(packed_number(key, at + i, 0.0f, step) * inverse[0]);
#endif
            }
        }
    }
}

/* ---- products ---- */

/* Where the scale of output o begins, and that of its inputs from p on. */
#define BLOCKS_ACROSS (BLOCK_COLS == 0 ? 1 : k / (BLOCK_COLS == 0 ? 1 : BLOCK_COLS))
#define SCALES_OF(o) ((o) / (BLOCK_ROWS == 0 ? 1 : BLOCK_ROWS) * BLOCKS_ACROSS)
#define SCALE_OF(p) (BLOCK_COLS == 0 ? 0 : (p) / (BLOCK_COLS == 0 ? 1 : BLOCK_COLS))

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
    const GLOBAL f32 *x, const GLOBAL u8 *codes, const GLOBAL SCALE_TYPE *scales,                  \
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

#if LANES == 1
/* Numbers of a step in a loop of their own: compilers find no vectors in one that adds, too. */
INLINE void packed_numbers(const GLOBAL u8 *codes, LOCAL f32 *ret)
{
#if BITS == 4
    for (u32 i = 0; i < HALF; i++) {
        ret[i] = packed_decode(codes[i] & 15u);
        ret[HALF + i] = packed_decode((u32)codes[i] >> 4);
    }
#else
    for (u32 i = 0; i < STEP; i++)
        ret[i] = packed_decode(codes[i]);
#endif
}

/* An element is the sum of 2 * VECTOR sums, each in one order. */
KERNEL(packed_product, PACKED_PARAMETERS)
{
    LOCAL_ARRAY(f32, numbers, STEP);
    LOCAL_ARRAY(f32, parts, 2 * VECTOR);
    const u64 end = CHUNK_END(n), first = GROUP_Y * ROWS;
    const GLOBAL f32 *from[ROWS]; /* beyond the last: that once more */

    for (u32 r = 0; r < ROWS; r++)
        from[r] = x + x_offset + (first + r < m ? first + r : m - 1) * k;
    bias += bias_offset;
    d += d_offset;
    y += y_offset;
    for (u64 o = CHUNK_BEGIN(n); o < end; o++) {
        const GLOBAL u8 *row = codes + o * k * BITS / 8;
        vector sum[ROWS][2];

        UNROLL_VECTORS
        for (u32 r = 0; r < ROWS; r++) {
            VECTOR_ZERO(sum[r][0]);
            VECTOR_ZERO(sum[r][1]);
        }
        for (u64 p = 0; p < k; p += STEP) {
            vector part[ROWS][2];

            packed_numbers(row + p / STEP * STEP_BYTES, numbers);
            UNROLL_VECTORS
            for (u32 r = 0; r < ROWS; r++) {
                VECTOR_ZERO(part[r][0]);
                VECTOR_ZERO(part[r][1]);
            }
            for (u32 i = 0; i < HALF; i += VECTOR) {
                vector w0, w1;

                VECTOR_LOAD(w0, LOCAL, numbers + i);
                VECTOR_LOAD(w1, LOCAL, numbers + HALF + i);
                UNROLL_VECTORS
                for (u32 r = 0; r < ROWS; r++) {
                    vector x0, x1;

                    VECTOR_LOAD(x0, GLOBAL, from[r] + p + i);
                    VECTOR_LOAD(x1, GLOBAL, from[r] + p + HALF + i);
                    VECTOR_FMA_EACH(part[r][0], w0, x0);
                    VECTOR_FMA_EACH(part[r][1], w1, x1);
                }
            }
            UNROLL_VECTORS
            for (u32 r = 0; r < ROWS; r++) {
                const f32 low = packed_scale(scales, SCALES_OF(o) + SCALE_OF(p), matrix);
                const f32 high = packed_scale(scales, SCALES_OF(o) + SCALE_OF(p + HALF), matrix);

                VECTOR_FMA(sum[r][0], low, part[r][0]);
                VECTOR_FMA(sum[r][1], high, part[r][1]);
            }
        }
        for (u32 r = 0; r < ROWS && first + r < m; r++) {
            f32 all = 0.0f;

            VECTOR_STORE(sum[r][0], LOCAL, parts);
            VECTOR_STORE(sum[r][1], LOCAL, parts + VECTOR);
            for (u32 i = 0; i < 2 * VECTOR; i++)
                all += parts[i];
            packed_store(bias, d, y, first + r, n, o, shape, all);
        }
    }
}
#else
#define UNIT 16u /* bytes of a lane's load */
#define UNIT_CODES (UNIT * 8u / BITS)

INLINE u32 packed_byte(u32x4 words, u32 i)
{
    const u32 word = i < 4u ? words.x : i < 8u ? words.y : i < 12u ? words.z : words.w;

    return (word >> (i % 4u * 8u)) & 0xffu;
}

/* A group makes an output of ROWS rows; its lanes take 16 bytes of codes each, side by side. */
KERNEL(packed_product, PACKED_PARAMETERS)
{
    GROUP_SCRATCH;
    const u64 first = GROUP_Y * ROWS;

    x += x_offset;
    bias += bias_offset;
    d += d_offset;
    y += y_offset;
    for (u64 o = GROUP; o < n; o += GROUPS) {
        const GLOBAL u8 *row = codes + o * k * BITS / 8;
        f32 sum[ROWS];

        UNROLL
        for (u32 r = 0; r < ROWS; r++)
            sum[r] = 0.0f;
        for (u64 u = LANE; u < k / UNIT_CODES; u += LANES) {
            const u32x4 words = *(const GLOBAL u32x4 *)(row + u * UNIT);
#if BITS == 4
            const u64 low = u / (STEP / 32) * STEP + u % (STEP / 32) * 16, high = low + HALF;
#else
            const u64 low = u * 16;
#endif
            const f32 scale = packed_scale(scales, SCALES_OF(o) + SCALE_OF(low), matrix);
#if PARTS == 2
            const f32 high_scale = packed_scale(scales, SCALES_OF(o) + SCALE_OF(high), matrix);
#endif

            UNROLL
            for (u32 r = 0; r < ROWS; r++) {
                const GLOBAL f32 *from = x + (first + r < m ? first + r : m - 1) * k;
                f32 part = 0.0f, high_part = 0.0f;

                UNROLL
                for (u32 i = 0; i < 16u; i++) {
                    const u32 byte = packed_byte(words, i);

#if BITS == 4
                    part = F_FMA(packed_decode(byte & 15u), from[low + i], part);
                    high_part = F_FMA(packed_decode(byte >> 4), from[high + i], high_part);
#else
                    part = F_FMA(packed_decode(byte), from[low + i], part);
#endif
                }
#if PARTS == 2
                sum[r] = F_FMA(high_scale, high_part, sum[r]);
#else
                part += high_part;
#endif
                sum[r] = F_FMA(scale, part, sum[r]);
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
