#include "workloads/ops/internal.h"
#include "workloads/storage.h"

#define COLUMNS 64 /* of a single lane, kernels/transformer_norm.h */
#define SLICES_MAX 256
#define SLICE_ROWS 16 /* at least */

static uint64_t column_groups(const struct ops *ops, uint64_t width)
{
    const uint32_t lanes = ops->lanes[OPS_ROWS];
    const uint64_t block =
        lanes == 1 ? COLUMNS : (uint64_t)lanes * storage_pack(ops->storage, ops->width, lanes);

    return (width + block - 1) / block;
}

enum status ops_cut_rows(struct ops *ops, uint64_t rows, uint64_t sums, uint64_t *ret,
                         struct error *err)
{
    const uint64_t parts = rows / SLICE_ROWS < SLICES_MAX ? rows / SLICE_ROWS : SLICES_MAX;
    const uint64_t bytes = parts * sums * sizeof(float);
    enum status status = STATUS_OK;

    *ret = ops->lanes[OPS_ROWS] == 1 || parts == 0 ? 1 : parts;
    if (*ret == 1 || bytes <= ops->partial_bytes)
        return STATUS_OK;
    if (ops->partial) /* kernels that use it may be under way */
        status = device_synchronize(ops->device, err);
    device_buffer_free(ops->partial);
    ops->partial = NULL;
    ops->partial_bytes = 0;
    if (status == STATUS_OK)
        status = device_buffer_alloc(ops->device, bytes, BUFFER_READ_WRITE, &ops->partial, err);
    if (status == STATUS_OK)
        ops->partial_bytes = bytes;
    return status;
}

enum status ops_add_slices(struct ops *ops, struct buffer *out, uint64_t first, uint64_t second,
                           uint64_t slices, uint64_t sums, uint64_t width, struct error *err)
{
    const uint64_t lanes = ops->lanes[OPS_ROWS];
    const struct kernel_arg args[] = {
        arg_buffer(ops->partial), arg_buffer(out), arg_u64(first), arg_u64(second),
        arg_u64(slices),          arg_u64(sums),   arg_u64(width),
    };

    return slices > 1 ? OPS_LAUNCH(ops, OPS_ROWS, "slices_sum", (sums * width + lanes - 1) / lanes,
                                   args, err)
                      : STATUS_OK;
}

enum status op_norm_forward(struct ops *ops, const struct op_norm *norm, struct operand y,
                            struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(norm->x.buffer), arg_buffer(norm->gain.buffer), arg_buffer(norm->bias.buffer),
        arg_buffer(y.buffer),       arg_buffer(norm->mean.buffer), arg_buffer(norm->rstd.buffer),
        arg_u64(norm->x.offset),    arg_u64(norm->gain.offset),    arg_u64(norm->bias.offset),
        arg_u64(y.offset),          arg_u64(norm->mean.offset),    arg_u64(norm->rstd.offset),
        arg_u64(norm->rows),        arg_u64(norm->width),          arg_f32(norm->epsilon),
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
    uint64_t slices = 1;

    TRY(OPS_LAUNCH(ops, OPS_ROWS, "norm_backward", norm->rows, rows, err));
    TRY(ops_cut_rows(ops, norm->rows, 2 * norm->width, &slices, err));
    {
        const struct kernel_arg columns[] = {
            arg_buffer(norm->x.buffer),    arg_buffer(norm->mean.buffer),
            arg_buffer(norm->rstd.buffer), arg_buffer(dy),
            arg_buffer(gradients),         arg_buffer(slices > 1 ? ops->partial : gradients),
            arg_u64(norm->x.offset),       arg_u64(norm->mean.offset),
            arg_u64(norm->rstd.offset),    arg_u64(norm->gain.offset),
            arg_u64(norm->bias.offset),    arg_u64(norm->rows),
            arg_u64(norm->width),          arg_u64(slices),
        };

        TRY(OPS_LAUNCH(ops, OPS_ROWS, "norm_backward_parameters",
                       column_groups(ops, norm->width) * slices, columns, err));
    }
    return ops_add_slices(ops, gradients, norm->gain.offset, norm->bias.offset, slices, 2,
                          norm->width, err);
}

enum status op_column_sum(struct ops *ops, struct operand dy, struct operand out, uint64_t rows,
                          uint64_t width, struct error *err)
{
    uint64_t slices = 1;

    TRY(ops_cut_rows(ops, rows, width, &slices, err));
    {
        const struct kernel_arg args[] = {
            arg_buffer(dy.buffer),
            arg_buffer(out.buffer),
            arg_buffer(slices > 1 ? ops->partial : out.buffer),
            arg_u64(dy.offset),
            arg_u64(out.offset),
            arg_u64(rows),
            arg_u64(width),
            arg_u64(slices),
        };

        TRY(OPS_LAUNCH(ops, OPS_ROWS, "column_sum", column_groups(ops, width) * slices, args, err));
    }
    return ops_add_slices(ops, out.buffer, out.offset, 0, slices, 1, width, err);
}
