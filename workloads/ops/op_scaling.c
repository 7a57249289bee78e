#include "workloads/ops/internal.h"

_Static_assert(sizeof(struct op_scaling_state) == 8 * sizeof(uint32_t),
               "laid out as kernels/transformer_scaling.h says");

enum status op_scaling_step(struct ops *ops, struct buffer *scaling, struct buffer *partial,
                            struct buffer *gradients, uint64_t count, double beta1, double beta2,
                            uint32_t interval, struct error *err)
{
    const uint64_t groups =
        ops->groups_max < OP_SCALING_PARTIALS ? ops->groups_max : OP_SCALING_PARTIALS;
    const struct kernel_arg check[] = {arg_buffer(gradients), arg_buffer(partial), arg_u64(count)};
    const struct kernel_arg step[] = {
        arg_buffer(scaling),  arg_buffer(scaling),  arg_buffer(partial),
        arg_u64(groups),      arg_f32(beta1),       arg_f32(beta2),
        arg_f32(1.0 - beta1), arg_f32(1.0 - beta2), arg_u32(interval),
    };
    enum status status = OPS_LAUNCH(ops, OPS_ROWS, "gradients_check", groups, check, err);

    if (status == STATUS_OK)
        status = OPS_LAUNCH(ops, OPS_ROWS, "scaling_step", 1, step, err);
    return status;
}
