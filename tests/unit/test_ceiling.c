#include "results/analysis/ceiling.h"

#include <string.h>

#include "protocols/protocol.h"
#include "results/analysis/analysis.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

#define SAMPLES 50

/* A cell with work for an iteration, whose iterations take `ns`. */
struct side {
    const char *kind, *kernel, *precision, *implementation;
    int64_t bytes, flops, working_set, ns;
    const char *environment; /* of its arm */
};

static const struct side copy = {"memory_bound", "copy", "fp32", "portable", 1000000, 0,
                                 1000000,        100000, "A=1"};
static const struct side gemm = {"gemm",  NULL,    "fp32",  "vendor", 0,
                                 2000000, 1000000, 1000000, "A=1"};

static struct digest put_workload(struct store *store, const char *kernel)
{
    struct error err = ERROR_INIT;
    struct digest digest;
    json_t *json = kernel ? json_pack("{s:{s:s}}", "memory_bound", "kernel", kernel)
                          : json_pack("{s:{}}", "gemm");

    assert_ok(fixture_put_json(store, json, &digest, &err), err);
    json_decref(json);
    return digest;
}

static void run(struct store *store, int64_t sequence, int64_t ns)
{
    struct error err = ERROR_INIT;
    const struct store_trial_end end = {
        .status = "ok", .iterations_per_sample = 1, .window_first = 0, .samples = SAMPLES};
    int64_t values[SAMPLES], trial = 0;

    for (int64_t i = 0; i < SAMPLES; i++)
        values[i] = ns + i % 7;
    assert_ok(store_begin_trial(store, 1, sequence, 0, &trial, &err), err);
    assert_ok(store_add_samples(store, trial, "wall_ns", 0, values, SAMPLES, &err), err);
    assert_ok(store_end_trial(store, trial, &end, &err), err);
}

/* How many times above its bound the first cell is, as found; 0: no finding. */
static double ratio_of(struct store *store, const struct side *cell, const struct side *bound,
                       bool bound_first)
{
    static const uint32_t own_first[] = {0, 1}, other_first[] = {1, 0};
    const struct side *sides[] = {cell, bound};
    struct error err = ERROR_INIT;
    struct protocol protocol;
    struct store_cell cells[2];
    struct store_campaign campaign = {.command = "", .tool_version = ""};
    struct estimate *estimate = NULL;
    json_t *plan = json_pack("{s:[{s:{s:[s]}},{s:{s:[s]}}]}", "cells", "spec", "environment",
                             cell->environment, "spec", "environment", bound->environment);
    int64_t id, ids[2];
    double ratio = 0;

    assert_ok(protocol_find("quick", &protocol, &err), err);
    assert_ok(fixture_put_json(store, protocol.json, &campaign.protocol, &err), err);
    protocol_finish(&protocol);
    campaign.plan = plan;
    fixture_uid(1, campaign.uid);
    for (size_t i = 0; i < 2; i++)
        cells[i] = (struct store_cell){.ordinal = (int64_t)i + 1,
                                       .workload = put_workload(store, sides[i]->kernel),
                                       .protocol = campaign.protocol,
                                       .workload_name = i ? "the bound" : "the cell",
                                       .protocol_name = "quick",
                                       .kind = sides[i]->kind,
                                       .work.precision = sides[i]->precision,
                                       .work.scenario = "offline",
                                       .work.implementation = sides[i]->implementation,
                                       .work.batch = 1,
                                       .backend = "null",
                                       .device_spec = "null:0",
                                       .cost.flops = sides[i]->flops,
                                       .cost.flops_formula = sides[i]->flops ? "2mnk" : NULL,
                                       .cost.bytes = sides[i]->bytes,
                                       .cost.bytes_formula = sides[i]->bytes ? "2n" : NULL,
                                       .cost.working_set_bytes = sides[i]->working_set,
                                       .cost.headline = sides[i]->bytes ? "bytes" : "flops",
                                       .trials = 1};
    assert_ok(store_add_campaign(store, &campaign, cells, 2, bound_first ? other_first : own_first,
                                 2, &id, ids, &err),
              err);
    json_decref(plan);
    for (int64_t i = 1; i <= 2; i++)
        run(store, i, (i == 1) == bound_first ? bound->ns : cell->ns);
    assert_ok(analysis_estimate(store, ids[0], INT64_MAX, &estimate, &err), err);
    for (size_t i = 0; i < estimate->findings.count; i++)
        if (estimate->findings.items[i].code == FINDING_ABOVE_CEILING) {
            assert_string_equal(estimate->findings.items[i].subject, "the bound");
            ratio = estimate->findings.items[i].numbers[0];
        }
    estimate_destroy(estimate);
    return ratio;
}

TEST(bounds)
{
    struct side above = copy, slow = copy, small = copy, other = copy, half = copy, model = gemm,
                large = gemm, portable = gemm, brief = gemm;
    const struct {
        const struct side *cell, *bound;
        bool bound_first;
        double ratio;
    } cases[] = {
        {&above, &copy, true, 2.5},  /* two and a half times a copy */
        {&slow, &copy, true, 0},     /* less than twice */
        {&above, &copy, false, 0},   /* what ran after it does not change its estimate */
        {&small, &copy, true, 0},    /* it may fit into a cache where the copy does not */
        {&other, &copy, true, 0},    /* of the other arm */
        {&half, &copy, true, 0},     /* of another precision */
        {&model, &gemm, true, 4},    /* a model with less work than the GEMM, yet faster */
        {&large, &gemm, true, 4},    /* with more, but the GEMM lasts a millisecond */
        {&large, &brief, true, 0},   /* a GEMM of 100 us, half of it its launch perhaps */
        {&portable, &gemm, true, 0}, /* of another implementation */
        {&model, &copy, true, 0},    /* no operations are counted for a copy */
    };

    above.kernel = "softmax", above.ns = 40000;
    slow.kernel = "softmax", slow.ns = 52000;
    small = above, small.working_set = 999999;
    other = above, other.environment = "A=2";
    half = above, half.precision = "fp16";
    model.kind = "batched_inference", model.flops = 1000000, model.ns = 125000;
    large.kind = "training_step", large.flops = 4000000, large.ns = 500000;
    portable = model, portable.implementation = "portable";
    brief.ns = 100000, brief.flops = 200000;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture *fixture;
        double ratio;

        assert_int_equal(fixture_open(state), 0);
        fixture = *state;
        ratio = ratio_of(fixture->store, cases[i].cell, cases[i].bound, cases[i].bound_first);
        if (ratio < cases[i].ratio * 0.99 || ratio > cases[i].ratio * 1.01)
            fail_msg("case %zu: %g times the bound, expected %g", i, ratio, cases[i].ratio);
        assert_int_equal(fixture_remove(state), 0);
    }
}
