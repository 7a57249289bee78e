/* telemetry_sources - the numbers that telemetry.c asks for: each one's name, call and reader. */
#ifndef ASSAY_BACKENDS_HIP_TELEMETRY_SOURCES_H
#define ASSAY_BACKENDS_HIP_TELEMETRY_SOURCES_H

#include "backends/hip/rocm_smi.h"
#include "backends/telemetry.h"

struct hip_telemetry {
    struct telemetry base;
    const struct rocm_smi *api;
    uint32_t device;
    char metrics_path[128];
};

/* Each gives the library's status, ROCM_SMI_NO_FUNCTION where the library lacks it. */
typedef unsigned hip_telemetry_read_fn(const struct hip_telemetry *self, int64_t *ret);

/* A channel. */
struct hip_telemetry_source {
    const char *name, *call;
    enum telemetry_kind kind;
    hip_telemetry_read_fn *read;
};

/* A reading of the window's edges. */
struct hip_telemetry_row {
    const char *name, *unit, *call;
    hip_telemetry_read_fn *read;
};

#define HIP_TELEMETRY_SOURCES 15
#define HIP_TELEMETRY_ROWS 6
extern const struct hip_telemetry_source hip_telemetry_sources[HIP_TELEMETRY_SOURCES];
extern const struct hip_telemetry_row hip_telemetry_rows[HIP_TELEMETRY_ROWS];

/* The reader of throttle reasons, whose failure hip_throttle_read explains. */
hip_telemetry_read_fn hip_telemetry_read_throttle;

#endif
