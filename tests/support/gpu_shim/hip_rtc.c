/* A stand-in for HIPRTC: OpenCL's compiler looks at the text, which then is the binary. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/hip/rtc.h"
#include "tests/support/gpu_shim/core.h"
#include "tests/support/gpu_shim/hip.h"

#define PROTOTYPE(name, parameters) SHIM_EXPORT unsigned name parameters;
HIP_RTC_REQUIRED_MAP(PROTOTYPE)
#undef PROTOTYPE

struct _hiprtcProgram {
    char *program, *image, *log;
};

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
    struct _hiprtcProgram *made;

    (void)headers;
    (void)include_names;
    SHIM_FAULT(unsigned, hiprtcCreateProgram);
    if (name == NULL || header_count != 0)
        return HIP_RTC_ERROR_INVALID_INPUT;
    made = calloc(1, sizeof(*made));
    if (made == NULL || (made->program = strdup(text)) == NULL) {
        free(made);
        return HIP_RTC_ERROR_OUT_OF_MEMORY;
    }
    shim_live_add(1);
    *program = made;
    return 0;
}

unsigned hiprtcDestroyProgram(struct _hiprtcProgram **program)
{
    int code;
    const bool failing = shim_fails("hiprtcDestroyProgram", &code);

    free((*program)->program);
    free((*program)->image);
    free((*program)->log);
    free(*program);
    *program = NULL;
    shim_live_add(-1);
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
    struct core_module *module = NULL;
    enum core_result result;
    char *text;
    size_t size;

    SHIM_FAULT(unsigned, hiprtcCompileProgram);
    if (getenv("ASSAY_SHIM_COMPILER_ABORTS") != NULL)
        abort(); /* as HIPRTC 5.2 does on an arch that it does not know */
    if (getenv("ASSAY_SHIM_COMPILER_HANGS") != NULL)
        for (;;)
            pause();
    if (!options_fit(count, options))
        return HIP_RTC_ERROR_INVALID_OPTION;
    text = core_program_text(program->program);
    if (text == NULL || core_open() != CORE_OK) {
        free(text);
        return HIP_RTC_ERROR_INVALID_PROGRAM;
    }
    result = core_module_create(text, &module, &program->log);
    if (result == CORE_OK) {
        core_module_destroy(module);
        free(program->log);
        program->log = strdup("compiled by the stand-in\n");
        size = strlen(SHIM_HIP_IMAGE) + strlen(text) + 1;
        program->image = malloc(size);
        if (program->image != NULL)
            snprintf(program->image, size, "%s%s", SHIM_HIP_IMAGE, text);
    }
    free(text);
    if (result == CORE_NOT_COMPILED)
        return HIP_RTC_ERROR_COMPILATION;
    return program->image != NULL ? 0 : HIP_RTC_ERROR_OUT_OF_MEMORY;
}

unsigned hiprtcGetProgramLogSize(struct _hiprtcProgram *program, size_t *size)
{
    SHIM_FAULT(unsigned, hiprtcGetProgramLogSize);
    *size = program->log != NULL ? strlen(program->log) + 1 : 1;
    return 0;
}

unsigned hiprtcGetProgramLog(struct _hiprtcProgram *program, char *log)
{
    SHIM_FAULT(unsigned, hiprtcGetProgramLog);
    strcpy(log, program->log != NULL ? program->log : "");
    return 0;
}

unsigned hiprtcGetCodeSize(struct _hiprtcProgram *program, size_t *size)
{
    SHIM_FAULT(unsigned, hiprtcGetCodeSize);
    if (program->image == NULL)
        return HIP_RTC_ERROR_INVALID_PROGRAM;
    *size = strlen(program->image) + 1;
    return 0;
}

unsigned hiprtcGetCode(struct _hiprtcProgram *program, char *code)
{
    SHIM_FAULT(unsigned, hiprtcGetCode);
    strcpy(code, program->image);
    return 0;
}
