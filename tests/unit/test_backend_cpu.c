/*
 * Faults of compiling in the CPU backend: compilers that are absent, crash, hang or give false
 * output, a cache that is damaged or unusable, texts that are wrong.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/cpu/compiler.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/text.h"
#include "tests/support/unit.h"
#include "tests/unit/cpu_fixture.h"

static char compiler[256], calls[256];

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

/* The kernel must be refused as COMPILE, with `words` in the message. */
static void expect_refused(const char *words)
{
    struct device *device = cpu_fixture_open();
    struct error err = ERROR_INIT;
    uint32_t got = 0;

    assert_int_equal(load_and_run(device, 7, &got, &err), STATUS_COMPILE);
    if (strstr(err.message, words) == NULL || strstr(err.message, "give.h") == NULL)
        fail_msg("expected \"%s\" in: %s", words, err.message);
    device_close(device);
}

TEST(missing_compiler)
{
    struct error err = ERROR_INIT;
    const char *path = getenv("PATH");
    char *kept = strdup(path != NULL ? path : "");
    struct backend_library libraries[4];
    struct backend *backend = cpu_fixture_backend();

    setenv("ASSAY_CC", "/nowhere/cc", 1);
    assert_int_equal(backend_probe(backend, &err), STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.message, "/nowhere/cc"));
    assert_non_null(strstr(err.message, "ASSAY_CC"));
    assert_true(backend_libraries(backend, libraries, 4) >= 1);
    assert_null(libraries[0].path);
    assert_non_null(strstr(libraries[0].tried, "/nowhere/cc"));
    unsetenv("ASSAY_CC");
    setenv("PATH", cpu_fixture_folder, 1);
    assert_int_equal(backend_probe(cpu_fixture_backend(), &err), STATUS_UNAVAILABLE);
    assert_true(strstr(err.message, "cc") && strstr(err.message, "gcc") &&
                strstr(err.message, "clang"));
    setenv("PATH", kept, 1);
    free(kept);
}

/* The third candidate compiler works too. */
TEST(clang)
{
    struct error err = ERROR_INIT;
    struct device *device;
    uint32_t got = 0;

    if (system("clang --version > /dev/null 2>&1") != 0)
        skip();
    cpu_fixture_set_cache("clang");
    setenv("ASSAY_CC", "clang", 1);
    device = cpu_fixture_open();
    if (load_and_run(device, 7, &got, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(got, 7);
    device_close(device);
    unsetenv("ASSAY_CC");
}

/* What other variables say of how to compile does not reach it. */
TEST(environment)
{
    AUTO_FREE char *tool = text_format("%s/as", cpu_fixture_folder);
    AUTO_FREE char *prefix = text_format("%s/", cpu_fixture_folder);
    static const char refuse[] = "#!/bin/sh\nexit 1\n";
    const char *const names[] = {"COMPILER_PATH", "GCC_EXEC_PREFIX"};
    struct error err = ERROR_INIT;

    assert_non_null(tool);
    assert_non_null(prefix);
    assert_int_equal(file_write_atomic(tool, refuse, strlen(refuse), 0700, NULL), STATUS_OK);
    for (size_t i = 0; i < 2; i++) {
        struct device *device;
        uint32_t got = 0;

        cpu_fixture_set_cache(names[i]);
        setenv(names[i], prefix, 1);
        device = cpu_fixture_open();
        if (load_and_run(device, 7, &got, &err) != STATUS_OK)
            fail_msg("%s: %s", names[i], err.message);
        assert_int_equal(got, 7);
        device_close(device);
        unsetenv(names[i]);
    }
}

/* A file of specs, which gcc reads in place of its own, is a part of the compiler. */
TEST(specs)
{
    static const char script[] = "#!/bin/sh\ncase $1 in --version) echo fake 1.0;; "
                                 "-print-file-name=specs) echo /etc/passwd;; *) exit 1;; esac\n";
    struct cpu_compiler found;
    struct backend_file_list files = {0};
    bool listed = false;

    assert_int_equal(file_write_atomic(compiler, script, strlen(script), 0700, NULL), STATUS_OK);
    setenv("ASSAY_CC", compiler, 1);
    assert_int_equal(cpu_compiler_find(&found, NULL), STATUS_OK);
    assert_non_null(strstr(found.identity, "; /etc/passwd sha256 "));
    cpu_compiler_files(&found, &files);
    for (size_t i = 0; i < files.count; i++)
        listed = listed || !strcmp(files.items[i].path, "/etc/passwd");
    assert_true(listed);
    backend_file_list_finish(&files);
    free(found.command);
    free(found.path);
    free(found.version);
    free(found.identity);
    free(found.tools);
    free(found.tried);
    unsetenv("ASSAY_CC");
}

TEST(compilers_that_fail)
{
    cpu_fixture_set_cache("failing");
    write_compiler("echo no such luck >&2; exit 3");
    expect_refused("no such luck");
    write_compiler("kill -SEGV $$");
    expect_refused("was ended by signal 11 (Segmentation fault)");
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

TEST(cache)
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

    cpu_fixture_set_cache("good");
    write_compiler("exec cc \"$@\"");
    device = cpu_fixture_open();
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
    struct device *device = cpu_fixture_open();
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

TEST(no_cache)
{
    char path[300];

    write_compiler("exec cc \"$@\"");
    snprintf(path, sizeof(path), "%s/file", cpu_fixture_folder);
    assert_int_equal(file_write_atomic(path, "x", 1, 0600, NULL), STATUS_OK);
    cpu_fixture_set_cache("file");
    expect_uncached();
    cpu_fixture_set_cache("open");
    snprintf(path, sizeof(path), "%s/open/assay/kcache", cpu_fixture_folder);
    assert_int_equal(file_make_directories(path, 0700, NULL), STATUS_OK);
    assert_int_equal(chmod(path, 0777), 0);
    expect_uncached();
    cpu_fixture_set_cache("good");
}

/* Wrong types and heads are found, wherever they are. */
TEST(heads)
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

    cpu_fixture_set_cache("good");
    write_compiler("exec cc \"$@\"");
    device = cpu_fixture_open();
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
    if (cpu_fixture_setup(state) != 0)
        return -1;
    snprintf(compiler, sizeof(compiler), "%s/cc", cpu_fixture_folder);
    snprintf(calls, sizeof(calls), "%s/calls", cpu_fixture_folder);
    return 0;
}

int main(void)
{
    if (!cpu_fixture_has_compiler())
        return 77;
    return unit_run(setup, cpu_fixture_teardown);
}
