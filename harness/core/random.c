#include "harness/core/random.h"

#include <math.h>
#include <stdlib.h>

#include <sodium.h>

#include "harness/core/digest.h"

void random_init(struct random *random, uint64_t seed, uint64_t stream)
{
    random->seed = seed;
    random->stream = stream;
    random->next = 0;
}

uint64_t random_next(struct random *random)
{
    return random_at(random->seed, random->stream, random->next++);
}

double random_next_unit(struct random *random)
{
    return random_unit(random_next(random));
}

double random_next_normal(struct random *random)
{
    /* 1 - u lies in (0, 1], where the logarithm is finite. */
    double radius = sqrt(-2.0 * log(1.0 - random_next_unit(random)));

    return radius * cos(0x1.921fb54442d18p+2 * random_next_unit(random)); /* 2 pi */
}

uint64_t random_next_below(struct random *random, uint64_t bound)
{
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)random_next(random) * bound;

    if ((uint64_t)product < bound) {
        uint64_t threshold = (0 - bound) % bound;

        while ((uint64_t)product < threshold)
            product = (u128)random_next(random) * bound;
    }
    return (uint64_t)(product >> 64);
}

void random_shuffle(struct random *random, uint32_t *order, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        order[i] = (uint32_t)i;
    for (size_t i = count; i > 1; --i) {
        size_t j = (size_t)random_next_below(random, i);
        uint32_t kept = order[i - 1];

        order[i - 1] = order[j];
        order[j] = kept;
    }
}

void random_identifier(char ret[65])
{
    struct digest entropy;

    /* An identifier that might repeat is worse than none: without entropy there is no going on. */
    if (sodium_init() < 0)
        abort();
    randombytes_buf(entropy.bytes, sizeof(entropy.bytes));
    digest_hex(&entropy, ret);
}
