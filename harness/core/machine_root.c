#include "harness/core/machine_root.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/file.h"

#define NAMES_MAX 4096

const char *machine_root(void)
{
    const char *root = getenv("ASSAY_HOST_ROOT");

    return root ? root : "";
}

bool machine_path(char ret[PATH_MAX], const char *path)
{
    return snprintf(ret, PATH_MAX, "%s%s", machine_root(), path) < PATH_MAX;
}

enum status machine_read(const char *path, size_t max, char **ret, struct error *err)
{
    char full[PATH_MAX];

    if (!machine_path(full, path))
        return error_set(err, STATUS_INVALID, "%s: the path is too long", path);
    return file_read(full, max, ret, NULL, err);
}

enum status machine_read_line(const char *path, char **ret, struct error *err)
{
    char full[PATH_MAX];

    if (!machine_path(full, path))
        return error_set(err, STATUS_INVALID, "%s: the path is too long", path);
    return file_read_line(full, ret, err);
}

static long number_at_end(const char *name)
{
    const char *digits = name + strlen(name);

    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    return *digits ? strtol(digits, NULL, 10) : -1;
}

static int compare_names(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    long difference = number_at_end(x) - number_at_end(y);

    return difference ? (difference < 0 ? -1 : 1) : strcmp(x, y);
}

char **machine_list(const char *folder, const char *prefix)
{
    char full[PATH_MAX];
    char **names = calloc(NAMES_MAX + 1, sizeof(*names));
    DIR *directory = names && machine_path(full, folder) ? opendir(full) : NULL;
    struct dirent *entry;
    size_t count = 0;

    while (directory && count < NAMES_MAX && (entry = readdir(directory))) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)))
            continue;
        names[count] = strdup(entry->d_name);
        if (!names[count]) {
            machine_list_free(names);
            names = NULL;
            break;
        }
        count++;
    }
    if (directory)
        closedir(directory);
    if (names && count > 0)
        qsort(names, count, sizeof(*names), compare_names);
    return names;
}

void machine_list_free(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}
