#include "harness/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

#ifndef MFD_NOEXEC_SEAL /* glibc before 2.38; linux/memfd.h */
#define MFD_NOEXEC_SEAL 0x0008U
#endif

int file_pipe_limit_ms = 30000;

/* Why `path` could not be opened. A relative one was typed by somebody, in some folder. */
static enum status open_error(const char *path, struct error *err)
{
    const int reason = errno;
    AUTO_FREE char *here = reason == ENOENT && *path != '/' ? getcwd(NULL, 0) : NULL;
    enum status status = error_set_errno(err, reason, "%s", path);

    if (here)
        error_set(err, status, "%s: there is no such file in %s; check the path", path, here);
    return status;
}

/* A pipe without a writer would hold up its reader for ever. */
static enum status wait_for_writer(int fd, const char *path, struct error *err)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int ready;

    do
        ready = poll(&wait, 1, file_pipe_limit_ms);
    while (ready < 0 && errno == EINTR);
    if (ready < 0)
        return error_set_errno(err, errno, "%s", path);
    if (ready == 0)
        return error_set(
            err, STATUS_INVALID,
            "%s: is a pipe that nothing was written to for %d s; name a file, or start "
            "what writes to it",
            path, file_pipe_limit_ms / 1000);
    return STATUS_OK;
}

/*
 * Reads up to `max` + 1 bytes, so that the caller can detect a larger file; procfs reports wrong
 * sizes.
 */
static enum status read_up_to(const char *path, size_t max, struct text *content, struct error *err)
{
    char buffer[16384];
    enum status status = STATUS_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    bool is_pipe;

    if (fd < 0)
        return open_error(path, err);
    is_pipe = fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
    if (!is_pipe)
        fcntl(fd, F_SETFL, 0);
    while (content->length <= max) {
        size_t room = max - content->length;
        ssize_t got;

        if (is_pipe) {
            status = wait_for_writer(fd, path, err);
            if (status != STATUS_OK)
                break;
        }
        got = read(fd, buffer, room < sizeof(buffer) ? room + 1 : sizeof(buffer));
        if (got < 0 && (errno == EINTR || (is_pipe && errno == EAGAIN)))
            continue;
        if (got < 0) {
            status = errno == EISDIR ? error_set(err, STATUS_INVALID,
                                                 "%s: is a folder; name a file in it", path)
                                     : error_set_errno(err, errno, "%s", path);
            break;
        }
        if (got == 0)
            break;
        text_append_bytes(content, buffer, (size_t)got);
        if (!text_ok(content)) {
            status = error_no_memory(err);
            break;
        }
    }
    close(fd);
    return status;
}

enum status file_read(const char *path, size_t max, char **ret, size_t *ret_length,
                      struct error *err)
{
    CLEANUP(text_finish) struct text content = TEXT_INIT;
    enum status status;
    size_t length;
    char *data;

    status = read_up_to(path, max, &content, err);
    if (status != STATUS_OK)
        goto out;
    if (content.length > max) {
        status =
            error_set(err, STATUS_INVALID, "%s: larger than the %zu bytes allowed here", path, max);
        goto out;
    }
    length = content.length;
    data = text_steal(&content);
    if (!data) {
        status = error_no_memory(err);
        goto out;
    }
    *ret = data;
    if (ret_length)
        *ret_length = length;
out:
    return status;
}

enum status file_read_line(const char *path, char **ret, struct error *err)
{
    CLEANUP(text_finish) struct text content = TEXT_INIT;
    char *line;

    TRY(read_up_to(path, 65535, &content, err));
    line = text_steal(&content);
    if (line) {
        line[strcspn(line, "\n")] = '\0';
        *ret = line;
    } else {
        return error_no_memory(err);
    }
    return STATUS_OK;
}

enum status file_write_all(int fd, const void *bytes, size_t length, struct error *err)
{
    const char *at = bytes;

    while (length > 0) {
        ssize_t written = write(fd, at, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return error_set_errno(err, errno, "write");
        at += written;
        length -= (size_t)written;
    }
    return STATUS_OK;
}

/* A rename lasts only once its directory is on the disk. */
static enum status sync_directory_of(const char *path, struct error *err)
{
    AUTO_FREE char *copy = strdup(path);
    enum status status = STATUS_OK;
    int fd;

    if (!copy)
        return error_no_memory(err);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || (fsync(fd) && errno != EINVAL && errno != EROFS))
        status = error_set_errno(err, errno, "%s", copy);
    if (fd >= 0)
        close(fd);
    return status;
}

/* A database of results or a private key, named by mistake: neither can be recovered.
 */
static bool is_irreplaceable(const char *path)
{
    static const char *const beginnings[] = {"SQLite format 3", "PRIVATE+KEY+", "ENCRYPTED+KEY+",
                                             "COMMAND+KEY+"};
    char head[16] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    /* What is read from a pipe is taken from its reader. */
    const bool is_file = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    const ssize_t got = is_file ? read(fd, head, sizeof(head) - 1) : 0;

    if (fd >= 0)
        close(fd);
    for (size_t i = 0; got > 0 && i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (!strncmp(head, beginnings[i], strlen(beginnings[i])))
            return true;
    return false;
}

enum status file_check_output(const char *path, struct error *err)
{
    if (!is_irreplaceable(path))
        return STATUS_OK;
    return error_set(
        err, STATUS_INVALID,
        "%s: is a database or a key, which is never overwritten; choose another name or "
        "move it away",
        path);
}

/* The part of a mode with rights for others that the umask leaves. */
static mode_t masked(mode_t mode)
{
    mode_t mask;

    if (!(mode & 077))
        return mode;
    mask = umask(077);
    umask(mask);
    return mode & ~mask;
}

/* The file that a path leads to, symbolic links resolved, heap; it need not exist, its links must.
 */
static enum status resolve(const char *path, char **ret, struct error *err)
{
    struct stat st;
    char *target = realpath(path, NULL);

    if (!target && errno == ENOENT && lstat(path, &st) == 0)
        return error_set(err, STATUS_NOT_FOUND,
                         "%s: is a symbolic link to a file that does not exist; name that file",
                         path);
    if (!target && !(target = strdup(path)))
        return error_no_memory(err);
    *ret = target;
    return STATUS_OK;
}

/* Opens a new file of this mode in the directory of the file to be replaced. */
static enum status open_temporary(struct file_draft *draft, mode_t mode, int *ret_fd,
                                  struct error *err)
{
    enum status status = STATUS_OK;

    TRY(resolve(draft->path, &draft->target, err));
    draft->temporary = text_format("%s.XXXXXX", draft->target);
    if (!draft->temporary)
        return error_no_memory(err);
    *ret_fd = mkostemp(draft->temporary, O_CLOEXEC);
    if (*ret_fd < 0) {
        status = errno == ENOENT
                     ? error_set(err, STATUS_NOT_FOUND,
                                 "%s: there is no such directory to write it in", draft->path)
                     : error_set_errno(err, errno, "%s: cannot be written", draft->path);
        free(draft->temporary);
        draft->temporary = NULL;
    } else if (fchmod(*ret_fd, masked(mode))) {
        status = error_set_errno(err, errno, "%s", draft->path);
        close(*ret_fd);
    }
    return status;
}

/* Renames what was written and closed to its name, or removes it. */
static enum status finish(struct file_draft *draft, enum status status, struct error *err)
{
    if (draft->temporary) {
        if (status == STATUS_OK && rename(draft->temporary, draft->target))
            status = error_set_errno(err, errno, "%s", draft->path);
        if (status == STATUS_OK)
            status = sync_directory_of(draft->target, err);
        else
            unlink(draft->temporary);
    }
    free(draft->temporary);
    free(draft->target);
    return status;
}

enum status file_open_stream(const char *path, FILE **ret, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    enum status status = STATUS_OK;
    struct stat st;
    FILE *stream;

    if (fd < 0)
        return open_error(path, err);
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        status = error_set(err, STATUS_INVALID, "%s: is a folder; name a file in it", path);
    else if (S_ISFIFO(st.st_mode))
        status = wait_for_writer(fd, path, err);
    if (status == STATUS_OK) {
        fcntl(fd, F_SETFL, 0);
        stream = fdopen(fd, "r");
        if (stream) {
            *ret = stream;
            return STATUS_OK;
        }
        status = error_set_errno(err, errno, "%s", path);
    }
    close(fd);
    return status;
}

/* A FIFO that no one reads would hold up its writer for ever. */
static enum status open_special(const char *path, int *ret_fd, struct error *err)
{
    const struct timespec pause = {0, 20000000};
    int fd;

    for (int waited = 0;; waited += 20) {
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd >= 0 || errno != ENXIO || waited >= file_pipe_limit_ms)
            break;
        nanosleep(&pause, NULL);
    }
    if (fd < 0 && errno == ENXIO)
        return error_set(err, STATUS_INVALID,
                         "%s: is a pipe or a device that nothing read from for %d s; name a file, "
                         "or start what reads from it",
                         path, file_pipe_limit_ms / 1000);
    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    fcntl(fd, F_SETFL, 0);
    *ret_fd = fd;
    return STATUS_OK;
}

/* Only a regular file is replaced: a device or a FIFO of that name is written to. */
static enum status start(struct file_draft *draft, mode_t mode, int *ret_fd, struct error *err)
{
    enum status status = STATUS_OK;
    struct stat st;
    const bool exists = stat(draft->path, &st) == 0;

    if (!*draft->path)
        return error_set(err, STATUS_INVALID, "the file to write has an empty name");
    if (exists && S_ISDIR(st.st_mode))
        return error_set(err, STATUS_INVALID, "%s: is a folder; name a file in it", draft->path);
    if (!exists || S_ISREG(st.st_mode)) {
        status = open_temporary(draft, mode, ret_fd, err);
    } else {
        status = open_special(draft->path, ret_fd, err);
    }
    return status == STATUS_OK ? STATUS_OK : finish(draft, status, err);
}

enum status file_write_atomic(const char *path, const void *bytes, size_t length, mode_t mode,
                              struct error *err)
{
    struct file_draft draft = {.path = path};
    int fd;
    enum status status;

    TRY(start(&draft, mode, &fd, err));
    status = file_write_all(fd, bytes, length, err);
    if (status != STATUS_OK) {
        if (err)
            error_prefix(err, "%s", path);
    } else if (draft.temporary && fsync(fd)) {
        status = error_set_errno(err, errno, "%s", path);
    }
    if (close(fd) && status == STATUS_OK)
        status = error_set_errno(err, errno, "%s", path);
    return finish(&draft, status, err);
}

enum status file_draft_begin(struct file_draft *ret, const char *path, struct error *err)
{
    struct file_draft draft = {.path = path};
    enum status status = file_check_output(path, err);
    int fd;

    TRY(status);
    TRY(start(&draft, 0666, &fd, err));
    draft.stream = fdopen(fd, "w");
    if (!draft.stream) {
        status = error_set_errno(err, errno, "%s", path);
        close(fd);
        return finish(&draft, status, err);
    }
    *ret = draft;
    return STATUS_OK;
}

enum status file_draft_end(struct file_draft *draft, enum status status, struct error *err)
{
    if (status == STATUS_OK &&
        (fflush(draft->stream) || (draft->temporary && fsync(fileno(draft->stream)))))
        status = error_set_errno(err, errno, "%s", draft->path);
    if (fclose(draft->stream) && status == STATUS_OK)
        status = error_set_errno(err, errno, "%s", draft->path);
    return finish(draft, status, err);
}

bool file_wait_readable(int fd, int64_t wait_ns)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};

    return poll(&wait, fd >= 0, (int)((wait_ns + 999999) / 1000000)) > 0;
}

int file_open_memory(const char *name, size_t size)
{
    struct rlimit most;
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

    if (fd < 0 && errno == EINVAL) /* before Linux 6.3; since then some systems insist on it */
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < size)
        size = (size_t)most.rlim_cur;
    if (fd >= 0 &&
        (ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK))) {
        const int reason = errno;

        close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

enum status file_make_directories(const char *path, mode_t mode, struct error *err)
{
    enum status status = STATUS_OK;
    struct stat st;
    AUTO_FREE char *partial = NULL;

    if (!*path)
        return error_set(err, STATUS_INVALID, "no directory named");
    partial = strdup(path);
    if (!partial)
        return error_no_memory(err);
    for (char *at = partial + 1;; ++at) {
        char kept = *at;

        if (kept != '/' && kept != '\0')
            continue;
        *at = '\0';
        if (mkdir(partial, mode)) {
            int reason = errno;

            /* Some systems say EROFS or EACCES for a directory that is there already. */
            if (stat(partial, &st)) {
                status = error_set_errno(err, reason, "%s", partial);
                break;
            }
            if (!S_ISDIR(st.st_mode)) {
                status = error_set_errno(err, ENOTDIR, "%s", partial);
                break;
            }
        }
        *at = kept;
        if (!kept)
            break;
    }
    return status;
}

char *file_in_cache(const char *name)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (cache && *cache == '/')
        return text_format("%s/assay/%s", cache, name);
    return home && *home == '/' ? text_format("%s/.cache/assay/%s", home, name) : NULL;
}

const char *file_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

char *file_beside(const char *origin, const char *path)
{
    const char *name = file_base_name(origin);

    return *path == '/' ? strdup(path) : text_format("%.*s%s", (int)(name - origin), origin, path);
}

bool file_find_program(const char *name, char ret[PATH_MAX])
{
    const char *path = getenv("PATH");

    if (strchr(name, '/') != NULL)
        return realpath(name, ret) != NULL;
    for (path = path != NULL ? path : "/usr/bin:/bin"; *path != '\0';) {
        const size_t length = strcspn(path, ":");
        AUTO_FREE char *candidate = text_format("%.*s/%s", (int)length, path, name);
        const bool found =
            candidate != NULL && access(candidate, X_OK) == 0 && realpath(candidate, ret) != NULL;

        if (found)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}
