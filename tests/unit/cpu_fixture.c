#include "tests/unit/cpu_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/core/text.h"

char cpu_fixture_folder[] = "/tmp/assay-test-cpu-XXXXXX";

static struct backend backends[32];
static size_t backend_used;

int cpu_fixture_setup(void **state)
{
    (void)state;
    return mkdtemp(cpu_fixture_folder) != NULL ? 0 : -1;
}

int cpu_fixture_teardown(void **state)
{
    char *command = text_format("rm -rf -- %s", cpu_fixture_folder);
    const int code = command != NULL ? system(command) : -1;

    (void)state;
    free(command);
    return code;
}

struct backend *cpu_fixture_backend(void)
{
    assert_true(backend_used < sizeof(backends) / sizeof(backends[0]));
    backends[backend_used].ops = &cpu_backend_ops;
    return &backends[backend_used++];
}

struct device *cpu_fixture_open(void)
{
    struct error err = ERROR_INIT;
    struct device *device = NULL;
    struct backend *backend = cpu_fixture_backend();

    if (backend_probe(backend, &err) != STATUS_OK ||
        backend_device_open(backend, 0, NULL, &device, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return device;
}

void cpu_fixture_set_cache(const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", cpu_fixture_folder, name);
    setenv("XDG_CACHE_HOME", path, 1);
}

bool cpu_fixture_has_compiler(void)
{
    if (system("cc --version >/dev/null 2>&1") == 0)
        return true;
    puts("skipped: no C compiler called cc here");
    return false;
}
