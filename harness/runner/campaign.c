#include "harness/runner/campaign.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"
#include "harness/core/log.h"
#include "harness/core/random.h"
#include "harness/core/text.h"
#include "harness/runner/campaign_doctor.h"
#include "harness/runner/environment.h"
#include "harness/runner/lease.h"
#include "harness/runner/maps.h"
#include "harness/runner/progress.h"
#include "harness/runner/tool.h"
#include "harness/runner/trial.h"
#include "harness/runner/tuner.h"
#include "harness/runner/worker_process.h"
#include "results/analysis.h"
#include "results/ledger.h"

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no memory for the campaign");
}

/* ---- from a plan ---- */

static void describe_cell(const struct plan *plan, size_t index, struct store_cell *ret)
{
    const struct plan_cell *cell = &plan->cells[index];
    const struct workload *workload = cell->work.workload;
    const struct workload_cost *cost = &cell->cost;

    *ret = (struct store_cell){
        .ordinal = (int64_t)index + 1,
        .workload = workload->digest,
        .protocol = plan->protocol.digest,
        .workload_name = workload->name,
        .protocol_name = plan->protocol.name,
        .kind = workload->kind->name,
        .precision = precision_name(cell->work.precision),
        .scenario = scenario_name(cell->work.scenario),
        .arm = arm_name(cell->work.arm),
        .batch = cell->work.batch,
        .seed = cell->work.seed,
        .backend = cell->backend,
        .device_index = cell->device_index,
        .device_spec = cell->device_spec,
        .flops = cost->flops,
        .bytes = cost->bytes,
        .items = cost->items,
        .device_memory_bytes = cost->device_memory_bytes,
        .working_set_bytes = cost->working_set_bytes,
        .flops_formula = cost->flops_formula,
        .bytes_formula = cost->bytes_formula,
        .item_name = cost->item_name,
        .headline = cost->headline,
        .trials = plan->protocol.trials,
    };
}

static enum status put_declarations(struct store *store, const struct plan *plan, struct error *err)
{
    struct store_declaration protocol = {"protocol", plan->protocol.name, plan->protocol.version,
                                         "", plan->protocol.json};
    struct digest digest;
    enum status status = store_put_declaration(store, &protocol, &digest, err);

    for (size_t i = 0; i < plan->workload_count && status == STATUS_OK; i++) {
        const struct workload *workload = plan->workloads[i];
        struct store_declaration declaration = {"workload", workload->name, workload->version,
                                                workload->origin, workload->json};

        status = store_put_declaration(store, &declaration, &digest, err);
    }
    return status;
}

static enum status record_plan(struct campaign *campaign, const struct plan *plan,
                               const char *command, int64_t *rows, struct error *err)
{
    struct store_cell *cells = calloc(plan->cell_count, sizeof(*cells));
    struct store_campaign record = {.created_utc_ns = clock_utc_ns(),
                                    .plan = plan->json,
                                    .protocol = plan->protocol.digest,
                                    .order_seed = plan->order_seed,
                                    .command = command,
                                    .tool_version = tool_version()};
    enum status status = cells ? tool_digest(&record.tool_digest, err) : no_memory(err);

    memcpy(record.uid, campaign->uid, sizeof(record.uid));
    for (size_t i = 0; cells && i < plan->cell_count; i++)
        describe_cell(plan, i, &cells[i]);
    if (status == STATUS_OK)
        status = put_declarations(campaign->store, plan, err);
    if (status == STATUS_OK)
        status = store_add_campaign(campaign->store, &record, cells, plan->cell_count, plan->order,
                                    plan->order_count, &campaign->row, rows, err);
    free(cells);
    return status;
}

/* Records what is chosen for a cell's trials, and hands it to them. */
static enum status take_choices(struct store *store, struct campaign_cell *cell, json_t *choices,
                                struct error *err)
{
    enum status status = store_add_choice(store, cell->row, choices, err);

    if (status == STATUS_OK && json_object_set(cell->message, "choices", choices) < 0)
        status = no_memory(err);
    return status;
}

enum status campaign_create(struct store *store, const struct plan *plan, const char *command,
                            struct campaign *ret, struct error *err)
{
    struct campaign campaign = {.store = store,
                                .silence_ns = plan->protocol.trial_timeout_ns,
                                .cooldown_ns = plan->protocol.throttle_cooldown_ns,
                                .doctor_refuses = plan->protocol.doctor_refuses,
                                .doctor_jitter_ns = plan->protocol.doctor_jitter_ns,
                                .telemetry_ns = plan->protocol.telemetry_ns};
    int64_t *rows = calloc(plan->cell_count, sizeof(*rows));
    enum status status = STATUS_OK;

    campaign.cells = calloc(plan->cell_count, sizeof(*campaign.cells));
    if (!rows || !campaign.cells)
        status = no_memory(err);
    random_identifier(campaign.uid);
    if (status == STATUS_OK)
        status = record_plan(&campaign, plan, command, rows, err);
    for (size_t i = 0; i < plan->cell_count && status == STATUS_OK; i++) {
        struct campaign_cell *cell = &campaign.cells[campaign.cell_count++];
        char *label = plan_cell_label(&plan->cells[i]);

        cell->row = rows[i];
        cell->ordinal = (int64_t)i + 1;
        cell->label = label ? text_format("%s on %s", label, plan->cells[i].device_spec) : NULL;
        cell->message = plan_trial_json(plan, &plan->cells[i]);
        if (cell->message && plan->cells[i].choices)
            status = take_choices(store, cell, plan->cells[i].choices, err);
        free(label);
        if (status == STATUS_OK && (!cell->label || !cell->message))
            status = no_memory(err);
        if (status == STATUS_OK && plan->cells[i].spec)
            status = arm_spec_from_json(plan->cells[i].spec, &cell->spec, err);
    }
    free(rows);
    if (status != STATUS_OK) {
        campaign_finish(&campaign);
        return status;
    }
    *ret = campaign;
    return STATUS_OK;
}

/* ---- from the store ---- */

/* A cell's "trial" message out of its record (the keys of store_cell_json, results/README.md). */
static enum status cell_from_record(struct campaign *campaign, int64_t row, struct error *err)
{
    struct campaign_cell *cell = &campaign->cells[campaign->cell_count++];
    struct protocol protocol;
    json_t *record, *identity;
    const char *name = "", *precision = "", *device = "", *seed = "0";
    json_int_t batch = 1;
    enum status status = store_cell_json(campaign->store, row, &record, err);

    if (status != STATUS_OK)
        return status;
    identity = json_object_get(record, "identity");
    cell->row = row;
    cell->ordinal = json_integer_value(json_object_get(record, "ordinal"));
    json_unpack(identity, "{s:s, s:s, s:I, s:s}", "workload", &name, "precision", &precision,
                "batch", &batch, "seed", &seed);
    json_unpack(record, "{s:s}", "device_spec", &device);
    cell->label = text_format("%s %s batch %lld on %s", name, precision, (long long)batch, device);
    cell->message = json_pack("{s:O?, s:O?, s:s, s:I, s:O?, s:O?, s:I, s:s}", "workload",
                              json_object_get(record, "workload"), "protocol",
                              json_object_get(record, "protocol"), "precision", precision, "batch",
                              batch, "scenario", json_object_get(identity, "scenario"), "arm",
                              json_object_get(identity, "arm"), "seed",
                              (json_int_t)strtoull(seed, NULL, 10), "device", device);
    if (!cell->label || !cell->message)
        status = no_memory(err);
    else if (json_is_object(json_object_get(record, "choices")))
        json_object_set(cell->message, "choices", json_object_get(record, "choices"));
    if (status == STATUS_OK)
        status = protocol_from_json(json_object_get(record, "protocol"), &protocol, err);
    if (status == STATUS_OK) {
        campaign->silence_ns = protocol.trial_timeout_ns;
        campaign->cooldown_ns = protocol.throttle_cooldown_ns;
        campaign->telemetry_ns = protocol.telemetry_ns;
        campaign->doctor_refuses = protocol.doctor_refuses;
        campaign->doctor_jitter_ns = protocol.doctor_jitter_ns;
        protocol_finish(&protocol);
    }
    json_decref(record);
    return status;
}

enum status campaign_open(struct store *store, const char *id, struct campaign *ret,
                          struct error *err)
{
    struct campaign campaign = {.store = store, .resumed = true};
    json_t *record = NULL, *cells, *cell;
    const json_t *planned;
    size_t i;
    const char *uid;
    enum status status = store_find_campaign(store, id, &campaign.row, err);

    if (status == STATUS_OK)
        status = store_campaign_json(store, campaign.row, &record, err);
    if (status == STATUS_OK)
        status = lease_check(json_object_get(record, "events"), id, err);
    if (status == STATUS_OK)
        status = store_close_orphans(store, campaign.row, err);
    if (status != STATUS_OK) {
        json_decref(record);
        return status;
    }
    uid = json_string_value(json_object_get(record, "uid"));
    snprintf(campaign.uid, sizeof(campaign.uid), "%s", uid ? uid : "");
    cells = json_object_get(record, "cells");
    planned = json_object_get(json_object_get(record, "plan"), "cells");
    campaign.cells = calloc(json_array_size(cells) + 1, sizeof(*campaign.cells));
    if (!campaign.cells)
        status = no_memory(err);
    json_array_foreach(cells, i, cell)
    {
        const json_t *spec = json_object_get(json_array_get(planned, i), "spec");
        const json_t *emulate = json_object_get(json_array_get(planned, i), "emulate");

        if (status == STATUS_OK)
            status =
                cell_from_record(&campaign, json_integer_value(json_object_get(cell, "cell")), err);
        if (status == STATUS_OK && json_is_true(emulate))
            json_object_set_new(campaign.cells[i].message, "emulate", json_true());
        if (status == STATUS_OK && json_is_object(spec))
            status = arm_spec_from_json(spec, &campaign.cells[i].spec, err);
    }
    json_decref(record);
    if (status != STATUS_OK) {
        campaign_finish(&campaign);
        return status;
    }
    *ret = campaign;
    return STATUS_OK;
}

void campaign_finish(struct campaign *campaign)
{
    if (!campaign)
        return;
    for (size_t i = 0; i < campaign->cell_count; i++) {
        free(campaign->cells[i].label);
        json_decref(campaign->cells[i].message);
        json_decref(campaign->cells[i].environment);
        arm_spec_finish(&campaign->cells[i].spec);
    }
    free(campaign->cells);
    memset(campaign, 0, sizeof(*campaign));
}

/* ---- choosing ---- */

static bool has_choices(const struct campaign_cell *cell)
{
    const json_t *workload = json_object_get(cell->message, "workload");
    const char *name = json_string_value(json_object_get(workload, "kind"));
    const struct workload_kind *kind = name ? workload_kind_find(name) : NULL;

    return kind && kind->choices && !worker_process_is_foreign();
}

/* The same work on the same device: the messages are equal, choices aside. */
static bool same_work(const struct campaign_cell *a, const struct campaign_cell *b)
{
    const char *key;
    json_t *value;

    json_object_foreach(a->message, key, value)
    {
        if (strcmp(key, "choices") && !json_equal(value, json_object_get(b->message, key)))
            return false;
    }
    return true;
}

/* Made for this work before, by another cell of the campaign; borrowed. */
static json_t *find_choices(const struct campaign *campaign, const struct campaign_cell *cell)
{
    for (size_t i = 0; i < campaign->cell_count; i++) {
        json_t *choices = json_object_get(campaign->cells[i].message, "choices");

        if (choices && same_work(&campaign->cells[i], cell))
            return choices;
    }
    return NULL;
}

/*
 * Sees to it that the cell's trials are handed one choice. A worker that cannot choose is no error
 * here: its trials will fail for the same reason, and record it.
 */
static enum status choose(struct campaign *campaign, struct campaign_cell *cell, int wake_fd,
                          struct error *err)
{
    const struct tuner_request request = {.message = cell->message,
                                          .environment_changes = cell->spec.changes,
                                          .root = cell->spec.root,
                                          .silence_ns = campaign->silence_ns,
                                          .wake_fd = wake_fd};
    struct error reason = ERROR_INIT;
    json_t *choices;
    enum status status;

    if (cell->chosen)
        return STATUS_OK;
    if (json_object_get(cell->message, "choices") || !has_choices(cell)) {
        cell->chosen = true;
        return STATUS_OK;
    }
    choices = json_incref(find_choices(campaign, cell));
    status = choices ? STATUS_OK : tuner_run(&request, &choices, &reason);
    if (status == STATUS_INTERRUPTED)
        return STATUS_OK;
    cell->chosen = true;
    if (status != STATUS_OK) {
        log_debug("%s: nothing chosen beforehand: %s", cell->label, reason.message);
        return STATUS_OK;
    }
    status = take_choices(campaign->store, cell, choices, err);
    json_decref(choices);
    return status;
}

/* ---- running ---- */

static struct campaign_cell *find_cell(const struct campaign *campaign, int64_t row)
{
    for (size_t i = 0; i < campaign->cell_count; i++)
        if (campaign->cells[i].row == row)
            return &campaign->cells[i];
    return NULL;
}

/* True when the user wants to stop; waits up to `wait_ns`. */
static bool asked_to_stop(int wake_fd, int64_t wait_ns)
{
    struct pollfd fd = {wake_fd, POLLIN, 0};

    return poll(&fd, wake_fd >= 0 ? 1 : 0, (int)(wait_ns / 1000000)) > 0;
}

/* What a vendor tells of a device is kept once, with the first trial that runs on it now. */
static bool is_first_of_device(const struct campaign *campaign, const struct store_pending *pending,
                               size_t at, const struct campaign_cell *cell)
{
    const json_t *device = json_object_get(cell->message, "device");

    for (size_t i = 0; i < at; i++) {
        const struct campaign_cell *other = find_cell(campaign, pending[i].cell);

        if (other && json_equal(json_object_get(other->message, "device"), device))
            return false;
    }
    return true;
}

static enum status run_pending(struct campaign *campaign, const struct campaign_options *options,
                               struct trial_request *request, struct campaign_summary *summary,
                               struct error *err)
{
    struct store_pending *pending = NULL;
    size_t count = 0;
    enum status status =
        store_pending_trials(campaign->store, campaign->row, &pending, &count, err);

    for (size_t i = 0; i < count && status == STATUS_OK && !summary->interrupted; i++) {
        struct campaign_cell *cell = find_cell(campaign, pending[i].cell);
        struct trial_outcome outcome = {0};
        char *note = NULL;

        if (asked_to_stop(options->wake_fd, i > 0 ? campaign->cooldown_ns : 0)) {
            summary->interrupted = true;
            break;
        }
        if (!cell) {
            status = error_set(err, STATUS_CORRUPT, "planned trial %lld has no cell",
                               (long long)pending[i].sequence);
            break;
        }
        progress_set(request->progress, cell->label);
        status = choose(campaign, cell, options->wake_fd, err);
        summary->interrupted = asked_to_stop(options->wake_fd, 0);
        if (status != STATUS_OK || summary->interrupted)
            break;
        request->sequence = pending[i].sequence;
        request->message = cell->message;
        request->environment = cell->environment;
        request->environment_changes = cell->spec.changes;
        request->root = cell->spec.root;
        request->dump = is_first_of_device(campaign, pending, i, cell);
        status = trial_run(request, &outcome, err);
        if (status != STATUS_OK)
            break;
        summary->done++;
        if (outcome.status == STATUS_OK)
            summary->ok++;
        else if (outcome.status == STATUS_INTERRUPTED)
            summary->interrupted = true;
        else if (outcome.status == STATUS_UNSUPPORTED)
            summary->unsupported++;
        else
            summary->failed++;
        if (outcome.status == STATUS_UNSUPPORTED && !cell->refused)
            note = text_format("%s: unsupported: %s", cell->label, outcome.error.message);
        else if (outcome.status != STATUS_OK && outcome.status != STATUS_UNSUPPORTED)
            note =
                text_format("%s: trial %lld: %s: %s", cell->label, (long long)pending[i].sequence,
                            status_name(outcome.status), outcome.error.message);
        cell->refused |= outcome.status == STATUS_UNSUPPORTED;
        progress_advance(request->progress, note);
        free(note);
    }
    free(pending);
    return status;
}

static enum status estimate_cells(struct campaign *campaign, struct error *err)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < campaign->cell_count && status == STATUS_OK; i++) {
        struct error analysis_error = ERROR_INIT;
        json_t *estimate = NULL;

        status = analysis_estimate_cell(campaign->store, campaign->cells[i].row, &estimate,
                                        &analysis_error);
        if (status == STATUS_NOT_FOUND) {
            status = STATUS_OK; /* no trial of it is ok: there is nothing to estimate */
            continue;
        }
        if (status == STATUS_OK)
            status = store_add_estimate(campaign->store, campaign->cells[i].row, ESTIMATE_VERSION,
                                        estimate, &analysis_error);
        if (status != STATUS_OK && err)
            *err = analysis_error;
        json_decref(estimate);
    }
    return status;
}

static size_t pending_count(struct campaign *campaign)
{
    struct store_pending *pending = NULL;
    size_t count = 0;

    if (store_pending_trials(campaign->store, campaign->row, &pending, &count, NULL) != STATUS_OK)
        return 0;
    free(pending);
    return count;
}

enum status campaign_run(struct campaign *campaign, const struct campaign_options *options,
                         struct campaign_summary *ret, struct error *err)
{
    struct campaign_summary summary = {.planned = pending_count(campaign)};
    struct progress progress;
    struct maps_cache cache;
    json_t *environment = NULL;
    char holder[LEASE_SIZE];
    struct trial_request request = {.store = campaign->store,
                                    .campaign = campaign->row,
                                    .silence_ns = campaign->silence_ns,
                                    .telemetry_ns = campaign->telemetry_ns,
                                    .cache = &cache,
                                    .progress = &progress,
                                    .wake_fd = options->wake_fd};
    enum status status = environment_read_fixed(&environment, err);

    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < campaign->cell_count; i++) {
        json_decref(campaign->cells[i].environment);
        campaign->cells[i].environment =
            arm_spec_environment(&campaign->cells[i].spec, environment);
        if (!campaign->cells[i].environment) {
            json_decref(environment);
            return no_memory(err);
        }
    }
    maps_cache_init(&cache);
    progress_init(&progress, summary.planned, options->quiet);
    lease_describe(holder);
    status = store_add_campaign_event(campaign->store, campaign->row,
                                      campaign->resumed ? "resumed" : "started", holder, err);
    if (status == STATUS_OK)
        status = ledger_add_checkpoint(campaign->store, campaign->resumed ? "resume" : "plan",
                                       campaign->row, options->key, NULL, err);
    if (status == STATUS_OK)
        status = campaign_examine(campaign, options, err);
    if (status == STATUS_OK)
        status = run_pending(campaign, options, &request, &summary, err);
    progress_finish(&progress);
    maps_cache_finish(&cache);
    json_decref(environment);
    if (status == STATUS_OK && !summary.interrupted)
        status = estimate_cells(campaign, err);
    if (status == STATUS_OK)
        status =
            store_add_campaign_event(campaign->store, campaign->row,
                                     summary.interrupted ? "interrupted" : "finished", NULL, err);
    if (status == STATUS_OK)
        status = ledger_add_checkpoint(campaign->store, "end", campaign->row, options->key, NULL,
                                       err);
    if (status == STATUS_OK)
        *ret = summary;
    return status;
}
