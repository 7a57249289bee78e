/*
 * rocm_smi - our declarations of ROCm SMI (librocm_smi64) of ROCm 5.2 to 7, as far as they are
 * used: functions whose results are plain numbers and texts, the same in all of these. Facts from
 * rocm_smi.h of ROCm 5.2.3, 5.7.1, 6.0.0, 6.1.2 and 6.2 (MIT).
 *
 * rsmi_frequencies_t has two layouts. The later one came with 6.0, as did
 * rsmi_dev_current_socket_power_get, by which they are distinguished.
 */
#ifndef ASSAY_BACKENDS_HIP_ROCM_SMI_H
#define ASSAY_BACKENDS_HIP_ROCM_SMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/hip/runtime.h"

#define ROCM_SMI_STATUS_MAP(X)                                                                     \
    X(SUCCESS, 0)                                                                                  \
    X(INVALID_ARGS, 1)                                                                             \
    X(NOT_SUPPORTED, 2)                                                                            \
    X(FILE_ERROR, 3)                                                                               \
    X(PERMISSION, 4)                                                                               \
    X(OUT_OF_RESOURCES, 5)                                                                         \
    X(INTERNAL_EXCEPTION, 6)                                                                       \
    X(INPUT_OUT_OF_BOUNDS, 7)                                                                      \
    X(INIT_ERROR, 8)                                                                               \
    X(NOT_YET_IMPLEMENTED, 9)                                                                      \
    X(NOT_FOUND, 10)                                                                               \
    X(INSUFFICIENT_SIZE, 11)                                                                       \
    X(INTERRUPT, 12)                                                                               \
    X(UNEXPECTED_SIZE, 13)                                                                         \
    X(NO_DATA, 14)                                                                                 \
    X(UNEXPECTED_DATA, 15)                                                                         \
    X(BUSY, 16)                                                                                    \
    X(REFCOUNT_OVERFLOW, 17)

enum {
#define ROCM_SMI_STATUS_ENUM(name, value) ROCM_SMI_##name = value,
    ROCM_SMI_STATUS_MAP(ROCM_SMI_STATUS_ENUM)
#undef ROCM_SMI_STATUS_ENUM
};

#define ROCM_SMI_CLOCK_SYS 0u
#define ROCM_SMI_CLOCK_MEM 4u
#define ROCM_SMI_TEMPERATURE_EDGE 0u
#define ROCM_SMI_TEMPERATURE_JUNCTION 1u
#define ROCM_SMI_TEMPERATURE_MEMORY 2u
#define ROCM_SMI_TEMPERATURE_CURRENT 0u
#define ROCM_SMI_BLOCK_UMC 1u /* memory controllers */
#define ROCM_SMI_COMPONENT_DRIVER 0u

/* rsmi_frequencies_t before 6.0 and since; frequencies in hertz. */
struct rocm_smi_frequencies_5 {
    uint32_t count, current;
    uint64_t hertz[32];
};
struct rocm_smi_frequencies_6 {
    bool deep_sleep;
    uint32_t count, current;
    uint64_t hertz[33];
};
struct rocm_smi_version {
    uint32_t major, minor, patch;
    const char *build;
};
struct rocm_smi_errors {
    uint64_t corrected, uncorrected;
};

/* The result is rsmi_status_t, unsigned. Power is in microwatts, temperature in 1/1000 degrees. */
#define ROCM_SMI_REQUIRED_MAP(X)                                                                   \
    X(rsmi_init, (uint64_t flags))                                                                 \
    X(rsmi_shut_down, (void))                                                                      \
    X(rsmi_num_monitor_devices, (uint32_t * count))                                                \
    X(rsmi_dev_pci_id_get, (uint32_t device, uint64_t * bdf))

#define ROCM_SMI_OPTIONAL_MAP(X)                                                                   \
    X(rsmi_dev_power_ave_get, (uint32_t device, uint32_t sensor, uint64_t * power))                \
    X(rsmi_dev_current_socket_power_get, (uint32_t device, uint64_t * power))                      \
    X(rsmi_dev_energy_count_get,                                                                   \
      (uint32_t device, uint64_t * counter, float *resolution, uint64_t *timestamp))               \
    X(rsmi_dev_power_cap_get, (uint32_t device, uint32_t sensor, uint64_t * cap))                  \
    X(rsmi_dev_power_cap_default_get, (uint32_t device, uint64_t * cap))                           \
    X(rsmi_dev_temp_metric_get,                                                                    \
      (uint32_t device, uint32_t sensor, unsigned metric, int64_t *temperature))                   \
    X(rsmi_dev_gpu_clk_freq_get, (uint32_t device, unsigned clock, void *frequencies))             \
    X(rsmi_dev_busy_percent_get, (uint32_t device, uint32_t * percent))                            \
    X(rsmi_dev_memory_busy_percent_get, (uint32_t device, uint32_t * percent))                     \
    X(rsmi_dev_memory_usage_get, (uint32_t device, unsigned type, uint64_t *bytes))                \
    X(rsmi_dev_ecc_count_get, (uint32_t device, unsigned block, void *errors))                     \
    X(rsmi_dev_pci_replay_counter_get, (uint32_t device, uint64_t * count))                        \
    X(rsmi_dev_unique_id_get, (uint32_t device, uint64_t * id))                                    \
    X(rsmi_dev_serial_number_get, (uint32_t device, char *text, uint32_t size))                    \
    X(rsmi_dev_vbios_version_get, (uint32_t device, char *text, uint32_t size))                    \
    X(rsmi_version_get, (void *version))                                                           \
    X(rsmi_version_str_get, (unsigned component, char *text, uint32_t size))

struct rocm_smi {
    ROCM_SMI_REQUIRED_MAP(HIP_MEMBER)
    ROCM_SMI_OPTIONAL_MAP(HIP_MEMBER)
};

/* No status of the library: it has no such function. */
#define ROCM_SMI_NO_FUNCTION UINT32_MAX

const char *rocm_smi_status_name(unsigned status); /* "RSMI_STATUS_NOT_SUPPORTED" */

/*
 * The library, opened and initialized once a process. UNAVAILABLE with what was tried, or with
 * what rsmi_init said.
 */
enum status rocm_smi_open(const struct rocm_smi **ret, struct error *err);
const struct dynlib *rocm_smi_library(void);

/*
 * The library's number of the device at a PCI address "0000:c1:00.0". NOT_FOUND, also where several
 * partitions of one board are there: their numbers are not each other's.
 */
enum status rocm_smi_find(const struct rocm_smi *api, const char *pci, uint32_t *ret,
                          struct error *err);

/*
 * Why a device throttles, from the kernel's own table (gpu_metrics in the device's sysfs folder,
 * version 1.3: kgd_pp_interface.h of Linux). UNAVAILABLE where the file or that version is not
 * there. The names of the bits are in hip_throttle_bits, NULL-terminated, "" for those unused.
 */
#define HIP_METRICS_SIZE_1_3 120
#define HIP_METRICS_THROTTLE_1_3 112 /* indep_throttle_status, 8 bytes */
extern const char *const hip_throttle_bits[];
enum status hip_throttle_read(const char *path, uint64_t *ret, struct error *err);

#endif
