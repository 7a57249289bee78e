#include "reports/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "reports/view_json.h"
#include "reports/load_timeline.h"
#include "results/analysis/serving_log.h"
#include "results/evidence/ledger.h"
#include "results/store/lease.h"
#include "results/store/stored.h"

static const struct estimate_trial *find_in_estimate(const struct estimate *estimate,
                                                     int64_t sequence)
{
    for (size_t i = 0; estimate && i < estimate->trial_count; ++i)
        if (estimate->trials[i].sequence == sequence)
            return &estimate->trials[i];
    return NULL;
}

static bool read_trials(json_t *trials, enum view_depth depth, struct view_cell *ret)
{
    size_t count = json_array_size(trials);
    bool same_planned = false, planned_ok = false, planned_ended = false;

    ret->trials = calloc(count + 1, sizeof(*ret->trials));
    if (!ret->trials)
        return false;
    for (size_t i = 0; i < count; ++i) {
        struct view_trial *trial = &ret->trials[i], *last = i ? trial - 1 : NULL;

        ++ret->trial_count;
        if (!view_trial_read(json_array_get(trials, i), depth, trial))
            return false;
        same_planned = last && trial->sequence.known && last->sequence.known &&
                       trial->sequence.value == last->sequence.value;
        trial->number = !last ? 1 : last->number + !same_planned;
        planned_ok = same_planned && planned_ok;
        planned_ended = same_planned && planned_ended;
        if (trial->status && !planned_ended) {
            planned_ended = true;
            ++ret->ended_count;
        }
        if (trial->ok && !planned_ok) {
            planned_ok = true;
            ++ret->ok_count;
        }
        if (trial->ok && trial->sequence.known)
            trial->estimate = find_in_estimate(ret->estimate, trial->sequence.value);
    }
    return true;
}

/* ---- what of the record is read as it is ---- */

#define STORED_STRUCT struct view_cell
static const struct member identity_members[] = {STORED_READ(STORED_IDENTITY)};
static const struct member cost_members[] = {STORED_READ(STORED_COST)};
static const struct member cell_members[] = {STORED_READ(STORED_CELL)};
#undef STORED_STRUCT
static const struct type identity_type = TYPE_OF_MEMBERS(identity_members),
                         cost_type = TYPE_OF_MEMBERS(cost_members),
                         cell_type = TYPE_OF_MEMBERS(cell_members);

#define STORED_STRUCT struct view_device
static const struct member device_members[] = {STORED_READ(STORED_DEVICE)};
#undef STORED_STRUCT
static const struct type device_type = TYPE_OF_MEMBERS(device_members);

#define STORED_STRUCT struct view_imported
static const struct member origin_members[] = {STORED_READ(STORED_ORIGIN)};
#undef STORED_STRUCT
static const struct type origin_type = TYPE_OF_MEMBERS(origin_members);

#define STORED_STRUCT struct view_campaign
static const struct member campaign_members[] = {STORED_READ(STORED_CAMPAIGN)};
#undef STORED_STRUCT
static const struct type campaign_type = TYPE_OF_MEMBERS(campaign_members);

static void read_identity(const json_t *root, struct view_cell *ret)
{
    type_read(&cell_type, root, ret);
    type_read(&identity_type, json_object_get(root, "identity"), ret);
    type_read(&cost_type, json_object_get(root, "cost"), ret);
    ret->amendments = json_object_get(root, "amendments");
    /* The server of an endpoint forms its batches itself: the declared 1 is none of them. */
    ret->batch.known = ret->batch.known && !(ret->kind && !strcmp(ret->kind, "endpoint"));
}

static void read_declarations(const json_t *root, struct view_cell *ret)
{
    ret->workload_json = json_object_get(root, "workload");
    ret->protocol_json = json_object_get(root, "protocol");
    ret->workload_version = view_json_count(ret->workload_json, "version");
    ret->protocol_version = view_json_count(ret->protocol_json, "version");
    ret->workload_description = member_string(ret->workload_json, "description");
    ret->protocol_description = member_string(ret->protocol_json, "description");
    ret->evidence = !json_is_false(json_object_get(ret->protocol_json, "evidence"));
}

static void read_device(const json_t *root, struct view_cell *ret)
{
    const json_t *device = json_object_get(root, "device");

    ret->device = (struct view_device){.present = json_is_object(device)};
    type_read(&device_type, device, &ret->device);
    view_json_readings(device, "readings", &ret->device.readings);
}

/* Claims of another program are shown in place of the device's readings, marked as such. */
static void read_imported(const json_t *root, struct view_cell *ret)
{
    const json_t *imported = json_object_get(root, "imported");
    const json_t *claim = json_object_get(imported, "claim");

    if (!json_is_object(imported))
        return;
    ret->imported = (struct view_imported){.present = true};
    type_read(&origin_type, json_object_get(imported, "origin"), &ret->imported);
    ret->imported.measured = member_string(claim, "measured");
    ret->device.name = member_string(claim, "device");
    reading_list_finish(&ret->device.readings);
    view_json_readings(imported, "readings", &ret->device.readings);
}

/* The estimate, or what an imported file claims: both have "metrics" and "headline". */
static bool read_estimate(const json_t *root, struct view_cell *ret)
{
    const json_t *json = json_object_get(root, "estimate");

    if (ret->imported.present)
        json = member_in(root, "imported", "claim");
    return !json_is_object(json) || estimate_from_json(json, &ret->estimate, NULL) == STATUS_OK;
}

enum status view_cell_from_json(json_t *root, enum view_depth depth, struct view_cell *ret,
                                struct error *err)
{
    struct view_cell cell = {.root = root};
    struct view_count id = view_json_count(root, "cell");

    if (!json_is_object(root)) {
        json_decref(root);
        return error_set(err, STATUS_CORRUPT, "report: a stored result is no JSON object");
    }
    cell.id = id.known ? id.value : -1;
    snprintf(cell.result, sizeof(cell.result), "%.79s", member_text(root, "id"));
    read_identity(root, &cell);
    read_declarations(root, &cell);
    read_device(root, &cell);
    read_imported(root, &cell);
    if (!read_estimate(root, &cell) ||
        !view_origin_read(json_object_get(root, "trials"), &cell.origin) ||
        !read_trials(json_object_get(root, "trials"), depth, &cell)) {
        view_cell_finish(&cell);
        return error_no_memory(err);
    }
    view_set_variant(&cell);
    *ret = cell;
    return STATUS_OK;
}

/* A log that cannot be read leaves none: `verify` says what is wrong with it. */
static void add_load_timeline(struct store *store, struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count && !cell->load_timeline; ++i) {
        struct serving_log log = {0};

        if (!cell->trials[i].ok ||
            serving_log_load(store, cell->trials[i].id, &log, NULL) != STATUS_OK) {
            serving_log_finish(&log);
            continue;
        }
        cell->load_timeline = calloc(1, sizeof(*cell->load_timeline));
        if (cell->load_timeline) {
            load_timeline_make(log.requests, log.count, COURSE_PARTS, cell->load_timeline);
            cell->load_timeline->trial = cell->trials[i].number;
        }
        serving_log_finish(&log);
    }
}

static enum status view_cell_load(struct store *store, int64_t cell, enum view_depth depth,
                                  struct view_cell *ret, struct error *err)
{
    json_t *root = NULL;

    TRY(store_cell_json(store, cell, &root, err));
    TRY(view_cell_from_json(root, depth, ret, err));
    if (depth == VIEW_FULL && ret->estimate && ret->estimate->serving)
        add_load_timeline(store, ret);
    return STATUS_OK;
}

char *view_amendment_words(const json_t *amendment)
{
    const char *created = member_string(amendment, "created");
    const char *author = member_string(amendment, "author");
    const char *reason = member_string(amendment, "reason");

    if (!created || strlen(created) < 16)
        return text_format("amended by %s: %s", author ? author : "(withheld)",
                           reason ? reason : "(withheld)");
    return text_format("amended %.10s %.5s UTC by %s: %s", created, created + 11,
                       author ? author : "(withheld)", reason ? reason : "(withheld)");
}

void view_cell_finish(struct view_cell *cell)
{
    if (!cell)
        return;
    for (size_t i = 0; i < cell->trial_count; ++i)
        view_trial_finish(&cell->trials[i]);
    free(cell->trials);
    estimate_destroy(cell->estimate);
    free(cell->load_timeline);
    view_origin_finish(&cell->origin);
    reading_list_finish(&cell->device.readings);
    json_decref(cell->root);
    *cell = (struct view_cell){0};
}

static enum view_run run_of(struct store *store, int64_t id, const char *state,
                            const json_t *events)
{
    if (state && (!strcmp(state, "finished") || !strcmp(state, "imported")))
        return VIEW_RUN_OVER;
    if (state && !strcmp(state, "planned"))
        return VIEW_RUN_PLANNED;
    return lease_is_held(store_path(store), id, events) ? VIEW_RUN_RUNNING : VIEW_RUN_STOPPED;
}

/* Archiving is not a part of a campaign's run. */
static void note_event(struct view_campaign *campaign, const struct view_event *event)
{
    if (!event->event)
        return;
    if (!strcmp(event->event, "archived"))
        campaign->archived = event->detail ? event->detail : "";
    else if (!strcmp(event->event, "restored"))
        campaign->archived = NULL;
    else
        campaign->state = event->event;
}

static enum status load_campaign(struct store *store, int64_t id, struct view_campaign *ret,
                                 struct error *err)
{
    const json_t *events, *plan;
    json_t *root = NULL;

    TRY(store_campaign_json(store, id, &root, err));
    plan = json_object_get(root, "plan");
    json_object_set(root, "nonce", json_object_get(plan, "nonce"));
    json_object_set(root, "question", json_object_get(plan, "question"));
    /* Long, and a table does not need them. */
    json_object_del(root, "plan");
    json_object_del(root, "order");
    json_object_del(root, "cells");
    *ret = (struct view_campaign){
        .id = id,
        .order_seed = member_string(root, "order_seed"),
        .question = member_string(root, "question"),
        .nonce = member_string(root, "nonce"),
        .root = root,
    };
    type_read(&campaign_type, root, ret);
    TRY(contention_of_campaign(store, id, &ret->contention, err));
    events = json_object_get(root, "events");
    ret->events = calloc(json_array_size(events) + 1, sizeof(*ret->events));
    if (!ret->events)
        return error_no_memory(err);
    for (size_t i = 0; i < json_array_size(events); ++i) {
        const json_t *row = json_array_get(events, i);

        ret->events[ret->event_count++] =
            (struct view_event){member_string(row, "event"), member_string(row, "detail"),
                                view_json_count(row, "utc_ns")};
        note_event(ret, &ret->events[ret->event_count - 1]);
    }
    ret->run = run_of(store, id, ret->state, events);
    return STATUS_OK;
}

/* Sets the cell's index of its campaign, loading the campaign when it is new. */
static enum status attach_campaign(struct store *store, struct view *view, struct view_cell *cell,
                                   struct error *err)
{
    struct view_count id = view_json_count(json_object_get(cell->root, "campaign"), "id");
    enum status status;

    if (!id.known)
        return error_set(err, STATUS_CORRUPT, "report: result %s names no campaign", cell->result);
    for (size_t i = 0; i < view->campaign_count; ++i)
        if (view->campaigns[i].id == id.value) {
            cell->campaign = i;
            return STATUS_OK;
        }
    cell->campaign = view->campaign_count;
    status = load_campaign(store, id.value, &view->campaigns[view->campaign_count], err);
    view->campaign_count += status == STATUS_OK || view->campaigns[view->campaign_count].root;
    return status;
}

/* Leaves of a cell what a summary has, from its JSON. */
static enum status cut_down(struct view_cell *cell, struct error *err)
{
    struct view_cell summary = {0};

    TRY(view_cell_from_json(json_incref(cell->root), VIEW_SUMMARY, &summary, err));
    summary.campaign = cell->campaign;
    summary.run = cell->run;
    summary.same_plan_here = cell->same_plan_here;
    summary.same_plan_told = cell->same_plan_told;
    summary.database = cell->database;
    view_cell_finish(cell);
    *cell = summary;
    return STATUS_OK;
}

static enum status load_one(struct store *store, int64_t id, enum view_depth depth,
                            const json_t *same_plans, struct view *view, struct error *err)
{
    struct view_cell *cell = &view->cells[view->cell_count];
    const json_t *same;

    TRY(view_cell_load(store, id, depth, cell, err));
    ++view->cell_count;
    TRY(attach_campaign(store, view, cell, err));
    cell->run = view->campaigns[cell->campaign].run;
    same = ledger_same_plan(same_plans, view->campaigns[cell->campaign].id);
    cell->same_plan_here = member_integer(same, "here");
    cell->same_plan_told = member_integer(same, "told");
    cell->database = store_path_word(store);
    return STATUS_OK;
}

static enum status load_all(struct store *store, const int64_t *cells, size_t count,
                            enum view_depth depth, view_cell_fn *each, void *context,
                            struct view *ret, struct error *err)
{
    CLEANUP(view_finish)
    struct view view = {.cells = calloc(count + 1, sizeof(*view.cells)),
                        .campaigns = calloc(count + 1, sizeof(*view.campaigns))};
    json_auto_t *same_plans = NULL;

    if (!view.cells || !view.campaigns)
        return error_no_memory(err);
    TRY(ledger_same_plans(store, &same_plans, err));
    for (size_t i = 0; i < count; ++i) {
        TRY(load_one(store, cells[i], depth, same_plans, &view, err));
        if (!each)
            continue;
        TRY(each(context, &view, &view.cells[i], err));
        TRY(cut_down(&view.cells[i], err));
    }
    *ret = view;
    view = (struct view){0};
    return STATUS_OK;
}

enum status view_load(struct store *store, const int64_t *cells, size_t count,
                      enum view_depth depth, struct view *ret, struct error *err)
{
    return load_all(store, cells, count, depth, NULL, NULL, ret, err);
}

enum status view_load_each(struct store *store, const int64_t *cells, size_t count,
                           view_cell_fn *each, void *context, struct view *ret, struct error *err)
{
    return load_all(store, cells, count, VIEW_FULL, each, context, ret, err);
}

void view_finish(struct view *view)
{
    if (!view)
        return;
    for (size_t i = 0; i < view->cell_count; ++i)
        view_cell_finish(&view->cells[i]);
    for (size_t i = 0; i < view->campaign_count; ++i) {
        free(view->campaigns[i].events);
        json_decref(view->campaigns[i].root);
    }
    free(view->cells);
    free(view->campaigns);
    *view = (struct view){0};
}
