/*
 * GELU in its tanh form (Hendrycks and Gimpel, 2016), and its gradient, element by element, over
 * arrays in `storage`. y = x/2 (1 + tanh(u)) = x g, u = sqrt(2/pi) (x + 0.044715 x^3),
 * g = 1 / (1 + e^-2u); then dy/dx = g + 2 x g (1 - g) du/dx. Joined behind memory_exp.h.
 */
#define GELU_TWICE_SCALE 1.5957691216057308f /* 2 sqrt(2/pi) */
#define GELU_CUBIC 0.044715f

INLINE f32 gelu_gate(f32 x)
{
    return 1.0f / (1.0f + exp_f32(-GELU_TWICE_SCALE * F_FMA(GELU_CUBIC * x * x, x, x)));
}

KERNEL(gelu_forward, const GLOBAL storage *RESTRICT x, GLOBAL storage *RESTRICT y, u64 offset,
       u64 n)
{
    const u64 end = CHUNK_END(n);

    x += offset;
    y += offset;
    for (u64 i = CHUNK_BEGIN(n) + LANE; i < end; i += LANES) {
        const f32 v = LOAD(x, i);

        STORE(y, i, v * gelu_gate(v));
    }
}

/* dy becomes dx. */
KERNEL(gelu_backward, const GLOBAL storage *RESTRICT x, GLOBAL storage *RESTRICT dy, u64 offset,
       u64 n)
{
    const u64 end = CHUNK_END(n);

    x += offset;
    for (u64 i = CHUNK_BEGIN(n) + LANE; i < end; i += LANES) {
        const f32 v = LOAD(x, i), g = gelu_gate(v);
        const f32 slope = GELU_TWICE_SCALE * F_FMA(3.0f * GELU_CUBIC * v, v, 1.0f);

        STORE(dy, i, LOAD(dy, i) * F_FMA(v * g * (1.0f - g), slope, g));
    }
}
