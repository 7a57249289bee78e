#include "harness/runner/plan_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "harness/core/text.h"
#include "harness/runner/probe.h"
#include "harness/runner/tool.h"

#define ORDER_STREAM 0x6f72646572 /* "order" */

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no memory for the plan");
}

/* Grows an array by one zeroed item; NULL when out of memory. */
static void *grow(void *items, size_t *count, size_t item_size)
{
    char *grown = realloc(items, (*count + 1) * item_size);

    if (!grown)
        return NULL;
    memset(grown + *count * item_size, 0, item_size);
    (*count)++;
    return grown;
}

enum status plan_take_workload(struct plan *plan, struct workload *workload, struct error *err)
{
    struct workload **grown = grow(plan->workloads, &plan->workload_count, sizeof(*grown));

    if (!grown) {
        workload_finish(workload);
        free(workload);
        return no_memory(err);
    }
    plan->workloads = grown;
    grown[plan->workload_count - 1] = workload;
    return STATUS_OK;
}

static enum status add_workload(struct plan *plan, const char *name, struct workload **ret,
                                struct error *err)
{
    struct workload *workload = calloc(1, sizeof(*workload));
    enum status status;

    if (!workload)
        return no_memory(err);
    status = workload_find(name, workload, err);
    if (status != STATUS_OK) {
        free(workload);
        return status;
    }
    *ret = workload;
    return plan_take_workload(plan, workload, err);
}
static bool wants_precision(const struct plan_request *request, const struct suite_entry *entry,
                            enum precision precision)
{
    bool wanted = !entry || entry->precision_count == 0;

    for (size_t i = 0; entry && i < entry->precision_count; i++)
        wanted |= entry->precisions[i] == precision;
    if (wanted && request->precision_count > 0) {
        wanted = false;
        for (size_t i = 0; i < request->precision_count; i++)
            wanted |= request->precisions[i] == precision;
    }
    return wanted;
}

static bool wants_batch(const struct plan_request *request, const struct suite_entry *entry,
                        int64_t batch)
{
    bool wanted = !entry || entry->batch_count == 0;

    for (size_t i = 0; entry && i < entry->batch_count; i++)
        wanted |= entry->batches[i] == batch;
    if (wanted && request->batch_count > 0) {
        wanted = false;
        for (size_t i = 0; i < request->batch_count; i++)
            wanted |= request->batches[i] == batch;
    }
    return wanted;
}

static char *copy_member(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return strdup(text ? text : "");
}

enum status plan_add_cell(struct plan *plan, const struct workload *workload,
                          enum precision precision, int64_t batch, const json_t *device,
                          const struct arm_spec *spec, struct error *err)
{
    struct plan_cell *grown = grow(plan->cells, &plan->cell_count, sizeof(*grown));
    struct plan_cell *cell;

    if (!grown)
        return no_memory(err);
    plan->cells = grown;
    cell = &grown[plan->cell_count - 1];
    cell->work = (struct workload_case){.workload = workload,
                                        .precision = precision,
                                        .batch = batch,
                                        .scenario = workload->scenario,
                                        .arm = ARM_PORTABLE,
                                        .seed = plan->protocol.seed};
    cell->device_spec = copy_member(device, "spec");
    cell->backend = copy_member(device, "backend");
    cell->device_name = copy_member(device, "name");
    cell->device_index = json_integer_value(json_object_get(device, "index"));
    cell->spec = spec ? arm_spec_to_json(spec) : NULL;
    if (spec && !cell->spec)
        return no_memory(err);
    if (!cell->device_spec || !cell->backend || !cell->device_name)
        return no_memory(err);
    return workload->kind->cost(&cell->work, &cell->cost, err);
}

/* A cell for each arm that is wanted. */
static enum status add_arms(struct plan *plan, const struct plan_request *request,
                            const struct workload *workload, enum precision precision,
                            int64_t batch, const json_t *device, struct error *err)
{
    const struct arm_spec *spec = request->spec;
    const enum arm own = spec && spec->has_arm ? spec->arm : ARM_PORTABLE;
    const enum arm *arms = request->arm_count > 0 ? request->arms : &own;
    const size_t count = request->arm_count > 0 ? request->arm_count : 1;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = plan_add_cell(plan, workload, precision, batch, device, spec, err);
        if (status == STATUS_OK) {
            plan->cells[plan->cell_count - 1].work.arm = arms[i];
            plan->cells[plan->cell_count - 1].work.emulate =
                request->emulate || (spec && spec->emulate);
        }
    }
    return status;
}

static enum status add_workload_cells(struct plan *plan, const struct plan_request *request,
                                      const char *name, const struct suite_entry *entry,
                                      const json_t *devices, struct error *err)
{
    struct workload *workload = NULL;
    enum status status = add_workload(plan, name, &workload, err);
    size_t i;
    json_t *device;

    if (status != STATUS_OK)
        return status;
    json_array_foreach(devices, i, device)
    {
        for (size_t p = 0; p < workload->precision_count; p++) {
            if (!wants_precision(request, entry, workload->precisions[p]))
                continue;
            for (size_t b = 0; b < workload->batch_count; b++) {
                if (!wants_batch(request, entry, workload->batches[b]))
                    continue;
                status = add_arms(plan, request, workload, workload->precisions[p],
                                  workload->batches[b], device, err);
                if (status != STATUS_OK)
                    return status;
            }
        }
    }
    return STATUS_OK;
}

static enum status add_suite_cells(struct plan *plan, const struct plan_request *request,
                                   const struct suite *suite, const json_t *devices,
                                   struct error *err)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < suite->entry_count && status == STATUS_OK; i++)
        status = add_workload_cells(plan, request, suite->entries[i].workload, &suite->entries[i],
                                    devices, err);
    return status;
}

static bool is_builtin(const char *name, const struct catalog_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(entries[i].name, name))
            return true;
    return false;
}

/* A built-in suite, a file with the key `suite`, else a workload (whose loader explains a typo). */
static enum status is_suite(const char *name, bool *ret, struct error *err)
{
    size_t suites, length = strlen(name);
    const struct catalog_entry *entries = catalog_suites(&suites);

    *ret = is_builtin(name, entries, suites);
    if (*ret || (!strchr(name, '/') && (length < 5 || strcmp(name + length - 5, ".yaml"))))
        return STATUS_OK;
    return declaration_is_suite(name, ret, err);
}

static enum status add_named(struct plan *plan, const struct plan_request *request,
                             const char *name, const json_t *devices, struct error *err)
{
    struct suite suite;
    bool suite_named = false;
    enum status status = is_suite(name, &suite_named, err);

    if (status != STATUS_OK)
        return status;
    if (!suite_named)
        return add_workload_cells(plan, request, name, NULL, devices, err);
    status = suite_find(name, &suite, err);
    if (status != STATUS_OK)
        return status;
    status = add_suite_cells(plan, request, &suite, devices, err);
    suite_finish(&suite);
    return status;
}

/* All devices that are asked for, each once. */
static enum status select_devices(const struct plan_request *request, const json_t *probe,
                                  json_t **ret, struct error *err)
{
    json_t *all = NULL;
    enum status status = STATUS_OK;

    if (request->device_count == 0) {
        status = probe_select(probe, NULL, &all, err);
    } else {
        all = json_array();
        for (size_t i = 0; i < request->device_count && status == STATUS_OK; i++) {
            json_t *some, *device, *known;
            size_t j, k;

            status = probe_select(probe, request->devices[i], &some, err);
            if (status != STATUS_OK)
                break;
            json_array_foreach(some, j, device)
            {
                bool there = false;

                json_array_foreach(all, k, known) there |= json_equal(known, device);
                if (!there)
                    json_array_append(all, device);
            }
            json_decref(some);
        }
    }
    if (status != STATUS_OK) {
        json_decref(all);
        return status;
    }
    *ret = all;
    return STATUS_OK;
}

static enum status lay_out_order(struct plan *plan, const struct plan_request *request,
                                 struct error *err)
{
    size_t rounds = (size_t)plan->protocol.trials;
    struct random random;

    if (request->has_order_seed) {
        plan->order_seed = request->order_seed;
    } else {
        char entropy[65];

        random_identifier(entropy);
        entropy[15] = '\0'; /* 60 bits: exact in every JSON reader that knows int64 */
        plan->order_seed = strtoull(entropy, NULL, 16);
    }
    plan->order = calloc(rounds * plan->cell_count, sizeof(*plan->order));
    if (!plan->order)
        return no_memory(err);
    plan->order_count = rounds * plan->cell_count;
    random_init(&random, plan->order_seed, ORDER_STREAM);
    for (size_t round = 0; round < rounds; round++)
        random_shuffle(&random, plan->order + round * plan->cell_count, plan->cell_count);
    return STATUS_OK;
}

static json_t *cell_json(const struct plan *plan, size_t index)
{
    const struct plan_cell *cell = &plan->cells[index];
    char workload[DIGEST_HEX_SIZE];

    return json_pack("{s:I, s:s, s:s, s:s, s:I, s:s, s:s, s:I, s:s, s:O?, s:o*}", "ordinal",
                     (json_int_t)index + 1, "workload", cell->work.workload->name,
                     "workload_digest", digest_hex(&cell->work.workload->digest, workload),
                     "precision", precision_name(cell->work.precision), "batch",
                     (json_int_t)cell->work.batch, "scenario", scenario_name(cell->work.scenario),
                     "arm", arm_name(cell->work.arm), "seed", (json_int_t)cell->work.seed, "device",
                     cell->device_spec, "spec", cell->spec, "emulate",
                     cell->work.emulate ? json_true() : NULL);
}

static enum status describe(struct plan *plan, const struct plan_request *request,
                            struct error *err)
{
    char protocol[DIGEST_HEX_SIZE];
    json_t *cells = json_array(), *order = json_array();

    for (size_t i = 0; i < plan->cell_count; i++)
        json_array_append_new(cells, cell_json(plan, i));
    for (size_t i = 0; i < plan->order_count; i++)
        json_array_append_new(order, json_integer((json_int_t)plan->order[i] + 1));
    plan->json = json_pack("{s:o, s:s, s:s, s:I, s:o, s:o, s:o}", "tool", tool_json(), "protocol",
                           plan->protocol.name, "protocol_digest",
                           digest_hex(&plan->protocol.digest, protocol), "order_seed",
                           (json_int_t)plan->order_seed, "cells", cells, "order", order, "nonce",
                           request->nonce ? json_string(request->nonce) : json_null());
    if (plan->json && request->question)
        json_object_set_new(plan->json, "question", json_string(request->question));
    if (plan->json && plan->reproduces)
        json_object_set(plan->json, "reproduces", plan->reproduces);
    return plan->json ? STATUS_OK : no_memory(err);
}

/* The protocol, with another number of trials when that is asked for. */
static enum status find_protocol(const struct plan_request *request, struct protocol *ret,
                                 struct error *err)
{
    struct protocol protocol;
    enum status status = protocol_find(request->protocol, &protocol, err);
    json_t *json;

    if (status != STATUS_OK)
        return status;
    if (request->trials == 0 || request->trials == protocol.trials) {
        *ret = protocol;
        return STATUS_OK;
    }
    json = json_copy(protocol.json);
    if (!json || json_object_set_new(json, "trials", json_integer(request->trials)) < 0)
        status = no_memory(err);
    else
        status = protocol_from_json(json, ret, err);
    json_decref(json);
    protocol_finish(&protocol);
    return status;
}

static enum status add_cells(struct plan *plan, const struct plan_request *request,
                             const json_t *probe, struct error *err)
{
    json_t *devices = NULL;
    enum status status = select_devices(request, probe, &devices, err);

    for (size_t i = 0; i < request->name_count && status == STATUS_OK; i++)
        status = add_named(plan, request, request->names[i], devices, err);
    json_decref(devices);
    return status;
}

enum status plan_seal(struct plan *plan, const struct plan_request *request, struct plan *ret,
                      enum status status, struct error *err)
{
    if (status == STATUS_OK)
        status = lay_out_order(plan, request, err);
    if (status == STATUS_OK)
        status = describe(plan, request, err);
    if (status != STATUS_OK) {
        plan_finish(plan);
        return status;
    }
    *ret = *plan;
    return STATUS_OK;
}

enum status plan_build(const struct plan_request *request, struct plan *ret, struct error *err)
{
    struct plan plan = {0};
    json_t *probe = NULL;
    enum status status = find_protocol(request, &plan.protocol, err);

    if (status == STATUS_OK)
        status = probe_run(NULL, &probe, err);
    if (status == STATUS_OK)
        status = add_cells(&plan, request, probe, err);
    json_decref(probe);
    if (status == STATUS_OK && plan.cell_count == 0)
        status = error_set(err, STATUS_INVALID,
                           "nothing to run: no workload that was named declares that precision and "
                           "batch; `assay describe NAME` shows which it has");
    return plan_seal(&plan, request, ret, status, err);
}

static enum status add_arm(struct plan *plan, const struct plan_request *request,
                           const json_t *probe, const char *arm, struct error *err)
{
    size_t before = plan->cell_count;
    enum status status = add_cells(plan, request, probe, err);

    if (status != STATUS_OK)
        return status;
    if (plan->cell_count == before + 1)
        return STATUS_OK;
    return error_set(
        err, STATUS_INVALID,
        "arm %s comes to %zu cells, and a pair compares one with one: name one device, "
        "precision and batch (--device, --precision, --batch, or in the arm)",
        arm, plan->cell_count - before);
}

enum status plan_build_pair(const struct plan_request *a, const struct plan_request *b,
                            struct plan *ret, struct error *err)
{
    struct plan plan = {0};
    json_t *probe = NULL;
    enum status status = find_protocol(a, &plan.protocol, err);

    if (status == STATUS_OK)
        status = probe_run(NULL, &probe, err);
    if (status == STATUS_OK)
        status = add_arm(&plan, a, probe, "a", err);
    if (status == STATUS_OK)
        status = add_arm(&plan, b, probe, "b", err);
    json_decref(probe);
    return plan_seal(&plan, a, ret, status, err);
}

void plan_finish(struct plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->cell_count; i++) {
        free(plan->cells[i].device_spec);
        free(plan->cells[i].backend);
        free(plan->cells[i].device_name);
        json_decref(plan->cells[i].spec);
        json_decref(plan->cells[i].choices);
    }
    free(plan->cells);
    for (size_t i = 0; i < plan->workload_count; i++) {
        workload_finish(plan->workloads[i]);
        free(plan->workloads[i]);
    }
    free(plan->workloads);
    free(plan->order);
    json_decref(plan->reproduces);
    json_decref(plan->json);
    protocol_finish(&plan->protocol);
    memset(plan, 0, sizeof(*plan));
}

char *plan_cell_label(const struct plan_cell *cell)
{
    const struct workload_case *work = &cell->work;
    const char *vendor = work->arm == ARM_VENDOR ? " vendor" : "";

    if (work->workload->batch_count > 1 || work->batch != 1)
        return text_format("%s %s%s batch %lld", work->workload->name,
                           precision_name(work->precision), vendor, (long long)work->batch);
    return text_format("%s %s%s", work->workload->name, precision_name(work->precision), vendor);
}

json_t *plan_trial_json(const struct plan *plan, const struct plan_cell *cell)
{
    const struct workload_case *work = &cell->work;

    return json_pack("{s:O, s:O, s:s, s:I, s:s, s:s, s:I, s:s, s:o*}", "workload",
                     work->workload->json,
                     "protocol", plan->protocol.json, "precision", precision_name(work->precision),
                     "batch", (json_int_t)work->batch, "scenario", scenario_name(work->scenario),
                     "arm", arm_name(work->arm), "seed", (json_int_t)work->seed, "device",
                     cell->device_spec, "emulate", work->emulate ? json_true() : NULL);
}
