#include "harness/core/noted_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

char *noted_file_path(const struct digest *digest)
{
    char hex[DIGEST_HEX_SIZE];
    AUTO_FREE char *name = text_format("files/%s", digest_hex(digest, hex));

    return name ? file_in_cache(name) : NULL;
}

void noted_file_note(const struct digest *digest, const char *path)
{
    AUTO_FREE char *noted = noted_file_path(digest), *full = realpath(path, NULL);
    AUTO_FREE char *folder = file_in_cache("files");
    AUTO_FREE char *draft = noted ? text_format("%s.%ld", noted, (long)getpid()) : NULL;

    if (!draft || !full || !folder || file_make_directories(folder, 0700, NULL) != STATUS_OK)
        return;
    /* Where it cannot be noted, the trial that looks for it says so. */
    if (symlink(full, draft) < 0 || rename(draft, noted) < 0)
        unlink(draft);
}

enum status noted_file_find(const struct digest *digest, const char *what, char **ret,
                            struct error *err)
{
    char hex[DIGEST_HEX_SIZE];
    AUTO_FREE char *noted = noted_file_path(digest), *path = noted ? realpath(noted, NULL) : NULL;
    struct digest found;

    if (!path)
        return error_set(err, STATUS_NOT_FOUND, "%s, the file of SHA-256 %s, is not known here: %s",
                         what, digest_hex(digest, hex),
                         noted ? "`assay describe` of its declaration, beside which it lies, makes "
                                 "it known"
                               : "set XDG_CACHE_HOME or HOME");
    TRY(digest_file(path, &found, NULL, err));
    if (!digest_equal(digest, &found))
        return error_set(err, STATUS_INVALID,
                         "%s was changed since the campaign was planned: %s has no longer the "
                         "SHA-256 %s",
                         what, path, digest_hex(digest, hex));
    *ret = path;
    path = NULL;
    return STATUS_OK;
}
