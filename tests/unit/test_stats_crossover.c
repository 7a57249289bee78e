/* Whether differences depend on which arm ran first: by hand, size under independence, power. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/core/random.h"
#include "protocols/stats/crossover.h"
#include "tests/support/unit.h"

#define CASES 4000
#define PAIRS 10

TEST(two_halves_by_hand)
{
    /* Means 2 and 6, one variance of 2.5: t = 4 / sqrt(2.5 * 2 / 3) on 4 degrees of freedom. */
    static const double differences[] = {1, 4, 2, 6, 8, 3};
    static const bool b_first[] = {false, true, false, true, true, false};
    const struct crossover c = crossover_find(differences, b_first, 6);

    assert_true(c.tested && !c.seen);
    assert_true(c.a_first == 2 && c.b_first == 6 && c.reach == 2);
    assert_true(fabs(c.p - 0.0362778) < 1e-6);
}

TEST(what_cannot_be_told)
{
    static const double differences[] = {1, 2, 3, 9};
    static const bool once[] = {false, false, false, true};

    assert_false(crossover_find(differences, once, 4).tested);
    assert_false(crossover_find(differences, NULL, 4).tested);
}

/* Share of campaigns in which it is seen, where the pairs with b first are `moved` deviations off.
 */
static double seen_in(double moved, uint64_t stream)
{
    struct random random;
    size_t seen = 0;

    random_init(&random, 20261128, stream);
    for (size_t c = 0; c < CASES; c++) {
        double differences[PAIRS];
        bool b_first[PAIRS];

        for (size_t i = 0; i < PAIRS; i++) {
            b_first[i] = i % 2;
            differences[i] = random_next_normal(&random) + (b_first[i] ? moved : 0);
        }
        seen += crossover_find(differences, b_first, PAIRS).seen;
    }
    return (double)seen / CASES;
}

TEST(it_is_seen_as_seldom_as_declared)
{
    const double by_chance = seen_in(0, 1);

    assert_true(by_chance > 0.005 && by_chance < 0.016);
    assert_true(seen_in(3, 2) > 0.85);
}
