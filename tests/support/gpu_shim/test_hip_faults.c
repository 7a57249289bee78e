/*
 * Every call that a short life on an AMD device makes fails in turn. Each failure must end in an
 * error that names the function, or be one that we can live with (listed below); no object may be
 * left in the library, and under a sanitizer nothing in our memory.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/hip/hip.h"
#include "backends/hip/hipblaslt.h"
#include "backends/hip/rocblas.h"
#include "backends/hip/rocm_smi.h"
#include "backends/hip/rtc.h"
#include "backends/hip/runtime.h"
#include "backends/telemetry.h"
#include "tests/support/gpu_shim/journey.h"
#include "tests/support/gpu_shim/shim.h"

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

static __typeof__(&assay_shim_fail) shim_fail;
static __typeof__(&assay_shim_calls) shim_calls;
static __typeof__(&assay_shim_live) shim_live;

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* A reading or resource that is missing, no log, no version, a release that fails. */
static bool tolerable(const char *function, int n, int calls)
{
    static const char *const names[] = {
        "hipDeviceGetName",
        "hipDeviceTotalMem",
        "hipDeviceGetAttribute",
        "hipDeviceGetPCIBusId",
        "hipDriverGetVersion",
        "hipRuntimeGetVersion",
        "hipDeviceGetUuid",
        "hipFree",
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
    };

    if (is_one_of(function, names, COUNT(names)))
        return true;
    /* Once for a reading, once to open; registers are asked of the runtime where they are. */
    if (strcmp(function, "hipGetDevicePropertiesR0600") == 0)
        return n == 1;
    if (strcmp(function, "hipFuncGetAttribute") == 0)
        return n > 1;
    /* Asked once more by `libraries`, for the version. */
    if (strcmp(function, "hipblasLtCreate") == 0 || strcmp(function, "hipblasLtGetVersion") == 0)
        return n == calls;
    /* The waits in close, after which nobody asks. */
    return (strcmp(function, "hipStreamSynchronize") == 0 ||
            strcmp(function, "hipSetDevice") == 0) &&
           n == calls;
}

static struct journey_outcome run(const char *function, int n, int code)
{
    return journey_run(&hip_backend_ops, function, n, code);
}

typedef struct journey_outcome run_fn(const char *function, int n, int code);

static int errors, lived_with;

/* `codes` with the words that the message must have beside the function's name. */
static void fail_all(run_fn *journey, const char *const *functions, size_t count, const int *codes,
                     const char *const *words, size_t code_count)
{
    for (size_t f = 0; f < count; f++) {
        const char *name = functions[f];
        struct journey_outcome outcome;
        int calls;

        /* Only a library without the newer function of the two calls it: conformance_hip5_shim. */
        if (strcmp(name, "hipGetDeviceProperties") == 0)
            continue;
        outcome = journey(NULL, 0, 0);
        if (outcome.status != STATUS_OK)
            fail_msg("without a fault: %s", outcome.err.message);
        calls = shim_calls(name);
        if (calls == 0)
            fail_msg("the journey never calls %s", name);
        for (int n = 1; n <= calls; n++)
            for (size_t k = 0; k < (calls > 12 ? 1 : code_count); k++) {
                outcome = journey(name, n, codes[k]);
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

static void test_runtime(void **state)
{
    static const int codes[] = {2, 719, 1};
    static const char *const words[] = {"hipErrorOutOfMemory (2)", "hipErrorLaunchFailure",
                                        "hipErrorInvalidValue"};
    const struct journey_outcome outcome = run(NULL, 0, 0);

    (void)state;
    if (outcome.status != STATUS_OK)
        fail_msg("without a fault: %s", outcome.err.message);
    assert_true(outcome.has_products);
    fail_all(run, runtime_functions, COUNT(runtime_functions), codes, words, 3);
    assert_true(errors > 60);
    assert_int_equal(run("hipMalloc", 1, 2).status, STATUS_DEVICE_MEMORY);
    assert_int_equal(run("hipModuleLaunchKernel", 1, 719).status, STATUS_DEVICE_LOST);
    assert_int_equal(run("hipInit", 1, 100).status, STATUS_UNAVAILABLE);
    assert_int_equal(run("hipGetDeviceCount", 1, 100).status, STATUS_UNAVAILABLE);
}

static void test_rtc(void **state)
{
    static const int codes[] = {11, 1};
    static const char *const words[] = {"HIPRTC_ERROR_INTERNAL_ERROR",
                                        "HIPRTC_ERROR_OUT_OF_MEMORY"};

    (void)state;
    errors = lived_with = 0;
    fail_all(run, rtc_functions, COUNT(rtc_functions), codes, words, 2);
    assert_true(errors >= 8);
    assert_int_equal(run("hiprtcCompileProgram", 1, 6).status, STATUS_COMPILE);
}

static void test_hipblaslt(void **state)
{
    static const int codes[] = {6, 2};
    static const char *const words[] = {"HIPBLAS_STATUS_INTERNAL_ERROR",
                                        "HIPBLAS_STATUS_ALLOC_FAILED"};

    (void)state;
    errors = lived_with = 0;
    fail_all(run, hipblaslt_functions, COUNT(hipblaslt_functions), codes, words, 2);
    assert_true(errors > 20);
    /* What hipBLASLt does not do, rocBLAS is asked; it has no bias, and both answers are told. */
    {
        const struct journey_outcome outcome = run("hipblasLtMatmulAlgoGetHeuristic", 1, 7);

        assert_int_equal(outcome.status, STATUS_UNSUPPORTED);
        assert_non_null(strstr(outcome.err.message, "HIPBLAS_STATUS_NOT_SUPPORTED"));
        assert_non_null(strstr(outcome.err.message, "rocBLAS adds no bias"));
    }
}

/* Backends keep their state for the life of the process: so must the tests', for LeakSanitizer. */
#define RUNS_MAX 400
static struct backend backends[RUNS_MAX];
static size_t backend_used;

static struct backend *fresh_backend(void)
{
    assert_true(backend_used < RUNS_MAX);
    backends[backend_used].ops = &hip_backend_ops;
    return &backends[backend_used++];
}

#define SIDE 4

static enum status multiply_f64(struct device *device, struct error *err)
{
    const struct product_matrix matrix = {.type = DTYPE_F64, .stride = SIDE};
    const struct product_shape shape = {.precision = PRECISION_FP64,
                                        .m = SIDE,
                                        .n = SIDE,
                                        .k = SIDE,
                                        .a = matrix,
                                        .b = matrix,
                                        .c = matrix};
    double ones[SIDE * SIDE], out[SIDE * SIDE] = {0.0};
    struct buffer *in = NULL, *result = NULL;
    struct product *product = NULL;
    struct product_info info = {.library = ""};
    enum status status = device_buffer_alloc(device, sizeof(ones), BUFFER_READ_WRITE, &in, err);

    for (size_t i = 0; i < SIDE * SIDE; i++)
        ones[i] = 1.0;
#define NEXT(call)                                                                                 \
    if (status == STATUS_OK)                                                                       \
    status = call
    NEXT(device_buffer_alloc(device, sizeof(ones), BUFFER_READ_WRITE, &result, err));
    NEXT(device_upload(in, 0, ones, sizeof(ones), err));
    NEXT(device_product_create(device, &shape, &product, err));
    NEXT(device_product_describe(product, &info, err));
    if (status == STATUS_OK) {
        const struct product_operands operands = {.a = {in, 0}, .b = {in, 0}, .c = {result, 0}};

        status = device_product_run(product, &operands, err);
    }
    NEXT(device_download(result, 0, out, sizeof(out), err));
    if (status == STATUS_OK &&
        (out[0] != SIDE || out[SIDE * SIDE - 1] != SIDE || strcmp(info.library, "rocBLAS") != 0))
        status = error_set(err, STATUS_CHECK_FAILED, "wrong product by %s", info.library);
#undef NEXT
    device_product_destroy(product);
    device_buffer_free(in);
    device_buffer_free(result);
    return status;
}

/* fp64 goes to rocBLAS. */
static struct journey_outcome run_rocblas(const char *function, int n, int code)
{
    struct journey_outcome outcome = {.err = ERROR_INIT};
    struct device *device = NULL;
    const int before = shim_live();

    shim_fail(function, n, code);
    outcome.status = backend_device_open(fresh_backend(), 0, NULL, &device, &outcome.err);
    if (outcome.status == STATUS_OK)
        outcome.status = multiply_f64(device, &outcome.err);
    device_close(device);
    if (shim_live() != before)
        fail_msg("%s@%d:%d leaves %d objects in the library", function != NULL ? function : "-", n,
                 code, shim_live() - before);
    return outcome;
}

static void test_rocblas(void **state)
{
    static const int codes[] = {6, 5};
    static const char *const words[] = {"rocblas_status_internal_error",
                                        "rocblas_status_memory_error"};

    (void)state;
    errors = lived_with = 0;
    fail_all(run_rocblas, rocblas_functions, COUNT(rocblas_functions), codes, words, 2);
    assert_true(errors >= 8);
    assert_int_equal(run_rocblas("rocblas_gemm_strided_batched_ex", 1, 2).status,
                     STATUS_UNSUPPORTED);
}

/* Nothing that ROCm SMI does not tell stops a measurement. */
static void test_smi(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT(smi_functions); f++) {
        int calls;

        run(NULL, 0, 0);
        calls = shim_calls(smi_functions[f]);
        for (int n = 1; n <= calls; n++) {
            const struct journey_outcome outcome = run(smi_functions[f], n, 3);

            if (outcome.status != STATUS_OK)
                fail_msg("%s@%d:3 stops it: %s", smi_functions[f], n, outcome.err.message);
        }
    }
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
static void test_telemetry(void **state)
{
    struct telemetry *telemetry = NULL;
    struct error err = ERROR_INIT;
    struct reading_list edges;
    int64_t values[64], energy;
    const char *reason = NULL;
    char *dump = NULL;

    (void)state;
    shim_fail(NULL, 0, 0);
    if (backend_telemetry_open(fresh_backend(), 0, &telemetry, &err) != STATUS_OK)
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

/* Success with nothing given is refused, and never followed. */
static void test_lies(void **state)
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

    (void)state;
    for (size_t i = 0; i < COUNT(creators); i++) {
        const struct journey_outcome outcome = run(creators[i], 1, 0);

        if (outcome.status == STATUS_OK)
            fail_msg("%s gives nothing and it goes unnoticed", creators[i]);
        assert_true(outcome.err.message[0] != '\0');
    }
    assert_int_not_equal(run("hipGetDevicePropertiesR0600", 2, 0).status, STATUS_OK);
    assert_int_not_equal(run_rocblas("rocblas_create_handle", 1, 0).status, STATUS_OK);
}

static void test_unknown_code(void **state)
{
    const struct journey_outcome outcome = run("hipMemcpyHtoDAsync", 1, 98765);

    (void)state;
    assert_int_equal(outcome.status, STATUS_DEVICE);
    assert_non_null(strstr(outcome.err.message, "hipMemcpyHtoDAsync: unknown code (98765)"));
}

static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);

    if (found == NULL)
        printf("FAIL: %s\n", dlerror());
    return found;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runtime),   cmocka_unit_test(test_rtc),
        cmocka_unit_test(test_hipblaslt), cmocka_unit_test(test_rocblas),
        cmocka_unit_test(test_smi),       cmocka_unit_test(test_telemetry),
        cmocka_unit_test(test_lies),      cmocka_unit_test(test_unknown_code),
    };
    static const char *const variables[] = {"ASSAY_LIB_HIP", "ASSAY_LIB_HIPRTC",
                                            "ASSAY_LIB_HIPBLASLT", "ASSAY_LIB_ROCBLAS",
                                            "ASSAY_LIB_ROCM_SMI"};
    const int opened = journey_open(SHIM_PATH);
    void *shim = dlopen(SHIM_PATH, RTLD_NOW | RTLD_LOCAL);

    if (opened != 0)
        return opened;
    *(void **)&shim_fail = find(shim, "assay_shim_fail");
    *(void **)&shim_calls = find(shim, "assay_shim_calls");
    *(void **)&shim_live = find(shim, "assay_shim_live");
    if (shim_fail == NULL || shim_calls == NULL || shim_live == NULL)
        return 1;
    for (size_t i = 0; i < COUNT(variables); i++)
        setenv(variables[i], SHIM_PATH, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
