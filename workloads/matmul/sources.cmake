list(APPEND ASSAY_WORKLOAD_SOURCES
    matmul/matmul.c matmul/declare.c matmul/operands.c matmul/element.c matmul/data.c
    matmul/check.c matmul/verify.c)
