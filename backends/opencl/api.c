#include "backends/opencl/api.h"

#define DYNLIB_API struct opencl_api
static const struct dynlib_symbol symbols[] = {OPENCL_REQUIRED_MAP(DYNLIB_REQUIRED)
                                                   OPENCL_OPTIONAL_MAP(DYNLIB_OPTIONAL)};

enum status opencl_api_open(struct dynlib *lib, struct opencl_api *ret, struct error *err)
{
    static const char *const sonames[] = {"libOpenCL.so.1", NULL};
    static const struct dynlib_spec spec = DYNLIB_SPEC("opencl", sonames, symbols);

    return dynlib_open(&spec, lib, ret, err);
}

const char *opencl_error_name(int32_t code)
{
    switch (code) {
#define NAME(name, value)                                                                          \
    case value:                                                                                    \
        return "CL_" #name;
        OPENCL_ERROR_MAP(NAME)
#undef NAME
    default:
        return "unknown code";
    }
}

static enum status status_of(int32_t code)
{
    switch (code) {
    case OCL_OUT_OF_RESOURCES:
    case OCL_MEM_OBJECT_ALLOCATION_FAILURE:
    case OCL_INVALID_BUFFER_SIZE:
        return STATUS_DEVICE_MEMORY;
    case OCL_OUT_OF_HOST_MEMORY:
        return STATUS_NO_MEMORY;
    case OCL_DEVICE_NOT_AVAILABLE:
        return STATUS_DEVICE_LOST;
    case OCL_COMPILER_NOT_AVAILABLE:
        return STATUS_UNSUPPORTED;
    case OCL_PLATFORM_NOT_FOUND_KHR:
    case OCL_DEVICE_NOT_FOUND:
        return STATUS_UNAVAILABLE;
    default:
        return STATUS_DEVICE;
    }
}

enum status opencl_fail(struct error *err, const char *context, const char *function, int32_t code)
{
    const char *colon = context != NULL ? ": " : "";

    if (context == NULL)
        context = "";
    if (code == OCL_SUCCESS)
        return error_set(err, STATUS_DEVICE,
                         "%s%s%s: succeeded, but what it gave cannot be; the driver is defective",
                         context, colon, function);
    return error_set(err, status_of(code), "%s%s%s: %s (%d)", context, colon, function,
                     opencl_error_name(code), (int)code);
}
