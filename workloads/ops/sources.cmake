list(APPEND ASSAY_WORKLOAD_SOURCES
    ops/ops.c ops/ops_choose.c ops/product.c ops/product_portable.c ops/product_vendor.c
    ops/product_choose.c ops/product_settle.c ops/settle.c ops/op_attention.c ops/op_norm.c ops/op_elementwise.c ops/op_tokens.c ops/op_scaling.c ops/op_int8.c)
