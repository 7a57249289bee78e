#include "harness/runner/packages_internal.h"

#include <stdlib.h>
#include <string.h>

static void *grow(struct packages *packages, void *items, size_t *capacity, size_t size)
{
    size_t wanted = *capacity ? *capacity * 2 : 1024;
    void *grown = realloc(items, wanted * size);

    if (!grown) {
        packages->failed = true;
        return items;
    }
    *capacity = wanted;
    return grown;
}

char *packages_keep(struct packages *packages, char *text)
{
    if (!text)
        return NULL;
    if (packages->text_count == packages->text_capacity)
        packages->texts =
            grow(packages, packages->texts, &packages->text_capacity, sizeof(*packages->texts));
    if (packages->failed) {
        free(text);
        return NULL;
    }
    packages->texts[packages->text_count++] = text;
    return text;
}

size_t packages_add_owner(struct packages *packages, const char *manager, const char *name,
                          const char *version)
{
    if (!name)
        return PACKAGES_NOBODY;
    if (packages->owner_count == packages->owner_capacity)
        packages->owners =
            grow(packages, packages->owners, &packages->owner_capacity, sizeof(*packages->owners));
    if (packages->failed)
        return PACKAGES_NOBODY;
    packages->owners[packages->owner_count] = (struct package){manager, name, version};
    return packages->owner_count++;
}

static const char *without_usr(const char *path)
{
    return strncmp(path, "/usr/", 5) ? path : path + 4;
}

/* Only what can be a component: libraries, programs, plug-ins, compilers, drivers, firmware. */
bool packages_is_of_interest(const char *path)
{
    static const char *const parts[] = {".so",   "/bin/", "/sbin/",      "/libexec/", "/gcc/",
                                        "/llvm", "pocl",  "/etc/OpenCL", ".ko",       "/firmware/"};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strstr(path, parts[i]))
            return true;
    return false;
}

void packages_add_file(struct packages *packages, size_t owner, const char *path)
{
    if (owner == PACKAGES_NOBODY || !path || path[0] != '/' || !packages_is_of_interest(path))
        return;
    if (packages->count == packages->capacity)
        packages->entries =
            grow(packages, packages->entries, &packages->capacity, sizeof(*packages->entries));
    if (!packages->failed)
        packages->entries[packages->count++] =
            (struct packages_entry){without_usr(path), owner, NULL};
}

void packages_take_file(struct packages *packages, size_t owner, char *path)
{
    if (path && packages_is_of_interest(path))
        packages_add_file(packages, owner, packages_keep(packages, path));
    else
        free(path);
    packages->failed = packages->failed || !path;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct packages_entry *)a)->path,
                  ((const struct packages_entry *)b)->path);
}

void packages_sort(struct packages *packages)
{
    if (packages->count > 0)
        qsort(packages->entries, packages->count, sizeof(*packages->entries), compare_entries);
}

enum status packages_open(struct packages **ret, struct error *err)
{
    struct packages *packages = calloc(1, sizeof(*packages));

    if (packages) {
        packages_read_dpkg(packages);
        packages_read_rpm(packages);
        packages_read_pacman(packages);
        packages_read_apk(packages);
        packages_sort(packages);
    }
    if (!packages || packages->failed) {
        packages_destroy(packages);
        return error_no_memory(err);
    }
    *ret = packages;
    return STATUS_OK;
}

void packages_destroy(struct packages *packages)
{
    if (!packages)
        return;
    for (size_t i = 0; i < packages->text_count; i++)
        free(packages->texts[i]);
    free(packages->texts);
    free(packages->entries);
    free(packages->owners);
    free(packages);
}

static const struct packages_entry *find_entry(const struct packages *packages, const char *path)
{
    struct packages_entry wanted = {.path = without_usr(path)};

    return packages->count ? bsearch(&wanted, packages->entries, packages->count,
                                     sizeof(*packages->entries), compare_entries)
                           : NULL;
}

/* Whether the content is what was recorded; true where there is no record of it. */
static bool is_unchanged(const struct packages_entry *entry, const struct digest *content)
{
    char text[DIGEST_BASE64URL_SIZE];

    return !entry->sha256 || !content || !strcmp(entry->sha256, digest_base64url(content, text));
}

bool packages_find(struct packages *packages, const char *path, const struct digest *content,
                   struct package *ret)
{
    const struct packages_entry *entry = find_entry(packages, path);

    if (!entry) {
        packages_read_wheels(packages, path);
        entry = find_entry(packages, path);
    }
    if (!entry || !packages->owners[entry->owner].version || !is_unchanged(entry, content))
        return false;
    *ret = packages->owners[entry->owner];
    return true;
}
