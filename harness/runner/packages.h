/*
 * packages - which installed package a file belongs to, as the package managers' own databases
 * record it: dpkg's (/var/lib/dpkg/info/NAME.list and status, deb-control(5)), pacman's
 * (/var/lib/pacman/local/NAME-VERSION/desc and files), apk's (/lib/apk/db/installed), and rpm's,
 * which only rpm itself reads: it is run once, in a child process, where there is such a database.
 * And which wheel of an environment of Python (NAME-VERSION.dist-info/RECORD) next to the file.
 */
#ifndef ASSAY_RUNNER_PACKAGES_H
#define ASSAY_RUNNER_PACKAGES_H

#include <stdbool.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"

struct packages;

struct package {
    const char *manager; /* "dpkg", "rpm", "pacman", "apk" or "pip" */
    const char *name;    /* with the architecture, where it is known: "libc6:amd64" */
    const char *version; /* "2.36-9+deb12u10" */
};

/* An empty one where there is no package manager that is known. NO_MEMORY alone. */
enum status packages_open(struct packages **ret, struct error *err);
void packages_destroy(struct packages *packages); /* takes NULL */

/*
 * True when the file at `path` (as the kernel names it) belongs to an installed package; strings
 * last as long as `packages`. /lib and /usr/lib are one folder on merged systems, whichever of the
 * two the package names. `content` is the file's SHA-256, NULL: not known; a file of a wheel with
 * another one than the wheel records belongs to no package any more.
 */
bool packages_find(struct packages *packages, const char *path, const struct digest *content,
                   struct package *ret);

#endif
