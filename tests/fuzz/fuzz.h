/* What fuzz targets share. */
#ifndef ASSAY_TESTS_FUZZ_FUZZ_H
#define ASSAY_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/status.h"
#include "harness/core/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that must hold whatever the input. */
#define FUZZ_REQUIRE(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Messages go to terminals and into stores: never empty, UTF-8, no control characters. */
static inline void fuzz_require_good_message(const struct error *err, enum status status)
{
    FUZZ_REQUIRE(err->code == status);
    FUZZ_REQUIRE(err->message[0] != '\0');
    FUZZ_REQUIRE(text_is_utf8(err->message, strlen(err->message)));
    for (const char *c = err->message; *c; ++c)
        FUZZ_REQUIRE((unsigned char)*c >= ' ' && *c != 0x7f);
}

#endif
