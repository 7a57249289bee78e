#include "harness/core/machine_root.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/file.h"

const char *machine_root(void)
{
    const char *root = getenv("ASSAY_HOST_ROOT");

    return root ? root : "";
}

bool machine_path(char ret[PATH_MAX], const char *path)
{
    return snprintf(ret, PATH_MAX, "%s%s", machine_root(), path) < PATH_MAX;
}

bool machine_has(const char *path)
{
    char full[PATH_MAX];

    return machine_path(full, path) && access(full, F_OK) == 0;
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

static int compare_names(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Adds a copy, with room for the NULL that ends the list; false: out of memory. */
static bool add_name(char ***names, size_t *count, size_t *capacity, const char *name)
{
    char *copy = strdup(name), **grown = *names;

    if (*count + 1 >= *capacity) {
        *capacity *= 2;
        grown = realloc(*names, *capacity * sizeof(*grown));
    }
    if (grown)
        *names = grown;
    if (!grown || !copy) {
        free(copy);
        return false;
    }
    grown[(*count)++] = copy;
    grown[*count] = NULL;
    return true;
}

char **machine_list(const char *folder, const char *prefix)
{
    size_t count = 0, capacity = 64;
    char **names = calloc(capacity, sizeof(*names));
    char full[PATH_MAX];
    DIR *directory = names && machine_path(full, folder) ? opendir(full) : NULL;
    struct dirent *entry;

    while (directory && names && (entry = readdir(directory))) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) ||
            add_name(&names, &count, &capacity, entry->d_name))
            continue;
        machine_list_free(names);
        names = NULL;
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
