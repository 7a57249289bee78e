/*
 * What stands around products of i8: quantisation of their inputs, and what becomes of their i32
 * sums. Symmetric: a number is q * scale, q in -127..127. Inputs have one scale a tensor, weights
 * one a column of the result (an output channel). Joined behind fold.h, memory_exp.h and
 * transformer_gelu.h. Rows of `width`; offsets in elements.
 */

/* To nearest even; beyond the range the nearest end, NaN too. */
INLINE i8 int8_round(f32 x)
{
    const f32 shifter = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */

    x = x > -127.0f ? x : -127.0f;
    x = x < 127.0f ? x : 127.0f;
    return (i8)(i32)((x + shifter) - shifter);
}

KERNEL(int8_quantise, const GLOBAL storage *RESTRICT x, GLOBAL i8 *RESTRICT y, u64 x_offset, u64 n,
       f32 inverse)
{
    const u64 end = CHUNK_END(n);

    x += x_offset;
    for (u64 i = CHUNK_BEGIN(n) + LANE; i < end; i += LANES)
        y[i] = int8_round(LOAD(x, i) * inverse);
}

/* Layer norm as in transformer_norm.h, quantised at once. */
KERNEL(int8_norm, const GLOBAL storage *RESTRICT x, const GLOBAL storage *gain,
       const GLOBAL storage *bias, GLOBAL i8 *RESTRICT y, u64 x_offset, u64 gain_offset,
       u64 bias_offset, u64 rows, u64 width, f32 epsilon, f32 inverse)
{
    GROUP_SCRATCH;

    gain += gain_offset;
    bias += bias_offset;
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL storage *RESTRICT in = x + x_offset + r * width;
        GLOBAL i8 *RESTRICT out = y + r * width;
        f32 sum, square, m, s;

        SUM_OVER(sum, width, LOAD(in, i));
        m = sum / (f32)width;
        SUM_OVER(square, width, (LOAD(in, i) - m) * (LOAD(in, i) - m));
        s = 1.0f / F_SQRT(square / (f32)width + epsilon);
        for (u64 i = LANE; i < width; i += LANES)
            out[i] =
                int8_round(F_FMA((LOAD(in, i) - m) * s, LOAD(gain, i), LOAD(bias, i)) * inverse);
    }
}

/* y = sums scale scales[column] + bias (+ d, which may be y). */
KERNEL(int8_dequantise, const GLOBAL i32 *RESTRICT sums, const GLOBAL f32 *scales,
       const GLOBAL storage *bias, const GLOBAL storage *d, GLOBAL storage *y, u64 scales_offset,
       u64 bias_offset, u64 d_offset, u64 y_offset, u64 rows, u64 width, f32 scale, u32 has_d)
{
    scales += scales_offset;
    bias += bias_offset;
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL i32 *RESTRICT in = sums + r * width;
        const GLOBAL storage *add = d + d_offset + r * width;
        GLOBAL storage *out = y + y_offset + r * width;

        if (has_d)
            for (u64 i = LANE; i < width; i += LANES)
                STORE(out, i, F_FMA((f32)in[i], scale * scales[i], LOAD(bias, i)) + LOAD(add, i));
        else
            for (u64 i = LANE; i < width; i += LANES)
                STORE(out, i, F_FMA((f32)in[i], scale * scales[i], LOAD(bias, i)));
    }
}

/* y = gelu(sums scale scales[column] + bias), quantised at once for the product that follows. */
KERNEL(int8_gelu, const GLOBAL i32 *RESTRICT sums, const GLOBAL f32 *scales,
       const GLOBAL storage *bias, GLOBAL i8 *RESTRICT y, u64 scales_offset, u64 bias_offset,
       u64 rows, u64 width, f32 scale, f32 inverse)
{
    scales += scales_offset;
    bias += bias_offset;
    for (u64 r = GROUP; r < rows; r += GROUPS) {
        const GLOBAL i32 *RESTRICT in = sums + r * width;
        GLOBAL i8 *RESTRICT out = y + r * width;

        for (u64 i = LANE; i < width; i += LANES) {
            const f32 v = F_FMA((f32)in[i], scale * scales[i], LOAD(bias, i));

            out[i] = int8_round(v * gelu_gate(v) * inverse);
        }
    }
}

/* The sums, rows `stride` apart, become f32 where they lie: both pointers lead to one buffer. */
KERNEL(int8_logits, const GLOBAL i32 *sums, const GLOBAL f32 *scales, GLOBAL f32 *logits,
       u64 scales_offset, u64 rows, u64 width, u64 stride, f32 scale)
{
    scales += scales_offset;
    for (u64 r = GROUP; r < rows; r += GROUPS)
        for (u64 i = LANE; i < width; i += LANES)
            logits[r * stride + i] = (f32)sums[r * stride + i] * (scale * scales[i]);
}
