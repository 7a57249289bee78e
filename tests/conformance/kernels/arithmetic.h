/* What the arithmetic of the dialect promises: no contraction, a real fma, IEEE special values. */

#define EACH(n) for (u64 i = CHUNK_BEGIN(n) + LANE, end = CHUNK_END(n); i < end; i += LANES)

KERNEL(multiply_add, GLOBAL f32 *RESTRICT out, const GLOBAL f32 *RESTRICT a,
       const GLOBAL f32 *RESTRICT b, const GLOBAL f32 *RESTRICT c, u64 n)
{
    EACH(n)
        out[i] = a[i] * b[i] + c[i];
}

INLINE f32 times(f32 a, f32 b)
{
    return a * b;
}

/* The same across a function, a variable and a subtraction. */
KERNEL(multiply_subtract, GLOBAL f32 *RESTRICT out, const GLOBAL f32 *RESTRICT a,
       const GLOBAL f32 *RESTRICT b, const GLOBAL f32 *RESTRICT c, u64 n)
{
    EACH(n) {
        const f32 product = times(a[i], b[i]);

        out[i] = c[i] - product;
    }
}

KERNEL(fused, GLOBAL f32 *RESTRICT out, const GLOBAL f32 *RESTRICT a, const GLOBAL f32 *RESTRICT b,
       const GLOBAL f32 *RESTRICT c, u64 n)
{
    EACH(n)
        out[i] = F_FMA(a[i], b[i], c[i]);
}

/* A chain in a fixed order: no reassociation, no contraction. One group, one lane. */
KERNEL(dot_chain, GLOBAL f32 *RESTRICT out, const GLOBAL f32 *RESTRICT a,
       const GLOBAL f32 *RESTRICT b, u64 n)
{
    if (GROUP == 0 && LANE == 0) {
        f32 sum = 0.0f;

        for (u64 i = 0; i < n; i++)
            sum += a[i] * b[i];
        out[0] = sum;
    }
}

KERNEL(add, GLOBAL f32 *RESTRICT out, const GLOBAL f32 *RESTRICT a, const GLOBAL f32 *RESTRICT b,
       u64 n)
{
    EACH(n)
        out[i] = a[i] + b[i];
}

KERNEL(multiply, GLOBAL f32 *RESTRICT out, const GLOBAL f32 *RESTRICT a,
       const GLOBAL f32 *RESTRICT b, u64 n)
{
    EACH(n)
        out[i] = a[i] * b[i];
}

KERNEL(divide, GLOBAL f32 *RESTRICT out, const GLOBAL f32 *RESTRICT a, const GLOBAL f32 *RESTRICT b,
       u64 n)
{
    EACH(n)
        out[i] = a[i] / b[i];
}

KERNEL(root, GLOBAL f32 *RESTRICT out, const GLOBAL f32 *RESTRICT a, const GLOBAL f32 *RESTRICT b,
       u64 n)
{
    EACH(n)
        out[i] = F_SQRT(F_FABS(a[i]));
}

KERNEL(maximum, GLOBAL f32 *RESTRICT out, const GLOBAL f32 *RESTRICT a,
       const GLOBAL f32 *RESTRICT b, u64 n)
{
    EACH(n)
        out[i] = F_MAX(a[i], b[i]);
}

KERNEL(minimum, GLOBAL f32 *RESTRICT out, const GLOBAL f32 *RESTRICT a,
       const GLOBAL f32 *RESTRICT b, u64 n)
{
    EACH(n)
        out[i] = F_MIN(a[i], b[i]);
}
