#include "workloads/ops/internal.h"

#include "workloads/models/gpt2.h"

#define COLUMNS 64 /* of a single lane, kernels/transformer_norm.h */

static uint64_t column_groups(const struct ops *ops, uint64_t width)
{
    uint64_t block = ops->lanes[OPS_ROWS] == 1 ? COLUMNS : ops->lanes[OPS_ROWS];

    return (width + block - 1) / block;
}

enum status op_norm_forward(struct ops *ops, const struct op_norm *norm, struct operand y,
                            struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(norm->x.buffer), arg_buffer(norm->gain.buffer), arg_buffer(norm->bias.buffer),
        arg_buffer(y.buffer),       arg_buffer(norm->mean.buffer), arg_buffer(norm->rstd.buffer),
        arg_u64(norm->x.offset),    arg_u64(norm->gain.offset),    arg_u64(norm->bias.offset),
        arg_u64(y.offset),          arg_u64(norm->mean.offset),    arg_u64(norm->rstd.offset),
        arg_u64(norm->rows),        arg_u64(norm->width),          arg_f32(GPT2_NORM_EPSILON),
    };

    return OPS_LAUNCH(ops, OPS_ROWS, "norm_forward", norm->rows, args, err);
}

enum status op_norm_backward(struct ops *ops, const struct op_norm *norm, struct buffer *dy,
                             struct buffer *dx, bool add, struct buffer *gradients,
                             struct error *err)
{
    const struct kernel_arg rows[] = {
        arg_buffer(norm->x.buffer),
        arg_buffer(norm->gain.buffer),
        arg_buffer(norm->mean.buffer),
        arg_buffer(norm->rstd.buffer),
        arg_buffer(dy),
        arg_buffer(dx),
        arg_u64(norm->x.offset),
        arg_u64(norm->gain.offset),
        arg_u64(norm->mean.offset),
        arg_u64(norm->rstd.offset),
        arg_u64(norm->rows),
        arg_u64(norm->width),
        arg_u32(add ? 1 : 0),
    };
    const struct kernel_arg columns[] = {
        arg_buffer(norm->x.buffer),    arg_buffer(norm->mean.buffer),
        arg_buffer(norm->rstd.buffer), arg_buffer(dy),
        arg_buffer(gradients),         arg_u64(norm->x.offset),
        arg_u64(norm->mean.offset),    arg_u64(norm->rstd.offset),
        arg_u64(norm->gain.offset),    arg_u64(norm->bias.offset),
        arg_u64(norm->rows),           arg_u64(norm->width),
    };
    enum status status = OPS_LAUNCH(ops, OPS_ROWS, "norm_backward", norm->rows, rows, err);

    if (status == STATUS_OK)
        status = OPS_LAUNCH(ops, OPS_ROWS, "norm_backward_parameters",
                            column_groups(ops, norm->width), columns, err);
    return status;
}

enum status op_column_sum(struct ops *ops, struct operand dy, struct operand out, uint64_t rows,
                          uint64_t width, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(dy.buffer), arg_buffer(out.buffer), arg_u64(dy.offset),
        arg_u64(out.offset),   arg_u64(rows),          arg_u64(width),
    };

    return OPS_LAUNCH(ops, OPS_ROWS, "column_sum", column_groups(ops, width), args, err);
}
