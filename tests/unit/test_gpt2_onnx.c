/*
 * GPT-2's passes as ONNX models, computed by the reference of ONNX files: logits are those of
 * gpt2_reference, of all positions, of the last one of a prompt, and of tokens behind keys and
 * values that the passes before them gave out.
 */
#include "workloads/models/gpt2_onnx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/models/gpt2_graph.h"
#include "workloads/onnx/reference.h"

enum { LAYERS = 2, HEADS = 2, WIDTH = 8, WORDS = 11, SEQUENCES = 2, LENGTH = 7, PROMPT = 4 };
enum { ROOM = 9, SIZE = WIDTH / HEADS, CACHES = 2 * LAYERS, ARRAYS = 2 + CACHES };

static const struct gpt2_shape shape = {LAYERS, HEADS, WIDTH, 8, WORDS, 32};
static const int32_t text[SEQUENCES][LENGTH] = {{1, 4, 0, 9, 10, 2, 2}, {7, 3, 3, 5, 8, 0, 6}};

/* What a pass is run on, and gives. */
struct run {
    float *parameters;
    struct onnx_array in[ARRAYS], out[1 + CACHES];
    char names[2][CACHES][GRAPH_ONNX_CACHE_NAME_MAX];
    double tokens[SEQUENCES * LENGTH], position;
    double past[CACHES][SEQUENCES][HEADS][ROOM][SIZE];
    double logits[SEQUENCES * LENGTH * WORDS];
};

static struct onnx_array array(const char *name, double *data, size_t rank, const uint64_t *sides)
{
    struct onnx_array ret = {.name = name, .rank = rank, .elements = 1, .data = data};

    for (size_t i = 0; i < rank; i++) {
        ret.shape[i] = sides[i];
        ret.elements *= sides[i];
    }
    return ret;
}

/* Of tokens [first, first + length) of each sequence, whose last position the logits are of. */
static void bind(struct run *run, enum graph_onnx_pass pass, uint64_t first, uint64_t length)
{
    const uint64_t rows = pass == GRAPH_ONNX_WHOLE ? SEQUENCES * length : SEQUENCES;
    const uint64_t fresh = pass == GRAPH_ONNX_STEP ? 1 : ROOM;

    for (uint64_t i = 0; i < SEQUENCES * length; i++)
        run->tokens[i] = text[i / length][first + i % length];
    run->position = (double)(first + length - 1);
    run->in[0] = array(GRAPH_ONNX_TOKENS, run->tokens, 2, (const uint64_t[]){SEQUENCES, length});
    run->in[1] = array(GRAPH_ONNX_POSITION, &run->position, 1, (const uint64_t[]){1});
    run->in[0].whole = run->in[1].whole = true;
    run->out[0] = array(GPT2_ONNX_LOGITS, NULL, 2, (const uint64_t[]){rows, WORDS});
    for (int i = 0; i < CACHES; i++) {
        graph_onnx_cache_name(false, i % 2, (uint64_t)i / 2, run->names[0][i]);
        graph_onnx_cache_name(true, i % 2, (uint64_t)i / 2, run->names[1][i]);
        run->out[1 + i] =
            array(run->names[0][i], NULL, 4, (const uint64_t[]){SEQUENCES, HEADS, fresh, SIZE});
        run->in[2 + i] = array(run->names[1][i], &run->past[i][0][0][0][0], 4,
                               (const uint64_t[]){SEQUENCES, HEADS, ROOM, SIZE});
    }
}

/* Keys and values that it gave out, to their place among the past ones. */
static void keep(struct run *run, uint64_t position, uint64_t count)
{
    const uint64_t heads = SEQUENCES * HEADS;

    for (int i = 0; i < CACHES; i++) {
        const uint64_t fresh = run->out[1 + i].shape[2];

        for (uint64_t at = 0; at < heads * count * SIZE; at++) {
            const uint64_t head = at / SIZE / count, place = at / SIZE % count;

            run->past[i][head / HEADS][head % HEADS][position + place][at % SIZE] =
                run->out[1 + i].data[(head * fresh + place) * SIZE + at % SIZE];
        }
        for (uint64_t at = 0; fresh > 1 && at < run->out[1 + i].elements; at++)
            if (at / SIZE % fresh >= count)
                assert_true(run->out[1 + i].data[at] == 0.0);
    }
}

static struct framework_array of(const struct onnx_array *array)
{
    struct framework_array ret = {
        .name = array->name, .type = array->whole ? DTYPE_I32 : DTYPE_F32, .rank = array->rank};

    for (size_t i = 0; i < array->rank; i++)
        ret.shape[i] = (int64_t)array->shape[i];
    return ret;
}

static void run_pass(struct run *run, enum graph_onnx_pass pass, uint64_t first, uint64_t length)
{
    const struct gpt2_onnx model = {.shape = &shape,
                                    .parameters = run->parameters,
                                    .pass = pass,
                                    .sequences = SEQUENCES,
                                    .length = length,
                                    .room = pass == GRAPH_ONNX_WHOLE ? 0 : ROOM,
                                    .cache = DTYPE_F32};
    const bool whole = pass == GRAPH_ONNX_WHOLE, step = pass == GRAPH_ONNX_STEP;
    struct framework_array in[ARRAYS], out[1 + CACHES];
    const struct framework_model arrays = {.inputs = in,
                                           .outputs = out,
                                           .input_count = whole  ? 1
                                                          : step ? ARRAYS
                                                                 : 2,
                                           .output_count = whole ? 1 : 1 + CACHES};
    struct onnx_reference *reference = NULL;
    struct onnx_model read = {0};
    struct error err = ERROR_INIT;
    struct text file = TEXT_INIT;

    bind(run, pass, first, length);
    for (size_t i = 0; i < ARRAYS; i++)
        in[i] = of(&run->in[i]);
    for (size_t i = 0; i < 1 + CACHES; i++)
        out[i] = of(&run->out[i]);
    assert_int_equal(gpt2_onnx_write(&model, &arrays, &file, &err), STATUS_OK);
    assert_int_equal(onnx_model_read(file.data, file.length, &read, &err), STATUS_OK);
    assert_int_equal(onnx_reference_create(&read, &reference, &err), STATUS_OK);
    if (onnx_reference_run(reference, run->in, read.input_count, run->out, read.output_count,
                           &err) != STATUS_OK)
        fail_msg("%s", err.message);
    memcpy(run->logits, run->out[0].data, run->out[0].elements * sizeof(double));
    if (!whole)
        keep(run, first, length);
    onnx_reference_destroy(reference);
    onnx_model_finish(&read);
    text_finish(&file);
}

/* The logits of `position` of both sequences, which are rows `row` of `rows` of each. */
static void compare(const struct run *run, const struct stack_reference *expected,
                    uint64_t position, uint64_t row, uint64_t rows)
{
    for (uint64_t i = 0; i < SEQUENCES * WORDS; i++) {
        const double got = run->logits[(i / WORDS * rows + row) * WORDS + i % WORDS];
        const double want = expected->out[(i / WORDS * LENGTH + position) * WORDS + i % WORDS];

        if (!(fabs(got - want) < 1e-6 * (1.0 + fabs(want)))) /* its epsilons are of f32 */
            fail_msg("position %llu: got %.9g, expected %.9g", (unsigned long long)position, got,
                     want);
    }
}

TEST(passes)
{
    struct run *run = calloc(1, sizeof(*run));
    struct stack_reference *expected = NULL;
    struct error err = ERROR_INIT;

    run->parameters = calloc(gpt2_array_length(&shape), sizeof(float));
    for (uint64_t i = 0; i < gpt2_array_length(&shape); i++)
        run->parameters[i] = 0.3f * gpt2_normal_at(1, 2, i);
    assert_int_equal(gpt2_reference_create(&shape, SEQUENCES, LENGTH, false, &expected, &err),
                     STATUS_OK);
    assert_int_equal(stack_reference_forward(expected, run->parameters, text[0], NULL, &err),
                     STATUS_OK);
    run_pass(run, GRAPH_ONNX_WHOLE, 0, LENGTH);
    for (uint64_t i = 0; i < LENGTH; i++)
        compare(run, expected, i, i, LENGTH);
    run_pass(run, GRAPH_ONNX_PREFILL, 0, PROMPT);
    compare(run, expected, PROMPT - 1, 0, 1);
    for (uint64_t i = PROMPT; i < LENGTH; i++) {
        run_pass(run, GRAPH_ONNX_STEP, i, 1);
        compare(run, expected, i, 0, 1);
    }
    stack_reference_destroy(expected);
    free(run->parameters);
    free(run);
}
