/*
 * cache - compiled kernels on disk, by the digest of everything that went into them.
 *
 * A kernel is two files: KEY.so, and KEY.txt with the digest of the first and the compiler's
 * messages. An object whose digest does not match is compiled again. A cache that cannot be used is
 * no error: kernels are then compiled in a scratch folder.
 */
#ifndef ASSAY_BACKENDS_CPU_CACHE_H
#define ASSAY_BACKENDS_CPU_CACHE_H

#include "harness/core/digest.h"
#include "harness/core/status.h"

struct cpu_cache {
    char *folder; /* NULL: there is none; then `reason` */
    char *reason; /* why there is no cache; NULL when there is one */
};

/*
 * $XDG_CACHE_HOME/assay/kcache or $HOME/.cache/assay/kcache. It must be this user's and writable by
 * no other user, since its content is executed. Fails only with NO_MEMORY.
 */
enum status cpu_cache_open(struct cpu_cache *ret, struct error *err);

/*
 * Path of a valid object and the messages kept with it, both heap. NOT_FOUND: there is none, or it
 * is damaged.
 */
enum status cpu_cache_find(const struct cpu_cache *cache, const struct digest *key,
                           char **ret_object, char **ret_log, struct error *err);

/*
 * Puts the object at `path` into the cache under `key`, atomically; its path there is put into
 * `ret_object` (heap).
 */
enum status cpu_cache_store(const struct cpu_cache *cache, const struct digest *key,
                            const char *path, const char *log, char **ret_object,
                            struct error *err);

/*
 * A new scratch folder of this user's alone, heap path: in the cache, so that what is compiled
 * there may be renamed into it, else in TMPDIR, /tmp or /var/tmp.
 */
enum status cpu_scratch_make(const struct cpu_cache *cache, char **ret, struct error *err);
/* Removes the folder and the files in it. Takes NULL; frees nothing. */
void cpu_scratch_remove(const char *folder);

#endif
