/*
 * clblast - the GEMM of CLBlast, where it is installed.
 *
 * Declared by ourselves after clblast_c.h of CLBlast 1.5.3 (Apache-2.0); the C interface has kept
 * these types since 1.4. tests/unit/test_backend_clblast_abi.c compares them with the real header.
 */
#ifndef ASSAY_BACKENDS_OPENCL_CLBLAST_H
#define ASSAY_BACKENDS_OPENCL_CLBLAST_H

#include "backends/backend.h"
#include "backends/opencl/api.h"

/* Codes beyond OpenCL's own. */
#define CLBLAST_ERROR_MAP(X)                                                                       \
    X(NotImplemented, -1024)                                                                       \
    X(InvalidMatrixA, -1022)                                                                       \
    X(InvalidMatrixB, -1021)                                                                       \
    X(InvalidMatrixC, -1020)                                                                       \
    X(InvalidDimension, -1017)                                                                     \
    X(InvalidLeadDimA, -1016)                                                                      \
    X(InvalidLeadDimB, -1015)                                                                      \
    X(InvalidLeadDimC, -1014)                                                                      \
    X(InsufficientMemoryA, -1011)                                                                  \
    X(InsufficientMemoryB, -1010)                                                                  \
    X(InsufficientMemoryC, -1009)                                                                  \
    X(InvalidBatchCount, -2049)                                                                    \
    X(InvalidLocalMemUsage, -2046)                                                                 \
    X(NoHalfPrecision, -2045)                                                                      \
    X(NoDoublePrecision, -2044)                                                                    \
    X(DatabaseError, -2041)                                                                        \
    X(UnknownError, -2040)                                                                         \
    X(UnexpectedError, -2039)

#define CLBLAST_CONSTANT_MAP(X)                                                                    \
    X(LayoutRowMajor, 101)                                                                         \
    X(TransposeNo, 111)                                                                            \
    X(TransposeYes, 112)

#define CLBLAST_ENUM(name, value) CLBLAST_##name = value,
enum clblast_error { CLBLAST_ERROR_MAP(CLBLAST_ENUM) };
enum clblast_constant { CLBLAST_CONSTANT_MAP(CLBLAST_ENUM) };
#undef CLBLAST_ENUM

/* Enumerations are passed as int (a status) and unsigned int (the rest), which is how C has them.
 */
#define CLBLAST_GEMM(type)                                                                         \
    (unsigned, unsigned, unsigned, size_t, size_t, size_t, type, struct _cl_mem *, size_t, size_t, \
     struct _cl_mem *, size_t, size_t, type, struct _cl_mem *, size_t, size_t,                     \
     struct _cl_command_queue **, struct _cl_event **)
#define CLBLAST_GEMM_BATCHED(type)                                                                 \
    (unsigned, unsigned, unsigned, size_t, size_t, size_t, const type *, struct _cl_mem *,         \
     const size_t *, size_t, struct _cl_mem *, const size_t *, size_t, const type *,               \
     struct _cl_mem *, const size_t *, size_t, size_t, struct _cl_command_queue **,                \
     struct _cl_event **)
#define CLBLAST_GEMM_WORKSPACE                                                                     \
    (unsigned, unsigned, unsigned, size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t, \
     size_t, struct _cl_command_queue **, size_t *)

#define CLBLAST_FUNCTION_MAP(X)                                                                    \
    X(int, CLBlastSgemm, CLBLAST_GEMM(float))                                                      \
    X(int, CLBlastDgemm, CLBLAST_GEMM(double))                                                     \
    X(int, CLBlastSgemmBatched, CLBLAST_GEMM_BATCHED(float))                                       \
    X(int, CLBlastDgemmBatched, CLBLAST_GEMM_BATCHED(double))                                      \
    X(int, CLBlastSGemmTempBufferSize, CLBLAST_GEMM_WORKSPACE)                                     \
    X(int, CLBlastDGemmTempBufferSize, CLBLAST_GEMM_WORKSPACE)

struct clblast_api {
    CLBLAST_FUNCTION_MAP(DYNLIB_MEMBER)
};

struct opencl_clblast {
    struct dynlib lib;
    struct clblast_api api;
    bool usable;
    char *note;    /* why not; NULL: it is */
    char *version; /* from its file's name; NULL: it is not there */
};

/*
 * Opens libclblast.so.1. It calls OpenCL through its own link, so it is usable only where that
 * leads to the very loader that `opencl` is. `ret` is filled in any case.
 */
void opencl_clblast_open(const struct opencl_api *opencl, struct opencl_clblast *ret);

/* operation_implementation.create */
enum status opencl_gemm_create(struct device *device, const struct operation_desc *desc,
                               struct operation **ret, struct error *err);

#endif
