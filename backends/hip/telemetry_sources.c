/* telemetry_sources - what ROCm SMI and the kernel report about a device, one function a number. */
#include "backends/hip/telemetry_sources.h"

#include <string.h>

static unsigned to_int64(unsigned code, uint64_t value, uint64_t divisor, int64_t *ret)
{
    if (code == ROCM_SMI_SUCCESS && value / divisor > INT64_MAX)
        return ROCM_SMI_UNEXPECTED_DATA;
    if (code == ROCM_SMI_SUCCESS)
        *ret = (int64_t)(value / divisor);
    return code;
}

/* Power that is 0 comes from a die without a sensor: the second one of an MI250X, say. */
static unsigned to_power(unsigned code, uint64_t value, int64_t *ret)
{
    return code == ROCM_SMI_SUCCESS && value == 0 ? ROCM_SMI_NO_DATA
                                                  : to_int64(code, value, 1000, ret);
}

static unsigned read_power(const struct hip_telemetry *self, int64_t *ret)
{
    uint64_t value = 0;
    unsigned code;

    if (self->api->rsmi_dev_current_socket_power_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    code = self->api->rsmi_dev_current_socket_power_get(self->device, &value);
    return to_power(code, value, ret);
}

static unsigned read_power_average(const struct hip_telemetry *self, int64_t *ret)
{
    uint64_t value = 0;
    unsigned code;

    if (self->api->rsmi_dev_power_ave_get == NULL)
        return ROCM_SMI_NO_FUNCTION;
    code = self->api->rsmi_dev_power_ave_get(self->device, 0, &value);
    return to_power(code, value, ret);
}

/*
 * The counter counts steps of `resolution` microjoules (15.26 on MI200). It is 0 on a die whose
 * energy is counted with another's; the resolution is reported even there.
 */
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
    if (counter == 0)
        return ROCM_SMI_NO_DATA;
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
    /* Space after the later layout, in case a list grows again. */
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

unsigned hip_telemetry_read_throttle(const struct hip_telemetry *self, int64_t *ret)
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
    struct rocm_smi_errors errors[4]; /* space after it, in case it grows */
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

const struct hip_telemetry_source hip_telemetry_sources[HIP_TELEMETRY_SOURCES] = {
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
    {"throttle_reasons", "gpu_metrics.indep_throttle_status", TELEMETRY_MASK,
     hip_telemetry_read_throttle},
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
const struct hip_telemetry_row hip_telemetry_rows[HIP_TELEMETRY_ROWS] = {
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
