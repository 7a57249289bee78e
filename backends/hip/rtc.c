#include "backends/hip/rtc.h"

#include <stdio.h>

#define DYNLIB_API struct hip_rtc
static const struct dynlib_symbol symbols[] = {HIP_RTC_REQUIRED_MAP(HIP_REQUIRED)};

enum status hip_rtc_open(const char *runtime_path, struct dynlib *lib, struct hip_rtc *ret,
                         struct error *err)
{
    const int major = hip_runtime_major(runtime_path);
    char own[32];
    const char *const same_major[] = {own, runtime_path, NULL};
    const char *const any[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", runtime_path,
                               NULL};
    struct hip_candidates candidates;
    const struct dynlib_spec spec = DYNLIB_SPEC("hiprtc", candidates.list, symbols);

    snprintf(own, sizeof(own), "libhiprtc.so.%d", major);
    hip_runtime_candidates(runtime_path, major > 0 ? same_major : any, &candidates);
    return dynlib_open(&spec, lib, ret, err);
}

const char *hip_rtc_error_name(int code)
{
    switch (code) {
#define NAME(name, value)                                                                          \
    case value:                                                                                    \
        return "HIPRTC_" #name;
        HIP_RTC_ERROR_MAP(NAME)
#undef NAME
    default:
        return "unknown code";
    }
}

enum status hip_rtc_fail(struct error *err, const char *context, const char *function, int code)
{
    const enum status status = code == HIP_RTC_ERROR_OUT_OF_MEMORY    ? STATUS_NO_MEMORY
                               : code == HIP_RTC_ERROR_INVALID_OPTION ? STATUS_UNSUPPORTED
                                                                      : STATUS_DEVICE;

    if (code == HIP_RTC_SUCCESS)
        return error_set(err, STATUS_DEVICE,
                         "%s: %s: succeeded, but what it gave cannot be; the library is defective",
                         context, function);
    return error_set(err, status, "%s: %s: %s (%d)", context, function, hip_rtc_error_name(code),
                     code);
}
