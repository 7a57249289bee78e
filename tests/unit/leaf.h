/* leaf - the hash of a leaf as RFC 9162 (2.1.1) defines it, to compare with. */
#ifndef ASSAY_TESTS_UNIT_LEAF_H
#define ASSAY_TESTS_UNIT_LEAF_H

#include "harness/core/digest.h"

static inline struct digest leaf_of(const void *bytes, size_t length)
{
    struct digest_state state;

    digest_init(&state);
    digest_update(&state, "", 1);
    digest_update(&state, bytes, length);
    return digest_final(&state);
}

#endif
