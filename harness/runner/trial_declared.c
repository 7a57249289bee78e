#include "harness/runner/trial_declared.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/runner/named_worker.h"
#include "harness/runner/packages.h"
#include "harness/runner/processes.h"

/* ---- who holds the channel ---- */

static bool holds(pid_t pid, const char *pipe)
{
    char path[64], link[64];
    struct dirent *entry;
    bool found = false;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    folder = opendir(path);
    while (folder && !found && (entry = readdir(folder))) {
        const ssize_t length = readlinkat(dirfd(folder), entry->d_name, link, sizeof(link) - 1);

        link[length > 0 ? length : 0] = '\0';
        found = !strcmp(link, pipe);
    }
    if (folder)
        closedir(folder);
    return found;
}

enum status trial_declared_process(pid_t pid, int channel_fd, struct error *err)
{
    struct processes all;
    struct stat info;
    char pipe[64];
    enum status status = STATUS_OK;

    if (fstat(channel_fd, &info) < 0 || processes_look(false, &all, NULL) != STATUS_OK)
        return STATUS_OK; /* then nobody can tell */
    snprintf(pipe, sizeof(pipe), "pipe:[%" PRIuMAX "]", (uintmax_t)info.st_ino);
    for (size_t i = 0; i < all.count && status == STATUS_OK; i++)
        if (all.items[i].pid != pid && processes_descends(&all, &all.items[i], pid) &&
            holds(all.items[i].pid, pipe))
            status = error_set(
                err, STATUS_INVALID,
                "worker.process: %s, which the worker's program started, holds the channel, and "
                "the files that are recorded are not its own: a program that starts another one "
                "does so by exec, and one that forks closes descriptors 3 and 4 in its children",
                all.items[i].name);
    processes_finish(&all);
    return status;
}

/* ---- how a declared one ran ---- */

enum status trial_declared_device(const struct trial_request *request, const json_t *device,
                                  struct error *err)
{
    const char *planned = json_string_value(json_object_get(request->message, "device"));
    const char *backend = json_string_value(json_object_get(device, "backend"));
    char opened[96];

    if (!request->named || !planned || !backend)
        return STATUS_OK;
    snprintf(opened, sizeof(opened), "%.63s:%" JSON_INTEGER_FORMAT, backend,
             json_integer_value(json_object_get(device, "index")));
    if (!strcmp(opened, planned))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "worker.device: the plan says %s, and the worker opened %s", planned, opened);
}

static enum status check_facts(const struct trial_request *request, const json_t *facts,
                               struct error *err)
{
    const json_t *said = json_object_get(facts, "framework");
    const char *planned = json_string_value(json_object_get(request->message, "precision"));
    const char *precision = json_string_value(json_object_get(said, "precision"));
    const json_t *threads = json_object_get(said, "threads");

    if (!request->named || !request->named->program)
        return STATUS_OK; /* assay's own worker asks its libraries itself */
    if (planned && precision && strcmp(planned, precision) != 0)
        return error_set(err, STATUS_INVALID,
                         "worker.precision: the plan says %s, and the worker reports %s", planned,
                         precision);
    if (request->named->threads > 0 && json_is_integer(threads) &&
        json_integer_value(threads) != request->named->threads)
        return error_set(err, STATUS_INVALID,
                         "worker.threads: the plan says %" PRId64
                         ", and the worker reports %" JSON_INTEGER_FORMAT,
                         request->named->threads, json_integer_value(threads));
    return STATUS_OK;
}

static enum status check_files(const struct trial_request *request, const struct maps_list *list,
                               struct maps_cache *cache, struct error *err)
{
    const struct named_worker *named = request->named;
    struct packages *packages = named ? maps_cache_packages(cache) : NULL;
    char *folder = packages ? realpath(named->folder, NULL) : NULL;
    const size_t length = folder ? strlen(folder) : 0;
    enum status status = named ? named_worker_check_module(named, err) : STATUS_OK;

    for (size_t i = 0; folder && i < list->count && status == STATUS_OK; i++) {
        const struct maps_file *file = &list->files[i];
        const struct maps_content *content;
        struct package package;

        if (file->kind || strncmp(file->path, folder, length) != 0 || file->path[length] != '/')
            continue;
        if (maps_cache_content(cache, file, &content, NULL) == STATUS_OK &&
            packages_find(packages, file->path, &content->digest, &package))
            continue;
        status = error_set(err, STATUS_INVALID,
                           "worker.packages: %s is not as the package that brought it was "
                           "installed; `assay worker install %s@%s` puts it right",
                           file->path, named->from, named->version);
    }
    free(folder);
    return status;
}

enum status trial_declared_end(const struct trial_request *request,
                               const struct trial_record *record, struct error *err)
{
    const enum status status = check_facts(request, record->facts, err);

    return status == STATUS_OK ? check_files(request, &record->at_end, record->cache, err) : status;
}
