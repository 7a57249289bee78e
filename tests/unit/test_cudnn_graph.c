/*
 * The real cuDNN and the graphs of attention, with no device: a description of one replaces the
 * handle (cuDNN 9.8 and later take it as JSON), so the library checks every descriptor, looks for
 * engines by its patterns, ranks them, and compiles the kernels of a plan for that architecture. A
 * driver stub (fixture_libcuda.c) accepts these. Only their execution is left out.
 *
 * Skipped where no cuDNN is installed, or one that does not accept a description.
 */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/cuda/attention_graph.h"

static struct cudnn_api api;
static size_t version;

/* A device as cuDNN sees it; figures from the CUDA C Programming Guide and the data sheets. */
struct description {
    const char *name;
    int version, processors, shared_bytes;
};
static const struct description descriptions[] = {
    {"NVIDIA A100", 800, 108, 166912},
    {"NVIDIA H200", 900, 132, 232448},
    {"NVIDIA B200", 1000, 148, 232448},
};
static const struct description turing = {"NVIDIA T4", 750, 40, 65536};

/* NULL where the library takes no description. */
static void *describe(const struct description *device)
{
    char json[1024];
    void *descriptor = NULL;

    snprintf(json, sizeof(json),
             "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
             "\"regsPerBlock\":65536,\"multiProcessorCount\":%d,\"warpSize\":32,"
             "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":%d,"
             "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"
             "\"maxCtasPerSM\":24,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":1536,"
             "\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,"
             "\"smClockRateKHz\":1500000,\"memClockRateKHz\":2000000,\"l2CacheSize\":41943040,"
             "\"deviceName\":\"%s\",\"deviceVer\":%d,\"driverVer\":13000,"
             "\"totalGlobalMem\":40000000000,\"cudaDeviceId\":0}",
             device->processors, device->shared_bytes, device->name, device->version);
    if (api.cudnnBackendCreateDescriptor(DNN_DEVICEPROP, &descriptor) != DNN_STATUS_SUCCESS)
        return NULL;
    if (api.cudnnBackendSetAttribute(descriptor, DNN_DEVICEPROP_JSON, DNN_TYPE_CHAR,
                                     (int64_t)strlen(json), json) == DNN_STATUS_SUCCESS &&
        api.cudnnBackendFinalize(descriptor) == DNN_STATUS_SUCCESS)
        return descriptor;
    api.cudnnBackendDestroyDescriptor(descriptor);
    return NULL;
}

static struct attention_shape shape_of(enum precision precision, uint64_t length, uint64_t size,
                                       bool causal)
{
    const uint64_t heads = 3, width = heads * size;
    const struct attention_strides inside = {length * 3 * width, size, 3 * width};

    return (struct attention_shape){.precision = precision,
                                    .batch = 2,
                                    .heads = heads,
                                    .length = length,
                                    .head_size = size,
                                    .causal = causal,
                                    .training = true,
                                    .scale = 0.125f,
                                    .q = inside,
                                    .k = inside,
                                    .v = inside,
                                    .o = {length * width, size, width}};
}

/* What is selected; every other listed engine must work, or be refused. */
static enum status plan(void *properties, const struct attention_shape *shape, bool backward,
                        struct cudnn_plan *ret, struct error *err)
{
    struct cudnn_plans plans = {0};
    struct cudnn_graph graph = {.api = &api, .target = {NULL, properties}, .err = err};
    enum status status;

    if (backward)
        cuda_attention_graph_backward(&graph, shape);
    else
        cuda_attention_graph_forward(&graph, shape);
    if (graph.status != STATUS_OK)
        fail_msg("a descriptor is refused: %s", err->message);
    status = cudnn_graph_plan(&graph, &plans);
    *ret = plans.list[plans.selected];
    for (uint32_t i = 0; i < plans.count && status == STATUS_OK; i++) {
        const enum status made = cudnn_graph_make(&graph, &plans.list[i]);

        print_message("    %s: %s, %lld bytes\n", plans.list[i].name, status_name(made),
                      (long long)plans.list[i].workspace_bytes);
        assert_true(made == STATUS_OK || made == STATUS_UNSUPPORTED);
        assert_int_equal(plans.list[i].notes, ret->notes);
    }
    cudnn_graph_finish(&graph);
    return status;
}

/* Whether this shape has a plan in either direction; prints the engine. */
static void expect_plans(const struct description *device, const struct attention_shape *shape)
{
    void *properties = describe(device);

    assert_non_null(properties);
    for (int backward = 0; backward < 2; backward++) {
        struct error err = ERROR_INIT;
        struct cudnn_plan got = {0};
        char notes[64];

        if (plan(properties, shape, backward != 0, &got, &err) != STATUS_OK)
            fail_msg("%s, %s, %llu long, heads of %llu, %s: %s", device->name,
                     precision_name(shape->precision), (unsigned long long)shape->length,
                     (unsigned long long)shape->head_size, backward ? "backward" : "forward",
                     err.message);
        cudnn_plan_notes(&got, notes, sizeof(notes));
        print_message("  %s %s %llu x %llu %s: %s, %lld bytes, %s\n", device->name,
                      precision_name(shape->precision), (unsigned long long)shape->length,
                      (unsigned long long)shape->head_size, backward ? "backward" : "forward",
                      got.name, (long long)got.workspace_bytes, notes);
        assert_true(got.engine >= 0 && got.workspace_bytes >= 0);
        assert_true(got.notes >> DNN_NOTE_TENSOR_CORE & 1);
    }
    api.cudnnBackendDestroyDescriptor(properties);
}

static void test_architectures(void **state)
{
    const struct attention_shape shape = shape_of(PRECISION_BF16, 1024, 64, true);

    (void)state;
    for (size_t i = 0; i < sizeof(descriptions) / sizeof(descriptions[0]); i++)
        expect_plans(&descriptions[i], &shape);
}

static void test_shapes(void **state)
{
    const struct attention_shape shapes[] = {
        shape_of(PRECISION_FP16, 129, 80, false),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        expect_plans(&descriptions[1], &shapes[i]);
}

static void expect_refusal(const struct description *device, const struct attention_shape *shape)
{
    void *properties = describe(device);
    struct error err = ERROR_INIT;
    struct cudnn_plan got;

    assert_non_null(properties);
    assert_int_equal(plan(properties, shape, false, &got, &err), STATUS_UNSUPPORTED);
    assert_true(err.message[0] != '\0');
    api.cudnnBackendDestroyDescriptor(properties);
}

static void test_refusals(void **state)
{
    struct attention_shape shape = shape_of(PRECISION_BF16, 64, 12, true);

    (void)state;
    expect_refusal(&descriptions[1], &shape);
    shape = shape_of(PRECISION_BF16, 64, 64, true);
    expect_refusal(&turing, &shape);
}

/* An empty graph is refused by name, and later calls do nothing. */
static void test_sticky(void **state)
{
    const struct cudnn_tensor tensor = {
        .id = 1, .type = DNN_FLOAT, .dimensions = {1, 1, 1, 1}, .strides = {1, 1, 1, 1}};
    struct error err = ERROR_INIT;
    struct cudnn_graph graph = {
        .api = &api, .target = {NULL, describe(&descriptions[0])}, .err = &err};
    struct cudnn_plans got;

    (void)state;
    assert_int_equal(cudnn_graph_plan(&graph, &got), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.message, "GRAPH"));
    assert_null(cudnn_graph_tensor(&graph, &tensor));
    cudnn_graph_matmul(&graph, NULL, NULL, NULL);
    assert_int_equal(graph.operation_count, 0);
    cudnn_graph_finish(&graph);
    api.cudnnBackendDestroyDescriptor(graph.target.properties);
}

/* What versions are known not to support is refused before the library is called. */
static void test_versions(void **state)
{
    struct attention_shape shape = shape_of(PRECISION_BF16, 100, 64, true);

    (void)state;
    assert_int_equal(cuda_attention_check(&shape, 91900, NULL), STATUS_OK);
    assert_int_equal(cuda_attention_check(&shape, 91500, NULL), STATUS_UNSUPPORTED);
    shape.length = 256;
    assert_int_equal(cuda_attention_check(&shape, 91500, NULL), STATUS_OK);
    assert_int_equal(cuda_attention_check(&shape, 91001, NULL), STATUS_UNSUPPORTED);
    assert_int_equal(cuda_attention_check(&shape, 90500, NULL), STATUS_UNSUPPORTED);
    assert_int_equal(cuda_attention_check(&shape, 8907, NULL), STATUS_UNSUPPORTED);
    shape.training = false;
    assert_int_equal(cuda_attention_check(&shape, 90500, NULL), STATUS_OK);
    shape.training = true;
    shape.length = 1;
    assert_int_equal(cuda_attention_check(&shape, 91900, NULL), STATUS_UNSUPPORTED);
    shape = shape_of(PRECISION_FP32, 256, 64, true);
    assert_int_equal(cuda_attention_check(&shape, 91900, NULL), STATUS_UNSUPPORTED);
    assert_true(isinf(cuda_attention_masked(91000)) && isfinite(cuda_attention_masked(90900)));
}

/* The kernels of these plans were really compiled: they arrived as programs for a GPU. */
static void test_programs(void **state)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    unsigned (*programs)(void);

    (void)state;
    assert_non_null(driver);
    *(void **)&programs = dlsym(driver, "assay_programs");
    assert_non_null(programs);
    print_message("  %u programs compiled\n", programs());
    assert_true(programs() >= 2);
}

int main(void)
{
    const struct CMUnitTest versions[] = {cmocka_unit_test(test_versions)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sticky),        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_architectures), cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_programs),
    };
    struct dynlib lib = {0};
    struct error err = ERROR_INIT;
    void *properties;

    if (cmocka_run_group_tests_name("versions", versions, NULL, NULL) != 0)
        return 1;
    if (cudnn_open(&lib, &api, &err) != STATUS_OK) {
        printf("SKIP: %s\n", err.message);
        return 77;
    }
    version = api.cudnnGetVersion();
    properties = cudnn_has_graph(&api) ? describe(&descriptions[0]) : NULL;
    if (properties == NULL) {
        printf("SKIP: %s (%zu) takes no description of a device\n", lib.path, version);
        return 77;
    }
    api.cudnnBackendDestroyDescriptor(properties);
    printf("%s, %zu\n", lib.path, version);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
