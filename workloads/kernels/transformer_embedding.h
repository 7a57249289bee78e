/*
 * Token and position embedding: x[r, :] = wte[token[r], :] + wpe[r % length, :], and its gradient,
 * all in `storage`.
 *
 * The gradient of wte adds the rows of dx that belong to one token. The host has sorted the
 * positions by token: entry u of `unique` is a token, and its rows are
 * order[first[u]] .. order[first[u + 1] - 1], ascending. One group owns a token, so sums run in one
 * order and nothing is written twice. tokens, order, first, unique lie in one i32 buffer. Joined
 * behind transformer_norm.h, whose blocks of columns it takes: a column's sum is kept in f32 and
 * rounded to `storage` once.
 */
KERNEL(embedding_forward, const GLOBAL i32 *indices, const GLOBAL storage *parameters,
       GLOBAL storage *RESTRICT x, u64 tokens_offset, u64 wte_offset, u64 wpe_offset, u64 x_offset,
       u64 rows, u64 length, u64 width)
{
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *token =
            parameters + wte_offset + (u64)indices[tokens_offset + r] * width;
        const GLOBAL storage *position = parameters + wpe_offset + r % length * width;
        GLOBAL storage *RESTRICT out = x + x_offset + r * width;

        for (u64 i = LANE * PACK; i < width; i += LANES * PACK) {
            const pack t = pack_load(token + i), p = pack_load(position + i);
            pack sum;

            PACK_EACH(j)
            STORE(sum.part, j, LOAD(t.part, j) + LOAD(p.part, j));
            pack_store(out + i, sum);
        }
    }
}

INLINE u64 listed(const GLOBAL i32 *list, u64 r, u64 width)
{
    return (u64)list[r] * width;
}

/* columns_add_rows of the `rows` rows that `list` names. */
INLINE void columns_add_listed(f32 *sums, const GLOBAL storage *from, const GLOBAL i32 *list,
                               u64 rows, u64 width, u64 count)
{
    u64 r = 0;

#if LANES > 1
    for (; r + ROWS_AT_ONCE <= rows; r += ROWS_AT_ONCE) {
        pack in[ROWS_AT_ONCE];

        UNROLL
        for (u32 k = 0; k < ROWS_AT_ONCE; ++k)
            in[k] = pack_load(from + listed(list, r + k, width));
        UNROLL
        for (u32 k = 0; k < ROWS_AT_ONCE; ++k)
            PACK_EACH(j)
        sums[j] += LOAD(in[k].part, j);
    }
#endif
    for (; r < rows; r++)
        columns_add(sums, from + listed(list, r, width), count);
}

/* Adds to the gradient of wte, which holds the head's part already. */
KERNEL(embedding_backward_tokens, const GLOBAL i32 *indices, const GLOBAL storage *RESTRICT dx,
       GLOBAL storage *RESTRICT gradients, u64 order_offset, u64 first_offset, u64 unique_offset,
       u64 wte_offset, u64 unique, u64 width)
{
    for (u64 u = GROUP; u < unique; u += GROUPS) {
        GLOBAL storage *RESTRICT out =
            gradients + wte_offset + (u64)indices[unique_offset + u] * width;
        const i32 begin = indices[first_offset + u], end = indices[first_offset + u + 1];

        for (u64 c0 = LANE * COLUMNS; c0 < width; c0 += BLOCK) {
            const u64 count = width - c0 < COLUMNS ? width - c0 : COLUMNS;
            f32 sum[COLUMNS];

            columns_clear(sum);
            columns_add(sum, out + c0, count);
            columns_add_listed(sum, dx + c0, indices + order_offset + begin, (u64)(end - begin),
                               width, count);
            columns_store(out + c0, sum, count);
        }
    }
}

/* Writes the gradient of the first `length` rows of wpe. */
KERNEL(embedding_backward_positions, const GLOBAL storage *RESTRICT dx,
       GLOBAL storage *RESTRICT gradients, u64 wpe_offset, u64 rows, u64 length, u64 width)
{
    for (u64 t = GROUP; t < length; t += GROUPS) {
        GLOBAL storage *RESTRICT out = gradients + wpe_offset + t * width;

        for (u64 c0 = LANE * COLUMNS; c0 < width; c0 += BLOCK) {
            const u64 count = width - c0 < COLUMNS ? width - c0 : COLUMNS;
            f32 sum[COLUMNS];

            columns_clear(sum);
            columns_add_rows(sum, dx + t * width + c0, (rows - t + length - 1) / length,
                             length * width, count);
            columns_store(out + c0, sum, count);
        }
    }
}
