/*
 * Mixtures of experts of a pass: the routing that a law gives, on the host and on the device, what
 * the router chose, and how many tokens each expert has.
 */
#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/graph/operators.h"
#include "workloads/pass/pass.h"
#include "workloads/storage.h"

struct pass_moe {
    uint64_t rows, experts; /* experts: the most of a mixture */
    struct layer {
        struct buffer *given, *chosen; /* by a law, i32; by the router, f32; NULL: not there */
        struct buffer *slopes;         /* the gates' gradient, f32; NULL: not trained */
        int32_t *experts;              /* of rows, `stride` apart; by a law weights, too */
        uint64_t stride;
        double *scores; /* of the latest reference's rows; heap */
    } * layers;         /* one a mixture */
    size_t count;
};

static bool is_law(const struct stack_routed *routed)
{
    return routed->moe->routing.law != MOE_MODEL;
}

/* Whether experts' weights are the law's, too: not where they are trained. */
static bool is_assigned(const struct stack_graph *graph, const struct stack_routed *routed)
{
    return is_law(routed) && graph->graph->nodes[routed->choose].in_count == 1;
}

/* ---- what is known without a device ---- */

/* The routing of a mixture over `rows`, by a law; heap. */
static enum status route(const struct stack_routed *routed, uint64_t rows, int32_t **ret,
                         struct error *err)
{
    *ret = malloc(2 * rows * (uint64_t)routed->moe->top * sizeof(**ret));
    if (!*ret)
        return error_no_memory(err);
    moe_route(routed->moe, (uint64_t)routed->moe->routing.seed, routed->block, rows, *ret);
    return STATUS_OK;
}

static uint64_t rows_of(const struct stack_graph *graph)
{
    return graph->graph->values[graph->tokens].count;
}

static enum status load_of(const struct stack_graph *graph, size_t layer, struct moe_load *ret,
                           struct error *err)
{
    const struct stack_routed *routed = &graph->routed[layer];
    const uint64_t rows = rows_of(graph), top = (uint64_t)routed->moe->top;
    AUTO_FREE int32_t *routing = NULL;

    *ret = (struct moe_load){.routed = rows * top,
                             .touched = rows * top < (uint64_t)routed->moe->experts
                                            ? rows * top
                                            : (uint64_t)routed->moe->experts};
    if (!is_law(routed))
        return STATUS_OK;
    TRY(route(routed, rows, &routing, err));
    *ret = moe_load_of(routed->moe, routing, rows, 2 * top);
    return STATUS_OK;
}

/* Elements of one expert's matrices in that block. */
static uint64_t expert_size(const struct stack_graph *graph, uint32_t gates)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < graph->graph->node_count; i++) {
        const struct graph_node *node = &graph->graph->nodes[i];

        if (node->op == &graph_op_expert_product && node->in[2] == gates)
            sum += graph_size(graph_input(graph->graph, node, 1), 1) *
                   graph_size(graph_input(graph->graph, node, 1), 2);
    }
    return sum;
}

/* The value by which a mixture's products go. */
static uint32_t gates_of(const struct stack_graph *graph, size_t layer)
{
    const struct stack_routed *routed = &graph->routed[layer];

    return graph->graph->nodes[routed->choose + (is_assigned(graph, routed) ? 1 : 0)].out[0];
}

enum status pass_moe_unread(const struct stack_graph *graph, uint64_t *ret, struct error *err)
{
    *ret = 0;
    for (size_t i = 0; i < graph->routed_count; i++) {
        struct moe_load load;

        TRY(load_of(graph, i, &load, err));
        *ret += ((uint64_t)graph->routed[i].moe->experts - load.touched) *
                expert_size(graph, gates_of(graph, i));
    }
    return STATUS_OK;
}

double pass_moe_draws(const struct stack_graph *graph)
{
    double sum = 0.0;

    for (size_t i = 0; i < graph->routed_count; i++)
        if (is_law(&graph->routed[i]))
            sum += (double)rows_of(graph) * (double)graph->routed[i].moe->top *
                   (double)graph->routed[i].moe->experts;
    return sum;
}

uint64_t pass_moe_bytes(const struct stack_graph *graph)
{
    uint64_t lists = 0, sum = 0;

    for (size_t i = 0; i < graph->routed_count; i++) {
        const struct moe *moe = graph->routed[i].moe;
        const uint64_t mine = op_experts_bytes(rows_of(graph), (uint64_t)moe->experts);
        /* Routing, and the choice. */
        const uint64_t numbers = (is_law(&graph->routed[i]) ? 2 : 0) +
                                 (graph->graph->nodes[graph->routed[i].choose].in_count == 1);

        sum += numbers * rows_of(graph) * (uint64_t)moe->top * sizeof(int32_t);
        if (graph->loss)
            sum += rows_of(graph) * (uint64_t)moe->experts * sizeof(float);
        lists = mine > lists ? mine : lists;
    }
    return sum + lists;
}

/* What mixtures of a stack have in common, from the least to the most. */
struct spread {
    uint64_t least, most; /* experts that are touched */
    double low, high;     /* the largest over the mean */
};

static enum status spread_of(const struct stack_graph *graph, struct spread *ret, struct error *err)
{
    *ret = (struct spread){.least = UINT64_MAX, .low = 1e300};
    for (size_t i = 0; i < graph->routed_count; i++) {
        struct moe_load load;
        double imbalance;

        TRY(load_of(graph, i, &load, err));
        imbalance = moe_imbalance(graph->routed[i].moe, &load);
        ret->least = load.touched < ret->least ? load.touched : ret->least;
        ret->most = load.touched > ret->most ? load.touched : ret->most;
        ret->low = imbalance < ret->low ? imbalance : ret->low;
        ret->high = imbalance > ret->high ? imbalance : ret->high;
    }
    return STATUS_OK;
}

void pass_moe_describe(const struct stack_graph *graph, struct text *ret)
{
    const struct moe *moe = graph->routed_count ? graph->routed[0].moe : NULL;
    struct spread spread;

    if (!moe || !is_law(&graph->routed[0]) || spread_of(graph, &spread, NULL) != STATUS_OK)
        return;
    text_append_format(ret,
                       "routing of %llu token%s: %.3g an expert, %llu to %llu of %lld experts "
                       "touched in a layer, the largest %.3g to %.3g times the mean\n",
                       (unsigned long long)rows_of(graph), rows_of(graph) == 1 ? "" : "s",
                       (double)rows_of(graph) * (double)moe->top / (double)moe->experts,
                       (unsigned long long)spread.least, (unsigned long long)spread.most,
                       (long long)moe->experts, spread.low, spread.high);
}

/* ---- on a device ---- */

void pass_moe_destroy(struct pass_moe *moe)
{
    if (!moe)
        return;
    for (size_t i = 0; i < moe->count; i++) {
        device_buffer_free(moe->layers[i].given);
        device_buffer_free(moe->layers[i].chosen);
        device_buffer_free(moe->layers[i].slopes);
        free(moe->layers[i].experts);
        free(moe->layers[i].scores);
    }
    free(moe->layers);
    free(moe);
}

static struct session_place place(struct buffer *buffer, enum dtype type, uint64_t columns,
                                  const struct session_place *before)
{
    return (struct session_place){.buffer = buffer,
                                  .type = type,
                                  .columns = columns,
                                  .stride = columns,
                                  .rows = type == DTYPE_F32,
                                  .last_read = before->last_read};
}

/* In f32: of its differences the router's gradient is made. */
static enum status place_slopes(struct pass_instance *instance, size_t number, struct error *err)
{
    const struct graph_value *values = instance->graph.graph->values;
    const struct graph_value *gates = &values[gates_of(&instance->graph, number)];
    struct layer *layer = &instance->moe->layers[number];
    struct session_place *at = &instance->session.places[gates->gradient];

    TRY(device_buffer_alloc(instance->base.device, gates->count * sizeof(float), BUFFER_READ_WRITE,
                            &layer->slopes, err));
    *at = place(layer->slopes, DTYPE_F32, graph_size(gates, 1), at);
    return STATUS_OK;
}

static enum status place_layer(struct pass_instance *instance, size_t number, struct error *err)
{
    const struct stack_routed *routed = &instance->graph.routed[number];
    const uint64_t rows = instance->moe->rows, top = (uint64_t)routed->moe->top;
    struct layer *layer = &instance->moe->layers[number];
    struct session_place *places = instance->session.places;
    const uint32_t choice = instance->graph.graph->nodes[routed->choose].out[1];

    layer->stride = (is_law(routed) ? 2 : 1) * top;
    layer->experts = malloc(rows * layer->stride * sizeof(*layer->experts));
    if (!layer->experts)
        return error_no_memory(err);
    if (!is_law(routed) || is_assigned(&instance->graph, routed)) {
        TRY(device_buffer_alloc(instance->base.device, rows * top * sizeof(float),
                                BUFFER_READ_WRITE, &layer->chosen, err));
        places[choice] = place(layer->chosen, DTYPE_F32, top, &places[choice]);
    }
    if (!is_law(routed))
        return STATUS_OK;
    TRY(device_buffer_alloc(instance->base.device, 2 * rows * top * sizeof(int32_t),
                            BUFFER_READ_WRITE, &layer->given, err));
    places[routed->routing] = place(layer->given, DTYPE_I32, 2 * top, &places[routed->routing]);
    return STATUS_OK;
}

enum status pass_moe_prepare(struct pass_instance *instance, struct error *err)
{
    const struct stack_graph *graph = &instance->graph;
    struct pass_moe *moe;

    if (graph->routed_count == 0)
        return STATUS_OK;
    moe = instance->moe = calloc(1, sizeof(*moe));
    if (!moe)
        return error_no_memory(err);
    moe->rows = rows_of(graph);
    moe->layers = calloc(graph->routed_count, sizeof(*moe->layers));
    if (!moe->layers)
        return error_no_memory(err);
    for (; moe->count < graph->routed_count; moe->count++) {
        const uint64_t mine = (uint64_t)graph->routed[moe->count].moe->experts;

        moe->experts = mine > moe->experts ? mine : moe->experts;
    }
    for (size_t i = 0; i < moe->count; i++) {
        TRY(place_layer(instance, i, err));
        if (instance->training)
            TRY(place_slopes(instance, i, err));
    }
    TRY(ops_experts(instance->ops, moe->rows, moe->experts, err));
    return pass_moe_draw(instance, 0, err);
}

enum status pass_moe_draw(struct pass_instance *instance, uint64_t secret, struct error *err)
{
    struct pass_moe *moe = instance->moe;

    for (size_t i = 0; moe && i < moe->count; i++) {
        const struct stack_routed *routed = &instance->graph.routed[i];
        const uint64_t seed = (uint64_t)routed->moe->routing.seed;

        if (!is_law(routed))
            continue;
        moe_route(routed->moe, secret ? random_keyed(secret, seed) : seed, routed->block, moe->rows,
                  moe->layers[i].experts);
        TRY(device_upload(moe->layers[i].given, 0, moe->layers[i].experts,
                          moe->rows * moe->layers[i].stride * sizeof(int32_t), err));
    }
    return moe ? op_experts_forget(instance->ops, moe->experts, err) : STATUS_OK;
}

static size_t number_of(const struct stack_layout *layout, uint32_t value)
{
    size_t ret = 0;

    while (layout->parameters[ret].value != value)
        ret++;
    return ret;
}

/* The window of one weight, over the experts of drawn rows. */
static void aim(const struct pass_instance *instance, const struct layer *layer,
                const struct graph_node *product, struct random *random,
                struct adamw_window *windows)
{
    const struct graph_value *w = graph_input(instance->graph.graph, product, 1);
    const uint64_t size = graph_size(w, 1) * graph_size(w, 2);
    const uint64_t row = random_next_below(random, instance->moe->rows);
    const uint64_t expert = (uint64_t)layer->experts[row * layer->stride];
    const size_t number = number_of(&instance->layout, product->in[1]);
    const uint64_t count = windows[number].count < size ? windows[number].count : size;

    windows[number].count = count;
    windows[number].offset = instance->layout.parameters[number].offset + expert * size +
                             random_next_below(random, size - count + 1);
}

void pass_moe_aim(const struct pass_instance *instance, struct random *random,
                  struct adamw_window *windows)
{
    const struct graph *graph = instance->graph.graph;

    for (size_t i = 0; i < instance->graph.routed_count; i++)
        for (size_t k = 0; k < instance->graph.forward; k++)
            if (graph->nodes[k].op == &graph_op_expert_product &&
                graph->nodes[k].in[2] == gates_of(&instance->graph, i))
                aim(instance, &instance->moe->layers[i], &graph->nodes[k], random, windows);
}

/* What the router chose in the latest pass. What is no number of an expert is that of its place. */
static enum status fetch_choice(const struct pass_instance *instance, size_t number,
                                struct error *err)
{
    const struct moe *moe = instance->graph.routed[number].moe;
    struct layer *layer = &instance->moe->layers[number];
    const uint64_t count = instance->moe->rows * layer->stride;
    AUTO_FREE float *chosen = malloc(count * sizeof(*chosen));

    if (!chosen)
        return error_no_memory(err);
    TRY(storage_download(layer->chosen, DTYPE_F32, 0, count, chosen, err));
    for (uint64_t i = 0; i < count; i++)
        layer->experts[i] = chosen[i] >= 0.0f && chosen[i] < (float)moe->experts
                                ? (int32_t)chosen[i]
                                : (int32_t)(i % layer->stride);
    return STATUS_OK;
}

static uint32_t scores_of(const struct stack_graph *graph, size_t layer)
{
    return graph->graph->nodes[graph->routed[layer].choose].in[0];
}

void pass_moe_lend(const struct stack_graph *graph)
{
    for (size_t i = 0; i < graph->routed_count; i++)
        graph_lend(graph->graph, scores_of(graph, i));
}

static enum status lend_scores(struct layer *layer, const struct stack_reference *reference,
                               size_t number, struct error *err)
{
    const uint32_t value = scores_of(&reference->graph, number);

    free(layer->scores);
    layer->scores = malloc(reference->graph.graph->values[value].count * sizeof(*layer->scores));
    if (!layer->scores)
        return error_no_memory(err);
    graph_interpreter_lend(reference->interpreter, value, layer->scores);
    return STATUS_OK;
}

enum status pass_moe_give(const struct pass_instance *instance,
                          const struct stack_reference *reference, uint64_t row, struct error *err)
{
    for (size_t i = 0; i < reference->graph.routed_count; i++) {
        const struct stack_routed *routed = &reference->graph.routed[i];
        struct layer *layer = &instance->moe->layers[i];
        const struct graph_array array = {.i32 = layer->experts + row * layer->stride};

        TRY(lend_scores(layer, reference, i, err));
        if (!is_law(routed))
            TRY(fetch_choice(instance, i, err));
        graph_interpreter_give(reference->interpreter,
                               is_law(routed) ? routed->routing : routed->chosen, array);
    }
    return STATUS_OK;
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

/* Of a row the scores of what was chosen, beside the largest. Those are sorted. */
static void compare_row(const struct moe *moe, const float *chosen, double *scores,
                        struct comparison *comparison)
{
    float got[MOE_TOP_MAX];

    for (int64_t s = 0; s < moe->top; s++)
        got[s] = chosen[s] >= 0.0f && chosen[s] < (float)moe->experts
                     ? (float)scores[(uint64_t)chosen[s]]
                     : NAN;
    qsort(scores, (size_t)moe->experts, sizeof(*scores), descending);
    comparison_add(comparison, got, scores, (uint64_t)moe->top);
}

enum status pass_moe_compare(const struct pass_instance *instance, uint64_t row, uint64_t rows,
                             struct comparison *comparison, struct error *err)
{
    for (size_t i = 0; instance->moe && i < instance->moe->count; i++) {
        const struct moe *moe = instance->graph.routed[i].moe;
        const struct layer *layer = &instance->moe->layers[i];
        const uint64_t top = (uint64_t)moe->top;
        AUTO_FREE float *chosen = malloc(rows * top * sizeof(*chosen));

        if (!chosen)
            return error_no_memory(err);
        TRY(storage_download(layer->chosen, DTYPE_F32, row * top, rows * top, chosen, err));
        for (uint64_t r = 0; r < rows; r++)
            compare_row(moe, chosen + r * top, layer->scores + r * (uint64_t)moe->experts,
                        comparison);
    }
    return STATUS_OK;
}

json_t *pass_moe_facts(const struct pass_instance *instance)
{
    json_t *ret = json_array();

    for (size_t i = 0; ret && i < instance->moe->count; i++) {
        const struct stack_routed *routed = &instance->graph.routed[i];
        const struct layer *layer = &instance->moe->layers[i];
        struct moe_load load;

        if (!is_law(routed) && fetch_choice(instance, i, NULL) != STATUS_OK)
            continue;
        load = moe_load_of(routed->moe, layer->experts, instance->moe->rows, layer->stride);
        json_array_append_new(
            ret, json_pack("{s:I, s:s, s:I, s:I, s:f, s:I, s:I, s:I, s:f}", "block",
                           (json_int_t)routed->block, "law", moe_law_name(routed->moe->routing.law),
                           "experts", (json_int_t)routed->moe->experts, "touched",
                           (json_int_t)load.touched, "tokens_mean",
                           (double)load.routed / (double)routed->moe->experts, "tokens_least",
                           (json_int_t)load.least, "tokens_most", (json_int_t)load.most, "routed",
                           (json_int_t)load.routed, "largest_over_mean",
                           moe_imbalance(routed->moe, &load)));
    }
    return ret;
}
