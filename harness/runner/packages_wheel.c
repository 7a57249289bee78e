/*
 * Wheels of Python: each has a folder NAME-VERSION.dist-info in site-packages, whose RECORD lists
 * the installed files, relative to site-packages, with their digests ("Recording installed
 * projects", packaging.python.org; first PEP 376). They lie wherever an environment was made, so
 * they are looked for above the file in question.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/core/machine_root.h"
#include "harness/core/text.h"
#include "harness/runner/packages_internal.h"

#define RECORD_MAX ((size_t)16 << 20)
#define METHOD "sha256="

/* `folder` "/a/b/c" and `relative` "../x/y.so" as "/a/b/x/y.so"; heap, NULL: none, or no memory. */
static char *join(const char *folder, const char *relative)
{
    size_t length = strlen(folder);

    for (; !strncmp(relative, "../", 3); relative += 3) {
        while (length > 0 && folder[length - 1] != '/')
            length--;
        length -= length > 0;
    }
    return length > 0 && relative[0] != '/' ? text_format("%.*s/%s", (int)length, folder, relative)
                                            : NULL;
}

/* A line of RECORD: PATH,sha256=DIGEST,SIZE; a path with a comma is quoted. */
static void read_line(struct packages *packages, size_t owner, const char *site, char *line)
{
    char *size = strrchr(line, ','), *digest, *path;

    if (!size)
        return;
    *size = '\0';
    digest = strrchr(line, ',');
    if (!digest)
        return;
    *digest++ = '\0';
    if (line[0] == '"' && digest - line >= 3 && digest[-2] == '"') {
        line++;
        digest[-2] = '\0';
    }
    path = join(site, line);
    if (path && packages_is_of_interest(path)) {
        packages_add_file(packages, owner, packages_keep(packages, path));
        if (packages->count > 0 && !strncmp(digest, METHOD, strlen(METHOD)))
            packages->entries[packages->count - 1].sha256 = digest + strlen(METHOD);
    } else {
        free(path);
    }
}

static void read_record(struct packages *packages, const char *site, const char *info)
{
    const size_t length = strlen(info) - strlen(".dist-info");
    const char *dash = memchr(info, '-', length);
    char *path = text_format("%s/%s/RECORD", site, info), *text = NULL, *name, *version, *next;
    size_t owner;

    if (!dash || !path || machine_read(path, RECORD_MAX, &text, NULL) != STATUS_OK) {
        free(path);
        return;
    }
    free(path);
    text = packages_keep(packages, text);
    name = packages_keep(packages, strndup(info, (size_t)(dash - info)));
    version = packages_keep(packages, strndup(dash + 1, length - (size_t)(dash + 1 - info)));
    for (char *c = name; c && *c; c++)
        *c = *c == '_' ? '-' : *c;
    owner = packages_add_owner(packages, "pip", name, version);
    for (char *line = text; line && !packages->failed; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        read_line(packages, owner, site, line);
    }
}

static bool was_read(const struct packages *packages, const char *site)
{
    for (size_t i = 0; i < packages->site_count; i++)
        if (!strcmp(packages->sites[i], site))
            return true;
    return false;
}

/* Takes `site`, a heap path. */
static void read_site(struct packages *packages, char *site)
{
    static const char suffix[] = ".dist-info";
    char **names;

    if (!site || was_read(packages, site) || packages->site_count == PACKAGES_SITES_MAX) {
        free(site);
        return;
    }
    site = packages_keep(packages, site);
    names = site ? machine_list(site, "") : NULL;
    for (size_t i = 0; names && names[i] && !packages->failed; i++) {
        const size_t length = strlen(names[i]);

        if (length > strlen(suffix) && !strcmp(names[i] + length - strlen(suffix), suffix))
            read_record(packages, site, names[i]);
    }
    if (site)
        packages->sites[packages->site_count++] = site;
    machine_list_free(names);
}

void packages_read_wheels(struct packages *packages, const char *path)
{
    const size_t before = packages->count;
    char *folder = strdup(path), *slash;

    while (folder && (slash = strrchr(folder, '/')) && slash != folder) {
        char *lib, **versions;

        *slash = '\0';
        slash = strrchr(folder, '/');
        if (!strcmp(slash, "/site-packages") || !strcmp(slash, "/dist-packages"))
            read_site(packages, strdup(folder));
        lib = text_format("%s/lib", folder);
        versions = lib ? machine_list(lib, "python3") : NULL;
        for (size_t i = 0; versions && versions[i]; i++)
            read_site(packages, text_format("%s/%s/site-packages", lib, versions[i]));
        machine_list_free(versions);
        free(lib);
    }
    free(folder);
    if (packages->count > before)
        packages_sort(packages);
}
