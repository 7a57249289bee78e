/* environment - host, limits and variables together, as the store keeps them. */
#ifndef ASSAY_RUNNER_ENVIRONMENT_H
#define ASSAY_RUNNER_ENVIRONMENT_H

#include <stdbool.h>

#include <jansson.h>

#include "harness/core/status.h"

/* What does not change during a campaign, as JSON of readings; new object. */
enum status environment_read_fixed(json_t **ret, struct error *err);

/* What changes; new object. */
enum status environment_read_moving(json_t **ret, struct error *err);

/*
 * True when a variable of this name can change what is measured: loaders, OpenMP, allocators and
 * the vendors' own. Only these are recorded; the rest of the environment is private, and so is any
 * variable whose name marks a secret (NVIDIA_API_KEY).
 */
bool environment_is_relevant(const char *variable);

#endif
