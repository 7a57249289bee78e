/*
 * rtc - our declarations of HIPRTC, which lives in libhiprtc.so since ROCm 5.3 and in
 * libamdhip64.so before; Debian's 5.2 has it there. Facts from hiprtc.h of ROCm 5.2.3 and 6.2.2
 * (MIT).
 */
#ifndef ASSAY_BACKENDS_HIP_RTC_H
#define ASSAY_BACKENDS_HIP_RTC_H

#include <stddef.h>

#include "backends/hip/runtime.h"

#define HIP_RTC_ERROR_MAP(X)                                                                       \
    X(SUCCESS, 0)                                                                                  \
    X(ERROR_OUT_OF_MEMORY, 1)                                                                      \
    X(ERROR_PROGRAM_CREATION_FAILURE, 2)                                                           \
    X(ERROR_INVALID_INPUT, 3)                                                                      \
    X(ERROR_INVALID_PROGRAM, 4)                                                                    \
    X(ERROR_INVALID_OPTION, 5)                                                                     \
    X(ERROR_COMPILATION, 6)                                                                        \
    X(ERROR_BUILTIN_OPERATION_FAILURE, 7)                                                          \
    X(ERROR_INTERNAL_ERROR, 11)

enum {
#define HIP_RTC_ERROR_ENUM(name, value) HIP_RTC_##name = value,
    HIP_RTC_ERROR_MAP(HIP_RTC_ERROR_ENUM)
#undef HIP_RTC_ERROR_ENUM
};

struct _hiprtcProgram;

/* The result is hiprtcResult, unsigned. */
#define HIP_RTC_REQUIRED_MAP(X)                                                                    \
    X(hiprtcVersion, (int *major, int *minor))                                                     \
    X(hiprtcCreateProgram, (struct _hiprtcProgram * *program, const char *text, const char *name,  \
                            int header_count, const char **headers, const char **include_names))   \
    X(hiprtcCompileProgram, (struct _hiprtcProgram * program, int count, const char **options))    \
    X(hiprtcDestroyProgram, (struct _hiprtcProgram * *program))                                    \
    X(hiprtcGetProgramLogSize, (struct _hiprtcProgram * program, size_t * size))                   \
    X(hiprtcGetProgramLog, (struct _hiprtcProgram * program, char *log))                           \
    X(hiprtcGetCodeSize, (struct _hiprtcProgram * program, size_t * size))                         \
    X(hiprtcGetCode, (struct _hiprtcProgram * program, char *code))

struct hip_rtc {
    HIP_RTC_REQUIRED_MAP(HIP_MEMBER)
};

/*
 * The one that belongs to the runtime at `runtime_path`: libhiprtc.so of its major version, else
 * the runtime itself. UNAVAILABLE with all that was tried.
 */
enum status hip_rtc_open(const char *runtime_path, struct dynlib *lib, struct hip_rtc *ret,
                         struct error *err);

const char *hip_rtc_error_name(int code); /* "HIPRTC_ERROR_COMPILATION" */

/* As hip_runtime_fail. */
enum status hip_rtc_fail(struct error *err, const char *context, const char *function, int code);

#endif
