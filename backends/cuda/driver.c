#include "backends/cuda/driver.h"

#include <string.h>

#define DYNLIB_API struct cuda_driver_api
static const struct dynlib_symbol symbols[] = {
#define REQUIRED(result, name, symbol, version, parameters)                                        \
    {#symbol, offsetof(struct cuda_driver_api, name), true},
#define OPTIONAL(result, name, symbol, version, parameters)                                        \
    {#symbol, offsetof(struct cuda_driver_api, name), false},
    CUDA_REQUIRED_MAP(REQUIRED) CUDA_OPTIONAL_MAP(OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
        DYNLIB_OPTIONAL(, cuGetProcAddress_v2) DYNLIB_OPTIONAL(, cuGetProcAddress)
            DYNLIB_OPTIONAL(, assay_simulated)};

/* The name that cuGetProcAddress knows a symbol by: without _v2, since the version says it. */
static const struct {
    const char *name;
    size_t offset;
    int version;
} functions[] = {
#define FUNCTION(result, name, symbol, version, parameters)                                        \
    {#name, offsetof(struct cuda_driver_api, name), version},
    CUDA_REQUIRED_MAP(FUNCTION)
#undef FUNCTION
};

/*
 * What the driver itself returns for our version of a function is preferred to the exported symbol.
 */
static void ask_driver(struct cuda_driver_api *api)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *address = NULL;
        unsigned found = 0, code;

        if (api->cuGetProcAddress_v2 != NULL)
            code = api->cuGetProcAddress_v2(functions[i].name, &address, functions[i].version, 0,
                                            &found);
        else if (api->cuGetProcAddress != NULL)
            code = api->cuGetProcAddress(functions[i].name, &address, functions[i].version, 0);
        else
            return;
        if (code == CUDA_DRIVER_SUCCESS && found == 0 && address != NULL)
            memcpy((char *)api + functions[i].offset, &address, sizeof(address));
    }
}

enum status cuda_driver_open(struct dynlib *lib, struct cuda_driver_api *ret, struct error *err)
{
    static const char *const sonames[] = {"libcuda.so.1", NULL};
    static const struct dynlib_spec spec = DYNLIB_SPEC("cuda", sonames, symbols);

    TRY(dynlib_open(&spec, lib, ret, err));
    ask_driver(ret);
    return STATUS_OK;
}

static enum status status_of(unsigned code)
{
    switch (code) {
    case CUDA_DRIVER_ERROR_OUT_OF_MEMORY:
        return STATUS_DEVICE_MEMORY;
    case CUDA_DRIVER_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_DRIVER_ERROR_CONTEXT_IS_DESTROYED:
        return STATUS_DEVICE_LOST;
    case CUDA_DRIVER_ERROR_STUB_LIBRARY:
    case CUDA_DRIVER_ERROR_NO_DEVICE:
    case CUDA_DRIVER_ERROR_SYSTEM_NOT_READY:
    case CUDA_DRIVER_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_DRIVER_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
        return STATUS_UNAVAILABLE;
    case CUDA_DRIVER_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_DRIVER_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_DRIVER_ERROR_LAUNCH_OUT_OF_RESOURCES:
        return STATUS_UNSUPPORTED;
    case CUDA_DRIVER_ERROR_NOT_FOUND:
        return STATUS_NOT_FOUND;
    default:
        return STATUS_DEVICE;
    }
}

/* What to do about it, where that is known. */
static const char *hint_of(const char *function, unsigned code)
{
    switch (code) {
    case CUDA_DRIVER_ERROR_STUB_LIBRARY:
        return "; this is the toolkit's stub, not a driver: take its folder out of the library "
               "path";
    case CUDA_DRIVER_ERROR_SYSTEM_DRIVER_MISMATCH:
        return "; kernel module and library are of different versions: load the new module or "
               "restart the machine";
    case CUDA_DRIVER_ERROR_SYSTEM_NOT_READY:
        return "; is the fabric manager running?";
    case CUDA_DRIVER_ERROR_UNKNOWN:
        return strcmp(function, "cuInit") == 0
                   ? "; are the device files (/dev/nvidia*, /dev/nvidia-uvm) there and allowed?"
                   : "";
    case CUDA_DRIVER_ERROR_ILLEGAL_ADDRESS:
    case CUDA_DRIVER_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_DRIVER_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_DRIVER_ERROR_MISALIGNED_ADDRESS:
    case CUDA_DRIVER_ERROR_LAUNCH_FAILED:
        return "; a kernel enqueued before went wrong, the context cannot be used any more";
    default:
        return "";
    }
}

enum status cuda_fail(const struct cuda_driver_api *api, struct error *err, const char *context,
                      const char *function, unsigned code)
{
    const char *colon = context != NULL ? ": " : "";
    const char *name = NULL;

    if (context == NULL)
        context = "";
    if (code == CUDA_DRIVER_SUCCESS)
        return error_set(err, STATUS_DEVICE,
                         "%s%s%s: succeeded, but what it gave cannot be; the driver is defective",
                         context, colon, function);
    if (api->cuGetErrorName(code, &name) != CUDA_DRIVER_SUCCESS || name == NULL)
        name = "unknown code";
    return error_set(err, status_of(code), "%s%s%s: %s (%u)%s", context, colon, function, name,
                     code, hint_of(function, code));
}
