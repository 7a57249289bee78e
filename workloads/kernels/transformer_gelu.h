/*
 * GELU in its tanh form (Hendrycks and Gimpel, 2016), and its gradient, element by element, over
 * arrays in `storage`. y = x/2 (1 + tanh(u)) = x g, u = sqrt(2/pi) (x + 0.044715 x^3),
 * g = 1 / (1 + e^-2u); then dy/dx = g + 2 x g (1 - g) du/dx. Joined behind pack.h and memory_exp.h.
 */
#define GELU_TWICE_SCALE 1.5957691216057308f /* 2 sqrt(2/pi) */
#define GELU_CUBIC 0.044715f

INLINE f32 gelu_gate(f32 x)
{
    return 1.0f / (1.0f + exp_f32(-GELU_TWICE_SCALE * F_FMA(GELU_CUBIC * x * x, x, x)));
}

INLINE f32 gelu_slope(f32 x)
{
    const f32 g = gelu_gate(x);

    return F_FMA(x * g * (1.0f - g), GELU_TWICE_SCALE * F_FMA(3.0f * GELU_CUBIC * x, x, 1.0f), g);
}

KERNEL(gelu_forward, const GLOBAL storage *RESTRICT x, GLOBAL storage *RESTRICT y, u64 offset,
       u64 n)
{
    x += offset;
    y += offset;
    EACH_PACK(i, n)
    {
        const pack in = pack_load(x + i);
        pack out;

        PACK_EACH(j)
        STORE(out.part, j, LOAD(in.part, j) * gelu_gate(LOAD(in.part, j)));
        pack_store(y + i, out);
    }
}

/* dy becomes dx. */
KERNEL(gelu_backward, const GLOBAL storage *RESTRICT x, GLOBAL storage *RESTRICT dy, u64 offset,
       u64 n)
{
    x += offset;
    EACH_PACK(i, n)
    {
        const pack in = pack_load(x + i);
        pack d = pack_load(dy + i);

        PACK_EACH(j)
        STORE(d.part, j, LOAD(d.part, j) * gelu_slope(LOAD(in.part, j)));
        pack_store(dy + i, d);
    }
}
