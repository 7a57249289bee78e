#include "workloads/data/source.h"

void token_source_destroy(struct token_source *source)
{
    if (source)
        source->ops->destroy(source);
}

void token_source_drop(struct token_source **source)
{
    token_source_destroy(*source);
}

void token_source_sequence(const struct token_source *source, uint64_t index, uint64_t length,
                           int32_t *ret_tokens, int32_t *ret_targets)
{
    source->ops->sequence(source, index, length, ret_tokens, ret_targets);
}

struct token_facts token_source_facts(const struct token_source *source)
{
    return source->facts;
}
