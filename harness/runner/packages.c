#include "harness/runner/packages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/machine_root.h"
#include "harness/core/text.h"

#define FOLDER "/var/lib/dpkg/info"
#define STATUS_FILE "/var/lib/dpkg/status"
#define LIST_MAX ((size_t)16 << 20)
#define STATUS_MAX ((size_t)64 << 20)

struct entry {
    const char *path;    /* into a list's text, without "/usr" in front */
    const char *package; /* into `names` */
};

struct version {
    const char *package, *version; /* into the status file's text */
    const char *architecture;
};

struct packages {
    struct entry *entries; /* sorted by path */
    size_t count, capacity;
    char **texts; /* what the strings point into */
    size_t text_count, text_capacity;
    struct version *versions; /* sorted by package */
    size_t version_count, version_capacity;
    bool failed;
};

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

/* Keeps a heap text until the end; NULL: failed. */
static char *keep(struct packages *packages, char *text)
{
    if (packages->text_count == packages->text_capacity)
        packages->texts =
            grow(packages, packages->texts, &packages->text_capacity, sizeof(*packages->texts));
    if (!text || packages->failed) {
        free(text);
        packages->failed = true;
        return NULL;
    }
    packages->texts[packages->text_count++] = text;
    return text;
}

static const char *without_usr(const char *path)
{
    return strncmp(path, "/usr/", 5) ? path : path + 4;
}

/* Only what can be a component: libraries, programs, plug-ins, compilers, drivers, firmware. */
static bool is_of_interest(const char *path)
{
    static const char *const parts[] = {".so",  "/bin/", "/sbin/",      "/libexec/", "/gcc/",
                                        "/llvm", "pocl",  "/etc/OpenCL", ".ko",       "/firmware/"};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strstr(path, parts[i]))
            return true;
    return false;
}

/* "libc6:amd64.list": every file of a package, a line each. */
static void read_list(struct packages *packages, const char *file)
{
    char path[PATH_MAX], *text = NULL, *name, *rest = NULL;
    size_t length = strlen(file);

    if (length <= 5 || strcmp(file + length - 5, ".list") ||
        snprintf(path, sizeof(path), FOLDER "/%s", file) >= (int)sizeof(path) ||
        machine_read(path, LIST_MAX, &text, NULL) != STATUS_OK)
        return;
    name = keep(packages, strndup(file, length - 5));
    text = keep(packages, text);
    for (char *line = name && text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (!is_of_interest(line))
            continue;
        if (packages->count == packages->capacity)
            packages->entries =
                grow(packages, packages->entries, &packages->capacity, sizeof(*packages->entries));
        if (packages->failed)
            return;
        packages->entries[packages->count++] = (struct entry){without_usr(line), name};
    }
}

static char *field(char *line, const char *key)
{
    size_t length = strlen(key);

    return strncmp(line, key, length) ? NULL : line + length;
}

/* Stanzas of "Field: value", an empty line between them. */
static void read_versions(struct packages *packages)
{
    struct version version = {0};
    char *text = NULL, *next;

    if (machine_read(STATUS_FILE, STATUS_MAX, &text, NULL) != STATUS_OK)
        return;
    text = keep(packages, text);
    for (char *line = text; line; line = next) {
        char *end = strchr(line, '\n');

        next = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        if (field(line, "Package: "))
            version.package = field(line, "Package: ");
        else if (field(line, "Version: "))
            version.version = field(line, "Version: ");
        else if (field(line, "Architecture: "))
            version.architecture = field(line, "Architecture: ");
        if (line[0] && next)
            continue;
        if (packages->version_count == packages->version_capacity)
            packages->versions = grow(packages, packages->versions, &packages->version_capacity,
                                      sizeof(*packages->versions));
        if (packages->failed)
            return;
        if (version.package && version.version && version.architecture)
            packages->versions[packages->version_count++] = version;
        memset(&version, 0, sizeof(version));
    }
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

enum status packages_open(struct packages **ret, struct error *err)
{
    struct packages *packages = calloc(1, sizeof(*packages));
    char **files = machine_list(FOLDER, "");

    if (packages && files) {
        for (size_t i = 0; files[i] && !packages->failed; i++)
            read_list(packages, files[i]);
        if (packages->count > 0)
            read_versions(packages);
        if (packages->count > 0)
            qsort(packages->entries, packages->count, sizeof(*packages->entries), compare_entries);
    }
    machine_list_free(files);
    if (!packages || !files || packages->failed) {
        packages_destroy(packages);
        return error_set(err, STATUS_NO_MEMORY, "no memory for the list of packages");
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
    free(packages->versions);
    free(packages);
}

/* "libc6:amd64" is libc6 of amd64; "tzdata" is whichever there is. */
static bool is_version_of(const struct version *version, const char *package)
{
    size_t length = strcspn(package, ":");

    return strlen(version->package) == length && !strncmp(version->package, package, length) &&
           (!package[length] || !strcmp(version->architecture, package + length + 1));
}

bool packages_find(const struct packages *packages, const char *path, struct package *ret)
{
    struct entry wanted = {.path = without_usr(path)};
    const struct entry *entry = packages->count
                                    ? bsearch(&wanted, packages->entries, packages->count,
                                              sizeof(*packages->entries), compare_entries)
                                    : NULL;

    for (size_t i = 0; entry && i < packages->version_count; i++) {
        if (!is_version_of(&packages->versions[i], entry->package))
            continue;
        *ret = (struct package){"dpkg", entry->package, packages->versions[i].version};
        return true;
    }
    return false;
}
