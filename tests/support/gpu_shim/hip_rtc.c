/* A stand-in for HIPRTC: OpenCL's compiler checks the text, which then is the binary. */
#include <string.h>

#include "backends/hip/rtc.h"
#include "tests/support/gpu_shim/hip.h"
#include "tests/support/gpu_shim/program.h"

#define PROTOTYPE(name, parameters) SHIM_EXPORT unsigned name parameters;
HIP_RTC_REQUIRED_MAP(PROTOTYPE)
#undef PROTOTYPE

unsigned hiprtcVersion(int *major, int *minor)
{
    SHIM_FAULT(unsigned, hiprtcVersion);
    *major = SHIM_HIP_VERSION / 10000000;
    *minor = SHIM_HIP_VERSION / 100000 % 100;
    return 0;
}

unsigned hiprtcCreateProgram(struct _hiprtcProgram **program, const char *text, const char *name,
                             int header_count, const char **headers, const char **include_names)
{
    struct shim_program *made;

    (void)headers;
    (void)include_names;
    SHIM_FAULT(unsigned, hiprtcCreateProgram);
    if (name == NULL || header_count != 0)
        return HIP_RTC_ERROR_INVALID_INPUT;
    made = shim_program_create(text);
    if (made == NULL)
        return HIP_RTC_ERROR_OUT_OF_MEMORY;
    *program = (struct _hiprtcProgram *)made;
    return 0;
}

unsigned hiprtcDestroyProgram(struct _hiprtcProgram **program)
{
    int code;
    const bool failing = shim_fails("hiprtcDestroyProgram", &code);

    shim_program_destroy((struct shim_program *)*program);
    *program = NULL;
    return failing ? (unsigned)code : 0;
}

/* Options that would change what the arithmetic means are refused, as a test of the backend. */
static bool options_fit(int count, const char **options)
{
    bool contract = false, arch = false;

    for (int i = 0; i < count; i++) {
        contract = contract || strcmp(options[i], "-ffp-contract=off") == 0;
        arch = arch || strcmp(options[i], "--offload-arch=" SHIM_HIP_ARCH) == 0;
        if (strstr(options[i], "fast") != NULL)
            return false;
    }
    return contract && arch;
}

unsigned hiprtcCompileProgram(struct _hiprtcProgram *program, int count, const char **options)
{
    SHIM_FAULT(unsigned, hiprtcCompileProgram);
    shim_compiler_misbehave();
    if (!options_fit(count, options))
        return HIP_RTC_ERROR_INVALID_OPTION;
    switch (shim_program_compile((struct shim_program *)program, SHIM_HIP_IMAGE)) {
    case CORE_OK:
        return 0;
    case CORE_INVALID:
        return HIP_RTC_ERROR_INVALID_PROGRAM;
    case CORE_NOT_COMPILED:
        return HIP_RTC_ERROR_COMPILATION;
    default:
        return HIP_RTC_ERROR_OUT_OF_MEMORY;
    }
}

unsigned hiprtcGetProgramLogSize(struct _hiprtcProgram *program, size_t *size)
{
    SHIM_FAULT(unsigned, hiprtcGetProgramLogSize);
    shim_program_log((const struct shim_program *)program, size);
    return 0;
}

unsigned hiprtcGetProgramLog(struct _hiprtcProgram *program, char *log)
{
    size_t size;

    SHIM_FAULT(unsigned, hiprtcGetProgramLog);
    strcpy(log, shim_program_log((const struct shim_program *)program, &size));
    return 0;
}

unsigned hiprtcGetCodeSize(struct _hiprtcProgram *program, size_t *size)
{
    const char *image = ((const struct shim_program *)program)->image;

    SHIM_FAULT(unsigned, hiprtcGetCodeSize);
    if (image == NULL)
        return HIP_RTC_ERROR_INVALID_PROGRAM;
    *size = strlen(image) + 1;
    return 0;
}

unsigned hiprtcGetCode(struct _hiprtcProgram *program, char *code)
{
    SHIM_FAULT(unsigned, hiprtcGetCode);
    strcpy(code, ((const struct shim_program *)program)->image);
    return 0;
}
