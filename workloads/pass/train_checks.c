/*
 * Checks of a step. `verify` runs forward and backward over a part of the batch, compares loss and
 * gradients with the graph in fp64 at the master weights, then makes the update and compares it
 * with the formula; the step counts like any other. `spot_check` does that of one of the kind's own
 * iterations, over NaN in drawn parts of all that it writes: gradients whole where the batch is
 * small, else by the nodes of a pass more (session_check_step) and the losses of the first
 * positions of a sequence.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/pass/pass.h"
#include "workloads/storage.h"

#define STREAM_CHECKED 0x63686563u /* "chec" */
/* What is computed in the reference: parameters times positions; at least so many of those. */
#define WORK ((uint64_t)1 << 30)
#define POSITIONS_MIN 4
#define GRADIENTS_MOST ((uint64_t)1 << 25) /* elements that are compared in one check */
#define UNUSED 256                         /* elements of positions that no sequence has */

double pass_train_tolerance(const struct workload_case *work, const char *output)
{
    const struct stack_tolerance tolerance = pass_tolerance(work, 1);

    if (!strcmp(output, "loss") || !strcmp(output, "loss.prefix"))
        return tolerance.loss;
    if (!strcmp(output, "gradients"))
        return tolerance.gradient;
    if (!strcmp(output, "gradients.blocks"))
        return COMPARISON_BLOCK_FACTOR * tolerance.gradient;
    if (!strcmp(output, "gradients.live") || !strcmp(output, "adamw.still") ||
        !strcmp(output, "adamw.copy"))
        return 0.0;
    return strncmp(output, "adamw.", strlen("adamw.")) ? -1.0 : ADAMW_UPDATE_TOLERANCE;
}

/* Passes that have run: over what, for which step's loss; what is checked of them. */
struct passes {
    const int32_t *tokens, *targets;
    uint64_t sequences, length;
    uint64_t step;
    struct random random;
    struct adamw_window *windows; /* heap */
    struct adamw_update update;
};

static void passes_finish(struct passes *passes)
{
    adamw_update_finish(&passes->update);
    free(passes->windows);
}

/* Loss and gradients of all of it. */
static enum status check_passes(const struct pass_instance *instance, struct passes *passes,
                                struct check_sink *sink, struct error *err)
{
    const struct stack_wanted wanted = {
        .align = PASS_TRAIN_ALIGN, .gradients = GRADIENTS_MOST, .random = &passes->random};
    const struct stack_tolerance tolerance =
        pass_tolerance(&instance->base.work, passes->sequences * passes->length);
    const struct trained_passes run = {
        .of = &instance->training->of, .slot = pass_train_slot(passes->step), .inverse = 1.0};
    CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;

    TRY(pass_refer(&instance->base.work, passes->sequences, passes->length, &wanted, &reference,
                   err));
    TRY(pass_moe_give(instance, reference, 0, err));
    TRY(stack_reference_forward(reference, instance->weights, passes->tokens, passes->targets,
                                err));
    TRY(stack_reference_backward(reference, err));
    return trained_check_passes(&run, reference, &tolerance, sink, err);
}

/* Of the parameters, as they are before a step. */
static enum status fetch_weights(struct pass_instance *instance, struct error *err)
{
    return storage_download(instance->training->of.arrays.weights, DTYPE_F32, 0,
                            instance->layout.elements, instance->weights, err);
}

static enum status begin_update(const struct pass_instance *instance, size_t count,
                                struct passes *passes, struct error *err)
{
    const struct pass_parameters *parameters = instance->base.work.workload->parameters;

    return trained_begin_update(&instance->training->of, &parameters->adamw,
                                instance->training->steps + 1, passes->windows, count,
                                &passes->update, err);
}

/* ---- verification ---- */

static bool is_whole(const struct pass_instance *instance)
{
    return stack_parameter_count(&instance->graph) <=
           WORK / (instance->sequences * instance->length);
}

/* Positions that the reference computes of one sequence. */
static uint64_t prefix_of(const struct pass_instance *instance)
{
    const uint64_t fits = WORK / stack_parameter_count(&instance->graph);
    const uint64_t ret = fits > POSITIONS_MIN ? fits : POSITIONS_MIN;

    return ret < instance->length ? ret : instance->length;
}

/* Of the next batch all, or the first positions of a drawn sequence; `indices` are its memory. */
static enum status take_part(struct pass_instance *instance, int32_t *indices, struct passes *ret,
                             struct error *err)
{
    const uint64_t all = instance->sequences * instance->length;
    const bool whole = is_whole(instance);
    const uint64_t length = whole ? instance->length : prefix_of(instance);
    const uint64_t rows = whole ? all : length;
    const uint64_t from =
        whole ? 0 : random_next_below(&ret->random, instance->sequences) * instance->length;
    uint64_t unique = 0;

    memcpy(indices, instance->training->next + from, rows * sizeof(*indices));
    memcpy(indices + rows, instance->training->next + all + from, rows * sizeof(*indices));
    TRY(op_tokens_index(indices, rows, &unique, err));
    ret->tokens = indices;
    ret->targets = indices + rows;
    ret->sequences = rows / length;
    ret->length = length;
    ret->step = instance->training->steps;
    return pass_train_give(instance, indices, rows, length, unique, err);
}

static enum status verify_step(struct pass_instance *instance, struct passes *passes,
                               int32_t *indices, struct check_sink *sink, struct error *err)
{
    TRY(take_part(instance, indices, passes, err));
    TRY(fetch_weights(instance, err));
    TRY(begin_update(instance, trained_spread_windows(&instance->training->of, passes->windows),
                     passes, err));
    TRY(pass_train_passes(instance, err));
    TRY(check_passes(instance, passes, sink, err));
    TRY(adamw_update_gradients(&passes->update, err));
    TRY(pass_train_update(instance, err));
    return adamw_update_check(&passes->update, false, sink, err);
}

enum status pass_train_verify(struct pass_instance *instance, struct check_sink *sink,
                              struct error *err)
{
    const uint64_t rows = instance->sequences * instance->length;
    AUTO_FREE int32_t *indices = calloc(OP_TOKENS_LENGTH(rows), sizeof(*indices));
    CLEANUP(passes_finish)
    struct passes passes = {
        .windows = calloc(instance->layout.count * TRAINED_PIECES, sizeof(*passes.windows))};

    if (!indices || !passes.windows)
        return error_no_memory(err);
    random_init(&passes.random, instance->base.work.seed + instance->training->steps,
                STREAM_CHECKED);
    TRY(check_settle(&instance->base, err)); /* all GEMMs of a whole batch have run */
    return verify_step(instance, &passes, indices, sink, err);
}

/* ---- spot checks ---- */

/* A window, behind the others, of positions that no sequence has: their gradient is 0. */
static size_t add_unused(const struct pass_instance *instance, struct passes *passes)
{
    const struct graph_node *embedding = &instance->graph.graph->nodes[0];
    const size_t count = instance->layout.count;
    const struct graph_value *positions = &instance->graph.graph->values[embedding->in[2]];
    uint64_t rows, columns;

    if (embedding->in_count < 3 || graph_size(positions, 0) == instance->length)
        return count;
    rows = graph_size(positions, 0) - instance->length;
    columns = graph_size(positions, 1);
    passes->windows[count] = (struct adamw_window){
        instance->session.places[embedding->in[2]].offset +
            (instance->length + random_next_below(&passes->random, rows)) * columns,
        columns < UNUSED ? columns : UNUSED, true};
    return count + 1;
}

/* One of the kind's own iterations, over NaN. */
static enum status run_over_nan(struct pass_instance *instance, struct passes *passes,
                                struct error *err)
{
    const uint64_t rows = instance->sequences * instance->length;
    const struct session_spot spot = {.random = &passes->random, .rows = rows};
    const struct trained *of = &instance->training->of;
    CLEANUP(session_end_spot) struct session *session = &instance->session;

    /* What a prefix was verified over had fewer rows. */
    instance->given =
        (struct op_tokens){.buffer = instance->input, .rows = rows, .length = instance->length};
    TRY(trained_poison(of, &passes->update, pass_train_slot(passes->step), err));
    TRY(session_poison(session, spot, err));
    TRY(check_iterate_timed(&instance->base, of->arrays.weights, 0, err));
    return adamw_update_gradients(&passes->update, err);
}

/* The mean loss of the first positions of a drawn sequence. */
static enum status check_prefix(const struct pass_instance *instance, struct passes *passes,
                                struct check_sink *sink, struct error *err)
{
    const struct stack_wanted wanted = {.align = PASS_TRAIN_ALIGN};
    const uint64_t count = prefix_of(instance);
    const uint64_t from =
        random_next_below(&passes->random, instance->sequences) * instance->length;
    const struct stack_tolerance tolerance = pass_tolerance(&instance->base.work, count);
    CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;

    TRY(pass_refer(&instance->base.work, 1, count, &wanted, &reference, err));
    TRY(pass_moe_give(instance, reference, from, err));
    TRY(stack_reference_forward(reference, instance->weights, passes->tokens + from,
                                passes->targets + from, err));
    return trained_check_prefix(&instance->training->of, reference, from, &tolerance, sink, err);
}

static enum status spot_step(struct pass_instance *instance, struct passes *passes,
                             struct check_sink *sink, struct error *err)
{
    struct pass_training *training = instance->training;
    const uint64_t rows = instance->sequences * instance->length;

    passes->tokens = training->next; /* the iteration makes them those of `batch` */
    passes->targets = training->next + rows;
    passes->sequences = instance->sequences;
    passes->length = instance->length;
    passes->step = training->steps;
    TRY(fetch_weights(instance, err));
    trained_draw_windows(&training->of, passes->tokens, rows, instance->length, &passes->random,
                         passes->windows);
    pass_moe_aim(instance, &passes->random, passes->windows);
    TRY(begin_update(instance, add_unused(instance, passes), passes, err));
    TRY(run_over_nan(instance, passes, err));
    trained_report_live(&passes->update, instance->layout.count, true, "gradients.live", sink);
    TRY(adamw_update_check(&passes->update, false, sink, err));
    return is_whole(instance) ? check_passes(instance, passes, sink, err)
                              : check_prefix(instance, passes, sink, err);
}

enum status pass_train_spot_check(struct pass_instance *instance, uint64_t secret,
                                  struct check_sink *sink, struct error *err)
{
    CLEANUP(passes_finish)
    struct passes passes = {.windows = calloc(instance->layout.count + 1, sizeof(*passes.windows))};

    if (!passes.windows)
        return error_no_memory(err);
    random_init(&passes.random, secret, STREAM_CHECKED);
    TRY(pass_moe_draw(instance, secret, err));
    TRY(spot_step(instance, &passes, sink, err));
    TRY(pass_check_nodes(instance, secret, sink, err));
    return pass_moe_draw(instance, 0, err);
}
