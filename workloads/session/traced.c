/* What a step of a session moves and computes, for a trace. */
#include "workloads/graph/cached.h"
#include "workloads/graph/operators.h"
#include "workloads/session/session.h"

#define STEP_VALUES 64 /* of a step: it does some nodes of at most 9 values */

struct step_values {
    uint32_t of[STEP_VALUES];
    size_t count;
};

static void add_value(struct step_values *values, uint32_t value)
{
    for (size_t i = 0; i < values->count; i++)
        if (values->of[i] == value)
            return;
    if (value != GRAPH_NONE && values->count < STEP_VALUES)
        values->of[values->count++] = value;
}

/* Of the keys and values of a cache, those of the positions before, and the token's written and
 * read.
 */
static uint64_t cache_elements(const struct graph_node *node, uint64_t count)
{
    const struct graph_attributes *of = &node->attributes;
    const uint64_t positions = graph_cache_pages(of->page, of->first + 1) * of->page;

    return count / positions * (of->first + 2);
}

/* Bytes that are moved of a value where `node` uses it. */
static uint64_t value_bytes(const struct session *session, const struct graph_node *node,
                            uint32_t value)
{
    const struct graph_value *of = &session->graph->values[value];
    const struct session_place *place = &session->places[value];
    const struct op_packed *packed = session->packed ? &session->packed[value] : NULL;
    uint64_t count = of->count;

    if (packed && packed->format)
        return op_packed_code_bytes(packed) + op_packed_scale_bytes(packed);
    if (of->role == GRAPH_INDICES)
        return count * sizeof(int32_t);
    if (!place->buffer)
        return 0;
    if (node->op == &graph_op_embedding && of->role == GRAPH_PARAMETER)
        count = session->graph->values[node->out[0]].count;
    if (node->op == &graph_op_attention_cached && of->role == GRAPH_INPUT)
        count = cache_elements(node, count);
    return count * (dtype_bits(place->type) / 8);
}

/* Its extent depends on tokens and routing. */
static bool is_by_data(const struct graph_op *op)
{
    return op == &graph_op_expert_product || op == &graph_op_embedding_gradient;
}

static void add_node(const struct session *session, const struct graph_node *node,
                     struct step_values *values, struct trace_operation *operation)
{
    const size_t before = values->count;

    for (size_t i = 0; i < node->in_count; i++)
        add_value(values, node->in[i]);
    for (size_t i = 0; i < node->out_count; i++)
        add_value(values, node->out[i]);
    add_value(values, node->onto);
    for (size_t i = before; i < values->count; i++)
        operation->bytes += value_bytes(session, node, values->of[i]);
    operation->flops += node->op->flops ? node->op->flops(session->graph, node) : 0;
}

enum status session_trace_step(const struct session *session, uint32_t first, struct error *err)
{
    const struct graph *graph = session->graph;
    const uint32_t end = session->steps[first].end;
    struct trace_operation operation = {.name = graph->values[graph->nodes[end - 1].out[0]].name,
                                        .kind = graph->nodes[first].op->name};
    struct step_values values = {.count = 0};
    bool by_data = false;

    for (uint32_t i = first; i < end; i++) {
        add_node(session, &graph->nodes[i], &values, &operation);
        by_data |= is_by_data(graph->nodes[i].op);
    }
    if (by_data)
        operation.bytes = TRACE_UNKNOWN;
    return trace_mark(session->trace, &operation, err);
}
