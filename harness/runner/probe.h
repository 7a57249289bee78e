/*
 * probe - which devices are here, asked in a child process for each backend.
 *
 * A vendor library may take hundreds of megabytes, hang or crash when it is opened. The harness must
 * stay small and alive, so it never opens one: `assay probe BACKEND` does, and its answer, or how it
 * died, is what the harness sees.
 */
#ifndef ASSAY_RUNNER_PROBE_H
#define ASSAY_RUNNER_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"

/*
 * Asks every backend, or the one named `only`. New array in `ret`, an object a backend:
 *   {"backend", "description", "hidden", "available", "reason", "libraries": [{"name", "path",
 *    "tried", "version"}], "devices": [{"spec": "opencl:0", "index", "name", "vendor", "uuid", "type",
 *    "simulated", "memory_bytes", ..., "readings": {...}}]}
 * A backend whose child fails is not available, with how it failed as the reason.
 */
enum status probe_run(const char *only, json_t **ret, struct error *err);

/* The child's side: writes the backend's object to stdout; returns the exit status. */
int probe_child_main(const char *backend);

/*
 * Devices for a request. `spec` is "opencl:0", "opencl" (all its devices), a UUID's prefix of 4 or
 * more digits, or NULL: every device that is not hidden and not simulated, of several views of this
 * machine's processor (cpu, PoCL) only the first backend's. New array of the device objects, each with "backend" added. NOT_FOUND: no such device (lists what there is);
 * UNAVAILABLE: the backend's reason, or that there is no usable device at all.
 */
enum status probe_select(const json_t *probe, const char *spec, json_t **ret, struct error *err);

#endif
