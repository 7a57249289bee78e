/*
 * contract - what a supplier declares of figures, and what a buyer will not accept, in YAML:
 *
 *   contract: tender_7
 *   version: 1
 *   description: What is promised of one accelerator
 *   nonce: buyer-4711            # optional: then the plan must have it
 *   protocol: standard           # optional: of `assay run --contract`
 *   under: [contention, steal]   # optional: conditions (condition.h) under which it is judged, too
 *   items:
 *     - cell: {workload: gemm, precision: fp32, batch: 1, implementation: vendor, device: cuda:0}
 *       metric: op_rate
 *       limit: at_least          # or at_most
 *       declared: 950 GFLOP/s    # the claim
 *       limiting: 900 GFLOP/s    # what must not be accepted
 *       alpha: 0.05              # risk that a true claim is rejected (default 0.05)
 *       beta: 0.1                # risk that the limiting quality is accepted (default 0.1)
 *       trials: 10               # planned; fewer decide nothing
 *       units: {count: 29, share: 0.9, confidence: 0.95, declared: 0.99}   # optional: a fleet
 *
 * Of a cell only `workload` must be named; the other members choose among its cells. Of a fleet
 * each of `count` units is judged by the item; `share` of all units must be shown to conform.
 * Rules: protocols/acceptance.h.
 */
#ifndef ASSAY_PROTOCOLS_CONTRACT_H
#define ASSAY_PROTOCOLS_CONTRACT_H

#include <jansson.h>

#include "harness/core/digest.h"
#include "protocols/acceptance.h"
#include "protocols/metric.h"

#define CONTRACT_ITEMS_MAX 64

struct declaration;

struct contract {
    struct declaration *declaration; /* heap; for contract_locate */
    json_t *json;                    /* what is stored; durations and figures as written */
    struct digest digest;            /* of its canonical form */
};

/* Reads and checks a contract. INVALID: "FILE:LINE: ..."; as declaration_load otherwise. */
enum status contract_load(const char *path, struct contract *ret, struct error *err);
/* Puts FILE:LINE before a message of contract_item_read or judgement_accept. */
void contract_locate(const struct contract *contract, struct error *err);
void contract_finish(struct contract *contract); /* takes a zeroed one */

struct contract_item {
    enum metric_id metric;
    struct acceptance_rule rule; /* base units; its levels mean nothing without `unit` */
    uint64_t trials, units;      /* units 0: no fleet */
    struct acceptance_fleet fleet;
};

/*
 * Reads and checks item `index` of a contract's JSON. `unit`: that of the metric for the result
 * that is judged; NULL: not known yet. INVALID: "items[1].declared: what to write".
 */
enum status contract_item_read(const json_t *contract, size_t index, const char *unit,
                               struct contract_item *ret, struct error *err);

/*
 * Both parties' risks before anything is measured, where logarithms vary between trials by `sd`.
 * New object in `ret`, as contract_power_type describes it; the chances of a characteristic lie
 * evenly on a log scale from the declared level to the limiting one. All items are accepted
 * (without their fleets) at least as likely as the last member says.
 * The unit of a rate or energy is the one that is written, without its prefix, since the workload
 * is not read. INVALID, with the item's place: the levels' units differ.
 */
enum status contract_power(const struct contract *contract, double sd, json_t **ret,
                           struct error *err);
extern const struct type contract_power_type;

/*
 * The margin of the protocol that a contract's JSON names, where it is one of assay's own, else
 * that of `standard`: a file that somebody else's contract names is not opened.
 */
double contract_margin(const json_t *contract);

#endif
