#include "workloads/ops/internal.h"

#include <math.h>
#include <string.h>

#define CHUNK 16 /* elements, the dialect's CHUNK_BEGIN and CHUNK_END */

/* More groups than there are chunks would have nothing to do. */
static uint64_t chunks(uint64_t count)
{
    return (count + CHUNK - 1) / CHUNK;
}

enum status op_causal_softmax(struct ops *ops, struct operand p, uint64_t matrices, uint64_t length,
                              struct error *err)
{
    const struct kernel_arg args[] = {arg_buffer(p.buffer), arg_u64(p.offset),
                                      arg_u64(matrices * length), arg_u64(length)};

    return OPS_LAUNCH(ops, OPS_ROWS, "causal_softmax_forward", matrices * length, args, err);
}

enum status op_causal_softmax_backward(struct ops *ops, struct operand p, struct buffer *dp,
                                       uint64_t matrices, uint64_t length, struct error *err)
{
    const struct kernel_arg args[] = {arg_buffer(p.buffer), arg_buffer(dp), arg_u64(p.offset),
                                      arg_u64(matrices * length), arg_u64(length)};

    return OPS_LAUNCH(ops, OPS_ROWS, "causal_softmax_backward", matrices * length, args, err);
}

enum status op_gelu(struct ops *ops, struct operand x, struct buffer *y, uint64_t count,
                    struct error *err)
{
    const struct kernel_arg args[] = {arg_buffer(x.buffer), arg_buffer(y), arg_u64(x.offset),
                                      arg_u64(count)};

    return OPS_LAUNCH(ops, OPS_ROWS, "gelu_forward", chunks(count), args, err);
}

enum status op_gelu_backward(struct ops *ops, struct operand x, struct buffer *dy, uint64_t count,
                             struct error *err)
{
    const struct kernel_arg args[] = {arg_buffer(x.buffer), arg_buffer(dy), arg_u64(x.offset),
                                      arg_u64(count)};

    return OPS_LAUNCH(ops, OPS_ROWS, "gelu_backward", chunks(count), args, err);
}

/* What both forms of the kernel take of the step. */
#define ADAMW_SCALARS 11
static void adamw_scalars(const struct op_adamw *adamw, struct kernel_arg ret[ADAMW_SCALARS])
{
    const double step = (double)adamw->step;
    const struct kernel_arg args[ADAMW_SCALARS] = {
        arg_u64(adamw->offset),
        arg_u64(adamw->count),
        arg_f32(adamw->rate),
        arg_f32(adamw->beta1),
        arg_f32(adamw->beta2),
        arg_f32(1.0 - adamw->beta1),
        arg_f32(1.0 - adamw->beta2),
        arg_f32(1.0 / (1.0 - pow(adamw->beta1, step))),
        arg_f32(1.0 / (1.0 - pow(adamw->beta2, step))),
        arg_f32(adamw->epsilon),
        arg_f32(adamw->decay),
    };

    memcpy(ret, args, sizeof(args));
}

enum status op_adamw(struct ops *ops, const struct op_adamw *adamw, struct error *err)
{
    struct kernel_arg args[6 + ADAMW_SCALARS + 1];
    size_t count = 0;

    args[count++] = arg_buffer(adamw->weights);
    if (adamw->copy)
        args[count++] = arg_buffer(adamw->copy);
    args[count++] = arg_buffer(adamw->gradients);
    args[count++] = arg_buffer(adamw->m);
    args[count++] = arg_buffer(adamw->v);
    if (adamw->copy) /* some stacks require one even if not read */
        args[count++] = arg_buffer(adamw->scaling ? adamw->scaling : adamw->weights);
    adamw_scalars(adamw, args + count);
    count += ADAMW_SCALARS;
    if (adamw->copy)
        args[count++] = arg_u32(adamw->scaling ? 1 : 0);
    return ops_launch(ops, OPS_ROWS, adamw->copy ? "adamw_mixed" : "adamw", chunks(adamw->count),
                      args, count, err);
}
