/*
 * The kernel dialect in OpenCL C 1.2; backends/DIALECT.md is the contract. LANES and the module's
 * defines come before this text, the kernel text after it.
 */
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define HAVE_F64 1
#endif

typedef char i8;
typedef uchar u8;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef uint4 u32x4;
#ifdef HAVE_F64
typedef double f64;
#endif

/* module.c writes "KERNEL(name, parameters)" as "KERNEL(name)( parameters)". */
#define KERNEL(name) __kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void name
#define INLINE static inline __attribute__((always_inline))
#define GLOBAL __global
#define LOCAL __local
#define RESTRICT restrict
#define LOCAL_ARRAY(type, name, count) __local type name[count]
#define ASSAY_PRAGMA(text) _Pragma(#text)
#define UNROLL ASSAY_PRAGMA(unroll)
#define UNROLL_N(n) ASSAY_PRAGMA(unroll n)

#define GROUP ((u64)get_group_id(0))
#define GROUP_Y ((u64)get_group_id(1))
#define GROUP_Z ((u64)get_group_id(2))
#define GROUPS ((u64)get_num_groups(0))
#define GROUPS_Y ((u64)get_num_groups(1))
#define GROUPS_Z ((u64)get_num_groups(2))

#if LANES == 1
#ifdef __clang__
/* "LANE == 0 &&" is no slip here. */
#pragma clang diagnostic ignored "-Wconstant-logical-operand"
#endif
#define LANE ((u64)0)
#define BARRIER() ((void)0)
#define GROUP_SCRATCH ((void)0)
#define GROUP_SUM(x) (x)
#define GROUP_MAX(x) (x)
#else
#define LANE ((u64)get_local_id(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define GROUP_SCRATCH __local f32 assay_scratch[LANES]
#define GROUP_SUM(x) assay_group_sum((x), assay_scratch)
#define GROUP_MAX(x) assay_group_max((x), assay_scratch)

/*
 * A tree over any number of lanes: the upper half of `n` is folded onto the lower. The last barrier
 * lets the scratch be used again at once.
 */
#define ASSAY_GROUP_TREE(name, fold)                                                               \
    INLINE f32 name(f32 x, __local f32 *scratch)                                                   \
    {                                                                                              \
        const u32 lane = (u32)get_local_id(0);                                                     \
                                                                                                   \
        scratch[lane] = x;                                                                         \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        for (u32 n = LANES; n > 1; n = (n + 1) / 2) {                                              \
            const u32 half_n = (n + 1) / 2;                                                        \
                                                                                                   \
            if (lane < n - half_n)                                                                 \
                scratch[lane] = fold(scratch[lane], scratch[lane + half_n]);                       \
            barrier(CLK_LOCAL_MEM_FENCE);                                                          \
        }                                                                                          \
        x = scratch[0];                                                                            \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        return x;                                                                                  \
    }
#define ASSAY_ADD(a, b) ((a) + (b))
ASSAY_GROUP_TREE(assay_group_sum, ASSAY_ADD)
ASSAY_GROUP_TREE(assay_group_max, fmax)
#endif

#define STORE_U32X4(p, v) (*(p) = (v))

/* The first elements of group `g` when n elements are dealt out in blocks of 16. */
INLINE u64 assay_chunk(u64 n, u64 g, u64 groups)
{
    const u64 blocks = n / 16 + (n % 16 != 0);
    const u64 begin = 16 * (blocks / groups * g + min(g, blocks % groups));

    return min(begin, n);
}
#define CHUNK_BEGIN(n) assay_chunk((n), GROUP, GROUPS)
#define CHUNK_END(n) assay_chunk((n), GROUP + 1, GROUPS)

/*
 * The compiler's own builtins where the machine has them as instructions. PoCL's library functions
 * stay calls, in every iteration of every loop, where the library was built for a processor with a
 * feature more than this one (PoCL 6 on a virtual machine without pku: products took six times as
 * long). The values are the same.
 */
#if defined(__clang__) && (defined(__FMA__) || defined(__ARM_FEATURE_FMA))
#define ASSAY_BUILTINS 1
#if __has_builtin(__builtin_elementwise_fma)
#define ASSAY_BUILTIN_VECTOR_FMA 1
#endif
#define F_FMA(a, b, c) __builtin_fmaf((f32)(a), (f32)(b), (f32)(c))
#define D_FMA(a, b, c) __builtin_fma((f64)(a), (f64)(b), (f64)(c))
#define F_SQRT(x) __builtin_sqrtf((f32)(x))
#define F_FABS(x) __builtin_fabsf((f32)(x))
#define F_MAX(a, b) __builtin_fmaxf((f32)(a), (f32)(b))
#define F_MIN(a, b) __builtin_fminf((f32)(a), (f32)(b))
#define PREFETCH(p) __builtin_prefetch((const void *)(size_t)(p), 0, 2)
#else
#define F_FMA(a, b, c) fma((f32)(a), (f32)(b), (f32)(c))
#define D_FMA(a, b, c) fma((f64)(a), (f64)(b), (f64)(c))
#define F_SQRT(x) sqrt((f32)(x))
#define F_FABS(x) fabs((f32)(x))
#define F_MAX(a, b) fmax((f32)(a), (f32)(b))
#define F_MIN(a, b) fmin((f32)(a), (f32)(b))
#define PREFETCH(p) ((void)0)
#endif
#define F_EXP(x) exp((f32)(x))
#define F_LOG(x) log((f32)(x))
#define F_TANH(x) tanh((f32)(x))
#define F_ERF(x) erf((f32)(x))
#define F_RSQRT(x) rsqrt((f32)(x))
#define F_POW(x, y) pow((f32)(x), (f32)(y))

typedef f32 store_f32;
typedef u16 store_bf16;
typedef u16 store_f16;

#define LOAD_F32(p, i) ((p)[i])
#define STORE_F32(p, i, v) ((p)[i] = (v))
#define LOAD_BF16(p, i) assay_bf16_load((p)[i])
#define STORE_BF16(p, i, v) ((p)[i] = assay_bf16_store(v))
#define LOAD_F16(p, i) assay_f16_load((p)[i])
#define STORE_F16(p, i, v) ((p)[i] = assay_f16_store(v))

/* bf16 is the upper half of an f32. */
INLINE f32 assay_bf16_load(u16 h)
{
    return as_float((u32)h << 16);
}

/* Round to nearest even: add just under half, and the last bit kept. A NaN stays one. */
INLINE u16 assay_bf16_store(f32 v)
{
    const u32 x = as_uint(v);
    const u32 rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
    const u32 nan = (x >> 16) | 0x40u;

    return (u16)((x & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

/*
 * f16 (1, 5, 10 bits): without branches, so that loops over it vectorize, and without denormal f32
 * on the way, so that flushing those does not touch denormal f16. These are exact: the smallest f16
 * is 2^-24, and 2^-14 + m 2^-24 is a normal f32.
 */
INLINE f32 assay_f16_load(u16 h)
{
    const u32 sign = (u32)(h & 0x8000u) << 16;
    const u32 bits = (u32)(h & 0x7fffu) << 13;
    const u32 normal = bits + (112u << 23);
    const u32 special = bits + (224u << 23);
    const u32 small = as_uint(as_float(bits + (113u << 23)) - as_float(113u << 23));
    const u32 finite = bits < (1u << 23) ? small : normal;

    return as_float(sign | (bits >= (31u << 23) ? special : finite));
}

/*
 * Below 2^-14 the sum with 0.5, whose last bit is 2^-24, rounds as a denormal f16 must. 65520 is
 * the first value that rounds to infinity.
 */
INLINE u16 assay_f16_store(f32 v)
{
    const u32 sign = (as_uint(v) >> 16) & 0x8000u;
    const u32 x = as_uint(v) & 0x7fffffffu;
    const u32 normal = (x - (112u << 23) + 0xfffu + ((x >> 13) & 1u)) >> 13;
    const u32 small = as_uint(as_float(x) + 0.5f) - as_uint(0.5f);
    const u32 finite = x < (113u << 23) ? small : normal;
    const u32 special = x > 0x7f800000u ? 0x7e00u | ((x >> 13) & 0x3ffu) : 0x7c00u;

    return (u16)(sign | (x >= 0x477ff000u ? special : finite));
}
