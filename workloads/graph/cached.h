/*
 * cached - where keys and values of a cache lie, as attention_cached reads them: in blocks of
 * `page` positions. Of each head a block has the keys, position after position for each of their
 * elements, then the values, row after row: both are read along memory, many positions at a time.
 */
#ifndef ASSAY_WORKLOADS_GRAPH_CACHED_H
#define ASSAY_WORKLOADS_GRAPH_CACHED_H

#include <stdint.h>

/* Of a layer. */
struct graph_cache {
    uint64_t page, kv_heads, size; /* positions of a block; heads, and elements of one */
};

/* Elements of a block. */
static inline uint64_t graph_cache_block(const struct graph_cache *cache)
{
    return 2 * cache->kv_heads * cache->page * cache->size;
}

/* Element `i` of a head's key at position `at` of a block, from the block's beginning on. */
static inline uint64_t graph_cache_key(const struct graph_cache *cache, uint64_t head, uint64_t at,
                                       uint64_t i)
{
    return (2 * head * cache->size + i) * cache->page + at;
}

/* The same of its value. */
static inline uint64_t graph_cache_value(const struct graph_cache *cache, uint64_t head,
                                         uint64_t at, uint64_t i)
{
    return ((2 * head + 1) * cache->page + at) * cache->size + i;
}

/* The blocks that hold so many positions of a sequence. */
static inline uint64_t graph_cache_pages(uint64_t page, uint64_t positions)
{
    return (positions + page - 1) / page;
}

#endif
