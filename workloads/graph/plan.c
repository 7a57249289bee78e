#include "workloads/graph/plan.h"

#include <stdlib.h>

#include "harness/core/cleanup.h"

#define ALIGN 8 /* elements: a cache line of fp64 */

/* The last node that reads each value; the writer where none does. */
static void find_last(const struct graph *graph, struct graph_plan *plan)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];

        for (size_t k = 0; k < node->out_count; k++)
            plan->places[node->out[k]] =
                (struct graph_place){.count = graph->values[node->out[k]].count,
                                     .first = i,
                                     .last = i,
                                     .lent = graph->values[node->out[k]].lent};
        for (size_t k = 0; k < node->in_count; k++)
            plan->places[node->in[k]].last = i;
        if (node->onto != GRAPH_NONE)
            plan->places[node->onto].last = i;
    }
}

static bool reads(const struct graph_node *node, uint32_t value)
{
    for (size_t i = 0; i < node->in_count; i++)
        if (node->in[i] == value)
            return true;
    return false;
}

/* The value in whose place the node's first output can lie; GRAPH_NONE: none. */
static uint32_t place_to_take(const struct graph *graph, const struct graph_plan *plan,
                              const struct graph_node *node)
{
    const bool adds = node->onto != GRAPH_NONE;
    const uint32_t value = adds ? node->onto : node->op->in_place ? node->in[0] : GRAPH_NONE;

    if (value == GRAPH_NONE || graph->values[value].role != GRAPH_COMPUTED ||
        (adds && reads(node, value)) ||
        graph->values[value].count != graph->values[node->out[0]].count ||
        &graph->nodes[plan->places[value].last] != node ||
        (graph->values[value].lent && graph->values[node->out[0]].lent))
        return GRAPH_NONE;
    return value;
}

static void share_places(const struct graph *graph, struct graph_plan *plan)
{
    for (uint32_t i = 0; i < graph->value_count; i++)
        plan->place_of[i] = graph->values[i].role == GRAPH_COMPUTED ? i : GRAPH_NONE;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        const uint32_t value = place_to_take(graph, plan, node);

        if (value != GRAPH_NONE)
            plan->place_of[node->out[0]] = plan->place_of[value];
    }
    /* Of those that share one, the last lives longest: values follow their writers. */
    for (uint32_t i = 0; i < graph->value_count; i++) {
        if (plan->place_of[i] != GRAPH_NONE && plan->place_of[i] != i) {
            struct graph_place *place = &plan->places[plan->place_of[i]];

            place->last = plan->places[i].last;
            place->lent = place->lent || plan->places[i].lent;
        }
    }
}

/* The places in use, by offset. */
struct in_use {
    uint32_t *values;
    size_t count;
};

/* The lowest gap that is large enough. */
static void put(struct graph_plan *plan, struct in_use *use, uint32_t value)
{
    const uint64_t count = (plan->places[value].count + ALIGN - 1) / ALIGN * ALIGN;
    uint64_t offset = 0;
    size_t at = 0;

    for (; at < use->count && plan->places[use->values[at]].offset < offset + count; at++) {
        const struct graph_place *other = &plan->places[use->values[at]];

        offset = (other->offset + other->count + ALIGN - 1) / ALIGN * ALIGN;
    }
    for (size_t i = use->count++; i > at; i--)
        use->values[i] = use->values[i - 1];
    use->values[at] = value;
    plan->places[value].offset = offset;
    plan->pool = offset + count > plan->pool ? offset + count : plan->pool;
}

static void release(const struct graph_plan *plan, struct in_use *use, uint32_t node)
{
    size_t kept = 0;

    for (size_t i = 0; i < use->count; i++)
        if (plan->places[use->values[i]].last > node)
            use->values[kept++] = use->values[i];
    use->count = kept;
}

enum status graph_plan_init(struct graph_plan *plan, const struct graph *graph, struct error *err)
{
    AUTO_FREE uint32_t *values = calloc(graph->value_count + 1, sizeof(*values));
    struct in_use use = {.values = values};

    *plan = (struct graph_plan){
        .places = calloc(graph->value_count + 1, sizeof(*plan->places)),
        .place_of = calloc(graph->value_count + 1, sizeof(*plan->place_of)),
    };
    if (!values || !plan->places || !plan->place_of)
        return error_no_memory(err);
    find_last(graph, plan);
    share_places(graph, plan);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];

        for (size_t k = 0; k < node->out_count; k++)
            if (plan->place_of[node->out[k]] == node->out[k] && !plan->places[node->out[k]].lent)
                put(plan, &use, node->out[k]);
        release(plan, &use, i);
    }
    return STATUS_OK;
}

void graph_plan_finish(struct graph_plan *plan)
{
    free(plan->places);
    free(plan->place_of);
}
