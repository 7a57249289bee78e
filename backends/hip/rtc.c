#include "backends/hip/rtc.h"

#include <stdio.h>
#include <string.h>

#include "backends/hip/runtime.h"

static const struct dynlib_symbol symbols[] = {
#define REQUIRED(name, parameters) DYNLIB_REQUIRED(struct hip_rtc, name),
    HIP_RTC_REQUIRED_MAP(REQUIRED)
#undef REQUIRED
};

enum status hip_rtc_open(const char *runtime_path, struct dynlib *lib, struct hip_rtc *ret,
                         struct error *err)
{
    const int major = hip_runtime_major(runtime_path);
    char own[32];
    const char *const same_major[] = {own, runtime_path, NULL};
    const char *const any[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", runtime_path,
                               NULL};
    struct hip_candidates candidates;
    const struct dynlib_spec spec = {
        .name = "hiprtc",
        .sonames = candidates.list,
        .symbols = symbols,
        .symbol_count = sizeof(symbols) / sizeof(symbols[0]),
    };

    snprintf(own, sizeof(own), "libhiprtc.so.%d", major);
    hip_runtime_candidates(runtime_path, major > 0 ? same_major : any, &candidates);
    memset(ret, 0, sizeof(*ret));
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
