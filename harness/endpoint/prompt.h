/*
 * prompt - a request's text: words drawn from a list of short, common English words, each of which
 * is one token of the usual byte-pair vocabularies; or a prompt of a file. How many tokens it
 * really is, the server's usage tells.
 */
#ifndef ASSAY_ENDPOINT_PROMPT_H
#define ASSAY_ENDPOINT_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "harness/core/text.h"

/* Appends `tokens` words (1 for 0) of request `index`; nothing in it needs escaping in JSON. */
void prompt_append(struct text *text, uint64_t seed, size_t index, uint32_t tokens);

/* Those of a file, in its order: each is JSON, of a text, or of a list of messages. */
struct prompts {
    char **values; /* heap, each */
    size_t count;
};

/*
 * Reads them, `is_chat`: as lists of messages. Of a file whose `name`, which need not be that of
 * `path`, ends in .jsonl each line is a JSON text, or an object with a text `prompt` or, for chat,
 * a list `messages`, of which other members are left out; of any other file each line is a prompt.
 * Lines without anything but blanks are none. Takes a zeroed `ret`, which prompts_finish releases
 * after failure, too. INVALID, with FILE:LINE: a line that is none of these; more than 256 MiB; no
 * prompt.
 */
enum status prompts_read(const char *path, const char *name, bool is_chat, struct prompts *ret,
                         struct error *err);
void prompts_finish(struct prompts *prompts);

/* That of request `index`: they follow one another from one on that the seed draws, and from the
 * first on again. */
const char *prompts_at(const struct prompts *prompts, uint64_t seed, size_t index);

#endif
