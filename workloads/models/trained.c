#include "workloads/models/trained.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/graph/operators.h"
#include "workloads/storage.h"

#define SPREAD 65536 /* elements of each parameter whose update is verified */
#define DRAWN 256    /* the same of a spot check */

void trained_place(struct session *session, const struct stack_parameter *parameter,
                   struct buffer *buffer, uint64_t offset, struct buffer *gradients)
{
    const struct graph *graph = session->graph;
    const struct graph_value *value = &graph->values[parameter->value];
    struct session_place of = {.buffer = buffer,
                               .type = session->storage,
                               .offset = offset,
                               .columns = graph_size(value, -1),
                               .stride = graph_size(value, -1)};

    session->places[parameter->value] = of;
    of.buffer = gradients;
    for (uint32_t i = value->gradient; i != GRAPH_NONE; i = graph_gradient_before(graph, i))
        session->places[i] = of;
}

enum status trained_update(const struct trained *trained, const struct adamw *adamw, uint64_t step,
                           struct error *err)
{
    const struct adamw_arrays *arrays = &trained->arrays;
    const struct stack_layout *layout = trained->layout;
    struct ops *ops = trained->session->ops;
    struct op_adamw op = {
        .rate = adamw->rate,
        .beta1 = adamw->beta1,
        .beta2 = adamw->beta2,
        .epsilon = adamw->epsilon,
        .decay = adamw->decay,
        .step = step,
        .count = layout->decayed,
        .weights = arrays->weights,
        .m = arrays->moment1,
        .v = arrays->moment2,
        .gradients = arrays->gradients,
        .copy = arrays->copy,
        .scaling = trained->scaling,
    };

    if (op.scaling)
        TRY(op_scaling_step(ops, op.scaling, trained->partials, op.gradients, layout->elements,
                            adamw->beta1, adamw->beta2, trained->scale_interval, err));
    TRY(op_adamw(ops, &op, err));
    op.decay = 0.0;
    op.offset = layout->decayed;
    op.count = layout->elements - layout->decayed;
    return op.count > 0 ? op_adamw(ops, &op, err) : STATUS_OK;
}

enum status trained_gradients_finite(const struct trained *trained, bool *ret, struct error *err)
{
    float partial[OP_SCALING_PARTIALS];
    uint64_t count = 0;

    TRY(op_gradients_check(trained->session->ops, trained->partials, trained->arrays.gradients,
                           trained->layout->elements, &count, err));
    TRY(storage_download(trained->partials, DTYPE_F32, 0, count, partial, err));
    *ret = true;
    for (uint64_t i = 0; i < count; i++)
        *ret = *ret && partial[i] == 0.0f; /* false for a NaN */
    return STATUS_OK;
}

enum status trained_scaling(const struct trained *trained, struct op_scaling_state *ret,
                            struct error *err)
{
    return device_download(trained->scaling, 0, ret, sizeof(*ret), err);
}

/* ---- the passes ---- */

static enum status check_loss(const struct trained_passes *passes, double expected,
                              const struct stack_tolerance *tolerance, struct check_sink *sink,
                              struct error *err)
{
    struct comparison comparison = {0};
    float loss;

    if (passes->of)
        TRY(storage_download(passes->of->losses, DTYPE_F32, passes->slot, 1, &loss, err));
    else
        loss = *passes->loss;
    comparison_add(&comparison, &loss, &expected, 1);
    check_sink_compare(sink, "loss", &comparison, tolerance->loss, tolerance->loss_reason);
    return STATUS_OK;
}

static enum status fetch_gradient(const struct trained_passes *passes, uint64_t offset,
                                  uint64_t count, float *ret, struct error *err)
{
    const float inverse = (float)passes->inverse; /* a power of two */

    if (passes->of)
        TRY(storage_download(passes->of->arrays.gradients, passes->of->arrays.storage, offset,
                             count, ret, err));
    else
        memcpy(ret, passes->gradients + offset, count * sizeof(*ret));
    for (uint64_t i = 0; i < count; i++)
        ret[i] *= inverse;
    return STATUS_OK;
}

/* The worst of the parameters. */
struct worst {
    struct workload_check check;
    char name[GRAPH_NAME_MAX + 16];
};

static void note(struct worst *worst, const struct comparison *comparison, const char *name)
{
    const double error = comparison_normalised_rms(comparison);

    worst->check.compared += comparison->count;
    if (error <= worst->check.error)
        return;
    worst->check.error = isnan(error) ? DBL_MAX : fmin(error, DBL_MAX);
    snprintf(worst->name, sizeof(worst->name), "worst is %.54s", name);
}

static enum status check_gradients(const struct trained_passes *passes,
                                   const struct stack_reference *reference,
                                   const struct stack_tolerance *tolerance, struct check_sink *sink,
                                   struct error *err)
{
    const char *lead = passes->lead ? passes->lead : "gradients.";
    struct worst worst = {{.output = "gradients",
                           .tolerance = tolerance->gradient,
                           .metric = "normalised_rms",
                           .reason = tolerance->reason}};
    struct block_finding blocks = {0};
    char name[GRAPH_NAME_MAX + 16];

    for (size_t i = 0; i < reference->layout.count; i++) {
        const struct stack_parameter *parameter = &reference->layout.parameters[i];
        const struct graph_value *value = &reference->graph.graph->values[parameter->value];
        struct comparison comparison = {0};
        AUTO_FREE float *got = NULL;

        if (!reference->gradients[i])
            continue;
        got = malloc(value->count * sizeof(*got));
        if (!got)
            return error_no_memory(err);
        TRY(fetch_gradient(passes, parameter->offset, value->count, got, err));
        snprintf(name, sizeof(name), "%.12s%.47s", lead, value->name);
        comparison_add(&comparison, got, reference->gradients[i], value->count);
        block_finding_add(&blocks, name, got, reference->gradients[i], value->count);
        note(&worst, &comparison, name);
        if (passes->lead)
            check_sink_compare(sink, name, &comparison, tolerance->gradient, tolerance->reason);
    }
    if (!passes->lead)
        check_sink_report(sink, worst.check, worst.name);
    snprintf(name, sizeof(name), "%.12sblocks", lead);
    check_sink_blocks(sink, name, &blocks, tolerance->gradient);
    return STATUS_OK;
}

enum status trained_check_passes(const struct trained_passes *passes,
                                 const struct stack_reference *reference,
                                 const struct stack_tolerance *tolerance, struct check_sink *sink,
                                 struct error *err)
{
    TRY(check_loss(passes, reference->loss, tolerance, sink, err));
    return check_gradients(passes, reference, tolerance, sink, err);
}

enum status trained_check_prefix(const struct trained *trained,
                                 const struct stack_reference *reference, uint64_t row,
                                 const struct stack_tolerance *tolerance, struct check_sink *sink,
                                 struct error *err)
{
    const uint32_t losses = trained->graph->graph->nodes[trained->graph->forward].out[1];
    const uint64_t count = reference->rows;
    AUTO_FREE float *got = malloc(count * sizeof(*got));
    struct comparison comparison = {0};
    float mean = 0.0f;

    if (!got)
        return error_no_memory(err);
    TRY(storage_download(trained->session->places[losses].buffer, DTYPE_F32, row, count, got, err));
    for (uint64_t i = 0; i < count; i++)
        mean += got[i] / (float)count;
    comparison_add(&comparison, &mean, &reference->loss, 1);
    check_sink_compare(sink, "loss.prefix", &comparison, tolerance->loss, tolerance->loss_reason);
    return STATUS_OK;
}

/* ---- the update ---- */

size_t trained_spread_windows(const struct trained *trained, struct adamw_window *ret)
{
    size_t number = 0;

    for (size_t p = 0; p < trained->layout->count; p++) {
        const struct stack_parameter *parameter = &trained->layout->parameters[p];
        const uint64_t count = trained->graph->graph->values[parameter->value].count;
        const uint64_t pieces = count > SPREAD ? TRAINED_PIECES : 1;
        const uint64_t size = count > SPREAD ? SPREAD / pieces : count;

        for (uint64_t i = 0; i < pieces; i++)
            ret[number++] = (struct adamw_window){
                parameter->offset + (pieces > 1 ? (count - size) * i / (pieces - 1) : 0), size,
                parameter->decay};
    }
    return number;
}

/* Where the values' part of a bias begins that is added right before attention; 0: of others. */
static uint64_t values_from(const struct graph *graph, uint32_t parameter)
{
    for (size_t i = 0; i + 1 < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];

        if (node->op == &graph_op_linear && node->in_count > 2 && node->in[2] == parameter &&
            node[1].op == &graph_op_attention)
            return (node[1].attributes.heads + node[1].attributes.kv_heads) *
                   graph_head_size(graph, &node[1], 0);
    }
    return 0;
}

void trained_draw_windows(const struct trained *trained, const int32_t *tokens, uint64_t rows,
                          uint64_t length, struct random *random, struct adamw_window *ret)
{
    const struct graph *graph = trained->graph->graph;
    const struct graph_node *embedding = &graph->nodes[0];

    for (size_t p = 0; p < trained->layout->count; p++) {
        const struct stack_parameter *parameter = &trained->layout->parameters[p];
        const struct graph_value *value = &graph->values[parameter->value];
        const bool table = parameter->value == embedding->in[1];
        const bool positions = embedding->in_count > 2 && parameter->value == embedding->in[2];
        uint64_t first = parameter->decay ? 0 : values_from(graph, parameter->value);
        uint64_t room = value->count - first, count;

        if (table || positions)
            room = graph_size(value, -1);
        if (table)
            first = (uint64_t)tokens[random_next_below(random, rows)] * room;
        if (positions)
            first = random_next_below(random, length) * room;
        count = room < DRAWN ? room : DRAWN;
        ret[p] = (struct adamw_window){parameter->offset + first +
                                           random_next_below(random, room - count + 1),
                                       count, parameter->decay};
    }
}

enum status trained_begin_update(const struct trained *trained, const struct adamw *adamw,
                                 uint64_t step, const struct adamw_window *windows, size_t count,
                                 struct adamw_update *ret, struct error *err)
{
    struct op_scaling_state state;

    *ret = (struct adamw_update){.windows = windows,
                                 .count = count,
                                 .adamw = *adamw,
                                 .step = step,
                                 .inverse = 1.0,
                                 .arrays = trained->arrays};
    TRY(adamw_update_begin(ret, err));
    if (!trained->scaling)
        return STATUS_OK;
    TRY(trained_scaling(trained, &state, err));
    ret->step = state.taken + 1;
    ret->inverse = 1.0 / (double)state.scale;
    return STATUS_OK;
}

/* ---- a step over NaN ---- */

enum status trained_poison(const struct trained *trained, const struct adamw_update *update,
                           uint64_t slot, struct error *err)
{
    TRY(storage_poison(trained->losses, DTYPE_F32, slot, 1, err));
    if (trained->partials)
        TRY(storage_poison(trained->partials, DTYPE_F32, 0, 1, err));
    for (size_t i = 0; i < update->count; i++)
        TRY(storage_poison(trained->arrays.gradients, trained->arrays.storage,
                           update->windows[i].offset, update->windows[i].count, err));
    return STATUS_OK;
}

void trained_report_live(const struct adamw_update *update, size_t some, bool taken,
                         const char *output, struct check_sink *sink)
{
    const float *gradient = adamw_update_gradient(update);
    struct workload_check check = {
        .output = output,
        .metric = "count",
        .reason = "the step writes finite gradients of every parameter, and not all are zero",
        .compared = update->room,
    };

    for (size_t i = 0; i < update->count; i++) {
        bool finite = true, moves = i >= some;

        for (uint64_t k = 0; k < update->windows[i].count; k++) {
            finite &= isfinite(gradient[k]) != 0;
            moves |= gradient[k] != 0.0f;
        }
        gradient += update->windows[i].count;
        check.error += !taken || !finite || !moves;
    }
    check_sink_report(sink, check,
                      taken ? "parameters with gradients that no backward pass gives"
                            : "the step was skipped, and not because of its loss scale");
}
