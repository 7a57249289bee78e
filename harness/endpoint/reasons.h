/*
 * reasons - why requests were not answered, counted, with the first example of each.
 *
 * What a server sent is cut, its control characters are shown as \xNN, and the API key is taken
 * out, which servers like to repeat in their errors.
 */
#ifndef ASSAY_ENDPOINT_REASONS_H
#define ASSAY_ENDPOINT_REASONS_H

#include <stddef.h>
#include <stdint.h>

#define REASONS_MAX 32
#define REASON_SIZE 96
#define REASON_EXAMPLE_SIZE 208 /* 200 characters, and "..." */

struct reason {
    char reason[REASON_SIZE];
    uint64_t count;
    char example[REASON_EXAMPLE_SIZE]; /* "" where nothing was sent */
};

/* Reasons in the order of their first time; the last place is for all that have no other. */
struct reasons {
    struct reason list[REASONS_MAX];
    size_t count;
};

/* `bytes` may be NULL; `key` is taken out of them (NULL: there is none). */
void reasons_add(struct reasons *reasons, const char *reason, const char *bytes, size_t length,
                 const char *key);

/* What may be stored of bytes that a server sent: as above, NUL-terminated. */
void reasons_excerpt(const char *bytes, size_t length, const char *key,
                     char ret[REASON_EXAMPLE_SIZE]);

#endif
