/* Operators of the fp64 reference against numbers worked out by hand, and files that are none. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/onnx/reference.h"

#define SHAPE(...)                                                                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* One node with its inputs, and what it must give. */
struct operation {
    const char *operator;
    struct onnx_attribute attributes[6];
    struct onnx_array in[3], out; /* an input without data ends them */
};

static size_t count_elements(const struct onnx_array *array)
{
    size_t count = 1;

    for (size_t i = 0; i < array->rank; i++)
        count *= array->shape[i];
    return count;
}

static void run(const struct operation *one)
{
    static const char *const names[] = {"a", "b", "c"};
    const char *inputs[3], *outputs[] = {"y"};
    struct onnx_array arrays[3], got = one->out;
    struct onnx_attribute attributes[6];
    struct onnx_node node = {one->operator, "node", "", inputs, outputs, 0, 1, attributes, 0};
    struct onnx_value output = {.name = "y"}, given[3] = {0};
    struct onnx_model model = {
        .operators = 17, .nodes = &node, .outputs = &output, .node_count = 1, .output_count = 1};
    struct onnx_reference *reference = NULL;
    struct error err = ERROR_INIT;

    for (; node.input_count < 3 && one->in[node.input_count].data; node.input_count++) {
        arrays[node.input_count] = one->in[node.input_count];
        arrays[node.input_count].name = inputs[node.input_count] = names[node.input_count];
        arrays[node.input_count].elements = count_elements(&one->in[node.input_count]);
    }
    for (; node.attribute_count < 6 && one->attributes[node.attribute_count].name;
         node.attribute_count++)
        attributes[node.attribute_count] = one->attributes[node.attribute_count];
    got.name = "y";
    got.elements = count_elements(&one->out);
    model.inputs = given;
    model.input_count = node.input_count;
    assert_int_equal(onnx_reference_create(&model, &reference, &err), STATUS_OK);
    if (onnx_reference_run(reference, arrays, node.input_count, &got, 1, &err) != STATUS_OK)
        fail_msg("%s: %s", one->operator, err.message);
    for (size_t i = 0; i < got.elements; i++)
        if (!(fabs(got.data[i] - one->out.data[i]) < 1e-9))
            fail_msg("%s [%zu]: got %.12g, expected %.12g", one->operator, i, got.data[i],
                     one->out.data[i]);
    onnx_reference_destroy(reference);
}

#define ARRAY(dimensions, sides, ...)                                                              \
    {                                                                                              \
        .rank = (dimensions), .shape = sides, .data = (double[])                                   \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define WHOLE(word, value)                                                                         \
    {                                                                                              \
        .name = (word), .whole = (value)                                                           \
    }
#define LIST(word, length, ...)                                                                    \
    {                                                                                              \
        .name = (word), .list = (int64_t[]){__VA_ARGS__}, .count = (length)                        \
    }

TEST(operators)
{
    const struct operation operations[] = {
        {"Relu", {{0}}, {ARRAY(1, SHAPE(2), -1, 2)}, ARRAY(1, SHAPE(2), 0, 2)},
        {"Erf", {{0}}, {ARRAY(1, SHAPE(1), 0.5)}, ARRAY(1, SHAPE(1), 0.5204998778130465)},
        {"Gelu", {{0}}, {ARRAY(1, SHAPE(1), 1)}, ARRAY(1, SHAPE(1), 0.8413447460685429)},
        /* (2, 1) and (3): every pair. */
        {"Sub",
         {{0}},
         {ARRAY(2, SHAPE(2, 1), 10, 20), ARRAY(1, SHAPE(3), 1, 2, 3)},
         ARRAY(2, SHAPE(2, 3), 9, 8, 7, 19, 18, 17)},
        {"Softmax",
         {WHOLE("axis", 0)},
         {ARRAY(2, SHAPE(2, 2), 0, 1, 0.6931471805599453, 1)},
         ARRAY(2, SHAPE(2, 2), 1.0 / 3, 0.5, 2.0 / 3, 0.5)},
        {"LayerNormalization",
         {{.name = "epsilon", .number = 0.0f}},
         {ARRAY(2, SHAPE(1, 2), 1, 3), ARRAY(1, SHAPE(2), 2, 4), ARRAY(1, SHAPE(2), 5, 6)},
         ARRAY(2, SHAPE(1, 2), 3, 10)},
        {"ReduceMean",
         {LIST("axes", 1, 1), WHOLE("keepdims", 0)},
         {ARRAY(3, SHAPE(2, 2, 2), 1, 2, 3, 4, 5, 6, 7, 8)},
         ARRAY(2, SHAPE(2, 2), 2, 3, 6, 7)},
        /* A row of two products, whose second operand is shared. */
        {"MatMul",
         {{0}},
         {ARRAY(3, SHAPE(2, 1, 2), 1, 2, 3, 4), ARRAY(2, SHAPE(2, 2), 5, 6, 7, 8)},
         ARRAY(3, SHAPE(2, 1, 2), 19, 22, 43, 50)},
        {"Gemm",
         {WHOLE("transA", 1), WHOLE("transB", 1), {.name = "alpha", .number = 2.0f}},
         {ARRAY(2, SHAPE(2, 1), 1, 2), ARRAY(2, SHAPE(2, 2), 3, 4, 5, 6), ARRAY(1, SHAPE(1), 7)},
         ARRAY(2, SHAPE(1, 2), 29, 41)},
        {"Transpose",
         {LIST("perm", 3, 2, 0, 1)},
         {ARRAY(3, SHAPE(1, 2, 3), 1, 2, 3, 4, 5, 6)},
         ARRAY(3, SHAPE(3, 1, 2), 1, 4, 2, 5, 3, 6)},
        {"Reshape",
         {{0}},
         {ARRAY(3, SHAPE(2, 3, 2), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
          ARRAY(1, SHAPE(3), 0, -1, 3)},
         ARRAY(3, SHAPE(2, 2, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)},
        {"Gather",
         {WHOLE("axis", 1)},
         {ARRAY(2, SHAPE(2, 3), 1, 2, 3, 4, 5, 6), ARRAY(1, SHAPE(2), 2, -3)},
         ARRAY(2, SHAPE(2, 2), 3, 1, 6, 4)},
        /* Strides 2 and a border of zeros above and to the left. */
        {"Conv",
         {LIST("strides", 2, 2, 2), LIST("pads", 4, 1, 1, 0, 0)},
         {ARRAY(4, SHAPE(1, 1, 3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9),
          ARRAY(4, SHAPE(1, 1, 2, 2), 1, 10, 100, 1000), ARRAY(1, SHAPE(1), 0.5)},
         ARRAY(4, SHAPE(1, 1, 2, 2), 1000.5, 3200.5, 7040.5, 9865.5)},
        /* Two groups: each filter sees its own channel. */
        {"Conv",
         {WHOLE("group", 2)},
         {ARRAY(4, SHAPE(1, 2, 1, 2), 1, 2, 3, 4), ARRAY(4, SHAPE(2, 1, 1, 1), 10, 100)},
         ARRAY(4, SHAPE(1, 2, 1, 2), 10, 20, 300, 400)},
        {"MaxPool",
         {LIST("kernel_shape", 2, 2, 2), LIST("pads", 4, 0, 1, 0, 0)},
         {ARRAY(4, SHAPE(1, 1, 2, 2), -1, -2, -3, -4)},
         ARRAY(4, SHAPE(1, 1, 1, 2), -1, -1)},
        {"AveragePool",
         {LIST("kernel_shape", 2, 2, 2), LIST("pads", 4, 0, 1, 0, 0)},
         {ARRAY(4, SHAPE(1, 1, 2, 2), 1, 2, 3, 4)},
         ARRAY(4, SHAPE(1, 1, 1, 2), 2, 2.5)},
        {"GlobalAveragePool",
         {{0}},
         {ARRAY(4, SHAPE(1, 2, 1, 2), 1, 3, 5, 9)},
         ARRAY(4, SHAPE(1, 2, 1, 1), 2, 7)},
    };

    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
        run(&operations[i]);
}

TEST(no_model)
{
    /* A graph (field 7) of 5 bytes, of which 1 is there; a node without a graph; nothing. */
    static const char *const files[] = {"\x3a\x05\x0a", "\x0a\x00", "", "PK\x03\x04"};
    struct onnx_model model;
    struct error err;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        assert_int_equal(onnx_model_read(files[i], strlen(files[i]), &model, &err), STATUS_CORRUPT);
}
