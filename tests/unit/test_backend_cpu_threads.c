/*
 * The CPU backend's threads, and the oneDNN that runs in them: bound, flushing where a GEMM
 * does, and a library that is absent or not what it claims.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "backends/cpu/dnnl_api.h"
#include "backends/cpu/threads.h"
#include "harness/core/denormals.h"
#include "harness/core/text.h"
#include "tests/support/unit.h"
#include "tests/unit/cpu_fixture.h"
#include "tests/support/operations.h"

static const char *program;

static void expect_no_dnnl(const char *mode, const char *words)
{
    struct error err = ERROR_INIT;
    struct onednn dnnl;

    setenv("FAKE_DNNL", mode, 1);
    assert_int_equal(onednn_open(&dnnl, &err), STATUS_UNAVAILABLE);
    if (strstr(err.message, words) == NULL || strchr(err.message, '\033') != NULL)
        fail_msg("expected \"%s\" in: %s", words, err.message);
    dynlib_finish(&dnnl.lib);
}

TEST(other_dnnl)
{
    struct backend_library libraries[4];
    struct operation_info info;
    struct device *device;

    setenv("ASSAY_LIB_DNNL", FAKE_DNNL_PATH, 1);
    expect_no_dnnl("null", "dnnl_version gives nothing");
    expect_no_dnnl("nine", "9.0.1");
    expect_no_dnnl("three", "has no symbol dnnl_memory_desc_create_with_strides");
    expect_no_dnnl("two", "dnnl_engine_create: runtime_error (5)");
    setenv("ASSAY_LIB_DNNL", "/nowhere/libdnnl.so.2", 1);
    device = cpu_fixture_open();
    assert_false(device_has_operation(device, OPERATION_GEMM));
    operation_support(device, OPERATION_GEMM, PRECISION_FP32, &info);
    assert_int_equal(info.support, SUPPORT_ABSENT);
    assert_int_equal(backend_libraries(device->backend, libraries, 4), 2);
    assert_string_equal(libraries[1].name, "dnnl");
    assert_null(libraries[1].path);
    assert_non_null(strstr(libraries[1].tried, "/nowhere/libdnnl.so.2"));
    device_close(device);
    unsetenv("ASSAY_LIB_DNNL");
}

/* Run again with OMP_PROC_BIND set, as workers are: as many threads as without it, each on its
 * core. */
static int bound_child(void)
{
    struct error err = ERROR_INIT;
    struct device_info info;
    struct backend *backend = cpu_fixture_backend();
    const struct reading *pinned;
    int code = 1;

    if (backend_probe(backend, &err) == STATUS_OK &&
        backend_device_info(backend, 0, &info, &err) == STATUS_OK) {
        pinned = reading_find(&info.readings, "device.threads.pinned");
        if (pinned != NULL && pinned->status == READING_MEASURED &&
            strcmp(pinned->text, "yes") == 0)
            code = 10 + (int)info.compute_units;
        device_info_finish(&info);
    }
    return code;
}

TEST(bound)
{
    const char *variables[8];
    size_t count = backend_environment("cpu:0", variables, 8);
    struct device *device;
    struct text command;
    int code;

    assert_true(count > 0);
    assert_int_equal(backend_environment("null:0", variables + count, 1), 0);
    assert_int_equal(backend_environment("nothing", variables + count, 1), 0);
    device = cpu_fixture_open();
    text_init(&command);
    for (size_t i = 0; i < count; i++)
        text_append_format(&command, "%s ", variables[i]);
    text_append_format(&command, "%s --bound", program);
    assert_true(text_ok(&command));
    code = system(command.data);
    text_finish(&command);
    assert_true(WIFEXITED(code));
    if (device->info.compute_units <= 200)
        assert_int_equal(WEXITSTATUS(code), 10 + device->info.compute_units);
    device_close(device);
}

/* How many of three threads flush denormals. */
static int flushing_threads(void)
{
    int count = 0;

#pragma omp parallel num_threads(3) reduction(+ : count)
    {
        volatile float denormal = 0x1p-140f;

        count += denormal * 2.0f == 0.0f;
    }
    return count;
}

static void run_flushed(struct operation *gemm, const struct gemm_operands *operands)
{
    const float denormal = 0x1p-140f;
    float got;

    for (uint64_t i = 0; i < 64 * 64; i++)
        assert_int_equal(device_upload(operands->a.buffer, i * 4, &denormal, 4, NULL), STATUS_OK);
    assert_int_equal(run_gemm(gemm, operands, NULL), STATUS_OK);
    assert_int_equal(run_gemm(gemm, operands, NULL), STATUS_OK);
    for (uint64_t i = 0; i < 64 * 64; i++) {
        assert_int_equal(device_download(operands->c.buffer, i * 4, &got, 4, NULL), STATUS_OK);
        if (got != 0.0f)
            fail_msg("element %d: %a, not flushed", (int)i, (double)got);
    }
}

/* A GEMM flushes in every thread; the host's own threads do not, unless the caller does. */
TEST(gemm_flush)
{
    const struct device_options options = {.flush_denormals = true};
    const struct gemm_matrix plain = {.type = DTYPE_F32, .stride = 64};
    const struct gemm_shape shape = {
        .precision = PRECISION_FP32, .m = 64, .n = 64, .k = 64, .a = plain, .b = plain, .c = plain};
    struct gemm_operands operands = {0};
    struct operation *gemm = NULL;
    struct backend *backend = cpu_fixture_backend();
    struct device *device = NULL;
    float ones[64 * 64];

    setenv("OMP_NUM_THREADS", "3", 1);
    assert_int_equal(backend_probe(backend, NULL), STATUS_OK);
    assert_int_equal(backend_device_open(backend, 0, &options, &device, NULL), STATUS_OK);
    unsetenv("OMP_NUM_THREADS");
    if (!denormals_can_flush() || !device_has_operation(device, OPERATION_GEMM)) {
        device_close(device);
        skip();
    }
    for (size_t i = 0; i < 64 * 64; i++)
        ones[i] = 1.0f;
    assert_int_equal(create_gemm(device, &shape, &gemm, NULL), STATUS_OK);
    assert_int_equal(
        device_buffer_alloc(device, sizeof(ones), BUFFER_READ_WRITE, &operands.a.buffer, NULL),
        STATUS_OK);
    assert_int_equal(
        device_buffer_alloc(device, sizeof(ones), BUFFER_READ_WRITE, &operands.b.buffer, NULL),
        STATUS_OK);
    assert_int_equal(
        device_buffer_alloc(device, sizeof(ones), BUFFER_READ_WRITE, &operands.c.buffer, NULL),
        STATUS_OK);
    assert_int_equal(device_upload(operands.b.buffer, 0, ones, sizeof(ones), NULL), STATUS_OK);
    assert_int_equal(flushing_threads(), 0);
    run_flushed(gemm, &operands);
    assert_int_equal(flushing_threads(), 0);
    assert_int_equal(run_gemm(gemm, &operands, NULL), STATUS_OK);
    assert_int_equal(device_synchronize(device, NULL), STATUS_OK);
    assert_int_equal(flushing_threads(), 0);
    /* As in a trial, which flushes itself: the threads are set once and stay so. */
    denormals_flush(true);
    assert_int_equal(run_gemm(gemm, &operands, NULL), STATUS_OK);
    assert_int_equal(device_synchronize(device, NULL), STATUS_OK);
    assert_int_equal(flushing_threads(), 3);
    denormals_flush(false);
    operation_destroy(gemm);
    device_buffer_free(operands.a.buffer);
    device_buffer_free(operands.b.buffer);
    device_buffer_free(operands.c.buffer);
    device_close(device);
    assert_int_equal(flushing_threads(), 0);
}

static int setup(void **state)
{
    if (cpu_fixture_setup(state) != 0)
        return -1;
    cpu_fixture_set_cache("cache");
    return setenv("ASSAY_CC", "cc", 1);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--bound") == 0)
        return bound_child();
    program = argv[0];
    if (!cpu_fixture_has_compiler())
        return 77;
    return unit_run(setup, cpu_fixture_teardown);
}
