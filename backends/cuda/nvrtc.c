#include "backends/cuda/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/guard.h"
#include "harness/core/text.h"

#define BYTES_MAX ((size_t)256 << 20)

#define DYNLIB_API struct nvrtc_api
static const struct dynlib_symbol symbols[] = {NVRTC_REQUIRED_MAP(DYNLIB_REQUIRED)};

/* Newest first. The soname has been that of the major version since 12, of 11.2 from 11.2 on. */
static const struct {
    const char *soname;
    int major;
} candidates[] = {
    {"libnvrtc.so.14", 14},
    {"libnvrtc.so.13", 13},
    {"libnvrtc.so.12", 12},
    {"libnvrtc.so.11.2", 11},
    {"/usr/local/cuda/lib64/libnvrtc.so", 0},
    {"/usr/local/cuda/lib/libnvrtc.so", 0},
};
#define CANDIDATES (sizeof(candidates) / sizeof(candidates[0]))

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static enum status unusable(const struct nvrtc *nvrtc, const char *function, unsigned code,
                            struct error *err)
{
    if (code == CUDA_NVRTC_SUCCESS)
        return error_set(err, STATUS_UNAVAILABLE, "%s: %s: its result cannot be", nvrtc->lib.path,
                         function);
    return error_set(err, STATUS_UNAVAILABLE, "%s: %s: %s (%u)", nvrtc->lib.path, function,
                     nvrtc->api.nvrtcGetErrorString(code), code);
}

static enum status ask(struct nvrtc *nvrtc, struct error *err)
{
    int count = 0;
    unsigned code = nvrtc->api.nvrtcVersion(&nvrtc->major, &nvrtc->minor);

    if (code != CUDA_NVRTC_SUCCESS || nvrtc->major <= 0)
        return unusable(nvrtc, "nvrtcVersion", code, err);
    code = nvrtc->api.nvrtcGetNumSupportedArchs(&count);
    if (code != CUDA_NVRTC_SUCCESS || count < 1 || count > NVRTC_ARCHS_MAX)
        return unusable(nvrtc, "nvrtcGetNumSupportedArchs", code, err);
    code = nvrtc->api.nvrtcGetSupportedArchs(nvrtc->archs);
    if (code != CUDA_NVRTC_SUCCESS)
        return unusable(nvrtc, "nvrtcGetSupportedArchs", code, err);
    nvrtc->arch_count = (size_t)count;
    qsort(nvrtc->archs, nvrtc->arch_count, sizeof(nvrtc->archs[0]), by_number);
    return STATUS_OK;
}

static enum status open_sonames(const char *const *sonames, struct nvrtc *ret, struct error *err)
{
    const struct dynlib_spec spec = DYNLIB_SPEC("nvrtc", sonames, symbols);

    memset(ret, 0, sizeof(*ret));
    TRY(dynlib_open(&spec, &ret->lib, &ret->api, err));
    return ask(ret, err);
}

enum status nvrtc_open(const char *soname, struct nvrtc *ret, struct error *err)
{
    const char *sonames[CANDIDATES + 1] = {soname, NULL};

    for (size_t i = 0; soname == NULL && i < CANDIDATES; i++)
        sonames[i] = candidates[i].soname;
    return open_sonames(sonames, ret, err);
}

void nvrtc_finish(struct nvrtc *nvrtc)
{
    dynlib_finish(&nvrtc->lib);
}

int nvrtc_target(const struct nvrtc *nvrtc, int arch)
{
    int best = 0;

    for (size_t i = 0; i < nvrtc->arch_count; i++) {
        if (nvrtc->archs[i] == arch)
            return arch;
        if (nvrtc->archs[i] < arch)
            best = -nvrtc->archs[i];
    }
    return best;
}

/* A CUBIN or PTX of a newer major version is not for this driver: 0 own, 1 older, 2 newer. */
static int rank_of(int major, int driver_major)
{
    return major == 0 || major == driver_major ? 0 : major < driver_major ? 1 : 2;
}

enum status nvrtc_open_for(int arch, int driver_version, struct nvrtc *ret, int *ret_compute,
                           struct error *err)
{
    const bool only = dynlib_override_path("nvrtc") != NULL;
    struct nvrtc best = {0}, one;
    struct text tried;
    int best_target = 0;
    enum status status = STATUS_UNAVAILABLE;

    text_init(&tried);
    for (int rank = 0; rank <= 2 && best_target <= 0; rank++) {
        for (size_t i = 0; i < CANDIDATES && best_target <= 0; i++) {
            struct error mine = ERROR_INIT;
            bool newer = false;
            int target = 0;

            if (rank_of(candidates[i].major, driver_version / 1000) != rank ||
                (only && (rank > 0 || tried.length > 0 || best_target != 0)))
                continue;
            if (nvrtc_open(candidates[i].soname, &one, &mine) == STATUS_OK)
                target = nvrtc_target(&one, arch);
            /* PTX is translated by the driver, which must be as new as what wrote it. */
            if (target < 0)
                newer = one.major * 1000 + one.minor * 10 > driver_version;
            if (newer || (target < 0 && best_target != 0))
                target = 0;
            if (target != 0) {
                nvrtc_finish(&best);
                best = one;
                best_target = target;
                continue;
            }
            text_append_format(&tried, "%s%s", tried.length > 0 ? "; " : "",
                               mine.code != STATUS_OK ? mine.message : one.lib.path);
            if (mine.code == STATUS_OK)
                text_append_format(&tried, ": NVRTC %d.%d does not know sm_%d%s", one.major,
                                   one.minor, arch,
                                   newer ? ", and its PTX is newer than the driver" : "");
            nvrtc_finish(&one);
        }
    }
    if (best_target != 0) {
        *ret = best;
        *ret_compute = best_target;
        status = STATUS_OK;
    } else {
        error_set(err, status, "no NVRTC for sm_%d: %s", arch,
                  text_ok(&tried) ? tried.data : "out of memory");
    }
    text_finish(&tried);
    return status;
}

#define NVRTC_OPTIONS_MAX 12
#define NVRTC_OPTION_SIZE 48

static size_t nvrtc_options(int compute, bool flush_denormals,
                            char ret[NVRTC_OPTIONS_MAX][NVRTC_OPTION_SIZE])
{
    size_t count = 0;

    snprintf(ret[count++], NVRTC_OPTION_SIZE, "--gpu-architecture=%s_%d",
             compute < 0 ? "compute" : "sm", abs(compute));
    snprintf(ret[count++], NVRTC_OPTION_SIZE, "--std=c++17");
    snprintf(ret[count++], NVRTC_OPTION_SIZE, "--fmad=false");
    snprintf(ret[count++], NVRTC_OPTION_SIZE, "--prec-div=true");
    snprintf(ret[count++], NVRTC_OPTION_SIZE, "--prec-sqrt=true");
    snprintf(ret[count++], NVRTC_OPTION_SIZE, "--ftz=%s", flush_denormals ? "true" : "false");
    snprintf(ret[count++], NVRTC_OPTION_SIZE, "--disable-warnings");
    return count;
}

static enum status fail(const struct nvrtc *nvrtc, const char *file, const char *function,
                        unsigned code, struct error *err)
{
    const enum status status =
        code == CUDA_NVRTC_ERROR_OUT_OF_MEMORY ? STATUS_NO_MEMORY : STATUS_DEVICE;

    if (code == CUDA_NVRTC_SUCCESS)
        return error_set(err, status, "%s: %s: succeeded, but what it gave cannot be", file,
                         function);
    return error_set(err, status, "%s: %s: %s (%u)", file, function,
                     nvrtc->api.nvrtcGetErrorString(code), code);
}

/* The log; without one a refusal is still a refusal. */
static char *read_log(const struct nvrtc_api *api, struct _nvrtcProgram *program)
{
    size_t size = 0;
    char *log;

    if (api->nvrtcGetProgramLogSize(program, &size) != CUDA_NVRTC_SUCCESS || size <= 1 ||
        size > BYTES_MAX)
        return NULL;
    log = calloc(1, size + 1);
    if (log != NULL && api->nvrtcGetProgramLog(program, log) != CUDA_NVRTC_SUCCESS)
        log[0] = '\0';
    return log;
}

static enum status read_code(const struct nvrtc *nvrtc, struct _nvrtcProgram *program,
                             const char *file, bool ptx, struct gpu_binary *ret, struct error *err)
{
    const struct nvrtc_api *api = &nvrtc->api;
    const char *function = ptx ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize";
    size_t size = 0;
    unsigned code =
        ptx ? api->nvrtcGetPTXSize(program, &size) : api->nvrtcGetCUBINSize(program, &size);

    if (code != CUDA_NVRTC_SUCCESS || size == 0 || size > BYTES_MAX)
        return fail(nvrtc, file, function, code, err);
    ret->bytes = calloc(1, size + 1);
    if (ret->bytes == NULL)
        return error_no_memory(err);
    function = ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN";
    code = ptx ? api->nvrtcGetPTX(program, (char *)ret->bytes)
               : api->nvrtcGetCUBIN(program, (char *)ret->bytes);
    if (code != CUDA_NVRTC_SUCCESS)
        return fail(nvrtc, file, function, code, err);
    ret->size = size;
    return STATUS_OK;
}

static enum status run(const struct nvrtc *nvrtc, struct _nvrtcProgram *program, const char *file,
                       int compute, bool flush_denormals, const char *extra, struct gpu_binary *ret,
                       struct error *err)
{
    char options[NVRTC_OPTIONS_MAX][NVRTC_OPTION_SIZE];
    const char *pointers[NVRTC_OPTIONS_MAX + 1];
    size_t count = nvrtc_options(compute, flush_denormals, options);
    struct text joined;
    unsigned code;

    text_init(&joined);
    for (size_t i = 0; i < count; i++) {
        pointers[i] = options[i];
        text_append_format(&joined, "%s%s", i > 0 ? " " : "", options[i]);
    }
    if (extra != NULL) {
        pointers[count++] = extra;
        text_append_format(&joined, " %s", extra);
    }
    ret->options = text_steal(&joined);
    ret->compiler = text_format("NVRTC %d.%d (%s)", nvrtc->major, nvrtc->minor, nvrtc->lib.path);
    if (ret->options == NULL || ret->compiler == NULL)
        return error_no_memory(err);
    gpu_guard_begin(ret->compiler, file, strchr(options[0], '=') + 1);
    code = nvrtc->api.nvrtcCompileProgram(program, (int)count, pointers);
    gpu_guard_end();
    ret->log = read_log(&nvrtc->api, program);
    if (code == CUDA_NVRTC_SUCCESS)
        return read_code(nvrtc, program, file, compute < 0, ret, err);
    if (ret->log != NULL && strstr(ret->log, "too much shared data") != NULL)
        return error_set(err, STATUS_UNSUPPORTED, "%s: %s", file, ret->log);
    if (code == CUDA_NVRTC_ERROR_COMPILATION)
        return gpu_refuse(file, "nvrtcCompileProgram", nvrtc->api.nvrtcGetErrorString(code),
                          ret->log, err);
    if (code == CUDA_NVRTC_ERROR_BUILTIN_OPERATION_FAILURE)
        return error_set(err, STATUS_UNAVAILABLE,
                         "%s: nvrtcCompileProgram: %s (%u): %s; libnvrtc-builtins of the same "
                         "version must be where the loader finds it",
                         file, nvrtc->api.nvrtcGetErrorString(code), code,
                         ret->log != NULL ? ret->log : "");
    return fail(nvrtc, file, "nvrtcCompileProgram", code, err);
}

enum status nvrtc_compile(const struct nvrtc *nvrtc, const char *file, const char *text,
                          int compute, bool flush_denormals, const char *extra,
                          struct gpu_binary *ret, struct error *err)
{
    const struct nvrtc_api *api = &nvrtc->api;
    struct _nvrtcProgram *program = NULL;
    unsigned code = api->nvrtcCreateProgram(&program, text, file, 0, NULL, NULL);
    enum status status;

    if (code != CUDA_NVRTC_SUCCESS || program == NULL)
        return fail(nvrtc, file, "nvrtcCreateProgram", code, err);
    status = run(nvrtc, program, file, compute, flush_denormals, extra, ret, err);
    api->nvrtcDestroyProgram(&program);
    return status;
}
