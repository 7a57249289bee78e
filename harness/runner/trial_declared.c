#include "harness/runner/trial_declared.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/runner/named_worker.h"
#include "harness/runner/packages.h"

/* ---- who worked ---- */

static int64_t used_ms(const struct processes *start, const struct process_use *now)
{
    const struct process_use *then = processes_find(start, now->pid);

    return now->cpu_ms - (then && then->started_ticks == now->started_ticks ? then->cpu_ms : 0);
}

/* Of the processor time between the snapshots, whose was most. */
static enum status judge_work(const struct processes *start, const struct processes *end, pid_t pid,
                              struct error *err)
{
    const int64_t span_ms = (end->at_ns - start->at_ns) / 1000000;
    const struct process_use *most = NULL;
    int64_t own_ms = 0, others_ms = 0, most_ms = 0;

    for (size_t i = 0; i < end->count; i++) {
        const struct process_use *use = &end->items[i];
        const int64_t ms = used_ms(start, use);

        if (use->pid == pid)
            own_ms = ms;
        else if (processes_descends(end, use, pid)) {
            others_ms += ms;
            most = ms > most_ms ? use : most;
            most_ms = ms > most_ms ? ms : most_ms;
        }
    }
    if (!most || others_ms <= own_ms || others_ms <= span_ms / 20)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "worker.process: processes that the worker's program started, %s most of all, "
                     "used %" PRId64 " ms of processor time in the window, and the program itself "
                     "%" PRId64 " ms: the work is theirs, and the files that are recorded are not",
                     most->name, others_ms, own_ms);
}

enum status trial_declared_process(struct processes *start, pid_t pid, struct error *err)
{
    struct processes now;
    enum status status;

    if (processes_look(start->items != NULL, &now, NULL) != STATUS_OK)
        return STATUS_OK; /* then nobody can tell */
    if (!start->items) {
        *start = now;
        return STATUS_OK;
    }
    status = judge_work(start, &now, pid, err);
    processes_finish(&now);
    return status;
}

/* ---- how a declared one ran ---- */

enum status trial_declared_device(const struct trial_request *request, const json_t *device,
                                  struct error *err)
{
    const char *planned = member_string(request->message, "device");
    const char *backend = member_string(device, "backend");
    char opened[96];

    if (!request->named || !planned || !backend)
        return STATUS_OK;
    snprintf(opened, sizeof(opened), "%.63s:%" JSON_INTEGER_FORMAT, backend,
             member_integer(device, "index"));
    if (!strcmp(opened, planned))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "worker.device: the plan says %s, and the worker opened %s", planned, opened);
}

static enum status check_facts(const struct trial_request *request, const json_t *facts,
                               struct error *err)
{
    const json_t *said = json_object_get(facts, "framework");
    const char *planned = member_string(request->message, "precision");
    const char *precision = member_string(said, "precision");
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
    AUTO_FREE char *folder = named ? realpath(named->folder, NULL) : NULL;
    const size_t length = folder ? strlen(folder) : 0;

    TRY(named ? named_worker_check_files(named, err) : STATUS_OK);
    for (size_t i = 0; folder && i < list->count; i++) {
        const struct maps_file *file = &list->files[i];
        const struct maps_content *content;
        struct package package;

        if (file->kind || strncmp(file->path, folder, length) != 0 || file->path[length] != '/')
            continue;
        if (maps_cache_content(cache, file, &content, NULL) == STATUS_OK &&
            maps_find_package(cache, file, &content->digest, &package) && !package.altered)
            continue;
        return error_set(err, STATUS_INVALID,
                         "worker.packages: %s is not as the package that brought it was "
                         "installed; `assay worker install %s@%s` puts it right",
                         file->path, named->from, named->version);
    }
    return STATUS_OK;
}

enum status trial_declared_end(const struct trial_request *request,
                               const struct trial_record *record, struct error *err)
{
    TRY(check_facts(request, record->facts, err));
    return check_files(request, &record->at_end.list, record->cache, err);
}
