#include "harness/runner/host_details.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "harness/core/machine_root.h"
#include "harness/core/text.h"

#define PRELOAD_MAX ((size_t)1 << 16)
#define CPU_FOLDER "/sys/devices/system/cpu"

void host_add_line(struct reading_list *list, const char *name, const char *path,
                   const char *reason)
{
    struct error err = ERROR_INIT;
    char *line = NULL;

    if (machine_read_line(path, &line, &err) == STATUS_OK && line[0])
        reading_add_text(list, name, line, path);
    else
        reading_add_missing(list, name,
                            err.code == STATUS_DENIED ? READING_DENIED : READING_UNAVAILABLE, path,
                            err.code == STATUS_DENIED ? "permission is missing" : reason);
    free(line);
}

static void add_text_or(struct reading_list *list, const char *name, const struct text *text,
                        const char *source, const char *reason)
{
    if (!text_ok(text))
        list->failed = true;
    else if (text->length > 0)
        reading_add_text(list, name, text->data, source);
    else
        reading_add_missing(list, name, READING_UNAVAILABLE, source, reason);
}

/* The distinct values of a file of each processor, in the order they come: "performance". */
static void add_of_all_cpus(struct reading_list *list, const char *name, const char *file,
                            const char *reason)
{
    char **cpus = machine_list(CPU_FOLDER, "cpu");
    struct text values;
    char path[PATH_MAX];

    text_init(&values);
    for (size_t i = 0; cpus && cpus[i]; i++) {
        char *line = NULL, *found = NULL;

        if (cpus[i][3] < '0' || cpus[i][3] > '9')
            continue;
        snprintf(path, sizeof(path), CPU_FOLDER "/%.16s/%s", cpus[i], file);
        if (machine_read_line(path, &line, NULL) == STATUS_OK && line[0]) {
            found = strstr(values.data, line);
            if (!found || (found > values.data && found[-1] != ' '))
                text_append_format(&values, "%s%s", values.length ? ", " : "", line);
        }
        free(line);
    }
    snprintf(path, sizeof(path), CPU_FOLDER "/cpu*/%s", file);
    add_text_or(list, name, &values, path, reason);
    text_finish(&values);
    machine_list_free(cpus);
}

static void read_clocks(struct reading_list *list)
{
    static const char hidden[] =
        "the kernel shows no frequency control (a virtual machine hides it)";
    char *line = NULL;

    add_of_all_cpus(list, "host.cpu.governor", "cpufreq/scaling_governor", hidden);
    add_of_all_cpus(list, "host.cpu.frequency_driver", "cpufreq/scaling_driver", hidden);
    add_of_all_cpus(list, "host.cpu.scaling_min_khz", "cpufreq/scaling_min_freq", hidden);
    add_of_all_cpus(list, "host.cpu.scaling_max_khz", "cpufreq/scaling_max_freq", hidden);
    add_of_all_cpus(list, "host.cpu.energy_preference", "cpufreq/energy_performance_preference",
                    "no driver with such a preference");
    host_add_line(list, "host.cpu.idle_driver", CPU_FOLDER "/cpuidle/current_driver",
                  "the kernel does not report it");
    /* Two files of opposite sense; "1" is: it may go above its base clock. */
    if (machine_read_line(CPU_FOLDER "/intel_pstate/no_turbo", &line, NULL) == STATUS_OK)
        reading_add_text(list, "host.cpu.boost", line[0] == '0' ? "1" : "0",
                         CPU_FOLDER "/intel_pstate/no_turbo");
    else
        host_add_line(list, "host.cpu.boost", CPU_FOLDER "/cpufreq/boost",
                      "the kernel shows no boost control");
    free(line);
}

/* Each file of the folder is a weakness, and says what is done against it. */
static void read_vulnerabilities(struct reading_list *list)
{
    char **files = machine_list(CPU_FOLDER "/vulnerabilities", "");

    for (size_t i = 0; files && files[i]; i++) {
        char name[128], path[PATH_MAX];

        snprintf(name, sizeof(name), "host.cpu.vulnerabilities.%.64s", files[i]);
        snprintf(path, sizeof(path), CPU_FOLDER "/vulnerabilities/%.64s", files[i]);
        host_add_line(list, name, path, "the kernel does not report it");
    }
    machine_list_free(files);
}

/* The kernel's list of processors; an empty one says that none is isolated. */
static void read_isolated(struct reading_list *list)
{
    char *line = NULL;

    if (machine_read_line(CPU_FOLDER "/isolated", &line, NULL) == STATUS_OK && !line[0])
        reading_add_text(list, "host.cpu.isolated", "none", CPU_FOLDER "/isolated");
    else
        host_add_line(list, "host.cpu.isolated", CPU_FOLDER "/isolated",
                      "the kernel does not report it");
    free(line);
}

static void read_placement(struct reading_list *list)
{
    char **nodes = machine_list("/sys/devices/system/node", "node");
    struct text map;

    text_init(&map);
    for (size_t i = 0; nodes && nodes[i]; i++) {
        char path[PATH_MAX], *line = NULL;

        if (nodes[i][4] < '0' || nodes[i][4] > '9')
            continue;
        snprintf(path, sizeof(path), "/sys/devices/system/node/%.16s/cpulist", nodes[i]);
        if (machine_read_line(path, &line, NULL) == STATUS_OK)
            text_append_format(&map, "%s%s: %s", map.length ? "; " : "", nodes[i], line);
        free(line);
    }
    add_text_or(list, "host.numa.cpus", &map, "/sys/devices/system/node/node*/cpulist",
                "no NUMA information");
    text_finish(&map);
    machine_list_free(nodes);
    host_add_line(list, "host.numa.balancing", "/proc/sys/kernel/numa_balancing",
                  "the kernel was built without it");
    read_isolated(list);
    host_add_line(list, "host.cpu.smt_control", CPU_FOLDER "/smt/control",
                  "the kernel does not report it");
}

static void add_meminfo(struct reading_list *list, const char *text, const char *name,
                        const char *key, int64_t factor, const char *unit)
{
    const char *at = text ? strstr(text, key) : NULL;
    char *end;
    long long value = at ? strtoll(at + strlen(key), &end, 10) : 0;

    if (at && end != at + strlen(key))
        reading_add_integer(list, name, value * factor, unit, "/proc/meminfo");
    else
        reading_add_missing(list, name, READING_UNAVAILABLE, "/proc/meminfo",
                            "the file does not contain it");
}

static void read_memory(struct reading_list *list)
{
    char *meminfo = NULL;

    machine_read("/proc/meminfo", 1 << 20, &meminfo, NULL);
    add_meminfo(list, meminfo, "host.memory.hugepages", "HugePages_Total:", 1, NULL);
    add_meminfo(list, meminfo, "host.memory.hugepage_size", "Hugepagesize:", 1024, "bytes");
    free(meminfo);
    host_add_line(list, "host.memory.transparent_hugepages_defrag",
                  "/sys/kernel/mm/transparent_hugepage/defrag", "the kernel does not report it");
    host_add_line(list, "host.memory.swappiness", "/proc/sys/vm/swappiness",
                  "the kernel does not report it");
    host_add_line(list, "host.aslr", "/proc/sys/kernel/randomize_va_space",
                  "the kernel does not report it");
}

/* Leaf 0x40000000 of cpuid holds the hypervisor's own name (Intel SDM and AMD APM reserve it). */
static void read_hypervisor(struct reading_list *list)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    unsigned signature[4] = {0};

    if (!machine_root()[0] && __get_cpuid(1, &a, &b, &c, &d) && c >> 31 & 1) {
        __cpuid(0x40000000, a, signature[0], signature[1], signature[2]);
        reading_add_text(list, "host.hypervisor", (const char *)signature, "cpuid 0x40000000");
        return;
    }
    if (!machine_root()[0]) {
        reading_add_missing(list, "host.hypervisor", READING_NOT_APPLICABLE, "cpuid 1",
                            "no hypervisor shows itself");
        return;
    }
#endif
    host_add_line(list, "host.hypervisor", "/sys/hypervisor/type", "nothing reports one");
}

static void read_container(struct reading_list *list)
{
    char *line = NULL;

    if (machine_read_line("/run/systemd/container", &line, NULL) == STATUS_OK && line[0]) {
        reading_add_text(list, "host.container", line, "/run/systemd/container");
    } else if (machine_has("/.dockerenv")) {
        reading_add_text(list, "host.container", "docker", "/.dockerenv");
    } else {
        reading_add_missing(list, "host.container", READING_NOT_APPLICABLE,
                            "/run/systemd/container, /.dockerenv", "nothing reports one");
    }
    free(line);
}

/* Kernel modules that drive accelerators, with the digest of their source that modinfo shows. */
static void read_drivers(struct reading_list *list)
{
    static const char *const modules[] = {"nvidia", "amdgpu", "i915", "xe", "habanalabs"};
    char path[PATH_MAX], name[64];
    bool any = false;

    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        char *version = NULL, *source = NULL, *words;

        snprintf(path, sizeof(path), "/sys/module/%s/srcversion", modules[i]);
        machine_read_line(path, &source, NULL);
        snprintf(path, sizeof(path), "/sys/module/%s/version", modules[i]);
        machine_read_line(path, &version, NULL);
        snprintf(name, sizeof(name), "host.driver.%s", modules[i]);
        /* A module of the kernel's own tree has no version but its source's digest. */
        words = version || source
                    ? text_format("%s%s%s%s", version ? version : "", version && source ? ", " : "",
                                  source ? "srcversion " : "", source ? source : "")
                    : NULL;
        if (words)
            reading_add_text(list, name, words, path);
        any = any || words;
        free(words);
        free(version);
        free(source);
    }
    if (!any)
        reading_add_missing(list, "host.driver", READING_NOT_APPLICABLE, "/sys/module",
                            "no kernel module of an accelerator is loaded");
}

/* What the amdgpu driver loaded into a card: "vbios 113-D41711XT-069, smc 0x00553900 ...". */
static void read_card_firmware(struct reading_list *list, const char *card, bool *ret_any)
{
    char folder[128], name[64], path[PATH_MAX], *line = NULL;
    char **files;
    struct text words;

    text_init(&words);
    snprintf(path, sizeof(path), "/sys/class/drm/%.32s/device/vbios_version", card);
    if (machine_read_line(path, &line, NULL) == STATUS_OK)
        text_append_format(&words, "vbios %s", line);
    free(line);
    snprintf(folder, sizeof(folder), "/sys/class/drm/%.32s/device/fw_version", card);
    files = machine_list(folder, "");
    for (size_t i = 0; files && files[i]; i++) {
        const char *end = strstr(files[i], "_fw_version");

        line = NULL;
        snprintf(path, sizeof(path), "%s/%.64s", folder, files[i]);
        if (end && machine_read_line(path, &line, NULL) == STATUS_OK)
            text_append_format(&words, "%s%.*s %s", words.length ? ", " : "", (int)(end - files[i]),
                               files[i], line);
        free(line);
    }
    machine_list_free(files);
    if (words.length > 0) {
        snprintf(name, sizeof(name), "host.firmware.%.32s", card);
        reading_add_text(list, name, words.data, folder);
        *ret_any = true;
    }
    list->failed |= !text_ok(&words);
    text_finish(&words);
}

/* NVIDIA reports the same of a device through NVML: device.vbios, device.gsp_firmware_version. */
static void read_firmware(struct reading_list *list)
{
    char **cards = machine_list("/sys/class/drm", "card");
    bool any = false;

    for (size_t i = 0; cards && cards[i]; i++)
        if (!strchr(cards[i], '-')) /* card0-DP-1 is a connector */
            read_card_firmware(list, cards[i], &any);
    machine_list_free(cards);
    if (!any)
        reading_add_missing(list, "host.firmware", READING_NOT_APPLICABLE,
                            "/sys/class/drm/card*/device/fw_version",
                            "no card's driver shows its firmware there");
}

/* The drivers that the OpenCL loader can find. */
static void read_icds(struct reading_list *list)
{
    char **files = machine_list("/etc/OpenCL/vendors", "");
    struct text icds;

    text_init(&icds);
    for (size_t i = 0; files && files[i]; i++) {
        char path[PATH_MAX], *line = NULL;

        snprintf(path, sizeof(path), "/etc/OpenCL/vendors/%.200s", files[i]);
        if (machine_read_line(path, &line, NULL) == STATUS_OK)
            text_append_format(&icds, "%s%s: %s", icds.length ? "; " : "", files[i], line);
        free(line);
    }
    add_text_or(list, "host.opencl_icds", &icds, "/etc/OpenCL/vendors", "no ICD is registered");
    text_finish(&icds);
    machine_list_free(files);
}

/* Libraries that the loader puts into every program (ld.so(8)); most machines have no such file. */
static void read_preload(struct reading_list *list)
{
    static const char path[] = "/etc/ld.so.preload";
    char *text = NULL;

    if (machine_read(path, PRELOAD_MAX, &text, NULL) == STATUS_OK && text[strspn(text, " \t\n")])
        reading_add_text(list, "host.ld_so_preload", text, path);
    free(text);
}

void host_read_details(struct reading_list *list)
{
    read_preload(list);
    read_clocks(list);
    read_vulnerabilities(list);
    read_placement(list);
    read_memory(list);
    read_hypervisor(list);
    read_container(list);
    read_drivers(list);
    read_firmware(list);
    read_icds(list);
    host_add_line(list, "host.machine.firmware", "/sys/class/dmi/id/bios_version", "no DMI tables");
    host_add_line(list, "host.clocksource_available",
                  "/sys/devices/system/clocksource/clocksource0/available_clocksource",
                  "the kernel does not report it");
}

/* The service that synchronises the clock, found by the files that each leaves. */
static void read_time_service(struct reading_list *list)
{
    static const char *const traces[][2] = {
        {"chrony", "/run/chrony/chronyd.pid"},
        {"chrony", "/run/chronyd.pid"},
        {"systemd-timesyncd", "/run/systemd/timesync/synchronized"},
        {"ntpd", "/run/ntpd.pid"},
        {"ntpsec", "/run/ntpsec/ntpd.pid"},
    };

    for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
        if (!machine_has(traces[i][1]))
            continue;
        reading_add_text(list, "host.time.service", traces[i][0], traces[i][1]);
        return;
    }
    reading_add_missing(list, "host.time.service", READING_UNAVAILABLE, "/run",
                        "no chrony, timesyncd or ntpd left a trace (a host may set the clock)");
}

void host_read_time(struct reading_list *list)
{
    struct timex state = {0};
    int kept = machine_root()[0] ? -1 : adjtimex(&state);

    read_time_service(list);
    if (kept < 0) {
        reading_add_missing(list, "host.time.synchronised", READING_UNAVAILABLE, "adjtimex",
                            machine_root()[0] ? "a recorded machine's clock cannot be asked"
                                              : strerror(errno));
        return;
    }
    reading_add_text(list, "host.time.synchronised",
                     kept == TIME_ERROR || state.status & STA_UNSYNC ? "no" : "yes", "adjtimex");
    reading_add_integer(list, "host.time.max_error", (int64_t)state.maxerror, "us", "adjtimex");
    reading_add_integer(list, "host.time.estimated_error", (int64_t)state.esterror, "us",
                        "adjtimex");
}
