/*
 * e^x in fp32, the same bits on every device: range reduction after Cody and Waite (Software Manual
 * for the Elementary Functions, 1980) to |r| <= ln(2)/2, and a polynomial of degree 6 fitted here
 * by Remez exchange for the least relative error. Relative error at most 1.30 * 2^-24 (0.91 ulp)
 * over every float in [-87, 88]; x below -87 is taken as -87, so nothing is denormal; x shall not
 * be above
 * 88. NaN stays NaN. (Built-in exp() takes twice as long in a vectorized loop on PoCL.)
 */
INLINE f32 exp_f32_to_88(f32 x)
{
    const f32 shifter = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    union {
        f32 value;
        u32 bits;
    } shifted, result;
    f32 n, r, p;

    x = x < -87.0f ? -87.0f : x;
    shifted.value = F_FMA(x, 1.44269502f, shifter);
    n = shifted.value - shifter;
    r = F_FMA(n, -0.693145752f, x); /* the upper 16 bits of ln 2, so that n times it is exact */
    r = F_FMA(n, -1.42860677e-6f, r);
    p = 1.38143203e-3f;
    p = F_FMA(p, r, 8.36885106e-3f);
    p = F_FMA(p, r, 4.16684011e-2f);
    p = F_FMA(p, r, 1.66665195e-1f);
    p = F_FMA(p, r, 4.99999934e-1f);
    p = F_FMA(p, r, 1.0f);
    result.value = F_FMA(p, r, 1.0f);
    result.bits += shifted.bits << 23; /* times 2^n */
    return result.value;
}

/* The same for any x; above 88 it is taken as 88. */
INLINE f32 exp_f32(f32 x)
{
    return exp_f32_to_88(x > 88.0f ? 88.0f : x);
}
