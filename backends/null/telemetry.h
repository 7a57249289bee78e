/* telemetry - what ASSAY_NULL declares of power, energy and clocks, as if a vendor reported it. */
#ifndef ASSAY_BACKENDS_NULL_TELEMETRY_H
#define ASSAY_BACKENDS_NULL_TELEMETRY_H

#include "backends/telemetry.h"

/* The hook of backend_ops. UNAVAILABLE unless ASSAY_NULL has power_mw. */
enum status null_telemetry_open(struct backend *backend, uint32_t index, struct telemetry **ret,
                                struct error *err);

#endif
