/*
 * Every call of a small use of an OpenCL device fails in turn, with several codes. Each failure
 * must end in an error that names the function and the code, or be tolerable (listed below); no
 * object may be left in the driver, and under a sanitizer nothing in our memory.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/api.h"
#include "backends/opencl/opencl.h"
#include "tests/support/opencl_shim/shim.h"
#include "tests/support/unit.h"

static __typeof__(&assay_shim_fail) shim_fail;
static __typeof__(&assay_shim_calls) shim_calls;
static __typeof__(&assay_shim_live) shim_live;
static __typeof__(&assay_shim_devices) shim_devices;
static __typeof__(&assay_shim_vendor) shim_vendor;
static __typeof__(&assay_shim_platforms_twice) shim_platforms_twice;

static const char text[] = "KERNEL(twice, GLOBAL u32 *out, u32 k, u64 n)\n"
                           "{\n"
                           "    for (u64 i = LANE; i < n; i += LANES)\n"
                           "        out[i] = out[i] * 2 + k;\n"
                           "}\n";

/* Backends keep their state until the process ends: so must the tests, for LeakSanitizer. */
#define RUNS_MAX 2000
static struct backend backends[RUNS_MAX];
static size_t backend_used;

struct outcome {
    enum status status;
    struct error err;
    bool has_binary;
};

#define NEXT(call)                                                                                 \
    if (status == STATUS_OK)                                                                       \
    status = call

/* Within the device, in both directions at once, and with memory of the driver's. */
static enum status use_copies(struct device *device, struct buffer *a, struct buffer *b,
                              struct error *err)
{
    struct host_memory *memory = NULL;
    uint32_t out[4] = {0};
    struct device_exchange both = {.to = a, .from = b, .target = out, .bytes = sizeof(out)};
    enum status status = device_host_alloc(device, sizeof(out), &memory, err);

    if (status == STATUS_OK)
        both.source = memset(memory->bytes, 7, sizeof(out));
    NEXT(device_copy(b, a, sizeof(out), err));
    NEXT(device_exchange(&both, err));
    if (status == STATUS_OK && (out[0] != 13 || out[3] != 25))
        status = error_set(err, STATUS_CHECK_FAILED, "wrong copy");
    device_host_free(memory);
    return status;
}

static enum status use(struct device *device, struct outcome *outcome)
{
    const struct module_source source = {.file = "twice.h", .text = text, .lanes = 1};
    struct kernel_arg args[3] = {{.type = KERNEL_ARG_BUFFER},
                                 {.type = KERNEL_ARG_U32, .u32 = 3},
                                 {KERNEL_ARG_U64, .u64 = 4}};
    struct kernel_launch launch = {
        .kernel = "twice", .groups = {1, 1, 1}, .args = args, .arg_count = 3};
    uint32_t in[4] = {1, 2, 3, 4}, out[4] = {0};
    struct module_artifact artifact;
    struct event *start = NULL, *end = NULL;
    struct buffer *buffer = NULL, *other = NULL;
    struct error *err = &outcome->err;
    int64_t ns = 0;
    enum status status;

    status = device_buffer_alloc(device, sizeof(in), BUFFER_READ_WRITE, &buffer, err);
    NEXT(device_buffer_alloc(device, 100, BUFFER_READ_WRITE, &other, err));
    args[0].buffer = buffer;
    NEXT(device_upload(buffer, 0, in, sizeof(in), err));
    NEXT(device_module_load(device, &source, &launch.module, err));
    NEXT(device_module_describe(device, launch.module, &artifact, err));
    if (status == STATUS_OK) {
        outcome->has_binary = artifact.has_binary;
        module_artifact_finish(&artifact);
    }
    NEXT(device_event_create(device, &start, err));
    NEXT(device_event_create(device, &end, err));
    for (int i = 0; i < 2; i++) {
        NEXT(device_event_record(device, start, err));
        NEXT(device_kernel_launch(device, &launch, err));
        NEXT(device_event_record(device, end, err));
        NEXT(device_synchronize(device, err));
        NEXT(device_event_elapsed_ns(device, start, end, &ns, err));
    }
    NEXT(device_download(buffer, 0, out, sizeof(out), err));
    if (status == STATUS_OK && (out[0] != 13 || out[3] != 25))
        status = error_set(err, STATUS_CHECK_FAILED, "wrong result");
    NEXT(use_copies(device, buffer, other, err));
    device_event_destroy(device, start);
    device_event_destroy(device, end);
    device_module_unload(device, launch.module);
    device_buffer_free(buffer);
    device_buffer_free(other);
    return status;
}

/* One whole journey with a new backend. */
static struct outcome run(const char *function, int n, int code)
{
    const struct device_options options = {.profile = true};
    struct outcome outcome = {.err = ERROR_INIT};
    struct device *device = NULL;
    struct backend *backend;
    int before = shim_live();

    assert_true(backend_used < RUNS_MAX);
    backend = &backends[backend_used++];
    backend->ops = &opencl_backend_ops;
    shim_fail(function, n, code);
    outcome.status = backend_device_open(backend, 0, &options, &device, &outcome.err);
    if (outcome.status == STATUS_OK)
        outcome.status = use(device, &outcome);
    device_close(device);
    if (shim_live() != before)
        fail_msg("%s@%d:%d leaves %d objects in the driver", function != NULL ? function : "-", n,
                 code, shim_live() - before);
    return outcome;
}

static const char *const all_functions[] = {
#define NAME(result, name, parameters) #name,
    OPENCL_REQUIRED_MAP(NAME) OPENCL_OPTIONAL_MAP(NAME)
#undef NAME
};

#define FUNCTIONS (sizeof(all_functions) / sizeof(all_functions[0]))

/*
 * Tolerable failures: a missing reading, no binary or log for provenance, and a release that fails.
 * `finish` is the one in close, after which nothing is checked.
 */
static bool tolerable(const char *function, int n, const int *counts)
{
    size_t i;

    if (strncmp(function, "clRelease", 9) == 0 || strcmp(function, "clGetDeviceInfo") == 0 ||
        strcmp(function, "clGetPlatformInfo") == 0 || strcmp(function, "clGetProgramInfo") == 0 ||
        strcmp(function, "clGetProgramBuildInfo") == 0 ||
        strcmp(function, "clEnqueueUnmapMemObject") == 0)
        return true;
    for (i = 0; i < FUNCTIONS; i++)
        if (strcmp(all_functions[i], function) == 0)
            return strcmp(function, "clFinish") == 0 && n == counts[i];
    return false;
}

/* Too few resources for a call that takes none: an earlier kernel failed. */
static bool is_reported_for_kernels(const char *function, int code)
{
    return code == -5 &&
           (strcmp(function, "clFinish") == 0 || strcmp(function, "clEnqueueReadBuffer") == 0);
}

TEST(every_call)
{
    static const int codes[] = {-5, -36, -2};
    int counts[FUNCTIONS], errors = 0, lived_with = 0;
    struct outcome outcome = run(NULL, 0, 0);
    size_t f;

    if (outcome.status != STATUS_OK)
        fail_msg("without a fault: %s", outcome.err.message);
    assert_true(outcome.has_binary);
    for (f = 0; f < FUNCTIONS; f++) {
        counts[f] = shim_calls(all_functions[f]);
        if (counts[f] == 0)
            fail_msg("the journey never calls %s", all_functions[f]);
    }
    for (f = 0; f < FUNCTIONS; f++)
        for (int n = 1; n <= counts[f]; n++) {
            const char *name = all_functions[f];
            /* One code for each of the many queries, every code for the rest. */
            const int code_count = counts[f] > 20 ? 1 : 3;

            for (int k = 0; k < code_count; k++) {
                outcome = run(name, n, codes[k]);
                if (outcome.status == STATUS_OK) {
                    if (!tolerable(name, n, counts))
                        fail_msg("%s@%d:%d goes unnoticed", name, n, codes[k]);
                    lived_with++;
                    continue;
                }
                errors++;
                if (strstr(outcome.err.message, name) == NULL ||
                    strstr(outcome.err.message, opencl_error_name(codes[k])) == NULL)
                    fail_msg("%s@%d:%d gives: %s", name, n, codes[k], outcome.err.message);
                if (outcome.status != (codes[k] == -2 || is_reported_for_kernels(name, codes[k])
                                           ? STATUS_DEVICE_LOST
                                       : codes[k] == -36 ? STATUS_DEVICE
                                                         : STATUS_DEVICE_MEMORY) &&
                    outcome.status != STATUS_UNAVAILABLE)
                    fail_msg("%s@%d:%d gives %s", name, n, codes[k], status_name(outcome.status));
            }
        }
    print_message("  %d failures named, %d lived with\n", errors, lived_with);
    assert_true(errors > 60);
}

/* Success without a result, and absurd sizes: refused, and never used. */
TEST(lies)
{
    static const char *const creators[] = {
        "clCreateContext", "clCreateCommandQueue", "clCreateBuffer",   "clCreateProgramWithSource",
        "clCreateKernel",  "clGetDeviceIDs",       "clGetPlatformIDs", "clEnqueueMapBuffer"};
    size_t i;
    int n;

    for (i = 0; i < sizeof(creators) / sizeof(creators[0]); i++) {
        struct outcome outcome = run(creators[i], 1, 0);

        if (outcome.status == STATUS_OK)
            fail_msg("%s gives nothing and it goes unnoticed", creators[i]);
        assert_true(outcome.err.message[0] != '\0');
    }
    for (n = 1; n <= 8; n++) {
        run("clGetDeviceInfo", n * 7, 1);
        run("clGetPlatformInfo", n, 1);
        run("clGetProgramBuildInfo", n, 1);
        run("clGetProgramInfo", n, 1);
    }
    /* A marker without an event. */
    {
        struct outcome outcome = run("clEnqueueMarkerWithWaitList", 1, 0);

        assert_int_equal(outcome.status, STATUS_DEVICE);
        assert_non_null(strstr(outcome.err.message, "defective"));
    }
}

/* A marker whose time is 0 has none: the stage between two of them did not take 0 ns. */
TEST(marker_without_time)
{
    for (int n = 1; n <= 2; n++) {
        struct outcome outcome = run("clGetEventProfilingInfo", n, 0);

        assert_int_equal(outcome.status, STATUS_DEVICE);
        assert_non_null(strstr(outcome.err.message, "gives a marker no time"));
    }
}

static struct device_info info_of_vendor(unsigned vendor)
{
    struct backend *backend = &backends[backend_used++];
    struct device_info info;
    struct error err = ERROR_INIT;

    backend->ops = &opencl_backend_ops;
    shim_fail(NULL, 0, 0);
    shim_vendor(vendor);
    if (backend_device_info(backend, 0, &info, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    shim_vendor(0);
    return info;
}

/* The cache size that GPU drivers report is the last level's only for Intel's. */
TEST(vendors)
{
    static const unsigned vendors[] = {0x1002, 0x10de, 0x8086};

    for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++) {
        const bool amd = vendors[i] == 0x1002, intel = vendors[i] == 0x8086;
        struct device_info info = info_of_vendor(vendors[i]);
        const struct reading *ecc = reading_find(&info.readings, "device.memory_ecc");
        const struct reading *pci = reading_find(&info.readings, "device.pci_address");

        assert_int_equal(info.type, DEVICE_GPU);
        assert_int_equal(reading_find(&info.readings, "device.cache")->integer, 16 << 10);
        assert_int_equal(info.last_level_cache_bytes, intel ? 16 << 10 : 0);
        assert_int_equal(ecc->status, amd ? READING_UNAVAILABLE : READING_MEASURED);
        assert_string_equal(pci->text, "c3:02.1");
        device_info_finish(&info);
    }
}

/* A code that no specification knows. */
TEST(unknown_code)
{
    struct outcome outcome = run("clEnqueueWriteBuffer", 1, -9999);

    assert_int_equal(outcome.status, STATUS_DEVICE);
    assert_non_null(strstr(outcome.err.message, "clEnqueueWriteBuffer: unknown code (-9999)"));
}

/* Messages of a driver that exists but is broken. */
TEST(no_platform)
{
    struct outcome outcome = run("clGetPlatformIDs", 1, -1001);

    assert_int_equal(outcome.status, STATUS_UNAVAILABLE);
    assert_non_null(strstr(outcome.err.message, "finds no platform"));
    outcome = run("clGetDeviceIDs", 1, -1);
    assert_int_equal(outcome.status, STATUS_UNAVAILABLE);
    assert_non_null(strstr(outcome.err.message, "it offers no device"));
}

/* More devices than are listed: one after the last represents the others, and says so. */
TEST(too_many_devices)
{
    struct backend *backend = &backends[backend_used++];
    struct device_options options = {0};
    struct device *device = NULL;
    struct device_info info;
    struct error err = ERROR_INIT;

    backend->ops = &opencl_backend_ops;
    shim_fail(NULL, 0, 0);
    shim_devices(300);
    assert_int_equal(backend_probe(backend, &err), STATUS_OK);
    shim_devices(0);
    assert_int_equal(backend->device_count, 257);
    assert_int_equal(backend_device_info(backend, 255, &info, &err), STATUS_OK);
    device_info_finish(&info);
    assert_int_equal(backend_device_info(backend, 256, &info, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, "more devices"));
    assert_non_null(strstr(err.message, "at most 256 devices"));
    assert_true(atoi(err.message) >= 44);
    assert_int_equal(backend_device_open(backend, 256, &options, &device, &err),
                     STATUS_UNSUPPORTED);
    assert_int_equal(backend_device_open(backend, 255, &options, &device, &err), STATUS_OK);
    device_close(device);
}

/* One platform fails and another has devices: the error is reported after the devices. */
TEST(one_platform_fails)
{
    static const struct {
        const char *function;
        int n, code;
        const char *reason;
    } faults[] = {{"clGetDeviceIDs", 3, -5, "clGetDeviceIDs: CL_OUT_OF_RESOURCES (-5)"},
                  {"clGetDeviceIDs", 4, -36, "clGetDeviceIDs: CL_INVALID_COMMAND_QUEUE (-36)"},
                  {"clGetDeviceIDs", 1, -5, "clGetDeviceIDs: CL_OUT_OF_RESOURCES (-5)"},
                  {"clGetDeviceIDs", 3, -1, NULL}};

    shim_platforms_twice(true);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct backend *backend = &backends[backend_used++];
        struct device_info info;
        struct error err = ERROR_INIT;

        backend->ops = &opencl_backend_ops;
        shim_fail(faults[i].function, faults[i].n, faults[i].code);
        assert_int_equal(backend_probe(backend, &err), STATUS_OK);
        assert_int_equal(backend_device_info(backend, 0, &info, &err), STATUS_OK);
        device_info_finish(&info);
        if (faults[i].reason == NULL) {
            assert_int_equal(backend->device_count, 1);
            continue;
        }
        assert_int_equal(backend->device_count, 2);
        assert_int_equal(backend_device_info(backend, 1, &info, &err), STATUS_UNAVAILABLE);
        assert_non_null(strstr(err.message, "the platform Portable Computing Language"));
        assert_non_null(strstr(err.message, faults[i].reason));
    }
    shim_platforms_twice(false);
}

int main(void)
{
    struct opencl_api api;
    struct dynlib lib = {0};
    struct error err = ERROR_INIT;
    uint32_t platforms = 0;
    void *shim;

    setenv("OCL_ICD_VENDORS", ICD_DIRECTORY, 0);
    if (opencl_api_open(&lib, &api, &err) != STATUS_OK) {
        printf("SKIP: %s\n", err.message);
        dynlib_finish(&lib);
        return 77;
    }
    dynlib_finish(&lib);
    if (api.clGetPlatformIDs(0, NULL, &platforms) != OCL_SUCCESS || platforms == 0) {
        printf("SKIP: the OpenCL loader finds no platform\n");
        return 77;
    }
    shim = dlopen(SHIM_PATH, RTLD_NOW | RTLD_LOCAL);
    if (shim == NULL) {
        printf("FAIL: %s\n", dlerror());
        return 1;
    }
    *(void **)&shim_fail = dlsym(shim, "assay_shim_fail");
    *(void **)&shim_calls = dlsym(shim, "assay_shim_calls");
    *(void **)&shim_live = dlsym(shim, "assay_shim_live");
    *(void **)&shim_devices = dlsym(shim, "assay_shim_devices");
    *(void **)&shim_vendor = dlsym(shim, "assay_shim_vendor");
    *(void **)&shim_platforms_twice = dlsym(shim, "assay_shim_platforms_twice");
    if (shim_platforms_twice == NULL || shim_fail == NULL || shim_calls == NULL ||
        shim_live == NULL || shim_devices == NULL || shim_vendor == NULL)
        return 1;
    setenv("ASSAY_LIB_OPENCL", SHIM_PATH, 1);
    return unit_run(NULL, NULL);
}
