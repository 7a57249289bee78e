#include "harness/core/random.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "tests/support/unit.h"

/* Computed by an independent implementation in Python's integers. */
TEST(known_values)
{
    static const uint64_t below[6] = {5, 8, 9, 7, 1, 3};
    static const uint32_t shuffled[8] = {2, 6, 7, 4, 5, 0, 3, 1};
    struct random random;
    uint32_t order[8];

    assert_true(random_at(0, 0, 0) == 0xa706dd2f4d197e6fu);
    assert_true(random_at(1, 2, 0) == 0xa6c7188e0551111eu);
    assert_true(random_at(1, 2, 1) == 0x6d5016879973635cu);
    assert_true(random_at(UINT64_MAX, 7, UINT64_C(1) << 40) == 0xb4ce26947fe25c2bu);
    random_init(&random, 1, 2);
    assert_true(random_next(&random) == random_at(1, 2, 0));
    assert_true(random_next(&random) == random_at(1, 2, 1));
    random_init(&random, 9, 9);
    for (int i = 0; i < 6; ++i)
        assert_true(random_next_below(&random, 10) == below[i]);
    random_shuffle(&random, order, 8);
    assert_memory_equal(order, shuffled, sizeof(order));
}

TEST(ranges)
{
    struct random random;
    int seen[7] = {0};

    assert_true(random_unit(0) == 0);
    assert_true(random_unit(UINT64_MAX) == 1 - 0x1p-53);
    random_init(&random, 3, 4);
    for (int i = 0; i < 7000; ++i) {
        double unit = random_next_unit(&random);

        assert_true(unit >= 0 && unit < 1);
        ++seen[random_next_below(&random, 7)];
    }
    for (int i = 0; i < 7; ++i) /* 1000 expected, 29 standard deviation */
        assert_true(seen[i] > 850 && seen[i] < 1150);
    assert_int_equal(random_next_below(&random, 1), 0);
    for (int i = 0; i < 1000; ++i) /* a bound whose bias would show: half would be refused */
        assert_true(random_next_below(&random, (UINT64_C(1) << 63) + 1) <= UINT64_C(1) << 63);
}

TEST(normal)
{
    double sum = 0, squares = 0, fourth = 0;
    int within = 0, count = 100000;
    struct random random, again;

    random_init(&random, 5, 6);
    random_init(&again, 5, 6);
    for (int i = 0; i < count; ++i) {
        double x = random_next_normal(&random);
        /* The same by the C library, which may differ in the last bits. */
        double radius = sqrt(-2 * log(1 - random_next_unit(&again)));
        double expected = radius * cos(6.283185307179586 * random_next_unit(&again));

        assert_true(fabs(x - expected) <= 1e-14 * (1 + radius));
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
        within += fabs(x) < 1;
    }
    assert_true(fabs(sum / count) < 0.02);
    assert_true(fabs(squares / count - 1) < 0.03);
    assert_true(fabs(fourth / count - 3) < 0.2);
    assert_true(fabs(within / (double)count - 0.6827) < 0.01);
    /* To the last bit, on every machine. */
    random_init(&random, 1, 2);
    assert_true(random_next_normal(&random) == -0x1.4d476b93f9f97p+0);
    assert_true(random_next_normal(&random) == 0x1.6215e8fc71c3ap+0);
    assert_true(random_next_normal(&random) == 0x1.98070fc959d22p-3);
}

TEST(shuffle)
{
    struct random random;
    uint32_t order[100];
    int first[5] = {0};

    random_init(&random, 8, 0);
    for (int round = 0; round < 5000; ++round) {
        bool seen[5] = {false};

        random_shuffle(&random, order, 5);
        for (int i = 0; i < 5; ++i) {
            assert_true(order[i] < 5 && !seen[order[i]]);
            seen[order[i]] = true;
        }
        ++first[order[0]];
    }
    for (int i = 0; i < 5; ++i)
        assert_true(first[i] > 800 && first[i] < 1200);
    random_shuffle(&random, order, 0);
    random_shuffle(&random, order, 1);
    assert_int_equal(order[0], 0);
}

TEST(identifier)
{
    char a[65], b[65];

    random_identifier(a);
    random_identifier(b);
    assert_int_equal(strlen(a), 64);
    assert_int_equal(strspn(a, "0123456789abcdef"), 64);
    assert_string_not_equal(a, b);
}

/* Own logarithm and exponential against the C library's; moments of the gamma distribution. */
TEST(logarithm_exponential_gamma)
{
    static const double shapes[] = {0.01, 0.3, 1, 4, 100};
    const int count = 200000;
    struct random random;

    random_init(&random, 7, 8);
    for (int i = 0; i < 100000; ++i) {
        double x = 1400 * random_next_unit(&random) - 700, y = exp(x / 2);

        assert_true(fabs(random_exp(x) / exp(x) - 1) < 1e-15);
        assert_true(fabs(random_log(y) - log(y)) <= 1e-15 * (1 + fabs(log(y))));
    }
    assert_true(random_exp(0) == 1 && random_log(1) == 0);
    for (int k = 0; k < 5; ++k) {
        double sum = 0, squares = 0, below = 0, deviation = 1 / sqrt(shapes[k]);

        for (int i = 0; i < count; ++i) {
            double x = random_next_gamma(&random, shapes[k]);

            assert_true(x >= 0 && isfinite(x));
            sum += x;
            squares += (x - 1) * (x - 1);
            below += shapes[k] == 1 ? x < 0.5 : 0;
        }
        assert_true(fabs(sum / count - 1) < 5 * deviation / sqrt(count));
        assert_true(fabs(squares / count * shapes[k] - 1) < 5 * sqrt((2 + 6 / shapes[k]) / count));
        if (shapes[k] == 1)
            assert_true(fabs(below / count - (1 - exp(-0.5))) < 0.005);
    }
}
