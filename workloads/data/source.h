/* source - how the kinds of token source look to tokens.c; private to this folder. */
#ifndef ASSAY_WORKLOADS_DATA_SOURCE_H
#define ASSAY_WORKLOADS_DATA_SOURCE_H

#include "workloads/data/tokens.h"

struct token_source_ops {
    void (*sequence)(const struct token_source *source, uint64_t index, uint64_t length,
                     int32_t *ret_tokens, int32_t *ret_targets);
    void (*destroy)(struct token_source *source);
};

/* Sources embed this as their first member. */
struct token_source {
    const struct token_source_ops *ops;
    uint64_t seed;
    struct token_facts facts;
};

#endif
