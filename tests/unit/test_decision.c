#include "protocols/decision.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "tests/support/unit.h"

/* Options of two figures: a rate, and what a unit of its work costs. */
struct fixture {
    struct decision_problem problem;
    struct decision_answer answer;
};

static void add(struct fixture *f, double rate, double spread, double price)
{
    struct decision_option *option = &f->problem.options[f->problem.option_count];

    *option = (struct decision_option){.result = f->problem.option_count, .met = DECISION_MET};
    option->figures[0] = (struct cost_range){rate, rate - spread, rate + spread};
    option->figures[1] = (struct cost_range){1 / rate, 1 / (rate + spread), 1 / (rate - spread)};
    option->prices[0] = (struct decision_price){
        (int64_t)f->problem.option_count + 2, {price, price, price}, {1, 1, 1}};
    option->price_count = 1;
    f->problem.option_count++;
}

static void init(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->problem.figures[0] = (struct decision_figure){.metric = METRIC_OP_RATE};
    f->problem.figures[1] = (struct decision_figure){.kind = FIGURE_COST,
                                                     .metric = METRIC_OP_RATE,
                                                     .work = &cost_works[4],
                                                     .lower_is_better = true};
    f->problem.figure_count = f->problem.objective_count = 2;
    f->problem.objectives[0] = 0;
    f->problem.objectives[1] = 1;
}

static enum decision_verdict judge(struct fixture *f)
{
    decision_judge(&f->problem, &f->answer);
    return f->answer.verdict;
}

TEST(front)
{
    struct fixture f;

    init(&f);
    add(&f, 100, 1, 10); /* fast and dear */
    add(&f, 50, 1, 2);   /* slow and cheap */
    add(&f, 45, 1, 4);   /* slower and dearer than the second */
    assert_int_equal(judge(&f), DECISION_VERDICT_TRADE_OFF);
    assert_int_equal(f.answer.standings[0], DECISION_NOT_DOMINATED);
    assert_int_equal(f.answer.standings[1], DECISION_NOT_DOMINATED);
    assert_int_equal(f.answer.standings[2], DECISION_DOMINATED);
    assert_false(f.answer.dominates[0][2]);
    assert_true(f.answer.dominates[1][2]);
}

TEST(overlap_is_not_separable)
{
    struct fixture f;

    init(&f);
    add(&f, 50, 1, 2);
    add(&f, 48.5, 1, 4); /* dearer for certain; of the rates 49.2 may be either's */
    assert_int_equal(judge(&f), DECISION_VERDICT_UNDECIDED);
    assert_int_equal(f.answer.standings[0], DECISION_NOT_DOMINATED);
    assert_int_equal(f.answer.standings[1], DECISION_NOT_SEPARABLE);
    f.problem.options[0].figures[0].lo = 49.5;
    assert_int_equal(judge(&f), DECISION_VERDICT_DECIDED);
    assert_int_equal(f.answer.standings[1], DECISION_DOMINATED);
    assert_true(f.answer.dominates[0][1]);
    f.problem.margin = 0.3; /* the costs differ by more */
    assert_int_equal(judge(&f), DECISION_VERDICT_DECIDED);
    f.problem.margin = 0.9;
    assert_int_equal(judge(&f), DECISION_VERDICT_TRADE_OFF);
}

/* With one price for both, the rates tell whose work is cheaper, however wide the price's bounds.
 */
TEST(shared_price)
{
    struct fixture f;

    init(&f);
    add(&f, 60, 1, 5);
    add(&f, 50, 1, 5);
    for (int i = 0; i < 2; i++)
        f.problem.options[i].prices[0] = (struct decision_price){7, {5, 1, 9}, {1, 1, 1}};
    assert_int_equal(judge(&f), DECISION_VERDICT_DECIDED);
    assert_int_equal(f.answer.standings[1], DECISION_DOMINATED);
    f.problem.options[1].prices[0].line = 8; /* two prices, each between 1 and 9 */
    assert_int_equal(judge(&f), DECISION_VERDICT_UNDECIDED);
}

/* Bought or rented: one measurement, so that its interval blurs nothing. */
TEST(one_result_two_prices)
{
    struct fixture f;

    init(&f);
    add(&f, 60, 30, 5);
    add(&f, 60, 30, 6);
    assert_int_equal(judge(&f), DECISION_VERDICT_UNDECIDED);
    f.problem.options[1].result = 0;
    assert_int_equal(judge(&f), DECISION_VERDICT_DECIDED);
    assert_int_equal(f.answer.standings[1], DECISION_DOMINATED);
}

TEST(requirements)
{
    struct fixture f;

    init(&f);
    add(&f, 100, 1, 10);
    add(&f, 50, 1, 1);
    f.problem.requirements[0] = (struct decision_requirement){.figure = 0, .limit = 60};
    f.problem.requirement_count = 1;
    assert_int_equal(judge(&f), DECISION_VERDICT_DECIDED);
    assert_int_equal(f.answer.standings[1], DECISION_INFEASIBLE);
    f.problem.requirements[0].limit = 50; /* within its interval */
    assert_int_equal(judge(&f), DECISION_VERDICT_UNDECIDED);
    assert_int_equal(f.answer.met[1], DECISION_OPEN);
    f.problem.options[0].met = DECISION_OPEN; /* a contract that is not decided */
    f.problem.requirements[0].limit = 200;
    assert_int_equal(judge(&f), DECISION_VERDICT_NONE);
    f.problem.options[0].figures[0].lo = NAN;
    f.problem.options[0].figures[0].hi = NAN;
    assert_int_equal(judge(&f), DECISION_VERDICT_UNDECIDED);
    assert_int_equal(f.answer.requirements[0][0], DECISION_OPEN);
}

/* One that may fail dominates nobody: what would be dominated by it is not separable. */
TEST(open_dominates_nobody)
{
    struct fixture f;

    init(&f);
    add(&f, 100, 1, 1);
    add(&f, 50, 1, 1);
    f.problem.options[0].met = DECISION_OPEN;
    assert_int_equal(judge(&f), DECISION_VERDICT_UNDECIDED);
    assert_int_equal(f.answer.standings[0], DECISION_NOT_DOMINATED);
    assert_int_equal(f.answer.standings[1], DECISION_NOT_SEPARABLE);
}

TEST(flips)
{
    struct fixture f;
    struct decision_change price = {.kind = CHANGE_PRICE, .line = 2};
    struct decision_change rate = {.kind = CHANGE_METRIC, .option = 1, .metric = METRIC_OP_RATE};
    struct decision_change limit = {.kind = CHANGE_LIMIT};
    double factor;

    init(&f);
    add(&f, 100, 0, 10); /* 0.1 */
    add(&f, 80, 0, 16);  /* 0.2 */
    f.problem.requirements[0] = (struct decision_requirement){.figure = 0, .limit = 50};
    f.problem.requirement_count = 1;
    assert_int_equal(judge(&f), DECISION_VERDICT_DECIDED);
    /* Dearer by more than 2: then the second is cheaper. */
    assert_true(decision_flip(&f.problem, &price, true, &factor, &f.answer));
    assert_float_equal(factor, 2, 1e-12);
    assert_int_equal(f.answer.verdict, DECISION_VERDICT_TRADE_OFF);
    assert_false(decision_flip(&f.problem, &price, false, &factor, &f.answer));
    /* Its rate counts for both figures: 1.25 times, and it is as fast; 2 times, and as cheap. */
    assert_true(decision_flip(&f.problem, &rate, true, &factor, &f.answer));
    assert_float_equal(factor, 1.25, 1e-12);
    assert_true(decision_flip(&f.problem, &rate, false, &factor, &f.answer));
    assert_float_equal(factor, 0.625, 1e-12);
    assert_int_equal(f.answer.standings[1], DECISION_INFEASIBLE);
    assert_true(decision_flip(&f.problem, &limit, true, &factor, &f.answer));
    assert_float_equal(factor, 1.6, 1e-12);
}

/* Drawn options: nothing is dominated by what values within the intervals contradict. */
TEST(shown_means_for_every_value)
{
    struct random random;

    random_init(&random, 20261124, 3);
    for (int draw = 0; draw < 300; draw++) {
        struct fixture f;

        init(&f);
        for (int i = 0; i < 4; i++)
            add(&f, 50 + 50 * random_next_unit(&random), 10 * random_next_unit(&random),
                1 + 5 * random_next_unit(&random));
        judge(&f);
        for (int k = 0; k < 50; k++) {
            double rate[4], cost[4];

            for (int i = 0; i < 4; i++) {
                const struct cost_range *r = &f.problem.options[i].figures[0];

                rate[i] = r->lo + (r->hi - r->lo) * random_next_unit(&random);
                cost[i] = f.problem.options[i].prices[0].amount.value / rate[i];
            }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) {
                    if (f.answer.dominates[i][j])
                        assert_true(rate[i] >= rate[j] && cost[i] <= cost[j]);
                    if (i != j && f.answer.standings[j] == DECISION_NOT_DOMINATED)
                        assert_true(rate[j] > rate[i] || cost[j] < cost[i]);
                }
        }
    }
}
