/*
 * A convolution as a product: C[m,n] = patches[m,k] filters[n,k]', the A of gemm.h, which follows.
 *
 * Channels last: input (image, height, width, all_channels), weights (filter, row, column, channel
 * of the group), output (image, out_height, out_width, filter). Row m of the patches belongs to one
 * output pixel. Patches are never stored: elements are fetched from the input as they are used.
 * GROUP_Z is the group of channels and filters.
 *
 * k counts along `span`s of elements that lie side by side in the input; `spans` of them make a row
 * of the filter. They are whole rows (spans 1) where dilation and groups leave no gaps, else single
 * taps. An element is outside of the image when its place is, counted in channels along the row.
 */
/* Names that gemm.h gives to its own (width, line, rows) are not to be used for parameters here. */
#define IMPLICIT_A

#define GEMM_LOCALS                                                                                \
    LOCAL_ARRAY(i32, place_y, TILE_M);                                                             \
    LOCAL_ARRAY(i32, place_x, TILE_M);                                                             \
    LOCAL_ARRAY(u32, place_image, TILE_M);

#define GEMM_PARAMETERS                                                                            \
    const GLOBAL ELEMENT(TYPE_A) * a, const GLOBAL ELEMENT(TYPE_B) * b,                            \
        GLOBAL ELEMENT(TYPE_C) * c, u64 m, u64 n, u64 k, u32 channels, u32 all_channels,           \
        u32 in_height, u32 in_width, u32 out_height, u32 out_width, u32 span, u32 spans,           \
        u32 stride_y, u32 stride_x, u32 pad_y, u32 pad_x, u32 dilation_y, u32 dilation_x

#if LANES == 1
/* Rows follow each other: the first comes from a division, the others from counting. */
#define PLACES                                                                                     \
    u32 out_x = (u32)m0 % out_width, out_y = (u32)m0 / out_width % out_height;                     \
    u32 out_image = (u32)m0 / out_width / out_height;                                              \
                                                                                                   \
    for (u32 r = 0; r < TILE_M; r++) {                                                             \
        place_y[r] = (i32)(out_y * stride_y) - (i32)pad_y;                                         \
        place_x[r] = (i32)(out_x * stride_x) - (i32)pad_x;                                         \
        place_image[r] = out_image;                                                                \
        if (++out_x == out_width) {                                                                \
            out_x = 0;                                                                             \
            if (++out_y == out_height) {                                                           \
                out_y = 0;                                                                         \
                out_image++;                                                                       \
            }                                                                                      \
        }                                                                                          \
    }
#else
#define PLACES                                                                                     \
    for (u32 r = (u32)LANE; r < TILE_M; r += LANES) {                                              \
        const u32 pixel = (u32)m0 + r, out_row = pixel / out_width;                                \
                                                                                                   \
        place_y[r] = (i32)(out_row % out_height * stride_y) - (i32)pad_y;                          \
        place_x[r] = (i32)(pixel % out_width * stride_x) - (i32)pad_x;                             \
        place_image[r] = out_row / out_height;                                                     \
    }                                                                                              \
    BARRIER();
#endif

/* No alpha, bias or D, and no triangles: what gemm.h does for them goes away. */
#define GEMM_START                                                                                 \
    const u64 m0 = GROUP_Y * TILE_M, n0 = GROUP * TILE_N, k_begin = 0, k_end = k;                  \
    const u64 b_row = 1, b_column = k, c_row = n * GROUPS_Z;                                       \
    const u64 image_elements = (u64)in_height * in_width * all_channels;                           \
    const u32 shape = 0;                                                                           \
    const f32 alpha = 1.0f;                                                                        \
    const GLOBAL ELEMENT(TYPE_BIAS) *bias = (const GLOBAL ELEMENT(TYPE_BIAS) *)c;                  \
    const GLOBAL ELEMENT(TYPE_C) *d = c;                                                           \
                                                                                                   \
    a += GROUP_Z * channels;                                                                       \
    b += GROUP_Z * n * k;                                                                          \
    c += GROUP_Z * n;                                                                              \
    (void)alpha;                                                                                   \
    PLACES

/* One lane: elements k0 to k0 + depth of row r, each span's part inside of the image at once. */
#define LEFT_ROW(to, r)                                                                            \
    {                                                                                              \
        const GLOBAL ELEMENT(TYPE_A) *image = a + place_image[r] * image_elements;                 \
        u32 at = (u32)k0 % span, step = (u32)k0 / span % spans;                                    \
        i32 y = place_y[r] + (i32)((u32)k0 / span / spans * dilation_y);                           \
                                                                                                   \
        for (u32 p = 0; p < (u32)depth;) {                                                         \
            const u32 rest = (u32)depth - p, run = span - at < rest ? span - at : rest;            \
            const i32 x = place_x[r] + (i32)(step * dilation_x);                                   \
            const u32 inside = y >= 0 && (u32)y < in_height;                                       \
            i32 low = -x * (i32)channels - (i32)at;                                                \
            i32 high = ((i32)in_width - x) * (i32)channels - (i32)at;                              \
                                                                                                   \
            low = low < 0 ? 0 : low > (i32)run ? (i32)run : low;                                   \
            high = !inside || high < low ? low : high > (i32)run ? (i32)run : high;                \
            for (i32 q = 0; q < low; q++)                                                          \
                (to)[p + (u32)q] = ZERO;                                                           \
            if (high > low) {                                                                      \
                const GLOBAL ELEMENT(TYPE_A) *from =                                               \
                    image + (((i64)y * in_width + x) * all_channels + at + low);                   \
                                                                                                   \
                for (i32 q = 0; q < high - low; q++)                                               \
                    (to)[p + (u32)(low + q)] = GET(TYPE_A, from, q);                               \
            }                                                                                      \
            for (i32 q = high; q < (i32)run; q++)                                                  \
                (to)[p + (u32)q] = ZERO;                                                           \
            p += run;                                                                              \
            at = 0;                                                                                \
            if (++step == spans) {                                                                 \
                step = 0;                                                                          \
                y += (i32)dilation_y;                                                              \
            }                                                                                      \
        }                                                                                          \
    }

/* Several lanes: which element of the patch a lane fetches stays the same where LANES allows. */
#define LEFT_TILE                                                                                  \
    for (u32 e = lane; e < BLOCK_K * TILE_M; e += LANES) {                                         \
        const u32 p = LANES % BLOCK_K == 0 ? lane % BLOCK_K : e % BLOCK_K, i = e / BLOCK_K;        \
        const u32 at = ((u32)k0 + p) % span, number = ((u32)k0 + p) / span;                        \
        const i32 x = place_x[i] + (i32)(number % spans * dilation_x);                             \
        const i32 y = place_y[i] + (i32)(number / spans * dilation_y);                             \
        const i32 along = x * (i32)channels + (i32)at;                                             \
                                                                                                   \
        left[p * TILE_M + i] = m0 + i < m && k0 + p < k && y >= 0 && (u32)y < in_height &&         \
                                       along >= 0 && (u32)along < in_width * channels              \
                                   ? GET(TYPE_A, a,                                                \
                                         place_image[i] * image_elements +                         \
                                             (u64)(((i64)y * in_width + x) * all_channels + at))   \
                                   : ZERO;                                                         \
    }
