/*
 * telemetry - through ROCm SMI, and throttle reasons through the kernel's gpu_metrics. A process
 * that reads here opens no device.
 */
#include "backends/hip/telemetry_sources.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/internal.h"
#include "harness/core/cleanup.h"
#include "harness/core/text.h"

static struct hip_telemetry *self_of(struct telemetry *telemetry)
{
    return (struct hip_telemetry *)telemetry;
}

static void describe(unsigned code, char *ret, size_t size)
{
    if (code == ROCM_SMI_NO_FUNCTION)
        snprintf(ret, size, "this librocm_smi64 has no such function");
    else
        snprintf(ret, size, "%s (%u)", rocm_smi_status_name(code), code);
}

static enum status read_all(struct telemetry *base, int64_t *values, struct error *err)
{
    const struct hip_telemetry *self = self_of(base);

    (void)err;
    for (size_t i = 0; i < HIP_TELEMETRY_SOURCES; i++) {
        values[i] = TELEMETRY_MISSING;
        if (base->channels[i].reason[0] == '\0' &&
            hip_telemetry_sources[i].read(self, &values[i]) != ROCM_SMI_SUCCESS)
            values[i] = TELEMETRY_MISSING;
    }
    return STATUS_OK;
}

static void add_missing(struct reading_list *list, const char *name, const char *call,
                        unsigned code)
{
    char reason[96];

    describe(code, reason, sizeof(reason));
    reading_add_missing(list, name,
                        code == ROCM_SMI_PERMISSION ? READING_DENIED : READING_UNAVAILABLE, call,
                        reason);
}

static void add_text(struct reading_list *list, const char *name, const char *call, unsigned code,
                     const char *raw, size_t size)
{
    struct text text;

    if (code != ROCM_SMI_SUCCESS) {
        add_missing(list, name, call, code);
        return;
    }
    text_init(&text);
    text_append_printable(&text, raw, strnlen(raw, size));
    if (!text_ok(&text))
        list->failed = true;
    else if (text.length == 0)
        reading_add_missing(list, name, READING_UNAVAILABLE, call, "it gave an empty text");
    else
        reading_add_text(list, name, text.data, call);
    text_finish(&text);
}

/* Texts of the device: its serial, VBIOS, driver and the number that names the unit. */
static void add_identity(const struct hip_telemetry *self, struct reading_list *list)
{
    const struct rocm_smi *api = self->api;
    char raw[256] = "";
    uint64_t id = 0;
    unsigned code;

    code = api->rsmi_dev_serial_number_get != NULL
               ? api->rsmi_dev_serial_number_get(self->device, raw, sizeof(raw) - 1)
               : ROCM_SMI_NO_FUNCTION;
    add_text(list, "device.serial", "rsmi_dev_serial_number_get", code, raw, sizeof(raw));
    memset(raw, 0, sizeof(raw));
    code = api->rsmi_dev_vbios_version_get != NULL
               ? api->rsmi_dev_vbios_version_get(self->device, raw, sizeof(raw) - 1)
               : ROCM_SMI_NO_FUNCTION;
    add_text(list, "device.vbios", "rsmi_dev_vbios_version_get", code, raw, sizeof(raw));
    memset(raw, 0, sizeof(raw));
    code = api->rsmi_version_str_get != NULL
               ? api->rsmi_version_str_get(ROCM_SMI_COMPONENT_DRIVER, raw, sizeof(raw) - 1)
               : ROCM_SMI_NO_FUNCTION;
    add_text(list, "device.kernel_driver", "rsmi_version_str_get(RSMI_SW_COMP_DRIVER)", code, raw,
             sizeof(raw));
    memset(raw, 0, sizeof(raw));
    code = api->rsmi_dev_unique_id_get != NULL ? api->rsmi_dev_unique_id_get(self->device, &id)
                                               : ROCM_SMI_NO_FUNCTION;
    if (code == ROCM_SMI_SUCCESS)
        snprintf(raw, sizeof(raw), "%016" PRIx64, id);
    add_text(list, "device.unique_id", "rsmi_dev_unique_id_get", code, raw, sizeof(raw));
}

static enum status edges(struct telemetry *base, struct reading_list *ret, struct error *err)
{
    const struct hip_telemetry *self = self_of(base);

    for (size_t i = 0; i < HIP_TELEMETRY_ROWS; i++) {
        int64_t value = 0;
        const unsigned code = hip_telemetry_rows[i].read(self, &value);

        if (code == ROCM_SMI_SUCCESS)
            reading_add_integer(ret, hip_telemetry_rows[i].name, value, hip_telemetry_rows[i].unit,
                                hip_telemetry_rows[i].call);
        else
            add_missing(ret, hip_telemetry_rows[i].name, hip_telemetry_rows[i].call, code);
    }
    add_identity(self, ret);
    return ret->failed ? error_no_memory(err) : STATUS_OK;
}

/* A line for each thing that is asked: its call, and the value or why there is none. */
static enum status dump(struct telemetry *base, char **ret, struct error *err)
{
    CLEANUP(reading_list_finish) struct reading_list list = {0};
    CLEANUP(text_finish) struct text text = TEXT_INIT;

    reading_list_init(&list);
    TRY(edges(base, &list, err));
    for (size_t i = 0; i < HIP_TELEMETRY_SOURCES; i++) {
        int64_t value = 0;
        const unsigned code = hip_telemetry_sources[i].read(self_of(base), &value);
        char reason[96];

        describe(code, reason, sizeof(reason));
        text_append_format(&text, "%s = ", hip_telemetry_sources[i].call);
        if (code == ROCM_SMI_SUCCESS)
            text_append_format(&text, "%" PRId64 " (%s)\n", value, hip_telemetry_sources[i].name);
        else
            text_append_format(&text, "%s\n", reason);
    }
    for (size_t i = 0; i < list.count; i++) {
        const struct reading *reading = &list.items[i];

        text_append_format(&text, "%s = ", reading->source);
        if (reading->status != READING_MEASURED)
            text_append_format(&text, "%s\n", reading->reason);
        else if (reading->type == READING_TEXT)
            text_append_format(&text, "%s (%s)\n", reading->text, reading->name);
        else
            text_append_format(&text, "%" PRId64 " (%s)\n", reading->integer, reading->name);
    }
    *ret = text_steal(&text);
    return *ret != NULL ? STATUS_OK : error_no_memory(err);
}

static void close_telemetry(struct telemetry *base)
{
    free(base->channels);
    free(base);
}

static const struct telemetry_ops ops = {
    .read = read_all,
    .edges = edges,
    .dump = dump,
    .close = close_telemetry,
};

/* What the device does not report now it will not report later: such a channel carries its reason.
 */
static void fill_channels(struct hip_telemetry *self)
{
    for (size_t i = 0; i < HIP_TELEMETRY_SOURCES; i++) {
        struct telemetry_channel *channel = &self->base.channels[i];
        int64_t value = 0;
        const unsigned code = hip_telemetry_sources[i].read(self, &value);

        snprintf(channel->name, sizeof(channel->name), "%s", hip_telemetry_sources[i].name);
        snprintf(channel->source, sizeof(channel->source), "%s", hip_telemetry_sources[i].call);
        channel->kind = hip_telemetry_sources[i].kind;
        if (hip_telemetry_sources[i].kind == TELEMETRY_MASK)
            channel->bits = hip_throttle_bits;
        if (code == ROCM_SMI_SUCCESS)
            continue;
        if (hip_telemetry_sources[i].read == hip_telemetry_read_throttle) {
            struct error error = ERROR_INIT;
            uint64_t bits;

            (void)hip_throttle_read(self->metrics_path, &bits, &error);
            snprintf(channel->reason, sizeof(channel->reason), "%.*s", TELEMETRY_WORD_MAX - 1,
                     error.message);
        } else {
            describe(code, channel->reason, sizeof(channel->reason));
        }
    }
}

enum status hip_telemetry_open(struct backend *backend, uint32_t index, struct telemetry **ret,
                               struct error *err)
{
    const struct hip_state *state = backend->state;
    char pci[HIP_WORD_MAX];
    struct hip_telemetry *self;
    const struct rocm_smi *api = NULL;
    uint32_t device = 0;

    TRY(rocm_smi_open(&api, err));
    TRY(hip_device_pci(&state->runtime, (int)index, pci, err));
    TRY(rocm_smi_find(api, pci, &device, err));
    self = calloc(1, sizeof(*self));
    if (self != NULL)
        self->base.channels = calloc(HIP_TELEMETRY_SOURCES, sizeof(*self->base.channels));
    if (self == NULL || self->base.channels == NULL) {
        free(self);
        return error_no_memory(err);
    }
    self->base.ops = &ops;
    self->base.channel_count = HIP_TELEMETRY_SOURCES;
    self->api = api;
    self->device = device;
    snprintf(self->metrics_path, sizeof(self->metrics_path),
             "/sys/bus/pci/devices/%.60s/gpu_metrics", pci);
    fill_channels(self);
    *ret = &self->base;
    return STATUS_OK;
}

size_t hip_telemetry_libraries(struct backend_library *ret, size_t capacity)
{
    static char text[48], reason[96];
    struct rocm_smi_version version = {0};
    const struct rocm_smi *api = NULL;
    const struct dynlib *lib;

    if (capacity == 0)
        return 0;
    text[0] = reason[0] = '\0';
    if (rocm_smi_open(&api, NULL) == STATUS_OK && api->rsmi_version_get != NULL) {
        const unsigned code = api->rsmi_version_get(&version);

        if (code == ROCM_SMI_SUCCESS)
            snprintf(text, sizeof(text), "%" PRIu32 ".%" PRIu32 ".%" PRIu32, version.major,
                     version.minor, version.patch);
        else
            snprintf(reason, sizeof(reason), "rsmi_version_get: %s (%u)",
                     rocm_smi_status_name(code), code);
    }
    lib = rocm_smi_library();
    ret[0] = (struct backend_library){.name = "rocm_smi",
                                      .path = lib->path,
                                      .tried = lib->path == NULL ? lib->tried : NULL,
                                      .version = text[0] != '\0' ? text : NULL,
                                      .version_reason = reason[0] != '\0' ? reason : NULL};
    return 1;
}
