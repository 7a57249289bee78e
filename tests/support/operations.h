/* operations - the calls of backends/operation.h by kind, as tests write them. */
#ifndef ASSAY_TESTS_SUPPORT_OPERATIONS_H
#define ASSAY_TESTS_SUPPORT_OPERATIONS_H

#include "backends/backend.h"

static inline enum status create_gemm(struct device *device, const struct gemm_shape *shape,
                                      struct operation **ret, struct error *err)
{
    const struct operation_desc desc = {.kind = OPERATION_GEMM, .gemm = *shape};

    return operation_create(device, &desc, ret, err);
}

static inline enum status run_gemm(struct operation *gemm, const struct gemm_operands *operands,
                                   struct error *err)
{
    return operation_run(gemm, &(union operands){.gemm = *operands}, err);
}

static inline enum status create_convolution(struct device *device,
                                             const struct convolution_shape *shape,
                                             struct operation **ret, struct error *err)
{
    const struct operation_desc desc = {.kind = OPERATION_CONVOLUTION, .convolution = *shape};

    return operation_create(device, &desc, ret, err);
}

static inline enum status run_convolution(struct operation *convolution,
                                          const struct operand *input, const struct operand *output,
                                          struct error *err)
{
    const union operands operands = {.convolution = {.input = *input, .output = *output}};

    return operation_run(convolution, &operands, err);
}

static inline enum status create_attention(struct device *device, enum operation_kind pass,
                                           const struct attention_shape *shape,
                                           struct operation **ret, struct error *err)
{
    const struct operation_desc desc = {.kind = pass, .attention = *shape};

    return operation_create(device, &desc, ret, err);
}

static inline enum status run_attention(struct operation *attention,
                                        const struct attention_operands *operands,
                                        struct error *err)
{
    return operation_run(attention, &(union operands){.attention = *operands}, err);
}

#endif
