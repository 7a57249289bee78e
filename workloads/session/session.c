#include "workloads/session/session.h"

#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/storage.h"

#define SPAN 256 /* elements that are poisoned in one run */
#define SPANS 4  /* of each place */

/* ---- places ---- */

struct operand session_at(const struct session *session, uint32_t value)
{
    const struct session_place *place = &session->places[value];

    return (struct operand){place->buffer, place->offset + place->by_row * session->tokens->rows};
}

struct op_matrix session_matrix(const struct session *session, uint32_t value, bool transpose)
{
    return (struct op_matrix){.at = session_at(session, value),
                              .type = session->places[value].type,
                              .stride = session->places[value].stride,
                              .transpose = transpose};
}

static bool is_same_place(const struct session_place *a, const struct session_place *b)
{
    return a->buffer == b->buffer && a->offset == b->offset && a->by_row == b->by_row;
}

/* ---- steps ---- */

bool session_is_followed(const struct session *session, const struct graph_node *node,
                         const struct graph_op *op)
{
    const struct graph_node *end = session->graph->nodes + session->graph->node_count;

    return node + 1 < end && node[1].op == op && node[1].in[0] == node->out[0] &&
           session->places[node->out[0]].last_read == node + 1 - session->graph->nodes;
}

/* The first lowering of a list that takes the node, and how many nodes it takes. */
static const struct lowering *find(const struct session *session, const struct lowering *list,
                                   const struct graph_node *node, size_t *ret_count)
{
    for (; list->op; list++) {
        *ret_count = list->op != node->op ? 0 : list->takes ? list->takes(session, node) : 1;
        if (*ret_count > 0)
            return list;
    }
    return NULL;
}

static bool is_alike(const struct graph *graph, const struct graph_node *a,
                     const struct graph_node *b)
{
    const struct graph_attributes *x = &a->attributes, *y = &b->attributes;

    return a->op == b->op && x->length == y->length && x->first == y->first &&
           x->heads == y->heads && x->kv_heads == y->kv_heads && x->rope == y->rope &&
           x->inverse == y->inverse &&
           graph_size(graph_input(graph, a, 0), -1) == graph_size(graph_input(graph, b, 0), -1);
}

/* Prepares the step's buffer, or takes that of an equal earlier step. */
static enum status prepare(struct session *session, uint32_t first, struct error *err)
{
    const struct graph_node *nodes = session->graph->nodes;
    struct session_step *step = &session->steps[first];
    enum status status;

    for (uint32_t i = 0; i < first && !step->prepared; i++)
        if (session->steps[i].prepared && is_alike(session->graph, &nodes[i], &nodes[first]))
            step->prepared = session->steps[i].prepared;
    if (step->prepared)
        return STATUS_OK;
    status = step->lowering->prepare(session, &nodes[first], &step->prepared, err);
    if (step->prepared)
        session->owned[session->owned_count++] = (struct session_owned){step->prepared, GRAPH_NONE};
    return status;
}

/* Of the node and of those that its lowering does with it. */
static enum status add_step(struct session *session, uint32_t first, struct error *err)
{
    const struct graph_node *node = &session->graph->nodes[first];
    struct session_step *step = &session->steps[first];
    size_t count = 0;

    for (size_t i = 0; session->own && session->own[i] && !step->lowering; i++)
        step->lowering = find(session, session->own[i], node, &count);
    if (!step->lowering)
        step->lowering = find(session, session_lowerings, node, &count);
    if (!step->lowering)
        return error_set(err, STATUS_UNSUPPORTED, "%s (%s) has no form on devices",
                         session->graph->values[node->out[0]].name, node->op->name);
    for (size_t i = 0; i < count; i++)
        step[i].end = first + (uint32_t)count;
    return step->lowering->prepare ? prepare(session, first, err) : STATUS_OK;
}

static void note_reads(struct session *session, uint32_t node)
{
    const struct graph_node *of = &session->graph->nodes[node];

    for (size_t i = 0; i < of->in_count; i++)
        session->places[of->in[i]].last_read = node;
    for (size_t i = 0; i < of->out_count; i++)
        session->places[of->out[i]].last_read = node;
    if (of->onto != GRAPH_NONE)
        session->places[of->onto].last_read = node;
}

/* The end of the last step that uses the value. */
static uint32_t end_of(const struct session *session, uint32_t value)
{
    return session->steps[session->places[value].last_read].end;
}

enum status session_prepare(struct session *session, struct error *err)
{
    const uint32_t nodes = (uint32_t)session->graph->node_count;

    session->steps = calloc(nodes + 1, sizeof(*session->steps));
    session->owned = calloc(nodes + session->graph->value_count, sizeof(*session->owned));
    if (!session->steps || !session->owned)
        return error_no_memory(err);
    for (uint32_t i = 0; i < nodes; i++)
        note_reads(session, i);
    for (uint32_t i = 0; i < nodes; i = session->steps[i].end)
        TRY(add_step(session, i, err));
    return STATUS_OK;
}

/* One of those bytes that is free before the step that begins with `node`, else a new one. */
static enum status take_buffer(struct session *session, struct device *device, uint64_t bytes,
                               uint32_t node, uint32_t free_from, struct buffer **ret,
                               struct error *err)
{
    struct session_owned *at = session->owned, *end = at + session->owned_count;

    while (at < end && (at->buffer->bytes != bytes || at->free_from > node))
        at++;
    if (at == end) {
        TRY(device_buffer_alloc(device, bytes, BUFFER_READ_WRITE, &at->buffer, err));
        session->owned_count++;
    }
    at->free_from = free_from;
    *ret = at->buffer;
    return STATUS_OK;
}

/* Whether a step that does several nodes keeps the value to itself. */
static bool is_inside(const struct session *session, uint32_t value)
{
    const uint32_t writer = session->graph->values[value].writer;

    return end_of(session, value) == session->steps[writer].end &&
           writer + 1 < session->steps[writer].end;
}

/* Whether a launch writes it: not rank 3, which are probabilities and their gradient. */
static bool is_written(const struct session *session, uint32_t value)
{
    const struct graph_value *of = &session->graph->values[value];
    const uint32_t first = session->graph->nodes[of->writer].out[0];

    return of->shape.rank <= 2 && !is_inside(session, value) &&
           (value == first || !session->steps[of->writer].lowering ||
            !session->steps[of->writer].lowering->first_only);
}

/* The value on which the writer of this one works in place; GRAPH_NONE: on none. */
static uint32_t worked_on(const struct session *session, uint32_t value)
{
    const struct graph_node *node = &session->graph->nodes[session->graph->values[value].writer];
    const struct lowering *lowering = session->steps[node - session->graph->nodes].lowering;

    if (!lowering || !lowering->in_place || value != node->out[0])
        return GRAPH_NONE;
    return node->onto != GRAPH_NONE ? node->onto : node->op->in_place ? node->in[0] : GRAPH_NONE;
}

/* The place of what is worked on, for as long as this value is used. */
static enum status take_place(struct session *session, uint32_t value, uint32_t from,
                              struct error *err)
{
    struct session_place *place = &session->places[value];
    const uint32_t last_read = place->last_read;

    if (session->places[from].last_read != session->graph->values[value].writer)
        return error_set(err, STATUS_INTERNAL, "%s is worked on in place and read later",
                         session->graph->values[from].name);
    *place = session->places[from];
    place->last_read = last_read;
    for (size_t i = 0; i < session->owned_count; i++)
        if (session->owned[i].buffer == place->buffer)
            session->owned[i].free_from = end_of(session, value);
    return STATUS_OK;
}

enum status session_allocate(struct session *session, struct device *device, struct error *err)
{
    const struct graph *graph = session->graph;

    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct graph_value *value = &graph->values[i];
        struct session_place *place = &session->places[i];
        const bool computed = value->role == GRAPH_COMPUTED;
        const bool column = computed && value->shape.rank == 1;
        const uint32_t from = computed ? worked_on(session, i) : GRAPH_NONE;

        if (value->role == GRAPH_INDICES || place->buffer || (computed && !is_written(session, i)))
            continue;
        if (from != GRAPH_NONE) {
            TRY(take_place(session, i, from, err));
            continue;
        }
        place->type = column ? DTYPE_F32 : session->storage;
        place->columns = place->stride = column ? 1 : graph_size(value, -1);
        place->rows = computed;
        TRY(take_buffer(session, device, value->count * (dtype_bits(place->type) / 8),
                        computed ? value->writer : 0, computed ? end_of(session, i) : GRAPH_NONE,
                        &place->buffer, err));
    }
    return STATUS_OK;
}

void session_finish(struct session *session)
{
    for (size_t i = 0; i < session->owned_count; i++)
        device_buffer_free(session->owned[i].buffer);
    free(session->owned);
    free(session->steps);
    free(session->places);
}

/* ---- NaN ---- */

static enum status poison(const struct session *session, const struct session_place *place,
                          struct error *err)
{
    const struct session_spot *spot = &session->spot;
    const uint64_t rows = place->rows * (place->by_output ? spot->outputs : spot->rows);
    const uint64_t count = place->columns < SPAN ? place->columns : SPAN;

    for (int i = 0; place->buffer && rows > 0 && i < SPANS; i++)
        TRY(storage_poison(place->buffer, place->type,
                           place->offset + place->by_row * spot->rows +
                               random_next_below(spot->random, rows) * place->stride +
                               random_next_below(spot->random, place->columns - count + 1),
                           count, err));
    return STATUS_OK;
}

enum status session_poison(struct session *session, struct session_spot spot, struct error *err)
{
    session->spot = spot;
    for (uint32_t i = 0; i < session->graph->value_count; i++) {
        uint32_t first = 0;

        while (!is_same_place(&session->places[first], &session->places[i]))
            first++;
        if (first == i)
            TRY(poison(session, &session->places[i], err));
    }
    return STATUS_OK;
}

void session_end_spot(struct session **session)
{
    (*session)->spot = (struct session_spot){0};
}

/* Where the next value of the place is written by a later step, and not by the last that reads it.
 */
static bool is_reused(const struct session *session, uint32_t value)
{
    const struct session_place *places = session->places;

    for (uint32_t i = value + 1; i < session->graph->value_count; i++)
        if (is_same_place(&places[i], &places[value]))
            return session->graph->values[i].writer >= end_of(session, value);
    return false;
}

/* What has been read for the last time by the step that ends there. */
static enum status retire(const struct session *session, uint32_t end, struct error *err)
{
    for (uint32_t i = 0; session->spot.random && i < session->graph->value_count; i++)
        if (session->places[i].rows > 0 && end_of(session, i) == end && is_reused(session, i))
            TRY(poison(session, &session->places[i], err));
    return STATUS_OK;
}

enum status session_run(struct session *session, size_t first, size_t end, struct error *err)
{
    for (size_t i = first; i < end; i = session->steps[i].end) {
        CLEANUP(session_expected_drop) struct session_expected *expected = NULL;

        if (session->spot.random && session->spot.nodes)
            TRY(session_expect_step(session, (uint32_t)i, &expected, err));
        TRY(session->steps[i].lowering->launch(session, &session->graph->nodes[i], err));
        if (session->trace)
            TRY(session_trace_step(session, (uint32_t)i, err));
        if (expected)
            TRY(session_check_step(session, expected, err));
        TRY(retire(session, session->steps[i].end, err));
    }
    return STATUS_OK;
}
