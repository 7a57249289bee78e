#include "model_fixture.h"

#include <stdio.h>

struct device *model_fixture_open(void)
{
    struct backend *backend = backend_find("opencl");
    const struct device_options options = {.profile = true};
    struct device *device = NULL;
    struct error err = ERROR_INIT;

    if (!backend || backend_probe(backend, &err) != STATUS_OK ||
        backend_device_open(backend, 0, &options, &device, &err) != STATUS_OK) {
        printf("SKIPPED: no OpenCL device: %s\n", err.message);
        return NULL;
    }
    return device;
}
