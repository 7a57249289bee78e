/*
 * machine_root - where /proc, /sys and /etc are read: this machine, or a recorded one.
 *
 * Tests replay recorded machines: ASSAY_HOST_ROOT names a folder that holds their files under the
 * same paths. It is an environment variable that the store records, so a result that was taken with
 * it says so.
 */
#ifndef ASSAY_CORE_MACHINE_ROOT_H
#define ASSAY_CORE_MACHINE_ROOT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/core/status.h"

/* The folder in front of every path, "" for this machine. */
const char *machine_root(void);

/* `path` (absolute) on the machine that is read; false when it is too long. */
bool machine_path(char ret[PATH_MAX], const char *path);

/* True where there is a file or folder `path` on it. */
bool machine_has(const char *path);

/* file_read and file_read_line there; messages name the path without the root. */
enum status machine_read(const char *path, size_t max, char **ret, struct error *err);
enum status machine_read_line(const char *path, char **ret, struct error *err);

/*
 * Names in a folder that begin with `prefix`, numbers in them sorted by value (cpu2, cpu10); heap
 * array of heap strings, ended by NULL. Empty when there is no such folder. NULL: out of memory.
 */
char **machine_list(const char *folder, const char *prefix);
void machine_list_free(char **names); /* takes NULL */

#endif
