#include "harness/core/cgroup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/file.h"
#include "harness/core/text.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

/* Folder of this process in the unified hierarchy; the root where it cannot be told. */
static void group_folder(char ret[PATH_MAX])
{
    char *text = NULL, *line, *rest = NULL;

    snprintf(ret, PATH_MAX, CGROUP_ROOT);
    if (file_read("/proc/self/cgroup", 65536, &text, NULL, NULL) != STATUS_OK)
        return;
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char candidate[PATH_MAX];
        FILE *probe;

        if (strncmp(line, "0::", 3) ||
            snprintf(candidate, sizeof(candidate), CGROUP_ROOT "%s/cgroup.controllers",
                     line + 3) >= (int)sizeof(candidate))
            continue;
        probe = fopen(candidate, "re");
        if (probe) {
            fclose(probe);
            snprintf(ret, PATH_MAX, CGROUP_ROOT "%s", line + 3);
        }
    }
    free(text);
}

static void read_file(struct reading_list *list, const char *name, const char *file)
{
    char folder[PATH_MAX], path[PATH_MAX];
    struct error err = ERROR_INIT;
    char *line = NULL;

    group_folder(folder);
    if (snprintf(path, sizeof(path), "%s/%s", folder, file) >= (int)sizeof(path))
        return;
    if (file_read_line(path, &line, &err) == STATUS_OK)
        reading_add_text(list, name, line, path);
    else
        reading_add_missing(list, name,
                            err.code == STATUS_DENIED ? READING_DENIED : READING_UNAVAILABLE, path,
                            "no such control: not limited here, or another cgroup version");
    free(line);
}

void cgroup_read_limits(struct reading_list *list)
{
    read_file(list, "cgroup.cpu_max", "cpu.max");
    read_file(list, "cgroup.memory_max", "memory.max");
    read_file(list, "cgroup.swap_max", "memory.swap.max");
    read_file(list, "cgroup.cpus", "cpuset.cpus.effective");
    read_file(list, "cgroup.memory_nodes", "cpuset.mems.effective");
}

/* Value behind `key ` in a file of "key value" lines; -1 when it is not there. */
static int64_t keyed_value(const char *file, const char *key)
{
    char folder[PATH_MAX], path[PATH_MAX];
    char *text = NULL, *line, *rest = NULL;
    int64_t value = -1;
    size_t length = strlen(key);

    group_folder(folder);
    if (snprintf(path, sizeof(path), "%s/%s", folder, file) >= (int)sizeof(path) ||
        file_read(path, 65536, &text, NULL, NULL) != STATUS_OK)
        return -1;
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (!strncmp(line, key, length) && line[length] == ' ')
            text_parse_i64(line + length + 1, &value);
    free(text);
    return value;
}

void cgroup_read_usage(struct reading_list *list)
{
    int64_t throttled = keyed_value("cpu.stat", "nr_throttled");

    read_file(list, "cgroup.memory_current", "memory.current");
    if (throttled >= 0)
        reading_add_integer(list, "cgroup.throttled_periods", throttled, NULL, "cpu.stat");
    else
        reading_add_missing(list, "cgroup.throttled_periods", READING_UNAVAILABLE, "cpu.stat",
                            "no CPU controller in this group");
}

int64_t cgroup_oom_kills(void)
{
    int64_t kills = keyed_value("memory.events", "oom_kill");
    char *text = NULL, *found;

    if (kills >= 0)
        return kills;
    /* Without a memory controller the machine's own counter tells. */
    if (file_read("/proc/vmstat", 1 << 20, &text, NULL, NULL) != STATUS_OK)
        return -1;
    found = strstr(text, "\noom_kill ");
    if (found)
        kills = strtoll(found + strlen("\noom_kill "), NULL, 10);
    free(text);
    return kills;
}
