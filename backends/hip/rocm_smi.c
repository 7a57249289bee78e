#include "backends/hip/rocm_smi.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/hip/kfd.h"

#define DYNLIB_API struct rocm_smi
static const struct dynlib_symbol symbols[] = {ROCM_SMI_REQUIRED_MAP(HIP_REQUIRED)
                                                   ROCM_SMI_OPTIONAL_MAP(HIP_OPTIONAL)};

/* Kept for the life of the process; telemetry has one thread. */
static struct {
    struct dynlib lib;
    struct rocm_smi api;
    bool asked;
    enum status status;
    struct error error;
} opened;

const char *rocm_smi_status_name(unsigned status)
{
    switch (status) {
#define NAME(name, value)                                                                          \
    case value:                                                                                    \
        return "RSMI_STATUS_" #name;
        ROCM_SMI_STATUS_MAP(NAME)
#undef NAME
    default:
        return "unknown status";
    }
}

enum status rocm_smi_open(const struct rocm_smi **ret, struct error *err)
{
    /* Debian calls it .1; ROCm counts with its own major versions. */
    static const char *const sonames[] = {"librocm_smi64.so.8",
                                          "librocm_smi64.so.7",
                                          "librocm_smi64.so.6",
                                          "librocm_smi64.so.5",
                                          "librocm_smi64.so.1",
                                          HIP_ROCM_FOLDER "/librocm_smi64.so.8",
                                          HIP_ROCM_FOLDER "/librocm_smi64.so.7",
                                          HIP_ROCM_FOLDER "/librocm_smi64.so.6",
                                          HIP_ROCM_FOLDER "/librocm_smi64.so.5",
                                          HIP_ROCM_FOLDER "/librocm_smi64.so.1",
                                          NULL};
    static const struct dynlib_spec spec = DYNLIB_SPEC("rocm_smi", sonames, symbols);

    if (!opened.asked) {
        opened.asked = true;
        opened.status = dynlib_open(&spec, &opened.lib, &opened.api, &opened.error);
        if (opened.status == STATUS_OK) {
            const unsigned code = opened.api.rsmi_init(0);

            if (code != ROCM_SMI_SUCCESS)
                opened.status = error_set(&opened.error, STATUS_UNAVAILABLE, "rsmi_init: %s (%u)",
                                          rocm_smi_status_name(code), code);
        }
    }
    if (opened.status != STATUS_OK)
        return error_set(err, opened.status, "%s", opened.error.message);
    *ret = &opened.api;
    return STATUS_OK;
}

const struct dynlib *rocm_smi_library(void)
{
    return &opened.lib;
}

enum status rocm_smi_find(const struct rocm_smi *api, const char *pci, uint32_t *ret,
                          struct error *err)
{
    uint32_t domain, location, count = 0, found = 0, silent = 0;
    unsigned code = api->rsmi_num_monitor_devices(&count), refusal = ROCM_SMI_SUCCESS;

    if (code != ROCM_SMI_SUCCESS)
        return error_set(err, STATUS_DEVICE, "rsmi_num_monitor_devices: %s (%u)",
                         rocm_smi_status_name(code), code);
    if (!hip_pci_parse(pci, &domain, &location))
        return error_set(err, STATUS_NOT_FOUND, "\"%s\" is no PCI address", pci);
    for (uint32_t i = 0; i < count && i < 4096; i++) {
        uint64_t bdf = 0;

        code = api->rsmi_dev_pci_id_get(i, &bdf);
        /* Bits 28 to 31 are the number of a partition. */
        if (code == ROCM_SMI_SUCCESS &&
            (bdf & ~(uint64_t)0xf0000000u) == ((uint64_t)domain << 32 | location) && found++ == 0)
            *ret = i;
        else if (code != ROCM_SMI_SUCCESS && refusal == ROCM_SMI_SUCCESS)
            silent = i, refusal = code;
    }
    if (found == 0 && refusal != ROCM_SMI_SUCCESS)
        return error_set(err, STATUS_NOT_FOUND,
                         "ROCm SMI knows %u devices, none at %s as far as it reports: "
                         "rsmi_dev_pci_id_get(%u): %s (%u)",
                         count, pci, silent, rocm_smi_status_name(refusal), refusal);
    if (found == 0)
        return error_set(err, STATUS_NOT_FOUND, "ROCm SMI knows %u devices, none at %s", count,
                         pci);
    if (found > 1)
        return error_set(err, STATUS_NOT_FOUND,
                         "ROCm SMI has %u partitions at %s, and HIP does not report which of them "
                         "this device is",
                         found, pci);
    return STATUS_OK;
}

/* SMU_THROTTLER_*_BIT of Linux, drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h */
const char *const hip_throttle_bits[] = {
    "ppt0",
    "ppt1",
    "ppt2",
    "ppt3",
    "spl",
    "fppt",
    "sppt",
    "sppt_apu",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "tdc_gfx",
    "tdc_soc",
    "tdc_mem",
    "tdc_vdd",
    "tdc_cvip",
    "edc_cpu",
    "edc_gfx",
    "apcc",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "temp_gpu",
    "temp_core",
    "temp_mem",
    "temp_edge",
    "temp_hotspot",
    "temp_soc",
    "temp_vr_gfx",
    "temp_vr_soc",
    "temp_vr_mem0",
    "temp_vr_mem1",
    "temp_liquid0",
    "temp_liquid1",
    "vrhot0",
    "vrhot1",
    "prochot_cpu",
    "prochot_gfx",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "ppm",
    "fit",
    NULL,
};

enum status hip_throttle_read(const char *path, uint64_t *ret, struct error *err)
{
    unsigned char table[HIP_METRICS_SIZE_1_3];
    FILE *file = fopen(path, "rb");
    uint64_t bits = 0;
    size_t size;

    if (file == NULL)
        return error_set(err, STATUS_UNAVAILABLE, "%s cannot be opened", path);
    size = fread(table, 1, sizeof(table), file);
    fclose(file);
    if (size < 4)
        return error_set(err, STATUS_UNAVAILABLE, "%s is empty", path);
    if (table[2] != 1 || table[3] != 3 || size < HIP_METRICS_SIZE_1_3)
        return error_set(err, STATUS_UNAVAILABLE,
                         "%s has version %u.%u; reasons with fixed names are in 1.3", path,
                         table[2], table[3]);
    for (size_t i = 0; i < 8; i++)
        bits |= (uint64_t)table[HIP_METRICS_THROTTLE_1_3 + i] << 8 * i;
    /* In the kernel's table all ones means unknown. */
    if (bits == UINT64_MAX)
        return error_set(err, STATUS_UNAVAILABLE, "%s does not report it", path);
    *ret = bits;
    return STATUS_OK;
}
