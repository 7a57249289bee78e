#include "harness/runner/plan_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/log.h"
#include "harness/core/text.h"
#include "harness/runner/probe.h"
#include "harness/runner/serving_trace.h"
#include "protocols/data_seed.h"
#include "workloads/serving.h"
#include "workloads/workload.h"

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
    struct workload **grown = NULL;
    enum status status = workload->kind->ready ? workload->kind->ready(workload, err) : STATUS_OK;

    if (status == STATUS_OK) {
        grown = grow(plan->workloads, &plan->workload_count, sizeof(*grown));
        status = grown ? STATUS_OK : error_no_memory(err);
    }
    if (status != STATUS_OK) {
        workload_finish(workload);
        free(workload);
        return status;
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
        return error_no_memory(err);
    status = serving_trace_find(name, workload, err);
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
    const char *text = member_string(object, key);

    return strdup(text ? text : "");
}

enum status plan_add_cell(struct plan *plan, const struct workload *workload,
                          enum precision precision, int64_t batch, const json_t *device,
                          const struct arm_spec *spec, const struct named_worker *worker,
                          struct error *err)
{
    struct plan_cell *grown = grow(plan->cells, &plan->cell_count, sizeof(*grown));
    struct plan_cell *cell;

    if (!grown)
        return error_no_memory(err);
    plan->cells = grown;
    cell = &grown[plan->cell_count - 1];
    cell->work = (struct workload_case){.workload = workload,
                                        .precision = precision,
                                        .batch = batch,
                                        .scenario = workload->scenario,
                                        .implementation = IMPLEMENTATION_PORTABLE,
                                        .seed = plan->protocol.seed};
    scenario_text(cell->work.scenario, 0, cell->scenario);
    cell->device_spec = copy_member(device, "spec");
    cell->backend = copy_member(device, "backend");
    cell->device_name = copy_member(device, "name");
    cell->device_index = member_integer(device, "index");
    cell->spec = spec ? arm_spec_to_json(spec) : NULL;
    cell->worker = worker ? named_worker_json(worker) : NULL;
    if ((spec && !cell->spec) || (worker && !cell->worker))
        return error_no_memory(err);
    if (!cell->device_spec || !cell->backend || !cell->device_name)
        return error_no_memory(err);
    return workload->kind->cost(&cell->work, &cell->cost, err);
}

/* A cell for each implementation that is wanted. `rate`: of a server, else 0. */
static enum status add_implementations(struct plan *plan, const struct plan_request *request,
                                       const struct workload *workload, enum precision precision,
                                       int64_t batch, double rate, const json_t *device,
                                       struct error *err)
{
    const struct arm_spec *spec = request->spec;
    const enum implementation own = workload_is_its_own(workload->kind) ? IMPLEMENTATION_UNKNOWN
                                    : spec && spec->worker
                                        ? IMPLEMENTATION_VENDOR /* a framework's own kernels */
                                    : spec && spec->has_implementation ? spec->implementation
                                                                       : IMPLEMENTATION_PORTABLE;
    const enum implementation *implementations =
        request->implementation_count > 0 ? request->implementations : &own;
    const size_t count = request->implementation_count > 0 ? request->implementation_count : 1;

    if (workload_is_its_own(workload->kind) &&
        (request->implementation_count > 0 || (spec && spec->has_implementation)))
        return error_set(err, STATUS_INVALID, "%s is %s chooses the implementation; leave it out",
                         workload->name,
                         workload->kind->is_endpoint ? "an endpoint: its server" : "a program: it");
    for (size_t i = 0; i < count; i++) {
        TRY(plan_add_cell(plan, workload, precision, batch, device, plan->arms > 0 ? spec : NULL,
                          spec ? spec->worker : NULL, err));
        plan->cells[plan->cell_count - 1].work.implementation = implementations[i];
        plan->cells[plan->cell_count - 1].work.seed =
            data_seed(plan->protocol.seed, request->nonce);
        plan->cells[plan->cell_count - 1].work.emulate =
            request->emulate || (spec && spec->emulate);
        plan->cells[plan->cell_count - 1].work.rate = rate;
        scenario_text(workload->scenario, rate, plan->cells[plan->cell_count - 1].scenario);
    }
    return STATUS_OK;
}

/* Each rate of a server is a cell; where some are shares, so is the server that is saturated. */
static enum status add_rates(struct plan *plan, const struct plan_request *request,
                             const struct workload *workload, enum precision precision,
                             int64_t batch, const json_t *device, struct error *err)
{
    const struct serving_declaration *serving = workload->serving;
    bool shares = false;

    if (!serving)
        return add_implementations(plan, request, workload, precision, batch, 0, device, err);
    if (plan->protocol.serving_requests == 0)
        return error_set(err, STATUS_INVALID,
                         "%s is served under load, and the protocol %s does not say how many "
                         "requests a trial has: use `--protocol %s`, or write the clause "
                         "serving.requests",
                         workload->name, plan->protocol.name,
                         request->spec || request->other ? "serving" /* a look never compares */
                                                         : "serving_look` or `serving");
    for (uint32_t i = 0; i < serving->load.rates_count; i++)
        shares |= serving->load.rates[i] < 0;
    if (shares && (request->spec || request->other))
        return error_set(err, STATUS_INVALID,
                         "%s: rates are shares of a capacity that is measured, and both arms of a "
                         "comparison must have one rate: write load.capacity",
                         workload->name);
    if (shares)
        TRY(add_implementations(plan, request, workload, precision, batch, INFINITY, device, err));
    for (uint32_t i = 0; i < serving->load.rates_count; i++)
        TRY(add_implementations(plan, request, workload, precision, batch, serving->load.rates[i],
                                device, err));
    return STATUS_OK;
}

json_t *plan_endpoint_device(const struct workload *workload)
{
    const json_t *endpoint = json_object_get(workload->json, "endpoint");

    return json_pack("{s:s, s:s, s:i, s:O}", "spec", PLAN_ENDPOINT ":0", "backend", PLAN_ENDPOINT,
                     "index", 0, "name", json_object_get(endpoint, "url"));
}

/* A program runs on the host, whatever devices it uses; another device is named by --device, and
 * then its readings are recorded. */
static enum status device_of_host(const struct workload *workload, const json_t *devices,
                                  json_t **ret, struct error *err)
{
    EACH(device, devices) {
        if (strcmp(member_text(device, "backend"), "cpu") != 0)
            continue;
        *ret = json_pack("[O]", device);
        return *ret ? STATUS_OK : error_no_memory(err);
    }
    return error_set(err, STATUS_UNAVAILABLE,
                     "%s is a program, and the host's processor is no usable device here: name "
                     "another with --device",
                     workload->name);
}

/* It is where its URL says, on whatever device its server uses. */
static enum status devices_of(const struct plan_request *request, const struct workload *workload,
                              const json_t *devices, json_t **ret, struct error *err)
{
    if (workload->kind->is_program && request->device_count == 0)
        return device_of_host(workload, devices, ret, err);
    if (!workload->kind->is_endpoint) {
        *ret = json_incref((json_t *)devices);
        return STATUS_OK;
    }
    if (request->device_count > 0)
        return error_set(err, STATUS_INVALID,
                         "%s is an endpoint: it runs on the device that its server uses, which "
                         "assay does not choose; leave --device out",
                         workload->name);
    *ret = json_pack("[o]", plan_endpoint_device(workload));
    return *ret ? STATUS_OK : error_no_memory(err);
}

/* Whether the workers of this arm and the other run it; those of assay run everything. */
static bool workers_run(const struct plan_request *request, const struct workload *workload,
                        enum precision precision, const json_t *device)
{
    const struct arm_spec *const specs[] = {request->spec, request->other};
    const char *backend = member_string(device, "backend");

    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
        if (specs[i] && specs[i]->worker &&
            !named_worker_runs(specs[i]->worker, workload->kind->name, precision,
                               backend ? backend : ""))
            return false;
    return true;
}

/* What only frameworks run has a worker in this arm, or one that the environment names. */
static enum status check_framework(const struct plan_request *request,
                                   const struct workload *workload, struct error *err)
{
    if (!workload->kind->needs_framework || (request->spec && request->spec->worker) ||
        getenv("ASSAY_WORKER"))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "%s is %s, which assay's own backends do not run: choose who does, as "
                     "--worker onnxruntime or --a worker=onnxruntime (`assay worker list` says "
                     "what there is)",
                     workload->name, workload->kind->summary);
}

static enum status add_workload_cells(struct plan *plan, const struct plan_request *request,
                                      const char *name, const struct suite_entry *entry,
                                      const json_t *devices, struct error *err)
{
    struct workload *workload = NULL;
    json_auto_t *mine = NULL;

    TRY(add_workload(plan, name, &workload, err));
    TRY(check_framework(request, workload, err));
    TRY(devices_of(request, workload, devices, &mine, err));
    EACH(device, mine) {
        for (size_t p = 0; p < workload->precision_count; p++) {
            if (!wants_precision(request, entry, workload->precisions[p]) ||
                !workers_run(request, workload, workload->precisions[p], device))
                continue;
            for (size_t b = 0; b < workload->batch_count; b++)
                if (wants_batch(request, entry, workload->batches[b]))
                    TRY(add_rates(plan, request, workload, workload->precisions[p],
                                  workload->batches[b], device, err));
        }
    }
    return STATUS_OK;
}

static enum status add_suite_cells(struct plan *plan, const struct plan_request *request,
                                   const struct suite *suite, const json_t *devices,
                                   struct error *err)
{
    for (size_t i = 0; i < suite->entry_count; i++)
        TRY(add_workload_cells(plan, request, suite->entries[i].workload, &suite->entries[i],
                               devices, err));
    return STATUS_OK;
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
    CLEANUP(suite_finish) struct suite suite = {0};
    bool suite_named = false;

    TRY(is_suite(name, &suite_named, err));
    if (!suite_named) {
        const size_t before = plan->cell_count;

        TRY(add_workload_cells(plan, request, name, NULL, devices, err));
        if (plan->cell_count == before && !probe_told(plan->told, name))
            log_warning("%s is left out: it declares none of the precisions and batches that were "
                        "asked for, or its worker runs none; `assay describe %s` shows what it has",
                        name, name);
        return STATUS_OK;
    }
    TRY(suite_find(name, &suite, err));
    return add_suite_cells(plan, request, &suite, devices, err);
}

/* A device that the arm's worker opens and no backend of assay's does, such as "tpu:0"; NULL: it is
 * none. Whether there is one shows when the worker opens it. */
static json_t *device_of_worker(const struct plan_request *request, const char *asked)
{
    const struct named_worker *worker = request->spec ? request->spec->worker : NULL;
    const size_t length = strcspn(asked, ":");
    int64_t index = 0;
    char backend[32];

    snprintf(backend, sizeof(backend), "%.*s", (int)length, asked);
    if (!worker || !worker->program || strlen(backend) != length || backend_find(backend) ||
        !worker_declared_opens(&worker->declared, backend) ||
        (asked[length] && (!text_parse_i64(asked + length + 1, &index) || index < 0)))
        return NULL;
    return json_pack("{s:o, s:s, s:I, s:s}", "spec",
                     json_sprintf("%s:%lld", backend, (long long)index), "backend", backend,
                     "index", (json_int_t)index, "name", backend);
}

/* All devices that are asked for, each once. */
static enum status select_devices(const struct plan_request *request, const json_t *probe,
                                  json_t *told, json_t **ret, struct error *err)
{
    json_auto_t *all = json_array();

    if (request->device_count == 0)
        return probe_select(probe, NULL, told, ret, err);
    for (size_t i = 0; i < request->device_count; i++) {
        json_t *own = device_of_worker(request, request->devices[i]);
        json_auto_t *some = own ? json_pack("[o]", own) : NULL;

        if (!some)
            TRY(probe_select(probe, request->devices[i], told, &some, err));
        EACH(device, some) {
            bool there = false;

            EACH(known, all)
                there |= json_equal(known, device);
            if (!there)
                json_array_append(all, device);
        }
    }
    *ret = json_incref(all);
    return STATUS_OK;
}

bool plan_needs_no_device(const struct plan_request *request)
{
    bool only_endpoints = request->device_count == 0;

    for (size_t i = 0; i < request->name_count && only_endpoints; i++) {
        struct workload workload = {0};

        only_endpoints = workload_find(request->names[i], &workload, NULL) == STATUS_OK &&
                         workload.kind->is_endpoint;
        workload_finish(&workload);
    }
    return only_endpoints;
}

enum status plan_add_cells(struct plan *plan, const struct plan_request *request,
                           const json_t *probe, struct error *err)
{
    json_auto_t *devices = NULL;

    if (!plan->told)
        plan->told = json_object();
    if (probe)
        TRY(select_devices(request, probe, plan->told, &devices, err));

    for (size_t i = 0; i < request->name_count; i++)
        TRY(add_named(plan, request, request->names[i], devices, err));
    return STATUS_OK;
}
