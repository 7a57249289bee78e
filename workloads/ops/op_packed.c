#include "workloads/ops/packed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/random.h"
#include "workloads/kernel_text.h"
#include "workloads/ops/internal.h"
#include "workloads/storage.h"

/* kernels/packed.h */
#define INPUTS_MULTIPLE 32
#define ROWS_MOST 4 /* in one pass over the codes: their sums are in registers */
#define CHUNK 16    /* elements, the dialect's CHUNK_BEGIN and CHUNK_END */
#define LANES_MOST 128
#define HAS_BIAS 1u
#define HAS_D 2u

#define SUM_MEAN 131070
#define SUM_DEVIATION 37837.2274585 /* sqrt((2^32 - 1) / 3) */

/* ---- numbers ---- */

struct op_law op_law_of(uint64_t seed, uint64_t stream, double mean, double deviation)
{
    return (struct op_law){random_keyed(seed, stream), (float)mean,
                           (float)(deviation / SUM_DEVIATION)};
}

float op_law_number(const struct op_law *law, uint64_t position)
{
    const uint64_t bits = random_keyed(law->key, position);
    const uint64_t pairs = (bits & 0x0000ffff0000ffffu) + (bits >> 16 & 0x0000ffff0000ffffu);

    return law->mean +
           law->step * (float)((int32_t)((uint32_t)pairs + (uint32_t)(pairs >> 32)) - SUM_MEAN);
}

/* Inputs of a scale's block. */
static uint64_t block_cols(const struct op_packed *packed)
{
    return packed->cols ? packed->cols : packed->inputs;
}

static float matrix_scale(const struct op_packed *packed)
{
    return format_matrix_scale(packed->format, packed->law.step * (float)SUM_MEAN);
}

/* What a block is multiplied with; its largest magnitude is that of the law's numbers. */
static float scale_of(const struct op_packed *packed, uint64_t first_row, uint64_t first_col)
{
    const struct format *format = packed->format;
    const uint64_t rows = format->rows ? format->rows : 1;
    const float matrix = matrix_scale(packed);
    float largest = 0.0f;

    for (uint64_t o = first_row; o < first_row + rows && o < packed->outputs; o++)
        for (uint64_t i = first_col; i < first_col + block_cols(packed); i++)
            largest = fmaxf(largest, fabsf(op_law_number(&packed->law, o * packed->inputs + i)));
    return format_scale_decode(format, format_scale_encode(format, largest, matrix), matrix);
}

/* The part of a block that lies in the outputs [first, first + count). */
static void decode_block(const struct op_packed *packed, uint64_t row, uint64_t col, uint64_t first,
                         uint64_t count, float *ret)
{
    const struct format *format = packed->format;
    const uint64_t rows = format->rows ? format->rows : 1;
    const uint64_t begin = row < first ? first : row;
    const uint64_t end = row + rows < first + count ? row + rows : first + count;
    const float scale = scale_of(packed, row, col), inverse = format_inverse(scale);

    for (uint64_t o = begin; o < end; o++)
        for (uint64_t i = col; i < col + block_cols(packed); i++) {
            const float number = op_law_number(&packed->law, o * packed->inputs + i);

            ret[i * count + o - first] =
                scale * format_decode(format, format_encode(format, number * inverse));
        }
}

void op_packed_numbers(const struct op_packed *packed, uint64_t first, uint64_t count, bool decoded,
                       float *ret)
{
    const uint64_t rows = packed->format->rows ? packed->format->rows : 1;
    const uint64_t cols = block_cols(packed), inputs = packed->inputs;

    if (!decoded) {
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < inputs; i++)
            for (uint64_t o = 0; o < count; o++)
                ret[i * count + o] = op_law_number(&packed->law, (first + o) * inputs + i);
        return;
    }
#pragma omp parallel for schedule(dynamic) collapse(2)
    for (uint64_t row = first / rows; row <= (first + count - 1) / rows; row++)
        for (uint64_t col = 0; col < inputs / cols; col++)
            decode_block(packed, row * rows, col * cols, first, count, ret);
}

/* ---- shapes ---- */

bool op_packed_divides(uint64_t cols, uint64_t inputs)
{
    return inputs % INPUTS_MULTIPLE == 0 && (cols == 0 || inputs % cols == 0);
}

uint64_t op_packed_code_bytes(const struct op_packed *packed)
{
    return packed->outputs * packed->inputs * format_bits(packed->format) / 8;
}

uint64_t op_packed_scale_bytes(const struct op_packed *packed)
{
    const uint64_t rows = packed->format->rows ? packed->format->rows : 1;

    return (packed->outputs + rows - 1) / rows * (packed->inputs / block_cols(packed)) *
           format_scale_bits(packed->format) / 8;
}

/* ---- the texts ---- */

static enum status load(struct ops *ops, const struct format *format, uint64_t cols, uint64_t rows,
                        struct error *err)
{
    static const char *const files[] = {"fold.h", "vector.h", "packed.h"};
    const uint64_t numbers[] = {format->element, format->scale, format->rows ? format->rows : 1,
                                cols, rows};
    static const char *const names[] = {"ELEMENT_KIND", "SCALE_KIND", "BLOCK_ROWS", "BLOCK_COLS",
                                        "ROWS"};
    char values[5][24];
    struct module_define defines[STORAGE_DEFINES + 9] = {
        {"TYPE_A", "F32"}, {"TYPE_B", "F32"}, {"TYPE_C", "F32"}, {"REG_V", "1"}};
    const struct module_source source = {.file = "workloads/kernels/packed.h",
                                         .lanes = ops->lanes[OPS_PACKED],
                                         .defines = defines,
                                         .define_count = STORAGE_DEFINES + 9};

    for (size_t i = 0; i < 5; i++) {
        snprintf(values[i], sizeof(values[i]), "%llu", (unsigned long long)numbers[i]);
        defines[4 + i] = (struct module_define){names[i], values[i]};
    }
    storage_defines(ops->storage, defines + 9);
    return kernel_text_load(ops->device, files, sizeof(files) / sizeof(files[0]), source,
                            &ops->modules[OPS_PACKED], err);
}

enum status ops_packed(struct ops *ops, const struct format *format, uint64_t cols, uint64_t rows,
                       uint64_t most, struct error *err)
{
    const uint32_t lanes = ops->lanes[OPS_ROWS];

    ops->lanes[OPS_PACKED] = lanes < LANES_MOST ? lanes : LANES_MOST;
    ops->packed_rows = rows < ROWS_MOST ? rows : ROWS_MOST;
    if (ops->storage != DTYPE_F32)
        TRY(device_buffer_alloc(ops->device, rows * most * sizeof(float), BUFFER_READ_WRITE,
                                &ops->wide, err));
    return load(ops, format, cols, ops->packed_rows, err);
}

static enum status make_scales(struct ops *ops, const struct op_packed *packed, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(packed->scales),        arg_u64(packed->outputs),
        arg_u64(packed->inputs),           arg_u64(packed->law.key),
        arg_f32((double)packed->law.step), arg_f32((double)matrix_scale(packed)),
    };

    if (packed->format->scale == FORMAT_SCALE_MATRIX)
        return STATUS_OK;
    return OPS_LAUNCH(ops, OPS_PACKED, "packed_scales", packed->outputs, args, err);
}

enum status op_packed_make(struct ops *ops, const struct op_packed *packed, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(packed->codes),
        arg_buffer(packed->scales),
        arg_u64(packed->outputs),
        arg_u64(packed->inputs),
        arg_u64(packed->law.key),
        arg_f32((double)packed->law.step),
        arg_f32((double)matrix_scale(packed)),
    };

    TRY(make_scales(ops, packed, err));
    return OPS_LAUNCH(ops, OPS_PACKED, "packed_codes", packed->outputs, args, err);
}

enum status op_packed_fill(struct ops *ops, struct operand y, uint64_t count,
                           const struct op_law *law, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(y.buffer), arg_u64(y.offset),          arg_u64(count),
        arg_u64(law->key),    arg_f32((double)law->mean), arg_f32((double)law->step),
    };

    return OPS_LAUNCH(ops, OPS_PACKED, "packed_fill", (count + CHUNK - 1) / CHUNK, args, err);
}

/* x in f32: itself, or a copy, which may be there. */
static enum status widen(struct ops *ops, struct operand *x, uint64_t count, bool is_there,
                         struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(x->buffer),
        arg_buffer(ops->wide),
        arg_u64(x->offset),
        arg_u64(count),
    };

    if (ops->storage == DTYPE_F32)
        return STATUS_OK;
    *x = (struct operand){ops->wide, 0};
    if (is_there)
        return STATUS_OK;
    return OPS_LAUNCH(ops, OPS_PACKED, "packed_widen", (count + CHUNK - 1) / CHUNK, args, err);
}

enum status op_packed_product(struct ops *ops, const struct op_packed *packed,
                              const struct op_packed_product *op, struct error *err)
{
    const bool one_lane = ops->lanes[OPS_PACKED] == 1;
    const uint64_t wanted = one_lane ? (packed->outputs + CHUNK - 1) / CHUNK : packed->outputs;
    struct operand x = op->x;

    TRY(widen(ops, &x, op->rows * packed->inputs, op->same_x, err));
    {
        const struct kernel_arg args[] = {
            arg_buffer(x.buffer),
            arg_buffer(packed->codes),
            arg_buffer(packed->scales),
            arg_buffer(op->bias.buffer ? op->bias.buffer : op->y.buffer),
            arg_buffer(op->d.buffer ? op->d.buffer : op->y.buffer),
            arg_buffer(op->y.buffer),
            arg_u64(x.offset),
            arg_u64(op->bias.offset),
            arg_u64(op->d.offset),
            arg_u64(op->y.offset),
            arg_u64(op->rows),
            arg_u64(packed->outputs),
            arg_u64(packed->inputs),
            arg_f32((double)matrix_scale(packed)),
            arg_u32((op->bias.buffer ? HAS_BIAS : 0) | (op->d.buffer ? HAS_D : 0)),
        };
        const struct kernel_launch launch = {
            .module = ops->modules[OPS_PACKED],
            .kernel = "packed_product",
            .groups = {(uint32_t)(wanted < ops->groups_max ? wanted : ops->groups_max),
                       (uint32_t)((op->rows + ops->packed_rows - 1) / ops->packed_rows), 1},
            .args = args,
            .arg_count = sizeof(args) / sizeof(args[0]),
        };

        return device_kernel_launch(ops->device, &launch, err);
    }
}
