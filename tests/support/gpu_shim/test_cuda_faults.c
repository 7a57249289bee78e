/*
 * Every call that a short life on a CUDA device makes fails in turn. Each failure must end in an
 * error that names the function, or be one that we can live with (listed below); no object may be
 * left in the driver, and under a sanitizer nothing in our memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/cuda/cublaslt.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/cudnn.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/nvml.h"
#include "backends/cuda/nvrtc.h"
#include "tests/support/gpu_shim/journey.h"

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

/* Never counted: they cannot fail, or are for words about failures. */
static bool uncounted(const char *function)
{
    static const char *const names[] = {
        "cuGetErrorName",  "nvrtcGetErrorString", "cublasLtGetVersion", "cublasLtGetStatusName",
        "cudnnGetVersion", "cudnnGetErrorString", "nvmlErrorString",    "nvmlShutdown",
        "nvrtcGetPTXSize", "nvrtcGetPTX",         "cudnnGetLastErrorString"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(function, names[i]) == 0)
            return true;
    return false;
}

/* A reading or resource that is missing, no log, a release that fails, a wait in close. */
static bool tolerable(const char *function, int n, int calls)
{
    static const char *const names[] = {"cuDeviceGetPCIBusId",
                                        "cuFuncGetAttribute",
                                        "cuModuleUnload",
                                        "cuMemFree",
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
                                        "cublasLtMatmulAlgoCapGetAttribute"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(function, names[i]) == 0)
            return true;
    /* Asked once more by `libraries`, and by the binding of a context in release and close. */
    if (strcmp(function, "nvrtcVersion") == 0 || strncmp(function, "nvrtcGetNum", 11) == 0 ||
        strncmp(function, "nvrtcGetSup", 11) == 0 || strcmp(function, "cuDeviceGet") == 0)
        return n > 1;
    return (strcmp(function, "cuStreamSynchronize") == 0 ||
            strcmp(function, "cuCtxSetCurrent") == 0) &&
           n == calls;
}

static struct journey_outcome run(const char *function, int n, int code)
{
    return journey_run(&cuda_backend_ops, function, n, code);
}

static int errors, lived_with;

/* `codes` with the words that the message must have beside the function's name. */
static void fail_all(const char *const *functions, size_t count, const int *codes,
                     const char *const *words, size_t code_count)
{
    for (size_t f = 0; f < count; f++) {
        const char *name = functions[f];
        int calls;

        if (uncounted(name))
            continue;
        assert_int_equal(run(NULL, 0, 0).status, STATUS_OK);
        calls = journey_calls(name);
        if (calls == 0)
            fail_msg("the journey never calls %s", name);
        for (int n = 1; n <= calls; n++)
            for (size_t k = 0; k < (calls > 12 ? 1 : code_count); k++) {
                const struct journey_outcome outcome = run(name, n, codes[k]);

                if (outcome.status == STATUS_OK) {
                    if (!tolerable(name, n, calls))
                        fail_msg("%s@%d:%d goes unnoticed", name, n, codes[k]);
                    lived_with++;
                    continue;
                }
                errors++;
                if (strstr(outcome.err.message, name) == NULL ||
                    strstr(outcome.err.message, words[k]) == NULL)
                    fail_msg("%s@%d:%d gives %s: %s", name, n, codes[k],
                             status_name(outcome.status), outcome.err.message);
            }
    }
    print_message("  %d failures named, %d lived with\n", errors, lived_with);
}

static void test_driver(void **state)
{
    static const int codes[] = {2, 719, 46};
    static const char *const words[] = {"CUDA_ERROR_OUT_OF_MEMORY (2)", "CUDA_ERROR_LAUNCH_FAILED",
                                        "CUDA_ERROR_DEVICE_UNAVAILABLE"};
    const struct journey_outcome outcome = run(NULL, 0, 0);

    (void)state;
    if (outcome.status != STATUS_OK)
        fail_msg("without a fault: %s", outcome.err.message);
    assert_true(outcome.has_products);
    assert_true(outcome.has_convolutions);
    assert_true(outcome.has_attention);
    fail_all(driver_functions, COUNT(driver_functions), codes, words, 3);
    assert_true(errors > 60);
    assert_int_equal(run("cuMemAlloc", 1, 2).status, STATUS_DEVICE_MEMORY);
    assert_int_equal(run("cuLaunchKernel", 1, 46).status, STATUS_DEVICE_LOST);
    assert_int_equal(run("cuLaunchKernel", 1, 719).status, STATUS_DEVICE);
    assert_int_equal(run("cuInit", 1, 100).status, STATUS_UNAVAILABLE);
}

static void test_nvrtc(void **state)
{
    static const int codes[] = {11, 1};
    static const char *const words[] = {"NVRTC_ERROR_INTERNAL_ERROR", "NVRTC_ERROR_OUT_OF_MEMORY"};

    (void)state;
    errors = lived_with = 0;
    fail_all(nvrtc_functions, COUNT(nvrtc_functions), codes, words, 2);
    assert_true(errors >= 8);
    /* The part of the installation that is easily forgotten. */
    {
        const struct journey_outcome outcome = run("nvrtcCompileProgram", 1, 7);

        assert_int_equal(outcome.status, STATUS_UNAVAILABLE);
        assert_non_null(strstr(outcome.err.message, "libnvrtc-builtins"));
    }
}

static void test_cublaslt(void **state)
{
    static const int codes[] = {14, 3, 15};
    static const char *const words[] = {"CUBLAS_STATUS_INTERNAL_ERROR",
                                        "CUBLAS_STATUS_ALLOC_FAILED",
                                        "CUBLAS_STATUS_NOT_SUPPORTED"};

    (void)state;
    errors = lived_with = 0;
    fail_all(cublaslt_functions, COUNT(cublaslt_functions), codes, words, 3);
    assert_true(errors > 30);
    assert_int_equal(run("cublasLtMatmulAlgoGetHeuristic", 1, 15).status, STATUS_UNSUPPORTED);
}

/* By the codes of cuDNN 9, and of 8. */
static void test_cudnn(void **state)
{
    static const int codes[] = {5000, 4004, 3002, 9};
    static const char *const words[] = {"EXECUTION_FAILED (5000)", "ALLOCATION_FAILED (4004)",
                                        "NOT_SUPPORTED_SHAPE (3002)", "(9)"};

    (void)state;
    errors = lived_with = 0;
    fail_all(cudnn_functions, COUNT(cudnn_functions), codes, words, 4);
    assert_true(errors > 40);
    assert_int_equal(run("cudnnSetConvolutionGroupCount", 1, 3002).status, STATUS_UNSUPPORTED);
    assert_int_equal(run("cudnnSetConvolutionGroupCount", 1, 9).status, STATUS_UNSUPPORTED);
    /* What is refused for one algorithm may be had from the next, and only that. */
    assert_int_equal(run("cudnnGetConvolutionForwardWorkspaceSize", 1, 3002).status, STATUS_OK);
    assert_int_equal(run("cudnnGetConvolutionForwardWorkspaceSize", 1, 5000).status, STATUS_DEVICE);
    assert_int_equal(run("cudnnCreate", 1, 4004).status, STATUS_DEVICE_MEMORY);
    assert_int_equal(run("cudnnCreate", 1, 2).status, STATUS_DEVICE_MEMORY);
    assert_int_equal(run("cudnnConvolutionForward", 1, 5000).status, STATUS_DEVICE);
}

/* Every call that builds, plans and runs the graphs of attention. */
static void test_cudnn_graph(void **state)
{
    static const int codes[] = {5000, 4004, 3002};
    static const char *const words[] = {"EXECUTION_FAILED (5000)", "ALLOCATION_FAILED (4004)",
                                        "NOT_SUPPORTED_SHAPE (3002)"};

    (void)state;
    errors = lived_with = 0;
    journey_for_attention(true);
    fail_all(cudnn_graph_functions, COUNT(cudnn_graph_functions), codes, words, 3);
    assert_true(errors > 600);
    assert_int_equal(run("cudnnBackendSetAttribute", 1, 2000).status, STATUS_UNSUPPORTED);
    assert_int_equal(run("cudnnBackendExecute", 2, 5000).status, STATUS_DEVICE);
    assert_int_equal(run("cudnnBackendCreateDescriptor", 1, 4003).status, STATUS_DEVICE_MEMORY);
    journey_for_attention(false);
}

/* Nothing that NVML does not tell stops a measurement, but for a board that is gone. */
static void test_nvml(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT(nvml_functions); f++) {
        const char *name = nvml_functions[f];
        int calls;

        if (uncounted(name))
            continue;
        run(NULL, 0, 0);
        calls = journey_calls(name);
        for (int n = 1; n <= calls; n++) {
            const struct journey_outcome outcome = run(name, n, 3);

            if (outcome.status != STATUS_OK)
                fail_msg("%s@%d:3 stops it: %s", name, n, outcome.err.message);
        }
    }
    /* The second call: the first looks which channels there are. */
    assert_int_equal(run("nvmlDeviceGetPowerUsage", 2, 15).status, STATUS_DEVICE_LOST);
}

/* Success with nothing given is refused, and never followed. */
static void test_lies(void **state)
{
    static const char *const creators[] = {"cuDevicePrimaryCtxRetain",
                                           "cuStreamCreate",
                                           "cuModuleLoadDataEx",
                                           "cuModuleGetFunction",
                                           "cuModuleGetGlobal",
                                           "cuMemAlloc",
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

    (void)state;
    for (size_t i = 0; i < COUNT(creators); i++) {
        const struct journey_outcome outcome = run(creators[i], 1, 0);

        if (outcome.status == STATUS_OK)
            fail_msg("%s gives nothing and it goes unnoticed", creators[i]);
        assert_true(outcome.err.message[0] != '\0');
    }
}

/* A device that NVRTC does not know gets PTX, and the reading says so; one too old gets a reason.
 */
static void test_unknown_arch(void **state)
{
    static struct backend newer = {.ops = &cuda_backend_ops}, older = {.ops = &cuda_backend_ops};
    const struct device_options plain = {0};
    struct device *device = NULL;
    struct error err = ERROR_INIT;
    const struct reading *target;

    (void)state;
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
    unsetenv("ASSAY_SHIM_ARCH");
}

static void test_unknown_code(void **state)
{
    const struct journey_outcome outcome = run("cuMemcpyHtoDAsync", 1, 98765);

    (void)state;
    assert_int_equal(outcome.status, STATUS_DEVICE);
    assert_non_null(strstr(outcome.err.message, "cuMemcpyHtoDAsync: unknown code (98765)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_driver),       cmocka_unit_test(test_nvrtc),
        cmocka_unit_test(test_cublaslt),     cmocka_unit_test(test_cudnn),
        cmocka_unit_test(test_cudnn_graph),  cmocka_unit_test(test_nvml),
        cmocka_unit_test(test_lies),         cmocka_unit_test(test_unknown_code),
        cmocka_unit_test(test_unknown_arch),
    };
    static const char *const variables[] = {"ASSAY_LIB_CUDA", "ASSAY_LIB_NVRTC",
                                            "ASSAY_LIB_CUBLASLT", "ASSAY_LIB_CUDNN",
                                            "ASSAY_LIB_NVML"};
    const int opened = journey_open(SHIM_PATH);

    if (opened != 0)
        return opened;
    for (size_t i = 0; i < COUNT(variables); i++)
        setenv(variables[i], SHIM_PATH, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
