/* What NVML reports about the board that CUDA does not: serial, firmware, limits, modes. */
#include "backends/cuda/internal.h"

#include <stdio.h>
#include <string.h>

#include "harness/core/text.h"

enum reading_status cuda_nvml_missing(unsigned result)
{
    return result == NVML_OUR_NO_PERMISSION ? READING_DENIED : READING_UNAVAILABLE;
}

enum status cuda_nvml_device(struct cuda_state *state, const char *pci, struct nvmlDevice_st **ret,
                             struct error *err)
{
    struct nvmlDevice_st *device = NULL;
    unsigned result;

    if (!cuda_state_nvml(state))
        return error_set(err, STATUS_UNAVAILABLE, "%s",
                         state->nvml_lib.tried != NULL ? state->nvml_lib.tried
                                                       : "libnvidia-ml.so.1: not there");
    if (pci == NULL)
        return error_set(err, STATUS_UNAVAILABLE, "the device's PCI address is not known");
    result = state->nvml.nvmlDeviceGetHandleByPciBusId_v2(pci, &device);
    if (result != NVML_OUR_SUCCESS || device == NULL)
        return error_set(err, STATUS_UNAVAILABLE, "nvmlDeviceGetHandleByPciBusId_v2(%s): %s (%u)",
                         pci, state->nvml.nvmlErrorString(result), result);
    *ret = device;
    return STATUS_OK;
}

struct asked {
    struct reading_list *list;
    const struct nvml_api *api;
    const char *name, *source;
};

/* Notes why there is no value; true when there is one. */
static bool answered(const struct asked *asked, bool there, unsigned result)
{
    char reason[160];

    if (there && result == NVML_OUR_SUCCESS)
        return true;
    if (there)
        snprintf(reason, sizeof(reason), "%s (%u)", asked->api->nvmlErrorString(result), result);
    else
        snprintf(reason, sizeof(reason), "this libnvidia-ml.so.1 has no such function");
    reading_add_missing(asked->list, asked->name,
                        there ? cuda_nvml_missing(result) : READING_UNAVAILABLE, asked->source,
                        reason);
    return false;
}

static void add_text(const struct asked *asked, const char *raw)
{
    struct text text;

    text_init(&text);
    text_append_printable(&text, raw, strlen(raw));
    if (text_ok(&text))
        reading_add_text(asked->list, asked->name, text.data, asked->source);
    text_finish(&text);
}

static const char *on_off(unsigned value)
{
    return value != 0 ? "on" : "off";
}

#define TEXT(reading, function)                                                                    \
    do {                                                                                           \
        const struct asked asked = {list, api, reading, #function};                                \
        char reported[96] = "";                                                                    \
        const bool there = api->function != NULL;                                                  \
                                                                                                   \
        if (answered(&asked, there,                                                                \
                     there ? api->function(device, reported, sizeof(reported) - 1) : 0))           \
            add_text(&asked, reported);                                                            \
    } while (0)

#define NUMBER(reading, scale, unit, function, ...)                                                \
    do {                                                                                           \
        const struct asked asked = {list, api, reading, #function};                                \
        const bool there = api->function != NULL;                                                  \
        unsigned value = 0;                                                                        \
                                                                                                   \
        if (answered(&asked, there, there ? api->function(device, ##__VA_ARGS__, &value) : 0))     \
            reading_add_integer(list, reading, (int64_t)value *(scale), unit, #function);          \
    } while (0)

static void add_modes(const struct nvml_api *api, struct nvmlDevice_st *device,
                      struct reading_list *list)
{
    unsigned value = 0, pending = 0;
    const struct asked persistence = {list, api, "device.persistence_mode",
                                      "nvmlDeviceGetPersistenceMode"};
    const struct asked ecc = {list, api, "device.ecc_mode", "nvmlDeviceGetEccMode"};
    const struct asked mig = {list, api, "device.mig_mode", "nvmlDeviceGetMigMode"};

    if (answered(&persistence, api->nvmlDeviceGetPersistenceMode != NULL,
                 api->nvmlDeviceGetPersistenceMode != NULL
                     ? api->nvmlDeviceGetPersistenceMode(device, &value)
                     : 0))
        reading_add_text(list, persistence.name, on_off(value), persistence.source);
    if (answered(&ecc, api->nvmlDeviceGetEccMode != NULL,
                 api->nvmlDeviceGetEccMode != NULL
                     ? api->nvmlDeviceGetEccMode(device, &value, &pending)
                     : 0)) {
        reading_add_text(list, ecc.name, on_off(value), ecc.source);
        reading_add_text(list, "device.ecc_mode_pending", on_off(pending), ecc.source);
    }
    if (answered(&mig, api->nvmlDeviceGetMigMode != NULL,
                 api->nvmlDeviceGetMigMode != NULL
                     ? api->nvmlDeviceGetMigMode(device, &value, &pending)
                     : 0)) {
        reading_add_text(list, mig.name, on_off(value), mig.source);
        reading_add_text(list, "device.mig_mode_pending", on_off(pending), mig.source);
    }
}

static void add_board(const struct nvml_api *api, struct nvmlDevice_st *device,
                      struct reading_list *list)
{
    const struct asked gsp = {list, api, "device.gsp_firmware_version",
                              "nvmlDeviceGetGspFirmwareVersion"};
    char raw[96] = "";

    TEXT("device.serial", nvmlDeviceGetSerial);
    TEXT("device.vbios_version", nvmlDeviceGetVbiosVersion);
    TEXT("device.board_part_number", nvmlDeviceGetBoardPartNumber);
    TEXT("device.inforom_version", nvmlDeviceGetInforomImageVersion);
    TEXT("device.board_uuid", nvmlDeviceGetUUID);
    if (answered(&gsp, api->nvmlDeviceGetGspFirmwareVersion != NULL,
                 api->nvmlDeviceGetGspFirmwareVersion != NULL
                     ? api->nvmlDeviceGetGspFirmwareVersion(device, raw)
                     : 0))
        add_text(&gsp, raw);
    add_modes(api, device, list);
    NUMBER("device.power_limit", 1, "mw", nvmlDeviceGetEnforcedPowerLimit);
    NUMBER("device.power_limit_default", 1, "mw", nvmlDeviceGetPowerManagementDefaultLimit);
    NUMBER("device.clock_sm_max", 1000000, "hz", nvmlDeviceGetMaxClockInfo, NVML_OUR_CLOCK_SM);
    NUMBER("device.clock_memory_max", 1000000, "hz", nvmlDeviceGetMaxClockInfo,
           NVML_OUR_CLOCK_MEMORY);
    NUMBER("device.pcie_generation_max", 1, NULL, nvmlDeviceGetMaxPcieLinkGeneration);
    NUMBER("device.pcie_width_max", 1, "lanes", nvmlDeviceGetMaxPcieLinkWidth);
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun ...": the first dotted number. */
static bool driver_from_proc(char *ret, size_t size)
{
    FILE *file = fopen("/proc/driver/nvidia/version", "re");
    char line[256] = "", *word, *rest = NULL;
    bool found = false;

    if (file == NULL)
        return false;
    if (fgets(line, sizeof(line), file) != NULL)
        for (word = strtok_r(line, " \t\n", &rest); word != NULL && !found;
             word = strtok_r(NULL, " \t\n", &rest))
            if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.') != NULL) {
                snprintf(ret, size, "%s", word);
                found = true;
            }
    fclose(file);
    return found;
}

static void add_driver(struct cuda_state *state, struct reading_list *list)
{
    static const char name[] = "device.driver_version";
    char raw[96] = "";
    unsigned result = 0;

    if (state->driver.assay_simulated != NULL)
        reading_add_text(list, name, state->driver.assay_simulated, "assay_simulated");
    else if (cuda_state_nvml(state) && (result = state->nvml.nvmlSystemGetDriverVersion(
                                            raw, sizeof(raw) - 1)) == NVML_OUR_SUCCESS)
        add_text(&(struct asked){list, &state->nvml, name, "nvmlSystemGetDriverVersion"}, raw);
    else if (driver_from_proc(raw, sizeof(raw)))
        reading_add_text(list, name, raw, "/proc/driver/nvidia/version");
    else
        reading_add_missing(list, name, READING_UNAVAILABLE, "nvmlSystemGetDriverVersion",
                            state->nvml_lib.tried != NULL ? state->nvml_lib.tried : "not reported");
}

void cuda_add_identity(struct cuda_state *state, const char *pci, struct reading_list *list)
{
    struct error error = ERROR_INIT;
    struct nvmlDevice_st *device = NULL;

    add_driver(state, list);
    if (cuda_nvml_device(state, pci, &device, &error) == STATUS_OK)
        add_board(&state->nvml, device, list);
    else
        reading_add_missing(list, "device.nvml", READING_UNAVAILABLE, "libnvidia-ml.so.1",
                            error.message);
}
