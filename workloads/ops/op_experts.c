#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/ops/internal.h"

#define TILE 8 /* kernels/experts.h */

uint64_t op_experts_bytes(uint64_t rows, uint64_t experts)
{
    return rows > UINT64_MAX / sizeof(int32_t) / experts - 1
               ? UINT64_MAX
               : (rows + 1) * experts * sizeof(int32_t);
}

enum status ops_experts(struct ops *ops, uint64_t rows, uint64_t experts, struct error *err)
{
    ops->lanes[OPS_EXPERTS] = ops->lanes[OPS_ROWS];
    TRY(ops_compile(ops, OPS_EXPERTS, ops->lanes[OPS_EXPERTS], &ops->modules[OPS_EXPERTS], err));
    TRY(device_buffer_alloc(ops->device, op_experts_bytes(rows, experts), BUFFER_READ_WRITE,
                            &ops->experts, err));
    return op_experts_forget(ops, experts, err);
}

enum status op_experts_forget(struct ops *ops, uint64_t experts, struct error *err)
{
    AUTO_FREE int32_t *none = calloc(experts, sizeof(*none));

    return none ? device_upload(ops->experts, 0, none, experts * sizeof(*none), err)
                : error_no_memory(err);
}

enum status op_experts_choose(struct ops *ops, const struct op_experts *op, struct operand scores,
                              struct operand choice, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(scores.buffer), arg_buffer(op->gates.buffer), arg_buffer(choice.buffer),
        arg_u64(scores.offset),    arg_u64(op->gates.offset),    arg_u64(choice.offset),
        arg_u64(op->rows),         arg_u64(op->experts),         arg_u64(op->top),
    };

    return OPS_LAUNCH(ops, OPS_EXPERTS, "experts_choose", op->rows, args, err);
}

enum status op_experts_assign(struct ops *ops, const struct op_experts *op, struct buffer *routing,
                              struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(routing), arg_buffer(op->gates.buffer), arg_u64(op->gates.offset),
        arg_u64(op->rows),   arg_u64(op->experts),         arg_u64(op->top),
    };

    return OPS_LAUNCH(ops, OPS_EXPERTS, "experts_assign", op->rows, args, err);
}

enum status op_experts_sort(struct ops *ops, const struct op_experts *op, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(op->gates.buffer), arg_buffer(ops->experts),
        arg_u64(op->gates.offset),    arg_u64(op->rows),
        arg_u64(op->experts),         arg_u64(op->top),
    };

    return OPS_LAUNCH(ops, OPS_EXPERTS, "experts_sort", op->experts, args, err);
}

enum status op_experts_product(struct ops *ops, const struct op_experts_product *op,
                               struct error *err)
{
    const struct op_experts *of = &op->of;
    const uint64_t routed = of->rows * of->top, lanes = ops->lanes[OPS_EXPERTS];
    const uint64_t columns = lanes == 1 ? 256 : lanes; /* of a group, there */
    const uint64_t tiles = (routed < of->experts ? routed : of->experts) + routed / TILE;
    const struct kernel_arg args[] = {
        arg_buffer(op->x.buffer),
        arg_buffer(op->w.buffer),
        arg_buffer(ops->experts),
        arg_buffer(op->y.buffer),
        arg_u64(op->x.offset),
        arg_u64(op->w.offset),
        arg_u64(op->y.offset),
        arg_u64(of->rows),
        arg_u64(of->experts),
        arg_u64(of->top),
        arg_u64(op->each ? 1 : of->top),
        arg_u64(op->k),
        arg_u64(op->n),
        arg_u64(tiles),
    };

    return OPS_LAUNCH(ops, OPS_EXPERTS, "experts_product",
                      tiles * ((op->n + columns - 1) / columns), args, err);
}

enum status op_experts_combine(struct ops *ops, const struct op_experts *op, struct operand x,
                               struct operand base, struct operand y, uint64_t n, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(x.buffer),
        arg_buffer(op->gates.buffer),
        arg_buffer(base.buffer ? base.buffer : x.buffer),
        arg_buffer(y.buffer),
        arg_u64(x.offset),
        arg_u64(op->gates.offset),
        arg_u64(base.offset),
        arg_u64(y.offset),
        arg_u64(op->rows),
        arg_u64(op->experts),
        arg_u64(op->top),
        arg_u64(n),
        arg_u32(base.buffer ? 1 : 0),
    };

    return OPS_LAUNCH(ops, OPS_EXPERTS, "experts_combine", op->rows, args, err);
}
