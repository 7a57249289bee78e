/*
 * What a text that computes in tiles begins with: TYPE_A, TYPE_B, TYPE_C and TYPE_BIAS are storage
 * types (F32, BF16, F16, F64, I8, I32; operands may be E4M3 or E5M2, too), GET and PUT convert, and
 * products are taken and sums kept in NUMBER: f64 for F64, i32 for I8, f32 for the rest. With one
 * lane there are vectors of NUMBER that the compiler keeps in registers: PANEL numbers are VECTORS
 * vectors of VECTOR.
 */
#define GEMM_PASTE(a, b) a##b
#define GEMM_NAME(a, b) GEMM_PASTE(a, b)

#define KIND_F32 1
#define KIND_BF16 2
#define KIND_F16 3
#define KIND_F64 4
#define KIND_I8 5
#define KIND_I32 6
#define KIND_E4M3 7
#define KIND_E5M2 8
#define KIND(type) GEMM_NAME(KIND_, type)

#define ELEMENT_F32 store_f32
#define ELEMENT_BF16 store_bf16
#define ELEMENT_F16 store_f16
#define ELEMENT_F64 f64
#define ELEMENT_I8 i8
#define ELEMENT_I32 i32
#define ELEMENT_E4M3 u8
#define ELEMENT_E5M2 u8
#define ELEMENT(type) GEMM_NAME(ELEMENT_, type)

#define GET_F32(p, i) LOAD_F32(p, i)
#define GET_BF16(p, i) LOAD_BF16(p, i)
#define GET_F16(p, i) LOAD_F16(p, i)
#define GET_F64(p, i) ((p)[i])
#define GET_I8(p, i) ((i32)(p)[i])
#define GET_I32(p, i) ((p)[i])
#define GET_E4M3(p, i) gemm_e4m3((p)[i])
#define GET_E5M2(p, i) gemm_e5m2((p)[i])
#define GET(type, p, i) GEMM_NAME(GET_, type)(p, i)

#define PUT_F32(p, i, v) STORE_F32(p, i, v)
#define PUT_BF16(p, i, v) STORE_BF16(p, i, v)
#define PUT_F16(p, i, v) STORE_F16(p, i, v)
#define PUT_F64(p, i, v) ((p)[i] = (v))
#define PUT_I32(p, i, v) ((p)[i] = (v))
#define PUT(type, p, i, v) GEMM_NAME(PUT_, type)(p, i, v)

#if KIND(TYPE_A) == KIND_F64
#ifndef HAVE_F64
#error this device has no f64
#endif
#define NUMBER f64
#define NUMBER_KIND KIND_F64
#define NUMBER_BYTES 8
#define NUMBER_FMA(a, b, c) D_FMA(a, b, c)
#define SCALE(x) ((f64)alpha * (x))
#elif KIND(TYPE_A) == KIND_I8
#define NUMBER i32
#define NUMBER_KIND KIND_I32
#define NUMBER_BYTES 4
#define NUMBER_FMA(a, b, c) ((a) * (b) + (c))
#define SCALE(x) (x)
#else
#define NUMBER f32
#define NUMBER_KIND KIND_F32
#define NUMBER_BYTES 4
#define NUMBER_FMA(a, b, c) F_FMA(a, b, c)
#define SCALE(x) (alpha * (x))
#endif
#define ZERO ((NUMBER)0)

#if LANES == 1

/*
 * REG_V counts 64 bytes; a vector may be a part of that. VECTOR_FMA adds a number times a vector to
 * x, VECTOR_FMA_EACH the products of two vectors' elements.
 */
#ifdef ASSAY_VECTOR_BYTES
#define VECTOR_BYTES ASSAY_VECTOR_BYTES
#else
#define VECTOR_BYTES 64
#endif
#define VECTOR (VECTOR_BYTES / NUMBER_BYTES)
#define VECTORS (REG_V * (64 / VECTOR_BYTES))
#define PANEL (VECTORS * VECTOR)

#ifdef __OPENCL_VERSION__
#if NUMBER_KIND == KIND_F64
typedef double8 vector;
#define LANES_OF_VECTOR 8
#elif NUMBER_KIND == KIND_I32
typedef int16 vector;
#define LANES_OF_VECTOR 16
#else
typedef float16 vector;
#define LANES_OF_VECTOR 16
#endif
#define PRIVATE __private
#define VECTOR_ZERO(x) (x) = (vector)(ZERO)
#ifdef ASSAY_BUILTINS /* nothing of the inner loop may be a call, see there */
typedef vector __attribute__((aligned(NUMBER_BYTES))) vector_in_memory;
#define VECTOR_LOAD(x, space, p) (x) = *(const space vector_in_memory *)(p)
#define VECTOR_STORE(x, space, p) (*(space vector_in_memory *)(p) = (x))
#else
#define VECTOR_LOAD(x, space, p) (x) = GEMM_NAME(vload, LANES_OF_VECTOR)(0, (p))
#define VECTOR_STORE(x, space, p) GEMM_NAME(vstore, LANES_OF_VECTOR)((x), 0, (p))
#endif
#if NUMBER_KIND == KIND_I32
#define VECTOR_FMA(x, s, y) (x) += (vector)(s) * (y)
#elif defined(ASSAY_BUILTIN_VECTOR_FMA)
#define VECTOR_FMA(x, s, y) (x) = __builtin_elementwise_fma((vector)(s), (y), (x))
#else
#define VECTOR_FMA(x, s, y) (x) = fma((vector)(s), (y), (x))
#endif
#define VECTOR_FMA_EACH(x, a, y) VECTOR_FMA(x, a, y)
#elif defined(ASSAY_VECTOR_BYTES)
typedef NUMBER vector __attribute__((vector_size(VECTOR_BYTES)));
typedef NUMBER vector_in_memory
    __attribute__((vector_size(VECTOR_BYTES), aligned(NUMBER_BYTES), may_alias));
#define VECTOR_ZERO(x)                                                                             \
    (x) = (vector)                                                                                 \
    {                                                                                              \
        ZERO                                                                                       \
    }
#define VECTOR_LOAD(x, space, p) (x) = *(const vector_in_memory *)(p)
#define VECTOR_STORE(x, space, p) (*(vector_in_memory *)(p) = (x))
#if NUMBER_KIND == KIND_I32
#define VECTOR_FMA(x, s, y) (x) += (s) * (y)
#elif NUMBER_KIND == KIND_F64
#define VECTOR_FMA(x, s, y) ASSAY_VECTOR_FMA_F64(x, (s) - (vector){ZERO}, y)
#else
#define VECTOR_FMA(x, s, y) ASSAY_VECTOR_FMA_F32(x, (s) - (vector){ZERO}, y)
#endif
#define VECTOR_FMA_EACH(x, a, y) VECTOR_FMA(x, a, y)
/* gcc vectorizes loops before it unrolls those that are only marked UNROLL: here vectors are there.
 */
#define UNROLL_VECTORS UNROLL_N(16)
#ifndef IMPLICIT_A
/* What happens once a row of a block stays a loop: unrolled, gcc takes up to ten times as long. */
#define UNROLL_ROWS
#endif
#else
typedef struct {
    NUMBER e[VECTOR];
} vector;
#define VECTOR_EACH                                                                                \
    UNROLL                                                                                         \
    for (int e_ = 0; e_ < VECTOR; e_++)
#define VECTOR_ZERO(x) VECTOR_EACH(x).e[e_] = ZERO
#define VECTOR_LOAD(x, space, p) VECTOR_EACH(x).e[e_] = (p)[e_]
#define VECTOR_STORE(x, space, p) VECTOR_EACH(p)[e_] = (x).e[e_]
#define VECTOR_FMA(x, s, y) VECTOR_EACH(x).e[e_] = NUMBER_FMA((s), (y).e[e_], (x).e[e_])
#define VECTOR_FMA_EACH(x, a, y) VECTOR_EACH(x).e[e_] = NUMBER_FMA((a).e[e_], (y).e[e_], (x).e[e_])
#endif
#ifndef UNROLL_VECTORS
#define UNROLL_VECTORS UNROLL
#endif
#ifndef UNROLL_ROWS
#define UNROLL_ROWS UNROLL_VECTORS
#endif

#endif
