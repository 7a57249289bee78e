/*
 * pass - sequences of tokens through a declared stack (models/stack.h), one layer or a whole model:
 * forward, a step of training (train.c), or forward one token of each behind a context (decode.c).
 * Our own backends run its graph (session/), frameworks an ONNX model that is made of it; the
 * reference is the graph's, in fp64.
 */
#include "workloads/pass/weights.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/graph/operators.h"
#include "workloads/graph/plan.h"
#include "workloads/kinds.h"
#include "workloads/models/graph_onnx.h"
#include "workloads/storage.h"

#define LENGTH_MAX (1 << 20)
#define TOKENS_STREAM 0x746f6b65u /* "toke" */
#define DRAWN_STREAM 0x64726177u  /* "draw" */
/* What a spot check computes in the reference: parameters times positions. */
#define SPOT_WORK ((uint64_t)1 << 27)
#define SPOT_MIN 4
#define NODES_STREAM 0x6e6f6465u /* "node" */
#define NODE_TOLERANCE 1e-5
#define PACK_MOST 8       /* elements: 16 bytes of the narrowest storage */
#define SEQUENCES_MOST 4  /* of decode that are compared */
#define DRAWS_MOST 0x1p36 /* of routing, which describe and verify make, too: a minute */

struct pass_declaration {
    struct workload_declaration common;
    struct stack model;
    int64_t sequence_length;
    struct pass_decode decode;
    struct pass_weights_section weights;
    struct pass_train_section train;
};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct pass_declaration),
    FIELD_GROUP("model", FIELD_REQUIRED, struct pass_declaration, model, stack_fields),
    FIELD_INT("sequence_length", FIELD_OPTIONAL, struct pass_declaration, sequence_length),
    FIELD_GROUP("decode", FIELD_OPTIONAL, struct pass_declaration, decode, decode_fields),
    FIELD_GROUP("weights", FIELD_OPTIONAL, struct pass_declaration, weights, pass_weights_fields),
    FIELD_GROUP("train", FIELD_OPTIONAL, struct pass_declaration, train, pass_train_fields),
    FIELD_END,
};

static const struct declaration_schema schema = {ENTRY_GROUP(struct pass_declaration, fields)};

static void unload(struct workload *workload)
{
    struct pass_parameters *parameters = workload->parameters;

    if (parameters)
        stack_finish(&parameters->stack);
}

enum status pass_build(const struct pass_parameters *parameters, uint64_t sequences,
                       uint64_t length, struct stack_graph *ret, struct error *err)
{
    const struct pass_decode *decode = &parameters->decode;

    if (decode->context)
        return stack_graph_decode(ret, &parameters->stack, sequences, (uint64_t)decode->context,
                                  (uint64_t)decode->page, err);
    TRY(stack_graph_init(ret, &parameters->stack, sequences, length, err));
    return parameters->trains ? stack_graph_train(ret, err) : STATUS_OK;
}

static enum status build_checked(const struct pass_parameters *parameters, uint64_t sequences,
                                 struct stack_graph *ret, struct error *err)
{
    TRY(pass_build(parameters, sequences, parameters->length, ret, err));
    return pass_moe_draws(ret) <= DRAWS_MOST
               ? STATUS_OK
               : error_set(err, STATUS_INVALID,
                           "to draw its routing takes minutes, since tokens * top * experts of all "
                           "layers are more than 2^36");
}

/* The refusals of the graph of so many sequences are the declaration's, where `path` is. */
static enum status check_graph(const struct declaration *declaration, const char *path,
                               const struct pass_parameters *parameters, int64_t sequences,
                               struct error *err)
{
    CLEANUP(stack_graph_finish) struct stack_graph graph = {0};
    struct error refusal = ERROR_INIT;

    if (build_checked(parameters, (uint64_t)sequences, &graph, &refusal) == STATUS_OK)
        return STATUS_OK;
    return declaration_error(declaration, path, err,
                             "a pass of %lld sequences is impossible: %s; write a smaller batch, "
                             "sequence_length or model",
                             (long long)sequences, refusal.message);
}

static enum status check_graphs(const struct declaration *declaration,
                                const struct workload_declaration *common,
                                const struct pass_parameters *parameters, struct error *err)
{
    TRY(check_graph(declaration, "model", parameters, 1, err));
    for (uint32_t i = 0; i < common->batches_count; i++) {
        char path[32];

        snprintf(path, sizeof(path), "batches[%u]", (unsigned)i);
        TRY(check_graph(declaration, path, parameters, common->batches[i], err));
    }
    return STATUS_OK;
}

static enum status check_length(const struct declaration *declaration,
                                struct pass_declaration *data, struct pass_parameters *ret,
                                struct error *err)
{
    if (declaration_has(declaration, "decode"))
        return decode_check(declaration, &data->decode, ret, err);
    if (!declaration_has(declaration, "sequence_length"))
        return declaration_error(declaration, "sequence_length", err,
                                 "the length of sequences is missing; write `sequence_length`, "
                                 "or `decode` for one token behind a context");
    ret->length = (uint64_t)data->sequence_length;
    return workload_declaration_check_count(declaration, "sequence_length", data->sequence_length,
                                            LENGTH_MAX, "tokens", err);
}

static enum status check_declaration(const struct declaration *declaration,
                                     struct workload *workload, struct error *err)
{
    static const enum precision precisions[] = {PRECISION_FP32, PRECISION_BF16, PRECISION_FP16};
    struct pass_declaration *data = declaration->data;
    struct pass_parameters *parameters = calloc(1, sizeof(*parameters));

    if (!parameters)
        return error_no_memory(err);
    workload->parameters = parameters;
    TRY(workload_declaration_check_precisions(declaration, &data->common, precisions,
                                              sizeof(precisions) / sizeof(precisions[0]), err));
    TRY(check_length(declaration, data, parameters, err));
    TRY(stack_check(declaration, &data->model,
                    parameters->decode.context + (int64_t)parameters->length, &parameters->stack,
                    err));
    TRY(pass_train_check(declaration, &data->common, &data->train, parameters, err));
    TRY(pass_weights_check(declaration, &data->weights, parameters, err));
    return check_graphs(declaration, &data->common, parameters, err);
}

static const struct workload_form form = {&schema, check_declaration};

/* ---- what is known without a device ---- */

static enum status build(const struct workload_case *work, uint64_t sequences, uint64_t length,
                         struct stack_graph *ret, struct error *err)
{
    return pass_build(work->workload->parameters, sequences, length, ret, err);
}

static uint64_t flops_of(const struct graph *graph, const struct graph_op *op)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        const uint64_t flops =
            node->op->flops && (!op || node->op == op) ? node->op->flops(graph, node) : 0;

        sum = flops > UINT64_MAX - sum ? UINT64_MAX : sum + flops;
    }
    return sum;
}

#define FORMULA_PAIRS "causal scores and values count T(T+1)/2 pairs a head"
#define FORMULA_EXPERTS_READ                                                                       \
    "all parameters once (of the embedding the tokens' rows, of experts those that a token is "    \
    "routed to), the keys and values of context + 1 positions read and those of one written"
#define FORMULA_EXPERTS_DECODED                                                                    \
    "2*m*n*k of the GEMMs over a token a sequence, of experts those that a token is routed to; "   \
    "scores and values count context + 1 pairs a head"
#define FORMULA_TRAINED "3 * (sum of 2*m*n*k over the forward pass's GEMMs"
#define FORMULA_TRAINED_END                                                                        \
    "; " FORMULA_PAIRS "); the backward pass has two GEMMs for each" FORMULA_SOURCE
#define FORMULA_SOURCE " (Chowdhery et al. 2022, appendix B, without masked positions)"

static enum status cost(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err)
{
    const struct pass_parameters *parameters = work->workload->parameters;
    const uint64_t width = dtype_bits(precision_dtype(work->precision)) / 8;
    const uint64_t tokens = (uint64_t)work->batch * parameters->length;
    CLEANUP(stack_graph_finish) struct stack_graph graph = {0};
    CLEANUP(graph_plan_finish) struct graph_plan plan = {0};
    unsigned __int128 bytes;
    uint64_t flops, largest, saved, unread;

    TRY(build(work, (uint64_t)work->batch, parameters->length, &graph, err));
    TRY(graph_plan_init(&plan, graph.graph, err));
    flops = flops_of(graph.graph, NULL);
    saved = pass_weights_saved(&parameters->weights, graph.graph, width);
    bytes = ((unsigned __int128)stack_parameter_count(&graph) + plan.pool +
             decode_cache_count(graph.graph)) *
                width -
            saved + tokens * sizeof(int32_t);
    if (parameters->trains)
        TRY(pass_train_bytes(parameters, (uint64_t)work->batch, precision_dtype(work->precision),
                             &bytes, &largest, err));
    else
        bytes += pass_moe_bytes(&graph);
    if (flops > INT64_MAX || bytes > INT64_MAX || tokens > INT32_MAX)
        return error_set(err, STATUS_INVALID,
                         "%s: an iteration of batch %lld is more than 2^63 FLOPs, 2^63 bytes or "
                         "2^31 tokens: declare a smaller batch, sequence_length or model",
                         work->workload->name, (long long)work->batch);
    *ret = (struct workload_cost){
        .flops = flops,
        .flops_formula = parameters->trains && graph.routed_count > 0 ? FORMULA_TRAINED
                             ", of experts those that a token is routed "
                             "to" FORMULA_TRAINED_END
                         : parameters->trains ? FORMULA_TRAINED FORMULA_TRAINED_END
                         : graph.routed_count > 0
                             ? "sum of 2*m*n*k over the GEMMs, of experts those that a token is "
                               "routed to; " FORMULA_PAIRS FORMULA_SOURCE
                             : "sum of 2*m*n*k over the GEMMs; " FORMULA_PAIRS FORMULA_SOURCE,
        .items = tokens,
        .item_name = "token",
        .device_memory_bytes = (uint64_t)bytes,
        .working_set_bytes = (uint64_t)bytes,
        .headline = "items",
    };
    if (!parameters->decode.context)
        return STATUS_OK;
    decode_cost(graph.graph, width, saved, ret);
    TRY(pass_moe_unread(&graph, &unread, err));
    ret->bytes -= unread * width;
    if (graph.routed_count > 0) {
        ret->bytes_formula = FORMULA_EXPERTS_READ;
        ret->flops_formula = FORMULA_EXPERTS_DECODED;
    }
    return STATUS_OK;
}

static void describe_operators(const struct graph *graph, struct text *ret)
{
#define X(name) &graph_op_##name,
    static const struct graph_op *const all[] = {GRAPH_OPERATORS(X)};
#undef X

    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
        const uint64_t flops = flops_of(graph, all[k]);
        char human[TEXT_HUMAN_SIZE];
        size_t count = 0;

        for (size_t i = 0; i < graph->node_count; i++)
            count += graph->nodes[i].op == all[k];
        if (count == 0)
            continue;
        text_append_format(ret, "  %zu %s: %s", count, all[k]->name, all[k]->formula);
        if (flops > 0)
            text_append_format(ret, "; %sFLOP", text_human_si((double)flops, human));
        text_append_char(ret, '\n');
    }
}

/* Of each batch. */
static void describe_routing(const struct workload *workload, struct text *ret)
{
    const struct pass_parameters *parameters = workload->parameters;

    for (size_t i = 0; i < workload->batch_count; i++) {
        CLEANUP(stack_graph_finish) struct stack_graph graph = {0};

        if (pass_build(parameters, (uint64_t)workload->batches[i], parameters->length, &graph,
                       NULL) == STATUS_OK)
            pass_moe_describe(&graph, ret);
    }
}

static void describe(const struct workload *workload, struct text *ret)
{
    const struct pass_parameters *parameters = workload->parameters;
    CLEANUP(stack_graph_finish) struct stack_graph graph = {0};

    stack_describe(&parameters->stack, ret);
    if (parameters->trains)
        text_append_format(
            ret,
            "trained by AdamW: rate %g, beta1 %g, beta2 %g, epsilon %g, weight decay "
            "%g on matrices (not on biases and gains)\n",
            parameters->adamw.rate, parameters->adamw.beta1, parameters->adamw.beta2,
            parameters->adamw.epsilon, parameters->adamw.decay);
    if (pass_build(parameters, 1, parameters->length, &graph, NULL) != STATUS_OK)
        return;
    if (parameters->trains && graph.routed_count > 0)
        text_append(ret, "the law says which experts a token has; the weights of a token's experts "
                         "are the router's, which is trained with them\n");
    text_append_format(ret, "parameters: %llu\n",
                       (unsigned long long)stack_parameter_count(&graph));
    pass_weights_describe(&parameters->weights, graph.graph, ret);
    if (parameters->decode.context)
        decode_describe(&parameters->decode, graph.graph, ret);
    else
        text_append_format(ret, "sequence length: %llu tokens\n",
                           (unsigned long long)parameters->length);
    describe_routing(workload, ret);
    text_append(ret, "operators of one:\n");
    describe_operators(graph.graph, ret);
}

/* ---- running ---- */

static void finish(struct workload_instance *base)
{
    struct pass_instance *instance = (struct pass_instance *)base;

    if (!instance->ops)
        device_buffer_free(instance->output);
    session_finish(&instance->session);
    pass_train_finish(instance);
    pass_weights_finish(instance);
    ops_destroy(instance->ops);
    stack_layout_finish(&instance->layout);
    stack_graph_finish(&instance->graph);
    device_buffer_free(instance->input);
    decode_destroy(instance->decode);
    pass_moe_destroy(instance->moe);
    free(instance->tokens);
    free(instance->weights);
}

/* Drawn by the case's seed, or by a secret. */
static enum status take_tokens(struct pass_instance *instance, uint64_t seed, struct error *err)
{
    const uint64_t count = instance->sequences * instance->length;

    for (uint64_t i = 0; i < count; i++)
        instance->tokens[i] =
            (int32_t)(random_at(seed, TOKENS_STREAM, i) % (uint64_t)instance->vocabulary);
    return device_upload(instance->input, 0, instance->tokens, count * sizeof(int32_t), err);
}

static enum status make_weights(struct pass_instance *instance, struct error *err)
{
    const struct pass_parameters *parameters = instance->base.work.workload->parameters;

    TRY(stack_layout_init(&instance->layout, instance->graph.graph,
                          parameters->trains ? PASS_TRAIN_ALIGN : 0, err));
    if (parameters->weights.format) /* the device makes them */
        return STATUS_OK;
    instance->weights = calloc(instance->layout.elements, sizeof(*instance->weights));
    if (!instance->weights)
        return error_no_memory(err);
    stack_fill(&instance->graph, &instance->layout, instance->base.work.seed, instance->weights);
    return STATUS_OK;
}

/* ---- by our own operations ---- */

/*
 * The width for ops_create, by which kernels see whether packs of elements fit: the model's, where
 * they fit rows of everything else, too.
 */
static uint64_t pack_width(const struct graph *graph, uint64_t width)
{
    for (size_t i = 0; i < graph->value_count; i++)
        if (graph->values[i].shape.rank == 2 && graph_size(&graph->values[i], 1) % PACK_MOST != 0 &&
            graph->values[i].role == GRAPH_COMPUTED)
            return 1;
    return width;
}

/* Attention is compiled for one size of heads. */
static enum status compile(struct pass_instance *instance, struct error *err)
{
    const struct graph *graph = instance->graph.graph;
    uint64_t size = 0;

    TRY(ops_stack(instance->ops, err));
    TRY(decode_compile(instance, err));
    TRY(pass_weights_compile(instance, err));
    if (instance->graph.loss)
        TRY(ops_stack_backward(instance->ops, err));
    if (instance->graph.loss && instance->graph.routed_count > 0)
        TRY(ops_experts_backward(instance->ops, err));
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        uint64_t mine;

        if (node->op != &graph_op_attention)
            continue;
        mine = graph_head_size(graph, node, 0);
        if (size && mine != size)
            return error_set(
                err, STATUS_UNSUPPORTED,
                "our own operations run stacks whose heads are all of one size, not of "
                "%llu and %llu: choose a worker, such as --worker onnxruntime",
                (unsigned long long)size, (unsigned long long)mine);
        if (!size)
            TRY(ops_heads_attention(instance->ops, mine, err));
        size = mine;
    }
    return STATUS_OK;
}

static enum status upload_weights(const struct pass_instance *instance, struct error *err)
{
    for (size_t i = 0; i < instance->layout.count; i++) {
        const struct stack_parameter *parameter = &instance->layout.parameters[i];
        const uint64_t count = instance->graph.graph->values[parameter->value].count;

        TRY(storage_upload(instance->session.places[parameter->value].buffer, instance->type, 0,
                           instance->weights + parameter->offset, count, err));
    }
    return STATUS_OK;
}

/* Attention has no probabilities there. */
static enum status forward_bytes(const struct pass_instance *instance, uint64_t size,
                                 unsigned __int128 *ret, uint64_t *ret_largest, struct error *err)
{
    const struct pass_parameters *parameters = instance->base.work.workload->parameters;
    CLEANUP(stack_graph_finish) struct stack_graph graph = {0};
    CLEANUP(graph_plan_finish) struct graph_plan plan = {0};

    TRY(build(&instance->base.work, instance->sequences, instance->length, &graph, err));
    for (uint32_t i = 0; i < graph.graph->value_count; i++) {
        const struct graph_value *value = &graph.graph->values[i];

        if (value->shape.rank > 2 && value->role == GRAPH_COMPUTED)
            graph_lend(graph.graph, i);
        else if (value->count * size > *ret_largest)
            *ret_largest = value->count * size;
    }
    TRY(graph_plan_init(&plan, graph.graph, err));
    *ret = ((unsigned __int128)stack_parameter_count(&graph) + plan.pool +
            decode_cache_count(graph.graph)) *
               size +
           pass_moe_bytes(&graph) - pass_weights_saved(&parameters->weights, graph.graph, size);
    return STATUS_OK;
}

/*
 * Says what does not fit before the device has to. What shares the host's memory has the
 * parameters in it twice.
 */
static enum status check_memory(const struct pass_instance *instance, struct error *err)
{
    const struct pass_parameters *parameters = instance->base.work.workload->parameters;
    const struct device *device = instance->base.device;
    const enum dtype storage = precision_dtype(instance->base.work.precision);
    unsigned __int128 bytes = 0;
    uint64_t largest = 0;

    TRY(parameters->trains
            ? pass_train_bytes(parameters, instance->sequences, storage, &bytes, &largest, err)
            : forward_bytes(instance, dtype_bits(storage) / 8, &bytes, &largest, err));
    if (device->info.unified_memory && !parameters->weights.format)
        bytes += (unsigned __int128)stack_parameter_count(&instance->graph) * sizeof(float);
    return workload_check_memory(device, bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes, largest,
                                 err);
}

static enum status make_session(struct pass_instance *instance, struct error *err)
{
    static const struct lowering *const own[] = {
        session_packed_lowerings,         session_stack_lowerings,
        session_stack_backward_lowerings, session_experts_backward_lowerings,
        session_experts_lowerings,        NULL};
    const struct workload_case *work = &instance->base.work;
    const struct pass_parameters *parameters = work->workload->parameters;
    const struct graph *graph = instance->graph.graph;

    instance->type = precision_dtype(work->precision);
    instance->given = (struct op_tokens){.buffer = instance->input,
                                         .rows = instance->sequences * instance->length,
                                         .length = instance->length};
    TRY(ops_create(instance->base.device, work, instance->type,
                   pack_width(graph, (uint64_t)parameters->stack.width), &instance->ops, err));
    TRY(compile(instance, err));
    instance->session = (struct session){
        .graph = graph,
        .ops = instance->ops,
        .storage = instance->type,
        .training = parameters->trains,
        .tokens = &instance->given,
        .own = own,
        .places = calloc(graph->value_count, sizeof(struct session_place)),
        .packed = instance->packed,
    };
    if (!instance->session.places)
        return error_no_memory(err);
    TRY(session_prepare(&instance->session, err));
    if (parameters->trains)
        TRY(pass_train_allocate(instance, err));
    TRY(pass_weights_place(instance, err));
    TRY(pass_moe_prepare(instance, err));
    TRY(session_allocate(&instance->session, instance->base.device, err));
    if (parameters->trains)
        return pass_train_begin(instance, err);
    instance->output = instance->session.places[instance->graph.out].buffer;
    TRY(instance->packed ? pass_weights_make(instance, err) : upload_weights(instance, err));
    return parameters->decode.context ? decode_prepare(instance, err) : STATUS_OK;
}

/* ---- by a framework ---- */

static struct graph_onnx onnx_of(const struct pass_instance *instance)
{
    return (struct graph_onnx){.graph = instance->graph.graph,
                               .name = "stack",
                               .out = instance->graph.out,
                               .nodes = instance->graph.forward,
                               .weights = instance->weights,
                               .length = instance->length};
}

static enum status take_framework(struct pass_instance *instance, struct error *err)
{
    const int64_t sequences = (int64_t)instance->sequences, length = (int64_t)instance->length;
    const int64_t columns = (int64_t)instance->columns;
    struct framework_array tokens = {
        .name = GRAPH_ONNX_TOKENS, .type = DTYPE_I32, .rank = 2, .shape = {sequences, length}};
    struct framework_array output = {
        .name = "output", .type = DTYPE_F32, .rank = 2, .shape = {sequences * length, columns}};
    struct framework_model wanted = workload_framework_model(&instance->base);
    const struct graph_onnx onnx = onnx_of(instance);
    CLEANUP(text_finish) struct text model = TEXT_INIT;

    instance->type = DTYPE_F32;
    TRY(device_buffer_alloc(instance->base.device,
                            (uint64_t)(sequences * length * columns) * sizeof(float),
                            BUFFER_READ_WRITE, &instance->output, err));
    tokens.buffer = instance->input;
    output.buffer = instance->output;
    wanted.inputs = &tokens;
    wanted.outputs = &output;
    wanted.input_count = wanted.output_count = 1;
    TRY(graph_onnx_write(&onnx, &wanted, &model, err));
    wanted.onnx = model.data;
    wanted.length = model.length;
    return framework_prepare(instance->base.work.framework, &wanted, err);
}

static enum status init(struct workload_instance *base, struct error *err)
{
    struct pass_instance *instance = (struct pass_instance *)base;
    const struct pass_parameters *parameters = base->work.workload->parameters;
    struct graph_onnx onnx;
    uint64_t rows, indices;

    if (parameters->trains && base->work.framework)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s: frameworks run a stack forward, from ONNX; its training runs on "
                         "assay's own backends: leave the worker out",
                         base->work.workload->name);
    instance->sequences = (uint64_t)base->work.batch;
    instance->length = parameters->length;
    instance->vocabulary = parameters->stack.stack[0].of[0].embedding.vocabulary;
    rows = instance->sequences * instance->length;
    TRY(build(&base->work, instance->sequences, instance->length, &instance->graph, err));
    instance->columns = graph_size(&instance->graph.graph->values[instance->graph.out], 1);
    if (base->work.framework && parameters->decode.context)
        return error_set(err, STATUS_UNSUPPORTED,
                         "frameworks run passes over whole sequences, not `decode` over a cache: "
                         "leave --worker out, or write sequence_length");
    onnx = onnx_of(instance);
    TRY(base->work.framework ? graph_onnx_check(&onnx, err) : check_memory(instance, err));
    indices = parameters->trains ? OP_TOKENS_LENGTH(rows) : rows;
    instance->tokens = malloc(rows * sizeof(*instance->tokens));
    if (!instance->tokens)
        return error_no_memory(err);
    TRY(device_buffer_alloc(base->device, indices * sizeof(int32_t), BUFFER_READ_WRITE,
                            &instance->input, err));
    TRY(take_tokens(instance, base->work.seed, err));
    TRY(make_weights(instance, err));
    TRY(base->work.framework ? take_framework(instance, err) : make_session(instance, err));
    return instance->output ? storage_poison_all(instance->output, instance->type, err) : STATUS_OK;
}

static enum status iterate(struct workload_instance *base, struct error *err)
{
    struct pass_instance *instance = (struct pass_instance *)base;

    base->unchecked++;
    instance->session.trace = base->trace;
    if (instance->training)
        return pass_train_iterate(instance, err);
    return instance->ops
               ? session_run(&instance->session, 0, instance->graph.graph->node_count, err)
               : framework_run(base->work.framework, 0, err);
}

/* ---- checks ---- */

struct stack_tolerance pass_tolerance(const struct workload_case *work, uint64_t tokens)
{
    CLEANUP(stack_graph_finish) struct stack_graph graph = {0};
    const bool built = build(work, 1, 1, &graph, NULL) == STATUS_OK;
    struct stack_tolerance ret =
        stack_tolerance_of(work->precision, precision_dtype(work->precision),
                           built ? stack_arrays(&graph) : 0, tokens);

    /* Of a router's scores it is a difference of products of two results, each of which is off. */
    if (built && graph.routed_count > 0 && work->precision != PRECISION_FP32)
        ret.gradient *= 2.0;
    return ret;
}

/* Of a row that one operator writes; rounding to the storage type is below its unit. */
static double node_tolerance(const struct workload_case *work)
{
    return NODE_TOLERANCE + (work->precision == PRECISION_FP32
                                 ? 0.0
                                 : 2.0 * storage_unit_roundoff(precision_dtype(work->precision)));
}

static double tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    if (!strcmp(output, "nodes") && !strcmp(metric, "normalised_rms"))
        return node_tolerance(work);
    if (((const struct pass_parameters *)work->workload->parameters)->trains)
        return pass_train_tolerance(work, output);
    if (!strcmp(output, "output.live") && !strcmp(metric, "count"))
        return 0.0;
    if ((!strcmp(output, "output.blocks") || !strcmp(output, "cache.blocks")) &&
        !strcmp(metric, "worst_block"))
        return COMPARISON_BLOCK_FACTOR * pass_tolerance(work, 1).out;
    return (!strcmp(output, "output") || !strcmp(output, "cache") || !strcmp(output, "router")) &&
                   !strcmp(metric, "normalised_rms")
               ? pass_tolerance(work, 1).out
               : WORKLOAD_NO_CHECK;
}

enum status pass_refer(const struct workload_case *work, uint64_t sequences, uint64_t length,
                       const struct stack_wanted *wanted, struct stack_reference **ret,
                       struct error *err)
{
    struct stack_graph graph = {0};
    enum status status = build(work, sequences, length, &graph, err);

    if (status == STATUS_OK)
        status = stack_graph_give_choice(&graph, err);
    if (status != STATUS_OK) {
        stack_graph_finish(&graph);
        return status;
    }
    decode_lend(graph.graph);
    pass_moe_lend(&graph);
    return stack_reference_create(&graph, wanted, ret, err);
}

/* The first `positions` of a sequence in fp64; those behind change nothing of it. */
static enum status refer(struct pass_instance *instance, uint64_t sequence, uint64_t positions,
                         struct stack_reference **ret, struct error *err)
{
    const int32_t *tokens = instance->tokens + sequence * instance->length;
    const struct stack_wanted wanted = {.out = true};

    TRY(pass_refer(&instance->base.work, 1, positions, &wanted, ret, err));
    TRY(pass_moe_give(instance, *ret, sequence * instance->length, err));
    if (!instance->decode)
        return stack_reference_forward(*ret, instance->weights, tokens, NULL, err);
    return decode_refer(instance, *ret, sequence, true, err);
}

/* What the checks of some sequences have found. */
struct found {
    struct comparison output, cache, router;
    struct block_finding blocks, cache_blocks;
    struct workload_check live;
};

static void report(const struct pass_instance *instance, const struct found *found,
                   struct check_sink *sink)
{
    const struct stack_tolerance tolerance = pass_tolerance(&instance->base.work, 1);
    const double bound = tolerance.out;

    check_sink_report(sink, found->live, "elements that are not finite numbers");
    if (!found->output.count)
        return;
    check_sink_compare(sink, "output", &found->output, bound, tolerance.reason);
    check_sink_blocks(sink, "output.blocks", &found->blocks, bound);
    if (found->router.count > 0)
        check_sink_compare(sink, "router", &found->router, bound,
                           "the scores of the chosen experts, beside the largest");
    if (!found->cache.count)
        return;
    check_sink_compare(sink, "cache", &found->cache, bound,
                       "keys and values of the new positions, by the same roundings");
    check_sink_blocks(sink, "cache.blocks", &found->cache_blocks, bound);
}

static enum status add_sequence(struct pass_instance *instance, uint64_t sequence,
                                uint64_t positions, struct found *found, struct error *err)
{
    const uint64_t count = positions * instance->columns;
    const struct check_output output = {.buffer = instance->output,
                                        .type = instance->type,
                                        .rows = instance->sequences * instance->length,
                                        .columns = instance->columns,
                                        .stride = instance->columns};
    AUTO_FREE float *got = malloc(count * sizeof(*got));
    CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;

    if (!got)
        return error_no_memory(err);
    for (uint64_t i = 0; i < positions; i++)
        TRY(check_output_row(&output, sequence * instance->length + i, got + i * instance->columns,
                             err));
    check_count_live(got, count, &found->live);
    if (!pass_weights_is_referred(instance))
        return STATUS_OK;
    TRY(refer(instance, sequence, positions, &reference, err));
    comparison_add(&found->output, got, reference->out, count);
    block_finding_add(&found->blocks, "output", got, reference->out, count);
    TRY(pass_moe_compare(instance, sequence * instance->length, positions, &found->router, err));
    if (!instance->decode)
        return STATUS_OK;
    TRY(decode_compare(instance, sequence, &found->cache, &found->cache_blocks, err));
    return pass_weights_measure(instance, sequence, reference->out, err);
}

/* The first `positions` of a sequence; of decode, of some that follow it, too. */
static enum status compare(struct pass_instance *instance, uint64_t sequence, uint64_t positions,
                           struct check_sink *sink, struct error *err)
{
    const uint64_t most = instance->decode ? SEQUENCES_MOST : 1;
    struct found found = {
        .live = {
            .output = "output.live",
            .metric = "count",
            .reason = "an iteration writes every element, and each is a finite number",
        }};

    for (uint64_t i = 0; i < most && i < instance->sequences; i++)
        TRY(add_sequence(instance, (sequence + i) % instance->sequences, positions, &found, err));
    report(instance, &found, sink);
    return STATUS_OK;
}

static enum status verify(struct workload_instance *base, struct check_sink *sink,
                          struct error *err)
{
    struct pass_instance *instance = (struct pass_instance *)base;
    const uint64_t drawn = random_at(base->work.seed, DRAWN_STREAM, 0) % instance->sequences;

    if (instance->training)
        return pass_train_verify(instance, sink, err);
    TRY(check_settle(base, err));
    TRY(pass_weights_measure_rounding(instance, err));
    TRY(compare(instance, drawn, instance->length, sink, err));
    return pass_weights_is_referred(instance)
               ? STATUS_OK
               : pass_check_nodes(instance, base->work.seed, sink, err);
}

static uint64_t spot_positions(const struct pass_instance *instance)
{
    const uint64_t fits = SPOT_WORK / stack_parameter_count(&instance->graph);
    const uint64_t ret = fits > SPOT_MIN ? fits : SPOT_MIN;

    return ret < instance->length ? ret : instance->length;
}

/* NaN into all of the output, and what else is written on the way where the passes are our own. */
static enum status run_over_nan(struct pass_instance *instance, uint64_t secret, struct error *err)
{
    CLEANUP(session_end_spot) struct session *session = &instance->session;
    struct random random;

    random_init(&random, secret, DRAWN_STREAM);
    TRY(storage_poison_all(instance->output, instance->type, err));
    if (instance->ops)
        TRY(session_poison(
            session, (struct session_spot){.random = &random, .rows = instance->given.rows}, err));
    return check_iterate(&instance->base, err);
}

enum status pass_check_nodes(struct pass_instance *instance, uint64_t secret,
                             struct check_sink *sink, struct error *err)
{
    CLEANUP(session_end_spot) struct session *session = &instance->session;
    struct session_nodes found = {0};
    struct random random;
    char detail[64];

    random_init(&random, secret, NODES_STREAM);
    session->spot = (struct session_spot){&random, instance->given.rows, 0, &found};
    if (instance->training)
        session->slot = pass_train_slot(instance->training->steps); /* not that of a step */
    TRY(session_run(session, 0, session->graph->node_count, err));
    snprintf(detail, sizeof(detail), "worst is %.40s", found.worst);
    check_sink_report(sink,
                      (struct workload_check){
                          .output = "nodes",
                          .error = fmin(found.error, DBL_MAX),
                          .tolerance = node_tolerance(&instance->base.work),
                          .metric = "normalised_rms",
                          .reason = "f32 sums of one operator give 3e-7, a wrong term 1e-2 and "
                                    "more; narrower: besides, the rounding of what it writes",
                          .compared = found.compared,
                      },
                      detail);
    return STATUS_OK;
}

/* Other tokens, over NaN; then those of the case, by one more iteration. */
static enum status spot_check(struct workload_instance *base, uint64_t secret,
                              struct check_sink *sink, struct error *err)
{
    struct pass_instance *instance = (struct pass_instance *)base;
    const uint64_t drawn = random_at(secret, DRAWN_STREAM, 1) % instance->sequences;

    if (instance->training)
        return pass_train_spot_check(instance, secret, sink, err);
    TRY(take_tokens(instance, secret, err));
    TRY(instance->decode ? decode_redraw(instance, drawn, secret, err) : STATUS_OK);
    TRY(pass_moe_draw(instance, secret, err));
    TRY(run_over_nan(instance, secret, err));
    TRY(compare(instance, drawn, spot_positions(instance), sink, err));
    if (instance->ops)
        TRY(pass_check_nodes(instance, secret, sink, err));
    TRY(take_tokens(instance, base->work.seed, err));
    TRY(instance->decode ? decode_restore(instance, err) : STATUS_OK);
    TRY(pass_moe_draw(instance, 0, err));
    return check_iterate(base, err);
}

static enum status recheck(struct workload_instance *base, struct recheck *recheck,
                           struct error *err)
{
    const struct pass_instance *instance = (const struct pass_instance *)base;
    const uint64_t rows = instance->sequences * instance->length;
    const struct check_output output = {.buffer = instance->output,
                                        .type = instance->type,
                                        .rows = rows,
                                        .columns = instance->columns,
                                        .stride = instance->columns};

    if (instance->training) /* where a step leads depends on how many came before */
        return STATUS_OK;
    TRY(check_settle(base, err));
    return recheck_add(recheck, &output, err);
}

static enum status resume(struct workload_instance *base, struct error *err)
{
    (void)err;
    ops_seal(((struct pass_instance *)base)->ops);
    return STATUS_OK;
}

static const struct workload_checks checks = {
    .verify = verify,
    .spot_check = spot_check,
    .tolerance = tolerance,
    .recheck = recheck,
    .resume = resume,
};

/* ---- facts ---- */

static size_t artifacts(struct workload_instance *base, struct module_artifact *ret,
                        size_t capacity)
{
    struct ops *ops = ((struct pass_instance *)base)->ops;

    return ops ? ops_artifacts(ops, ret, capacity) : 0;
}

static json_t *choices(struct workload_instance *base)
{
    struct ops *ops = ((struct pass_instance *)base)->ops;

    return ops ? ops_choices(ops) : json_object();
}

static json_t *facts(struct workload_instance *base)
{
    const struct pass_instance *instance = (const struct pass_instance *)base;
    json_t *ret = instance->ops
                      ? ops_facts(instance->ops)
                      : json_pack("{s:o}", "framework", workload_framework_json(&base->work));

    if (ret)
        json_object_update_new(ret, json_pack("{s:I, s:I}", "parameters",
                                              (json_int_t)stack_parameter_count(&instance->graph),
                                              "operators",
                                              (json_int_t)instance->graph.graph->node_count));
    if (ret && instance->training)
        json_object_set_new(ret, "loss", pass_train_loss(instance));
    if (ret && instance->packed)
        json_object_set_new(ret, "weights", pass_weights_facts(instance));
    if (ret && instance->moe)
        json_object_set_new(ret, "routing", pass_moe_facts(instance));
    return ret;
}

static struct buffer *result(struct workload_instance *base)
{
    const struct pass_instance *instance = (const struct pass_instance *)base;

    return instance->training ? instance->training->of.arrays.weights : instance->output;
}

const struct workload_kind workload_pass = {
    .name = "pass",
    .summary = "a pass of tokens through declared blocks, or a step of training",
    .form = &form,
    .unload = unload,
    .cost = cost,
    .describe = describe,
    .instance_size = sizeof(struct pass_instance),
    .init = init,
    .iterate = iterate,
    .result = result,
    .runs_frameworks = true,
    .checks = &checks,
    .artifacts = artifacts,
    .choices = choices,
    .facts = facts,
    .finish = finish,
};
