#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "harness/core/cleanup.h"
#include "harness/runner/plan_internal.h"
#include "harness/runner/probe.h"
#include "results/analysis/serving_trace.h"
#include "workloads/workload.h"

/* What is read from the record must come to the digest that the record has for it. */
static enum status check_digest(const struct digest *digest, const json_t *identity,
                                const char *key, const char *what, struct error *err)
{
    char hex[DIGEST_HEX_SIZE];

    if (!strcmp(digest_hex(digest, hex), member_text(identity, key)))
        return STATUS_OK;
    return error_set(err, STATUS_UNSUPPORTED,
                     "this assay reads the recorded %s as another one (SHA-256 %.12s..., recorded "
                     "%.12s...): use the version of assay that measured it",
                     what, hex, member_text(identity, key));
}

static enum status take_workload(struct plan *plan, const json_t *record, struct store *store,
                                 struct error *err)
{
    struct workload *workload = calloc(1, sizeof(*workload));
    enum status status;

    if (!workload)
        return error_no_memory(err);
    status = workload_from_json(json_object_get(record, "workload"), workload, err);
    if (status != STATUS_OK) {
        free(workload);
        return status;
    }
    status = check_digest(&workload->digest, json_object_get(record, "identity"), "workload_digest",
                          "workload", err);
    if (status == STATUS_OK)
        status = serving_trace_json(store, workload->json, &workload->trace, err);
    if (status == STATUS_OK)
        return plan_take_workload(plan, workload, err);
    workload_finish(workload);
    free(workload);
    return status;
}

static enum status find_device(const json_t *record, const char *device, json_t **ret,
                               struct error *err)
{
    const char *spec = device ? device : member_text(record, "device_spec");
    json_auto_t *probe = NULL, *found = NULL;

    TRY(probe_run(&spec, 1, &probe, err));
    TRY(probe_select(probe, spec, NULL, &found, err));
    if (json_array_size(found) != 1)
        return error_set(err, STATUS_INVALID, "%s is %zu devices: name one", spec,
                         json_array_size(found));
    *ret = json_incref(json_array_get(found, 0));
    return STATUS_OK;
}

static const json_t *planned_cell(const json_t *record, const json_t *planned)
{
    const json_int_t ordinal = member_integer(record, "ordinal");

    return ordinal >= 1 ? json_array_get(json_object_get(planned, "cells"), (size_t)ordinal - 1)
                        : NULL;
}

/* How the worker of this cell was started: the arm of a pair may have had a root, or variables. */
static enum status recorded_spec(const json_t *record, const json_t *planned, struct arm_spec *ret,
                                 bool *ret_any, struct error *err)
{
    const json_t *spec = json_object_get(planned_cell(record, planned), "spec");

    const json_t *worker = json_object_get(planned_cell(record, planned), "worker");

    *ret_any = json_is_object(spec);
    if (*ret_any)
        TRY(arm_spec_from_json(spec, ret, err));
    return arm_spec_take_worker(ret, worker, err);
}

static enum status add_from_record(struct plan *plan, const json_t *record, const json_t *planned,
                                   const json_t *device, struct error *err)
{
    const json_t *identity = json_object_get(record, "identity");
    const json_t *choices = json_object_get(record, "choices");
    struct plan_cell *cell;
    CLEANUP(arm_spec_finish) struct arm_spec spec = {0};
    enum precision precision;
    bool has_spec = false;

    if (!precision_from_name(member_text(identity, "precision"), &precision))
        return error_set(err, STATUS_UNSUPPORTED, "this assay does not know the precision \"%s\"",
                         member_text(identity, "precision"));
    TRY(recorded_spec(record, planned, &spec, &has_spec, err));
    TRY(plan_add_cell(plan, plan->workloads[0], precision, member_integer(identity, "batch"),
                      device, has_spec ? &spec : NULL, spec.worker, err));
    cell = &plan->cells[0];
    if (!implementation_from_name(member_text(identity, "implementation"),
                                  &cell->work.implementation) ||
        !scenario_from_text(member_text(identity, "scenario"), &cell->work.scenario,
                            &cell->work.rate))
        return error_set(err, STATUS_UNSUPPORTED,
                         "this assay does not know the implementation \"%s\" or the "
                         "scenario \"%s\"",
                         member_text(identity, "implementation"),
                         member_text(identity, "scenario"));
    if (cell->work.rate < 0)
        return error_set(err, STATUS_UNSUPPORTED,
                         "its rate is a share of the capacity that its campaign measured, and a "
                         "result alone is repeated here: run the workload again");
    scenario_text(cell->work.scenario, cell->work.rate, cell->scenario);
    cell->work.emulate = member_is_true(planned_cell(record, planned), "emulate");
    cell->work.seed = strtoull(member_text(identity, "seed"), NULL, 10);
    if (json_object_get(choices, "workload") &&
        !strcmp(member_text(json_object_get(record, "device"), "name"),
                member_text(device, "name")))
        cell->choices = json_incref((json_t *)choices);
    return STATUS_OK;
}

/* The nonce that the recorded data were made with; NULL: none. */
static json_t *nonce_of(const json_t *planned)
{
    json_t *nonce = json_object_get(planned, "nonce");

    if (!json_is_string(nonce))
        nonce = member_in(planned, "reproduces", "nonce");
    return json_is_string(nonce) ? nonce : NULL;
}

enum status plan_from_record(const json_t *record, const json_t *planned, struct store *store,
                             const char *device, struct plan *ret, struct error *err)
{
    const struct plan_request request = {0};
    const json_t *campaign = json_object_get(record, "campaign");
    CLEANUP(plan_finish) struct plan plan = {0};
    json_auto_t *found = NULL;

    TRY(protocol_from_json(json_object_get(record, "protocol"), &plan.protocol, err));
    TRY(check_digest(&plan.protocol.digest, json_object_get(record, "identity"), "protocol_digest",
                     "protocol", err));
    TRY(take_workload(&plan, record, store, err));
    if (plan.workloads[0]->kind->is_endpoint && device)
        return error_set(err, STATUS_INVALID,
                         "an endpoint is where its url says, without --device");
    if (plan.workloads[0]->kind->is_endpoint)
        found = plan_endpoint_device(plan.workloads[0]);
    else
        TRY(find_device(record, device, &found, err));
    TRY(add_from_record(&plan, record, planned, found, err));
    plan.reproduces =
        json_pack("{s:O?, s:O?, s:O?, s:O*}", "campaign", json_object_get(campaign, "uid"),
                  "ordinal", json_object_get(record, "ordinal"), "plan_digest",
                  json_object_get(campaign, "plan_digest"), "nonce", nonce_of(planned));
    return plan_seal(&plan, &request, ret, err);
}
