#include "tests/support/gpu_shim/journey.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/opencl/opencl.h"
#include "backends/telemetry.h"
#include "tests/support/gpu_shim/shim.h"
#include "workloads/workload.h"
#include "tests/support/operations.h"

#define SIDE 8
#define BATCH 2
#define LENGTH 2
#define HEAD 8
#define COUNT (BATCH * SIDE * SIDE + 8)
#define BYTES ((uint64_t)COUNT * 4)

/* Backends keep their state until the process ends: so must the tests, for LeakSanitizer. */
#define RUNS_MAX 4000

static __typeof__(&assay_shim_fail) shim_fail;
static __typeof__(&assay_shim_calls) shim_calls;
static __typeof__(&assay_shim_live) shim_live;
static struct backend backends[RUNS_MAX];
static size_t backend_used;

static const char text[] = "KERNEL(twice, GLOBAL u32 *out, u32 k, u64 n)\n"
                           "{\n"
                           "    for (u64 i = LANE; i < n; i += LANES)\n"
                           "        out[i] = out[i] * 2 + k;\n"
                           "}\n";

static void name_libraries(const char *libraries, const char *path)
{
    for (const char *name = libraries; *name != '\0'; name += strspn(name, ",")) {
        const int length = (int)strcspn(name, ",");
        char variable[64];

        snprintf(variable, sizeof(variable), "ASSAY_LIB_%.*s", length, name);
        setenv(variable, path, 1);
        name += length;
    }
}

int journey_open(const char *libraries, const char *path)
{
    static struct backend opencl = {.ops = &opencl_backend_ops};
    struct error err = ERROR_INIT;
    void *shim;

    if (backend_probe(&opencl, &err) != STATUS_OK) {
        printf("SKIP: the stand-in runs on OpenCL: %s\n", err.message);
        return 77;
    }
    name_libraries(libraries, path);
    shim = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (shim == NULL) {
        printf("FAIL: %s\n", dlerror());
        return 1;
    }
    *(void **)&shim_fail = dlsym(shim, "assay_shim_fail");
    *(void **)&shim_calls = dlsym(shim, "assay_shim_calls");
    *(void **)&shim_live = dlsym(shim, "assay_shim_live");
    if (shim_fail != NULL && shim_calls != NULL && shim_live != NULL)
        return 0;
    printf("FAIL: %s is no stand-in\n", path);
    return 1;
}

void journey_fail(const char *function, int n, int code)
{
    shim_fail(function, n, code);
}

int journey_calls(const char *function)
{
    return shim_calls(function);
}

struct device *journey_open_device(const char *backend)
{
    const struct device_options options = {.profile = true};
    struct device *device = NULL;
    struct error err = ERROR_INIT;

    if (backend_device_open(backend_find(backend), 0, &options, &device, &err) != STATUS_OK)
        printf("FAIL: %s\n", err.message);
    return device;
}

struct device *journey_device;

int journey_setup(void **state)
{
    (void)state;
    journey_device = journey_open_device(BACKEND);
    return journey_device != NULL ? 0 : -1;
}

int journey_teardown(void **state)
{
    (void)state;
    device_close(journey_device);
    return 0;
}

struct backend *journey_backend(const struct backend_ops *ops)
{
    assert_true(backend_used < RUNS_MAX);
    backends[backend_used].ops = ops;
    return &backends[backend_used++];
}

#define NEXT(call)                                                                                 \
    if (status == STATUS_OK)                                                                       \
    status = call

static enum status use_kernel(struct device *device, struct buffer *buffer, struct error *err)
{
    const struct module_source source = {.file = "twice.h", .text = text, .lanes = 1};
    const uint32_t in[4] = {1, 2, 3, 4};
    const struct kernel_arg args[3] = {{.type = KERNEL_ARG_BUFFER, .buffer = buffer},
                                       {.type = KERNEL_ARG_U32, .u32 = 3},
                                       {.type = KERNEL_ARG_U64, .u64 = 4}};
    struct kernel_launch launch = {
        .kernel = "twice", .groups = {1, 1, 1}, .args = args, .arg_count = 3};
    struct module_artifact artifact;
    struct event *start = NULL, *end = NULL;
    uint32_t out[4] = {0};
    int64_t ns = 0;
    enum status status = device_upload(buffer, 0, in, sizeof(in), err);

    NEXT(device_module_load(device, &source, &launch.module, err));
    NEXT(device_event_create(device, &start, err));
    NEXT(device_event_create(device, &end, err));
    for (int i = 0; i < 2; i++) {
        NEXT(device_event_record(device, start, err));
        NEXT(device_kernel_launch(device, &launch, err));
        NEXT(device_event_record(device, end, err));
        NEXT(device_synchronize(device, err));
        NEXT(device_event_elapsed_ns(device, start, end, &ns, err));
    }
    NEXT(device_module_describe(device, launch.module, &artifact, err));
    if (status == STATUS_OK)
        module_artifact_finish(&artifact);
    NEXT(device_download(buffer, 0, out, sizeof(out), err));
    if (status == STATUS_OK && (out[0] != 13 || out[3] != 25))
        status = error_set(err, STATUS_CHECK_FAILED, "wrong result");
    device_event_destroy(device, start);
    device_event_destroy(device, end);
    device_module_unload(device, launch.module);
    return status;
}

/* Within the device, in both directions at once, and with memory of the driver's. */
static enum status use_copies(struct device *device, struct buffer *a, struct buffer *c,
                              struct error *err)
{
    struct host_memory *memory = NULL;
    uint32_t out[4] = {0};
    struct device_exchange both = {.to = a, .from = c, .target = out, .bytes = sizeof(out)};
    enum status status = device_host_alloc(device, sizeof(out), &memory, err);

    if (status == STATUS_OK)
        both.source = memset(memory->bytes, 7, sizeof(out));
    NEXT(device_copy(c, a, sizeof(out), err));
    NEXT(device_exchange(&both, err));
    if (status == STATUS_OK && (out[0] != 13 || out[3] != 25))
        status = error_set(err, STATUS_CHECK_FAILED, "wrong copy");
    device_host_free(memory);
    return status;
}

/* C = A B' + bias + C, of ones, once in place and once at an odd offset. */
static enum status use_gemm(struct device *device, struct buffer *a, struct buffer *c,
                            struct error *err)
{
    const struct gemm_matrix matrix = {
        .type = DTYPE_F32, .stride = SIDE, .inner_stride = SIDE * SIDE};
    const struct gemm_shape shape = {
        .precision = PRECISION_FP32,
        .m = SIDE,
        .n = SIDE,
        .k = SIDE,
        .inner = BATCH,
        .a = matrix,
        .b = {.type = DTYPE_F32, .stride = SIDE, .inner_stride = SIDE * SIDE, .transpose = true},
        .c = matrix,
        .add = true,
        .bias = true,
        .bias_type = DTYPE_F32,
    };
    float ones[COUNT], out[COUNT] = {0.0f};
    struct operation *gemm = NULL;
    struct operation_info info;
    enum status status = create_gemm(device, &shape, &gemm, err);

    for (size_t i = 0; i < COUNT; i++)
        ones[i] = 1.0f;
    NEXT(operation_describe(gemm, &info, err));
    if (status == STATUS_OK && info.algorithms > 1)
        NEXT(operation_select(gemm, 1, err));
    for (uint64_t offset = 0; offset < 2; offset++) {
        const struct operand shifted = {a, offset}, result = {c, offset};
        const struct gemm_operands operands = {
            .a = shifted, .b = shifted, .c = result, .bias = shifted, .d = result};

        NEXT(device_upload(a, 0, ones, sizeof(ones), err));
        NEXT(device_upload(c, 0, ones, sizeof(ones), err));
        NEXT(run_gemm(gemm, &operands, err));
        NEXT(device_download(c, 0, out, sizeof(out), err));
        if (status == STATUS_OK &&
            (out[offset] != SIDE + 2 || out[offset + BATCH * SIDE * SIDE - 1] != SIDE + 2 ||
             out[offset + BATCH * SIDE * SIDE] != 1.0f))
            status = error_set(err, STATUS_CHECK_FAILED, "wrong GEMM: %g", (double)out[offset]);
    }
    operation_destroy(gemm);
    return status;
}

/* A row of ones, SIDE images wide, under a filter of two ones: 2 but at the padded ends. */
static enum status use_convolution(struct device *device, struct buffer *a, struct buffer *c,
                                   struct error *err)
{
    const struct convolution_shape shape = {
        .precision = PRECISION_FP32,
        .type = DTYPE_F32,
        .result_type = DTYPE_F32,
        .batch = 1,
        .height = 1,
        .width = SIDE,
        .channels = 4,
        .filters = 4,
        .kernel_height = 1,
        .kernel_width = 2,
        .pad_x = 1,
    };
    const struct operand ones = {a, 0}, result = {c, 1};
    float numbers[COUNT], out[COUNT] = {0.0f};
    struct operation *convolution = NULL;
    struct operation_info info;
    enum status status = create_convolution(device, &shape, &convolution, err);

    for (size_t i = 0; i < COUNT; i++)
        numbers[i] = 1.0f;
    NEXT(device_upload(a, 0, numbers, sizeof(numbers), err));
    NEXT(device_upload(c, 0, numbers, sizeof(numbers), err));
    NEXT(operation_describe(convolution, &info, err));
    if (info.algorithms > 1)
        NEXT(operation_select(convolution, 1, err));
    NEXT(operation_set_weights(convolution, &ones, err));
    NEXT(run_convolution(convolution, &ones, &result, err));
    NEXT(device_download(c, 0, out, sizeof(out), err));
    if (status == STATUS_OK && (out[0] != 1.0f || out[1] != 4.0f || out[1 + 4] != 8.0f ||
                                out[1 + 4 * SIDE] != 4.0f || out[1 + 4 * (SIDE + 1)] != 1.0f))
        status = error_set(err, STATUS_CHECK_FAILED, "wrong convolution: %g", (double)out[5]);
    operation_destroy(convolution);
    return status;
}

/* Equal keys have equal weights, so O is the mean of V so far, which is 1 for V of ones. */
static enum status use_attention(struct device *device, struct buffer *a, struct buffer *c,
                                 struct error *err)
{
    const struct attention_strides rows = {LENGTH * HEAD, LENGTH * HEAD, HEAD};
    const struct attention_shape shape = {
        .precision = PRECISION_BF16,
        .batch = 1,
        .heads = 1,
        .length = LENGTH,
        .head_size = HEAD,
        .causal = true,
        .training = true,
        .q = rows,
        .k = rows,
        .v = rows,
        .o = rows,
    };
    const struct operand ones = {a, 0};
    const struct attention_operands operands = {
        .q = ones,
        .k = ones,
        .v = ones,
        .d_o = ones,
        .o = {c, 0},
        .statistics = {c, LENGTH * HEAD},
        .d_q = {c, 4 * LENGTH * HEAD},
        .d_k = {c, 5 * LENGTH * HEAD},
        .d_v = {c, 6 * LENGTH * HEAD},
    };
    uint16_t numbers[LENGTH * HEAD], out[LENGTH * HEAD] = {0};
    struct operation *forward = NULL, *backward = NULL;
    struct operation_info info;
    enum status status = create_attention(device, OPERATION_ATTENTION, &shape, &forward, err);

    for (size_t i = 0; i < LENGTH * HEAD; i++)
        numbers[i] = 0x3f80; /* 1 in bf16 */
    NEXT(create_attention(device, OPERATION_ATTENTION_BACKWARD, &shape, &backward, err));
    NEXT(device_upload(a, 0, numbers, sizeof(numbers), err));
    NEXT(operation_describe(forward, &info, err));
    NEXT(run_attention(forward, &operands, err));
    NEXT(run_attention(backward, &operands, err));
    NEXT(device_download(c, 0, out, sizeof(out), err));
    if (status == STATUS_OK && (out[0] != 0x3f80 || out[LENGTH * HEAD - 1] != 0x3f80))
        status = error_set(err, STATUS_CHECK_FAILED, "wrong attention: %x", out[0]);
    operation_destroy(forward);
    operation_destroy(backward);
    return status;
}

/* Unavailable readings are missing; nothing else may fail. */
static enum status use_telemetry(struct backend *backend, struct error *err)
{
    struct telemetry *telemetry = NULL;
    struct reading_list list;
    int64_t *values;
    char *dump = NULL;
    enum status status;

    if (backend->ops->telemetry_open == NULL ||
        backend_telemetry_open(backend, 0, &telemetry, NULL) != STATUS_OK)
        return STATUS_OK;
    values = calloc(telemetry->channel_count, sizeof(*values));
    reading_list_init(&list);
    status = values != NULL ? telemetry_read(telemetry, values, err) : STATUS_NO_MEMORY;
    NEXT(telemetry_edges(telemetry, &list, err));
    NEXT(telemetry_dump(telemetry, &dump, err));
    free(dump);
    reading_list_finish(&list);
    free(values);
    telemetry_close(telemetry);
    return status;
}

/* Whether there are GEMMs when nothing fails: then a device without them has to say why. */
static bool gemm_expected;

static bool attention_alone;

void journey_for_attention(bool alone)
{
    attention_alone = alone;
}

static enum status use_all(struct device *device, struct journey_outcome *outcome)
{
    struct buffer *buffer = NULL, *other = NULL;
    enum status status =
        device_buffer_alloc(device, BYTES, BUFFER_READ_WRITE, &buffer, &outcome->err);

    NEXT(device_buffer_alloc(device, BYTES, BUFFER_READ_ONLY, &other, &outcome->err));
    if (!attention_alone)
        NEXT(use_kernel(device, buffer, &outcome->err));
    if (!attention_alone)
        NEXT(use_copies(device, buffer, other, &outcome->err));
    outcome->has_gemm = device_has_operation(device, OPERATION_GEMM);
    if ((outcome->has_gemm || gemm_expected) && !attention_alone)
        NEXT(use_gemm(device, buffer, other, &outcome->err));
    outcome->has_convolutions = device_has_operation(device, OPERATION_CONVOLUTION);
    if (outcome->has_convolutions && !attention_alone)
        NEXT(use_convolution(device, buffer, other, &outcome->err));
    outcome->has_attention = device_has_operation(device, OPERATION_ATTENTION);
    if (outcome->has_attention)
        NEXT(use_attention(device, buffer, other, &outcome->err));
    if (!attention_alone)
        NEXT(use_telemetry(device->backend, &outcome->err));
    device_buffer_free(buffer);
    device_buffer_free(other);
    return status;
}

struct journey_outcome journey_run_use(const struct backend_ops *ops, journey_use_fn *use,
                                       const char *function, int n, int code)
{
    const struct device_options options = {.profile = true};
    struct journey_outcome outcome = {.err = ERROR_INIT};
    struct backend_library libraries[16];
    struct backend *backend = journey_backend(ops);
    struct device *device = NULL;
    const int before = shim_live();

    shim_fail(function, n, code);
    outcome.status = backend_device_open(backend, 0, &options, &device, &outcome.err);
    if (outcome.status == STATUS_OK)
        outcome.status = use(device, &outcome);
    device_close(device);
    backend_libraries(backend, libraries, 16);
    if (shim_live() != before)
        fail_msg("%s@%d:%d leaves %d objects in the driver", function != NULL ? function : "-", n,
                 code, shim_live() - before);
    return outcome;
}

struct journey_outcome journey_run(const struct backend_ops *ops, const char *function, int n,
                                   int code)
{
    const struct journey_outcome outcome = journey_run_use(ops, use_all, function, n, code);

    if (function == NULL && outcome.has_gemm)
        gemm_expected = true;
    return outcome;
}

json_t *journey_choice(const json_t *choices, const char *operation)
{
    json_t *all = json_object_get(json_object_get(choices, operation), "algorithms");

    assert_int_equal(json_object_size(all), 1);
    return json_object_iter_value(json_object_iter(all));
}

const char *journey_algorithm(const json_t *choices, const char *operation)
{
    const char *name =
        json_string_value(json_object_get(journey_choice(choices, operation), "algorithm"));

    assert_non_null(name);
    return name;
}

bool journey_names_stack(const json_t *choices, const char *message)
{
    json_t *stacks = workload_choices_stacks(choices);
    const char *stack = json_string_value(json_array_get(stacks, 0));
    const bool named = json_array_size(stacks) == 1 && (!message || strstr(message, stack));

    json_decref(stacks);
    return named;
}
