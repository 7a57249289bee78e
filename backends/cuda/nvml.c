#include "backends/cuda/nvml.h"

#include <string.h>

static const struct dynlib_symbol symbols[] = {
#define REQUIRED(result, name, parameters) DYNLIB_REQUIRED(struct nvml_api, name),
#define OPTIONAL(result, name, parameters) DYNLIB_OPTIONAL(struct nvml_api, name),
    NVML_REQUIRED_MAP(REQUIRED) NVML_OPTIONAL_MAP(OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
};

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
    static const struct dynlib_spec spec = {
        .name = "nvml",
        .sonames = sonames,
        .symbols = symbols,
        .symbol_count = sizeof(symbols) / sizeof(symbols[0]),
    };

    memset(ret, 0, sizeof(*ret));
    return dynlib_open(&spec, lib, ret, err);
}
