#include "harness/runner/campaign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "harness/runner/maps.h"
#include "harness/runner/tool.h"
#include "harness/runner/worker_process.h"
#include "results/evidence/ledger_witness.h"
#include "protocols/same_stack.h"
#include "results/store/lease.h"
#include "workloads/workload.h"

/* A cell's "trial" message out of its record (store_cell_type). */
static enum status cell_from_record(struct campaign *campaign, int64_t row, struct error *err)
{
    struct campaign_cell *cell = &campaign->cells[campaign->cell_count++];
    struct protocol protocol;
    json_auto_t *record = NULL;
    json_t *identity, *choices;
    const char *device, *scenario;

    TRY(store_cell_json(campaign->store, row, &record, err));

    identity = json_object_get(record, "identity");
    choices = json_object_get(record, "choices");
    cell->chosen = json_is_object(choices); /* at least that none could be made */
    cell->row = row;
    cell->ordinal = member_integer(record, "ordinal");
    device = member_text(record, "device_spec");
    scenario = member_text(identity, "scenario");
    cell->label = text_format("%s %s batch %lld %s on %s", member_text(identity, "workload"),
                              member_text(identity, "precision"), member_integer(identity, "batch"),
                              scenario, device);
    cell->message =
        json_pack("{s:O?, s:O?, s:I, s:s}", "workload", json_object_get(record, "workload"),
                  "protocol", json_object_get(record, "protocol"), "seed",
                  (json_int_t)strtoull(member_text(identity, "seed"), NULL, 10), "device", device);
    for (size_t i = 0; i < store_case_type.count; i++)
        json_object_set(cell->message, store_case_type.members[i].name,
                        json_object_get(identity, store_case_type.members[i].name));
    if (!cell->label || !cell->message)
        return error_no_memory(err);
    else if (json_object_get(choices, "workload"))
        json_object_set(cell->message, "choices", choices);
    TRY(protocol_from_json(json_object_get(record, "protocol"), &protocol, err));
    campaign_take_protocol(campaign, &protocol);
    protocol_finish(&protocol);
    return STATUS_OK;
}

/* SHA-256 of the program that is to measure, as the plan says; NULL: it says none. */
static const char *planned_worker(const json_t *record)
{
    return member_string(json_object_get(record, "plan"), "worker");
}

/* So is the worker, which may be another program than this. */
static enum status check_worker(const json_t *record, struct error *err)
{
    const char *planned = planned_worker(record);
    struct digest running;
    char hex[DIGEST_HEX_SIZE];
    enum status status = worker_process_program(NULL, &running, err);

    if (status != STATUS_OK || !planned || !strcmp(planned, digest_hex(&running, hex)))
        return status;
    return error_set(err, STATUS_INVALID,
                     "the plan names the worker %.12s... (SHA-256), and %.12s... would measure the "
                     "trials that are left: trials of two programs do not make one result; set "
                     "ASSAY_WORKER as it was, or measure again",
                     planned, hex);
}

/*
 * The program is a part of the measurement: one campaign's trials are one program's. What is only
 * to be estimated may be so by any, since an estimate has its version.
 */
static enum status check_tool(struct store *store, int64_t row, const json_t *record,
                              struct error *err)
{
    const char *version = member_string(record, "tool_version");
    const char *hex = member_string(record, "tool_digest");
    struct store_pending *pending = NULL;
    struct digest begun, running;
    size_t count = 0;
    enum status status = store_pending_trials(store, row, &pending, &count, err);

    free(pending);
    if (status != STATUS_OK || count == 0)
        return status;
    if (!version || !hex || !digest_from_hex(hex, &begun))
        return error_set(err, STATUS_CORRUPT, "the campaign does not say which program began it");
    status = tool_digest(&running, err);
    if (status == STATUS_OK && digest_equal(&begun, &running))
        return check_worker(record, err);
    TRY(status);
    return error_set(
        err, STATUS_INVALID,
        "the campaign was begun by assay %s, and this is %s%s: trials of two programs "
        "do not make one result; continue with the program that began it, or measure again",
        version, tool_version(), strcmp(version, tool_version()) ? "" : ", but another file");
}

/* Whether its plan's head was all that was recorded of it. */
static bool is_planned(const json_t *record)
{
    bool planned = false, started = false;

    EACH(event, json_object_get(record, "events")) {
        const char *name = member_string(event, "event");

        planned |= name && !strcmp(name, "planned");
        started |= name && (!strcmp(name, "started") || !strcmp(name, "resumed"));
    }
    return planned && !started;
}

/* Whether what a workload's trials read besides its declaration is there. */
static enum status check_ready(const json_t *message, struct error *err)
{
    CLEANUP(workload_finish) struct workload workload = {0};

    TRY(workload_from_json(json_object_get(message, "workload"), &workload, err));

    if (workload.kind->ready)
        TRY(workload.kind->ready(&workload, err));
    return STATUS_OK;
}

static enum status check_path(const char *path, struct error *err)
{
    if (access(path, F_OK) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_NOT_FOUND,
                     "%s, with which the campaign was planned, is not there any more; restore it, "
                     "or start a new campaign",
                     path);
}

/* The root, and the folders of the driver, that an arm was declared with. */
static enum status check_folders(const struct arm_spec *spec, struct error *err)
{
    static const char *const names[] = {"OCL_ICD_VENDORS=", "LD_LIBRARY_PATH=", "ASSAY_LIB_"};

    if (spec->root)
        TRY(check_path(spec->root, err));
    for (size_t i = 0; i < spec->change_count; i++) {
        const char *equals = strchr(spec->changes[i], '=');
        const char *colon = equals ? strrchr(equals, ':') : NULL; /* links are before it */
        const char *path = colon ? colon + 1 : equals ? equals + 1 : "";

        for (size_t k = spec->driver ? 0 : 2; k < 3 && path[0] == '/'; k++)
            if (!strncmp(spec->changes[i], names[k], strlen(names[k])))
                TRY(check_path(path, err));
    }
    return STATUS_OK;
}

/* A compiled kernel's folder may have been made for its trial alone. */
static bool had_own_folder(const char *path)
{
    AUTO_FREE char *folder = strndup(path, (size_t)(strrchr(path, '/') - path));

    return !folder || access(*folder ? folder : "/", F_OK) != 0;
}

/* Appends what a file of a trial is now; nothing where its content was or is not known. */
static enum status add_present(struct maps_cache *cache, const json_t *component, json_t *ret,
                               struct error *err)
{
    char name[SAME_STACK_NAME_SIZE], hex[DIGEST_HEX_SIZE];
    const char *path = member_string(component, "path");
    const struct maps_content *content;
    CLEANUP(maps_list_finish) struct maps_list list = {0};
    const json_t *value;

    if (!same_stack_name(component, name, &value) || !member_string(component, "sha256") ||
        !strncmp(name, "jit.", 4))
        return STATUS_OK;
    TRY(maps_list_add(&list, path, NULL, NULL, NULL, err));
    if (!list.files[0].present)
        return had_own_folder(path) ? STATUS_OK : check_path(path, err);
    if (maps_cache_content(cache, &list.files[0], &content, NULL) != STATUS_OK)
        return STATUS_OK;
    return json_array_append_new(ret, json_pack("{s:s, s:O*, s:s}", "path", path, "kind",
                                                json_object_get(component, "kind"), "sha256",
                                                digest_hex(&content->digest, hex))) == 0
               ? STATUS_OK
               : error_no_memory(err);
}

/* Whether the files that a cell's first trial ran on are the same still. */
static enum status check_files(const struct campaign *campaign, const struct campaign_cell *cell,
                               struct maps_cache *cache, struct error *err)
{
    json_auto_t *record = NULL, *now = json_pack("{s:[]}", "components");
    const json_t *first;

    TRY(store_cell_json(campaign->store, cell->row, &record, err));
    first = same_stack_first(json_object_get(record, "trials"));
    EACH(component, json_object_get(first, "components"))
        TRY(add_present(cache, component, json_object_get(now, "components"), err));
    return same_stack_check(first, now, err);
}

static enum status check_cell(const struct campaign *campaign, const struct campaign_cell *cell,
                              struct maps_cache *cache, struct error *err)
{
    enum status status;

    TRY(check_ready(cell->message, err));
    status = check_folders(&cell->spec, err);
    if (status == STATUS_OK)
        status = check_files(campaign, cell, cache, err);
    return status == STATUS_OK ? status : error_prefix(err, "%s", cell->label);
}

/* Of the cells that have trials left, which would otherwise fail one by one. */
static enum status check_pending(const struct campaign *campaign, struct error *err)
{
    AUTO_FREE struct store_pending *pending = NULL;
    size_t count = 0;
    CLEANUP(maps_cache_finish) struct maps_cache cache;

    maps_cache_init(&cache);
    TRY(store_pending_trials(campaign->store, campaign->row, &pending, &count, err));
    for (size_t i = 0; i < campaign->cell_count; i++) {
        const struct campaign_cell *cell = &campaign->cells[i];
        bool left = false;

        for (size_t k = 0; k < count && !left; k++)
            left = pending[k].cell == cell->row;
        if (left)
            TRY(check_cell(campaign, cell, &cache, err));
    }
    return STATUS_OK;
}

static enum status take_cells(struct campaign *campaign, const json_t *record, struct error *err)
{
    const json_t *cells = json_object_get(record, "cells");
    const json_t *all = member_in(record, "plan", "cells");

    campaign->cells = calloc(json_array_size(cells) + 1, sizeof(*campaign->cells));
    if (!campaign->cells)
        return error_no_memory(err);
    EACH(row, cells) {
        struct campaign_cell *cell = &campaign->cells[row_at];
        const json_t *planned = json_array_get(all, row_at);

        TRY(cell_from_record(campaign, member_integer(row, "cell"), err));
        if (member_is_true(planned, "emulate"))
            json_object_set_new(cell->message, "emulate", json_true());
        TRY(campaign_cell_take_spec(cell, json_object_get(planned, "spec"),
                                    json_object_get(planned, "worker"), err));
    }
    return check_pending(campaign, err);
}

enum status campaign_open(struct store *store, const char *id, struct campaign *ret,
                          struct error *err)
{
    struct campaign campaign = {.store = store};
    json_auto_t *record = NULL;
    const char *worker;
    enum status status;

    TRY(store_find_campaign(store, id, &campaign.row, err));
    TRY(store_campaign_json(store, campaign.row, &record, err));
    TRY(lease_check(json_object_get(record, "events"), id, err));
    TRY(lease_take(store_path(store), campaign.row, id, err));
    TRY(check_tool(store, campaign.row, record, err));
    TRY(store_close_orphans(store, campaign.row, err));
    snprintf(campaign.uid, sizeof(campaign.uid), "%s", member_text(record, "uid"));
    campaign.rounds.planned_utc_ns = member_integer(record, "created_utc_ns");
    worker = planned_worker(record);
    snprintf(campaign.worker, sizeof(campaign.worker), "%s", worker ? worker : "");
    campaign.planned = is_planned(record);
    campaign.resumed = !campaign.planned;
    status = take_cells(&campaign, record, err);
    if (status == STATUS_OK)
        *ret = campaign;
    else
        campaign_finish(&campaign);
    return status;
}

/* What is about to run must be what the head covers, which others may have signed. */
static enum status check_head(const struct campaign *campaign, struct error *err)
{
    struct ledger_checkpoint head;
    struct digest root;

    TRY(ledger_plan_checkpoint(campaign->store, campaign->row, &head, err));
    TRY(ledger_root(campaign->store, head.size, NULL, &root, err));
    if (!digest_equal(&root, &head.root))
        return error_set(err, STATUS_CORRUPT,
                         "%s: the log does not give the root of the plan's head; run `assay "
                         "verify %s` for details",
                         store_path(campaign->store), store_path_word(campaign->store));
    return STATUS_OK;
}

enum status campaign_open_planned(struct store *store, const char *id, struct campaign *ret,
                                  struct error *err)
{
    struct campaign campaign;
    enum status status = STATUS_OK;

    TRY(campaign_open(store, id, &campaign, err));
    if (!campaign.planned)
        status = error_set(err, STATUS_INVALID,
                           "campaign %.8s was started already; `assay run --resume %.8s --db %s` "
                           "goes on with it",
                           campaign.uid, campaign.uid, store_path_word(store));
    if (status == STATUS_OK)
        status = check_head(&campaign, err);
    for (size_t i = 0; i < campaign.cell_count && status == STATUS_OK; i++)
        status = plan_check_cell(store, campaign.cells[i].row, err);
    if (status == STATUS_OK)
        *ret = campaign;
    else
        campaign_finish(&campaign);
    return status;
}
