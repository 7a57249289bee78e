#include "workloads/ops/internal.h"

enum status op_step_embedding(struct ops *ops, const struct op_step *step, struct operand wte,
                              struct operand wpe, struct operand x, uint64_t width,
                              struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(step->tokens), arg_buffer(step->table), arg_buffer(wte.buffer),
        arg_buffer(x.buffer),     arg_u64(step->at),       arg_u64(step->position),
        arg_u64(wte.offset),      arg_u64(wpe.offset),     arg_u64(x.offset),
        arg_u64(step->rows),      arg_u64(width),
    };

    return OPS_LAUNCH(ops, OPS_ROWS, "generation_embedding", step->rows, args, err);
}

enum status op_step_keep(struct ops *ops, const struct op_step *step, struct operand qkv,
                         struct operand cache, uint64_t width, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(qkv.buffer), arg_buffer(step->table), arg_buffer(cache.buffer),
        arg_u64(qkv.offset),    arg_u64(step->place),    arg_u64(cache.offset),
        arg_u64(step->rows),    arg_u64(3 * width),      arg_u64(width),
        arg_u64(2 * width),
    };

    return OPS_LAUNCH(ops, OPS_ROWS, "generation_scatter", step->rows, args, err);
}

enum status op_step_gather(struct ops *ops, const struct op_step *step, struct operand x,
                           struct operand y, uint64_t width, bool in_order, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(x.buffer),   arg_buffer(step->table), arg_buffer(y.buffer),
        arg_u64(x.offset),      arg_u64(step->row),      arg_u64(y.offset),
        arg_u64(step->outputs), arg_u64(width),          arg_u32(in_order ? 1 : 0),
    };

    return OPS_LAUNCH(ops, OPS_ROWS, "generation_gather", step->outputs, args, err);
}

enum status op_step_choose(struct ops *ops, const struct op_step *step,
                           const struct op_logits *logits, bool f32, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(logits->buffer), arg_buffer(step->table), arg_buffer(step->tokens),
        arg_u64(step->at),          arg_u64(step->row),      arg_u64(step->outputs),
        arg_u64(logits->classes),   arg_u64(logits->stride),
    };

    return OPS_LAUNCH(ops, OPS_ROWS, f32 ? "generation_choose_f32" : "generation_choose",
                      step->outputs, args, err);
}
