#include "harness/runner/plan_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "harness/core/text.h"
#include "harness/runner/probe.h"
#include "harness/runner/tool.h"
#include "harness/runner/worker_process.h"
#include "workloads/workload.h"

#define ORDER_STREAM 0x6f72646572 /* "order" */

/* A round: each cell once, in random order; of blocks the blocks, and in each of them the arms. */
static enum status shuffle_round(const struct plan *plan, struct random *random, uint32_t *round,
                                 struct error *err)
{
    const size_t blocks = plan->arms ? plan->cell_count / plan->arms : 0;
    uint32_t *order, *arms;

    if (!plan->arms) {
        random_shuffle(random, round, plan->cell_count);
        return STATUS_OK;
    }
    order = calloc(blocks + plan->arms, sizeof(*order));
    if (!order)
        return error_no_memory(err);
    arms = order + blocks;
    random_shuffle(random, order, blocks);
    for (size_t i = 0; i < blocks; i++) {
        random_shuffle(random, arms, plan->arms);
        for (size_t k = 0; k < plan->arms; k++)
            round[plan->arms * i + k] = (uint32_t)plan->arms * order[i] + arms[k];
    }
    free(order);
    return STATUS_OK;
}

/* The arms of a block in one round. */
static uint32_t *arms_of(const struct plan *plan, size_t block, size_t round)
{
    uint32_t *arms = plan->order + round * plan->cell_count;

    while (*arms / plan->arms != block)
        arms += plan->arms;
    return arms;
}

/*
 * Half of the rounds, drawn for each block, have its arms in the reverse order of the other half:
 * of any two arms each runs before the other as often, so that what the order does to them cancels.
 */
static enum status counterbalance(const struct plan *plan, struct random *random, struct error *err)
{
    const size_t rounds = plan->order_count / plan->cell_count;
    AUTO_FREE uint32_t *drawn = calloc(rounds + 1, sizeof(*drawn));

    if (!drawn)
        return error_no_memory(err);
    for (size_t block = 0; block * plan->arms < plan->cell_count; block++) {
        random_shuffle(random, drawn, rounds);
        for (size_t i = 0; i + 1 < rounds; i += 2) {
            const uint32_t *from = arms_of(plan, block, drawn[i]);
            uint32_t *to = arms_of(plan, block, drawn[i + 1]);

            for (size_t k = 0; k < plan->arms; k++)
                to[k] = from[plan->arms - 1 - k];
        }
    }
    return STATUS_OK;
}

/* Servers that are saturated come first in the first round: rates of others are shares of theirs.
 */
static void measure_capacity_first(const struct plan *plan)
{
    size_t front = 0;

    for (size_t i = 0; i < plan->cell_count; i++) {
        const uint32_t cell = plan->order[i];

        if (!isinf(plan->cells[cell].work.rate))
            continue;
        memmove(plan->order + front + 1, plan->order + front, (i - front) * sizeof(*plan->order));
        plan->order[front++] = cell;
    }
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
        return error_no_memory(err);
    plan->order_count = rounds * plan->cell_count;
    random_init(&random, plan->order_seed, ORDER_STREAM);
    for (size_t round = 0; round < rounds; round++)
        TRY(shuffle_round(plan, &random, plan->order + round * plan->cell_count, err));
    if (plan->arms)
        TRY(counterbalance(plan, &random, err));
    measure_capacity_first(plan);
    return STATUS_OK;
}

struct store_case plan_case(const struct plan_cell *cell)
{
    return (struct store_case){.precision = precision_name(cell->work.precision),
                               .batch = cell->work.batch,
                               .scenario = cell->scenario,
                               .implementation = implementation_name(cell->work.implementation)};
}

/* What plan and message say of the cell, and the rest, which is taken. New; NULL: no memory. */
static json_t *case_json(const struct plan_cell *cell, json_t *rest)
{
    const struct store_case work = plan_case(cell);
    json_t *json = type_to_json(&store_case_type, &work);

    if (json_object_update_new(json, rest) == 0 &&
        json_object_set_new(json, "seed", json_integer((json_int_t)cell->work.seed)) == 0 &&
        json_object_set_new(json, "device", json_string(cell->device_spec)) == 0 &&
        (!cell->work.emulate || json_object_set_new(json, "emulate", json_true()) == 0))
        return json;
    json_decref(json);
    return NULL;
}

static json_t *cell_json(const struct plan *plan, size_t index)
{
    const struct plan_cell *cell = &plan->cells[index];
    char workload[DIGEST_HEX_SIZE];

    digest_hex(&cell->work.workload->digest, workload);
    return case_json(cell,
                     json_pack("{s:I, s:s, s:s, s:O?, s:O*}", "ordinal", (json_int_t)index + 1,
                               "workload", cell->work.workload->name, "workload_digest", workload,
                               "spec", cell->spec, "worker", cell->worker));
}

static enum status describe(struct plan *plan, const struct plan_request *request,
                            struct error *err)
{
    char protocol[DIGEST_HEX_SIZE], worker[DIGEST_HEX_SIZE];
    json_t *cells, *order;
    struct digest program;

    TRY(worker_process_program(NULL, &program, err));
    cells = json_array();
    order = json_array();
    for (size_t i = 0; i < plan->cell_count; i++)
        json_array_append_new(cells, cell_json(plan, i));
    for (size_t i = 0; i < plan->order_count; i++)
        json_array_append_new(order, json_integer((json_int_t)plan->order[i] + 1));
    plan->json =
        json_pack("{s:o, s:s, s:s, s:s, s:I, s:o, s:o, s:o}", "tool", tool_json(), "worker",
                  digest_hex(&program, worker), "protocol", plan->protocol.name, "protocol_digest",
                  digest_hex(&plan->protocol.digest, protocol), "order_seed",
                  (json_int_t)plan->order_seed, "cells", cells, "order", order, "nonce",
                  request->nonce ? json_string(request->nonce) : json_null());
    if (plan->json && plan->arms > 2) /* a plan of two says it by its order */
        json_object_set_new(plan->json, "arms", json_integer((json_int_t)plan->arms));
    if (plan->json && request->question)
        json_object_set_new(plan->json, "question", json_string(request->question));
    if (plan->json && request->contract)
        json_object_set(plan->json, "contract", (json_t *)request->contract);
    if (plan->json && plan->reproduces)
        json_object_set(plan->json, "reproduces", plan->reproduces);
    return plan->json ? STATUS_OK : error_no_memory(err);
}

/* The protocol, with another number of trials when that is asked for. */
static enum status find_protocol(const struct plan_request *request, struct protocol *ret,
                                 struct error *err)
{
    CLEANUP(protocol_finish) struct protocol protocol = {0};
    json_auto_t *json = NULL;

    TRY(protocol_find(request->protocol, &protocol, err));
    if (request->trials == 0 || request->trials == protocol.trials) {
        *ret = protocol;
        protocol = (struct protocol){0};
        return STATUS_OK;
    }
    json = json_copy(protocol.json);
    if (json_object_set_new(json, "trials", json_integer(request->trials)) < 0)
        return error_no_memory(err);
    return protocol_from_json(json, ret, err);
}

enum status plan_seal(struct plan *plan, const struct plan_request *request, struct plan *ret,
                      struct error *err)
{
    TRY(lay_out_order(plan, request, err));
    TRY(describe(plan, request, err));
    *ret = *plan;
    *plan = (struct plan){0};
    return STATUS_OK;
}

/* Why a request comes to no cell. */
static enum status no_cell(const struct plan_request *request, const char *what, struct error *err)
{
    const struct arm_spec *spec = request->spec && request->spec->worker ? request->spec
                                  : request->other                       ? request->other
                                                                         : request->spec;
    const struct named_worker *worker = spec ? spec->worker : NULL;

    if (worker)
        return error_set(err, STATUS_INVALID,
                         "%s: the worker %s@%s runs none of it in that precision on that device; "
                         "`assay worker show %s` says what it runs",
                         what, worker->declared.values->name, worker->version, worker->from);
    return error_set(err, STATUS_INVALID,
                     "%s: no workload that was named declares that precision and batch; `assay "
                     "describe NAME` shows which it has",
                     what);
}

enum status plan_build(const struct plan_request *request, struct plan *ret, struct error *err)
{
    CLEANUP(plan_finish) struct plan plan = {0};
    json_auto_t *probe = NULL;

    TRY(find_protocol(request, &plan.protocol, err));
    if (!plan_needs_no_device(request))
        TRY(probe_run(request->devices, request->device_count, &probe, err));
    TRY(plan_add_cells(&plan, request, probe, err));
    if (plan.cell_count == 0)
        return no_cell(request, "nothing to run", err);
    return plan_seal(&plan, request, ret, err);
}

/* Cells of one device. */
static enum status add_arm(struct plan *plan, const struct plan_request *request,
                           const json_t *probe, const char *arm, struct error *err)
{
    const size_t before = plan->cell_count;

    TRY(plan_add_cells(plan, request, probe, err));
    if (plan->cell_count == before) {
        char what[sizeof("arm a comes to no cell")];

        snprintf(what, sizeof(what), "arm %s comes to no cell", arm);
        return no_cell(request, what, err);
    }
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

/* Those of the first arm, then those of the next ..., become block by block. */
static enum status make_blocks(struct plan *plan, const struct plan_request *arms,
                               struct error *err)
{
    const size_t blocks = plan->cell_count / plan->arms;
    struct plan_cell *cells = calloc(plan->cell_count, sizeof(*cells));

    if (!cells)
        return error_no_memory(err);
    for (size_t i = 0; i < plan->cell_count; i++) {
        const size_t arm = i / blocks, block = i % blocks;

        if (blocks > 1 &&
            !fit(&plan->cells[block], &plan->cells[i], arms[0].spec, arms[arm].spec)) {
            free(cells);
            return error_set(err, STATUS_INVALID,
                             "the cells of the arms are not of the same workloads, precisions and "
                             "batches: name those that all have (--precision, --batch)");
        }
        cells[block * plan->arms + arm] = plan->cells[i];
    }
    free(plan->cells);
    plan->cells = cells;
    return STATUS_OK;
}

/* What the devices of all arms need. */
static enum status probe_arms(const struct plan_request *arms, size_t count, json_t **ret,
                              struct error *err)
{
    const char **devices;
    size_t total = 0;
    bool needed = false, named = true;
    enum status status;

    for (size_t i = 0; i < count; i++) {
        total += arms[i].device_count;
        named &= arms[i].device_count > 0;
        needed |= !plan_needs_no_device(&arms[i]);
    }
    if (!needed)
        return STATUS_OK;
    if (!named)
        return probe_run(NULL, 0, ret, err);
    devices = calloc(total, sizeof(*devices));
    if (!devices)
        return error_no_memory(err);
    total = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(devices + total, arms[i].devices, arms[i].device_count * sizeof(*devices));
        total += arms[i].device_count;
    }
    status = probe_run(devices, total, ret, err);
    free(devices);
    return status;
}

/* Results of such a protocol never compare as evidence, which is known before anything is measured.
 */
static enum status check_evidence(const struct protocol *protocol, struct error *err)
{
    size_t count;
    const struct protocol_builtin *builtins = protocol_builtins(&count);
    CLEANUP(text_finish) struct text names = TEXT_INIT;

    if (protocol->evidence)
        return STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        CLEANUP(protocol_finish) struct protocol other = {0};

        TRY(protocol_find(builtins[i].name, &other, err));
        if (other.evidence)
            text_append_format(&names, "%s%s", names.length ? ", " : "", other.name);
    }
    return error_set(err, STATUS_INVALID,
                     "the protocol %s gives no evidence (`evidence: false`), so its results "
                     "never compare: no pair would count, so nothing is measured; use "
                     "--protocol paired, serving for servers under load, or one of your own "
                     "without `evidence: false` (those of assay that compare: %s)",
                     protocol->name, text_ok(&names) ? names.data : "");
}

enum status plan_build_arms(const struct plan_request *arms, size_t count, struct plan *ret,
                            struct error *err)
{
    CLEANUP(plan_finish) struct plan plan = {.arms = count};
    json_auto_t *probe = NULL;

    TRY(find_protocol(&arms[0], &plan.protocol, err));
    if (!arms[0].sweep)
        TRY(check_evidence(&plan.protocol, err));
    TRY(probe_arms(arms, count, &probe, err));
    for (size_t i = 0; i < count; i++) {
        const size_t before = plan.cell_count, of_first = i ? before / i : 0;
        char name[2] = {(char)('a' + i), '\0'};

        TRY(add_arm(&plan, &arms[i], probe, name, err));
        if (i > 0 && plan.cell_count - before != of_first)
            return error_set(err, STATUS_INVALID,
                             "arm a comes to %zu cells and arm %s to %zu, and each is compared "
                             "with one of the other: name those that both have (--precision, "
                             "--batch)",
                             of_first, name, plan.cell_count - before);
    }
    TRY(make_blocks(&plan, arms, err));
    return plan_seal(&plan, &arms[0], ret, err);
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
        json_decref(plan->cells[i].worker);
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
    json_decref(plan->told);
    json_decref(plan->json);
    protocol_finish(&plan->protocol);
    memset(plan, 0, sizeof(*plan));
}

char *plan_cell_label(const struct plan_cell *cell)
{
    const struct workload_case *work = &cell->work;
    const char *worker = json_string_value(json_object_get(cell->worker, "name"));
    const char *version = json_string_value(json_object_get(cell->worker, "version"));
    char by[64] = "", rate[48];

    if (isinf(work->rate))
        snprintf(rate, sizeof(rate), "saturated");
    else
        snprintf(rate, sizeof(rate), "%.15g%s", fabs(work->rate),
                 work->rate < 0 ? " of its capacity" : "/s");
    if (work->workload->kind->is_endpoint)
        return text_format("%s, %s", work->workload->name, rate);
    if (worker && version)
        snprintf(by, sizeof(by), " %s %s", worker, version);
    else if (work->implementation == IMPLEMENTATION_VENDOR)
        snprintf(by, sizeof(by), " vendor");
    if (work->scenario == SCENARIO_SERVER)
        return text_format("%s %s%s batch %lld, %s", work->workload->name,
                           precision_name(work->precision), by, (long long)work->batch, rate);
    if (work->workload->batch_count > 1 || work->batch != 1)
        return text_format("%s %s%s batch %lld", work->workload->name,
                           precision_name(work->precision), by, (long long)work->batch);
    return text_format("%s %s%s", work->workload->name, precision_name(work->precision), by);
}

json_t *plan_trial_json(const struct plan *plan, const struct plan_cell *cell)
{
    return case_json(cell, json_pack("{s:O, s:O}", "workload", cell->work.workload->json,
                                     "protocol", plan->protocol.json));
}
