/*
 * tokens - where a model's tokens come from.
 *
 * A source gives sequence number i as a pure function of its seed and i, so any batch can be
 * generated again. Two sources: a Markov chain whose entropy is known, and a text file's bytes.
 */
#ifndef ASSAY_WORKLOADS_DATA_TOKENS_H
#define ASSAY_WORKLOADS_DATA_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"

struct token_source;

/*
 * A chain over `vocabulary` states, each with at most `successors` next ones. One of a state's
 * successors is half its number, so every state leads to 0 and the stationary distribution is
 * unique; the others are drawn log-uniformly (Zipf's law with exponent 1), so low numbers are
 * frequent, like words in texts. Sequences start in the stationary distribution. Given the token
 * before, a token's entropy is the chain's entropy rate at every position: no model's expected loss
 * is lower.
 */
enum status token_source_create_markov(uint64_t vocabulary, uint64_t successors, uint64_t seed,
                                       struct token_source **ret, struct error *err);

/*
 * The bytes of a file (vocabulary 256), from which sequences are cut at random places. INVALID when
 * it is shorter than `shortest` bytes or its SHA-256 is not `expected` (NULL: any).
 */
enum status token_source_create_text(const char *path, uint64_t shortest,
                                     const struct digest *expected, uint64_t seed,
                                     struct token_source **ret, struct error *err);

void token_source_destroy(struct token_source *source); /* takes NULL */
/* The same for CLEANUP. */
void token_source_drop(struct token_source **source);

/*
 * Sequence `index`: `length` tokens, and the token that follows each as its target.
 */
void token_source_sequence(const struct token_source *source, uint64_t index, uint64_t length,
                           int32_t *ret_tokens, int32_t *ret_targets);

/* Facts of a source, in nats a token; a text's entropy rate is not known. */
struct token_facts {
    bool has_entropy_rate;
    double entropy_rate;    /* of a token, given all before: the loss's floor */
    double unigram_entropy; /* of a token, given nothing */
    uint64_t bytes;         /* of a text */
    struct digest digest;
};
struct token_facts token_source_facts(const struct token_source *source);

#endif
