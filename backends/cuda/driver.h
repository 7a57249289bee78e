/*
 * driver - the part of the CUDA driver API (libcuda.so.1) that we call, declared by ourselves.
 *
 * Names, values and types are those of cuda.h (CUDA Toolkit 13.0; the same since 11.0 unless said
 * otherwise). tests/unit/test_backend_cuda_abi.c compares every line with the real header. Handles
 * keep the header's struct tags, so that both can meet in one file. Results and enumerations are
 * unsigned, which is what a C compiler makes of the header's.
 */
#ifndef ASSAY_BACKENDS_CUDA_DRIVER_H
#define ASSAY_BACKENDS_CUDA_DRIVER_H

#include <stddef.h>

#include "harness/core/dynlib.h"

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;

struct cuda_uuid {
    char bytes[16];
};

/*
 * Result, name, the symbol that has this type in every version, version of CUDA whose declaration
 * this is (for cuGetProcAddress), parameters. Names with _v2 came when a type changed; the plain
 * ones of old are another function.
 */
#define CUDA_REQUIRED_MAP(X)                                                                       \
    X(unsigned, cuInit, cuInit, 2000, (unsigned flags))                                            \
    X(unsigned, cuDriverGetVersion, cuDriverGetVersion, 2020, (int *version))                      \
    X(unsigned, cuGetErrorName, cuGetErrorName, 6000, (unsigned code, const char **name))          \
    X(unsigned, cuDeviceGetCount, cuDeviceGetCount, 2000, (int *count))                            \
    X(unsigned, cuDeviceGet, cuDeviceGet, 2000, (int *device, int ordinal))                        \
    X(unsigned, cuDeviceGetName, cuDeviceGetName, 2000, (char *name, int length, int device))      \
    X(unsigned, cuDeviceGetAttribute, cuDeviceGetAttribute, 2000,                                  \
      (int *value, unsigned attribute, int device))                                                \
    X(unsigned, cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, 4010,                                    \
      (char *id, int length, int device))                                                          \
    X(unsigned, cuDeviceTotalMem, cuDeviceTotalMem_v2, 3020, (size_t * bytes, int device))         \
    X(unsigned, cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000,                          \
      (struct CUctx_st * *context, int device))                                                    \
    X(unsigned, cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000, (int device))      \
    X(unsigned, cuCtxSetCurrent, cuCtxSetCurrent, 4000, (struct CUctx_st * context))               \
    X(unsigned, cuModuleLoadDataEx, cuModuleLoadDataEx, 2010,                                      \
      (struct CUmod_st * *module, const void *image, unsigned count, unsigned *options,            \
       void **values))                                                                             \
    X(unsigned, cuModuleUnload, cuModuleUnload, 2000, (struct CUmod_st * module))                  \
    X(unsigned, cuModuleGetFunction, cuModuleGetFunction, 2000,                                    \
      (struct CUfunc_st * *function, struct CUmod_st * module, const char *name))                  \
    X(unsigned, cuModuleGetGlobal, cuModuleGetGlobal_v2, 3020,                                     \
      (unsigned long long *address, size_t *bytes, struct CUmod_st *module, const char *name))     \
    X(unsigned, cuFuncGetAttribute, cuFuncGetAttribute, 2020,                                      \
      (int *value, unsigned attribute, struct CUfunc_st *function))                                \
    X(unsigned, cuLaunchKernel, cuLaunchKernel, 4000,                                              \
      (struct CUfunc_st * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,             \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,                \
       struct CUstream_st *stream, void **parameters, void **extra))                               \
    X(unsigned, cuMemAlloc, cuMemAlloc_v2, 3020, (unsigned long long *address, size_t bytes))      \
    X(unsigned, cuMemFree, cuMemFree_v2, 3020, (unsigned long long address))                       \
    X(unsigned, cuMemHostAlloc, cuMemHostAlloc, 2020,                                              \
      (void **address, size_t bytes, unsigned flags))                                              \
    X(unsigned, cuMemFreeHost, cuMemFreeHost, 2000, (void *address))                               \
    X(unsigned, cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, 3020,                                     \
      (unsigned long long to, unsigned long long from, size_t bytes, struct CUstream_st *stream))  \
    X(unsigned, cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020,                                     \
      (unsigned long long to, const void *from, size_t bytes, struct CUstream_st *stream))         \
    X(unsigned, cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020,                                     \
      (void *to, unsigned long long from, size_t bytes, struct CUstream_st *stream))               \
    X(unsigned, cuStreamCreate, cuStreamCreate, 2000,                                              \
      (struct CUstream_st * *stream, unsigned flags))                                              \
    X(unsigned, cuStreamDestroy, cuStreamDestroy_v2, 4000, (struct CUstream_st * stream))          \
    X(unsigned, cuStreamSynchronize, cuStreamSynchronize, 2000, (struct CUstream_st * stream))     \
    X(unsigned, cuEventCreate, cuEventCreate, 2000, (struct CUevent_st * *event, unsigned flags))  \
    X(unsigned, cuEventDestroy, cuEventDestroy_v2, 4000, (struct CUevent_st * event))              \
    X(unsigned, cuEventRecord, cuEventRecord, 2000,                                                \
      (struct CUevent_st * event, struct CUstream_st * stream))                                    \
    X(unsigned, cuEventElapsedTime, cuEventElapsedTime, 2000,                                      \
      (float *milliseconds, struct CUevent_st *start, struct CUevent_st *end))

/* Which of the two there is, and whether the UUID of a MIG slice is given, depends on the version.
 */
#define CUDA_OPTIONAL_MAP(X)                                                                       \
    X(unsigned, cuDeviceGetUuid, cuDeviceGetUuid_v2, 11040,                                        \
      (struct cuda_uuid * uuid, int device)) /* 11.4 */                                            \
    X(unsigned, cuDeviceGetUuid_old, cuDeviceGetUuid, 9020, (struct cuda_uuid * uuid, int device))

/* 12.0; the one of 11.3 has no `status`. */
typedef unsigned cuda_get_proc_address_v2(const char *name, void **ret, int version,
                                          unsigned long long flags, unsigned *status);
typedef unsigned cuda_get_proc_address(const char *name, void **ret, int version,
                                       unsigned long long flags);

struct cuda_driver_api {
#define CUDA_MEMBER(result, name, symbol, version, parameters) result(*name) parameters;
    CUDA_REQUIRED_MAP(CUDA_MEMBER)
    CUDA_OPTIONAL_MAP(CUDA_MEMBER)
#undef CUDA_MEMBER
    cuda_get_proc_address_v2 *cuGetProcAddress_v2;
    cuda_get_proc_address *cuGetProcAddress;
    /* Not of CUDA: a simulated driver (tests/support/gpu_shim) identifies itself by it. */
    const char *assay_simulated;
};

/* Results of calls that we distinguish; the driver names the others itself. */
#define CUDA_RESULT_MAP(X)                                                                         \
    X(SUCCESS, 0)                                                                                  \
    X(ERROR_INVALID_VALUE, 1)                                                                      \
    X(ERROR_OUT_OF_MEMORY, 2)                                                                      \
    X(ERROR_NOT_INITIALIZED, 3)                                                                    \
    X(ERROR_DEINITIALIZED, 4)                                                                      \
    X(ERROR_STUB_LIBRARY, 34)                                                                      \
    X(ERROR_DEVICE_UNAVAILABLE, 46)                                                                \
    X(ERROR_NO_DEVICE, 100)                                                                        \
    X(ERROR_INVALID_DEVICE, 101)                                                                   \
    X(ERROR_INVALID_IMAGE, 200)                                                                    \
    X(ERROR_NO_BINARY_FOR_GPU, 209)                                                                \
    X(ERROR_ECC_UNCORRECTABLE, 214)                                                                \
    X(ERROR_INVALID_PTX, 218)                                                                      \
    X(ERROR_UNSUPPORTED_PTX_VERSION, 222)                                                          \
    X(ERROR_NOT_FOUND, 500)                                                                        \
    X(ERROR_ILLEGAL_ADDRESS, 700)                                                                  \
    X(ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                                                          \
    X(ERROR_LAUNCH_TIMEOUT, 702)                                                                   \
    X(ERROR_CONTEXT_IS_DESTROYED, 709)                                                             \
    X(ERROR_HARDWARE_STACK_ERROR, 714)                                                             \
    X(ERROR_ILLEGAL_INSTRUCTION, 715)                                                              \
    X(ERROR_MISALIGNED_ADDRESS, 716)                                                               \
    X(ERROR_LAUNCH_FAILED, 719)                                                                    \
    X(ERROR_SYSTEM_NOT_READY, 802)                                                                 \
    X(ERROR_SYSTEM_DRIVER_MISMATCH, 803)                                                           \
    X(ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804)                                                   \
    X(ERROR_UNKNOWN, 999)

enum cuda_result {
#define CUDA_RESULT_ENUM(name, value) CUDA_DRIVER_##name = value,
    CUDA_RESULT_MAP(CUDA_RESULT_ENUM)
#undef CUDA_RESULT_ENUM
};

/* CU_DEVICE_ATTRIBUTE_<name> */
#define CUDA_DEVICE_ATTRIBUTE_MAP(X)                                                               \
    X(MAX_THREADS_PER_BLOCK, 1)                                                                    \
    X(MAX_SHARED_MEMORY_PER_BLOCK, 8)                                                              \
    X(WARP_SIZE, 10)                                                                               \
    X(MAX_REGISTERS_PER_BLOCK, 12)                                                                 \
    X(CLOCK_RATE, 13)                                                                              \
    X(MULTIPROCESSOR_COUNT, 16)                                                                    \
    X(KERNEL_EXEC_TIMEOUT, 17)                                                                     \
    X(INTEGRATED, 18)                                                                              \
    X(COMPUTE_MODE, 20)                                                                            \
    X(ECC_ENABLED, 32)                                                                             \
    X(MEMORY_CLOCK_RATE, 36)                                                                       \
    X(GLOBAL_MEMORY_BUS_WIDTH, 37)                                                                 \
    X(L2_CACHE_SIZE, 38)                                                                           \
    X(MAX_THREADS_PER_MULTIPROCESSOR, 39)                                                          \
    X(ASYNC_ENGINE_COUNT, 40)                                                                      \
    X(COMPUTE_CAPABILITY_MAJOR, 75)                                                                \
    X(COMPUTE_CAPABILITY_MINOR, 76)                                                                \
    X(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)                                                    \
    X(MAX_REGISTERS_PER_MULTIPROCESSOR, 82)

enum cuda_device_attribute {
#define CUDA_ATTRIBUTE_ENUM(name, value) CUDA_DEVICE_##name = value,
    CUDA_DEVICE_ATTRIBUTE_MAP(CUDA_ATTRIBUTE_ENUM)
#undef CUDA_ATTRIBUTE_ENUM
};

/* CU_FUNC_ATTRIBUTE_<name> */
#define CUDA_FUNCTION_ATTRIBUTE_MAP(X)                                                             \
    X(MAX_THREADS_PER_BLOCK, 0)                                                                    \
    X(SHARED_SIZE_BYTES, 1)                                                                        \
    X(LOCAL_SIZE_BYTES, 3)                                                                         \
    X(NUM_REGS, 4)

enum cuda_function_attribute {
#define CUDA_ATTRIBUTE_ENUM(name, value) CUDA_FUNCTION_##name = value,
    CUDA_FUNCTION_ATTRIBUTE_MAP(CUDA_ATTRIBUTE_ENUM)
#undef CUDA_ATTRIBUTE_ENUM
};

#define CUDA_STREAM_NON_BLOCKING 1u  /* CU_STREAM_NON_BLOCKING */
#define CUDA_EVENT_DEFAULT 0u        /* CU_EVENT_DEFAULT: with times, without blocking waits */
#define CUDA_JIT_INFO_LOG_BUFFER 3u  /* CU_JIT_INFO_LOG_BUFFER */
#define CUDA_JIT_ERROR_LOG_BUFFER 5u /* CU_JIT_ERROR_LOG_BUFFER */
#define CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES 6u /* CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES */

/*
 * Opens libcuda.so.1 (name "cuda") and asks cuGetProcAddress, where it is there, for the functions
 * of the versions that we declare. UNAVAILABLE as dynlib_open.
 */
enum status cuda_driver_open(struct dynlib *lib, struct cuda_driver_api *ret, struct error *err);

/*
 * A failed call as a status: "CONTEXT: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)". `context` may be
 * NULL. With code 0: it succeeded, but its result is impossible.
 */
enum status cuda_fail(const struct cuda_driver_api *api, struct error *err, const char *context,
                      const char *function, unsigned code);

#endif
