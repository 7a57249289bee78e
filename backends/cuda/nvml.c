#include "backends/cuda/nvml.h"

#define DYNLIB_API struct nvml_api
static const struct dynlib_symbol symbols[] = {NVML_REQUIRED_MAP(DYNLIB_REQUIRED)
                                                   NVML_OPTIONAL_MAP(DYNLIB_OPTIONAL)};

/* nvmlClocksEventReason*: 0x1, 0x2, 0x4 ... */
const char *const nvml_throttle_reasons[] = {
    "gpu_idle",
    "applications_clocks",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake",
    "display",
    NULL,
};

enum status nvml_open(struct dynlib *lib, struct nvml_api *ret, struct error *err)
{
    static const char *const sonames[] = {"libnvidia-ml.so.1", NULL};
    static const struct dynlib_spec spec = DYNLIB_SPEC("nvml", sonames, symbols);

    return dynlib_open(&spec, lib, ret, err);
}
