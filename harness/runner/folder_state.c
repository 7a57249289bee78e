#include "harness/runner/folder_state.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

#define DEPTH_MAX 64

struct entry {
    char *path; /* heap */
    struct stat info;
};

struct folder_state {
    char *folder;          /* heap */
    struct entry *entries; /* files and links, in the order of the walk; heap */
    size_t count, capacity;
};

/* Takes the path. */
static enum status add(struct folder_state *state, char *path, const struct stat *info,
                       struct error *err)
{
    if (state->count == state->capacity) {
        const size_t capacity = state->capacity ? 2 * state->capacity : 1024;
        struct entry *grown = realloc(state->entries, capacity * sizeof(*grown));

        if (!grown) {
            free(path);
            return error_no_memory(err);
        }
        state->entries = grown;
        state->capacity = capacity;
    }
    state->entries[state->count++] = (struct entry){path, *info};
    return STATUS_OK;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_name(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static enum status walk(struct folder_state *state, const char *folder, int depth,
                        struct error *err);

static enum status take(struct folder_state *state, char *path, int depth, struct error *err)
{
    struct stat info;
    enum status status = STATUS_OK;

    if (!path)
        return error_no_memory(err);
    if (lstat(path, &info) < 0)
        status = errno == ENOENT ? STATUS_OK : error_set_errno(err, errno, "%s", path);
    else if (S_ISREG(info.st_mode) || S_ISLNK(info.st_mode))
        return add(state, path, &info, err);
    else if (S_ISDIR(info.st_mode))
        status = walk(state, path, depth + 1, err);
    free(path);
    return status;
}

static enum status walk(struct folder_state *state, const char *folder, int depth,
                        struct error *err)
{
    struct dirent **names = NULL;
    const int count = depth < DEPTH_MAX ? scandir(folder, &names, is_name, by_bytes) : -1;
    enum status status = STATUS_OK;

    if (depth == DEPTH_MAX)
        return error_set(err, STATUS_INVALID, "%s is %d folders deep", folder, depth);
    if (count < 0)
        return error_set_errno(err, errno, "%s", folder);
    for (int i = 0; i < count; i++) {
        if (status == STATUS_OK)
            status = take(state, text_format("%s/%s", folder, names[i]->d_name), depth, err);
        free(names[i]);
    }
    free(names);
    return status;
}

void folder_state_destroy(struct folder_state *state)
{
    if (!state)
        return;
    for (size_t i = 0; i < state->count; i++)
        free(state->entries[i].path);
    free(state->entries);
    free(state->folder);
    free(state);
}

static void destroy(struct folder_state **state)
{
    folder_state_destroy(*state);
}

static enum status look(const char *folder, struct folder_state **ret, struct error *err)
{
    CLEANUP(destroy) struct folder_state *state = calloc(1, sizeof(*state));

    if (!state || !(state->folder = strdup(folder)))
        return error_no_memory(err);
    TRY(walk(state, folder, 0, err));
    *ret = state;
    state = NULL;
    return STATUS_OK;
}

/* ---- their content ---- */

static bool is_compiled(const struct entry *entry)
{
    return strstr(entry->path, "/__pycache__/") != NULL;
}

/* Whether it may be another in another place, below `path`. */
static bool is_of_place(const char *path)
{
    static const char *const noted[] = {"/RECORD", "/INSTALLER", "/REQUESTED", "/direct_url.json"};
    const char *info = strstr(path, ".dist-info/");

    for (size_t i = 0; info && i < sizeof(noted) / sizeof(noted[0]); i++)
        if (!strcmp(strchr(info, '/'), noted[i]))
            return true;
    return !strncmp(path, "/venv/bin/", 10) || !strcmp(path, "/venv/pyvenv.cfg");
}

static enum status add_content(struct digest_state *all, const struct entry *entry,
                               const char *path, struct error *err)
{
    char target[PATH_MAX];
    struct digest content;
    ssize_t length;

    if (S_ISLNK(entry->info.st_mode)) {
        length = readlink(entry->path, target, sizeof(target));
        if (length < 0)
            return error_set_errno(err, errno, "%s", entry->path);
        content = digest_bytes(target, (size_t)length);
    } else {
        TRY(digest_file(entry->path, &content, NULL, err));
    }
    digest_update(all, path, strlen(path) + 1);
    digest_update(all, content.bytes, sizeof(content.bytes));
    return STATUS_OK;
}

enum status folder_state_read(const char *folder, struct folder_state **ret,
                              struct digest *ret_digest, struct error *err)
{
    CLEANUP(destroy) struct folder_state *state = NULL;
    struct digest_state all;

    TRY(look(folder, &state, err));
    digest_init(&all);
    for (size_t i = 0; i < state->count; i++) {
        const char *path = state->entries[i].path + strlen(folder);

        if (!is_compiled(&state->entries[i]) && !is_of_place(path))
            TRY(add_content(&all, &state->entries[i], path, err));
    }
    *ret_digest = digest_final(&all);
    *ret = state;
    state = NULL;
    return STATUS_OK;
}

/* ---- whether they are the same ---- */

static bool is_alike(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static enum status changed(const struct entry *entry, const char *how, struct error *err)
{
    return error_set(err, STATUS_INVALID, "%s %s since the plan", entry->path, how);
}

static bool is_gone(const struct folder_state *state, size_t at)
{
    struct stat info;

    return at < state->count && lstat(state->entries[at].path, &info) < 0;
}

/* Both are in one order. */
enum status folder_state_check(struct folder_state *state, struct error *err)
{
    CLEANUP(destroy) struct folder_state *now = NULL;
    size_t at = 0;
    struct folder_state kept;

    TRY(look(state->folder, &now, err));
    for (size_t i = 0; i < now->count; i++) {
        const struct entry *entry = &now->entries[i];
        const bool known = at < state->count && !strcmp(state->entries[at].path, entry->path);

        if (!known && !is_compiled(entry))
            return is_gone(state, at) ? changed(&state->entries[at], "was removed", err)
                                      : changed(entry, "is new", err);
        if (known && !is_alike(&state->entries[at].info, &entry->info))
            return changed(entry, "was written or replaced", err);
        at += known;
    }
    if (at < state->count)
        return changed(&state->entries[at], "was removed", err);
    kept = *state;
    *state = *now;
    *now = kept;
    return STATUS_OK;
}
