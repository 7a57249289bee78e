/*
 * Cross-entropy of logits (rows, classes) against target[r], and its gradient.
 * total[r] = log(sum(exp(logits[r, :]))), loss[r] = total[r] - logits[r, target[r]], in nats.
 * Joined behind fold.h and memory_exp.h.
 */
KERNEL(cross_entropy_forward, const GLOBAL f32 *logits, const GLOBAL i32 *indices,
       GLOBAL f32 *total, GLOBAL f32 *loss, u64 targets_offset, u64 rows, u64 classes)
{
    GROUP_SCRATCH;

    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL f32 *in = logits + r * classes;
        f32 top, sum;

        MAX_OVER(top, classes, in[i]);
        SUM_OVER(sum, classes, exp_f32_to_88(in[i] - top));
        if (LANE == 0) {
            total[r] = top + F_LOG(sum);
            loss[r] = total[r] - in[indices[targets_offset + r]];
        }
    }
}

/* logits become the gradient of the mean loss: (exp(logit - total) - [i == target]) * scale. */
KERNEL(cross_entropy_backward, GLOBAL f32 *logits, const GLOBAL i32 *indices,
       const GLOBAL f32 *total, u64 targets_offset, u64 rows, u64 classes, f32 scale)
{
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        GLOBAL f32 *row = logits + r * classes;
        const f32 t = total[r];
        const u64 target = (u64)indices[targets_offset + r];

        for (u64 i = LANE; i < classes; i += LANES)
            row[i] = exp_f32_to_88(row[i] - t) * scale;
        BARRIER();
        if (LANE == 0)
            row[target] -= scale;
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
