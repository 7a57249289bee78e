list(APPEND ASSAY_WORKLOAD_SOURCES
    ops/ops.c ops/ops_choose.c ops/gemm.c ops/gemm_portable.c ops/gemm_vendor.c
    ops/gemm_choose.c ops/operations.c ops/op_attention.c ops/attention_portable.c ops/op_norm.c ops/op_elementwise.c ops/op_tokens.c ops/op_scaling.c ops/op_int8.c
    ops/op_generation.c)
