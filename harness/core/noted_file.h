/*
 * noted_file - files that a declaration names, found by their digest. They are looked at where the
 * declaration is read from a file, and noted, by a link, in the folder assay/files of the cache
 * (XDG_CACHE_HOME, else ~/.cache), where trials and later campaigns of the stored declaration find
 * them: a record has the digest, and no path of this machine.
 */
#ifndef ASSAY_CORE_NOTED_FILE_H
#define ASSAY_CORE_NOTED_FILE_H

#include "harness/core/digest.h"
#include "harness/core/status.h"

/* Where it was noted, heap; NULL: there is no cache. */
char *noted_file_path(const struct digest *digest);

/* Where it cannot be noted, the trial that looks for it says so. */
void noted_file_note(const struct digest *digest, const char *path);

/*
 * Where it is, checked, without symbolic links; heap. `what` names it in errors. NOT_FOUND: it was
 * not noted here; INVALID: what is there is another file by now.
 */
enum status noted_file_find(const struct digest *digest, const char *what, char **ret,
                            struct error *err);

#endif
