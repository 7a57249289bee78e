#include "workloads/ops/internal.h"

#define CHUNK 16 /* elements, the dialect's CHUNK_BEGIN and CHUNK_END */

enum status op_int8_quantise(struct ops *ops, struct operand x, struct buffer *y, uint64_t count,
                             float scale, struct error *err)
{
    const struct kernel_arg args[] = {arg_buffer(x.buffer), arg_buffer(y), arg_u64(x.offset),
                                      arg_u64(count), arg_f32(1.0 / (double)scale)};

    return OPS_LAUNCH(ops, OPS_ROWS, "int8_quantise", (count + CHUNK - 1) / CHUNK, args, err);
}

enum status op_int8_norm(struct ops *ops, const struct op_norm *norm, struct buffer *y, float scale,
                         struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(norm->x.buffer),    arg_buffer(norm->gain.buffer),
        arg_buffer(norm->bias.buffer), arg_buffer(y),
        arg_u64(norm->x.offset),       arg_u64(norm->gain.offset),
        arg_u64(norm->bias.offset),    arg_u64(norm->rows),
        arg_u64(norm->width),          arg_f32(norm->epsilon),
        arg_f32(1.0 / (double)scale),
    };

    return OPS_LAUNCH(ops, OPS_ROWS, "int8_norm", norm->rows, args, err);
}

enum status op_int8_dequantise(struct ops *ops, const struct op_int8_sums *sums, struct operand d,
                               struct operand y, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(sums->sums),
        arg_buffer(sums->scales.buffer),
        arg_buffer(sums->bias.buffer),
        arg_buffer(d.buffer ? d.buffer : y.buffer), /* some stacks want one that is not read too */
        arg_buffer(y.buffer),
        arg_u64(sums->scales.offset),
        arg_u64(sums->bias.offset),
        arg_u64(d.offset),
        arg_u64(y.offset),
        arg_u64(sums->rows),
        arg_u64(sums->width),
        arg_f32((double)sums->scale),
        arg_u32(d.buffer ? 1 : 0),
    };

    return OPS_LAUNCH(ops, OPS_ROWS, "int8_dequantise", sums->rows, args, err);
}

enum status op_int8_gelu(struct ops *ops, const struct op_int8_sums *sums, struct buffer *y,
                         float scale, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(sums->sums),        arg_buffer(sums->scales.buffer),
        arg_buffer(sums->bias.buffer), arg_buffer(y),
        arg_u64(sums->scales.offset),  arg_u64(sums->bias.offset),
        arg_u64(sums->rows),           arg_u64(sums->width),
        arg_f32((double)sums->scale),  arg_f32(1.0 / (double)scale),
    };

    return OPS_LAUNCH(ops, OPS_ROWS, "int8_gelu", sums->rows, args, err);
}

enum status op_int8_logits(struct ops *ops, const struct op_int8_sums *sums, uint64_t stride,
                           struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(sums->sums), arg_buffer(sums->scales.buffer),
        arg_buffer(sums->sums), arg_u64(sums->scales.offset),
        arg_u64(sums->rows),    arg_u64(sums->width),
        arg_u64(stride),        arg_f32((double)sums->scale),
    };

    return OPS_LAUNCH(ops, OPS_ROWS, "int8_logits", sums->rows, args, err);
}
