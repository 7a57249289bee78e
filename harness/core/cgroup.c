#include "harness/core/cgroup.h"

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
 * A container often sees its own group as the root, while /proc/self/cgroup names the path outside:
 * then the hierarchy's root is the group.
 */
static bool find_below(const char *mount, const char *path, const char *file, char ret[PATH_MAX])
{
    return is_there(mount, path, file, ret) || is_there(mount, "/", file, ret);
}

bool cgroup_find(const char *controller, const char *file, const char *file_1, char ret[PATH_MAX])
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

static void read_control(struct reading_list *list, const char *name, const char *controller,
                         const char *file, const char *file_1)
{
    struct error err = ERROR_INIT;
    char path[PATH_MAX], *line = NULL;

    if (!cgroup_find(controller, file, file_1, path))
        reading_add_missing(list, name, READING_UNAVAILABLE, file,
                            "no such control: not limited here, or no such controller");
    else if (machine_read_line(path, &line, &err) == STATUS_OK)
        reading_add_text(list, name, is_no_limit(line) ? "max" : line, path);
    else
        reading_add_missing(list, name,
                            err.code == STATUS_DENIED ? READING_DENIED : READING_UNAVAILABLE, path,
                            "it cannot be read");
    free(line);
}

/* Version 1 has quota and period in two files; they are put together as version 2 writes them. */
static void read_cpu_max(struct reading_list *list)
{
    char path[PATH_MAX], source[PATH_MAX] = "", *quota = NULL, *period = NULL, *words = NULL;

    if (cgroup_find(NULL, "cpu.max", NULL, path) ||
        !cgroup_find("cpu", NULL, "cpu.cfs_quota_us", path)) {
        read_control(list, "cgroup.cpu_max", NULL, "cpu.max", NULL);
        return;
    }
    snprintf(source, sizeof(source), "%s", path);
    if (machine_read_line(path, &quota, NULL) == STATUS_OK &&
        cgroup_find("cpu", NULL, "cpu.cfs_period_us", path) &&
        machine_read_line(path, &period, NULL) == STATUS_OK)
        words = text_format("%s %s", quota[0] == '-' ? "max" : quota, period);
    if (words)
        reading_add_text(list, "cgroup.cpu_max", words, source);
    else
        reading_add_missing(list, "cgroup.cpu_max", READING_UNAVAILABLE, source,
                            "it cannot be read");
    free(words);
    free(quota);
    free(period);
}

void cgroup_read_limits(struct reading_list *list)
{
    read_cpu_max(list);
    read_control(list, "cgroup.memory_max", "memory", "memory.max", "memory.limit_in_bytes");
    read_control(list, "cgroup.swap_max", "memory", "memory.swap.max",
                 "memory.memsw.limit_in_bytes");
    read_control(list, "cgroup.cpus", "cpuset", "cpuset.cpus.effective", "cpuset.effective_cpus");
    read_control(list, "cgroup.memory_nodes", "cpuset", "cpuset.mems.effective",
                 "cpuset.effective_mems");
}

/* Value behind `key ` in a file of "key value" lines; -1 when it is not there. */
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
    int64_t throttled =
        cgroup_find("cpu", "cpu.stat", "cpu.stat", path) ? keyed_value(path, "nr_throttled") : -1;

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

    /* Without a memory controller the machine's own counter tells. */
    return kills >= 0 ? kills : keyed_value("/proc/vmstat", "oom_kill");
}
