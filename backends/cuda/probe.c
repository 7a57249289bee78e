#include "backends/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/internal.h"
#include "harness/core/text.h"

bool cuda_state_nvml(struct cuda_state *state)
{
    unsigned result;

    if (state->nvml_tried)
        return state->nvml_ready;
    state->nvml_tried = true;
    if (nvml_open(&state->nvml_lib, &state->nvml, NULL) != STATUS_OK)
        return false;
    result = state->nvml.nvmlInit_v2();
    if (result != NVML_OUR_SUCCESS) {
        char *tried = text_format("%s: nvmlInit_v2: %s (%u)", state->nvml_lib.path,
                                  state->nvml.nvmlErrorString(result), result);

        if (tried != NULL) {
            free(state->nvml_lib.tried);
            state->nvml_lib.tried = tried;
        }
        return false;
    }
    state->nvml_ready = true;
    result = state->nvml.nvmlSystemGetNVMLVersion(state->nvml_version, sizeof(state->nvml_version));
    if (result != NVML_OUR_SUCCESS) {
        state->nvml_version[0] = '\0';
        error_set(&state->nvml_version_error, STATUS_DEVICE, "nvmlSystemGetNVMLVersion: %s (%u)",
                  state->nvml.nvmlErrorString(result), result);
    }
    return true;
}

bool cuda_state_cublaslt(struct cuda_state *state)
{
    size_t version;

    if (!state->cublaslt_tried) {
        state->cublaslt_tried = true;
        if (cublaslt_open(state->driver_version, &state->cublaslt_lib, &state->cublaslt, NULL) ==
            STATUS_OK) {
            /* CUBLAS_VERSION: 130001 is 13.0.1, before 12 it was 11402 for 11.4.2. */
            version = state->cublaslt.cublasLtGetVersion();
            snprintf(state->cublaslt_version, sizeof(state->cublaslt_version), "%zu.%zu.%zu",
                     version >= 100000 ? version / 10000 : version / 1000,
                     version >= 100000 ? version / 100 % 100 : version / 100 % 10, version % 100);
        }
    }
    return state->cublaslt_lib.handle != NULL;
}

bool cuda_state_cudnn(struct cuda_state *state)
{
    size_t version;

    if (!state->cudnn_tried) {
        state->cudnn_tried = true;
        if (cudnn_open(&state->cudnn_lib, &state->cudnn, NULL) == STATUS_OK) {
            /* CUDNN_VERSION: 91900 is 9.19.0, before 9 it was 8907 for 8.9.7. */
            version = state->cudnn.cudnnGetVersion();
            snprintf(state->cudnn_version, sizeof(state->cudnn_version), "%zu.%zu.%zu",
                     version >= 90000 ? version / 10000 : version / 1000,
                     version >= 90000 ? version / 100 % 100 : version / 100 % 10, version % 100);
        }
    }
    return state->cudnn_lib.handle != NULL;
}

static enum status begin_driver(struct cuda_state *state, struct error *err)
{
    const struct cuda_driver_api *api = &state->driver;
    unsigned code = api->cuInit(0);

    if (code != CUDA_DRIVER_SUCCESS) {
        enum status status = cuda_fail(api, err, state->driver_lib.path, "cuInit", code);

        /* Whatever it is, there is nothing to run on. */
        err->code = STATUS_UNAVAILABLE;
        return status == STATUS_OK ? STATUS_INTERNAL : STATUS_UNAVAILABLE;
    }
    code = api->cuDriverGetVersion(&state->driver_version);
    if (code != CUDA_DRIVER_SUCCESS || state->driver_version <= 0)
        return cuda_fail(api, err, state->driver_lib.path, "cuDriverGetVersion", code);
    snprintf(state->driver_text, sizeof(state->driver_text), "CUDA %d.%d%s%s",
             state->driver_version / 1000, state->driver_version % 1000 / 10,
             api->assay_simulated != NULL ? "; " : "",
             api->assay_simulated != NULL ? api->assay_simulated : "");
    return STATUS_OK;
}

static enum status probe(struct backend *backend, uint32_t *ret_device_count, struct error *err)
{
    struct cuda_state *state = calloc(1, sizeof(*state));
    const struct cuda_driver_api *api;
    enum status status;
    unsigned code;
    int count = 0;

    if (state == NULL)
        return error_no_memory(err);
    /* Kept even when this fails: `libraries` reports what was tried. */
    backend->state = state;
    api = &state->driver;
    TRY(cuda_driver_open(&state->driver_lib, &state->driver, err));
    status = begin_driver(state, &state->driver_version_error);
    if (status != STATUS_OK) {
        if (err != NULL)
            *err = state->driver_version_error;
        return status;
    }
    code = api->cuDeviceGetCount(&count);
    if (code != CUDA_DRIVER_SUCCESS || count < 0 || count > CUDA_DEVICES_MAX)
        return cuda_fail(api, err, state->driver_lib.path, "cuDeviceGetCount", code);
    if (count == 0)
        return error_set(
            err, STATUS_UNAVAILABLE, "%s: the driver shows no device%s", state->driver_lib.path,
            getenv("CUDA_VISIBLE_DEVICES") != NULL ? " (CUDA_VISIBLE_DEVICES is set)" : "");
    *ret_device_count = (uint32_t)count;
    return STATUS_OK;
}

static struct backend_library library(const char *name, const struct dynlib *lib,
                                      const char *version, bool usable)
{
    return (struct backend_library){.name = name,
                                    .path = usable ? lib->path : NULL,
                                    .tried = usable ? NULL : lib->tried,
                                    .version = version[0] != '\0' ? version : NULL};
}

/* Why there is no version, where that is known. */
static const char *reason_of(const struct error *error)
{
    return error->code != STATUS_OK ? error->message : NULL;
}

/* The one that device 0 is compiled for with; without a device the newest. */
static enum status open_nvrtc(const struct backend *backend, struct cuda_state *state)
{
    int device = 0, arch = 0, compute = 0;

    if (backend->device_count > 0 && state->driver.cuDeviceGet(&device, 0) == CUDA_DRIVER_SUCCESS &&
        cuda_device_arch(state, device, &arch, NULL) == STATUS_OK &&
        nvrtc_open_for(arch, state->driver_version, &state->nvrtc, &compute, NULL) == STATUS_OK)
        return STATUS_OK;
    return nvrtc_open(NULL, &state->nvrtc, NULL);
}

static size_t libraries(struct backend *backend, struct backend_library *ret, size_t capacity)
{
    struct cuda_state *state = backend->state;
    struct backend_library all[5];
    size_t count;

    if (state == NULL)
        return 0;
    if (!state->nvrtc_tried) {
        state->nvrtc_tried = true;
        if (open_nvrtc(backend, state) == STATUS_OK)
            snprintf(state->nvrtc_version, sizeof(state->nvrtc_version), "%d.%d",
                     state->nvrtc.major, state->nvrtc.minor);
    }
    cuda_state_cublaslt(state);
    cuda_state_cudnn(state);
    cuda_state_nvml(state);
    all[0] =
        library("cuda", &state->driver_lib, state->driver_text, state->driver_lib.handle != NULL);
    all[0].version_reason = reason_of(&state->driver_version_error);
    all[1] =
        library("nvrtc", &state->nvrtc.lib, state->nvrtc_version, state->nvrtc_version[0] != '\0');
    all[2] = library("cublaslt", &state->cublaslt_lib, state->cublaslt_version,
                     state->cublaslt_lib.handle != NULL);
    all[3] =
        library("cudnn", &state->cudnn_lib, state->cudnn_version, state->cudnn_lib.handle != NULL);
    all[4] = library("nvml", &state->nvml_lib, state->nvml_version, state->nvml_ready);
    all[4].version_reason = reason_of(&state->nvml_version_error);
    for (count = 0; count < capacity && count < sizeof(all) / sizeof(all[0]); count++)
        ret[count] = all[count];
    return count;
}

static const char *const library_names[] = {"cuda", "nvrtc", "cublaslt", "cudnn", "nvml", NULL};

const struct backend_ops cuda_backend_ops = {
    .name = "cuda",
    .description = "NVIDIA devices through the CUDA driver API",
    .probe = probe,
    .device_info = cuda_device_info,
    .device_open = cuda_device_open,
    .library_names = library_names,
    .libraries = libraries,
    .telemetry_open = cuda_telemetry_open,
};
