#include "harness/runner/plan_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/runner/probe.h"
#include "protocols/data_seed.h"

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
                                        .implementation = IMPLEMENTATION_PORTABLE,
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

/* A cell for each implementation that is wanted. */
static enum status add_implementations(struct plan *plan, const struct plan_request *request,
                                       const struct workload *workload, enum precision precision,
                                       int64_t batch, const json_t *device, struct error *err)
{
    const struct arm_spec *spec = request->spec;
    const enum implementation own =
        spec && spec->has_implementation ? spec->implementation : IMPLEMENTATION_PORTABLE;
    const enum implementation *implementations =
        request->implementation_count > 0 ? request->implementations : &own;
    const size_t count = request->implementation_count > 0 ? request->implementation_count : 1;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = plan_add_cell(plan, workload, precision, batch, device, spec, err);
        if (status == STATUS_OK) {
            plan->cells[plan->cell_count - 1].work.implementation = implementations[i];
            plan->cells[plan->cell_count - 1].work.seed =
                data_seed(plan->protocol.seed, request->nonce);
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
                status = add_implementations(plan, request, workload, workload->precisions[p],
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

enum status plan_add_cells(struct plan *plan, const struct plan_request *request,
                           const json_t *probe, struct error *err)
{
    json_t *devices = NULL;
    enum status status = select_devices(request, probe, &devices, err);

    for (size_t i = 0; i < request->name_count && status == STATUS_OK; i++)
        status = add_named(plan, request, request->names[i], devices, err);
    json_decref(devices);
    return status;
}
