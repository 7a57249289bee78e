/*
 * Cross-entropy of logits (rows, classes), in `storage`, rows `stride` elements apart, against
 * target[r], and its gradient.
 * total[r] = log(sum(exp(logits[r, :]))), loss[r] = total[r] - logits[r, target[r]], in nats and
 * f32. Joined behind fold.h and memory_exp.h.
 */
KERNEL(cross_entropy_forward, const GLOBAL storage *logits, const GLOBAL i32 *indices,
       GLOBAL f32 *total, GLOBAL f32 *loss, u64 targets_offset, u64 rows, u64 classes, u64 stride)
{
    GROUP_SCRATCH;

    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *in = logits + r * stride;
        f32 top, sum;

        MAX_OVER(top, classes, LOAD(in, i));
        SUM_OVER(sum, classes, exp_f32_to_88(LOAD(in, i) - top));
        if (LANE == 0) {
            total[r] = top + F_LOG(sum);
            loss[r] = total[r] - LOAD(in, indices[targets_offset + r]);
        }
    }
}

/*
 * logits become the gradient of the mean loss: (exp(logit - total) - [i == target]) * scale, times
 * the loss scale when there is one (`scaled`, transformer_scaling.h).
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
        for (u64 i = LANE; i < classes; i += LANES)
            STORE(row, i, exp_f32_to_88(LOAD(row, i) - t) * scale);
        BARRIER();
        if (LANE == 0)
            STORE(row, target, hit);
    }
}

/* One group: ret[slot] = sum(x) * scale. */
KERNEL(scaled_sum, const GLOBAL f32 *x, GLOBAL f32 *ret, u64 slot, u64 n, f32 scale)
{
    f32 sum;

    GROUP_SCRATCH;
    SUM_OVER(sum, n, x[i]);
    if (LANE == 0)
        ret[slot] = sum * scale;
}
