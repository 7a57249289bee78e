/* timestamp_fixture - an RFC 3161 token as an authority would send it, with no true signature. */
#ifndef ASSAY_TESTS_TIMESTAMP_FIXTURE_H
#define ASSAY_TESTS_TIMESTAMP_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/digest.h"

/* Writes the token (at most 256 bytes) of this imprint; returns its length. */
size_t timestamp_fixture(const struct digest *imprint, uint8_t *ret);

#endif
