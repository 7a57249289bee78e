#include "protocols/data_seed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/digest.h"

uint64_t data_seed(uint64_t declared, const char *nonce)
{
    struct digest_state state;
    struct digest digest;
    char head[48];
    uint64_t seed = 0;

    if (!nonce)
        return declared;
    snprintf(head, sizeof(head), "assay-seed/1\n%" PRIu64 "\n", declared);
    digest_init(&state);
    digest_update(&state, head, strlen(head));
    digest_update(&state, nonce, strlen(nonce));
    digest = digest_final(&state);
    for (int i = 0; i < 8; i++)
        seed = seed << 8 | digest.bytes[i];
    return seed;
}
