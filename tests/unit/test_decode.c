/*
 * A token of each sequence over a cache: an honest device agrees with the graph in fp64, whatever
 * the number of lanes; a launch that is left out and a text that reads or writes another place are
 * found.
 */
#include "pass_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/pass/pass.h"

/* More positions than a part of them has, and a last page that is not full. */
#define HEAD(decode)                                                                               \
    "workload: stack\nversion: 1\nkind: pass\ndescription: test\nprecisions: [fp32, bf16, fp16]\n" \
    "batches: [3]\ndecode: {" decode "}\nmodel:\n"
#define RMS "  norm: {kind: rms, epsilon: 1.0e-5}\n  stack:\n"
#define LLAMA                                                                                      \
    HEAD("context: 300")                                                                           \
    "  width: 64\n" RMS "    - of: [{embedding: {vocabulary: 256}}]\n"                             \
    "    - times: 2\n"                                                                             \
    "      of: [{attention: {heads: 4, kv_heads: 2, rope: 10000}},\n"                              \
    "           {mlp: {width: 160, gate: silu}}]\n"                                                \
    "    - of: [{norm: {}}, {head: {vocabulary: 256}}]\n"
/* Norms of heads, heads wider than the model, a tied head, the first position of a page. */
#define QWEN                                                                                       \
    HEAD("context: 288, page: 32")                                                                 \
    "  width: 32\n" RMS "    - of: [{embedding: {vocabulary: 101}}]\n"                             \
    "    - of: [{attention: {heads: 6, kv_heads: 2, head: 32, rope: 1000000, qk_norm: true}}, "    \
    "{mlp: {width: 72, gate: silu}}]\n"                                                            \
    "    - of: [{norm: {}}, {head: {vocabulary: 101, tied: true}}]\n"
/* Positions that are embedded, and no heads that share keys; the last position of a page. */
#define GPT2                                                                                       \
    HEAD("context: 127")                                                                           \
    "  width: 32\n  norm: {kind: layer, epsilon: 1.0e-5}\n  stack:\n"                              \
    "    - of: [{embedding: {vocabulary: 200, positions: 128}}]\n"                                 \
    "    - times: 2\n"                                                                             \
    "      of: [{attention: {heads: 2, bias: true}}, {mlp: {width: 128, bias: true}}]\n"           \
    "    - of: [{norm: {}}, {head: {vocabulary: 200, tied: true}}]\n"
/* Rows that no pack fits, one head of keys, ten of queries: two groups of five; a short context. */
#define ODD                                                                                        \
    HEAD("context: 5")                                                                             \
    "  width: 37\n" RMS "    - of: [{embedding: {vocabulary: 50}}]\n"                              \
    "    - of: [{attention: {heads: 10, kv_heads: 1, head: 48, rope: 100}},\n"                     \
    "           {mlp: {width: 45, gate: silu, bias: true}}]\n"

static const char *const stacks[] = {LLAMA, QWEN, GPT2, ODD};
static struct device *device;

TEST(honest)
{
    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
        pass_fixture_each_precision(device, stacks[i]);
}

TEST(lanes)
{
    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
        pass_fixture_each_lanes(device, stacks[i], PRECISION_BF16, pass_fixture_check);
}

/* ---- devices that do something else ---- */

static struct {
    struct buffer *turns; /* of rope; NULL: its own */
} lies;

static enum status lying_launch(struct device *target, const struct kernel_launch *launch,
                                struct error *err)
{
    struct kernel_launch other = *launch;
    struct kernel_arg args[32];

    memcpy(args, launch->args, launch->arg_count * sizeof(*args));
    other.args = args;
    if (lies.turns && !strcmp(launch->kernel, "stack_rope"))
        args[1].buffer = lies.turns;
    return pass_lies_launch(target, &other, err);
}

static void begin_lies(void)
{
    memset(&lies, 0, sizeof(lies));
    pass_lies_begin(device, UINT64_MAX, NULL);
    pass_lies.ops.kernel_launch = lying_launch;
}

static enum status spot_check(struct workload_instance *base, uint64_t secret)
{
    struct error failure = ERROR_INIT;

    return workload_spot_check(base, secret, pass_fixture_note, NULL, &failure);
}

TEST(one_launch)
{
    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
        struct model_running running;

        model_running_start(&running, device, stacks[i], PRECISION_BF16);
        pass_fixture_check(running.base);
        pass_lies_drop_each(device, running.base, i, 10, "cache_fill", NULL);
        model_running_stop(&running);
    }
}

/*
 * Of pages of one sequence the order is nothing to attention, so a wrong table is that of another
 * sequence.
 */
TEST(wrong_texts)
{
    static const struct {
        const char *what, *from, *to;
    } rows[] = {
        {"another sequence's pages", "blocks += GROUP_Z * pages;",
         "blocks += (GROUP_Z + 1) % GROUPS_Z * pages;"},
        {"another head of keys", "kv_head = head / (heads / kv_heads);",
         "kv_head = kv_heads - 1 - head / (heads / kv_heads);"},
        {"a position less", "last = end < positions ? end : positions;",
         "last = end < positions - 1 ? end : positions - 1;"},
        {"a position more", "last = end < positions ? end : positions;",
         "last = end < positions + 1 ? end : positions + 1;"},
        {"kept at another position", "at = position % PAGE;", "at = (position + 1) % PAGE;"},
        {"another head kept", "(row * (heads + 2 * kv_heads) + heads + head) * HEAD;",
         "(row * (heads + 2 * kv_heads) + heads + kv_heads - 1 - head) * HEAD;"},
        {"another scale", "GET(TYPE_A, x, i) * scale;", "GET(TYPE_A, x, i) * (scale * 1.001f);"},
        {"parts that are not scaled", "sum[i] = F_FMA(factor, part[2 + i], sum[i]);",
         "sum[i] += part[2 + i];"},
        {"another content", "- 64.0f", "- 63.0f"},
    };

    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct model_running running;
        struct error failure = ERROR_INIT;
        enum status status;

        begin_lies();
        pass_lies.from = rows[i].from;
        pass_lies.to = rows[i].to;
        model_running_start(&running, device, LLAMA, PRECISION_FP32);
        status = workload_verify(running.base, pass_fixture_note, NULL, &failure);
        if (!pass_lies.changed || status != STATUS_CHECK_FAILED ||
            spot_check(running.base, 7) != STATUS_CHECK_FAILED)
            fail_msg("%s: not found", rows[i].what);
        model_running_stop(&running);
        pass_lies_end(device);
    }
}

/* Angles of another base, and of the position before. */
TEST(wrong_angles)
{
    if (!device)
        skip();
    for (int i = 0; i < 2; i++) {
        struct model_running running;
        struct buffer *turns = NULL;

        model_running_start(&running, device, LLAMA, PRECISION_FP32);
        pass_fixture_check(running.base);
        ASSERT_OK(op_rope_turns(((struct pass_instance *)running.base)->ops, i ? 10000.0 : 10100.0,
                                false, i ? 299 : 300, 1, 16, &turns, err));
        begin_lies();
        lies.turns = turns;
        assert_int_equal(spot_check(running.base, 5), STATUS_CHECK_FAILED);
        pass_lies_end(device);
        device_buffer_free(turns);
        model_running_stop(&running);
    }
}

/* A device that remembers a token's result gives it for another content of the cache. */
TEST(remembered)
{
    struct model_running running;
    struct pass_instance *instance;

    if (!device)
        skip();
    model_running_start(&running, device, LLAMA, PRECISION_FP32);
    instance = (struct pass_instance *)running.base;
    ASSERT_OK(running.workload.kind->iterate(running.base, err));
    ASSERT_OK(decode_redraw(instance, 0, 9, err));
    assert_int_equal(
        workload_verify(running.base, pass_fixture_note, NULL, &(struct error)ERROR_INIT),
        STATUS_CHECK_FAILED);
    ASSERT_OK(running.workload.kind->iterate(running.base, err));
    ASSERT_OK(workload_verify(running.base, pass_fixture_note, NULL, err));
    ASSERT_OK(decode_restore(instance, err));
    ASSERT_OK(running.workload.kind->iterate(running.base, err));
    pass_fixture_check(running.base);
    model_running_stop(&running);
}

TEST(refused)
{
    static const struct {
        const char *yaml, *words;
        enum status status;
    } rows[] = {
        {HEAD("context: 9, page: 8") "  width: 32\n" RMS "    - of: [{embedding: {vocabulary: 9}}, "
                                     "{attention: {heads: 2}}]\n",
         "not blocks of 8 and heads of 16", STATUS_UNSUPPORTED},
        {HEAD("context: 9") "  width: 24\n" RMS
                            "    - of: [{embedding: {vocabulary: 9}}, {attention: {heads: 2}}]\n",
         "not blocks of 16 and heads of 12", STATUS_UNSUPPORTED},
        {HEAD("context: 9") "  width: 32\n" RMS
                            "    - of: [{embedding: {vocabulary: 9}}, {attention: {heads: 2}},\n"
                            "           {attention: {heads: 1}}]\n",
         "not 2 of 16 and 1 of 32", STATUS_UNSUPPORTED},
        {HEAD("context: 1000000") "  width: 262144\n" RMS
                                  "    - of: [{embedding: {vocabulary: 9}}, "
                                  "{attention: {heads: 1024}}]\n",
         "on the device, which has ", STATUS_DEVICE_MEMORY},
    };

    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        pass_fixture_refuse(device, rows[i].yaml, rows[i].status, rows[i].words);
}

int main(void)
{
    return model_fixture_run(&device);
}
