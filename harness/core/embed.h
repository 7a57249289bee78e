/*
 * embed - files compiled into the binary, so that one executable carries what it needs.
 *
 * embed.cmake gives the CMake function:
 *     assay_embed(TARGET assay_protocols SYMBOL protocol_declared FILES declared/quick.yaml ...)
 * It adds a generated source to the target that defines, in the order of FILES,
 *     const struct embed_file protocol_declared[];
 *     const size_t protocol_declared_count;
 * which the room declares itself with `extern` where it uses them. The source is generated anew
 * when a file changes.
 */
#ifndef ASSAY_CORE_EMBED_H
#define ASSAY_CORE_EMBED_H

#include <stddef.h>
#include <string.h>

struct embed_file {
    const char *name; /* with extension: "quick.yaml"; with FOLDERS the last folder, too */
    const char *text; /* the file's bytes and a NUL */
    size_t length;    /* without the NUL */
};

/* The one of this name; NULL: there is none. */
static inline const struct embed_file *embed_find(const struct embed_file *files, size_t count,
                                                  const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(files[i].name, name))
            return &files[i];
    return NULL;
}

#endif
