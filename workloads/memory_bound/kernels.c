#include "workloads/memory_bound/memory_bound.h"

#include <math.h>

/* ---- bytes, as published ---- */

static uint64_t bytes_two(const struct memory_sizes *sizes, uint64_t element_bytes)
{
    return 2 * sizes->elements * element_bytes;
}

static uint64_t bytes_three(const struct memory_sizes *sizes, uint64_t element_bytes)
{
    return 3 * sizes->elements * element_bytes;
}

static uint64_t bytes_seven(const struct memory_sizes *sizes, uint64_t element_bytes)
{
    return 7 * sizes->elements * element_bytes;
}

static uint64_t bytes_gather(const struct memory_sizes *sizes, uint64_t element_bytes)
{
    return 2 * sizes->elements * element_bytes + sizes->rows * sizeof(uint32_t);
}

/* ---- what groups share ---- */

static uint64_t units_blocks(const struct memory_sizes *sizes)
{
    return (sizes->elements + 15) / 16;
}

static uint64_t units_rows(const struct memory_sizes *sizes)
{
    return sizes->rows;
}

static uint64_t units_tiles(const struct memory_sizes *sizes)
{
    return ((sizes->rows + 31) / 32) * ((sizes->columns + 31) / 32);
}

/* ---- arguments: the arrays in the table's order, then what the kernel needs ---- */

static size_t args_arrays(const struct memory_instance *instance, struct kernel_arg *ret)
{
    size_t count = instance->data.kernel->array_count;

    for (size_t i = 0; i < count; ++i)
        ret[i] = (struct kernel_arg){.type = KERNEL_ARG_BUFFER, .buffer = instance->arrays[i]};
    return count;
}

static struct kernel_arg arg_f32(float value)
{
    return (struct kernel_arg){.type = KERNEL_ARG_F32, .f32 = value};
}

static struct kernel_arg arg_u64(uint64_t value)
{
    return (struct kernel_arg){.type = KERNEL_ARG_U64, .u64 = value};
}

static size_t args_elements(const struct memory_instance *instance, struct kernel_arg *ret)
{
    size_t count = args_arrays(instance, ret);

    ret[count++] = arg_u64(instance->data.sizes.elements);
    return count;
}

static size_t args_scalar(const struct memory_instance *instance, struct kernel_arg *ret)
{
    size_t count = args_arrays(instance, ret);

    ret[count++] = arg_f32((float)MEMORY_SCALAR);
    ret[count++] = arg_u64(instance->data.sizes.elements);
    return count;
}

static size_t args_rows(const struct memory_instance *instance, struct kernel_arg *ret)
{
    size_t count = args_arrays(instance, ret);

    ret[count++] = arg_u64(instance->data.sizes.rows);
    ret[count++] = arg_u64(instance->data.sizes.columns);
    return count;
}

static size_t args_norm(const struct memory_instance *instance, struct kernel_arg *ret)
{
    size_t count = args_arrays(instance, ret);

    ret[count++] = arg_f32((float)MEMORY_EPSILON);
    ret[count++] = arg_u64(instance->data.sizes.rows);
    ret[count++] = arg_u64(instance->data.sizes.columns);
    return count;
}

/* The dot kernel takes a, b and the partial sums; its result belongs to the second launch. */
static size_t args_dot(const struct memory_instance *instance, struct kernel_arg *ret)
{
    size_t count = args_arrays(instance, ret);

    ret[count - 1] = arg_u64(instance->data.sizes.elements);
    return count;
}

static size_t args_dot_finish(const struct memory_instance *instance, struct kernel_arg *ret)
{
    ret[0] = (struct kernel_arg){.type = KERNEL_ARG_BUFFER, .buffer = instance->arrays[2]};
    ret[1] = (struct kernel_arg){.type = KERNEL_ARG_BUFFER, .buffer = instance->arrays[3]};
    ret[2] = arg_u64(instance->groups);
    return 3;
}

static size_t args_adamw(const struct memory_instance *instance, struct kernel_arg *ret)
{
    const struct memory_adamw step = memory_adamw_at(instance->step + 1);
    size_t count = args_arrays(instance, ret);

    ret[count++] = arg_f32(step.beta1);
    ret[count++] = arg_f32(step.beta2);
    ret[count++] = arg_f32(step.decay);
    ret[count++] = arg_f32(step.step);
    ret[count++] = arg_f32(step.root);
    ret[count++] = arg_f32(step.epsilon);
    ret[count++] = arg_u64(instance->data.sizes.elements);
    return count;
}

/* ---- references in fp64 ---- */

static void reference_copy(const struct memory_data *data, uint64_t begin, uint64_t count,
                           struct memory_expected *ret)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; ++i) {
        ret[i].value = memory_value(data, 0, begin + i);
        ret[i].magnitude = fabs(ret[i].value);
    }
}

static void reference_scale(const struct memory_data *data, uint64_t begin, uint64_t count,
                            struct memory_expected *ret)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; ++i) {
        ret[i].value = (double)(float)MEMORY_SCALAR * memory_value(data, 0, begin + i);
        ret[i].magnitude = fabs(ret[i].value);
    }
}

static void reference_sum(const struct memory_data *data, double scalar, uint64_t begin,
                          uint64_t count, struct memory_expected *ret)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; ++i) {
        const double a = memory_value(data, 0, begin + i);
        const double b = scalar * memory_value(data, 1, begin + i);

        ret[i].value = a + b;
        ret[i].magnitude = fabs(a) + fabs(b);
    }
}

static void reference_add(const struct memory_data *data, uint64_t begin, uint64_t count,
                          struct memory_expected *ret)
{
    reference_sum(data, 1.0, begin, count, ret);
}

static void reference_triad(const struct memory_data *data, uint64_t begin, uint64_t count,
                            struct memory_expected *ret)
{
    reference_sum(data, (double)(float)MEMORY_SCALAR, begin, count, ret);
}

#define DOT_BLOCKS 1024

/* Block by block, so that the result does not depend on the number of threads. */
static void reference_dot(const struct memory_data *data, uint64_t begin, uint64_t count,
                          struct memory_expected *ret)
{
    const uint64_t n = data->sizes.elements;
    struct memory_expected blocks[DOT_BLOCKS];

    (void)begin;
    (void)count;
#pragma omp parallel for schedule(static)
    for (uint64_t block = 0; block < DOT_BLOCKS; ++block) {
        const uint64_t size = (n + DOT_BLOCKS - 1) / DOT_BLOCKS;
        const uint64_t end = (block + 1) * size < n ? (block + 1) * size : n;

        blocks[block] = (struct memory_expected){0.0, 0.0};
        for (uint64_t i = block * size; i < end; ++i) {
            const double product = memory_value(data, 0, i) * memory_value(data, 1, i);

            blocks[block].value += product;
            blocks[block].magnitude += fabs(product);
        }
    }
    ret[0] = (struct memory_expected){0.0, 0.0};
    for (size_t block = 0; block < DOT_BLOCKS; ++block) {
        ret[0].value += blocks[block].value;
        ret[0].magnitude += blocks[block].magnitude;
    }
}

static void reference_gelu(const struct memory_data *data, uint64_t begin, uint64_t count,
                           struct memory_expected *ret)
{
    const double root = 0.79788456080286535588; /* sqrt(2/pi) */

#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; ++i) {
        const double x = memory_value(data, 0, begin + i);

        ret[i].value = 0.5 * x * (1.0 + tanh(root * (x + 0.044715 * x * x * x)));
        ret[i].magnitude = fabs(ret[i].value);
    }
}

/*
 * The magnitude of a normalised element is that of the terms it is made of: the mean carries an
 * error of the size of the mean of |x|, however near x is to it.
 */
static void norm_row(const struct memory_data *data, uint64_t row, struct memory_expected *ret)
{
    const uint64_t columns = data->sizes.columns;
    double sum = 0.0, absolute = 0.0, square = 0.0;
    double mean, scale;

    for (uint64_t i = 0; i < columns; ++i) {
        ret[i].value = memory_value(data, 0, row * columns + i);
        sum += ret[i].value;
        absolute += fabs(ret[i].value);
    }
    mean = sum / (double)columns;
    absolute /= (double)columns;
    for (uint64_t i = 0; i < columns; ++i)
        square += (ret[i].value - mean) * (ret[i].value - mean);
    scale = 1.0 / sqrt(square / (double)columns + (double)(float)MEMORY_EPSILON);
    for (uint64_t i = 0; i < columns; ++i) {
        const double weight = memory_value(data, 1, i), bias = memory_value(data, 2, i);

        ret[i].magnitude = (fabs(ret[i].value) + absolute) * scale * fabs(weight) + fabs(bias);
        ret[i].value = (ret[i].value - mean) * scale * weight + bias;
    }
}

static void reference_layer_norm(const struct memory_data *data, uint64_t begin, uint64_t count,
                                 struct memory_expected *ret)
{
    const uint64_t columns = data->sizes.columns;

#pragma omp parallel for schedule(static)
    for (uint64_t row = 0; row < count / columns; ++row)
        norm_row(data, begin / columns + row, ret + row * columns);
}

static void softmax_row(const struct memory_data *data, uint64_t row, struct memory_expected *ret)
{
    const uint64_t columns = data->sizes.columns;
    double top = -INFINITY, sum = 0.0;

    for (uint64_t i = 0; i < columns; ++i) {
        ret[i].value = memory_value(data, 0, row * columns + i);
        top = fmax(top, ret[i].value);
    }
    for (uint64_t i = 0; i < columns; ++i) {
        ret[i].value = exp(ret[i].value - top);
        sum += ret[i].value;
    }
    for (uint64_t i = 0; i < columns; ++i) {
        ret[i].value /= sum;
        ret[i].magnitude = ret[i].value;
    }
}

static void reference_softmax(const struct memory_data *data, uint64_t begin, uint64_t count,
                              struct memory_expected *ret)
{
    const uint64_t columns = data->sizes.columns;

#pragma omp parallel for schedule(static)
    for (uint64_t row = 0; row < count / columns; ++row)
        softmax_row(data, begin / columns + row, ret + row * columns);
}

/* Output [column, row] is input [row, column]. */
static void reference_transpose(const struct memory_data *data, uint64_t begin, uint64_t count,
                                struct memory_expected *ret)
{
    const uint64_t rows = data->sizes.rows, columns = data->sizes.columns;

#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t column = (begin + i) / rows, row = (begin + i) % rows;

        ret[i].value = memory_value(data, 0, row * columns + column);
        ret[i].magnitude = fabs(ret[i].value);
    }
}

static void reference_gather(const struct memory_data *data, uint64_t begin, uint64_t count,
                             struct memory_expected *ret)
{
    const uint64_t columns = data->sizes.columns;

#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t lookup = (begin + i) / columns, column = (begin + i) % columns;
        const uint64_t row = memory_index(data, 1, lookup, data->sizes.vocabulary);

        ret[i].value = memory_value(data, 0, row * columns + column);
        ret[i].magnitude = fabs(ret[i].value);
    }
}

/* ---- tolerances, in roundings of fp32 ---- */

static double roundings_none(const struct memory_instance *instance)
{
    (void)instance;
    return 0.0;
}

static double roundings_one(const struct memory_instance *instance)
{
    (void)instance;
    return 1.0;
}

static double roundings_two(const struct memory_instance *instance)
{
    (void)instance;
    return 2.0;
}

/*
 * Of a sum whose longest chain has `depth` additions: 6 sqrt(depth), exceeded with a probability
 * below 1e-7 an addition (Higham and Mary, "A new approach to probabilistic rounding error
 * analysis", 2019, theorem 2.4 with lambda = 6). The depth follows from the kernels' stripes.
 */
static double sum_roundings(const struct memory_instance *instance, uint64_t terms, uint64_t groups)
{
    const uint64_t stripes = instance->lanes == 1 ? 32 : 4;
    const uint64_t a_step = stripes * instance->lanes;
    const double lane = (double)(terms / groups / a_step + a_step / instance->lanes + 1);
    const double tree = log2((double)a_step) + 1.0;
    const double partials = groups > 1 ? (double)(groups / instance->lanes + 1) + tree : 0.0;

    return 6.0 * sqrt(lane + tree + partials);
}

static double roundings_dot(const struct memory_instance *instance)
{
    return sum_roundings(instance, instance->data.sizes.elements, instance->groups) + 1.0;
}

/*
 * |w| <= 3.8 for |x| < 2 makes of 4 roundings of w 15 of e^-w; exp has 1.3, the sum 1, the quotient
 * 5 where OpenCL allows 2.5 ulp.
 */
static double roundings_gelu(const struct memory_instance *instance)
{
    (void)instance;
    return 24.0;
}

/* The mean's and half the variance's sums; then the quotients, the root and the products. */
static double roundings_layer_norm(const struct memory_instance *instance)
{
    return 2.0 * sum_roundings(instance, instance->data.sizes.columns, 1) + 16.0;
}

/* x - max: 4 of e^x for |x| < 2; exp 1.3; the sum; its inverse 5; the product 1; one kept e^x. */
static double roundings_softmax(const struct memory_instance *instance)
{
    return sum_roundings(instance, instance->data.sizes.columns, 1) + 13.0;
}

/* ---- the table ---- */

#define ARRAY(array_name, array_role, array_extent, array_low, array_high)                         \
    {                                                                                              \
        .name = array_name, .role = MEMORY_##array_role, .type = MEMORY_STORAGE,                   \
        .extent = MEMORY_EXTENT_##array_extent, .low = array_low, .high = array_high               \
    }
#define ARRAY_OF(array_type, array_name, array_role, array_extent, array_low, array_high)          \
    {                                                                                              \
        .name = array_name, .role = MEMORY_##array_role, .type = MEMORY_##array_type,              \
        .extent = MEMORY_EXTENT_##array_extent, .low = array_low, .high = array_high               \
    }

static const struct memory_kernel kernels[] = {
    {
        .name = "copy",
        .entry = "stream_copy",
        .files = {"memory_stripes.h", "memory_stream.h"},
        .bytes_formula = "2*n*sizeof(T) (BabelStream copy: read a, write c)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 2,
        .arrays = {ARRAY("a", INPUT, ELEMENTS, -2, 2), ARRAY("c", OUTPUT, ELEMENTS, 0, 0)},
        .args = args_elements,
        .units = units_blocks,
        .reference = reference_copy,
        .roundings = roundings_none,
        .reason = "bits are moved, not computed",
    },
    {
        .name = "scale",
        .entry = "stream_scale",
        .files = {"memory_stripes.h", "memory_stream.h"},
        .bytes_formula = "2*n*sizeof(T) (BabelStream mul: read c, write b)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 2,
        .arrays = {ARRAY("c", INPUT, ELEMENTS, -2, 2), ARRAY("b", OUTPUT, ELEMENTS, 0, 0)},
        .args = args_scalar,
        .units = units_blocks,
        .reference = reference_scale,
        .roundings = roundings_one,
        .storage_roundings = 1,
        .reason = "one rounding of the product",
    },
    {
        .name = "add",
        .entry = "stream_add",
        .files = {"memory_stripes.h", "memory_stream.h"},
        .bytes_formula = "3*n*sizeof(T) (BabelStream add: read a and b, write c)",
        .bytes = bytes_three,
        .item_name = "element",
        .array_count = 3,
        .arrays = {ARRAY("a", INPUT, ELEMENTS, -2, 2), ARRAY("b", INPUT, ELEMENTS, -2, 2),
                   ARRAY("c", OUTPUT, ELEMENTS, 0, 0)},
        .args = args_elements,
        .units = units_blocks,
        .reference = reference_add,
        .roundings = roundings_one,
        .storage_roundings = 1,
        .reason = "one rounding of the sum",
    },
    {
        .name = "triad",
        .entry = "stream_triad",
        .files = {"memory_stripes.h", "memory_stream.h"},
        .bytes_formula = "3*n*sizeof(T) (BabelStream triad: read b and c, write a)",
        .bytes = bytes_three,
        .item_name = "element",
        .array_count = 3,
        .arrays = {ARRAY("b", INPUT, ELEMENTS, -2, 2), ARRAY("c", INPUT, ELEMENTS, -2, 2),
                   ARRAY("a", OUTPUT, ELEMENTS, 0, 0)},
        .args = args_scalar,
        .units = units_blocks,
        .reference = reference_triad,
        .roundings = roundings_two,
        .storage_roundings = 1,
        .reason = "one rounding of the product, one of the sum",
    },
    {
        .name = "dot",
        .entry = "stream_dot",
        .finish = "stream_dot_finish",
        .files = {"memory_stripes.h", "memory_stream.h"},
        .bytes_formula = "2*n*sizeof(T) (BabelStream dot: read a and b)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 4,
        .arrays = {ARRAY("a", INPUT, ELEMENTS, 0.25, 1.75), ARRAY("b", INPUT, ELEMENTS, 0.25, 1.75),
                   ARRAY_OF(F32, "partial", SCRATCH, GROUPS, 0, 0),
                   ARRAY_OF(F32, "sum", OUTPUT, ONE, 0, 0)},
        .args = args_dot,
        .finish_args = args_dot_finish,
        .units = units_blocks,
        .reference = reference_dot,
        .roundings = roundings_dot,
        .reason = "6 sqrt(depth) roundings of the longest chain of additions (Higham, Mary 2019)",
    },
    {
        .name = "gelu",
        .entry = "memory_gelu",
        .files = {"memory_stripes.h", "memory_exp.h", "memory_gelu.h"},
        .bytes_formula = "2*n*sizeof(T) (read x, write y)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 2,
        .arrays = {ARRAY("x", INPUT, ELEMENTS, -2, 2), ARRAY("y", OUTPUT, ELEMENTS, 0, 0)},
        .args = args_elements,
        .units = units_blocks,
        .reference = reference_gelu,
        .roundings = roundings_gelu,
        .storage_roundings = 1,
        .reason = "roundings of the argument, grown by |w| <= 3.8 through e^w, and a quotient",
    },
    {
        .name = "layer_norm",
        .entry = "memory_layer_norm",
        .files = {"memory_stripes.h", "memory_layer_norm.h"},
        .shape = MEMORY_SHAPE_ROWS,
        .bytes_formula = "2*rows*columns*sizeof(T) (Triton tutorial 05: read x, write y)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 4,
        .arrays = {ARRAY("x", INPUT, ELEMENTS, -2, 2),
                   ARRAY_OF(F32, "weight", INPUT, COLUMNS, 0.5, 1.5),
                   ARRAY_OF(F32, "bias", INPUT, COLUMNS, -1, 1),
                   ARRAY("y", OUTPUT, ELEMENTS, 0, 0)},
        .args = args_norm,
        .units = units_rows,
        .reference = reference_layer_norm,
        .by_row = true,
        .roundings = roundings_layer_norm,
        .storage_roundings = 1,
        .reason = "6 sqrt(depth) roundings of each row's two sums (Higham, Mary 2019), then 16",
    },
    {
        .name = "softmax",
        .entry = "memory_softmax",
        .files = {"memory_stripes.h", "memory_exp.h", "memory_softmax.h"},
        .shape = MEMORY_SHAPE_ROWS,
        .bytes_formula = "2*rows*columns*sizeof(T) (Triton tutorial 02: read x, write y)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 2,
        .arrays = {ARRAY("x", INPUT, ELEMENTS, -2, 2), ARRAY("y", OUTPUT, ELEMENTS, 0, 0)},
        .args = args_rows,
        .units = units_rows,
        .reference = reference_softmax,
        .by_row = true,
        .roundings = roundings_softmax,
        .storage_roundings = 2,
        .reason = "6 sqrt(depth) roundings of a row's sum (Higham, Mary 2019), then 13",
    },
    {
        .name = "transpose",
        .entry = "memory_transpose",
        .files = {"memory_stripes.h", "memory_transpose.h"},
        .shape = MEMORY_SHAPE_ROWS,
        .bytes_formula = "2*rows*columns*sizeof(T) (Ruetsch and Micikevicius 2009: read, write)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 2,
        .arrays = {ARRAY("x", INPUT, ELEMENTS, -2, 2), ARRAY("y", OUTPUT, ELEMENTS, 0, 0)},
        .args = args_rows,
        .units = units_tiles,
        .reference = reference_transpose,
        .roundings = roundings_none,
        .reason = "bits are moved, not computed",
    },
    {
        .name = "embedding_gather",
        .entry = "memory_gather",
        .files = {"memory_stripes.h", "memory_gather.h"},
        .shape = MEMORY_SHAPE_GATHER,
        .bytes_formula = "lookups*(2*dimension*sizeof(T) + 4) (read index and row, write row)",
        .bytes = bytes_gather,
        .item_name = "lookup",
        .array_count = 3,
        .arrays = {ARRAY("table", INPUT, TABLE, -2, 2), ARRAY_OF(U32, "index", INPUT, ROWS, 0, 0),
                   ARRAY("out", OUTPUT, ELEMENTS, 0, 0)},
        .args = args_rows,
        .units = units_rows,
        .reference = reference_gather,
        .roundings = roundings_none,
        .reason = "bits are moved, not computed",
    },
    {
        .name = "adamw",
        .entry = "memory_adamw",
        .files = {"memory_stripes.h", "memory_adamw.h"},
        .fp32_only = true,
        .bytes_formula = "7*n*sizeof(T) (read w, g, m and v, write w, m and v)",
        .bytes = bytes_seven,
        .item_name = "parameter",
        .array_count = 4,
        .arrays = {ARRAY("g", INPUT, ELEMENTS, 0.01, 1), ARRAY("w", STATE, ELEMENTS, -1, 1),
                   ARRAY("m", STATE, ELEMENTS, 0, 0), ARRAY("v", STATE, ELEMENTS, 0, 0)},
        .args = args_adamw,
        .units = units_blocks,
    },
};

const struct memory_kernel *memory_kernel_at(size_t index)
{
    return &kernels[index];
}

size_t memory_kernel_count(void)
{
    return sizeof(kernels) / sizeof(kernels[0]);
}
