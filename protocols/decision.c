#include "protocols/decision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/shape.h"

#define STEP 1.02
#define HALVINGS 60
#define BEYOND 1e-9

#define NAME_OF(constant, name) name,
static const char *const standings[] = {DECISION_STANDING_MAP(NAME_OF)};
static const char *const verdicts[] = {DECISION_VERDICT_MAP(NAME_OF)};
#undef NAME_OF
static const char *const mets[] = {"missed", "open", "met"};
const struct type decision_met_type = {WORD_OF(mets), .def = "met"};
const struct type decision_standing_type = {WORD_OF(standings), .def = "standing"};
const struct type decision_verdict_type = {WORD_OF(verdicts), .def = "decision"};

const char *decision_met_name(enum decision_met met)
{
    return mets[met];
}

const char *decision_standing_name(enum decision_standing standing)
{
    return standings[standing];
}

const char *decision_verdict_name(enum decision_verdict verdict)
{
    return verdicts[verdict];
}

struct cost_range decision_range(const struct decision_problem *problem, size_t option,
                                 size_t figure)
{
    const struct decision_option *o = &problem->options[option];
    const struct cost_range *hours = &o->figures[figure];
    struct cost_range hour = {0, 0, 0};

    if (problem->figures[figure].kind != FIGURE_COST)
        return *hours;
    for (size_t i = 0; i < o->price_count; i++) {
        hour.value += o->prices[i].amount.value * o->prices[i].each.value;
        hour.lo += o->prices[i].amount.lo * o->prices[i].each.lo;
        hour.hi += o->prices[i].amount.hi * o->prices[i].each.hi;
    }
    return (struct cost_range){hour.value * hours->value, hour.lo * hours->lo, hour.hi * hours->hi};
}

/* ---- two options ---- */

static const struct decision_price *price_at(const struct decision_option *option, int64_t line)
{
    for (size_t i = 0; i < option->price_count; i++)
        if (option->prices[i].line == line)
            return &option->prices[i];
    return NULL;
}

/* The most that a's cost can exceed b's by, each price being the same for both. */
static double cost_excess(const struct decision_option *a, const struct decision_option *b,
                          size_t figure)
{
    const bool same = a->result == b->result;
    const double hours_a = same ? a->figures[figure].value : a->figures[figure].hi;
    const double hours_b = same ? b->figures[figure].value : b->figures[figure].lo;
    double sum = 0;

    for (size_t i = 0; i < a->price_count; i++) {
        const struct decision_price *price = &a->prices[i], *other = price_at(b, price->line);
        const double weight =
            same && other ? 0 : price->each.hi * hours_a - (other ? other->each.lo * hours_b : 0);

        sum += weight * (weight > 0 ? price->amount.hi : price->amount.lo);
    }
    for (size_t i = 0; i < b->price_count; i++)
        if (!price_at(a, b->prices[i].line))
            sum -= b->prices[i].amount.lo * b->prices[i].each.lo * hours_b;
    return sum;
}

/* The most by which a can be worse than b in a figure; NAN: not known. */
static double excess(const struct decision_problem *problem, size_t a, size_t b, size_t figure)
{
    const struct decision_option *x = &problem->options[a], *y = &problem->options[b];
    const struct cost_range *u = &x->figures[figure], *v = &y->figures[figure];

    if (!isfinite(u->lo + u->hi + v->lo + v->hi))
        return NAN;
    if (problem->figures[figure].kind == FIGURE_COST)
        return cost_excess(x, y, figure);
    if (x->result == y->result)
        return 0;
    return problem->figures[figure].lower_is_better ? u->hi - v->lo : v->hi - u->lo;
}

/* Whether a is shown to be no worse in all objectives; whether better in one. */
static bool no_worse(const struct decision_problem *problem, size_t a, size_t b, bool *ret_better)
{
    bool holds = true;

    *ret_better = false;
    for (size_t i = 0; i < problem->objective_count; i++) {
        const size_t figure = problem->objectives[i];
        const double most = excess(problem, a, b, figure);
        const double slack = problem->margin * fmax(decision_range(problem, a, figure).value,
                                                    decision_range(problem, b, figure).value);

        holds &= most <= slack;
        *ret_better |= most < -slack;
    }
    return holds;
}

/* ---- all of them ---- */

static enum decision_met met_of(const struct decision_requirement *requirement,
                                const struct cost_range *range)
{
    const double sign = requirement->at_most ? 1 : -1, limit = sign * requirement->limit;
    const double worst = sign * (requirement->at_most ? range->hi : range->lo);
    const double best = sign * (requirement->at_most ? range->lo : range->hi);

    return worst <= limit ? DECISION_MET : best > limit ? DECISION_MISSED : DECISION_OPEN;
}

static enum decision_standing stand(const struct decision_problem *problem, size_t option,
                                    const struct decision_answer *answer)
{
    enum decision_standing standing = DECISION_NOT_DOMINATED;

    if (answer->met[option] == DECISION_MISSED)
        return DECISION_INFEASIBLE;
    for (size_t i = 0; i < problem->option_count; i++) {
        bool better;

        if (i == option || answer->met[i] == DECISION_MISSED)
            continue;
        if (answer->dominates[i][option] && answer->met[i] == DECISION_MET)
            return DECISION_DOMINATED;
        if (!no_worse(problem, option, i, &better) && !better)
            standing = DECISION_NOT_SEPARABLE;
    }
    return standing;
}

static enum decision_verdict conclude(const struct decision_problem *problem,
                                      const struct decision_answer *answer)
{
    size_t left = 0;
    bool open = false;

    for (size_t i = 0; i < problem->option_count; i++) {
        const enum decision_standing standing = answer->standings[i];

        left += standing == DECISION_NOT_DOMINATED;
        open |= standing == DECISION_NOT_SEPARABLE ||
                (standing == DECISION_NOT_DOMINATED && answer->met[i] == DECISION_OPEN);
    }
    return open        ? DECISION_VERDICT_UNDECIDED
           : left == 0 ? DECISION_VERDICT_NONE
           : left == 1 ? DECISION_VERDICT_DECIDED
                       : DECISION_VERDICT_TRADE_OFF;
}

void decision_judge(const struct decision_problem *problem, struct decision_answer *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < problem->option_count; i++) {
        ret->met[i] = (enum decision_met)problem->options[i].met;
        for (size_t r = 0; r < problem->requirement_count; r++) {
            const struct cost_range range =
                decision_range(problem, i, problem->requirements[r].figure);

            ret->requirements[i][r] = met_of(&problem->requirements[r], &range);
            if (ret->requirements[i][r] < ret->met[i])
                ret->met[i] = ret->requirements[i][r];
        }
    }
    for (size_t i = 0; i < problem->option_count; i++)
        for (size_t k = 0; k < problem->option_count; k++) {
            bool better;

            ret->dominates[i][k] = i != k && no_worse(problem, i, k, &better) && better;
        }
    for (size_t i = 0; i < problem->option_count; i++)
        ret->standings[i] = stand(problem, i, ret);
    ret->verdict = conclude(problem, ret);
}

/* ---- what would change it ---- */

static void scale(struct cost_range *range, double factor)
{
    range->value *= factor;
    range->lo *= factor;
    range->hi *= factor;
}

static void scale_option(struct decision_problem *problem, size_t option,
                         const struct decision_change *change, double factor)
{
    struct decision_option *o = &problem->options[option];

    for (size_t i = 0; i < o->price_count && change->kind == CHANGE_PRICE; i++)
        if (o->prices[i].line == change->line)
            scale(&o->prices[i].amount, factor);
    for (size_t f = 0; f < problem->figure_count && change->kind == CHANGE_METRIC; f++) {
        const struct decision_figure *figure = &problem->figures[f];
        const bool is_rate =
            figure->metric < METRIC_COUNT && metrics[figure->metric].better == METRIC_HIGHER;

        if (o->result == problem->options[change->option].result &&
            figure->metric == change->metric && (figure->kind != FIGURE_COST || figure->work))
            scale(&o->figures[f], figure->kind == FIGURE_COST && is_rate ? 1 / factor : factor);
    }
}

/* `scratch` becomes the problem with the quantity so many times as large. */
static void judge_at(const struct decision_problem *problem, const struct decision_change *change,
                     double factor, struct decision_problem *scratch, struct decision_answer *ret)
{
    *scratch = *problem;
    for (size_t i = 0; i < problem->option_count; i++)
        scale_option(scratch, i, change, factor);
    if (change->kind == CHANGE_LIMIT)
        scratch->requirements[change->requirement].limit *= factor;
    if (change->kind == CHANGE_MARGIN)
        scratch->margin *= factor;
    decision_judge(scratch, ret);
}

static bool is_same(const struct decision_answer *a, const struct decision_answer *b)
{
    return !memcmp(a->standings, b->standings, sizeof(a->standings)) && a->verdict == b->verdict;
}

bool decision_flip(const struct decision_problem *problem, const struct decision_change *change,
                   bool up, double *ret_factor, struct decision_answer *ret)
{
    struct decision_problem *scratch = malloc(sizeof(*scratch));
    struct decision_answer now, then;
    double near = 1, far = 1;
    bool found = false;

    if (!scratch)
        return false;
    decision_judge(problem, &now);
    while (!found && (up ? far < DECISION_FACTOR_MAX : far * DECISION_FACTOR_MAX > 1)) {
        near = far;
        far = up ? far * STEP : far / STEP;
        judge_at(problem, change, far, scratch, &then);
        found = !is_same(&now, &then);
    }
    for (int i = 0; i < HALVINGS && found; i++) {
        const double middle = near + (far - near) / 2;
        struct decision_answer there;

        judge_at(problem, change, middle, scratch, &there);
        if (is_same(&now, &there))
            near = middle;
        else
            far = middle;
    }
    if (found) /* a little beyond: at the factor itself two values may be equal, and only there */
        judge_at(problem, change, up ? far * (1 + BEYOND) : far * (1 - BEYOND), scratch, &then);
    free(scratch);
    if (found) {
        *ret_factor = far;
        *ret = then;
    }
    return found;
}
