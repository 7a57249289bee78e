#include "backends/hip/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/guard.h"
#include "harness/core/text.h"

#define BYTES_MAX ((size_t)1 << 30)

/*
 * Nothing that loosens arithmetic: contraction off (the prelude says so too), denormals kept unless
 * asked otherwise. Division and square root are exact by the compiler's default, which has no
 * option in every version; so is -fno-fast-math, which would undo the choice of denormals.
 */
static char *build_options(const char *arch, bool flush_denormals)
{
    return text_format("--offload-arch=%s -O3 -std=c++14 -ffp-contract=off %s", arch,
                       flush_denormals ? "-fgpu-flush-denormals-to-zero"
                                       : "-fno-gpu-flush-denormals-to-zero");
}

/* The log, which is also wanted where compiling failed; "" where there is none. */
static char *read_log(const struct hip_rtc *rtc, struct _hiprtcProgram *program)
{
    size_t size = 0;
    char *log;

    if (rtc->hiprtcGetProgramLogSize(program, &size) != HIP_RTC_SUCCESS || size == 0 ||
        size > BYTES_MAX)
        return strdup("");
    log = calloc(1, size + 1);
    if (log != NULL && rtc->hiprtcGetProgramLog(program, log) != HIP_RTC_SUCCESS)
        log[0] = '\0';
    return log;
}

static enum status read_code(const struct hip_rtc *rtc, struct _hiprtcProgram *program,
                             const char *file, struct gpu_binary *ret, struct error *err)
{
    size_t size = 0;
    int code = rtc->hiprtcGetCodeSize(program, &size);

    if (code != HIP_RTC_SUCCESS || size == 0 || size > BYTES_MAX)
        return hip_rtc_fail(err, file, "hiprtcGetCodeSize", code);
    ret->bytes = malloc(size);
    if (ret->bytes == NULL)
        return error_no_memory(err);
    code = rtc->hiprtcGetCode(program, (char *)ret->bytes);
    if (code != HIP_RTC_SUCCESS)
        return hip_rtc_fail(err, file, "hiprtcGetCode", code);
    ret->size = size;
    return STATUS_OK;
}

/* Splits `options` (changed) at its spaces and compiles. */
static int run_compiler(const struct hip_rtc *rtc, struct _hiprtcProgram *program, char *options)
{
    const char *words[16];
    char *rest = NULL;
    int count = 0;

    for (char *word = strtok_r(options, " ", &rest); word != NULL && count < 16;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    return rtc->hiprtcCompileProgram(program, count, words);
}

enum status hip_compile_for(const struct hip_rtc *rtc, const char *arch, bool flush_denormals,
                            const char *version, const char *file, const char *program,
                            struct gpu_binary *ret, struct error *err)
{
    struct _hiprtcProgram *handle = NULL;
    char *options = build_options(arch, flush_denormals);
    enum status status;
    int code;

    ret->options = build_options(arch, flush_denormals);
    ret->compiler = strdup(version);
    if (options == NULL || ret->options == NULL || ret->compiler == NULL) {
        free(options);
        return error_no_memory(err);
    }
    code = rtc->hiprtcCreateProgram(&handle, program, file, 0, NULL, NULL);
    if (code != HIP_RTC_SUCCESS || handle == NULL) {
        free(options);
        return hip_rtc_fail(err, file, "hiprtcCreateProgram", code);
    }
    gpu_guard_begin(version, file, arch);
    code = run_compiler(rtc, handle, options);
    gpu_guard_end();
    free(options);
    ret->log = read_log(rtc, handle);
    if (ret->log == NULL)
        status = error_no_memory(err);
    else if (code == HIP_RTC_ERROR_COMPILATION)
        status = gpu_refuse(file, "hiprtcCompileProgram", hip_rtc_error_name(code), ret->log, err);
    else if (code != HIP_RTC_SUCCESS)
        status = hip_rtc_fail(err, file, "hiprtcCompileProgram", code);
    else
        status = read_code(rtc, handle, file, ret, err);
    rtc->hiprtcDestroyProgram(&handle);
    return status;
}

enum status hip_compile(struct gpu_device *base, const struct module_source *source,
                        const char *program, struct gpu_binary *ret, struct error *err)
{
    const struct hip_device *device = hip_device(base);
    const struct hip_state *state = device->state;

    if (!state->rtc_open)
        return error_set(err, STATUS_UNAVAILABLE, "HIPRTC, which compiles kernels: %s",
                         state->rtc_error.message);
    return hip_compile_for(&state->rtc, device->arch, base->flush_denormals, state->rtc_version,
                           source->file, program, ret, err);
}
