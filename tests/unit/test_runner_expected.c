/* How long a campaign will take, on synthetic durations whose sum is known. */
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "harness/runner/expected.h"
#include "protocols/protocol.h"
#include "tests/support/unit.h"
#include "workloads/workload.h"

#define CELLS 8
#define TRIALS 8

static const struct {
    const char *workload, *precision;
    int64_t batch;
} first_look[CELLS] = {
    {"copy", "fp32", 1},
    {"triad", "fp32", 1},
    {"triad", "bf16", 1},
    {"dot", "fp32", 1},
    {"layer_norm", "fp32", 1},
    {"gpt2_small_training_step", "fp32", 1},
    {"gpt2_small_batched_inference", "fp32", 1},
    {"gpt2_small_batched_inference", "fp32", 4},
};

static void plan(struct expected *expected, const char *protocol_name)
{
    struct error err = ERROR_INIT;
    struct protocol protocol;

    assert_int_equal(protocol_find(protocol_name, &protocol, &err), STATUS_OK);
    assert_int_equal(expected_init(expected, CELLS, &err), STATUS_OK);
    for (size_t i = 0; i < CELLS; i++) {
        struct workload workload;
        json_t *message;

        assert_int_equal(workload_find(first_look[i].workload, &workload, &err), STATUS_OK);
        message = json_pack("{s:O, s:O, s:s, s:I, s:s}", "workload", workload.json, "protocol",
                            protocol.json, "precision", first_look[i].precision, "batch",
                            (json_int_t)first_look[i].batch, "device", "cpu:0");
        if (expected_set(expected, i, NULL, message, TRIALS, false, &err) != STATUS_OK)
            fail_msg("%s", err.message);
        json_decref(message);
        workload_finish(&workload);
    }
    protocol_finish(&protocol);
}

/*
 * A machine that is `slower` than the nominal one, cells that are up to `apart` times off that, and
 * trials that vary by a fifth: from the first trial on, the remaining time is known within a
 * factor.
 */
static void follow(double slower, double apart, uint64_t seed, double within)
{
    struct expected expected;
    struct random random;
    double truth[CELLS][EXPECTED_STEPS], left = 0;
    uint32_t order[CELLS * TRIALS];

    plan(&expected, "quick");
    random_init(&random, seed, 0);
    random_shuffle(&random, order, CELLS * TRIALS);
    for (size_t i = 0; i < CELLS; i++) {
        const double factor = slower * pow(apart, 2 * random_next_unit(&random) - 1);

        for (size_t step = 0; step < EXPECTED_STEPS; step++) {
            truth[i][step] = expected.cells[i].guess_ns[step] * factor;
            left += (double)expected.cells[i].left[step] * truth[i][step];
        }
    }
    for (size_t k = 0; k < CELLS * TRIALS; k++) {
        const size_t cell = order[k] % CELLS;
        const enum expected_step step = expected_next(&expected, cell);
        const double noise = 0.8 + 0.4 * random_next_unit(&random);
        double ratio;

        if (step == EXPECTED_FIRST) {
            expected_took(&expected, cell, EXPECTED_CHOICE, (int64_t)truth[cell][EXPECTED_CHOICE]);
            left -= truth[cell][EXPECTED_CHOICE];
        }
        expected_took(&expected, cell, step, (int64_t)(truth[cell][step] * noise));
        left -= truth[cell][step];
        if (k + 1 == CELLS * TRIALS)
            break;
        ratio = (double)expected_left_ns(&expected) / left;
        if (ratio > within || ratio < 1 / within)
            fail_msg("seed %llu, %zu trials done: %.2f times what is left",
                     (unsigned long long)seed, k + 1, ratio);
    }
    assert_int_equal(expected_left_ns(&expected), 0);
    expected_finish(&expected);
}

TEST(follows_durations)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        follow(1, 1, seed, 1.3);
        follow(0.2, 1, seed, 1.3);
        follow(12, 1.1, seed, 1.5);
    }
}

TEST(words)
{
    struct expected expected;
    struct text out;
    json_t *json;

    plan(&expected, "quick");
    expected.before_ns = 1000000000;
    text_init(&out);
    expected_append(&out, &expected);
    assert_non_null(strstr(out.data, "8 cells, 64 trials: about "));
    assert_non_null(strstr(out.data, "no trial of these cells is stored"));
    text_finish(&out);
    json = expected_json(&expected);
    assert_int_equal(json_integer_value(json_object_get(json, "expected_ns")),
                     expected_left_ns(&expected) + 1000000000);
    assert_int_equal(json_integer_value(json_object_get(json, "least_ns")),
                     1000000000 + INT64_C(64) * 300000000);
    json_decref(json);
    /* A first trial verifies more than a later one where the protocol says so, and only there. */
    assert_true(expected.cells[0].guess_ns[EXPECTED_FIRST] >
                expected.cells[0].guess_ns[EXPECTED_LATER]);
    expected_finish(&expected);
    plan(&expected, "standard");
    assert_true(expected.cells[0].guess_ns[EXPECTED_FIRST] ==
                expected.cells[0].guess_ns[EXPECTED_LATER]);
    assert_true(expected.cells[0].guess_ns[EXPECTED_LATER] >= 14e9);
    expected_finish(&expected);
}
