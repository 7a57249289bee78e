/* kernel_args - the arguments of a kernel, as lists of them are written. */
#ifndef ASSAY_WORKLOADS_KERNEL_ARGS_H
#define ASSAY_WORKLOADS_KERNEL_ARGS_H

#include "backends/backend.h"

static inline struct kernel_arg arg_buffer(struct buffer *buffer)
{
    return (struct kernel_arg){.type = KERNEL_ARG_BUFFER, .buffer = buffer};
}

static inline struct kernel_arg arg_u64(uint64_t value)
{
    return (struct kernel_arg){.type = KERNEL_ARG_U64, .u64 = value};
}

static inline struct kernel_arg arg_u32(uint64_t value)
{
    return (struct kernel_arg){.type = KERNEL_ARG_U32, .u32 = (uint32_t)value};
}

static inline struct kernel_arg arg_f32(double value)
{
    return (struct kernel_arg){.type = KERNEL_ARG_F32, .f32 = (float)value};
}

#endif
