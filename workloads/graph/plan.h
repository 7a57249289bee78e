/*
 * plan - where computed values lie: places in one pool, each used again when what lay there has
 * been read for the last time.
 */
#ifndef ASSAY_WORKLOADS_GRAPH_PLAN_H
#define ASSAY_WORKLOADS_GRAPH_PLAN_H

#include "workloads/graph/graph.h"

/* What values that follow each other in one place have in common, by the first of them. */
struct graph_place {
    uint64_t offset, count; /* elements, into the pool */
    uint32_t first, last;   /* nodes: the first that writes it, the last that uses it */
    bool lent;              /* not in the pool */
};

struct graph_plan {
    struct graph_place *places; /* one a value; of those that share one, the first's counts */
    uint32_t *place_of;         /* the value whose place it is; GRAPH_NONE: given */
    uint64_t pool;              /* elements */
};

/*
 * A value takes the place of what it is added to, or of its operator's first input where that may
 * be (graph_op.in_place), if nothing reads the other any more; else the lowest gap in the pool.
 */
enum status graph_plan_init(struct graph_plan *plan, const struct graph *graph, struct error *err);
void graph_plan_finish(struct graph_plan *plan);

#endif
