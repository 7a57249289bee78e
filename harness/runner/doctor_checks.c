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
        doctor_cannot_know(doctor, FINDING_HOST_GOVERNOR, no_control);
    else if (!strcmp(governor, "performance"))
        doctor_pass(doctor, FINDING_HOST_GOVERNOR, "performance on every processor");
    else
        doctor_find(doctor, FINDING_HOST_GOVERNOR, false, NULL, "%s", governor);
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
        doctor_cannot_know(doctor, FINDING_HOST_CLOCK, no_control);
    else if (!strcmp(low, high))
        doctor_pass(doctor, FINDING_HOST_CLOCK, "%s kHz", low);
    else
        doctor_find(doctor, FINDING_HOST_CLOCK, false, NULL, "%s to %s kHz", low, high);
    if (!boost)
        doctor_cannot_know(doctor, FINDING_HOST_TURBO, no_control);
    else if (!strcmp(boost, "0"))
        doctor_pass(doctor, FINDING_HOST_TURBO, "off");
    else
        doctor_find(doctor, FINDING_HOST_TURBO, false, boost_remedy(doctor), "on");
}

static void check_smt(struct doctor *doctor)
{
    const char *smt = doctor_text(&doctor->host, "host.cpu.smt", NULL);

    if (!smt)
        doctor_cannot_know(doctor, FINDING_HOST_SMT, "the kernel does not report it");
    else if (!strcmp(smt, "0"))
        doctor_pass(doctor, FINDING_HOST_SMT, "off, or hidden by a hypervisor");
    else
        doctor_find(doctor, FINDING_HOST_SMT, false, NULL, "on");
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
        doctor_find(doctor, FINDING_HOST_VIRTUAL, false, NULL, "%s",
                    hypervisor ? hypervisor : "the processor says that there is one");
    else if (virtualised)
        doctor_pass(doctor, FINDING_HOST_VIRTUAL, "none shows itself");
    else
        doctor_cannot_know(doctor, FINDING_HOST_VIRTUAL,
                           "this architecture's cpuinfo has no such flag");
}

static void check_clock_source(struct doctor *doctor)
{
    const char *source = doctor_text(&doctor->host, "host.clocksource", NULL);
    struct clock_quality quality = clock_measure_quality(10000);
    bool recorded = machine_root()[0] != '\0';
    bool slow = source && (!strcmp(source, "hpet") || !strcmp(source, "acpi_pm") ||
                           !strcmp(source, "jiffies") || !strcmp(source, "refined-jiffies"));

    if (slow)
        doctor_find(doctor, FINDING_HOST_CLOCK_SOURCE, false, NULL, "%s", source);
    else if (source)
        doctor_pass(doctor, FINDING_HOST_CLOCK_SOURCE, "%s", source);
    else
        doctor_cannot_know(doctor, FINDING_HOST_CLOCK_SOURCE, "the kernel does not report it");
    if (recorded)
        doctor_cannot_know(doctor, FINDING_HOST_TIMER, "a recorded machine's clock cannot be read");
    else if (quality.read_cost_ns > 500 || quality.resolution_ns > 1000)
        doctor_find(doctor, FINDING_HOST_TIMER, quality.resolution_ns > 100000, NULL,
                    "a reading takes %.0f ns and moves in steps of %" PRId64 " ns",
                    quality.read_cost_ns, quality.resolution_ns);
    else
        doctor_pass(doctor, FINDING_HOST_TIMER,
                    "a reading takes %.0f ns and moves in steps of %" PRId64 " ns",
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
        doctor_cannot_know(doctor, FINDING_HOST_MEMORY, "/proc/meminfo does not report it");
    else if (available < GIB || available < total / 10)
        doctor_find(doctor, FINDING_HOST_MEMORY, available < GIB / 4, NULL, "%s of %s available",
                    text_human_bytes((double)available, a), text_human_bytes((double)total, b));
    else
        doctor_pass(doctor, FINDING_HOST_MEMORY, "%s of %s available",
                    text_human_bytes((double)available, a), text_human_bytes((double)total, b));
    if (swap < 0 || swap_free < 0)
        doctor_cannot_know(doctor, FINDING_HOST_SWAP, "/proc/meminfo does not report it");
    else if (swap > swap_free)
        doctor_find(doctor, FINDING_HOST_SWAP, false, NULL, "%s in use",
                    text_human_bytes((double)(swap - swap_free), a));
    else
        doctor_pass(doctor, FINDING_HOST_SWAP, swap > 0 ? "none in use" : "there is none");
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
        doctor_cannot_know(doctor, FINDING_HOST_QUOTA, reason);
    else if (!strncmp(quota, "max", 3))
        doctor_pass(doctor, FINDING_HOST_QUOTA, "none in this cgroup");
    else
        doctor_find(doctor, FINDING_HOST_QUOTA, throttled, NULL,
                    "%s microseconds of processor time in each period (cpu.max)%s", quota,
                    throttled ? ", and it took effect just now" : "");
    if (limit > 0 && total > 0 && limit < total / 2)
        doctor_find(doctor, FINDING_HOST_MEMORY_LIMIT, false, NULL, "%s in this cgroup",
                    text_human_bytes((double)limit, a));
    if (usable > 0 && online > 0 && usable < online)
        doctor_find(doctor, FINDING_HOST_AFFINITY, false, NULL,
                    "%" PRId64 " of %" PRId64 " processors may be used", usable, online);
    else if (usable > 0 && online > 0)
        doctor_pass(doctor, FINDING_HOST_AFFINITY, "all %" PRId64 " processors may be used",
                    usable);
}

static void check_numa(struct doctor *doctor)
{
    const char *nodes = doctor_text(&doctor->host, "host.numa.nodes", NULL);
    const char *balancing = doctor_text(&doctor->host, "host.numa.balancing", NULL);

    if (!nodes)
        doctor_cannot_know(doctor, FINDING_HOST_NUMA, "no NUMA information");
    else if (strcmp(nodes, "0") && balancing && strcmp(balancing, "0"))
        doctor_find(doctor, FINDING_HOST_NUMA, false, NULL,
                    "nodes %s, and automatic balancing is on", nodes);
    else
        doctor_pass(doctor, FINDING_HOST_NUMA, "%s%s", strcmp(nodes, "0") ? "nodes " : "one node",
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
        doctor_cannot_know(doctor, FINDING_HOST_HEAT,
                           "no sensor reports it with its limit (a virtual machine hides them)");
    else if (critical - value < 10000)
        doctor_find(doctor, FINDING_HOST_HEAT, false, NULL, "%.0f degrees, the limit is %.0f",
                    (double)value / 1000, (double)critical / 1000);
    else
        doctor_pass(doctor, FINDING_HOST_HEAT, "%.0f degrees, the limit is %.0f",
                    (double)value / 1000, (double)critical / 1000);
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
            doctor_find(doctor, FINDING_HOST_BATTERY, false, NULL, "no mains at %s", supplies[i]);
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
        doctor_cannot_know(doctor, FINDING_HOST_TIME, reason);
    else if (!strcmp(synchronised, "yes"))
        doctor_pass(doctor, FINDING_HOST_TIME, "synchronised%s%s", service ? " by " : "",
                    service ? service : "");
    else
        doctor_find(doctor, FINDING_HOST_TIME, false, NULL, "not synchronised");
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
        doctor_pass(doctor, FINDING_HOST_STEAL, "%.1f %% while looking", percent);
        return;
    }
    doctor_find(doctor, FINDING_HOST_STEAL, percent >= 10, NULL,
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
        doctor_pass(doctor, FINDING_HOST_LOAD, "%.1f %% of all processor time while looking",
                    percent);
    else
        doctor_find(doctor, FINDING_HOST_LOAD, percent >= 25, NULL,
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
        doctor_cannot_know(doctor, FINDING_HOST_JITTER,
                           "the test was not asked for (--jitter 10s)");
        return;
    }
    percent = share(jitter->lost_ns, jitter->duration_ns);
    if (percent < 1)
        doctor_pass(doctor, FINDING_HOST_JITTER,
                    "%.2f %% of %.0f s lost in %" PRId64 " gaps, the longest %.2f ms", percent,
                    (double)jitter->duration_ns / 1e9, jitter->gaps,
                    (double)jitter->longest_ns / 1e6);
    else
        doctor_find(doctor, FINDING_HOST_JITTER, percent >= 10,
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
        doctor_cannot_know(doctor, FINDING_HOST_LOAD, doctor->load_reason);
    }
    check_jitter(doctor);
}
