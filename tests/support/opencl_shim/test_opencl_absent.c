/* Messages when OpenCL is missing, or incomplete. Each case is a process of its own. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/opencl/opencl.h"
#include "tests/support/unit.h"

/* Exits 0 when the probe gives UNAVAILABLE with every part, else prints its message. */
static void child(const char *const *parts)
{
    static struct backend backend = {.ops = &opencl_backend_ops};
    struct error err = ERROR_INIT;

    if (backend_probe(&backend, &err) != STATUS_UNAVAILABLE) {
        fprintf(stderr, "expected unavailable, got %s: %s\n", status_name(backend.probe_status),
                err.message);
        exit(1);
    }
    for (; *parts != NULL; parts++)
        if (strstr(err.message, *parts) == NULL) {
            fprintf(stderr, "expected \"%s\" in \"%s\"\n", *parts, err.message);
            exit(1);
        }
    exit(0);
}

static void expect(const char *variable, const char *value, const char *const *parts)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        unsetenv("ASSAY_LIB_OPENCL");
        unsetenv("OCL_ICD_VENDORS");
        setenv(variable, value, 1);
        child(parts);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define PARTS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

TEST(no_loader)
{
    expect("ASSAY_LIB_OPENCL", "/nowhere/libOpenCL.so.1", PARTS("/nowhere/libOpenCL.so.1"));
    expect("ASSAY_LIB_OPENCL", "libm.so.6", PARTS("clGetPlatformIDs", "libm"));
    expect("ASSAY_LIB_OPENCL", "/etc/passwd", PARTS("/etc/passwd"));
}

static void skip_without_loader(void)
{
    if (dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL) == NULL) {
        print_message("  skipped: libOpenCL.so.1 is not here\n");
        skip();
    }
}

TEST(no_driver)
{
    char directory[] = "/tmp/assay_icd_XXXXXX", path[64];
    FILE *file;

    skip_without_loader();
    assert_non_null(mkdtemp(directory));
    expect("OCL_ICD_VENDORS", directory,
           PARTS("finds no platform", "no driver is registered in", directory, "pocl-opencl-icd"));
    snprintf(path, sizeof(path), "%s/a.icd", directory);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("/nowhere/libdriver.so\n", file);
    fclose(file);
    expect("OCL_ICD_VENDORS", directory,
           PARTS("finds no platform", "a.icd names /nowhere/libdriver.so",
                 "cannot open shared object file"));
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("libm.so.6\n", file);
    fclose(file);
    expect("OCL_ICD_VENDORS", directory,
           PARTS("names libm.so.6, which loads but offers no platform"));
    unlink(path);
    rmdir(directory);
}

/* PoCL without a place for its cache has no devices: the message says what to set. */
TEST(pocl_cache)
{
    char directory[] = "/tmp/assay_icd_XXXXXX", path[64];
    FILE *file;

    skip_without_loader();
    if (dlopen("libpocl.so.2", RTLD_NOW | RTLD_LOCAL) == NULL) {
        print_message("  skipped: libpocl.so.2 is not here\n");
        skip();
    }
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/pocl.icd", directory);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("libpocl.so.2\n", file);
    fclose(file);
    setenv("POCL_CACHE_DIR", "/proc/nothing", 1);
    expect("OCL_ICD_VENDORS", directory, PARTS("it offers no device", "POCL_CACHE_DIR"));
    unsetenv("POCL_CACHE_DIR");
    unlink(path);
    rmdir(directory);
}
