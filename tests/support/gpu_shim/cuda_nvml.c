/*
 * A stand-in for NVML, for a device with some features missing: no fan, no permission to read PCIe
 * replays. Power, energy and clocks change with time. With ASSAY_SHIM_MIG set the device is a slice
 * of MIG, whose user may not query the board for memory and processes, and with
 * ASSAY_SHIM_MIG_HIDDEN also set, one that NVML does not find; with ASSAY_SHIM_NVML_535 entries of
 * processes are as the first drivers of 535 had them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/nvml.h"
#include "tests/support/gpu_shim/core.h"
#include "tests/support/gpu_shim/cuda.h"

#define PROTOTYPE(result, name, parameters) SHIM_EXPORT result name parameters;
NVML_REQUIRED_MAP(PROTOTYPE)
NVML_OPTIONAL_MAP(PROTOTYPE)
#undef PROTOTYPE

#define INVALID 2u /* NVML_ERROR_INVALID_ARGUMENT */
#define POWER_MW 250000u

struct nvmlDevice_st {
    int unused;
};

static struct nvmlDevice_st board, slice;

static bool has_mig(void)
{
    return getenv("ASSAY_SHIM_MIG") != NULL;
}

static unsigned long long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000;
}

unsigned nvmlInit_v2(void)
{
    SHIM_FAULT(unsigned, nvmlInit_v2);
    return 0;
}

unsigned nvmlShutdown(void)
{
    return 0;
}

const char *nvmlErrorString(unsigned result)
{
    return result == 0                        ? "Success"
           : result == NVML_OUR_NOT_SUPPORTED ? "Not Supported"
           : result == NVML_OUR_NO_PERMISSION ? "Insufficient Permissions"
           : result == NVML_OUR_GPU_IS_LOST   ? "GPU is lost"
                                              : "Unknown Error";
}

unsigned nvmlDeviceGetHandleByPciBusId_v2(const char *id, struct nvmlDevice_st **device)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetHandleByPciBusId_v2);
    if (strcmp(id, SHIM_PCI) != 0)
        return 6; /* NVML_ERROR_NOT_FOUND */
    *device = &board;
    return 0;
}

unsigned nvmlDeviceGetHandleByUUID(const char *uuid, struct nvmlDevice_st **device)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetHandleByUUID);
    if (!has_mig() || getenv("ASSAY_SHIM_MIG_HIDDEN") != NULL ||
        strcmp(uuid, "MIG-b0b1b2b3-b4b5-b6b7-b8b9-babbbcbdbebf") != 0)
        return 6; /* NVML_ERROR_NOT_FOUND */
    *device = &slice;
    return 0;
}

static unsigned copy_text(char *text, unsigned length, const char *value)
{
    return (unsigned)snprintf(text, length, "%s", value) < length ? 0 : NVML_OUR_INSUFFICIENT_SIZE;
}

#define SYSTEM_TEXT(function, value)                                                               \
    unsigned function(char *text, unsigned length)                                                 \
    {                                                                                              \
        SHIM_FAULT(unsigned, function);                                                            \
        return copy_text(text, length, value);                                                     \
    }
#define TEXT(function, value)                                                                      \
    unsigned function(struct nvmlDevice_st *device, char *text, unsigned length)                   \
    {                                                                                              \
        SHIM_FAULT(unsigned, function);                                                            \
        return device == &board ? copy_text(text, length, value) : INVALID;                        \
    }
#define NUMBER(function, type, given)                                                              \
    unsigned function(struct nvmlDevice_st *device, type *value)                                   \
    {                                                                                              \
        SHIM_FAULT(unsigned, function);                                                            \
        *value = (type)(given);                                                                    \
        return device == &board ? 0 : INVALID;                                                     \
    }
#define REFUSED(function, type, code)                                                              \
    unsigned function(struct nvmlDevice_st *device, type *value)                                   \
    {                                                                                              \
        (void)device;                                                                              \
        (void)value;                                                                               \
        SHIM_FAULT(unsigned, function);                                                            \
        return code;                                                                               \
    }
#define PAIR(function, first, second)                                                              \
    unsigned function(struct nvmlDevice_st *device, unsigned *a, unsigned *b)                      \
    {                                                                                              \
        SHIM_FAULT(unsigned, function);                                                            \
        *a = first;                                                                                \
        *b = second;                                                                               \
        return device == &board ? 0 : INVALID;                                                     \
    }

SYSTEM_TEXT(nvmlSystemGetDriverVersion, "stand-in 1")
SYSTEM_TEXT(nvmlSystemGetNVMLVersion, "stand-in 1")
TEXT(nvmlDeviceGetUUID, "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf")
TEXT(nvmlDeviceGetSerial, "0000000000001")
TEXT(nvmlDeviceGetVbiosVersion, "00.00.00.00.01")
TEXT(nvmlDeviceGetBoardPartNumber, "000-00000-0000-000")
TEXT(nvmlDeviceGetInforomImageVersion, "G000.0000.00.00")
NUMBER(nvmlDeviceGetPersistenceMode, unsigned, 1)
NUMBER(nvmlDeviceGetComputeMode, unsigned, 0)
NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned, 400000)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, 400000)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, 350000)
NUMBER(nvmlDeviceGetPowerUsage, unsigned, POWER_MW)
NUMBER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, now_ms() * POWER_MW / 1000)
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, 4)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, 4)
NUMBER(nvmlDeviceGetPerformanceState, unsigned, 0)
REFUSED(nvmlDeviceGetFanSpeed, unsigned, NVML_OUR_NOT_SUPPORTED)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, 5)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, 16)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, 5)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned, 16)
REFUSED(nvmlDeviceGetPcieReplayCounter, unsigned, NVML_OUR_NO_PERMISSION)
PAIR(nvmlDeviceGetEccMode, 1, 1)
PAIR(nvmlDeviceGetMigMode, has_mig(), has_mig())
PAIR(nvmlDeviceGetPowerManagementLimitConstraints, 100000, 400000)

unsigned nvmlDeviceGetGspFirmwareVersion(struct nvmlDevice_st *device, char *text)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetGspFirmwareVersion);
    return device == &board ? copy_text(text, 64, "stand-in 1") : INVALID;
}

unsigned nvmlSystemGetProcessName(unsigned pid, char *text, unsigned length)
{
    SHIM_FAULT(unsigned, nvmlSystemGetProcessName);
    return pid == 4242 ? copy_text(text, length, "somebody") : 6;
}

unsigned nvmlDeviceGetClockInfo(struct nvmlDevice_st *device, unsigned type, unsigned *value)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetClockInfo);
    *value = type == NVML_OUR_CLOCK_SM ? 1500 + (unsigned)(now_ms() / 100 % 16) * 15 : 2600;
    return device == &board ? 0 : INVALID;
}

unsigned nvmlDeviceGetMaxClockInfo(struct nvmlDevice_st *device, unsigned type, unsigned *value)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetMaxClockInfo);
    *value = type == NVML_OUR_CLOCK_SM ? 1980 : 2619;
    return device == &board ? 0 : INVALID;
}

unsigned nvmlDeviceGetTemperature(struct nvmlDevice_st *device, unsigned sensor, unsigned *value)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetTemperature);
    *value = 55;
    return device == &board && sensor == 0 ? 0 : INVALID;
}

unsigned nvmlDeviceGetTemperatureThreshold(struct nvmlDevice_st *device, unsigned kind,
                                           unsigned *value)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetTemperatureThreshold);
    *value = kind == NVML_OUR_THRESHOLD_SLOWDOWN ? 88 : 92;
    return device == &board ? 0 : INVALID;
}

unsigned nvmlDeviceGetUtilizationRates(struct nvmlDevice_st *device, struct nvml_utilization *value)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetUtilizationRates);
    if (has_mig())
        return NVML_OUR_NOT_SUPPORTED;
    *value = (struct nvml_utilization){97, 41};
    return device == &board ? 0 : INVALID;
}

unsigned nvmlDeviceGetMemoryInfo(struct nvmlDevice_st *device, struct nvml_memory *value)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetMemoryInfo);
    if (has_mig() && device == &board)
        return NVML_OUR_NO_PERMISSION;
    value->total = SHIM_MEMORY_BYTES;
    value->free = core_memory_free();
    value->used = value->total - value->free;
    return device == (has_mig() ? &slice : &board) ? 0 : INVALID;
}

unsigned nvmlDeviceGetTotalEccErrors(struct nvmlDevice_st *device, unsigned error, unsigned counter,
                                     unsigned long long *value)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetTotalEccErrors);
    *value = error == NVML_OUR_ECC_CORRECTED && counter == NVML_OUR_ECC_AGGREGATE ? 3 : 0;
    return device == &board ? 0 : INVALID;
}

unsigned nvmlDeviceGetRemappedRows(struct nvmlDevice_st *device, unsigned *corrected,
                                   unsigned *uncorrected, unsigned *pending, unsigned *failed)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetRemappedRows);
    *corrected = *uncorrected = *pending = *failed = 0;
    return device == &board ? 0 : INVALID;
}

unsigned nvmlDeviceGetFieldValues(struct nvmlDevice_st *device, int count,
                                  struct nvml_field *fields)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetFieldValues);
    for (int i = 0; i < count; i++) {
        fields[i].type = NVML_OUR_VALUE_UINT;
        fields[i].result = 0;
        if (fields[i].field == NVML_OUR_FIELD_POWER_INSTANT)
            fields[i].value.u = POWER_MW + (unsigned)(now_ms() % 1000) * 10;
        else if (fields[i].field == NVML_OUR_FIELD_POWER_AVERAGE)
            fields[i].value.u = POWER_MW;
        else if (fields[i].field == NVML_OUR_FIELD_MEMORY_TEMPERATURE)
            fields[i].value.u = 61;
        else
            fields[i].result = NVML_OUR_NOT_SUPPORTED;
    }
    return device == &board ? 0 : INVALID;
}

/* Two of them, in entries of `size` bytes. */
static unsigned list_processes(const struct nvmlDevice_st *device, unsigned *count, void *processes,
                               size_t size)
{
    const struct nvml_process all[] = {{4242, 512 << 20, ~0u, ~0u}, {4343, 256 << 20, ~0u, ~0u}};

    if (has_mig() && device == &board)
        return NVML_OUR_NO_PERMISSION;
    if (*count < 2) {
        *count = 2;
        return NVML_OUR_INSUFFICIENT_SIZE;
    }
    *count = 2;
    memset(processes, 0, 2 * size);
    for (size_t i = 0; i < 2; i++)
        memcpy((char *)processes + i * size, &all[i], sizeof(all[i]));
    return 0;
}

unsigned nvmlDeviceGetComputeRunningProcesses_v3(struct nvmlDevice_st *device, unsigned *count,
                                                 struct nvml_process *processes)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetComputeRunningProcesses_v3);
    return list_processes(device, count, processes,
                          sizeof(*processes) + (getenv("ASSAY_SHIM_NVML_535") != NULL ? 8 : 0));
}

unsigned nvmlDeviceGetComputeRunningProcesses_v2(struct nvmlDevice_st *device, unsigned *count,
                                                 struct nvml_process *processes)
{
    SHIM_FAULT(unsigned, nvmlDeviceGetComputeRunningProcesses_v2);
    return list_processes(device, count, processes, sizeof(*processes));
}
