/*
 * Spot checks of GEMMs and convolutions, portable and in the device's own library: honest ones pass
 * and leave inputs and outputs as they were, and each way of having the time without the work that
 * a check before and after the window cannot see is found.
 */
#include "gemm_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/data/element.h"
#include "workloads/gemm/products.h"

#define SECRETS 3

static struct device *device;

static const char gemms[] = "shapes: [{m: 37, n: 53, k: 700}, {m: 1, n: 1, k: 1},"
                            " {m: 257, n: 129, k: 3}, {m: 3, n: 1, k: 513}]";
static const char plain_gemms[] = "shapes: [{m: 37, n: 53, k: 700}]\n  weights: plain\n"
                                  "  distribution: uniform";
static const char wide_gemms[] = "shapes: [{m: 5, n: 3000, k: 300}]\n  result: sum";
/* More padding than kernel, gaps, groups; and more elements than are compared. */
static const char convolutions[] =
    "shapes: [{height: 13, width: 11, channels: 3, filters: 17, kernel: 7, stride: 2, padding: 3},"
    " {height: 3, width: 2, channels: 5, filters: 4, kernel: 3, padding: 4, stride: 3},"
    " {height: 17, width: 9, channels: 6, filters: 10, kernel: 3, dilation: 3, padding: 2},"
    " {height: 8, width: 10, channels: 12, filters: 18, kernel: 3, padding: 1, groups: 6},"
    " {height: 9, width: 8, channels: 300, filters: 500, kernel: 1, stride: 2}]";

/* ---- a device that does less than it is told, once `fault` is set ---- */

static const struct device_ops *own;
static struct {
    enum fault {
        HONEST,
        DROPS,   /* the work */
        QUARTER, /* of the rows are computed */
        CACHED,  /* what C was before */
        NARROW,  /* A with as few digits as e4m3 has */
        FAULTS
    } fault;
    enum dtype type;      /* of A */
    unsigned char *saved; /* C as it was when the fault was set */
} planted;

static unsigned char *bytes_of(struct buffer *buffer)
{
    unsigned char *bytes = malloc(buffer->bytes);

    assert_non_null(bytes);
    ASSERT_OK(device_download(buffer, 0, bytes, buffer->bytes, err));
    return bytes;
}

static void give(struct buffer *buffer, const unsigned char *bytes, uint64_t first)
{
    ASSERT_OK(device_upload(buffer, first, bytes + first, buffer->bytes - first, err));
}

/* What the device runs: one of the two. */
struct call {
    const struct kernel_launch *launch;
    struct operation *operation;
    const union operands *operands;
};

static enum status (*own_run[OPERATION_KINDS])(struct operation *operation,
                                               const union operands *operands, struct error *err);

static enum status run(const struct call *call, struct error *err)
{
    return call->launch ? own->kernel_launch(device, call->launch, err)
                        : own_run[call->operation->desc.kind](call->operation, call->operands, err);
}

static enum status run_faulty(struct buffer *a, struct buffer *c, const struct call *call,
                              struct error *err)
{
    unsigned char *before, *narrow;
    enum status status;

    if (planted.fault == CACHED)
        give(c, planted.saved, 0);
    if (planted.fault == DROPS || planted.fault == CACHED)
        return STATUS_OK;
    if (planted.fault == HONEST)
        return run(call, err);
    before = bytes_of(planted.fault == QUARTER ? c : a);
    narrow = bytes_of(a);
    for (uint64_t i = 0; i < a->bytes * 8 / dtype_bits(planted.type); i++) {
        uint64_t cell;

        element_encode(DTYPE_E4M3, element_decode(planted.type, narrow, i), &cell, 0);
        element_encode(planted.type, element_decode(DTYPE_E4M3, &cell, 0), narrow, i);
    }
    if (planted.fault == NARROW)
        give(a, narrow, 0);
    status = run(call, err);
    if (planted.fault == QUARTER)
        give(c, before, c->bytes / 4);
    else
        give(a, before, 0);
    free(before);
    free(narrow);
    return status;
}

static enum status launch(struct device *base, const struct kernel_launch *launch,
                          struct error *err)
{
    (void)base;
    return run_faulty(launch->args[0].buffer, launch->args[2].buffer,
                      &(struct call){.launch = launch}, err);
}

static enum status operation_run_faulty(struct operation *operation, const union operands *operands,
                                        struct error *err)
{
    const bool gemm = operation->desc.kind == OPERATION_GEMM;

    return run_faulty(gemm ? operands->gemm.a.buffer : operands->convolution.input.buffer,
                      gemm ? operands->gemm.c.buffer : operands->convolution.output.buffer,
                      &(struct call){.operation = operation, .operands = operands}, err);
}

/* The device's own operation, but for how it runs. */
static enum status create(struct device *base, const struct operation_desc *desc,
                          struct operation **ret, struct error *err)
{
    static struct operation_ops faulty[OPERATION_KINDS];
    const struct device_ops *ops = base->ops;
    enum status status;

    base->ops = own;
    status = operation_create(base, desc, ret, err);
    base->ops = ops;
    if (status != STATUS_OK)
        return status;
    own_run[desc->kind] = (*ret)->ops->run;
    faulty[desc->kind] = *(*ret)->ops;
    faulty[desc->kind].run = operation_run_faulty;
    (*ret)->ops = &faulty[desc->kind];
    return STATUS_OK;
}

static bool has_own(enum operation_kind kind)
{
    const struct device_ops *ops = device->ops;
    bool has;

    device->ops = own;
    has = device_has_operation(device, kind);
    device->ops = ops;
    return has;
}

static bool own_gemm(const struct device *base)
{
    (void)base;
    return has_own(OPERATION_GEMM);
}

static bool own_convolution(const struct device *base)
{
    (void)base;
    return has_own(OPERATION_CONVOLUTION);
}

static int add_faults(void **state)
{
    static const struct operation_implementation operations[] = {
        {OPERATION_GEMM, own_gemm, create},
        {OPERATION_CONVOLUTION, own_convolution, create},
        {0},
    };
    struct device_ops *ops;

    (void)state;
    if (!device)
        return 0;
    own = device->ops;
    ops = gemm_library_add(device);
    ops->kernel_launch = launch;
    ops->operations = operations;
    return 0;
}

static int remove_faults(void **state)
{
    (void)state;
    if (device)
        gemm_library_remove(device);
    return 0;
}

/* ---- instances of both kinds ---- */

struct layer {
    struct buffer *input, *output;
};

static struct layer layer_of(const struct gemm_running *running, size_t index)
{
    const struct gemm_array *arrays = ((struct products *)running->instance)->items[index].arrays;

    return (struct layer){arrays[GEMM_A].buffer, arrays[GEMM_C].buffer};
}

static size_t layers_of(const struct gemm_running *running)
{
    return ((struct products *)running->instance)->count;
}

static json_t *choices; /* of the first portable one; measuring again for each takes long */

static bool start(struct gemm_running *running, const char *kind, const char *section,
                  enum precision precision, enum implementation implementation)
{
    const struct gemm_plan plan = {.kind = kind,
                                   .section = section,
                                   .precision = precision,
                                   .batch = 2,
                                   .implementation = implementation,
                                   .emulate = true,
                                   .choices =
                                       implementation == IMPLEMENTATION_PORTABLE ? choices : NULL};
    struct error err = ERROR_INIT;
    const enum status status = gemm_try_start(running, device, &plan, &err);

    if (status == STATUS_OK) {
        print_message("  %s, %s, %s\n", kind, precision_name(precision),
                      implementation_name(implementation));
        if (!choices && implementation == IMPLEMENTATION_PORTABLE)
            choices = running->workload.kind->choices(running->instance);
        return true;
    }
    if (status != STATUS_UNSUPPORTED)
        fail_msg("%s", err.message);
    gemm_stop(running);
    return false;
}

static void iterate(struct gemm_running *running)
{
    ASSERT_OK(running->workload.kind->iterate(running->instance, err));
    ASSERT_OK(device_synchronize(device, err));
}

/* One sample of an iteration, whose inputs are changed before it. */
static enum status change_sample(struct gemm_running *running, uint64_t secret)
{
    bool changed = false;

    ASSERT_OK(workload_change(running->instance, secret, &changed, err));
    assert_true(changed);
    iterate(running);
    return workload_check_changed(running->instance, secret, NULL, NULL, NULL);
}

/* Inputs and outputs are the same bytes after spot checks by several secrets, and verify passes. */
static void check_honest(struct gemm_running *running)
{
    const size_t count = layers_of(running);
    unsigned char *before[8][2];

    gemm_verify_ok(running, 2 * count);
    iterate(running);
    for (size_t i = 0; i < count; i++) {
        before[i][0] = bytes_of(layer_of(running, i).input);
        before[i][1] = bytes_of(layer_of(running, i).output);
    }
    for (uint64_t secret = 0; secret < SECRETS; secret++)
        gemm_spot_check_ok(running, secret, count);
    for (uint64_t secret = 0; secret < SECRETS; secret++)
        assert_int_equal(change_sample(running, secret), STATUS_OK);
    iterate(running);
    for (size_t i = 0; i < count; i++) {
        const struct layer layer = layer_of(running, i);
        unsigned char *input = bytes_of(layer.input), *output = bytes_of(layer.output);

        assert_memory_equal(input, before[i][0], layer.input->bytes);
        assert_memory_equal(output, before[i][1], layer.output->bytes);
        free(input);
        free(output);
        free(before[i][0]);
        free(before[i][1]);
    }
    gemm_verify_ok(running, 2 * count);
}

TEST(honest)
{
    static const struct {
        const char *kind, *section;
    } rows[] = {{"gemm", gemms},
                {"gemm", plain_gemms},
                {"gemm", wide_gemms},
                {"convolution", convolutions}};
    size_t ran = 0;

    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int p = 0; p < PRECISION_COUNT; p++)
            for (int v = IMPLEMENTATION_PORTABLE; v <= IMPLEMENTATION_VENDOR; v++) {
                const bool fp8 = p == PRECISION_FP8_E4M3 || p == PRECISION_FP8_E5M2;
                struct gemm_running running;

                if (p == PRECISION_FP4 || (fp8 && !strcmp(rows[i].kind, "convolution")) ||
                    (p == PRECISION_FP64 && !gemm_has_f64(device)))
                    continue;
                if (!start(&running, rows[i].kind, rows[i].section, (enum precision)p,
                           (enum implementation)v))
                    continue;
                check_honest(&running);
                gemm_stop(&running);
                ran++;
            }
    assert_true(ran >= 4 * 4); /* what the portable text has on any device */
}

/* One layer, so that one saved C is enough. */
static void check_faults(struct gemm_running *running)
{
    const struct layer layer = layer_of(running, 0);
    unsigned char *input;

    planted.type = precision_dtype(running->work.precision);
    gemm_verify_ok(running, 2);
    iterate(running);
    input = bytes_of(layer.input);
    planted.saved = bytes_of(layer.output);
    for (enum fault fault = DROPS; fault < FAULTS; fault++)
        for (uint64_t secret = 0; secret < SECRETS; secret++) {
            unsigned char *after;

            planted.fault = fault;
            gemm_spot_check_fails(running, secret, 1, "times its bound");
            if (fault == DROPS || fault == CACHED) /* the others are in some rows, or elements */
                assert_int_equal(change_sample(running, secret), STATUS_CHECK_FAILED);
            planted.fault = HONEST;
            after = bytes_of(layer.input);
            assert_memory_equal(after, input, layer.input->bytes);
            free(after);
        }
    gemm_spot_check_ok(running, 7, 1);
    gemm_verify_ok(running, 2);
    free(planted.saved);
    free(input);
}

TEST_WITH(faults, add_faults, remove_faults)
{
    static const struct {
        const char *kind, *section;
    } rows[] = {{"gemm", plain_gemms},
                {"convolution", "shapes: [{height: 9, width: 8, channels: 30, filters: 50, "
                                "kernel: 3, padding: 1}]"}};
    static const enum precision precisions[] = {PRECISION_FP32, PRECISION_FP16, PRECISION_INT8};

    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++)
            for (int v = IMPLEMENTATION_PORTABLE; v <= IMPLEMENTATION_VENDOR; v++) {
                struct gemm_running running;

                if (!start(&running, rows[i].kind, rows[i].section, precisions[p],
                           (enum implementation)v))
                    continue;
                check_faults(&running);
                gemm_stop(&running);
            }
}

int main(void)
{
    int failed;

    device = model_fixture_open();
    failed = unit_run(NULL, NULL);
    json_decref(choices);
    model_fixture_close(device);
    return failed;
}
