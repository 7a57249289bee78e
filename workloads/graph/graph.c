#include "workloads/graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/graph/operators.h"

#define COUNT_MAX (UINT64_C(1) << 48) /* elements of a value */

enum status graph_create(struct graph **ret, struct error *err)
{
    struct graph *graph = calloc(1, sizeof(*graph));

    if (!graph)
        return error_no_memory(err);
    *ret = graph;
    return STATUS_OK;
}

void graph_destroy(struct graph *graph)
{
    if (!graph)
        return;
    free(graph->values);
    free(graph->nodes);
    free(graph);
}

/* Room for one more of `size` bytes. */
static enum status grow(void **items, size_t count, size_t *capacity, size_t size,
                        struct error *err)
{
    const size_t wanted = *capacity ? 2 * *capacity : 64;
    void *more;

    if (count < *capacity)
        return STATUS_OK;
    more = wanted < GRAPH_NONE ? realloc(*items, wanted * size) : NULL;
    if (!more)
        return error_no_memory(err);
    *items = more;
    *capacity = wanted;
    return STATUS_OK;
}

static enum status count_elements(const char *name, const struct graph_shape *shape, uint64_t *ret,
                                  struct error *err)
{
    uint64_t count = 1;

    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->of[i] == 0 || shape->of[i] > COUNT_MAX / count)
            return error_set(err, STATUS_INVALID,
                             "%s has no or more than 2^48 elements: dimension %u is %llu", name,
                             (unsigned)i + 1, (unsigned long long)shape->of[i]);
        count *= shape->of[i];
    }
    *ret = count;
    return STATUS_OK;
}

static enum status add_value(struct graph *graph, struct graph_value value, uint32_t *ret,
                             struct error *err)
{
    TRY(count_elements(value.name, &value.shape, &value.count, err));
    TRY(grow((void **)&graph->values, graph->value_count, &graph->value_capacity, sizeof(value),
             err));
    value.gradient = GRAPH_NONE;
    *ret = (uint32_t)graph->value_count;
    graph->values[graph->value_count++] = value;
    return STATUS_OK;
}

enum status graph_give(struct graph *graph, enum graph_role role, const char *name,
                       struct graph_shape shape, uint32_t *ret, struct error *err)
{
    struct graph_value value = {.role = role, .shape = shape, .writer = GRAPH_NONE};

    snprintf(value.name, sizeof(value.name), "%s", name);
    return add_value(graph, value, ret, err);
}

void graph_lend(struct graph *graph, uint32_t value)
{
    graph->values[value].lent = true;
}

static enum status add_node(struct graph *graph, struct graph_node *node, const char *name,
                            struct error *err)
{
    struct graph_shape shapes[GRAPH_OUTPUTS_MAX] = {0};
    struct error refusal = ERROR_INIT;

    if (node->in_count < node->op->in_least || node->in_count > node->op->in_most)
        return error_set(err, STATUS_INTERNAL, "%s (%s) has %zu inputs", name, node->op->name,
                         node->in_count);
    if (node->op->shape(graph, node, shapes, &refusal) != STATUS_OK)
        return error_set(err, STATUS_INVALID, "%s (%s): %s", name, node->op->name, refusal.message);
    node->out_count = node->op->outputs;
    for (size_t i = 0; i < node->out_count; i++) {
        struct graph_value value = {
            .role = GRAPH_COMPUTED, .shape = shapes[i], .writer = (uint32_t)graph->node_count};

        snprintf(value.name, sizeof(value.name), i > 0 ? "%.40s.%zu" : "%s", name, i);
        TRY(add_value(graph, value, &node->out[i], err));
    }
    TRY(grow((void **)&graph->nodes, graph->node_count, &graph->node_capacity, sizeof(*node), err));
    graph->nodes[graph->node_count++] = *node;
    return STATUS_OK;
}

enum status graph_add(struct graph *graph, const struct graph_op *op,
                      struct graph_attributes attributes, const char *name, const uint32_t *in,
                      size_t count, uint32_t *ret, struct error *err)
{
    struct graph_node node = {
        .op = op, .attributes = attributes, .in_count = count, .onto = GRAPH_NONE};

    memcpy(node.in, in, count * sizeof(*in));
    TRY(add_node(graph, &node, name, err));
    *ret = node.out[0];
    return STATUS_OK;
}

/* ---- for operators ---- */

const struct graph_value *graph_input(const struct graph *graph, const struct graph_node *node,
                                      size_t index)
{
    return &graph->values[node->in[index]];
}

uint64_t graph_size(const struct graph_value *value, int index)
{
    return value->shape.of[index < 0 ? (int)value->shape.rank + index : index];
}

uint64_t graph_flops_of(uint64_t a, uint64_t b, uint64_t c)
{
    const unsigned __int128 flops = (unsigned __int128)a * b, most = UINT64_MAX / 2;

    return flops > most || (c > 0 && flops > most / c) ? UINT64_MAX : (uint64_t)(2 * flops * c);
}

enum status graph_check_rank(const struct graph *graph, const struct graph_node *node, size_t index,
                             uint32_t rank, struct error *err)
{
    const struct graph_value *value = graph_input(graph, node, index);

    if (value->shape.rank == rank)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "its input %s has %u dimensions, not %u", value->name,
                     (unsigned)value->shape.rank, (unsigned)rank);
}

enum status graph_check_heads(const struct graph *graph, const struct graph_node *node,
                              size_t index, struct error *err)
{
    const struct graph_value *x = graph_input(graph, node, index);
    const uint64_t heads = node->attributes.heads, kv_heads = node->attributes.kv_heads;

    if (kv_heads == 0 || heads % kv_heads != 0)
        return error_set(err, STATUS_INVALID,
                         "%llu heads of queries cannot share %llu of keys and values",
                         (unsigned long long)heads, (unsigned long long)kv_heads);
    if (graph_size(x, 1) % (heads + 2 * kv_heads) != 0)
        return error_set(err, STATUS_INVALID,
                         "a row of %s has %llu elements, no multiple of %llu heads", x->name,
                         (unsigned long long)graph_size(x, 1),
                         (unsigned long long)(heads + 2 * kv_heads));
    return STATUS_OK;
}

uint64_t graph_head_size(const struct graph *graph, const struct graph_node *node, size_t index)
{
    return graph_size(graph_input(graph, node, index), -1) /
           (node->attributes.heads + 2 * node->attributes.kv_heads);
}

uint32_t graph_gradient_before(const struct graph *graph, uint32_t gradient)
{
    const struct graph_node *writer = &graph->nodes[graph->values[gradient].writer];

    return writer->out[0] == gradient ? writer->onto : GRAPH_NONE;
}

enum status graph_shape_of_alike(const struct graph *graph, const struct graph_node *node,
                                 struct graph_shape *ret, struct error *err)
{
    const struct graph_value *a = graph_input(graph, node, 0), *b = graph_input(graph, node, 1);

    if (a->count != b->count)
        return error_set(err, STATUS_INVALID, "%s has %llu elements, %s has %llu", a->name,
                         (unsigned long long)a->count, b->name, (unsigned long long)b->count);
    ret[0] = a->shape;
    return STATUS_OK;
}

enum status graph_shape_of_first(const struct graph *graph, const struct graph_node *node,
                                 struct graph_shape *ret, struct error *err)
{
    (void)err;
    ret[0] = graph_input(graph, node, 0)->shape;
    return STATUS_OK;
}

enum status graph_shape_of_operands(const struct graph *graph, const struct graph_node *node,
                                    struct graph_shape *ret, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < node->op->outputs; i++)
        ret[i] = graph_input(graph, node, i + 1)->shape;
    return STATUS_OK;
}

/* ---- the derivative ---- */

uint32_t graph_gradient_of(const struct graph *graph, const struct graph_node *node, size_t index)
{
    return graph->values[node->out[index]].gradient;
}

enum status graph_pass_gradient(struct graph *graph, uint32_t value, uint32_t gradient,
                                struct error *err)
{
    const uint32_t before = graph->values[value].gradient, both[] = {before, gradient};
    char name[GRAPH_NAME_MAX + 4];

    if (before != GRAPH_NONE) {
        snprintf(name, sizeof(name), "d.%s", graph->values[value].name);
        TRY(graph_add(graph, &graph_op_add, (struct graph_attributes){0}, name, both, 2, &gradient,
                      err));
    }
    graph->values[value].gradient = gradient;
    return STATUS_OK;
}

enum status graph_add_gradient(struct graph *graph, const struct graph_op *op,
                               struct graph_attributes attributes, const uint32_t *in, size_t count,
                               const uint32_t *of, struct error *err)
{
    struct graph_node node = {.op = op,
                              .attributes = attributes,
                              .in_count = count,
                              .onto = graph->values[of[0]].gradient};
    char name[GRAPH_NAME_MAX + 4];

    memcpy(node.in, in, count * sizeof(*in));
    snprintf(name, sizeof(name), "d.%s", graph->values[of[0]].name);
    TRY(add_node(graph, &node, name, err));
    graph->values[of[0]].gradient = node.out[0];
    for (size_t i = 1; i < node.out_count; i++)
        if (of[i] != GRAPH_NONE)
            TRY(graph_pass_gradient(graph, of[i], node.out[i], err));
    return STATUS_OK;
}

enum status graph_backward(struct graph *graph, uint32_t value, uint32_t seed, struct error *err)
{
    const uint32_t last = graph->values[value].writer;

    graph->values[value].gradient = seed;
    for (uint32_t i = last + 1; i-- > 0;) {
        const struct graph_node node = graph->nodes[i]; /* others are added */
        bool wanted = i == last;

        for (size_t k = 0; k < node.out_count; k++)
            wanted = wanted || graph->values[node.out[k]].gradient != GRAPH_NONE;
        if (wanted && !node.op->backward)
            return error_set(err, STATUS_INVALID, "%s (%s) has no derivative",
                             graph->values[node.out[0]].name, node.op->name);
        if (wanted)
            TRY(node.op->backward(graph, node, err));
    }
    return STATUS_OK;
}
