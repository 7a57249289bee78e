/* name_index - from a pair of names to a number, in constant time whatever the names are. */
#ifndef ASSAY_RESULTS_STORE_NAME_INDEX_H
#define ASSAY_RESULTS_STORE_NAME_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

/* Zeroed is empty. jansson's objects are hash tables with a random seed. */
struct name_index {
    json_t *table;
};

/* True and the number when (outer, inner) was added. Looking up the same pair again is quick. */
bool name_index_find(const struct name_index *index, const char *outer, const char *inner,
                     size_t *ret);

/* False when out of memory. */
bool name_index_add(struct name_index *index, const char *outer, const char *inner, size_t value);

void name_index_finish(struct name_index *index);

#endif
