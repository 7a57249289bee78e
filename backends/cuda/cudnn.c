#include "backends/cuda/cudnn.h"

#define DYNLIB_API struct cudnn_api
static const struct dynlib_symbol symbols[] = {CUDNN_REQUIRED_MAP(DYNLIB_REQUIRED)
                                                   CUDNN_OPTIONAL_MAP(DYNLIB_OPTIONAL)};

enum status cudnn_open(struct dynlib *lib, struct cudnn_api *ret, struct error *err)
{
    static const char *const sonames[] = {"libcudnn.so.9",
                                          "libcudnn.so.8",
                                          "/usr/local/cuda/lib64/libcudnn.so.9",
                                          "/usr/local/cuda/lib64/libcudnn.so.8",
                                          "/usr/local/cuda/lib/libcudnn.so.9",
                                          NULL};
    static const struct dynlib_spec spec = DYNLIB_SPEC("cudnn", sonames, symbols);

    return dynlib_open(&spec, lib, ret, err);
}

/* Arguments were checked before: what the library calls a bad parameter is unsupported. */
static enum status status_of(unsigned code)
{
    switch (code) {
    case DNN_STATUS_HOST_ALLOCATION:
    case DNN_STATUS_DEVICE_ALLOCATION:
    case DNN_8_STATUS_ALLOC_FAILED:
        return STATUS_DEVICE_MEMORY;
    case DNN_8_STATUS_BAD_PARAM:
    case DNN_8_STATUS_ARCH_MISMATCH:
    case DNN_8_STATUS_NOT_SUPPORTED:
        return STATUS_UNSUPPORTED;
    default:
        /* Since 9.0 the thousands give the kind. */
        return code / 1000 == DNN_STATUS_BAD_PARAM / 1000 ||
                       code / 1000 == DNN_STATUS_NOT_SUPPORTED / 1000
                   ? STATUS_UNSUPPORTED
                   : STATUS_DEVICE;
    }
}

enum status cudnn_fail(const struct cudnn_api *api, const char *function, unsigned code,
                       struct error *err)
{
    const char *name;

    if (code == DNN_STATUS_SUCCESS)
        return error_set(err, STATUS_DEVICE, "%s: succeeded and gave nothing", function);
    name = api->cudnnGetErrorString(code);
    return error_set(err, status_of(code), "%s: %s (%u)", function,
                     name != NULL ? name : "unknown status", code);
}
