/*
 * Our declarations of the CUDA driver, NVRTC, cuBLASLt, cuDNN and NVML against the real headers:
 * every constant, structure and function type. A library whose header is not installed is skipped
 * with a message. The vendor's headers come first: cuda.h renames functions by macros, and so
 * renames the members of our table alike.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static int failures, checks, skips;

/* Unused where none of the headers is installed. */
__attribute__((unused)) static void check(int good, const char *what, const char *name)
{
    checks++;
    if (!good) {
        failures++;
        printf("FAIL %s of %s differs from the headers\n", what, name);
    }
}

#define SAME_TYPE(a, b) __builtin_types_compatible_p(__typeof__(a), __typeof__(b))
#define FUNCTION_TYPE(result, name, parameters)                                                    \
    check(SAME_TYPE(&name, api.name), "the type", #name);
#define FIELD(ours, our_field, theirs, their_field)                                                \
    check(offsetof(ours, our_field) == offsetof(theirs, their_field) &&                            \
              sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field),                \
          "the field " #their_field, #theirs)
#define SIZE(ours, theirs) check(sizeof(ours) == sizeof(theirs), "the size", #theirs)

#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
#include <cuda.h>
#include <nvrtc.h>
#undef cuGetProcAddress
#undef cuDeviceGetUuid
#define HAVE_CUDA 1
#endif
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define CUBLASLT_HANDLES_GIVEN 1
#define LT_HANDLE cublasLtHandle_t
#define LT_DESC cublasLtMatmulDesc_t
#define LT_LAYOUT cublasLtMatrixLayout_t
#define LT_PREFERENCE cublasLtMatmulPreference_t
#define LT_ALGORITHM cublasLtMatmulAlgo_t
#define LT_HEURISTIC cublasLtMatmulHeuristicResult_t
#define HAVE_CUBLASLT 1
#endif
#if __has_include(<cudnn.h>)
/* What cuDNN 9 deprecates is what 8 and 9 share. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cudnn.h>
#define CUDNN_ALGORITHM cudnnConvolutionFwdAlgoPerf_t
#define HAVE_CUDNN 1
#endif
#if __has_include(<nvml.h>)
/* Also what newer headers deprecate, by the names that libraries export. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define NVML_NO_UNVERSIONED_FUNC_DEFS 1
#include <nvml.h>
#define NVML_STRUCTURES_GIVEN 1
#define NVML_FIELD nvmlFieldValue_t
#define NVML_UTILIZATION nvmlUtilization_t
#define NVML_MEMORY nvmlMemory_t
#define NVML_PROCESS nvmlProcessInfo_v2_t
#define HAVE_NVML 1
#endif

#include "backends/cuda/cublaslt.h"
#include "backends/cuda/cudnn.h"
#include "backends/cuda/cudnn_graph.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/nvml.h"
#include "backends/cuda/nvrtc.h"

static void skip(const char *header)
{
    skips++;
    printf("SKIP: <%s> is not installed\n", header);
}

static void check_driver(void)
{
#ifdef HAVE_CUDA
    struct cuda_driver_api api;

#define DRIVER_TYPE(result, name, symbol, version, parameters)                                     \
    check(SAME_TYPE(&symbol, api.name), "the type", #symbol);
    CUDA_REQUIRED_MAP(DRIVER_TYPE)
#undef DRIVER_TYPE
#define VALUE(name, value) check((int)CUDA_##name == (value), "the value", "CUDA_" #name);
    CUDA_RESULT_MAP(VALUE)
#undef VALUE
#define VALUE(name, value)                                                                         \
    check((int)CU_DEVICE_ATTRIBUTE_##name == (value), "the value", "CU_DEVICE_ATTRIBUTE_" #name);
    CUDA_DEVICE_ATTRIBUTE_MAP(VALUE)
#undef VALUE
#define VALUE(name, value)                                                                         \
    check((int)CU_FUNC_ATTRIBUTE_##name == (value), "the value", "CU_FUNC_ATTRIBUTE_" #name);
    CUDA_FUNCTION_ATTRIBUTE_MAP(VALUE)
#undef VALUE
    check(CU_STREAM_NON_BLOCKING == CUDA_STREAM_NON_BLOCKING, "the value",
          "CU_STREAM_NON_BLOCKING");
    check(CU_EVENT_DEFAULT == CUDA_EVENT_DEFAULT, "the value", "CU_EVENT_DEFAULT");
    check(CU_JIT_ERROR_LOG_BUFFER == CUDA_JIT_ERROR_LOG_BUFFER, "the value",
          "CU_JIT_ERROR_LOG_BUFFER");
    check(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES == CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, "the value",
          "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES");
    SIZE(struct cuda_uuid, CUuuid);
    SIZE(int, CUdevice);
    SIZE(unsigned long long, CUdeviceptr);
    SIZE(unsigned, CUresult);
    {
        typedef CUresult uuid_function(CUuuid * uuid, CUdevice device);
        typedef CUresult address_function(const char *symbol, void **function, int version,
                                          cuuint64_t flags, CUdriverProcAddressQueryResult *status);
        check(SAME_TYPE(uuid_function *, &cuDeviceGetUuid_v2), "the type", "cuDeviceGetUuid_v2");
        check(SAME_TYPE(address_function *, &cuGetProcAddress_v2) &&
                  sizeof(cuuint64_t) == sizeof(unsigned long long) &&
                  sizeof(CUdriverProcAddressQueryResult) == sizeof(unsigned),
              "the type", "cuGetProcAddress_v2");
        check(CU_GET_PROC_ADDRESS_SUCCESS == 0 && CU_GET_PROC_ADDRESS_DEFAULT == 0, "the value",
              "CU_GET_PROC_ADDRESS_SUCCESS");
    }
    {
        struct nvrtc_api nvrtc;

#define NVRTC_TYPE(result, name, parameters) check(SAME_TYPE(&name, nvrtc.name), "the type", #name);
        NVRTC_REQUIRED_MAP(NVRTC_TYPE)
#undef NVRTC_TYPE
#define VALUE(name, value) check((int)NVRTC_##name == (value), "the value", "NVRTC_" #name);
        NVRTC_RESULT_MAP(VALUE)
#undef VALUE
    }
#else
    skip("cuda.h> or <nvrtc.h");
#endif
}

static void check_cublaslt(void)
{
#ifdef HAVE_CUBLASLT
    struct cublaslt_api api;

    CUBLASLT_REQUIRED_MAP(FUNCTION_TYPE)
    CUBLASLT_OPTIONAL_MAP(FUNCTION_TYPE)
#define VALUE(name, theirs, value)                                                                 \
    check((unsigned long long)(theirs) == (unsigned long long)(value), "the value", #theirs);
    CUBLASLT_CONSTANT_MAP(VALUE)
#undef VALUE
    SIZE(struct cublaslt_algorithm, cublasLtMatmulAlgo_t);
    SIZE(struct cublaslt_heuristic, cublasLtMatmulHeuristicResult_t);
    FIELD(struct cublaslt_heuristic, algorithm, cublasLtMatmulHeuristicResult_t, algo);
    FIELD(struct cublaslt_heuristic, workspace_bytes, cublasLtMatmulHeuristicResult_t,
          workspaceSize);
    FIELD(struct cublaslt_heuristic, state, cublasLtMatmulHeuristicResult_t, state);
    FIELD(struct cublaslt_heuristic, waves, cublasLtMatmulHeuristicResult_t, wavesCount);
    FIELD(struct cublaslt_heuristic, reserved, cublasLtMatmulHeuristicResult_t, reserved);
#else
    skip("cublasLt.h");
#endif
}

static void check_cudnn(void)
{
#ifdef HAVE_CUDNN
    struct cudnn_api api;

    CUDNN_REQUIRED_MAP(FUNCTION_TYPE)
    CUDNN_OPTIONAL_MAP(FUNCTION_TYPE)
#define VALUE(name, theirs, value) check((int)(theirs) == (value), "the value", #theirs);
    CUDNN_CONSTANT_MAP(VALUE)
    CUDNN_GRAPH_CONSTANT_MAP(VALUE)
#undef VALUE
    SIZE(struct cudnn_algorithm, cudnnConvolutionFwdAlgoPerf_t);
    FIELD(struct cudnn_algorithm, algorithm, cudnnConvolutionFwdAlgoPerf_t, algo);
    FIELD(struct cudnn_algorithm, status, cudnnConvolutionFwdAlgoPerf_t, status);
    FIELD(struct cudnn_algorithm, time, cudnnConvolutionFwdAlgoPerf_t, time);
    FIELD(struct cudnn_algorithm, workspace_bytes, cudnnConvolutionFwdAlgoPerf_t, memory);
    FIELD(struct cudnn_algorithm, determinism, cudnnConvolutionFwdAlgoPerf_t, determinism);
    FIELD(struct cudnn_algorithm, math, cudnnConvolutionFwdAlgoPerf_t, mathType);
    FIELD(struct cudnn_algorithm, reserved, cudnnConvolutionFwdAlgoPerf_t, reserved);
#else
    skip("cudnn.h");
#endif
}

static void check_nvml(void)
{
#ifdef HAVE_NVML
    struct nvml_api api;

    NVML_REQUIRED_MAP(FUNCTION_TYPE)
    NVML_OPTIONAL_MAP(FUNCTION_TYPE)
#define VALUE(name, theirs, value) check((int)(theirs) == (value), "the value", #theirs);
    NVML_CONSTANT_MAP(VALUE)
#undef VALUE
    SIZE(struct nvml_field, nvmlFieldValue_t);
    FIELD(struct nvml_field, field, nvmlFieldValue_t, fieldId);
    FIELD(struct nvml_field, scope, nvmlFieldValue_t, scopeId);
    FIELD(struct nvml_field, timestamp_us, nvmlFieldValue_t, timestamp);
    FIELD(struct nvml_field, latency_us, nvmlFieldValue_t, latencyUsec);
    FIELD(struct nvml_field, type, nvmlFieldValue_t, valueType);
    FIELD(struct nvml_field, result, nvmlFieldValue_t, nvmlReturn);
    FIELD(struct nvml_field, value, nvmlFieldValue_t, value);
    SIZE(struct nvml_utilization, nvmlUtilization_t);
    FIELD(struct nvml_utilization, gpu, nvmlUtilization_t, gpu);
    FIELD(struct nvml_utilization, memory, nvmlUtilization_t, memory);
    SIZE(struct nvml_memory, nvmlMemory_t);
    FIELD(struct nvml_memory, total, nvmlMemory_t, total);
    FIELD(struct nvml_memory, free, nvmlMemory_t, free);
    FIELD(struct nvml_memory, used, nvmlMemory_t, used);
    SIZE(struct nvml_process, nvmlProcessInfo_v2_t);
    FIELD(struct nvml_process, pid, nvmlProcessInfo_v2_t, pid);
    FIELD(struct nvml_process, used_bytes, nvmlProcessInfo_v2_t, usedGpuMemory);
    FIELD(struct nvml_process, gpu_instance, nvmlProcessInfo_v2_t, gpuInstanceId);
    FIELD(struct nvml_process, compute_instance, nvmlProcessInfo_v2_t, computeInstanceId);
    {
        const unsigned long long reasons[] = {
            nvmlClocksEventReasonGpuIdle,
            nvmlClocksEventReasonApplicationsClocksSetting,
            nvmlClocksEventReasonSwPowerCap,
            nvmlClocksThrottleReasonHwSlowdown,
            nvmlClocksEventReasonSyncBoost,
            nvmlClocksEventReasonSwThermalSlowdown,
            nvmlClocksThrottleReasonHwThermalSlowdown,
            nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
            nvmlClocksEventReasonDisplayClockSetting,
        };
        size_t i;

        for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
            check(reasons[i] == 1ull << i && nvml_throttle_reasons[i] != NULL, "the bit",
                  nvml_throttle_reasons[i]);
        check(nvml_throttle_reasons[i] == NULL, "the number", "throttle reasons");
    }
#else
    skip("nvml.h");
#endif
}

int main(void)
{
    check_driver();
    check_cublaslt();
    check_cudnn();
    check_nvml();
    printf("%d declarations checked, %d differ\n", checks, failures);
    if (failures > 0)
        return 1;
    return skips == 4 ? 77 : 0;
}
