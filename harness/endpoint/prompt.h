/*
 * prompt - a request's text: words drawn from a list of short, common English words, each of which
 * is one token of the usual byte-pair vocabularies. How many tokens it really is, the server's
 * usage tells.
 */
#ifndef ASSAY_ENDPOINT_PROMPT_H
#define ASSAY_ENDPOINT_PROMPT_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/text.h"

/* Appends `tokens` words (1 for 0) of request `index`; nothing in it needs escaping in JSON. */
void prompt_append(struct text *text, uint64_t seed, size_t index, uint32_t tokens);

#endif
