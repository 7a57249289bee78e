/* A stand-in for NVRTC: OpenCL's compiler looks at the text, which then is the binary. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/cuda/nvrtc.h"
#include "tests/support/gpu_shim/core.h"
#include "tests/support/gpu_shim/cuda.h"

#define PROTOTYPE(result, name, parameters) SHIM_EXPORT result name parameters;
NVRTC_REQUIRED_MAP(PROTOTYPE)
#undef PROTOTYPE

struct _nvrtcProgram {
    char *program, *image, *log;
};

unsigned nvrtcVersion(int *major, int *minor)
{
    SHIM_FAULT(unsigned, nvrtcVersion);
    *major = SHIM_CUDA_VERSION / 1000;
    *minor = 0;
    return 0;
}

const char *nvrtcGetErrorString(unsigned code)
{
    switch (code) {
#define NAME(id, value)                                                                            \
    case value:                                                                                    \
        return "NVRTC_" #id;
        NVRTC_RESULT_MAP(NAME)
#undef NAME
    default:
        return "NVRTC_ERROR unknown";
    }
}

static const int archs[] = {100, 75, 90, 80};

unsigned nvrtcGetNumSupportedArchs(int *count)
{
    SHIM_FAULT(unsigned, nvrtcGetNumSupportedArchs);
    *count = sizeof(archs) / sizeof(archs[0]);
    return 0;
}

unsigned nvrtcGetSupportedArchs(int *ret)
{
    SHIM_FAULT(unsigned, nvrtcGetSupportedArchs);
    memcpy(ret, archs, sizeof(archs));
    return 0;
}

unsigned nvrtcCreateProgram(struct _nvrtcProgram **program, const char *text, const char *name,
                            int header_count, const char *const *headers,
                            const char *const *header_names)
{
    struct _nvrtcProgram *made;

    (void)headers;
    (void)header_names;
    SHIM_FAULT(unsigned, nvrtcCreateProgram);
    if (name == NULL || header_count != 0)
        return CUDA_NVRTC_ERROR_INVALID_INPUT;
    made = calloc(1, sizeof(*made));
    if (made == NULL || (made->program = strdup(text)) == NULL) {
        free(made);
        return CUDA_NVRTC_ERROR_OUT_OF_MEMORY;
    }
    shim_live_add(1);
    *program = made;
    return 0;
}

unsigned nvrtcDestroyProgram(struct _nvrtcProgram **program)
{
    int code;
    const bool failing = shim_fails("nvrtcDestroyProgram", &code);

    free((*program)->program);
    free((*program)->image);
    free((*program)->log);
    free(*program);
    *program = NULL;
    shim_live_add(-1);
    return failing ? (unsigned)code : 0;
}

/* Options that would change what the arithmetic means are refused, as a test of the backend. */
static bool options_fit(int count, const char *const *options)
{
    bool fmad = false, architecture = false;

    for (int i = 0; i < count; i++) {
        fmad = fmad || strcmp(options[i], "--fmad=false") == 0;
        architecture = architecture || strncmp(options[i], "--gpu-architecture=", 19) == 0;
        if (strstr(options[i], "fast") != NULL)
            return false;
    }
    return fmad && architecture;
}

unsigned nvrtcCompileProgram(struct _nvrtcProgram *program, int option_count,
                             const char *const *options)
{
    struct core_module *module = NULL;
    enum core_result result;
    char *text;
    size_t size;

    SHIM_FAULT(unsigned, nvrtcCompileProgram);
    if (getenv("ASSAY_SHIM_COMPILER_ABORTS") != NULL)
        abort();
    if (getenv("ASSAY_SHIM_COMPILER_HANGS") != NULL)
        for (;;)
            pause();
    if (!options_fit(option_count, options))
        return CUDA_NVRTC_ERROR_INVALID_OPTION;
    text = core_program_text(program->program);
    if (text == NULL || core_open() != CORE_OK) {
        free(text);
        return CUDA_NVRTC_ERROR_INVALID_PROGRAM;
    }
    result = core_module_create(text, &module, &program->log);
    if (result == CORE_OK) {
        core_module_destroy(module);
        program->log = strdup("compiled by the stand-in\n");
        size = strlen(SHIM_IMAGE) + strlen(text) + 1;
        program->image = malloc(size);
        if (program->image != NULL)
            snprintf(program->image, size, "%s%s", SHIM_IMAGE, text);
    }
    free(text);
    if (result == CORE_NOT_COMPILED)
        return CUDA_NVRTC_ERROR_COMPILATION;
    return program->image != NULL ? 0 : CUDA_NVRTC_ERROR_OUT_OF_MEMORY;
}

unsigned nvrtcGetProgramLogSize(struct _nvrtcProgram *program, size_t *size)
{
    SHIM_FAULT(unsigned, nvrtcGetProgramLogSize);
    *size = program->log != NULL ? strlen(program->log) + 1 : 1;
    return 0;
}

unsigned nvrtcGetProgramLog(struct _nvrtcProgram *program, char *log)
{
    SHIM_FAULT(unsigned, nvrtcGetProgramLog);
    strcpy(log, program->log != NULL ? program->log : "");
    return 0;
}

static unsigned image_size(const struct _nvrtcProgram *program, size_t *size)
{
    if (program->image == NULL)
        return CUDA_NVRTC_ERROR_INVALID_PROGRAM;
    *size = strlen(program->image) + 1;
    return 0;
}

unsigned nvrtcGetCUBINSize(struct _nvrtcProgram *program, size_t *size)
{
    SHIM_FAULT(unsigned, nvrtcGetCUBINSize);
    return image_size(program, size);
}

unsigned nvrtcGetCUBIN(struct _nvrtcProgram *program, char *bytes)
{
    SHIM_FAULT(unsigned, nvrtcGetCUBIN);
    strcpy(bytes, program->image);
    return 0;
}

unsigned nvrtcGetPTXSize(struct _nvrtcProgram *program, size_t *size)
{
    SHIM_FAULT(unsigned, nvrtcGetPTXSize);
    return image_size(program, size);
}

unsigned nvrtcGetPTX(struct _nvrtcProgram *program, char *bytes)
{
    SHIM_FAULT(unsigned, nvrtcGetPTX);
    strcpy(bytes, program->image);
    return 0;
}
