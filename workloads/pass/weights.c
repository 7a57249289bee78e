/*
 * Weights in few bits: the section, bytes, matrices made on the device by position, and a reference
 * that makes each parameter again before the node that reads it, so that no more of them than one
 * lie on the host.
 */
#include "workloads/pass/weights.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/graph/operators.h"
#include "workloads/storage.h"

#define REFERRED_MOST ((uint64_t)1 << 30) /* elements of matrices: a minute of the host */
#define ROUNDED 16                        /* outputs of each matrix whose rounding is measured */

/* ---- the section ---- */

/* From 1: what is left out is 0. */
static const struct declaration_name format_names[] = {
    {"int8", 1},  {"int4", 2},  {"fp8", 3},   {"fp8_block", 4},
    {"mxfp8", 5}, {"mxfp4", 6}, {"nvfp4", 7},
};

const struct declaration_field pass_weights_fields[] = {
    FIELD_ENUM("format", FIELD_REQUIRED, struct pass_weights_section, format, format_names,
               FORMAT_COUNT),
    FIELD_INT("group", FIELD_OPTIONAL, struct pass_weights_section, group),
    FIELD_END,
};

/* The weight that a node multiplies with is one that the format holds. */
static bool multiplies(const struct graph_node *node)
{
    return node->op == &graph_op_linear && !node->attributes.transposed;
}

static enum status check_group(const struct declaration *declaration,
                               const struct pass_weights_section *written, struct pass_weights *ret,
                               struct error *err)
{
    if (!declaration_has(declaration, "weights.group"))
        return STATUS_OK;
    if (ret->format->element != FORMAT_INT4)
        return declaration_error(declaration, "weights.group", err,
                                 "a block of %s has a size of its own; remove `group`",
                                 ret->format->name);
    if (written->group != 32 && written->group != 64 && written->group != 128)
        return declaration_error(declaration, "weights.group", err,
                                 "`group` is %lld inputs; write 32, 64 or 128",
                                 (long long)written->group);
    ret->cols = (uint64_t)written->group;
    return STATUS_OK;
}

/* The largest group that divides the inputs of all matrices; 0: none does. */
static uint64_t fitting_group(const struct graph *graph)
{
    uint64_t ret = 128;

    for (size_t i = 0; i < graph->node_count; i++)
        while (ret >= 32 && multiplies(&graph->nodes[i]) &&
               graph_size(graph_input(graph, &graph->nodes[i], 0), 1) % ret != 0)
            ret /= 2;
    return ret >= 32 ? ret : 0;
}

static enum status refuse_width(const struct declaration *declaration, const struct graph *graph,
                                const struct graph_value *weight,
                                const struct pass_weights *weights, struct error *err)
{
    const bool grouped = declaration_has(declaration, "weights.group");
    const unsigned long long cols = weights->cols ? weights->cols : 32;
    const unsigned long long fits = fitting_group(graph);

    if (weights->format->element == FORMAT_INT4 && fits)
        return declaration_error(declaration, grouped ? "weights.group" : "weights.format", err,
                                 "groups of %llu do not divide the %llu inputs of %s; write group: "
                                 "%llu",
                                 cols, (unsigned long long)graph_size(weight, 0), weight->name,
                                 fits);
    return declaration_error(declaration, grouped ? "weights.group" : "weights.format", err,
                             "blocks of %llu do not divide the %llu inputs of %s, which %s needs; "
                             "write widths that are multiples of it, or another format",
                             cols, (unsigned long long)graph_size(weight, 0), weight->name,
                             weights->format->name);
}

/* All that the format is to hold fits it, and there is something. */
static enum status check_matrices(const struct declaration *declaration, const struct graph *graph,
                                  const struct pass_weights *weights, struct error *err)
{
    size_t matrices = 0;

    for (size_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        const struct graph_value *weight;

        if (node->op == &graph_op_expert_product)
            return declaration_error(declaration, "weights", err,
                                     "the matrices of experts cannot be held in few bits; remove "
                                     "`weights`, or write `mlp` in place of `moe`");
        if (!multiplies(node))
            continue;
        matrices++;
        weight = graph_input(graph, node, 1);
        if (!op_packed_divides(weights->cols, graph_size(weight, 0)))
            return refuse_width(declaration, graph, weight, weights, err);
    }
    return matrices ? STATUS_OK
                    : declaration_error(declaration, "weights", err,
                                        "no block of the model has a matrix that could be held in "
                                        "few bits (a tied head has none of its own); remove "
                                        "`weights`");
}

enum status pass_weights_check(const struct declaration *declaration,
                               const struct pass_weights_section *written,
                               struct pass_parameters *ret, struct error *err)
{
    struct pass_weights *weights = &ret->weights;
    CLEANUP(stack_graph_finish) struct stack_graph graph = {0};

    if (!declaration_has(declaration, "weights"))
        return STATUS_OK;
    if (!ret->decode.context)
        return declaration_error(declaration, "weights", err,
                                 "products with weights in few bits are there for a token of each "
                                 "sequence; write `decode` in place of sequence_length, or remove "
                                 "`weights`");
    weights->format = &formats[written->format - 1];
    weights->cols = weights->format->cols;
    TRY(check_group(declaration, written, weights, err));
    TRY(pass_build(ret, 1, 1, &graph, err));
    return check_matrices(declaration, graph.graph, weights, err);
}

/* ---- what is known without a device ---- */

static struct op_packed matrix_of(const struct pass_weights *weights,
                                  const struct graph_value *weight)
{
    return (struct op_packed){.format = weights->format,
                              .cols = weights->cols,
                              .inputs = graph_size(weight, 0),
                              .outputs = graph_size(weight, 1)};
}

/* Elements of the matrices, and their bytes in the format. */
static uint64_t sum_matrices(const struct pass_weights *weights, const struct graph *graph,
                             uint64_t *ret_bytes)
{
    uint64_t count = 0;

    *ret_bytes = 0;
    for (size_t i = 0; weights->format && i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        struct op_packed matrix;

        if (!multiplies(node))
            continue;
        matrix = matrix_of(weights, graph_input(graph, node, 1));
        *ret_bytes += op_packed_code_bytes(&matrix) + op_packed_scale_bytes(&matrix);
        count += matrix.inputs * matrix.outputs;
    }
    return count;
}

uint64_t pass_weights_saved(const struct pass_weights *weights, const struct graph *graph,
                            uint64_t width)
{
    uint64_t bytes;
    const uint64_t count = sum_matrices(weights, graph, &bytes);

    return count * width - bytes;
}

void pass_weights_describe(const struct pass_weights *weights, const struct graph *graph,
                           struct text *ret)
{
    char human[TEXT_HUMAN_SIZE];
    uint64_t bytes;
    const uint64_t count = sum_matrices(weights, graph, &bytes);

    if (!weights->format)
        return;
    text_append_format(ret, "weights: %s (%s", weights->format->name, weights->format->text);
    if (weights->format->element == FORMAT_INT4)
        text_append_format(ret, "; groups of %llu", (unsigned long long)weights->cols);
    text_append_format(ret,
                       "), %.4g bits each with their share of the scales: %llu of the parameters, "
                       "%s; the others as the precision says\n",
                       8.0 * (double)bytes / (double)count, (unsigned long long)count,
                       text_human_bytes((double)bytes, human));
}

json_t *pass_weights_facts(const struct pass_instance *instance)
{
    const struct pass_parameters *parameters = instance->base.work.workload->parameters;
    uint64_t bytes;
    const uint64_t count = sum_matrices(&parameters->weights, instance->graph.graph, &bytes);
    json_t *ret =
        json_pack("{s:s, s:I, s:f}", "format", parameters->weights.format->name, "parameters",
                  (json_int_t)count, "bits", 8.0 * (double)bytes / (double)count);

    if (ret && instance->weights_rounding > 0.0)
        json_object_set_new(ret, "rounding", json_real(instance->weights_rounding));
    if (ret && instance->weights_error > 0.0)
        json_object_set_new(ret, "output_error", json_real(instance->weights_error));
    return ret;
}

/* ---- on the device ---- */

static enum status take_laws(struct pass_instance *instance, struct error *err)
{
    const struct graph *graph = instance->graph.graph;

    instance->packed = calloc(graph->value_count, sizeof(*instance->packed));
    if (!instance->packed)
        return error_no_memory(err);
    for (size_t i = 0; i < instance->layout.count; i++) {
        const struct stack_parameter *parameter = &instance->layout.parameters[i];
        const struct stack_law law = stack_law_of(&graph->values[parameter->value], parameter);

        instance->packed[parameter->value].law =
            op_law_of(instance->base.work.seed, law.stream, law.mean, law.deviation);
    }
    return STATUS_OK;
}

enum status pass_weights_compile(struct pass_instance *instance, struct error *err)
{
    const struct pass_parameters *parameters = instance->base.work.workload->parameters;
    const struct graph *graph = instance->graph.graph;
    const struct pass_weights *weights = &parameters->weights;
    uint64_t most = 0;

    if (!weights->format)
        return STATUS_OK;
    TRY(take_laws(instance, err));
    for (size_t i = 0; i < graph->node_count; i++) {
        struct op_packed *of;
        struct op_law law;

        if (!multiplies(&graph->nodes[i]))
            continue;
        of = &instance->packed[graph->nodes[i].in[1]];
        law = of->law;
        *of = matrix_of(weights, graph_input(graph, &graph->nodes[i], 1));
        of->law = law;
        most = of->inputs > most ? of->inputs : most;
    }
    return ops_packed(instance->ops, weights->format, weights->cols, instance->sequences, most,
                      err);
}

enum status pass_weights_place(struct pass_instance *instance, struct error *err)
{
    struct device *device = instance->base.device;

    for (size_t i = 0; instance->packed && i < instance->graph.graph->value_count; i++) {
        struct op_packed *packed = &instance->packed[i];
        struct session_place *place = &instance->session.places[i];
        uint64_t bytes;

        if (!packed->format)
            continue;
        bytes = op_packed_scale_bytes(packed);
        TRY(device_buffer_alloc(device, op_packed_code_bytes(packed), BUFFER_READ_WRITE,
                                &packed->codes, err));
        TRY(device_buffer_alloc(device, bytes ? bytes : 1, BUFFER_READ_WRITE, &packed->scales,
                                err));
        place->buffer = packed->codes;
        place->type = DTYPE_I8;
    }
    return STATUS_OK;
}

enum status pass_weights_make(struct pass_instance *instance, struct error *err)
{
    const struct graph *graph = instance->graph.graph;

    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct op_packed *packed = &instance->packed[i];

        if (graph->values[i].role != GRAPH_PARAMETER)
            continue;
        TRY(packed->format ? op_packed_make(instance->ops, packed, err)
                           : op_packed_fill(instance->ops, session_at(&instance->session, i),
                                            graph->values[i].count, &packed->law, err));
    }
    return STATUS_OK;
}

void pass_weights_finish(struct pass_instance *instance)
{
    for (size_t i = 0; instance->packed && i < instance->graph.graph->value_count; i++) {
        device_buffer_free(instance->packed[i].codes);
        device_buffer_free(instance->packed[i].scales);
    }
    free(instance->packed);
}

/* ---- the reference ---- */

static void fill(const struct op_law *law, uint64_t first, uint64_t count, float *ret)
{
#pragma omp parallel for schedule(static) if (count > GRAPH_WORTH_THREADS)
    for (uint64_t i = 0; i < count; i++)
        ret[first + i] = op_law_number(law, first + i);
}

/* Input `index` of a node; of a table of tokens the rows that are read. */
static enum status make_input(const struct pass_instance *instance, const struct graph *graph,
                              const struct graph_node *node, size_t index, const int32_t *tokens,
                              bool decoded, float **ret, struct error *err)
{
    const struct graph_value *value = graph_input(graph, node, index);
    const struct op_packed *packed = &instance->packed[node->in[index]];
    const uint64_t width = graph_size(value, -1);
    float *numbers = malloc(value->count * sizeof(*numbers));

    if (!numbers)
        return error_no_memory(err);
    *ret = numbers;
    if (packed->format)
        op_packed_numbers(packed, 0, packed->outputs, decoded, numbers);
    else if (node->op != &graph_op_embedding || index != 1)
        fill(&packed->law, 0, value->count, numbers);
    else
        for (uint64_t r = 0; r < graph_input(graph, node, 0)->count; r++)
            fill(&packed->law, (uint64_t)tokens[r] * width, width, numbers);
    return STATUS_OK;
}

static enum status run_node(const struct pass_instance *instance,
                            struct graph_interpreter *interpreter, const struct graph *graph,
                            size_t at, const int32_t *tokens, bool decoded, struct error *err)
{
    const struct graph_node *node = &graph->nodes[at];
    float *made[GRAPH_INPUTS_MAX] = {NULL};
    enum status status = STATUS_OK;

    for (size_t k = 0; k < node->in_count && status == STATUS_OK; k++) {
        if (graph_input(graph, node, k)->role != GRAPH_PARAMETER)
            continue;
        status = make_input(instance, graph, node, k, tokens, decoded, &made[k], err);
        graph_interpreter_give(interpreter, node->in[k], (struct graph_array){.f32 = made[k]});
    }
    if (status == STATUS_OK)
        status = graph_interpreter_run(interpreter, at, at + 1, err);
    for (size_t k = 0; k < node->in_count; k++)
        free(made[k]);
    return status;
}

enum status pass_weights_run(const struct pass_instance *instance,
                             const struct stack_reference *reference, const int32_t *tokens,
                             bool decoded, size_t first, size_t end, struct error *err)
{
    if (!instance->packed)
        return graph_interpreter_run(reference->interpreter, first, end, err);
    for (size_t i = first; i < end; i++)
        TRY(run_node(instance, reference->interpreter, reference->graph.graph, i, tokens, decoded,
                     err));
    return STATUS_OK;
}

bool pass_weights_is_referred(const struct pass_instance *instance)
{
    const struct pass_parameters *parameters = instance->base.work.workload->parameters;
    uint64_t bytes;

    return sum_matrices(&parameters->weights, instance->graph.graph, &bytes) <= REFERRED_MOST;
}

/* ---- what the format costs ---- */

static enum status add_rounding(const struct op_packed *packed, double *error, double *all,
                                struct error *err)
{
    const uint64_t outputs = packed->outputs < ROUNDED ? packed->outputs : ROUNDED;
    AUTO_FREE float *exact = malloc(outputs * packed->inputs * sizeof(*exact));
    AUTO_FREE float *rounded = malloc(outputs * packed->inputs * sizeof(*rounded));

    if (!exact || !rounded)
        return error_no_memory(err);
    op_packed_numbers(packed, 0, outputs, false, exact);
    op_packed_numbers(packed, 0, outputs, true, rounded);
    for (uint64_t i = 0; i < outputs * packed->inputs; i++) {
        const double off = (double)rounded[i] - (double)exact[i];

        *error += off * off;
        *all += (double)exact[i] * (double)exact[i];
    }
    return STATUS_OK;
}

enum status pass_weights_measure_rounding(struct pass_instance *instance, struct error *err)
{
    double error = 0.0, all = 0.0;

    if (!instance->packed || instance->weights_rounding > 0.0)
        return STATUS_OK;
    for (size_t i = 0; i < instance->graph.graph->value_count; i++)
        if (instance->packed[i].format)
            TRY(add_rounding(&instance->packed[i], &error, &all, err));
    instance->weights_rounding = sqrt(error / all);
    return STATUS_OK;
}

enum status pass_weights_measure(struct pass_instance *instance, uint64_t sequence,
                                 const double *out, struct error *err)
{
    const struct stack_wanted wanted = {.out = true};
    CLEANUP(stack_reference_drop) struct stack_reference *exact = NULL;
    double error = 0.0, all = 0.0;

    if (!instance->packed || instance->weights_error > 0.0)
        return STATUS_OK;
    TRY(pass_refer(&instance->base.work, 1, 1, &wanted, &exact, err));
    TRY(decode_refer(instance, exact, sequence, false, err));
    for (uint64_t i = 0; i < instance->columns; i++) {
        error += (out[i] - exact->out[i]) * (out[i] - exact->out[i]);
        all += exact->out[i] * exact->out[i];
    }
    instance->weights_error = sqrt(error / all);
    return STATUS_OK;
}
