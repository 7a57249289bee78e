/*
 * probe - which devices exist, determined in a child process for each backend.
 *
 * A vendor library may take hundreds of megabytes, hang or crash when it is opened. The harness
 * must stay small and alive, so it never opens one: `assay probe BACKEND` does, and its answer, or
 * how it ended, is what the harness gets.
 */
#ifndef ASSAY_RUNNER_PROBE_H
#define ASSAY_RUNNER_PROBE_H

#include <stdbool.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/core/type.h"

/*
 * Name of the backend at this place of the table, from 0 on, and whether a plain `assay run` leaves
 * it out; NULL: there are no more.
 */
const char *probe_backend(size_t index, bool *ret_hidden);

/* As backend_check_variable, of a variable of the environment such as "ASSAY_LIB_CUDNN=FILE". */
enum status probe_check_variable(const char *variable, struct error *err);

/*
 * Asks, all at the same time, the backends that one of `specs` (see probe_select) can be at:
 * "opencl:0" and "opencl" name one, a UUID may be at any. `count` 0: every backend. New array in
 * `ret`, an object a backend:
 *   {"backend", "description", "hidden", "available", "reason", "libraries": [], "devices":
 *    [{"spec": "opencl:0", "index", "name", "vendor", "uuid", "type", "simulated",
 *    "memory_bytes", ..., "readings": {...}}], "unusable": [{"spec", "reason"}]}
 * A backend whose child fails is not available, with how it failed as the reason; a device that
 * cannot be described is unusable.
 */
enum status probe_run(const char *const *specs, size_t count, json_t **ret, struct error *err);

/*
 * Fills "libraries" of each backend with [{"name", "path", "tried", "version", "sha256"}], by
 * children of their own and at the same time, since opening all of a vendor's libraries takes long
 * and any of them may fail: then there is "libraries_reason", and the devices are unaffected.
 * "sha256" is there where "path" is; null with "digest_reason" where it cannot be read; "package":
 * {"manager", "name", "version"} where a package manager knows the file.
 */
void probe_libraries(json_t *probe);

/* What a backend says of a library (struct backend_library). */
extern const struct type probe_library_type;

/* The child's side: writes the backend's object, or the array of its libraries. Exit status. */
int probe_child_main(const char *backend, bool libraries);

/*
 * Devices for a request. `spec` is "opencl:0", "opencl" (all its devices), a UUID's prefix with 4
 * or more digits ("GPU-a0a1"; INVALID where it begins several), or NULL: every device that is not
 * hidden and not simulated, of several views of this machine's processor (cpu, PoCL) only the first
 * backend's, with a warning for each backend whose child failed. New array of the device objects,
 * each with "backend" added. NOT_FOUND: no such device (lists what there is); UNAVAILABLE: the
 * backend's reason, or that there is no usable device at all. What is left out by default is said
 * once for `told` (an object of the caller's; NULL: each time).
 */
enum status probe_select(const json_t *probe, const char *spec, json_t *told, json_t **ret,
                         struct error *err);

/* Whether `what` was told before; it is noted in `told` (an object; NULL: it never was). */
bool probe_told(json_t *told, const char *what);

#endif
