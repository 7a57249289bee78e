/*
 * One step of AdamW (Loshchilov and Hutter 2019, algorithm 2) over n parameters, all in fp32:
 *     m = beta1 m + (1 - beta1) g        v = beta2 v + (1 - beta2) g^2
 *     w = decay w - step m / (sqrt(v) root + epsilon)
 * with decay = 1 - rate * weight_decay, step = rate / (1 - beta1^t), root = 1 / sqrt(1 - beta2^t).
 */
INLINE f32 memory_adamw_weight(f32 g, f32 w, f32 *m, f32 *v, f32 beta1, f32 beta2, f32 decay,
                               f32 step, f32 root, f32 epsilon)
{
    *m = F_FMA(beta1, *m, (1.0f - beta1) * g);
    *v = F_FMA(beta2, *v, (1.0f - beta2) * g * g);
    return F_FMA(decay, w, -step * *m / (F_SQRT(*v) * root + epsilon));
}

KERNEL(memory_adamw, const GLOBAL f32 *RESTRICT g, GLOBAL f32 *RESTRICT w, GLOBAL f32 *RESTRICT m,
       GLOBAL f32 *RESTRICT v, f32 beta1, f32 beta2, f32 decay, f32 step, f32 root, f32 epsilon,
       u64 n)
{
    EACH_PACK(i, n)
    {
        const floats gradient = floats_load(g + i);
        floats weight = floats_load(w + i), first = floats_load(m + i), second = floats_load(v + i);

        PACK_EACH(j)
        weight.part[j] =
            memory_adamw_weight(gradient.part[j], weight.part[j], &first.part[j], &second.part[j],
                                beta1, beta2, decay, step, root, epsilon);
        floats_store(m + i, first);
        floats_store(v + i, second);
        floats_store(w + i, weight);
    }
    EACH_REST(i, n)
    {
        f32 first = m[i], second = v[i];

        w[i] = memory_adamw_weight(g[i], w[i], &first, &second, beta1, beta2, decay, step, root,
                                   epsilon);
        m[i] = first;
        v[i] = second;
    }
}
