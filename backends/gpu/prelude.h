/*
 * The kernel dialect for NVRTC and HIPRTC; backends/DIALECT.md is the contract. LANES and the
 * module's defines come before this text, the kernel text after it. Nothing is included: both
 * compilers know their intrinsics without a header.
 */
#define HAVE_F64 1

typedef signed char i8;
typedef unsigned char u8;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef struct {
    u32 x, y, z, w;
} __attribute__((aligned(16))) u32x4;

#if defined(__HIP__) || defined(__HIP_PLATFORM_AMD__)
#define ASSAY_HIP 1
#pragma clang fp contract(off)
#define INLINE static __device__ inline __attribute__((always_inline))
#else
#define INLINE static __device__ __forceinline__
#endif

#define ASSAY_JOIN_(a, b) a##b
#define ASSAY_JOIN(a, b) ASSAY_JOIN_(a, b)

/* The number of a kernel's parameters, told by the size of a variable beside it: gpu.h. */
template <unsigned count> struct assay_counted {
    static const unsigned value = count;
};
template <typename... types>
__device__ assay_counted<sizeof...(types)> assay_count(void (*kernel)(types...));

#define KERNEL(name, ...) ASSAY_KERNEL(name, __VA_ARGS__)
#define ASSAY_KERNEL(name, ...)                                                                    \
    extern "C" __global__ void __launch_bounds__(LANES) name(__VA_ARGS__);                         \
    extern "C" {                                                                                   \
    __device__ char ASSAY_JOIN(assay_arguments_, name)[decltype(assay_count(name))::value + 1];    \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(LANES) name(__VA_ARGS__)
#define GLOBAL
#define LOCAL
#define RESTRICT __restrict__
#define LOCAL_ARRAY(type, name, count) __shared__ type name[count]
#define ASSAY_PRAGMA(text) _Pragma(#text)
#define UNROLL ASSAY_PRAGMA(unroll)
#define UNROLL_N(n) ASSAY_PRAGMA(unroll n)

#define GROUP ((u64)blockIdx.x)
#define GROUP_Y ((u64)blockIdx.y)
#define GROUP_Z ((u64)blockIdx.z)
#define GROUPS ((u64)gridDim.x)
#define GROUPS_Y ((u64)gridDim.y)
#define GROUPS_Z ((u64)gridDim.z)

#if LANES == 1
#define LANE ((u64)0)
#define BARRIER() ((void)0)
#define GROUP_SCRATCH ((void)0)
#define GROUP_SUM(x) (x)
#define GROUP_MAX(x) (x)
#else
#define LANE ((u64)threadIdx.x)
#define BARRIER() __syncthreads()
#define GROUP_SUM(x) assay_group_sum((x), assay_scratch)
#define GROUP_MAX(x) assay_group_max((x), assay_scratch)
#define ASSAY_ADD(a, b) ((a) + (b))

#if LANES % 32 == 0
/*
 * A butterfly inside each 32 lanes (all of them get the same bits, since a + b is b + a), then
 * every lane folds what the LANES / 32 parts came to, in their order.
 */
#ifdef ASSAY_HIP
#define ASSAY_SHUFFLE(x, mask) __shfl_xor((x), (mask), 32)
#else
#define ASSAY_SHUFFLE(x, mask) __shfl_xor_sync(0xffffffffu, (x), (mask), 32)
#endif
#define GROUP_SCRATCH __shared__ f32 assay_scratch[LANES / 32]
#define ASSAY_GROUP_TREE(name, fold)                                                               \
    INLINE f32 name(f32 x, f32 *scratch)                                                           \
    {                                                                                              \
        UNROLL                                                                                     \
        for (int mask = 16; mask > 0; mask /= 2) {                                                 \
            const f32 other = ASSAY_SHUFFLE(x, mask);                                              \
                                                                                                   \
            x = fold(x, other);                                                                    \
        }                                                                                          \
        if (LANES > 32) {                                                                          \
            if (threadIdx.x % 32 == 0)                                                             \
                scratch[threadIdx.x / 32] = x;                                                     \
            __syncthreads();                                                                       \
            x = scratch[0];                                                                        \
            UNROLL                                                                                 \
            for (int part = 1; part < LANES / 32; part++)                                          \
                x = fold(x, scratch[part]);                                                        \
            __syncthreads();                                                                       \
        }                                                                                          \
        return x;                                                                                  \
    }
#else
/*
 * A tree over any number of lanes: the upper half of `n` is folded onto the lower. The last barrier
 * lets the scratch be used again at once.
 */
#define GROUP_SCRATCH __shared__ f32 assay_scratch[LANES]
#define ASSAY_GROUP_TREE(name, fold)                                                               \
    INLINE f32 name(f32 x, f32 *scratch)                                                           \
    {                                                                                              \
        const u32 lane = threadIdx.x;                                                              \
                                                                                                   \
        scratch[lane] = x;                                                                         \
        __syncthreads();                                                                           \
        for (u32 n = LANES; n > 1; n = (n + 1) / 2) {                                              \
            const u32 half_n = (n + 1) / 2;                                                        \
                                                                                                   \
            if (lane < n - half_n)                                                                 \
                scratch[lane] = fold(scratch[lane], scratch[lane + half_n]);                       \
            __syncthreads();                                                                       \
        }                                                                                          \
        x = scratch[0];                                                                            \
        __syncthreads();                                                                           \
        return x;                                                                                  \
    }
#endif
ASSAY_GROUP_TREE(assay_group_sum, ASSAY_ADD)
ASSAY_GROUP_TREE(assay_group_max, fmaxf)
#endif

/* NVRTC makes four stores of a structure whose members were computed, of some and not of others. */
#ifdef ASSAY_HIP
#define STORE_U32X4(p, v) (*(p) = (v))
#else
#define STORE_U32X4(p, v) assay_store_u32x4((p), (v))
INLINE void assay_store_u32x4(u32x4 *p, u32x4 v)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}
#endif

/* The first elements of group `g` when n elements are dealt out in blocks of 16. */
INLINE u64 assay_chunk(u64 n, u64 g, u64 groups)
{
    const u64 blocks = n / 16 + (n % 16 != 0);
    const u64 rest = blocks % groups;
    const u64 begin = 16 * (blocks / groups * g + (g < rest ? g : rest));

    return begin < n ? begin : n;
}
#define CHUNK_BEGIN(n) assay_chunk((n), GROUP, GROUPS)
#define CHUNK_END(n) assay_chunk((n), GROUP + 1, GROUPS)
#define PREFETCH(p) ((void)0)

#define F_FMA(a, b, c) fmaf((f32)(a), (f32)(b), (f32)(c))
#define D_FMA(a, b, c) fma((f64)(a), (f64)(b), (f64)(c))
#define F_EXP(x) expf((f32)(x))
#define F_LOG(x) logf((f32)(x))
#define F_TANH(x) tanhf((f32)(x))
#define F_ERF(x) erff((f32)(x))
#define F_POW(x, y) powf((f32)(x), (f32)(y))
#if defined(ASSAY_HIP) && __clang_major__ < 17
/*
 * sqrtf of HIPRTC 5.2 is the bare instruction, which may be off by its last bit; 5.7's is exact.
 * The neighbours of such a root are weighed by their exact remainders, away from denormals.
 */
INLINE f32 assay_sqrt(f32 x)
{
    const bool small = x < 1.2621774483536189e-29f; /* 2^-96 */
    const f32 scaled = small ? x * 4294967296.0f : x;
    const f32 root = sqrtf(scaled);
    const f32 below = __int_as_float(__float_as_int(root) - 1);
    const f32 above = __int_as_float(__float_as_int(root) + 1);
    f32 exact = root;

    if (fmaf(-below, root, scaled) <= 0.0f)
        exact = below;
    if (fmaf(-above, root, scaled) > 0.0f)
        exact = above;
    return small ? exact * 1.52587890625e-05f : exact;
}
#define F_SQRT(x) assay_sqrt((f32)(x))
#else
#define F_SQRT(x) sqrtf((f32)(x))
#endif
#define F_RSQRT(x) rsqrtf((f32)(x))
#define F_FABS(x) fabsf((f32)(x))
#define F_MAX(a, b) fmaxf((f32)(a), (f32)(b))
#define F_MIN(a, b) fminf((f32)(a), (f32)(b))
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif

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
    return __uint_as_float((u32)h << 16);
}

/* Round to nearest even: add just under half, and the last bit kept. A NaN stays one. */
INLINE u16 assay_bf16_store(f32 v)
{
#if !defined(ASSAY_HIP) && __CUDA_ARCH__ >= 800
    u16 h;

    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(v));
    return h;
#else
    const u32 x = __float_as_uint(v);
    const u32 rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
    const u32 nan = (x >> 16) | 0x40u;

    return (u16)((x & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
#endif
}

/* f16: both have an instruction each way, which rounds to nearest even. */
INLINE f32 assay_f16_load(u16 h)
{
#ifdef ASSAY_HIP
    _Float16 value;

    __builtin_memcpy(&value, &h, sizeof(value));
    return (f32)value;
#else
    f32 v;

    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(h));
    return v;
#endif
}

INLINE u16 assay_f16_store(f32 v)
{
    u16 h;

#ifdef ASSAY_HIP
    const _Float16 value = (_Float16)v;

    __builtin_memcpy(&h, &value, sizeof(h));
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v));
#endif
    return h;
}
/* ---- end of the prelude ---- */
