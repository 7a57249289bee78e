/* Drawn rows of what a step writes against the reference of its nodes, from the step's inputs as
 * the device has them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/check/compare.h"
#include "workloads/graph/interpreter.h"
#include "workloads/session/session.h"
#include "workloads/storage.h"

#define STEPS 16                            /* of a pass, about */
#define PARAMETERS_MOST ((uint64_t)1 << 22) /* of one that is read for a row */
#define INPUTS_MOST ((uint64_t)1 << 24)     /* the same of an input of the graph */
#define POSITIONS_MOST 32 /* of a sequence, where a row depends on those before it */
#define VALUES (2 * (GRAPH_INPUTS_MAX + GRAPH_OUTPUTS_MAX)) /* of a step of two nodes */

/* The nodes of a step as a graph of their own, over the rows [from, from + rows) of the pass. */
struct part {
    const struct session *session;
    uint32_t first, end; /* nodes */
    uint64_t from, rows;
    struct graph *graph;
    struct graph_interpreter *interpreter;
    uint32_t of[VALUES]; /* by value of the part: the session's; GRAPH_NONE: computed here */
    void *arrays[VALUES];
};

static void part_finish(struct part *part)
{
    graph_interpreter_destroy(part->interpreter);
    graph_destroy(part->graph);
    for (size_t i = 0; i < VALUES; i++)
        free(part->arrays[i]);
}

/* Elements of a place as f32, from row `from` of a pass on. Heap. */
static enum status fetch(const struct session *session, uint32_t value, uint64_t from,
                         uint64_t count, float **ret, struct error *err)
{
    const struct session_place *place = &session->places[value];
    AUTO_FREE float *numbers = malloc(count * sizeof(*numbers));

    if (!numbers)
        return error_no_memory(err);
    TRY(storage_download(place->buffer, place->type,
                         session_at(session, value).offset + from * place->stride, count, numbers,
                         err));
    *ret = numbers;
    numbers = NULL;
    return STATUS_OK;
}

/* Whether it is there as a whole, and not row by row. */
static bool is_whole(const struct graph_value *value)
{
    return value->role == GRAPH_PARAMETER || value->role == GRAPH_INPUT;
}

/* The part's value of the session's, given where it is not yet there. */
static enum status take_value(struct part *part, uint32_t value, uint32_t *ret, struct error *err)
{
    const struct graph_value *of = &part->session->graph->values[value];
    struct graph_shape shape = of->shape;

    for (*ret = 0; *ret < part->graph->value_count; (*ret)++)
        if (part->of[*ret] == value)
            return STATUS_OK;
    if (!is_whole(of))
        shape.of[0] = part->rows;
    part->of[*ret] = value;
    return graph_give(part->graph, of->role == GRAPH_COMPUTED ? GRAPH_INPUT : of->role, of->name,
                      shape, ret, err);
}

static enum status add_nodes(struct part *part, uint32_t *ret_out, struct error *err)
{
    for (uint32_t i = part->first; i < part->end; i++) {
        const struct graph_node *node = &part->session->graph->nodes[i];
        struct graph_attributes attributes = node->attributes;
        uint32_t in[GRAPH_INPUTS_MAX];

        for (size_t k = 0; k < node->in_count; k++)
            TRY(take_value(part, node->in[k], &in[k], err));
        attributes.length = attributes.length ? part->rows : 0;
        TRY(graph_add(part->graph, node->op, attributes,
                      part->session->graph->values[node->out[0]].name, in, node->in_count, ret_out,
                      err));
        for (size_t k = 0; k < node->out_count; k++)
            part->of[*ret_out + k] = node->out[k];
    }
    return STATUS_OK;
}

/* Rows of the pass's tokens, or of indices that have a place. */
static enum status give_indices(struct part *part, uint32_t value, struct error *err)
{
    const struct session_place *place = &part->session->places[part->of[value]];
    const uint64_t count = part->graph->values[value].count, columns = count / part->rows;
    int32_t *indices = part->arrays[value] = malloc(count * sizeof(*indices));

    if (!indices)
        return error_no_memory(err);
    graph_interpreter_give(part->interpreter, value, (struct graph_array){.i32 = indices});
    return device_download(place->buffer ? place->buffer : part->session->tokens->buffer,
                           part->from * columns * sizeof(*indices), indices,
                           count * sizeof(*indices), err);
}

static enum status give(struct part *part, uint32_t value, struct error *err)
{
    const struct graph_value *given = &part->graph->values[value];
    const bool parameter = given->role == GRAPH_PARAMETER;
    const bool whole = is_whole(&part->session->graph->values[part->of[value]]);
    const uint64_t count = given->count;
    struct graph_array array = {0};
    float *numbers = NULL;
    double *wide;

    if (given->role == GRAPH_INDICES)
        return give_indices(part, value, err);
    TRY(fetch(part->session, part->of[value], whole ? 0 : part->from, count, &numbers, err));
    part->arrays[value] = numbers;
    array.f32 = numbers;
    if (!parameter) {
        wide = malloc(count * sizeof(*wide));
        for (uint64_t i = 0; wide && i < count; i++)
            wide[i] = (double)numbers[i];
        free(numbers);
        part->arrays[value] = wide;
        if (!wide)
            return error_no_memory(err);
        array = (struct graph_array){.f64 = wide};
    }
    graph_interpreter_give(part->interpreter, value, array);
    return STATUS_OK;
}

/* What the part's last node writes: its last row. */
static enum status compare(struct part *part, uint32_t out, struct error *err)
{
    struct session_nodes *found = part->session->spot.nodes;
    const struct graph_value *value = &part->graph->values[out];
    const uint64_t columns = graph_size(value, -1);
    AUTO_FREE double *expected = malloc(value->count * sizeof(*expected));
    AUTO_FREE float *got = NULL;
    struct comparison comparison = {0};
    double error;

    if (!expected)
        return error_no_memory(err);
    graph_interpreter_lend(part->interpreter, out, expected);
    TRY(graph_interpreter_run(part->interpreter, 0, part->graph->node_count, err));
    TRY(fetch(part->session, part->of[out], part->from + part->rows - 1, columns, &got, err));
    comparison_add(&comparison, got, expected + (part->rows - 1) * columns, columns);
    error = comparison_normalised_rms(&comparison);
    found->compared += columns;
    if (!(error <= found->error)) { /* also a NaN */
        found->error = isnan(error) ? INFINITY : error;
        snprintf(found->worst, sizeof(found->worst), "%s", value->name);
    }
    return STATUS_OK;
}

static enum status run(struct part *part, struct error *err)
{
    uint32_t out = 0;

    TRY(graph_create(&part->graph, err));
    TRY(add_nodes(part, &out, err));
    graph_lend(part->graph, out);
    TRY(graph_interpreter_create(part->graph, &part->interpreter, err));
    for (uint32_t i = 0; i < part->graph->value_count; i++)
        if (part->graph->values[i].role != GRAPH_COMPUTED)
            TRY(give(part, i, err));
    return compare(part, out, err);
}

/* Positions of a sequence that the step's rows depend on; 0: a row stands alone. */
static uint64_t length_of(const struct graph *graph, uint32_t first, uint32_t end)
{
    uint64_t ret = 0;

    for (uint32_t i = first; i < end; i++)
        ret = graph->nodes[i].attributes.length ? graph->nodes[i].attributes.length : ret;
    return ret;
}

static bool is_light(const struct graph *graph, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        for (size_t k = 0; k < graph->nodes[i].in_count; k++) {
            const struct graph_value *value = graph_input(graph, &graph->nodes[i], k);

            if (value->count > (value->role == GRAPH_PARAMETER ? PARAMETERS_MOST : INPUTS_MOST) &&
                is_whole(value))
                return false;
        }
    return true;
}

enum status session_check_step(const struct session *session, uint32_t first, struct error *err)
{
    const struct graph *graph = session->graph;
    const uint32_t end = session->steps[first].end;
    const uint64_t length = length_of(graph, first, end), rows = session->tokens->rows;
    const uint64_t most = length < POSITIONS_MOST ? length : POSITIONS_MOST;
    struct random *random = session->spot.random;
    CLEANUP(part_finish) struct part part = {.session = session, .first = first, .end = end};

    if (random_next_below(random, graph->node_count) >= STEPS || !is_light(graph, first, end))
        return STATUS_OK;
    part.from = length ? random_next_below(random, rows / length) * length
                       : random_next_below(random, rows);
    part.rows = length ? 1 + random_next_below(random, most) : 1;
    return run(&part, err);
}
