/*
 * telemetry_host - what the host reports while a trial runs, in the form of a device's telemetry:
 * processors' time and what the hypervisor took of it, pressure, the cgroup's throttling, clocks,
 * temperatures, power and RAPL's energy counters.
 *
 * Sources: proc(5) for /proc/stat, /proc/PID/stat and /proc/pressure; the kernel's
 * Documentation/power/powercap (energy_uj, max_energy_range_uj), hwmon/sysfs-interface,
 * admin-guide/cgroup-v2 (cpu.stat), admin-guide/pm/cpufreq.
 */
#ifndef ASSAY_RUNNER_TELEMETRY_HOST_H
#define ASSAY_RUNNER_TELEMETRY_HOST_H

#include <sys/types.h>

#include "backends/telemetry.h"

/*
 * Opens the files of the machine (machine_root.h) that exist; a file that may not be read becomes a
 * channel with the reason. `worker` (0: none): whose processor time is recorded separately.
 * Fails with NO_MEMORY only.
 */
enum status telemetry_host_open(pid_t worker, struct telemetry **ret, struct error *err);

#endif
