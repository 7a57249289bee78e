#include "harness/runner/driver_path.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/digest.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

/* Of a process that measures there is one of these, whichever folder has a copy. */
static const char *const loaders[] = {"libOpenCL.so.1", "libcuda.so.1"};
/* Each version has all that is in the older ones, so the newest serves everybody; in this order. */
static const char *const runtimes[] = {"libstdc++.so.6", "libgcc_s.so.1"};

struct pins {
    const char *folder; /* of the driver */
    struct text list;   /* "NAME\tFILE\n" of each that stays the machine's */
};

static bool is_in(const char *folder, const char *name, char ret[PATH_MAX])
{
    char *path = text_format("%s/%s", folder, name);
    const bool found = path && realpath(path, ret);

    free(path);
    return found;
}

static void pin(struct pins *pins, const char *name, const char *file)
{
    text_append_format(&pins->list, "%s\t%s\n", name, file);
}

/* The machine's file of that name, as the loader of programs finds it; false: there is none. */
static bool find_machines(const char *name, char ret[PATH_MAX])
{
    void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    struct link_map *map = NULL;
    const bool found =
        handle && !dlinfo(handle, RTLD_DI_LINKMAP, &map) && realpath(map->l_name, ret);

    if (handle)
        dlclose(handle);
    return found;
}

static void pin_named(struct pins *pins, const char *const *names, size_t count, bool newest)
{
    char theirs[PATH_MAX], machines[PATH_MAX];

    for (size_t i = 0; i < count; i++) {
        if (!is_in(pins->folder, names[i], theirs) || !find_machines(names[i], machines))
            continue;
        if (newest && strverscmp(strrchr(theirs, '/'), strrchr(machines, '/')) > 0)
            return; /* and what goes with it */
        pin(pins, names[i], machines);
    }
}

/* One that this process runs on, as the worker will. */
static int pin_mapped(struct dl_phdr_info *info, size_t size, void *data)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    char theirs[PATH_MAX], machines[PATH_MAX];
    struct pins *pins = data;

    (void)size;
    for (size_t i = 0; slash && i < 2; i++)
        if (!strcmp(slash + 1, runtimes[i]) || !strcmp(slash + 1, loaders[i]))
            return 0;
    if (slash && is_in(pins->folder, slash + 1, theirs) && realpath(info->dlpi_name, machines))
        pin(pins, slash + 1, machines);
    return 0;
}

/* Where links of this list are, by its digest; heap. NULL: nowhere, or no memory. */
static char *folder_of(const struct text *list)
{
    const struct digest digest = digest_bytes(list->data, list->length);
    char hex[DIGEST_HEX_SIZE];
    AUTO_FREE char *name = text_format("machine/%.16s", digest_hex(&digest, hex));

    return name ? file_in_cache(name) : NULL;
}

static enum status link_one(const char *folder, const char *line, size_t length, struct error *err)
{
    const size_t name = strcspn(line, "\t");
    AUTO_FREE char *link = text_format("%s/%.*s", folder, (int)name, line);
    AUTO_FREE char *file = strndup(line + name + 1, length - name - 1);

    if (!link || !file)
        return error_no_memory(err);
    else if (symlink(file, link) != 0 && errno != EEXIST)
        return error_set_errno(err, errno, "%s", link);
    return STATUS_OK;
}

static enum status make_links(const char *folder, const struct text *list, struct error *err)
{
    enum status status = file_make_directories(folder, 0700, err);

    for (const char *line = list->data; status == STATUS_OK && *line;) {
        const size_t length = strcspn(line, "\n");

        status = link_one(folder, line, length, err);
        line += length + 1;
    }
    return status;
}

enum status driver_path(const char *folder, char **ret, struct error *err)
{
    struct pins pins = {.folder = folder};
    AUTO_FREE char *links = NULL;
    enum status status = STATUS_OK;

    text_init(&pins.list);
    pin_named(&pins, loaders, sizeof(loaders) / sizeof(loaders[0]), false);
    pin_named(&pins, runtimes, sizeof(runtimes) / sizeof(runtimes[0]), true);
    dl_iterate_phdr(pin_mapped, &pins);
    if (text_ok(&pins.list) && pins.list.length > 0)
        links = folder_of(&pins.list);
    if (links)
        status = make_links(links, &pins.list, err);
    if (status == STATUS_OK && !text_ok(&pins.list))
        status = error_no_memory(err);
    else if (status == STATUS_OK && pins.list.length > 0 && !links)
        status =
            error_set(err, STATUS_UNAVAILABLE,
                      "%s has libraries of its own in place of this machine's, and there is no "
                      "folder for links to the latter: set XDG_CACHE_HOME or HOME",
                      folder);
    text_finish(&pins.list);
    TRY(status);
    *ret = text_format("%s%s%s", links ? links : "", links ? ":" : "", folder);
    return *ret ? STATUS_OK : error_no_memory(err);
}
