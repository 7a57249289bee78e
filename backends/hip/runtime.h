/*
 * runtime - our declarations of the HIP runtime, libamdhip64.so of ROCm 5.2 to 7, as far as they
 * are used. Facts from hip_runtime_api.h of ROCm 5.2.3, 5.7.1, 6.2.2 and 7.0 (MIT);
 * tests/unit/test_backend_hip_abi.c holds them to the headers that are installed.
 *
 * Device attributes and function attributes have the same numbers in all of these; hipDeviceProp_t
 * has two layouts, distinguished by the function's name, and only gcnArchName is read of it.
 */
#ifndef ASSAY_BACKENDS_HIP_RUNTIME_H
#define ASSAY_BACKENDS_HIP_RUNTIME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/dynlib.h"
#include "harness/core/status.h"

#define HIP_RUNTIME_ERROR_MAP(X)                                                                   \
    X(Success, 0)                                                                                  \
    X(ErrorInvalidValue, 1)                                                                        \
    X(ErrorOutOfMemory, 2)                                                                         \
    X(ErrorNotInitialized, 3)                                                                      \
    X(ErrorDeinitialized, 4)                                                                       \
    X(ErrorInvalidConfiguration, 9)                                                                \
    X(ErrorInvalidSymbol, 13)                                                                      \
    X(ErrorInvalidDevicePointer, 17)                                                               \
    X(ErrorInsufficientDriver, 35)                                                                 \
    X(ErrorPriorLaunchFailure, 53)                                                                 \
    X(ErrorInvalidDeviceFunction, 98)                                                              \
    X(ErrorNoDevice, 100)                                                                          \
    X(ErrorInvalidDevice, 101)                                                                     \
    X(ErrorInvalidImage, 200)                                                                      \
    X(ErrorInvalidContext, 201)                                                                    \
    X(ErrorMapFailed, 205)                                                                         \
    X(ErrorNoBinaryForGpu, 209)                                                                    \
    X(ErrorECCNotCorrectable, 214)                                                                 \
    X(ErrorInvalidKernelFile, 218)                                                                 \
    X(ErrorInvalidSource, 300)                                                                     \
    X(ErrorFileNotFound, 301)                                                                      \
    X(ErrorSharedObjectSymbolNotFound, 302)                                                        \
    X(ErrorSharedObjectInitFailed, 303)                                                            \
    X(ErrorOperatingSystem, 304)                                                                   \
    X(ErrorInvalidHandle, 400)                                                                     \
    X(ErrorIllegalState, 401)                                                                      \
    X(ErrorNotFound, 500)                                                                          \
    X(ErrorNotReady, 600)                                                                          \
    X(ErrorIllegalAddress, 700)                                                                    \
    X(ErrorLaunchOutOfResources, 701)                                                              \
    X(ErrorLaunchTimeOut, 702)                                                                     \
    X(ErrorContextIsDestroyed, 709)                                                                \
    X(ErrorAssert, 710)                                                                            \
    X(ErrorLaunchFailure, 719)                                                                     \
    X(ErrorNotSupported, 801)                                                                      \
    X(ErrorUnknown, 999)                                                                           \
    X(ErrorRuntimeMemory, 1052)                                                                    \
    X(ErrorRuntimeOther, 1053)

enum {
#define HIP_RUNTIME_ERROR_ENUM(name, value) HIP_##name = value,
    HIP_RUNTIME_ERROR_MAP(HIP_RUNTIME_ERROR_ENUM)
#undef HIP_RUNTIME_ERROR_ENUM
};

/* hipDeviceAttribute_t */
#define HIP_ATTRIBUTE_MAP(X)                                                                       \
    X(ClockRate, 5)                                                                                \
    X(Integrated, 16)                                                                              \
    X(L2CacheSize, 19)                                                                             \
    X(MaxThreadsPerBlock, 56)                                                                      \
    X(MemoryBusWidth, 59)                                                                          \
    X(MemoryClockRate, 60)                                                                         \
    X(MultiprocessorCount, 63)                                                                     \
    X(MaxRegistersPerBlock, 71)                                                                    \
    X(MaxSharedMemoryPerBlock, 74)                                                                 \
    X(WarpSize, 87)                                                                                \
    X(AsicRevision, 10012)

enum {
#define HIP_ATTRIBUTE_ENUM(name, value) HIP_ATTRIBUTE_##name = value,
    HIP_ATTRIBUTE_MAP(HIP_ATTRIBUTE_ENUM)
#undef HIP_ATTRIBUTE_ENUM
};

#define HIP_FUNCTION_MAX_THREADS 0  /* HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK */
#define HIP_FUNCTION_SHARED_BYTES 1 /* ..._SHARED_SIZE_BYTES */
#define HIP_FUNCTION_LOCAL_BYTES 3  /* ..._LOCAL_SIZE_BYTES */
#define HIP_FUNCTION_REGISTERS 4    /* ..._NUM_REGS */
#define HIP_STREAM_NON_BLOCKING 1u
#define HIP_EVENT_DEFAULT 0u
#define HIP_UUID_SIZE 16

/* hipDeviceProp_t before 6.0, and hipDeviceProp_tR0600 since. */
#define HIP_PROPERTIES_BYTES 792
#define HIP_PROPERTIES_ARCH 396
#define HIP_PROPERTIES_R0600_BYTES 1472
#define HIP_PROPERTIES_R0600_ARCH 1160
#define HIP_ARCH_SIZE 256

struct hip_uuid {
    char bytes[HIP_UUID_SIZE];
};

struct ihipStream_t;
struct ihipModule_t;
struct ihipModuleSymbol_t;
struct ihipEvent_t;

/* Rows X(name, parameters) of functions of ROCm, which all return an unsigned code; see dynlib.h.
 */
#define HIP_MEMBER(name, parameters) DYNLIB_MEMBER(unsigned, name, parameters)
#define HIP_REQUIRED(name, parameters) DYNLIB_REQUIRED(unsigned, name)
#define HIP_OPTIONAL(name, parameters) DYNLIB_OPTIONAL(unsigned, name)

/* The result is hipError_t, unsigned; hipDevice_t is int; hipDeviceptr_t is a void pointer. */
#define HIP_RUNTIME_REQUIRED_MAP(X)                                                                \
    X(hipInit, (unsigned flags))                                                                   \
    X(hipGetDeviceCount, (int *count))                                                             \
    X(hipSetDevice, (int device))                                                                  \
    X(hipDeviceGetName, (char *name, int length, int device))                                      \
    X(hipDeviceTotalMem, (size_t * bytes, int device))                                             \
    X(hipDeviceGetAttribute, (int *value, unsigned attribute, int device))                         \
    X(hipDeviceGetPCIBusId, (char *id, int length, int device))                                    \
    X(hipDriverGetVersion, (int *version))                                                         \
    X(hipRuntimeGetVersion, (int *version))                                                        \
    X(hipMalloc, (void **address, size_t bytes))                                                   \
    X(hipFree, (void *address))                                                                    \
    X(hipHostMalloc, (void **address, size_t bytes, unsigned flags))                               \
    X(hipHostFree, (void *address))                                                                \
    X(hipMemcpyDtoDAsync, (void *to, void *from, size_t bytes, struct ihipStream_t *stream))       \
    X(hipMemcpyHtoDAsync, (void *to, void *from, size_t bytes, struct ihipStream_t *stream))       \
    X(hipMemcpyDtoHAsync, (void *to, void *from, size_t bytes, struct ihipStream_t *stream))       \
    X(hipStreamCreateWithFlags, (struct ihipStream_t * *stream, unsigned flags))                   \
    X(hipStreamDestroy, (struct ihipStream_t * stream))                                            \
    X(hipStreamSynchronize, (struct ihipStream_t * stream))                                        \
    X(hipEventCreateWithFlags, (struct ihipEvent_t * *event, unsigned flags))                      \
    X(hipEventDestroy, (struct ihipEvent_t * event))                                               \
    X(hipEventRecord, (struct ihipEvent_t * event, struct ihipStream_t * stream))                  \
    X(hipEventElapsedTime, (float *ms, struct ihipEvent_t *start, struct ihipEvent_t *end))        \
    X(hipModuleLoadData, (struct ihipModule_t * *module, const void *image))                       \
    X(hipModuleUnload, (struct ihipModule_t * module))                                             \
    X(hipModuleGetFunction,                                                                        \
      (struct ihipModuleSymbol_t * *function, struct ihipModule_t * module, const char *name))     \
    X(hipModuleGetGlobal,                                                                          \
      (void **address, size_t *bytes, struct ihipModule_t *module, const char *name))              \
    X(hipFuncGetAttribute, (int *value, unsigned attribute, struct ihipModuleSymbol_t *function))  \
    X(hipModuleLaunchKernel,                                                                       \
      (struct ihipModuleSymbol_t * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,    \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,                \
       struct ihipStream_t *stream, void **arguments, void **extra))

/* The first two fill the one layout or the other; hipDeviceGetUuid came with 5.1. */
#define HIP_RUNTIME_OPTIONAL_MAP(X)                                                                \
    X(hipGetDevicePropertiesR0600, (void *properties, int device))                                 \
    X(hipGetDeviceProperties, (void *properties, int device))                                      \
    X(hipDeviceGetUuid, (struct hip_uuid * uuid, int device))

struct hip_runtime {
    HIP_RUNTIME_REQUIRED_MAP(HIP_MEMBER)
    HIP_RUNTIME_OPTIONAL_MAP(HIP_MEMBER)
    /* Not of HIP: a simulated runtime (tests/support/gpu_shim) identifies itself by it. */
    const char *assay_simulated;
};

/* Where AMD's own packages put libraries without configuring the loader. */
#define HIP_ROCM_FOLDER "/opt/rocm/lib"

/* UNAVAILABLE with all that was tried. */
enum status hip_runtime_open(struct dynlib *lib, struct hip_runtime *ret, struct error *err);

/* "hipErrorNotFound"; "unknown code" for what no header knows. */
const char *hip_runtime_error_name(int code);

/*
 * "CONTEXT: FUNCTION: hipErrorOutOfMemory (2)" and the status that fits; context may be NULL. A
 * code of success means that the call gave an impossible result.
 */
enum status hip_runtime_fail(struct error *err, const char *context, const char *function,
                             int code);

/*
 * Where a library of the same installation is looked for: each of at most HIP_CANDIDATES_MAX names
 * next to the runtime at `path`, then by the loader; one that begins with HIP_BESIDE only next to
 * it, a path as it is. For struct dynlib_spec.
 */
#define HIP_BESIDE "./"
#define HIP_CANDIDATES_MAX 5
struct hip_candidates {
    char beside[HIP_CANDIDATES_MAX][PATH_MAX];
    const char *list[2 * HIP_CANDIDATES_MAX + 1];
};
void hip_runtime_candidates(const char *path, const char *const *sonames,
                            struct hip_candidates *ret);

/*
 * Major version of the opened runtime from its file's name, libamdhip64.so.6.0.1 or the link's
 * target; 0 when the name does not report.
 */
int hip_runtime_major(const char *path);

#endif
