/*
 * Tokens one after the other, over a cache of keys and values. A step has rows, each a token of a
 * sequence: `step` says of row r where its token lies in `tokens`, its position, and the row of the
 * cache that takes its key and value; of output o which row's logits are wanted. A row of the cache
 * is a key and a value, 2 * width. Joined behind fold.h.
 */
KERNEL(generation_embedding, const GLOBAL i32 *tokens, const GLOBAL i32 *step,
       const GLOBAL storage *parameters, GLOBAL storage *RESTRICT x, u64 at_offset,
       u64 position_offset, u64 wte_offset, u64 wpe_offset, u64 x_offset, u64 rows, u64 width)
{
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *token =
            parameters + wte_offset + (u64)tokens[step[at_offset + r]] * width;
        const GLOBAL storage *position =
            parameters + wpe_offset + (u64)step[position_offset + r] * width;
        GLOBAL storage *RESTRICT out = x + x_offset + r * width;

        for (u64 i = LANE; i < width; i += LANES)
            STORE(out, i, LOAD(token, i) + LOAD(position, i));
    }
}

/* Row place[r] of y = `count` columns of row r of x, from column `first` on. */
KERNEL(generation_scatter, const GLOBAL storage *RESTRICT x, const GLOBAL i32 *step,
       GLOBAL storage *RESTRICT y, u64 x_offset, u64 place_offset, u64 y_offset, u64 rows,
       u64 width, u64 first, u64 count)
{
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *RESTRICT in = x + x_offset + r * width + first;
        GLOBAL storage *RESTRICT out = y + y_offset + (u64)step[place_offset + r] * count;

        for (u64 i = LANE; i < count; i += LANES)
            STORE(out, i, LOAD(in, i));
    }
}

/* Row o of y = row row[o] of x, or row o, `in_order`. */
KERNEL(generation_gather, const GLOBAL storage *RESTRICT x, const GLOBAL i32 *step,
       GLOBAL storage *RESTRICT y, u64 x_offset, u64 row_offset, u64 y_offset, u64 rows, u64 width,
       u32 in_order)
{
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const u64 from = in_order ? r : (u64)step[row_offset + r];
        const GLOBAL storage *RESTRICT in = x + x_offset + from * width;
        GLOBAL storage *RESTRICT out = y + y_offset + r * width;

        for (u64 i = LANE; i < width; i += LANES)
            STORE(out, i, LOAD(in, i));
    }
}

/*
 * The token after that of output o's row is its largest logit, the first of equals; 0 where none is
 * a number, so that what follows reads no memory that is not there. Indices are exact in f32.
 */
#define GENERATION_CHOOSE(load)                                                                    \
    GROUP_SCRATCH;                                                                                 \
                                                                                                   \
    for (u64 o = GROUP; o < outputs; o += GROUPS) {                                                \
        const u64 at = (u64)step[at_offset + (u64)step[row_offset + o]] + 1;                       \
        f32 top, index;                                                                            \
                                                                                                   \
        logits += o * stride;                                                                      \
        MAX_OVER(top, classes, load(logits, i));                                                   \
        MAX_OVER(index, classes, load(logits, i) == top ? -(f32)(i32)i : -3.0e38f);                \
        if (LANE == 0)                                                                             \
            tokens[at] = index > -2.0e7f ? (i32)-index : 0;                                        \
        logits -= o * stride;                                                                      \
    }

#define GENERATION_CHOOSE_REST                                                                     \
    const GLOBAL i32 *step, GLOBAL i32 *tokens, u64 at_offset, u64 row_offset, u64 outputs,        \
        u64 classes, u64 stride

KERNEL(generation_choose, const GLOBAL storage *logits,
       GENERATION_CHOOSE_REST){GENERATION_CHOOSE(LOAD)}

KERNEL(generation_choose_f32, const GLOBAL f32 *logits, GENERATION_CHOOSE_REST)
{
    GENERATION_CHOOSE(LOAD_F32)
}
