/*
 * A stand-in for ROCm SMI, for a device with some features missing: no average power, no permission
 * to read its serial. Power and energy change with time; with ASSAY_SHIM_SECOND_DIE set they are 0,
 * as on a die whose board reports them for its first die. ASSAY_SHIM_PARTITIONS: the other device
 * is a partition of the same board.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/hip/rocm_smi.h"
#include "tests/support/gpu_shim/core.h"
#include "tests/support/gpu_shim/hip.h"

#ifdef SHIM_HIP_5
#define LAYOUT rocm_smi_frequencies_5
#else
#define LAYOUT rocm_smi_frequencies_6
SHIM_EXPORT unsigned rsmi_dev_current_socket_power_get(uint32_t device, uint64_t *power);
#endif

#define PROTOTYPE(name, parameters) SHIM_EXPORT unsigned name parameters;
ROCM_SMI_REQUIRED_MAP(PROTOTYPE)
PROTOTYPE(rsmi_dev_power_ave_get, (uint32_t device, uint32_t sensor, uint64_t *power))
PROTOTYPE(rsmi_dev_energy_count_get,
          (uint32_t device, uint64_t *counter, float *resolution, uint64_t *timestamp))
PROTOTYPE(rsmi_dev_power_cap_get, (uint32_t device, uint32_t sensor, uint64_t *cap))
PROTOTYPE(rsmi_dev_power_cap_default_get, (uint32_t device, uint64_t *cap))
PROTOTYPE(rsmi_dev_temp_metric_get,
          (uint32_t device, uint32_t sensor, unsigned metric, int64_t *temperature))
PROTOTYPE(rsmi_dev_gpu_clk_freq_get, (uint32_t device, unsigned clock, void *frequencies))
PROTOTYPE(rsmi_dev_busy_percent_get, (uint32_t device, uint32_t *percent))
PROTOTYPE(rsmi_dev_memory_busy_percent_get, (uint32_t device, uint32_t *percent))
PROTOTYPE(rsmi_dev_memory_usage_get, (uint32_t device, unsigned type, uint64_t *bytes))
PROTOTYPE(rsmi_dev_ecc_count_get, (uint32_t device, unsigned block, void *errors))
PROTOTYPE(rsmi_dev_pci_replay_counter_get, (uint32_t device, uint64_t *count))
PROTOTYPE(rsmi_dev_unique_id_get, (uint32_t device, uint64_t *id))
PROTOTYPE(rsmi_dev_serial_number_get, (uint32_t device, char *text, uint32_t size))
PROTOTYPE(rsmi_dev_vbios_version_get, (uint32_t device, char *text, uint32_t size))
PROTOTYPE(rsmi_version_get, (void *version))
PROTOTYPE(rsmi_version_str_get, (unsigned component, char *text, uint32_t size))
#undef PROTOTYPE

#define DEVICE 1u /* another device comes first */
#define POWER_UW 300000000ull

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static bool second_die(void)
{
    return getenv("ASSAY_SHIM_SECOND_DIE") != NULL;
}

unsigned rsmi_init(uint64_t flags)
{
    SHIM_FAULT(unsigned, rsmi_init);
    return flags == 0 ? 0 : ROCM_SMI_INVALID_ARGS;
}

unsigned rsmi_shut_down(void)
{
    return 0;
}

unsigned rsmi_num_monitor_devices(uint32_t *count)
{
    SHIM_FAULT(unsigned, rsmi_num_monitor_devices);
    *count = 2;
    return 0;
}

unsigned rsmi_dev_pci_id_get(uint32_t device, uint64_t *bdf)
{
    SHIM_FAULT(unsigned, rsmi_dev_pci_id_get);
    if (device == DEVICE)
        *bdf = SHIM_HIP_PCI_NUMBER | 0x10000000u;
    else
        *bdf = getenv("ASSAY_SHIM_PARTITIONS") != NULL ? SHIM_HIP_PCI_NUMBER : 0x300;
    return 0;
}

#define ASKED(function)                                                                            \
    SHIM_FAULT(unsigned, function);                                                                \
    if (device != DEVICE)                                                                          \
    return ROCM_SMI_INVALID_ARGS

#define NUMBER(function, type, value)                                                              \
    unsigned function(uint32_t device, type *ret)                                                  \
    {                                                                                              \
        ASKED(function);                                                                           \
        *ret = (type)(value);                                                                      \
        return 0;                                                                                  \
    }

#ifndef SHIM_HIP_5
NUMBER(rsmi_dev_current_socket_power_get, uint64_t,
       second_die() ? 0 : POWER_UW + now_us() % 1000000)
#endif
NUMBER(rsmi_dev_power_cap_default_get, uint64_t, 750000000)
NUMBER(rsmi_dev_busy_percent_get, uint32_t, 97)
NUMBER(rsmi_dev_memory_busy_percent_get, uint32_t, 55)
NUMBER(rsmi_dev_pci_replay_counter_get, uint64_t, 0)
NUMBER(rsmi_dev_unique_id_get, uint64_t, 0x6f00d1eaf0e1e2e3)

unsigned rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *power)
{
    (void)sensor;
    ASKED(rsmi_dev_power_ave_get);
#ifdef SHIM_HIP_5
    *power = POWER_UW;
    return 0;
#else
    (void)power;
    return ROCM_SMI_NOT_SUPPORTED; /* as MI300 */
#endif
}

unsigned rsmi_dev_energy_count_get(uint32_t device, uint64_t *counter, float *resolution,
                                   uint64_t *timestamp)
{
    ASKED(rsmi_dev_energy_count_get);
    *resolution = 15.259f;
    *counter = second_die() ? 0 : (uint64_t)((double)now_us() * (double)POWER_UW / 1e6 / 15.259);
    *timestamp = now_us() * 1000;
    return 0;
}

unsigned rsmi_dev_power_cap_get(uint32_t device, uint32_t sensor, uint64_t *cap)
{
    (void)sensor;
    ASKED(rsmi_dev_power_cap_get);
    *cap = 700000000;
    return 0;
}

unsigned rsmi_dev_temp_metric_get(uint32_t device, uint32_t sensor, unsigned metric,
                                  int64_t *temperature)
{
    ASKED(rsmi_dev_temp_metric_get);
    if (sensor > ROCM_SMI_TEMPERATURE_MEMORY || metric != ROCM_SMI_TEMPERATURE_CURRENT)
        return ROCM_SMI_NOT_SUPPORTED;
    *temperature = 40000 + 5000 * (int64_t)sensor;
    return 0;
}

unsigned rsmi_dev_gpu_clk_freq_get(uint32_t device, unsigned clock, void *frequencies)
{
    struct LAYOUT *list = frequencies;

    ASKED(rsmi_dev_gpu_clk_freq_get);
    if (clock != ROCM_SMI_CLOCK_SYS && clock != ROCM_SMI_CLOCK_MEM)
        return ROCM_SMI_NOT_SUPPORTED;
    memset(list, 0, sizeof(*list));
    list->count = 3;
    list->current = 1;
    list->hertz[0] = 132000000;
    list->hertz[1] = clock == ROCM_SMI_CLOCK_SYS ? 1700000000 : 900000000;
    list->hertz[2] = clock == ROCM_SMI_CLOCK_SYS ? 2100000000 : 1300000000;
    return 0;
}

unsigned rsmi_dev_memory_usage_get(uint32_t device, unsigned type, uint64_t *bytes)
{
    ASKED(rsmi_dev_memory_usage_get);
    *bytes = SHIM_MEMORY_BYTES - core_memory_free();
    return type == 0 ? 0 : ROCM_SMI_INVALID_ARGS;
}

unsigned rsmi_dev_ecc_count_get(uint32_t device, unsigned block, void *errors)
{
    ASKED(rsmi_dev_ecc_count_get);
    *(struct rocm_smi_errors *)errors = (struct rocm_smi_errors){3, 0};
    return block == ROCM_SMI_BLOCK_UMC ? 0 : ROCM_SMI_INVALID_ARGS;
}

unsigned rsmi_dev_serial_number_get(uint32_t device, char *text, uint32_t size)
{
    (void)text;
    (void)size;
    ASKED(rsmi_dev_serial_number_get);
    return ROCM_SMI_PERMISSION;
}

unsigned rsmi_dev_vbios_version_get(uint32_t device, char *text, uint32_t size)
{
    ASKED(rsmi_dev_vbios_version_get);
    snprintf(text, size, "113-ASSAY-101");
    return 0;
}

unsigned rsmi_version_get(void *version)
{
    SHIM_FAULT(unsigned, rsmi_version_get);
    *(struct rocm_smi_version *)version = (struct rocm_smi_version){7, 3, 0, "stand-in"};
    return 0;
}

unsigned rsmi_version_str_get(unsigned component, char *text, uint32_t size)
{
    SHIM_FAULT(unsigned, rsmi_version_str_get);
    snprintf(text, size, "6.7.0");
    return component == ROCM_SMI_COMPONENT_DRIVER ? 0 : ROCM_SMI_INVALID_ARGS;
}
