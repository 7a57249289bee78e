#include "backends/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

static int probes;

static enum status probe_two(struct backend *backend, uint32_t *ret, struct error *err)
{
    (void)backend;
    (void)err;
    probes++;
    *ret = 2;
    return STATUS_OK;
}

static enum status probe_none(struct backend *backend, uint32_t *ret, struct error *err)
{
    (void)backend;
    (void)err;
    *ret = 0;
    return STATUS_OK;
}

static enum status probe_absent(struct backend *backend, uint32_t *ret, struct error *err)
{
    (void)backend;
    probes++;
    *ret = 99;
    return error_set(err, STATUS_UNAVAILABLE, "libvendor.so.1: not found");
}

static enum status no_info(struct backend *backend, uint32_t index, struct device_info *ret,
                           struct error *err)
{
    (void)backend;
    (void)index;
    (void)ret;
    return error_set(err, STATUS_INTERNAL, "unused");
}

static enum status no_open(struct backend *backend, uint32_t index,
                           const struct device_options *options, struct device **ret,
                           struct error *err)
{
    (void)backend;
    (void)index;
    (void)options;
    (void)ret;
    return error_set(err, STATUS_INTERNAL, "unused");
}

#define GOOD(given_name, given_probe)                                                              \
    {                                                                                              \
        .name = given_name, .description = "d", .probe = given_probe, .device_info = no_info,      \
        .device_open = no_open                                                                     \
    }

TEST(compiled_in)
{
    /* The order of `assay devices`: accelerators first; cpu before opencl, which a plain run then
     * leaves out. */
    static const char *const names[] = {
        "cuda", "hip", "cpu", "opencl", "null",
    };
    const size_t count = sizeof(names) / sizeof(names[0]);

    assert_int_equal(backend_count(), count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(backend_at(i)->ops->name, names[i]);
        assert_ptr_equal(backend_find(names[i]), backend_at(i));
    }
    assert_null(backend_at(count));
    assert_null(backend_find("nothing"));
    assert_null(backend_find(NULL));
    assert_false(backend_is_hidden(backend_find("opencl")));
    assert_true(backend_is_hidden(backend_find("null")));
    for (size_t i = 0; i < backend_count(); i++)
        assert_int_equal(backend_ops_check(backend_at(i)->ops, NULL), STATUS_OK);
}

TEST(ops_check)
{
    const struct backend_ops good = GOOD("x_1", probe_two);
    struct backend_ops ops = good;
    struct error err = ERROR_INIT;

    assert_int_equal(backend_ops_check(NULL, &err), STATUS_INTERNAL);
    assert_int_equal(backend_ops_check(&ops, &err), STATUS_OK);
    ops.name = "Open CL";
    assert_int_equal(backend_ops_check(&ops, &err), STATUS_INTERNAL);
    ops.name = "";
    assert_int_equal(backend_ops_check(&ops, &err), STATUS_INTERNAL);
#define WITHOUT(hook)                                                                              \
    do {                                                                                           \
        ops = good;                                                                                \
        ops.hook = NULL;                                                                           \
        assert_int_equal(backend_ops_check(&ops, &err), STATUS_INTERNAL);                          \
        assert_non_null(strstr(err.message, #hook));                                               \
    } while (0)
    WITHOUT(description);
    WITHOUT(probe);
    WITHOUT(device_info);
    WITHOUT(device_open);
#undef WITHOUT
}

/* A table of any non-NULL pointers: the check only looks at which are there. */
TEST(device_ops_check)
{
    struct device_ops full, ops;
    struct error err = ERROR_INIT;

    memset(&full, 0x5a, sizeof(full));
    assert_int_equal(device_ops_check(NULL, &err), STATUS_INTERNAL);
    assert_int_equal(device_ops_check(&full, &err), STATUS_OK);
#define WITHOUT(hook)                                                                              \
    do {                                                                                           \
        ops = full;                                                                                \
        ops.hook = NULL;                                                                           \
        assert_int_equal(device_ops_check(&ops, &err), STATUS_INTERNAL);                           \
        assert_non_null(strstr(err.message, #hook));                                               \
    } while (0)
    WITHOUT(buffer_alloc);
    WITHOUT(buffer_free);
    WITHOUT(upload);
    WITHOUT(download);
    WITHOUT(module_load);
    WITHOUT(module_unload);
    WITHOUT(module_describe);
    WITHOUT(kernel_launch);
    WITHOUT(synchronize);
    WITHOUT(close);
#undef WITHOUT
    ops = full;
    ops.host_free = NULL;
    assert_int_equal(device_ops_check(&ops, &err), STATUS_INTERNAL);
    assert_non_null(strstr(err.message, "host_alloc"));
    ops.host_alloc = NULL;
    ops.copy = NULL;
    ops.exchange = NULL;
    assert_int_equal(device_ops_check(&ops, &err), STATUS_OK);
    ops.event_record = NULL;
    assert_int_equal(device_ops_check(&ops, &err), STATUS_INTERNAL);
    assert_non_null(strstr(err.message, "event"));
    ops.event_create = NULL;
    ops.event_destroy = NULL;
    ops.event_elapsed_ns = NULL;
    ops.operations = NULL;
    ops.lane_candidates = NULL;
    assert_int_equal(device_ops_check(&ops, &err), STATUS_OK);
}

/* Probed once; the answer is kept with its message; count is 0 unless it is available. */
TEST(probe)
{
    static const struct backend_ops two = GOOD("two", probe_two),
                                    absent = GOOD("absent", probe_absent),
                                    none = GOOD("none", probe_none);
    struct backend backends[] = {{.ops = &two}, {.ops = &absent}, {.ops = &none}};
    struct error err = ERROR_INIT;

    backend_registry_replace(backends, 3);
    assert_int_equal(backend_count(), 3);
    probes = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(backend_probe(&backends[0], &err), STATUS_OK);
        assert_int_equal(backend_probe(&backends[1], &err), STATUS_UNAVAILABLE);
        assert_string_equal(err.message, "libvendor.so.1: not found");
        assert_int_equal(backend_probe(&backends[1], NULL), STATUS_UNAVAILABLE);
        assert_int_equal(backend_probe(&backends[2], &err), STATUS_UNAVAILABLE);
    }
    assert_int_equal(probes, 2);
    assert_int_equal(backends[0].device_count, 2);
    assert_int_equal(backends[1].device_count, 0);
    assert_int_equal(backend_probe(NULL, &err), STATUS_INTERNAL);
    assert_int_equal(backend_libraries(&backends[0], NULL, 0), 0);
    backend_registry_replace(NULL, 0);
    assert_non_null(backend_find("opencl"));
}

/* Every library that a backend lists can be chosen, except those chosen by another variable, or by
 * none. */
TEST(library_names)
{
    struct error err = ERROR_INIT;
    size_t checked = 0;

    for (size_t i = 0; i < backend_count(); i++) {
        struct backend_library libraries[16];
        const size_t count = backend_libraries(backend_at(i), libraries, 16);

        for (size_t j = 0; j < count; j++) {
            const char *name = libraries[j].name;
            char variable[96];

            /* ASSAY_CC chooses the compiler; MIOpen is not built in; platforms are the loader's. */
            if (strcmp(name, "cc") == 0 || strcmp(name, "miopen") == 0 || strchr(name, ' ') != NULL)
                continue;
            snprintf(variable, sizeof(variable), "ASSAY_LIB_%s=/x", name);
            if (backend_check_variable(variable, &err) != STATUS_OK)
                fail_msg("%s: %s", name, err.message);
            checked++;
        }
    }
    assert_true(checked >= 7);
    assert_int_equal(backend_check_variable("ASSAY_LIB_CUDNN=/x", &err), STATUS_OK);
    assert_int_equal(backend_check_variable("ASSAY_LIBRARY=/x", &err), STATUS_OK);
    assert_int_equal(backend_check_variable("ASSAY_LIB_=/x", &err), STATUS_INVALID);
    assert_int_equal(backend_check_variable("ASSAY_LIB_CC=/x", &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "no backend opens a library \"cc\""));
}

/* A defective table is listed, with the reason, and is never called. */
TEST(defective)
{
    static const struct backend_ops good = GOOD("same", probe_two), twin = GOOD("same", probe_two),
                                    broken = {.name = "broken", .description = "d"};
    struct backend backends[] = {{.ops = &good}, {.ops = &broken}, {.ops = &twin}, {.ops = NULL}};
    struct error err = ERROR_INIT;

    backend_registry_replace(backends, 4);
    assert_int_equal(backend_count(), 4);
    assert_int_equal(backend_probe(backend_at(0), &err), STATUS_OK);
    assert_int_equal(backend_probe(backend_at(1), &err), STATUS_INTERNAL);
    assert_non_null(strstr(err.message, "broken"));
    assert_int_equal(backend_probe(backend_at(2), &err), STATUS_INTERNAL);
    assert_non_null(strstr(err.message, "same"));
    assert_int_equal(backend_probe(backend_at(3), &err), STATUS_INTERNAL);
    assert_ptr_equal(backend_find("same"), backend_at(0));
    assert_false(backend_is_hidden(backend_at(3)));
    backend_registry_replace(NULL, 0);
}

int main(void)
{
    setenv("OCL_ICD_VENDORS", ICD_DIRECTORY, 0);
    return unit_run(NULL, NULL);
}
