list(APPEND ASSAY_WORKLOAD_SOURCES
    gemm/gemm.c gemm/declare.c gemm/operands.c gemm/element.c gemm/data.c
    gemm/check.c gemm/compare.c gemm/spot_check.c gemm/verify.c gemm/handover.c gemm/framework.c)
