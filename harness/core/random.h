/*
 * random - seeded numbers, the same on every machine.
 *
 * random_at() is counter-based: element i of stream (seed, stream) can be had in any order and from
 * any thread. It is SplitMix64's finaliser (Steele, Lea, Flood: "Fast Splittable Pseudorandom
 * Number Generators", OOPSLA 2014) over a keyed counter. Not for cryptography.
 */
#ifndef ASSAY_CORE_RANDOM_H
#define ASSAY_CORE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Bits of `key` at position `index` of a counter. */
static inline uint64_t random_keyed(uint64_t key, uint64_t index)
{
    uint64_t z = key + 0x9e3779b97f4a7c15u * (index + 1);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 64 random bits at position `index` of stream `stream` under `seed`. */
static inline uint64_t random_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    return random_keyed(random_keyed(seed, stream), index);
}

/* Uniform in [0, 1), 53 bits. */
static inline double random_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

/* Sequential generator over the same bits. */
struct random {
    uint64_t seed, stream, next;
};

void random_init(struct random *random, uint64_t seed, uint64_t stream);
uint64_t random_next(struct random *random);
double random_next_unit(struct random *random);        /* [0, 1) */
double random_next_normal(struct random *random);      /* mean 0, variance 1 (Box-Muller) */
double random_next_exponential(struct random *random); /* mean 1 */
/*
 * Gamma with mean 1 and `shape` >= 0.01 (Marsaglia and Tsang, "A Simple Method for Generating Gamma
 * Variables", ACM TOMS 26 (2000); below shape 1 with their power of a uniform number).
 */
double random_next_gamma(struct random *random, double shape);
/*
 * Logarithm of a normal x > 0, and exponential of |x| <= 700, by plain arithmetic: the same bits on
 * every machine, within 4 units in the last place.
 */
double random_log(double x);
double random_exp(double x);
/* Uniform in [0, bound), no bias (Lemire, "Fast Random Integer Generation", 2019). bound > 0. */
uint64_t random_next_below(struct random *random, uint64_t bound);
/* Fisher-Yates shuffle of 0..count-1 in `order`. */
void random_shuffle(struct random *random, uint32_t *order, size_t count);

/* 32 bytes of entropy from the system as 64 hex digits; for identifiers, not for data. */
void random_identifier(char ret[65]);
/* 64 bits of them, which nobody else has. */
uint64_t random_secret(void);

#endif
