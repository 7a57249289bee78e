/*
 * Weights in few bits: an honest device agrees with the graph in fp64 over weights that the host
 * makes by itself, in every format, whatever the number of lanes; a launch that is left out and a
 * text with another rule, order or scale are found.
 */
#include "pass_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/pass/weights.h"

/* Outputs that no block of 128 divides, biases, a residual that is added. */
#define STACK(batch, weights)                                                                      \
    "workload: stack\nversion: 1\nkind: pass\ndescription: test\nprecisions: [fp32, bf16, fp16]\n" \
    "batches: [" batch "]\ndecode: {context: 20}\nweights: {" weights "}\nmodel:\n  width: 128\n"  \
    "  norm: {kind: rms, epsilon: 1.0e-5}\n  stack:\n"                                             \
    "    - of: [{embedding: {vocabulary: 101}}]\n"                                                 \
    "    - of: [{attention: {heads: 4, kv_heads: 2, rope: 10000, bias: true}},\n"                  \
    "           {mlp: {width: 256, gate: silu}}]\n"                                                \
    "    - of: [{norm: {}}, {head: {vocabulary: 101}}]\n"

static const char *const stacks[] = {
    STACK("1", "format: int8"),
    STACK("3", "format: int4"),
    STACK("6", "format: int4, group: 64"),
    STACK("1", "format: int4, group: 32"),
    STACK("2", "format: fp8"),
    STACK("3", "format: fp8_block"),
    STACK("1", "format: mxfp8"),
    STACK("5", "format: mxfp4"),
    STACK("3", "format: nvfp4"),
};
#define INT4 stacks[1]
#define STACKS (sizeof(stacks) / sizeof(stacks[0]))
static struct device *device;

static void check(struct workload_instance *base)
{
    ASSERT_OK(workload_verify(base, pass_fixture_note, NULL, err));
    for (uint64_t secret = 1; secret <= 3; secret++)
        ASSERT_OK(workload_spot_check(base, secret, pass_fixture_note, NULL, err));
}

/* The output's error is what quantisation of so many bits costs. */
TEST(honest)
{
    static const enum precision precisions[] = {PRECISION_FP32, PRECISION_BF16, PRECISION_FP16};

    if (!device)
        skip();
    for (size_t i = 0; i < STACKS; i++) {
        struct model_running running;
        const struct pass_parameters *parameters;
        double error, most;

        model_running_start(&running, device, stacks[i], precisions[i % 3]);
        check(running.base);
        parameters = running.workload.parameters;
        error = ((const struct pass_instance *)running.base)->weights_error;
        most = format_bits(parameters->weights.format) == 4 ? 0.5 : 0.1;
        if (!(error > most / 20 && error < most))
            fail_msg("stack %zu: the format's error is %g", i, error);
        model_running_stop(&running);
    }
}

/* More rows than one pass over the codes has; a scale of each field. */
TEST(lanes)
{
    if (!device)
        skip();
    for (size_t i = 2; i < STACKS; i += 6)
        pass_fixture_each_lanes(device, stacks[i], PRECISION_BF16, check);
}

TEST(one_launch)
{
    struct model_running running;

    if (!device)
        skip();
    model_running_start(&running, device, INT4, PRECISION_BF16);
    check(running.base);
    pass_lies_drop_each(device, running.base, 0, 10, "cache_fill", NULL);
    model_running_stop(&running);
}

/* ---- a device whose text differs ---- */

static struct {
    const char *from, *to;
    bool changed;
} lies;

static enum status lying_load(struct device *target, const struct module_source *source,
                              struct module **ret, struct error *err)
{
    struct module_source other = *source;
    const char *place = strstr(source->text, lies.from);
    enum status status;
    char *text;

    if (!place)
        return pass_lies.kept->module_load(target, source, ret, err);
    text = text_format("%.*s%s%s", (int)(place - source->text), source->text, lies.to,
                       place + strlen(lies.from));
    assert_non_null(text);
    other.text = text;
    lies.changed = true;
    status = pass_lies.kept->module_load(target, &other, ret, err);
    free(text);
    return status;
}

TEST(wrong_texts)
{
    static const struct {
        const char *what, *from, *to;
        size_t stack;
    } rows[] = {
        {"another scale's rule", "#define LARGEST 7.0f", "#define LARGEST 7.5f", 1},
        {"a power of two less", "- LARGEST_EXPONENT;", "- LARGEST_EXPONENT - 1;", 6},
        {"numbers of another position", "0x9e3779b97f4a7c15ul * (index + 1)",
         "0x9e3779b97f4a7c15ul * (index + 2)", 0},
        {"codes that are not rounded", "return (x + 12582912.0f) - 12582912.0f;",
         "return (f32)(i32)x;", 0},
        {"no bias", "if (shape & 1u)", "if (shape & 4u)", 3},
        {"no residual", "if (shape & 2u)", "if (shape & 4u)", 5},
        {"two fields share a scale", "packed_scale(scales, b / FIELDS_ALIKE, matrix);",
         "packed_scale(scales, b / FIELDS_ALIKE & ~1u, matrix);", 8},
        {"the next block's scale", "scales + SCALE_AT(o, p), matrix, from",
         "scales + SCALE_AT(o, (p + TILE) % k), matrix, from", 6},
        {"another field", "packed_field(codes, (i32)f);", "packed_field(codes, (i32)(f ^ 1u));", 4},
    };

    if (!device || device->info.type == DEVICE_GPU) /* the product's of one lane */
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct model_running running;
        struct error failure = ERROR_INIT;

        lies.from = rows[i].from;
        lies.to = rows[i].to;
        lies.changed = false;
        pass_lies_begin(device, UINT64_MAX, NULL);
        pass_lies.ops.module_load = lying_load;
        model_running_start(&running, device, stacks[rows[i].stack], PRECISION_FP32);
        if (!lies.changed ||
            workload_verify(running.base, pass_fixture_note, NULL, &failure) != STATUS_CHECK_FAILED)
            fail_msg("%s: not found", rows[i].what);
        model_running_stop(&running);
        pass_lies_end(device);
    }
}

/* ---- the host's numbers ---- */

/* A window of outputs has what all have there, and no number is farther off than a step. */
TEST(windows)
{
    for (size_t f = 0; f < FORMAT_COUNT; f++) {
        const struct op_packed packed = {.format = &formats[f],
                                         .cols = formats[f].cols,
                                         .inputs = 128,
                                         .outputs = 200,
                                         .law = op_law_of(5, 6, 0.0, 0.1)};
        static float all[128 * 200], exact[128 * 200], some[128 * 70];
        const float step = format_bits(&formats[f]) == 4 ? 0.13f : 0.035f;

        op_packed_numbers(&packed, 0, 200, true, all);
        op_packed_numbers(&packed, 0, 200, false, exact);
        op_packed_numbers(&packed, 120, 70, true, some);
        for (size_t i = 0; i < 128; i++)
            for (size_t o = 0; o < 200; o++) {
                const float off = fabsf(all[i * 200 + o] - exact[i * 200 + o]);

                assert_true(fabsf(exact[i * 200 + o]) < 0.35f && off < step);
                if (o >= 120 && o < 190)
                    assert_true(some[i * 70 + o - 120] == all[i * 200 + o]);
            }
    }
}

TEST(refused)
{
    model_fixture_refuse(STACK("1", "format: int5"), "int5");
    model_fixture_refuse(STACK("1", "format: int8, group: 32"), "remove `group`");
    model_fixture_refuse(STACK("1", "format: int4, group: 48"), "write 32, 64 or 128");
    model_fixture_refuse(STACK("1", "group: 32"), "format");
}

int main(void)
{
    return model_fixture_run(&device);
}
