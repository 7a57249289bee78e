#include "backends/opencl/opencl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/internal.h"
#include "backends/opencl/vendors.h"
#include "harness/core/cleanup.h"

/*
 * A platform of an ICD begins with a pointer to its dispatch table, whose first entry is the
 * vendor's own clGetPlatformIDs (extension cl_khr_icd): that reports which file the driver is.
 */
static char *find_library(const struct opencl_api *api, struct _cl_platform_id *id)
{
    const struct opencl_object object = {.api = api, .platform = id};
    char *extensions = NULL, *path = NULL;
    void *const *dispatch;
    Dl_info info;

    if (opencl_query_text(&object, OCL_PLATFORM_EXTENSIONS, &extensions, NULL) != STATUS_OK)
        return NULL;
    if (strstr(extensions, "cl_khr_icd") != NULL) {
        memcpy(&dispatch, id, sizeof(dispatch));
        if (dispatch != NULL && dispatch[0] != NULL && dladdr(dispatch[0], &info) != 0 &&
            info.dli_fname != NULL)
            path = strdup(info.dli_fname);
    }
    free(extensions);
    return path;
}

/* The error of the n-th platform that failed. */
static enum status platform_error(const struct opencl_state *state, uint32_t n, struct error *err)
{
    const struct opencl_platform *platform = state->platforms;

    while (!platform->failed || n-- > 0)
        platform++;
    return error_set(err, STATUS_UNAVAILABLE, "the platform %s%s%s%s gives no devices: %s",
                     platform->name != NULL ? platform->name : "without a name",
                     platform->library != NULL ? " (" : "",
                     platform->library != NULL ? platform->library : "",
                     platform->library != NULL ? ")" : "",
                     platform->note != NULL ? platform->note : "out of memory");
}

/*
 * UNSUPPORTED, with how many are beyond the bounds. They are represented by one device after the
 * last that is listed, so that users see it.
 */
static enum status opencl_left_out(const struct opencl_state *state, struct error *err)
{
    return error_set(err, STATUS_UNSUPPORTED,
                     "%u more devices and %u more platforms are left out: assay lists at most %d "
                     "devices of %d platforms; let the loader take fewer drivers (OCL_ICD_VENDORS)",
                     state->devices_left_out, state->platforms_left_out, OPENCL_DEVICES_MAX,
                     OPENCL_PLATFORMS_MAX);
}

static enum status add_devices(struct opencl_state *state, struct opencl_platform *platform,
                               struct error *err)
{
    const struct opencl_api *api = &state->api;
    struct _cl_device_id **ids = NULL;
    struct opencl_slot *slots;
    uint32_t count = 0, got = 0, i;
    enum status status = STATUS_OK;
    int32_t code = api->clGetDeviceIDs(platform->id, OCL_DEVICE_TYPE_ALL, 0, NULL, &count);

    if (code == OCL_DEVICE_NOT_FOUND || (code == OCL_SUCCESS && count == 0))
        return error_set(err, STATUS_UNAVAILABLE, "it offers no device%s",
                         platform->name != NULL && strstr(platform->name, "Portable Computing")
                             ? " (PoCL hides its devices when it cannot write its cache: set "
                               "POCL_CACHE_DIR to a folder that can be written)"
                             : "");
    if (code != OCL_SUCCESS)
        return opencl_fail(err, NULL, "clGetDeviceIDs", code);
    if (count > OPENCL_DEVICES_MAX - state->slot_count) {
        state->devices_left_out += count - (OPENCL_DEVICES_MAX - state->slot_count);
        count = OPENCL_DEVICES_MAX - state->slot_count;
    }
    if (count == 0)
        return opencl_left_out(state, err);
    ids = calloc(count, sizeof(*ids));
    slots = realloc(state->slots, (state->slot_count + count) * sizeof(*slots));
    if (slots != NULL)
        state->slots = slots;
    if (ids == NULL || slots == NULL) {
        status = error_no_memory(err);
        goto done;
    }
    code = api->clGetDeviceIDs(platform->id, OCL_DEVICE_TYPE_ALL, count, ids, &got);
    if (code != OCL_SUCCESS) {
        status = opencl_fail(err, NULL, "clGetDeviceIDs", code);
        goto done;
    }
    for (i = 0; i < count && i < got; i++) {
        if (ids[i] == NULL)
            continue;
        state->slots[state->slot_count].platform = platform;
        state->slots[state->slot_count].id = ids[i];
        state->slot_count++;
    }
done:
    free(ids);
    return status;
}

static void add_platform(struct opencl_state *state, struct _cl_platform_id *id)
{
    struct opencl_platform *platform = &state->platforms[state->platform_count++];
    const struct opencl_object object = {.api = &state->api, .platform = id};
    struct error error = ERROR_INIT;
    uint32_t before = state->slot_count;
    enum status status;

    platform->id = id;
    if (id == NULL) {
        platform->note = strdup("the loader gave a null platform");
        platform->failed = true;
        state->failed_count++;
        return;
    }
    if (opencl_query_text(&object, OCL_PLATFORM_NAME, &platform->name, &error) != STATUS_OK)
        platform->note = strdup(error.message);
    platform->library = find_library(&state->api, id);
    status = add_devices(state, platform, &error);
    if (status != STATUS_OK && before == state->slot_count) {
        free(platform->note);
        platform->note = strdup(error.message);
        /* A driver without hardware has no device, and devices over the bound are counted apart. */
        platform->failed = status != STATUS_UNAVAILABLE && status != STATUS_UNSUPPORTED;
        state->failed_count += platform->failed;
    }
}

static enum status no_device(const struct opencl_state *state, struct error *err)
{
    CLEANUP(text_finish) struct text text;
    uint32_t i;

    text_init(&text);
    for (i = 0; i < state->platform_count; i++) {
        const struct opencl_platform *platform = &state->platforms[i];

        text_append_format(&text, "%s%s: %s", i > 0 ? "; " : "",
                           platform->name != NULL ? platform->name : "a nameless platform",
                           platform->note != NULL ? platform->note : "no device");
    }
    return error_set(err, STATUS_UNAVAILABLE,
                     "%s: %s. Install a driver for the device, or pocl-opencl-icd for the CPU",
                     state->lib.path, text_ok(&text) ? text.data : "no device");
}

static enum status no_platform(const struct opencl_state *state, struct error *err)
{
    CLEANUP(text_finish) struct text text;

    text_init(&text);
    opencl_vendors_describe(&text);
    return error_set(err, STATUS_UNAVAILABLE,
                     "%s finds no platform (%s). Install a driver for the device, or "
                     "pocl-opencl-icd for the CPU",
                     state->lib.path, text_ok(&text) ? text.data : "out of memory");
}

static enum status find_platforms(struct opencl_state *state, struct error *err)
{
    const struct opencl_api *api = &state->api;
    struct _cl_platform_id *ids[OPENCL_PLATFORMS_MAX] = {NULL};
    uint32_t count = 0, i;
    int32_t code = api->clGetPlatformIDs(OPENCL_PLATFORMS_MAX, ids, &count);

    if (code == OCL_PLATFORM_NOT_FOUND_KHR || (code == OCL_SUCCESS && count == 0))
        return no_platform(state, err);
    if (code != OCL_SUCCESS)
        return opencl_fail(err, state->lib.path, "clGetPlatformIDs", code);
    if (count > OPENCL_PLATFORMS_MAX) {
        state->platforms_left_out = count - OPENCL_PLATFORMS_MAX;
        count = OPENCL_PLATFORMS_MAX;
    }
    state->platforms = calloc(count, sizeof(*state->platforms));
    if (state->platforms == NULL)
        return error_no_memory(err);
    for (i = 0; i < count; i++)
        add_platform(state, ids[i]);
    return state->slot_count > 0 ? STATUS_OK : no_device(state, err);
}

static enum status probe(struct backend *backend, uint32_t *ret_device_count, struct error *err)
{
    struct opencl_state *state = calloc(1, sizeof(*state));

    if (state == NULL)
        return error_no_memory(err);
    /* Kept even when this fails: `libraries` reports what was tried. */
    backend->state = state;
    TRY(opencl_api_open(&state->lib, &state->api, err));
    TRY(find_platforms(state, err));
    opencl_clblast_open(&state->api, &state->clblast);
    *ret_device_count = state->slot_count + state->failed_count +
                        (state->devices_left_out > 0 || state->platforms_left_out > 0);
    return STATUS_OK;
}

static bool is_listed(const struct backend *backend, uint32_t index)
{
    return index < ((const struct opencl_state *)backend->state)->slot_count;
}

/*
 * Indices after the last device represent what cannot be listed, so that it is reported with its
 * reason: first each platform that failed, then all that is left out.
 */
static enum status not_listed(const struct backend *backend, uint32_t index, struct error *err)
{
    const struct opencl_state *state = backend->state;
    const uint32_t n = index - state->slot_count;

    return n < state->failed_count ? platform_error(state, n, err) : opencl_left_out(state, err);
}

static enum status device_info(struct backend *backend, uint32_t index, struct device_info *ret,
                               struct error *err)
{
    return is_listed(backend, index) ? opencl_device_info(backend, index, ret, err)
                                     : not_listed(backend, index, err);
}

static enum status device_open(struct backend *backend, uint32_t index,
                               const struct device_options *options, struct device **ret,
                               struct error *err)
{
    return is_listed(backend, index) ? opencl_device_open(backend, index, options, ret, err)
                                     : not_listed(backend, index, err);
}

static void files(struct backend *backend, uint32_t index, struct backend_file_list *ret)
{
    if (is_listed(backend, index))
        opencl_files(backend, index, ret);
}

static size_t libraries(struct backend *backend, struct backend_library *ret, size_t capacity)
{
    const struct opencl_state *state = backend->state;
    size_t count = 0;
    uint32_t i;

    if (state == NULL)
        return 0;
    if (count < capacity)
        ret[count++] = (struct backend_library){"opencl", state->lib.path, state->lib.tried};
    if (count < capacity && state->clblast.lib.tried != NULL)
        ret[count++] = (struct backend_library){
            "clblast", state->clblast.usable ? state->clblast.lib.path : NULL,
            state->clblast.note != NULL ? state->clblast.note : state->clblast.lib.tried,
            state->clblast.version};
    for (i = 0; i < state->platform_count && count < capacity; i++) {
        const struct opencl_platform *platform = &state->platforms[i];

        ret[count++] =
            (struct backend_library){platform->name != NULL ? platform->name : "nameless platform",
                                     platform->library, platform->note};
    }
    return count;
}

static const char *const library_names[] = {"opencl", "clblast", NULL};

const struct backend_ops opencl_backend_ops = {
    .name = "opencl",
    .description = "OpenCL through the ICD loader",
    .probe = probe,
    .device_info = device_info,
    .device_open = device_open,
    .library_names = library_names,
    .libraries = libraries,
    .files = files,
};
