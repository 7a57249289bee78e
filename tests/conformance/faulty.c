/*
 * Two defective kernels, a race and a write out of bounds, on every OpenCL device: oclgrind.sh runs
 * this first, to see that the tool finds them. Run it under nothing but a simulator.
 */
#include <stdio.h>

#include "backends/backend.h"

static const char text[] = "KERNEL(racy, GLOBAL u32 *out)\n"
                           "{\n"
                           "    LOCAL_ARRAY(u32, shelf, LANES);\n"
                           "    shelf[LANE] = (u32)LANE;\n"
                           "    out[LANE] = shelf[(LANE + 1) % LANES];\n"
                           "}\n"
                           "KERNEL(outside, GLOBAL u32 *out)\n"
                           "{\n"
                           "    out[LANE + 1] = 1;\n"
                           "}\n";

static enum status run(struct device *device, struct error *err)
{
    const struct module_source source = {.file = "faulty.h", .text = text, .lanes = 8};
    struct kernel_arg arg = {.type = KERNEL_ARG_BUFFER};
    struct kernel_launch launch = {.groups = {1, 1, 1}, .args = &arg, .arg_count = 1};
    struct buffer *buffer = NULL;
    enum status status;

    status = device_buffer_alloc(device, 32, BUFFER_READ_WRITE, &buffer, err);
    if (status == STATUS_OK)
        status = device_module_load(device, &source, &launch.module, err);
    arg.buffer = buffer;
    launch.kernel = "racy";
    if (status == STATUS_OK)
        status = device_kernel_launch(device, &launch, err);
    launch.kernel = "outside";
    if (status == STATUS_OK)
        status = device_kernel_launch(device, &launch, err);
    if (status == STATUS_OK)
        status = device_synchronize(device, err);
    device_module_unload(device, launch.module);
    device_buffer_free(buffer);
    return status;
}

int main(void)
{
    struct error err = ERROR_INIT;
    struct backend *backend = NULL;
    struct device *device = NULL;
    uint32_t index = 0;
    enum status status = backend_resolve("opencl:0", &backend, &index, &err);

    if (status == STATUS_OK)
        status = backend_device_open(backend, index, NULL, &device, &err);
    if (status == STATUS_OK && !device->info.simulated)
        status = error_set(&err, STATUS_INVALID, "%s is no simulator", device->info.name);
    if (status == STATUS_OK)
        status = run(device, &err);
    device_close(device);
    if (status != STATUS_OK)
        fprintf(stderr, "faulty: %s\n", err.message);
    return status == STATUS_OK ? 0 : 1;
}
