/*
 * telemetry - through ROCm SMI, and throttle reasons through the kernel's gpu_metrics. A process
 * that reads here opens no device.
 */
#include "backends/telemetry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/internal.h"
#include "backends/hip/rocm_smi.h"
#include "harness/core/text.h"

struct hip_telemetry {
    struct telemetry base;
    const struct rocm_smi *api;
    uint32_t device;
    char metrics_path[128];
};

static struct hip_telemetry *self_of(struct telemetry *telemetry)
{
    return (struct hip_telemetry *)telemetry;
}

/* Each gives the library's status, ROCM_SMI_NO_FUNCTION where the library lacks it. */
typedef unsigned read_fn(const struct hip_telemetry *self, int64_t *ret);

static unsigned to_int64(unsigned code, uint64_t value, uint64_t divisor, int64_t *ret)
{
    if (code == ROCM_SMI_SUCCESS && value / divisor > INT64_MAX)
        return ROCM_SMI_UNEXPECTED_DATA;
    if (code == ROCM_SMI_SUCCESS)
        *ret = (int64_t)(value / divisor);
    return code;
}

static unsigned read_power(const struct hip_telemetry *self, int64_t *ret)
{
    uint64_t value = 0;
    unsigned code;

    if (self->api->rsmi_dev_current_socket_power_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    code = self->api->rsmi_dev_current_socket_power_get(self->device, &value);
    return to_int64(code, value, 1000, ret);
}

static unsigned read_power_average(const struct hip_telemetry *self, int64_t *ret)
{
    uint64_t value = 0;
    unsigned code;

    if (self->api->rsmi_dev_power_ave_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    code = self->api->rsmi_dev_power_ave_get(self->device, 0, &value);
    return to_int64(code, value, 1000, ret);
}

/* The counter counts steps of `resolution` microjoules (15.26 on MI200). */
static unsigned read_energy(const struct hip_telemetry *self, int64_t *ret)
{
    uint64_t counter = 0, timestamp = 0;
    float resolution = 0.0f;
    unsigned code;
    double uj;

    if (self->api->rsmi_dev_energy_count_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    code = self->api->rsmi_dev_energy_count_get(self->device, &counter, &resolution, &timestamp);
    if (code != ROCM_SMI_SUCCESS)
        return code;
    uj = (double)counter * (double)resolution;
    if (!(resolution > 0.0f) || !(uj < 9e18))
        return ROCM_SMI_UNEXPECTED_DATA;
    *ret = (int64_t)uj;
    return code;
}

/* The level in force of the ones that there are. */
static unsigned read_clock(const struct hip_telemetry *self, unsigned clock, bool most,
                           int64_t *ret)
{
    /* Room behind the later layout, should a list grow once more. */
    union {
        struct rocm_smi_frequencies_5 v5;
        struct rocm_smi_frequencies_6 v6;
        unsigned char bytes[1024];
    } answer;
    const bool later = self->api->rsmi_dev_current_socket_power_get != NULL;
    const uint64_t *hertz = later ? answer.v6.hertz : answer.v5.hertz;
    const uint32_t limit = later ? 33 : 32;
    uint32_t count, at;
    unsigned code;

    if (self->api->rsmi_dev_gpu_clk_freq_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    memset(&answer, 0, sizeof(answer));
    code = self->api->rsmi_dev_gpu_clk_freq_get(self->device, clock, &answer);
    if (code != ROCM_SMI_SUCCESS)
        return code;
    count = later ? answer.v6.count : answer.v5.count;
    at = later ? answer.v6.current : answer.v5.current;
    if (most)
        at = count - 1;
    if (count == 0 || count > limit || at >= count || hertz[at] == 0)
        return ROCM_SMI_UNEXPECTED_DATA;
    return to_int64(code, hertz[at], 1000, ret);
}

static unsigned read_clock_core(const struct hip_telemetry *self, int64_t *ret)
{
    return read_clock(self, ROCM_SMI_CLOCK_SYS, false, ret);
}

static unsigned read_clock_memory(const struct hip_telemetry *self, int64_t *ret)
{
    return read_clock(self, ROCM_SMI_CLOCK_MEM, false, ret);
}

static unsigned read_clock_core_max(const struct hip_telemetry *self, int64_t *ret)
{
    return read_clock(self, ROCM_SMI_CLOCK_SYS, true, ret);
}

static unsigned read_clock_memory_max(const struct hip_telemetry *self, int64_t *ret)
{
    return read_clock(self, ROCM_SMI_CLOCK_MEM, true, ret);
}

static unsigned read_temperature(const struct hip_telemetry *self, uint32_t sensor, int64_t *ret)
{
    int64_t value = 0;
    unsigned code;

    if (self->api->rsmi_dev_temp_metric_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    code = self->api->rsmi_dev_temp_metric_get(self->device, sensor, ROCM_SMI_TEMPERATURE_CURRENT,
                                               &value);
    if (code == ROCM_SMI_SUCCESS && (value < -273150 || value > 1000000))
        return ROCM_SMI_UNEXPECTED_DATA;
    if (code == ROCM_SMI_SUCCESS)
        *ret = value;
    return code;
}

static unsigned read_edge(const struct hip_telemetry *self, int64_t *ret)
{
    return read_temperature(self, ROCM_SMI_TEMPERATURE_EDGE, ret);
}

static unsigned read_junction(const struct hip_telemetry *self, int64_t *ret)
{
    return read_temperature(self, ROCM_SMI_TEMPERATURE_JUNCTION, ret);
}

static unsigned read_memory_temperature(const struct hip_telemetry *self, int64_t *ret)
{
    return read_temperature(self, ROCM_SMI_TEMPERATURE_MEMORY, ret);
}

static unsigned read_throttle(const struct hip_telemetry *self, int64_t *ret)
{
    uint64_t bits = 0;

    if (hip_throttle_read(self->metrics_path, &bits, NULL) != STATUS_OK)
        return ROCM_SMI_NOT_SUPPORTED;
    *ret = (int64_t)(bits & INT64_MAX);
    return ROCM_SMI_SUCCESS;
}

static unsigned read_busy(const struct hip_telemetry *self, int64_t *ret)
{
    uint32_t value = 0;
    unsigned code;

    if (self->api->rsmi_dev_busy_percent_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    code = self->api->rsmi_dev_busy_percent_get(self->device, &value);
    return to_int64(code, value, 1, ret);
}

static unsigned read_memory_busy(const struct hip_telemetry *self, int64_t *ret)
{
    uint32_t value = 0;
    unsigned code;

    if (self->api->rsmi_dev_memory_busy_percent_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    code = self->api->rsmi_dev_memory_busy_percent_get(self->device, &value);
    return to_int64(code, value, 1, ret);
}

static unsigned read_memory_used(const struct hip_telemetry *self, int64_t *ret)
{
    uint64_t value = 0;
    unsigned code;

    if (self->api->rsmi_dev_memory_usage_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    code = self->api->rsmi_dev_memory_usage_get(self->device, 0, &value);
    return to_int64(code, value, 1, ret);
}

static unsigned read_errors(const struct hip_telemetry *self, bool corrected, int64_t *ret)
{
    struct rocm_smi_errors errors[4]; /* room behind it, should it grow */
    unsigned code;

    if (self->api->rsmi_dev_ecc_count_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    memset(errors, 0, sizeof(errors));
    code = self->api->rsmi_dev_ecc_count_get(self->device, ROCM_SMI_BLOCK_UMC, errors);
    return to_int64(code, corrected ? errors[0].corrected : errors[0].uncorrected, 1, ret);
}

static unsigned read_corrected(const struct hip_telemetry *self, int64_t *ret)
{
    return read_errors(self, true, ret);
}

static unsigned read_uncorrected(const struct hip_telemetry *self, int64_t *ret)
{
    return read_errors(self, false, ret);
}

static unsigned read_replays(const struct hip_telemetry *self, int64_t *ret)
{
    uint64_t value = 0;
    unsigned code;

    if (self->api->rsmi_dev_pci_replay_counter_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    code = self->api->rsmi_dev_pci_replay_counter_get(self->device, &value);
    return to_int64(code, value, 1, ret);
}

static unsigned read_cap(const struct hip_telemetry *self, int64_t *ret)
{
    uint64_t value = 0;
    unsigned code;

    if (self->api->rsmi_dev_power_cap_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    code = self->api->rsmi_dev_power_cap_get(self->device, 0, &value);
    return to_int64(code, value, 1000, ret);
}

static unsigned read_cap_default(const struct hip_telemetry *self, int64_t *ret)
{
    uint64_t value = 0;
    unsigned code;

    if (self->api->rsmi_dev_power_cap_default_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    code = self->api->rsmi_dev_power_cap_default_get(self->device, &value);
    return to_int64(code, value, 1000, ret);
}

static const struct {
    const char *name, *call;
    enum telemetry_kind kind;
    read_fn *read;
} sources[] = {
    {"power_mw", "rsmi_dev_current_socket_power_get", TELEMETRY_GAUGE, read_power},
    {"power_average_mw", "rsmi_dev_power_ave_get", TELEMETRY_GAUGE, read_power_average},
    {"energy_uj", "rsmi_dev_energy_count_get", TELEMETRY_COUNTER, read_energy},
    {"clock_sm_khz", "rsmi_dev_gpu_clk_freq_get(RSMI_CLK_TYPE_SYS)", TELEMETRY_GAUGE,
     read_clock_core},
    {"clock_memory_khz", "rsmi_dev_gpu_clk_freq_get(RSMI_CLK_TYPE_MEM)", TELEMETRY_GAUGE,
     read_clock_memory},
    {"temperature_mc", "rsmi_dev_temp_metric_get(RSMI_TEMP_TYPE_EDGE)", TELEMETRY_GAUGE, read_edge},
    {"temperature_junction_mc", "rsmi_dev_temp_metric_get(RSMI_TEMP_TYPE_JUNCTION)",
     TELEMETRY_GAUGE, read_junction},
    {"temperature_memory_mc", "rsmi_dev_temp_metric_get(RSMI_TEMP_TYPE_MEMORY)", TELEMETRY_GAUGE,
     read_memory_temperature},
    {"throttle_reasons", "gpu_metrics.indep_throttle_status", TELEMETRY_MASK, read_throttle},
    {"busy_percent", "rsmi_dev_busy_percent_get", TELEMETRY_GAUGE, read_busy},
    {"memory_busy_percent", "rsmi_dev_memory_busy_percent_get", TELEMETRY_GAUGE, read_memory_busy},
    {"memory_used_bytes", "rsmi_dev_memory_usage_get(RSMI_MEM_TYPE_VRAM)", TELEMETRY_GAUGE,
     read_memory_used},
    {"ecc_corrected", "rsmi_dev_ecc_count_get(RSMI_GPU_BLOCK_UMC).correctable_err",
     TELEMETRY_COUNTER, read_corrected},
    {"ecc_uncorrected", "rsmi_dev_ecc_count_get(RSMI_GPU_BLOCK_UMC).uncorrectable_err",
     TELEMETRY_COUNTER, read_uncorrected},
    {"pcie_replays", "rsmi_dev_pci_replay_counter_get", TELEMETRY_COUNTER, read_replays},
};
#define SOURCES (sizeof(sources) / sizeof(sources[0]))

static const struct {
    const char *name, *unit, *call;
    read_fn *read;
} rows[] = {
    {"device.power_limit", "mw", "rsmi_dev_power_cap_get", read_cap},
    {"device.power_limit_default", "mw", "rsmi_dev_power_cap_default_get", read_cap_default},
    {"device.clock_sm_max", "khz", "rsmi_dev_gpu_clk_freq_get(RSMI_CLK_TYPE_SYS)",
     read_clock_core_max},
    {"device.clock_memory_max", "khz", "rsmi_dev_gpu_clk_freq_get(RSMI_CLK_TYPE_MEM)",
     read_clock_memory_max},
    {"device.ecc_corrected_total", NULL, "rsmi_dev_ecc_count_get(RSMI_GPU_BLOCK_UMC)",
     read_corrected},
    {"device.ecc_uncorrected_total", NULL, "rsmi_dev_ecc_count_get(RSMI_GPU_BLOCK_UMC)",
     read_uncorrected},
};

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
    for (size_t i = 0; i < SOURCES; i++) {
        values[i] = TELEMETRY_MISSING;
        if (base->channels[i].reason[0] == '\0' &&
            sources[i].read(self, &values[i]) != ROCM_SMI_SUCCESS)
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

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t value = 0;
        const unsigned code = rows[i].read(self, &value);

        if (code == ROCM_SMI_SUCCESS)
            reading_add_integer(ret, rows[i].name, value, rows[i].unit, rows[i].call);
        else
            add_missing(ret, rows[i].name, rows[i].call, code);
    }
    add_identity(self, ret);
    return ret->failed ? error_set(err, STATUS_NO_MEMORY, "out of memory") : STATUS_OK;
}

/* A line for each thing that is asked: its call, and the value or why there is none. */
static enum status dump(struct telemetry *base, char **ret, struct error *err)
{
    struct reading_list list;
    struct text text;
    char *stolen;
    enum status status;

    reading_list_init(&list);
    status = edges(base, &list, err);
    text_init(&text);
    for (size_t i = 0; i < SOURCES; i++) {
        int64_t value = 0;
        const unsigned code = sources[i].read(self_of(base), &value);
        char reason[96];

        describe(code, reason, sizeof(reason));
        text_append_format(&text, "%s = ", sources[i].call);
        if (code == ROCM_SMI_SUCCESS)
            text_append_format(&text, "%" PRId64 " (%s)\n", value, sources[i].name);
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
    reading_list_finish(&list);
    stolen = text_steal(&text);
    if (status == STATUS_OK && stolen == NULL)
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status != STATUS_OK) {
        free(stolen);
        return status;
    }
    *ret = stolen;
    return STATUS_OK;
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

/* What the device does not tell now it will not tell later: such a channel carries its reason. */
static void fill_channels(struct hip_telemetry *self)
{
    for (size_t i = 0; i < SOURCES; i++) {
        struct telemetry_channel *channel = &self->base.channels[i];
        int64_t value = 0;
        const unsigned code = sources[i].read(self, &value);

        snprintf(channel->name, sizeof(channel->name), "%s", sources[i].name);
        snprintf(channel->source, sizeof(channel->source), "%s", sources[i].call);
        channel->kind = sources[i].kind;
        if (sources[i].kind == TELEMETRY_MASK)
            channel->bits = hip_throttle_bits;
        if (code == ROCM_SMI_SUCCESS)
            continue;
        if (sources[i].read == read_throttle) {
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
    enum status status = rocm_smi_open(&api, err);

    if (status == STATUS_OK)
        status = hip_device_pci(&state->runtime, (int)index, pci, err);
    if (status == STATUS_OK)
        status = rocm_smi_find(api, pci, &device, err);
    if (status != STATUS_OK)
        return status;
    self = calloc(1, sizeof(*self));
    if (self != NULL)
        self->base.channels = calloc(SOURCES, sizeof(*self->base.channels));
    if (self == NULL || self->base.channels == NULL) {
        free(self);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    self->base.ops = &ops;
    self->base.channel_count = SOURCES;
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
    const struct rocm_smi *api = NULL;
    const struct dynlib *lib;

    if (capacity == 0)
        return 0;
    (void)rocm_smi_open(&api, NULL);
    lib = rocm_smi_library();
    ret[0] = (struct backend_library){
        .name = "rocm_smi", .path = lib->path, .tried = lib->path == NULL ? lib->tried : NULL};
    return 1;
}
