#include "workloads/ops/internal.h"

_Static_assert(sizeof(struct op_scaling_state) == 9 * sizeof(uint32_t),
               "laid out as kernels/transformer_scaling.h says");

enum status op_gradients_check(struct ops *ops, struct buffer *partial, struct buffer *gradients,
                               uint64_t count, uint64_t *ret_count, struct error *err)
{
    const uint64_t groups =
        ops->groups_max < OP_SCALING_PARTIALS ? ops->groups_max : OP_SCALING_PARTIALS;
    const struct kernel_arg args[] = {arg_buffer(gradients), arg_buffer(partial), arg_u64(count)};

    *ret_count = groups;
    return OPS_LAUNCH(ops, OPS_ROWS, "gradients_check", groups, args, err);
}

enum status op_scaling_step(struct ops *ops, struct buffer *scaling, struct buffer *partial,
                            struct buffer *gradients, uint64_t count, double beta1, double beta2,
                            uint32_t interval, struct error *err)
{
    uint64_t partials = 0;
    enum status status = op_gradients_check(ops, partial, gradients, count, &partials, err);
    const struct kernel_arg args[] = {
        arg_buffer(scaling),  arg_buffer(scaling),  arg_buffer(partial),
        arg_u64(partials),    arg_f32(beta1),       arg_f32(beta2),
        arg_f32(1.0 - beta1), arg_f32(1.0 - beta2), arg_u32(interval),
    };

    return status == STATUS_OK ? OPS_LAUNCH(ops, OPS_ROWS, "scaling_step", 1, args, err) : status;
}
