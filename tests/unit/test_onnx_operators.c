/*
 * Operators of the fp64 reference against what ONNX's own reference and ONNX Runtime compute, for
 * files that ONNX wrote: data/onnx_operators.jsonl, made by the script of that name.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/core/member.h"
#include "tests/support/unit.h"
#include "workloads/onnx/reference.h"

#define CASE_MAX (1 << 20) /* characters of a line */
#define ARRAYS_MAX 8
#define TOLERANCE 1e-4 /* what is compared with was computed in f32 */

static size_t unhex(const char *hex, uint8_t *ret)
{
    const size_t length = strlen(hex) / 2;

    for (size_t i = 0; i < length; i++) {
        unsigned byte = 0;

        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        ret[i] = (uint8_t)byte;
    }
    return length;
}

/* [name, shape, values]; the values are the caller's to free. */
static struct onnx_array take_array(const json_t *told)
{
    const json_t *shape = json_array_get(told, 1), *values = json_array_get(told, 2);
    struct onnx_array array = {.name = json_string_value(json_array_get(told, 0)),
                               .rank = json_array_size(shape),
                               .elements = json_array_size(values)};

    for (size_t i = 0; i < array.rank; i++)
        array.shape[i] = (uint64_t)json_integer_value(json_array_get(shape, i));
    array.data = calloc(array.elements + 1, sizeof(double));
    for (size_t i = 0; i < array.elements; i++)
        array.data[i] = json_number_value(json_array_get(values, i));
    return array;
}

static size_t take_arrays(const json_t *list, struct onnx_array *ret)
{
    const size_t count = json_array_size(list);

    assert_true(count <= ARRAYS_MAX);
    for (size_t i = 0; i < count; i++)
        ret[i] = take_array(json_array_get(list, i));
    return count;
}

static void compare(const char *name, const struct onnx_array *got,
                    const struct onnx_array *expected)
{
    for (uint64_t i = 0; i < expected->elements; i++) {
        const double far = TOLERANCE * (1.0 + fabs(expected->data[i]));

        if (!(fabs(got->data[i] - expected->data[i]) < far))
            fail_msg("%s: %s [%llu]: got %.9g, expected %.9g", name, got->name,
                     (unsigned long long)i, got->data[i], expected->data[i]);
    }
}

static void take_whole(const struct onnx_model *model, struct onnx_array *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < model->input_count; k++)
            if (!strcmp(model->inputs[k].name, inputs[i].name))
                inputs[i].whole = onnx_type_is_whole(model->inputs[k].type);
}

static void run_case(const json_t *one)
{
    static uint8_t bytes[CASE_MAX];
    const char *name = member_text(one, "name");
    struct onnx_array inputs[ARRAYS_MAX], expected[ARRAYS_MAX], got[ARRAYS_MAX];
    const size_t in = take_arrays(json_object_get(one, "inputs"), inputs);
    const size_t out = take_arrays(json_object_get(one, "outputs"), expected);
    const size_t length = unhex(member_text(one, "model"), bytes);
    struct onnx_model model = {0};
    struct onnx_reference *reference = NULL;
    struct error err = ERROR_INIT;

    memcpy(got, expected, sizeof(got));
    if (onnx_model_read(bytes, length, &model, &err) != STATUS_OK)
        fail_msg("%s: %s", name, err.message);
    take_whole(&model, inputs, in);
    if (onnx_reference_check(&model, inputs, in, got, out, &err) != STATUS_OK)
        fail_msg("%s, by shapes alone: %s", name, err.message);
    if (onnx_reference_create(&model, &reference, &err) != STATUS_OK ||
        onnx_reference_run(reference, inputs, in, got, out, &err) != STATUS_OK)
        fail_msg("%s: %s", name, err.message);
    for (size_t i = 0; i < out; i++)
        compare(name, &got[i], &expected[i]);
    onnx_reference_destroy(reference);
    onnx_model_finish(&model);
    for (size_t i = 0; i < in; i++)
        free(inputs[i].data);
    for (size_t i = 0; i < out; i++)
        free(expected[i].data);
}

TEST(operators)
{
    static char line[CASE_MAX];
    FILE *file = fopen(ONNX_OPERATORS, "r");
    size_t count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        json_t *one = json_loads(line, 0, NULL);

        assert_non_null(one);
        run_case(one);
        json_decref(one);
        count++;
    }
    fclose(file);
    assert_true(count > 100);
}
