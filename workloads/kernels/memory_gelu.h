/*
 * y = x / 2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3): GELU's tanh form (Hendrycks and
 * Gimpel 2016, section 2), written as x / (1 + e^-2u), which is the same.
 */
INLINE f32 gelu(f32 v)
{
    const f32 cubic = F_FMA(0.044715f * v * v, v, v);

    return v / (1.0f + exp_f32(-1.59576912f * cubic));
}

KERNEL(memory_gelu, const GLOBAL storage *RESTRICT from, GLOBAL storage *RESTRICT to, u64 n)
{
    STREAM_1(n, from, to, gelu(x));
}
