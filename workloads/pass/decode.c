/*
 * A pass of one token of each sequence, behind a context whose keys and values lie in a cache of
 * blocks: the section, the caches' content, and what lies in them after a pass.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/graph/cached.h"
#include "workloads/graph/operators.h"
#include "workloads/pass/weights.h"
#include "workloads/storage.h"

#define CONTEXT_MAX (1 << 20)
#define PAGE_DEFAULT 16
#define PAGE_MAX 256
#define TABLE_STREAM 0x626c6f63u /* "bloc" */
#define CACHE_STREAM 0x63616368u /* "cach": and the number of the layer */
#define DRAWN_STREAM 0x70616765u /* "page" */
#define DRAWN 32                 /* blocks, of which every other one is the checked sequence's */

/* ---- the section ---- */

const struct declaration_field decode_fields[] = {
    FIELD_INT("context", FIELD_REQUIRED, struct pass_decode, context),
    FIELD_INT("page", FIELD_OPTIONAL, struct pass_decode, page),
    FIELD_END,
};

enum status decode_check(const struct declaration *declaration, struct pass_decode *written,
                         struct pass_parameters *ret, struct error *err)
{
    if (declaration_has(declaration, "sequence_length"))
        return declaration_error(declaration, "sequence_length", err,
                                 "a pass is over whole sequences of `sequence_length`, or by "
                                 "`decode` over one token of each; write one of them");
    if (!declaration_has(declaration, "decode.page"))
        written->page = PAGE_DEFAULT;
    TRY(workload_declaration_check_count(declaration, "decode.context", written->context,
                                         CONTEXT_MAX, "positions", err));
    TRY(workload_declaration_check_count(declaration, "decode.page", written->page, PAGE_MAX,
                                         "positions", err));
    ret->decode = *written;
    ret->length = 1;
    return STATUS_OK;
}

/* ---- what is known without a device ---- */

uint64_t decode_cache_count(const struct graph *graph)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < graph->value_count; i++)
        sum += graph->values[i].role == GRAPH_INPUT ? graph->values[i].count : 0;
    return sum;
}

/* Elements of parameters that a step reads: of the embedding a row for each token. */
static uint64_t parameters_read(const struct graph *graph)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];

        for (size_t k = 0; k < node->in_count; k++) {
            const struct graph_value *in = graph_input(graph, node, k);

            if (in->role == GRAPH_PARAMETER)
                sum +=
                    node->op == &graph_op_embedding ? graph->values[node->out[0]].count : in->count;
        }
    }
    return sum;
}

/* Keys and values of one position of all sequences and layers. */
static uint64_t position_count(const struct graph *graph)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];

        if (node->op == &graph_op_attention_cached)
            sum += graph_size(graph_input(graph, node, 2), 0) *
                   graph_size(graph_input(graph, node, 1), 1) / node->attributes.page;
    }
    return sum;
}

/* The position of the tokens; there is an attention. */
static uint64_t first_of(const struct graph *graph)
{
    uint64_t ret = 0;

    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].op == &graph_op_attention_cached)
            ret = graph->nodes[i].attributes.first;
    return ret;
}

void decode_cost(const struct graph *graph, uint64_t width, uint64_t saved,
                 struct workload_cost *ret)
{
    ret->bytes =
        (parameters_read(graph) + (first_of(graph) + 2) * position_count(graph)) * width - saved;
    ret->bytes_formula = "all parameters once (of the embedding the tokens' rows), the keys and "
                         "values of context + 1 positions read and those of one written";
    ret->flops_formula = "2*m*n*k of the GEMMs over a token a sequence; scores and values count "
                         "context + 1 pairs a head";
}

void decode_describe(const struct pass_decode *decode, const struct graph *graph, struct text *ret)
{
    const uint64_t count = decode_cache_count(graph);
    char human[TEXT_HUMAN_SIZE];

    text_append_format(ret,
                       "decode: a token of each sequence, behind %lld positions\n"
                       "cache: keys and values in %llu blocks of %lld positions a sequence and "
                       "layer, %llu elements a sequence (%s in fp32)\n",
                       (long long)decode->context,
                       (unsigned long long)graph_cache_pages((uint64_t)decode->page,
                                                             (uint64_t)decode->context + 1),
                       (long long)decode->page, (unsigned long long)count,
                       text_human_bytes((double)count * sizeof(float), human));
}

/* ---- the caches ---- */

struct decode {
    uint64_t first, page, pages; /* the tokens' position; of a block; blocks of a sequence */
    uint32_t *table;             /* (sequences, pages) */
    struct buffer *blocks;       /* the same on the device */
    uint64_t *seeds;             /* of each block's content */
    uint64_t drawn[DRAWN];       /* blocks that have another than the case's, as */
    size_t drawn_count;          /* places in the table */
    struct layer {
        uint32_t cache; /* a value */
        struct graph_cache at;
        double *kept; /* q, k and v of the latest reference's sequence; heap */
        uint64_t heads;
    } * layers;
    size_t layer_count;
};

void decode_destroy(struct decode *decode)
{
    if (!decode)
        return;
    for (size_t i = 0; i < decode->layer_count; i++)
        free(decode->layers[i].kept);
    device_buffer_free(decode->blocks);
    free(decode->layers);
    free(decode->table);
    free(decode->seeds);
    free(decode);
}

/* The number of that layer's elements in the seed. */
static uint64_t stream_of(size_t layer)
{
    return CACHE_STREAM + ((uint64_t)layer << 32);
}

/*
 * What page `page` of a sequence holds before a pass: NaN from the token's position on. In the
 * order of its block.
 */
static void make_block(const struct decode *decode, size_t layer, uint64_t sequence, uint64_t page,
                       double *ret)
{
    const struct graph_cache *at = &decode->layers[layer].at;
    const uint64_t block = decode->table[sequence * decode->pages + page];
    const uint64_t count = graph_cache_block(at), begin = page * decode->page;
    const uint64_t known =
        decode->first - begin < decode->page ? decode->first - begin : decode->page;

    for (uint64_t i = 0; i < count; i++)
        ret[i] = (double)op_cache_number(decode->seeds[block], stream_of(layer), block * count + i);
    for (uint64_t h = 0; h < at->kv_heads; h++)
        for (uint64_t s = known; s < decode->page; s++)
            for (uint64_t i = 0; i < at->size; i++)
                ret[graph_cache_key(at, h, s, i)] = ret[graph_cache_value(at, h, s, i)] = NAN;
}

/* The last page of each sequence, which has the token's position. */
static enum status put_last(const struct pass_instance *instance, size_t layer, struct error *err)
{
    const struct decode *decode = instance->decode;
    const struct session_place *place = &instance->session.places[decode->layers[layer].cache];
    const uint64_t count = place->columns;
    AUTO_FREE double *numbers = malloc(count * sizeof(*numbers));
    AUTO_FREE float *narrow = malloc(count * sizeof(*narrow));

    if (!numbers || !narrow)
        return error_no_memory(err);
    for (uint64_t s = 0; s < instance->sequences; s++) {
        const uint64_t block = decode->table[(s + 1) * decode->pages - 1];

        make_block(decode, layer, s, decode->pages - 1, numbers);
        for (uint64_t i = 0; i < count; i++)
            narrow[i] = (float)numbers[i];
        TRY(storage_upload(place->buffer, place->type, place->offset + block * count, narrow, count,
                           err));
    }
    return STATUS_OK;
}

static enum status forget(const struct pass_instance *instance, struct error *err)
{
    for (size_t i = 0; i < instance->decode->layer_count; i++)
        TRY(put_last(instance, i, err));
    return STATUS_OK;
}

/* Blocks [block, block + count) of all layers, by the seed of the first. */
static enum status fill(const struct pass_instance *instance, uint64_t block, uint64_t count,
                        struct error *err)
{
    const struct decode *decode = instance->decode;

    for (size_t i = 0; i < decode->layer_count; i++) {
        const uint64_t size = graph_cache_block(&decode->layers[i].at);

        TRY(op_cache_fill(instance->ops, session_at(&instance->session, decode->layers[i].cache),
                          block * size, count * size, decode->seeds[block], stream_of(i), err));
    }
    return STATUS_OK;
}

static enum status draw_table(struct pass_instance *instance, struct error *err)
{
    struct decode *decode = instance->decode;
    const uint64_t count = instance->sequences * decode->pages;
    struct session_place *place = &instance->session.places[instance->graph.blocks];
    struct random random;

    random_init(&random, instance->base.work.seed, TABLE_STREAM);
    random_shuffle(&random, decode->table, count);
    for (uint64_t i = 0; i < count; i++)
        decode->seeds[i] = instance->base.work.seed;
    TRY(device_buffer_alloc(instance->base.device, count * sizeof(*decode->table), BUFFER_READ_ONLY,
                            &decode->blocks, err));
    *place = (struct session_place){.buffer = decode->blocks,
                                    .type = DTYPE_I32,
                                    .columns = decode->pages,
                                    .stride = decode->pages,
                                    .last_read = place->last_read};
    return device_upload(decode->blocks, 0, decode->table, count * sizeof(*decode->table), err);
}

static enum status find_layers(struct decode *decode, const struct graph *graph, struct error *err)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        const struct graph_attributes *attributes = &node->attributes;
        struct layer *layer = &decode->layers[decode->layer_count];
        uint64_t row;

        if (node->op != &graph_op_attention_cached)
            continue;
        row = graph_size(graph_input(graph, node, 0), 1);
        *layer = (struct layer){
            .cache = node->in[1],
            .at = {attributes->page, attributes->kv_heads, graph_head_size(graph, node, 0)},
            .kept = malloc(row * sizeof(double)),
            .heads = attributes->heads,
        };
        decode->layer_count++;
        if (!layer->kept)
            return error_no_memory(err);
    }
    return STATUS_OK;
}

enum status decode_prepare(struct pass_instance *instance, struct error *err)
{
    const struct pass_parameters *parameters = instance->base.work.workload->parameters;
    const uint64_t page = (uint64_t)parameters->decode.page;
    const uint64_t first = (uint64_t)parameters->decode.context;
    const uint64_t pages = graph_cache_pages(page, first + 1), count = instance->sequences * pages;
    struct decode *decode = instance->decode = calloc(1, sizeof(*decode));

    if (!decode)
        return error_no_memory(err);
    decode->first = first;
    decode->page = page;
    decode->pages = pages;
    decode->table = malloc(count * sizeof(*decode->table));
    decode->seeds = malloc(count * sizeof(*decode->seeds));
    decode->layers = calloc(instance->graph.graph->node_count, sizeof(*decode->layers));
    if (!decode->table || !decode->seeds || !decode->layers)
        return error_no_memory(err);
    TRY(find_layers(decode, instance->graph.graph, err));
    TRY(draw_table(instance, err));
    TRY(fill(instance, 0, count, err));
    return forget(instance, err);
}

enum status decode_compile(struct pass_instance *instance, struct error *err)
{
    const struct graph *graph = instance->graph.graph;
    struct op_cache_shape shape = {0};

    for (size_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        const struct graph_attributes *of = &node->attributes;
        struct op_cache_shape mine;

        if (node->op != &graph_op_attention_cached)
            continue;
        mine = (struct op_cache_shape){.heads = of->heads,
                                       .kv_heads = of->kv_heads,
                                       .size = graph_head_size(graph, node, 0),
                                       .page = of->page};
        if (!shape.heads)
            TRY(ops_cache(instance->ops, &mine, err));
        else if (memcmp(&shape, &mine, sizeof(shape)) != 0)
            return error_set(err, STATUS_UNSUPPORTED,
                             "our own operations decode stacks whose attentions have the same "
                             "heads, not %llu of %llu and %llu of %llu; declare one form of them",
                             (unsigned long long)shape.heads, (unsigned long long)shape.size,
                             (unsigned long long)mine.heads, (unsigned long long)mine.size);
        shape = mine;
    }
    return STATUS_OK;
}

/* ---- checks ---- */

enum status decode_redraw(struct pass_instance *instance, uint64_t sequence, uint64_t secret,
                          struct error *err)
{
    struct decode *decode = instance->decode;
    struct random random;

    random_init(&random, secret, DRAWN_STREAM);
    for (decode->drawn_count = 0; decode->drawn_count < DRAWN; decode->drawn_count++) {
        const uint64_t of = decode->drawn_count % 2 == 0
                                ? sequence
                                : random_next_below(&random, instance->sequences);
        const uint64_t block =
            decode->table[of * decode->pages + random_next_below(&random, decode->pages)];

        decode->drawn[decode->drawn_count] = block;
        decode->seeds[block] = secret;
        TRY(fill(instance, block, 1, err));
    }
    return forget(instance, err);
}

enum status decode_restore(struct pass_instance *instance, struct error *err)
{
    struct decode *decode = instance->decode;

    for (size_t i = 0; i < decode->drawn_count; i++) {
        decode->seeds[decode->drawn[i]] = instance->base.work.seed;
        TRY(fill(instance, decode->drawn[i], 1, err));
    }
    decode->drawn_count = 0;
    return forget(instance, err);
}

void decode_lend(struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].op == &graph_op_attention_cached)
            graph_lend(graph, graph->nodes[i].in[0]);
}

/* A layer's cache as the interpreter takes it, of one sequence: its pages in order. */
static void make_cache(const struct decode *decode, size_t layer, uint64_t sequence, double *ret)
{
    const uint64_t count = graph_cache_block(&decode->layers[layer].at);

#pragma omp parallel for schedule(static) if (count * decode->pages > GRAPH_WORTH_THREADS)
    for (uint64_t page = 0; page < decode->pages; page++)
        make_block(decode, layer, sequence, page, ret + page * count);
}

/* Nodes [*at, of the next attention + 1), with its cache. */
static enum status run_layer(const struct pass_instance *instance,
                             const struct stack_reference *reference, uint64_t sequence,
                             bool decoded, size_t layer, size_t *at, struct error *err)
{
    const struct decode *decode = instance->decode;
    const struct graph *graph = reference->graph.graph;
    const uint64_t count = graph_cache_block(&decode->layers[layer].at) * decode->pages;
    AUTO_FREE double *cache = malloc(count * sizeof(*cache));
    size_t end = *at;

    if (!cache)
        return error_no_memory(err);
    while (graph->nodes[end].op != &graph_op_attention_cached)
        end++;
    make_cache(decode, layer, sequence, cache);
    graph_interpreter_give(reference->interpreter, graph->nodes[end].in[1],
                           (struct graph_array){.f64 = cache});
    TRY(pass_weights_run(instance, reference, instance->tokens + sequence, decoded, *at, end + 1,
                         err));
    *at = end + 1;
    return STATUS_OK;
}

enum status decode_refer(struct pass_instance *instance, struct stack_reference *reference,
                         uint64_t sequence, bool decoded, struct error *err)
{
    const int32_t *tokens = instance->tokens + sequence;
    struct graph_interpreter *interpreter = reference->interpreter;
    const struct graph *graph = reference->graph.graph;
    const struct decode *decode = instance->decode;
    AUTO_FREE int32_t *order = malloc(decode->pages * sizeof(*order));
    size_t at = 0, layer = 0;

    if (!order)
        return error_no_memory(err);
    stack_reference_give(reference, instance->weights, tokens, NULL);
    for (uint64_t i = 0; i < decode->pages; i++)
        order[i] = (int32_t)i;
    for (size_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].op != &graph_op_attention_cached)
            continue;
        graph_interpreter_give(interpreter, graph->nodes[i].in[2],
                               (struct graph_array){.i32 = order});
        graph_interpreter_lend(interpreter, graph->nodes[i].in[0], decode->layers[layer++].kept);
    }
    for (layer = 0; layer < decode->layer_count; layer++)
        TRY(run_layer(instance, reference, sequence, decoded, layer, &at, err));
    return pass_weights_run(instance, reference, tokens, decoded, at, graph->node_count, err);
}

/* A key and a value, as they lie in the cache, of one head. */
static void take_position(const struct layer *layer, const float *block, uint64_t head, uint64_t at,
                          float *ret)
{
    for (uint64_t i = 0; i < layer->at.size; i++) {
        ret[i] = block[graph_cache_key(&layer->at, head, at, i)];
        ret[layer->at.size + i] = block[graph_cache_value(&layer->at, head, at, i)];
    }
}

static enum status compare_layer(const struct pass_instance *instance, const struct layer *layer,
                                 uint64_t sequence, struct comparison *comparison,
                                 struct block_finding *blocks, struct error *err)
{
    const struct decode *decode = instance->decode;
    const struct session_place *place = &instance->session.places[layer->cache];
    const uint64_t count = place->columns, size = layer->at.size, heads = layer->at.kv_heads;
    const uint64_t block = decode->table[(sequence + 1) * decode->pages - 1];
    AUTO_FREE float *numbers = malloc(count * sizeof(*numbers));
    AUTO_FREE float *got = malloc(2 * size * sizeof(*got));
    AUTO_FREE double *expected = malloc(2 * size * sizeof(*expected));

    if (!numbers || !got || !expected)
        return error_no_memory(err);
    TRY(storage_download(place->buffer, place->type, place->offset + block * count, count, numbers,
                         err));
    for (uint64_t h = 0; h < heads; h++) {
        take_position(layer, numbers, h, decode->first % decode->page, got);
        memcpy(expected, layer->kept + (layer->heads + h) * size, size * sizeof(*expected));
        memcpy(expected + size, layer->kept + (layer->heads + heads + h) * size,
               size * sizeof(*expected));
        comparison_add(comparison, got, expected, 2 * size);
        block_finding_add(blocks, "cache", got, expected, 2 * size);
    }
    return STATUS_OK;
}

enum status decode_compare(const struct pass_instance *instance, uint64_t sequence,
                           struct comparison *comparison, struct block_finding *blocks,
                           struct error *err)
{
    const struct decode *decode = instance->decode;

    for (size_t i = 0; i < decode->layer_count; i++)
        TRY(compare_layer(instance, &decode->layers[i], sequence, comparison, blocks, err));
    return STATUS_OK;
}
