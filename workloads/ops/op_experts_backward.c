#include "workloads/ops/internal.h"

#define COLUMNS 64 /* of a single lane, kernels/experts_backward.h */

enum status ops_experts_backward(struct ops *ops, struct error *err)
{
    ops->lanes[OPS_EXPERTS_BACKWARD] = ops->lanes[OPS_ROWS];
    return ops_compile(ops, OPS_EXPERTS_BACKWARD, ops->lanes[OPS_EXPERTS_BACKWARD],
                       &ops->modules[OPS_EXPERTS_BACKWARD], err);
}

enum status op_experts_weigh(struct ops *ops, const struct op_experts *op, struct operand scores,
                             struct buffer *routing, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(scores.buffer), arg_buffer(routing),       arg_buffer(op->gates.buffer),
        arg_u64(scores.offset),    arg_u64(op->gates.offset), arg_u64(op->rows),
        arg_u64(op->experts),      arg_u64(op->top),
    };

    return OPS_LAUNCH(ops, OPS_EXPERTS_BACKWARD, "experts_weigh", op->rows, args, err);
}

enum status op_experts_weigh_backward(struct ops *ops, const struct op_experts *op,
                                      struct operand up, struct operand out, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(up.buffer), arg_buffer(op->gates.buffer), arg_buffer(out.buffer),
        arg_u64(up.offset),    arg_u64(op->gates.offset),    arg_u64(out.offset),
        arg_u64(op->rows),     arg_u64(op->experts),
    };

    return OPS_LAUNCH(ops, OPS_EXPERTS_BACKWARD, "experts_weigh_backward", op->rows, args, err);
}

enum status op_experts_gates_backward(struct ops *ops, const struct op_experts *op,
                                      struct operand dy, struct operand x, struct operand out,
                                      uint64_t n, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(dy.buffer),     arg_buffer(x.buffer), arg_buffer(op->gates.buffer),
        arg_buffer(out.buffer),    arg_u64(dy.offset),   arg_u64(x.offset),
        arg_u64(op->gates.offset), arg_u64(out.offset),  arg_u64(op->rows),
        arg_u64(op->experts),      arg_u64(op->top),     arg_u64(n),
    };

    return OPS_LAUNCH(ops, OPS_EXPERTS_BACKWARD, "experts_gates_backward", op->rows, args, err);
}

enum status op_experts_combine_backward(struct ops *ops, const struct op_experts *op,
                                        struct operand dy, struct operand dx, uint64_t n,
                                        struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(dy.buffer),     arg_buffer(op->gates.buffer),
        arg_buffer(dx.buffer),     arg_u64(dy.offset),
        arg_u64(op->gates.offset), arg_u64(dx.offset),
        arg_u64(op->rows),         arg_u64(op->experts),
        arg_u64(op->top),          arg_u64(n),
    };

    return OPS_LAUNCH(ops, OPS_EXPERTS_BACKWARD, "experts_combine_backward", op->rows, args, err);
}

static enum status add_inputs(struct ops *ops, const struct op_experts_backward *op,
                              struct error *err)
{
    const struct op_experts_product *forward = &op->forward;
    const struct op_experts *of = &forward->of;
    const uint64_t parts = forward->each ? of->top : 1;
    const struct kernel_arg args[] = {
        arg_buffer(op->dy.buffer),
        arg_buffer(forward->w.buffer),
        arg_buffer(of->gates.buffer),
        arg_buffer(op->base.buffer ? op->base.buffer : op->dy.buffer),
        arg_buffer(op->dx.buffer),
        arg_u64(op->dy.offset),
        arg_u64(forward->w.offset),
        arg_u64(of->gates.offset),
        arg_u64(op->base.offset),
        arg_u64(op->dx.offset),
        arg_u64(of->rows),
        arg_u64(of->experts),
        arg_u64(of->top),
        arg_u64(parts),
        arg_u64(forward->k),
        arg_u64(forward->n),
        arg_u32(op->base.buffer ? 1 : 0),
    };

    return OPS_LAUNCH(ops, OPS_EXPERTS_BACKWARD, "experts_inputs_backward", of->rows * parts, args,
                      err);
}

enum status op_experts_product_backward(struct ops *ops, const struct op_experts_backward *op,
                                        struct error *err)
{
    const struct op_experts_product *forward = &op->forward;
    const struct op_experts *of = &forward->of;
    const uint64_t lanes = ops->lanes[OPS_EXPERTS_BACKWARD], block = lanes == 1 ? COLUMNS : lanes;
    const struct kernel_arg args[] = {
        arg_buffer(forward->x.buffer),
        arg_buffer(op->dy.buffer),
        arg_buffer(ops->experts),
        arg_buffer(op->dw.buffer),
        arg_u64(forward->x.offset),
        arg_u64(op->dy.offset),
        arg_u64(op->dw.offset),
        arg_u64(of->rows),
        arg_u64(of->experts),
        arg_u64(of->top),
        arg_u64(forward->each ? 1 : of->top),
        arg_u64(forward->k),
        arg_u64(forward->n),
    };

    TRY(add_inputs(ops, op, err));
    return OPS_LAUNCH(ops, OPS_EXPERTS_BACKWARD, "experts_weights_backward",
                      of->experts * forward->k * ((forward->n + block - 1) / block), args, err);
}
