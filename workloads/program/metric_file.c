/* The file that a program writes its number to, and whether the latest run has written it. */
#include <fcntl.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "workloads/program/program.h"

#define FILE_MAX ((size_t)64 << 20)
#define SECOND_NS 1000000000L

void program_metric_file_mark(const struct program_section *section, struct stat *ret_before)
{
    AUTO_FREE char *path = program_path(section, section->metric.file);
    struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {0}};

    *ret_before = (struct stat){0};
    if (!path || stat(path, ret_before) != 0 || !S_ISREG(ret_before->st_mode))
        return;
    times[1] = ret_before->st_mtim;
    times[1].tv_sec -= times[1].tv_nsec == 0;
    times[1].tv_nsec = (times[1].tv_nsec + SECOND_NS - 1) % SECOND_NS;
    if (utimensat(AT_FDCWD, path, times, 0) != 0 || stat(path, ret_before) != 0)
        return; /* it is somebody else's: what is known of it has to do */
}

static bool is_unchanged(const struct stat *before, const struct stat *now)
{
    return before->st_ino == now->st_ino && before->st_dev == now->st_dev &&
           before->st_size == now->st_size && before->st_mtim.tv_sec == now->st_mtim.tv_sec &&
           before->st_mtim.tv_nsec == now->st_mtim.tv_nsec;
}

enum status program_metric_file_read(const struct program_section *section,
                                     const struct stat *before, char **ret, size_t *ret_length,
                                     struct error *err)
{
    AUTO_FREE char *path = program_path(section, section->metric.file);
    struct stat now;

    if (!path)
        return error_no_memory(err);
    if (stat(path, &now) == 0 && (S_ISFIFO(now.st_mode) || S_ISCHR(now.st_mode)))
        return error_set(err, STATUS_INVALID,
                         "it is a pipe or a device, which keeps nothing; have the program write a "
                         "file, or read the number `from: stdout`");
    if (before->st_ino != 0 && stat(path, &now) == 0 && is_unchanged(before, &now))
        return error_set(err, STATUS_INVALID,
                         "the run has not written it: what is there is from before");
    return file_read(path, FILE_MAX, ret, ret_length, err);
}
