#include "protocols/serving/serving_metrics.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "harness/core/random.h"
#include "tests/support/unit.h"

#define NEVER REQUEST_NEVER

/* Four output tokens: first after 40, then 30, 50, 40 ns. */
static const struct request good = {100, 105, 120, 140, 260, 50, 7, 4, REQUEST_OK};
/* Scheduled at 100, one token came, then the drain ended. */
static const struct request unfinished = {100, 105, 120, 140, NEVER, 20, 7, 2, REQUEST_UNFINISHED};
static const struct request unsent = {
    100, NEVER, NEVER, NEVER, NEVER, NEVER, 7, 0, REQUEST_UNFINISHED};
static const struct request failed = {100, 105, 120, 140, 200, 20, 7, 2, REQUEST_FAILED};
static const struct request refused = {100, 105, NEVER, NEVER, NEVER, NEVER, 7, 0, REQUEST_REFUSED};
/* Of an endpoint, which does not say when it admitted it; one token. */
static const struct request single = {100, 105, NEVER, 260, 260, NEVER, 7, 1, REQUEST_OK};

static void expect(const struct request *r, enum serving_metric metric, int64_t ns,
                   enum value_state state)
{
    struct serving_value value = serving_value_of(r, metric, 1000);

    if (value.ns != ns || value.state != state)
        fail_msg("metric %d is %lld (%d), not %lld (%d)", (int)metric, (long long)value.ns,
                 (int)value.state, (long long)ns, (int)state);
}

TEST(values)
{
    expect(&good, SERVING_LAG, 5, VALUE_KNOWN);
    expect(&good, SERVING_WAIT, 20, VALUE_KNOWN);
    expect(&good, SERVING_TTFT, 40, VALUE_KNOWN);
    expect(&good, SERVING_E2E, 160, VALUE_KNOWN);
    expect(&good, SERVING_TPOT, 40, VALUE_KNOWN);
    expect(&good, SERVING_GAP, 50, VALUE_KNOWN);
    expect(&unfinished, SERVING_TTFT, 40, VALUE_KNOWN);
    expect(&unfinished, SERVING_E2E, 900, VALUE_AT_LEAST);
    expect(&unfinished, SERVING_TPOT, 0, VALUE_UNKNOWN);
    expect(&unfinished, SERVING_GAP, 20, VALUE_AT_LEAST);
    expect(&unsent, SERVING_LAG, 900, VALUE_AT_LEAST);
    expect(&unsent, SERVING_WAIT, 900, VALUE_AT_LEAST);
    expect(&unsent, SERVING_TTFT, 900, VALUE_AT_LEAST);
    expect(&failed, SERVING_TTFT, 40, VALUE_KNOWN);
    expect(&failed, SERVING_E2E, 0, VALUE_NONE);
    expect(&failed, SERVING_TPOT, 0, VALUE_NONE);
    expect(&refused, SERVING_TTFT, 0, VALUE_NONE);
    expect(&single, SERVING_WAIT, 0, VALUE_UNKNOWN);
    expect(&single, SERVING_TPOT, 0, VALUE_NONE);
    expect(&single, SERVING_GAP, 0, VALUE_NONE);
}

/* Output of `tokens` in pieces: all of them at `span` after the first at most. */
static struct request in_pieces(uint32_t tokens, uint32_t pieces, uint32_t first, int64_t span)
{
    return (struct request){.sent_ns = 5,
                            .admitted_ns = NEVER,
                            .first_ns = 1000,
                            .done_ns = 1000 + span,
                            .worst_gap_ns = span,
                            .prompt_tokens = 7,
                            .output_tokens = tokens,
                            .status = REQUEST_OK,
                            .outputs = pieces,
                            .first_outputs = first};
}

static void expect_tpot(const struct request *r, enum value_state state, int64_t ns, int64_t most)
{
    const struct serving_value value = serving_value_of(r, SERVING_TPOT, INT64_MAX);

    if (value.state != state || value.ns != ns || value.most_ns != most)
        fail_msg("%u tokens in %u pieces, %u first: %lld to %lld (%d)", r->output_tokens,
                 r->outputs, r->first_outputs, (long long)value.ns, (long long)value.most_ns,
                 (int)value.state);
}

/* A time per token is over the tokens that came after the first piece, or is not known. */
TEST(pieces)
{
    const int64_t ms = 1000000;
    struct request one_token = in_pieces(1, 1, 1, 0);
    struct {
        struct request request;
        enum value_state state;
        int64_t least, most;
    } cases[] = {
        {in_pieces(8, 8, 1, 70 * ms), VALUE_KNOWN, 10 * ms, 0},
        {in_pieces(8, 8, 4, 40 * ms), VALUE_KNOWN, 10 * ms, 0}, /* four were there at first */
        {in_pieces(8, 5, 1, 40 * ms), VALUE_BETWEEN, 40 * ms / 7, 10 * ms}, /* the same, merged */
        {in_pieces(64, 22, 1, 63 * ms), VALUE_BETWEEN, ms, 3 * ms},
        {in_pieces(8, 7, 1, 60 * ms), VALUE_KNOWN, 10 * ms, 0}, /* the last without text */
        {in_pieces(8, 1, 1, 0), VALUE_UNKNOWN, 0, 0},
        {in_pieces(8, 8, 8, 0), VALUE_UNKNOWN, 0, 0},
        {in_pieces(8, 8, 7, 400000), VALUE_UNKNOWN, 0, 0}, /* one burst that was read twice */
        {in_pieces(8, 0, 0, 0), VALUE_UNKNOWN, 0, 0},      /* of a log without pieces */
        {in_pieces(8, 0, 0, 70 * ms), VALUE_KNOWN, 10 * ms, 0},
        {in_pieces(1, 1, 1, 0), VALUE_UNKNOWN, 0, 0}, /* of how many tokens nobody told */
        {one_token, VALUE_NONE, 0, 0},
    };

    cases[sizeof(cases) / sizeof(*cases) - 1].request.is_told = 1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_tpot(&cases[i].request, cases[i].state, cases[i].least, cases[i].most);
    expect(&cases[6].request, SERVING_GAP, 0, VALUE_UNKNOWN);
}

static void expect_score(const struct request *r, int64_t ttft, int64_t e2e, int64_t tpot,
                         double least, double most)
{
    struct serving_limits limits = {.attain = 0.99};
    double upper, score;

    limits.ns[SERVING_TTFT] = ttft;
    limits.ns[SERVING_E2E] = e2e;
    limits.ns[SERVING_TPOT] = tpot;
    score = serving_score(r, &limits, 1000, &upper);
    assert_true(score == least && upper == most);
}

TEST(scores)
{
    struct request at_once, merged;

    expect_score(&good, 80, 0, 0, 0.5, 0.5);
    expect_score(&good, 80, 160, 0, 1, 1); /* at the limit it is met */
    expect_score(&good, 80, 100, 20, 2, 2);
    expect_score(&failed, 1000, 0, 0, INFINITY, INFINITY);
    expect_score(&refused, 1000, 0, 0, INFINITY, INFINITY);
    expect_score(&unfinished, 80, 0, 0, 0.5, INFINITY);    /* unfinished: it may still fail */
    expect_score(&unfinished, 80, 1800, 0, 0.5, INFINITY); /* undecided */
    expect_score(&unfinished, 80, 450, 0, 2, INFINITY);    /* certainly too late */
    expect_score(&unsent, 450, 0, 0, 2, INFINITY);
    expect_score(&single, 320, 0, 1, 0.5, 0.5); /* tpot does not apply */
    /* What nobody saw neither keeps a limit nor misses it. */
    at_once = in_pieces(8, 8, 8, 0);
    expect_score(&at_once, 2000, 0, 1, 0.5, INFINITY);
    expect_score(&at_once, 500, 0, 1, 2, INFINITY);
    merged = in_pieces(8, 5, 1, 28000000);
    expect_score(&merged, 0, 0, 8000000, 0.5, 0.875);
    expect_score(&merged, 0, 0, 5000000, 0.8, 1.4);
    expect_score(&merged, 0, 0, 2000000, 2, 3.5);
}

/* Answers of another length than asked for, and those without a time per token, are counted. */
TEST(answers)
{
    struct request requests[5] = {in_pieces(1, 1, 1, 0), in_pieces(8, 8, 1, 70000000),
                                  in_pieces(11, 11, 1, 70000000), in_pieces(8, 8, 8, 0),
                                  in_pieces(8, 5, 1, 28000000)};
    struct scheduled_request planned[5] = {{0, 7, 8}, {0, 7, 8}, {0, 7, 8}, {0, 7, 8}, {0, 7, 8}};
    struct schedule schedule = {planned, 5, 500};
    const struct serving_trial trial = {
        .schedule = &schedule, .requests = requests, .until_ns = INT64_MAX};
    struct serving_limits limits = {.attain = 0.9};
    struct serving_totals total = {0};

    limits.ns[SERVING_TPOT] = 10000000;
    requests[0].is_told = 1;
    serving_totals_add(&trial, &limits, 0, &total);
    assert_int_equal(total.ok, 5);
    assert_int_equal(total.met, 4);
    assert_int_equal(total.undecided, 1);
    assert_true(total.shorter == 1 && total.shorter_tokens == 1 && total.shorter_asked == 8);
    assert_true(total.longer == 1 && total.longer_tokens == 11 && total.longer_asked == 8);
    assert_true(total.at_once == 1 && total.in_pieces == 1);
    assert_true(total.in_pieces_least_ns == 4e6 && total.in_pieces_most_ns == 7e6);
}

static struct serving_trial trial_of(struct schedule *s, const struct request *requests,
                                     int64_t until_ns)
{
    for (size_t i = 0; i < s->count; i++)
        s->requests[i].at_ns = requests[i].scheduled_ns;
    return (struct serving_trial){.schedule = s, .requests = requests, .until_ns = until_ns};
}

TEST(totals)
{
    struct request requests[7] = {good, unfinished, failed, refused, single, unsent, good};
    struct scheduled_request planned[7];
    struct schedule schedule = {planned, 7, 500};
    const struct serving_step steps[] = {
        {0, 100, 1, 7, 1, 0}, {100, 200, 2, 0, 2, 0}, {400, 500, 2, 0, 2, 0}};
    struct serving_limits limits = {.attain = 0.9};
    struct serving_totals total = {0};
    struct serving_trial trial;

    requests[6].scheduled_ns = 50; /* before the warmup is over */
    requests[4].done_ns = 240;     /* before its first output */
    limits.ns[SERVING_TTFT] = 100;
    trial = trial_of(&schedule, requests, 1000);
    serving_totals_add(&trial, &limits, 100, &total);
    assert_int_equal(total.requests, 6);
    assert_int_equal(total.ok, 2);
    assert_int_equal(total.unfinished, 2);
    assert_int_equal(total.failed, 1);
    assert_int_equal(total.refused, 1);
    assert_int_equal(total.met, 1);       /* good */
    assert_int_equal(total.undecided, 1); /* unfinished, but its first output came in time */
    assert_int_equal(total.disordered, 1);
    assert_int_equal(total.span_ns, 400);
    assert_int_equal(total.prompt_tokens, 21);
    assert_int_equal(total.output_tokens, 4 + 4 + 2 + 1);
    trial.steps = steps;
    trial.step_count = 3;
    total = (struct serving_totals){0};
    serving_totals_add(&trial, &limits, 100, &total);
    assert_int_equal(total.prompt_tokens, 7);
    assert_int_equal(total.output_tokens, 3);
}

/* Random requests: integral and sum are the same number; one that ends before it began shows. */
TEST(audit)
{
    enum { COUNT = 500 };
    static struct request requests[COUNT];
    static struct scheduled_request planned[COUNT];
    struct schedule schedule = {planned, COUNT, 1000000};
    struct serving_trial trial;
    struct random random;
    bool equal = false;
    double mean, sum = 0;
    int64_t at = 0;

    random_init(&random, 1, 1);
    for (int i = 0; i < COUNT; i++) {
        at += (int64_t)random_next_below(&random, 4000);
        requests[i] = (struct request){.scheduled_ns = at, .status = REQUEST_OK};
        requests[i].done_ns = at + (int64_t)random_next_below(&random, 50000);
        if (i % 50 == 7) {
            requests[i].status = REQUEST_UNFINISHED;
            requests[i].done_ns = NEVER;
        }
        if (i % 50 == 9) {
            requests[i].status = REQUEST_REFUSED;
            requests[i].done_ns = NEVER;
        }
    }
    trial = trial_of(&schedule, requests, 900000); /* some were scheduled after it */
    for (int i = 0; i < COUNT; i++) {
        int64_t end = requests[i].status == REQUEST_UNFINISHED ? 900000
                      : requests[i].done_ns == NEVER           ? requests[i].scheduled_ns
                                                               : requests[i].done_ns;

        end = end < 900000 ? end : 900000;
        sum += end > requests[i].scheduled_ns ? (double)(end - requests[i].scheduled_ns) : 0;
    }
    assert_int_equal(serving_audit(&trial, &equal, &mean, NULL), STATUS_OK);
    assert_true(equal);
    assert_true(fabs(mean * 900000 - sum) < 1e-3);
    requests[100].done_ns = requests[100].scheduled_ns - 1;
    assert_int_equal(serving_audit(&trial, &equal, &mean, NULL), STATUS_OK);
    assert_false(equal);
}
