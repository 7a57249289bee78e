/*
 * Drawn rows of what a step writes against the reference of its nodes, from the step's inputs as
 * the device has them: those are read, and the reference is made of them, before the launch, which
 * may work in place.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/check/compare.h"
#include "workloads/graph/interpreter.h"
#include "workloads/graph/operators.h"
#include "workloads/session/session.h"
#include "workloads/storage.h"

#define STEPS 16                            /* of a pass, about */
#define PARAMETERS_MOST ((uint64_t)1 << 22) /* of one that is read for a row */
#define INPUTS_MOST ((uint64_t)1 << 24)     /* the same of an input of the graph */
#define POSITIONS_MOST 32 /* of a sequence, where a row depends on those before it */
#define COLUMNS_MOST 64   /* of a gradient that is a sum over rows; of weights in few bits */
#define NODES_MOST 2      /* of a step */
#define ELEMENTS_MOST ((uint64_t)1 << 24)
#define PAIRS_MOST ((uint64_t)1 << 28) /* of positions, times the elements of a row */
/* Of a part: of the step's nodes, and of one that makes an input again. */
#define VALUES ((NODES_MOST + 1) * (GRAPH_INPUTS_MAX + GRAPH_OUTPUTS_MAX))
#define EXPECTED_MOST (NODES_MOST * GRAPH_OUTPUTS_MAX)

/* Which rows of inputs a step's outputs depend on. */
enum reach {
    REACH_ROW,      /* a row on its own */
    REACH_BEFORE,   /* a row on those before it in its sequence, and itself */
    REACH_SEQUENCE, /* a row on all of its sequence */
    REACH_ALL,      /* gradients of parameters on all rows */
    REACH_COLUMNS,  /* the same, but each column on its own; parameters give shapes alone */
};

static const struct {
    const struct graph_op *op;
    enum reach reach;
} reaches[] = {
    {&graph_op_attention_gradient, REACH_SEQUENCE}, {&graph_op_column_sum, REACH_COLUMNS},
    {&graph_op_embedding_gradient, REACH_COLUMNS},  {&graph_op_expert_product_gradient, REACH_ALL},
    {&graph_op_head_norm_gradient, REACH_ALL},      {&graph_op_layer_norm_gradient, REACH_ALL},
    {&graph_op_position_gradient, REACH_COLUMNS},   {&graph_op_rms_norm_gradient, REACH_ALL},
    {&graph_op_weight_gradient, REACH_COLUMNS},
};

struct window {
    uint64_t first, count; /* columns */
};

/* The nodes of a step as a graph of their own, over the rows [from, from + rows) of the pass. */
struct part {
    const struct session *session;
    uint32_t first, end; /* nodes */
    enum reach reach;
    uint64_t from, rows, at; /* `at`: the row of those that is compared */
    /* REACH_COLUMNS: of inputs, and of the one whose column is a row of a weight's gradient. */
    struct window columns, single;
    uint32_t single_input;          /* GRAPH_NONE: none */
    const struct op_packed *packed; /* of a product, of which `columns` are made; NULL: none */
    struct graph *graph;
    struct graph_interpreter *interpreter;
    uint32_t of[VALUES]; /* by value of the part: the session's */
    void *arrays[VALUES];
};

struct session_expected {
    struct expected {
        uint32_t value; /* of the session */
        uint64_t offset, count;
        double *numbers; /* heap */
        double terms;    /* of a mean: the mean of their absolute values; else 0 */
    } of[EXPECTED_MOST];
    size_t count;
};

static void part_finish(struct part *part)
{
    graph_interpreter_destroy(part->interpreter);
    graph_destroy(part->graph);
    for (size_t i = 0; i < VALUES; i++)
        free(part->arrays[i]);
}

void session_expected_drop(struct session_expected **expected)
{
    for (size_t i = 0; *expected && i < (*expected)->count; i++)
        free((*expected)->of[i].numbers);
    free(*expected);
}

/* Whether it is there as a whole, and not row by row. */
static bool is_whole(const struct graph_value *value)
{
    return value->role == GRAPH_PARAMETER || value->role == GRAPH_INPUT;
}

/* ---- the part of the graph ---- */

static struct window window_of(const struct part *part, uint32_t value)
{
    const struct graph_value *of = &part->session->graph->values[value];

    if (part->packed && value != part->session->graph->nodes[part->first].in[0])
        return part->columns;
    if (part->reach != REACH_COLUMNS || of->shape.rank < 2)
        return (struct window){0, graph_size(of, -1)};
    return value == part->single_input ? part->single : part->columns;
}

static enum status add_node(struct part *part, uint32_t number, uint32_t *ret_out,
                            struct error *err);

/* Where the session's value is in the part; false: it is not there yet. */
static bool find(const struct part *part, uint32_t value, uint32_t *ret)
{
    for (*ret = 0; *ret < part->graph->value_count; (*ret)++)
        if (part->of[*ret] == value)
            return true;
    return false;
}

/* The part's value of the session's: there already, made again where no place holds it, or given.
 */
static enum status take_value(struct part *part, uint32_t value, uint32_t *ret, struct error *err)
{
    const struct graph_value *of = &part->session->graph->values[value];
    struct graph_shape shape = of->shape;
    uint32_t out;

    if (find(part, value, ret))
        return STATUS_OK;
    if (of->role == GRAPH_COMPUTED && !part->session->places[value].buffer) {
        TRY(add_node(part, of->writer, &out, err));
        (void)find(part, value, ret); /* among what that node writes */
        return STATUS_OK;
    }
    if (!is_whole(of))
        shape.of[0] = part->rows;
    if (shape.rank == 2 || part->packed)
        shape.of[shape.rank - 1] = window_of(part, value).count;
    part->of[*ret] = value;
    return graph_give(part->graph, of->role == GRAPH_COMPUTED ? GRAPH_INPUT : of->role, of->name,
                      shape, ret, err);
}

static enum status add_node(struct part *part, uint32_t number, uint32_t *ret_out,
                            struct error *err)
{
    const struct graph_node *node = &part->session->graph->nodes[number];
    struct graph_attributes attributes = node->attributes;
    uint32_t in[GRAPH_INPUTS_MAX];

    for (size_t k = 0; k < node->in_count; k++)
        TRY(take_value(part, node->in[k], &in[k], err));
    if (part->reach == REACH_BEFORE && attributes.length)
        attributes.length = part->rows;
    TRY(graph_add(part->graph, node->op, attributes,
                  part->session->graph->values[node->out[0]].name, in, node->in_count, ret_out,
                  err));
    for (size_t k = 0; k < node->out_count; k++)
        part->of[*ret_out + k] = node->out[k];
    return STATUS_OK;
}

/* ---- its inputs ---- */

/* `rows` rows of a place as f32, from element `first` of each on. Heap. */
static enum status fetch(const struct session *session, uint32_t value, uint64_t from,
                         uint64_t rows, struct window columns, float **ret, struct error *err)
{
    const struct session_place *place = &session->places[value];
    const bool whole = columns.count == place->stride;
    const uint64_t pieces = whole ? 1 : rows, count = whole ? rows * place->stride : columns.count;
    AUTO_FREE float *numbers = malloc(rows * columns.count * sizeof(*numbers));

    if (!numbers)
        return error_no_memory(err);
    for (uint64_t r = 0; r < pieces; r++)
        TRY(storage_download(place->buffer, place->type,
                             session_at(session, value).offset + (from + r) * place->stride +
                                 columns.first,
                             count, numbers + r * count, err));
    *ret = numbers;
    numbers = NULL;
    return STATUS_OK;
}

/* Tokens, then targets, each as many as a pass has rows; or indices that have a place. */
static enum status give_indices(struct part *part, uint32_t value, struct error *err)
{
    const struct session *session = part->session;
    const struct session_place *place = &session->places[part->of[value]];
    const uint64_t count = part->graph->values[value].count, columns = count / part->rows;
    int32_t *indices = part->arrays[value] = malloc(count * sizeof(*indices));
    uint64_t before = 0;

    if (!indices)
        return error_no_memory(err);
    for (uint32_t i = 0; !place->buffer && i < part->of[value]; i++)
        before += session->graph->values[i].role == GRAPH_INDICES && !session->places[i].buffer
                      ? session->tokens->rows
                      : 0;
    graph_interpreter_give(part->interpreter, value, (struct graph_array){.i32 = indices});
    return device_download(place->buffer ? place->buffer : session->tokens->buffer,
                           (before + part->from * columns) * sizeof(*indices), indices,
                           count * sizeof(*indices), err);
}

static enum status give_parameter(struct part *part, uint32_t value, struct error *err)
{
    const struct graph_value *given = &part->graph->values[value];
    const struct window window = window_of(part, part->of[value]);
    float *numbers = NULL;

    if (part->reach == REACH_COLUMNS || (part->packed && given->shape.rank == 2))
        numbers = calloc(given->count, sizeof(*numbers)); /* its shape counts */
    else
        TRY(fetch(part->session, part->of[value], 0, given->count / window.count, window, &numbers,
                  err));
    if (part->packed && given->shape.rank == 2 && numbers)
        op_packed_numbers(part->packed, window.first, window.count, true, numbers);
    part->arrays[value] = numbers;
    graph_interpreter_give(part->interpreter, value, (struct graph_array){.f32 = numbers});
    return numbers ? STATUS_OK : error_no_memory(err);
}

static enum status give_input(struct part *part, uint32_t value, struct error *err)
{
    const struct graph_value *given = &part->graph->values[value];
    const bool whole = is_whole(&part->session->graph->values[part->of[value]]);
    const bool column = !whole && given->shape.rank == 1;
    const struct window columns = column ? (struct window){0, 1} : window_of(part, part->of[value]);
    AUTO_FREE float *numbers = NULL;
    double *wide;

    TRY(fetch(part->session, part->of[value], whole ? 0 : part->from, given->count / columns.count,
              columns, &numbers, err));
    part->arrays[value] = wide = malloc(given->count * sizeof(*wide));
    if (!wide)
        return error_no_memory(err);
    for (uint64_t i = 0; i < given->count; i++)
        wide[i] = (double)numbers[i];
    graph_interpreter_give(part->interpreter, value, (struct graph_array){.f64 = wide});
    return STATUS_OK;
}

static enum status give(struct part *part, uint32_t value, struct error *err)
{
    switch (part->graph->values[value].role) {
    case GRAPH_INDICES:
        return give_indices(part, value, err);
    case GRAPH_PARAMETER:
        return give_parameter(part, value, err);
    case GRAPH_INPUT:
        return give_input(part, value, err);
    default:
        return STATUS_OK;
    }
}

/* ---- what is expected ---- */

/* Of an output: its row on the device, the same in the part, and its columns. */
struct row {
    uint64_t on_device, here;
    struct window columns;
};

static enum status token_at(const struct part *part, uint64_t row, uint64_t *ret, struct error *err)
{
    int32_t token = 0;

    TRY(device_download(part->session->tokens->buffer, row * sizeof(token), &token, sizeof(token),
                        err));
    *ret = (uint64_t)token;
    return STATUS_OK;
}

/* Of a gradient of a parameter. */
static enum status row_of_gradient(const struct part *part, const struct graph_node *node,
                                   uint32_t value, struct row *ret, struct error *err)
{
    const struct session *session = part->session;

    *ret = (struct row){.columns = {0, session->places[value].columns}};
    if (node->op == &graph_op_expert_product_gradient) /* any, of any expert */
        ret->on_device = ret->here = random_next_below(
            session->spot.random, session->graph->values[value].count / ret->columns.count);
    if (part->reach != REACH_COLUMNS)
        return STATUS_OK;
    ret->columns = part->columns;
    if (node->op == &graph_op_weight_gradient)
        ret->on_device = part->single.first;
    if (node->op == &graph_op_embedding_gradient)
        TRY(token_at(part, part->at, &ret->on_device, err));
    if (node->op == &graph_op_position_gradient)
        ret->on_device = part->at % session->tokens->length;
    ret->here = node->op == &graph_op_weight_gradient ? 0 : ret->on_device;
    return STATUS_OK;
}

/* A mean may be next to nothing beside its terms, whose roundings it has. */
static double terms_of(const struct part *part, const struct graph_node *node, uint32_t value)
{
    const uint64_t count = graph_size(graph_input(part->session->graph, node, 0), -1);
    double sum = 0.0;
    uint32_t x;

    if (node->op != &graph_op_layer_norm || value != node->out[1] || !find(part, node->in[0], &x) ||
        !part->arrays[x])
        return 0.0;
    for (uint64_t i = 0; i < count; i++)
        sum += fabs(((const double *)part->arrays[x])[part->at * count + i]);
    return sum / (double)count;
}

static enum status expect(const struct part *part, const struct graph_node *node, uint32_t value,
                          const double *numbers, struct session_expected *ret, struct error *err)
{
    const struct session *session = part->session;
    const struct session_place *place = &session->places[value];
    struct row row = {part->from + part->at, part->at, {0, place->columns}};
    struct expected *expected = &ret->of[ret->count];
    AUTO_FREE float *before = NULL;

    if (part->packed)
        row.columns = part->columns;
    if (place->rows == 0)
        TRY(row_of_gradient(part, node, value, &row, err));
    *expected = (struct expected){
        .value = value,
        .offset =
            session_at(session, value).offset + row.on_device * place->stride + row.columns.first,
        .count = row.columns.count,
        .numbers = malloc(row.columns.count * sizeof(double)),
        .terms = terms_of(part, node, value),
    };
    if (!expected->numbers)
        return error_no_memory(err);
    ret->count++;
    memcpy(expected->numbers, numbers + row.here * row.columns.count,
           expected->count * sizeof(double));
    if (node->op == &graph_op_cross_entropy_gradient) /* of a mean over all rows */
        for (uint64_t i = 0; i < expected->count; i++)
            expected->numbers[i] *= (double)part->rows / (double)session->tokens->rows;
    if (value != node->out[0] || node->onto == GRAPH_NONE)
        return STATUS_OK;
    TRY(fetch(session, node->onto, row.on_device, 1, row.columns, &before, err));
    for (uint64_t i = 0; i < expected->count; i++)
        expected->numbers[i] += (double)before[i];
    return STATUS_OK;
}

/* Whether the part makes all that the value has, and a place has it. A mean over rows is neither.
 */
static bool is_compared(const struct part *part, uint32_t value)
{
    const struct session_place *place = &part->session->places[value];

    return place->buffer && (place->rows > 0 || part->reach >= REACH_ALL);
}

static enum status lend(struct part *part, double *ret[VALUES], struct error *err)
{
    for (uint32_t i = 0; i < part->graph->value_count; i++) {
        const struct graph_value *value = &part->graph->values[i];

        if (value->role != GRAPH_COMPUTED || !is_compared(part, part->of[i]))
            continue;
        part->arrays[i] = ret[i] = malloc(value->count * sizeof(double));
        if (!ret[i])
            return error_no_memory(err);
        graph_lend(part->graph, i);
    }
    return STATUS_OK;
}

static enum status run(struct part *part, struct session_expected *ret, struct error *err)
{
    const struct graph_node *nodes = part->session->graph->nodes;
    double *lent[VALUES] = {NULL};
    uint32_t out = 0;

    TRY(graph_create(&part->graph, err));
    for (uint32_t i = part->first; i < part->end; i++)
        TRY(add_node(part, i, &out, err));
    TRY(lend(part, lent, err));
    TRY(graph_interpreter_create(part->graph, &part->interpreter, err));
    for (uint32_t i = 0; i < part->graph->value_count; i++) {
        TRY(give(part, i, err));
        if (lent[i])
            graph_interpreter_lend(part->interpreter, i, lent[i]);
    }
    TRY(graph_interpreter_run(part->interpreter, 0, part->graph->node_count, err));
    for (uint32_t i = part->first; i < part->end; i++)
        for (size_t k = 0; k < nodes[i].out_count; k++)
            if (find(part, nodes[i].out[k], &out) && lent[out])
                TRY(expect(part, &nodes[i], nodes[i].out[k], lent[out], ret, err));
    return STATUS_OK;
}

/* ---- what is drawn ---- */

static enum reach reach_of(const struct graph *graph, uint32_t first, uint32_t end)
{
    enum reach ret = REACH_ROW;

    for (uint32_t i = first; i < end; i++) {
        ret = graph->nodes[i].attributes.length ? REACH_BEFORE : ret;
        for (size_t k = 0; k < sizeof(reaches) / sizeof(reaches[0]); k++)
            if (reaches[k].op == graph->nodes[i].op)
                return reaches[k].reach;
    }
    return ret;
}

/* Whether what the part reads is little enough. */
static bool is_light(const struct part *part)
{
    const struct graph *graph = part->session->graph;
    const uint64_t rows = part->session->tokens->rows, length = part->session->tokens->length;

    for (uint32_t i = part->first; i < part->end; i++)
        for (size_t k = 0; k < graph->nodes[i].in_count; k++) {
            const struct graph_value *value = graph_input(graph, &graph->nodes[i], k);
            const uint64_t columns = graph_size(value, -1);

            if ((part->reach != REACH_COLUMNS && !part->packed && value->role == GRAPH_PARAMETER &&
                 value->count > PARAMETERS_MOST) ||
                (value->role == GRAPH_INPUT && value->count > INPUTS_MOST) ||
                (part->reach == REACH_ALL && value->shape.rank == 2 &&
                 columns > ELEMENTS_MOST / rows) ||
                (part->reach == REACH_SEQUENCE && value->shape.rank == 2 &&
                 columns > PAIRS_MOST / length / length))
                return false;
        }
    return true;
}

static struct window draw_window(struct random *random, uint64_t columns, uint64_t most)
{
    const uint64_t count = columns < most ? columns : most;

    return (struct window){random_next_below(random, columns - count + 1), count};
}

/* Of the gradient of a weight (inputs, outputs) a row is a column of x; transposed, of dy. */
static void draw_columns(struct part *part, struct random *random)
{
    const struct graph *graph = part->session->graph;
    const struct graph_node *node = &graph->nodes[part->first];
    const bool weight = node->op == &graph_op_weight_gradient;
    const size_t single = weight && !node->attributes.transposed ? 1 : 0;

    part->single_input = weight ? node->in[single] : GRAPH_NONE;
    part->single =
        draw_window(random, graph_size(graph_input(graph, node, single), -1), weight ? 1 : 0);
    part->columns = draw_window(
        random, graph_size(graph_input(graph, node, weight ? 1 - single : 0), -1), COLUMNS_MOST);
}

static void draw_rows(struct part *part, struct random *random)
{
    const uint64_t rows = part->session->tokens->rows, length = part->session->tokens->length;
    const uint64_t most = length < POSITIONS_MOST ? length : POSITIONS_MOST;

    switch (part->reach) {
    case REACH_ROW:
        part->from = random_next_below(random, rows);
        part->rows = 1;
        break;
    case REACH_BEFORE:
        part->from = random_next_below(random, rows / length) * length;
        part->rows = 1 + random_next_below(random, most);
        break;
    case REACH_SEQUENCE:
        part->from = random_next_below(random, rows / length) * length;
        part->rows = length;
        break;
    default:
        part->rows = rows;
    }
    part->at =
        part->reach >= REACH_SEQUENCE ? random_next_below(random, part->rows) : part->rows - 1;
}

/* A router, and its choice: where a law gives another, nothing else shows whether they ran. */
static bool is_router(const struct graph *graph, uint32_t number)
{
    return graph->nodes[number].op == &graph_op_choose_experts ||
           (number + 1 < graph->node_count &&
            graph->nodes[number + 1].op == &graph_op_choose_experts);
}

enum status session_expect_step(const struct session *session, uint32_t first,
                                struct session_expected **ret, struct error *err)
{
    const uint32_t end = session->steps[first].end;
    struct random *random = session->spot.random;
    CLEANUP(session_expected_drop) struct session_expected *expected = NULL;
    CLEANUP(part_finish)
    struct part part = {.session = session,
                        .first = first,
                        .end = end,
                        .reach = reach_of(session->graph, first, end),
                        .packed = session_packed(session, &session->graph->nodes[first])};

    if ((random_next_below(random, session->graph->node_count) >= STEPS &&
         !is_router(session->graph, first)) ||
        !is_light(&part))
        return STATUS_OK;
    draw_rows(&part, random);
    if (part.packed)
        part.columns = draw_window(random, part.packed->outputs, COLUMNS_MOST);
    else if (part.reach == REACH_COLUMNS)
        draw_columns(&part, random);
    expected = calloc(1, sizeof(*expected));
    if (!expected)
        return error_no_memory(err);
    TRY(run(&part, expected, err));
    *ret = expected;
    expected = NULL;
    return STATUS_OK;
}

enum status session_check_step(const struct session *session,
                               const struct session_expected *expected, struct error *err)
{
    struct session_nodes *found = session->spot.nodes;

    for (size_t i = 0; i < expected->count; i++) {
        const struct expected *of = &expected->of[i];
        const struct session_place *place = &session->places[of->value];
        AUTO_FREE float *got = malloc(of->count * sizeof(*got));
        struct comparison comparison = {0};
        double error;

        if (!got)
            return error_no_memory(err);
        TRY(storage_download(place->buffer, place->type, of->offset, of->count, got, err));
        comparison_add(&comparison, got, of->numbers, of->count);
        error = fabs(of->numbers[0]) < of->terms ? fabs((double)got[0] - of->numbers[0]) / of->terms
                                                 : comparison_normalised_rms(&comparison);
        found->compared += of->count;
        if (!(error <= found->error)) { /* also a NaN */
            found->error = isnan(error) ? INFINITY : error;
            snprintf(found->worst, sizeof(found->worst), "%s",
                     session->graph->values[of->value].name);
        }
    }
    return STATUS_OK;
}
