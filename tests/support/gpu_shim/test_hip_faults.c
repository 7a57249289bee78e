/*
 * Every call of a short use of an AMD device fails in turn. Each failure must end in an error that
 * names the function, or be tolerable (listed below); no object may be left in the library, and
 * under a sanitizer nothing in our memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/hip.h"
#include "backends/hip/hipblaslt.h"
#include "backends/hip/rocblas.h"
#include "backends/hip/rocm_smi.h"
#include "backends/hip/rtc.h"
#include "backends/hip/runtime.h"
#include "backends/telemetry.h"
#include "tests/support/gpu_shim/journey_faults.h"
#include "tests/support/operations.h"
#include "tests/support/unit.h"

#define NAME(name, parameters) #name,
static const char *const runtime_functions[] = {HIP_RUNTIME_REQUIRED_MAP(NAME)
                                                    HIP_RUNTIME_OPTIONAL_MAP(NAME)};
static const char *const rtc_functions[] = {HIP_RTC_REQUIRED_MAP(NAME)};
static const char *const hipblaslt_functions[] = {HIPBLASLT_REQUIRED_MAP(NAME)};
static const char *const rocblas_functions[] = {ROCBLAS_REQUIRED_MAP(NAME)};
static const char *const smi_functions[] = {ROCM_SMI_REQUIRED_MAP(NAME)
                                                ROCM_SMI_OPTIONAL_MAP(NAME)};
#undef NAME
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Only a library without the newer function of the two calls it: conformance_hip5_shim. */
static const char *const uncounted[] = {"hipGetDeviceProperties", NULL};

/* A reading or resource that is missing, no log, no version, a release that fails. */
static const char *const tolerated[] = {
    "hipDeviceGetName",
    "hipDeviceTotalMem",
    "hipDeviceGetAttribute",
    "hipDeviceGetPCIBusId",
    "hipDriverGetVersion",
    "hipRuntimeGetVersion",
    "hipDeviceGetUuid",
    "hipFree",
    "hipHostFree",
    "hipStreamDestroy",
    "hipEventDestroy",
    "hipModuleUnload",
    "hiprtcVersion",
    "hiprtcDestroyProgram",
    "hiprtcGetProgramLogSize",
    "hiprtcGetProgramLog",
    "hipblasLtDestroy",
    "hipblasLtMatrixLayoutDestroy",
    "hipblasLtMatmulDescDestroy",
    "hipblasLtMatmulPreferenceDestroy",
    "rocblas_destroy_handle",
    "rocblas_get_version_string",
    NULL,
};

static bool tolerable(const char *function, int n, int calls)
{
    /* Once for a reading, once to open; registers are read from the runtime where available. */
    if (strcmp(function, "hipGetDevicePropertiesR0600") == 0)
        return n == 1;
    if (strcmp(function, "hipFuncGetAttribute") == 0)
        return n > 1;
    /* Called again by `libraries`, for the version. */
    if (strcmp(function, "hipblasLtCreate") == 0 || strcmp(function, "hipblasLtGetVersion") == 0)
        return n == calls;
    /* The waits in close, after which nothing is checked. */
    return (strcmp(function, "hipStreamSynchronize") == 0 ||
            strcmp(function, "hipSetDevice") == 0) &&
           n == calls;
}

static struct journey_outcome run(const char *function, int n, int code)
{
    return journey_run(&hip_backend_ops, function, n, code);
}

static const struct journey_faults faults = {run, uncounted, tolerated, tolerable};

TEST(runtime)
{
    static const struct journey_code codes[] = {{2, "hipErrorOutOfMemory (2)"},
                                                {719, "hipErrorLaunchFailure"},
                                                {1, "hipErrorInvalidValue"}};
    const struct journey_outcome outcome = run(NULL, 0, 0);

    if (outcome.status != STATUS_OK)
        fail_msg("without a fault: %s", outcome.err.message);
    assert_true(outcome.has_gemm);
    assert_true(journey_fail_each(&faults, runtime_functions, COUNT(runtime_functions), codes,
                                  COUNT(codes)) > 60);
    assert_int_equal(run("hipMalloc", 1, 2).status, STATUS_DEVICE_MEMORY);
    assert_int_equal(run("hipModuleLaunchKernel", 1, 719).status, STATUS_DEVICE_LOST);
    assert_int_equal(run("hipInit", 1, 100).status, STATUS_UNAVAILABLE);
    assert_int_equal(run("hipGetDeviceCount", 1, 100).status, STATUS_UNAVAILABLE);
}

TEST(rtc)
{
    static const struct journey_code codes[] = {{11, "HIPRTC_ERROR_INTERNAL_ERROR"},
                                                {1, "HIPRTC_ERROR_OUT_OF_MEMORY"}};

    assert_true(
        journey_fail_each(&faults, rtc_functions, COUNT(rtc_functions), codes, COUNT(codes)) >= 8);
    assert_int_equal(run("hiprtcCompileProgram", 1, 6).status, STATUS_COMPILE);
}

TEST(hipblaslt)
{
    static const struct journey_code codes[] = {{6, "HIPBLAS_STATUS_INTERNAL_ERROR"},
                                                {2, "HIPBLAS_STATUS_ALLOC_FAILED"}};

    assert_true(journey_fail_each(&faults, hipblaslt_functions, COUNT(hipblaslt_functions), codes,
                                  COUNT(codes)) > 20);
    /* What hipBLASLt does not support goes to rocBLAS; it has no bias, and both answers are
     * reported. */
    {
        const struct journey_outcome outcome = run("hipblasLtMatmulAlgoGetHeuristic", 1, 7);

        assert_int_equal(outcome.status, STATUS_UNSUPPORTED);
        assert_non_null(strstr(outcome.err.message, "HIPBLAS_STATUS_NOT_SUPPORTED"));
        assert_non_null(strstr(outcome.err.message, "rocBLAS adds no bias"));
    }
}

#define SIDE 4

static enum status multiply_f64(struct device *device, struct journey_outcome *outcome)
{
    struct error *err = &outcome->err;
    const struct gemm_matrix matrix = {.type = DTYPE_F64, .stride = SIDE};
    const struct gemm_shape shape = {.precision = PRECISION_FP64,
                                     .m = SIDE,
                                     .n = SIDE,
                                     .k = SIDE,
                                     .a = matrix,
                                     .b = matrix,
                                     .c = matrix};
    double ones[SIDE * SIDE], out[SIDE * SIDE] = {0.0};
    struct buffer *in = NULL, *result = NULL;
    struct operation *gemm = NULL;
    struct operation_info info = {.library = ""};
    enum status status = device_buffer_alloc(device, sizeof(ones), BUFFER_READ_WRITE, &in, err);

    for (size_t i = 0; i < SIDE * SIDE; i++)
        ones[i] = 1.0;
#define NEXT(call)                                                                                 \
    if (status == STATUS_OK)                                                                       \
    status = call
    NEXT(device_buffer_alloc(device, sizeof(ones), BUFFER_READ_WRITE, &result, err));
    NEXT(device_upload(in, 0, ones, sizeof(ones), err));
    NEXT(create_gemm(device, &shape, &gemm, err));
    NEXT(operation_describe(gemm, &info, err));
    if (status == STATUS_OK) {
        const struct gemm_operands operands = {.a = {in, 0}, .b = {in, 0}, .c = {result, 0}};

        status = run_gemm(gemm, &operands, err);
    }
    NEXT(device_download(result, 0, out, sizeof(out), err));
    if (status == STATUS_OK &&
        (out[0] != SIDE || out[SIDE * SIDE - 1] != SIDE || strcmp(info.library, "rocBLAS") != 0))
        status = error_set(err, STATUS_CHECK_FAILED, "wrong GEMM by %s", info.library);
#undef NEXT
    operation_destroy(gemm);
    device_buffer_free(in);
    device_buffer_free(result);
    return status;
}

/* fp64 goes to rocBLAS. */
static struct journey_outcome run_rocblas(const char *function, int n, int code)
{
    return journey_run_use(&hip_backend_ops, multiply_f64, function, n, code);
}

static const struct journey_faults rocblas_faults = {run_rocblas, uncounted, tolerated, tolerable};

TEST(rocblas)
{
    static const struct journey_code codes[] = {{6, "rocblas_status_internal_error"},
                                                {5, "rocblas_status_memory_error"}};

    assert_true(journey_fail_each(&rocblas_faults, rocblas_functions, COUNT(rocblas_functions),
                                  codes, COUNT(codes)) >= 8);
    assert_int_equal(run_rocblas("rocblas_gemm_strided_batched_ex", 1, 2).status,
                     STATUS_UNSUPPORTED);
}

/* No missing ROCm SMI data stops a measurement. */
TEST(smi)
{
    journey_ignore_each(&faults, smi_functions, COUNT(smi_functions), 3);
}

static int64_t value_of(const struct telemetry *telemetry, const int64_t *values, const char *name,
                        const char **ret_reason)
{
    for (size_t i = 0; i < telemetry->channel_count; i++)
        if (strcmp(telemetry->channels[i].name, name) == 0) {
            *ret_reason = telemetry->channels[i].reason;
            return values[i];
        }
    fail_msg("there is no channel %s", name);
    return 0;
}

/* Units: microwatts to milliwatts, steps of energy to microjoules, hertz to kilohertz. */
TEST(telemetry)
{
    struct telemetry *telemetry = NULL;
    struct error err = ERROR_INIT;
    struct reading_list edges;
    int64_t values[64], energy;
    const char *reason = NULL;
    char *dump = NULL;

    run(NULL, 0, 0);
    if (backend_telemetry_open(journey_backend(&hip_backend_ops), 0, &telemetry, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_true(telemetry->channel_count <= 64);
    assert_int_equal(telemetry_read(telemetry, values, &err), STATUS_OK);
    assert_in_range(value_of(telemetry, values, "power_mw", &reason), 300000, 301000);
    assert_int_equal(value_of(telemetry, values, "clock_sm_khz", &reason), 1700000);
    assert_int_equal(value_of(telemetry, values, "clock_memory_khz", &reason), 900000);
    assert_int_equal(value_of(telemetry, values, "temperature_mc", &reason), 40000);
    assert_int_equal(value_of(telemetry, values, "temperature_memory_mc", &reason), 50000);
    assert_int_equal(value_of(telemetry, values, "busy_percent", &reason), 97);
    assert_int_equal(value_of(telemetry, values, "ecc_corrected", &reason), 3);
    energy = value_of(telemetry, values, "energy_uj", &reason);
    assert_true(energy > 0);
    assert_int_equal(telemetry_read(telemetry, values, &err), STATUS_OK);
    assert_true(value_of(telemetry, values, "energy_uj", &reason) >= energy);
    assert_true(value_of(telemetry, values, "power_average_mw", &reason) == TELEMETRY_MISSING);
    assert_non_null(strstr(reason, "RSMI_STATUS_NOT_SUPPORTED"));
    assert_true(value_of(telemetry, values, "throttle_reasons", &reason) == TELEMETRY_MISSING);
    assert_non_null(strstr(reason, "gpu_metrics"));
    reading_list_init(&edges);
    assert_int_equal(telemetry_edges(telemetry, &edges, &err), STATUS_OK);
    assert_int_equal(reading_find(&edges, "device.power_limit")->integer, 700000);
    assert_int_equal(reading_find(&edges, "device.serial")->status, READING_DENIED);
    assert_string_equal(reading_find(&edges, "device.vbios")->text, "113-ASSAY-101");
    assert_string_equal(reading_find(&edges, "device.unique_id")->text, "6f00d1eaf0e1e2e3");
    reading_list_finish(&edges);
    assert_int_equal(telemetry_dump(telemetry, &dump, &err), STATUS_OK);
    assert_non_null(strstr(dump, "rsmi_dev_busy_percent_get = 97"));
    free(dump);
    telemetry_close(telemetry);
}

/* Success without a result is refused, and never used. */
TEST(lies)
{
    static const char *const creators[] = {"hipGetDeviceCount",
                                           "hipStreamCreateWithFlags",
                                           "hipModuleLoadData",
                                           "hipModuleGetFunction",
                                           "hipModuleGetGlobal",
                                           "hipMalloc",
                                           "hipEventCreateWithFlags",
                                           "hipFuncGetAttribute",
                                           "hipEventElapsedTime",
                                           "hiprtcCreateProgram",
                                           "hiprtcGetCodeSize",
                                           "hipblasLtCreate",
                                           "hipblasLtMatmulDescCreate",
                                           "hipblasLtMatrixLayoutCreate",
                                           "hipblasLtGetVersion",
                                           "hipblasLtMatmulPreferenceCreate",
                                           "hipblasLtMatmulAlgoGetHeuristic"};

    journey_lie_each(&faults, creators, COUNT(creators));
    assert_int_not_equal(run("hipGetDevicePropertiesR0600", 2, 0).status, STATUS_OK);
    assert_int_not_equal(run_rocblas("rocblas_create_handle", 1, 0).status, STATUS_OK);
}

TEST(unknown_code)
{
    const struct journey_outcome outcome = run("hipMemcpyHtoDAsync", 1, 98765);

    assert_int_equal(outcome.status, STATUS_DEVICE);
    assert_non_null(strstr(outcome.err.message, "hipMemcpyHtoDAsync: unknown code (98765)"));
}

int main(void)
{
    const int opened = journey_open(LIBRARIES, SHIM_PATH);

    if (opened != 0)
        return opened;
    return unit_run(NULL, NULL);
}
