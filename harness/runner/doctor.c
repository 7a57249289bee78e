#include "harness/runner/doctor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/telemetry.h"
#include "harness/core/cgroup.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/machine_root.h"
#include "harness/core/member.h"
#include "harness/core/reading.h"
#include "harness/core/text.h"
#include "harness/runner/host.h"
#include "harness/runner/host_details.h"
#include "harness/runner/jitter.h"
#include "harness/runner/probe.h"
#include "harness/runner/processes.h"
#include "harness/runner/telemetry_child.h"
#include "harness/runner/telemetry_watch.h"

struct doctor {
    struct reading_list host;       /* fixed, moving, limits */
    struct processes before, after; /* observes the load */
    int64_t own_ms;                 /* that this process used between them */
    bool has_load;
    const char *load_reason; /* why not */
    struct jitter jitter;
    bool has_jitter;
    int64_t throttled_before, throttled_after; /* periods of the cgroup; -1: not known */
    const char *device; /* whose checks are done, "cuda:0"; NULL: those of the host */
    json_t *findings, *passed, *unknown;
};

/* Text of a reading; NULL when it has no value (then `ret_reason`, if wanted, says why). */
static const char *text_of(const struct reading_list *list, const char *name,
                           const char **ret_reason)
{
    const struct reading *reading = reading_find(list, name);

    if (ret_reason)
        *ret_reason = reading && reading->reason ? reading->reason : "it is not read here";
    if (!reading || reading->type != READING_TEXT ||
        (reading->status != READING_MEASURED && reading->status != READING_DECLARED))
        return NULL;
    return reading->text;
}

/* Integer of a reading, of an integer or a text that is one; -1 when it has none. */
static int64_t integer_of(const struct reading_list *list, const char *name)
{
    const struct reading *reading = reading_find(list, name);
    int64_t value;

    if (!reading || (reading->status != READING_MEASURED && reading->status != READING_DECLARED))
        return -1;
    if (reading->type == READING_INTEGER)
        return reading->integer;
    return reading->type == READING_TEXT && text_parse_i64(reading->text, &value) ? value : -1;
}

static enum finding_severity severity_of(const json_t *object, const char *member)
{
    const char *name = member_text(object, member);
    int severity = FINDING_CRITICAL;

    while (severity > FINDING_NONE &&
           strcmp(name, finding_severity_name((enum finding_severity)severity)) != 0)
        severity--;
    return (enum finding_severity)severity;
}

enum finding_severity doctor_worst(const json_t *report)
{
    return severity_of(report, "worst");
}

/* Contains foreign text (names of processes, files of sysfs), which is made printable. */
static json_t *words(const char *format, va_list args)
{
    struct text text, clean;
    json_t *json;

    text_init(&text);
    text_init(&clean);
    text_append_formatv(&text, format, args);
    text_append_printable(&clean, text.data, text.length);
    json = text_ok(&clean) ? json_string(clean.data) : NULL;
    text_finish(&text);
    text_finish(&clean);
    return json;
}

/* What changes the system is done on a container's host, and by root without sudo. */
static json_t *applicable(const struct doctor *doctor, const char *remedy)
{
    static const char sudo[] = "sudo ";
    const bool contained = text_of(&doctor->host, "host.container", NULL) != NULL;
    struct text text;
    json_t *json;
    const char *at;

    text_init(&text);
    if (contained && strstr(remedy, sudo))
        text_append(&text, "on the host of this container: ");
    while ((at = contained || geteuid() != 0 ? NULL : strstr(remedy, sudo))) {
        text_append_bytes(&text, remedy, (size_t)(at - remedy));
        remedy = at + strlen(sudo);
    }
    text_append(&text, remedy);
    json = text_ok(&text) ? json_string(text.data) : NULL;
    text_finish(&text);
    return json;
}

/* The row's code; of a device "device ECC" becomes "cuda:0 ECC". */
static json_t *name_of(const struct doctor *doctor, enum finding_code code)
{
    const char *name = finding_kinds[code].code;

    return doctor->device ? json_sprintf("%s%s", doctor->device, name + strlen("device"))
                          : json_string(name);
}

/* A finding of the table (FINDING_MACHINE_MAP). `remedy`: where the row leaves it open; else NULL.
 */
__attribute__((format(printf, 5, 6))) static void find(struct doctor *doctor,
                                                       enum finding_code code, bool is_critical,
                                                       const char *remedy, const char *observed,
                                                       ...)
{
    AUTO_FREE char *subject = remedy ? strdup(remedy) : NULL;
    const struct finding finding = {.code = code, .subject = subject}, *const items = &finding;
    const enum finding_severity severity =
        is_critical ? FINDING_CRITICAL : finding_kinds[code].severity;
    struct text effect, cure;
    va_list args;
    json_t *seen;

    va_start(args, observed);
    seen = words(observed, args);
    va_end(args);
    text_init(&effect);
    text_init(&cure);
    finding_render_words(&items, 1, &effect);
    finding_render_remedy(&items, 1, &cure);
    json_array_append_new(doctor->findings,
                          json_pack("{s:o, s:s, s:o, s:s, s:o}", "check", name_of(doctor, code),
                                    "severity", finding_severity_name(severity), "observed", seen,
                                    "effect", text_ok(&effect) ? effect.data : "", "remedy",
                                    applicable(doctor, text_ok(&cure) ? cure.data : "")));
    text_finish(&effect);
    text_finish(&cure);
}

/* That a check passed, or could not be done. */
__attribute__((format(printf, 3, 4))) static void
pass(struct doctor *doctor, enum finding_code code, const char *observed, ...)
{
    va_list args;
    json_t *seen;

    va_start(args, observed);
    seen = words(observed, args);
    va_end(args);
    json_array_append_new(
        doctor->passed, json_pack("{s:o, s:o}", "check", name_of(doctor, code), "observed", seen));
}

static void cannot_know(struct doctor *doctor, enum finding_code code, const char *reason)
{
    json_array_append_new(doctor->unknown, json_pack("{s:o, s:s}", "check", name_of(doctor, code),
                                                     "reason", reason ? reason : "not reported"));
}

/* That something could not be checked at all: "device", "cuda:0 telemetry". */
static void cannot_check(struct doctor *doctor, const char *what, const char *reason)
{
    json_array_append_new(doctor->unknown,
                          json_pack("{s:s, s:s}", "check", what, "reason", reason));
}

/* ---- the host ---- */

#define GIB ((int64_t)1 << 30)

static const char no_control[] = "the kernel shows no frequency control; on a virtual machine its "
                                 "host decides";

static void check_governor(struct doctor *doctor)
{
    const char *governor = text_of(&doctor->host, "host.cpu.governor", NULL);

    if (!governor)
        cannot_know(doctor, FINDING_HOST_GOVERNOR, no_control);
    else if (!strcmp(governor, "performance"))
        pass(doctor, FINDING_HOST_GOVERNOR, "performance on every processor");
    else
        find(doctor, FINDING_HOST_GOVERNOR, false, NULL, "%s", governor);
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
    const char *low = text_of(&doctor->host, "host.cpu.scaling_min_khz", NULL);
    const char *high = text_of(&doctor->host, "host.cpu.scaling_max_khz", NULL);
    const char *boost = text_of(&doctor->host, "host.cpu.boost", NULL);

    if (!low || !high)
        cannot_know(doctor, FINDING_HOST_CLOCK, no_control);
    else if (!strcmp(low, high))
        pass(doctor, FINDING_HOST_CLOCK, "%s kHz", low);
    else
        find(doctor, FINDING_HOST_CLOCK, false, NULL, "%s to %s kHz", low, high);
    if (!boost)
        cannot_know(doctor, FINDING_HOST_TURBO, no_control);
    else if (!strcmp(boost, "0"))
        pass(doctor, FINDING_HOST_TURBO, "off");
    else
        find(doctor, FINDING_HOST_TURBO, false, boost_remedy(doctor), "on");
}

static void check_smt(struct doctor *doctor)
{
    const char *smt = text_of(&doctor->host, "host.cpu.smt", NULL);

    if (!smt)
        cannot_know(doctor, FINDING_HOST_SMT, "the kernel does not report it");
    else if (!strcmp(smt, "0"))
        pass(doctor, FINDING_HOST_SMT, "off, or hidden by a hypervisor");
    else
        find(doctor, FINDING_HOST_SMT, false, NULL, "on");
}

static bool is_virtual(const struct doctor *doctor)
{
    const char *virtualised = text_of(&doctor->host, "host.virtualised", NULL);

    return virtualised && !strcmp(virtualised, "yes");
}

static void check_virtual(struct doctor *doctor)
{
    const char *hypervisor = text_of(&doctor->host, "host.hypervisor", NULL);
    const char *virtualised = text_of(&doctor->host, "host.virtualised", NULL);

    if (is_virtual(doctor))
        find(doctor, FINDING_HOST_VIRTUAL, false, NULL, "%s",
             hypervisor ? hypervisor : "the processor says that there is one");
    else if (virtualised)
        pass(doctor, FINDING_HOST_VIRTUAL, "none shows itself");
    else
        cannot_know(doctor, FINDING_HOST_VIRTUAL, "this architecture's cpuinfo has no such flag");
}

static void check_clock_source(struct doctor *doctor)
{
    const char *source = text_of(&doctor->host, "host.clocksource", NULL);
    struct clock_quality quality = clock_measure_quality(10000);
    bool recorded = machine_root()[0] != '\0';
    bool slow = source && (!strcmp(source, "hpet") || !strcmp(source, "acpi_pm") ||
                           !strcmp(source, "jiffies") || !strcmp(source, "refined-jiffies"));

    if (slow)
        find(doctor, FINDING_HOST_CLOCK_SOURCE, false, NULL, "%s", source);
    else if (source)
        pass(doctor, FINDING_HOST_CLOCK_SOURCE, "%s", source);
    else
        cannot_know(doctor, FINDING_HOST_CLOCK_SOURCE, "the kernel does not report it");
    if (recorded)
        cannot_know(doctor, FINDING_HOST_TIMER, "a recorded machine's clock cannot be read");
    else if (quality.read_cost_ns > 500 || quality.resolution_ns > 1000)
        find(doctor, FINDING_HOST_TIMER, quality.resolution_ns > 100000, NULL,
             "a reading takes %.0f ns and moves in steps of %" PRId64 " ns", quality.read_cost_ns,
             quality.resolution_ns);
    else
        pass(doctor, FINDING_HOST_TIMER,
             "a reading takes %.0f ns and moves in steps of %" PRId64 " ns", quality.read_cost_ns,
             quality.resolution_ns);
}

static void check_memory(struct doctor *doctor)
{
    int64_t total = integer_of(&doctor->host, "host.memory.total");
    int64_t available = integer_of(&doctor->host, "load.memory_available");
    int64_t swap = integer_of(&doctor->host, "host.memory.swap_total");
    int64_t swap_free = integer_of(&doctor->host, "load.swap_free");
    char a[TEXT_HUMAN_SIZE], b[TEXT_HUMAN_SIZE];

    if (total < 0 || available < 0)
        cannot_know(doctor, FINDING_HOST_MEMORY, "/proc/meminfo does not report it");
    else if (available < GIB || available < total / 10)
        find(doctor, FINDING_HOST_MEMORY, available < GIB / 4, NULL, "%s of %s available",
             text_human_bytes((double)available, a), text_human_bytes((double)total, b));
    else
        pass(doctor, FINDING_HOST_MEMORY, "%s of %s available",
             text_human_bytes((double)available, a), text_human_bytes((double)total, b));
    if (swap < 0 || swap_free < 0)
        cannot_know(doctor, FINDING_HOST_SWAP, "/proc/meminfo does not report it");
    else if (swap > swap_free)
        find(doctor, FINDING_HOST_SWAP, false, NULL, "%s in use",
             text_human_bytes((double)(swap - swap_free), a));
    else
        pass(doctor, FINDING_HOST_SWAP, swap > 0 ? "none in use" : "there is none");
}

static void check_limits(struct doctor *doctor)
{
    const char *reason;
    const char *quota = text_of(&doctor->host, "cgroup.cpu_max", &reason);
    int64_t limit = integer_of(&doctor->host, "cgroup.memory_max");
    int64_t total = integer_of(&doctor->host, "host.memory.total");
    int64_t online = integer_of(&doctor->host, "host.cpu.online");
    int64_t usable = integer_of(&doctor->host, "host.cpu.usable");
    char a[TEXT_HUMAN_SIZE];
    bool throttled =
        doctor->throttled_before >= 0 && doctor->throttled_after > doctor->throttled_before;

    if (!quota)
        cannot_know(doctor, FINDING_HOST_QUOTA, reason);
    else if (!strncmp(quota, "max", 3))
        pass(doctor, FINDING_HOST_QUOTA, "none in this cgroup");
    else
        find(doctor, FINDING_HOST_QUOTA, throttled, NULL,
             "%s microseconds of processor time in each period (cpu.max)%s", quota,
             throttled ? ", and it took effect just now" : "");
    if (limit > 0 && total > 0 && limit < total / 2)
        find(doctor, FINDING_HOST_MEMORY_LIMIT, false, NULL, "%s in this cgroup",
             text_human_bytes((double)limit, a));
    if (usable > 0 && online > 0 && usable < online)
        find(doctor, FINDING_HOST_AFFINITY, false, NULL,
             "%" PRId64 " of %" PRId64 " processors may be used", usable, online);
    else if (usable > 0 && online > 0)
        pass(doctor, FINDING_HOST_AFFINITY, "all %" PRId64 " processors may be used", usable);
}

static void check_numa(struct doctor *doctor)
{
    const char *nodes = text_of(&doctor->host, "host.numa.nodes", NULL);
    const char *balancing = text_of(&doctor->host, "host.numa.balancing", NULL);

    if (!nodes)
        cannot_know(doctor, FINDING_HOST_NUMA, "no NUMA information");
    else if (strcmp(nodes, "0") && balancing && strcmp(balancing, "0"))
        find(doctor, FINDING_HOST_NUMA, false, NULL, "nodes %s, and automatic balancing is on",
             nodes);
    else
        pass(doctor, FINDING_HOST_NUMA, "%s%s", strcmp(nodes, "0") ? "nodes " : "one node",
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

/* In thousandths of a degree; `limit`: what it is, in words. */
static void judge_heat(struct doctor *doctor, enum finding_code code, int64_t now, int64_t most,
                       const char *limit)
{
    const double degrees = (double)now / 1000, end = (double)most / 1000;

    if (most - now < 10000)
        find(doctor, code, false, NULL, "%.0f degrees, %s %.0f", degrees, limit, end);
    else
        pass(doctor, code, "%.0f degrees, %s %.0f", degrees, limit, end);
}

static void check_heat(struct doctor *doctor)
{
    int64_t value = 0, critical = 0;

    if (hottest(&value, &critical))
        judge_heat(doctor, FINDING_HOST_HEAT, value, critical, "the limit is");
    else
        cannot_know(doctor, FINDING_HOST_HEAT,
                    "no sensor reports it with its limit (a virtual machine hides them)");
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
            find(doctor, FINDING_HOST_BATTERY, false, NULL, "no mains at %s", supplies[i]);
        free(type);
        free(online);
    }
    machine_list_free(supplies);
}

static void check_time(struct doctor *doctor)
{
    const char *reason;
    const char *synchronised = text_of(&doctor->host, "host.time.synchronised", &reason);
    const char *service = text_of(&doctor->host, "host.time.service", NULL);

    if (!synchronised)
        cannot_know(doctor, FINDING_HOST_TIME, reason);
    else if (!strcmp(synchronised, "yes"))
        pass(doctor, FINDING_HOST_TIME, "synchronised%s%s", service ? " by " : "",
             service ? service : "");
    else
        find(doctor, FINDING_HOST_TIME, false, NULL, "not synchronised");
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
        pass(doctor, FINDING_HOST_STEAL, "%.1f %% while looking", percent);
        return;
    }
    find(doctor, FINDING_HOST_STEAL, percent >= 10, NULL,
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
        pass(doctor, FINDING_HOST_LOAD, "%.1f %% of all processor time while looking", percent);
    else
        find(doctor, FINDING_HOST_LOAD, percent >= 25, NULL,
             "%.0f %% of all processor time (idle: %.0f %%): %s", percent, share(idle, capacity_ms),
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
        cannot_know(doctor, FINDING_HOST_JITTER, "the test was not asked for (--jitter 10s)");
        return;
    }
    percent = share(jitter->lost_ns, jitter->duration_ns);
    if (percent < 1)
        pass(doctor, FINDING_HOST_JITTER,
             "%.2f %% of %.0f s lost in %" PRId64 " gaps, the longest %.2f ms", percent,
             (double)jitter->duration_ns / 1e9, jitter->gaps, (double)jitter->longest_ns / 1e6);
    else
        find(doctor, FINDING_HOST_JITTER, percent >= 10,
             is_virtual(doctor) ? "stop other processes, or use dedicated cores"
                                : "stop other processes, or keep cores for the measurement "
                                  "(isolcpus=, cpusets)",
             "%.1f %% of %.0f s lost in %" PRId64 " gaps, the longest %.1f ms", percent,
             (double)jitter->duration_ns / 1e9, jitter->gaps, (double)jitter->longest_ns / 1e6);
}

static void check_host(struct doctor *doctor)
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
        cannot_know(doctor, FINDING_HOST_LOAD, doctor->load_reason);
    }
    check_jitter(doctor);
}

/* ---- a device ---- */

#define TELEMETRY_INTERVAL_NS 100000000
#define TELEMETRY_LOOK_NS                                                                          \
    3000000000 /* at most; opening a vendor's library takes most of a second */

/* The newest value of a channel; false when it has none. */
static bool newest(const struct telemetry_log *log, const char *name, int64_t *ret)
{
    for (size_t i = 0; i < log->channel_count; i++) {
        if (strcmp(member_text(json_array_get(log->channels, i), "name"), name))
            continue;
        for (size_t row = log->row_count; row-- > 0;) {
            *ret =
                log->rows[row * (TELEMETRY_ROW_HEAD + log->channel_count) + TELEMETRY_ROW_HEAD + i];
            if (*ret != TELEMETRY_MISSING)
                return true;
        }
    }
    return false;
}

/* Names of the bits that are set: "power, thermal". */
static void append_bits(struct text *out, const struct telemetry_log *log, const char *name,
                        int64_t mask)
{
    for (size_t i = 0; i < log->channel_count; i++) {
        const json_t *channel = json_array_get(log->channels, i);
        const json_t *bits = json_object_get(channel, "bits");

        if (strcmp(member_text(channel, "name"), name))
            continue;
        for (size_t bit = 0; bit < 63; bit++) {
            const char *word = json_string_value(json_array_get(bits, bit));

            if (!(mask >> bit & 1) || (word && strstr(word, "idle")))
                continue; /* an idle device lowers its clock: that is no finding */
            if (word)
                text_append_format(out, "%s%s", out->length ? ", " : "", word);
            else
                text_append_format(out, "%sbit %zu", out->length ? ", " : "", bit);
        }
    }
}

/* By the backend; a device through OpenCL may be of any vendor. */
static const char *by_vendor(const struct doctor *doctor, const char *nvidia, const char *amd,
                             const char *either)
{
    return !strncmp(doctor->device, "cuda", 4)  ? nvidia
           : !strncmp(doctor->device, "hip", 3) ? amd
                                                : either;
}

static void check_throttling(struct doctor *doctor, const struct telemetry_log *log)
{
    struct text reasons;
    int64_t mask;

    if (!newest(log, "throttle_reasons", &mask)) {
        cannot_know(doctor, FINDING_DEVICE_THROTTLING,
                    "the device does not report throttle reasons");
        return;
    }
    text_init(&reasons);
    append_bits(&reasons, log, "throttle_reasons", mask);
    if (reasons.length > 0)
        find(doctor, FINDING_DEVICE_THROTTLING, false,
             by_vendor(doctor,
                       "look at its cooling and power limit: nvidia-smi -q -d "
                       "PERFORMANCE,POWER",
                       "look at its cooling and power limit: amd-smi metric",
                       "look at its cooling and power limit"),
             "now: %s", reasons.data);
    else
        pass(doctor, FINDING_DEVICE_THROTTLING, "none now");
    text_finish(&reasons);
}

static void check_device_heat(struct doctor *doctor, const struct telemetry_log *log,
                              const struct reading_list *reported)
{
    int64_t now, limit = integer_of(reported, "device.temperature_slowdown");

    if (newest(log, "temperature_mc", &now) && limit > 0)
        judge_heat(doctor, FINDING_DEVICE_HEAT, now, limit, "it slows down at");
    else
        cannot_know(doctor, FINDING_DEVICE_HEAT,
                    "the device does not report temperature and limit");
}

static void check_reported(struct doctor *doctor, const struct reading_list *reported)
{
    const char *processes = text_of(reported, "device.processes", NULL);
    const char *ecc = text_of(reported, "device.memory_ecc", NULL);
    int64_t persistence = integer_of(reported, "device.persistence");
    int64_t width = integer_of(reported, "device.pcie_width");
    int64_t width_max = integer_of(reported, "device.pcie_width_max");

    if (!processes)
        cannot_know(doctor, FINDING_DEVICE_PROCESSES,
                    "the device does not report which processes use it");
    else if (strcmp(processes, "none"))
        find(doctor, FINDING_DEVICE_PROCESSES, false,
             by_vendor(doctor, "end them: nvidia-smi lists them",
                       "end them: amd-smi process lists them", "end them"),
             "%s", processes);
    else
        pass(doctor, FINDING_DEVICE_PROCESSES, "none");
    if (ecc && !strcmp(ecc, "no"))
        find(doctor, FINDING_DEVICE_ECC, false,
             by_vendor(doctor, "where the device has it: sudo nvidia-smi -e 1, then restart",
                       "where the device has it: boot with amdgpu.ras_enable=1",
                       "where the device has it, turn it on by the vendor's tool"),
             "off");
    else if (ecc && !strcmp(ecc, "yes"))
        pass(doctor, FINDING_DEVICE_ECC, "on");
    else
        cannot_know(doctor, FINDING_DEVICE_ECC, "the device does not report it, or has none");
    if (persistence == 0)
        find(doctor, FINDING_DEVICE_PERSISTENCE, false, NULL, "off");
    else if (persistence > 0)
        pass(doctor, FINDING_DEVICE_PERSISTENCE, "on");
    if (width > 0 && width_max > 0 && width < width_max)
        find(doctor, FINDING_DEVICE_PCIE, false, NULL, "%" PRId64 " of %" PRId64 " lanes", width,
             width_max);
    else if (width > 0)
        pass(doctor, FINDING_DEVICE_PCIE, "%" PRId64 " lanes", width);
}

static void merge(struct reading_list *into, const json_t *readings)
{
    struct reading_list list;

    if (!readings || reading_list_from_json(readings, &list, NULL) != STATUS_OK)
        return;
    for (size_t i = 0; i < list.count; i++) {
        const struct reading *r = &list.items[i];

        if (r->status != READING_MEASURED && r->status != READING_DECLARED)
            continue;
        if (r->type == READING_TEXT)
            reading_add_text(into, r->name, r->text, r->source);
        else if (r->type == READING_INTEGER)
            reading_add_integer(into, r->name, r->integer, r->unit, r->source);
    }
    reading_list_finish(&list);
}

static void check_device(struct doctor *doctor, const json_t *device)
{
    const char *spec = member_text(device, "spec");
    struct telemetry_watch_options options = {.part = spec, .interval_ns = TELEMETRY_INTERVAL_NS};
    struct telemetry_watch watch;
    struct telemetry_log log;
    struct reading_list reported;
    struct error err = ERROR_INIT;
    char check[128];

    /* A processor is checked as the host. */
    if (!strcmp(member_text(device, "type"), "cpu") && strncmp(spec, "null", 4))
        return;
    snprintf(check, sizeof(check), "%s telemetry", spec);
    if (telemetry_watch_start(&options, &watch, &err) != STATUS_OK) {
        cannot_check(doctor, check, err.message);
        return;
    }
    telemetry_watch_wait(&watch, TELEMETRY_LOOK_NS);
    if (telemetry_watch_stop(&watch, TELEMETRY_INTERVAL_NS, &log, &err) != STATUS_OK) {
        cannot_check(doctor, check, err.message);
        return;
    }
    if (log.status != STATUS_OK)
        cannot_check(doctor, check, log.message);
    doctor->device = spec;
    reading_list_init(&reported);
    merge(&reported, json_object_get(device, "readings"));
    merge(&reported, log.begin);
    merge(&reported, log.end);
    if (log.status == STATUS_OK) {
        check_throttling(doctor, &log);
        check_device_heat(doctor, &log, &reported);
    }
    check_reported(doctor, &reported);
    doctor->device = NULL;
    reading_list_finish(&reported);
    telemetry_log_finish(&log);
}

/* ---- all of it ---- */

static int64_t throttled_periods(void)
{
    struct reading_list list;
    int64_t periods;

    reading_list_init(&list);
    cgroup_read_usage(&list);
    periods = integer_of(&list, "cgroup.throttled_periods");
    reading_list_finish(&list);
    return periods;
}

struct ticking {
    const struct doctor_options *options;
    int64_t started_ns;
};

static bool tick(void *context)
{
    const struct ticking *ticking = context;

    return !ticking->options->tick ||
           ticking->options->tick(ticking->options->context,
                                  clock_monotonic_ns() - ticking->started_ns);
}

/* Processor time of this process and of what it started and waited for. */
static int64_t own_cpu_ms(void)
{
    struct rusage own, children;

    if (getrusage(RUSAGE_SELF, &own) < 0 || getrusage(RUSAGE_CHILDREN, &children) < 0)
        return 0;
    return (own.ru_utime.tv_sec + own.ru_stime.tv_sec + children.ru_utime.tv_sec +
            children.ru_stime.tv_sec) *
               1000 +
           (own.ru_utime.tv_usec + own.ru_stime.tv_usec + children.ru_utime.tv_usec +
            children.ru_stime.tv_usec) /
               1000;
}

/* Two snapshots of which processes use the processors, and between them the test or a pause. */
static void watch_load(struct doctor *doctor, const struct doctor_options *options)
{
    struct ticking ticking = {options, clock_monotonic_ns()};

    doctor->throttled_before = throttled_periods();
    doctor->load_reason = "/proc cannot be read";
    doctor->own_ms = -own_cpu_ms();
    if (processes_look(false, &doctor->before, NULL) != STATUS_OK)
        return;
    if (options->jitter_ns > 0) {
        doctor->jitter = jitter_measure(options->jitter_ns, tick, &ticking);
        if (options->tick)
            options->tick(options->context, options->jitter_ns);
        doctor->has_jitter = true;
    } else {
        clock_sleep_until_ns(clock_monotonic_ns() + options->look_ns);
    }
    doctor->throttled_after = throttled_periods();
    doctor->has_load = processes_look(true, &doctor->after, NULL) == STATUS_OK;
    doctor->own_ms += own_cpu_ms();
}

/* A new array, worst first, otherwise in the order found. */
static json_t *worst_first(const json_t *findings, enum finding_severity *ret_worst)
{
    json_t *sorted = json_array();

    *ret_worst = FINDING_NONE;
    for (enum finding_severity rank = FINDING_CRITICAL; rank > FINDING_NONE; rank--) {
        for (size_t i = 0; i < json_array_size(findings); i++) {
            if (severity_of(json_array_get(findings, i), "severity") != rank)
                continue;
            json_array_append(sorted, json_array_get(findings, i));
            if (*ret_worst < rank)
                *ret_worst = rank;
        }
    }
    return sorted;
}

static enum status check_devices(struct doctor *doctor, const char *wanted, json_t *ret_specs,
                                 struct error *err)
{
    json_t *probe = NULL, *devices = NULL;
    struct error reason = ERROR_INIT;
    enum status status;

    if (wanted && !wanted[0])
        return STATUS_OK;
    TRY(probe_run(&wanted, wanted ? 1 : 0, &probe, err));
    status = probe_select(probe, wanted, NULL, &devices, &reason);
    json_decref(probe);
    if (status != STATUS_OK && wanted) { /* asked for by name */
        if (err)
            *err = reason;
        return status;
    }
    if (status != STATUS_OK)
        cannot_check(doctor, "device", reason.message);
    EACH(device, devices) {
        json_array_append(ret_specs, json_object_get(device, "spec"));
        check_device(doctor, device);
    }
    json_decref(devices);
    return STATUS_OK;
}

/* Only backends with telemetry report something without opening the device itself. */
static void check_specs(struct doctor *doctor, const json_t *wanted, json_t *ret_specs)
{

    EACH(spec, wanted) {
        const char *text = json_string_value(spec), *colon = text ? strchr(text, ':') : NULL;
        char name[64];
        struct backend *backend;
        json_t *device;

        if (!colon || (size_t)(colon - text) >= sizeof(name))
            continue;
        memcpy(name, text, (size_t)(colon - text));
        name[colon - text] = '\0';
        backend = backend_find(name);
        if (!backend || !backend->ops->telemetry_open)
            continue;
        device = json_pack("{s:O}", "spec", spec);
        check_device(doctor, device);
        json_array_append(ret_specs, spec);
        json_decref(device);
    }
}

#define M(...) MEMBER(struct jitter, __VA_ARGS__)
static const struct member jitter_members[] = {
    M(COUNT, duration_ns), M(INTEGER, threshold_ns), M(INTEGER, gaps),
    M(COUNT, lost_ns),     M(COUNT, longest_ns),
};
#undef M
const struct type doctor_jitter_type = TYPE(struct jitter, "jitter", jitter_members);

enum status doctor_examine(const struct doctor_options *options, json_t **ret, struct error *err)
{
    struct doctor doctor = {.findings = json_array(),
                            .passed = json_array(),
                            .unknown = json_array(),
                            .throttled_before = -1,
                            .throttled_after = -1};
    json_t *specs = json_array(), *report = NULL;
    const char *host;
    enum finding_severity worst;
    enum status status;

    reading_list_init(&doctor.host);
    host_read_fixed(&doctor.host);
    host_read_details(&doctor.host);
    host_read_moving(&doctor.host);
    host_read_time(&doctor.host);
    cgroup_read_limits(&doctor.host);
    watch_load(&doctor, options);
    check_host(&doctor);
    if (options->specs)
        check_specs(&doctor, options->specs, specs);
    status = options->specs ? STATUS_OK : check_devices(&doctor, options->device, specs, err);
    host = text_of(&doctor.host, "host.name", NULL);
    if (status == STATUS_OK) {
        json_t *findings = worst_first(doctor.findings, &worst);

        report = json_pack("{s:i, s:I, s:s, s:s?, s:O, s:o, s:O, s:O, s:o}", "version", 1, "utc_ns",
                           (json_int_t)clock_utc_ns(), "worst", finding_severity_name(worst),
                           "host", host, "devices", specs, "findings", findings, "passed",
                           doctor.passed, "unknown", doctor.unknown, "jitter",
                           doctor.has_jitter ? type_to_json(&doctor_jitter_type, &doctor.jitter)
                                             : json_null());
        if (!report || doctor.host.failed)
            status = error_no_memory(err);
    }
    if (status == STATUS_OK)
        *ret = report;
    else
        json_decref(report);
    json_decref(specs);
    json_decref(doctor.findings);
    json_decref(doctor.passed);
    json_decref(doctor.unknown);
    processes_finish(&doctor.before);
    processes_finish(&doctor.after);
    reading_list_finish(&doctor.host);
    return status;
}
