/*
 * The CPU backend where things go wrong: compilers that are absent, crash, hang or lie, a cache
 * that is damaged or cannot be used, an oneDNN that is absent or not what it says.
 */
#include "backends/cpu/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/cpu/dnnl_api.h"
#include "backends/cpu/threads.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

static char folder[] = "/tmp/assay-test-cpu-XXXXXX";
static char compiler[256], calls[256];
static const char *program;

/* Each has its own state, which lives as long as the process does. */
static struct backend backends[32];
static size_t backend_used;

static struct backend *fresh_backend(void)
{
    assert_true(backend_used < sizeof(backends) / sizeof(backends[0]));
    backends[backend_used].ops = &cpu_backend_ops;
    return &backends[backend_used++];
}

/* A compiler that answers --version, notes each other call, and then does `body`. */
static void write_compiler(const char *body)
{
    char *text = text_format("#!/bin/sh\n"
                             "case $1 in --version) echo fake 1.0; exit;; -print*) exit 1;; esac\n"
                             "echo call >>%s\n%s\n",
                             calls, body);

    assert_non_null(text);
    assert_int_equal(file_write_atomic(compiler, text, strlen(text), 0700, NULL), STATUS_OK);
    free(text);
    unlink(calls);
    setenv("ASSAY_CC", compiler, 1);
}

static size_t call_count(void)
{
    char *text = NULL;
    size_t length = 0;

    if (file_read(calls, 4096, &text, &length, NULL) != STATUS_OK)
        return 0;
    free(text);
    return length / strlen("call\n");
}

static void set_cache(const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    setenv("XDG_CACHE_HOME", path, 1);
}

/* Loads `out[0] = VALUE` and runs it. */
static enum status load_and_run(struct device *device, uint32_t value, uint32_t *ret,
                                struct error *err)
{
    static const char text[] = "KERNEL(give, GLOBAL u32 *out)\n{\n    out[0] = VALUE;\n}\n";
    char number[32];
    const struct module_define define = {"VALUE", number};
    const struct module_source source = {
        .file = "give.h", .text = text, .lanes = 1, .defines = &define, .define_count = 1};
    struct module *module = NULL;
    struct buffer *buffer = NULL;
    enum status status;

    snprintf(number, sizeof(number), "%uu", value);
    status = device_module_load(device, &source, &module, err);
    if (status == STATUS_OK)
        status = device_buffer_alloc(device, 4, BUFFER_READ_WRITE, &buffer, err);
    if (status == STATUS_OK) {
        const struct kernel_arg arg = {.type = KERNEL_ARG_BUFFER, .buffer = buffer};
        const struct kernel_launch launch = {
            .module = module, .kernel = "give", .groups = {1, 1, 1}, .args = &arg, .arg_count = 1};

        status = device_kernel_launch(device, &launch, err);
    }
    if (status == STATUS_OK)
        status = device_download(buffer, 0, ret, 4, err);
    device_buffer_free(buffer);
    device_module_unload(device, module);
    return status;
}

static struct device *open_device(void)
{
    struct error err = ERROR_INIT;
    struct device *device = NULL;
    struct backend *backend = fresh_backend();

    if (backend_probe(backend, &err) != STATUS_OK ||
        backend_device_open(backend, 0, NULL, &device, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return device;
}

/* The kernel must be refused as COMPILE, with `words` in the message. */
static void expect_refused(const char *words)
{
    struct device *device = open_device();
    struct error err = ERROR_INIT;
    uint32_t got = 0;

    assert_int_equal(load_and_run(device, 7, &got, &err), STATUS_COMPILE);
    if (strstr(err.message, words) == NULL || strstr(err.message, "give.h") == NULL)
        fail_msg("expected \"%s\" in: %s", words, err.message);
    device_close(device);
}

static void test_missing_compiler(void **state)
{
    struct error err = ERROR_INIT;
    const char *path = getenv("PATH");
    char *kept = strdup(path != NULL ? path : "");
    struct backend_library libraries[4];
    struct backend *backend = fresh_backend();

    (void)state;
    setenv("ASSAY_CC", "/nowhere/cc", 1);
    assert_int_equal(backend_probe(backend, &err), STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.message, "/nowhere/cc"));
    assert_non_null(strstr(err.message, "ASSAY_CC"));
    assert_true(backend_libraries(backend, libraries, 4) >= 1);
    assert_null(libraries[0].path);
    assert_non_null(strstr(libraries[0].tried, "/nowhere/cc"));
    unsetenv("ASSAY_CC");
    setenv("PATH", folder, 1);
    assert_int_equal(backend_probe(fresh_backend(), &err), STATUS_UNAVAILABLE);
    assert_true(strstr(err.message, "cc") && strstr(err.message, "gcc") &&
                strstr(err.message, "clang"));
    setenv("PATH", kept, 1);
    free(kept);
}

/* The third of those that are looked for, too, compiles kernels. */
static void test_clang(void **state)
{
    struct error err = ERROR_INIT;
    struct device *device;
    uint32_t got = 0;

    (void)state;
    if (system("clang --version > /dev/null 2>&1") != 0)
        skip();
    set_cache("clang");
    setenv("ASSAY_CC", "clang", 1);
    device = open_device();
    if (load_and_run(device, 7, &got, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(got, 7);
    device_close(device);
    unsetenv("ASSAY_CC");
}

static void test_compilers_that_fail(void **state)
{
    (void)state;
    set_cache("failing");
    write_compiler("echo no such luck >&2; exit 3");
    expect_refused("no such luck");
    write_compiler("kill -SEGV $$");
    expect_refused("crashed (signal 11)");
    write_compiler("exit 0");
    expect_refused("wrote nothing");
    write_compiler("while [ \"$1\" != -o ]; do shift; done; echo nonsense >\"$2\"");
    expect_refused("cannot be loaded");
    setenv("ASSAY_CC_TIMEOUT", "200ms", 1);
    write_compiler("sleep 1000");
    expect_refused("ASSAY_CC_TIMEOUT");
    unsetenv("ASSAY_CC_TIMEOUT");
}

/* Changes or cuts the one object of the cache. */
static void damage(const char *what)
{
    char *command =
        text_format("cd \"$XDG_CACHE_HOME/assay/kcache\" && for f in *.so; do %s; done", what);

    assert_non_null(command);
    assert_int_equal(system(command), 0);
    free(command);
}

static void test_cache(void **state)
{
    static const char *const damages[] = {
        "printf x | dd of=$f bs=1 seek=5000 conv=notrunc 2>/dev/null",
        ": >$f",
        "rm $f",
        "rm ${f%.so}.txt",
        ": >${f%.so}.txt",
        "echo 'assay kernel object 1' >${f%.so}.txt",
    };
    struct device *device;
    uint32_t got = 0;
    size_t before;

    (void)state;
    set_cache("good");
    write_compiler("exec cc \"$@\"");
    device = open_device();
    assert_int_equal(load_and_run(device, 11, &got, NULL), STATUS_OK);
    assert_int_equal(got, 11);
    before = call_count();
    assert_true(before >= 2);
    assert_int_equal(load_and_run(device, 11, &got, NULL), STATUS_OK);
    assert_int_equal(call_count(), before);
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        damage(damages[i]);
        before = call_count();
        got = 0;
        assert_int_equal(load_and_run(device, 11, &got, NULL), STATUS_OK);
        assert_int_equal(got, 11);
        assert_true(call_count() > before);
    }
    before = call_count();
    assert_int_equal(load_and_run(device, 12, &got, NULL), STATUS_OK);
    assert_int_equal(got, 12);
    assert_true(call_count() > before);
    device_close(device);
}

/* Without a cache every load compiles, and works. */
static void expect_uncached(void)
{
    struct device *device = open_device();
    const struct reading *reading = reading_find(&device->info.readings, "device.kernel_cache");
    uint32_t got = 0;
    size_t before;

    assert_non_null(reading);
    assert_int_equal(reading->status, READING_UNAVAILABLE);
    for (int i = 0; i < 2; i++) {
        before = call_count();
        assert_int_equal(load_and_run(device, 21, &got, NULL), STATUS_OK);
        assert_int_equal(got, 21);
        assert_true(call_count() > before);
    }
    device_close(device);
}

static void test_no_cache(void **state)
{
    char path[300];

    (void)state;
    write_compiler("exec cc \"$@\"");
    snprintf(path, sizeof(path), "%s/file", folder);
    assert_int_equal(file_write_atomic(path, "x", 1, 0600, NULL), STATUS_OK);
    set_cache("file");
    expect_uncached();
    set_cache("open");
    snprintf(path, sizeof(path), "%s/open/assay/kcache", folder);
    assert_int_equal(file_make_directories(path, 0700, NULL), STATUS_OK);
    assert_int_equal(chmod(path, 0777), 0);
    expect_uncached();
    set_cache("good");
}

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

static void test_other_dnnl(void **state)
{
    struct backend_library libraries[4];
    struct product_info info;
    struct device *device;

    (void)state;
    setenv("ASSAY_LIB_DNNL", FAKE_DNNL_PATH, 1);
    expect_no_dnnl("null", "dnnl_version gives nothing");
    expect_no_dnnl("nine", "9.0.1");
    expect_no_dnnl("three", "has no symbol dnnl_memory_desc_create_with_strides");
    expect_no_dnnl("two", "dnnl_engine_create: runtime_error (5)");
    setenv("ASSAY_LIB_DNNL", "/nowhere/libdnnl.so.2", 1);
    set_cache("good");
    write_compiler("exec cc \"$@\"");
    device = open_device();
    assert_false(device_has_products(device));
    device_product_support(device, PRECISION_FP32, &info);
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
    struct backend *backend = fresh_backend();
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

static void test_bound(void **state)
{
    const char *variables[8];
    size_t count = backend_environment("cpu:0", variables, 8);
    struct device *device;
    struct text command;
    int code;

    (void)state;
    assert_true(count > 0);
    assert_int_equal(backend_environment("null:0", variables + count, 1), 0);
    assert_int_equal(backend_environment("nothing", variables + count, 1), 0);
    set_cache("good");
    write_compiler("exec cc \"$@\"");
    device = open_device();
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

/* Wrong types and heads are found, wherever they stand. */
static void test_heads(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"KERNEL(give, GLOBAL u32 *out, struct { int a; } x)\n{\n}\n", "give.h"},
        {"KERNEL(give, u16 small)\n{\n}\n", "give.h"},
        {"KERNEL(give, GLOBAL u32 *a\n", "give.h"},
        {"KERNEL(give)\n{\n    puts(\"\");\n}\n", "give.h:3"},
    };
    struct device *device;

    (void)state;
    set_cache("good");
    write_compiler("exec cc \"$@\"");
    device = open_device();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct module_source source = {.file = "give.h", .text = bad[i].text, .lanes = 1};
        struct module *module = NULL;
        struct error err = ERROR_INIT;

        assert_int_equal(device_module_load(device, &source, &module, &err), STATUS_COMPILE);
        if (strstr(err.message, bad[i].words) == NULL)
            fail_msg("expected \"%s\" in: %s", bad[i].words, err.message);
    }
    device_close(device);
}

static int setup(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(compiler, sizeof(compiler), "%s/cc", folder);
    snprintf(calls, sizeof(calls), "%s/calls", folder);
    return 0;
}

/* How many of three threads take a denormal for zero. */
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

static void run_flushed(struct product *product, const struct product_operands *operands)
{
    const float denormal = 0x1p-140f;
    float got;

    for (uint64_t i = 0; i < 64 * 64; i++)
        assert_int_equal(device_upload(operands->a.buffer, i * 4, &denormal, 4, NULL), STATUS_OK);
    assert_int_equal(device_product_run(product, operands, NULL), STATUS_OK);
    assert_int_equal(device_product_run(product, operands, NULL), STATUS_OK);
    for (uint64_t i = 0; i < 64 * 64; i++) {
        assert_int_equal(device_download(operands->c.buffer, i * 4, &got, 4, NULL), STATUS_OK);
        if (got != 0.0f)
            fail_msg("element %d: %a, not flushed", (int)i, (double)got);
    }
}

/* A product flushes in every thread; the host's own threads do not, unless the caller does. */
static void test_product_flush(void **state)
{
    const struct device_options options = {.flush_denormals = true};
    const struct product_matrix plain = {.type = DTYPE_F32, .stride = 64};
    const struct product_shape shape = {
        .precision = PRECISION_FP32, .m = 64, .n = 64, .k = 64, .a = plain, .b = plain, .c = plain};
    struct product_operands operands = {0};
    struct product *product = NULL;
    struct backend *backend = fresh_backend();
    struct device *device = NULL;
    float ones[64 * 64];

    (void)state;
    setenv("OMP_NUM_THREADS", "3", 1);
    write_compiler("exec cc \"$@\"");
    assert_int_equal(backend_probe(backend, NULL), STATUS_OK);
    assert_int_equal(backend_device_open(backend, 0, &options, &device, NULL), STATUS_OK);
    unsetenv("OMP_NUM_THREADS");
    if (!cpu_threads_can_flush() || !device_has_products(device)) {
        device_close(device);
        skip();
    }
    for (size_t i = 0; i < 64 * 64; i++)
        ones[i] = 1.0f;
    assert_int_equal(device_product_create(device, &shape, &product, NULL), STATUS_OK);
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
    run_flushed(product, &operands);
    assert_int_equal(flushing_threads(), 0);
    assert_int_equal(device_product_run(product, &operands, NULL), STATUS_OK);
    assert_int_equal(device_synchronize(device, NULL), STATUS_OK);
    assert_int_equal(flushing_threads(), 0);
    /* As in a trial, which flushes itself: the threads are told once and stay so. */
    cpu_threads_switch_flush(true);
    assert_int_equal(device_product_run(product, &operands, NULL), STATUS_OK);
    assert_int_equal(device_synchronize(device, NULL), STATUS_OK);
    assert_int_equal(flushing_threads(), 3);
    cpu_threads_switch_flush(false);
    device_product_destroy(product);
    device_buffer_free(operands.a.buffer);
    device_buffer_free(operands.b.buffer);
    device_buffer_free(operands.c.buffer);
    device_close(device);
    assert_int_equal(flushing_threads(), 0);
}

static int teardown(void **state)
{
    char *command = text_format("rm -rf -- %s", folder);
    const int code = command != NULL ? system(command) : -1;

    (void)state;
    free(command);
    return code;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_compiler),
        cmocka_unit_test(test_clang),
        cmocka_unit_test(test_compilers_that_fail),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_no_cache),
        cmocka_unit_test(test_other_dnnl),
        cmocka_unit_test(test_product_flush),
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_bound),
    };

    if (argc == 2 && strcmp(argv[1], "--bound") == 0)
        return bound_child();
    program = argv[0];
    if (system("cc --version >/dev/null 2>&1") != 0) {
        puts("skipped: no C compiler called cc here");
        return 77;
    }
    return cmocka_run_group_tests(tests, setup, teardown);
}
