/*
 * A mixture of experts (Shazeer et al. 2017). Gates are (rows, experts): each expert's weight in a
 * row, of which `top` are not 0. What a row's experts make lies side by side, in the order of their
 * numbers. Attributes: top, of assign_experts experts.
 * choose_experts: scores (rows, experts) -> gates, the softmax of a row's `top` largest scores, of
 * equal ones the first (Qwen3, with normed weights); and the experts (rows, top), from the largest
 * score on. With experts (rows, top) given: of those.
 * assign_experts: routing (rows, 2 top), experts and their weights in 1/4096 -> gates.
 * expert_product: x (rows, inputs) or (rows, top inputs), weights (experts, inputs, outputs), gates
 * -> (rows, top outputs): each expert of a row on the row, or on what is its part of it.
 * combine_experts: x (rows, top outputs), gates -> (rows, outputs), the sum by the gates' weights.
 */
#include <math.h>
#include <string.h>

#include "workloads/graph/experts.h"
#include "workloads/graph/operators.h"

/* ---- which experts ---- */

static enum status check_top(const struct graph *graph, const struct graph_node *node, size_t index,
                             struct error *err)
{
    const struct graph_value *gates = graph_input(graph, node, index);
    const uint64_t top = node->attributes.top;

    TRY(graph_check_rank(graph, node, index, 2, err));
    if (top > 0 && top <= GRAPH_TOP_MOST && top <= graph_size(gates, 1))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "%llu of the %llu experts of %s cannot be chosen",
                     (unsigned long long)top, (unsigned long long)graph_size(gates, 1),
                     gates->name);
}

static enum status check_given(const struct graph *graph, const struct graph_node *node,
                               struct error *err)
{
    const struct graph_value *scores = graph_input(graph, node, 0);
    const struct graph_value *given = graph_input(graph, node, 1);

    TRY(graph_check_rank(graph, node, 1, 2, err));
    if (graph_size(given, 0) == graph_size(scores, 0) &&
        graph_size(given, 1) >= node->attributes.top)
        return STATUS_OK;
    return error_set(
        err, STATUS_INVALID, "%s has %llu rows of %llu, not %llu of %llu experts", given->name,
        (unsigned long long)graph_size(given, 0), (unsigned long long)graph_size(given, 1),
        (unsigned long long)graph_size(scores, 0), (unsigned long long)node->attributes.top);
}

static enum status choose_shape(const struct graph *graph, const struct graph_node *node,
                                struct graph_shape *ret, struct error *err)
{
    TRY(check_top(graph, node, 0, err));
    if (node->in_count > 1)
        TRY(check_given(graph, node, err));
    ret[0] = graph_input(graph, node, 0)->shape;
    ret[1] = (struct graph_shape){{ret[0].of[0], node->attributes.top}, 2};
    return STATUS_OK;
}

/* Whether an expert comes before another, by score and number. */
static bool comes_before(const double *scores, uint64_t a, uint64_t b)
{
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
}

/* The best of those that come after `last`; `experts`: of all. */
static uint64_t best_after(const double *scores, uint64_t experts, uint64_t last)
{
    uint64_t ret = experts;

    for (uint64_t e = 0; e < experts; e++)
        if ((last == experts || comes_before(scores, last, e)) &&
            (ret == experts || comes_before(scores, e, ret)))
            ret = e;
    return ret;
}

static enum status choose(const struct graph_step *step, struct error *err)
{
    const struct graph_value *scores = graph_input(step->graph, step->node, 0);
    const uint64_t experts = graph_size(scores, 1), top = step->node->attributes.top;
    const int32_t *given = step->node->in_count > 1 ? step->in[1].i32 : NULL;
    const uint64_t stride = given ? graph_size(graph_input(step->graph, step->node, 1), 1) : 0;

    (void)err;
    memset(step->out[0], 0, scores->count * sizeof(double));
    for (uint64_t r = 0; r < graph_size(scores, 0); r++) {
        const double *row = step->in[0].f64 + r * experts;
        double *gates = step->out[0] + r * experts, *chosen = step->out[1] + r * top, sum = 0.0;
        uint64_t last = experts;

        for (uint64_t s = 0; s < top; s++) {
            last = given ? (uint64_t)given[r * stride + s] : best_after(row, experts, last);
            last = last < experts ? last : s; /* of scores that are no numbers */
            chosen[s] = (double)last;
            gates[last] = exp(row[last] - row[(uint64_t)chosen[0]]);
            sum += gates[last];
        }
        for (uint64_t s = 0; s < top; s++)
            gates[(uint64_t)chosen[s]] /= sum;
    }
    return STATUS_OK;
}

static enum status assign_shape(const struct graph *graph, const struct graph_node *node,
                                struct graph_shape *ret, struct error *err)
{
    const struct graph_value *routing = graph_input(graph, node, 0);

    TRY(graph_check_rank(graph, node, 0, 2, err));
    if (graph_size(routing, 1) != 2 * node->attributes.top)
        return error_set(err, STATUS_INVALID,
                         "a row of %s has %llu numbers, not those of %llu experts", routing->name,
                         (unsigned long long)graph_size(routing, 1),
                         (unsigned long long)node->attributes.top);
    ret[0] = (struct graph_shape){{graph_size(routing, 0), node->attributes.experts}, 2};
    return STATUS_OK;
}

static enum status assign(const struct graph_step *step, struct error *err)
{
    const struct graph_value *gates = &step->graph->values[step->node->out[0]];
    const uint64_t top = step->node->attributes.top, experts = graph_size(gates, 1);

    (void)err;
    memset(step->out[0], 0, gates->count * sizeof(double));
    for (uint64_t r = 0; r < graph_size(gates, 0); r++) {
        const int32_t *routing = step->in[0].i32 + 2 * r * top;

        for (uint64_t s = 0; s < top; s++)
            step->out[0][r * experts + (uint64_t)routing[s]] =
                (double)routing[top + s] / GRAPH_ROUTING_UNIT;
    }
    return STATUS_OK;
}

/* ---- their products ---- */

uint64_t graph_experts_of(const double *gates, uint64_t experts, uint64_t top, uint64_t *ret)
{
    uint64_t count = 0;

    for (uint64_t e = 0; e < experts && count < top; e++)
        if (gates[e] != 0.0)
            ret[count++] = e;
    return count;
}

static enum status product_shape(const struct graph *graph, const struct graph_node *node,
                                 struct graph_shape *ret, struct error *err)
{
    const struct graph_value *x = graph_input(graph, node, 0), *w = graph_input(graph, node, 1);
    const struct graph_value *gates = graph_input(graph, node, 2);
    const uint64_t top = node->attributes.top;

    TRY(graph_check_rank(graph, node, 0, 2, err));
    TRY(graph_check_rank(graph, node, 1, 3, err));
    TRY(check_top(graph, node, 2, err));
    if (graph_size(w, 0) != graph_size(gates, 1) || graph_size(x, 0) != graph_size(gates, 0))
        return error_set(
            err, STATUS_INVALID, "%s and %s are of %llu experts and %llu rows, %s of %llu and %llu",
            w->name, x->name, (unsigned long long)graph_size(w, 0),
            (unsigned long long)graph_size(x, 0), gates->name,
            (unsigned long long)graph_size(gates, 1), (unsigned long long)graph_size(gates, 0));
    if (graph_size(x, 1) != graph_size(w, 1) && graph_size(x, 1) != top * graph_size(w, 1))
        return error_set(err, STATUS_INVALID,
                         "a row of %s has %llu elements, an expert of %s takes %llu", x->name,
                         (unsigned long long)graph_size(x, 1), w->name,
                         (unsigned long long)graph_size(w, 1));
    ret[0] = (struct graph_shape){{graph_size(x, 0), top * graph_size(w, 2)}, 2};
    return STATUS_OK;
}

/* y = x W of one expert. */
static void multiply(const double *x, const float *w, uint64_t inputs, uint64_t outputs, double *y)
{
    memset(y, 0, outputs * sizeof(*y));
    for (uint64_t p = 0; p < inputs; p++)
        for (uint64_t j = 0; j < outputs; j++)
            y[j] += x[p] * (double)w[p * outputs + j];
}

static enum status product(const struct graph_step *step, struct error *err)
{
    const struct graph_value *x = graph_input(step->graph, step->node, 0);
    const struct graph_value *w = graph_input(step->graph, step->node, 1);
    const uint64_t top = step->node->attributes.top, rows = graph_size(x, 0);
    const uint64_t experts = graph_size(w, 0), inputs = graph_size(w, 1);
    const uint64_t outputs = graph_size(w, 2), each = graph_size(x, 1) / inputs;

    (void)err;
#pragma omp parallel for schedule(static) if (rows * top * inputs * outputs > GRAPH_WORTH_THREADS)
    for (uint64_t i = 0; i < rows * top; i++) {
        const uint64_t r = i / top, s = i % top;
        double *y = step->out[0] + i * outputs;
        uint64_t of[GRAPH_TOP_MOST];

        if (s < graph_experts_of(step->in[2].f64 + r * experts, experts, top, of))
            multiply(step->in[0].f64 + (r * each + (each > 1 ? s : 0)) * inputs,
                     step->in[1].f32 + of[s] * inputs * outputs, inputs, outputs, y);
        else
            memset(y, 0, outputs * sizeof(*y));
    }
    return STATUS_OK;
}

static uint64_t product_flops(const struct graph *graph, const struct graph_node *node)
{
    const struct graph_value *w = graph_input(graph, node, 1);

    return graph_flops_of(graph_size(graph_input(graph, node, 0), 0) * node->attributes.top,
                          graph_size(w, 1), graph_size(w, 2));
}

static enum status combine_shape(const struct graph *graph, const struct graph_node *node,
                                 struct graph_shape *ret, struct error *err)
{
    const struct graph_value *x = graph_input(graph, node, 0), *gates = graph_input(graph, node, 1);
    const uint64_t top = node->attributes.top;

    TRY(graph_check_rank(graph, node, 0, 2, err));
    TRY(check_top(graph, node, 1, err));
    if (graph_size(x, 1) % top != 0 || graph_size(x, 0) != graph_size(gates, 0))
        return error_set(err, STATUS_INVALID,
                         "%s has %llu rows of %llu elements, not %llu of %llu experts", x->name,
                         (unsigned long long)graph_size(x, 0), (unsigned long long)graph_size(x, 1),
                         (unsigned long long)graph_size(gates, 0), (unsigned long long)top);
    ret[0] = (struct graph_shape){{graph_size(x, 0), graph_size(x, 1) / top}, 2};
    return STATUS_OK;
}

static enum status combine(const struct graph_step *step, struct error *err)
{
    const struct graph_value *gates = graph_input(step->graph, step->node, 1);
    const uint64_t top = step->node->attributes.top, experts = graph_size(gates, 1);
    const uint64_t outputs = graph_size(&step->graph->values[step->node->out[0]], 1);

    (void)err;
    for (uint64_t r = 0; r < graph_size(gates, 0); r++) {
        const double *row = step->in[1].f64 + r * experts;
        double *y = step->out[0] + r * outputs;
        uint64_t of[GRAPH_TOP_MOST];
        const uint64_t count = graph_experts_of(row, experts, top, of);

        memset(y, 0, outputs * sizeof(*y));
        for (uint64_t s = 0; s < count; s++)
            for (uint64_t j = 0; j < outputs; j++)
                y[j] += row[of[s]] * step->in[0].f64[(r * top + s) * outputs + j];
    }
    return STATUS_OK;
}

const struct graph_op graph_op_choose_experts = {
    .name = "choose_experts",
    .formula = "softmax of the top scores, of equal ones the first",
    .in_least = 1,
    .in_most = 2,
    .outputs = 2,
    .shape = choose_shape,
    .backward = graph_choose_backward,
    .reference = choose,
};

const struct graph_op graph_op_assign_experts = {
    .name = "assign_experts",
    .formula = "experts and weights as the law gives them",
    .in_least = 1,
    .in_most = 1,
    .outputs = 1,
    .shape = assign_shape,
    .reference = assign,
};

const struct graph_op graph_op_expert_product = {
    .name = "expert_product",
    .formula = "x W of each of a row's experts",
    .in_least = 3,
    .in_most = 3,
    .outputs = 1,
    .shape = product_shape,
    .backward = graph_product_backward,
    .flops = product_flops,
    .reference = product,
};

const struct graph_op graph_op_combine_experts = {
    .name = "combine_experts",
    .formula = "sum over a row's experts of gate x",
    .in_least = 2,
    .in_most = 2,
    .outputs = 1,
    .shape = combine_shape,
    .backward = graph_combine_backward,
    .reference = combine,
};
