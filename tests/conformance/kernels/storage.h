/* Loads and stores of every storage type. */

#define TYPE_KERNELS(S, type, name)                                                                \
    KERNEL(read_##name, GLOBAL f32 *RESTRICT out, const GLOBAL type *RESTRICT in, u64 n)           \
    {                                                                                              \
        for (u64 i = CHUNK_BEGIN(n) + LANE, end = CHUNK_END(n); i < end; i += LANES)               \
            out[i] = LOAD_##S(in, i);                                                              \
    }                                                                                              \
    KERNEL(write_##name, GLOBAL type *RESTRICT out, const GLOBAL f32 *RESTRICT in, u64 n)          \
    {                                                                                              \
        for (u64 i = CHUNK_BEGIN(n) + LANE, end = CHUNK_END(n); i < end; i += LANES)               \
            STORE_##S(out, i, in[i]);                                                              \
    }

TYPE_KERNELS(F32, store_f32, f32)
TYPE_KERNELS(BF16, store_bf16, bf16)
TYPE_KERNELS(F16, store_f16, f16)

/* The macros chosen by a name, as kernels over storage types do it. */
#define JOIN(a, b) a##b
#define LOAD_AS(S, p, i) JOIN(LOAD_, S)(p, i)

KERNEL(sum_as, GLOBAL f32 *RESTRICT out, const GLOBAL store_bf16 *RESTRICT a,
       const GLOBAL store_f16 *RESTRICT b, const GLOBAL store_f32 *RESTRICT c, u64 n)
{
    for (u64 i = CHUNK_BEGIN(n) + LANE, end = CHUNK_END(n); i < end; i += LANES)
        out[i] = LOAD_AS(BF16, a, i) + LOAD_AS(F16, b, i) + LOAD_AS(F32, c, i);
}

/* Storage types in local memory too. */
KERNEL(through_local, GLOBAL f32 *RESTRICT out, const GLOBAL f32 *RESTRICT in)
{
    LOCAL_ARRAY(store_bf16, shelf, LANES);

    STORE_BF16(shelf, LANE, in[GROUP * LANES + LANE]);
    BARRIER();
    out[GROUP * LANES + LANE] = LOAD_BF16(shelf, LANES - 1 - LANE);
}
