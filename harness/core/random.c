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

/*
 * Logarithm and cosine by plain arithmetic alone, which IEEE 754 defines to the last bit: those of
 * C libraries differ in it between versions and between processors with and without fma.
 */

/* ln x for normal x > 0, by ln((1 + s) / (1 - s)) = 2 (s + s^3/3 + s^5/5 + ...). */
double random_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent), s, square, sum = 0;

    if (m < 0x1.6a09e667f3bcdp-1) { /* sqrt(1/2): |s| stays below 0.172 */
        m *= 2;
        --exponent;
    }
    s = (m - 1) / (m + 1);
    square = s * s;
    for (int n = 23; n >= 1; n -= 2)
        sum = sum * square + 1.0 / n;
    return 2 * s * sum + exponent * 0x1.62e42fefa39efp-1;
}

/* e^x = 2^k e^r, |r| <= ln(2) / 2; ln 2 in two parts, the first times k exact. */
double random_exp(double x)
{
    double k = floor(x * 0x1.71547652b82fep+0 + 0.5);
    double r = x - k * 0x1.62e42feep-1 - k * 0x1.a39ef35793c76p-33, sum = 1;

    for (int n = 15; n >= 1; n--)
        sum = 1 + sum * r / n;
    return ldexp(sum, (int)k);
}

/* cos(2 pi t) for t in [0, 1), by the series of cos and sin up to a quarter of pi. */
static double exact_cos_turn(double t)
{
    double sign = 1, x, square, sum = 0;

    if (t > 0.5) /* the second half mirrors the first, each step exact */
        t = 1 - t;
    if (t > 0.25) {
        t = 0.5 - t;
        sign = -1;
    }
    if (t > 0.125) { /* cos(pi/2 - x) = sin x */
        x = 0x1.921fb54442d18p+2 * (0.25 - t);
        square = x * x;
        for (int n = 16; n >= 0; n -= 2)
            sum = 1 - sum * square / ((n + 2) * (n + 3));
        return sign * x * sum;
    }
    x = 0x1.921fb54442d18p+2 * t;
    square = x * x;
    for (int n = 16; n >= 0; n -= 2)
        sum = 1 - sum * square / ((n + 1) * (n + 2));
    return sign * sum;
}

double random_next_normal(struct random *random)
{
    /* 1 - u lies in (0, 1], where the logarithm is finite. */
    double radius = sqrt(-2.0 * random_log(1.0 - random_next_unit(random)));

    return radius * exact_cos_turn(random_next_unit(random));
}

double random_next_exponential(struct random *random)
{
    return -random_log(1.0 - random_next_unit(random));
}

double random_next_gamma(struct random *random, double shape)
{
    double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d), v, x, u;

    do {
        do {
            x = random_next_normal(random);
            v = 1 + c * x;
        } while (v <= 0);
        v = v * v * v;
        u = 1.0 - random_next_unit(random);
    } while (random_log(u) >= 0.5 * x * x + d * (1 - v + random_log(v)));
    /* A power of 700 would have a probability of e^-7 at the least shape: it is a gap of 0. */
    if (shape < 1)
        v *= random_exp(fmax(random_log(1.0 - random_next_unit(random)) / shape, -700));
    return d * v / shape;
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

    /* An identifier that might repeat is worse than none: without entropy the process must end. */
    if (sodium_init() < 0)
        abort();
    randombytes_buf(entropy.bytes, sizeof(entropy.bytes));
    digest_hex(&entropy, ret);
}

uint64_t random_secret(void)
{
    char bits[65];

    random_identifier(bits);
    bits[16] = '\0';
    return strtoull(bits, NULL, 16);
}
