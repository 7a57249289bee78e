/*
 * AdamW (Loshchilov and Hutter, ICLR 2019, algorithm 2) over `n` elements from `offset` on:
 *   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
 *   w -= rate (m first / (sqrt(v second) + epsilon) + decay w)
 * first = 1 / (1 - b1^t) and second = 1 / (1 - b2^t) come from the host, in fp64.
 */
KERNEL(adamw, GLOBAL f32 *RESTRICT w, const GLOBAL f32 *RESTRICT g, GLOBAL f32 *RESTRICT m,
       GLOBAL f32 *RESTRICT v, u64 offset, u64 n, f32 rate, f32 beta1, f32 beta2, f32 rest1,
       f32 rest2, f32 first, f32 second, f32 epsilon, f32 decay)
{
    const u64 end = offset + CHUNK_END(n);

    for (u64 i = offset + CHUNK_BEGIN(n) + LANE; i < end; i += LANES) {
        const f32 gradient = g[i];
        const f32 mean = F_FMA(beta1, m[i], rest1 * gradient);
        const f32 square = F_FMA(beta2, v[i], rest2 * gradient * gradient);
        const f32 move = mean * first / (F_SQRT(square * second) + epsilon);

        m[i] = mean;
        v[i] = square;
        w[i] -= rate * F_FMA(decay, w[i], move);
    }
}
