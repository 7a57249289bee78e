/*
 * Dynamic loss scaling (Micikevicius et al., "Mixed precision training", ICLR 2018, section 3.2;
 * the rule is the one common frameworks follow). The loss is multiplied by a power of two, so that
 * small gradients stay within the range of narrow storage; AdamW divides by it again. A step whose
 * gradients have an infinity or a NaN is skipped and halves the scale; after `interval` good steps
 * in a row the scale doubles. All of it stays on the device: no step waits for the host.
 *
 * One buffer of 9 words of 4 bytes is seen as f32 by `scaling`, as u32 by `counts`.
 */
#define SCALING_SCALE 0   /* f32: of the next backward pass */
#define SCALING_INVERSE 1 /* f32: of the gradients that the update reads */
#define SCALING_APPLY 2   /* f32: 0 when the update is to be skipped */
#define SCALING_REST1 3   /* f32: 1 - beta1^t for the t steps that were not skipped */
#define SCALING_REST2 4
#define SCALING_GOOD 5  /* u32: good steps since the scale last changed */
#define SCALING_TAKEN 6 /* u32: t */
#define SCALING_SKIPPED 7
#define SCALING_FIRST 8             /* u32: steps before the first that was skipped */
#define SCALING_LARGEST 16777216.0f /* 2^24 */

/* partial[g] is 0 when all of this group's gradients are finite, and NaN when one is not. */
KERNEL(gradients_check, const GLOBAL storage *gradients, GLOBAL f32 *partial, u64 n)
{
    f32 sum = 0.0f; /* infinity times 0 is NaN */
    GROUP_SCRATCH;

#if LANES == 1
    const u64 begin = CHUNK_BEGIN(n), count = CHUNK_END(n) - begin;

    gradients += begin;
    SUM_OVER(sum, count, LOAD(gradients, i) * 0.0f);
#else
    EACH_PACK(i, n)
    {
        const pack x = pack_load(gradients + i);

        PACK_EACH(j)
        sum += LOAD(x.part, j) * 0.0f;
    }
    sum = GROUP_SUM(sum);
#endif
    if (LANE == 0)
        partial[GROUP] = sum;
}

/*
 * One group: decides on the step, and sets the scale of the next. 1 - b^t is carried on as
 * b (1 - b^(t-1)) + (1 - b), which loses nothing where b^t is near 1.
 */
KERNEL(scaling_step, GLOBAL f32 *scaling, GLOBAL u32 *counts, const GLOBAL f32 *partial,
       u64 partials, f32 beta1, f32 beta2, f32 rest1, f32 rest2, u32 interval)
{
    f32 sum;

    GROUP_SCRATCH;
    SUM_OVER(sum, partials, partial[i]);
    if (LANE == 0) {
        const f32 scale = scaling[SCALING_SCALE];

        scaling[SCALING_INVERSE] = 1.0f / scale;
        if (sum == 0.0f) {
            scaling[SCALING_APPLY] = 1.0f;
            scaling[SCALING_REST1] = F_FMA(beta1, scaling[SCALING_REST1], rest1);
            scaling[SCALING_REST2] = F_FMA(beta2, scaling[SCALING_REST2], rest2);
            counts[SCALING_TAKEN] += 1;
            counts[SCALING_GOOD] += 1;
            if (counts[SCALING_GOOD] >= interval) {
                counts[SCALING_GOOD] = 0;
                scaling[SCALING_SCALE] = F_MIN(2.0f * scale, SCALING_LARGEST);
            }
        } else {
            scaling[SCALING_APPLY] = 0.0f;
            if (counts[SCALING_SKIPPED] == 0)
                counts[SCALING_FIRST] = counts[SCALING_TAKEN];
            counts[SCALING_SKIPPED] += 1;
            counts[SCALING_GOOD] = 0;
            scaling[SCALING_SCALE] = F_MAX(0.5f * scale, 1.0f);
        }
    }
}
