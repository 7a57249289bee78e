#include "backends/cpu/cache.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

#define MAGIC "assay kernel object 1\n"
#define NOTE_MAX ((size_t)2 << 20)
#define OBJECT_MAX ((size_t)256 << 20)

/* Why the folder cannot be used, heap; NULL when it can. */
static char *refuse(const char *folder)
{
    struct error error = ERROR_INIT;
    struct stat info;

    if (file_make_directories(folder, 0700, &error) != STATUS_OK)
        return strdup(error.message);
    if (stat(folder, &info) != 0)
        return text_format("%s: %s", folder, strerror(errno));
    if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return text_format("%s belongs to somebody else, or others may write there", folder);
    if (access(folder, R_OK | W_OK | X_OK) != 0)
        return text_format("%s: %s", folder, strerror(errno));
    return NULL;
}

enum status cpu_cache_open(struct cpu_cache *ret, struct error *err)
{
    AUTO_FREE char *folder = file_in_cache("kcache");

    memset(ret, 0, sizeof(*ret));
    ret->reason =
        folder != NULL ? refuse(folder) : strdup("neither XDG_CACHE_HOME nor HOME names a folder");
    if (folder != NULL && ret->reason == NULL) {
        ret->folder = folder;
        folder = NULL;
    }
    if (ret->folder == NULL && ret->reason == NULL)
        return error_no_memory(err);
    return STATUS_OK;
}

static char *path_of(const struct cpu_cache *cache, const struct digest *key, const char *suffix)
{
    char hex[DIGEST_HEX_SIZE];

    return text_format("%s/%s%s", cache->folder, digest_hex(key, hex), suffix);
}

/* Digest and messages from a note; false when it is not one of ours. */
static bool read_note(const char *path, struct digest *ret_digest, char **ret_log)
{
    char *note = NULL, hex[DIGEST_HEX_SIZE];
    const size_t magic = strlen(MAGIC);
    size_t length = 0;
    bool good = false;

    if (file_read(path, NOTE_MAX, &note, &length, NULL) == STATUS_OK &&
        length >= magic + DIGEST_HEX_SIZE && strncmp(note, MAGIC, magic) == 0 &&
        note[magic + DIGEST_HEX_SIZE - 1] == '\n') {
        memcpy(hex, note + magic, DIGEST_HEX_SIZE - 1);
        hex[DIGEST_HEX_SIZE - 1] = '\0';
        *ret_log = strdup(note + magic + DIGEST_HEX_SIZE);
        good = digest_from_hex(hex, ret_digest) && *ret_log != NULL;
        if (!good)
            free(*ret_log);
    }
    free(note);
    return good;
}

enum status cpu_cache_find(const struct cpu_cache *cache, const struct digest *key,
                           char **ret_object, char **ret_log, struct error *err)
{
    struct digest expected, found;
    char *note, *object, *log = NULL;
    enum status status = STATUS_NOT_FOUND;

    if (cache->folder == NULL)
        return error_set(err, STATUS_NOT_FOUND, "%s", cache->reason);
    note = path_of(cache, key, ".txt");
    object = path_of(cache, key, ".so");
    if (note == NULL || object == NULL)
        status = error_no_memory(err);
    else if (!read_note(note, &expected, &log) ||
             digest_file(object, &found, NULL, NULL) != STATUS_OK ||
             !digest_equal(&expected, &found))
        error_set(err, status, "%s is not in the cache, or damaged", object);
    else
        status = STATUS_OK;
    free(note);
    if (status != STATUS_OK) {
        free(object);
        free(log);
        return status;
    }
    *ret_object = object;
    *ret_log = log;
    return STATUS_OK;
}

enum status cpu_cache_store(const struct cpu_cache *cache, const struct digest *key,
                            const char *path, const char *log, char **ret_object, struct error *err)
{
    AUTO_FREE char *note = path_of(cache, key, ".txt"), *object = path_of(cache, key, ".so");
    AUTO_FREE char *bytes = NULL;
    CLEANUP(text_finish) struct text content = TEXT_INIT;
    char hex[DIGEST_HEX_SIZE];
    struct digest digest;
    size_t length = 0;

    if (cache->folder == NULL)
        return error_set(err, STATUS_UNAVAILABLE, "%s", cache->reason);
    if (note == NULL || object == NULL)
        return error_no_memory(err);
    TRY(file_read(path, OBJECT_MAX, &bytes, &length, err));
    /* The object first: a note without its object, or with an older one, is detected. */
    TRY(file_write_atomic(object, bytes, length, 0700, err));
    digest = digest_bytes(bytes, length);
    text_append_format(&content, MAGIC "%s\n%s", digest_hex(&digest, hex), log);
    if (!text_ok(&content))
        return error_no_memory(err);
    TRY(file_write_atomic(note, content.data, content.length, 0600, err));
    *ret_object = object;
    object = NULL;
    return STATUS_OK;
}

enum status cpu_scratch_make(const struct cpu_cache *cache, char **ret, struct error *err)
{
    const char *const bases[] = {cache->folder, getenv("TMPDIR"), "/tmp", "/var/tmp"};
    int reason = ENOENT;

    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
        char *folder;

        if (bases[i] == NULL || bases[i][0] != '/')
            continue;
        folder = text_format("%s/assay-kcache-XXXXXX", bases[i]);
        if (folder == NULL)
            return error_no_memory(err);
        if (mkdtemp(folder) != NULL) {
            *ret = folder;
            return STATUS_OK;
        }
        reason = errno;
        free(folder);
    }
    return error_set_errno(err, reason, "no folder to compile kernels in (TMPDIR, /tmp, /var/tmp)");
}

void cpu_scratch_remove(const char *folder)
{
    DIR *dir = folder != NULL ? opendir(folder) : NULL;
    struct dirent *entry;

    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL)
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(folder);
}
