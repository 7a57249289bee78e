/*
 * AdamW (Loshchilov and Hutter, ICLR 2019, algorithm 2) over `n` elements from `offset` on:
 *   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
 *   w -= rate (m first / (sqrt(v second) + epsilon) + decay w)
 * first = 1 / (1 - b1^t) and second = 1 / (1 - b2^t) come from the host, in fp64. w, m and v are
 * f32 whatever `storage` is; g is in `storage`.
 */
INLINE f32 adamw_weight(f32 w, f32 gradient, f32 *m, f32 *v, f32 rate, f32 beta1, f32 beta2,
                        f32 rest1, f32 rest2, f32 first, f32 second, f32 epsilon, f32 decay)
{
    const f32 mean = F_FMA(beta1, *m, rest1 * gradient);
    const f32 square = F_FMA(beta2, *v, rest2 * gradient * gradient);
    const f32 move = mean * first / (F_SQRT(square * second) + epsilon);

    *m = mean;
    *v = square;
    return w - rate * F_FMA(decay, w, move);
}

KERNEL(adamw, GLOBAL f32 *RESTRICT w, const GLOBAL storage *RESTRICT g, GLOBAL f32 *RESTRICT m,
       GLOBAL f32 *RESTRICT v, u64 offset, u64 n, f32 rate, f32 beta1, f32 beta2, f32 rest1,
       f32 rest2, f32 first, f32 second, f32 epsilon, f32 decay)
{
    EACH_PACK(from, n)
    {
        const u64 i = offset + from;
        const pack gradient = pack_load(g + i);
        floats weight = floats_load(w + i), mean = floats_load(m + i), square = floats_load(v + i);

        PACK_EACH(j)
        weight.part[j] =
            adamw_weight(weight.part[j], LOAD(gradient.part, j), &mean.part[j], &square.part[j],
                         rate, beta1, beta2, rest1, rest2, first, second, epsilon, decay);
        floats_store(w + i, weight);
        floats_store(m + i, mean);
        floats_store(v + i, square);
    }
}

/*
 * The same over master weights, writing their copy in `storage` too. With `scaled`, gradients are
 * divided by the loss scale, steps are counted by transformer_scaling.h, and a step that it skips
 * changes nothing.
 */
KERNEL(adamw_mixed, GLOBAL f32 *RESTRICT w, GLOBAL storage *RESTRICT copy,
       const GLOBAL storage *RESTRICT g, GLOBAL f32 *RESTRICT m, GLOBAL f32 *RESTRICT v,
       const GLOBAL f32 *scaling, u64 offset, u64 n, f32 rate, f32 beta1, f32 beta2, f32 rest1,
       f32 rest2, f32 first, f32 second, f32 epsilon, f32 decay, u32 scaled)
{
    f32 inverse = 1.0f;

    if (scaled) {
        if (scaling[SCALING_APPLY] == 0.0f)
            return;
        inverse = scaling[SCALING_INVERSE];
        first = 1.0f / scaling[SCALING_REST1];
        second = 1.0f / scaling[SCALING_REST2];
    }
    EACH_PACK(from, n)
    {
        const u64 i = offset + from;
        const pack gradient = pack_load(g + i);
        floats weight = floats_load(w + i), mean = floats_load(m + i), square = floats_load(v + i);
        pack narrow;

        PACK_EACH(j)
        {
            weight.part[j] = adamw_weight(weight.part[j], LOAD(gradient.part, j) * inverse,
                                          &mean.part[j], &square.part[j], rate, beta1, beta2, rest1,
                                          rest2, first, second, epsilon, decay);
            STORE(narrow.part, j, weight.part[j]);
        }
        floats_store(w + i, weight);
        floats_store(m + i, mean);
        floats_store(v + i, square);
        pack_store(copy + i, narrow);
    }
}
