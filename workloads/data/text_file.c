#include <math.h>
#include <stdlib.h>

#include "harness/core/file.h"
#include "harness/core/random.h"
#include "workloads/data/source.h"

#define TEXT_MAX ((size_t)1 << 30)
#define STREAM_PLACE 1

struct text_file {
    struct token_source base;
    char *bytes;
    size_t length;
};

static void destroy(struct token_source *base)
{
    free(((struct text_file *)base)->bytes);
    free(base);
}

static void sequence(const struct token_source *base, uint64_t index, uint64_t length,
                     int32_t *ret_tokens, int32_t *ret_targets)
{
    const struct text_file *text = (const struct text_file *)base;
    const uint64_t places = text->length - length; /* one more byte than tokens is read */
    const uint64_t first =
        (uint64_t)(random_unit(random_at(base->seed, STREAM_PLACE, index)) * (double)places);

    for (uint64_t t = 0; t < length; t++) {
        ret_tokens[t] = (unsigned char)text->bytes[first + t];
        ret_targets[t] = (unsigned char)text->bytes[first + t + 1];
    }
}

static double unigram_entropy(const struct text_file *text)
{
    uint64_t counts[256] = {0};
    double entropy = 0.0;

    for (size_t i = 0; i < text->length; i++)
        counts[(unsigned char)text->bytes[i]]++;
    for (size_t i = 0; i < 256; i++) {
        double p = (double)counts[i] / (double)text->length;

        entropy -= p > 0.0 ? p * log(p) : 0.0;
    }
    return entropy;
}

enum status token_source_create_text(const char *path, uint64_t shortest,
                                     const struct digest *expected, uint64_t seed,
                                     struct token_source **ret, struct error *err)
{
    static const struct token_source_ops ops = {.sequence = sequence, .destroy = destroy};
    struct text_file *text = calloc(1, sizeof(*text));
    char hex[DIGEST_HEX_SIZE];
    enum status status;

    if (!text)
        return error_no_memory(err);
    text->base.ops = &ops;
    text->base.seed = seed;
    status = file_read(path, TEXT_MAX, &text->bytes, &text->length, err);
    if (status != STATUS_OK)
        goto fail;
    text->base.facts.bytes = text->length;
    text->base.facts.digest = digest_bytes(text->bytes, text->length);
    if (text->length < shortest) {
        status = error_set(err, STATUS_INVALID,
                           "%s has %zu bytes, a sequence and its last target need %llu: give a "
                           "longer text or a smaller sequence_length",
                           path, text->length, (unsigned long long)shortest);
        goto fail;
    }
    if (expected && !digest_equal(expected, &text->base.facts.digest)) {
        status = error_set(err, STATUS_INVALID,
                           "%s is not the text that was declared: its SHA-256 is %s", path,
                           digest_hex(&text->base.facts.digest, hex));
        goto fail;
    }
    text->base.facts.unigram_entropy = unigram_entropy(text);
    *ret = &text->base;
    return STATUS_OK;
fail:
    destroy(&text->base);
    return status;
}
