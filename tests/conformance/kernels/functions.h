/* Every F_ function of the dialect over an array. */

#define UNARY(name, F)                                                                             \
    KERNEL(name, GLOBAL f32 *RESTRICT out, const GLOBAL f32 *RESTRICT x, u64 n)                    \
    {                                                                                              \
        for (u64 i = CHUNK_BEGIN(n) + LANE, end = CHUNK_END(n); i < end; i += LANES)               \
            out[i] = F(x[i]);                                                                      \
    }

UNARY(f_exp, F_EXP)
UNARY(f_log, F_LOG)
UNARY(f_tanh, F_TANH)
UNARY(f_erf, F_ERF)
UNARY(f_sqrt, F_SQRT)
UNARY(f_rsqrt, F_RSQRT)
UNARY(f_fabs, F_FABS)

KERNEL(f_pow, GLOBAL f32 *RESTRICT out, const GLOBAL f32 *RESTRICT x, const GLOBAL f32 *RESTRICT y,
       u64 n)
{
    for (u64 i = CHUNK_BEGIN(n) + LANE, end = CHUNK_END(n); i < end; i += LANES)
        out[i] = F_POW(x[i], y[i]);
}
