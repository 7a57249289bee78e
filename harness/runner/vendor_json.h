/* vendor_json - what a vendor's library reported, as JSON that is safe to keep and to show. */
#ifndef ASSAY_RUNNER_VENDOR_JSON_H
#define ASSAY_RUNNER_VENDOR_JSON_H

#include <stdint.h>

#include <jansson.h>

#include "backends/backend.h"

/* New object with all of a device's description, readings included; NULL when out of memory. */
json_t *vendor_json_device(const struct device_info *info, const char *backend, uint32_t index);

#endif
