/* file - whole files and atomic writes. */
#ifndef ASSAY_CORE_FILE_H
#define ASSAY_CORE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "harness/core/status.h"

extern int file_pipe_limit_ms; /* 30 s; a variable for tests */

/*
 * Reads at most `max` bytes; heap, NUL-terminated. INVALID when the file is larger, or is a pipe
 * that nothing is written to for file_pipe_limit_ms.
 */
enum status file_read(const char *path, size_t max, char **ret, size_t *ret_length,
                      struct error *err);

/*
 * Opens a file to read it from its beginning; the caller closes it. A pipe may be one, if something
 * is written to it within file_pipe_limit_ms: else INVALID.
 */
enum status file_open_stream(const char *path, FILE **ret, struct error *err);

/* First line of a small file (sysfs, procfs) without the newline, heap. */
enum status file_read_line(const char *path, char **ret, struct error *err);

/*
 * Writes to a temporary file next to `path`, syncs, renames it: after a crash the old or the new
 * content is there. The umask takes from `mode`, as in file_draft_begin(). A symbolic link is kept
 * and the file that it leads to replaced; what is not a regular file (a device, a FIFO) is written
 * to and never replaced.
 */
enum status file_write_atomic(const char *path, const void *bytes, size_t length, mode_t mode,
                              struct error *err);

/* INVALID where `path` is a database or a private key, which no output is meant to replace. */
enum status file_check_output(const char *path, struct error *err);

/* A file that appears under its name when it is whole; where files go as file_write_atomic() says.
 */
struct file_draft {
    FILE *stream; /* to write to */
    const char *path;
    char *target;    /* `path` without symbolic links, heap */
    char *temporary; /* next to `target`, heap; NULL: `path` is written to in place */
};

/*
 * `path` lives until the end. The file gets the permissions that the umask leaves, which is read by
 * setting it: no other thread may make files meanwhile. INVALID for a directory, an empty name, and
 * what file_check_output() refuses; NOT_FOUND when the directory, or what a symbolic link leads to,
 * is missing.
 */
enum status file_draft_begin(struct file_draft *ret, const char *path, struct error *err);

/* Keeps the file where `status` is OK, otherwise takes it away; returns how it ended. */
enum status file_draft_end(struct file_draft *draft, enum status status, struct error *err);

/* Writes all bytes or says why not; retries after EINTR. */
enum status file_write_all(int fd, const void *bytes, size_t length, struct error *err);

/*
 * Waits up to `wait_ns` (0: looks) for a descriptor to be readable (-1: waits in any case), at most
 * 24 days; rounded up to milliseconds. What a user who wants to stop makes readable is one.
 */
bool file_wait_readable(int fd, int64_t wait_ns);

/*
 * A nameless file in memory that cannot grow beyond `size` (less where the process may not write as
 * large a file), closed on exec; pages are taken as they are written. -1 and errno.
 */
int file_open_memory(const char *name, size_t size);

/* mkdir -p; an existing directory is fine. */
enum status file_make_directories(const char *path, mode_t mode, struct error *err);

/*
 * Path of `name` in assay's part of the user's cache, which may not be there yet: by
 * XDG_CACHE_HOME, else below HOME; one that is relative does not count (XDG Base Directory
 * Specification). Heap; NULL: neither names a folder, or there is no memory.
 */
char *file_in_cache(const char *name);

/* Behind the folders of a path. */
const char *file_base_name(const char *path);

/* `path` as a file at `origin` means it: from the folder that file lies in. Heap; NULL: no memory.
 */
char *file_beside(const char *origin, const char *path);

/*
 * The file that a program's name leads to, symbolic links resolved: a name with a slash as it is,
 * another by PATH. False when there is none.
 */
bool file_find_program(const char *name, char ret[PATH_MAX]);

#endif
