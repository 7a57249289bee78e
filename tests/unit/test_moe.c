/*
 * Mixtures of experts: what a law routes where; on a device an honest one agrees with the graph in
 * fp64, by a law and by the router, whatever the number of lanes; one that leaves a launch out, or
 * takes another expert, weight or row, is found.
 */
#include "pass_fixture.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/pass/pass.h"

#define HEAD(passes)                                                                               \
    "workload: stack\nversion: 1\nkind: pass\ndescription: test\nprecisions: [fp32, bf16, fp16]\n" \
    "batches: [3]\n" passes "\nmodel:\n"
#define RMS "  norm: {kind: rms, epsilon: 1.0e-6}\n  stack:\n"
#define QWEN(passes, routing)                                                                      \
    HEAD(passes)                                                                                   \
    "  width: 64\n" RMS "    - of: [{embedding: {vocabulary: 256}}]\n"                             \
    "    - times: 2\n"                                                                             \
    "      of: [{attention: {heads: 4, kv_heads: 2, rope: 10000, qk_norm: true}},\n"               \
    "           {moe: {experts: 16, top: 4, width: 48, gate: silu, routing: " routing "}}]\n"      \
    "    - of: [{norm: {}}, {head: {vocabulary: 256}}]\n"
#define LENGTH "sequence_length: 21"
#define DECODE "decode: {context: 40}"
#define ZIPF "{law: zipf, alpha: 1.0, seed: 3}"
/*
 * Rows that no pack fits, more experts than tokens, all of the experts, one of them, and experts
 * without a gate; columns and rows of more than one tile.
 */
#define ODD                                                                                        \
    HEAD(LENGTH)                                                                                   \
    "  width: 37\n" RMS "    - of: [{embedding: {vocabulary: 50}}]\n"                              \
    "    - of: [{moe: {experts: 150, top: 3, width: 13, routing: {law: uniform}}},\n"              \
    "           {moe: {experts: 3, top: 3, width: 290, gate: silu, routing: " ZIPF "}},\n"         \
    "           {attention: {heads: 3, kv_heads: 1, head: 16, rope: 100}},\n"                      \
    "           {moe: {experts: 7, top: 1, width: 29, routing: {law: model}}}]\n"

static const char *const stacks[] = {QWEN(LENGTH, "{law: uniform}"), QWEN(DECODE, ZIPF), ODD,
                                     QWEN(LENGTH, "{law: model}")};
#define STACKS (sizeof(stacks) / sizeof(stacks[0]))
static struct device *device;

/* ---- the laws ---- */

static void check_rows(const struct moe *moe, const int32_t *routing, uint64_t rows)
{
    for (uint64_t r = 0; r < rows; r++) {
        const int32_t *experts = routing + 2 * r * (uint64_t)moe->top,
                      *weights = experts + moe->top;
        int32_t sum = 0;

        for (int64_t s = 0; s < moe->top; s++) {
            assert_in_range(experts[s], 0, moe->experts - 1);
            assert_true(weights[s] > 0);
            sum += weights[s];
            for (int64_t k = 0; k < s; k++)
                assert_int_not_equal(experts[s], experts[k]);
        }
        assert_int_equal(sum, 4096);
    }
}

/* Those of a law, and the first of them for fewer tokens; other seeds and blocks have others. */
TEST(laws)
{
    enum { ROWS = 4000, TOP = 8, EXPERTS = 128 };
    const struct moe uniform = {EXPERTS, TOP, 1, STACK_SILU, {MOE_UNIFORM, 0.0, 1}};
    const struct moe zipf = {EXPERTS, TOP, 1, STACK_SILU, {MOE_ZIPF, 1.0, 1}};
    static int32_t first[2 * ROWS * TOP], other[2 * ROWS * TOP];
    struct moe_load load;

    moe_route(&uniform, 1, 2, ROWS, first);
    check_rows(&uniform, first, ROWS);
    load = moe_load_of(&uniform, first, ROWS, 2 * TOP);
    assert_int_equal(load.routed, ROWS * TOP);
    assert_int_equal(load.touched, EXPERTS);
    /* Of 250 tokens an expert, with a deviation of 15. */
    assert_in_range(load.least, 190, 249);
    assert_in_range(load.most, 251, 310);
    moe_route(&uniform, 1, 2, 5, other);
    assert_memory_equal(first, other, 5 * 2 * TOP * sizeof(*first));
    moe_route(&uniform, 1, 3, ROWS, other);
    assert_memory_not_equal(first, other, sizeof(first));
    moe_route(&uniform, 2, 2, ROWS, other);
    assert_memory_not_equal(first, other, sizeof(first));
    moe_route(&zipf, 1, 2, ROWS, first);
    check_rows(&zipf, first, ROWS);
    load = moe_load_of(&zipf, first, ROWS, 2 * TOP);
    /* The first of 128 is drawn in 1 of 5.4 draws, so by nearly each token of 8. */
    assert_true(moe_imbalance(&zipf, &load) > 10.0);
    assert_in_range(load.most, ROWS * 6 / 10, ROWS);
    assert_true(load.least > 0);
}

/* The draws of a machine of another make are these. */
TEST(drawn)
{
    const struct moe zipf = {8, 2, 1, STACK_SILU, {MOE_ZIPF, 1.5, 7}};
    static const int32_t expected[] = {7, 2, 3357, 739, 7, 2, 1881, 2215, 1, 0, 142, 3954};
    int32_t routing[12];

    moe_route(&zipf, 7, 1, 3, routing);

    assert_memory_equal(routing, expected, sizeof(routing));
}

/* ---- devices ---- */

TEST(honest)
{
    if (!device)
        skip();
    for (size_t i = 0; i < STACKS; i++)
        pass_fixture_each_precision(device, stacks[i]);
}

TEST(lanes)
{
    if (!device)
        skip();
    for (size_t i = 0; i < STACKS; i++)
        pass_fixture_each_lanes(device, stacks[i], PRECISION_FP32, pass_fixture_check);
}

/* What the worker records, of a law and of the router. */
TEST(facts)
{
    struct model_running running;
    json_t *facts, *routing;

    if (!device)
        skip();
    model_running_start(&running, device, ODD, PRECISION_FP32);
    ASSERT_OK(running.workload.kind->iterate(running.base, err));
    facts = running.workload.kind->facts(running.base);
    routing = json_object_get(facts, "routing");
    assert_int_equal(json_array_size(routing), 3);
    for (size_t i = 0; i < 3; i++) {
        static const char *const laws[] = {"uniform", "zipf", "model"};
        static const json_int_t blocks[] = {1, 2, 4}, routed[] = {189, 189, 63};
        const json_t *layer = json_array_get(routing, i);

        assert_string_equal(json_string_value(json_object_get(layer, "law")), laws[i]);
        assert_int_equal(json_integer_value(json_object_get(layer, "block")), blocks[i]);
        assert_int_equal(json_integer_value(json_object_get(layer, "routed")), routed[i]);
        assert_true(json_integer_value(json_object_get(layer, "touched")) >= 3);
    }
    assert_true(json_real_value(json_object_get(json_array_get(routing, 1), "largest_over_mean")) ==
                1.0);
    json_decref(facts);
    model_running_stop(&running);
}

/* The router and its choice, too, which nothing reads by a law. */
TEST(one_launch)
{
    if (!device)
        skip();
    for (size_t i = 0; i < STACKS; i++) {
        struct model_running running;

        model_running_start(&running, device, stacks[i], PRECISION_BF16);
        pass_fixture_check(running.base);
        pass_lies_drop_each(device, running.base, i, 20, "cache_fill", NULL);
        model_running_stop(&running);
    }
}

TEST(wrong_texts)
{
    static const struct {
        const char *what, *from, *to;
    } rows[] = {
        {"another expert's weights", "w_offset + e * k * n",
         "w_offset + (e + 1) % experts * k * n"},
        {"another row", "ins[i] = places[i] / per * k;", "ins[i] = places[i > 0] / per * k;"},
        {"a row less of an expert", "lists[e] = (i32)count;",
         "lists[e] = (i32)count - (count > 1);"},
        {"another place of a row", "place < top ? place : top - 1", "top - 1 - place"},
        {"weights of other experts", "weights[s++] = LOAD(row, e);",
         "weights[s++] = LOAD(row, (e + 1) % experts);"},
        {"equal weights", "(f32)given[top + s] * 0.000244140625f", "1.0f / (f32)top"},
        {"another routing", "given[s], (f32)", "(given[s] + 1) % (i32)experts, (f32)"},
        {"an expert less chosen", "at = fold_max(at, -(f32)e);",
         "at = fold_max(at, s > 2 ? -(f32)((e + 1) % experts) : -(f32)e);"},
        {"weights of scores that are not normed", "largest) / sum);", "largest) / (sum + 0.1f));"},
    };

    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct model_running running;
        struct error failure = ERROR_INIT;
        enum status status;

        pass_lies_begin(device, UINT64_MAX, NULL);
        pass_lies.from = rows[i].from;
        pass_lies.to = rows[i].to;
        model_running_start(&running, device, QWEN(LENGTH, ZIPF), PRECISION_FP32);
        status = workload_spot_check(running.base, 7, pass_fixture_note, NULL, &failure);
        if (!pass_lies.changed || status != STATUS_CHECK_FAILED)
            fail_msg("%s: %s", rows[i].what, status_name(status));
        model_running_stop(&running);
        pass_lies_end(device);
    }
}

int main(void)
{
    return model_fixture_run(&device);
}
