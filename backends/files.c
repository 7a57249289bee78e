/* Files that take part in a measurement without being mapped. */
#include "backends/backend.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/core/array.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

#define FOLDER_DEPTH 3
#define FOLDER_FILES_MAX 256

static bool has(const struct backend_file_list *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].path, path) == 0)
            return true;
    return false;
}

void backend_file_list_add(struct backend_file_list *list, const char *kind, const char *path,
                           const char *version)
{
    char resolved[PATH_MAX];
    struct backend_file file = {.kind = kind};
    struct stat info;

    if (!file_find_program(path, resolved) || stat(resolved, &info) < 0 || !S_ISREG(info.st_mode) ||
        has(list, resolved))
        return;
    if (!ARRAY_ROOM(list->items, list->count, 1)) {
        list->failed = true;
        return;
    }
    file.path = strdup(resolved);
    file.version = version != NULL ? strdup(version) : NULL;
    if (file.path == NULL || (version != NULL && file.version == NULL)) {
        free(file.path);
        free(file.version);
        list->failed = true;
        return;
    }
    list->items[list->count++] = file;
}

static void add_below(struct backend_file_list *list, const char *kind, const char *folder,
                      int depth, size_t most)
{
    DIR *directory = depth > 0 ? opendir(folder) : NULL;
    struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL && list->count < most) {
        char *path = entry->d_name[0] != '.' ? text_format("%s/%s", folder, entry->d_name) : NULL;
        struct stat info;

        if (path != NULL && stat(path, &info) == 0) {
            if (S_ISDIR(info.st_mode))
                add_below(list, kind, path, depth - 1, most);
            else
                backend_file_list_add(list, kind, path, NULL);
        }
        free(path);
    }
    if (directory != NULL)
        closedir(directory);
}

void backend_file_list_add_folder(struct backend_file_list *list, const char *kind,
                                  const char *folder)
{
    add_below(list, kind, folder, FOLDER_DEPTH, list->count + FOLDER_FILES_MAX);
}

void backend_file_list_finish(struct backend_file_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].path);
        free(list->items[i].version);
    }
    free(list->items);
    memset(list, 0, sizeof(*list));
}
