/*
 * The metadata of code objects: of two real ones (corpus of the fuzz target, made by HIPRTC 5.2),
 * in a bundle, and of those bytes cut short or changed, which must end in an error or in bounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/code_object.h"
#include "tests/support/unit.h"

static unsigned char file[1 << 16];
static size_t file_size;

static void load(const char *name)
{
    char path[512];
    FILE *stream;

    snprintf(path, sizeof(path), "%s/%s", CORPUS, name);
    stream = fopen(path, "rb");
    if (stream == NULL)
        fail_msg("%s cannot be opened", path);
    file_size = fread(file, 1, sizeof(file), stream);
    fclose(stream);
    assert_true(file_size > 1000 && file_size < sizeof(file));
}

static void expect_axpy(const void *bytes, size_t size, const char *target, int64_t vgprs,
                        int64_t sgprs, int64_t wavefront)
{
    struct code_object object = {0};
    const struct code_object_kernel *kernel;
    struct error err = ERROR_INIT;

    if (code_object_read(bytes, size, &object, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_string_equal(object.target, target);
    assert_int_equal(object.kernel_count, 1);
    kernel = code_object_find(&object, "axpy");
    assert_non_null(kernel);
    assert_int_equal(kernel->vgprs, vgprs);
    assert_int_equal(kernel->sgprs, sgprs);
    assert_int_equal(kernel->spilled_vgprs, 0);
    assert_int_equal(kernel->spilled_sgprs, 0);
    assert_int_equal(kernel->private_bytes, 0);
    assert_int_equal(kernel->group_bytes, 256);
    assert_int_equal(kernel->max_lanes, 64);
    assert_int_equal(kernel->wavefront, wavefront);
    assert_null(code_object_find(&object, "axp"));
    code_object_finish(&object);
}

TEST(real)
{
    load("gfx90a");
    expect_axpy(file, file_size, "amdgcn-amd-amdhsa--gfx90a", 11, 19, 64);
    load("gfx1030");
    expect_axpy(file, file_size, "amdgcn-amd-amdhsa--gfx1030", 9, 18, 32);
}

static void put(unsigned char *at, uint64_t value)
{
    for (size_t i = 0; i < 8; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

TEST(bundle)
{
    static unsigned char bundle[sizeof(file) + 256];
    static const char host[] = "host-x86_64-unknown-linux--";
    static const char device[] = "hipv4-amdgcn-amd-amdhsa--gfx1030";
    unsigned char *at = bundle + 32;

    load("gfx1030");
    memcpy(bundle, "__CLANG_OFFLOAD_BUNDLE__", 24);
    put(bundle + 24, 2);
    put(at, 200);
    put(at + 8, 0);
    put(at + 16, sizeof(host) - 1);
    memcpy(at + 24, host, sizeof(host) - 1);
    at += 24 + sizeof(host) - 1;
    put(at, 200);
    put(at + 8, file_size);
    put(at + 16, sizeof(device) - 1);
    memcpy(at + 24, device, sizeof(device) - 1);
    memcpy(bundle + 200, file, file_size);
    expect_axpy(bundle, 200 + file_size, "amdgcn-amd-amdhsa--gfx1030", 9, 18, 32);
    /* An image beyond the bundle. */
    put(at + 8, UINT64_MAX - 10);
    assert_int_not_equal(code_object_read(bundle, 200 + file_size, &(struct code_object){0}, NULL),
                         STATUS_OK);
}

static void refuse(const void *bytes, size_t size, const char *part)
{
    struct code_object object = {0};
    struct error err = ERROR_INIT;

    assert_int_equal(code_object_read(bytes, size, &object, &err), STATUS_CORRUPT);
    if (strstr(err.message, part) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", part, err.message);
    assert_null(object.kernels);
}

TEST(refused)
{
    load("gfx90a");
    refuse("", 0, "no 64-bit little-endian ELF");
    refuse("\177ELF", 4, "no 64-bit little-endian ELF");
    refuse(file, 40, "cut");
    refuse(file, 64, "no AMDGPU metadata");
    file[18] = 62;
    refuse(file, file_size, "its machine is 62");
}

/* Cut at each byte, and each byte changed: in exact memory, so that a sanitizer sees any reach. */
TEST(damaged)
{
    size_t good = 0;

    load("gfx1030");
    for (size_t size = 0; size < file_size; size += size < 1024 ? 1 : 7) {
        unsigned char *copy = malloc(size + 1);
        struct code_object object = {0};

        assert_non_null(copy);
        memcpy(copy, file, size);
        if (code_object_read(copy, size, &object, NULL) == STATUS_OK)
            good++;
        code_object_finish(&object);
        free(copy);
    }
    assert_true(good > 0); /* the metadata is in the first part */
    for (size_t i = 0; i < file_size; i++) {
        const unsigned char kept = file[i];
        struct code_object object = {0};

        file[i] ^= 0xff;
        (void)code_object_read(file, file_size, &object, NULL);
        code_object_finish(&object);
        file[i] = kept;
    }
}
