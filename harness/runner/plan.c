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

/* A round: each cell once, in random order; of pairs the pairs, and in each of them both arms. */
static enum status shuffle_round(const struct plan *plan, struct random *random, uint32_t *round,
                                 struct error *err)
{
    const size_t pairs = plan->cell_count / 2;
    uint32_t *order, arms[2];

    if (!plan->paired) {
        random_shuffle(random, round, plan->cell_count);
        return STATUS_OK;
    }
    order = calloc(pairs, sizeof(*order));
    if (!order)
        return no_memory(err);
    random_shuffle(random, order, pairs);
    for (size_t i = 0; i < pairs; i++) {
        random_shuffle(random, arms, 2);
        round[2 * i] = 2 * order[i] + arms[0];
        round[2 * i + 1] = 2 * order[i] + arms[1];
    }
    free(order);
    return STATUS_OK;
}

static enum status lay_out_order(struct plan *plan, const struct plan_request *request,
                                 struct error *err)
{
    size_t rounds = (size_t)plan->protocol.trials;
    enum status status = STATUS_OK;
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
    for (size_t round = 0; round < rounds && status == STATUS_OK; round++)
        status = shuffle_round(plan, &random, plan->order + round * plan->cell_count, err);
    return status;
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
                     "implementation", implementation_name(cell->work.implementation), "seed",
                     (json_int_t)cell->work.seed, "device", cell->device_spec, "spec", cell->spec,
                     "emulate", cell->work.emulate ? json_true() : NULL);
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
        status = probe_run(request->devices, request->device_count, &probe, err);
    if (status == STATUS_OK)
        status = plan_add_cells(&plan, request, probe, err);
    json_decref(probe);
    if (status == STATUS_OK && plan.cell_count == 0)
        status = error_set(err, STATUS_INVALID,
                           "nothing to run: no workload that was named declares that precision and "
                           "batch; `assay describe NAME` shows which it has");
    return plan_seal(&plan, request, ret, status, err);
}

/* Cells of one device. */
static enum status add_arm(struct plan *plan, const struct plan_request *request,
                           const json_t *probe, const char *arm, struct error *err)
{
    const size_t before = plan->cell_count;
    enum status status = plan_add_cells(plan, request, probe, err);

    if (status != STATUS_OK)
        return status;
    if (plan->cell_count == before)
        return error_set(err, STATUS_INVALID,
                         "arm %s comes to no cell: no workload that was named declares that "
                         "precision and batch; `assay describe NAME` shows which it has",
                         arm);
    for (size_t i = before; i < plan->cell_count; i++)
        if (strcmp(plan->cells[i].device_spec, plan->cells[before].device_spec))
            return error_set(err, STATUS_INVALID,
                             "arm %s has cells on %s and on %s, and a pair compares one device "
                             "with one: name it (--device, or in the arm)",
                             arm, plan->cells[before].device_spec, plan->cells[i].device_spec);
    return STATUS_OK;
}

/* What no arm sets is the same in both of a pair. */
static bool fit(const struct plan_cell *a, const struct plan_cell *b, const struct arm_spec *spec_a,
                const struct arm_spec *spec_b)
{
    return (spec_a->workload || spec_b->workload ||
            digest_equal(&a->work.workload->digest, &b->work.workload->digest)) &&
           (spec_a->has_precision || spec_b->has_precision ||
            a->work.precision == b->work.precision) &&
           a->work.batch == b->work.batch;
}

/* Those of a, then those of b, become a b, a b, ... */
static enum status pair_up(struct plan *plan, size_t of_a, const struct arm_spec *spec_a,
                           const struct arm_spec *spec_b, struct error *err)
{
    const size_t of_b = plan->cell_count - of_a;
    struct plan_cell *pairs;

    if (of_a != of_b)
        return error_set(err, STATUS_INVALID,
                         "arm a comes to %zu cells and arm b to %zu, and each is compared with one "
                         "of the other: name those that both have (--precision, --batch)",
                         of_a, of_b);
    for (size_t i = 0; i < of_a && of_a > 1; i++)
        if (!fit(&plan->cells[i], &plan->cells[of_a + i], spec_a, spec_b))
            return error_set(err, STATUS_INVALID,
                             "the cells of arm a and of arm b are not of the same workloads, "
                             "precisions and batches: name those that both have (--precision, "
                             "--batch)");
    pairs = calloc(plan->cell_count, sizeof(*pairs));
    if (!pairs)
        return no_memory(err);
    for (size_t i = 0; i < of_a; i++) {
        pairs[2 * i] = plan->cells[i];
        pairs[2 * i + 1] = plan->cells[of_a + i];
    }
    free(plan->cells);
    plan->cells = pairs;
    return STATUS_OK;
}

/* What the devices of either arm need. */
static enum status probe_both(const struct plan_request *a, const struct plan_request *b,
                              json_t **ret, struct error *err)
{
    const size_t count = a->device_count + b->device_count;
    const char **devices;
    enum status status;

    if (a->device_count == 0 || b->device_count == 0)
        return probe_run(NULL, 0, ret, err);
    devices = calloc(count, sizeof(*devices));
    if (!devices)
        return no_memory(err);
    memcpy(devices, a->devices, a->device_count * sizeof(*devices));
    memcpy(devices + a->device_count, b->devices, b->device_count * sizeof(*devices));
    status = probe_run(devices, count, ret, err);
    free(devices);
    return status;
}

enum status plan_build_pair(const struct plan_request *a, const struct plan_request *b,
                            struct plan *ret, struct error *err)
{
    struct plan plan = {.paired = true};
    json_t *probe = NULL;
    size_t of_a = 0;
    enum status status = find_protocol(a, &plan.protocol, err);

    if (status == STATUS_OK)
        status = probe_both(a, b, &probe, err);
    if (status == STATUS_OK)
        status = add_arm(&plan, a, probe, "a", err);
    of_a = plan.cell_count;
    if (status == STATUS_OK)
        status = add_arm(&plan, b, probe, "b", err);
    if (status == STATUS_OK)
        status = pair_up(&plan, of_a, a->spec, b->spec, err);
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
    const char *vendor = work->implementation == IMPLEMENTATION_VENDOR ? " vendor" : "";

    if (work->workload->batch_count > 1 || work->batch != 1)
        return text_format("%s %s%s batch %lld", work->workload->name,
                           precision_name(work->precision), vendor, (long long)work->batch);
    return text_format("%s %s%s", work->workload->name, precision_name(work->precision), vendor);
}

json_t *plan_trial_json(const struct plan *plan, const struct plan_cell *cell)
{
    const struct workload_case *work = &cell->work;

    return json_pack("{s:O, s:O, s:s, s:I, s:s, s:s, s:I, s:s, s:o*}", "workload",
                     work->workload->json, "protocol", plan->protocol.json, "precision",
                     precision_name(work->precision), "batch", (json_int_t)work->batch, "scenario",
                     scenario_name(work->scenario), "implementation",
                     implementation_name(work->implementation), "seed", (json_int_t)work->seed,
                     "device", cell->device_spec, "emulate", work->emulate ? json_true() : NULL);
}
