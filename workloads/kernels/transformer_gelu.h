/*
 * GELU in its tanh form (Hendrycks and Gimpel, 2016), and its gradient, element by element.
 * y = x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3).
 */
#define GELU_SCALE 0.7978845608028654f
#define GELU_CUBIC 0.044715f

KERNEL(gelu_forward, const GLOBAL f32 *RESTRICT x, GLOBAL f32 *RESTRICT y, u64 offset, u64 n)
{
    const u64 end = CHUNK_END(n);

    x += offset;
    y += offset;
    for (u64 i = CHUNK_BEGIN(n) + LANE; i < end; i += LANES) {
        const f32 v = x[i];
        const f32 t = F_TANH(GELU_SCALE * F_FMA(GELU_CUBIC * v * v, v, v));

        y[i] = 0.5f * v * (1.0f + t);
    }
}

/* dy becomes dx. */
KERNEL(gelu_backward, const GLOBAL f32 *RESTRICT x, GLOBAL f32 *RESTRICT dy, u64 offset, u64 n)
{
    const u64 end = CHUNK_END(n);

    x += offset;
    for (u64 i = CHUNK_BEGIN(n) + LANE; i < end; i += LANES) {
        const f32 v = x[i];
        const f32 t = F_TANH(GELU_SCALE * F_FMA(GELU_CUBIC * v * v, v, v));
        const f32 slope = GELU_SCALE * F_FMA(3.0f * GELU_CUBIC * v, v, 1.0f);

        dy[i] *= 0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * slope;
    }
}
