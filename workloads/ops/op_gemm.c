#include "workloads/ops/internal.h"

#define HAS_BIAS 8u /* kernels/gemm.h */
#define HAS_D 16u

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

enum status op_gemm(struct ops *ops, const struct op_gemm *gemm, struct error *err)
{
    const uint64_t inner = gemm->inner ? gemm->inner : 1, outer = gemm->outer ? gemm->outer : 1;
    const struct op_matrix *a = &gemm->a, *b = &gemm->b, *c = &gemm->c;
    const uint32_t shape = (uint32_t)gemm->triangle | (gemm->bias.buffer ? HAS_BIAS : 0) |
                           (gemm->d.buffer ? HAS_D : 0);
    /* A buffer that is not read still wants to be a buffer on some stacks. */
    const struct kernel_arg args[] = {
        arg_buffer(a->at.buffer),
        arg_buffer(b->at.buffer),
        arg_buffer(c->at.buffer),
        arg_buffer(gemm->bias.buffer ? gemm->bias.buffer : c->at.buffer),
        arg_buffer(gemm->d.buffer ? gemm->d.buffer : c->at.buffer),
        arg_u64(a->at.offset),
        arg_u64(b->at.offset),
        arg_u64(c->at.offset),
        arg_u64(gemm->bias.offset),
        arg_u64(gemm->d.offset),
        arg_u64(a->transpose ? 1 : a->stride),
        arg_u64(a->transpose ? a->stride : 1),
        arg_u64(b->transpose ? 1 : b->stride),
        arg_u64(b->transpose ? b->stride : 1),
        arg_u64(c->stride),
        arg_u64(a->outer_stride),
        arg_u64(a->inner_stride),
        arg_u64(b->outer_stride),
        arg_u64(b->inner_stride),
        arg_u64(c->outer_stride),
        arg_u64(c->inner_stride),
        arg_u64(inner),
        arg_u64(gemm->m),
        arg_u64(gemm->n),
        arg_u64(gemm->k),
        arg_f32(gemm->alpha == 0.0f ? 1.0 : (double)gemm->alpha),
        arg_u32(shape),
    };
    const struct kernel_launch launch = {
        .module = ops->modules[OPS_GEMM],
        .kernel = "gemm",
        .groups = {(uint32_t)ceil_div(gemm->n, ops->tile.tile_n),
                   (uint32_t)ceil_div(gemm->m, ops->tile.tile_m), (uint32_t)(inner * outer)},
        .args = args,
        .arg_count = sizeof(args) / sizeof(args[0]),
    };

    if (a->type != DTYPE_F32 || b->type != DTYPE_F32 || c->type != DTYPE_F32)
        return error_set(err, STATUS_UNSUPPORTED, "the portable product has no %s x %s to %s yet",
                         dtype_name(a->type), dtype_name(b->type), dtype_name(c->type));
    return device_kernel_launch(ops->device, &launch, err);
}
