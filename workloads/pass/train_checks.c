/*
 * Checks of a step. `verify` runs forward and backward over a part of the batch, compares loss and
 * gradients with the graph in fp64 at the master weights, then makes the update and compares it
 * with the formula; the step counts like any other. `spot_check` does that of one of the kind's own
 * iterations, over NaN in drawn parts of all that it writes: gradients whole where the batch is
 * small, else by the nodes of a pass more (session_check_step) and the losses of the first
 * positions of a sequence.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/models/adamw_update.h"
#include "workloads/pass/pass.h"
#include "workloads/storage.h"

#define STREAM_CHECKED 0x63686563u /* "chec" */
/* What is computed in the reference: parameters times positions; at least so many of those. */
#define WORK ((uint64_t)1 << 30)
#define POSITIONS_MIN 4
#define GRADIENTS_MOST ((uint64_t)1 << 25) /* elements that are compared in one check */
#define WINDOW 256                         /* elements of each parameter in a spot check */
#define VERIFY_WINDOW 16384                /* and in a verification */
#define FP32_TOLERANCE 1e-4
#define FP32_LOSS_TOLERANCE 1e-5

/* ---- tolerances: those of GPT-2 (models/gpt2_precision.c), by the arrays of the stack ---- */

static double root_of(const struct workload_case *work)
{
    return storage_unit_roundoff(precision_dtype(work->precision)) *
           sqrt((double)pass_arrays(work));
}

static double gradient_tolerance(const struct workload_case *work)
{
    return FP32_TOLERANCE + 2.0 * sqrt(2.0) * root_of(work);
}

static double loss_tolerance(const struct workload_case *work, uint64_t rows)
{
    const double narrow = work->precision == PRECISION_FP32
                              ? 0.0
                              : storage_unit_roundoff(precision_dtype(work->precision));

    return FP32_LOSS_TOLERANCE + 0.5 * narrow + 1.6 * root_of(work) / sqrt((double)rows);
}

double pass_train_tolerance(const struct workload_case *work, const char *output)
{
    if (!strcmp(output, "loss") || !strcmp(output, "loss.prefix"))
        return loss_tolerance(work, 1);
    if (!strcmp(output, "gradients"))
        return gradient_tolerance(work);
    if (!strcmp(output, "gradients.blocks"))
        return COMPARISON_BLOCK_FACTOR * gradient_tolerance(work);
    if (!strcmp(output, "gradients.live") || !strcmp(output, "adamw.still") ||
        !strcmp(output, "adamw.copy"))
        return 0.0;
    return strncmp(output, "adamw.", strlen("adamw.")) ? -1.0 : ADAMW_UPDATE_TOLERANCE;
}

/* ---- loss and gradients ---- */

/* Passes that have run: over what, at which weights, for which step's loss. */
struct passes {
    const int32_t *tokens, *targets;
    uint64_t sequences, length;
    uint64_t step;
    bool forward; /* and not backward */
    struct random *random;
};

static enum status refer(const struct pass_instance *instance, const struct passes *passes,
                         struct stack_reference **ret, struct error *err)
{
    const struct stack_wanted wanted = {.align = PASS_TRAIN_ALIGN,
                                        .gradients = passes->forward ? 0 : GRADIENTS_MOST,
                                        .random = passes->random};
    struct stack_graph graph = {0};

    TRY(pass_build(instance->base.work.workload->parameters, passes->sequences, passes->length,
                   &graph, err));
    TRY(stack_reference_create(&graph, &wanted, ret, err));
    TRY(stack_reference_forward(*ret, instance->weights, passes->tokens, passes->targets, err));
    return passes->forward ? STATUS_OK : stack_reference_backward(*ret, err);
}

static enum status check_loss(const struct pass_instance *instance, const struct passes *passes,
                              double expected, struct check_sink *sink, struct error *err)
{
    struct comparison comparison = {0};
    float loss;

    TRY(storage_download(instance->training->losses, DTYPE_F32, pass_train_slot(passes->step), 1,
                         &loss, err));
    comparison_add(&comparison, &loss, &expected, 1);
    check_sink_compare(sink, "loss", &comparison,
                       loss_tolerance(&instance->base.work, passes->sequences * passes->length),
                       "what the logits carry in, over the root of the number of tokens, and half "
                       "a rounding");
    return STATUS_OK;
}

/* The worst of the parameters, each by itself. */
static enum status check_gradients(const struct pass_instance *instance,
                                   const struct stack_reference *reference, struct check_sink *sink,
                                   struct error *err)
{
    const double tolerance = gradient_tolerance(&instance->base.work);
    struct workload_check check = {
        .output = "gradients",
        .tolerance = tolerance,
        .metric = "normalised_rms",
        .reason = "fp32: sums through every layer give 1e-6, a wrong term 1e-2 and more; narrower: "
                  "besides, a few times the roundings of all arrays, twice for gradients",
    };
    struct block_finding blocks = {0};
    char worst[GRAPH_NAME_MAX + 16] = "";

    for (size_t i = 0; i < instance->layout.count; i++) {
        const struct stack_parameter *parameter = &instance->layout.parameters[i];
        const struct graph_value *value = &instance->graph.graph->values[parameter->value];
        struct comparison comparison = {0};
        AUTO_FREE float *got = NULL;
        double error;

        if (!reference->gradients[i])
            continue;
        got = malloc(value->count * sizeof(*got));
        if (!got)
            return error_no_memory(err);
        TRY(storage_download(instance->training->gradients, instance->type, parameter->offset,
                             value->count, got, err));
        comparison_add(&comparison, got, reference->gradients[i], value->count);
        block_finding_add(&blocks, value->name, got, reference->gradients[i], value->count);
        error = comparison_normalised_rms(&comparison);
        check.compared += value->count;
        if (!(error <= check.error)) {
            check.error = isnan(error) ? DBL_MAX : fmin(error, DBL_MAX);
            snprintf(worst, sizeof(worst), "worst is d.%.47s", value->name);
        }
    }
    check_sink_report(sink, check, worst);
    check_sink_blocks(sink, "gradients.blocks", &blocks, tolerance);
    return STATUS_OK;
}

static enum status check_passes(const struct pass_instance *instance, const struct passes *passes,
                                struct check_sink *sink, struct error *err)
{
    CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;

    TRY(refer(instance, passes, &reference, err));
    TRY(check_loss(instance, passes, reference->loss, sink, err));
    return check_gradients(instance, reference, sink, err);
}

/* ---- the update ---- */

/* Of the parameters, as they are before a step. */
static enum status fetch_weights(struct pass_instance *instance, struct error *err)
{
    return storage_download(instance->training->weights, DTYPE_F32, 0, instance->layout.elements,
                            instance->weights, err);
}

/*
 * Where a window of the parameter may begin, and how many elements from there on: anywhere, but of
 * embeddings in the row of a token, or a position, of the batch, since others have no gradient.
 */
static uint64_t draw_first(const struct pass_instance *instance, uint32_t parameter,
                           const int32_t *tokens, struct random *random, uint64_t *ret_room)
{
    const struct graph_node *embedding = &instance->graph.graph->nodes[0];
    const struct graph_value *value = &instance->graph.graph->values[parameter];
    const uint64_t rows = instance->sequences * instance->length;
    const bool table = parameter == embedding->in[1];
    const bool positions = embedding->in_count > 2 && parameter == embedding->in[2];

    *ret_room = table || positions ? graph_size(value, -1) : value->count;
    if (table)
        return (uint64_t)tokens[random_next_below(random, rows)] * *ret_room;
    return positions ? random_next_below(random, instance->length) * *ret_room : 0;
}

/* A window, behind the others, of positions that no sequence has: their gradient is 0. */
static void add_unused(const struct pass_instance *instance, struct random *random,
                       struct adamw_window *windows, size_t *count)
{
    const struct graph_node *embedding = &instance->graph.graph->nodes[0];
    const uint32_t positions = embedding->in[2];
    uint64_t rows, columns;

    if (embedding->in_count < 3)
        return;
    rows = graph_size(&instance->graph.graph->values[positions], 0);
    columns = graph_size(&instance->graph.graph->values[positions], 1);
    if (rows == instance->length)
        return;
    windows[(*count)++] = (struct adamw_window){
        instance->session.places[positions].offset +
            (instance->length + random_next_below(random, rows - instance->length)) * columns,
        columns < WINDOW ? columns : WINDOW, true};
}

/* A window of each parameter, of at most `most` elements, and its arrays as they are. */
static enum status begin_update(const struct pass_instance *instance, const int32_t *tokens,
                                uint64_t most, struct random *random, struct adamw_window *windows,
                                struct adamw_update *ret, struct error *err)
{
    const struct pass_parameters *parameters = instance->base.work.workload->parameters;
    const struct pass_training *training = instance->training;
    const struct graph *graph = instance->graph.graph;

    *ret = (struct adamw_update){
        .windows = windows,
        .adamw = parameters->adamw,
        .step = training->steps + 1,
        .inverse = 1.0,
        .arrays = {training->weights, training->moment1, training->moment2, training->gradients,
                   training->copy, instance->type},
    };
    for (uint32_t i = 0; i < graph->value_count; i++) {
        uint64_t room, count, first;

        if (graph->values[i].role != GRAPH_PARAMETER)
            continue;
        first = draw_first(instance, i, tokens, random, &room);
        count = room < most ? room : most;
        windows[ret->count++] =
            (struct adamw_window){instance->session.places[i].offset + first +
                                      random_next_below(random, room - count + 1),
                                  count, graph->values[i].shape.rank > 1};
    }
    add_unused(instance, random, windows, &ret->count);
    return adamw_update_begin(ret, err);
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
        whole ? 0 : random_next_below(ret->random, instance->sequences) * instance->length;
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
                               int32_t *indices, struct adamw_window *windows,
                               struct adamw_update *update, struct check_sink *sink,
                               struct error *err)
{
    TRY(take_part(instance, indices, passes, err));
    TRY(fetch_weights(instance, err));
    TRY(begin_update(instance, passes->tokens, VERIFY_WINDOW, passes->random, windows, update,
                     err));
    TRY(pass_train_passes(instance, err));
    TRY(check_passes(instance, passes, sink, err));
    TRY(adamw_update_gradients(update, err));
    TRY(pass_train_update(instance, err));
    return adamw_update_check(update, false, sink, err);
}

enum status pass_train_verify(struct pass_instance *instance, struct check_sink *sink,
                              struct error *err)
{
    const uint64_t rows = instance->sequences * instance->length;
    AUTO_FREE int32_t *indices = calloc(OP_TOKENS_LENGTH(rows), sizeof(*indices));
    AUTO_FREE struct adamw_window *windows =
        calloc(instance->graph.graph->value_count + 1, sizeof(*windows));
    CLEANUP(adamw_update_finish) struct adamw_update update = {0};
    struct random random;
    struct passes passes = {.random = &random};

    if (!indices || !windows)
        return error_no_memory(err);
    random_init(&random, instance->base.work.seed + instance->training->steps, STREAM_CHECKED);
    TRY(check_settle(&instance->base, err)); /* all GEMMs of a whole batch have run */
    return verify_step(instance, &passes, indices, windows, &update, sink, err);
}

/* ---- spot checks ---- */

static enum status poison(struct pass_instance *instance, const struct adamw_update *update,
                          struct random *random, struct error *err)
{
    const struct pass_training *training = instance->training;
    const struct session_spot spot = {.random = random,
                                      .rows = instance->sequences * instance->length};

    TRY(storage_poison(training->losses, DTYPE_F32, pass_train_slot(training->steps), 1, err));
    for (size_t i = 0; i < update->count; i++)
        TRY(storage_poison(training->gradients, instance->type, update->windows[i].offset,
                           update->windows[i].count, err));
    return session_poison(&instance->session, spot, err);
}

/* One of the kind's own iterations, over NaN. */
static enum status run_over_nan(struct pass_instance *instance, struct adamw_update *update,
                                struct random *random, struct error *err)
{
    const uint64_t rows = instance->sequences * instance->length;
    enum status status;

    /* What a prefix was verified over had fewer rows. */
    instance->given =
        (struct op_tokens){.buffer = instance->input, .rows = rows, .length = instance->length};
    status = poison(instance, update, random, err);
    if (status == STATUS_OK)
        status = check_iterate_timed(&instance->base, instance->training->weights, 0, err);
    instance->session.spot.random = NULL;
    return status == STATUS_OK ? adamw_update_gradients(update, err) : status;
}

static size_t count_parameters(const struct graph *graph)
{
    size_t ret = 0;

    for (size_t i = 0; i < graph->value_count; i++)
        ret += graph->values[i].role == GRAPH_PARAMETER;
    return ret;
}

static void report_live(const struct adamw_update *update, size_t parameters,
                        struct check_sink *sink)
{
    const float *gradient = adamw_update_gradient(update);
    struct workload_check check = {
        .output = "gradients.live",
        .metric = "count",
        .reason = "the step writes finite gradients of every parameter, and not all are zero",
        .compared = update->room,
    };

    for (size_t i = 0; i < update->count; i++) {
        bool finite = true, some = i >= parameters; /* positions that are not used */

        for (uint64_t k = 0; k < update->windows[i].count; k++) {
            finite &= isfinite(gradient[k]) != 0;
            some |= gradient[k] != 0.0f;
        }
        gradient += update->windows[i].count;
        check.error += !finite || !some;
    }
    check_sink_report(sink, check, "parameters with gradients that no backward pass gives");
}

/* The mean loss of the first positions of a drawn sequence. */
static enum status check_prefix(const struct pass_instance *instance, const struct passes *passes,
                                struct check_sink *sink, struct error *err)
{
    const uint64_t count = prefix_of(instance);
    const uint64_t from = random_next_below(passes->random, instance->sequences) * instance->length;
    const struct passes first = {.tokens = passes->tokens + from,
                                 .targets = passes->targets + from,
                                 .sequences = 1,
                                 .length = count,
                                 .forward = true,
                                 .random = passes->random};
    const uint32_t losses = instance->graph.graph->nodes[instance->graph.forward].out[1];
    CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;
    AUTO_FREE float *got = malloc(count * sizeof(*got));
    struct comparison comparison = {0};
    float mean = 0.0f;

    if (!got)
        return error_no_memory(err);
    TRY(storage_download(instance->session.places[losses].buffer, DTYPE_F32, from, count, got,
                         err));
    for (uint64_t i = 0; i < count; i++)
        mean += got[i] / (float)count;
    TRY(refer(instance, &first, &reference, err));
    comparison_add(&comparison, &mean, &reference->loss, 1);
    check_sink_compare(sink, "loss.prefix", &comparison,
                       loss_tolerance(&instance->base.work, count),
                       "what the logits carry in, over the root of the number of tokens, and half "
                       "a rounding");
    return STATUS_OK;
}

static enum status spot_step(struct pass_instance *instance, struct passes *passes,
                             struct adamw_window *windows, struct adamw_update *update,
                             struct check_sink *sink, struct error *err)
{
    struct pass_training *training = instance->training;

    passes->tokens = training->next; /* the iteration makes them those of `batch` */
    passes->targets = training->next + instance->sequences * instance->length;
    passes->sequences = instance->sequences;
    passes->length = instance->length;
    passes->step = training->steps;
    TRY(fetch_weights(instance, err));
    TRY(begin_update(instance, passes->tokens, WINDOW, passes->random, windows, update, err));
    TRY(run_over_nan(instance, update, passes->random, err));
    report_live(update, count_parameters(instance->graph.graph), sink);
    TRY(adamw_update_check(update, false, sink, err));
    return is_whole(instance) ? check_passes(instance, passes, sink, err)
                              : check_prefix(instance, passes, sink, err);
}

enum status pass_train_spot_check(struct pass_instance *instance, uint64_t secret,
                                  struct check_sink *sink, struct error *err)
{
    AUTO_FREE struct adamw_window *windows =
        calloc(instance->graph.graph->value_count + 1, sizeof(*windows));
    CLEANUP(adamw_update_finish) struct adamw_update update = {0};
    struct random random;
    struct passes passes = {.random = &random};

    if (!windows)
        return error_no_memory(err);
    random_init(&random, secret, STREAM_CHECKED);
    TRY(spot_step(instance, &passes, windows, &update, sink, err));
    return pass_check_nodes(instance, secret, sink, err);
}
