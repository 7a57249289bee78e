/* Telemetry through NVML. It opens no context: the device stays with the process that works. */
#include "backends/cuda/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/telemetry.h"
#include "harness/core/text.h"

#define PROCESSES_MAX 256

struct cuda_telemetry {
    struct telemetry base;
    const struct nvml_api *api;
    struct nvmlDevice_st *device; /* the board */
    /* Whose memory and processes count: a slice of MIG where it is one, else the board. NULL: a
     * slice of which NVML gives no handle, with its result; the board's would be others', too. */
    struct nvmlDevice_st *slice;
    unsigned no_slice;
};

/* One channel: how it is asked. NVML_OUR_SUCCESS and the value, or NVML's result. */
struct source {
    const char *name, *call;
    enum telemetry_kind kind;
    unsigned (*read)(const struct nvml_api *api, struct nvmlDevice_st *device, int64_t *ret);
    bool of_slice;
    bool of_board; /* adds up what all slices do: of no use to one of them */
};

/* As if the library said so itself. */
#define FUNCTION_NOT_FOUND 13u

#define READ_AS(id, function, type, scale, ...)                                                    \
    static unsigned read_##id(const struct nvml_api *api, struct nvmlDevice_st *device,            \
                              int64_t *ret)                                                        \
    {                                                                                              \
        type value = 0;                                                                            \
        unsigned result = api->function != NULL ? api->function(device, ##__VA_ARGS__, &value)     \
                                                : FUNCTION_NOT_FOUND;                              \
                                                                                                   \
        if (result == NVML_OUR_SUCCESS)                                                            \
            *ret = (int64_t)value * (scale);                                                       \
        return result;                                                                             \
    }

READ_AS(power, nvmlDeviceGetPowerUsage, unsigned, 1)
READ_AS(energy, nvmlDeviceGetTotalEnergyConsumption, unsigned long long, 1000) /* mJ */
READ_AS(clock_sm, nvmlDeviceGetClockInfo, unsigned, 1000, NVML_OUR_CLOCK_SM)   /* MHz */
READ_AS(clock_memory, nvmlDeviceGetClockInfo, unsigned, 1000, NVML_OUR_CLOCK_MEMORY)
READ_AS(temperature, nvmlDeviceGetTemperature, unsigned, 1000, NVML_OUR_TEMPERATURE_GPU)
READ_AS(state, nvmlDeviceGetPerformanceState, unsigned, 1)
READ_AS(fan, nvmlDeviceGetFanSpeed, unsigned, 1)
READ_AS(ecc_corrected, nvmlDeviceGetTotalEccErrors, unsigned long long, 1, NVML_OUR_ECC_CORRECTED,
        NVML_OUR_ECC_VOLATILE)
READ_AS(ecc_uncorrected, nvmlDeviceGetTotalEccErrors, unsigned long long, 1,
        NVML_OUR_ECC_UNCORRECTED, NVML_OUR_ECC_VOLATILE)
READ_AS(pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration, unsigned, 1)
READ_AS(pcie_width, nvmlDeviceGetCurrPcieLinkWidth, unsigned, 1)
READ_AS(pcie_replays, nvmlDeviceGetPcieReplayCounter, unsigned, 1)

static unsigned read_throttle(const struct nvml_api *api, struct nvmlDevice_st *device,
                              int64_t *ret)
{
    unsigned long long value = 0;
    unsigned result = FUNCTION_NOT_FOUND;

    if (api->nvmlDeviceGetCurrentClocksEventReasons != NULL)
        result = api->nvmlDeviceGetCurrentClocksEventReasons(device, &value);
    else if (api->nvmlDeviceGetCurrentClocksThrottleReasons != NULL)
        result = api->nvmlDeviceGetCurrentClocksThrottleReasons(device, &value);
    if (result == NVML_OUR_SUCCESS)
        *ret = (int64_t)(value & INT64_MAX);
    return result;
}

static unsigned read_utilization(const struct nvml_api *api, struct nvmlDevice_st *device,
                                 struct nvml_utilization *ret)
{
    return api->nvmlDeviceGetUtilizationRates != NULL
               ? api->nvmlDeviceGetUtilizationRates(device, ret)
               : FUNCTION_NOT_FOUND;
}

static unsigned read_busy(const struct nvml_api *api, struct nvmlDevice_st *device, int64_t *ret)
{
    struct nvml_utilization value = {0};
    unsigned result = read_utilization(api, device, &value);

    if (result == NVML_OUR_SUCCESS)
        *ret = value.gpu;
    return result;
}

static unsigned read_memory_busy(const struct nvml_api *api, struct nvmlDevice_st *device,
                                 int64_t *ret)
{
    struct nvml_utilization value = {0};
    unsigned result = read_utilization(api, device, &value);

    if (result == NVML_OUR_SUCCESS)
        *ret = value.memory;
    return result;
}

static unsigned read_memory_used(const struct nvml_api *api, struct nvmlDevice_st *device,
                                 int64_t *ret)
{
    struct nvml_memory value = {0};
    unsigned result = api->nvmlDeviceGetMemoryInfo != NULL
                          ? api->nvmlDeviceGetMemoryInfo(device, &value)
                          : FUNCTION_NOT_FOUND;

    if (result == NVML_OUR_SUCCESS)
        *ret = (int64_t)value.used;
    return result;
}

static unsigned read_field(const struct nvml_api *api, struct nvmlDevice_st *device, unsigned field,
                           int64_t scale, int64_t *ret)
{
    struct nvml_field asked = {.field = field};
    unsigned result = api->nvmlDeviceGetFieldValues != NULL
                          ? api->nvmlDeviceGetFieldValues(device, 1, &asked)
                          : FUNCTION_NOT_FOUND;

    if (result == NVML_OUR_SUCCESS)
        result = asked.result;
    if (result != NVML_OUR_SUCCESS)
        return result;
    switch (asked.type) {
    case NVML_OUR_VALUE_UINT:
        *ret = (int64_t)asked.value.u * scale;
        return result;
    case NVML_OUR_VALUE_INT:
        *ret = asked.value.i * scale;
        return result;
    case NVML_OUR_VALUE_ULONG:
    case NVML_OUR_VALUE_ULLONG:
    case NVML_OUR_VALUE_LLONG:
        *ret = asked.value.ll * scale;
        return result;
    default:
        return NVML_OUR_NOT_SUPPORTED;
    }
}

static unsigned read_power_instant(const struct nvml_api *api, struct nvmlDevice_st *device,
                                   int64_t *ret)
{
    return read_field(api, device, NVML_OUR_FIELD_POWER_INSTANT, 1, ret);
}

static unsigned read_power_average(const struct nvml_api *api, struct nvmlDevice_st *device,
                                   int64_t *ret)
{
    return read_field(api, device, NVML_OUR_FIELD_POWER_AVERAGE, 1, ret);
}

static unsigned read_memory_temperature(const struct nvml_api *api, struct nvmlDevice_st *device,
                                        int64_t *ret)
{
    return read_field(api, device, NVML_OUR_FIELD_MEMORY_TEMPERATURE, 1000, ret);
}

/* What nvmlDeviceGetPowerUsage means depends on the architecture; the two fields say it. */
static const struct source sources[] = {
    {"power_instant_mw", "nvmlDeviceGetFieldValues(NVML_FI_DEV_POWER_INSTANT)", TELEMETRY_GAUGE,
     read_power_instant},
    {"power_average_mw", "nvmlDeviceGetFieldValues(NVML_FI_DEV_POWER_AVERAGE)", TELEMETRY_GAUGE,
     read_power_average},
    {"power_mw", "nvmlDeviceGetPowerUsage", TELEMETRY_GAUGE, read_power},
    {"energy_uj", "nvmlDeviceGetTotalEnergyConsumption", TELEMETRY_COUNTER, read_energy, false,
     true},
    {"clock_sm_khz", "nvmlDeviceGetClockInfo(NVML_CLOCK_SM)", TELEMETRY_GAUGE, read_clock_sm},
    {"clock_memory_khz", "nvmlDeviceGetClockInfo(NVML_CLOCK_MEM)", TELEMETRY_GAUGE,
     read_clock_memory},
    {"temperature_mc", "nvmlDeviceGetTemperature", TELEMETRY_GAUGE, read_temperature},
    {"temperature_memory_mc", "nvmlDeviceGetFieldValues(NVML_FI_DEV_MEMORY_TEMP)", TELEMETRY_GAUGE,
     read_memory_temperature},
    {"throttle_reasons", "nvmlDeviceGetCurrentClocksEventReasons", TELEMETRY_MASK, read_throttle},
    {"busy_percent", "nvmlDeviceGetUtilizationRates.gpu", TELEMETRY_GAUGE, read_busy},
    {"memory_busy_percent", "nvmlDeviceGetUtilizationRates.memory", TELEMETRY_GAUGE,
     read_memory_busy},
    {"memory_used_bytes", "nvmlDeviceGetMemoryInfo", TELEMETRY_GAUGE, read_memory_used, true},
    {"performance_state", "nvmlDeviceGetPerformanceState", TELEMETRY_GAUGE, read_state},
    {"fan_percent", "nvmlDeviceGetFanSpeed", TELEMETRY_GAUGE, read_fan},
    {"ecc_corrected", "nvmlDeviceGetTotalEccErrors(volatile, corrected)", TELEMETRY_COUNTER,
     read_ecc_corrected},
    {"ecc_uncorrected", "nvmlDeviceGetTotalEccErrors(volatile, uncorrected)", TELEMETRY_COUNTER,
     read_ecc_uncorrected},
    {"pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration", TELEMETRY_GAUGE,
     read_pcie_generation},
    {"pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", TELEMETRY_GAUGE, read_pcie_width},
    {"pcie_replays", "nvmlDeviceGetPcieReplayCounter", TELEMETRY_COUNTER, read_pcie_replays},
};
#define SOURCES (sizeof(sources) / sizeof(sources[0]))

static unsigned ask_source(const struct cuda_telemetry *self, const struct source *source,
                           int64_t *ret)
{
    if (source->of_slice && self->slice == NULL)
        return self->no_slice;
    return source->read(self->api, source->of_slice ? self->slice : self->device, ret);
}

static enum status read_all(struct telemetry *base, int64_t *values, struct error *err)
{
    const struct cuda_telemetry *self = (const struct cuda_telemetry *)base;

    for (size_t i = 0; i < SOURCES; i++) {
        unsigned result;

        values[i] = TELEMETRY_MISSING;
        if (base->channels[i].reason[0] != '\0')
            continue;
        result = ask_source(self, &sources[i], &values[i]);
        if (result == NVML_OUR_GPU_IS_LOST)
            return error_set(err, STATUS_DEVICE_LOST, "%s: %s (%u)", sources[i].call,
                             self->api->nvmlErrorString(result), result);
        if (result != NVML_OUR_SUCCESS)
            values[i] = TELEMETRY_MISSING;
    }
    return STATUS_OK;
}

struct row {
    const char *name, *unit;
    unsigned (*read)(const struct nvml_api *api, struct nvmlDevice_st *device, int64_t *ret);
    const char *call;
};

READ_AS(limit, nvmlDeviceGetPowerManagementLimit, unsigned, 1)
READ_AS(limit_enforced, nvmlDeviceGetEnforcedPowerLimit, unsigned, 1)
READ_AS(limit_default, nvmlDeviceGetPowerManagementDefaultLimit, unsigned, 1)
READ_AS(slowdown, nvmlDeviceGetTemperatureThreshold, unsigned, 1000, NVML_OUR_THRESHOLD_SLOWDOWN)
READ_AS(shutdown, nvmlDeviceGetTemperatureThreshold, unsigned, 1000, NVML_OUR_THRESHOLD_SHUTDOWN)
READ_AS(max_sm, nvmlDeviceGetMaxClockInfo, unsigned, 1000000, NVML_OUR_CLOCK_SM)
READ_AS(max_memory, nvmlDeviceGetMaxClockInfo, unsigned, 1000000, NVML_OUR_CLOCK_MEMORY)
READ_AS(aggregate_corrected, nvmlDeviceGetTotalEccErrors, unsigned long long, 1,
        NVML_OUR_ECC_CORRECTED, NVML_OUR_ECC_AGGREGATE)
READ_AS(aggregate_uncorrected, nvmlDeviceGetTotalEccErrors, unsigned long long, 1,
        NVML_OUR_ECC_UNCORRECTED, NVML_OUR_ECC_AGGREGATE)
READ_AS(max_generation, nvmlDeviceGetMaxPcieLinkGeneration, unsigned, 1)
READ_AS(max_width, nvmlDeviceGetMaxPcieLinkWidth, unsigned, 1)
READ_AS(persistence, nvmlDeviceGetPersistenceMode, unsigned, 1)
READ_AS(compute_mode, nvmlDeviceGetComputeMode, unsigned, 1)

static const struct row rows[] = {
    {"device.power_limit", "mw", read_limit_enforced, "nvmlDeviceGetEnforcedPowerLimit"},
    {"device.power_limit_requested", "mw", read_limit, "nvmlDeviceGetPowerManagementLimit"},
    {"device.power_limit_default", "mw", read_limit_default,
     "nvmlDeviceGetPowerManagementDefaultLimit"},
    {"device.clock_sm_max", "hz", read_max_sm, "nvmlDeviceGetMaxClockInfo(NVML_CLOCK_SM)"},
    {"device.clock_memory_max", "hz", read_max_memory, "nvmlDeviceGetMaxClockInfo(NVML_CLOCK_MEM)"},
    {"device.temperature_slowdown", "mc", read_slowdown, "nvmlDeviceGetTemperatureThreshold"},
    {"device.temperature_shutdown", "mc", read_shutdown, "nvmlDeviceGetTemperatureThreshold"},
    {"device.ecc_corrected_total", NULL, read_aggregate_corrected,
     "nvmlDeviceGetTotalEccErrors(aggregate, corrected)"},
    {"device.ecc_uncorrected_total", NULL, read_aggregate_uncorrected,
     "nvmlDeviceGetTotalEccErrors(aggregate, uncorrected)"},
    {"device.pcie_generation", NULL, read_pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration"},
    {"device.pcie_generation_max", NULL, read_max_generation, "nvmlDeviceGetMaxPcieLinkGeneration"},
    {"device.pcie_width", "lanes", read_pcie_width, "nvmlDeviceGetCurrPcieLinkWidth"},
    {"device.pcie_width_max", "lanes", read_max_width, "nvmlDeviceGetMaxPcieLinkWidth"},
    {"device.persistence", NULL, read_persistence, "nvmlDeviceGetPersistenceMode"},
    {"device.compute_mode_number", NULL, read_compute_mode, "nvmlDeviceGetComputeMode"},
};

static void add_missing(const struct nvml_api *api, struct reading_list *list, const char *name,
                        const char *call, unsigned result)
{
    char reason[160];

    snprintf(reason, sizeof(reason), "%s (%u)",
             result == FUNCTION_NOT_FOUND ? "this libnvidia-ml.so.1 has no such function"
                                          : api->nvmlErrorString(result),
             result);
    reading_add_missing(list, name, cuda_nvml_missing(result), call, reason);
}

static void append_process_name(struct text *text, const struct nvml_api *api, unsigned pid)
{
    char raw[128] = "";
    unsigned code = NVML_OUR_SUCCESS;

    if (api->nvmlSystemGetProcessName != NULL)
        code = api->nvmlSystemGetProcessName(pid, raw, sizeof(raw) - 1);
    if (code != NVML_OUR_SUCCESS)
        text_append_format(text, "name not reported (nvmlSystemGetProcessName: %s (%u))",
                           api->nvmlErrorString(code), code);
    else if (raw[0] == '\0')
        text_append(text, "name not reported");
    else
        text_append_printable(text, raw, strlen(raw));
}

/* "pid 1234, python3, 512000000 bytes; ..."; "none". All: the caller decides which are foreign.
 */
static void add_processes(const struct cuda_telemetry *self, struct reading_list *list)
{
    static const char name[] = "device.processes";
    static const char call[] = "nvmlDeviceGetComputeRunningProcesses";
    const struct nvml_api *api = self->api;
    struct nvml_process *processes = calloc(PROCESSES_MAX, sizeof(*processes));
    unsigned count = PROCESSES_MAX, result = FUNCTION_NOT_FOUND;
    struct text text;

    if (processes == NULL) {
        list->failed = true;
        return;
    }
    if (self->slice == NULL)
        result = self->no_slice;
    else if (api->nvmlDeviceGetComputeRunningProcesses_v2 != NULL)
        result = api->nvmlDeviceGetComputeRunningProcesses_v2(self->slice, &count, processes);
    else if (api->nvmlDeviceGetComputeRunningProcesses_v3 != NULL)
        result = api->nvmlDeviceGetComputeRunningProcesses_v3(self->slice, &count, processes);
    if (result != NVML_OUR_SUCCESS) {
        add_missing(api, list, name, call, result);
        free(processes);
        return;
    }
    text_init(&text);
    for (unsigned i = 0; i < count && i < PROCESSES_MAX; i++) {
        text_append_format(&text, "%spid %u, ", i > 0 ? "; " : "", processes[i].pid);
        append_process_name(&text, api, processes[i].pid);
        if (processes[i].used_bytes != ~0ull)
            text_append_format(&text, ", %llu bytes", processes[i].used_bytes);
    }
    if (!text_ok(&text))
        list->failed = true;
    else
        reading_add_text(list, name, text.length > 0 ? text.data : "none", call);
    text_finish(&text);
    free(processes);
}

static enum status edges(struct telemetry *base, struct reading_list *ret, struct error *err)
{
    const struct cuda_telemetry *self = (const struct cuda_telemetry *)base;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t value = 0;
        const unsigned result = rows[i].read(self->api, self->device, &value);

        if (result == NVML_OUR_SUCCESS)
            reading_add_integer(ret, rows[i].name, value, rows[i].unit, rows[i].call);
        else
            add_missing(self->api, ret, rows[i].name, rows[i].call, result);
    }
    add_processes(self, ret);
    return ret->failed ? error_no_memory(err) : STATUS_OK;
}

static void dump_version(struct text *text, const struct nvml_api *api, const char *call,
                         unsigned (*ask)(char *reported, unsigned length))
{
    char raw[96] = "";
    const unsigned code = ask(raw, sizeof(raw) - 1);

    if (code == NVML_OUR_SUCCESS)
        text_append_format(text, "%s: %s\n", call, raw);
    else
        text_append_format(text, "%s: %s (%u)\n", call, api->nvmlErrorString(code), code);
}

/* One line a call: what was asked and what the library answered, in its own units. */
static enum status dump(struct telemetry *base, char **ret, struct error *err)
{
    const struct cuda_telemetry *self = (const struct cuda_telemetry *)base;
    const struct nvml_api *api = self->api;
    struct reading_list list;
    struct text text;

    text_init(&text);
    dump_version(&text, api, "nvmlSystemGetDriverVersion", api->nvmlSystemGetDriverVersion);
    dump_version(&text, api, "nvmlSystemGetNVMLVersion", api->nvmlSystemGetNVMLVersion);
    for (size_t i = 0; i < SOURCES; i++) {
        int64_t value = 0;
        const unsigned result = ask_source(self, &sources[i], &value);

        if (result == NVML_OUR_SUCCESS)
            text_append_format(&text, "%s: %s = %" PRId64 "\n", sources[i].call, sources[i].name,
                               value);
        else
            text_append_format(&text, "%s: %s (%u)\n", sources[i].call,
                               api->nvmlErrorString(result), result);
    }
    reading_list_init(&list);
    if (edges(base, &list, NULL) == STATUS_OK)
        for (size_t i = 0; i < list.count; i++) {
            const struct reading *reading = &list.items[i];

            text_append_format(&text, "%s: %s = ", reading->source, reading->name);
            if (reading->reason != NULL)
                text_append_format(&text, "%s\n", reading->reason);
            else if (reading->type == READING_INTEGER)
                text_append_format(&text, "%" PRId64 " %s\n", reading->integer,
                                   reading->unit != NULL ? reading->unit : "");
            else
                text_append_format(&text, "%s\n", reading->text);
        }
    reading_list_finish(&list);
    *ret = text_steal(&text);
    text_finish(&text);
    return *ret != NULL ? STATUS_OK : error_no_memory(err);
}

static void close_telemetry(struct telemetry *base)
{
    free(base->channels);
    free(base);
}

static const struct telemetry_ops telemetry_ops = {
    .read = read_all,
    .edges = edges,
    .dump = dump,
    .close = close_telemetry,
};

/* Asks each once, so that a channel that this device does not have says so from the start. */
static void fill_channels(const struct cuda_telemetry *self)
{
    for (size_t i = 0; i < SOURCES; i++) {
        struct telemetry_channel *channel = &self->base.channels[i];
        int64_t value = 0;
        const unsigned result = ask_source(self, &sources[i], &value);

        snprintf(channel->name, sizeof(channel->name), "%s", sources[i].name);
        snprintf(channel->source, sizeof(channel->source), "%s", sources[i].call);
        channel->kind = sources[i].kind;
        if (sources[i].kind == TELEMETRY_MASK)
            channel->bits = nvml_throttle_reasons;
        if (sources[i].of_board && self->slice != self->device)
            snprintf(channel->reason, sizeof(channel->reason),
                     "it counts the whole board, of which this device is a slice");
        else if (result == FUNCTION_NOT_FOUND)
            snprintf(channel->reason, sizeof(channel->reason),
                     "this libnvidia-ml.so.1 has no such function");
        else if (result != NVML_OUR_SUCCESS)
            snprintf(channel->reason, sizeof(channel->reason), "%s (%u)",
                     self->api->nvmlErrorString(result), result);
    }
}

static void find_slice(struct cuda_telemetry *self, struct cuda_state *state, int device,
                       const char *pci)
{
    const char *source;
    char *uuid = NULL;

    self->slice = self->device;
    if (cuda_device_uuid(state, device, pci, &uuid, &source, NULL) == STATUS_OK &&
        strncmp(uuid, "MIG-", 4) == 0) {
        self->slice = NULL;
        self->no_slice = state->nvml.nvmlDeviceGetHandleByUUID != NULL
                             ? state->nvml.nvmlDeviceGetHandleByUUID(uuid, &self->slice)
                             : FUNCTION_NOT_FOUND;
        if (self->no_slice != NVML_OUR_SUCCESS)
            self->slice = NULL;
        else if (self->slice == NULL)
            self->no_slice = FUNCTION_NOT_FOUND;
    }
    free(uuid);
}

enum status cuda_telemetry_open(struct backend *backend, uint32_t index, struct telemetry **ret,
                                struct error *err)
{
    struct cuda_state *state = backend->state;
    struct cuda_telemetry *self;
    struct nvmlDevice_st *device = NULL;
    char pci[CUDA_PCI_SIZE] = "";
    int ordinal = 0;
    unsigned code = state->driver.cuDeviceGet(&ordinal, (int)index);

    if (code == CUDA_DRIVER_SUCCESS)
        code = state->driver.cuDeviceGetPCIBusId(pci, sizeof(pci), ordinal);
    if (code != CUDA_DRIVER_SUCCESS)
        return cuda_fail(&state->driver, err, NULL, "cuDeviceGetPCIBusId", code);
    TRY(cuda_nvml_device(state, pci, &device, err));
    self = calloc(1, sizeof(*self));
    if (self == NULL)
        return error_no_memory(err);
    self->base.channels = calloc(SOURCES, sizeof(*self->base.channels));
    if (self->base.channels == NULL) {
        free(self);
        return error_no_memory(err);
    }
    self->base.ops = &telemetry_ops;
    self->base.channel_count = SOURCES;
    self->api = &state->nvml;
    self->device = device;
    find_slice(self, state, ordinal, pci);
    fill_channels(self);
    *ret = &self->base;
    return STATUS_OK;
}
