#include "harness/runner/campaign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/random.h"
#include "harness/core/text.h"
#include "harness/runner/campaign_choice.h"
#include "results/store/lease.h"
#include "harness/runner/tool.h"
#include "protocols/serving/declared.h"
#include "workloads/workload.h"

static void describe_cell(const struct plan *plan, size_t index, struct store_cell *ret)
{
    const struct plan_cell *cell = &plan->cells[index];
    const struct workload *workload = cell->work.workload;
    struct digest trace = {0};
    const bool has_trace = serving_trace_digest(workload->json, &trace);

    *ret = (struct store_cell){
        .trace = trace,
        .has_trace = has_trace,
        .ordinal = (int64_t)index + 1,
        .workload = workload->digest,
        .protocol = plan->protocol.digest,
        .workload_name = workload->name,
        .protocol_name = plan->protocol.name,
        .kind = workload->kind->name,
        .work = plan_case(cell),
        .seed = cell->work.seed,
        .backend = cell->backend,
        .device_index = cell->device_index,
        .device_spec = cell->device_spec,
        .cost = cell->cost,
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
        declaration.kind = "trace";
        declaration.json = workload->trace;
        if (status == STATUS_OK && workload->trace)
            status = store_put_declaration(store, &declaration, &digest, err);
    }
    return status;
}

static enum status record_plan(struct campaign *campaign, const struct plan *plan,
                               const char *command, int64_t *rows, struct error *err)
{
    AUTO_FREE struct store_cell *cells = calloc(plan->cell_count, sizeof(*cells));
    struct store_campaign record = {.created_utc_ns = campaign->rounds.planned_utc_ns,
                                    .plan = plan->json,
                                    .protocol = plan->protocol.digest,
                                    .order_seed = plan->order_seed,
                                    .command = command,
                                    .tool_version = tool_version()};

    TRY(cells ? tool_digest(&record.tool_digest, err) : error_no_memory(err));
    memcpy(record.uid, campaign->uid, sizeof(record.uid));
    for (size_t i = 0; i < plan->cell_count; i++)
        describe_cell(plan, i, &cells[i]);
    TRY(put_declarations(campaign->store, plan, err));
    return store_add_campaign(campaign->store, &record, cells, plan->cell_count, plan->order,
                              plan->order_count, &campaign->row, rows, err);
}

void campaign_take_protocol(struct campaign *campaign, const struct protocol *protocol)
{
    campaign->silence_ns = protocol->trial_timeout_ns;
    campaign->cooldown_ns = protocol->throttle_cooldown_ns;
    campaign->rounds.over_ns = protocol->spread_ns;
    campaign->telemetry_ns = protocol->telemetry_ns;
    campaign->verification = protocol->verification;
    campaign->doctor_refuses = protocol->doctor_refuses;
    campaign->doctor_jitter_ns = protocol->doctor_jitter_ns;
}

static enum status take_cell(struct campaign *campaign, const struct plan *plan, int64_t row,
                             struct error *err)
{
    const struct plan_cell *planned = &plan->cells[campaign->cell_count];
    struct campaign_cell *cell = &campaign->cells[campaign->cell_count++];
    AUTO_FREE char *label = plan_cell_label(planned);

    cell->row = row;
    cell->ordinal = (int64_t)campaign->cell_count;
    cell->label = label ? text_format("%s on %s", label, planned->device_spec) : NULL;
    cell->message = plan_trial_json(plan, planned);
    if (!cell->label || !cell->message)
        return error_no_memory(err);
    if (planned->choices)
        TRY(campaign_take_choices(campaign->store, cell, planned->choices, err));
    return campaign_cell_take_spec(cell, planned->spec, planned->worker, err);
}

static enum status create(struct campaign *campaign, const struct plan *plan, const char *command,
                          struct error *err)
{
    AUTO_FREE int64_t *rows = calloc(plan->cell_count, sizeof(*rows));

    campaign->cells = calloc(plan->cell_count, sizeof(*campaign->cells));
    if (!rows || !campaign->cells)
        return error_no_memory(err);
    TRY(record_plan(campaign, plan, command, rows, err));
    TRY(lease_take(store_path(campaign->store), campaign->row, campaign->uid, err));
    for (size_t i = 0; i < plan->cell_count; i++)
        TRY(take_cell(campaign, plan, rows[i], err));
    return STATUS_OK;
}

enum status campaign_create(struct store *store, const struct plan *plan, const char *command,
                            struct campaign *ret, struct error *err)
{
    struct campaign campaign = {.store = store, .rounds.planned_utc_ns = clock_utc_ns()};
    enum status status;

    campaign_take_protocol(&campaign, &plan->protocol);
    random_identifier(campaign.uid);
    snprintf(campaign.worker, sizeof(campaign.worker), "%s",
             json_string_value(json_object_get(plan->json, "worker")));
    status = create(&campaign, plan, command, err);
    if (status == STATUS_OK)
        *ret = campaign;
    else
        campaign_finish(&campaign);
    return status;
}

enum status campaign_cell_take_spec(struct campaign_cell *cell, const json_t *spec,
                                    const json_t *worker, struct error *err)
{
    json_t *framework;

    TRY(json_is_object(spec) ? arm_spec_from_json(spec, &cell->spec, err) : STATUS_OK);
    TRY(arm_spec_take_worker(&cell->spec, worker, err));
    if (!cell->spec.worker)
        return STATUS_OK;
    if (cell->spec.worker->program)
        return json_object_set_new(cell->message, "worker",
                                   json_pack("{s:s?, s:I}", "mode", cell->spec.worker->mode,
                                             "threads", (json_int_t)cell->spec.worker->threads)) ==
                       0
                   ? STATUS_OK
                   : error_no_memory(err);
    framework = named_worker_message(cell->spec.worker);
    return framework && json_object_set_new(cell->message, "framework", framework) == 0
               ? STATUS_OK
               : error_no_memory(err);
}

void campaign_finish(struct campaign *campaign)
{
    if (!campaign)
        return;
    if (campaign->row > 0)
        lease_release(store_path(campaign->store), campaign->row);
    for (size_t i = 0; i < campaign->cell_count; i++) {
        free(campaign->cells[i].label);
        json_decref(campaign->cells[i].message);
        json_decref(campaign->cells[i].environment);
        json_decref(campaign->cells[i].first);
        arm_spec_finish(&campaign->cells[i].spec);
    }
    free(campaign->cells);
    json_decref(campaign->expected);
    memset(campaign, 0, sizeof(*campaign));
}
