/*
 * attention_cached: q, k, v side by side (sequences, (heads + 2 kv_heads) size), a token each; a
 * cache of keys and values in blocks (blocks, elements of one: cached.h); the blocks of each
 * sequence (sequences, pages) -> values (sequences, heads size). A token stands at position
 * `first`, behind those that the cache holds, and takes part in its own key and value, which lie in
 * the cache at that position afterwards: what else reads the cache does so behind this node.
 * Attributes: heads, kv_heads, first, page.
 */
#include <math.h>
#include <stdlib.h>

#include "workloads/graph/cached.h"
#include "workloads/graph/operators.h"

static struct graph_cache cache_of(const struct graph *graph, const struct graph_node *node)
{
    return (struct graph_cache){node->attributes.page, node->attributes.kv_heads,
                                graph_head_size(graph, node, 0)};
}

static enum status shape(const struct graph *graph, const struct graph_node *node,
                         struct graph_shape *ret, struct error *err)
{
    const struct graph_value *x = graph_input(graph, node, 0), *cache = graph_input(graph, node, 1);
    const struct graph_value *blocks = graph_input(graph, node, 2);
    struct graph_cache at;

    for (size_t i = 0; i < 3; i++)
        TRY(graph_check_rank(graph, node, i, 2, err));
    TRY(graph_check_heads(graph, node, 0, err));
    at = cache_of(graph, node);
    if (graph_size(cache, 1) != graph_cache_block(&at))
        return error_set(err, STATUS_INVALID,
                         "a block of %s has %llu elements, %llu positions of keys and values %llu",
                         cache->name, (unsigned long long)graph_size(cache, 1),
                         (unsigned long long)at.page, (unsigned long long)graph_cache_block(&at));
    if (graph_size(blocks, 0) != graph_size(x, 0) ||
        graph_size(blocks, 1) < graph_cache_pages(at.page, node->attributes.first + 1))
        return error_set(err, STATUS_INVALID,
                         "%s has %llu blocks for each of %llu sequences, %llu sequences with %llu "
                         "positions need more",
                         blocks->name, (unsigned long long)graph_size(blocks, 1),
                         (unsigned long long)graph_size(blocks, 0),
                         (unsigned long long)graph_size(x, 0),
                         (unsigned long long)node->attributes.first + 1);
    ret[0] = (struct graph_shape){{graph_size(x, 0), node->attributes.heads * at.size}, 2};
    return STATUS_OK;
}

/* Two products of each pair of a query and a key, first + 1 of a head and sequence. */
static uint64_t flops(const struct graph *graph, const struct graph_node *node)
{
    return graph_flops_of(graph->values[node->out[0]].count, node->attributes.first + 1, 2);
}

/* A query, and what it takes part in. */
struct query {
    struct graph_cache cache;
    const double *q, *k, *v; /* of the token itself: its row's */
    const double *blocks;    /* the cache */
    const int32_t *table;    /* of the sequence */
    uint64_t head, first;    /* of keys; the token's position */
};

static struct query query_at(const struct graph_step *step, uint64_t i)
{
    const struct graph_attributes *attributes = &step->node->attributes;
    const struct graph_cache cache = cache_of(step->graph, step->node);
    const uint64_t heads = attributes->heads, sequence = i / heads;
    const uint64_t head = i % heads / (heads / attributes->kv_heads);
    const double *row = step->in[0].f64 + sequence * (heads + 2 * cache.kv_heads) * cache.size;

    return (struct query){
        .cache = cache,
        .q = row + i % heads * cache.size,
        .k = row + (heads + head) * cache.size,
        .v = row + (heads + cache.kv_heads + head) * cache.size,
        .blocks = step->in[1].f64,
        .table =
            step->in[2].i32 + sequence * graph_size(graph_input(step->graph, step->node, 2), 1),
        .head = head,
        .first = attributes->first,
    };
}

/* The block with position `s` of the query's sequence. */
static const double *block_at(const struct query *query, uint64_t s)
{
    return query->blocks +
           (uint64_t)query->table[s / query->cache.page] * graph_cache_block(&query->cache);
}

static double score_at(const struct query *query, uint64_t s)
{
    const struct graph_cache *cache = &query->cache;
    const double *block = s < query->first ? block_at(query, s) : NULL;
    double sum = 0.0;

    for (uint64_t i = 0; i < cache->size; i++)
        sum += query->q[i] * (block ? block[graph_cache_key(cache, query->head, s % cache->page, i)]
                                    : query->k[i]);
    return sum / sqrt((double)cache->size);
}

/* `weights`: room for one a position. */
static void attend(const struct query *query, double *weights, double *out, bool adds)
{
    const struct graph_cache *cache = &query->cache;
    double top = -INFINITY, total = 0.0;

    for (uint64_t s = 0; s <= query->first; s++) {
        weights[s] = score_at(query, s);
        top = weights[s] > top || isnan(weights[s]) ? weights[s] : top;
    }
    for (uint64_t s = 0; s <= query->first; s++)
        total += weights[s] = exp(weights[s] - top);
    for (uint64_t i = 0; !adds && i < cache->size; i++)
        out[i] = 0.0;
    for (uint64_t s = 0; s <= query->first; s++) {
        const double *block = s < query->first ? block_at(query, s) : NULL;

        for (uint64_t i = 0; i < cache->size; i++)
            out[i] += weights[s] / total *
                      (block ? block[graph_cache_value(cache, query->head, s % cache->page, i)]
                             : query->v[i]);
    }
}

static enum status reference(const struct graph_step *step, struct error *err)
{
    const struct graph_value *y = &step->graph->values[step->node->out[0]];
    const uint64_t size = cache_of(step->graph, step->node).size, queries = y->count / size;
    const uint64_t positions = step->node->attributes.first + 1;
    bool failed = false;

#pragma omp parallel for schedule(static)                                                          \
    reduction(||                                                                                   \
              : failed) if (y->count * positions > GRAPH_WORTH_THREADS)
    for (uint64_t i = 0; i < queries; i++) {
        const struct query query = query_at(step, i);
        double *weights = malloc(positions * sizeof(*weights));

        if (weights)
            attend(&query, weights, step->out[0] + i * size, step->adds);
        failed = failed || !weights;
        free(weights);
    }
    return failed ? error_no_memory(err) : STATUS_OK;
}

const struct graph_op graph_op_attention_cached = {
    .name = "attention_cached",
    .formula = "softmax(q k^T / sqrt(size)) v of each head, over the cache and the token itself",
    .in_least = 3,
    .in_most = 3,
    .outputs = 1,
    .shape = shape,
    .flops = flops,
    .reference = reference,
};
