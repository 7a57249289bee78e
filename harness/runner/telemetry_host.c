#include "harness/runner/telemetry_host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/text.h"
#include "harness/core/cgroup.h"
#include "harness/core/machine_root.h"

/* Clocks are read of so many processors, evenly spread: on some kernels a reading interrupts one.
 */
#define CLOCKS_MAX 8
#define SENSORS_MAX 32
#define CHANNELS_MAX 96
#define FILES_MAX 96
#define FILE_BYTES 4096

enum parser {
    PARSE_NUMBER,  /* the file is one integer, times `factor` over `divisor` */
    PARSE_STAT,    /* /proc/stat: fields `first` to `last` of the line "cpu" summed, in ticks */
    PARSE_PROCESS, /* /proc/PID/stat: utime and stime */
    PARSE_STALL,   /* /proc/pressure: "total=" of the line "some" */
    PARSE_KEY,     /* "key value" lines */
};

/* A file that is read once a tick, however many channels come from it. */
struct host_file {
    char *path; /* heap; those of cgroups are long */
    int fd;
};

struct host_channel {
    int file; /* index; -1: none */
    enum parser parser;
    int first, last;
    const char *key;
    int64_t factor, divisor;
};

struct host {
    struct telemetry base;
    struct telemetry_channel channels[CHANNELS_MAX];
    struct host_channel hows[CHANNELS_MAX];
    struct host_file files[FILES_MAX];
    size_t file_count;
    int64_t tick_ms;
};

static struct host *self_of(struct telemetry *telemetry)
{
    return (struct host *)telemetry;
}

/* Opens a file once; -1 and errno. */
static int add_file(struct host *host, const char *path)
{
    struct host_file file = {.fd = -1};
    char full[PATH_MAX], byte;
    int reason;

    for (size_t i = 0; i < host->file_count; i++)
        if (!strcmp(host->files[i].path, path))
            return (int)i;
    errno = ENFILE;
    if (host->file_count == FILES_MAX || !machine_path(full, path))
        return -1;
    file.path = strdup(path);
    if (file.path)
        file.fd = open(full, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file.fd < 0 || pread(file.fd, &byte, 1, 0) < 0) { /* some open but cannot be read */
        reason = errno;
        if (file.fd >= 0)
            close(file.fd);
        free(file.path);
        errno = reason;
        return -1;
    }
    host->files[host->file_count] = file;
    return (int)host->file_count++;
}

static void why(char ret[TELEMETRY_WORD_MAX], int reason, const char *absent)
{
    if (reason == EACCES || reason == EPERM)
        snprintf(ret, TELEMETRY_WORD_MAX, "permission is missing: run as root, or chmod a+r it");
    else
        snprintf(ret, TELEMETRY_WORD_MAX, "%s", reason == ENOENT ? absent : strerror(reason));
}

/* The root group's file lacks the lines about limits, which it cannot have. */
static bool has_key(const struct host *host, const struct host_channel *how)
{
    char text[FILE_BYTES];
    ssize_t got = pread(host->files[how->file].fd, text, sizeof(text) - 1, 0);

    text[got > 0 ? got : 0] = '\0';
    return strstr(text, how->key) != NULL;
}

/* A path that is too long for its place loses its beginning. */
static void show_source(char ret[TELEMETRY_WORD_MAX], const char *path)
{
    const size_t length = strlen(path), room = TELEMETRY_WORD_MAX - 1;

    if (length <= room)
        memcpy(ret, path, length + 1);
    else
        snprintf(ret, TELEMETRY_WORD_MAX, "...%s", path + length - (room - 3));
}

static bool is_taken(const struct host *host, const char *name)
{
    for (size_t i = 0; i < host->base.channel_count; i++)
        if (!strcmp(host->channels[i].name, name))
            return true;
    return false;
}

/* `absent`: the reason when there is no such file; NULL: then there is no channel. */
static struct telemetry_channel *add(struct host *host, const char *name, const char *path,
                                     enum telemetry_kind kind, struct host_channel how,
                                     const char *absent)
{
    struct telemetry_channel *channel = &host->channels[host->base.channel_count];

    if (host->base.channel_count == CHANNELS_MAX)
        return NULL;
    how.file = add_file(host, path);
    if (how.file < 0 && errno == ENOENT && !absent)
        return NULL;
    memset(channel, 0, sizeof(*channel));
    if (how.file < 0)
        why(channel->reason, errno, absent);
    else if (how.parser == PARSE_KEY && !has_key(host, &how))
        snprintf(channel->reason, sizeof(channel->reason), "%s", absent);
    snprintf(channel->name, sizeof(channel->name), "%s", name);
    show_source(channel->source, path);
    channel->kind = kind;
    host->hows[host->base.channel_count++] = how;
    return channel;
}

static struct telemetry_channel *add_number(struct host *host, const char *name, const char *path,
                                            enum telemetry_kind kind, int64_t factor,
                                            int64_t divisor, const char *absent)
{
    struct host_channel how = {.parser = PARSE_NUMBER, .factor = factor, .divisor = divisor};

    return add(host, name, path, kind, how, absent);
}

static void add_processors(struct host *host, pid_t worker)
{
    /* user nice system | idle iowait | irq softirq steal: fields 1 to 8 of the line "cpu" */
    struct host_channel busy = {.parser = PARSE_STAT, .first = 1, .last = 7};
    struct host_channel steal = {.parser = PARSE_STAT, .first = 8, .last = 8};
    struct host_channel own = {.parser = PARSE_PROCESS};
    char path[64];

    add(host, "cpu_busy_ms", "/proc/stat", TELEMETRY_COUNTER, busy, "there is no /proc/stat");
    add(host, "cpu_steal_ms", "/proc/stat", TELEMETRY_COUNTER, steal, "there is no /proc/stat");
    if (worker > 0) {
        /* The worker is this machine's, also when the rest is replayed. */
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)worker);
        add(host, "worker_cpu_ms", path, TELEMETRY_COUNTER, own, "the worker has ended");
    }
}

static void add_pressure(struct host *host)
{
    static const char *const names[][2] = {{"cpu_stall_us", "/proc/pressure/cpu"},
                                           {"memory_stall_us", "/proc/pressure/memory"},
                                           {"io_stall_us", "/proc/pressure/io"}};
    struct host_channel how = {.parser = PARSE_STALL};

    for (size_t i = 0; i < 3; i++)
        add(host, names[i][0], names[i][1], TELEMETRY_COUNTER, how,
            "the kernel was built without pressure stall information");
}

static void add_cgroup(struct host *host)
{
    static const char absent[] = "no processor controller in this group: it is not throttled";
    struct host_channel periods = {.parser = PARSE_KEY, .key = "nr_throttled"};
    struct host_channel time = {.parser = PARSE_KEY, .factor = 1, .divisor = 1};
    char path[PATH_MAX];
    bool found = cgroup_find_throttling(path);

    /* Version 2 counts microseconds, version 1 nanoseconds. */
    time.key = found && strstr(path, "/cpu/") ? "throttled_time" : "throttled_usec";
    time.divisor = found && strstr(path, "/cpu/") ? 1000 : 1;
    periods.factor = periods.divisor = 1;
    if (!found)
        snprintf(path, sizeof(path), "cpu.stat");
    add(host, "cgroup_throttled_periods", path, TELEMETRY_COUNTER, periods, absent);
    add(host, "cgroup_throttled_us", path, TELEMETRY_COUNTER, time, absent);
}

/* Numbers have holes: a processor that is off has no clock, and one that is out has no folder. */
static void add_clocks(struct host *host)
{
    char **cpus = machine_list("/sys/devices/system/cpu", "cpu");
    size_t count = 0, step, added = 0;
    char path[128], name[48];

    for (size_t i = 0; cpus && cpus[i]; i++) {
        char *cpu = cpus[i];

        snprintf(path, sizeof(path), "/sys/devices/system/cpu/%.16s/cpufreq", cpu);
        if (cpu[3] < '0' || cpu[3] > '9' || !machine_has(path))
            continue;
        cpus[i] = cpus[count];
        cpus[count++] = cpu;
    }
    step = count > CLOCKS_MAX ? count / CLOCKS_MAX : 1;
    for (size_t i = 0; i < count && added < CLOCKS_MAX; i += step, added++) {
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/%.16s/cpufreq/scaling_cur_freq",
                 cpus[i]);
        snprintf(name, sizeof(name), "%.16s_clock_khz", cpus[i]);
        add_number(host, name, path, TELEMETRY_GAUGE, 1, 1, NULL);
    }
    if (added == 0)
        add_number(host, "cpu0_clock_khz", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
                   TELEMETRY_GAUGE, 1, 1,
                   "the kernel shows no frequency (a virtual machine hides it)");
    machine_list_free(cpus);
}

static void read_word(const char *path, char *ret, size_t size, const char *otherwise)
{
    char *line = NULL;

    if (machine_read_line(path, &line, NULL) != STATUS_OK || !line[0])
        snprintf(ret, size, "%s", otherwise);
    else
        snprintf(ret, size, "%s", line);
    for (char *c = ret; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-' || *c == '_'))
            *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : '_';
    free(line);
}

/* Zones "intel-rapl:0" and their parts "intel-rapl:0:1"; AMD's come under the same name. */
static void add_rapl(struct host *host)
{
    char **zones = machine_list("/sys/class/powercap", "intel-rapl:");
    char path[128], name[TELEMETRY_WORD_MAX], word[40];
    bool any = false;

    for (size_t i = 0; zones && zones[i] && i < SENSORS_MAX; i++) {
        struct telemetry_channel *channel;
        char *line = NULL;
        int64_t range = 0;

        if (strlen(zones[i]) > 24)
            continue;
        snprintf(path, sizeof(path), "/sys/class/powercap/%s/name", zones[i]);
        read_word(path, word, sizeof(word), "unnamed");
        /* The zone's number distinguishes the "core" and "dram" zones of several packages. */
        snprintf(name, sizeof(name), "rapl_%s_%s_energy_uj", zones[i] + strlen("intel-rapl:"),
                 word);
        for (char *c = name; *c; c++)
            *c = *c == ':' ? '.' : *c;
        snprintf(path, sizeof(path), "/sys/class/powercap/%s/max_energy_range_uj", zones[i]);
        if (machine_read_line(path, &line, NULL) == STATUS_OK && !text_parse_i64(line, &range))
            range = 0;
        free(line);
        snprintf(path, sizeof(path), "/sys/class/powercap/%s/energy_uj", zones[i]);
        channel = add_number(host, name, path, TELEMETRY_COUNTER, 1, 1, "the zone has no counter");
        if (channel && range > 0)
            channel->wraps_at = (uint64_t)range;
        any = any || channel;
    }
    if (!any)
        add_number(host, "rapl_0_package-0_energy_uj", "/sys/class/powercap/intel-rapl:0/energy_uj",
                   TELEMETRY_COUNTER, 1, 1, "no RAPL counters (a virtual machine hides them)");
    machine_list_free(zones);
}

/* One chip's inputs of one kind: temp1_input in mC, power1_input or power1_average in uW. */
static size_t add_inputs(struct host *host, const char *chip, const char *prefix,
                         const char *suffix, const char *unit, int64_t divisor)
{
    char folder[64], path[128], chip_name[32], label[32], name[TELEMETRY_WORD_MAX];
    char **files;
    size_t added = 0;

    snprintf(folder, sizeof(folder), "/sys/class/hwmon/%.32s", chip);
    snprintf(path, sizeof(path), "%s/name", folder);
    read_word(path, chip_name, sizeof(chip_name), chip);
    files = machine_list(folder, prefix);
    for (size_t i = 0; files && files[i] && added < SENSORS_MAX; i++) {
        char *end = strchr(files[i], '_');

        if (!end || strcmp(end, suffix) || strlen(files[i]) > 24)
            continue;
        *end = '\0';
        snprintf(path, sizeof(path), "%s/%s_label", folder, files[i]);
        read_word(path, label, sizeof(label), files[i]);
        snprintf(path, sizeof(path), "%s/%s%s", folder, files[i], suffix);
        snprintf(name, sizeof(name), "%s_%s.%s_%s", chip, chip_name, label, unit);
        if (is_taken(host, name)) /* some chips label two inputs alike */
            snprintf(name, sizeof(name), "%s_%s.%s_%s", chip, chip_name, files[i], unit);
        if (add_number(host, name, path, TELEMETRY_GAUGE, 1, divisor, NULL))
            added++;
    }
    machine_list_free(files);
    return added;
}

static void add_sensors(struct host *host)
{
    char **chips = machine_list("/sys/class/hwmon", "hwmon");
    size_t temperatures = 0;

    /* Power first: a server has more temperatures than there is room for. */
    for (size_t i = 0; chips && chips[i] && i < SENSORS_MAX; i++)
        if (add_inputs(host, chips[i], "power", "_input", "mw", 1000) == 0)
            add_inputs(host, chips[i], "power", "_average", "mw", 1000);
    for (size_t i = 0; chips && chips[i] && i < SENSORS_MAX; i++)
        temperatures += add_inputs(host, chips[i], "temp", "_input", "mc", 1);
    machine_list_free(chips);
    if (temperatures == 0)
        add_number(host, "thermal_zone0_mc", "/sys/class/thermal/thermal_zone0/temp",
                   TELEMETRY_GAUGE, 1, 1, "no sensor (a virtual machine hides them)");
}

/* ---- reading ---- */

static int64_t sum_fields(const char *line, int first, int last, bool skip_idle)
{
    int64_t sum = 0;
    char *end;

    for (int field = 1; field <= last; field++) {
        long long value;

        line += strcspn(line, " \n");
        line += strspn(line, " ");
        value = strtoll(line, &end, 10);
        if (end == line)
            return TELEMETRY_MISSING;
        if (field >= first && !(skip_idle && (field == 4 || field == 5)))
            sum += value;
    }
    return sum;
}

/* Field 14 and 15, counted after the name, which may hold anything but a last ')'. */
static int64_t process_ticks(const char *text)
{
    const char *at = strrchr(text, ')');
    unsigned long long user, system;

    if (!at || sscanf(at + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu", &user,
                      &system) != 2)
        return TELEMETRY_MISSING;
    return (int64_t)(user + system);
}

static int64_t behind(const char *text, const char *key)
{
    size_t length = strlen(key);
    char *end;

    for (const char *at = text; (at = strstr(at, key)); at += length) {
        long long value;

        if (at > text && at[-1] != '\n' && at[-1] != ' ')
            continue;
        at += length + (at[length] == ' ');
        value = strtoll(at, &end, 10);
        return end == at ? TELEMETRY_MISSING : value;
    }
    return TELEMETRY_MISSING;
}

static int64_t parse(const struct host *host, const struct host_channel *how, const char *text)
{
    int64_t value;
    char *end;

    switch (how->parser) {
    case PARSE_NUMBER:
        value = strtoll(text, &end, 10);
        return end == text ? TELEMETRY_MISSING : value * how->factor / how->divisor;
    case PARSE_STAT:
        value = strncmp(text, "cpu ", 4) ? TELEMETRY_MISSING
                                         : sum_fields(text, how->first, how->last, true);
        return value == TELEMETRY_MISSING ? value : value * host->tick_ms;
    case PARSE_PROCESS:
        value = process_ticks(text);
        return value == TELEMETRY_MISSING ? value : value * host->tick_ms;
    case PARSE_STALL:
        return behind(text, "total=");
    case PARSE_KEY:
        value = behind(text, how->key);
        return value == TELEMETRY_MISSING ? value : value * how->factor / how->divisor;
    }
    return TELEMETRY_MISSING;
}

static enum status read_values(struct telemetry *telemetry, int64_t *values, struct error *err)
{
    struct host *host = self_of(telemetry);
    char text[FILE_BYTES];
    int at = -1;
    ssize_t got = -1;

    (void)err;
    for (size_t i = 0; i < telemetry->channel_count; i++) {
        values[i] = TELEMETRY_MISSING;
        if (host->hows[i].file < 0)
            continue;
        if (host->hows[i].file != at) { /* channels of one file are adjacent */
            at = host->hows[i].file;
            got = pread(host->files[at].fd, text, sizeof(text) - 1, 0);
            text[got > 0 ? got : 0] = '\0';
        }
        if (got > 0)
            values[i] = parse(host, &host->hows[i], text);
    }
    return STATUS_OK;
}

static void close_host(struct telemetry *telemetry)
{
    struct host *host = self_of(telemetry);

    for (size_t i = 0; i < host->file_count; i++) {
        close(host->files[i].fd);
        free(host->files[i].path);
    }
    free(host);
}

static const struct telemetry_ops ops = {.read = read_values, .close = close_host};

enum status telemetry_host_open(pid_t worker, struct telemetry **ret, struct error *err)
{
    struct host *host = calloc(1, sizeof(*host));
    long ticks = sysconf(_SC_CLK_TCK);

    if (!host)
        return error_no_memory(err);
    host->base.ops = &ops;
    host->base.channels = host->channels;
    host->tick_ms = ticks > 0 && ticks <= 1000 ? 1000 / ticks : 10;
    add_processors(host, worker);
    add_pressure(host);
    add_cgroup(host);
    add_clocks(host);
    add_rapl(host);
    add_sensors(host);
    *ret = &host->base;
    return STATUS_OK;
}
