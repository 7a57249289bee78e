/*
 * maps - which files a process has mapped to execute, and what those files are.
 *
 * Reading the list is quick and is done while the worker waits; hashing is done later, off the
 * timed path, with a cache by device, inode, size and times, so that a library is read once a
 * campaign.
 */
#ifndef ASSAY_RUNNER_MAPS_H
#define ASSAY_RUNNER_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "harness/core/elf.h"

/* What distinguishes one state of a file from another. */
struct maps_identity {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns;
};

struct maps_file {
    char *path;   /* as seen from here, also when the process has another root; heap */
    bool present; /* false: the path no longer leads to the mapped file */
    struct maps_identity identity;
    /* Of files that were added by maps_list_add; else NULL. */
    const char *kind; /* "compiler", "icd", "driver", "firmware", "server", "model", "input" */
    char *version, *build_id; /* heap; NULL: unknown */
    bool held;                /* by maps_list_hold: */
    int fd;                   /* the file itself, whatever becomes of its path */
};

struct maps_list {
    struct maps_file *files; /* sorted by path, each once */
    size_t count;
};

/*
 * Executable file mappings of process `pid`. UNAVAILABLE when /proc does not show it, DENIED when
 * we may not read it.
 */
enum status maps_read(pid_t pid, struct maps_list *ret, struct error *err);

/* The parser by itself: `text` is the content of a /proc/PID/maps (need not end in a newline). */
enum status maps_parse(const char *text, struct maps_list *ret, struct error *err);
void maps_list_finish(struct maps_list *list);

/*
 * Adds a file that is not mapped, as it is now (absent or no plain file: `present` false). Nothing
 * when the list has the path. Copies its texts, which but for path and kind may be NULL; `kind` is
 * static.
 */
enum status maps_list_add(struct maps_list *list, const char *path, const char *kind,
                          const char *version, const char *build_id, struct error *err);

struct packages;
struct stack_files;

/* Adds each of them, as it is now. */
enum status maps_list_add_stack(struct maps_list *list, const struct stack_files *files,
                                struct error *err);

/* A file's content, by its identity. */
struct maps_content {
    struct maps_identity identity;
    struct digest digest;
    char build_id[ELF_BUILD_ID_SIZE]; /* "" when it has none */
};

struct maps_cache {
    struct maps_content **items; /* each on the heap: they stay where they are */
    size_t count;
    struct packages *packages; /* read when first asked for (maps_cache_packages); NULL before */
    struct stack_files *host;  /* likewise (maps_cache_host) */
};

void maps_cache_init(struct maps_cache *cache);
void maps_cache_finish(struct maps_cache *cache);

/*
 * Opens each file that the cache does not know yet, so that it can be hashed later even when
 * another file has replaced it by then. What cannot be opened stays as it is.
 */
void maps_list_hold(struct maps_list *list, const struct maps_cache *cache);

struct package;
/* packages_find of a file with this content. False without memory for the packages, too. */
bool maps_find_package(struct maps_cache *cache, const struct maps_file *file,
                       const struct digest *content, struct package *ret);

/* What stack_files_add_host finds, looked for once; NULL when there is no memory for it. */
const struct stack_files *maps_cache_host(struct maps_cache *cache);

/*
 * Content of the file, from the cache or by reading it. CORRUPT: the file at the path is no longer
 * the one that was mapped; else what opening or reading says. `*ret` lives as long
 * as the cache.
 */
enum status maps_cache_content(struct maps_cache *cache, const struct maps_file *file,
                               const struct maps_content **ret, struct error *err);

#endif
