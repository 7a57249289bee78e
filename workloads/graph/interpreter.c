#include "workloads/graph/interpreter.h"

#include <stdlib.h>
#include <string.h>

#include "workloads/graph/plan.h"

struct graph_interpreter {
    const struct graph *graph;
    struct graph_plan plan;
    double *pool;
    struct graph_array *given; /* one a value */
    double **lent;             /* one a place */
};

enum status graph_interpreter_create(const struct graph *graph, struct graph_interpreter **ret,
                                     struct error *err)
{
    struct graph_interpreter *interpreter = calloc(1, sizeof(*interpreter));
    enum status status;

    if (!interpreter)
        return error_no_memory(err);
    interpreter->graph = graph;
    status = graph_plan_init(&interpreter->plan, graph, err);
    interpreter->given = calloc(graph->value_count + 1, sizeof(*interpreter->given));
    interpreter->lent = calloc(graph->value_count + 1, sizeof(*interpreter->lent));
    if (interpreter->plan.pool < SIZE_MAX / sizeof(double))
        interpreter->pool = malloc((interpreter->plan.pool + 1) * sizeof(double));
    if (status == STATUS_OK && (!interpreter->given || !interpreter->lent || !interpreter->pool))
        status =
            error_set(err, STATUS_NO_MEMORY, "the fp64 reference needs %.1f GiB of host memory",
                      (double)interpreter->plan.pool * sizeof(double) / 0x1p30);
    if (status != STATUS_OK) {
        graph_interpreter_destroy(interpreter);
        return status;
    }
    *ret = interpreter;
    return STATUS_OK;
}

void graph_interpreter_destroy(struct graph_interpreter *interpreter)
{
    if (!interpreter)
        return;
    graph_plan_finish(&interpreter->plan);
    free(interpreter->given);
    free(interpreter->lent);
    free(interpreter->pool);
    free(interpreter);
}

void graph_interpreter_give(struct graph_interpreter *interpreter, uint32_t value,
                            struct graph_array array)
{
    interpreter->given[value] = array;
}

void graph_interpreter_lend(struct graph_interpreter *interpreter, uint32_t value, double *memory)
{
    interpreter->lent[interpreter->plan.place_of[value]] = memory;
}

/* Where a computed value lies; NULL: nobody has lent its memory. */
static double *memory_of(const struct graph_interpreter *interpreter, uint32_t value)
{
    const uint32_t place = interpreter->plan.place_of[value];

    return interpreter->plan.places[place].lent
               ? interpreter->lent[place]
               : interpreter->pool + interpreter->plan.places[place].offset;
}

static struct graph_array array_of(const struct graph_interpreter *interpreter, uint32_t value)
{
    if (interpreter->graph->values[value].role != GRAPH_COMPUTED)
        return interpreter->given[value];
    return (struct graph_array){.f64 = memory_of(interpreter, value)};
}

static enum status read_inputs(const struct graph_interpreter *interpreter, struct graph_step *step,
                               struct error *err)
{
    for (size_t i = 0; i < step->node->in_count; i++) {
        const struct graph_array in = step->in[i] = array_of(interpreter, step->node->in[i]);

        if (!in.f64 && !in.f32 && !in.i32)
            return error_set(err, STATUS_INTERNAL, "the reference was not given %s",
                             interpreter->graph->values[step->node->in[i]].name);
    }
    return STATUS_OK;
}

static enum status run_node(const struct graph_interpreter *interpreter,
                            const struct graph_node *node, struct error *err)
{
    struct graph_step step = {
        .graph = interpreter->graph, .node = node, .adds = node->onto != GRAPH_NONE};

    TRY(read_inputs(interpreter, &step, err));
    for (size_t i = 0; i < node->out_count; i++) {
        step.out[i] = memory_of(interpreter, node->out[i]);
        if (!step.out[i])
            return error_set(err, STATUS_INTERNAL, "the reference has no memory for %s",
                             interpreter->graph->values[node->out[i]].name);
    }
    if (step.adds) {
        const double *before = array_of(interpreter, node->onto).f64;

        if (before != step.out[0])
            memcpy(step.out[0], before,
                   interpreter->graph->values[node->onto].count * sizeof(double));
    }
    return node->op->reference(&step, err);
}

enum status graph_interpreter_run(struct graph_interpreter *interpreter, size_t first, size_t end,
                                  struct error *err)
{
    for (size_t i = first; i < end; i++)
        TRY(run_node(interpreter, &interpreter->graph->nodes[i], err));
    return STATUS_OK;
}
