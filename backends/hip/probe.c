#include <stdlib.h>
#include <unistd.h>

#include "backends/hip/hip.h"
#include "backends/hip/internal.h"

/* A runtime without a device most often lacks the kernel's driver or the right to open it. */
static enum status no_device(const struct hip_state *state, const char *function, int code,
                             struct error *err)
{
    const char *hint = "";

    if (state->runtime.assay_simulated == NULL) {
        if (access("/dev/kfd", F_OK) != 0)
            hint = "; there is no /dev/kfd, so the amdgpu kernel driver is not loaded or this "
                   "container was not given it";
        else if (access("/dev/kfd", R_OK | W_OK) != 0)
            hint = "; /dev/kfd is there but may not be opened: add the user to the group render";
    }
    if (code == HIP_Success)
        return error_set(err, STATUS_UNAVAILABLE, "the HIP runtime (%s) finds no device%s",
                         state->runtime_lib.path, hint);
    return error_set(err, STATUS_UNAVAILABLE, "the HIP runtime (%s) finds no device: %s: %s (%d)%s",
                     state->runtime_lib.path, function, hip_runtime_error_name(code), code, hint);
}

static void read_versions(struct hip_state *state)
{
    int version = 0, minor = 0;
    int code = state->runtime.hipRuntimeGetVersion(&version);

    if (code == HIP_Success && version > 0)
        snprintf(state->runtime_version, sizeof(state->runtime_version), "HIP %d.%d.%d",
                 version / 10000000, version / 100000 % 100, version % 100000);
    else
        hip_runtime_fail(&state->runtime_version_error, NULL, "hipRuntimeGetVersion", code);
    if (!state->rtc_open)
        return;
    code = state->rtc.hiprtcVersion(&version, &minor);
    if (code == HIP_RTC_SUCCESS)
        snprintf(state->rtc_version, sizeof(state->rtc_version), "HIPRTC %d.%d%s%s", version, minor,
                 state->runtime_version[0] != '\0' ? " of " : "", state->runtime_version);
    else
        snprintf(state->rtc_version, sizeof(state->rtc_version), "HIPRTC (hiprtcVersion: %s (%d))",
                 hip_rtc_error_name(code), code);
}

static enum status find_devices(struct hip_state *state, struct error *err)
{
    int count = 0, code = state->runtime.hipInit(0);

    /* 5.2 says "invalid device" where there is none. */
    if (code == HIP_ErrorNoDevice || code == HIP_ErrorInvalidDevice)
        return no_device(state, "hipInit", code, err);
    if (code != HIP_Success)
        return hip_runtime_fail(err, state->runtime_lib.path, "hipInit", code);
    code = state->runtime.hipGetDeviceCount(&count);
    if (code == HIP_ErrorNoDevice || (code == HIP_Success && count == 0))
        return no_device(state, "hipGetDeviceCount", code, err);
    if (code != HIP_Success)
        return hip_runtime_fail(err, state->runtime_lib.path, "hipGetDeviceCount", code);
    if (count < 0 || count > HIP_DEVICES_MAX)
        return error_set(err, STATUS_DEVICE, "hipGetDeviceCount: it gave %d devices", count);
    state->device_count = (uint32_t)count;
    return STATUS_OK;
}

static enum status probe(struct backend *backend, uint32_t *ret_device_count, struct error *err)
{
    struct hip_state *state = calloc(1, sizeof(*state));
    enum status status;

    if (state == NULL)
        return error_no_memory(err);
    backend->state = state;
    TRY(hip_runtime_open(&state->runtime_lib, &state->runtime, err));
    state->rtc_open = hip_rtc_open(state->runtime_lib.path, &state->rtc_lib, &state->rtc,
                                   &state->rtc_error) == STATUS_OK;
    read_versions(state);
    status = find_devices(state, &state->no_device);
    if (status == STATUS_OK)
        *ret_device_count = state->device_count;
    else if (err)
        *err = state->no_device;
    return status;
}

static struct backend_library library(const char *name, const struct dynlib *lib,
                                      const char *version, const struct error *reason)
{
    const bool reported = version[0] != '\0';

    return (struct backend_library){
        .name = name,
        .path = lib->path,
        .tried = lib->path == NULL ? lib->tried : NULL,
        .version = reported ? version : NULL,
        .version_reason =
            !reported && reason && reason->code != STATUS_OK ? reason->message : NULL};
}

/* hipBLASLt reports its version to a handle alone, and there is none without a device. */
static void read_hipblaslt_version(struct hip_state *state)
{
    const char *function = "hipblasLtCreate";
    void *handle = NULL;
    int code, version = 0;

    hip_hipblaslt_open(state);
    if (state->hipblaslt_lib.status != STATUS_OK)
        return;
    if (state->device_count == 0) {
        state->hipblaslt_version_error = state->no_device;
        return;
    }
    code = state->hipblaslt.hipblasLtCreate(&handle);
    if (code == HIPBLAS_SUCCESS && handle != NULL) {
        function = "hipblasLtGetVersion";
        code = state->hipblaslt.hipblasLtGetVersion(handle, &version);
        state->hipblaslt.hipblasLtDestroy(handle);
    }
    if (code == HIPBLAS_SUCCESS && version > 0)
        hipblaslt_version_text(version, state->hipblaslt_version, sizeof(state->hipblaslt_version));
    else
        error_set(&state->hipblaslt_version_error, STATUS_DEVICE, "%s: %s (%d)", function,
                  hipblaslt_status_name(code), code);
}

static void read_rocblas_version(struct hip_state *state)
{
    int code;

    hip_rocblas_open(state);
    if (state->rocblas_lib.status != STATUS_OK)
        return;
    code = state->rocblas.rocblas_get_version_string(state->rocblas_version,
                                                     sizeof(state->rocblas_version) - 1);
    if (code == ROCBLAS_success)
        return;
    state->rocblas_version[0] = '\0';
    error_set(&state->rocblas_version_error, STATUS_DEVICE, "rocblas_get_version_string: %s (%d)",
              rocblas_status_name(code), code);
}

/* The optional ones are opened for this list, so that it is complete. */
static size_t libraries(struct backend *backend, struct backend_library *ret, size_t capacity)
{
    struct hip_state *state = backend->state;
    size_t count = 0;

    if (state == NULL)
        return 0;
    if (count < capacity)
        ret[count++] = library("hip", &state->runtime_lib, state->runtime_version,
                               &state->runtime_version_error);
    if (state->runtime_lib.path == NULL)
        return count;
    read_rocblas_version(state);
    read_hipblaslt_version(state);
    if (count < capacity)
        ret[count++] = library("hiprtc", &state->rtc_lib, state->rtc_version, NULL);
    if (count < capacity)
        ret[count++] = library("hipblaslt", &state->hipblaslt_lib.lib, state->hipblaslt_version,
                               &state->hipblaslt_version_error);
    if (count < capacity)
        ret[count++] = library("rocblas", &state->rocblas_lib.lib, state->rocblas_version,
                               &state->rocblas_version_error);
    if (count < capacity)
        ret[count++] = (struct backend_library){
            .name = "miopen",
            .tried = "nothing: convolutions through MIOpen are not built in, so there are none"};
    return count + hip_telemetry_libraries(ret + count, capacity - count);
}

static const char *const library_names[] = {"hip",     "hiprtc",   "hipblaslt",
                                            "rocblas", "rocm_smi", NULL};

const struct backend_ops hip_backend_ops = {
    .name = "hip",
    .description = "AMD GPUs through HIP, compiled for by HIPRTC",
    .probe = probe,
    .device_info = hip_device_info,
    .device_open = hip_device_open,
    .library_names = library_names,
    .libraries = libraries,
    .telemetry_open = hip_telemetry_open,
};
