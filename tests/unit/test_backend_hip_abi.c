/*
 * Our declarations of the HIP runtime, HIPRTC, rocBLAS and ROCm SMI against the real headers: every
 * constant, offset and function type. What is not installed is left out with a message; with none
 * of them (Debian package libamdhip64-dev) the whole is skipped. Compiled once for the headers of
 * this machine and once for those under ASSAY_ROCM_ROOT (see tests/unit/hip.cmake).
 */
#define __HIP_PLATFORM_AMD__ 1
#define ROCM_MATHLIBS_API_USE_HIP_COMPLEX 1

#include <stddef.h>
#include <stdio.h>

#include "backends/hip/rocblas.h"
#include "backends/hip/rocm_smi.h"
#include "backends/hip/rtc.h"
#include "backends/hip/runtime.h"

static int failures, checks;

static void check(int good, const char *what, const char *name)
{
    checks++;
    if (!good) {
        failures++;
        printf("FAIL %s of %s differs from the headers\n", what, name);
    }
}

#define SAME_TYPE(a, b) __builtin_types_compatible_p(__typeof__(a), __typeof__(b))

#if __has_include(<hip/hip_runtime_api.h>)
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

static void check_runtime(void)
{
    struct hip_runtime api;

    printf("HIP %d.%d.%d\n", HIP_VERSION_MAJOR, HIP_VERSION_MINOR, HIP_VERSION_PATCH);
#define VALUE(name, value) check(hip##name == (value), "the value", "hip" #name);
    HIP_RUNTIME_ERROR_MAP(VALUE)
#undef VALUE
#define VALUE(name, value)                                                                         \
    check(hipDeviceAttribute##name == (value), "the value", "hipDeviceAttribute" #name);
    HIP_ATTRIBUTE_MAP(VALUE)
#undef VALUE
    check(HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK == HIP_FUNCTION_MAX_THREADS, "the value",
          "HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK");
    check(HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES == HIP_FUNCTION_SHARED_BYTES, "the value",
          "HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES");
    check(HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES == HIP_FUNCTION_LOCAL_BYTES, "the value",
          "HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES");
    check(HIP_FUNC_ATTRIBUTE_NUM_REGS == HIP_FUNCTION_REGISTERS, "the value",
          "HIP_FUNC_ATTRIBUTE_NUM_REGS");
    check(hipStreamNonBlocking == HIP_STREAM_NON_BLOCKING, "the value", "hipStreamNonBlocking");
    check(hipEventDefault == HIP_EVENT_DEFAULT, "the value", "hipEventDefault");
    check(sizeof(hipUUID) == sizeof(struct hip_uuid), "the size", "hipUUID");
    check(sizeof(hipDeviceProp_t) ==
              (HIP_VERSION_MAJOR < 6 ? HIP_PROPERTIES_BYTES : HIP_PROPERTIES_R0600_BYTES),
          "the size", "hipDeviceProp_t");
    check(offsetof(hipDeviceProp_t, gcnArchName) ==
              (HIP_VERSION_MAJOR < 6 ? HIP_PROPERTIES_ARCH : HIP_PROPERTIES_R0600_ARCH),
          "the offset", "hipDeviceProp_t.gcnArchName");
    check(sizeof(((hipDeviceProp_t *)0)->gcnArchName) == HIP_ARCH_SIZE, "the size",
          "hipDeviceProp_t.gcnArchName");
#define FUNCTION(name, parameters) check(SAME_TYPE(&name, api.name), "the type", #name);
    HIP_RUNTIME_REQUIRED_MAP(FUNCTION)
#undef FUNCTION
    /* Those whose structure is ours: the rest of the type still has to be right. */
    check(SAME_TYPE(&hipDeviceGetUuid, hipError_t(*)(hipUUID *, int)), "the type",
          "hipDeviceGetUuid");
    check(SAME_TYPE(&hipGetDeviceProperties, hipError_t(*)(hipDeviceProp_t *, int)), "the type",
          "hipGetDeviceProperties");
}

static void check_rtc(void)
{
    struct hip_rtc api;

#define VALUE(name, value) check(HIPRTC_##name == (value), "the value", "HIPRTC_" #name);
    HIP_RTC_ERROR_MAP(VALUE)
#undef VALUE
#define FUNCTION(name, parameters) check(SAME_TYPE(&name, api.name), "the type", #name);
    HIP_RTC_REQUIRED_MAP(FUNCTION)
#undef FUNCTION
}
#else
static void check_runtime(void)
{
    printf("SKIP HIP: hip/hip_runtime_api.h is not here (Debian package libamdhip64-dev)\n");
}
static void check_rtc(void)
{
}
#endif

#if __has_include(<rocblas/rocblas.h>) && __has_include(<hip/hip_runtime_api.h>)
#include <rocblas/rocblas.h>

static void check_rocblas(void)
{
    struct hip_rocblas api;

    printf("rocBLAS %d.%d.%d\n", ROCBLAS_VERSION_MAJOR, ROCBLAS_VERSION_MINOR,
           ROCBLAS_VERSION_PATCH);
#define VALUE(name, value) check(rocblas_status_##name == (value), "the value", #name);
    ROCBLAS_STATUS_MAP(VALUE)
#if ROCBLAS_VERSION_MAJOR >= 3
    ROCBLAS_STATUS_3_MAP(VALUE)
#endif
#undef VALUE
#define TYPE(name)                                                                                 \
    check((int)rocblas_datatype_##name == (int)ROCBLAS_##name, "the value",                        \
          "rocblas_datatype_" #name);
    TYPE(f16_r)
    TYPE(f32_r)
    TYPE(f64_r)
    TYPE(i8_r)
    TYPE(i32_r)
    TYPE(bf16_r)
#undef TYPE
    check(rocblas_operation_none == ROCBLAS_OPERATION_NONE, "the value", "rocblas_operation_none");
    check(rocblas_operation_transpose == ROCBLAS_OPERATION_TRANSPOSE, "the value",
          "rocblas_operation_transpose");
    check(rocblas_gemm_algo_standard == ROCBLAS_ALGO_STANDARD, "the value",
          "rocblas_gemm_algo_standard");
    /* A macro that warns of deprecated arguments hides the function. */
#undef rocblas_gemm_strided_batched_ex
#define FUNCTION(name, parameters) check(SAME_TYPE(&name, api.name), "the type", #name);
    ROCBLAS_REQUIRED_MAP(FUNCTION)
#undef FUNCTION
}
#else
static void check_rocblas(void)
{
    printf("SKIP rocBLAS: rocblas/rocblas.h is not here (Debian 13: librocblas-dev)\n");
}
#endif

#if __has_include(<rocm_smi/rocm_smi.h>)
#include <rocm_smi/rocm_smi.h>

static void check_rocm_smi(void)
{
    struct rocm_smi api;

    printf("ROCm SMI, lists of %d frequencies\n", RSMI_MAX_NUM_FREQUENCIES);
#define VALUE(name, value) check(RSMI_STATUS_##name == (value), "the value", "RSMI_STATUS_" #name);
    ROCM_SMI_STATUS_MAP(VALUE)
#undef VALUE
#define SAME(theirs, ours) check((unsigned)(theirs) == (ours), "the value", #theirs);
    SAME(RSMI_CLK_TYPE_SYS, ROCM_SMI_CLOCK_SYS)
    SAME(RSMI_CLK_TYPE_MEM, ROCM_SMI_CLOCK_MEM)
    SAME(RSMI_TEMP_TYPE_EDGE, ROCM_SMI_TEMPERATURE_EDGE)
    SAME(RSMI_TEMP_TYPE_JUNCTION, ROCM_SMI_TEMPERATURE_JUNCTION)
    SAME(RSMI_TEMP_TYPE_MEMORY, ROCM_SMI_TEMPERATURE_MEMORY)
    SAME(RSMI_TEMP_CURRENT, ROCM_SMI_TEMPERATURE_CURRENT)
    SAME(RSMI_GPU_BLOCK_UMC, ROCM_SMI_BLOCK_UMC)
    SAME(RSMI_SW_COMP_DRIVER, ROCM_SMI_COMPONENT_DRIVER)
    SAME(RSMI_MEM_TYPE_VRAM, 0u)
#undef SAME
    /* The kernel's table as the library has it: before 6.0 without its last 24 bytes. */
    check(offsetof(rsmi_gpu_metrics_t, common_header.format_revision) == 2, "the offset",
          "metrics_table_header_t.format_revision");
    check(offsetof(rsmi_gpu_metrics_t, common_header.content_revision) == 3, "the offset",
          "metrics_table_header_t.content_revision");
#if RSMI_MAX_NUM_FREQUENCIES < 33
#define LAYOUT rocm_smi_frequencies_5
    check(offsetof(rsmi_gpu_metrics_t, temperature_hbm) + 8 + 24 == HIP_METRICS_SIZE_1_3,
          "the offset", "rsmi_gpu_metrics_t.temperature_hbm");
#else
    check(offsetof(rsmi_gpu_metrics_t, indep_throttle_status) == HIP_METRICS_THROTTLE_1_3,
          "the offset", "rsmi_gpu_metrics_t.indep_throttle_status");
#define LAYOUT rocm_smi_frequencies_6
    check(SAME_TYPE(&rsmi_dev_current_socket_power_get, api.rsmi_dev_current_socket_power_get),
          "the type", "rsmi_dev_current_socket_power_get");
#endif
    check(sizeof(rsmi_frequencies_t) == sizeof(struct LAYOUT), "the size", "rsmi_frequencies_t");
    check(offsetof(rsmi_frequencies_t, num_supported) == offsetof(struct LAYOUT, count),
          "the offset", "rsmi_frequencies_t.num_supported");
    check(offsetof(rsmi_frequencies_t, current) == offsetof(struct LAYOUT, current), "the offset",
          "rsmi_frequencies_t.current");
    check(offsetof(rsmi_frequencies_t, frequency) == offsetof(struct LAYOUT, hertz), "the offset",
          "rsmi_frequencies_t.frequency");
    check(sizeof(rsmi_version_t) == sizeof(struct rocm_smi_version), "the size", "rsmi_version_t");
    check(offsetof(rsmi_version_t, major) == offsetof(struct rocm_smi_version, major) &&
              offsetof(rsmi_version_t, minor) == offsetof(struct rocm_smi_version, minor) &&
              offsetof(rsmi_version_t, patch) == offsetof(struct rocm_smi_version, patch),
          "the offsets", "rsmi_version_t");
    check(offsetof(rsmi_error_count_t, uncorrectable_err) ==
              offsetof(struct rocm_smi_errors, uncorrected),
          "the offset", "rsmi_error_count_t.uncorrectable_err");
#define FUNCTION(name, parameters) check(SAME_TYPE(&name, api.name), "the type", #name);
    ROCM_SMI_REQUIRED_MAP(FUNCTION)
    FUNCTION(rsmi_dev_power_ave_get, )
    FUNCTION(rsmi_dev_energy_count_get, )
    FUNCTION(rsmi_dev_power_cap_get, )
    FUNCTION(rsmi_dev_power_cap_default_get, )
    FUNCTION(rsmi_dev_temp_metric_get, )
    FUNCTION(rsmi_dev_busy_percent_get, )
    FUNCTION(rsmi_dev_memory_busy_percent_get, )
    FUNCTION(rsmi_dev_memory_usage_get, )
    FUNCTION(rsmi_dev_pci_replay_counter_get, )
    FUNCTION(rsmi_dev_unique_id_get, )
    FUNCTION(rsmi_dev_serial_number_get, )
    FUNCTION(rsmi_dev_vbios_version_get, )
    FUNCTION(rsmi_version_str_get, )
#undef FUNCTION
}
#else
static void check_rocm_smi(void)
{
    printf("SKIP ROCm SMI: rocm_smi/rocm_smi.h is not here (Debian package librocm-smi-dev)\n");
}
#endif

int main(void)
{
    check_runtime();
    check_rtc();
    check_rocblas();
    check_rocm_smi();
    printf("%d checks, %d failed\n", checks, failures);
    return failures > 0 ? 1 : checks == 0 ? 77 : 0;
}
