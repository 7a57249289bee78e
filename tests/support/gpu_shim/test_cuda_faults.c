/*
 * Every call of a short use of a CUDA device fails in turn. Each failure must end in an error that
 * names the function, or be tolerable (listed below); no object may be left in the driver, and
 * under a sanitizer nothing in our memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cublaslt.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/cudnn.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/nvml.h"
#include "backends/cuda/nvrtc.h"
#include "tests/support/gpu_shim/journey_faults.h"
#include "tests/support/unit.h"

static const char *const driver_functions[] = {
#define NAME(result, name, symbol, version, parameters) #name,
    CUDA_REQUIRED_MAP(NAME)
#undef NAME
};
static const char *const nvrtc_functions[] = {
#define NAME(result, name, parameters) #name,
    NVRTC_REQUIRED_MAP(NAME)
#undef NAME
};
static const char *const cublaslt_functions[] = {
#define NAME(result, name, parameters) #name,
    CUBLASLT_REQUIRED_MAP(NAME) CUBLASLT_OPTIONAL_MAP(NAME)
#undef NAME
};
static const char *const cudnn_functions[] = {
#define NAME(result, name, parameters) #name,
    CUDNN_REQUIRED_MAP(NAME)
#undef NAME
};
static const char *const cudnn_graph_functions[] = {
#define NAME(result, name, parameters) #name,
    CUDNN_OPTIONAL_MAP(NAME)
#undef NAME
};
static const char *const nvml_functions[] = {
#define NAME(result, name, parameters) #name,
    NVML_REQUIRED_MAP(NAME) NVML_OPTIONAL_MAP(NAME)
#undef NAME
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* They cannot fail, or only describe failures. */
static const char *const uncounted[] = {
    "cuGetErrorName",  "nvrtcGetErrorString", "cublasLtGetVersion",      "cublasLtGetStatusName",
    "cudnnGetVersion", "cudnnGetErrorString", "nvmlErrorString",         "nvmlShutdown",
    "nvrtcGetPTXSize", "nvrtcGetPTX",         "cudnnGetLastErrorString", NULL};

/* A reading or resource that is missing, no log, a release that fails. */
static const char *const tolerated[] = {
    "cuDeviceGetPCIBusId",
    "cuFuncGetAttribute",
    "cuModuleUnload",
    "cuMemFree",
    "cuMemFreeHost",
    "cuStreamDestroy",
    "cuEventDestroy",
    "cuDevicePrimaryCtxRelease",
    "cuDeviceGetAttribute",
    "nvrtcDestroyProgram",
    "nvrtcGetProgramLogSize",
    "nvrtcGetProgramLog",
    "cudnnDestroy",
    "cudnnGetConvolutionForwardWorkspaceSize",
    "cudnnDestroyTensorDescriptor",
    "cudnnDestroyFilterDescriptor",
    "cudnnDestroyConvolutionDescriptor",
    "cudnnBackendDestroyDescriptor",
    "cublasLtDestroy",
    "cublasLtMatmulDescDestroy",
    "cublasLtMatrixLayoutDestroy",
    "cublasLtMatmulPreferenceDestroy",
    "cublasLtMatmulAlgoConfigGetAttribute",
    "cublasLtMatmulAlgoCapGetAttribute",
    NULL,
};

static bool tolerable(const char *function, int n, int calls)
{
    /* Called again by `libraries`, and by the binding of a context in release and close. */
    if (strcmp(function, "nvrtcVersion") == 0 || strncmp(function, "nvrtcGetNum", 11) == 0 ||
        strncmp(function, "nvrtcGetSup", 11) == 0 || strcmp(function, "cuDeviceGet") == 0)
        return n > 1;
    /* The waits in close. */
    return (strcmp(function, "cuStreamSynchronize") == 0 ||
            strcmp(function, "cuCtxSetCurrent") == 0) &&
           n == calls;
}

static struct journey_outcome run(const char *function, int n, int code)
{
    return journey_run(&cuda_backend_ops, function, n, code);
}

static const struct journey_faults faults = {run, uncounted, tolerated, tolerable};

TEST(driver)
{
    static const struct journey_code codes[] = {{2, "CUDA_ERROR_OUT_OF_MEMORY (2)"},
                                                {719, "CUDA_ERROR_LAUNCH_FAILED"},
                                                {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"}};
    const struct journey_outcome outcome = run(NULL, 0, 0);

    if (outcome.status != STATUS_OK)
        fail_msg("without a fault: %s", outcome.err.message);
    assert_true(outcome.has_gemm);
    assert_true(outcome.has_convolutions);
    assert_true(outcome.has_attention);
    assert_true(journey_fail_each(&faults, driver_functions, COUNT(driver_functions), codes,
                                  COUNT(codes)) > 60);
    assert_int_equal(run("cuMemAlloc", 1, 2).status, STATUS_DEVICE_MEMORY);
    assert_int_equal(run("cuLaunchKernel", 1, 46).status, STATUS_DEVICE_LOST);
    assert_int_equal(run("cuLaunchKernel", 1, 719).status, STATUS_DEVICE);
    assert_int_equal(run("cuInit", 1, 100).status, STATUS_UNAVAILABLE);
}

TEST(nvrtc)
{
    static const struct journey_code codes[] = {{11, "NVRTC_ERROR_INTERNAL_ERROR"},
                                                {1, "NVRTC_ERROR_OUT_OF_MEMORY"}};

    assert_true(journey_fail_each(&faults, nvrtc_functions, COUNT(nvrtc_functions), codes,
                                  COUNT(codes)) >= 8);
    /* The part of the installation that is easily forgotten. */
    {
        const struct journey_outcome outcome = run("nvrtcCompileProgram", 1, 7);

        assert_int_equal(outcome.status, STATUS_UNAVAILABLE);
        assert_non_null(strstr(outcome.err.message, "libnvrtc-builtins"));
    }
}

TEST(cublaslt)
{
    static const struct journey_code codes[] = {{14, "CUBLAS_STATUS_INTERNAL_ERROR"},
                                                {3, "CUBLAS_STATUS_ALLOC_FAILED"},
                                                {15, "CUBLAS_STATUS_NOT_SUPPORTED"}};

    assert_true(journey_fail_each(&faults, cublaslt_functions, COUNT(cublaslt_functions), codes,
                                  COUNT(codes)) > 30);
    assert_int_equal(run("cublasLtMatmulAlgoGetHeuristic", 1, 15).status, STATUS_UNSUPPORTED);
}

/* By the codes of cuDNN 9, and of 8. */
TEST(cudnn)
{
    static const struct journey_code codes[] = {{5000, "EXECUTION_FAILED (5000)"},
                                                {4004, "ALLOCATION_FAILED (4004)"},
                                                {3002, "NOT_SUPPORTED_SHAPE (3002)"},
                                                {9, "(9)"}};

    assert_true(journey_fail_each(&faults, cudnn_functions, COUNT(cudnn_functions), codes,
                                  COUNT(codes)) > 40);
    assert_int_equal(run("cudnnSetConvolutionGroupCount", 1, 3002).status, STATUS_UNSUPPORTED);
    assert_int_equal(run("cudnnSetConvolutionGroupCount", 1, 9).status, STATUS_UNSUPPORTED);
    /* What one algorithm refuses may be available from the next, and only that. */
    assert_int_equal(run("cudnnGetConvolutionForwardWorkspaceSize", 1, 3002).status, STATUS_OK);
    assert_int_equal(run("cudnnGetConvolutionForwardWorkspaceSize", 1, 5000).status, STATUS_DEVICE);
    assert_int_equal(run("cudnnCreate", 1, 4004).status, STATUS_DEVICE_MEMORY);
    assert_int_equal(run("cudnnCreate", 1, 2).status, STATUS_DEVICE_MEMORY);
    assert_int_equal(run("cudnnConvolutionForward", 1, 5000).status, STATUS_DEVICE);
}

/* Every call that builds, plans and runs the graphs of attention. */
TEST(cudnn_graph)
{
    static const struct journey_code codes[] = {{5000, "EXECUTION_FAILED (5000)"},
                                                {4004, "ALLOCATION_FAILED (4004)"},
                                                {3002, "NOT_SUPPORTED_SHAPE (3002)"}};

    journey_for_attention(true);
    assert_true(journey_fail_each(&faults, cudnn_graph_functions, COUNT(cudnn_graph_functions),
                                  codes, COUNT(codes)) > 600);
    assert_int_equal(run("cudnnBackendSetAttribute", 1, 2000).status, STATUS_UNSUPPORTED);
    assert_int_equal(run("cudnnBackendExecute", 2, 5000).status, STATUS_DEVICE);
    assert_int_equal(run("cudnnBackendCreateDescriptor", 1, 4003).status, STATUS_DEVICE_MEMORY);
    journey_for_attention(false);
}

/* No missing NVML data stops a measurement, except a lost board. */
TEST(nvml)
{
    journey_ignore_each(&faults, nvml_functions, COUNT(nvml_functions), 3);
    /* The second call: the first finds out which channels exist. */
    assert_int_equal(run("nvmlDeviceGetPowerUsage", 2, 15).status, STATUS_DEVICE_LOST);
}

/* Success without a result is refused, and never used. */
TEST(lies)
{
    static const char *const creators[] = {"cuDevicePrimaryCtxRetain",
                                           "cuStreamCreate",
                                           "cuModuleLoadDataEx",
                                           "cuModuleGetFunction",
                                           "cuModuleGetGlobal",
                                           "cuMemAlloc",
                                           "cuMemHostAlloc",
                                           "cuEventCreate",
                                           "nvrtcCreateProgram",
                                           "nvrtcGetCUBINSize",
                                           "nvrtcGetNumSupportedArchs",
                                           "cublasLtCreate",
                                           "cublasLtMatmulDescCreate",
                                           "cublasLtMatrixLayoutCreate",
                                           "cublasLtMatmulPreferenceCreate",
                                           "cublasLtMatmulAlgoGetHeuristic",
                                           "cudnnCreate",
                                           "cudnnCreateTensorDescriptor",
                                           "cudnnCreateFilterDescriptor",
                                           "cudnnCreateConvolutionDescriptor",
                                           "cudnnGetConvolutionForwardAlgorithm_v7",
                                           "cudnnBackendCreateDescriptor",
                                           "cudnnBackendGetAttribute",
                                           "cuDeviceGetCount"};

    journey_lie_each(&faults, creators, COUNT(creators));
}

/* A device that NVRTC does not know gets PTX, and the reading says so; one that is too old gets a
 * reason. */
TEST(unknown_arch)
{
    static struct backend newer = {.ops = &cuda_backend_ops}, older = {.ops = &cuda_backend_ops};
    static struct backend known = {.ops = &cuda_backend_ops}, ahead = {.ops = &cuda_backend_ops};
    const struct device_options plain = {0};
    struct device *device = NULL;
    struct error err = ERROR_INIT;
    const struct reading *target;

    run(NULL, 0, 0);
    setenv("ASSAY_SHIM_ARCH", "110", 1);
    assert_int_equal(backend_device_open(&newer, 0, &plain, &device, &err), STATUS_OK);
    target = reading_find(&device->info.readings, "device.compile_target");
    assert_non_null(target);
    assert_non_null(strstr(target->text, "compute_100 (PTX, translated by the driver"));
    assert_false(device_has_events(device));
    device_close(device);
    setenv("ASSAY_SHIM_ARCH", "60", 1);
    assert_int_equal(backend_device_open(&older, 0, &plain, &device, &err), STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.message, "does not know sm_60"));
    /* An NVRTC newer than the driver by its minor version makes CUBINs for it, and no PTX. */
    setenv("ASSAY_SHIM_NVRTC_MINOR", "2", 1);
    setenv("ASSAY_SHIM_ARCH", "110", 1);
    assert_int_equal(backend_device_open(&ahead, 0, &plain, &device, &err), STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.message, "sm_110, and its PTX is newer than the driver"));
    unsetenv("ASSAY_SHIM_ARCH");
    assert_int_equal(backend_device_open(&known, 0, &plain, &device, &err), STATUS_OK);
    device_close(device);
    unsetenv("ASSAY_SHIM_NVRTC_MINOR");
}

TEST(unknown_code)
{
    const struct journey_outcome outcome = run("cuMemcpyHtoDAsync", 1, 98765);

    assert_int_equal(outcome.status, STATUS_DEVICE);
    assert_non_null(strstr(outcome.err.message, "cuMemcpyHtoDAsync: unknown code (98765)"));
}

int main(void)
{
    const int opened = journey_open(LIBRARIES, SHIM_PATH);

    if (opened != 0)
        return opened;
    return unit_run(NULL, NULL);
}
