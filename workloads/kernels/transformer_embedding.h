/*
 * Token and position embedding: x[r, :] = wte[token[r], :] + wpe[r % length, :], and its gradient.
 *
 * The gradient of wte adds the rows of dx that belong to one token. The host has sorted the
 * positions by token: entry u of `unique` is a token, and its rows are
 * order[first[u]] .. order[first[u + 1] - 1], ascending. One group owns a token, so sums run in one
 * order and nothing is written twice. tokens, order, first, unique lie in one i32 buffer.
 */
KERNEL(embedding_forward, const GLOBAL i32 *indices, const GLOBAL f32 *parameters,
       GLOBAL f32 *RESTRICT x, u64 tokens_offset, u64 wte_offset, u64 wpe_offset, u64 x_offset,
       u64 rows, u64 length, u64 width)
{
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL f32 *token =
            parameters + wte_offset + (u64)indices[tokens_offset + r] * width;
        const GLOBAL f32 *position = parameters + wpe_offset + r % length * width;
        GLOBAL f32 *RESTRICT out = x + x_offset + r * width;

        for (u64 i = LANE; i < width; i += LANES)
            out[i] = token[i] + position[i];
    }
}

/* Adds to the gradient of wte, which holds the head's part already. */
KERNEL(embedding_backward_tokens, const GLOBAL i32 *indices, const GLOBAL f32 *RESTRICT dx,
       GLOBAL f32 *RESTRICT gradients, u64 order_offset, u64 first_offset, u64 unique_offset,
       u64 wte_offset, u64 unique, u64 width)
{
    for (u64 u = GROUP; u < unique; u += GROUPS) {
        GLOBAL f32 *RESTRICT out =
            gradients + wte_offset + (u64)indices[unique_offset + u] * width;
        const i32 end = indices[first_offset + u + 1];

        for (i32 s = indices[first_offset + u]; s < end; s++) {
            const GLOBAL f32 *RESTRICT in = dx + (u64)indices[order_offset + s] * width;

            for (u64 i = LANE; i < width; i += LANES)
                out[i] += in[i];
        }
    }
}

/* Writes the gradient of the first `length` rows of wpe. */
KERNEL(embedding_backward_positions, const GLOBAL f32 *RESTRICT dx,
       GLOBAL f32 *RESTRICT gradients, u64 wpe_offset, u64 rows, u64 length, u64 width)
{
    for (u64 t = GROUP; t < length; t += GROUPS) {
        GLOBAL f32 *RESTRICT out = gradients + wpe_offset + t * width;

        for (u64 i = LANE; i < width; i += LANES)
            out[i] = dx[t * width + i];
        for (u64 r = t + length; r < rows; r += length)
            for (u64 i = LANE; i < width; i += LANES)
                out[i] += dx[r * width + i];
    }
}
