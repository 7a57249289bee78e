/* What is checked on a host, and the thresholds of findings. */
#include "harness/runner/doctor_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/core/machine_root.h"
#include "harness/core/text.h"

#define GIB ((int64_t)1 << 30)

static const char no_control[] = "the kernel shows no frequency control; on a virtual machine its "
                                 "host decides";

static void check_governor(struct doctor *doctor)
{
    const char *governor = doctor_text(&doctor->host, "host.cpu.governor", NULL);

    if (!governor)
        doctor_cannot_know(doctor, "governor", no_control);
    else if (!strcmp(governor, "performance"))
        doctor_pass(doctor, "governor", "performance on every processor");
    else
        doctor_find(
            doctor, DOCTOR_WARNING, "governor",
            "the clock follows the load of a moment ago, so that the first samples run slower "
            "and short pauses show in the numbers",
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            "%s", governor);
}

/* The file that the boost was read from is the one that switches it. */
static const char *boost_remedy(const struct doctor *doctor)
{
    const struct reading *reading = reading_find(&doctor->host, "host.cpu.boost");

    return reading && reading->source && strstr(reading->source, "no_turbo")
               ? "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
               : "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost";
}

static void check_clocks(struct doctor *doctor)
{
    const char *low = doctor_text(&doctor->host, "host.cpu.scaling_min_khz", NULL);
    const char *high = doctor_text(&doctor->host, "host.cpu.scaling_max_khz", NULL);
    const char *boost = doctor_text(&doctor->host, "host.cpu.boost", NULL);

    if (!low || !high)
        doctor_cannot_know(doctor, "fixed clock", no_control);
    else if (!strcmp(low, high))
        doctor_pass(doctor, "fixed clock", "%s kHz", low);
    else
        doctor_find(
            doctor, DOCTOR_INFO, "fixed clock",
            "the clock may differ between trials and between days",
            "sudo cpupower frequency-set --min FREQUENCY --max FREQUENCY, with one that holds "
            "under load",
            "%s to %s kHz", low, high);
    if (!boost)
        doctor_cannot_know(doctor, "turbo", no_control);
    else if (!strcmp(boost, "0"))
        doctor_pass(doctor, "turbo", "off");
    else
        doctor_find(
            doctor, DOCTOR_WARNING, "turbo",
            "the clock depends on heat and on how many cores work, so neighbours and earlier "
            "trials show in the numbers",
            boost_remedy(doctor), "on");
}

static void check_smt(struct doctor *doctor)
{
    const char *smt = doctor_text(&doctor->host, "host.cpu.smt", NULL);

    if (!smt)
        doctor_cannot_know(doctor, "SMT", "the kernel does not report it");
    else if (!strcmp(smt, "0"))
        doctor_pass(doctor, "SMT", "off, or hidden by a hypervisor");
    else
        doctor_find(
            doctor, DOCTOR_INFO, "SMT",
            "two threads share a core's units: where they are placed shows in a CPU's numbers",
            "echo off | sudo tee /sys/devices/system/cpu/smt/control", "on");
}

static bool is_virtual(const struct doctor *doctor)
{
    const char *virtualised = doctor_text(&doctor->host, "host.virtualised", NULL);

    return virtualised && !strcmp(virtualised, "yes");
}

static void check_virtual(struct doctor *doctor)
{
    const char *hypervisor = doctor_text(&doctor->host, "host.hypervisor", NULL);
    const char *virtualised = doctor_text(&doctor->host, "host.virtualised", NULL);

    if (is_virtual(doctor))
        doctor_find(
            doctor, DOCTOR_INFO, "hypervisor",
            "its host decides on processors, clocks and neighbours, none of which can be seen "
            "from here",
            "measure on the bare machine, or on an instance with dedicated cores", "%s",
            hypervisor ? hypervisor : "the processor says that there is one");
    else if (virtualised)
        doctor_pass(doctor, "hypervisor", "none shows itself");
    else
        doctor_cannot_know(doctor, "hypervisor", "this architecture's cpuinfo has no such flag");
}

static void check_clock_source(struct doctor *doctor)
{
    const char *source = doctor_text(&doctor->host, "host.clocksource", NULL);
    struct clock_quality quality = clock_measure_quality(10000);
    bool recorded = machine_root()[0] != '\0';
    bool slow = source && (!strcmp(source, "hpet") || !strcmp(source, "acpi_pm") ||
                           !strcmp(source, "jiffies") || !strcmp(source, "refined-jiffies"));

    if (slow)
        doctor_find(doctor, DOCTOR_WARNING, "clock source",
                    "reading it takes about a microsecond, which is part of every sample",
                    "find out why the kernel gave up tsc (journalctl -k | grep -i tsc); if it is "
                    "sound, boot with clocksource=tsc tsc=reliable",
                    "%s", source);
    else if (source)
        doctor_pass(doctor, "clock source", "%s", source);
    else
        doctor_cannot_know(doctor, "clock source", "the kernel does not report it");
    if (recorded)
        doctor_cannot_know(doctor, "timer", "a recorded machine's clock cannot be read");
    else if (quality.read_cost_ns > 500 || quality.resolution_ns > 1000)
        doctor_find(
            doctor, quality.resolution_ns > 100000 ? DOCTOR_CRITICAL : DOCTOR_WARNING, "timer",
            "short samples are as long as reading the clock",
            "use a machine whose clock is read without a system call (vDSO), or protocols with "
            "longer samples (sample.min_time)",
            "a reading takes %.0f ns and moves in steps of %" PRId64 " ns", quality.read_cost_ns,
            quality.resolution_ns);
    else
        doctor_pass(doctor, "timer", "a reading takes %.0f ns and moves in steps of %" PRId64 " ns",
                    quality.read_cost_ns, quality.resolution_ns);
}

static void check_memory(struct doctor *doctor)
{
    int64_t total = doctor_integer(&doctor->host, "host.memory.total");
    int64_t available = doctor_integer(&doctor->host, "load.memory_available");
    int64_t swap = doctor_integer(&doctor->host, "host.memory.swap_total");
    int64_t swap_free = doctor_integer(&doctor->host, "load.swap_free");
    char a[TEXT_HUMAN_SIZE], b[TEXT_HUMAN_SIZE];

    if (total < 0 || available < 0)
        doctor_cannot_know(doctor, "memory", "/proc/meminfo does not report it");
    else if (available < GIB || available < total / 10)
        doctor_find(doctor, available < GIB / 4 ? DOCTOR_CRITICAL : DOCTOR_WARNING, "memory",
                    "the kernel takes pages back while samples are taken, or ends the worker",
                    "end what holds it: ps aux --sort=-rss | head", "%s of %s available",
                    text_human_bytes((double)available, a), text_human_bytes((double)total, b));
    else
        doctor_pass(doctor, "memory", "%s of %s available", text_human_bytes((double)available, a),
                    text_human_bytes((double)total, b));
    if (swap < 0 || swap_free < 0)
        doctor_cannot_know(doctor, "swap", "/proc/meminfo does not report it");
    else if (swap > swap_free)
        doctor_find(doctor, DOCTOR_WARNING, "swap",
                    "a page that went out costs a thousand times its time when it is touched",
                    "sudo swapoff -a (needs as much free memory), then sudo swapon -a", "%s in use",
                    text_human_bytes((double)(swap - swap_free), a));
    else
        doctor_pass(doctor, "swap", swap > 0 ? "none in use" : "there is none");
}

static void check_limits(struct doctor *doctor)
{
    const char *reason;
    const char *quota = doctor_text(&doctor->host, "cgroup.cpu_max", &reason);
    int64_t limit = doctor_integer(&doctor->host, "cgroup.memory_max");
    int64_t total = doctor_integer(&doctor->host, "host.memory.total");
    int64_t online = doctor_integer(&doctor->host, "host.cpu.online");
    int64_t usable = doctor_integer(&doctor->host, "host.cpu.usable");
    char a[TEXT_HUMAN_SIZE];
    bool throttled =
        doctor->throttled_before >= 0 && doctor->throttled_after > doctor->throttled_before;

    if (!quota)
        doctor_cannot_know(doctor, "processor quota", reason);
    else if (!strncmp(quota, "max", 3))
        doctor_pass(doctor, "processor quota", "none in this cgroup");
    else
        doctor_find(doctor, throttled ? DOCTOR_CRITICAL : DOCTOR_WARNING, "processor quota",
                    "once the quota of a period is used up, every thread is stopped until the next",
                    "give the container whole processors instead (docker run --cpuset-cpus, not "
                    "--cpus; AllowedCPUs=, not CPUQuota=)",
                    "%s microseconds of processor time in each period (cpu.max)%s", quota,
                    throttled ? ", and it took effect just now" : "");
    if (limit > 0 && total > 0 && limit < total / 2)
        doctor_find(doctor, DOCTOR_INFO, "memory limit",
                    "a workload that needs more is ended by the kernel",
                    "raise memory.max of the cgroup (docker run --memory)", "%s in this cgroup",
                    text_human_bytes((double)limit, a));
    if (usable > 0 && online > 0 && usable < online)
        doctor_find(doctor, DOCTOR_INFO, "affinity",
                    "fewer processors work than the machine has; results are of that part",
                    "taskset -pc 0-N $$, or start without the restriction, if the whole is meant",
                    "%" PRId64 " of %" PRId64 " processors may be used", usable, online);
    else if (usable > 0 && online > 0)
        doctor_pass(doctor, "affinity", "all %" PRId64 " processors may be used", usable);
}

static void check_numa(struct doctor *doctor)
{
    const char *nodes = doctor_text(&doctor->host, "host.numa.nodes", NULL);
    const char *balancing = doctor_text(&doctor->host, "host.numa.balancing", NULL);

    if (!nodes)
        doctor_cannot_know(doctor, "NUMA", "no NUMA information");
    else if (strcmp(nodes, "0") && balancing && strcmp(balancing, "0"))
        doctor_find(doctor, DOCTOR_INFO, "NUMA",
                    "the kernel moves pages between nodes while samples are taken",
                    "echo 0 | sudo tee /proc/sys/kernel/numa_balancing",
                    "nodes %s, and automatic balancing is on", nodes);
    else
        doctor_pass(doctor, "NUMA", "%s%s", strcmp(nodes, "0") ? "nodes " : "one node",
                    strcmp(nodes, "0") ? nodes : "");
}

/* The hottest sensor that reports its critical temperature, in mC. */
static bool hottest(int64_t *ret, int64_t *ret_critical)
{
    char **chips = machine_list("/sys/class/hwmon", "hwmon");
    bool any = false;

    for (size_t i = 0; chips && chips[i]; i++) {
        for (int sensor = 1; sensor <= 16; sensor++) {
            char path[128], *line = NULL, *limit = NULL;
            int64_t value, critical;

            snprintf(path, sizeof(path), "/sys/class/hwmon/%.16s/temp%d_input", chips[i], sensor);
            machine_read_line(path, &line, NULL);
            snprintf(path, sizeof(path), "/sys/class/hwmon/%.16s/temp%d_crit", chips[i], sensor);
            machine_read_line(path, &limit, NULL);
            if (line && limit && text_parse_i64(line, &value) && text_parse_i64(limit, &critical) &&
                critical > 0 && (!any || critical - value < *ret_critical - *ret)) {
                *ret = value;
                *ret_critical = critical;
                any = true;
            }
            free(line);
            free(limit);
        }
    }
    machine_list_free(chips);
    return any;
}

static void check_heat(struct doctor *doctor)
{
    int64_t value = 0, critical = 0;

    if (!hottest(&value, &critical))
        doctor_cannot_know(doctor, "temperature",
                           "no sensor reports it with its limit (a virtual machine hides them)");
    else if (critical - value < 10000)
        doctor_find(
            doctor, DOCTOR_WARNING, "temperature", "near its limit a processor lowers its clock",
            "let it cool, look at fans and air; measure under `soak` to see where it settles",
            "%.0f degrees, the limit is %.0f", (double)value / 1000, (double)critical / 1000);
    else
        doctor_pass(doctor, "temperature", "%.0f degrees, the limit is %.0f", (double)value / 1000,
                    (double)critical / 1000);
}

static void check_mains(struct doctor *doctor)
{
    char **supplies = machine_list("/sys/class/power_supply", "");

    for (size_t i = 0; supplies && supplies[i]; i++) {
        char path[128], *type = NULL, *online = NULL;

        snprintf(path, sizeof(path), "/sys/class/power_supply/%.64s/type", supplies[i]);
        machine_read_line(path, &type, NULL);
        snprintf(path, sizeof(path), "/sys/class/power_supply/%.64s/online", supplies[i]);
        machine_read_line(path, &online, NULL);
        if (type && online && !strcmp(type, "Mains") && !strcmp(online, "0"))
            doctor_find(doctor, DOCTOR_WARNING, "battery", "on battery the clock is held down",
                        "plug it in", "no mains at %s", supplies[i]);
        free(type);
        free(online);
    }
    machine_list_free(supplies);
}

static void check_time(struct doctor *doctor)
{
    const char *reason;
    const char *synchronised = doctor_text(&doctor->host, "host.time.synchronised", &reason);
    const char *service = doctor_text(&doctor->host, "host.time.service", NULL);

    if (!synchronised)
        doctor_cannot_know(doctor, "time of day", reason);
    else if (!strcmp(synchronised, "yes"))
        doctor_pass(doctor, "time of day", "synchronised%s%s", service ? " by " : "",
                    service ? service : "");
    else
        doctor_find(
            doctor, DOCTOR_INFO, "time of day",
            "the dates of results may be wrong, which an auditor would ask about; durations "
            "are not touched",
            "sudo timedatectl set-ntp true; without systemd, sudo apt-get install chrony",
            "not synchronised");
}

/* ---- other users of the processors ---- */

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void check_steal(struct doctor *doctor, int64_t capacity_ms)
{
    int64_t stolen = doctor->after.steal_ms - doctor->before.steal_ms;
    double percent = share(stolen, capacity_ms);

    if (percent < 1) {
        doctor_pass(doctor, "steal time", "%.1f %% while looking", percent);
        return;
    }
    doctor_find(
        doctor, percent >= 10 ? DOCTOR_CRITICAL : DOCTOR_WARNING, "steal time",
        "the hypervisor gives this machine's processors to others, in the middle of samples",
        "use an instance with dedicated cores, or measure when its neighbours sleep",
        "%.1f %% of all processor time went to other machines", percent);
}

static void check_load(struct doctor *doctor, int64_t capacity_ms)
{
    /* All that was busy and is not ours: also what has ended already or cannot be seen from here.
     */
    int64_t idle = doctor->after.idle_ms - doctor->before.idle_ms;
    int64_t others = doctor->after.busy_ms - doctor->before.busy_ms - doctor->own_ms;
    struct process_use *uses;
    struct text names;
    size_t count = 0;
    int64_t seen = 0;
    double percent;

    /* Shares of the same whole, so that a reader can add them up; what is missing is said. */
    uses = processes_between(&doctor->before, &doctor->after, getpid(), &count);
    text_init(&names);
    for (size_t i = 0; i < count; i++) {
        const double part = share(uses[i].cpu_ms, capacity_ms);

        seen += uses[i].cpu_ms;
        if (i < 3 && part >= 0.5)
            text_append_format(&names, "%s%s %.0f %%", i ? ", " : "", uses[i].name, part);
    }
    if (names.length && seen < others - others / 4)
        text_append_format(
            &names, "; %.0f %% by processes that ended meanwhile or cannot be seen from here",
            share(others - seen, capacity_ms));
    if (others < seen)
        others = seen; /* the kernel counts a process finer than a processor */
    percent = others > 0 ? share(others, capacity_ms) : 0;
    if (percent < 5)
        doctor_pass(doctor, "other processes", "%.1f %% of all processor time while looking",
                    percent);
    else
        doctor_find(doctor, percent >= 25 ? DOCTOR_CRITICAL : DOCTOR_WARNING, "other processes",
                    "they take processors, caches and memory bandwidth while samples are taken",
                    "stop them, or wait until they are done: ps aux --sort=-%cpu | head",
                    "%.0f %% of all processor time (idle: %.0f %%): %s", percent,
                    share(idle, capacity_ms),
                    names.length ? names.data
                    : seen > 0   ? "many that take little each"
                                 : "none of them can be seen from here");
    text_finish(&names);
    free(uses);
}

static void check_jitter(struct doctor *doctor)
{
    const struct jitter *jitter = &doctor->jitter;
    double percent;

    if (!doctor->has_jitter) {
        doctor_cannot_know(doctor, "jitter", "the test was not asked for (--jitter 10s)");
        return;
    }
    percent = share(jitter->lost_ns, jitter->duration_ns);
    if (percent < 1)
        doctor_pass(doctor, "jitter",
                    "%.2f %% of %.0f s lost in %" PRId64 " gaps, the longest %.2f ms", percent,
                    (double)jitter->duration_ns / 1e9, jitter->gaps,
                    (double)jitter->longest_ns / 1e6);
    else
        doctor_find(doctor, percent >= 10 ? DOCTOR_CRITICAL : DOCTOR_WARNING, "jitter",
                    "a thread that only reads the clock is held up: samples carry time in which "
                    "nothing of theirs ran",
                    is_virtual(doctor) ? "stop other processes, or use dedicated cores"
                                       : "stop other processes, or keep cores for the measurement "
                                         "(isolcpus=, cpusets)",
                    "%.1f %% of %.0f s lost in %" PRId64 " gaps, the longest %.1f ms", percent,
                    (double)jitter->duration_ns / 1e9, jitter->gaps,
                    (double)jitter->longest_ns / 1e6);
}

void doctor_check_host(struct doctor *doctor)
{
    check_governor(doctor);
    check_clocks(doctor);
    check_smt(doctor);
    check_virtual(doctor);
    check_clock_source(doctor);
    check_memory(doctor);
    check_limits(doctor);
    check_numa(doctor);
    check_heat(doctor);
    check_mains(doctor);
    check_time(doctor);
    if (doctor->has_load) {
        int64_t capacity_ms = doctor->after.busy_ms - doctor->before.busy_ms +
                              doctor->after.idle_ms - doctor->before.idle_ms +
                              doctor->after.steal_ms - doctor->before.steal_ms;

        check_steal(doctor, capacity_ms);
        check_load(doctor, capacity_ms);
    } else {
        doctor_cannot_know(doctor, "other processes", doctor->load_reason);
    }
    check_jitter(doctor);
}
