#include "harness/core/cgroup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "harness/core/machine_root.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

static bool has_word(char *words, const char *wanted)
{
    char *rest = NULL;

    for (char *word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        if (!strcmp(word, wanted))
            return true;
    return false;
}

/* Path of the group in /proc/self/cgroup: "N:CONTROLLERS:PATH", version 2 with none (NULL). */
static bool group_path(const char *controller, char ret[PATH_MAX])
{
    char *text = NULL, *rest = NULL;
    bool found = false;

    if (machine_read("/proc/self/cgroup", 65536, &text, NULL) != STATUS_OK)
        return false;
    for (char *line = strtok_r(text, "\n", &rest); line && !found;
         line = strtok_r(NULL, "\n", &rest)) {
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

        if (!path)
            continue;
        *path++ = '\0';
        found = controller ? has_word(names + 1, controller) : names[1] == '\0';
        found = found && snprintf(ret, PATH_MAX, "%s", path) < PATH_MAX;
    }
    free(text);
    return found;
}

static bool is_there(const char *mount, const char *path, const char *file, char ret[PATH_MAX])
{
    char *text = NULL;
    bool there =
        snprintf(ret, PATH_MAX, "%s%s/%s", mount, strcmp(path, "/") ? path : "", file) < PATH_MAX &&
        machine_read(ret, 65536, &text, NULL) == STATUS_OK;

    free(text);
    return there;
}

/*
 * In this group, or the nearest above it that has the file: a controller need not reach down to a
 * group. A container often sees its own group as the root, while /proc/self/cgroup names the path
 * outside: then the hierarchy's root is the group.
 */
static bool find_below(const char *mount, const char *path, const char *file, char ret[PATH_MAX])
{
    char group[PATH_MAX];

    snprintf(group, sizeof(group), "%s", path);
    for (;;) {
        char *slash = strrchr(group, '/');

        if (is_there(mount, group, file, ret))
            return true;
        if (!slash || !strcmp(group, "/"))
            return false;
        slash[slash == group ? 1 : 0] = '\0';
    }
}

/* The same control of the group above; false at the top. */
static bool go_up(char path[PATH_MAX])
{
    char *file = strrchr(path, '/'), *group;

    *file = '\0';
    group = strrchr(path, '/');
    if (!group || strlen(path) <= strlen(CGROUP_ROOT))
        return false;
    memmove(group + 1, file + 1, strlen(file + 1) + 1);
    return true;
}

/*
 * Path of this process's control file: `file` in version 2, else `file_1` of `controller` in
 * version 1 (both may be NULL: none there). Where its own group has none, of the nearest group
 * above that has. False when there is none. Read it through machine_root.h.
 */
static bool cgroup_find(const char *controller, const char *file, const char *file_1,
                        char ret[PATH_MAX])
{
    char path[PATH_MAX] = "/", mount[128];

    if (file && group_path(NULL, path) &&
        (find_below(CGROUP_ROOT, path, file, ret) ||
         find_below(CGROUP_ROOT "/unified", path, file, ret)))
        return true;
    if (!file_1 || !controller || !group_path(controller, path))
        return false;
    snprintf(mount, sizeof(mount), CGROUP_ROOT "/%s", controller);
    return find_below(mount, path, file_1, ret);
}

/* Version 1 writes "no limit" as the largest multiple of a page. */
static bool is_no_limit(const char *line)
{
    int64_t value;

    return text_parse_i64(line, &value) && value > INT64_MAX - (1 << 20);
}

static void add_missing(struct reading_list *list, const char *name, const char *source,
                        enum status why)
{
    if (why == STATUS_NOT_FOUND)
        reading_add_missing(list, name, READING_UNAVAILABLE, source,
                            "no such control: not limited here, or no such controller");
    else
        reading_add_missing(list, name, why == STATUS_DENIED ? READING_DENIED : READING_UNAVAILABLE,
                            source, "it cannot be read");
}

static void read_control(struct reading_list *list, const char *name, const char *controller,
                         const char *file, const char *file_1)
{
    struct error err = ERROR_INIT;
    char path[PATH_MAX], *line = NULL;

    if (!cgroup_find(controller, file, file_1, path))
        add_missing(list, name, file, STATUS_NOT_FOUND);
    else if (machine_read_line(path, &line, &err) == STATUS_OK)
        reading_add_text(list, name, line, path);
    else
        add_missing(list, name, path, err.code);
    free(line);
}

/* A limit as version 2 writes it ("max", "150000 100000"), and its size to compare; heap. */
typedef char *read_limit(const char *path, double *ret_size);

static char *read_number(const char *path, double *ret_size)
{
    char *line = NULL;
    int64_t value;

    if (machine_read_line(path, &line, NULL) != STATUS_OK)
        return NULL;
    *ret_size = text_parse_i64(line, &value) && !is_no_limit(line) ? (double)value : HUGE_VAL;
    if (*ret_size < HUGE_VAL)
        return line;
    free(line);
    return strdup("max");
}

/* Version 1 has quota and period in two files. */
static char *read_quota(const char *path, double *ret_size)
{
    char period_path[PATH_MAX], *quota = NULL, *period = NULL, *words = NULL;
    const size_t folder = (size_t)(strrchr(path, '/') - path);
    long long limit, of;

    if (machine_read_line(path, &quota, NULL) == STATUS_OK && strcmp(path + folder, "/cpu.max") &&
        snprintf(period_path, sizeof(period_path), "%.*s/cpu.cfs_period_us", (int)folder, path) <
            PATH_MAX &&
        machine_read_line(period_path, &period, NULL) == STATUS_OK)
        words = text_format("%s %s", quota[0] == '-' ? "max" : quota, period);
    else if (quota && !strcmp(path + folder, "/cpu.max"))
        words = strdup(quota);
    free(quota);
    free(period);
    *ret_size = words && sscanf(words, "%lld %lld", &limit, &of) == 2 && of > 0
                    ? (double)limit / (double)of
                    : HUGE_VAL;
    return words;
}

/* The tightest of this group's limit and those of the groups above it, which hold as well; heap. */
static char *find_tightest(const char *controller, const char *file, const char *file_1,
                           read_limit *read, char ret[PATH_MAX])
{
    char path[PATH_MAX], *tightest = NULL;
    double least = HUGE_VAL;

    if (!cgroup_find(controller, file, file_1, path))
        return NULL;
    do {
        double size = HUGE_VAL;
        char *limit = read(path, &size);

        if (limit && (!tightest || size < least)) {
            free(tightest);
            tightest = limit;
            limit = NULL;
            least = size;
            snprintf(ret, PATH_MAX, "%s", path);
        }
        free(limit);
    } while (go_up(path));
    return tightest;
}

static void read_tightest(struct reading_list *list, const char *name, const char *controller,
                          const char *file, const char *file_1, read_limit *read)
{
    char path[PATH_MAX], *limit = find_tightest(controller, file, file_1, read, path);

    if (limit)
        reading_add_text(list, name, limit, path);
    else
        read_control(list, name, controller, file, file_1); /* says why there is none */
    free(limit);
}

void cgroup_read_limits(struct reading_list *list)
{
    read_tightest(list, "cgroup.cpu_max", "cpu", "cpu.max", "cpu.cfs_quota_us", read_quota);
    read_tightest(list, "cgroup.memory_max", "memory", "memory.max", "memory.limit_in_bytes",
                  read_number);
    read_tightest(list, "cgroup.swap_max", "memory", "memory.swap.max",
                  "memory.memsw.limit_in_bytes", read_number);
    read_control(list, "cgroup.cpus", "cpuset", "cpuset.cpus.effective", "cpuset.effective_cpus");
    read_control(list, "cgroup.memory_nodes", "cpuset", "cpuset.mems.effective",
                 "cpuset.effective_mems");
}

bool cgroup_find_throttling(char ret[PATH_MAX])
{
    char path[PATH_MAX],
        *limit = find_tightest("cpu", "cpu.max", "cpu.cfs_quota_us", read_quota, path);
    const bool limited = limit && strncmp(limit, "max", 3) != 0;

    free(limit);
    if (!limited)
        return cgroup_find("cpu", "cpu.stat", "cpu.stat", ret);
    *strrchr(path, '/') = '\0';
    return snprintf(ret, PATH_MAX, "%s/cpu.stat", path) < PATH_MAX;
}

/* Value after `key ` in a file of "key value" lines; -1 when it is not there. */
static int64_t keyed_value(const char *path, const char *key)
{
    char *text = NULL, *rest = NULL;
    int64_t value = -1;
    size_t length = strlen(key);

    if (machine_read(path, 1 << 20, &text, NULL) != STATUS_OK)
        return -1;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (!strncmp(line, key, length) && line[length] == ' ')
            text_parse_i64(line + length + 1, &value);
    free(text);
    return value;
}

void cgroup_read_usage(struct reading_list *list)
{
    char path[PATH_MAX];
    int64_t throttled = cgroup_find_throttling(path) ? keyed_value(path, "nr_throttled") : -1;

    read_control(list, "cgroup.memory_current", "memory", "memory.current",
                 "memory.usage_in_bytes");
    if (throttled >= 0)
        reading_add_integer(list, "cgroup.throttled_periods", throttled, NULL, path);
    else
        reading_add_missing(list, "cgroup.throttled_periods", READING_UNAVAILABLE, "cpu.stat",
                            "no CPU controller in this group");
}

int64_t cgroup_oom_kills(void)
{
    char path[PATH_MAX];
    int64_t kills = cgroup_find("memory", "memory.events", "memory.oom_control", path)
                        ? keyed_value(path, "oom_kill")
                        : -1;

    /* Without a memory controller, use the machine's own counter. */
    return kills >= 0 ? kills : keyed_value("/proc/vmstat", "oom_kill");
}
