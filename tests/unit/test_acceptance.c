#include "protocols/acceptance.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/core/random.h"
#include "protocols/contract.h"
#include "protocols/stats/distribution.h"
#include "tests/support/unit.h"

#define MARGIN 0.01

TEST(units)
{
    struct acceptance_fleet fleet = {.declared = 0.99, .share = 0.9, .alpha = 0.05, .beta = 0.05};

    assert_int_equal(acceptance_units(&fleet, 0), 29); /* 0.9^29 = 0.047 */
    assert_int_equal(acceptance_judge_units(&fleet, 29, 0), ACCEPTANCE_ACCEPTED);
    assert_int_equal(acceptance_judge_units(&fleet, 28, 0), ACCEPTANCE_INCONCLUSIVE);
    assert_int_equal(acceptance_judge_units(&fleet, 29, 1), ACCEPTANCE_INCONCLUSIVE);
    assert_int_equal(acceptance_judge_units(&fleet, 29, 3), ACCEPTANCE_REJECTED);
    assert_int_equal(acceptance_units(&fleet, 1), 46);
    assert_int_equal(acceptance_judge_units(&fleet, 1, 1), ACCEPTANCE_REJECTED);
    fleet.share = 0.95;
    assert_int_equal(acceptance_units(&fleet, 0), 59); /* 0.95^59 = 0.048 */
    assert_float_equal(acceptance_fleet_chances(&fleet, 59, 0.99).accepted, pow(0.99, 59), 1e-12);
    assert_float_equal(acceptance_fleet_chances(&fleet, 59, 0.95).accepted, pow(0.95, 59), 1e-12);
}

/* The chances of a fleet's verdicts are those of the numbers of failures that they are given for.
 */
TEST(fleet_chances)
{
    static const struct acceptance_fleet fleets[] = {
        {0.99, 0.9, 0.05, 0.05}, {0.8, 0.8, 0.1, 0.2}, {1, 0.5, 0.01, 0.05}};

    for (int f = 0; f < 3; f++)
        for (uint64_t units = 1; units <= 90; units += 7)
            for (double truth = 0.7; truth < 1; truth += 0.1) {
                const struct acceptance_chances chances =
                    acceptance_fleet_chances(&fleets[f], units, truth);
                double sums[3] = {0};

                for (uint64_t failed = 0; failed <= units; failed++)
                    sums[acceptance_judge_units(&fleets[f], units, failed)] +=
                        binomial_cdf((double)failed, (double)units, 1 - truth) -
                        binomial_cdf((double)failed - 1, (double)units, 1 - truth);
                assert_float_equal(chances.accepted, sums[ACCEPTANCE_ACCEPTED], 1e-9);
                assert_float_equal(chances.rejected, sums[ACCEPTANCE_REJECTED], 1e-9);
            }
}

/*
 * R trials with logarithms of mean log(truth) and deviation sd, and their interval by t as an
 * estimate admits their order to it: none where that leaves the verdict open.
 */
static struct acceptance_measured draw(struct random *random, double truth, double sd, int trials,
                                       double margin)
{
    double logs[64], mean = 0, squares = 0, half, wider;
    struct succession s;

    for (int i = 0; i < trials; i++) {
        logs[i] = log(truth) + sd * random_next_normal(random);
        mean += logs[i] / trials;
    }
    for (int i = 0; i < trials; i++)
        squares += (logs[i] - mean) * (logs[i] - mean);
    half = student_quantile(0.975, trials - 1) * sqrt(squares / (trials - 1) / trials);
    s = succession_find(logs, (size_t)trials);
    wider = succession_half_width(&s, half);
    if (s.certain && expm1(wider) > margin)
        return (struct acceptance_measured){exp(mean), NAN, NAN, 0.95, (uint64_t)trials};
    return (struct acceptance_measured){exp(mean), exp(mean - wider), exp(mean + wider), 0.95,
                                        (uint64_t)trials};
}

/* Both parties' risks and the operating characteristic, within one point over 10^4 series. */
TEST(risks)
{
    static const struct acceptance_rule rules[] = {{100, 97, 0.05, 0.1, false},
                                                   {20, 21, 0.01, 0.05, true}};
    struct random random;

    random_init(&random, 20261124, 1);
    for (int r = 0; r < 2; r++)
        for (int trials = 5; trials <= 20; trials += 15)
            for (double sd = 0.005; sd < 0.05; sd *= 4) {
                const struct acceptance_plan plan =
                    acceptance_plan_make(sd, (uint64_t)trials, MARGIN);

                for (int at = 0; at <= 2; at++) {
                    const double truth = at == 0   ? rules[r].declared
                                         : at == 1 ? rules[r].limiting
                                                   : sqrt(rules[r].declared * rules[r].limiting);
                    const struct acceptance_chances expected =
                        acceptance_chances(&rules[r], &plan, truth);
                    double counts[3] = {0};

                    for (int i = 0; i < 10000; i++) {
                        const struct acceptance_measured m =
                            draw(&random, truth, sd, trials, MARGIN);
                        double best, worst;

                        counts[acceptance_judge(&rules[r], &m, &best, &worst)] += 1e-4;
                    }
                    assert_float_equal(counts[ACCEPTANCE_ACCEPTED], expected.accepted, 0.012);
                    assert_float_equal(counts[ACCEPTANCE_REJECTED], expected.rejected, 0.012);
                    if (at == 0)
                        assert_true(counts[ACCEPTANCE_REJECTED] <= rules[r].alpha + 0.01);
                    if (at == 1)
                        assert_true(counts[ACCEPTANCE_ACCEPTED] <= rules[r].beta + 0.01);
                }
            }
}

/* The bound at twice its distance: a standard error twice as large, (4 - 1) / (4 + 1). */
TEST(up_to_which_correlation_a_verdict_stands)
{
    assert_float_equal(acceptance_holds_to(1, 1.1, 1.21), 0.6, 1e-12);
    assert_float_equal(acceptance_holds_to(1, 1 / 1.1, 1 / 1.21), 0.6, 1e-12);
    assert_true(isnan(acceptance_holds_to(1, 1, 1.21)));
    assert_true(isnan(acceptance_holds_to(1, NAN, 1.21)));
}

/* A reader's page must not open what somebody else's contract names. */
TEST(margin)
{
    static const char *const names[] = {NULL, "standard", "no_such_protocol", "./own.yaml"};
    FILE *own = fopen("own.yaml", "we");

    assert_non_null(own);
    fputs("name: own\nextends: quick\nanalysis: {margin: 0.2}\n", own);
    assert_int_equal(fclose(own), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_auto_t *contract = json_pack("{s:s?}", "protocol", names[i]);

        assert_float_equal(contract_margin(contract), 0.01, 1e-12);
    }
    unlink("own.yaml");
}

TEST(trials)
{
    const struct acceptance_rule rule = {100, 97, 0.05, 0.1, false};

    for (double sd = 0.002; sd < 0.1; sd *= 2) {
        const uint64_t trials = acceptance_trials(&rule, sd, MARGIN);

        const struct acceptance_plan plan = acceptance_plan_make(sd, trials, MARGIN);

        assert_in_range(trials, 2, 250);
        assert_true(acceptance_chances(&rule, &plan, 97).rejected >= 1 - rule.beta);
        assert_true(acceptance_chances(&rule, &plan, 100).accepted >= 1 - 2 * rule.alpha);
    }
    assert_int_equal(acceptance_trials(&rule, 1000, MARGIN), 0);
}
