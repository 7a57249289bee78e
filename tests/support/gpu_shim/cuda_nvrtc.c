/* A stand-in for NVRTC: OpenCL's compiler checks the text, which then is the binary. */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/nvrtc.h"
#include "tests/support/gpu_shim/cuda.h"
#include "tests/support/gpu_shim/program.h"

#define PROTOTYPE(result, name, parameters) SHIM_EXPORT result name parameters;
NVRTC_REQUIRED_MAP(PROTOTYPE)
#undef PROTOTYPE

unsigned nvrtcVersion(int *major, int *minor)
{
    const char *newer = getenv("ASSAY_SHIM_NVRTC_MINOR");

    SHIM_FAULT(unsigned, nvrtcVersion);
    *major = SHIM_CUDA_VERSION / 1000;
    *minor = newer != NULL ? atoi(newer) : 0;
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
    struct shim_program *made;

    (void)headers;
    (void)header_names;
    SHIM_FAULT(unsigned, nvrtcCreateProgram);
    if (name == NULL || header_count != 0)
        return CUDA_NVRTC_ERROR_INVALID_INPUT;
    made = shim_program_create(text);
    if (made == NULL)
        return CUDA_NVRTC_ERROR_OUT_OF_MEMORY;
    *program = (struct _nvrtcProgram *)made;
    return 0;
}

unsigned nvrtcDestroyProgram(struct _nvrtcProgram **program)
{
    int code;
    const bool failing = shim_fails("nvrtcDestroyProgram", &code);

    shim_program_destroy((struct shim_program *)*program);
    *program = NULL;
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
    SHIM_FAULT(unsigned, nvrtcCompileProgram);
    shim_compiler_misbehave();
    if (!options_fit(option_count, options))
        return CUDA_NVRTC_ERROR_INVALID_OPTION;
    switch (shim_program_compile((struct shim_program *)program, SHIM_IMAGE)) {
    case CORE_OK:
        return 0;
    case CORE_INVALID:
        return CUDA_NVRTC_ERROR_INVALID_PROGRAM;
    case CORE_NOT_COMPILED:
        return CUDA_NVRTC_ERROR_COMPILATION;
    default:
        return CUDA_NVRTC_ERROR_OUT_OF_MEMORY;
    }
}

unsigned nvrtcGetProgramLogSize(struct _nvrtcProgram *program, size_t *size)
{
    SHIM_FAULT(unsigned, nvrtcGetProgramLogSize);
    shim_program_log((const struct shim_program *)program, size);
    return 0;
}

unsigned nvrtcGetProgramLog(struct _nvrtcProgram *program, char *log)
{
    size_t size;

    SHIM_FAULT(unsigned, nvrtcGetProgramLog);
    strcpy(log, shim_program_log((const struct shim_program *)program, &size));
    return 0;
}

static unsigned image_size(const struct _nvrtcProgram *program, size_t *size)
{
    const char *image = ((const struct shim_program *)program)->image;

    if (image == NULL)
        return CUDA_NVRTC_ERROR_INVALID_PROGRAM;
    *size = strlen(image) + 1;
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
    strcpy(bytes, ((const struct shim_program *)program)->image);
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
    strcpy(bytes, ((const struct shim_program *)program)->image);
    return 0;
}
