#include "workloads/memory_bound/memory_bound.h"

#include "workloads/kernel_args.h"
#include "workloads/memory_bound/reference.h"

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

/* ---- arguments ---- */

static size_t put_step(uint64_t step, struct kernel_arg *ret)
{
    const struct memory_adamw adamw = memory_adamw_at(step);
    const float values[] = {adamw.beta1, adamw.beta2, adamw.decay,
                            adamw.step,  adamw.root,  adamw.epsilon};
    const size_t count = sizeof(values) / sizeof(values[0]);

    for (size_t i = 0; i < count; ++i)
        ret[i] = arg_f32((double)values[i]);
    return count;
}

size_t memory_args(const struct memory_instance *instance, struct kernel_arg *ret)
{
    const struct memory_data *data = &instance->data;
    const struct memory_kernel *kernel = data->kernel;
    size_t count = kernel->finish ? kernel->array_count - 1 : kernel->array_count;

    for (size_t i = 0; i < count; ++i)
        ret[i] = arg_buffer(instance->arrays[i]);
    for (const enum memory_arg *arg = kernel->args; *arg != MEMORY_ARG_END; ++arg)
        switch (*arg) {
        case MEMORY_ARG_SCALAR:
            ret[count++] = data->storage == DTYPE_F64
                               ? (struct kernel_arg){.type = KERNEL_ARG_F64, .f64 = MEMORY_SCALAR}
                               : arg_f32(MEMORY_SCALAR);
            break;
        case MEMORY_ARG_EPSILON:
            ret[count++] = arg_f32(MEMORY_EPSILON);
            break;
        case MEMORY_ARG_STEP:
            count += put_step(data->step + 1, ret + count);
            break;
        default:
            ret[count++] = arg_u64(*arg == MEMORY_ARG_ROWS      ? data->sizes.rows
                                   : *arg == MEMORY_ARG_COLUMNS ? data->sizes.columns
                                                                : data->sizes.elements);
        }
    return count;
}

size_t memory_finish_args(const struct memory_instance *instance, struct kernel_arg *ret)
{
    const size_t last = instance->data.kernel->array_count - 1;

    ret[0] = arg_buffer(instance->arrays[last - 1]);
    ret[1] = arg_buffer(instance->arrays[last]);
    ret[2] = arg_u64(instance->groups);
    return 3;
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

#define ADAMW_REASON "roundings of all steps since the start against the closed form"

static const struct memory_kernel kernels[] = {
    {
        .name = "copy",
        .entry = "stream_copy",
        .files = {"pack.h", "memory_stripes.h", "memory_stream.h"},
        .bytes_formula = "2*n*sizeof(T) (BabelStream copy: read a, write c)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 2,
        .arrays = {ARRAY("a", INPUT, ELEMENTS, -2, 2), ARRAY("c", OUTPUT, ELEMENTS, 0, 0)},
        .args = {MEMORY_ARG_ELEMENTS},
        .units = units_blocks,
        .fp64 = true,
        .outputs = {{1, memory_reference_copy, memory_roundings_none, 0,
                     "bits are moved, not computed"}},
    },
    {
        .name = "scale",
        .entry = "stream_scale",
        .files = {"pack.h", "memory_stripes.h", "memory_stream.h"},
        .bytes_formula = "2*n*sizeof(T) (BabelStream mul: read c, write b)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 2,
        .arrays = {ARRAY("c", INPUT, ELEMENTS, -2, 2), ARRAY("b", OUTPUT, ELEMENTS, 0, 0)},
        .args = {MEMORY_ARG_SCALAR, MEMORY_ARG_ELEMENTS},
        .units = units_blocks,
        .fp64 = true,
        .outputs = {{1, memory_reference_scale, memory_roundings_one, 1,
                     "one rounding of the product"}},
    },
    {
        .name = "add",
        .entry = "stream_add",
        .files = {"pack.h", "memory_stripes.h", "memory_stream.h"},
        .bytes_formula = "3*n*sizeof(T) (BabelStream add: read a and b, write c)",
        .bytes = bytes_three,
        .item_name = "element",
        .array_count = 3,
        .arrays = {ARRAY("a", INPUT, ELEMENTS, -2, 2), ARRAY("b", INPUT, ELEMENTS, -2, 2),
                   ARRAY("c", OUTPUT, ELEMENTS, 0, 0)},
        .args = {MEMORY_ARG_ELEMENTS},
        .units = units_blocks,
        .fp64 = true,
        .outputs = {{2, memory_reference_add, memory_roundings_one, 1, "one rounding of the sum"}},
    },
    {
        .name = "triad",
        .entry = "stream_triad",
        .files = {"pack.h", "memory_stripes.h", "memory_stream.h"},
        .bytes_formula = "3*n*sizeof(T) (BabelStream triad: read b and c, write a)",
        .bytes = bytes_three,
        .item_name = "element",
        .array_count = 3,
        .arrays = {ARRAY("b", INPUT, ELEMENTS, -2, 2), ARRAY("c", INPUT, ELEMENTS, -2, 2),
                   ARRAY("a", OUTPUT, ELEMENTS, 0, 0)},
        .args = {MEMORY_ARG_SCALAR, MEMORY_ARG_ELEMENTS},
        .units = units_blocks,
        .fp64 = true,
        .outputs = {{2, memory_reference_triad, memory_roundings_two, 1,
                     "one rounding of the product, one of the sum"}},
    },
    {
        .name = "dot",
        .entry = "stream_dot",
        .finish = "stream_dot_finish",
        .files = {"pack.h", "memory_stripes.h", "memory_stream.h"},
        .bytes_formula = "2*n*sizeof(T) (BabelStream dot: read a and b)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 4,
        .arrays = {ARRAY("a", INPUT, ELEMENTS, 0.25, 1.75), ARRAY("b", INPUT, ELEMENTS, 0.25, 1.75),
                   ARRAY_OF(F32, "partial", SCRATCH, GROUPS, 0, 0),
                   ARRAY_OF(F32, "sum", OUTPUT, ONE, 0, 0)},
        .args = {MEMORY_ARG_ELEMENTS},
        .units = units_blocks,
        .outputs =
            {{3, memory_reference_dot, memory_roundings_dot, 0,
              "6 sqrt(depth) roundings of the longest chain of additions (Higham, Mary 2019)"}},
    },
    {
        .name = "gelu",
        .entry = "memory_gelu",
        .files = {"pack.h", "memory_stripes.h", "memory_exp.h", "memory_gelu.h"},
        .bytes_formula = "2*n*sizeof(T) (read x, write y)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 2,
        .arrays = {ARRAY("x", INPUT, ELEMENTS, -2, 2), ARRAY("y", OUTPUT, ELEMENTS, 0, 0)},
        .args = {MEMORY_ARG_ELEMENTS},
        .units = units_blocks,
        .outputs = {{1, memory_reference_gelu, memory_roundings_gelu, 1,
                     "roundings of the argument, grown by |w| <= 3.8 through e^w, and a quotient"}},
    },
    {
        .name = "layer_norm",
        .entry = "memory_layer_norm",
        .files = {"pack.h", "memory_stripes.h", "memory_layer_norm.h"},
        .shape = MEMORY_SHAPE_ROWS,
        .bytes_formula = "2*rows*columns*sizeof(T) (Triton tutorial 05: read x, write y)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 4,
        .arrays = {ARRAY("x", INPUT, ELEMENTS, -2, 2),
                   ARRAY_OF(F32, "weight", INPUT, COLUMNS, 0.5, 1.5),
                   ARRAY_OF(F32, "bias", INPUT, COLUMNS, -1, 1),
                   ARRAY("y", OUTPUT, ELEMENTS, 0, 0)},
        .args = {MEMORY_ARG_EPSILON, MEMORY_ARG_ROWS, MEMORY_ARG_COLUMNS},
        .units = units_rows,
        .by_row = true,
        .outputs =
            {{3, memory_reference_layer_norm, memory_roundings_layer_norm, 1,
              "6 sqrt(depth) roundings of each row's two sums (Higham, Mary 2019), then 16"}},
    },
    {
        .name = "softmax",
        .entry = "memory_softmax",
        .files = {"pack.h", "memory_stripes.h", "memory_exp.h", "memory_softmax.h"},
        .shape = MEMORY_SHAPE_ROWS,
        .bytes_formula = "2*rows*columns*sizeof(T) (Triton tutorial 02: read x, write y)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 2,
        .arrays = {ARRAY("x", INPUT, ELEMENTS, -2, 2), ARRAY("y", OUTPUT, ELEMENTS, 0, 0)},
        .args = {MEMORY_ARG_ROWS, MEMORY_ARG_COLUMNS},
        .units = units_rows,
        .by_row = true,
        .outputs = {{1, memory_reference_softmax, memory_roundings_softmax, 2,
                     "6 sqrt(depth) roundings of a row's sum (Higham, Mary 2019), then 13"}},
    },
    {
        .name = "transpose",
        .entry = "memory_transpose",
        .files = {"pack.h", "memory_stripes.h", "memory_transpose.h"},
        .shape = MEMORY_SHAPE_ROWS,
        .bytes_formula = "2*rows*columns*sizeof(T) (Ruetsch and Micikevicius 2009: read, write)",
        .bytes = bytes_two,
        .item_name = "element",
        .array_count = 2,
        .arrays = {ARRAY("x", INPUT, ELEMENTS, -2, 2), ARRAY("y", OUTPUT, ELEMENTS, 0, 0)},
        .args = {MEMORY_ARG_ROWS, MEMORY_ARG_COLUMNS},
        .units = units_tiles,
        .fp64 = true,
        .outputs = {{1, memory_reference_transpose, memory_roundings_none, 0,
                     "bits are moved, not computed"}},
    },
    {
        .name = "embedding_gather",
        .entry = "memory_gather",
        .files = {"pack.h", "memory_stripes.h", "memory_gather.h"},
        .shape = MEMORY_SHAPE_GATHER,
        .bytes_formula = "lookups*(2*dimension*sizeof(T) + 4) (read index and row, write row)",
        .bytes = bytes_gather,
        .item_name = "lookup",
        .array_count = 3,
        .arrays = {ARRAY("table", INPUT, TABLE, -2, 2), ARRAY_OF(U32, "index", INPUT, ROWS, 0, 0),
                   ARRAY("out", OUTPUT, ELEMENTS, 0, 0)},
        .args = {MEMORY_ARG_ROWS, MEMORY_ARG_COLUMNS},
        .units = units_rows,
        .fp64 = true,
        .outputs = {{2, memory_reference_gather, memory_roundings_none, 0,
                     "bits are moved, not computed"}},
    },
    {
        .name = "adamw",
        .entry = "memory_adamw",
        .files = {"pack.h", "memory_stripes.h", "memory_adamw.h"},
        .fp32_only = true,
        .bytes_formula = "7*n*sizeof(T) (read w, g, m and v, write w, m and v)",
        .bytes = bytes_seven,
        .item_name = "parameter",
        .array_count = 4,
        .arrays = {ARRAY("g", INPUT, ELEMENTS, 0.01, 1), ARRAY("w", STATE, ELEMENTS, -1, 1),
                   ARRAY("m", STATE, ELEMENTS, 0, 0), ARRAY("v", STATE, ELEMENTS, 0, 0)},
        .args = {MEMORY_ARG_STEP, MEMORY_ARG_ELEMENTS},
        .units = units_blocks,
        .has_state = true,
        .outputs = {{1, memory_reference_adamw_w, memory_roundings_adamw_w, 0, ADAMW_REASON},
                    {2, memory_reference_adamw_m, memory_roundings_adamw_m, 0, ADAMW_REASON},
                    {3, memory_reference_adamw_v, memory_roundings_adamw_v, 0, ADAMW_REASON}},
    },
};

const struct memory_kernel *memory_kernel_at(size_t index)
{
    return &kernels[index];
}

bool memory_kernel_has(const struct memory_kernel *kernel, enum precision precision)
{
    switch (precision) {
    case PRECISION_FP32:
        return true;
    case PRECISION_BF16:
    case PRECISION_FP16:
        return !kernel->fp32_only;
    case PRECISION_FP64:
        return kernel->fp64;
    default:
        return false;
    }
}
