#include "workloads/ops/internal.h"

#include <stdlib.h>

/* Places in the buffer, in units of `rows`. */
enum { TOKENS, TARGETS, ORDER, UNIQUE, FIRST };

static int compare_tokens(const void *a, const void *b)
{
    const int32_t *x = a, *y = b; /* (token, position) */

    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

enum status op_tokens_index(int32_t *indices, uint64_t rows, uint64_t *ret_unique,
                            struct error *err)
{
    int32_t *order = indices + ORDER * rows, *unique = indices + UNIQUE * rows;
    int32_t *first = indices + FIRST * rows;
    int32_t(*pairs)[2] = malloc(rows * sizeof(*pairs));
    uint64_t count = 0;

    if (!pairs)
        return error_no_memory(err);
    for (uint64_t r = 0; r < rows; r++) {
        pairs[r][0] = indices[r];
        pairs[r][1] = (int32_t)r;
    }
    qsort(pairs, rows, sizeof(*pairs), compare_tokens);
    for (uint64_t r = 0; r < rows; r++) {
        order[r] = pairs[r][1];
        if (r == 0 || pairs[r][0] != pairs[r - 1][0]) {
            unique[count] = pairs[r][0];
            first[count++] = (int32_t)r;
        }
    }
    first[count] = (int32_t)rows;
    for (uint64_t r = count; r < rows; r++) { /* the rest is never read; keep it defined */
        unique[r] = 0;
        first[r + 1] = (int32_t)rows;
    }
    free(pairs);
    *ret_unique = count;
    return STATUS_OK;
}

enum status op_embedding(struct ops *ops, const struct op_tokens *tokens, struct operand wte,
                         struct operand wpe, struct operand x, uint64_t width, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(tokens->buffer), arg_buffer(wte.buffer),
        arg_buffer(x.buffer),       arg_u64(TOKENS * tokens->rows),
        arg_u64(wte.offset),        arg_u64(wpe.offset),
        arg_u64(x.offset),          arg_u64(tokens->rows),
        arg_u64(tokens->length),    arg_u64(width),
    };

    return OPS_LAUNCH(ops, OPS_ROWS, "embedding_forward", tokens->rows, args, err);
}

enum status op_embedding_backward(struct ops *ops, const struct op_tokens *tokens,
                                  struct buffer *dx, struct operand dwte, struct operand dwpe,
                                  uint64_t width, struct error *err)
{
    const struct kernel_arg by_token[] = {
        arg_buffer(tokens->buffer),
        arg_buffer(dx),
        arg_buffer(dwte.buffer),
        arg_u64(ORDER * tokens->rows),
        arg_u64(FIRST * tokens->rows),
        arg_u64(UNIQUE * tokens->rows),
        arg_u64(dwte.offset),
        arg_u64(tokens->unique),
        arg_u64(width),
    };
    const struct kernel_arg by_position[] = {
        arg_buffer(dx),        arg_buffer(dwpe.buffer), arg_u64(dwpe.offset),
        arg_u64(tokens->rows), arg_u64(tokens->length), arg_u64(width),
    };

    TRY(OPS_LAUNCH(ops, OPS_ROWS, "embedding_backward_tokens", tokens->unique, by_token, err));
    if (!dwpe.buffer)
        return STATUS_OK;
    return OPS_LAUNCH(ops, OPS_ROWS, "embedding_backward_positions", tokens->length, by_position,
                      err);
}

enum status op_cross_entropy(struct ops *ops, const struct op_tokens *tokens,
                             const struct op_logits *logits, struct buffer *total,
                             struct buffer *loss, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(logits->buffer), arg_buffer(tokens->buffer),      arg_buffer(total),
        arg_buffer(loss),           arg_u64(TARGETS * tokens->rows), arg_u64(tokens->rows),
        arg_u64(logits->classes),   arg_u64(logits->stride),
    };

    return OPS_LAUNCH(ops, OPS_ROWS, "cross_entropy_forward", tokens->rows, args, err);
}

enum status op_cross_entropy_backward(struct ops *ops, const struct op_tokens *tokens,
                                      const struct op_logits *logits, struct buffer *total,
                                      struct buffer *scaling, struct error *err)
{
    const struct kernel_arg args[] = {
        arg_buffer(logits->buffer),
        arg_buffer(tokens->buffer),
        arg_buffer(total),
        arg_buffer(scaling ? scaling : total), /* some stacks require one even if not read */
        arg_u64(TARGETS * tokens->rows),
        arg_u64(tokens->rows),
        arg_u64(logits->classes),
        arg_u64(logits->stride),
        arg_f32(1.0 / (double)tokens->rows),
        arg_u32(scaling ? 1 : 0),
    };

    return OPS_LAUNCH(ops, OPS_ROWS, "cross_entropy_backward", tokens->rows, args, err);
}

enum status op_mean(struct ops *ops, struct buffer *x, uint64_t count, struct buffer *ret,
                    uint64_t slot, struct error *err)
{
    const struct kernel_arg args[] = {arg_buffer(x), arg_buffer(ret), arg_u64(slot), arg_u64(count),
                                      arg_f32(1.0 / (double)count)};

    return OPS_LAUNCH(ops, OPS_ROWS, "scaled_sum", 1, args, err);
}
