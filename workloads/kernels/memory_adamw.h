/*
 * One step of AdamW (Loshchilov and Hutter 2019, algorithm 2) over n parameters, all in fp32:
 *     m = beta1 m + (1 - beta1) g        v = beta2 v + (1 - beta2) g^2
 *     w = decay w - step m / (sqrt(v) root + epsilon)
 * with decay = 1 - rate * weight_decay, step = rate / (1 - beta1^t), root = 1 / sqrt(1 - beta2^t).
 */
KERNEL(memory_adamw, const GLOBAL f32 *RESTRICT g, GLOBAL f32 *RESTRICT w, GLOBAL f32 *RESTRICT m,
       GLOBAL f32 *RESTRICT v, f32 beta1, f32 beta2, f32 decay, f32 step, f32 root, f32 epsilon,
       u64 n)
{
    const u64 end = CHUNK_END(n);

    for (u64 i = CHUNK_BEGIN(n) + LANE; i < end; i += LANES) {
        const f32 gradient = g[i];
        const f32 first = F_FMA(beta1, m[i], (1.0f - beta1) * gradient);
        const f32 second = F_FMA(beta2, v[i], (1.0f - beta2) * gradient * gradient);

        m[i] = first;
        v[i] = second;
        w[i] = F_FMA(decay, w[i], -step * first / (F_SQRT(second) * root + epsilon));
    }
}
