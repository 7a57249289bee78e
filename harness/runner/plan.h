/*
 * plan - the cells of a campaign and the order of its trials, before anything runs.
 *
 * Cells are devices x workloads x precisions x batches. The order interleaves them: every round
 * holds each cell once, shuffled by a seeded generator, so that drift of the machine falls on all
 * cells alike. The arms of a block stay side by side. The plan's JSON is what is recorded and
 * hashed.
 */
#ifndef ASSAY_RUNNER_PLAN_H
#define ASSAY_RUNNER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/precision.h"
#include "harness/core/status.h"
#include "harness/runner/arm_spec.h"
#include "protocols/protocol.h"
#include "results/store/store.h"
#include "workloads/declared.h"

/* What the user asked for. Lists that are empty mean: all that is declared. */
struct plan_request {
    const char *const *names; /* workloads, suites, files */
    size_t name_count;
    const char *const *devices; /* specs; empty: every usable device */
    size_t device_count;
    const char *protocol; /* name or file */
    const enum precision *precisions;
    size_t precision_count;
    const int64_t *batches;
    size_t batch_count;
    bool has_order_seed;
    uint64_t order_seed;
    const char *nonce;    /* given by a buyer, kept in the plan, seeds the data; NULL: none */
    const char *question; /* the question of the campaign, kept in the plan; NULL: none given */
    const enum implementation *implementations; /* empty: that of `spec`, else the portable one */
    size_t implementation_count;
    bool emulate;           /* what is not native may be emulated, and is labelled so */
    int64_t trials;         /* in place of the protocol's, whose identity changes; 0: its own */
    const json_t *contract; /* kept in the plan (protocols/contract.h); NULL: none */
    const struct arm_spec *spec; /* how the worker must differ; NULL: not at all */
    /* Of a pair, the other arm's: what its worker does not run is not asked of this one. */
    const struct arm_spec *other;
    bool sweep; /* the arms are measured side by side and not judged: any protocol will do */
};

struct plan_cell {
    struct workload_case work; /* its workload lives in plan.workloads */
    struct workload_cost cost;
    char *device_spec; /* "opencl:0" */
    char *backend;
    int64_t device_index;
    char *device_name; /* for people */
    json_t *spec;      /* of an arm: arm_spec_to_json; NULL: the worker starts as the harness did */
    json_t *worker;    /* who measures: named_worker_json; NULL: assay's own */
    char scenario[SCENARIO_TEXT_SIZE]; /* scenario_text of `work` */
    json_t *choices; /* sizes chosen in an earlier run; NULL: they are chosen first */
};

/* Of an endpoint's cells: stands where others have a backend, and a device's type. */
#define PLAN_ENDPOINT "endpoint"

struct plan {
    struct protocol protocol;
    struct workload **workloads;
    size_t workload_count;
    struct plan_cell *cells;
    size_t cell_count;
    size_t arms;     /* cells i * arms and on are the arms of block i; 0: no blocks */
    uint32_t *order; /* indices of cells, one entry a trial */
    size_t order_count;
    uint64_t order_seed;
    /* {"campaign", "ordinal", "plan_digest", "nonce"} of what is repeated; or NULL */
    json_t *reproduces;
    json_t *told; /* what was said of left-out devices and workloads, which other arms share */
    json_t *json;
};

/*
 * Loads the declarations, asks which devices are here (probe_run) and lays out cells and order.
 * Errors are those of the loaders and of probe_select; INVALID when a filter leaves nothing.
 */
enum status plan_build(const struct plan_request *request, struct plan *ret, struct error *err);

/*
 * `count` >= 2 arms of one cell or several, which differ in device, precision, implementation or
 * spec; each has a spec. Each arm is of one device, all come to as many cells, and those of a block
 * have the same workload, precision and batch, except where an arm sets it. Every round of the
 * order holds each block once, its arms one after the other, blocks and arms in random order; of
 * two arms each runs first in half of the rounds (but for one where their number is odd). INVALID
 * where the arms do not fit, or the protocol's results never compare.
 */
enum status plan_build_arms(const struct plan_request *arms, size_t count, struct plan *ret,
                            struct error *err);

/*
 * Whether a planned cell's declarations are still what was recorded: as this program reads the
 * record, and in the file that the workload came from, where there still is one. INVALID.
 */
enum status plan_check_cell(struct store *store, int64_t cell, struct error *err);

/*
 * The cell of a stored result once more (store_cell_json's `record`, and its campaign's `planned`
 * plan): declarations, precision, batch, scenario, implementation, seed, how its worker was
 * started, and, on a device of the same name, the sizes chosen then; all from the record and no
 * file. Recorded arrivals are taken out of `store`.
 * `device` NULL: the recorded one. NOT_FOUND or UNAVAILABLE: that device is not here.
 * UNSUPPORTED: this assay cannot run it as it was recorded, with the reason.
 */
enum status plan_from_record(const json_t *record, const json_t *planned, struct store *store,
                             const char *device, struct plan *ret, struct error *err);
void plan_finish(struct plan *plan);

/* "triad fp32" or "gpt2_small_prefill fp32 batch 4": for progress and messages; heap, NULL: no
 * memory. */
char *plan_cell_label(const struct plan_cell *cell);

/* Its case, as plan, message and record have it. */
struct store_case plan_case(const struct plan_cell *cell);

/* The body of the worker protocol's "trial" message for a cell; new object, NULL: no memory. */
json_t *plan_trial_json(const struct plan *plan, const struct plan_cell *cell);

#endif
