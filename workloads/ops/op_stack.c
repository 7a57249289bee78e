#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/ops/internal.h"

#define CHUNK 16 /* elements, the dialect's CHUNK_BEGIN and CHUNK_END */

enum status ops_stack(struct ops *ops, struct error *err)
{
    ops->lanes[OPS_STACK] = ops->lanes[OPS_ROWS];
    return ops_compile(ops, OPS_STACK, ops->lanes[OPS_STACK], &ops->modules[OPS_STACK], err);
}

enum status op_rms(struct ops *ops, const struct op_rms *op, struct error *err)
{
    const uint64_t all = op->first + op->second + op->others;
    const struct kernel_arg args[] = {
        arg_buffer(op->x.buffer),
        arg_buffer(op->gain.buffer),
        arg_buffer(op->other_gain.buffer ? op->other_gain.buffer : op->gain.buffer),
        arg_buffer(op->y.buffer),
        arg_u64(op->x.offset),
        arg_u64(op->gain.offset),
        arg_u64(op->other_gain.offset),
        arg_u64(op->y.offset),
        arg_u64(op->rows),
        arg_u64(op->first),
        arg_u64(op->second),
        arg_u64(all),
        arg_u64(op->size),
        arg_f32(op->epsilon),
    };

    return OPS_LAUNCH(ops, OPS_STACK, "stack_rms", op->rows * all, args, err);
}

enum status op_rope_turns(struct ops *ops, double base, bool inverse, uint64_t first,
                          uint64_t length, uint64_t size, struct buffer **ret, struct error *err)
{
    const uint64_t half = size / 2, bytes = length * size * sizeof(float);
    AUTO_FREE float *turns = malloc(bytes);

    if (!turns)
        return error_no_memory(err);
    for (uint64_t i = 0; i < length * half; i++) {
        const double angle =
            (double)(first + i / half) * pow(base, -(double)(i % half) / (double)half);

        turns[2 * i] = (float)cos(angle);
        turns[2 * i + 1] = (float)sin(inverse ? -angle : angle);
    }
    TRY(device_buffer_alloc(ops->device, bytes, BUFFER_READ_WRITE, ret, err));
    return device_upload(*ret, 0, turns, bytes, err);
}

enum status op_rope(struct ops *ops, const struct op_rope *op, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(op->x.buffer), arg_buffer(op->turns), arg_buffer(op->y.buffer),
        arg_u64(op->x.offset),    arg_u64(op->y.offset), arg_u64(op->rows),
        arg_u64(op->length),      arg_u64(op->turned),   arg_u64(op->heads),
        arg_u64(op->size),
    };

    return OPS_LAUNCH(ops, OPS_STACK, "stack_rope", op->rows * op->heads, args, err);
}

enum status op_gate(struct ops *ops, struct operand g, struct operand x, struct operand y,
                    uint64_t count, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(g.buffer), arg_buffer(x.buffer), arg_buffer(y.buffer), arg_u64(g.offset),
        arg_u64(x.offset),    arg_u64(y.offset),    arg_u64(count),
    };

    return OPS_LAUNCH(ops, OPS_STACK, "stack_gate", (count + CHUNK - 1) / CHUNK, args, err);
}

enum status op_table_rows(struct ops *ops, const struct op_tokens *tokens, struct operand table,
                          struct operand positions, struct operand x, uint64_t width,
                          struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(tokens->buffer),
        arg_buffer(table.buffer),
        arg_buffer(positions.buffer ? positions.buffer : table.buffer),
        arg_buffer(x.buffer),
        arg_u64(table.offset),
        arg_u64(positions.offset),
        arg_u64(x.offset),
        arg_u64(tokens->rows),
        arg_u64(positions.buffer ? tokens->length : 0),
        arg_u64(width),
    };

    return OPS_LAUNCH(ops, OPS_STACK, "stack_rows", tokens->rows, args, err);
}
