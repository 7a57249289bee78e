#include "harness/runner/host.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/core/machine_root.h"
#include "harness/core/processor.h"
#include "harness/core/text.h"
#include "harness/runner/host_details.h"

#define CPU_FOLDER "/sys/devices/system/cpu"

static enum reading_status missing_status(const struct error *err)
{
    return err->code == STATUS_DENIED ? READING_DENIED : READING_UNAVAILABLE;
}

static void read_integer(struct reading_list *list, const char *name, const char *path,
                         int64_t factor, const char *unit, const char *reason)
{
    struct error err = ERROR_INIT;
    char *line = NULL;
    int64_t value;

    if (machine_read_line(path, &line, &err) == STATUS_OK && text_parse_i64(line, &value))
        reading_add_integer(list, name, value * factor, unit, path);
    else
        reading_add_missing(list, name, missing_status(&err), path, reason);
    free(line);
}

/* Heap copy of what follows "KEY<blanks>:" or "KEY<blanks>" on the first such line. */
static char *value_behind(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *at = line + length;
        const char *end;

        if (strncmp(line, key, length) || (*at != ' ' && *at != '\t' && *at != ':' && *at != '='))
            continue;
        at += strspn(at, " \t:=\"");
        end = at + strcspn(at, "\n\"");
        return strndup(at, (size_t)(end - at));
    }
    return NULL;
}

static void read_key(struct reading_list *list, const char *name, const char *text, const char *key,
                     const char *source)
{
    char *value = text ? value_behind(text, key) : NULL;

    if (value && value[0])
        reading_add_text(list, name, value, source);
    else
        reading_add_missing(list, name, READING_UNAVAILABLE, source,
                            "the file does not contain it");
    free(value);
}

/* "key:   1234 kB" lines of /proc/meminfo. */
static void read_meminfo(struct reading_list *list, const char *name, const char *text,
                         const char *key)
{
    char *value = text ? value_behind(text, key) : NULL;
    char *end = NULL;
    long long kib = value ? strtoll(value, &end, 10) : 0;

    if (value && end != value)
        reading_add_integer(list, name, (int64_t)kib * 1024, "bytes", "/proc/meminfo");
    else
        reading_add_missing(list, name, READING_UNAVAILABLE, "/proc/meminfo",
                            "the file does not contain it");
    free(value);
}

static void read_hypervisor(struct reading_list *list, const char *cpuinfo)
{
    const char *flags = cpuinfo ? strstr(cpuinfo, "\nflags") : NULL;
    const char *end = flags ? strchr(flags + 1, '\n') : NULL;
    const char *found = flags ? strstr(flags, " hypervisor") : NULL;

    if (!flags)
        reading_add_missing(list, "host.virtualised", READING_UNAVAILABLE, "/proc/cpuinfo",
                            "this architecture's cpuinfo has no such flag");
    else
        reading_add_text(list, "host.virtualised", found && (!end || found < end) ? "yes" : "no",
                         "/proc/cpuinfo flag hypervisor");
    host_add_line(list, "host.machine.vendor", "/sys/class/dmi/id/sys_vendor", "no DMI tables");
    host_add_line(list, "host.machine.product", "/sys/class/dmi/id/product_name", "no DMI tables");
}

/* Arm's firmware does not report its microcode. */
static void read_model(struct reading_list *list, const char *cpuinfo)
{
    char *model = processor_name(cpuinfo), *designer = processor_line(cpuinfo, "CPU implementer");

    if (model)
        reading_add_text(list, "host.cpu.model", model, "/proc/cpuinfo");
    else
        reading_add_missing(list, "host.cpu.model", READING_UNAVAILABLE, "/proc/cpuinfo",
                            "the file does not contain it");
    if (designer)
        reading_add_missing(list, "host.cpu.microcode", READING_NOT_APPLICABLE, "/proc/cpuinfo",
                            "processors of this architecture show none");
    else
        read_key(list, "host.cpu.microcode", cpuinfo, "microcode", "/proc/cpuinfo");
    free(model);
    free(designer);
}

/* How many processors this process may use; of more than CPU_SETSIZE, too. -1 and errno. */
static int usable_processors(void)
{
    for (int most = CPU_SETSIZE; most <= 1 << 20; most *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)most);
        const size_t size = CPU_ALLOC_SIZE((size_t)most);
        const bool got = set && sched_getaffinity(0, size, set) == 0;
        const int count = got ? CPU_COUNT_S(size, set) : -1;
        const int reason = errno;

        CPU_FREE(set);
        errno = reason;
        if (got || reason != EINVAL) /* the kernel's own set is larger */
            return count;
    }
    return -1;
}

static void read_cpus(struct reading_list *list, const char *cpuinfo)
{
    const int usable = usable_processors();
    const int reason = errno;
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    read_model(list, cpuinfo);
    if (online > 0)
        reading_add_integer(list, "host.cpu.online", online, NULL, "sysconf");
    if (usable >= 0)
        reading_add_integer(list, "host.cpu.usable", usable, NULL, "sched_getaffinity");
    else
        reading_add_missing(list, "host.cpu.usable", READING_UNAVAILABLE, "sched_getaffinity",
                            strerror(reason));
    read_integer(list, "host.cpu.max_hz", CPU_FOLDER "/cpu0/cpufreq/cpuinfo_max_freq", 1000, "hz",
                 "the kernel shows no frequency control (a virtual machine hides it)");
    host_add_line(list, "host.cpu.smt", CPU_FOLDER "/smt/active", "the kernel does not report it");
    host_add_line(list, "host.numa.nodes", "/sys/devices/system/node/online",
                  "no NUMA information");
}

void host_read_fixed(struct reading_list *list)
{
    char *cpuinfo = NULL, *meminfo = NULL, *release = NULL;
    char name[HOST_NAME_MAX + 1] = "";
    struct utsname system;

    machine_read("/proc/cpuinfo", (size_t)16 << 20, &cpuinfo, NULL);
    machine_read("/proc/meminfo", 1 << 20, &meminfo, NULL);
    machine_read("/etc/os-release", 65536, &release, NULL);
    read_cpus(list, cpuinfo);
    read_hypervisor(list, cpuinfo);
    read_meminfo(list, "host.memory.total", meminfo, "MemTotal");
    read_meminfo(list, "host.memory.swap_total", meminfo, "SwapTotal");
    host_add_line(list, "host.memory.transparent_hugepages",
                  "/sys/kernel/mm/transparent_hugepage/enabled", "the kernel does not report it");
    if (uname(&system) == 0) {
        reading_add_text(list, "host.kernel.release", system.release, "uname");
        reading_add_text(list, "host.kernel.version", system.version, "uname");
        reading_add_text(list, "host.architecture", system.machine, "uname");
    }
    host_add_line(list, "host.kernel.command_line", "/proc/cmdline",
                  "the kernel does not report it");
    read_key(list, "host.os", release, "PRETTY_NAME", "/etc/os-release");
    reading_add_text(list, "host.libc", gnu_get_libc_version(), "gnu_get_libc_version");
    if (gethostname(name, sizeof(name) - 1) == 0 && name[0])
        reading_add_text(list, "host.name", name, "gethostname");
    else
        reading_add_missing(list, "host.name", READING_UNAVAILABLE, "gethostname", "it is empty");
    host_add_line(list, "host.clocksource",
                  "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  "the kernel does not report it");
    free(cpuinfo);
    free(meminfo);
    free(release);
}

static void read_load(struct reading_list *list)
{
    double load[3];

    if (getloadavg(load, 3) != 3) {
        reading_add_missing(list, "load.average_1min", READING_UNAVAILABLE, "getloadavg",
                            "the system does not report it");
        return;
    }
    reading_add_real(list, "load.average_1min", load[0], NULL, "getloadavg");
    reading_add_real(list, "load.average_5min", load[1], NULL, "getloadavg");
    reading_add_real(list, "load.average_15min", load[2], NULL, "getloadavg");
}

/* Ticks that the hypervisor gave to other guests; the difference over a trial is what counts. */
static void read_steal(struct reading_list *list)
{
    char *line = NULL;
    long long steal;

    if (machine_read_line("/proc/stat", &line, NULL) == STATUS_OK &&
        sscanf(line, "cpu %*s %*s %*s %*s %*s %*s %*s %lld", &steal) == 1)
        reading_add_integer(list, "load.steal", steal * 1000 / sysconf(_SC_CLK_TCK), "ms",
                            "/proc/stat");
    else
        reading_add_missing(list, "load.steal", READING_UNAVAILABLE, "/proc/stat",
                            "the kernel does not report it");
    free(line);
}

void host_read_moving(struct reading_list *list)
{
    char *meminfo = NULL;

    machine_read("/proc/meminfo", 1 << 20, &meminfo, NULL);
    read_load(list);
    read_steal(list);
    read_meminfo(list, "load.memory_available", meminfo, "MemAvailable");
    read_meminfo(list, "load.swap_free", meminfo, "SwapFree");
    read_integer(list, "load.cpu0_hz", CPU_FOLDER "/cpu0/cpufreq/scaling_cur_freq", 1000, "hz",
                 "the kernel shows no frequency (a virtual machine hides it)");
    host_add_line(list, "load.cpu_pressure", "/proc/pressure/cpu",
                  "the kernel was built without pressure stall information");
    read_integer(list, "load.temperature", "/sys/class/thermal/thermal_zone0/temp", 1, "mC",
                 "no thermal zone (a virtual machine hides it)");
    free(meminfo);
}
