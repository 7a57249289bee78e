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
#include <stdint.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"

struct packages;

struct package {
    const char *manager; /* "dpkg", "rpm", "pacman", "apk" or "pip" */
    const char *name;    /* with the architecture, where it is known: "libc6:amd64" */
    const char *version; /* "2.36-9+deb12u10" */
    /* The file has another content than was installed: what same_stack.h calls SAME_STACK_ALTERED,
     * the name and the version; NULL: it has the same, or nobody recorded it. */
    const char *altered;
};

/* A file as it was found. */
struct packages_file {
    const char *path;             /* as the kernel names it */
    const struct digest *content; /* its SHA-256; NULL: not known, and nothing is compared */
    const char *readable;         /* where it can be read (/proc/self/fd/7); NULL: at its path */
    int64_t changed_ns;           /* of its inode; 0: not known */
};

/* An empty one where there is no package manager that is known. NO_MEMORY alone. */
enum status packages_open(struct packages **ret, struct error *err);
void packages_destroy(struct packages *packages); /* takes NULL */

/*
 * True when the file belongs to an installed package; strings last as long as `packages`. /lib and
 * /usr/lib are one folder on merged systems, whichever of the two the package names.
 *
 * Its content is compared with the digest that the manager recorded at installation: SHA-256 of
 * wheels and of rpm, MD5 of dpkg, SHA-1 of apk; pacman's are not read. For MD5 and SHA-1 the file
 * is read once more, once for each content; with dpkg only where its inode changed after the
 * package's list was written, which nobody can arrange but by setting the machine's date back.
 */
bool packages_find(struct packages *packages, const struct packages_file *file,
                   struct package *ret);

#endif
