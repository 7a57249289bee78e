/* Each clause that a trial can break, one at a time; and what is just within each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "protocols/conduct.h"

#define S INT64_C(1000000000)

static const struct protocol protocol = {
    .warmup_iterations = 10,
    .warmup_ns = 3 * S,
    .window_ns = 10 * S,
    .window_min_samples = 100,
    .window_max_ns = 600 * S,
    .max_samples = 1000000,
    .spot_checks = 16,
    .spot_checks_least = 3,
    .spot_checks_ns = S,
};

/* As an honest worker measures it: 1000 samples of 10 ms, with 50 us between them. */
static const struct conduct honest = {
    .warmup = {.samples = 300,
               .wall_ns = 3 * S,
               .gap_ns = 15000000,
               .begin_ns = 2 * S,
               .end_ns = 5 * S + 16000000},
    .window = {.samples = 1000,
               .wall_ns = 10 * S,
               .gap_ns = 50000000,
               .begin_ns = 6 * S,
               .end_ns = 16 * S + 52000000},
    .iterations_per_sample = 2,
    .checked_before = true,
    .checked_after = true,
    .checked_within = true,
    .spot_checks = 16,
    .spot_checks_ns = 10000000,
    .go_ns = 6 * S - 1000,
    .told_ns = 16 * S + 53000000,
    .kernel_ns = 10 * S + 53001000,
};

static void judge(const struct protocol *rules, const struct conduct *conduct, const char *clause)
{
    struct error err = ERROR_INIT;
    const enum status status = conduct_judge(rules, conduct, &err);

    if (!clause) {
        if (status != STATUS_OK)
            fail_msg("%s", err.message);
        return;
    }
    assert_int_equal(status, STATUS_INVALID);
    if (strncmp(err.message, clause, strlen(clause)) != 0 || err.message[strlen(clause)] != ':')
        fail_msg("expected %s: %s", clause, err.message);
}

#define BREAKS(clause, ...)                                                                        \
    do {                                                                                           \
        struct conduct c = honest;                                                                 \
        struct protocol p = protocol;                                                              \
        (void)p;                                                                                   \
        __VA_ARGS__;                                                                               \
        judge(&p, &c, clause);                                                                     \
    } while (0)

static void test_clauses(void **state)
{
    (void)state;
    BREAKS(NULL, (void)c);
    BREAKS("verification", c.checked_before = false);
    BREAKS("verification", c.checked_after = false);
    BREAKS("warmup.iterations", c.warmup.samples = 4);
    BREAKS(NULL, c.warmup.samples = 5);
    BREAKS("warmup.time", c.warmup.wall_ns = 2 * S);
    BREAKS("window.min_samples", c.window.samples = 99);
    BREAKS(NULL, c.window.samples = 100);
    BREAKS("window.time", c.window.wall_ns = 9 * S);
    BREAKS("spot_checks.least", c.spot_checks = 2);
    BREAKS(NULL, c.spot_checks = 3);
    BREAKS("spot_checks", c.checked_within = false);
    BREAKS(NULL, p.spot_checks = p.spot_checks_least = 0; c.spot_checks = 0;
           c.checked_within = false);
}

/* A window that is at its limit or has all its samples may have fewer, or be shorter. */
static void test_limits(void **state)
{
    (void)state;
    BREAKS(NULL, c.window.samples = 20; p.window_max_ns = 10 * S);
    BREAKS(NULL, p.max_samples = 1300; c.window.wall_ns = 2 * S; c.window.end_ns = 8 * S + 52000000;
           c.told_ns = 8 * S + 53000000; c.kernel_ns = 2 * S + 53001000);
    BREAKS("window.time", c.window.samples = 20; c.window.wall_ns = 9 * S; p.window_max_ns = 9 * S);
}

static void test_clocks(void **state)
{
    (void)state;
    /* It began before the harness let it, or ended after it was told. */
    BREAKS("clock.window", c.window.begin_ns = 5 * S);
    BREAKS("clock.window", c.window.end_ns = 17 * S);
    BREAKS("clock.window", c.window.begin_ns = -1);
    /* A quarter of the time, of a worker whose phases are right, or are a quarter as well. */
    BREAKS("clock.window", p.window_ns = S; c.window.wall_ns /= 4);
    BREAKS("clock.window", c.window.wall_ns += S);
    BREAKS("clock.gaps", p.window_ns = S; c.window.wall_ns /= 4; c.window.gap_ns += 75 * S / 10);
    BREAKS(NULL, p.window_ns = S; c.window.wall_ns /= 4; c.window.gap_ns += 75 * S / 10;
           p.cache = PROTOCOL_CACHE_COLD);
    BREAKS(NULL, p.window_ns = S; c.window.wall_ns /= 4; c.window.gap_ns += 75 * S / 10;
           c.spot_checks_ns = 6 * S);
    BREAKS("clock.kernel", c.kernel_ns *= 4);
    BREAKS("clock.kernel", c.kernel_ns -= 20000000);
    BREAKS(NULL, c.kernel_ns -= 5000000);
    BREAKS(NULL, c.kernel_ns = -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clauses),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_clocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
