#include "backends/registry.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

static const char *const uuids[] = {"aabbccdd-0011-2233", "aabbccdd-0011-4455", NULL};

static enum status probe_three(struct backend *backend, uint32_t *ret, struct error *err)
{
    (void)backend;
    (void)err;
    *ret = 3;
    return STATUS_OK;
}

static enum status probe_absent(struct backend *backend, uint32_t *ret, struct error *err)
{
    (void)backend;
    (void)ret;
    return error_set(err, STATUS_UNAVAILABLE, "libgone.so.1: not found");
}

static enum status info(struct backend *backend, uint32_t index, struct device_info *ret,
                        struct error *err)
{
    (void)backend;
    (void)err;
    *ret = (struct device_info){.name = strdup("Dev\x1b[31mice"),
                                .vendor = strdup("v"),
                                .uuid = uuids[index] != NULL ? strdup(uuids[index]) : NULL};
    return STATUS_OK;
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

static bool yes(const struct backend *backend)
{
    (void)backend;
    return true;
}

static const struct backend_ops here = {.name = "here",
                                        .description = "d",
                                        .probe = probe_three,
                                        .device_info = info,
                                        .device_open = no_open};
static const struct backend_ops gone = {.name = "gone",
                                        .description = "d",
                                        .probe = probe_absent,
                                        .device_info = info,
                                        .device_open = no_open};
static const struct backend_ops secret = {.name = "secret",
                                          .description = "d",
                                          .probe = probe_absent,
                                          .device_info = info,
                                          .device_open = no_open,
                                          .hidden = yes};
static struct backend backends[3];

static int set_up(void **state)
{
    (void)state;
    memset(backends, 0, sizeof(backends));
    backends[0].ops = &here;
    backends[1].ops = &gone;
    backends[2].ops = &secret;
    backend_registry_replace(backends, 3);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    backend_registry_replace(NULL, 0);
    return 0;
}

static void good(const char *spec, uint32_t expected)
{
    struct backend *backend = NULL;
    struct error err = ERROR_INIT;
    uint32_t index = 77;

    if (backend_resolve(spec, &backend, &index, &err) != STATUS_OK)
        fail_msg("%s: %s", spec, err.message);
    assert_ptr_equal(backend, &backends[0]);
    assert_int_equal(index, expected);
}

static void bad(const char *spec, enum status expected, const char *part)
{
    struct backend *backend = NULL;
    struct error err = ERROR_INIT;
    uint32_t index = 77;

    if (backend_resolve(spec, &backend, &index, &err) != expected)
        fail_msg("\"%s\": got %s, \"%s\"", spec, status_name(err.code), err.message);
    if (strstr(err.message, part) == NULL)
        fail_msg("\"%s\": expected \"%s\" in \"%s\"", spec, part, err.message);
    assert_null(backend);
    assert_int_equal(index, 77);
}

TEST_WITH(names, set_up, tear_down)
{
    good("here", 0);
    good("here:0", 0);
    good("here:2", 2);
    bad(NULL, STATUS_INVALID, "opencl:0");
    bad("", STATUS_INVALID, "opencl:0");
    bad("here:", STATUS_INVALID, "here:0");
    bad("here:x", STATUS_INVALID, "\"x\"");
    bad("here:-1", STATUS_INVALID, "here:0");
    bad("here:3", STATUS_NOT_FOUND, "here:2");
    bad("here:4294967296", STATUS_NOT_FOUND, "here:0");
    bad("her", STATUS_NOT_FOUND, "here:1");
    bad("nowhere:0", STATUS_NOT_FOUND, "gone is not available (libgone.so.1: not found)");
    bad("gone", STATUS_UNAVAILABLE, "libgone.so.1: not found");
    bad("gone:5", STATUS_UNAVAILABLE, "libgone.so.1: not found");
}

TEST_WITH(choices_are_safe, set_up, tear_down)
{
    struct backend *backend = NULL;
    struct error err = ERROR_INIT;
    uint32_t index;
    char *name = malloc(5000);

    assert_non_null(name);
    bad("nowhere", STATUS_NOT_FOUND, "Dev\\x1B[31mice");
    assert_int_equal(backend_resolve("nowhere", &backend, &index, &err), STATUS_NOT_FOUND);
    assert_null(strchr(err.message, '\x1b'));
    assert_null(strstr(err.message, "secret"));
    memset(name, 'a', 4999);
    name[4999] = '\0';
    assert_int_equal(backend_resolve(name, &backend, &index, &err), STATUS_NOT_FOUND);
    free(name);
}

TEST_WITH(uuids, set_up, tear_down)
{
    good("aabbccdd-0011-22", 0);
    good("AABBCCDD-0011-4", 1);
    good("aabbccdd-0011-4455", 1);
    bad("aabb", STATUS_INVALID, "here:1");
    bad("aab", STATUS_NOT_FOUND, "here:0");
    bad("aabbccdd0011", STATUS_NOT_FOUND, "here:0");
    bad("aabbccdd-0011-2233-9", STATUS_NOT_FOUND, "here:0");
}
