#include "backends/hip/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DYNLIB_API struct hip_runtime
static const struct dynlib_symbol symbols[] = {HIP_RUNTIME_REQUIRED_MAP(
    HIP_REQUIRED) HIP_RUNTIME_OPTIONAL_MAP(HIP_OPTIONAL) DYNLIB_OPTIONAL(, assay_simulated)};

enum status hip_runtime_open(struct dynlib *lib, struct hip_runtime *ret, struct error *err)
{
    static const char *const sonames[] = {"libamdhip64.so.7",
                                          "libamdhip64.so.6",
                                          "libamdhip64.so.5",
                                          HIP_ROCM_FOLDER "/libamdhip64.so.7",
                                          HIP_ROCM_FOLDER "/libamdhip64.so.6",
                                          HIP_ROCM_FOLDER "/libamdhip64.so.5",
                                          NULL};
    static const struct dynlib_spec spec = DYNLIB_SPEC("hip", sonames, symbols);

    return dynlib_open(&spec, lib, ret, err);
}

const char *hip_runtime_error_name(int code)
{
    switch (code) {
#define NAME(name, value)                                                                          \
    case value:                                                                                    \
        return "hip" #name;
        HIP_RUNTIME_ERROR_MAP(NAME)
#undef NAME
    default:
        return "unknown code";
    }
}

static enum status status_of(int code)
{
    switch (code) {
    case HIP_ErrorOutOfMemory:
    case HIP_ErrorRuntimeMemory:
    case HIP_ErrorLaunchOutOfResources:
        return STATUS_DEVICE_MEMORY;
    case HIP_ErrorNoDevice:
    case HIP_ErrorInsufficientDriver:
        return STATUS_UNAVAILABLE;
    case HIP_ErrorNotSupported:
    case HIP_ErrorNoBinaryForGpu:
        return STATUS_UNSUPPORTED;
    case HIP_ErrorDeinitialized:
    case HIP_ErrorECCNotCorrectable:
    case HIP_ErrorIllegalAddress:
    case HIP_ErrorLaunchTimeOut:
    case HIP_ErrorContextIsDestroyed:
    case HIP_ErrorAssert:
    case HIP_ErrorLaunchFailure:
        return STATUS_DEVICE_LOST;
    default:
        return STATUS_DEVICE;
    }
}

enum status hip_runtime_fail(struct error *err, const char *context, const char *function, int code)
{
    const char *colon = context != NULL ? ": " : "";

    if (context == NULL)
        context = "";
    if (code == HIP_Success)
        return error_set(err, STATUS_DEVICE,
                         "%s%s%s: succeeded, but what it gave cannot be; the library is defective",
                         context, colon, function);
    return error_set(err, status_of(code), "%s%s%s: %s (%d)", context, colon, function,
                     hip_runtime_error_name(code), code);
}

static bool is_beside_only(const char *name)
{
    return strncmp(name, HIP_BESIDE, strlen(HIP_BESIDE)) == 0;
}

void hip_runtime_candidates(const char *path, const char *const *sonames,
                            struct hip_candidates *ret)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    size_t count = 0;

    for (size_t i = 0; slash != NULL && i < HIP_CANDIDATES_MAX && sonames[i] != NULL; i++) {
        const char *name = sonames[i] + (is_beside_only(sonames[i]) ? strlen(HIP_BESIDE) : 0);

        if (name[0] != '/' &&
            snprintf(ret->beside[i], sizeof(ret->beside[i]), "%.*s/%s", (int)(slash - path), path,
                     name) < (int)sizeof(ret->beside[i]))
            ret->list[count++] = ret->beside[i];
    }
    for (size_t i = 0; i < HIP_CANDIDATES_MAX && sonames[i] != NULL; i++)
        if (!is_beside_only(sonames[i]))
            ret->list[count++] = sonames[i];
    ret->list[count] = NULL;
}

int hip_runtime_major(const char *path)
{
    const char *found = path != NULL ? strstr(path, "libamdhip64.so.") : NULL;
    long major = found != NULL ? strtol(found + strlen("libamdhip64.so."), NULL, 10) : 0;

    return major > 0 && major < 1000 ? (int)major : 0;
}
