/*
 * Cross-entropy of logits (rows, classes), in `storage`, rows `stride` elements apart, against
 * target[r], and its gradient.
 * total[r] = log(sum(exp(logits[r, :]))), loss[r] = total[r] - logits[r, target[r]], in nats and
 * f32. Joined behind pack.h, fold.h and memory_exp.h.
 */
#if LANES > 1
/*
 * This lane's part of a row: its largest logit, and the sum of e^(logit - largest). Both are kept
 * as it goes, so that the row is read once (Milakov and Gimelshein, "Online normalizer calculation
 * for softmax", 2018). Rows have room for whole packs.
 */
INLINE void logits_part(const GLOBAL storage *in, u64 classes, f32 *ret_top, f32 *ret_sum)
{
    f32 top = -3.0e38f, sum = 0.0f;

    IN_FLIGHT(4)
    for (u64 at = LANE * PACK; at < classes; at += LANES * PACK) {
        const pack x = pack_load(in + at);
        f32 higher = top;

        PACK_EACH(j)
        if (at + j < classes)
            higher = fold_max(higher, LOAD(x.part, j));
        sum *= exp_f32_to_88(top - higher);
        top = higher;
        PACK_EACH(j)
        if (at + j < classes)
            sum += exp_f32_to_88(LOAD(x.part, j) - top);
    }
    *ret_top = top;
    *ret_sum = sum;
}
#endif

KERNEL(cross_entropy_forward, const GLOBAL storage *logits, const GLOBAL i32 *indices,
       GLOBAL f32 *total, GLOBAL f32 *loss, u64 targets_offset, u64 rows, u64 classes, u64 stride)
{
    GROUP_SCRATCH;

    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *in = logits + r * stride;
        f32 top, sum;

#if LANES == 1
        MAX_OVER(top, classes, LOAD(in, i));
        SUM_OVER(sum, classes, exp_f32_to_88(LOAD(in, i) - top));
#else
        f32 own, part;

        logits_part(in, classes, &own, &part);
        top = GROUP_MAX(own);
        part *= exp_f32_to_88(own - top);
        sum = GROUP_SUM(part);
#endif
        if (LANE == 0) {
            total[r] = top + F_LOG(sum);
            loss[r] = total[r] - LOAD(in, indices[targets_offset + r]);
        }
    }
}

/*
 * logits become the gradient of the mean loss: (exp(logit - total) - [i == target]) * scale, times
 * the loss scale when there is one (`scaled`, transformer_scaling.h). What lies between the rows
 * becomes 0, so that products may take whole strides.
 */
KERNEL(cross_entropy_backward, GLOBAL storage *logits, const GLOBAL i32 *indices,
       const GLOBAL f32 *total, const GLOBAL f32 *scaling, u64 targets_offset, u64 rows,
       u64 classes, u64 stride, f32 scale, u32 scaled)
{
    if (scaled)
        scale *= scaling[SCALING_SCALE];
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        GLOBAL storage *row = logits + r * stride;
        const f32 t = total[r];
        const u64 target = (u64)indices[targets_offset + r];
        const f32 hit = exp_f32_to_88(LOAD(row, target) - t) * scale - scale;

        BARRIER();
        IN_FLIGHT(4)
        for (u64 at = LANE * PACK; at < classes; at += LANES * PACK) {
            pack x = pack_load(row + at);

            PACK_EACH(j)
            STORE(x.part, j,
                  PACK == 1 || at + j < classes ? exp_f32_to_88(LOAD(x.part, j) - t) * scale
                                                : 0.0f);
            pack_store(row + at, x);
        }
        for (u64 i = (classes + PACK - 1) / PACK * PACK + LANE; i < stride; i += LANES)
            STORE(row, i, 0.0f);
        BARRIER();
        if (LANE == 0)
            STORE(row, target, hit);
    }
}

/* One group: ret[slot] = sum(x) * scale. */
KERNEL(scaled_sum, const GLOBAL f32 *x, GLOBAL f32 *ret, u64 slot, u64 n, f32 scale)
{
    f32 sum = 0.0f;
    GROUP_SCRATCH;

#if LANES == 1
    SUM_OVER(sum, n, x[i]);
#else
    IN_FLIGHT(32) /* one group has the device to itself */
    for (u64 i = LANE; i < n; i += LANES)
        sum += x[i];
    sum = GROUP_SUM(sum);
#endif
    if (LANE == 0)
        ret[slot] = sum * scale;
}
