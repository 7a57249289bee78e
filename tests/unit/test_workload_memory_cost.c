/* Bytes, items and memory of the memory-bound kernels against numbers computed by hand. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/memory_bound/memory_bound.h"

struct expected {
    const char *kernel, *shape;
    uint64_t bytes_fp32, bytes_bf16; /* 0: the kernel has no bf16 */
    uint64_t items;
    const char *item_name;
    uint64_t working_set_fp32;
};

/* n = 1000; rows by columns 20 by 50; 10 lookups of 8 elements in a table of 30. */
static const struct expected expected[] = {
    {"copy", "elements: 1000", 8000, 4000, 1000, "element", 8000},
    {"scale", "elements: 1000", 8000, 4000, 1000, "element", 8000},
    {"add", "elements: 1000", 12000, 6000, 1000, "element", 12000},
    {"triad", "elements: 1000", 12000, 6000, 1000, "element", 12000},
    {"dot", "elements: 1000", 8000, 4000, 1000, "element", 8004},
    {"gelu", "elements: 1000", 8000, 4000, 1000, "element", 8000},
    {"layer_norm", "rows: 20, columns: 50", 8000, 4000, 1000, "element", 8400},
    {"softmax", "rows: 20, columns: 50", 8000, 4000, 1000, "element", 8000},
    {"transpose", "rows: 20, columns: 50", 8000, 4000, 1000, "element", 8000},
    {"embedding_gather", "vocabulary: 30, dimension: 8, lookups: 10", 680, 360, 10, "lookup", 1320},
    {"adamw", "elements: 1000", 28000, 0, 1000, "parameter", 16000},
};

static void load(const struct expected *row, struct workload *ret)
{
    struct error err = ERROR_INIT;
    char *yaml = text_format("workload: mine\nversion: 1\nkind: memory_bound\ndescription: d\n"
                             "precisions: [%s]\nmemory_bound: {kernel: %s, %s}\n",
                             row->bytes_bf16 == 0 ? "fp32" : "fp32, bf16", row->kernel, row->shape);

    if (workload_parse("mine.yaml", yaml, strlen(yaml), ret, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    free(yaml);
}

TEST(costs)
{
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); ++i) {
        struct workload workload;
        struct workload_case work = {
            .workload = &workload, .precision = PRECISION_FP32, .batch = 1};
        struct workload_cost cost;

        load(&expected[i], &workload);
        assert_int_equal(workload.kind->cost(&work, &cost, NULL), STATUS_OK);
        assert_int_equal(cost.bytes, expected[i].bytes_fp32);
        assert_int_equal(cost.items, expected[i].items);
        assert_string_equal(cost.item_name, expected[i].item_name);
        assert_int_equal(cost.working_set_bytes, expected[i].working_set_fp32);
        assert_true(cost.device_memory_bytes >= cost.working_set_bytes);
        assert_string_equal(cost.headline, "bytes");
        assert_int_equal(cost.flops, 0);
        if (expected[i].bytes_bf16 != 0) {
            work.precision = PRECISION_BF16;
            assert_int_equal(workload.kind->cost(&work, &cost, NULL), STATUS_OK);
            assert_int_equal(cost.bytes, expected[i].bytes_bf16);
        }
        workload_finish(&workload);
    }
}

/* The declaration's names and the table are in two files. */
TEST(table)
{
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); ++i) {
        struct workload workload;
        const struct memory_parameters *parameters;
        const struct memory_kernel *kernel = memory_kernel_at(i);
        size_t outputs = 0, moved = 0;

        load(&expected[i], &workload);
        parameters = workload.parameters;
        assert_int_equal(parameters->kernel, i);
        assert_string_equal(kernel->name, expected[i].kernel);
        workload_finish(&workload);
        for (size_t a = 0; a < kernel->array_count; ++a) {
            outputs += kernel->arrays[a].role == MEMORY_OUTPUT;
            moved += kernel->arrays[a].role == MEMORY_STATE;
        }
        /* Either one output with a reference, or states that adamw.c checks. */
        assert_int_equal(outputs, kernel->has_state ? 0 : 1);
        assert_int_equal(moved, kernel->has_state ? 3 : 0);
    }
}

TEST(data)
{
    struct memory_data data = {.kernel = memory_kernel_at(0), .storage = DTYPE_F32, .seed = 7};
    double sum = 0.0, square = 0.0;
    size_t same = 0;

    for (uint64_t i = 0; i < 100000; ++i) {
        const double value = memory_value(&data, 0, i);

        assert_true(value >= -2.0 && value <= 2.0 && value != 0.0);
        assert_true((double)(float)value == value);
        sum += value;
        square += value * value;
        same += value == memory_value(&data, 0, i + 1);
        assert_true(memory_index(&data, 1, i, 30) < 30);
    }
    /* Uniform in (-2, 2): mean 0, variance 4/3; six standard errors. */
    assert_true(sum / 1e5 > -0.022 && sum / 1e5 < 0.022);
    assert_true(square / 1e5 > 1.31 && square / 1e5 < 1.36);
    assert_true(same < 2);
    data.storage = DTYPE_BF16;
    for (uint64_t i = 0; i < 1000; ++i) {
        const double value = memory_value(&data, 0, i);

        /* Half a unit in the last of bf16's 8 digits. */
        assert_true(value - memory_value(&data, 0, i) <= 0x1p-8 &&
                    memory_value(&data, 0, i) - value <= 0x1p-8);
        data.storage = DTYPE_BF16;
    }
}
