/* packages_internal - the index of files and packages, and who fills it. */
#ifndef ASSAY_RUNNER_PACKAGES_INTERNAL_H
#define ASSAY_RUNNER_PACKAGES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/runner/packages.h"

#define PACKAGES_NOBODY ((size_t)-1)

struct packages_entry {
    const char *path;   /* into a kept text, without "/usr" in front */
    size_t owner;       /* in `owners` */
    const char *sha256; /* of its content, in base64url without padding; NULL: not recorded */
};

#define PACKAGES_SITES_MAX 64

struct packages {
    struct packages_entry *entries; /* sorted by path once all are there */
    size_t count, capacity;
    struct package *owners; /* one without a version is not installed */
    size_t owner_count, owner_capacity;
    char **texts; /* what the strings point into */
    size_t text_count, text_capacity;
    const char *sites[PACKAGES_SITES_MAX]; /* folders of wheels that were read */
    size_t site_count;
    bool failed; /* no memory */
};

/* Keeps a heap text until the end and gives it back; NULL: there is none, or no memory. */
char *packages_keep(struct packages *packages, char *text);

/* Adds a package; the strings are kept ones. Its number, or PACKAGES_NOBODY without memory. */
size_t packages_add_owner(struct packages *packages, const char *manager, const char *name,
                          const char *version);

/* Adds a file of the owner, if it is one that could be a component. `path` is kept. */
void packages_add_file(struct packages *packages, size_t owner, const char *path);

/* Whether such a path could be of a library, program, compiler, driver or firmware. */
bool packages_is_of_interest(const char *path);

/* Sorts what was added for packages_find. */
void packages_sort(struct packages *packages);

/* The same of a heap path, which it takes. */
void packages_take_file(struct packages *packages, size_t owner, char *path);

/* The managers. Each adds nothing where its database is not there. */
void packages_read_dpkg(struct packages *packages);
void packages_read_rpm(struct packages *packages);
void packages_read_pacman(struct packages *packages);
void packages_read_apk(struct packages *packages);

/* Adds the wheels of the environments of Python that the file could be of, each once. */
void packages_read_wheels(struct packages *packages, const char *path);

#endif
