/*
 * The kernel dialect in GNU C; backends/DIALECT.md is the contract. LANES and the module's defines
 * come before this text, the kernel text after it. Nothing is included: a compiler alone is enough.
 *
 * After the preprocessor, source.c turns each `assay_kernel (name, parameters)` into a function
 * with the geometry as its first parameter, and adds a function that runs a range of groups.
 */
#define HAVE_F64 1

typedef signed char i8;
typedef unsigned char u8;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long i64;
typedef unsigned long u64;
typedef float f32;
typedef double f64;
typedef struct {
    u32 x, y, z, w;
} __attribute__((aligned(16))) u32x4;

#define KERNEL(...) assay_kernel(__VA_ARGS__)
#define INLINE static inline __attribute__((always_inline, unused))
#define GLOBAL
#define LOCAL
#define RESTRICT __restrict__
#define LOCAL_ARRAY(type, name, count) __attribute__((aligned(64))) type name[count]
#define ASSAY_PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define UNROLL ASSAY_PRAGMA(clang loop unroll(full))
#define UNROLL_N(n) ASSAY_PRAGMA(clang loop unroll_count(n))
#else
/* Nothing: a loop that is unrolled early is no loop when gcc vectorizes, and later it is unrolled.
 */
#define UNROLL
#define UNROLL_N(n) ASSAY_PRAGMA(GCC unroll n)
#endif

/* In a kernel this is a parameter; helpers see the thread's copy. */
struct assay_geometry {
    u64 group[3], groups[3];
};
static _Thread_local struct assay_geometry assay_place __attribute__((unused));

#define GROUP (assay_place.group[0])
#define GROUP_Y (assay_place.group[1])
#define GROUP_Z (assay_place.group[2])
#define GROUPS (assay_place.groups[0])
#define GROUPS_Y (assay_place.groups[1])
#define GROUPS_Z (assay_place.groups[2])

/* For the functions that run a range of groups. */
union assay_argument {
    void *pointer_;
    i32 i32_;
    u32 u32_;
    i64 i64_;
    u64 u64_;
    f32 f32_;
    f64 f64_;
};

INLINE struct assay_geometry assay_first(const u64 *groups, u64 index)
{
    const struct assay_geometry at = {
        {index % groups[0], index / groups[0] % groups[1], index / groups[0] / groups[1]},
        {groups[0], groups[1], groups[2]}};

    return at;
}

INLINE void assay_next(struct assay_geometry *at)
{
    if (++at->group[0] == at->groups[0]) {
        at->group[0] = 0;
        if (++at->group[1] == at->groups[1]) {
            at->group[1] = 0;
            at->group[2]++;
        }
    }
}

#if LANES != 1
#error "the CPU backend runs one lane a group"
#endif
#define LANE ((u64)0)
#define BARRIER() ((void)0)
#define GROUP_SCRATCH ((void)0)
#define GROUP_SUM(x) (x)
#define GROUP_MAX(x) (x)
#define PREFETCH(p) __builtin_prefetch((p), 0, 2)

#define STORE_U32X4(p, v) (*(p) = (v))

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

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

INLINE u32 assay_bits(f32 x)
{
    u32 bits;

    __builtin_memcpy(&bits, &x, sizeof(bits));
    return bits;
}

INLINE f32 assay_float(u32 bits)
{
    f32 x;

    __builtin_memcpy(&x, &bits, sizeof(x));
    return x;
}

#define F_FMA(a, b, c) __builtin_fmaf((f32)(a), (f32)(b), (f32)(c))
#define D_FMA(a, b, c) __builtin_fma((f64)(a), (f64)(b), (f64)(c))
#define F_SQRT(x) __builtin_sqrtf((f32)(x))
#define F_FABS(x) __builtin_fabsf((f32)(x))
#define F_MAX(a, b) assay_max((f32)(a), (f32)(b))
#define F_MIN(a, b) assay_min((f32)(a), (f32)(b))
#define F_EXP(x) assay_exp((f32)(x))
#define F_LOG(x) assay_log((f32)(x))
#define F_TANH(x) assay_tanh((f32)(x))
#define F_ERF(x) assay_erf((f32)(x))
#define F_RSQRT(x) (1.0f / __builtin_sqrtf((f32)(x)))
#define F_POW(x, y) assay_pow((f32)(x), (f32)(y))

/*
 * Vectors by the compiler's own extension, as wide as registers are, and x += s y fused, for texts
 * that keep registers of their own. gcc fuses vectors only by the instruction's builtin; elsewhere
 * it goes element by element.
 */
#if defined(__AVX512F__)
#define ASSAY_VECTOR_BYTES 64
#elif defined(__AVX__)
#define ASSAY_VECTOR_BYTES 32
#else
#define ASSAY_VECTOR_BYTES 16
#endif
#if defined(__AVX512F__) && !defined(__clang__)
#define ASSAY_VECTOR_FMA_F32(x, s, y)                                                              \
    (x) = __builtin_ia32_vfmaddps512_mask((s), (y), (x), (u16)-1, 4)
#define ASSAY_VECTOR_FMA_F64(x, s, y)                                                              \
    (x) = __builtin_ia32_vfmaddpd512_mask((s), (y), (x), (u8)-1, 4)
#elif defined(__AVX__) && defined(__FMA__) && !defined(__clang__)
#define ASSAY_VECTOR_FMA_F32(x, s, y) (x) = __builtin_ia32_vfmaddps256((s), (y), (x))
#define ASSAY_VECTOR_FMA_F64(x, s, y) (x) = __builtin_ia32_vfmaddpd256((s), (y), (x))
#else
#define ASSAY_EACH_FMA(fma, x, s, y)                                                               \
    do {                                                                                           \
        __typeof__(x) s_ = (s), y_ = (y);                                                          \
                                                                                                   \
        for (u32 e_ = 0; e_ < sizeof(x) / sizeof((x)[0]); e_++)                                    \
            (x)[e_] = fma(s_[e_], y_[e_], (x)[e_]);                                                \
    } while (0)
#define ASSAY_VECTOR_FMA_F32(x, s, y) ASSAY_EACH_FMA(__builtin_fmaf, x, s, y)
#define ASSAY_VECTOR_FMA_F64(x, s, y) ASSAY_EACH_FMA(__builtin_fma, x, s, y)
#endif

/* Two selects vectorize; fmaxf is a call where NaN may come. */
INLINE f32 assay_max(f32 a, f32 b)
{
    const f32 m = a > b ? a : b;

    return b != b ? a : m;
}

INLINE f32 assay_min(f32 a, f32 b)
{
    const f32 m = a < b ? a : b;

    return b != b ? a : m;
}

/*
 * e^x: reduction after Cody and Waite (Software Manual for the Elementary Functions, 1980) to
 * |r| <= ln(2)/2 and the polynomial of workloads/kernels/memory_exp.h. 2^n is applied in two
 * halves, so that denormal results round once more at most and overflow gives infinity.
 */
INLINE f32 assay_exp(f32 x)
{
    const f32 shifter = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    f32 shifted, n, r, p;
    i32 whole, half;

    x = x < -110.0f ? -110.0f : x;
    x = x > 90.0f ? 90.0f : x;
    shifted = F_FMA(x, 1.44269502f, shifter);
    n = shifted - shifter;
    r = F_FMA(n, -0.693145752f, x); /* the upper 16 bits of ln 2, so that n times it is exact */
    r = F_FMA(n, -1.42860677e-6f, r);
    p = 1.38143203e-3f;
    p = F_FMA(p, r, 8.36885106e-3f);
    p = F_FMA(p, r, 4.16684011e-2f);
    p = F_FMA(p, r, 1.66665195e-1f);
    p = F_FMA(p, r, 4.99999934e-1f);
    p = F_FMA(p, r, 1.0f);
    p = F_FMA(p, r, 1.0f);
    whole = (i32)(assay_bits(shifted) - assay_bits(shifter));
    half = whole >> 1;
    return p * assay_float((u32)(half + 127) << 23) * assay_float((u32)(whole - half + 127) << 23);
}

/*
 * ln x: x = m 2^k with m in [sqrt(1/2), sqrt(2)); polynomial and the two parts of ln 2 as published
 * by Moshier (Methods and Programs for Mathematical Functions, 1989; single-precision logarithm).
 */
INLINE f32 assay_log(f32 x)
{
    const u32 small = x < 1.17549435e-38f; /* denormal, zero, negative */
    const f32 scaled = small ? x * 8388608.0f : x;
    const u32 shifted = assay_bits(scaled) - 0x3f3504f3u; /* sqrt(1/2) */
    const f32 k = (f32)((i32)shifted >> 23) - (small ? 23.0f : 0.0f);
    const f32 f = assay_float((shifted & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    const f32 z = f * f;
    f32 p = 7.0376836292e-2f, y;

    p = F_FMA(p, f, -1.1514610310e-1f);
    p = F_FMA(p, f, 1.1676998740e-1f);
    p = F_FMA(p, f, -1.2420140846e-1f);
    p = F_FMA(p, f, 1.4249322787e-1f);
    p = F_FMA(p, f, -1.6668057665e-1f);
    p = F_FMA(p, f, 2.0000714765e-1f);
    p = F_FMA(p, f, -2.4999993993e-1f);
    p = F_FMA(p, f, 3.3333331174e-1f);
    y = p * f * z;
    y = F_FMA(k, -2.12194440e-4f, y);
    y = F_FMA(z, -0.5f, y);
    y = F_FMA(k, 0.693359375f, f + y);
    y = x == INFINITY ? x : y;
    y = x == 0.0f ? -INFINITY : y;
    return x < 0.0f || x != x ? NAN : y;
}

/*
 * tanh: below 0.625 the odd polynomial published by Moshier (as above), beyond it
 * 1 - 2 / (e^2|x| + 1).
 */
INLINE f32 assay_tanh(f32 x)
{
    const f32 a = F_FABS(x), z = x * x;
    const f32 far = 1.0f - 2.0f / (assay_exp(a + a) + 1.0f);
    f32 p = -5.70498872745e-3f;

    p = F_FMA(p, z, 2.06390887954e-2f);
    p = F_FMA(p, z, -5.37397155531e-2f);
    p = F_FMA(p, z, 1.33314422036e-1f);
    p = F_FMA(p, z, -3.33332819422e-1f);
    p = F_FMA(p * z, x, x);
    return a < 0.625f ? p : assay_float(assay_bits(far) | (assay_bits(x) & 0x80000000u));
}

/*
 * erf: below 1 an odd polynomial, beyond it 1 - e^-q(|x|) where q fits -ln erfc; beyond 4 the
 * result is 1. Both polynomials are fitted here for the least error of the result, 0.02 and 0.01
 * units in the last place before rounding.
 */
INLINE f32 assay_erf(f32 x)
{
    const f32 a = F_FABS(x), z = x * x, c = a > 4.0f ? 4.0f : a;
    f32 p = 7.85386115e-5f, q = -0.000185573982f, far;

    p = F_FMA(p, z, -8.01019357e-4f);
    p = F_FMA(p, z, 5.18832768e-3f);
    p = F_FMA(p, z, -2.68538119e-2f);
    p = F_FMA(p, z, 1.12835851e-1f);
    p = F_FMA(p, z, -3.76126258e-1f);
    p = F_FMA(p, z, 1.12837917f);
    q = F_FMA(q, c, 0.00293960705f);
    q = F_FMA(q, c, -0.0218053174f);
    q = F_FMA(q, c, 0.103037367f);
    q = F_FMA(q, c, 0.638225679f);
    q = F_FMA(q, c, 1.12704003f);
    q = F_FMA(q, c, 0.00035371977f);
    far = 1.0f - assay_exp(-q);
    return a < 1.0f ? p * x : assay_float(assay_bits(far) | (assay_bits(x) & 0x80000000u));
}

/*
 * x^y = 2^(y log2 x), in fp64 so that the product keeps its last bits: log2 by
 * 2 atanh((m - 1) / (m + 1)) and e^r by its Taylor series, both cut where the rest is below 2^-40.
 */
INLINE f32 assay_pow(f32 x, f32 y)
{
    const f64 wide = (f64)F_FABS(x);
    u64 bits;
    f64 m, k, s, z, p, e, n, r;
    f32 result;
    i64 power;

    __builtin_memcpy(&bits, &wide, sizeof(bits));
    bits -= 0x3fe6a09e667f3bcdul; /* sqrt(1/2) */
    k = (f64)((i64)bits >> 52);
    bits = (bits & 0xffffffffffffful) + 0x3fe6a09e667f3bcdul;
    __builtin_memcpy(&m, &bits, sizeof(m));
    s = (m - 1.0) / (m + 1.0);
    z = s * s;
    p = 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    p = p * z + 2.0 / 3.0;
    p = p * z + 2.0;
    e = (f64)y * (p * s * 1.4426950408889634 + k); /* y log2 |x| */
    e = e > 200.0 ? 200.0 : e;
    e = e < -200.0 ? -200.0 : e;
    n = (e + 6755399441055744.0) - 6755399441055744.0;
    r = (e - n) * 0.6931471805599453;
    p = 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    power = e == e ? (i64)n : 0;
    bits = (u64)(power + 1023) << 52;
    __builtin_memcpy(&m, &bits, sizeof(m));
    result = (f32)(p * m);
    if (x == 0.0f || x == INFINITY || x == -INFINITY || x < 0.0f || x != x || y != y ||
        y == INFINITY || y == -INFINITY) {
        /* Annex F.10.4.4 of C17. */
        const f32 a = F_FABS(x), b = F_FABS(y);
        const u32 whole = b >= 8388608.0f || (b < INFINITY && (f32)(i32)b == b);
        const u32 odd = whole && b < 16777216.0f && ((u32)b & 1u);

        if (y == 0.0f || x == 1.0f || (x == -1.0f && b == INFINITY))
            return 1.0f;
        if (x != x || y != y)
            return NAN;
        if (b == INFINITY)
            return (a > 1.0f) == (y > 0.0f) ? INFINITY : 0.0f;
        if (a == 0.0f || a == INFINITY) {
            result = (a == 0.0f) == (y < 0.0f) ? INFINITY : 0.0f;
            return odd && (assay_bits(x) >> 31) ? -result : result;
        }
        if (!whole)
            return NAN;
        return odd ? -result : result;
    }
    return result;
}

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
    return assay_float((u32)h << 16);
}

/* Round to nearest even: add just under half, and the last bit kept. A NaN stays one. */
INLINE u16 assay_bf16_store(f32 v)
{
    const u32 x = assay_bits(v);
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
    const u32 small = assay_bits(assay_float(bits + (113u << 23)) - assay_float(113u << 23));
    const u32 finite = bits < (1u << 23) ? small : normal;

    return assay_float(sign | (bits >= (31u << 23) ? special : finite));
}

/*
 * Below 2^-14 the sum with 0.5, whose last bit is 2^-24, rounds as a denormal f16 must. 65520 is
 * the first value that rounds to infinity.
 */
INLINE u16 assay_f16_store(f32 v)
{
    const u32 sign = (assay_bits(v) >> 16) & 0x8000u;
    const u32 x = assay_bits(v) & 0x7fffffffu;
    const u32 normal = (x - (112u << 23) + 0xfffu + ((x >> 13) & 1u)) >> 13;
    const u32 small = assay_bits(assay_float(x) + 0.5f) - assay_bits(0.5f);
    const u32 finite = x < (113u << 23) ? small : normal;
    const u32 special = x > 0x7f800000u ? 0x7e00u | ((x >> 13) & 0x3ffu) : 0x7c00u;

    return (u16)(sign | (x >= 0x477ff000u ? special : finite));
}
