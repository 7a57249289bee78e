/*
 * precision - what a run computes in, and its storage types.
 *
 * A precision is what a user asks for ("bf16"); a dtype is how an element is stored in memory. tf32
 * is a precision whose storage is f32.
 */
#ifndef ASSAY_CORE_PRECISION_H
#define ASSAY_CORE_PRECISION_H

#include <stdbool.h>
#include <stddef.h>

/* code, name, bits per element */
#define DTYPE_MAP(X)                                                                               \
    X(F64, "f64", 64)                                                                              \
    X(F32, "f32", 32)                                                                              \
    X(BF16, "bf16", 16)                                                                            \
    X(F16, "f16", 16)                                                                              \
    X(E4M3, "e4m3", 8)                                                                             \
    X(E5M2, "e5m2", 8)                                                                             \
    X(E4M3_FNUZ, "e4m3_fnuz", 8)                                                                   \
    X(E5M2_FNUZ, "e5m2_fnuz", 8)                                                                   \
    X(I8, "i8", 8)                                                                                 \
    X(I32, "i32", 32)                                                                              \
    X(E2M1, "e2m1", 4)                                                                             \
    X(I64, "i64", 64)

enum dtype {
#define DTYPE_ENUM(code, name, bits) DTYPE_##code,
    DTYPE_MAP(DTYPE_ENUM)
#undef DTYPE_ENUM
        DTYPE_COUNT
};

/* code, name, storage */
#define PRECISION_MAP(X)                                                                           \
    X(FP64, "fp64", F64)                                                                           \
    X(FP32, "fp32", F32)                                                                           \
    X(TF32, "tf32", F32)                                                                           \
    X(BF16, "bf16", BF16)                                                                          \
    X(FP16, "fp16", F16)                                                                           \
    X(FP8_E4M3, "fp8_e4m3", E4M3)                                                                  \
    X(FP8_E5M2, "fp8_e5m2", E5M2)                                                                  \
    X(INT8, "int8", I8)                                                                            \
    X(FP4, "fp4", E2M1)

enum precision {
#define PRECISION_ENUM(code, name, storage) PRECISION_##code,
    PRECISION_MAP(PRECISION_ENUM)
#undef PRECISION_ENUM
        PRECISION_COUNT
};

/* What a server elsewhere computes in, where nobody told: "unknown". No device has it. */
#define PRECISION_UNKNOWN PRECISION_COUNT

const char *dtype_name(enum dtype dtype);
size_t dtype_bits(enum dtype dtype);
const char *precision_name(enum precision precision);
enum dtype precision_dtype(enum precision precision);
bool precision_from_name(const char *name, enum precision *ret);

#endif
