#include "harness/runner/maps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "harness/core/array.h"
#include "harness/core/file.h"
#include "harness/runner/packages.h"
#include "harness/runner/stack_files.h"

#define MAPS_TEXT_MAX ((size_t)16 << 20)
#define HELD_SIZE 64 /* of the path of a descriptor */
#define HELD_MAX 512 /* and not more than half of the descriptors that this process may have */

static bool identify(const char *path, struct maps_identity *ret)
{
    struct stat info;

    if (stat(path, &info) < 0 || !S_ISREG(info.st_mode))
        return false;
    ret->device = info.st_dev;
    ret->inode = info.st_ino;
    ret->size = (uint64_t)info.st_size;
    ret->modified_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    ret->changed_ns = (int64_t)info.st_ctim.tv_sec * 1000000000 + info.st_ctim.tv_nsec;
    return true;
}

static bool identity_equal(const struct maps_identity *a, const struct maps_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

static bool list_has(const struct maps_list *list, const char *path)
{
    for (size_t i = list->count; i-- > 0;)
        if (!strcmp(list->files[i].path, path))
            return true;
    return false;
}

/*
 * Overlayfs shows the inode of the layer in one place and its own in the other, as its options and
 * the kernel have it. A file that is no longer there is marked as deleted all the same.
 */
static bool is_overlay(const char *path)
{
    struct statfs system;

    return statfs(path, &system) == 0 && system.f_type == OVERLAYFS_SUPER_MAGIC;
}

static enum status list_add(struct maps_list *list, const char *path, uint64_t inode,
                            struct error *err)
{
    struct maps_file file = {0};

    TRY(ARRAY_GROW(list->files, list->count, 1, err));
    file.path = strdup(path);
    if (!file.path)
        return error_no_memory(err);
    /* The inode in maps is the file that is mapped; the path may lead elsewhere by now. */
    file.present = identify(path, &file.identity) &&
                   (file.identity.inode == inode || (inode != 0 && is_overlay(path)));
    list->files[list->count++] = file;
    return STATUS_OK;
}

enum status maps_list_add(struct maps_list *list, const char *path, const char *kind,
                          const char *version, const char *build_id, struct error *err)
{
    struct maps_file file = {.kind = kind};
    enum status status =
        list_has(list, path) ? STATUS_OK : ARRAY_GROW(list->files, list->count, 1, err);

    if (status != STATUS_OK || list_has(list, path))
        return status;
    file.path = strdup(path);
    file.version = version ? strdup(version) : NULL;
    file.build_id = build_id ? strdup(build_id) : NULL;
    file.present = identify(path, &file.identity);
    if (!file.path || (version && !file.version) || (build_id && !file.build_id)) {
        free(file.path);
        free(file.version);
        free(file.build_id);
        return error_no_memory(err);
    }
    list->files[list->count++] = file;
    return STATUS_OK;
}

enum status maps_list_add_stack(struct maps_list *list, const struct stack_files *files,
                                struct error *err)
{
    for (size_t i = 0; i < files->count; i++)
        TRY(maps_list_add(list, files->items[i].path, files->items[i].kind, files->items[i].version,
                          files->items[i].build_id, err));
    return STATUS_OK;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct maps_file *)a)->path, ((const struct maps_file *)b)->path);
}

/* Line ends in paths, the only bytes that the kernel writes as octal numbers there. */
static void unescape(char *path)
{
    char *to = path;

    for (const char *from = path; *from; to++) {
        const bool is_end = !strncmp(from, "\\012", 4);

        *to = is_end ? '\n' : *from;
        from += is_end ? 4 : 1;
    }
    *to = '\0';
}

/* "ADDRESS PERMS OFFSET DEV INODE      PATH" (proc(5)). */
static enum status add_line(struct maps_list *list, char *line, struct error *err)
{
    static const char deleted[] = " (deleted)";
    char permissions[8];
    uint64_t inode;
    int path_at = -1;
    char *path;
    size_t length;

    if (sscanf(line, "%*s %7s %*s %*s %" SCNu64 " %n", permissions, &inode, &path_at) < 2 ||
        path_at < 0 || !strchr(permissions, 'x'))
        return STATUS_OK;
    path = line + path_at;
    if (path[0] != '/' || inode == 0)
        return STATUS_OK;
    length = strlen(path);
    if (length > sizeof(deleted) && !strcmp(path + length - sizeof(deleted) + 1, deleted)) {
        path[length - sizeof(deleted) + 1] = '\0';
        inode = 0; /* matches no file: reported as no longer present */
    }
    unescape(path);
    return list_has(list, path) ? STATUS_OK : list_add(list, path, inode, err);
}

enum status maps_parse(const char *text, struct maps_list *ret, struct error *err)
{
    struct maps_list list = {0};
    char *copy = strdup(text), *rest = NULL;
    enum status status = STATUS_OK;

    if (!copy)
        return error_no_memory(err);
    for (char *line = strtok_r(copy, "\n", &rest); line && status == STATUS_OK;
         line = strtok_r(NULL, "\n", &rest))
        status = add_line(&list, line, err);
    free(copy);
    if (status != STATUS_OK) {
        maps_list_finish(&list);
        return status;
    }
    if (list.count > 0)
        qsort(list.files, list.count, sizeof(*list.files), compare_files);
    *ret = list;
    return STATUS_OK;
}

enum status maps_read(pid_t pid, struct maps_list *ret, struct error *err)
{
    char path[64];
    char *text;
    enum status status;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    status = file_read(path, MAPS_TEXT_MAX, &text, NULL, err);
    if (status != STATUS_OK) {
        if (status == STATUS_NOT_FOUND)
            return error_set(err, STATUS_UNAVAILABLE, "%s: there is no such process", path);
        error_prefix(err, "the files that the worker has mapped");
        return status;
    }
    status = maps_parse(text, ret, err);
    free(text);
    return status;
}

void maps_list_finish(struct maps_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++) {
        if (list->files[i].held)
            close(list->files[i].fd);
        free(list->files[i].path);
        free(list->files[i].version);
        free(list->files[i].build_id);
    }
    free(list->files);
    memset(list, 0, sizeof(*list));
}

void maps_cache_init(struct maps_cache *cache)
{
    memset(cache, 0, sizeof(*cache));
}

void maps_cache_finish(struct maps_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->count; i++)
        free(cache->items[i]);
    free(cache->items);
    packages_destroy(cache->packages);
    stack_files_finish(cache->host);
    free(cache->host);
    memset(cache, 0, sizeof(*cache));
}

/* The machine's packages, read once; NULL when there is no memory for them. */
static struct packages *maps_cache_packages(struct maps_cache *cache)
{
    if (!cache->packages && packages_open(&cache->packages, NULL) != STATUS_OK)
        return NULL;
    return cache->packages;
}

const struct stack_files *maps_cache_host(struct maps_cache *cache)
{
    struct stack_files *host = cache->host ? NULL : calloc(1, sizeof(*host));

    if (host && stack_files_add_host(host, NULL) != STATUS_OK) {
        stack_files_finish(host);
        free(host);
        host = NULL;
    }
    if (host)
        cache->host = host;
    return cache->host;
}

static const struct maps_content *find_content(const struct maps_cache *cache,
                                               const struct maps_identity *identity)
{
    for (size_t i = 0; i < cache->count; i++)
        if (identity_equal(&cache->items[i]->identity, identity))
            return cache->items[i];
    return NULL;
}

void maps_list_hold(struct maps_list *list, const struct maps_cache *cache)
{
    const long most = sysconf(_SC_OPEN_MAX);
    const size_t room = most > 0 && most / 2 < HELD_MAX ? (size_t)most / 2 : HELD_MAX;

    for (size_t i = 0; i < list->count && i < room; i++) {
        struct maps_file *file = &list->files[i];

        if (!file->present || file->held || find_content(cache, &file->identity))
            continue;
        file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        file->held = file->fd >= 0;
    }
}

/* Of a held file the time of the last change may differ: to lose its name is one. */
static bool is_unchanged(const struct maps_file *file, const char *path)
{
    struct maps_identity now;

    if (!identify(path, &now))
        return false;
    if (file->held)
        now.changed_ns = file->identity.changed_ns;
    return identity_equal(&now, &file->identity);
}

/* Where the file itself can be read, whatever its path leads to by now. */
static const char *readable(const struct maps_file *file, char held[HELD_SIZE])
{
    if (!file->held)
        return file->path;
    snprintf(held, HELD_SIZE, "/proc/self/fd/%d", file->fd);
    return held;
}

bool maps_find_package(struct maps_cache *cache, const struct maps_file *file,
                       const struct digest *content, struct package *ret)
{
    struct packages *packages = maps_cache_packages(cache);
    char held[HELD_SIZE];
    const struct packages_file at = {.path = file->path,
                                     .content = content,
                                     .readable = readable(file, held),
                                     .changed_ns = file->identity.changed_ns};

    return packages && packages_find(packages, &at, ret);
}

static enum status read_content(const struct maps_file *file, struct maps_content *ret,
                                struct error *err)
{
    char held[HELD_SIZE];
    const char *path = readable(file, held);

    memset(ret, 0, sizeof(*ret));
    ret->identity = file->identity;
    TRY(digest_file(path, &ret->digest, NULL, err));
    if (elf_build_id(path, ret->build_id, NULL) != STATUS_OK)
        ret->build_id[0] = '\0';
    if (!is_unchanged(file, path))
        return error_set(err, STATUS_CORRUPT, "%s changed while the trial ran", file->path);
    return STATUS_OK;
}

enum status maps_cache_content(struct maps_cache *cache, const struct maps_file *file,
                               const struct maps_content **ret, struct error *err)
{
    const struct maps_content *known;
    struct maps_content *content;
    enum status status;

    if (!file->present)
        return error_set(err, STATUS_CORRUPT, "%s was replaced or removed after it had been mapped",
                         file->path);
    known = find_content(cache, &file->identity);
    if (known) {
        *ret = known;
        return STATUS_OK;
    }
    TRY(ARRAY_GROW(cache->items, cache->count, 1, err));
    content = malloc(sizeof(*content));
    if (!content)
        return error_no_memory(err);
    status = read_content(file, content, err);
    if (status != STATUS_OK) {
        free(content);
        return status;
    }
    cache->items[cache->count++] = content;
    *ret = content;
    return STATUS_OK;
}
