#include <math.h>

#include "workloads/ops/internal.h"

#define CHUNK 16   /* elements, the dialect's CHUNK_BEGIN and CHUNK_END */
#define COLUMNS 64 /* of a single lane, kernels/stack_backward.h */

enum status ops_stack_backward(struct ops *ops, struct error *err)
{
    ops->lanes[OPS_STACK_BACKWARD] = ops->lanes[OPS_ROWS];
    return ops_compile(ops, OPS_STACK_BACKWARD, ops->lanes[OPS_STACK_BACKWARD],
                       &ops->modules[OPS_STACK_BACKWARD], err);
}

enum status op_backward_statistics(struct ops *ops, uint64_t count, struct buffer **ret,
                                   struct error *err)
{
    return device_buffer_alloc(ops->device, count * sizeof(float), BUFFER_READ_WRITE, ret, err);
}

enum status op_clear(struct ops *ops, struct operand x, uint64_t count, struct error *err)
{
    const struct kernel_arg args[] = {arg_buffer(x.buffer), arg_u64(x.offset), arg_u64(count)};

    return OPS_LAUNCH(ops, OPS_STACK_BACKWARD, "stack_clear", (count + CHUNK - 1) / CHUNK, args,
                      err);
}

/* The gradient of the gain of `count` parts of each row from part `from` on. */
static enum status add_gain(struct ops *ops, const struct op_rms_backward *op, uint64_t from,
                            uint64_t count, struct operand out, struct error *err)
{
    const struct op_rms *rms = &op->forward;
    const uint64_t lanes = ops->lanes[OPS_STACK_BACKWARD], block = lanes == 1 ? COLUMNS : lanes;
    uint64_t slices = 1;

    TRY(ops_cut_rows(ops, rms->rows, rms->size, &slices, err));
    {
        const struct kernel_arg args[] = {
            arg_buffer(rms->x.buffer),
            arg_buffer(op->dy.buffer),
            arg_buffer(op->statistics),
            arg_buffer(out.buffer),
            arg_buffer(slices > 1 ? ops->partial : op->statistics),
            arg_u64(rms->x.offset),
            arg_u64(op->dy.offset),
            arg_u64(out.offset),
            arg_u64(rms->rows),
            arg_u64(from),
            arg_u64(count),
            arg_u64(rms->first + rms->second + rms->others),
            arg_u64(rms->size),
            arg_u64(slices),
        };

        TRY(OPS_LAUNCH(ops, OPS_STACK_BACKWARD, "stack_gain",
                       (rms->size + block - 1) / block * slices, args, err));
    }
    return ops_add_slices(ops, out.buffer, out.offset, 0, slices, 1, rms->size, err);
}

enum status op_rms_backward(struct ops *ops, const struct op_rms_backward *op, struct error *err)
{
    const struct op_rms *rms = &op->forward;
    const uint64_t all = rms->first + rms->second + rms->others;
    const struct kernel_arg args[] = {
        arg_buffer(rms->x.buffer),
        arg_buffer(rms->gain.buffer),
        arg_buffer(rms->other_gain.buffer ? rms->other_gain.buffer : rms->gain.buffer),
        arg_buffer(op->dy.buffer),
        arg_buffer(op->base.buffer ? op->base.buffer : op->dy.buffer),
        arg_buffer(op->dx.buffer),
        arg_buffer(op->statistics),
        arg_u64(rms->x.offset),
        arg_u64(rms->gain.offset),
        arg_u64(rms->other_gain.offset),
        arg_u64(op->dy.offset),
        arg_u64(op->base.offset),
        arg_u64(op->dx.offset),
        arg_u64(rms->rows),
        arg_u64(rms->first),
        arg_u64(rms->second),
        arg_u64(all),
        arg_u64(rms->size),
        arg_u32(op->base.buffer ? 1 : 0),
        arg_f32(rms->epsilon),
    };

    TRY(OPS_LAUNCH(ops, OPS_STACK_BACKWARD, "stack_rms_backward", rms->rows * all, args, err));
    TRY(add_gain(ops, op, 0, rms->first, op->d_gain, err));
    return rms->second ? add_gain(ops, op, rms->first, rms->second, op->d_other_gain, err)
                       : STATUS_OK;
}

enum status op_gate_backward(struct ops *ops, const struct op_gate_backward *op, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(op->dy.buffer), arg_buffer(op->g.buffer),  arg_buffer(op->x.buffer),
        arg_buffer(op->dg.buffer), arg_buffer(op->dx.buffer), arg_u64(op->dy.offset),
        arg_u64(op->g.offset),     arg_u64(op->x.offset),     arg_u64(op->dg.offset),
        arg_u64(op->dx.offset),    arg_u64(op->count),
    };

    return OPS_LAUNCH(ops, OPS_STACK_BACKWARD, "stack_gate_backward",
                      (op->count + CHUNK - 1) / CHUNK, args, err);
}

enum status op_heads_backward(struct ops *ops, const struct op_heads_backward *op,
                              struct error *err)
{
    const struct op_heads *heads = &op->forward;
    const uint64_t rows = heads->sequences * heads->length;
    const struct kernel_arg args[] = {
        arg_buffer(heads->qkv.buffer),
        arg_buffer(heads->values.buffer),
        arg_buffer(op->d_qkv.buffer),
        arg_buffer(op->statistics),
        arg_u64(heads->qkv.offset),
        arg_u64(heads->values.offset),
        arg_u64(op->d_qkv.offset),
        arg_u64(rows),
        arg_u64(heads->length),
        arg_u64(heads->heads),
        arg_u64(heads->kv_heads),
        arg_u64(heads->size),
        arg_f32(1.0 / sqrt((double)heads->size)),
    };

    TRY(OPS_LAUNCH(ops, OPS_STACK_BACKWARD, "stack_attention_queries", rows * heads->heads, args,
                   err));
    return OPS_LAUNCH(ops, OPS_STACK_BACKWARD, "stack_attention_keys", rows * heads->kv_heads, args,
                      err);
}
